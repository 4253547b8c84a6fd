/*
 * Bytes on disk: the trace file and the rings file beside it. trace/FORMAT.md is the description for people;
 * this is the one home of every offset. All integers are little-endian, all structs without padding.
 *
 * Words:
 *   block   unit of the trace file: a header, then a payload (compressed or not); independent of other blocks
 *   chunk   unit of the rings file: a sub-buffer that one thread fills with records and hands to the writer
 *   piece   a chunk as it stands in an events block: its header, then `committed` bytes of records
 *   lap     one pass over the circular region of a flight recorder's file
 *   keyframe  stacks, modules and threads written again, so that a file whose old blocks were overwritten
 *             can still be read
 */
#ifndef MTRACE_LAYOUT_H
#define MTRACE_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>

#include "trace/event.h"

#define TRACE_FORMAT_VERSION 1u
#define TRACE_RINGS_SUFFIX   ".rings"
#define TRACE_PAGE_BYTES     4096u /* unit of the file's layout, whatever the machine's page size */

/* ---- trace file ------------------------------------------------------------------------------------------
 */

#define TRACE_MAGIC "mtrace\r\n" /* 8 bytes; the line end catches a transfer in text mode */

/* A second copy of the header, for a file whose first bytes are damaged. */
#define TRACE_HEADER_COPY_OFFSET 2048u

/* Offset 0 of the trace file, in a page of its own. */
struct file_header {
	char magic[8];	       /*  0 */
	uint32_t version;      /*  8: a reader refuses a version it does not know */
	uint32_t header_bytes; /* 12: sizeof this */
	uint8_t nonce[16];     /* 16: the same in the rings file that belongs to this trace */
	uint64_t region_start; /* 32: offset of the first block after the process block */
	uint64_t region_end;   /* 40: end of the circular region; 0: the file grows, nothing is overwritten */
	uint64_t reserved;     /* 48 */
	uint64_t check;	       /* 56: XXH3-64 of the bytes before */
};
_Static_assert(sizeof(struct file_header) == 64, "file_header is 64 bytes");

/* Written to disk: never renumber. A reader skips types it does not know. */
enum block_type {
	BLOCK_PROCESS =
		1, /* text, `key=value` lines: who, where, how (FORMAT.md lists the keys); at one page */
	BLOCK_EVENTS = 2,    /* pieces */
	BLOCK_STACKS = 3,    /* stack records (codec.h), a keyframe's */
	BLOCK_MODULES = 4,   /* struct module_record, each followed by its build-id and path */
	BLOCK_THREADS = 5,   /* struct thread_record */
	BLOCK_SNAPSHOT = 6,  /* struct snapshot */
	BLOCK_MARK = 7,	     /* struct clock_mark: a watermark alone */
	BLOCK_END = 8,	     /* struct end_record: the trace is complete */
	BLOCK_ALLOCATOR = 9, /* struct allocator_record and its lines: the allocator's own figures */
	BLOCK_MAPS = 10,     /* struct maps_header, then what it counts: the process's mappings */
	BLOCK_PAGES = 11,    /* struct pages_header, then what it counts: which pages are there, and huge */
	BLOCK_SMAPS = 12,    /* struct smaps_header and its records: the kernel's own sums by mapping */
	BLOCK_SETTINGS =
		13, /* struct settings_header and its lines: the machine's huge page settings and counters */
	BLOCK_LOCKS = 14, /* struct locks_header and its records: what threads did with locks */
	BLOCK_CPUS = 15,  /* struct cpus_header and its records: exact counts by CPU and size, sample mode */
};

#define BLOCK_MAGIC	      0x4b4c4254u /* "TBLK" */
#define BLOCK_ALIGNMENT_BYTES 16u
#define BLOCK_RAW_BYTES_MAX   (4u << 20) /* a reader refuses larger ones */

enum block_encoding {
	BLOCK_PLAIN = 0,
	BLOCK_ZSTD = 1, /* one frame, with its content size */
};

/*
 * Before each payload. `stored_bytes` of payload follow, then zeros up to BLOCK_ALIGNMENT_BYTES.
 * Invariant: sequence numbers of the blocks in a file are distinct; ordered by them, times are as written.
 */
