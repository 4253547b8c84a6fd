/* What a report says of locks, from a run whose trace holds their records. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "analyzer/command.h"
#include "analyzer/model.h"
#include "tests/unit/support_locks.h"
#include "tests/unit/support_report.h"

#define SECONDS 60

static char trace_path[256], client_path[256], out_path[256];

static void start(void)
{
	cr_redirect_stdout();
	cr_redirect_stderr();
	snprintf(trace_path, sizeof trace_path, "%s", support_path("run.mtr"));
	snprintf(client_path, sizeof client_path, "%s", support_path("client.txt"));
	snprintf(out_path, sizeof out_path, "%s", support_path("out"));
}

TestSuite(report_locks, .init = start);

/* Each second: 20 pairs of a mutex for each of load_of() x 10 operations of the client, by two threads, which
 * wait for `wait_ns`. */
static void write_run(uint64_t wait_ns)
{
	const struct support_options options = {.full = true, .extra_keys = "locks=1\nlocks_every=1\n"};
	struct support_trace *trace = run_open(trace_path, &options);
	struct lock_record records[2];
	for (unsigned i = 0; i < 2; i++)
		records[i] = (struct lock_record){
			.address = 0x9000, .opened = 10, .thread = i + 1, .kind = LOCK_MUTEX};
	for (uint64_t k = 0; k < SECONDS; k++) {
		for (unsigned i = 0; i < 2; i++) {
			records[i].acquired = records[i].released += UINT64_C(100) * load_of(k);
			records[i].wait += wait_ns;
			records[i].contended += 10;
			records[i].waits[10] += 10;
		}
		support_locks(trace, (k + 1) * RUN_SECOND, records, 2, LOCKS_WHOLE);
		run_seconds(trace, k, 1);
	}
	support_end(trace, SECONDS * RUN_SECOND);
}

static json_t *report(void)
{
	FILE *file = fopen(client_path, "w");
	cr_assert(file);
	run_client(file, 0, SECONDS, 1, 0, false);
	fclose(file);
	char *argv[] = {"report",    trace_path,      "-o", out_path, "--ycsb",
			client_path, "--ycsb-offset", "0",  NULL};
	char json_path[300];
	json_error_t wrong;
	cr_assert_eq(cmd_report(8, argv), 0);
	snprintf(json_path, sizeof json_path, "%s/report.json", out_path);
	json_t *object = json_load_file(json_path, 0, &wrong);
	cr_assert(object, "%s", wrong.text);
	return object;
}

static const json_t *entry(const json_t *object, const char *array, const char *key, const char *value)
{
	size_t i;
	json_t *item;
	json_array_foreach (json_object_get(object, array), i, item) {
		const char *found = json_string_value(json_object_get(item, key));
		if (found && strcmp(found, value) == 0)
			return item;
	}
	return NULL;
}

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static bool said(const char *name, const char *text)
{
	char path[300];
	size_t bytes;
	snprintf(path, sizeof path, "%s/%s", out_path, name);
	char *all = (char *)support_read_file(path, &bytes);
	all[bytes] = 0;
	bool found = strstr(all, text) != NULL;
	free(all);
	return found;
}

Test(report_locks, rows_know_what_threads_did_with_locks)
{
	struct model model;
	struct error error = {0};
	const char *paths[] = {trace_path};
	write_run(1000);
	cr_assert(model_read(paths, 1, &(struct symbol_options){0}, &model, &error), "%s", error.text);
	const struct timeline *timeline = &model.timelines[0];
	for (uint64_t k = 0; k < SECONDS; k++) {
		const double *values = timeline->rows[k].values;
		cr_assert_float_eq(values[SERIES_LOCK_OPERATIONS], 400.0 * load_of(k), 1e-6);
		cr_assert_float_eq(values[SERIES_LOCK_CONTENDED], 20, 1e-9);
		cr_assert_float_eq(values[SERIES_LOCK_WAIT], 2000, 1e-6);
		cr_assert_float_eq(values[SERIES_LOCK_ATOMICS], 400.0 * load_of(k) + 40, 1e-6);
	}
	model_free(&model);
}

Test(report_locks, report_has_the_part_and_sets_it_beside_the_client)
{
	write_run(1000);
	json_t *object = report();
	const json_t *locks = json_object_get(object, "locks");
	cr_assert_eq(json_array_size(json_object_get(locks, "locks")), 1);
	/* 400 of a second for each 10 operations, and 40 instructions a second for those that wait. */
	double per_operation = number(json_object_get(locks, "exposure"), "per_operation");
	cr_assert(per_operation > 40 && per_operation < 40.1, "%f", per_operation);
	const json_t *series = entry(object, "series", "name", "lock_operations_per_s");
	cr_assert(series && number(series, "points") >= SECONDS);
	const json_t *row = entry(object, "correlations", "series", "lock_operations_per_s");
	cr_assert(row && number(row, "spearman") > 0.99);
	cr_assert_null(entry(object, "correlations", "series", "lock_atomics_per_s"));
	cr_assert_null(entry(object, "findings", "id", "lock-contention"));
	cr_assert(json_is_true(json_object_get(json_object_get(object, "info"), "locks")));
	cr_assert(said("summary.txt", "for each operation of the client: 40"));
	cr_assert(said("index.html", "<h2>Locks</h2>"));
	cr_assert(said("series.csv", "lock_wait_ns_per_s"));
	json_decref(object);
}

/* Each thread waits 150 ms a second: 0.3 of two threads. */
Test(report_locks, a_lock_that_keeps_its_threads_waiting_is_found)
{
	write_run(150000000);
	json_t *object = report();
	const json_t *finding = entry(object, "findings", "id", "lock-contention");
	cr_assert(finding);
	const char *text = json_string_value(json_object_get(finding, "text"));
	cr_assert(strstr(text, "0.3 of the 2 threads that use the mutex 0x9000"), "%s", text);
	json_decref(object);
}

Test(report_locks, a_trace_without_locks_has_null)
{
	run_trace(trace_path, SECONDS);
	json_t *object = report();
	cr_assert(json_is_null(json_object_get(object, "locks")));
	cr_assert(json_is_false(json_object_get(json_object_get(object, "info"), "locks")));
	cr_assert_not(said("summary.txt", "Locks"));
	json_decref(object);
}
