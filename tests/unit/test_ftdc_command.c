/* `mtrace-analyze ftdc`: the summary of servers in known states, and samples as rows. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/command.h"
#include "analyzer/ftdc_summary.h"
#include "tests/unit/support_ftdc.h"
#include "tests/unit/support_trace.h"

/* ---- running it ---------------------------------------------------------------------------------------- */

/* Its standard output, which goes to a file; the caller's. */
static char *run(const char *path, const char *const *options, int wanted_status)
{
	char *argv[16] = {"ftdc", (char *)path}, *output = (char *)support_path("out");
	int argc = 2;
	size_t bytes;
	for (; *options; options++)
		argv[argc++] = (char *)*options;
	argv[argc++] = "-o";
	argv[argc++] = output;
	int status = cmd_ftdc(argc, argv);
	cr_assert_eq(status, wanted_status, "status %d", status);
	char *text = (char *)support_read_file(output, &bytes);
	text[bytes] = '\0';
	return text;
}

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static json_t *run_json(const char *path, int wanted_status)
{
	json_error_t why;
	char *text = run(path, OPTIONS("--json"), wanted_status);
	json_t *object = json_loads(text, 0, &why);
	cr_assert(object, "%s", why.text);
	free(text);
	return object;
}

/* Writes `file` and empties it. */
static const char *write_file(struct bytes *file)
{
	const char *path = support_path("metrics.one");
	support_write_file(path, file->data, file->count);
	bytes_free(file);
	return path;
}

static const char *string_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	cr_assert(value, "no field %s", key);
	return json_is_string(value) ? json_string_value(value) : "";
}

static int64_t integer_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	cr_assert(json_is_integer(value), "%s is no integer", key);
	return json_integer_value(value);
}

/* ---- servers in known states --------------------------------------------------------------------------- */

#define ABSENT INT64_MIN

struct server {
	const char *version, *allocator, *arch;
	const char *thp_enabled; /* NULL: not recorded */
	int64_t per_cpu_caches, per_cpu_max_bytes, cpu_free_bytes;
	const char *state, *meaning; /* in JSON; in the text */
};

static const struct server servers[] = {
	{"8.0.3", "tcmalloc-google", "aarch64", "always", 1, 134217728, 3145728, "active", "active: in use"},
	{"8.0.3", "tcmalloc-google", "x86_64", "always", 1, 134217728, 3145728, "active", "active: in use"},
	{"8.0.3", "tcmalloc-google", "aarch64", "madvise", 0, 1572864, 0, "inactive",
	 "could not register rseq"},
	{"8.0.3", "tcmalloc-google", "x86_64", "never", 0, 1572864, 0, "inactive", "could not register rseq"},
	{"8.2.3", "tcmalloc-google", "aarch64", "always", 1, 0, 0, "zero-capacity",
	 "MONGO_TCMALLOC_PER_CPU_CACHE_SIZE_BYTES"},
	{"8.2.3", "tcmalloc-google", "x86_64", "always", 1, 0, 0, "zero-capacity",
	 "MONGO_TCMALLOC_PER_CPU_CACHE_SIZE_BYTES"},
	{"8.0.3", "system", "x86_64", NULL, ABSENT, ABSENT, ABSENT, "none", "has none"},
	{"7.0.14", "tcmalloc", "x86_64", NULL, ABSENT, ABSENT, ABSENT, "none", "has none"},
	{"4.4.6", "tcmalloc", "x86_64", NULL, ABSENT, ABSENT, ABSENT, "none", "has none"},
	{"8.0.3", "tcmalloc-google", "x86_64", "always", ABSENT, ABSENT, ABSENT, "unknown", "not recorded"},
};

static void append_build(bson_t *doc, const struct server *server)
{
	bson_t *build =
		BCON_NEW("version", BCON_UTF8(server->version), "allocator", BCON_UTF8(server->allocator),
			 "buildEnvironment", "{", "target_arch", BCON_UTF8(server->arch), "}");
	bson_append_document(doc, "buildInfo", -1, build);
	bson_destroy(build);
}

