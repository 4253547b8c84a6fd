/*
 * malloc inside malloc: an allocator that may be interrupted anywhere (libsafemalloc.so), and a handler that
 * allocates (`nested`), or leaves the interrupted malloc for good by siglongjmp (`jump`).
 */
#include "tests/host/guest.h"

#include <setjmp.h>
#include <signal.h>
#include <time.h>

enum { WANTED = 1500, BLOCKS_A_SIGNAL = 5000 };

static volatile sig_atomic_t handled, since_signal;
static volatile sig_atomic_t is_jumping;
static volatile unsigned long done;
static timer_t timer;
static sigjmp_buf back;

/* Once only, and again at the end of each handler: a slow machine still gets on between two signals. */
static void arm_timer(void)
{
	const struct itimerspec once = {{0, 0}, {0, 100000}};
	if (timer_settime(timer, 0, &once, NULL) != 0)
		_exit(96);
}

static void on_signal(int number)
{
	(void)number;
	char *p = malloc(100);
	if (!p)
		_exit(98);
	p[99] = 1;
	free(p);
	handled = handled + 1;
	since_signal = 0;
	arm_timer();
	if (is_jumping)
		siglongjmp(back, 1);
}

static void start_timer(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	sigaction(SIGPROF, &action, NULL);
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
	require(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	arm_timer();
}

/* The allocator never takes back: where signals come late, on a busy machine, this waits for them. */
static void churn(void)
{
	while (handled < WANTED) {
		if (since_signal >= BLOCKS_A_SIGNAL)
			continue;
		since_signal = since_signal + 1;
		char *p = malloc(16);
		if (!p)
			break;
		p[0] = 1;
		free(p);
		done = done + 1;
	}
}

int main(int argc, char **argv)
{
	bool jumps = argc > 1 && strcmp(argv[1], "jump") == 0;
	start_timer();
	if (jumps) {
		sigsetjmp(back, 1);
		is_jumping = handled < WANTED;
	}
	churn();
	signal(SIGPROF, SIG_IGN);
	is_jumping = 0;
	check(handled >= WANTED);
	/*
	 * Of the handlers' mallocs those that interrupted another count as part of it: a preloaded object
	 * cannot tell them from calls that the allocator makes to itself. A jump may leave one that was
	 * recorded and not counted here.
	 */
	guest_count("allocs+.lost", done, done + 2 * (unsigned long)handled + 64);
	say("at least %d signals handled", WANTED);
	return 0;
}
