/* The allocator's own figures: out of its text, out of the trace, into rows. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/allocstats.h"
#include "analyzer/allocstats_json.h"
#include "analyzer/allocstats_series.h"
#include "analyzer/findings.h"
#include "analyzer/report.h"
#include "shim/tcmalloc_text.h"
#include "tests/unit/support_report.h"

/* ---- google/tcmalloc's text ---------------------------------------------------------------------------- */

static struct tcmalloc_text text_out;

static const struct tcmalloc_text *read_text(const char *text)
{
	memset(&text_out, 0x5a, sizeof text_out);
	tcmalloc_text_read(&text_out, text, strlen(text));
	return &text_out;
}

static const char text_2024[] =
	"MALLOC: +       123456 (    0.1 MiB) Bytes in per-CPU cache freelist\n"
	"Bytes in per-CPU caches (per cpu limit: 1572864 bytes)\n"
	"cpu   0:        10000 bytes (    0.0 MiB) with       20000 bytes unallocated  active populated\n"
	"cpu   2:            0 bytes (    0.0 MiB) with 1572864 bytes unallocated \n"
	"Number of per-CPU cache underflows, overflows, and reclaims\n"
	"Total  :         111 underflows,         222 overflows, overflows / underflows:  2.00,            3 "
	"reclaims,           4 resizes\n"
	"cpu   0:          11 underflows,          22 overflows, overflows / underflows:  2.00,            3 "
	"reclaims,           4 resizes\n"
	"cpu   2:         100 underflows,18446744073709551614 overflows, overflows / underflows:  0.00,      "
	"      0 "
	"reclaims,           0 resizes\n"
	"Current shift:  15 (slab size:   32 KiB)\n";

Test(tcmalloc_text, reads_each_cpu)
{
	const struct tcmalloc_text *text = read_text(text_2024);
	cr_assert_eq(text->per_cpu_limit_bytes, 1572864);
	cr_assert_eq(text->cpus, 3);
	cr_assert_eq(text->cpu[0].used_bytes, 10000);
	cr_assert_eq(text->cpu[0].unallocated_bytes, 20000);
	cr_assert_eq(text->cpu[0].underflows, 11);
	cr_assert_eq(text->cpu[0].overflows, 22);
	cr_assert_eq(text->cpu[0].reclaims, 3);
	cr_assert_eq(text->cpu[2].used_bytes, 0);
	cr_assert_eq(text->cpu[2].overflows, UINT64_MAX - 1);
	cr_assert_eq(text->cpu[1].used_bytes, TCMALLOC_UNKNOWN, "a CPU that the text leaves out is not 0");
	cr_assert_eq(text->cpu[1].underflows, TCMALLOC_UNKNOWN);
}

Test(tcmalloc_text, later_versions_say_drains)
{
	const struct tcmalloc_text *text = read_text(
		"cpu   0:          11 underflows,          22 overflows, overflows / underflows:  2.00, "
		"           9 drains (reclaims),           4 resizes\n");
	cr_assert_eq(text->cpu[0].reclaims, 9);
	cr_assert_eq(text->cpu[0].used_bytes, TCMALLOC_UNKNOWN);
}

Test(tcmalloc_text, zero_is_known)
{
	const struct tcmalloc_text *text = read_text("Bytes in per-CPU caches (per cpu limit: 0 bytes)\n"
						     "cpu   0:            0 bytes (    0.0 MiB) with         "
						     "  0 bytes unallocated  active populated\n");
	cr_assert_eq(text->per_cpu_limit_bytes, 0);
	cr_assert_eq(text->cpu[0].used_bytes, 0);
	cr_assert_eq(text->cpu[0].unallocated_bytes, 0);
}