static void append_host(bson_t *doc, const struct server *server)
{
	bson_t *host = BCON_NEW("system", "{", "hostname", BCON_UTF8("db\x1b[31m1"), "cpuArch",
				BCON_UTF8(server->arch), "numCores", BCON_INT32(8), "memSizeMB",
				BCON_INT64(16000), "memLimitMB", BCON_INT64(4000), "}");
	if (server->thp_enabled) {
		bson_t *extra = BCON_NEW("thp_enabled", BCON_UTF8(server->thp_enabled), "thp_max_ptes_none",
					 BCON_UTF8("511"), "glibc_rseq_present", BCON_BOOL(true));
		bson_append_document(host, "extra", -1, extra);
		bson_destroy(extra);
	}
	bson_append_document(doc, "hostInfo", -1, host);
	bson_destroy(host);
}

static void put_server(struct bytes *file, const struct server *server)
{
	bson_t doc = BSON_INITIALIZER;
	append_build(&doc, server);
	append_host(&doc, server);
	put_description(file, START_MS, &doc);
	bson_destroy(&doc);
}

static bson_t *server_sample(const struct server *server, int64_t ms)
{
	bson_t *tcmalloc = BCON_NEW("generic", "{", "heap_size", BCON_INT64(1000 + ms),
				    "current_allocated_bytes", BCON_INT64(900), "}");
	if (server->per_cpu_caches != ABSENT) {
		bson_append_bool(tcmalloc, "usingPerCPUCaches", -1, server->per_cpu_caches);
		bson_append_int64(tcmalloc, "maxPerCPUCacheSizeBytes", -1, server->per_cpu_max_bytes);
		bson_t *inner = BCON_NEW("cpu_free", BCON_INT64(server->cpu_free_bytes));
		bson_append_document(tcmalloc, "tcmalloc", -1, inner);
		bson_destroy(inner);
	}
	bson_t *sample =
		BCON_NEW("start", BCON_DATE_TIME(START_MS + ms), "serverStatus", "{", "pid", BCON_INT64(1),
			 "uptimeMillis", BCON_INT64(500000 + ms), "mem", "{", "resident", BCON_INT32(3), "}",
			 "tcmalloc", BCON_DOCUMENT(tcmalloc), "wiredTiger", "{", "cache", "{",
			 "bytes currently in the cache", BCON_INT64(2048), "maximum bytes configured",
			 BCON_INT64(1 << 30), "}", "}", "}", "systemMetrics", "{", "memory", "{",
			 "AnonHugePages_kb", BCON_INT64(2048), "}", "vmstat", "{", "thp_fault_alloc",
			 BCON_INT64(10 + ms / 1000), "}", "}");
	bson_destroy(tcmalloc);
	return sample;
}

static void put_server_chunk(struct bytes *file, const struct server *server, int64_t ms)
{
	bson_t *samples[] = {server_sample(server, ms), server_sample(server, ms + 1000),
			     server_sample(server, ms + 2000)};
	put_chunk_at(file, START_MS + ms, samples, 3);
	for (int i = 0; i < 3; i++)
		bson_destroy(samples[i]);
}

static const char *server_file(const struct server *server)
{
	struct bytes file = {0};
	put_server(&file, server);
	put_server_chunk(&file, server, 0);
	return write_file(&file);
}

Test(ftdc_command, the_summary_knows_the_states_of_the_caches_per_cpu)
{
	for (size_t i = 0; i < sizeof servers / sizeof *servers; i++) {
		const struct server *server = &servers[i];
		const char *path = server_file(server);
		json_t *object = run_json(path, 0);
		cr_assert_str_eq(string_of(object, "per_cpu_caches"), server->state, "server %zu", i);
		cr_assert_str_eq(string_of(object, "version"), server->version);
		cr_assert_str_eq(string_of(object, "allocator"), server->allocator);
		cr_assert_str_eq(string_of(object, "arch"), server->arch);
		const json_t *thp = json_object_get(object, "thp");
		cr_assert_str_eq(string_of(thp, "enabled"), server->thp_enabled ? server->thp_enabled : "");
		json_decref(object);
		char *text = run(path, OPTIONS(NULL), 0);
		cr_assert(strstr(text, server->meaning), "no '%s' in:\n%s", server->meaning, text);
		cr_assert(strstr(text, server->version) && strstr(text, server->arch));
		free(text);
	}
}

