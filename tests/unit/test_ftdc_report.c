/* `report --ftdc`: a server's own data beside a trace and its client, on the wall clock. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/command.h"
#include "analyzer/ftdc_series.h"
#include "tests/unit/support_ftdc.h"
#include "tests/unit/support_report.h"

#define SECONDS	     60
#define RUN_START_MS ((int64_t)(SUPPORT_START_REALTIME_NS / 1000000))

static char trace_path[256], client_path[256], out_path[256];

static void start(void)
{
	cr_redirect_stdout();
	cr_redirect_stderr();
	snprintf(trace_path, sizeof trace_path, "%s", support_path("run.mtr"));
	snprintf(client_path, sizeof client_path, "%s", support_path("client.txt"));
	snprintf(out_path, sizeof out_path, "%s", support_path("out"));
}

TestSuite(ftdc_report, .init = start);

static void write_run(void)
{
	FILE *file = fopen(client_path, "w");
	cr_assert_not_null(file);
	run_client(file, 0, SECONDS, 1, 0, false);
	fclose(file);
	run_trace(trace_path, SECONDS);
}

/* ---- a server ------------------------------------------------------------------------------------------ */

struct member {
	const char *host;
	int64_t lag_ms;	  /* behind the primary; 0: is the primary */
	int64_t shift_ms; /* of all its samples */
};

static bson_t *members(const struct member *member, int64_t ms)
{
	bson_t *list = bson_new();
	bson_t *primary = BCON_NEW("state", BCON_INT32(1), "optimeDate", BCON_DATE_TIME(ms));
	bson_t *other = BCON_NEW("state", BCON_INT32(2), "optimeDate", BCON_DATE_TIME(ms - member->lag_ms),
				 "self", BCON_BOOL(true));
	if (member->lag_ms == 0)
		bson_append_bool(primary, "self", -1, true);
	bson_append_document(list, "0", -1, primary);
	bson_append_document(list, "1", -1, other);
	bson_destroy(primary);
	bson_destroy(other);
	return list;
}

/* Updates go with the load of the second that ends with the sample; two disks write 3 and 5 sectors a second.
 */
static bson_t *sample(const struct member *member, uint64_t second, int64_t updates)
{
	int64_t ms = RUN_START_MS + (int64_t)second * 1000 + member->shift_ms;
	bson_t *list = members(member, ms);
	bson_t *doc = BCON_NEW(
		"start", BCON_DATE_TIME(ms), "serverStatus", "{", "uptimeMillis",
		BCON_INT64(5000 + (int64_t)second * 1000), "opcounters", "{", "update", BCON_INT64(updates),
		"}", "wiredTiger", "{", "cache", "{", "bytes currently in the cache", BCON_INT64(600),
		"tracked dirty bytes in the cache", BCON_INT64(50), "maximum bytes configured",
		BCON_INT64(1000), "modified pages evicted", BCON_INT64(2 * (int64_t)second),
		"unmodified pages evicted", BCON_INT64(5 * (int64_t)second), "}", "}", "}", "systemMetrics",
		"{", "disks", "{", "sda", "{", "write_sectors", BCON_INT64(3 * (int64_t)second), "}", "sdb",
		"{", "write_sectors", BCON_INT64(5 * (int64_t)second), "}", "}", "}", "replSetGetStatus", "{",
		"members", BCON_ARRAY(list), "}");
	bson_destroy(list);
	return doc;
}

static const char *write_server(const struct member *member)
{
	static char paths[4][256];
	static unsigned next;
	char *path = paths[next++ % 4];
	struct bytes file = {0};
	bson_t *samples[SECONDS + 1];
	int64_t updates = 1000000;
	bson_t *doc = BCON_NEW("hostInfo", "{", "system", "{", "hostname", BCON_UTF8(member->host), "}", "}");
	put_description(&file, RUN_START_MS, doc);
	for (uint64_t k = 0; k <= SECONDS; k++) {
		samples[k] = sample(member, k, updates);
		updates += 10 * load_of(k);
	}
	put_chunk_at(&file, RUN_START_MS, samples, SECONDS + 1);
	snprintf(path, 256, "%s", support_path(member->host));
	support_write_file(path, file.data, file.count);
	for (int k = 0; k <= SECONDS; k++)
		bson_destroy(samples[k]);
	bson_destroy(doc);
	bytes_free(&file);
	return path;
}