/* Wherever the buffer ends, a number is whole or not there. */
Test(tcmalloc_text, a_cut_off_line_counts_for_nothing)
{
	for (size_t bytes = 0; bytes < sizeof text_2024; bytes++) {
		char *copy = malloc(bytes + 1);
		memcpy(copy, text_2024, bytes);
		tcmalloc_text_read(&text_out, copy, bytes);
		for (unsigned i = 0; i < text_out.cpus; i++) {
			const struct tcmalloc_cpu *cpu = &text_out.cpu[i];
			cr_assert(cpu->used_bytes == TCMALLOC_UNKNOWN || cpu->used_bytes == (i ? 0 : 10000));
			cr_assert(cpu->underflows == TCMALLOC_UNKNOWN || cpu->underflows == (i ? 100 : 11),
				  "CPU %u at %zu bytes: %llu", i, bytes, (unsigned long long)cpu->underflows);
		}
		free(copy);
	}
}

Test(tcmalloc_text, nonsense_is_unknown)
{
	const struct tcmalloc_text *text =
		read_text("Bytes in per-CPU caches (per cpu limit: 99999999999999999999 bytes)\n"
			  "cpu 4096: 1 bytes (0.0 MiB) with 1 bytes unallocated\n"
			  "cpu 99999999999999999999999: 1 bytes (0.0 MiB) with 1 bytes unallocated\n"
			  "cpu : 1 bytes (0.0 MiB) with 1 bytes unallocated\n"
			  "cpu 3\n"
			  "cpu 1: -5 bytes (0.0 MiB) with x bytes unallocated\n");
	cr_assert_eq(text->per_cpu_limit_bytes, TCMALLOC_UNKNOWN);
	cr_assert_eq(text->cpus, 2, "only CPU 1 has a number that fits");
	cr_assert_eq(text->cpu[1].unallocated_bytes, TCMALLOC_UNKNOWN);
}

/* ---- records ------------------------------------------------------------------------------------------- */

struct payload {
	uint8_t bytes[4096];
	size_t used;
};

static struct payload payload_of(uint64_t time, uint64_t values_age_ns, uint64_t per_cpu_age_ns,
				 const char *lines)
{
	struct payload payload;
	struct allocator_record record = {
		.kind = ALLOCATOR_GOOGLE, .values_age_ns = values_age_ns, .per_cpu_age_ns = per_cpu_age_ns};
	record.mark.time = SUPPORT_START_TIME + time;
	record.mark.realtime_ns = SUPPORT_START_REALTIME_NS + time;
	record.mark.monotonic_ns = SUPPORT_START_MONOTONIC_NS + time;
	memcpy(payload.bytes, &record, sizeof record);
	memcpy(payload.bytes + sizeof record, lines, strlen(lines));
	payload.used = sizeof record + strlen(lines);
	return payload;
}

static struct allocstats parsed(uint64_t time, uint64_t values_age_ns, uint64_t per_cpu_age_ns,
				const char *lines)
{
	struct allocstats stats;
	struct payload payload = payload_of(time, values_age_ns, per_cpu_age_ns, lines);
	cr_assert(allocstats_parse(&stats, payload.bytes, payload.used));
	return stats;
}

Test(allocstats, parses_what_is_there)
{
	struct allocstats stats =
		parsed(7, 1, 2,
		       "tcmalloc.cpu_free=5\nper_cpu_caches_active=1\nmax_per_cpu_cache_bytes=0\n"
		       "cpu=0 1 2 3 4 5\ncpu=63 - - 30 40 -\n");
	cr_assert_eq(stats.kind, ALLOCATOR_GOOGLE);
	cr_assert_eq(stats.mark.time, SUPPORT_START_TIME + 7);
	cr_assert_eq(allocstats_value(&stats, "tcmalloc.cpu_free"), 5);
	cr_assert_eq(allocstats_value(&stats, "tcmalloc.cpu"), ALLOCSTATS_UNKNOWN);
	cr_assert_eq(allocstats_active(&stats), 1);
	cr_assert_eq(allocstats_limit_bytes(&stats), 0);
	cr_assert_eq(stats.cpu_count, 2);
	cr_assert_eq(stats.cpus[1].cpu, 63);
	struct allocstats_cpu sum = allocstats_sum(&stats);
	cr_assert_eq(sum.underflows, 33);
	cr_assert_eq(sum.overflows, 44);
	cr_assert_eq(sum.used_bytes, ALLOCSTATS_UNKNOWN, "a sum with an unknown part is unknown");
	allocstats_free(&stats);
	cr_assert_null(stats.values);
}