struct block_header {
	uint32_t magic;		/*  0 */
	uint16_t type;		/*  4: enum block_type */
	uint16_t encoding;	/*  6: enum block_encoding */
	uint64_t sequence;	/*  8: 0 for the process block, then 1, 2, 3, ... */
	uint32_t stored_bytes;	/* 16 */
	uint32_t raw_bytes;	/* 20 */
	uint64_t payload_check; /* 24: XXH3-64 of the stored payload */
	uint64_t first_time;	/* 32: time units: no event of the block is earlier */
	uint64_t last_time;	/* 40: time units at which the block was closed */
	uint64_t reserved;	/* 48 */
	uint64_t header_check; /* 56: XXH3-64 of the 56 bytes before, seeded with the low 8 bytes of the nonce
				*/
};
_Static_assert(sizeof(struct block_header) == 64, "block_header is 64 bytes");

/* The trace's clock against the wall clock, and how far the stream is complete. */
struct clock_mark {
	uint64_t time;	       /*  0: time units */
	uint64_t realtime_ns;  /*  8: CLOCK_REALTIME at that moment */
	uint64_t monotonic_ns; /* 16: CLOCK_MONOTONIC at that moment */
	uint64_t
		watermark; /* 24: time units: every event before it stands in an earlier block, or was lost */
};
_Static_assert(sizeof(struct clock_mark) == 32, "clock_mark is 32 bytes");

#define SNAPSHOT_UNKNOWN UINT64_MAX

/* What is looked at once per interval. A reader takes a shorter one as lacking the last fields. */
struct snapshot {
	struct clock_mark mark;	       /*   0 */
	uint64_t rss_bytes;	       /*  32 */
	uint64_t anon_huge_bytes;      /*  40: SNAPSHOT_UNKNOWN where it could not be read */
	uint64_t anon_huge_age_ns;     /*  48: how old that figure is */
	uint64_t user_cpu_us;	       /*  56: CPU time of the whole process, the shim's thread included */
	uint64_t system_cpu_us;	       /*  64 */
	uint64_t minor_faults;	       /*  72 */
	uint64_t major_faults;	       /*  80 */
	uint64_t voluntary_switches;   /*  88 */
	uint64_t involuntary_switches; /* 96 */
	uint64_t writer_cpu_us; /* 104: CPU time of the shim's own thread: what tracing costs beside the hooks
				 */
	uint64_t stored_bytes;	/* 112: of all blocks so far */
	uint64_t raw_bytes;	/* 120: of all blocks so far, before compression */
	uint64_t ring_bytes;	/* 128: ring memory in use now */
	uint64_t threads_live;	/* 136 */
	uint64_t counters[COUNTER_COUNT]; /* 144: sums over all threads since the start */
};
_Static_assert(sizeof(struct snapshot) == 144 + 8 * COUNTER_COUNT, "snapshot has no padding");

enum allocator_kind {
	ALLOCATOR_GOOGLE = 1, /* google/tcmalloc */
	ALLOCATOR_GPERFTOOLS = 2,
};

/*
 * Stands before the snapshot of the same interval. Followed by lines of `name=value` with decimal values: the
 * allocator's properties under its own names, and one `cpu=` line for each CPU cache (FORMAT.md).
 */
struct allocator_record {
	struct clock_mark mark;	 /*  0 */
	uint32_t kind;		 /* 32: enum allocator_kind */
	uint32_t reserved;	 /* 36 */
	uint64_t values_age_ns;	 /* 40: how old the properties are; SNAPSHOT_UNKNOWN: there are none */
	uint64_t per_cpu_age_ns; /* 48: how old the cpu lines and per_cpu_limit_bytes are; likewise */
	uint64_t reserved_too;	 /* 56 */
};
_Static_assert(sizeof(struct allocator_record) == 64, "allocator_record is 64 bytes");

/*
 * A reading of the process's mappings, or a part of one. Followed by `ranges` struct maps_range, `mappings`
 * struct mapping_record (by rising address, none overlaps), and `names_bytes` of NUL-terminated names. Within
 * each range exactly the mappings of this block are there; outside of the ranges nothing is said.
 */
