/*
 * malloc inside malloc: an allocator that may be interrupted anywhere (libsafemalloc.so), and a handler that
 * allocates (`nested`), or leaves the interrupted malloc for good by siglongjmp (`jump`).
 */
#include "tests/host/guest.h"

#include <setjmp.h>
#include <signal.h>
#include <time.h>

enum { WANTED = 1500 };

static volatile sig_atomic_t handled;
static volatile sig_atomic_t is_jumping;
static volatile unsigned long done;
static sigjmp_buf back;

static void on_signal(int number)
{
	(void)number;
	char *p = malloc(100);
	if (!p)
		_exit(98);
	p[99] = 1;
	free(p);
	handled = handled + 1;
	if (is_jumping)
		siglongjmp(back, 1);
}

static void start_timer(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	sigaction(SIGPROF, &action, NULL);
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
	struct itimerspec period = {{0, 150000}, {0, 150000}};
	timer_t timer;
	require(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	require(timer_settime(timer, 0, &period, NULL) == 0);
}

static void churn(void)
{
	while (handled < WANTED) {
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
	unsigned long least = done + (unsigned long)handled;
	/* each jump may leave one malloc that was recorded and not counted here */
	guest_count("allocs", least, least + (jumps ? (unsigned long)handled : 0) + 64);
	say("at least %d signals handled", WANTED);
	return 0;
}