Test(allocstats, nothing_known_is_not_zero)
{
	struct allocstats stats = parsed(7, 1, 2, "");
	cr_assert_eq(allocstats_active(&stats), -1);
	cr_assert_eq(allocstats_limit_bytes(&stats), ALLOCSTATS_UNKNOWN);
	cr_assert_eq(allocstats_sum(&stats).underflows, ALLOCSTATS_UNKNOWN);
	allocstats_free(&stats);
}

Test(allocstats, bad_lines_are_passed_over)
{
	struct allocstats stats = parsed(7, 1, 2,
					 "no value\nx=\ny=-1\nz=18446744073709551616\ncpu=1 2 3 4 5\ncpu=1 2 "
					 "3 4 5 6 7\ncpu=- 1 2 3 4 5\n"
					 "cpu=\n=4\n\ngood=18446744073709551614\ncut off=12");
	cr_assert_eq(stats.cpu_count, 0);
	cr_assert_eq(allocstats_value(&stats, "good"), UINT64_MAX - 1);
	cr_assert_eq(allocstats_value(&stats, "y"), ALLOCSTATS_UNKNOWN);
	cr_assert_eq(allocstats_value(&stats, "z"), ALLOCSTATS_UNKNOWN);
	cr_assert_eq(allocstats_value(&stats, "cut off"), ALLOCSTATS_UNKNOWN);
	allocstats_free(&stats);
}

Test(allocstats, a_short_payload_is_no_record)
{
	struct allocstats stats;
	struct payload payload = payload_of(7, 1, 2, "");
	for (size_t bytes = 0; bytes < sizeof(struct allocator_record); bytes++) {
		cr_assert(allocstats_parse(&stats, payload.bytes, bytes));
		cr_assert_eq(stats.kind, 0);
		allocstats_free(&stats);
	}
}

/* ---- in a trace ---------------------------------------------------------------------------------------- */

static uint64_t put_record(struct support_trace *trace, uint64_t time, const char *lines)
{
	struct payload payload = payload_of(time, 0, 0, lines);
	return support_block_from(trace, time, BLOCK_ALLOCATOR, payload.bytes, (uint32_t)payload.used);
}

static void damage(const char *path, uint64_t offset)
{
	size_t bytes;
	uint8_t *file = support_read_file(path, &bytes);
	file[offset + sizeof(struct block_header) + 70] ^= 1;
	support_write_file(path, file, bytes);
	free(file);
}

Test(allocstats, the_newest_whole_record_counts)
{
	const char *path = support_path("newest.mtr");
	struct support_trace *support = support_open(path, &(struct support_options){.full = true});
	put_record(support, 1 * RUN_SECOND, "n.n=1\n");
	put_record(support, 2 * RUN_SECOND, "n.n=2\nlonger.line=22222\n");
	uint64_t last = put_record(support, 3 * RUN_SECOND, "n.n=3\nlonger.line=33333\n");
	support_end(support, 4 * RUN_SECOND);
	damage(path, last);
	struct error error = {0};
	struct trace *trace = trace_open(path, &error);
	cr_assert_not_null(trace);
	cr_assert_eq(allocstats_value(trace_allocator(trace), "n.n"), 2);
	cr_assert_str_eq(allocstats_kind_name(trace), "google-tcmalloc");
	cr_assert_eq(trace_damage_count(trace), 1, "%zu", (size_t)trace_damage_count(trace));
	trace_close(trace);
}

