/* What is said to have moved with the treatment; series of the user's; regression. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/compare_frees.h"
#include "analyzer/compare_inside.h"
#include "analyzer/compare_series.h"
#include "tests/unit/support_compare.h"
#include "tests/unit/support_trace.h"

#define NEAR(got, wanted, tolerance)                                                                         \
	cr_assert_float_eq(got, wanted, tolerance, "%s: %.12g instead of %.12g", #got, (double)(got),        \
			   (double)(wanted))

static struct compare compare;
static struct error error;

static void start(void)
{
	cr_redirect_stderr();
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	cr_assert(simulate(&compare, &(struct simulation){4, 0.01, 0.1, true, 0, SIMULATED_LEVELS}, rng));
	gsl_rng_free(rng);
}

static void end(void)
{
	compare_free(&compare);
}

TestSuite(compare_inside, .init = start, .fini = end);

/* ---- consistency ------------------------------------------------------------------------------------- */

static void set_inside(struct compare_run *run, size_t quantity, double value)
{
	if (!run->inside.values) {
		run->inside.count = inside_quantities(&compare);
		run->inside.values = malloc(run->inside.count * sizeof *run->inside.values);
		for (size_t i = 0; i < run->inside.count; i++)
			run->inside.values[i] = NAN;
	}
	run->inside.values[quantity] = value;
}

/* Quantity 3 doubles in every block, 4 rises in half of them, 5 falls in all but one pair. */
Test(compare_inside, the_most_consistent_comes_first)
{
	for (size_t i = 0; i < compare.run_count; i++) {
		struct compare_run *run = &compare.runs[i];
		double drift = 1 + (double)run->block, sign = run->block % 2 ? 1 : -1;
		bool exception = run->block == 0 && run->threads == 4;
		set_inside(run, 4, drift + (run->arm ? sign : 0));
		set_inside(run, 5,
			   drift - (run->arm && !exception ? 0.5 : 0) + (run->arm && exception ? 1 : 0));
		set_inside(run, 3, drift * (run->arm ? 2 + 0.01 * drift : 1));
	}
	cr_assert(compare_inside(&compare, &error));
	cr_assert_eq(compare.change_count, 3);
	const struct inside_change *first = &compare.changes[0];
	cr_assert_eq(first->quantity, 3);
	cr_assert(first->within_blocks);
	cr_assert_eq(first->pairs, 20, "four blocks of five levels");
	cr_assert_eq(first->up, 20);
	NEAR(first->consistency, 1, 0);
	cr_assert(first->ratio.low > 1.9 && first->ratio.high < 2.1);
	cr_assert_eq(compare.changes[1].quantity, 5);
	cr_assert_eq(compare.changes[1].down, 19);
	cr_assert_eq(compare.changes[2].quantity, 4);
	NEAR(compare.changes[2].consistency, 0.5, 0);
}

Test(compare_inside, without_blocks_every_pair_of_runs_at_a_level_counts)
{
	for (size_t i = 0; i < compare.run_count; i++) {
		compare.runs[i].block = COMPARE_NO_BLOCK;
		set_inside(&compare.runs[i], 3, compare.runs[i].arm ? 2 : 1);
	}
	cr_assert(compare_inside(&compare, &error));
	cr_assert_eq(compare.changes[0].pairs, 5 * 4 * 4);
	cr_assert_not(compare.changes[0].within_blocks);
}

Test(compare_inside, what_never_moves_is_not_listed)
{
	for (size_t i = 0; i < compare.run_count; i++)
		set_inside(&compare.runs[i], 3, 7);
	cr_assert(compare_inside(&compare, &error));
	cr_assert_eq(compare.change_count, 0);
	cr_assert_not(compare.regression.known, "coverage is not known");
}

/* ---- regression -------------------------------------------------------------------------------------- */

/* R's data set `cars` (Ezekiel, "Methods of Correlation Analysis", 1930). lm(dist ~ speed): 3.9324, and
 * confint() 3.096964 4.767853; p 1.49e-12. */
