/*
 * What threads did with locks (BLOCK_LOCKS), one block after the other. trace/FORMAT.md tells what the sums
 * mean and which of several records of an entry counts.
 */
#ifndef MTRACE_READER_LOCKS_H
#define MTRACE_READER_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/error.h"
#include "analyzer/reader.h"
#include "trace/layout.h"

#define LOCK_KINDS (LOCK_ATOMIC + 1) /* for arrays by enum lock_kind; 0 is none */

/* One block. Several may belong to one reading: their times follow each other closely. */
struct trace_locks {
	uint64_t time; /* before the first record was read, in time units */
	uint64_t end_time;
	bool whole;			   /* tells every entry that was open */
	const struct lock_record *records; /* of kinds that are known; sums are those of one moment each */
	size_t count;
};

struct locks_reader;

/* NULL when out of memory. `trace` must outlive it. */
struct locks_reader *locks_reader_open(struct trace *trace);
void locks_reader_close(struct locks_reader *reader); /* NULL is fine */

/* The first time of the next block; UINT64_MAX: there is none. */
uint64_t locks_reader_due(struct locks_reader *reader);

/*
 * The next block that begins at `time` or before; its contents stay valid until the next call. False where
 * there is none, or on an error, which sets error->code. Damaged ones are listed by trace_damage() and passed
 * over: a count beyond the block, an end before the begin. Records of a kind that is not known are left out.
 */
bool locks_reader_next(struct locks_reader *reader, uint64_t time, struct trace_locks *locks,
		       struct error *error);

/* "mutex", "rwlock", "spin", "cond", "sem", "barrier", "atomic"; NULL for others. */
const char *lock_kind_name(unsigned kind);

#endif