Test(allocstats, records_come_by_time)
{
	const char *path = support_path("by_time.mtr");
	struct support_trace *support = support_open(path, &(struct support_options){.full = true});
	for (uint64_t second = 1; second <= 4; second++) {
		char line[32];
		snprintf(line, sizeof line, "n.n=%u\n", (unsigned)second);
		put_record(support, second * RUN_SECOND, line);
		support_snapshot(support, second * RUN_SECOND + 1000, NULL);
	}
	support_end(support, 5 * RUN_SECOND);
	struct error error = {0};
	struct trace *trace = trace_open(path, &error);
	struct allocstats_cursor cursor = {0};
	const uint64_t start = SUPPORT_START_TIME;
	cr_assert_not(allocstats_next(&cursor, trace, start + RUN_SECOND / 2, &error));
	cr_assert(allocstats_next(&cursor, trace, start + RUN_SECOND, &error));
	cr_assert_eq(allocstats_value(&cursor.stats, "n.n"), 1);
	cr_assert_not(allocstats_next(&cursor, trace, start + RUN_SECOND + 5, &error), "given once");
	cr_assert(allocstats_next(&cursor, trace, start + 3 * RUN_SECOND + 5, &error));
	cr_assert_eq(allocstats_value(&cursor.stats, "n.n"), 3);
	allocstats_free(&cursor.stats);
	trace_close(trace);
}

Test(allocstats, a_trace_without_records_says_so)
{
	const char *path = support_path("none.mtr");
	struct support_trace *support = support_open(
		path, &(struct support_options){.full = true, .extra_keys = "allocator_statistics=none\n"});
	support_end(support, RUN_SECOND);
	struct error error = {0};
	char text[128];
	struct trace *trace = trace_open(path, &error);
	json_t *object = allocstats_json(trace);
	cr_assert_str_eq(json_string_value(json_object_get(object, "kind")), "none");
	cr_assert(json_is_null(json_object_get(object, "values")));
	cr_assert(json_is_null(json_object_get(object, "per_cpu_caches_active")));
	cr_assert_not(allocstats_text(trace, text, sizeof text));
	json_decref(object);
	trace_close(trace);
}

/* ---- into rows ----------------------------------------------------------------------------------------- */

static void clear_rows(struct model_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t s = 0; s < SERIES_COUNT; s++)
			rows[i].values[s] = NAN;
}

static void add(struct allocstats_series *series, struct model_row *rows, size_t count, uint64_t time,
		uint64_t per_cpu_age_ns, const char *lines)
{
	struct allocstats stats = parsed(time, 0, per_cpu_age_ns, lines);
	allocstats_series_add(series, &stats, rows, count);
	allocstats_free(&stats);
}

Test(allocstats_series, rates_cover_the_time_between_readings)
{
	static struct model_row rows[4];
	struct allocstats_series series = {0};
	clear_rows(rows, 4);
	add(&series, rows, 1, 1 * RUN_SECOND, 0,
	    "tcmalloc.cpu_free=7\ncpu=0 1 5 100 10 0\ncpu=1 1 6 100 10 0\n");
	/* two intervals with the text of the first one */
	add(&series, rows, 2, 2 * RUN_SECOND, 1 * RUN_SECOND, "tcmalloc.cpu_free=8\ncpu=0 1 5 100 10 0\n");
	add(&series, rows, 3, 3 * RUN_SECOND, 2 * RUN_SECOND, "tcmalloc.cpu_free=9\ncpu=0 1 5 100 10 0\n");
	add(&series, rows, 4, 4 * RUN_SECOND, 0, "cpu=0 1 50 400 40 0\ncpu=1 1 60 400 10 0\n");
	cr_assert(isnan(rows[0].values[SERIES_TCMALLOC_UNDERFLOWS]),
		  "before the first reading nothing is known");
	for (int i = 1; i < 4; i++) {
		cr_assert_float_eq(rows[i].values[SERIES_TCMALLOC_UNDERFLOWS], 200, 1e-9, "row %d", i);
		cr_assert_float_eq(rows[i].values[SERIES_TCMALLOC_OVERFLOWS], 10, 1e-9, "row %d", i);
	}
	cr_assert_eq(rows[0].values[SERIES_TCMALLOC_CPU_UNALLOCATED], 11);
	cr_assert(isnan(rows[1].values[SERIES_TCMALLOC_CPU_UNALLOCATED]), "a stale level is none");
	cr_assert_eq(rows[3].values[SERIES_TCMALLOC_CPU_UNALLOCATED], 110);
	cr_assert_eq(rows[2].values[SERIES_TCMALLOC_CPU_FREE], 9);
	cr_assert(isnan(rows[3].values[SERIES_TCMALLOC_CPU_FREE]), "not in that record");
}