static const double speed[] = {4,  4,  7,  7,  8,  9,  10, 10, 10, 11, 11, 12, 12, 12, 12, 13, 13,
			       13, 13, 14, 14, 14, 14, 15, 15, 15, 16, 16, 17, 17, 17, 18, 18, 18,
			       18, 19, 19, 19, 20, 20, 20, 20, 20, 22, 23, 24, 24, 24, 24, 25};
static const double dist[] = {2,  10, 4,  22, 16, 10, 18, 26, 34, 17, 28, 14, 20, 24, 28,  26, 34,
			      34, 46, 26, 36, 60, 80, 20, 26, 54, 32, 40, 32, 40, 50, 42,  56, 76,
			      84, 36, 46, 68, 32, 48, 52, 56, 64, 66, 54, 70, 92, 93, 120, 85};

Test(compare_inside, regression_of_r)
{
	size_t group[50] = {0};
	struct inside_regression fit = inside_regress(speed, dist, group, 50);
	cr_assert(fit.known);
	NEAR(fit.slope, 3.932409, 5e-7);
	NEAR(fit.low, 3.096964, 5e-7);
	NEAR(fit.high, 4.767853, 5e-7);
	NEAR(fit.p, 1.49e-12, 5e-15);
}

/* Between the groups y rises with x, within them it falls (Simpson's paradox). */
Test(compare_inside, regression_is_within_groups)
{
	double x[12], y[12];
	size_t group[12];
	for (size_t i = 0; i < 12; i++) {
		group[i] = i / 4;
		x[i] = (double)group[i] * 10 + (double)(i % 4);
		y[i] = (double)group[i] * 100 - 2 * (double)(i % 4) + (i % 2 ? 0.1 : -0.1);
	}
	struct inside_regression fit = inside_regress(x, y, group, 12);
	cr_assert(fit.known && fit.groups == 3);
	cr_assert(fit.low < -1.9 && fit.high > -2.1 && fit.high < 0);
	cr_assert_not(inside_regress(x, y, group, 7).known, "too few");
	for (size_t i = 0; i < 12; i++)
		x[i] = (double)group[i];
	cr_assert_not(inside_regress(x, y, group, 12).known, "x does not vary within a group");
}

/* ---- series of the user's ---------------------------------------------------------------------------- */

#define START_NS   (CAMPAIGN_S * INT64_C(1000000000))
#define CAMPAIGN_S 1780228800

static const struct compare_series *add_series(const char *name, const char *text)
{
	char argument[600];
	snprintf(argument, sizeof argument, "%s=%s", name, support_path("series.csv"));
	support_write_file(strchr(argument, '=') + 1, text, strlen(text));
	free(compare.series[0].samples);
	compare.series_count = 0;
	cr_assert(compare_add_series(&compare, argument, &error), "%s", error.text);
	return &compare.series[0];
}

Test(compare_inside, power_is_integrated_and_energy_subtracted)
{
	const struct compare_series *series =
		add_series("cpu_mw", "time,other,value\n1780228800,x,10000\n1780228810,x,20000\n"
				     "2026-05-31T12:00:20Z,x,20000\n");
	cr_assert_eq(series->meaning, MEANS_POWER);
	NEAR(series_over(series, START_NS, START_NS + 20000000000), 150 + 200, 1e-9);
	NEAR(series_over(series, START_NS + 5000000000, START_NS + 10000000000), (15 + 20) / 2.0 * 5, 1e-9);
	series = add_series("package_uj", "1780228800,1000000\n1780228810,101000000\n1780228820,401000000\n");
	NEAR(series_over(series, START_NS + 5000000000, START_NS + 20000000000), 350, 1e-9);
	series = add_series("cache_misses_total", "1780228800,5\n1780228810,25\n");
	NEAR(series_over(series, START_NS, START_NS + 10000000000), 20, 1e-12);
	series = add_series("temperature", "1780228800,50\n1780228810,60\n");
	NEAR(series_over(series, START_NS, START_NS + 10000000000), 55, 1e-12);
}

