/*
 * Stacks that are not as they seem: `longjmp` across allocations, `contexts` (coroutines on stacks of their
 * own), `deep` (20,000 frames), `tiny` (threads with the smallest stack there is).
 */
#include "tests/host/guest.h"

#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

static jmp_buf back;
static char *kept;

__attribute__((noinline)) static void allocate_and_leave(int depth)
{
	char *p = malloc((size_t)(depth + 1) * 10);
	require(p);
	tag_block(p, (size_t)(depth + 1) * 10, (unsigned)depth);
	if (depth == 0) {
		free(kept);
		kept = p;
		longjmp(back, 1);
	}
	if (depth > 0) /* the blocks in between leak, as they do in such programs */
		allocate_and_leave(depth - 1);
}

static void run_longjmp(void)
{
	static volatile int jumps;
	while (jumps < 2000) {
		if (setjmp(back) == 0)
			allocate_and_leave(jumps % 10);
		else
			jumps = jumps + 1;
		check(kept && tag_holds(kept, 10, 0));
	}
	free(kept);
	guest_count("allocs", 11000, 11064);
	guest_count("frees", 2000, 2064);
}

enum { COROUTINES = 8, STACK_BYTES = 65536, SWITCHES = 2000 };
static ucontext_t main_context, contexts[COROUTINES];
static int turns;

static void run_coroutine(void)
{
	for (;;) {
		char *p = malloc((size_t)(1 + turns % 400));
		require(p);
		*p = (char)turns;
		int me = turns++ % COROUTINES;
		swapcontext(&contexts[me], &main_context);
		free(p);
	}
}

static void run_contexts(void)
{
	for (int i = 0; i < COROUTINES; i++) {
		char *stack = i % 2 ? malloc(STACK_BYTES)
				    : mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		require(stack && stack != MAP_FAILED);
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stack;
		contexts[i].uc_stack.ss_size = STACK_BYTES;
		contexts[i].uc_link = NULL;
		makecontext(&contexts[i], run_coroutine, 0);
	}
	for (int i = 0; i < SWITCHES; i++)
		swapcontext(&main_context, &contexts[i % COROUTINES]);
	check(turns == SWITCHES);
	guest_count("allocs", SWITCHES, SWITCHES + 64);
}

__attribute__((noinline)) static size_t descend(int depth)
{
	char frame[64];
	snprintf(frame, sizeof frame, "%d", depth);
	if (depth % 100 == 0) {
		char *p = malloc(100000); /* large: sampled nearly every fifth time */
		require(p);
		free(p);
	}
	return depth == 0 ? strlen(frame) : descend(depth - 1) + strlen(frame);
}

static void run_deep(void)
{
	say("%zu digits", descend(20000));
}

static void *live_in_little_room(void *argument)
{
	for (int i = 0; i < 200; i++) {
		char *p = malloc(100000);
		char *q = realloc(malloc(10), 600000);
		require(p && q);
		*p = *q = 1;
		free(p);
		free(q);
	}
	return argument;
}

static void run_tiny(void)
{
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	long least = sysconf(_SC_THREAD_STACK_MIN);
	require(pthread_attr_setstacksize(&attributes, least > 16384 ? (size_t)least : 16384) == 0);
	for (int i = 0; i < 20; i++) {
		pthread_t thread;
		require(pthread_create(&thread, &attributes, live_in_little_room, NULL) == 0);
		require(pthread_join(thread, NULL) == 0);
	}
	guest_count("allocs", 8000, 8064);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "longjmp";
	if (strcmp(mode, "longjmp") == 0)
		run_longjmp();
	else if (strcmp(mode, "contexts") == 0)
		run_contexts();
	else if (strcmp(mode, "deep") == 0)
		run_deep();
	else if (strcmp(mode, "tiny") == 0)
		run_tiny();
	say("%s is back", mode);
	return 0;
}
