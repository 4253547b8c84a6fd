#include "analyzer/eventname.h"

#include <stddef.h>

#include "trace/event.h"

const char *event_name(uint8_t kind)
{
	static const char *const names[] = {
		[EVENT_MALLOC] = "malloc",
		[EVENT_FREE] = "free",
		[EVENT_REALLOC] = "realloc",
		[EVENT_CALLOC] = "calloc",
		[EVENT_NEW] = "new",
		[EVENT_DELETE] = "delete",
		[EVENT_ALIGNED] = "aligned",
		[EVENT_MMAP] = "mmap",
		[EVENT_MUNMAP] = "munmap",
		[EVENT_MREMAP] = "mremap",
		[EVENT_MPROTECT] = "mprotect",
		[EVENT_MADVISE] = "madvise",
		[EVENT_BRK] = "brk",
		[EVENT_PRCTL] = "prctl",
		[EVENT_RSEQ] = "rseq",
		[EVENT_MEMBARRIER] = "membarrier",
		[EVENT_THREAD_START] = "thread_start",
		[EVENT_THREAD_EXIT] = "thread_exit",
		[EVENT_FORK] = "fork",
		[EVENT_EXEC] = "exec",
		[EVENT_EXIT] = "exit",
		[EVENT_DLOPEN] = "dlopen",
		[EVENT_DLCLOSE] = "dlclose",
		[EVENT_FAILED] = "failed",
		[EVENT_LOCK_WAIT] = "lock_wait",
		[EVENT_LOCK_HOLD] = "lock_hold",
	};
	return kind < sizeof names / sizeof *names ? names[kind] : NULL;
}
