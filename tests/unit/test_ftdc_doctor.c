/* `doctor --ftdc` and `doctor --trace`: hand-made diagnostic data of servers in known states, and traces. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/command.h"
#include "tests/unit/support_doctor.h"
#include "tests/unit/support_ftdc.h"
#include "tests/unit/support_pages.h"
#include "tests/unit/support_trace.h"

/* ---- diagnostic data ----------------------------------------------------------------------------------- */

#define ABSENT INT64_MIN

struct server {
	const char *version, *allocator, *arch, *kernel;
	const char *thp, *defrag; /* NULL: not recorded (before 8.0) */
	int rseq_disabled;	  /* in the environment; -1: not recorded */
	int64_t active, limit_bytes, free_bytes;
};

static const struct server healthy_arm = {
	"8.0.4",   "tcmalloc-google", "aarch64", "6.1.109-118.189.amzn2023.aarch64",
	"always",  "defer+madvise",   1,	 1,
	134217728, 331 << 20};
static const struct server healthy_x86 = {
	"8.0.4", "tcmalloc-google", "x86_64", "6.8.0-45-generic", "always", "defer+madvise", 1,
	1,	 67108864,	    3 << 20};

static bson_t *description(const struct server *server)
{
	bson_t *doc = BCON_NEW("buildInfo", "{", "version", BCON_UTF8(server->version), "allocator",
			       BCON_UTF8(server->allocator), "}");
	bson_t *host =
		BCON_NEW("system", "{", "cpuArch", BCON_UTF8(server->arch), "memSizeMB", BCON_INT64(16384),
			 "memLimitMB", BCON_INT64(16384), "numNumaNodes", BCON_INT32(1), "}");
	bson_t extra = BSON_INITIALIZER;
	bson_append_utf8(&extra, "kernelVersion", -1, server->kernel, -1);
	if (server->thp) {
		bson_append_utf8(&extra, "thp_enabled", -1, server->thp, -1);
		bson_append_utf8(&extra, "thp_defrag", -1, server->defrag, -1);
		bson_append_utf8(&extra, "thp_max_ptes_none", -1, "0", -1);
		bson_append_utf8(&extra, "overcommit_memory", -1, "1", -1);
	}
	if (server->rseq_disabled >= 0) {
		bson_append_bool(&extra, "glibc_rseq_present", -1, true);
		bson_append_bool(&extra, "glibc_pthread_rseq_disabled", -1, server->rseq_disabled);
	}
	bson_append_document(host, "extra", -1, &extra);
	bson_append_document(doc, "hostInfo", -1, host);
	bson_destroy(&extra);
	bson_destroy(host);
	return doc;
}

static bson_t *sample(const struct server *server, int64_t ms)
{
	bson_t *tcmalloc = BCON_NEW("generic", "{", "heap_size", BCON_INT64(5 << 20), "}");
	if (server->active != ABSENT) {
		bson_append_bool(tcmalloc, "usingPerCPUCaches", -1, server->active);
		bson_append_int64(tcmalloc, "maxPerCPUCacheSizeBytes", -1, server->limit_bytes);
		bson_t *inner = BCON_NEW("cpu_free", BCON_INT64(server->free_bytes));
		bson_append_document(tcmalloc, "tcmalloc", -1, inner);
		bson_destroy(inner);
	}
	bson_t *doc = BCON_NEW("start", BCON_DATE_TIME(START_MS + ms), "serverStatus", "{", "pid",
			       BCON_INT64(FAKE_PID), "tcmalloc", BCON_DOCUMENT(tcmalloc), "wiredTiger", "{",
			       "cache", "{", "maximum bytes configured", BCON_INT64(INT64_C(7) << 30), "}",
			       "}", "}", "systemMetrics", "{", "status", "{",
			       "process_opting_into_THP_if_enabled", BCON_INT64(1), "}", "}");
	bson_destroy(tcmalloc);
	return doc;
}

static void put_server(struct bytes *file, const struct server *server)
{
	bson_t *doc = description(server), *samples[] = {sample(server, 0), sample(server, 1000)};
	put_description(file, START_MS, doc);
	put_chunk_at(file, START_MS, samples, 2);
	bson_destroy(doc);
	bson_destroy(samples[0]);
	bson_destroy(samples[1]);
}

