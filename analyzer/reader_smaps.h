/*
 * The readings of /proc/self/smaps in a trace (BLOCK_SMAPS), one whole reading after the other.
 */
#ifndef MTRACE_READER_SMAPS_H
#define MTRACE_READER_SMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/error.h"
#include "analyzer/reader.h"
#include "trace/layout.h"

struct trace_smaps {
	uint64_t time; /* before the reading */
	uint64_t end_time;
	const struct smaps_record *records; /* by rising address, none overlapping another */
	size_t count;
};

/* What a mapping has mapped by entries of the page middle directory, hugetlb pages apart. */
static inline uint64_t smaps_huge_bytes(const struct smaps_record *record)
{
	return record->anon_huge_bytes + record->file_huge_bytes + record->shmem_huge_bytes;
}

struct smaps_reader;

/* NULL when out of memory. `trace` must outlive it. */
struct smaps_reader *smaps_reader_open(struct trace *trace);
void smaps_reader_close(struct smaps_reader *reader); /* NULL is fine */

/* When the reading of the next block began; UINT64_MAX: there is none. */
uint64_t smaps_reader_due(struct smaps_reader *reader);

/*
 * The next reading that began at `time` or before; its contents stay valid until the next call. False where
 * there is none, or on an error, which sets error->code. Damaged blocks are listed by trace_damage(); a
 * reading of which a block is damaged or missing is passed over whole.
 */
bool smaps_reader_next(struct smaps_reader *reader, uint64_t time, struct trace_smaps *smaps,
		       struct error *error);

#endif