Test(compare_inside, what_readings_do_not_cover_is_not_known)
{
	const struct compare_series *series = add_series(
		"energy", "1780228800,1\n1780228801,2\n1780228802,3\n1780228822,4\n1780228823,1\n");
	cr_assert(isnan(series_over(series, START_NS - 1, START_NS + 1000000000)),
		  "before the first reading");
	cr_assert(isnan(series_over(series, START_NS, START_NS + 24000000000)), "behind the last");
	cr_assert(isnan(series_over(series, START_NS, START_NS + 10000000000)), "a gap");
	cr_assert(isnan(series_over(series, START_NS + 22000000000, START_NS + 23000000000)),
		  "a counter that fell");
	NEAR(series_over(series, START_NS, START_NS + 2000000000), 2, 1e-12);
}

Test(compare_inside, series_that_cannot_be_read)
{
	cr_assert_not(compare_add_series(&compare, "power", &error));
	cr_assert_eq(error.code, ERROR_USAGE);
	error = (struct error){0};
	cr_assert_not(compare_add_series(&compare, "power=/does/not/exist", &error));
	cr_assert_eq(error.code, ERROR_INPUT);
	char argument[600];
	snprintf(argument, sizeof argument, "power=%s", support_path("bad.csv"));
	support_write_file(argument + 6, "time,value\n1780228800,x\n", 24);
	error = (struct error){0};
	cr_assert_not(compare_add_series(&compare, argument, &error));
	cr_assert(strstr(error.text, "line 2"), "%s", error.text);
}

/* ---- frees ------------------------------------------------------------------------------------------- */

static void event(struct support_trace *trace, uint8_t kind, uint32_t thread, uint64_t time, uint64_t address,
		  uint32_t cpu)
{
	struct trace_event made = {.time = SUPPORT_START_TIME + time,
				   .end_time = SUPPORT_START_TIME + time,
				   .address = address,
				   .size_bytes = kind == EVENT_MALLOC ? 64 : 0,
				   .thread = thread,
				   .cpu = cpu,
				   .kind = kind};
	support_event(trace, &made);
}

/* Four blocks: freed at home, on another CPU, by another thread on the same CPU, and after the window. */
Test(compare_inside, frees_elsewhere)
{
	const char *path = support_path("t.mtr");
	struct support_trace *made = support_open(path, &(struct support_options){.full = true});
	struct free_shares shares;
	for (uint64_t i = 1; i <= 4; i++)
		event(made, EVENT_MALLOC, 1, i * 1000000, i * 4096, 2);
	event(made, EVENT_FREE, 1, 10000000, 4096, 2);
	event(made, EVENT_FREE, 1, 11000000, 2 * 4096, 3);
	event(made, EVENT_FREE, 2, 12000000, 3 * 4096, 2);
	event(made, EVENT_FREE, 2, 30000000, 4 * 4096, 3);
	support_end(made, 40000000);
	struct trace *trace = trace_open(path, &error);
	cr_assert_not_null(trace, "%s", error.text);
	int64_t start_ns = (int64_t)SUPPORT_START_REALTIME_NS;
	cr_assert(free_shares(trace, start_ns, start_ns + 20000000, &shares, &error));
	NEAR(shares.other_cpu, 1.0 / 3, 1e-12);
	NEAR(shares.other_thread, 1.0 / 3, 1e-12);
	cr_assert(free_shares(trace, start_ns, start_ns + 40000000, &shares, &error));
	NEAR(shares.other_cpu, 2.0 / 4, 1e-12);
	NEAR(shares.other_thread, 2.0 / 4, 1e-12);
	cr_assert(free_shares(trace, 0, 1, &shares, &error));
	cr_assert(isnan(shares.other_cpu) && isnan(shares.other_thread));
	trace_close(trace);
}
