/* The bound that lock traffic sets for what another glibc can do, beside what was measured. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/compare_config.h"
#include "analyzer/compare_locks.h"
#include "analyzer/compare_rows.h"
#include "tests/unit/support_locks.h"

#define SECOND	 UINT64_C(1000000000)
#define START_NS ((int64_t)SUPPORT_START_REALTIME_NS)
#define BLOCKS	 6u

#define NEAR(got, wanted, tolerance)                                                                         \
	cr_assert_float_eq(got, wanted, tolerance, "%s: %.12g instead of %.12g", #got, (double)(got),        \
			   (double)(wanted))

static struct compare compare;
static struct error error;

/*
 * Ten seconds, of which the run takes those from the third to the ninth: in these, two threads do 500,000
 * pairs of a mutex a second each, on a lock of their own, and keep two CPUs busy.
 */
static void write_trace(const char *path, bool locks)
{
	struct support_trace *trace = support_open(path, &(struct support_options){.full = true});
	struct snapshot fields = {.rss_bytes = 100 << 20};
	struct lock_record records[2];
	for (uint32_t i = 0; i < 2; i++)
		records[i] = (struct lock_record){
			.address = 0x5000 + 64 * i, .opened = 1, .thread = i + 1, .kind = LOCK_MUTEX};
	for (uint64_t s = 0; s <= 10; s++) {
		bool running = s > 3 && s <= 9;
		for (size_t i = 0; i < 2; i++)
			records[i].acquired = records[i].released += running ? 500000 : 0;
		fields.user_cpu_us += running ? 2000000 : 0;
		if (locks)
			support_locks(trace, s * SECOND, records, 2, 0);
		support_snapshot(trace, s * SECOND, &fields);
	}
	support_end(trace, 10 * SECOND);
}

static void add_run(size_t arm, uint64_t block, const char *name, double ops_s)
{
	struct compare_run *run = compare_add_run(&compare, arm);
	cr_assert_not_null(run);
	run->source = strdup(name);
	run->workload = strdup("");
	run->settings = json_pack("{s:s}", "glibc.folder", arm ? "lse" : "nolse");
	run->threads = 4;
	run->block = block;
	run->trace = strdup(support_path(name));
	run->start_ns = START_NS + 3 * (int64_t)SECOND;
	run->end_ns = START_NS + 9 * (int64_t)SECOND;
	cr_assert(run_add_value(run, COMPARE_OVERALL, METRIC_THROUGHPUT, ops_s, 0));
}

/* The arm is 2% faster, give or take what is nearly nothing. */
static void make(bool locks)
{
	size_t arm;
	cr_redirect_stderr();
	compare =
		(struct compare){.settings = {.metrics = {[METRIC_THROUGHPUT] = true}, .equivalence = 0.02}};
	error = (struct error){0};
	cr_assert(compare_arm(&compare, "nolse", &arm, &error) && compare_arm(&compare, "lse", &arm, &error));
	for (uint64_t block = 0; block < BLOCKS; block++) {
		char base[24], other[24];
		double wobble = 1 + (block % 2 ? 1e-3 : -1e-3);
		snprintf(base, sizeof base, "nolse%u.mtr", (unsigned)block);
		snprintf(other, sizeof other, "lse%u.mtr", (unsigned)block);
		write_trace(support_path(base), locks);
		write_trace(support_path(other), locks);
		add_run(0, block, base, 100000);
		add_run(1, block, other, 102000 * wobble);
	}
	cr_assert(compare_read_traces(&compare, &error) && compare_config(&compare, &error) &&
		  compare_inside(&compare, &error) && compare_rows(&compare, &error));
}

static void end(void)
{
	compare_free(&compare);
}

TestSuite(compare_locks, .fini = end);

Test(compare_locks, the_bound_stands_beside_what_was_measured)
{
	struct lock_bound bound;
	make(true);
	cr_assert(compare_lock_bound(&compare, 1, &bound));
	/* Two million instructions a second, over 100,000 operations and two CPUs. */
	NEAR(bound.base_per_operation, 20, 1e-6);
	NEAR(bound.arm_per_operation, 2000000 / 102000.0, 0.05);
	NEAR(bound.gain_percent[0], 100 * 0.001 / 0.999, 1e-6);
	NEAR(bound.gain_percent[2], 100 * 0.02 / 0.98, 1e-5);
	NEAR(bound.measured.ratio, 1.02, 1e-4);
	NEAR(bound.needed_ns, (1 - 1 / bound.measured.ratio) / 0.001, 1e-6);
	cr_assert(bound.needed_low_ns < bound.needed_ns && bound.needed_ns < bound.needed_high_ns);
	char *text = NULL;
	size_t bytes;
	struct document document = {.file = open_memstream(&text, &bytes)};
	compare_locks_print(&document, &compare);
	fclose(document.file);
	cr_assert(strstr(text, "20 atomic instructions"), "%s", text);
	cr_assert(strstr(text, "at least 19"), "%s", text);
	free(text);
	json_t *array = compare_locks_array(&compare);
	cr_assert_eq(json_array_size(array), 1);
	NEAR(json_number_value(json_object_get(json_array_get(array, 0), "needed_ns")), bound.needed_ns,
	     1e-9);
	json_decref(array);
}

Test(compare_locks, one_c_library_has_no_bound)
{
	struct lock_bound bound;
	make(true);
	for (size_t i = 0; i < compare.difference_count; i++)
		compare.differences[i].differs[1] = false;
	cr_assert_not(compare_lock_bound(&compare, 1, &bound));
}

Test(compare_locks, traces_without_locks_have_no_bound)
{
	struct lock_bound bound;
	make(false);
	cr_assert_not(compare_lock_bound(&compare, 1, &bound));
	cr_assert(isnan(compare.runs[0].inside.values[INSIDE_LOCK_ATOMICS]));
}