/* ---- what comes out ------------------------------------------------------------------------------------ */

static int report(const char *first, const char *second)
{
	char *argv[] = {"report",
			trace_path,
			"-o",
			out_path,
			"--ycsb",
			client_path,
			"--ycsb-offset",
			"0",
			"--ftdc",
			(char *)first,
			second ? "--ftdc" : NULL,
			(char *)second,
			NULL};
	return cmd_report(second ? 12 : 10, argv);
}

static char *read_text(const char *name)
{
	char path[512];
	size_t bytes;
	snprintf(path, sizeof path, "%s/%s", out_path, name);
	char *text = (char *)support_read_file(path, &bytes);
	text[bytes] = 0;
	return text;
}

static json_t *read_json(void)
{
	json_error_t wrong;
	char *text = read_text("report.json");
	json_t *object = json_loads(text, 0, &wrong);
	cr_assert(object, "line %d: %s", wrong.line, wrong.text);
	free(text);
	return object;
}

/* The entry of `array` with that text under `key`, of that trace (0: any); NULL. */
static const json_t *entry(const json_t *object, const char *array, const char *key, const char *text,
			   int trace)
{
	size_t i;
	json_t *item;
	json_array_foreach (json_object_get(object, array), i, item) {
		const char *found = json_string_value(json_object_get(item, key));
		if (found && strcmp(found, text) == 0 &&
		    (!trace || json_integer_value(json_object_get(item, "trace")) == trace))
			return item;
	}
	return NULL;
}

static double real(const json_t *item, const char *key)
{
	cr_assert(item, "no entry for %s", key);
	return json_number_value(json_object_get(item, key));
}

Test(ftdc_report, a_server_s_series_go_into_the_correlation)
{
	const struct member primary = {"db1", 0, 0};
	write_run();
	cr_assert_eq(report(write_server(&primary), NULL), ERROR_NONE);
	json_t *object = read_json();
	const json_t *updates = entry(object, "correlations", "series", "server_updates_per_s", 2);
	cr_assert_gt(real(updates, "spearman"), 0.95);
	cr_assert_eq(real(updates, "lag_s"), 0);
	cr_assert_str_eq(json_string_value(json_object_get(updates, "verdict")), "moves with throughput");
	cr_assert(entry(object, "correlations", "series", "allocs_per_s", 1));
	cr_assert_null(entry(object, "correlations", "series", "allocs_per_s", 2));
	cr_assert_null(entry(object, "correlations", "series", "server_updates_per_s", 1));
	cr_assert_null(entry(object, "series", "name", "allocs_per_s", 2));
	cr_assert_null(entry(object, "series", "name", "server_updates_per_s", 1));
	const json_t *series = entry(object, "series", "name", "server_disk_written_bytes_per_s", 2);
	cr_assert_str_eq(json_string_value(json_object_get(series, "source")), "ftdc");
	cr_assert_float_eq(real(series, "mean"), 8 * 512, 1e-6);
	cr_assert_float_eq(real(entry(object, "series", "name", "server_evicted_pages_per_s", 2), "mean"), 7,
			   1e-6);
	cr_assert_float_eq(real(entry(object, "series", "name", "server_cache_fill_percent", 2), "max"), 60,
			   1e-6);
	cr_assert_float_eq(real(entry(object, "series", "name", "server_cache_dirty_percent", 2), "max"), 5,
			   1e-6);
	cr_assert_float_eq(real(entry(object, "series", "name", "server_replication_lag_s", 2), "max"), 0,
			   1e-6);
	cr_assert(json_is_null(
		json_object_get(entry(object, "series", "name", "server_queries_per_s", 2), "mean")));
	cr_assert_eq(json_array_size(json_object_get(object, "ftdc")), 1);
	json_decref(object);
	char *text = read_text("server.csv");
	cr_assert(strstr(text, "time_utc,interval_s,throughput_ops_s,") &&
		  strstr(text, ",server_inserts_per_s,"));
	cr_assert_null(strstr(text, "allocs_per_s"));
	free(text);
	text = read_text("series.csv");
	cr_assert_null(strstr(text, "server_"));
	cr_assert_null(strstr(text, "\n2,"));
	free(text);
	text = read_text("index.html");
	cr_assert(strstr(text, "[2] diagnostic data, db1"));
	free(text);
}

