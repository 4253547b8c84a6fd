#include "bench/measure.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/failure.h"
#include "bench/javatext.h"

static const char *const operation_names[OP_COUNT] = {
	"READ", "UPDATE", "INSERT", "SCAN", "READ-MODIFY-WRITE", "CLEANUP"};
static const char *const status_names[STATUS_COUNT] = {"OK", "NOT_FOUND", "ERROR"};

void measure_init(struct measure *measure, unsigned thread_count)
{
	*measure = (struct measure){.thread_count = thread_count};
	measure->threads = must_calloc(thread_count ? thread_count : 1, sizeof *measure->threads);
}

void measure_destroy(struct measure *measure)
{
	for (unsigned i = 0; i < measure->thread_count; i++)
		for (unsigned series = 0; series < SERIES_COUNT; series++)
			free(atomic_load_explicit(&measure->threads[i].series[series], memory_order_relaxed));
	for (unsigned series = 0; series < SERIES_COUNT; series++)
		free(measure->before[series]);
	free(measure->threads);
}

/* ---- workers ---- */

static __attribute__((noinline)) struct latency *make_series(struct measure_thread *thread, unsigned series)
{
	struct latency *latency = must_calloc(1, sizeof *latency);

	atomic_store_explicit(&thread->series[series], latency, memory_order_release);
	return latency;
}

static void record_in(struct measure_thread *thread, unsigned series, uint64_t elapsed_ns)
{
	struct latency *latency = atomic_load_explicit(&thread->series[series], memory_order_relaxed);

	if (!latency)
		latency = make_series(thread, series);
	latency_record(latency, elapsed_ns);
}

void measure_operation(struct measure_thread *thread, enum operation operation, enum op_status status,
		       uint64_t elapsed_ns)
{
	record_in(thread, 2 * operation + (status != STATUS_OK), elapsed_ns);
	latency_add_relaxed(&thread->returns[operation][status], 1);
}

void measure_latency(struct measure_thread *thread, enum operation operation, uint64_t elapsed_ns)
{
	record_in(thread, 2 * operation, elapsed_ns);
}

/* ---- sums ---- */

uint64_t measure_operations_done(const struct measure *measure)
{
	uint64_t done = 0;

	for (unsigned i = 0; i < measure->thread_count; i++)
		done += atomic_load_explicit(&measure->threads[i].operations_done, memory_order_relaxed);
	return done;
}

uint64_t measure_returned(const struct measure *measure, enum operation operation, enum op_status status)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < measure->thread_count; i++)
		count += atomic_load_explicit(&measure->threads[i].returns[operation][status],
					      memory_order_relaxed);
	return count;
}

static uint64_t returned_at_all(const struct measure *measure, enum operation operation)
{
	uint64_t count = 0;

	for (unsigned status = 0; status < STATUS_COUNT; status++)
		count += measure_returned(measure, operation, status);
	return count;
}

/* The total of a series over all threads, as a new block; NULL where nothing was ever recorded. */
static struct latency_sum *total_of(const struct measure *measure, unsigned series)
{
	struct latency_sum *total = must_calloc(1, sizeof *total);

	for (unsigned i = 0; i < measure->thread_count; i++) {
		/* Acquire, for make_series(): the zeroed histogram is seen before its counters are read. */
		struct latency *latency =
			atomic_load_explicit(&measure->threads[i].series[series], memory_order_acquire);

		if (latency)
			latency_sum_add(total, latency);
	}
	/* YCSB makes READ together with READ-FAILED, so an operation that only fails has both. */
	if (total->count || (series % 2 == 0 && returned_at_all(measure, series / 2)))
		return total;
	free(total);
	return NULL;
}

static void series_name(char name[64], unsigned series)
{
	snprintf(name, 64, "%s%s", operation_names[series / 2], series % 2 ? "-FAILED" : "");
}

/* ---- status line ---- */

