/* `compare --ftdc`: what a server recorded of itself, run by run. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <math.h>
#include <string.h>

#include "analyzer/compare_inside.h"
#include "analyzer/compare_series.h"
#include "tests/unit/support_compare.h"
#include "tests/unit/support_ftdc.h"
#include "tests/unit/support_trace.h"

#define RUN_S	  15
#define APART_S	  20 /* from the start of one run to that of the next */
#define NS_PER_MS INT64_C(1000000)

static struct compare compare;
static struct error error;

static void start(void)
{
	cr_redirect_stderr();
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	cr_assert(simulate(&compare, &(struct simulation){3, 0.01, 0.1, true, 0, SIMULATED_LEVELS}, rng));
	gsl_rng_free(rng);
	for (size_t i = 0; i < compare.run_count; i++) {
		compare.runs[i].start_ns = (START_MS + (int64_t)i * APART_S * 1000) * NS_PER_MS;
		compare.runs[i].end_ns = compare.runs[i].start_ns + RUN_S * 1000 * NS_PER_MS;
	}
}

static void end(void)
{
	compare_free(&compare);
}

TestSuite(ftdc_compare, .init = start, .fini = end);

/*
 * A sample a second over all runs. Of each operation come two major faults in the base, one in the arm, and
 * none between runs; the cache is half full in the base, and four fifths in the arm.
 */
static const char *write_server(int64_t shift_ms)
{
	struct bytes file = {0};
	const size_t seconds = compare.run_count * APART_S;
	double faults = 0;
	for (size_t second = 0; second < seconds; second += 100) {
		bson_t *samples[100];
		size_t count = seconds - second < 100 ? seconds - second : 100;
		for (size_t i = 0; i < count; i++) {
			const struct compare_run *run = &compare.runs[(second + i) / APART_S];
			int64_t ms = START_MS + (int64_t)(second + i) * 1000 + shift_ms;
			samples[i] = BCON_NEW("start", BCON_DATE_TIME(ms), "serverStatus", "{", "wiredTiger",
					      "{", "cache", "{", "bytes currently in the cache",
					      BCON_INT64(run->arm ? 80 : 50), "maximum bytes configured",
					      BCON_INT64(100), "}", "}", "}", "systemMetrics", "{", "vmstat",
					      "{", "pgmajfault", BCON_INT64((int64_t)faults), "}", "}");
			if ((second + i) % APART_S < RUN_S)
				faults += run_value(run, COMPARE_OVERALL, METRIC_THROUGHPUT, NULL) *
					  (run->arm ? 1 : 2);
		}
		put_chunk_at(&file, START_MS + (int64_t)second * 1000 + shift_ms, samples, count);
		for (size_t i = 0; i < count; i++)
			bson_destroy(samples[i]);
	}
	const char *path = support_path("metrics.server");
	support_write_file(path, file.data, file.count);
	bytes_free(&file);
	return path;
}

static const struct inside_change *change_of(const char *name)
{
	for (size_t i = 0; i < compare.change_count; i++)
		if (strcmp(inside_quantity(&compare, compare.changes[i].quantity).name, name) == 0)
			return &compare.changes[i];
	return NULL;
}

Test(ftdc_compare, what_a_server_recorded_is_compared_run_by_run)
{
	const char *path = write_server(0);
	cr_assert(compare_read_ftdc(&compare, &path, 1, &error), "%s", error.text);
	cr_assert(compare_inside(&compare, &error));
	const struct inside_change *faults = change_of("server_major_faults_per_s");
	const struct inside_change *fill = change_of("server_cache_fill_percent");
	cr_assert(faults && fill);
	cr_assert_eq(faults->down, faults->pairs);
	cr_assert_eq(faults->pairs, 3 * SIMULATED_LEVELS);
	cr_assert(faults->ratio.low > 0.45 && faults->ratio.high < 0.55);
	cr_assert_eq(inside_quantity(&compare, faults->quantity).kind, QUANTITY_PER_OPERATION);
	cr_assert_eq(fill->up, fill->pairs);
	cr_assert_eq(inside_quantity(&compare, fill->quantity).kind, QUANTITY_LEVEL);
	for (size_t i = 0; i < compare.run_count; i++) {
		double value = compare.runs[i].inside.values[faults->quantity];
		cr_assert_float_eq(value, compare.runs[i].arm ? 1 : 2, 0.01, "run %zu: %g", i, value);
		value = compare.runs[i].inside.values[fill->quantity];
		cr_assert_float_eq(value, compare.runs[i].arm ? 80 : 50, 3, "run %zu: %g", i, value);
	}
}

Test(ftdc_compare, data_of_another_time_is_not_used)
{
	const char *path = write_server(86400000);
	cr_assert(compare_read_ftdc(&compare, &path, 1, &error));
	cr_assert(compare_inside(&compare, &error));
	cr_assert_eq(compare.change_count, 0);
	cr_assert_eq(compare.remark_count, 1);
	cr_assert_str_eq(compare.remarks[0].id, "ftdc-no-overlap");
}

Test(ftdc_compare, data_that_cannot_be_read_is_left_out)
{
	const char *paths[] = {"/nonexistent/diagnostic.data", write_server(0)};
	cr_assert(compare_read_ftdc(&compare, paths, 2, &error));
	cr_assert(compare.inputs_left_out);
	cr_assert(compare_inside(&compare, &error));
	cr_assert(change_of("server_major_faults_per_s"));
}

Test(ftdc_compare, runs_without_a_clock_have_no_place)
{
	const char *path = write_server(0);
	for (size_t i = 0; i < compare.run_count; i++)
		compare.runs[i].start_ns = compare.runs[i].end_ns = YCSB_NO_TIME;
	cr_assert(compare_read_ftdc(&compare, &path, 1, &error));
	cr_assert_str_eq(compare.remarks[0].id, "ftdc-no-clock");
}