struct maps_header {
	uint64_t time;	      /*  0: time units: before the reading */
	uint64_t end_time;    /*  8: after it */
	uint64_t own_stack;   /* 16: an address in the stack of the shim's own thread; 0: unknown */
	uint32_t flags;	      /* 24: MAPS_WHOLE */
	uint32_t ranges;      /* 28 */
	uint32_t mappings;    /* 32 */
	uint32_t names_bytes; /* 36 */
};
_Static_assert(sizeof(struct maps_header) == 40, "maps_header is 40 bytes");

#define MAPS_WHOLE 1u /* belongs to a reading whose ranges together cover all addresses */

struct maps_range {
	uint64_t start; /* 0 */
	uint64_t end;	/* 8: greater than start */
};
_Static_assert(sizeof(struct maps_range) == 16, "maps_range is 16 bytes");

#define MAPPING_READ   1u
#define MAPPING_WRITE  2u
#define MAPPING_EXEC   4u
#define MAPPING_SHARED 8u
#define MAPPING_OWN    16u /* the shim's own memory */

struct mapping_record {
	uint64_t start;	 /*  0 */
	uint64_t end;	 /*  8: greater than start */
	uint64_t offset; /* 16: in the file */
	uint64_t device; /* 24: major number in the upper half, minor in the lower */
	uint64_t inode;	 /* 32: 0: no file */
	uint32_t flags;	 /* 40: MAPPING_* */
	uint32_t name;	 /* 44: offset of its name (a path, "[heap]" and the like) in the names; 0: none */
};
_Static_assert(sizeof(struct mapping_record) == 48, "mapping_record is 48 bytes");

/* Where the state of pages was read. Without PAGEMAP_SCAN and without privilege there are no BLOCK_PAGES: the
 * sums of BLOCK_SMAPS are all that is known. */
enum pages_source {
	PAGES_FROM_SCAN = 1, /* ioctl(PAGEMAP_SCAN): exact, in any process */
	PAGES_FROM_KPAGEFLAGS =
		2, /* pagemap and kpageflags, page by page: sees huge folios, not how they are mapped */
};

/*
 * A look at parts of the address space. Followed by `ranges` struct pages_range, by rising address, and
 * `runs` struct pages_run: those of the first range, then those of the second, and so on, by rising address.
 */
struct pages_header {
	uint64_t time;	     /*  0: time units: before the first look */
	uint64_t end_time;   /*  8: after the last one */
	uint64_t page_bytes; /* 16: unit of the runs */
	uint64_t huge_bytes; /* 24: what one entry of the page middle directory (PMD) maps; 0: unknown */
	uint32_t source;     /* 32: enum pages_source */
	uint32_t ranges;     /* 36 */
	uint32_t runs;	     /* 40 */
	uint32_t flags;	     /* 44: PAGES_WHOLE */
};
_Static_assert(sizeof(struct pages_header) == 48, "pages_header is 48 bytes");

/* The block ends a look at everything, all of which was told anew: for who has not seen the blocks before. */
#define PAGES_WHOLE	1u

#define PAGES_UNCHANGED 1u /* as at the last look at it: it has no runs here */

/* Looked at: what lies in no run of it is not resident. Its ends are multiples of huge_bytes where that is
 * known. */
struct pages_range {
	uint64_t start; /*  0 */
	uint64_t end;	/*  8: greater than start */
	uint64_t time;	/* 16: time units: when it was looked at, after which nothing is said */
	uint32_t runs;	/* 24 */
	uint32_t flags; /* 28: PAGES_UNCHANGED */
};
_Static_assert(sizeof(struct pages_range) == 32, "pages_range is 32 bytes");

#define PAGE_PRESENT 1u
#define PAGE_SWAPPED 2u
#define PAGE_HUGE    4u	 /* mapped by a PMD; from PAGES_FROM_KPAGEFLAGS never */
#define PAGE_FILE    8u	 /* in a mapping of a file or of shared memory */
#define PAGE_ZERO    16u /* the kernel's page of zeros: takes no memory of its own */
#define PAGE_FOLIO   32u /* belongs to a folio of at least huge_bytes; from PAGES_FROM_KPAGEFLAGS alone */

