#include "analyzer/report_percpu.h"

#include <stdlib.h>

#include "analyzer/percpu_capacities.h"
#include "analyzer/percpu_json.h"
#include "analyzer/percpu_text.h"

#define TOP_REPORT 50u /* threads, pairs and sites in report.json */

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

static bool render(struct report_percpu *part, const struct symbol_options *options, struct error *error)
{
	size_t bytes;
	struct symbols *symbols = symbols_create(percpu_trace(part->percpu), options);
	FILE *memory = symbols ? open_memstream(&part->text, &bytes) : NULL;
	if (memory)
		percpu_print_summary(memory, part->percpu);
	bool good = memory && fclose(memory) == 0;
	if (good)
		part->json = percpu_json(part->percpu, symbols, TOP_REPORT);
	symbols_free(symbols);
	return good || out_of_memory(error);
}

static bool read_one(struct report_percpu *part, struct trace *trace, const struct symbol_options *options,
		     struct error *error)
{
	struct percpu_options wanted = {0};
	if (!percpu_capacities(NULL, NULL, trace, &wanted, error))
		return false;
	part->percpu = percpu_read(trace, &wanted, error);
	return part->percpu && render(part, options, error);
}

bool report_percpu_read(struct report *report, const struct symbol_options *options, struct error *error)
{
	report->percpu = calloc(report->model.stage_count + 1, sizeof *report->percpu);
	if (!report->percpu)
		return out_of_memory(error);
	for (size_t i = 0; i < report->model.stage_count; i++)
		if (!read_one(&report->percpu[i], report->model.stages[i].trace, options, error))
			return false;
	return true;
}

void report_percpu_free(struct report *report)
{
	for (size_t i = 0; report->percpu && i < report->model.stage_count; i++) {
		percpu_free(report->percpu[i].percpu);
		json_decref(report->percpu[i].json);
		free(report->percpu[i].text);
	}
	free(report->percpu);
	report->percpu = NULL;
}

const struct percpu *report_percpu_of(const struct report *report, size_t timeline)
{
	const struct percpu *found = NULL;
	double most = -1;
	for (size_t i = 0; report->percpu && i < report->model.stage_count; i++) {
		const struct percpu *percpu = report->percpu[i].percpu;
		if (!percpu || report->model.stages[i].timeline != timeline ||
		    percpu_totals(percpu)->flow.allocs.blocks <= most)
			continue;
		most = percpu_totals(percpu)->flow.allocs.blocks;
		found = percpu;
	}
	return found;
}