Test(allocstats_series, a_count_that_goes_back_is_no_rate)
{
	static struct model_row rows[3];
	struct allocstats_series series = {0};
	clear_rows(rows, 3);
	add(&series, rows, 0, 1 * RUN_SECOND, 0, "cpu=0 1 5 100 10 0\n"); /* the first snapshot has no row */
	add(&series, rows, 1, 2 * RUN_SECOND, 0, "cpu=0 1 5 150 9 0\n");
	add(&series, rows, 3, 4 * RUN_SECOND, 0, "cpu=0 1 5 190 10 0\n"); /* one record is missing */
	cr_assert_float_eq(rows[0].values[SERIES_TCMALLOC_UNDERFLOWS], 50, 1e-9);
	cr_assert(isnan(rows[0].values[SERIES_TCMALLOC_OVERFLOWS]));
	cr_assert_float_eq(rows[1].values[SERIES_TCMALLOC_UNDERFLOWS], 20, 1e-9);
	cr_assert_float_eq(rows[2].values[SERIES_TCMALLOC_OVERFLOWS], 0.5, 1e-9);
}

/* ---- findings ------------------------------------------------------------------------------------------ */

static bool has_finding(const struct report *report, const char *id)
{
	for (size_t i = 0; i < report->findings.count; i++)
		if (!strcmp(report->findings.items[i].id, id))
			return true;
	return false;
}

/* A run of seconds with `allocs` allocations and `misses` underflows each; the ids found as bits. */
enum { FOUND_CAPACITY = 1, FOUND_FALLBACK = 2 };

static unsigned findings_of(const char *name, unsigned allocs, unsigned misses, const char *more)
{
	const char *path = support_path(name);
	struct support_trace *support = support_open(path, &(struct support_options){.full = true});
	for (uint64_t second = 0; second <= 4; second++) {
		char lines[256];
		uint64_t end = (second + 1) * RUN_SECOND;
		snprintf(lines, sizeof lines, "%scpu=0 1 2 %u 0 0\n", more, misses * (unsigned)second);
		support_count(support, COUNTER_MALLOC, allocs);
		put_record(support, end, lines);
		support_snapshot(support, end, NULL);
	}
	support_end(support, 5 * RUN_SECOND + 1000);
	struct report report = {0};
	struct error error = {0};
	cr_assert(model_read(&path, 1, &(struct symbol_options){0}, &report.model, &error), "%s", error.text);
	cr_assert(findings_collect_allocator(&report));
	unsigned found = (has_finding(&report, "capacity-zero") ? FOUND_CAPACITY : 0) |
			 (has_finding(&report, "per-thread-caches") ? FOUND_FALLBACK : 0);
	findings_free(&report.findings);
	model_free(&report.model);
	return found;
}

Test(findings, capacity_zero)
{
	const char *good = "per_cpu_caches_active=1\nmax_per_cpu_cache_bytes=1572864\n";
	cr_assert_eq(findings_of("a.mtr", 10000, 200, good), 0);
	cr_assert_eq(findings_of("b.mtr", 10000, 9500, good), FOUND_CAPACITY, "an underflow per allocation");
	cr_assert_eq(findings_of("c.mtr", 10, 10, good), 0, "too few to tell");
	cr_assert_eq(findings_of("d.mtr", 10, 0, "per_cpu_caches_active=1\nmax_per_cpu_cache_bytes=0\n"),
		     FOUND_CAPACITY);
	cr_assert_eq(findings_of("e.mtr", 10, 0, "per_cpu_caches_active=1\nper_cpu_limit_bytes=0\n"),
		     FOUND_CAPACITY, "the text says it too");
	cr_assert_eq(findings_of("f.mtr", 10000, 9500, ""), 0, "not known to be active");
}

Test(findings, per_thread_caches)
{
	cr_assert_eq(findings_of("g.mtr", 10, 0, "per_cpu_caches_active=0\nmax_per_cpu_cache_bytes=0\n"),
		     FOUND_FALLBACK, "a limit of caches that are not in use is no matter");
}
