/*
 * struct trace_event: the one noun that travels from an interposed call to a line in a report.
 *
 * Words used throughout:
 *   time unit   the trace's own clock: `ticks >> time_shift` (layout.h, struct clock_mark), 8 to 16 ns each
 *   thread      a number given out by the shim, never used twice in a trace (kernel thread ids are)
 *   stack id    names a distinct call stack (EVENT_STACK defines it); 0 means that none was recorded
 */
#ifndef MTRACE_EVENT_H
#define MTRACE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* Written to disk: never renumber, only append. Kinds 1 to 6 are the hot ones and fit the record's header
 * byte. */
enum event_kind {
	EVENT_NONE = 0,

	/* Allocator calls: address, size; stack where recorded. */
	EVENT_MALLOC = 1,
	EVENT_FREE = 2,	   /* address */
	EVENT_REALLOC = 3, /* old_address, address, size; time is before the call, end_time after it */
	EVENT_CALLOC = 4,  /* size is the product */
	EVENT_NEW = 5,	   /* every operator new; alignment 0 for the plain ones */
	EVENT_DELETE = 6,  /* every operator delete: address */
	EVENT_ALIGNED = 7, /* posix_memalign, aligned_alloc, memalign, valloc, pvalloc: alignment */

	/* Region calls: address, size, arguments as noted; result is the call's, or -errno. */
	EVENT_MMAP = 16, /* args: prot, flags, fd, offset; address is the one mapped */
	EVENT_MUNMAP = 17,
	EVENT_MREMAP = 18,   /* old_address, args: old size, flags; address and size are the new ones */
	EVENT_MPROTECT = 19, /* args: prot */
	EVENT_MADVISE =
		20,	  /* args: advice, pid (0: this process; posix_madvise: its advice + ADVICE_POSIX) */
	EVENT_BRK = 21,	  /* address: the break after the call; size: bytes added, two's complement */
	EVENT_PRCTL = 22, /* args: option, arg2; address and size for PR_SET_VMA */

	/* Kernel interfaces of per-CPU allocators: args as passed. */
	EVENT_RSEQ = 32,       /* address: area; size: its length; args: flags, signature */
	EVENT_MEMBARRIER = 33, /* args: command, flags, cpu */

	/* Life of the process. */
	EVENT_THREAD_START = 40, /* address: in its stack; args: kernel thread id */
	EVENT_THREAD_EXIT = 41,
	EVENT_FORK = 42,   /* result: the child */
	EVENT_EXEC = 43,   /* the attempt, recorded before the call */
	EVENT_EXIT = 44,   /* args: status, enum end_reason */
	EVENT_DLOPEN = 45, /* result: 1 on success */
	EVENT_DLCLOSE = 46,

	/* A call that returned nothing: args: the kind that failed, errno; size as asked for. */
	EVENT_FAILED = 50,

	/* Locks (MTRACE_LOCKS=1), chosen by chance: address: the lock; size: how many of its kind the event
	 * stands for; args: enum lock_kind, enum lock_call, see below. Exact sums are in BLOCK_LOCKS. */
	EVENT_LOCK_WAIT = 64, /* a contended acquisition, from before it until end_time; result: the call's
				 value; stack: of the call */
	EVENT_LOCK_HOLD = 65, /* an acquisition, told at its release: args[2]: time units held, all ones: not
				 known; args[3]: 1 contended; stack: of the call that acquired */

	/* Definitions inside the stream; a reader keeps them and hands no event on. */
	EVENT_STACK = 60, /* a stack id and its return addresses, innermost first */
};

#define ADVICE_POSIX   0x1000 /* added to the advice of posix_madvise, whose numbers overlap with madvise's */

#define EVENT_ARGS_MAX 4

