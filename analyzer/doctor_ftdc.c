#include <stdio.h>
#include <string.h>

#include "analyzer/doctor_files.h"
#include "analyzer/doctor_sources.h"
#include "analyzer/ftdc.h"
#include "analyzer/ftdc_summary.h"

#define MIB INT64_C(1048576)

static const char from[] = "diagnostic data";

/* ---- description --------------------------------------------------------------------------------------- */

static void put_text(struct facts *facts, enum fact_id id, const struct ftdc *ftdc, const char *path)
{
	char text[512];
	if (ftdc_text(ftdc, path, text, sizeof text) && text[0])
		facts_text(facts, id, text, path);
	else
		facts_unknown(facts, id, "the diagnostic data has no %s", path);
}

/* mongod 8.0 writes some of its numbers as text. */
static bool number_of(const struct ftdc *ftdc, const char *path, int64_t *number)
{
	char text[64];
	return ftdc_text(ftdc, path, text, sizeof text) && files_parse_number(text, number);
}

static void put_number(struct facts *facts, enum fact_id id, const struct ftdc *ftdc, const char *path,
		       int64_t unit)
{
	int64_t number;
	if (number_of(ftdc, path, &number) && number <= INT64_MAX / unit)
		facts_number(facts, id, number * unit, path);
	else
		facts_unknown(facts, id, "the diagnostic data has no %s", path);
}

/* "always", or as the kernel's file has it. */
static void put_choice(struct facts *facts, enum fact_id id, const struct ftdc *ftdc, const char *path)
{
	char text[128];
	if (!ftdc_text(ftdc, path, text, sizeof text) || !text[0]) {
		facts_unknown(facts, id, "the diagnostic data has no %s", path);
		return;
	}
	const char *chosen = files_chosen(text);
	facts_text(facts, id, chosen ? chosen : text, path);
}

/* -1: not there. */
static int boolean_of(const struct ftdc *ftdc, const char *path)
{
	char text[16];
	if (!ftdc_text(ftdc, path, text, sizeof text))
		return -1;
	if (!strcmp(text, "true") || !strcmp(text, "1"))
		return 1;
	return !strcmp(text, "false") || !strcmp(text, "0") ? 0 : -1;
}

/* Both are mongod's own findings at its start (hostInfo, from 8.0 on). */
static void put_rseq(struct facts *facts, const struct ftdc *ftdc)
{
	static const char present_path[] = "hostInfo.extra.glibc_rseq_present",
			  disabled_path[] = "hostInfo.extra.glibc_pthread_rseq_disabled";
	int present = boolean_of(ftdc, present_path), disabled = boolean_of(ftdc, disabled_path);
	if (present >= 0)
		facts_number(facts, FACT_LIBC_RSEQ, present, present_path);
	if (present == 0)
		facts_text(facts, FACT_RSEQ_OWNER, "program", present_path);
	else if (present == 1 && disabled >= 0)
		facts_text(facts, FACT_RSEQ_OWNER, disabled ? "program" : "glibc", disabled_path);
	else
		facts_unknown(facts, FACT_RSEQ_OWNER, "the diagnostic data has no %s", disabled_path);
}

/* Up to 7.0 it is called "tcmalloc", from 8.0 on "tcmalloc-google" or "tcmalloc-gperf". */
static void put_allocator(struct facts *facts, const struct ftdc *ftdc)
{
	char text[64];
	static const char path[] = "buildInfo.allocator";
	if (!ftdc_text(ftdc, path, text, sizeof text) || !text[0])
		facts_unknown(facts, FACT_ALLOCATOR, "the diagnostic data has no %s", path);
	else if (!strcmp(text, "tcmalloc") || !strcmp(text, "tcmalloc-gperf"))
		facts_text(facts, FACT_ALLOCATOR, "gperftools", path);
	else
		facts_text(facts, FACT_ALLOCATOR, text, path);
}

/* mongod calls the processor x86_64 or aarch64, as the kernel does. */
static void put_machine(struct facts *facts, const struct ftdc *ftdc)
{
	put_text(facts, FACT_KERNEL, ftdc, "hostInfo.extra.kernelVersion");
	put_text(facts, FACT_ARCH, ftdc, "hostInfo.system.cpuArch");
	put_number(facts, FACT_PAGE_BYTES, ftdc, "hostInfo.extra.pageSize", 1);
	put_number(facts, FACT_MEMORY_BYTES, ftdc, "hostInfo.system.memSizeMB", MIB);
	put_number(facts, FACT_CGROUP_LIMIT_BYTES, ftdc, "hostInfo.system.memLimitMB", MIB);
	put_number(facts, FACT_NUMA_NODES, ftdc, "hostInfo.system.numNumaNodes", 1);
	put_choice(facts, FACT_THP_ENABLED, ftdc, "hostInfo.extra.thp_enabled");
	put_choice(facts, FACT_THP_DEFRAG, ftdc, "hostInfo.extra.thp_defrag");
	put_number(facts, FACT_THP_MAX_PTES_NONE, ftdc, "hostInfo.extra.thp_max_ptes_none", 1);
	put_number(facts, FACT_OVERCOMMIT, ftdc, "hostInfo.extra.overcommit_memory", 1);
	if (fact_known(facts, FACT_THP_ENABLED))
		facts_number(facts, FACT_THP_SUPPORT, 1, "hostInfo.extra.thp_enabled");
	facts_unknown(facts, FACT_THP_SUPPORT,
		      "the diagnostic data has no hostInfo.extra.thp_enabled (from MongoDB 8.0 on)");
}

