/*
 * What doctor knows about a machine and a process, whatever it was learnt from: /proc and /sys, diagnostic
 * data, a trace. A fact is a number or a text and says where it is from, or it is unknown and says why. The
 * first source that knows a fact wins; a reason never replaces anything.
 */
#ifndef MTRACE_DOCTOR_FACTS_H
#define MTRACE_DOCTOR_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers are 0 or 1 unless the name or the comment says otherwise. */
enum fact_id {
	/* The machine. */
	FACT_KERNEL, /* text: its release */
	FACT_ARCH,   /* text: x86_64, aarch64 */
	FACT_PAGE_BYTES,
	FACT_MEMORY_BYTES,
	FACT_SWAP_BYTES,
	FACT_NUMA_NODES, /* how many */
	FACT_THP_SUPPORT,
	FACT_THP_ENABLED, /* text: the chosen one, as in the kernel's file; FACT_THP_DEFRAG too */
	FACT_THP_DEFRAG,
	FACT_THP_MAX_PTES_NONE,	  /* pages */
	FACT_THP_PAGES_TO_SCAN,	  /* pages */
	FACT_THP_COLLAPSE_DEFRAG, /* khugepaged/defrag */
	FACT_THP_ZERO_PAGE,
	FACT_THP_SHRINKER,
	FACT_THP_PMD_BYTES,
	FACT_THP_PMD_ENABLED, /* text: always, inherit, madvise, never */
	FACT_THP_SMALLER,     /* text: the smaller sizes that are on, "64kB always"; "" for none */
	FACT_OVERCOMMIT,      /* 0, 1 or 2 */
	FACT_SWAPPINESS,
	FACT_ZONE_RECLAIM, /* bits */
	FACT_MAX_MAP_COUNT,
	FACT_KERNEL_RSEQ,
	FACT_CPU_LSE,
	FACT_ADDRESS_BITS, /* of user space */
	FACT_LIBC_RSEQ,	   /* the C library has code that registers rseq; of the process, or of the machine */
	/* The process. */
	FACT_PID,
	FACT_EXE,	     /* text: path */
	FACT_VERSION,	     /* text: of MongoDB */
	FACT_ALLOCATOR,	     /* text: tcmalloc-google, gperftools, jemalloc, mimalloc, system, other */
	FACT_COMMAND,	     /* text: its command line, quoted for a shell */
	FACT_COMMAND_PREFIX, /* text: what comes before it, for its folder and user; may be "" */
	FACT_PID_INSIDE,     /* what it takes for its own process id */
	FACT_UNIT,	     /* text: its systemd unit */
	FACT_CONTAINER,	     /* in another container than doctor */
	FACT_THP_ALLOWED,    /* prctl(PR_SET_THP_DISABLE) is not in force */
	FACT_THP_PARENT,     /* the same of its parent process */
	FACT_TUNABLES,	     /* text: GLIBC_TUNABLES, "" where it is not set */
	FACT_TUNABLE_RSEQ,   /* glibc.pthread.rseq in it, else the default, 1 */
	FACT_RSEQ_OWNER,     /* text: glibc, application, none; program: not glibc, more is not known */
	FACT_RSEQ_THREADS,   /* text: in words, how many threads were looked at and what they said */
	FACT_PER_CPU_ACTIVE,
	FACT_PER_CPU_MAX_BYTES,	 /* limit of one CPU's cache, as the allocator states it */
	FACT_PER_CPU_FREE_BYTES, /* in all of them together */
	FACT_PER_CPU_SETTING,	 /* bytes: MONGO_TCMALLOC_PER_CPU_CACHE_SIZE_BYTES; 0: not set */
	FACT_VIEW_LIMIT,     /* text: /sys/fs/cgroup/memory.max as the process sees it; "" for no such file */
	FACT_CGROUP_VERSION, /* 1 or 2 */
	FACT_CGROUP_LIMIT_BYTES, /* the lowest on the way to the root; INT64_MAX: none */
	FACT_CGROUP_HIGH_BYTES,	 /* memory.high likewise */
	FACT_CGROUP_OOM_KILLS,	 /* how many */
	FACT_CACHE_BYTES,	 /* WiredTiger's, as configured */
	FACT_NUMA_POLICY,	 /* text: of most of its mappings: default, interleave, ... */
	FACT_OPEN_FILES,	 /* soft limit of descriptors */
	FACT_LIBC_ATOMICS,	 /* text: what its C library has, as atomics.h names it */
	FACT_LIBC_LSE_COUNT,	 /* instructions; FACT_LIBC_EXCLUSIVE_COUNT too */
	FACT_LIBC_EXCLUSIVE_COUNT,
	FACT_STATIC,
	FACT_LIBC,	   /* text: glibc, musl, other */
	FACT_OWN_MALLOC,   /* the program defines malloc itself */
	FACT_SECURE,	   /* started with more rights than its user has: the loader ignores LD_PRELOAD */
	FACT_SECCOMP,	   /* 0: off, 1: strict, 2: filters */
	FACT_CAPABILITIES, /* bits */
	FACT_SHIM_LOADED,
	FACT_COUNT
};

struct fact {
	bool known;
	int64_t number;
	char *text; /* of a known fact that is one; else the reason, or NULL where nobody looked */
	char *from; /* of a known fact: a path, or what else it was read from */
};

/* Zero-initialize; facts_free() afterwards. */
struct facts {
	struct fact items[FACT_COUNT];
	bool no_memory;
};

void facts_free(struct facts *facts);

void facts_number(struct facts *facts, enum fact_id id, int64_t number, const char *from);
void facts_text(struct facts *facts, enum fact_id id, const char *text, const char *from);
void facts_unknown(struct facts *facts, enum fact_id id, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

bool fact_known(const struct facts *facts, enum fact_id id);
/* `otherwise` where it is not known. */
int64_t fact_number(const struct facts *facts, enum fact_id id, int64_t otherwise);
/* "" where it is not known. */
const char *fact_text(const struct facts *facts, enum fact_id id);
/* Known, and that text. */
bool fact_is(const struct facts *facts, enum fact_id id, const char *text);
/* Where it is from; "" where it is not known. */
const char *fact_from(const struct facts *facts, enum fact_id id);
/* Why it is not known. */
const char *fact_reason(const struct facts *facts, enum fact_id id);

#endif