static const char *server_file(const struct server *server)
{
	static char path[256];
	struct bytes file = {0};
	snprintf(path, sizeof path, "%s", support_path("metrics.server"));
	put_server(&file, server);
	support_write_file(path, file.data, file.count);
	bytes_free(&file);
	return path;
}

static json_t *look(const struct server *server, int status)
{
	return DOCTOR(status, "--ftdc", server_file(server));
}

Test(ftdc_doctor, healthy_servers_have_no_finding)
{
	const struct server *const servers[] = {&healthy_arm, &healthy_x86};
	for (size_t i = 0; i < 2; i++) {
		json_t *report = look(servers[i], 0);
		cr_assert_str_eq(json_string_value(json_object_get(report, "version")), "8.0.4");
		cr_assert_str_eq(json_string_value(json_object_get(report, "arch")), servers[i]->arch);
		expect_finding(report, "thp-enabled", "ok", "found", "always");
		expect_finding(report, "thp-process", "ok", NULL, NULL);
		expect_finding(report, "rseq-owner", "ok", "found", "leaves rseq to the program");
		expect_finding(report, "per-cpu-caches", "ok", NULL, NULL);
		expect_finding(report, "per-cpu-capacity", "ok", "found", "bytes");
		expect_finding(report, "cache-size", "ok", "found", "7.0 GiB");
		expect_finding(report, "thp-size", "unknown", NULL, NULL);
		cr_assert_str_eq(state_of(report, "shim-load"), "absent");
		json_decref(report);
	}
}

/* The numbers are those of public deployments (sizes rounded). */
Test(ftdc_doctor, rseq_lost_to_glibc)
{
	static const char *const arches[] = {"aarch64", "x86_64"};
	for (size_t i = 0; i < 2; i++) {
		struct server server = healthy_x86;
		server.arch = arches[i];
		server.rseq_disabled = 0;
		server.active = 0;
		server.limit_bytes = 1572864;
		server.free_bytes = 0;
		json_t *report = look(&server, 1);
		expect_finding(report, "rseq-owner", "bad", "advice", "GLIBC_TUNABLES=glibc.pthread.rseq=0");
		expect_finding(report, "per-cpu-caches", "bad", NULL, NULL);
		expect_finding(report, "per-cpu-capacity", "ok", "found", "not in use");
		json_decref(report);
	}
}

Test(ftdc_doctor, a_capacity_of_zero)
{
	static const char *const arches[] = {"aarch64", "x86_64"};
	for (size_t i = 0; i < 2; i++) {
		struct server server = healthy_x86;
		server.version = "8.2.3";
		server.arch = arches[i];
		server.limit_bytes = server.free_bytes = 0;
		json_t *report = look(&server, 1);
		expect_finding(report, "per-cpu-capacity", "bad", "advice",
			       "MONGO_TCMALLOC_PER_CPU_CACHE_SIZE_BYTES=16777216");
		expect_finding(report, "per-cpu-caches", "ok", NULL, NULL);
		cr_assert_eq(json_integer_value(json_object_get(report, "bad")), 1);
		json_decref(report);
	}
}

Test(ftdc_doctor, a_limit_that_was_set_too_late)
{
	struct server server = healthy_x86;
	server.free_bytes = 0;
	json_t *report = look(&server, 1);
	expect_finding(report, "per-cpu-capacity", "warn", "found", "in all caches together: 0");
	json_decref(report);
}

Test(ftdc_doctor, older_servers_want_huge_pages_off)
{
	static const struct server servers[] = {
		{"7.0.14", "tcmalloc", "x86_64", "5.15.0", NULL, NULL, -1, ABSENT, 0, 0},
		{"4.4.6", "tcmalloc", "x86_64", "4.18.0", NULL, NULL, -1, ABSENT, 0, 0},
	};
	for (size_t i = 0; i < 2; i++) {
		json_t *report = look(&servers[i], 0);
		cr_assert_str_eq(json_string_value(json_object_get(report, "allocator")), "gperftools");
		cr_assert_str_eq(json_string_value(json_object_get(report, "recommendations")), "7.0");
		expect_finding(report, "thp-enabled", "unknown", "found", "thp_enabled");
		cr_assert_str_eq(state_of(report, "per-cpu-caches"), "absent");
		json_decref(report);
	}
	struct server windows = healthy_x86;
	windows.allocator = "tcmalloc-gperf";
	windows.active = ABSENT;
	json_t *report = look(&windows, 1);
	expect_finding(report, "thp-enabled", "bad", "fix", "echo never >");
	json_decref(report);
}

