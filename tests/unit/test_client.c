/* Phases against an engine of this file: records are in a small array, and keys can be told to fail. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bench/client.h"
#include "bench/record.h"

enum { ROOM = 20000 };

static struct {
	pthread_mutex_t lock;
	uint64_t count;
	void *values[ROOM]; /* by number: keys are "ordered" */
	size_t bytes[ROOM];
	uint64_t fail_insert_at;
	bool no_sessions;
	_Atomic uint64_t scanned;
	uint64_t highest_read; /* under lock */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .fail_insert_at = UINT64_MAX};

static uint64_t number_of(const char *key)
{
	return strtoull(key + 4, NULL, 10);
}

static void *open_session(void *store, struct failure *failure)
{
	if (table.no_sessions)
		failure_set(failure, EXIT_FAILED, "no sessions today");
	return table.no_sessions ? NULL : store;
}

static void close_session(void *session)
{
	cr_assert_eq(session, &table);
}

static enum op_status read_one(void *session, const char *key, engine_visit *visit, void *context)
{
	uint64_t number = number_of(key);
	enum op_status status = STATUS_NOT_FOUND;

	(void)session;
	pthread_mutex_lock(&table.lock);
	if (number > table.highest_read)
		table.highest_read = number;
	if (number < ROOM && table.values[number])
		status = visit(context, table.values[number], table.bytes[number]) ? STATUS_OK : STATUS_ERROR;
	pthread_mutex_unlock(&table.lock);
	return status;
}

static enum op_status insert_one(void *session, const char *key, const void *value, size_t bytes)
{
	uint64_t number = number_of(key);

	(void)session;
	if (number == table.fail_insert_at || number >= ROOM)
		return STATUS_ERROR;
	pthread_mutex_lock(&table.lock);
	table.values[number] = memcpy(malloc(bytes), value, bytes);
	table.bytes[number] = bytes;
	table.count++;
	pthread_mutex_unlock(&table.lock);
	return STATUS_OK;
}

static enum op_status update_one(void *session, const char *key, engine_change *change, void *context)
{
	uint64_t number = number_of(key);
	void *changed = NULL;

	(void)session;
	pthread_mutex_lock(&table.lock);
	if (number < ROOM && table.values[number]) {
		changed = change(context, table.values[number], table.bytes[number], &table.bytes[number]);
		free(table.values[number]);
		table.values[number] = changed;
	}
	pthread_mutex_unlock(&table.lock);
	return changed ? STATUS_OK : STATUS_NOT_FOUND;
}