Test(ftdc_command, the_summary_has_the_figures_and_null_where_there_are_none)
{
	json_t *object = run_json(server_file(&servers[0]), 0);
	cr_assert_eq(integer_of(object, "chunks"), 1);
	cr_assert_eq(integer_of(object, "samples"), 3);
	cr_assert_eq(integer_of(object, "metrics"), 13);
	cr_assert_str_eq(string_of(object, "start"), "2026-05-31T12:00:00.000Z");
	cr_assert_str_eq(string_of(object, "end"), "2026-05-31T12:00:02.000Z");
	cr_assert_eq(integer_of(object, "cpus"), 8);
	cr_assert_eq(integer_of(object, "memory_limit_bytes"), INT64_C(4000) << 20);
	cr_assert_eq(integer_of(object, "per_cpu_cache_max_bytes"), 134217728);
	cr_assert_eq(integer_of(object, "per_cpu_cache_free_bytes"), 3145728);
	cr_assert(json_is_true(json_object_get(object, "glibc_rseq_present")));
	cr_assert(json_is_null(json_object_get(object, "glibc_rseq_disabled")));
	cr_assert(json_is_null(json_object_get(object, "kernel")));
	cr_assert(json_is_null(json_object_get(object, "thread_caches")));
	const json_t *thp = json_object_get(object, "thp");
	cr_assert_eq(integer_of(thp, "fault_alloc"), 2);
	cr_assert(json_is_null(json_object_get(thp, "collapse_alloc")));
	const json_t *series = json_object_get(object, "series");
	cr_assert_eq(json_array_size(series), 3);
	const json_t *point = json_array_get(series, 2);
	cr_assert_eq(integer_of(point, "unix_ms"), START_MS + 2000);
	cr_assert_eq(integer_of(point, "heap_bytes"), 3000);
	cr_assert_eq(integer_of(point, "resident_bytes"), 3 << 20);
	cr_assert_eq(integer_of(point, "anon_huge_bytes"), 2 << 20);
	cr_assert(json_is_null(json_object_get(point, "connections")));
	json_decref(object);
}

Test(ftdc_command, what_the_data_says_cannot_drive_a_terminal)
{
	char *text = run(server_file(&servers[0]), OPTIONS(NULL), 0);
	cr_assert(strstr(text, "db?[31m1"));
	cr_assert_null(strchr(text, 0x1b));
	free(text);
}

Test(ftdc_command, restarts_gaps_and_changes_are_counted)
{
	struct bytes file = {0};
	bson_t *restarted = BCON_NEW("start", BCON_DATE_TIME(START_MS + 90000), "serverStatus", "{", "pid",
				     BCON_INT64(1), "uptimeMillis", BCON_INT64(500), "}");
	put_server(&file, &servers[2]);
	put_server_chunk(&file, &servers[2], 0);
	put_server_chunk(&file, &servers[2], 3000);
	put_server_chunk(&file, &servers[0], 63000); /* repaired, after 58 s without samples */
	put_chunk_at(&file, START_MS + 90000, &restarted, 1);
	put_server_chunk(&file, &servers[0], 60000); /* the clock was set back: 500 s of uptime */
	json_t *object = run_json(write_file(&file), 0);
	cr_assert_eq(integer_of(object, "gaps"), 2);
	cr_assert_float_eq(json_real_value(json_object_get(object, "longest_gap_s")), 58, 1e-9);
	cr_assert_eq(integer_of(object, "restarts"), 1);
	cr_assert_eq(integer_of(object, "schema_changes"), 2);
	cr_assert_eq(integer_of(object, "clock_steps_back"), 1);
	cr_assert_str_eq(string_of(object, "per_cpu_caches_at_start"), "inactive");
	cr_assert_str_eq(string_of(object, "per_cpu_caches"), "active");
	json_decref(object);
	bson_destroy(restarted);
}