/* Neighbouring pages of one state. Does not reach over the end of its range. */
struct pages_run {
	uint64_t start; /*  0 */
	uint32_t pages; /*  8: greater than 0 */
	uint32_t flags; /* 12: PAGE_*: PAGE_PRESENT or PAGE_SWAPPED, and what holds besides */
};
_Static_assert(sizeof(struct pages_run) == 16, "pages_run is 16 bytes");

/* A reading of /proc/self/smaps, or a part of one. Followed by `records` struct smaps_record by rising
 * address. */
struct smaps_header {
	uint64_t time;	   /*  0: time units: before the reading */
	uint64_t end_time; /*  8: after it */
	uint32_t records;  /* 16 */
	uint32_t flags;	   /* 20: SMAPS_LAST */
};
_Static_assert(sizeof(struct smaps_header) == 24, "smaps_header is 24 bytes");

#define SMAPS_LAST	  1u /* the last block of a reading; blocks of one reading have the same time */

#define SMAPS_ELIGIBLE	  1u   /* THPeligible: 1 */
#define SMAPS_HUGEPAGE	  2u   /* VmFlags hg: MADV_HUGEPAGE */
#define SMAPS_NO_HUGEPAGE 4u   /* VmFlags nh: MADV_NOHUGEPAGE */
#define SMAPS_HUGETLB	  8u   /* VmFlags ht */
#define SMAPS_LOCKED	  16u  /* VmFlags lo */
#define SMAPS_NO_ELIGIBLE 32u  /* the kernel has no line THPeligible (before 5.0) */
#define SMAPS_OWN	  64u  /* the shim's own memory, all of it */
#define SMAPS_FILE	  128u /* of a file or shared memory */
#define SMAPS_GROWS_DOWN  256u /* VmFlags gd: the main thread's stack */

struct smaps_record {
	uint64_t start;		   /*  0 */
	uint64_t end;		   /*  8: greater than start */
	uint64_t rss_bytes;	   /* 16 */
	uint64_t anonymous_bytes;  /* 24 */
	uint64_t anon_huge_bytes;  /* 32: AnonHugePages */
	uint64_t file_huge_bytes;  /* 40: FilePmdMapped */
	uint64_t shmem_huge_bytes; /* 48: ShmemPmdMapped */
	uint64_t hugetlb_bytes;	   /* 56: Private_Hugetlb and Shared_Hugetlb; not part of rss_bytes */
	uint64_t swap_bytes;	   /* 64 */
	uint32_t flags;		   /* 72: SMAPS_* */
	uint32_t reserved;	   /* 76 */
};
_Static_assert(sizeof(struct smaps_record) == 80, "smaps_record is 80 bytes");

/*
 * Followed by lines of `name=value`, each ended by a newline: settings and cumulative counters under the
 * names that FORMAT.md lists. A name that was not there before is new; one that is not there now is as it
 * was.
 */
struct settings_header {
	uint64_t time;	/* 0: time units */
	uint32_t flags; /* 8: SETTINGS_WHOLE */
	uint32_t bytes; /* 12: of the lines */
};
_Static_assert(sizeof(struct settings_header) == 16, "settings_header is 16 bytes");

#define SETTINGS_WHOLE 1u /* all that is known: other names are known no more */

/* Written to disk: never renumber, only append. */
enum lock_kind {
	LOCK_MUTEX = 1,	  /* pthread_mutex_t, mtx_t */
	LOCK_RWLOCK = 2,  /* pthread_rwlock_t */
	LOCK_SPIN = 3,	  /* pthread_spinlock_t */
	LOCK_COND = 4,	  /* pthread_cond_t, cnd_t: "acquired" is a wait that was woken */
	LOCK_SEM = 5,	  /* sem_t: acquired by a wait, released by a post */
	LOCK_BARRIER = 6, /* pthread_barrier_t: acquired when a wait returns */
	LOCK_ATOMIC = 7,  /* libatomic's __atomic_*: acquired counts the calls; address 0 */
};