struct trace_event {
	uint64_t time;	   /* time units, absolute; an allocation's is after its call, a free's before it */
	uint64_t end_time; /* EVENT_REALLOC: after the call; otherwise equal to time */
	uint64_t address;
	uint64_t old_address; /* EVENT_REALLOC, EVENT_MREMAP */
	uint64_t size_bytes;
	uint64_t alignment_bytes; /* where the caller gave one, else 0 */
	int64_t result;		  /* region calls: 0 or the value returned; -errno on failure */
	uint64_t args[EVENT_ARGS_MAX];
	uint32_t stack_id; /* 0: none recorded */
	uint32_t thread;
	uint32_t cpu;	  /* EVENT_CPU_UNKNOWN where no rseq area was registered */
	uint8_t kind;	  /* enum event_kind */
	bool sampled_old; /* sample mode, EVENT_REALLOC: the old block was a sampled one, and its life ends
			     here */
	bool sampled_new; /* sample mode, EVENT_REALLOC: the new block is a sampled one */
};

#define EVENT_CPU_UNKNOWN UINT32_MAX

static inline bool event_is_allocation(uint8_t kind)
{
	return kind == EVENT_MALLOC || kind == EVENT_CALLOC || kind == EVENT_NEW || kind == EVENT_ALIGNED;
}

static inline bool event_is_free(uint8_t kind)
{
	return kind == EVENT_FREE || kind == EVENT_DELETE;
}

/* Exact per-thread counters, kept in both modes. Written to disk by index: never renumber, only append. */
enum counter {
	COUNTER_MALLOC = 0,
	COUNTER_CALLOC = 1,
	COUNTER_NEW = 2,
	COUNTER_ALIGNED = 3,
	COUNTER_ALLOC_BYTES = 4, /* requested by the four above */
	COUNTER_REALLOC = 5,
	COUNTER_REALLOC_BYTES = 6, /* new sizes requested */
	COUNTER_FREE = 7,
	COUNTER_DELETE = 8,
	COUNTER_NULL_FREE = 9, /* free(NULL), delete nullptr: in neither of the two above */
	COUNTER_FAILED = 10,   /* allocator calls that returned nothing: in no other counter */
	COUNTER_USABLE_SIZE = 11,
	COUNTER_MMAP = 12,
	COUNTER_MUNMAP = 13,
	COUNTER_MREMAP = 14,
	COUNTER_MPROTECT = 15,
	COUNTER_MADVISE = 16,
	COUNTER_BRK = 17,
	COUNTER_PRCTL = 18,
	COUNTER_REGION_FAILED = 19, /* region calls that failed: in none of the seven above */
	COUNTER_RSEQ = 20,	    /* rseq registrations asked for through syscall(), the failed ones too */
	COUNTER_RSEQ_FAILED = 21,   /* those that failed */
	COUNTER_MEMBARRIER = 22,
	COUNTER_THREAD_START = 23,
	COUNTER_FORK = 24,
	COUNTER_DLOPEN = 25,
	COUNTER_EVENTS = 26,	  /* events written to a ring */
	COUNTER_MIGRATIONS = 27,  /* times two successive events of a thread were on different CPUs */
	COUNTER_STACKLESS = 28,	  /* events whose stack could not be recorded */
	COUNTER_EVENTS_LIFE = 29, /* events of the process's life that have no counter of their own */

	/* Events lost, by cause. Their sum is `lost`. */
	COUNTER_LOST_RING_FULL = 32, /* no free chunk: the writer was too slow or MTRACE_RING_MIB too small */
	COUNTER_LOST_NO_THREAD = 33, /* no slot for this thread in the rings file */
	COUNTER_LOST_REENTRY = 34, /* a signal handler's event that arrived while this thread wrote another */
	COUNTER_LOST_DISK = 35,	   /* the trace file could not be written (disk full, size limit) */
	COUNTER_LOST_SAMPLE_SET = 36, /* sampled blocks that found no room in the set of live ones */
	COUNTER_LOST_STOPPED = 37,    /* calls of other threads during an exec that then failed */
	COUNTER_COUNT = 48,
};

#define COUNTER_LOST_FIRST COUNTER_LOST_RING_FULL
#define COUNTER_LOST_LAST  COUNTER_LOST_STOPPED

#endif