void measure_print_progress(FILE *out, const struct status_line *line)
{
	char text[JAVATEXT_BYTES];
	double overall = 1000 * ((double)line->operations / (double)line->elapsed_ms);
	double current =
		1000 * ((double)(line->operations - line->operations_before) / (double)line->interval_ms);

	fprintf(out, "%s%s %" PRId64 " sec: %" PRIu64 " operations; ", line->label,
		java_timestamp(text, line->wall_ms), line->elapsed_ms / 1000, line->operations);
	if (line->operations)
		fprintf(out, "%s current ops/sec; ", java_two_decimals(text, current));
	if (line->operations_left)
		fprintf(out, "est completion in %s",
			java_remaining(text, java_long(ceil((double)line->operations_left / overall))));
}

static void print_summary(FILE *out, const char *name, const struct latency_sum *sum)
{
	char text[JAVATEXT_BYTES];

	fprintf(out,
		"[%s: Count=%" PRIu64 ", Max=%" PRIu64 ", Min=%" PRIu64 ", Avg=%s, 90=%" PRIu64
		", 99=%" PRIu64 ", 99.9=%" PRIu64 ", 99.99=%" PRIu64 "] ",
		name, sum->count, latency_max_us(sum), latency_min_us(sum),
		java_two_decimals(text, latency_average_us(sum)), latency_percentile_us(sum, 90),
		latency_percentile_us(sum, 99), latency_percentile_us(sum, 99.9),
		latency_percentile_us(sum, 99.99));
}

void measure_print_interval(struct measure *measure, FILE *out)
{
	static const struct latency_sum nothing;
	struct latency_sum *between = must_calloc(1, sizeof *between);

	for (unsigned series = 0; series < SERIES_COUNT; series++) {
		struct latency_sum *now = total_of(measure, series);
		char name[64];

		if (!now)
			continue;
		latency_sum_difference(between, now,
				       measure->before[series] ? measure->before[series] : &nothing);
		series_name(name, series);
		print_summary(out, name, between);
		free(measure->before[series]);
		measure->before[series] = now;
	}
	free(between);
}

/* ---- export block ---- */

static void print_returns(const struct measure *measure, FILE *out, enum operation operation)
{
	for (unsigned status = 0; status < STATUS_COUNT; status++) {
		uint64_t count = measure_returned(measure, operation, status);

		if (count)
			fprintf(out, "[%s], Return=%s, %" PRIu64 "\n", operation_names[operation],
				status_names[status], count);
	}
}

static void print_series(const struct measure *measure, FILE *out, unsigned series, const double *percentiles,
			 unsigned percentile_count)
{
	struct latency_sum *sum = total_of(measure, series);
	char name[64], text[JAVATEXT_BYTES];

	if (!sum)
		return;
	series_name(name, series);
	fprintf(out, "[%s], Operations, %" PRIu64 "\n", name, sum->count);
	fprintf(out, "[%s], AverageLatency(us), %s\n", name, java_double(text, latency_average_us(sum)));
	fprintf(out, "[%s], MinLatency(us), %" PRIu64 "\n", name, latency_min_us(sum));
	fprintf(out, "[%s], MaxLatency(us), %" PRIu64 "\n", name, latency_max_us(sum));
	for (unsigned i = 0; i < percentile_count; i++)
		fprintf(out, "[%s], %sPercentileLatency(us), %" PRIu64 "\n", name,
			java_ordinal(text, percentiles[i]), latency_percentile_us(sum, percentiles[i]));
	if (series % 2 == 0)
		print_returns(measure, out, series / 2);
	free(sum);
}

void measure_print_export(const struct measure *measure, FILE *out, int64_t runtime_ms,
			  const double *percentiles, unsigned percentile_count)
{
	char text[JAVATEXT_BYTES];
	double throughput = 1000 * ((double)measure_operations_done(measure) / (double)runtime_ms);

	fprintf(out, "[OVERALL], RunTime(ms), %" PRId64 "\n", runtime_ms);
	fprintf(out, "[OVERALL], Throughput(ops/sec), %s\n", java_double(text, throughput));
	for (unsigned series = 0; series < SERIES_COUNT; series++)
		print_series(measure, out, series, percentiles, percentile_count);
}
