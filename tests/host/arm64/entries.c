/*
 * Calls each entry point of entries.S, directly and through a pointer, and compares what comes back with what
 * was asked for.
 */
#include "tests/host/arm64/allocator.h"
#include "tests/host/guest.h"

#include <signal.h>
#include <sys/wait.h>

enum { TIMES = 500 };

void *memalign(size_t, size_t);
void *valloc(size_t);
void *pvalloc(size_t);
void *reallocarray(void *, size_t, size_t);
size_t malloc_usable_size(void *);
void cfree(void *);
void free_sized(void *, size_t);
void free_aligned_sized(void *, size_t, size_t);
void *_Znwm(size_t);
void *_Znam(size_t);
void *_ZnwmRKSt9nothrow_t(size_t, const void *);
void *_ZnamRKSt9nothrow_t(size_t, const void *);
void *_ZnwmSt11align_val_t(size_t, size_t);
void *_ZnamSt11align_val_t(size_t, size_t);
void _ZdlPv(void *);
void _ZdaPv(void *);
void _ZdlPvm(void *, size_t);
void _ZdaPvm(void *, size_t);
void unmarked_function(void);

static void *tagged(void *block, size_t alignment, size_t bytes)
{
	check(block && (uintptr_t)block % alignment == 0);
	check(malloc_usable_size(block) == bytes);
	tag_block(block, bytes, (unsigned)bytes);
	return block;
}

static void call_frees(size_t bytes)
{
	void (*volatile by_pointer)(void *) = free;
	free(tagged(malloc(bytes), 16, bytes));
	by_pointer(tagged(calloc(2, bytes), 16, 2 * bytes));
	free(NULL);
	cfree(tagged(memalign(64, bytes), 64, bytes));
	free_aligned_sized(tagged(aligned_alloc(128, bytes), 128, bytes), 128, bytes);
	free_sized(tagged(valloc(bytes), 16, bytes), bytes);
	allocator_counts.frees++; /* of which the allocator did not hear */
	_ZdlPv(tagged(_Znwm(bytes), 16, bytes));
	_ZdaPv(tagged(_Znam(bytes), 16, bytes));
	_ZdaPvm(tagged(_ZnamRKSt9nothrow_t(bytes, ""), 16, bytes), bytes);
	_ZdaPvm(NULL, bytes);
	check(_Znam(0));
}

static void call_others(size_t bytes)
{
	void *block = NULL;
	check(posix_memalign(&block, 16, bytes) == 0);
	block = tagged(realloc(tagged(block, 16, bytes), bytes + 8), 16, bytes + 8);
	block = tagged(reallocarray(block, 2, bytes), 16, 2 * bytes);
	check(posix_memalign(&block, 32, bytes) == 0);
	tagged(block, 32, bytes);
	tagged(pvalloc(bytes), 16, bytes);
	tagged(_ZnwmSt11align_val_t(bytes, 256), 256, bytes);
	tagged(_ZnamSt11align_val_t(bytes, 512), 512, bytes);
	check(_ZnwmRKSt9nothrow_t(bytes, ""));
}

/* In a child: how it ends. */
static int status_of(void (*function)(void))
{
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		function();
		_exit(0);
	}
	require(child > 0 && waitpid(child, &status, 0) == child);
	return status;
}

static void call_what_never_returns(void)
{
	static char block[16];
	_ZdlPvm(block, sizeof block);
}

static void jump_to_unmarked(void)
{
	void (*volatile by_pointer)(void) = unmarked_function;
	by_pointer();
}

int main(void)
{
	struct allocator_counts before = allocator_counts;
	for (size_t i = 1; i <= TIMES; i++) {
		call_frees(i);
		call_others(i);
	}
	struct allocator_counts after = allocator_counts;
	int status = status_of(call_what_never_returns);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 42);
	status = status_of(jump_to_unmarked);
	say("pages are %s", WIFSIGNALED(status) && WTERMSIG(status) == SIGILL ? "guarded" : "not guarded");
	say("%lu allocations, %lu reallocations, %lu frees", after.allocs - before.allocs,
	    after.reallocs - before.reallocs, after.frees - before.frees);
	guest_count("allocs", after.allocs - before.allocs, after.allocs + 16);
	guest_count("reallocs", after.reallocs - before.reallocs, after.reallocs + 16);
	guest_count("frees", after.frees - before.frees, after.frees + 16);
	guest_count("null_frees", 2ul * TIMES, 2ul * TIMES + 16);
	return 0;
}
