#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "analyzer/command.h"
#include "analyzer/format.h"
#include "analyzer/ftdc_summary.h"
#include "analyzer/ftdc_table.h"

#define TABLE_ROWS 12u
#define MIB	   1048576.0

static __attribute__((format(printf, 3, 4))) void row(FILE *file, const char *name, const char *format, ...)
{
	char text[2048];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	fprintf(file, "%-15s ", name);
	print_safe(file, text);
	fputc('\n', file);
}

/* A text of the description; each call has its own buffer. */
struct text {
	char at[256];
};

static const char *text_or(const struct ftdc *ftdc, const char *path, const char *otherwise,
			   struct text *text)
{
	bool known = ftdc_text(ftdc, path, text->at, sizeof text->at) && text->at[0];
	return known ? text->at : otherwise;
}

/* ---- server and machine -------------------------------------------------------------------------------- */

static void print_server(FILE *file, const struct ftdc *ftdc)
{
	struct text version, arch, allocator;
	row(file, "server", "MongoDB %s for %s, allocator %s",
	    text_or(ftdc, "buildInfo.version", "of unknown version", &version),
	    text_or(ftdc, "buildInfo.buildEnvironment.target_arch", "an unknown machine", &arch),
	    text_or(ftdc, "buildInfo.allocator", "unknown", &allocator));
}

static void print_machine(FILE *file, const struct ftdc *ftdc)
{
	struct text host, cpus, os, os_version, kernel, libc;
	char memory[FORMAT_TEXT_BYTES] = "unknown memory", limit[FORMAT_TEXT_BYTES];
	int64_t memory_mib, limit_mib;
	bool limited = false;
	if (ftdc_number(ftdc, "hostInfo.system.memSizeMB", &memory_mib)) {
		format_bytes(memory, (double)memory_mib * MIB);
		limited =
			ftdc_number(ftdc, "hostInfo.system.memLimitMB", &limit_mib) && limit_mib < memory_mib;
	}
	row(file, "machine", "%s: %s CPUs, %s%s%s%s, %s %s, kernel %s, C library %s",
	    text_or(ftdc, "hostInfo.system.hostname", "unknown host", &host),
	    text_or(ftdc, "hostInfo.system.numCores", "?", &cpus), memory, limited ? " (limit " : "",
	    limited ? format_bytes(limit, (double)limit_mib * MIB) : "", limited ? ")" : "",
	    text_or(ftdc, "hostInfo.os.name", "unknown system", &os),
	    text_or(ftdc, "hostInfo.os.version", "", &os_version),
	    text_or(ftdc, "hostInfo.extra.kernelVersion", "?", &kernel),
	    text_or(ftdc, "hostInfo.extra.libcVersion", "?", &libc));
}

/* ---- extent -------------------------------------------------------------------------------------------- */

static void print_extent(FILE *file, const struct ftdc_summary *summary, const struct ftdc *ftdc)
{
	char start[FORMAT_TEXT_BYTES], end[FORMAT_TEXT_BYTES], length[FORMAT_TEXT_BYTES];
	char samples[FORMAT_TEXT_BYTES], metrics[FORMAT_TEXT_BYTES], chunks[FORMAT_TEXT_BYTES];
	size_t files;
	ftdc_files(ftdc, &files);
	if (summary->samples)
		row(file, "time", "%s to %s, %s", ftdc_utc(start, summary->start_ms),
		    ftdc_utc(end, summary->end_ms),
		    format_seconds(length, ((double)summary->end_ms - (double)summary->start_ms) / 1000));
	row(file, "samples", "%s of %s metrics, in %s chunks of %zu file%s",
	    format_count(samples, summary->samples), format_count(metrics, summary->names.count),
	    format_count(chunks, summary->chunks), files, files == 1 ? "" : "s");
	if (summary->repeated_samples)
		row(file, "", "%s more were there twice: not archived, or recovered after a crash",
		    format_count(samples, summary->repeated_samples));
}

