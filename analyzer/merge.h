/*
 * The events of a trace as one stream in time order.
 *
 * Blocks arrive in the order in which they were written; each holds pieces of several threads. Pieces wait
 * until a watermark says that nothing earlier can come; then all events before it are handed on, smallest
 * time first, ties by thread number, and always in order within a thread (also where a clock steps back
 * between CPUs). Memory follows what lies between two watermarks, never the length of the trace.
 *
 *     struct merge *merge = merge_open(trace, &error);
 *     struct merge_item item;
 *     while (merge_next(merge, &item, &error))
 *             if (item.event) ... else ... item.snapshot
 *     merge_close(merge);
 */
#ifndef MTRACE_MERGE_H
#define MTRACE_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/reader.h"
#include "trace/event.h"
#include "trace/layout.h"

struct merge;

/* Exactly one of the two is set; both are owned by the merge and valid until the next call. */
struct merge_item {
	const struct trace_event *event;
	const struct snapshot *snapshot; /* after all events before snapshot->mark.time */
};

struct merge_stats {
	uint64_t events;	   /* handed on */
	uint64_t pieces;	   /* read, repeated ones included */
	uint64_t missing_chunks;   /* chunk numbers that never came: damaged, overwritten or not written */
	uint64_t recovered_events; /* of `events`: those that stood in the rings file only */
	uint64_t late_events;	   /* of `events`: earlier than one handed on before (damage, or clocks that
				      disagree) */
	uint64_t peak_buffered_bytes; /* most memory held by waiting pieces */
	uint64_t read_bytes; /* of the file so far: for progress, against trace_info()->trace_bytes */
};

/* Begins at the start of the trace; a trace can be gone through several times, but only by one merge at a
 * time. */
struct merge *merge_open(struct trace *trace, struct error *error);
void merge_close(struct merge *merge); /* NULL is fine */

/*
 * The next item. False at the end, and on an error (memory, a read that fails), which leaves error->code set.
 * Damage is no error: it is passed over and listed by trace_damage().
 */
bool merge_next(struct merge *merge, struct merge_item *item, struct error *error);

/*
 * Calls `lookahead` for each event some events before it is handed on, so that a consumer can have memory
 * fetched (livemap_prefetch()). Its order is that of decoding, not of time.
 */
void merge_lookahead(struct merge *merge, void (*lookahead)(void *context, const struct trace_event *event),
		     void *context);

const struct merge_stats *merge_stats(const struct merge *merge);

#endif
