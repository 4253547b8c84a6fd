#include "analyzer/locks_client.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/span.h"

/* A stretch in which one run or several went on. */
struct stretch {
	int64_t start_ns, end_ns;
	double operations;
};

/* Over the part of [start, end) that the readings cover; NaN where they cover less than half of it. */
static double atomics_per_s(const struct locks *locks, int64_t start_ns, int64_t end_ns)
{
	const struct trace *trace = locks_trace(locks);
	size_t count;
	const struct lock_reading *readings = locks_readings(locks, &count);
	double atomics = 0, covered_ns = 0;
	for (size_t i = 0; i < count; i++) {
		int64_t from = trace_realtime_ns(trace, readings[i].start);
		int64_t to = trace_realtime_ns(trace, readings[i].end);
		double common_ns = (double)span_overlap_ns(from, to, start_ns, end_ns);
		if (common_ns <= 0)
			continue;
		atomics += readings[i].atomics * common_ns / (double)(to - from);
		covered_ns += common_ns;
	}
	return covered_ns > 0.5 * (double)(end_ns - start_ns) ? atomics / covered_ns * 1e9 : NAN;
}

static bool has_clock(const struct ycsb_run *run)
{
	return run->interval_count && run->intervals[0].start_ns != YCSB_NO_TIME;
}

static struct stretch stretch_of(const struct ycsb_run *run)
{
	struct stretch stretch = {run->intervals[0].start_ns, run->intervals[run->interval_count - 1].end_ns,
				  0};
	for (size_t i = 0; i < run->interval_count; i++)
		stretch.operations += (double)run->intervals[i].operations;
	return stretch;
}

static int by_start(const void *left, const void *right)
{
	const struct stretch *a = left, *b = right;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Clients at the same time are one stretch. Returns how many are left. */
static size_t join(struct stretch *stretches, size_t count)
{
	size_t last = 0;
	if (count > 1)
		qsort(stretches, count, sizeof *stretches, by_start);
	for (size_t i = 1; i < count; i++) {
		if (stretches[i].start_ns >= stretches[last].end_ns) {
			stretches[++last] = stretches[i];
			continue;
		}
		if (stretches[i].end_ns > stretches[last].end_ns)
			stretches[last].end_ns = stretches[i].end_ns;
		stretches[last].operations += stretches[i].operations;
	}
	return count ? last + 1 : 0;
}

/* NaN where no stretch lies in the time of the locks. */
static double per_timed_operation(const struct locks *locks, struct stretch *stretches, size_t count)
{
	double atomics = 0, operations = 0;
	count = join(stretches, count);
	for (size_t i = 0; i < count; i++) {
		double rate = atomics_per_s(locks, stretches[i].start_ns, stretches[i].end_ns);
		if (isnan(rate))
			continue;
		atomics += rate * (double)(stretches[i].end_ns - stretches[i].start_ns) / 1e9;
		operations += stretches[i].operations;
	}
	return operations > 0 ? atomics / operations : NAN;
}

static double all_atomics(const struct locks *locks)
{
	size_t count;
	const struct lock_reading *readings = locks_readings(locks, &count);
	double atomics = 0;
	for (size_t i = 0; i < count; i++)
		atomics += readings[i].atomics;
	return atomics;
}

double lock_atomics_per_operation(const struct locks *locks, const struct ycsb_file *files, size_t count,
				  enum lock_client_time *over)
{
	size_t runs = 0, timed = 0;
	double operations = 0;
	for (size_t f = 0; f < count; f++)
		runs += files[f].run_count;
	struct stretch *stretches = malloc((runs + 1) * sizeof *stretches);
	for (size_t f = 0; stretches && f < count; f++)
		for (size_t r = 0; r < files[f].run_count; r++) {
			const struct ycsb_run *run = &files[f].runs[r];
			double done = run->throughput_ops_s * run->runtime_ms / 1000;
			if (has_clock(run))
				stretches[timed++] = stretch_of(run);
			else if (done > 0)
				operations += done;
		}
	double value = stretches && timed ? per_timed_operation(locks, stretches, timed)
		       : operations > 0	  ? all_atomics(locks) / operations
					  : NAN;
	free(stretches);
	*over = isnan(value) ? LOCK_CLIENT_NONE : timed ? LOCK_CLIENT_RUNS : LOCK_CLIENT_WHOLE;
	return value;
}