/* Which call acquired, or waited. Written to disk: never renumber, only append. */
enum lock_call {
	LOCK_CALL_LOCK = 1, /* mutex, spin; sem_wait; pthread_cond_wait; barrier */
	LOCK_CALL_TRY = 2,
	LOCK_CALL_TIMED = 3, /* with a time limit: timed and clock forms */
	LOCK_CALL_READ = 4,  /* rwlock: the three forms for reading */
	LOCK_CALL_READ_TRY = 5,
	LOCK_CALL_READ_TIMED = 6,
};

#define LOCK_BUCKETS 16u

/* The first bucket takes what is shorter, each further one what is shorter than four times that, the last one
 * all else. */
#define LOCK_BUCKET_NS 64u

/* Followed by `records` struct lock_record. */
struct locks_header {
	uint64_t time;	   /*  0: time units: before the first record was read */
	uint64_t end_time; /* 8: after the last one */
	uint32_t records;  /* 16 */
	uint32_t flags;	   /* 20: LOCKS_WHOLE */
};
_Static_assert(sizeof(struct locks_header) == 24, "locks_header is 24 bytes");

#define LOCKS_WHOLE 1u /* every entry that is open is told, also where nothing changed (keyframe, end) */

#define LOCK_CLOSED 1u /* the entry's last record: it gave way to another, or its thread ended */

/*
 * What one thread did with one lock from `opened` on. A later record with the same thread, address, kind and
 * `opened` takes the place of the earlier one; those with different `opened` add up.
 */
struct lock_record {
	uint64_t address;      /*  0: 0: all for which there was no room, and LOCK_ATOMIC */
	uint64_t opened;       /*  8: time units */
	uint32_t thread;       /* 16: UINT32_MAX: threads that have no place of their own */
	uint16_t kind;	       /* 20: enum lock_kind */
	uint16_t flags;	       /* 22: LOCK_CLOSED */
	uint64_t acquired;     /* 24: calls that acquired, the contended ones too */
	uint64_t released;     /* 32: calls that released; LOCK_COND: signals and broadcasts */
	uint64_t shared;       /* 40: of the acquired: for reading */
	uint64_t contended;    /* 48: calls that had to wait, also those that then gave up */
	uint64_t failed;       /* 56: calls that did not acquire: busy, time out, error */
	uint64_t wait;	       /* 64: time units spent in the contended calls */
	uint64_t wait_longest; /* 72: time units */
	uint64_t held;	       /* 80: acquisitions whose hold time was measured, chosen by chance */
	uint64_t hold;	       /* 88: time units, sum over those */
	uint64_t hold_longest; /* 96: time units */
	uint64_t last_used;    /* 104: time units; by the thread's last contended or chosen call */
	uint64_t reserved[2];  /* 112 */
	uint32_t
		waits[LOCK_BUCKETS]; /* 128: contended calls by how long they waited; stays at its greatest */
	uint32_t holds[LOCK_BUCKETS]; /* 192: of `held`, by how long */
};
_Static_assert(sizeof(struct lock_record) == 256, "lock_record is 256 bytes");

/* What is counted by CPU: calls there. Written to disk by index: never renumber. */
enum cpu_calls {
	CPU_ALLOCS = 0,
	CPU_ALLOC_BYTES = 1, /* requested by these */
	CPU_REALLOCS = 2,
	CPU_REALLOC_BYTES = 3, /* new sizes requested */
	CPU_FREES = 4,
	CPU_ARRIVALS = 5, /* times a thread made a call there, having made its call before on another CPU */
	CPU_CALLS = 6,
};

/* Followed by `cpus` struct cpu_record, each with its steps. */
struct cpus_header {
	uint64_t time;	   /*  0: time units: before the counters were read */
	uint64_t end_time; /*  8: after it */
	uint32_t cpus;	   /* 16 */
	uint32_t flags;	   /* 20: CPUS_* */
};
_Static_assert(sizeof(struct cpus_header) == 24, "cpus_header is 24 bytes");

