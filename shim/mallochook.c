#include "shim/mallochook.h"

#include <dlfcn.h>
#include <stddef.h>

#include "shim/hook.h"

static bool active;

/* The types are those of gperftools' malloc_hook_c.h. */

/* Called after the block was taken, before it is handed out; not under the allocator's locks. */
static void on_new(const void *block, size_t size)
{
	struct thread *thread = thread_enter_any();
	if (!thread) {
		capture_unrecorded(EVENT_MALLOC, (uintptr_t)block, size);
		return;
	}
	int error = errno;
	thread_guard(thread, GUARD_WRITE);
	if (block)
		capture_allocation(thread, EVENT_MALLOC, (uintptr_t)block, size);
	else
		capture_failed(thread, EVENT_MALLOC, size, ENOMEM);
	thread_unguard(thread);
	errno = error;
}

/* Called before the block is given back. */
static void on_delete(const void *block)
{
	struct thread *thread = thread_enter_any();
	if (!thread) {
		capture_unrecorded(EVENT_FREE, (uintptr_t)block, 0);
		return;
	}
	int error = errno;
	thread_guard(thread, GUARD_WRITE);
	if (block)
		capture_free(thread, EVENT_FREE, (uintptr_t)block);
	else
		thread_count(thread, COUNTER_NULL_FREE);
	thread_unguard(thread);
	errno = error;
}

static void record(enum counter counter, struct trace_event *event)
{
	int error = errno;
	struct thread *thread = thread_enter_region();
	if (thread)
		capture_event(thread, event->result < 0 ? COUNTER_REGION_FAILED : counter, event);
	errno = error;
}

static bool failed(const void *result)
{
	return (uintptr_t)result == UINTPTR_MAX;
}

static void on_mmap(const void *result, const void *start, size_t size, int prot, int flags, int fd,
		    off_t offset)
{
	(void)start;
	record(COUNTER_MMAP, &(struct trace_event){.kind = EVENT_MMAP,
						   .address = failed(result) ? 0 : (uintptr_t)result,
						   .size_bytes = size,
						   .result = failed(result) ? -errno : 0,
						   .args = {(uint64_t)prot, (uint64_t)flags, (uint64_t)fd,
							    (uint64_t)offset}});
}

static void on_munmap(const void *start, size_t size)
{
	record(COUNTER_MUNMAP,
	       &(struct trace_event){.kind = EVENT_MUNMAP, .address = (uintptr_t)start, .size_bytes = size});
}

static void on_mremap(const void *result, const void *old, size_t old_size, size_t new_size, int flags,
		      const void *wanted)
{
	(void)wanted;
	record(COUNTER_MREMAP, &(struct trace_event){.kind = EVENT_MREMAP,
						     .address = failed(result) ? 0 : (uintptr_t)result,
						     .old_address = (uintptr_t)old,
						     .size_bytes = new_size,
						     .result = failed(result) ? -errno : 0,
						     .args = {old_size, (uint64_t)flags}});
}

static void on_sbrk(const void *result, ptrdiff_t increment)
{
	if (increment == 0)
		return;
	record(COUNTER_BRK,
	       &(struct trace_event){.kind = EVENT_BRK,
				     .address = failed(result) ? 0 : (uintptr_t)result + (uintptr_t)increment,
				     .size_bytes = (uint64_t)increment,
				     .result = failed(result) ? -ENOMEM : 0});
}

/* Each of the functions returns whether it has taken the hook. */
static bool add(const char *name, void *hook)
{
	int (*function)(void *) = (int (*)(void *))dlsym(RTLD_DEFAULT, name);
	return function && function(hook);
}

bool mallochook_start(void)
{
	if (active)
		return true;
	active = add("MallocHook_AddNewHook", (void *)on_new) &&
		 add("MallocHook_AddDeleteHook", (void *)on_delete);
	if (!active)
		return false;
	add("MallocHook_AddMmapHook", (void *)on_mmap);
	add("MallocHook_AddMunmapHook", (void *)on_munmap);
	add("MallocHook_AddMremapHook", (void *)on_mremap);
	add("MallocHook_AddSbrkHook", (void *)on_sbrk);
	return true;
}

bool mallochook_active(void)
{
	return active;
}