Test(ftdc_doctor, settings_and_kernels_of_diagnostic_data)
{
	struct server server = healthy_x86;
	server.thp = "always [madvise] never";
	server.defrag = "madvise";
	server.kernel = "7.0.0-10-generic";
	json_t *report = look(&server, 1);
	expect_finding(report, "thp-enabled", "bad", "found", "madvise");
	expect_finding(report, "thp-defrag", "warn", NULL, NULL);
	expect_finding(report, "kernel-range", "bad", "advice", "GLIBC_TUNABLES=glibc.pthread.rseq=1");
	json_decref(report);
}

/* ---- a running server's own data ----------------------------------------------------------------------- */

static const char *server_root(const struct server *archive, const struct server *interim, int64_t pid)
{
	const char *root = healthy_machine("x86_64");
	struct bytes old = {0}, now = {0};
	char status[128];
	healthy_process(root, EM_X86_64);
	put_server(&old, archive);
	fake_bytes(root, "proc/4711/root/var/lib/mongodb/diagnostic.data/metrics.2026-05-31T12-00-00Z-00000",
		   old.data, old.count);
	if (interim) {
		bson_t *samples[] = {sample(interim, 300000)};
		put_chunk_at(&now, START_MS + 300000, samples, 1);
		fake_bytes(root, "proc/4711/root/var/lib/mongodb/diagnostic.data/metrics.interim", now.data,
			   now.count);
		bson_destroy(samples[0]);
	}
	snprintf(status, sizeof status,
		 "PPid:\t1\nNSpid:\t4711\t%lld\nTHP_enabled:\t1\nSeccomp:\t0\nCapEff:\t0\n", (long long)pid);
	fake_file(root, "proc/4711/status", status);
	bytes_free(&old);
	bytes_free(&now);
	return root;
}

Test(ftdc_doctor, a_running_server_is_asked_by_its_own_data)
{
	struct server zero = healthy_x86;
	zero.limit_bytes = zero.free_bytes = 0;
	json_t *report = DOCTOR(1, "--pid", "4711", "--root", server_root(&zero, NULL, FAKE_PID));
	expect_finding(report, "per-cpu-capacity", "bad", "found", "limit of one CPU's cache: 0 bytes");
	cr_assert_str_eq(json_string_value(json_object_get(report, "version")), "8.0.4");
	json_decref(report);
	report = DOCTOR(1, "--pid", "4711", "--root", server_root(&healthy_x86, &zero, FAKE_PID));
	expect_finding(report, "per-cpu-capacity", "bad", "found", "limit of one CPU's cache: 0 bytes");
	json_decref(report);
}

Test(ftdc_doctor, data_of_another_process_is_not_its_own)
{
	struct server zero = healthy_x86;
	zero.limit_bytes = 0;
	json_t *report = DOCTOR(0, "--pid", "4711", "--root", server_root(&zero, NULL, 1));
	expect_finding(report, "per-cpu-capacity", "ok", "found", "TCMalloc can read");
	cr_assert(json_is_null(json_object_get(report, "version")));
	json_decref(report);
}

/* ---- traces -------------------------------------------------------------------------------------------- */

static const char *trace_file(const char *rseq_owner, const char *keys, const char *statistics)
{
	static char path[256];
	struct allocator_record record = {.kind = ALLOCATOR_GOOGLE};
	snprintf(path, sizeof path, "%s", support_path("doctor.mtr"));
	struct support_trace *trace = support_open(
		path, &(struct support_options){.full = true, .rseq_owner = rseq_owner, .extra_keys = keys});
	support_malloc(trace, 1, 1000, 0x1000, 64, 0);
	if (statistics) {
		uint8_t payload[512];
		record.mark.time = SUPPORT_START_TIME + 2000;
		memcpy(payload, &record, sizeof record);
		memcpy(payload + sizeof record, statistics, strlen(statistics));
		support_block(trace, BLOCK_ALLOCATOR, payload,
			      (uint32_t)(sizeof record + strlen(statistics)));
	}
	support_end(trace, 5000);
	return path;
}