#define CPUS_LAST  1u /* the last block of a reading; blocks of one reading have the same time */
#define CPUS_WHOLE 2u /* every CPU with a call is told, also where nothing changed (keyframe, end) */
#define CPUS_EXACT                                                                                           \
	4u /* no thread went to another CPU meanwhile; else what those counted may be missing or double */

/* Sums since the start: takes the place of what was told of this CPU before. */
struct cpu_record {
	uint32_t cpu;	/*  0: UINT32_MAX: on a CPU that is not known */
	uint32_t steps; /*  4: struct step_count that follow: sizes of size_step() 0, 1, ... (sizestep.h) */
	uint64_t calls[CPU_CALLS]; /*  8: by enum cpu_calls */
};
_Static_assert(sizeof(struct cpu_record) == 56, "cpu_record is 56 bytes");

/* Allocations of the sizes of one step; reallocs are not among them. */
struct step_count {
	uint64_t allocs; /* 0 */
	uint64_t bytes;	 /* 8: requested */
};
_Static_assert(sizeof(struct step_count) == 16, "step_count is 16 bytes");

/* Followed by build_id_bytes, then path_bytes, then zeros up to a multiple of 8. */
struct module_record {
	uint64_t start;		 /*  0: first mapped address */
	uint64_t end;		 /*  8: one past the last */
	uint64_t bias;		 /* 16: run-time address minus the address in the ELF file */
	uint64_t loaded_time;	 /* 24: time units */
	uint64_t unloaded_time;	 /* 32: time units; 0: still there */
	uint16_t build_id_bytes; /* 40: 0: has none */
	uint16_t path_bytes;	 /* 42 */
	uint32_t reserved;	 /* 44 */
};
_Static_assert(sizeof(struct module_record) == 48, "module_record is 48 bytes");

struct thread_record {
	uint32_t thread;     /*  0 */
	uint32_t kernel_tid; /*  4 */
	uint64_t start_time; /*  8: time units: first seen */
	uint64_t exit_time;  /* 16: time units; 0: not seen to end */
	char name[16];	     /* 24: as the kernel has it (comm); NUL-terminated */
};
_Static_assert(sizeof(struct thread_record) == 40, "thread_record is 40 bytes");

enum end_reason {
	END_EXIT = 1,
	END_UNDERSCORE_EXIT = 2,
	END_QUICK_EXIT = 3,
	END_EXEC = 4,
};

struct end_record {
	struct clock_mark mark; /*  0 */
	uint32_t reason;	/* 32: enum end_reason */
	int32_t status;		/* 36: exit status where known, else 0 */
};
_Static_assert(sizeof(struct end_record) == 40, "end_record is 40 bytes");

/* ---- chunks (rings file, and as pieces in events blocks)
 * --------------------------------------------------- */

#define CHUNK_MAGIC	  0x4b4e4843u /* "CHNK" */
#define CHUNK_SMALL_BYTES 4096u	      /* header included: a thread's first, and what quiet threads keep */
#define CHUNK_LARGE_BYTES 65536u      /* header included */

enum chunk_state {
	CHUNK_FREE = 0,
	CHUNK_ACTIVE = 1, /* a thread writes to it */
	CHUNK_READY = 2,  /* handed over, not yet in the trace file */
};

/*
 * At the start of a chunk. The owner fills it in, then sets `state`; from then on only `committed` moves, by
 * the owner alone, with a release store after the bytes of each record. Invariant: committed <= capacity; the
 * first `committed` bytes decode without reading beyond them.
 */
struct chunk_header {
	uint32_t magic;		    /*  0 */
	uint32_t thread;	    /*  4 */
	uint32_t kernel_tid;	    /*  8 */
	uint32_t sequence;	    /* 12: counts this thread's chunks from 0 */
	uint64_t base_time;	    /* 16: time units: the first record's time is relative to it */
	uint64_t lost_before;	    /* 24: events of this thread lost so far when the chunk was opened */
	_Atomic uint32_t committed; /* 32: bytes of records */
	uint32_t capacity;	    /* 36: bytes for records */
	uint32_t cpu;		    /* 40: CPU of the first record unless a CPU record comes first */
	uint32_t skip;		/* 44: in a piece: records in the first `skip` bytes came in an earlier piece
				       of the same chunk and are decoded for their state only */
	_Atomic uint32_t state; /* 48: enum chunk_state; in a piece: CHUNK_READY */
	uint32_t reserved;	/* 52 */
	uint64_t events_before; /* 56: events of this thread recorded so far when the chunk was opened */
};
_Static_assert(sizeof(struct chunk_header) == 64, "chunk_header is 64 bytes");

