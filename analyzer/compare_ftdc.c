/* Diagnostic data beside the runs of a comparison. */
#include <jansson.h>

#include "analyzer/command.h"
#include "analyzer/compare_inside.h"
#include "analyzer/compare_series.h"
#include "analyzer/model_ftdc.h"

/* From the first start to the last end of the runs that are used; false where none has a clock. */
static bool find_range(const struct compare *compare, struct model *model)
{
	bool any = false;
	for (size_t i = 0; i < compare->run_count; i++) {
		const struct compare_run *run = &compare->runs[i];
		int64_t start_ns, end_ns;
		if (run->use != RUN_USED || !run_window(run, &start_ns, &end_ns))
			continue;
		model->start_ns = any && model->start_ns < start_ns ? model->start_ns : start_ns;
		model->end_ns = any && model->end_ns > end_ns ? model->end_ns : end_ns;
		any = true;
	}
	return any;
}

static bool read_one(struct compare *compare, struct model *model, const char *path, struct error *error)
{
	struct report_server server;
	struct error wrong = {0};
	bool good = model_add_ftdc(model, path, &server, &wrong);
	json_decref(server.summary);
	if (good && !server.overlaps)
		good = compare_remark(compare, "ftdc-no-overlap",
				      "%s: no sample lies within the time of the runs: it is not used",
				      path) ||
		       compare_out_of_memory(error);
	compare->inputs_left_out |= server.damaged;
	if (wrong.code == ERROR_NONE)
		return good;
	if (wrong.code != ERROR_INPUT) {
		*error = wrong;
		return false;
	}
	error_print(&wrong);
	compare->inputs_left_out = true;
	return true;
}

static bool take_runs(struct compare *compare, const struct model *model, struct error *error)
{
	for (size_t i = 0; i < compare->run_count; i++) {
		struct compare_run *run = &compare->runs[i];
		int64_t start_ns, end_ns;
		if (run->use != RUN_USED || !run_window(run, &start_ns, &end_ns))
			continue;
		const struct timeline *timeline = inside_main_timeline(model, start_ns, end_ns);
		if (!inside_room(compare, run))
			return compare_out_of_memory(error);
		if (timeline)
			inside_take(run, timeline, start_ns, end_ns);
	}
	return true;
}

bool compare_read_ftdc(struct compare *compare, const char *const *paths, size_t count, struct error *error)
{
	struct model model = {0};
	if (count == 0)
		return true;
	if (!find_range(compare, &model))
		return compare_remark(compare, "ftdc-no-clock",
				      "no run has a clock: the diagnostic data cannot be put beside them") ||
		       compare_out_of_memory(error);
	bool good = true;
	for (size_t i = 0; good && i < count; i++)
		good = read_one(compare, &model, paths[i], error);
	good = good && take_runs(compare, &model, error);
	model_free(&model);
	return good;
}
