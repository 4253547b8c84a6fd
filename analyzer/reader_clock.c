#include <stdlib.h>

#include "analyzer/array.h"
#include "analyzer/reader_internal.h"

#define CLOCK_LIMIT_NS 4000000000000000000 /* the year 2096; the sum of two such stays in int64_t */

bool clock_add(struct trace *trace, uint64_t time, uint64_t realtime_ns, uint64_t monotonic_ns)
{
	if (realtime_ns > CLOCK_LIMIT_NS || monotonic_ns > CLOCK_LIMIT_NS)
		return true;
	if (!array_reserve(&trace->clock, &trace->clock_capacity, trace->clock_count + 1,
			   sizeof *trace->clock))
		return false;
	trace->clock[trace->clock_count++] = (struct clock_point){time, realtime_ns, monotonic_ns};
	return true;
}

static int by_time(const void *a, const void *b)
{
	uint64_t left = ((const struct clock_point *)a)->time, right = ((const struct clock_point *)b)->time;
	return (left > right) - (left < right);
}

void clock_finish(struct trace *trace)
{
	if (!trace->clock_count)
		return;
	qsort(trace->clock, trace->clock_count, sizeof *trace->clock, by_time);
	size_t kept = 1;
	for (size_t i = 1; i < trace->clock_count; i++) {
		const struct clock_point *last = &trace->clock[kept - 1], *next = &trace->clock[i];
		if (next->time > last->time && next->monotonic_ns > last->monotonic_ns)
			trace->clock[kept++] = *next;
	}
	trace->clock_count = kept;
}

/* The last point at or before `time`, but one that has a successor where there are two points at all. */
static size_t segment(const struct trace *trace, uint64_t time)
{
	size_t low = 0, high = trace->clock_count - 1;
	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;
		if (trace->clock[middle].time <= time)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static double units_between(uint64_t from, uint64_t to)
{
	return to >= from ? (double)(to - from) : -(double)(from - to);
}

static int64_t shifted(uint64_t base_ns, double offset_ns)
{
	double limit = CLOCK_LIMIT_NS;
	if (!(offset_ns < limit && offset_ns > -limit))
		return offset_ns > 0 ? CLOCK_LIMIT_NS : -CLOCK_LIMIT_NS;
	return (int64_t)base_ns + (int64_t)offset_ns;
}

static int64_t interpolate(const struct trace *trace, uint64_t time, bool realtime)
{
	if (!trace->clock_count)
		return 0;
	size_t at = segment(trace, time);
	const struct clock_point *a = &trace->clock[at];
	double units = units_between(a->time, time);
	uint64_t base = realtime ? a->realtime_ns : a->monotonic_ns;
	if (trace->clock_count == 1)
		return shifted(base, units * trace->nominal_ns);
	const struct clock_point *b = a + 1;
	uint64_t next = realtime ? b->realtime_ns : b->monotonic_ns;
	double slope = units_between(base, next) / (double)(b->time - a->time);
	return shifted(base, units * slope);
}

int64_t trace_realtime_ns(const struct trace *trace, uint64_t time)
{
	return interpolate(trace, time, true);
}

int64_t trace_monotonic_ns(const struct trace *trace, uint64_t time)
{
	return interpolate(trace, time, false);
}

double trace_seconds(const struct trace *trace, uint64_t time)
{
	int64_t difference_ns;
	if (__builtin_sub_overflow(trace_monotonic_ns(trace, time),
				   trace_monotonic_ns(trace, trace->start_time), &difference_ns))
		return 0;
	return (double)difference_ns * 1e-9;
}

uint64_t trace_units_to_ns(const struct trace *trace, uint64_t units)
{
	double ns = (double)units * trace->nominal_ns;
	return ns < 1e19 ? (uint64_t)ns : UINT64_MAX;
}

uint64_t trace_interval(const struct trace *trace)
{
	uint64_t interval_ms, unit_ns = trace_units_to_ns(trace, 1024);
	if (!trace_key_number(trace, "interval_ms", &interval_ms) || unit_ns == 0)
		return 0;
	return (uint64_t)((double)interval_ms * 1e6 * 1024 / (double)unit_ns);
}