static void print_events(FILE *file, const struct ftdc_summary *summary)
{
	char longest[FORMAT_TEXT_BYTES];
	if (summary->restarts)
		row(file, "restarts", "%" PRIu64, summary->restarts);
	if (summary->gaps)
		row(file, "gaps", "%" PRIu64 ", the longest of %s", summary->gaps,
		    format_seconds(longest, (double)summary->longest_gap_ms / 1000));
	if (summary->clock_steps_back)
		row(file, "clock", "set back %" PRIu64 " times", summary->clock_steps_back);
	if (summary->schema_changes)
		row(file, "schema", "changed %" PRIu64 " times", summary->schema_changes);
}

/* ---- memory stack -------------------------------------------------------------------------------------- */

static const char *growth_text(char *text, const struct ftdc_summary *summary, enum ftdc_figure figure)
{
	const struct ftdc_point *first = &summary->first, *last = &summary->last;
	bool known = ftdc_point_has(first, figure) && ftdc_point_has(last, figure) &&
		     last->figures[figure] >= first->figures[figure] && first->figures[figure] >= 0;
	if (!known)
		return "?";
	return format_count(text, (uint64_t)(last->figures[figure] - first->figures[figure]));
}

static void print_thp(FILE *file, const struct ftdc_summary *summary, const struct ftdc *ftdc)
{
	struct text enabled, defrag, none;
	char faults[FORMAT_TEXT_BYTES], fallbacks[FORMAT_TEXT_BYTES], collapses[FORMAT_TEXT_BYTES];
	char text[2];
	if (ftdc_text(ftdc, "hostInfo.extra.thp_enabled", text, sizeof text))
		row(file, "huge pages", "enabled %s, defrag %s, khugepaged/max_ptes_none %s",
		    text_or(ftdc, "hostInfo.extra.thp_enabled", "?", &enabled),
		    text_or(ftdc, "hostInfo.extra.thp_defrag", "?", &defrag),
		    text_or(ftdc, "hostInfo.extra.thp_max_ptes_none", "?", &none));
	else
		row(file, "huge pages", "settings not recorded (MongoDB on Linux does from 8.0 on)");
	if (ftdc_point_has(&summary->last, FIGURE_THP_OPTED_IN))
		row(file, "", "mongod %s",
		    summary->last.figures[FIGURE_THP_OPTED_IN] ? "takes part where they are enabled"
							       : "is exempt: prctl(PR_SET_THP_DISABLE)");
	if (ftdc_point_has(&summary->last, FIGURE_THP_FAULT_ALLOC))
		row(file, "", "in that time, whole system: %s faults got one, %s fell back, %s collapsed",
		    growth_text(faults, summary, FIGURE_THP_FAULT_ALLOC),
		    growth_text(fallbacks, summary, FIGURE_THP_FAULT_FALLBACK),
		    growth_text(collapses, summary, FIGURE_THP_COLLAPSE_ALLOC));
}

static const char *per_cpu_meaning(enum ftdc_per_cpu state)
{
	switch (state) {
	case PER_CPU_ACTIVE:
		return "in use";
	case PER_CPU_INACTIVE:
		return "not in use: TCMalloc could not register rseq, and has caches per thread instead";
	case PER_CPU_ZERO:
		return "their capacity is zero, so that each allocation goes past them; "
		       "MONGO_TCMALLOC_PER_CPU_CACHE_SIZE_BYTES sets one";
	case PER_CPU_NONE:
		return "this allocator has none";
	default:
		return "not recorded";
	}
}

static const char *bytes_text(char *text, const struct ftdc_point *point, enum ftdc_figure figure,
			      double factor)
{
	if (!ftdc_point_has(point, figure))
		return "-";
	return format_bytes(text, (double)point->figures[figure] * factor);
}

static const char *count_text(char *text, const struct ftdc_point *point, enum ftdc_figure figure)
{
	if (!ftdc_point_has(point, figure) || point->figures[figure] < 0)
		return "-";
	return format_count(text, (uint64_t)point->figures[figure]);
}