static enum op_status scan_many(void *session, const char *key, uint64_t limit, engine_visit *visit,
				void *context)
{
	enum op_status status = STATUS_OK;

	atomic_fetch_add(&table.scanned, limit);
	for (uint64_t number = number_of(key); limit && number < ROOM && status == STATUS_OK;
	     number++, limit--) {
		char at[KEY_BYTES];

		snprintf(at, sizeof at, "user%llu", (unsigned long long)number);
		status = read_one(session, at, visit, context);
	}
	return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

static const struct engine array_engine = {
	.name = "array",
	.product = "an array",
	.session_open = open_session,
	.session_close = close_session,
	.read = read_one,
	.insert = insert_one,
	.update = update_one,
	.scan = scan_many,
};

/* ---- helpers ---- */

struct outcome {
	bool done;
	struct client_result result;
	struct failure failure;
	char *text; /* the export block */
	size_t bytes;
};

static struct client_settings plain(unsigned threads)
{
	return (struct client_settings){.threads = threads,
					.status_interval_s = 10,
					.label = "",
					.percentiles = {99},
					.percentile_count = 1};
}

static void init_workload(struct workload *workload, const char *settings, bool has_time_limit)
{
	struct properties *properties = properties_new();
	struct failure failure = {0};
	char *words = strdup(settings), *rest = words, *word;

	properties_set(properties, "insertorder", "ordered");
	while ((word = strsep(&rest, " ")) != NULL)
		properties_set_argument(properties, word, &failure);
	cr_assert(workload_init(workload, properties, has_time_limit, &failure), "%s", failure.text);
	free(words);
	properties_free(properties);
}

static void run(struct outcome *outcome, const struct client_settings *settings, struct workload *workload,
		bool loading)
{
	FILE *out;

	*outcome = (struct outcome){0};
	out = open_memstream(&outcome->text, &outcome->bytes);
	outcome->done = client_run(settings, workload, &array_engine, &table, loading, out, &outcome->result,
				   &outcome->failure);
	fclose(out);
}

/* The number after "[OP], WHAT, ", or 0. */
static uint64_t figure(const struct outcome *outcome, const char *operation, const char *what)
{
	char start[64];
	const char *line;

	snprintf(start, sizeof start, "[%s], %s, ", operation, what);
	line = strstr(outcome->text, start);
	return line ? strtoull(line + strlen(start), NULL, 10) : 0;
}

static void load(struct workload *workload, unsigned threads)
{
	struct client_settings settings = plain(threads);
	struct outcome outcome;

	run(&outcome, &settings, workload, true);
	cr_assert(outcome.done, "%s", outcome.failure.text);
	free(outcome.text);
}

/* ---- tests ---- */

Test(client, loads_every_record_once_with_all_its_fields)
{
	struct workload workload;
	struct client_settings settings = plain(3);
	struct outcome outcome;

	init_workload(&workload, "recordcount=1000 fieldcount=4 fieldlength=33", false);
	run(&outcome, &settings, &workload, true);
	cr_assert(outcome.done);
	cr_expect_eq(table.count, 1000);
	cr_expect_eq(outcome.result.operations, 1000);
	cr_expect_eq(figure(&outcome, "INSERT", "Operations"), 1000);
	cr_expect_eq(figure(&outcome, "INSERT", "Return=OK"), 1000);
	cr_expect_eq(figure(&outcome, "CLEANUP", "Operations"), 3);
	for (int i = 0; i < 1000; i++) {
		const char *reason = "";
		struct record *record = record_decode(table.values[i], table.bytes[i], NULL, &reason);

		cr_assert_not_null(record, "record %d: %s", i, reason);
		cr_assert_eq(record->count, 4);
		cr_assert_eq(record->fields[3]->value_bytes, 33);
		cr_assert(!memcmp(record->fields[3]->bytes, "field3", 6));
		record_free(record);
	}
	free(outcome.text);
	workload_destroy(&workload);
}

Test(client, counts_of_a_run_add_up)
{
	struct workload workload;
	struct client_settings settings = plain(3);
	struct outcome outcome;
	uint64_t reads, updates, inserts, scans, both;

	init_workload(
		&workload,
		"recordcount=500 operationcount=5000 readproportion=4 updateproportion=2 insertproportion=1 "
		"scanproportion=1 readmodifywriteproportion=2 maxscanlength=7 requestdistribution=latest",
		false);
	load(&workload, 2);
	run(&outcome, &settings, &workload, false);
	cr_assert(outcome.done, "%s", outcome.failure.text);
	reads = figure(&outcome, "READ", "Return=OK");
	updates = figure(&outcome, "UPDATE", "Return=OK");
	inserts = figure(&outcome, "INSERT", "Return=OK");
	scans = figure(&outcome, "SCAN", "Return=OK");
	both = figure(&outcome, "READ-MODIFY-WRITE", "Operations");
	cr_expect_eq(outcome.result.operations, 5000);
	cr_expect_eq(reads + updates + inserts + scans - both, 5000,
		     "a read-modify-write is a read and an update too");
	cr_expect_eq(figure(&outcome, "READ", "Operations"), reads);
	cr_expect_eq(figure(&outcome, "READ-MODIFY-WRITE", "Return=OK"), 0);
	cr_expect_eq(table.count, 500 + inserts);
	cr_expect_gt(table.highest_read, 500 + inserts / 2, "inserted records are read");
	cr_expect_eq(outcome.result.errors + outcome.result.not_found, 0,
		     "\"latest\" reads only what is there");
	/* 4 : 2 : 1 : 1 : 2 of 5,000, within five standard deviations. */
	cr_expect(reads - both > 1830 && reads - both < 2170, "%llu", (unsigned long long)(reads - both));
	cr_expect(updates - both > 860 && updates - both < 1140);
	cr_expect(inserts > 394 && inserts < 606);
	cr_expect(scans > 394 && scans < 606);
	/* Lengths 1 to 7, uniform: 4 on average. */
	cr_expect(table.scanned > scans * 35 / 10 && table.scanned < scans * 45 / 10);
	free(outcome.text);
	workload_destroy(&workload);
}

Test(client, misses_are_failed_operations_and_still_count)
{
	struct workload workload, wider;
	struct client_settings settings = plain(2);
	struct outcome outcome;
	uint64_t found, missed;

	init_workload(&workload, "recordcount=100", false);
	load(&workload, 1);
	init_workload(&wider,
		      "recordcount=200 operationcount=1000 requestdistribution=uniform readproportion=1 "
		      "updateproportion=0 scanproportion=0",
		      false);
	run(&outcome, &settings, &wider, false);
	cr_assert(outcome.done);
	found = figure(&outcome, "READ", "Return=OK");
	missed = figure(&outcome, "READ", "Return=NOT_FOUND");
	cr_expect_eq(found + missed, 1000);
	cr_expect(missed > 420 && missed < 580);
	cr_expect_eq(figure(&outcome, "READ-FAILED", "Operations"), missed);
	cr_expect_eq(outcome.result.not_found, missed);
	free(outcome.text);
	workload_destroy(&workload);
	workload_destroy(&wider);
}

Test(client, a_failed_insert_ends_its_thread_and_is_not_done)
{
	struct workload workload;
	struct client_settings settings = plain(1);
	struct outcome outcome;

	init_workload(&workload, "recordcount=100", false);
	table.fail_insert_at = 40;
	run(&outcome, &settings, &workload, true);
	cr_assert(outcome.done);
	cr_expect_eq(outcome.result.operations, 40);
	cr_expect_eq(outcome.result.errors, 1);
	cr_expect_eq(figure(&outcome, "INSERT", "Operations"), 40);
	cr_expect_eq(figure(&outcome, "INSERT", "Return=ERROR"), 1);
	cr_expect_eq(figure(&outcome, "INSERT-FAILED", "Operations"), 1);
	free(outcome.text);
	workload_destroy(&workload);
}

Test(client, no_more_threads_than_operations)
{
	struct workload workload;
	struct client_settings settings = plain(64);
	struct outcome outcome;

	init_workload(&workload, "recordcount=5", false);
	run(&outcome, &settings, &workload, true);
	cr_expect_eq(table.count, 5);
	cr_expect_eq(figure(&outcome, "CLEANUP", "Operations"), 5);
	free(outcome.text);
	workload_destroy(&workload);
}

Test(client, a_run_without_end_ends_by_its_time, .timeout = 60)
{
	struct workload workload;
	struct client_settings settings = plain(2);
	struct outcome outcome;

	init_workload(&workload, "recordcount=100", true);
	load(&workload, 1);
	settings.time_limit_s = 1;
	run(&outcome, &settings, &workload, false);
	cr_expect(outcome.done);
	cr_expect_geq(outcome.result.runtime_ms, 1000);
	cr_expect_gt(outcome.result.operations, 0);
	cr_expect_eq(outcome.result.interrupted, false);
	free(outcome.text);
	workload_destroy(&workload);
}

Test(client, a_target_is_not_exceeded)
{
	struct workload workload;
	struct client_settings settings = plain(2);
	struct outcome outcome;

	init_workload(&workload, "recordcount=100 operationcount=100", false);
	load(&workload, 1);
	settings.target_ops_s = 400;
	run(&outcome, &settings, &workload, false);
	cr_expect_eq(outcome.result.operations, 100);
	/* 50 operations a thread, 5 ms apart, the last wait included. */
	cr_expect_geq(outcome.result.runtime_ms, 250);
	free(outcome.text);
	workload_destroy(&workload);
}

Test(client, an_interrupt_ends_the_phase_and_keeps_its_results, .timeout = 60)
{
	struct workload workload;
	struct client_settings settings = plain(2);
	struct outcome outcome;

	init_workload(&workload, "recordcount=100", true);
	load(&workload, 1);
	client_interrupt();
	run(&outcome, &settings, &workload, false);
	cr_expect(outcome.done);
	cr_expect(outcome.result.interrupted);
	cr_expect(strstr(outcome.text, "[OVERALL], RunTime(ms), ") != NULL);
	cr_expect_eq(figure(&outcome, "CLEANUP", "Operations"), 2);
	free(outcome.text);
	workload_destroy(&workload);
}

Test(client, a_session_that_cannot_be_had_is_an_error_without_results)
{
	struct workload workload;
	struct client_settings settings = plain(2);
	struct outcome outcome;

	init_workload(&workload, "recordcount=100", false);
	table.no_sessions = true;
	run(&outcome, &settings, &workload, true);
	cr_expect_not(outcome.done);
	cr_expect_str_eq(outcome.failure.text, "no sessions today");
	cr_expect_str_eq(outcome.text, "");
	free(outcome.text);
	workload_destroy(&workload);
}

Test(client, a_malformed_document_is_an_error)
{
	struct workload workload;
	struct client_settings settings = plain(1);
	struct outcome outcome;

	init_workload(&workload,
		      "recordcount=1 operationcount=20 readproportion=1 updateproportion=0 scanproportion=0",
		      false);
	load(&workload, 1);
	table.bytes[0] -= 1;
	run(&outcome, &settings, &workload, false);
	cr_expect_eq(outcome.result.errors, 20);
	cr_expect_eq(figure(&outcome, "READ", "Return=ERROR"), 20);
	free(outcome.text);
	workload_destroy(&workload);
}