/* ---- rings file
 * --------------------------------------------------------------------------------------------- */

#define RINGS_MAGIC	   "mtrings\n"
#define RINGS_EXTENT_BYTES CHUNK_LARGE_BYTES
#define RINGS_EXTENTS_MAX  32768u /* 2 GiB */

/* What an extent was cut into; it keeps its kind for good. */
enum extent_kind {
	EXTENT_UNUSED = 0, /* not allocated in the file: must not be read */
	EXTENT_SLOTS = 1,
	EXTENT_SMALL = 2, /* small chunks */
	EXTENT_LARGE = 3, /* one large chunk */
};

/* Offset 0 of the rings file. Extent i lies at extents_offset + i * RINGS_EXTENT_BYTES. */
struct rings_header {
	char magic[8];		 /*  0 */
	uint32_t version;	 /*  8: TRACE_FORMAT_VERSION */
	uint32_t extents_offset; /* 12 */
	uint8_t nonce[16];	 /* 16: of the trace file */
	uint32_t extents_count;	 /* 32: bound set by MTRACE_RING_MIB */
	uint32_t reserved;	 /* 36 */
	uint64_t check;		 /* 40: XXH3-64 of the bytes before */
	/* Exact counts of what happened in threads that have no slot, and of what the writer lost. */
	_Atomic uint64_t shared_counters[COUNTER_COUNT]; /* 48 */
	/* Sums over the threads that are gone, twice; retired_counters[retired_epoch % 2] is the one that
	 * counts. */
	uint64_t retired_counters[2][COUNTER_COUNT];	 /* 48 + 8 * COUNTER_COUNT */
	_Atomic uint64_t retired_epoch;			 /* 48 + 24 * COUNTER_COUNT */
	_Atomic uint8_t extent_kinds[RINGS_EXTENTS_MAX]; /* 56 + 24 * COUNTER_COUNT: enum extent_kind */
};

enum slot_state {
	SLOT_FREE = 0,
	SLOT_LIVE = 1,
	SLOT_ENDED = 2, /* the thread said that it ends; its last destructors may still count here */
};

#define SLOT_BYTES 512u

/* A thread's place in the rings file. Written by that thread alone while it lives, except `state`. */
struct ring_slot {
	_Atomic uint32_t state;			  /*  0: enum slot_state */
	uint32_t thread;			  /*  4 */
	uint32_t kernel_tid;			  /*  8 */
	uint32_t reserved;			  /* 12 */
	uint64_t start_time;			  /* 16 */
	_Atomic uint64_t exit_time;		  /* 24 */
	char name[16];				  /* 32 */
	_Atomic uint64_t counters[COUNTER_COUNT]; /* 48 */
	/* 0, or the retired_epoch from which on these counters are part of the retired ones. So a single
	 * store, that of the epoch, takes them out here and in there, and a kill at any moment finds them
	 * once. */
	_Atomic uint64_t retired_at; /* 48 + 8 * COUNTER_COUNT */
	uint8_t unused[SLOT_BYTES - 56 - 8 * COUNTER_COUNT];
};
_Static_assert(sizeof(struct ring_slot) == SLOT_BYTES, "ring_slot is 512 bytes");

/* True where the slot's counters are to be added to the sum of all threads. */
static inline bool ring_slot_counts(const struct ring_slot *slot, uint64_t retired_epoch)
{
	uint64_t retired_at = atomic_load_explicit(&slot->retired_at, memory_order_acquire);
	return atomic_load_explicit(&slot->state, memory_order_acquire) != SLOT_FREE &&
	       (retired_at == 0 || retired_at > retired_epoch);
}

#endif