static void print_caches(FILE *file, const struct ftdc_summary *summary, const struct ftdc *ftdc)
{
	const struct ftdc_point *last = &summary->last;
	struct text disabled;
	char limit[FORMAT_TEXT_BYTES], unused[FORMAT_TEXT_BYTES], threads[FORMAT_TEXT_BYTES];
	row(file, "per-CPU caches", "%s: %s", ftdc_per_cpu_name(summary->per_cpu),
	    per_cpu_meaning(summary->per_cpu));
	if (summary->first_per_cpu != summary->per_cpu)
		row(file, "", "%s at the start", ftdc_per_cpu_name(summary->first_per_cpu));
	if (ftdc_point_has(last, FIGURE_PER_CPU_CACHES))
		row(file, "", "capacity %s a CPU, free in them %s; caches per thread: %s",
		    bytes_text(limit, last, FIGURE_PER_CPU_MAX_BYTES, 1),
		    bytes_text(unused, last, FIGURE_PER_CPU_FREE_BYTES, 1),
		    count_text(threads, last, FIGURE_THREAD_CACHES));
	if (ftdc_text(ftdc, "hostInfo.extra.glibc_pthread_rseq_disabled", disabled.at, sizeof disabled.at))
		row(file, "rseq", "glibc's use of it is %s (GLIBC_TUNABLES, glibc.pthread.rseq)",
		    strcmp(disabled.at, "true") == 0 ? "switched off" : "not switched off");
}

/* ---- over time ----------------------------------------------------------------------------------------- */

struct table_column {
	enum ftdc_figure figure;
	double factor; /* to bytes */
	const char *title;
};

static const struct table_column table_columns[] = {
	{FIGURE_CACHE_BYTES, 1, "WT cache"},	  {FIGURE_CACHE_DIRTY_BYTES, 1, "WT dirty"},
	{FIGURE_ALLOCATED_BYTES, 1, "allocated"}, {FIGURE_HEAP_BYTES, 1, "heap"},
	{FIGURE_RESIDENT_MIB, MIB, "resident"},	  {FIGURE_ANON_HUGE_KIB, 1024, "AnonHugePages"},
};

static void print_point(FILE *file, const struct ftdc_point *point)
{
	char text[FORMAT_TEXT_BYTES];
	const char *utc = ftdc_utc(text, point->time_ms);
	fprintf(file, "%-24s", *utc ? utc : "?");
	for (size_t i = 0; i < sizeof table_columns / sizeof *table_columns; i++)
		fprintf(file, " %13s",
			bytes_text(text, point, table_columns[i].figure, table_columns[i].factor));
	fputc('\n', file);
}

static void print_table(FILE *file, const struct ftdc_summary *summary)
{
	char limit[FORMAT_TEXT_BYTES];
	if (ftdc_point_has(&summary->last, FIGURE_CACHE_MAX_BYTES))
		row(file, "WiredTiger", "cache of at most %s",
		    bytes_text(limit, &summary->last, FIGURE_CACHE_MAX_BYTES, 1));
	fprintf(file, "\n%-24s", "time");
	for (size_t i = 0; i < sizeof table_columns / sizeof *table_columns; i++)
		fprintf(file, " %13s", table_columns[i].title);
	fputc('\n', file);
	size_t count = summary->point_count, rows = count < TABLE_ROWS ? count : TABLE_ROWS;
	for (size_t i = 0; i < rows; i++)
		print_point(file, &summary->points[i * count / rows]);
	if (summary->last.time_ms != summary->points[(rows - 1) * count / rows].time_ms)
		print_point(file, &summary->last);
}

void ftdc_summary_print(FILE *file, const struct ftdc_summary *summary, const struct ftdc *ftdc)
{
	char text[2];
	if (ftdc_text(ftdc, "buildInfo.version", text, sizeof text)) {
		print_server(file, ftdc);
		print_machine(file, ftdc);
	} else {
		row(file, "server", "not described: metrics.interim alone does not say, each archive does");
	}
	print_extent(file, summary, ftdc);
	print_events(file, summary);
	print_thp(file, summary, ftdc);
	print_caches(file, summary, ftdc);
	if (summary->samples)
		print_table(file, summary);
}