/* ---- samples ------------------------------------------------------------------------------------------- */

static void put_figure(struct facts *facts, enum fact_id id, const struct ftdc_point *point,
		       enum ftdc_figure figure, int64_t unit)
{
	if (ftdc_point_has(point, figure) && point->figures[figure] <= INT64_MAX / unit)
		facts_number(facts, id, point->figures[figure] * unit, from);
	else
		facts_unknown(facts, id, "the diagnostic data does not record it");
}

static void put_caches(struct facts *facts, const struct ftdc_summary *summary)
{
	const struct ftdc_point *last = &summary->last;
	if (summary->per_cpu == PER_CPU_NONE)
		facts_unknown(facts, FACT_PER_CPU_ACTIVE, "its allocator has no such caches");
	put_figure(facts, FACT_PER_CPU_ACTIVE, last, FIGURE_PER_CPU_CACHES, 1);
	put_figure(facts, FACT_PER_CPU_MAX_BYTES, last, FIGURE_PER_CPU_MAX_BYTES, 1);
	put_figure(facts, FACT_PER_CPU_FREE_BYTES, last, FIGURE_PER_CPU_FREE_BYTES, 1);
	put_figure(facts, FACT_CACHE_BYTES, last, FIGURE_CACHE_MAX_BYTES, 1);
}

static void put_samples(struct facts *facts, const struct ftdc_summary *summary)
{
	const struct ftdc_point *last = &summary->last;
	put_caches(facts, summary);
	put_figure(facts, FACT_THP_ALLOWED, last, FIGURE_THP_OPTED_IN, 1);
	put_figure(facts, FACT_PID, last, FIGURE_PID, 1);
}

static void put_damage(const struct ftdc *ftdc, bool *damaged)
{
	size_t count;
	const struct ftdc_damage *damage = ftdc_damage(ftdc, &count);
	for (size_t i = 0; i < count; i++)
		fprintf(stderr, "mtrace-analyze: %s: offset %llu: %s\n", damage[i].file,
			(unsigned long long)damage[i].offset_bytes, damage[i].text);
	*damaged |= count > 0;
}

/* Reads all of it. The reader, at its end, or NULL with `error`. */
static struct ftdc *summarize(const char *path, struct ftdc_summary *summary, struct error *error)
{
	const struct ftdc_options options = {.wanted = ftdc_summary_wants, .context = summary};
	struct ftdc_chunk chunk;
	*summary = (struct ftdc_summary){0};
	struct ftdc *ftdc = ftdc_open(path, &options, error);
	while (ftdc && ftdc_next(ftdc, &chunk, error))
		ftdc_summary_add(summary, ftdc, &chunk);
	return ftdc;
}

void doctor_ftdc_allocator(const char *path, int64_t pid, struct facts *facts)
{
	static struct ftdc_summary summary;
	struct error error = {0};
	struct ftdc *ftdc = summarize(path, &summary, &error);
	if (ftdc && ftdc_point_has(&summary.last, FIGURE_PID) && summary.last.figures[FIGURE_PID] == pid) {
		put_text(facts, FACT_VERSION, ftdc, "buildInfo.version");
		put_allocator(facts, ftdc);
		put_caches(facts, &summary);
	}
	ftdc_summary_free(&summary);
	ftdc_close(ftdc);
}

bool doctor_ftdc(const char *path, struct facts *facts, bool *damaged, struct error *error)
{
	static struct ftdc_summary summary;
	struct ftdc *ftdc = summarize(path, &summary, error);
	if (!ftdc)
		return false;
	put_text(facts, FACT_VERSION, ftdc, "buildInfo.version");
	put_allocator(facts, ftdc);
	put_machine(facts, ftdc);
	put_rseq(facts, ftdc);
	put_samples(facts, &summary);
	put_damage(ftdc, damaged);
	facts->no_memory |= summary.no_memory;
	ftdc_summary_free(&summary);
	ftdc_close(ftdc);
	return error->code == ERROR_NONE;
}
