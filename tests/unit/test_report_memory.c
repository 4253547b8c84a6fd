/* What a report says of live blocks on resident memory, from a run whose trace holds looks at pages. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/command.h"
#include "analyzer/model.h"
#include "tests/unit/support_pages.h"
#include "tests/unit/support_regions.h"
#include "tests/unit/support_report.h"

#define MIB	  (UINT64_C(1) << 20)
#define HEAP	  UINT64_C(0x10000000) /* where run_events() keeps its blocks */
#define SECONDS	  10
#define SPACE_END (UINT64_C(1) << 47)

static char trace_path[256], out_path[256];

static void start(void)
{
	cr_redirect_stdout();
	cr_redirect_stderr();
	snprintf(trace_path, sizeof trace_path, "%s", support_path("run.mtr"));
	snprintf(out_path, sizeof out_path, "%s", support_path("out"));
}

TestSuite(report_memory, .init = start);

/* The heap: 2 MiB, of which half is on small pages; in the last second all of it is huge. */
static void write_run(const struct support_options *options)
{
	const struct support_mapping mappings[] = {
		{HEAP, HEAP + 2 * MIB, MAPPING_READ | MAPPING_WRITE, 0, "[heap]"}, {0}};
	const struct page_run small[] = {{HEAP, HEAP + MIB, PAGE_PRESENT}, {0}},
			      huge[] = {{HEAP, HEAP + 2 * MIB, PAGE_PRESENT | PAGE_HUGE}, {0}};
	struct support_machine machine = support_machine;
	machine.whole = true; /* each look tells everything, also to who lacks those before */
	struct support_trace *trace = run_open(trace_path, options);
	for (uint64_t k = 0; k < SECONDS; k++) {
		support_reading(trace, k * RUN_SECOND + 1, 0, SPACE_END, mappings);
		support_look(trace, &machine, k * RUN_SECOND + 2, HEAP, HEAP + 2 * MIB,
			     k < SECONDS - 1 ? small : huge);
		run_seconds(trace, k, 1);
	}
	support_end(trace, SECONDS * RUN_SECOND + 1);
}

static char *report_file(const char *name)
{
	char path[512];
	size_t bytes;
	snprintf(path, sizeof path, "%s/%s", out_path, name);
	char *text = (char *)support_read_file(path, &bytes);
	text[bytes] = 0;
	return text;
}

static void model_of(struct model *model)
{
	const char *paths[] = {trace_path};
	struct error error = {0};
	cr_assert(model_read(paths, 1, &(struct symbol_options){0}, model, &error), "%s", error.text);
	cr_assert_null(model_check(model));
}

static void check_row(const struct model_row *row, double live, bool huge)
{
	cr_expect_eq(row->values[SERIES_ALLOCATOR_RESIDENT], huge ? 2 * MIB : MIB);
	cr_expect_eq(row->values[SERIES_ALLOCATOR_HUGE], huge ? 2 * MIB : 0);
	cr_expect_eq(row->values[SERIES_UNUSED], (double)(huge ? 2 * MIB : MIB) - live);
	cr_expect_eq(row->values[SERIES_BLOAT], huge ? 2 * MIB - live : 0);
	cr_expect(isnan(row->values[SERIES_BLOAT_LOW]), "full mode is exact");
	cr_assert_eq(row->site_count, 1);
	cr_expect_eq(row->sites[0].huge_bytes, huge ? live : 0);
}

Test(report_memory, rows_know_what_is_unused)
{
	struct model model;
	write_run(&(struct support_options){.full = true});
	model_of(&model);
	const struct timeline *timeline = &model.timelines[0];
	cr_assert_geq(timeline->row_count, SECONDS);
	for (size_t i = 0; i < SECONDS; i++)
		check_row(&timeline->rows[i], (double)(i + 1) * RUN_BLOCK_BYTES, i == SECONDS - 1);
	cr_assert(plot_map_useful(model.stages[0].map));
	cr_expect_eq(plot_map_bytes(model.stages[0].map, HEAP, SUPPORT_START_TIME + RUN_SECOND, MAP_SMALL),
		     plot_map_row_bytes(model.stages[0].map));
	model_free(&model);
}

Test(report_memory, sample_mode_has_bounds)
{
	struct model model;
	write_run(&(struct support_options){.sample_bytes = 4096});
	model_of(&model);
	const double *values = model.timelines[0].rows[SECONDS - 1].values;
	cr_expect_lt(values[SERIES_BLOAT_LOW], values[SERIES_BLOAT]);
	cr_expect_gt(values[SERIES_BLOAT_HIGH], values[SERIES_BLOAT]);
	cr_expect_lt(values[SERIES_BLOAT_HIGH], 2 * MIB);
	model_free(&model);
}

/* A flight recorder that has lost its beginning does not know which blocks are live. */
Test(report_memory, after_a_lost_beginning_nothing_is_called_unused)
{
	struct model model;
	write_run(&(struct support_options){.full = true, .region_bytes = 16384});
	support_tell_first_times(trace_path);
	model_of(&model);
	cr_assert(model.stages[0].wrapped);
	const struct timeline *timeline = &model.timelines[0];
	double resident_bytes = 0;
	for (size_t i = 0; i < timeline->row_count; i++) {
		resident_bytes = fmax(resident_bytes, timeline->rows[i].values[SERIES_ALLOCATOR_RESIDENT]);
		cr_expect(isnan(timeline->rows[i].values[SERIES_UNUSED]));
		cr_expect(isnan(timeline->rows[i].values[SERIES_BLOAT]));
	}
	cr_expect_eq(resident_bytes, 2 * MIB);
	model_free(&model);
}

Test(report_memory, report_shows_tables_and_figures)
{
	write_run(&(struct support_options){.full = true});
	char *argv[] = {"report", trace_path, "-o", out_path, NULL};
	cr_assert_eq(cmd_report(4, argv), 0);
	char *text = report_file("unused.csv");
	char line[256];
	snprintf(line, sizeof line,
		 ",ptmalloc-heap,,%" PRIu64 ",%" PRIu64 ",1000,%" PRIu64 ",,,%" PRIu64 ",,\n", 2 * MIB,
		 2 * MIB, 2 * MIB - 1000, 2 * MIB - 1000);
	cr_expect_not_null(strstr(text, line), "%s in %s", line, text);
	snprintf(line, sizeof line, ",up to 128 B,,,1000,%" PRIu64 ",,,%" PRIu64 ",,\n",
		 10 * SUPPORT_PAGE_BYTES - 1000, 10 * SUPPORT_PAGE_BYTES - 1000);
	cr_expect_not_null(strstr(text, line), "%s in %s", line, text);
	free(text);
	text = report_file("sites.csv");
	cr_expect_not_null(strstr(text, ",1.000000,1000,1000,"), "%s", text);
	free(text);
	text = report_file("summary.txt");
	cr_expect_not_null(strstr(text, "ptmalloc-heap"));
	cr_expect_not_null(strstr(text, "covered by no live block (bloat): 2.0 MiB"), "%s", text);
	free(text);
	static const char *const scripts[] = {"plots/unused.gp", "plots/map.gp", "plots/sites-huge.gp"};
	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
		free(report_file(scripts[i]));
}