Test(ftdc_report, members_of_a_replica_set_come_together)
{
	const struct member primary = {"db1", 0, 0}, secondary = {"db2", 2500, 400};
	write_run();
	const char *one = write_server(&primary), *other = write_server(&secondary);
	cr_assert_eq(report(one, other), ERROR_NONE);
	json_t *object = read_json();
	cr_assert_eq(json_array_size(json_object_get(object, "ftdc")), 2);
	cr_assert_float_eq(real(entry(object, "series", "name", "server_replication_lag_s", 3), "mean"), 2.5,
			   1e-6);
	cr_assert(entry(object, "correlations", "series", "server_updates_per_s", 2));
	cr_assert(entry(object, "correlations", "series", "server_updates_per_s", 3));
	json_decref(object);
}

Test(ftdc_report, data_of_another_time_gives_a_finding)
{
	const struct member later = {"db1", 0, 86400000};
	write_run();
	cr_assert_eq(report(write_server(&later), NULL), ERROR_NONE);
	json_t *object = read_json();
	cr_assert(entry(object, "findings", "id", "ftdc-no-overlap", 0));
	cr_assert_null(entry(object, "series", "name", "server_updates_per_s", 0));
	json_decref(object);
}

Test(ftdc_report, data_that_cannot_be_read_is_left_out, .init = start)
{
	write_run();
	cr_assert_eq(report("/nonexistent/diagnostic.data", NULL), ERROR_INPUT);
	json_t *object = read_json();
	cr_assert(entry(object, "findings", "id", "input-unread", 0));
	cr_assert(entry(object, "correlations", "series", "allocs_per_s", 1));
	json_decref(object);
}

Test(ftdc_report, damaged_data_is_exit_status_3)
{
	const struct member primary = {"db1", 0, 0};
	size_t bytes;
	write_run();
	const char *path = write_server(&primary);
	uint8_t *data = support_read_file(path, &bytes);
	data = realloc(data, bytes + 8);
	memcpy(data + bytes, "nonsense", 8);
	support_write_file(path, data, bytes + 8);
	free(data);
	cr_assert_eq(report(path, NULL), ERROR_INPUT);
	json_t *object = read_json();
	cr_assert(entry(object, "correlations", "series", "server_updates_per_s", 2));
	json_decref(object);
}

/* ---- rates --------------------------------------------------------------------------------------------- */

/* Samples of one counter, three seconds from the second to the third; the server is started again after it.
 */
Test(ftdc_report, rates_are_by_the_time_between_samples_and_end_with_the_server)
{
	int64_t times[] = {0, 1000, 4000, 5000, 4500, 6500}, inserts[] = {10, 20, 50, 3, 5, 9};
	int64_t uptime[] = {100, 200, 300, 50, 60, 70};
	struct ftdc_column columns[] = {{"serverStatus.opcounters.insert", inserts},
					{"serverStatus.uptimeMillis", uptime}};
	struct ftdc_chunk chunk = {.samples = 6, .time_ms = times, .columns = columns, .column_count = 2};
	struct ftdc_series *series = calloc(1, sizeof *series);
	const double wanted[] = {NAN, 10, 10, NAN, NAN, 2};
	const bool interval[] = {false, true, true, true, false, true};
	cr_assert(ftdc_series_wants("systemMetrics.disks.nvme0n1.read_sectors"));
	cr_assert(ftdc_series_wants("replSetGetStatus.members.7.optimeDate"));
	cr_assert_not(ftdc_series_wants("replSetGetStatus.members.7.uptime"));
	cr_assert_not(ftdc_series_wants("replSetGetStatus.members.70.state"));
	ftdc_series_chunk(series, &chunk);
	for (size_t i = 0; i < 6; i++) {
		double values[SERIES_COUNT];
		int64_t start_ms;
		cr_assert_eq(ftdc_series_sample(series, &chunk, i, &start_ms, values), interval[i], "%zu", i);
		if (!interval[i])
			continue;
		cr_assert_eq(start_ms, times[i - 1]);
		if (isnan(wanted[i]))
			cr_assert(isnan(values[SERIES_SERVER_INSERTS]), "%zu", i);
		else
			cr_assert_float_eq(values[SERIES_SERVER_INSERTS], wanted[i], 1e-9, "%zu", i);
		cr_assert(isnan(values[SERIES_SERVER_LAG]));
	}
	free(series);
}
