/*
 * Handlers at a high rate, on glibc's own malloc, which a handler may only call while nothing else is inside
 * it. masked    the handler allocates; the main loop blocks the signal around its own allocations altstack
 * the same on an alternate stack of 8 KiB regions   the handler maps, protects and unmaps while the main loop
 * is anywhere, also inside malloc jump      the handler leaves by siglongjmp, out of code that is not inside
 * malloc
 */
#include "tests/host/guest.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

enum { WANTED = 1500, HANDLER_BYTES = 8192, LEGACY_SIGSTKSZ = 8192 };

static volatile sig_atomic_t handled;
static timer_t timer;
static sigjmp_buf back;
static volatile sig_atomic_t may_jump;

/* Once only, and again at the end of each handler: a slow machine still gets on between two signals. */
static void arm_timer(void)
{
	const struct itimerspec once = {{0, 0}, {0, 100000}};
	if (timer_settime(timer, 0, &once, NULL) != 0)
		_exit(96);
}

static void on_signal_allocate(int number)
{
	(void)number;
	int saved = errno;
	char *p = malloc(200);
	char *q = calloc(3, 50);
	if (!p || !q || q[149] != 0)
		_exit(98);
	p[199] = 1;
	p = realloc(p, 2000);
	if (!p || p[199] != 1)
		_exit(97);
	free(p);
	free(q);
	handled = handled + 1;
	arm_timer();
	errno = saved;
}

static void on_signal_map(int number)
{
	(void)number;
	int saved = errno;
	char *p = mmap(NULL, HANDLER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		_exit(98);
	p[0] = 1;
	if (mprotect(p, 4096, PROT_READ) != 0 || madvise(p, HANDLER_BYTES, MADV_DONTNEED) != 0 ||
	    munmap(p, HANDLER_BYTES) != 0)
		_exit(97);
	handled = handled + 1;
	arm_timer();
	errno = saved;
}

static void on_signal_jump(int number)
{
	on_signal_allocate(number);
	if (may_jump)
		siglongjmp(back, 1);
}

static void start_timer(void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags | SA_RESTART};
	sigaction(SIGPROF, &action, NULL);
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
	require(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	arm_timer();
}

static void stop_signals(void)
{
	signal(SIGPROF, SIG_IGN);
}

static unsigned long churn_once(uint32_t *seed)
{
	enum { LIVE = 64 };
	static char *live[LIVE];
	uint32_t i = guest_random(seed) % LIVE;
	if (live[i])
		check(*live[i] == (char)i);
	free(live[i]);
	live[i] = malloc(1 + guest_random(seed) % 1000);
	require(live[i]);
	*live[i] = (char)i;
	return 1;
}

static void burn(volatile unsigned *sink)
{
	for (int i = 0; i < 5000; i++)
		*sink = *sink * 3 + 1;
}

static void block_and_churn(uint32_t *seed, unsigned long *done)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 50; i++)
		*done += churn_once(seed);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void run_masked(void (*handler)(int), int flags)
{
	uint32_t seed = 5;
	unsigned long done = 0;
	volatile unsigned sink = 1;
	start_timer(handler, flags);
	while (handled < WANTED) {
		block_and_churn(&seed, &done);
		burn(&sink);
	}
	stop_signals();
	unsigned long handlers = (unsigned long)handled;
	guest_count("allocs", done + 2 * handlers, done + 2 * handlers + 64);
	guest_count("reallocs", handlers, handlers);
}

static void run_altstack(void)
{
	long least = sysconf(_SC_MINSIGSTKSZ) + 4096;
	size_t bytes = least > LEGACY_SIGSTKSZ ? (size_t)least : LEGACY_SIGSTKSZ;
	char *page = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(page != MAP_FAILED);
	require(mprotect(page, 4096, PROT_NONE) == 0);
	stack_t stack = {.ss_sp = page + 4096, .ss_size = bytes};
	require(sigaltstack(&stack, NULL) == 0);
	run_masked(on_signal_allocate, SA_ONSTACK);
}

static void run_regions(void)
{
	uint32_t seed = 6;
	unsigned long done = 0;
	start_timer(on_signal_map, 0);
	while (handled < WANTED)
		done += churn_once(&seed);
	stop_signals();
	unsigned long handlers = (unsigned long)handled;
	guest_count("allocs", done, done + 64);
	guest_count("mmaps+.lost", handlers,
		    4 * handlers + 16); /* a handler's event may meet one being written */
	guest_count("munmaps+.lost", handlers, 4 * handlers + 16);
}

static void run_jump(void)
{
	static volatile unsigned sink = 1;
	static volatile unsigned long done;
	static uint32_t seed = 7;
	start_timer(on_signal_jump, 0);
	while (handled < WANTED) {
		unsigned long churned = 0;
		block_and_churn(&seed, &churned);
		done = done + churned;
		if (sigsetjmp(back, 1) == 0) {
			may_jump = 1;
			burn(&sink);
		}
		may_jump = 0;
	}
	stop_signals();
	guest_count("allocs", done + 2ul * (unsigned long)handled, done + 2ul * (unsigned long)handled + 64);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "masked";
	if (strcmp(mode, "masked") == 0)
		run_masked(on_signal_allocate, 0);
	else if (strcmp(mode, "altstack") == 0)
		run_altstack();
	else if (strcmp(mode, "regions") == 0)
		run_regions();
	else if (strcmp(mode, "jump") == 0)
		run_jump();
	say("%s: at least %d signals handled", mode, WANTED);
	return 0;
}
