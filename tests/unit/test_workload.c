#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "bench/worker.h"

/* "a=1 b=2" as properties. */
static bool init(struct workload *workload, const char *settings, bool has_time_limit,
		 struct failure *failure)
{
	struct properties *properties = properties_new();
	char *words = strdup(settings), *rest = words, *word;
	bool done;

	*failure = (struct failure){0};
	while ((word = strsep(&rest, " ")) != NULL)
		if (*word)
			properties_set_argument(properties, word, failure);
	done = workload_init(workload, properties, has_time_limit, failure);
	free(words);
	properties_free(properties);
	return done;
}

Test(workload, defaults_are_the_mix_of_the_field_report)
{
	struct workload workload;
	struct failure failure;

	cr_assert(init(&workload, "", false, &failure), "%s", failure.text);
	cr_expect_eq(workload.record_count, 1000);
	cr_expect_eq(workload.insert_count, 1000);
	cr_expect_eq(workload.operation_count, 1000);
	cr_expect_float_eq(workload.mix[OP_READ], 0.60, 0);
	cr_expect_float_eq(workload.mix[OP_UPDATE], 0.25, 0);
	cr_expect_float_eq(workload.mix[OP_SCAN], 0.15, 0);
	cr_expect_eq(workload.distribution, REQUEST_ZIPFIAN);
	cr_expect_eq(workload.field_count * workload.field_bytes, 1000);
	cr_expect_eq(workload.scan_max, 1000);
	workload_destroy(&workload);
	cr_assert(init(&workload, "", true, &failure));
	cr_expect_eq(workload.operation_count, 0, "a time limit alone ends the run");
	workload_destroy(&workload);
}

static void expect_refused(const char *settings, const char *named)
{
	struct workload workload;
	struct failure failure;

	cr_expect_not(init(&workload, settings, false, &failure), "%s", settings);
	cr_expect_eq(failure.exit_status, EXIT_WRONG_USAGE);
	cr_expect(strstr(failure.text, named) != NULL, "'%s' does not name '%s'", failure.text, named);
	workload_destroy(&workload);
}

Test(workload, bad_values_are_refused_by_name)
{
	expect_refused("recordcount=0", "recordcount=0");
	expect_refused("recordcount=10 insertstart=10", "insertstart=10");
	expect_refused("recordcount=10 insertstart=5 insertcount=6", "insertcount=6");
	expect_refused("operationcount=0", "maxexecutiontime");
	expect_refused("readproportion=-0.5", "readproportion=-0.5");
	expect_refused("readproportion=0 updateproportion=0 scanproportion=0", "scanproportion");
	expect_refused("requestdistribution=hotspot", "requestdistribution=hotspot");
	expect_refused("maxscanlength=0", "maxscanlength=0");
	expect_refused("maxscanlength=5 minscanlength=6", "minscanlength=6");
	expect_refused("scanlengthdistribution=normal", "scanlengthdistribution=normal");
	expect_refused("fieldcount=0", "fieldcount=0");
	expect_refused("fieldlength=1k", "fieldlength=1k");
	expect_refused("fieldcount=1000 fieldlength=100000", "fieldlength=100000");
	expect_refused("insertorder=random", "insertorder=random");
	expect_refused("zeropadding=65", "zeropadding=65");
}

/* How often each of 100 records is chosen in 100,000 reads, among those from insertstart. */
static void count_choices(const char *settings, uint64_t seen[200])
{
	struct workload workload;
	struct failure failure;
	struct worker worker;

	cr_assert(init(&workload, settings, true, &failure), "%s", failure.text);
	workload_begin(&workload, false);
	worker_init(&worker, &workload, NULL, NULL, NULL, 0);
	memset(seen, 0, 200 * sizeof *seen);
	for (int i = 0; i < 100000; i++) {
		uint64_t number = worker_choose(&worker);

		cr_assert_lt(number, 200);
		seen[number]++;
	}
	worker_destroy(&worker);
	workload_end(&workload);
	workload_destroy(&workload);
}

static uint64_t most_seen(const uint64_t seen[200])
{
	uint64_t most = 0;

	for (uint64_t i = 0; i < 200; i++)
		if (seen[i] > seen[most])
			most = i;
	return most;
}

Test(workload, keys_stay_in_range_and_are_hot_where_they_should_be)
{
	uint64_t seen[200];

	count_choices("recordcount=150 insertstart=50", seen);
	cr_expect_eq(most_seen(seen), 50 + fnv_hash(0) % 100);
	for (uint64_t i = 0; i < 200; i++)
		cr_expect_eq(seen[i] != 0, i >= 50 && i < 150, "record %llu: %llu", (unsigned long long)i,
			     (unsigned long long)seen[i]);
	count_choices("recordcount=200 insertstart=50 insertcount=100 requestdistribution=uniform", seen);
	for (uint64_t i = 0; i < 200; i++) {
		bool inside = i >= 50 && i < 150;

		cr_expect(inside ? seen[i] > 850 && seen[i] < 1150 : seen[i] == 0, "record %llu: %llu",
			  (unsigned long long)i, (unsigned long long)seen[i]);
	}
	count_choices("recordcount=150 requestdistribution=latest", seen);
	cr_expect_eq(most_seen(seen), 149);
	cr_expect_eq(seen[150], 0);
	/* Room for 200 records, of which 100 are there. */
	count_choices("recordcount=100 operationcount=50 insertproportion=1e9", seen);
	for (uint64_t i = 100; i < 200; i++)
		cr_expect_eq(seen[i], 0, "record %llu was chosen before its insert", (unsigned long long)i);
}

Test(workload, room_for_inserts_widens_the_zipfian)
{
	struct workload workload;
	struct failure failure;

	/* YCSB's fudge factor: twice the inserts expected. */
	cr_assert(init(
		&workload,
		"operationcount=500 insertproportion=1 readproportion=1 updateproportion=0 scanproportion=0",
		false, &failure));
	cr_expect_eq(workload.scrambled.items, 1500);
	workload_destroy(&workload);
}