Test(ftdc_command, a_gap_is_measured_in_the_server_s_own_periods)
{
	struct bytes file = {0};
	bson_t *parameters =
		BCON_NEW("getParameter", "{", "diagnosticDataCollectionPeriodMillis", BCON_INT32(20000), "}");
	put_parameters(&file, START_MS, 0, parameters);
	put_plain_chunk(&file, 0, 0, 2);
	put_plain_chunk(&file, 90000, 0, 2);
	json_t *object = run_json(write_file(&file), 0);
	cr_assert_eq(integer_of(object, "gaps"), 0);
	json_decref(object);
	bson_destroy(parameters);
}

Test(ftdc_command, a_long_series_is_thinned_out_evenly)
{
	struct bytes file = {0};
	for (int64_t i = 0; i < 10; i++)
		put_plain_chunk(&file, i * 300000, 0, 300);
	json_t *object = run_json(write_file(&file), 0);
	const json_t *series = json_object_get(object, "series");
	size_t count = json_array_size(series);
	cr_assert(count > FTDC_POINTS_MAX / 2 && count <= FTDC_POINTS_MAX, "%zu", count);
	for (size_t i = 0; i < count; i++)
		cr_assert_eq(integer_of(json_array_get(series, i), "unix_ms"), START_MS + (int64_t)i * 32000);
	json_decref(object);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* Two schemas, of which only the second has "b, c". */
static const char *two_schemas(void)
{
	struct bytes file = {0};
	bson_t *other = BCON_NEW("start", BCON_DATE_TIME(START_MS + 2500), "b, c", BCON_INT64(INT64_MIN),
				 "x\"y", "{", "value", BCON_INT32(3), "}");
	put_plain_chunk(&file, 0, -1, 2);
	put_chunk_at(&file, START_MS + 2500, &other, 1);
	bson_destroy(other);
	return write_file(&file);
}

static void expect_output(const char *path, const char *const *options, const char *wanted)
{
	char *text = run(path, options, 0);
	cr_assert_str_eq(text, wanted, "%s", text);
	free(text);
}

Test(ftdc_command, csv_has_a_column_for_each_name_of_all_schemas)
{
	expect_output(two_schemas(), OPTIONS("--csv", "--metrics", "*value", "--metrics", "b*"),
		      "time_utc,unix_ms,serverStatus.value,\"b, c\",\"x\"\"y.value\"\n"
		      "2026-05-31T12:00:00.000Z,1780228800000,-1,,\n"
		      "2026-05-31T12:00:01.000Z,1780228801000,0,,\n"
		      "2026-05-31T12:00:02.500Z,1780228802500,,-9223372036854775808,3\n");
}

Test(ftdc_command, ndjson_leaves_out_what_a_sample_has_not)
{
	expect_output(two_schemas(), OPTIONS("--ndjson", "--metrics", "*value", "--metrics", "b*"),
		      "{\"time_utc\":\"2026-05-31T12:00:00.000Z\",\"unix_ms\":1780228800000,\"values\":{"
		      "\"serverStatus.value\":-1}}\n"
		      "{\"time_utc\":\"2026-05-31T12:00:01.000Z\",\"unix_ms\":1780228801000,\"values\":{"
		      "\"serverStatus.value\":0}}\n"
		      "{\"time_utc\":\"2026-05-31T12:00:02.500Z\",\"unix_ms\":1780228802500,\"values\":{\"b, "
		      "c\":-9223372036854775808,"
		      "\"x\\\"y.value\":3}}\n");
}

Test(ftdc_command, list_names_each_metric_once)
{
	expect_output(
		two_schemas(), OPTIONS("--list"),
		"start\nserverStatus.value\nserverStatus.pid\nserverStatus.uptimeMillis\nb, c\nx\"y.value\n");
	expect_output(two_schemas(), OPTIONS("--list", "--metrics", "nothing*"), "");
}

Test(ftdc_command, a_time_that_no_clock_can_have_had_is_left_out)
{
	struct bytes file = {0};
	bson_t *sample = BCON_NEW("start", BCON_DATE_TIME(INT64_MAX), "x", BCON_INT32(1));
	put_chunk(&file, &sample, 1);
	const char *path = write_file(&file);
	expect_output(path, OPTIONS("--csv", "--metrics", "x"),
		      "time_utc,unix_ms,x\n,9223372036854775807,1\n");
	json_t *object = run_json(path, 0);
	cr_assert(json_is_null(json_object_get(object, "start")));
	json_decref(object);
	free(run(path, OPTIONS(NULL), 0));
	bson_destroy(sample);
}

/* ---- ends ---------------------------------------------------------------------------------------------- */

Test(ftdc_command, damage_is_exit_status_3_and_the_rest_is_printed, .init = cr_redirect_stderr)
{
	struct bytes file = {0};
	put_plain_chunk(&file, 0, 0, 2);
	size_t offset = file.count;
	put_bytes(&file, "nonsense", 8);
	const char *path = write_file(&file);
	json_t *object = run_json(path, ERROR_INPUT);
	cr_assert_eq(integer_of(object, "samples"), 2);
	const json_t *damage = json_array_get(json_object_get(object, "damage"), 0);
	cr_assert_str_eq(string_of(damage, "file"), path);
	cr_assert_eq(integer_of(damage, "offset"), (int64_t)offset);
	cr_assert_eq(integer_of(damage, "bytes"), 8);
	cr_assert_eq(integer_of(object, "damage_count"), 1);
	json_decref(object);
	char *text = run(path, OPTIONS("--csv", "--metrics", "start"), ERROR_INPUT);
	cr_assert(strstr(text, "1780228801000\n"));
	free(text);
}

Test(ftdc_command, no_samples_are_a_summary_without_times)
{
	struct bytes file = {0};
	put_server(&file, &servers[0]);
	const char *path = write_file(&file);
	json_t *object = run_json(path, 0);
	cr_assert_eq(integer_of(object, "samples"), 0);
	cr_assert(json_is_null(json_object_get(object, "start")));
	cr_assert(json_is_null(json_object_get(object, "duration_s")));
	json_decref(object);
	free(run(path, OPTIONS(NULL), 0));
	expect_output(path, OPTIONS("--csv"), "time_utc,unix_ms\n");
}

Test(ftdc_command, wrong_usage_is_exit_status_2, .init = cr_redirect_stderr)
{
	char *two[] = {"ftdc", "--csv", "--json", "x", NULL}, *none[] = {"ftdc", "--csv", NULL};
	char *unused[] = {"ftdc", "--metrics=x", "x", NULL};
	char *same[] = {"ftdc", (char *)two_schemas(), "-o", NULL, NULL};
	same[3] = same[1];
	cr_assert_eq(cmd_ftdc(4, two), ERROR_USAGE);
	cr_assert_eq(cmd_ftdc(2, none), ERROR_USAGE);
	cr_assert_eq(cmd_ftdc(3, unused), ERROR_USAGE);
	cr_assert_eq(cmd_ftdc(4, same), ERROR_USAGE);
}

Test(ftdc_command, an_output_inside_the_folder_spares_its_files, .init = cr_redirect_stderr)
{
	const char *directory = support_path("d");
	char path[512];
	struct bytes file = {0};
	size_t before = 0, after = 0;
	cr_assert_eq(mkdir(directory, 0700), 0);
	put_plain_chunk(&file, 0, 0, 2);
	before = file.count;
	snprintf(path, sizeof path, "%s/metrics.1", directory);
	support_write_file(path, file.data, file.count);
	char *argv[] = {"ftdc", (char *)directory, "-o", path, "--csv", NULL};
	cr_assert_eq(cmd_ftdc(5, argv), ERROR_USAGE);
	free(support_read_file(path, &after));
	cr_assert_eq(before, after);
	bytes_free(&file);
}