#define MACHINE                                                                                              \
	"thp_enabled=always [madvise] never\nthp_defrag=always defer [defer+madvise] madvise never\n"        \
	"allocator_statistics=google-tcmalloc\npmd_size_bytes=2097152\nkernel=6.12.1\narch=x86_64\n"

Test(ftdc_doctor, a_trace_of_a_server_that_has_lost_rseq)
{
	json_t *report = DOCTOR(1, "--trace", trace_file("glibc", MACHINE, "per_cpu_caches_active=0\n"));
	expect_finding(report, "rseq-owner", "bad", "found", "glibc's, from the start");
	expect_finding(report, "per-cpu-caches", "bad", NULL, NULL);
	expect_finding(report, "thp-enabled", "bad", "found", "madvise");
	expect_finding(report, "thp-defrag", "ok", NULL, NULL);
	expect_finding(report, "overcommit", "unknown", NULL, NULL);
	json_decref(report);
}

Test(ftdc_doctor, a_trace_of_a_server_with_a_capacity_of_zero)
{
	json_t *report = DOCTOR(
		1, "--trace",
		trace_file("none", MACHINE,
			   "per_cpu_caches_active=1\nmax_per_cpu_cache_bytes=0\ntcmalloc.cpu_free=0\n"));
	expect_finding(report, "per-cpu-capacity", "bad", NULL, NULL);
	json_decref(report);
}

/* What it recorded of the machine counts as it was at the end. */
Test(ftdc_doctor, a_trace_with_the_settings_of_its_machine)
{
	const char *path = support_path("settings.mtr");
	struct support_trace *trace = support_open(
		path, &(struct support_options){.full = true, .rseq_owner = "none", .extra_keys = MACHINE});
	support_settings(trace, 1000, true,
			 "thp.enabled=madvise\nthp.hpage_pmd_size=2097152\nthp.khugepaged.max_ptes_none=0\n"
			 "thp.shrink_underused=1\nthp.hugepages-2048kB.enabled=never\nprocess.thp_disable=1\n"
			 "vm.overcommit_memory=2\n");
	support_settings(trace, 2000, false, "thp.enabled=always\n");
	support_end(trace, 5000);
	json_t *report = DOCTOR(1, "--trace", path);
	expect_finding(report, "thp-enabled", "ok", "found", "always (thp.enabled)");
	expect_finding(report, "thp-max-ptes-none", "ok", NULL, NULL);
	expect_finding(report, "thp-shrinker", "warn", NULL, NULL);
	expect_finding(report, "thp-by-size", "bad", "found", "2048 kB: never");
	expect_finding(report, "thp-process", "bad", "found", "switched off");
	expect_finding(report, "overcommit", "bad", NULL, NULL);
	json_decref(report);
}

Test(ftdc_doctor, a_trace_without_statistics_says_so)
{
	json_t *report = DOCTOR(0, "--trace", trace_file("none", "kernel=6.12.1\n", NULL));
	expect_finding(report, "per-cpu-caches", "unknown", "found", "no statistics of the allocator");
	json_decref(report);
}

/* ---- ends ---------------------------------------------------------------------------------------------- */

Test(ftdc_doctor, damage_is_exit_status_3_and_the_rest_is_judged, .init = cr_redirect_stderr)
{
	struct bytes file = {0};
	const char *path = support_path("metrics.damaged");
	put_server(&file, &healthy_x86);
	put_bytes(&file, "nonsense", 8);
	support_write_file(path, file.data, file.count);
	json_t *report = DOCTOR(3, "--ftdc", path);
	expect_finding(report, "per-cpu-caches", "ok", NULL, NULL);
	json_decref(report);
	bytes_free(&file);
	char *missing[] = {"doctor", "--ftdc", "/nonexistent", NULL},
	     *trace[] = {"doctor", "--trace", "/etc/passwd", NULL};
	cr_assert_eq(cmd_doctor(3, missing), ERROR_INPUT);
	cr_assert_eq(cmd_doctor(3, trace), ERROR_INPUT);
}
