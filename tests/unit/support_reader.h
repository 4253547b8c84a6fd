/* A whole pass through a trace, for tests of the reader. */
#ifndef MTRACE_TESTS_SUPPORT_READER_H
#define MTRACE_TESTS_SUPPORT_READER_H

#include <criterion/criterion.h>

#include "analyzer/merge.h"
#include "analyzer/reader.h"

/* Events and damage of a whole pass. UINT64_MAX events: it did not open, `error` says why. */
struct outcome {
	uint64_t events;
	uint64_t damage;
	bool complete;
	struct error error;
};

static inline struct outcome read_through(const char *path)
{
	struct outcome outcome = {.events = UINT64_MAX};
	struct trace *trace = trace_open(path, &outcome.error);
	if (!trace)
		return outcome;
	struct merge *merge = merge_open(trace, &outcome.error);
	struct merge_item item;
	while (merge_next(merge, &item, &outcome.error))
		if (item.event)
			cr_assert_eq(item.event->thread / 4, 0);
	cr_assert_eq(outcome.error.code, ERROR_NONE);
	outcome.events = merge_stats(merge)->events;
	outcome.damage = trace_damage_count(trace);
	outcome.complete = trace_info(trace)->complete;
	merge_close(merge);
	trace_close(trace);
	return outcome;
}

#endif
