#include "analyzer/compare_text.h"

#include <math.h>
#include <string.h>

#include "analyzer/compare_words.h"

const char *compare_number(char text[COMPARE_NUMBER_BYTES], double value)
{
	if (isnan(value))
		snprintf(text, COMPARE_NUMBER_BYTES, "-");
	else if (fabs(value) >= 99999.5)
		snprintf(text, COMPARE_NUMBER_BYTES, "%.0f", value);
	else
		snprintf(text, COMPARE_NUMBER_BYTES, "%.5g", value);
	return text;
}

/* ---- how it was done --------------------------------------------------------------------------------- */

static size_t count_runs(const struct compare *compare, size_t arm, enum run_use use)
{
	size_t count = 0;
	for (size_t i = 0; i < compare->run_count; i++)
		count += compare->runs[i].arm == arm && compare->runs[i].use == use;
	return count;
}

static void print_arm(const struct document *document, const struct compare *compare, size_t arm)
{
	char room[256];
	struct words words = {room, sizeof room, 0};
	room[0] = 0;
	for (enum run_use use = RUN_USED + 1; use < RUN_USES; use++)
		if (count_runs(compare, arm, use) > 0)
			words_add(&words, "%s%zu %s",
				  words.used ? ", " : "; not used: ", count_runs(compare, arm, use),
				  run_use_name(use));
	size_t used = count_runs(compare, arm, RUN_USED);
	document_item(document, "%s%s: %zu %s%s", compare->arms[arm].label, arm == 0 ? " (the base)" : "",
		      used, used == 1 ? "run" : "runs", room);
}

static void print_trimmed(const struct document *document, const struct compare *compare)
{
	size_t trimmed = 0;
	double most_s = 0;
	for (size_t i = 0; i < compare->run_count; i++) {
		trimmed += compare->runs[i].use == RUN_USED && compare->runs[i].trimmed_s > 0;
		most_s = fmax(most_s, compare->runs[i].trimmed_s);
	}
	if (compare->settings.trim_warmup)
		document_item(document,
			      "--trim-warmup: throughput behind the first change points of the status lines; "
			      "cut in %zu runs, at most %.3g s (latencies are of the whole run)",
			      trimmed, most_s);
}

static void print_method(const struct document *document, const struct compare *compare)
{
	size_t paired = 0, welch = 0;
	for (size_t i = 0; i < compare->row_count; i++) {
		paired += compare->rows[i].ratio.method == RATIO_PAIRED;
		welch += compare->rows[i].ratio.method == RATIO_WELCH;
	}
	if (compare->axis)
		document_item(document, "campaign of %s%s%s", compare->axis, compare->order ? ", order " : "",
			      compare->order ? compare->order : "");
	document_item(document, "centre: %s of the runs; ratio: of geometric means%s",
		      compare_center_names[compare->settings.center],
		      paired && welch
			      ? ", with 95% interval: within blocks where two or more hold both arms, else "
				"Welch's"
		      : paired ? ", with 95% interval, within blocks"
		      : welch  ? ", with 95% interval by Welch's t"
			       : "; no interval without two runs of each arm");
	if (compare->family > 1)
		document_item(document,
			      "p Holm: adjusted over all %zu comparisons of this table; fewer of them "
			      "(--metrics) can "
			      "show smaller differences",
			      compare->family);
	if (compare->settings.center == CENTER_SECOND_BEST)
		document_item(document,
			      "the second best of some runs carries no interval: it is shown, and the "
			      "ratio and its interval are of all runs");
	if (compare->settings.exclude_first)
		document_item(document,
			      "--exclude-first: the first run of each arm at each level is not used");
	if (compare->settings.paired)
		document_item(document,
			      "--paired: runs without blocks are paired in the order of their time");
	print_trimmed(document, compare);
}

/* ---- rows -------------------------------------------------------------------------------------------- */

static void cell_threads(struct table *table, uint64_t threads)
{
	if (threads == YCSB_UNKNOWN)
		table_cell(table, "?");
	else
		table_cell(table, "%llu", (unsigned long long)threads);
}

static void cell_side(struct table *table, const struct compare_side *side)
{
	char center[COMPARE_NUMBER_BYTES], least[COMPARE_NUMBER_BYTES], most[COMPARE_NUMBER_BYTES];
	if (side->n == 0)
		table_cell(table, "no run");
	else if (side->n == 1)
		table_cell(table, "%s n=1", compare_number(center, side->values[0]));
	else
		table_cell(table, "%s [%s..%s] n=%zu", compare_number(center, side->center),
			   compare_number(least, side->min), compare_number(most, side->max), side->n);
}

static void cell_p(struct table *table, double p)
{
	if (isnan(p))
		table_cell(table, "-");
	else if (p < 0.0001)
		table_cell(table, "<0.0001");
	else
		table_cell(table, "%.4f", p);
}

static void cells_ratio(struct table *table, const struct ratio *ratio, double p_adjusted)
{
	if (isnan(ratio->ratio))
		table_cell(table, "-");
	else
		table_cell(table, "%.4f", ratio->ratio);
	if (ratio->method == RATIO_NONE)
		table_cell(table, "-");
	else
		table_cell(table, "%.4f..%.4f", ratio->low, ratio->high);
	cell_p(table, ratio->p);
	cell_p(table, p_adjusted);
}

static void cell_errors(struct table *table, const struct compare_row *row)
{
	if (row->metric != METRIC_THROUGHPUT || !(row->base.error_rate > 0 || row->arm.error_rate > 0))
		table_cell(table, "%s", "");
	else
		table_cell(table, "%.3g/%.3g", 100 * row->base.error_rate, 100 * row->arm.error_rate);
}

static void cell_busy(struct table *table, const struct compare_row *row)
{
	if (row->metric != METRIC_THROUGHPUT || isnan(row->base.threads_busy + row->arm.threads_busy))
		table_cell(table, "%s", "");
	else
		table_cell(table, "%.3g/%.3g", row->base.threads_busy, row->arm.threads_busy);
}

static void cell_flags(struct table *table, const struct compare_row *row)
{
	char room[512];
	struct words words = {room, sizeof room, 0};
	room[0] = 0;
	for (size_t i = 0; i < row->flag_count; i++)
		words_add(&words, "%s%s", i ? " " : "", row->flags[i]);
	table_cell(table, "%s", room);
}

/* With two arms their labels head the columns; with more, each row names its own. */
static void start_rows(struct table *table, const struct compare *compare)
{
	bool several = compare->arm_count > 2;
	const struct {
		const char *title;
		bool right;
	} columns[] = {
		{"workload", false},
		{"threads", true},
		{"operation", false},
		{"metric", false},
		{compare->arms[0].label, true},
		{several ? "arm" : "", false},
		{several ? "its runs" : compare->arms[1].label, true},
		{"ratio", true},
		{"95%", true},
		{"p", true},
		{"p Holm", true},
		{"busy", true},
		{"errors %", true},
		{"verdict", false},
		{"flags", false},
	};
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		table_column(table, columns[i].title, columns[i].right);
}

static bool print_rows(const struct document *document, const struct compare *compare)
{
	struct table table = {0};
	start_rows(&table, compare);
	for (size_t i = 0; i < compare->row_count; i++) {
		const struct compare_row *row = &compare->rows[i];
		table_cell(&table, "%s", row->workload);
		cell_threads(&table, row->threads);
		table_cell(&table, "%s", row->operation);
		table_cell(&table, "%s", metric_infos[row->metric].name);
		cell_side(&table, &row->base);
		table_cell(&table, "%s", compare->arm_count > 2 ? compare->arms[row->arm.arm].label : "");
		cell_side(&table, &row->arm);
		cells_ratio(&table, &row->ratio, row->p_adjusted);
		cell_busy(&table, row);
		cell_errors(&table, row);
		table_cell(&table, "%s", verdict_name(row->verdict));
		cell_flags(&table, row);
	}
	return table_print(&table, document);
}

/* In words, where there is more to say than "undecided". */
static void print_verdicts(const struct document *document, const struct compare *compare)
{
	size_t undecided = 0;
	bool several = compare->arm_count > 2;
	for (size_t i = 0; i < compare->row_count; i++) {
		const struct compare_row *row = &compare->rows[i];
		char level[32] = "";
		if (!row->speaks && row->verdict == VERDICT_UNDECIDED) {
			undecided++;
			continue;
		}
		if (row->threads != YCSB_UNKNOWN)
			snprintf(level, sizeof level, "%llu thread%s, ", (unsigned long long)row->threads,
				 row->threads == 1 ? "" : "s");
		document_item(document, "%s%s%s%s %s%s%s: %s", row->workload, *row->workload ? ", " : "",
			      level, row->operation, metric_infos[row->metric].title, several ? ", " : "",
			      several ? compare->arms[row->arm.arm].label : "", row->text);
	}
	if (undecided > 0)
		document_item(document, "%zu further rows are undecided", undecided);
}

/* ---- over all levels --------------------------------------------------------------------------------- */

static bool print_overall(const struct document *document, const struct compare *compare)
{
	if (compare->overall_count == 0)
		return true;
	document_heading(document, "Over all levels of threads");
	for (size_t i = 0; i < compare->overall_count; i++) {
		const struct compare_overall *overall = &compare->overall[i];
		document_item(document, "%s%s%s %s, %zu levels, ratio %.4f%s: %s", overall->workload,
			      *overall->workload ? ", " : "", overall->operation,
			      metric_infos[overall->metric].title, overall->levels, overall->ratio.ratio,
			      overall->by_block	  ? " (unit: the block)"
			      : overall->by_level ? " (unit: the level)"
						  : "",
			      overall->text);
	}
	return true;
}

/* ---- the next campaign ------------------------------------------------------------------------------- */

static void cell_runs(struct table *table, size_t runs)
{
	if (runs == 0)
		table_cell(table, "-");
	else
		table_cell(table, "%zu", runs);
}

static void add_reach(struct table *table, const char *what, const struct compare_reach *reach)
{
	char percent[WORDS_PERCENT_BYTES];
	double noise =
		reach->noise.method == RATIO_PAIRED
			? reach->noise.difference
			: sqrt((reach->noise.base * reach->noise.base + reach->noise.arm * reach->noise.arm) /
			       2);
	table_cell(table, "%s", what);
	table_cell(table, "%s%%%s", words_percent(percent, noise),
		   reach->noise.method == RATIO_PAIRED ? " within blocks" : "");
	if (isnan(reach->detectable))
		table_cell(table, "-");
	else
		table_cell(table, "%s%%", words_percent(percent, reach->detectable));
	for (size_t i = 0; i < COMPARE_EFFECTS; i++)
		cell_runs(table, reach->runs[i]);
}

static bool is_first_of_series(const struct compare *compare, size_t index)
{
	const struct compare_row *row = &compare->rows[index];
	for (size_t i = 0; i < index; i++) {
		const struct compare_row *other = &compare->rows[i];
		if (other->metric == row->metric && other->arm.arm == row->arm.arm &&
		    strcmp(other->operation, row->operation) == 0 &&
		    strcmp(other->workload, row->workload) == 0)
			return false;
	}
	return row->reach.noise.method != RATIO_NONE;
}

static bool print_reach(const struct document *document, const struct compare *compare)
{
	struct table table = {0};
	char what[192];
	table_column(&table, "row", false);
	table_column(&table, "noise from run to run", true);
	table_column(&table, "can be shown", true);
	for (size_t i = 0; i < COMPARE_EFFECTS; i++) {
		snprintf(what, sizeof what, "runs an arm for %g%%", 100 * compare_effects[i]);
		table_column(&table, what, true);
	}
	for (size_t i = 0; i < compare->row_count; i++) {
		const struct compare_row *row = &compare->rows[i];
		snprintf(what, sizeof what, "%s %s, %s", row->operation, metric_infos[row->metric].title,
			 compare->arms[row->arm.arm].label);
		if (is_first_of_series(compare, i))
			add_reach(&table, what, &row->reach);
	}
	for (size_t i = 0; i < compare->overall_count; i++) {
		const struct compare_overall *overall = &compare->overall[i];
		snprintf(what, sizeof what, "all levels: %s %s, %s", overall->operation,
			 metric_infos[overall->metric].title, compare->arms[overall->arm].label);
		if (overall->reach.noise.method != RATIO_NONE)
			add_reach(&table, what, &overall->reach);
	}
	if (table.count > 0) {
		document_heading(document, "What such a campaign can show");
		if (compare->family > 1)
			document_text(
				document,
				"With a chance of 80%%, at the level that Holm's first step leaves each of "
				"%zu comparisons. Noise is pooled over the levels of threads.",
				compare->family);
		else
			document_text(document, "With a chance of 80%%, at the level of 5%%.");
	} else {
		table.columns = 0;
	}
	return table_print(&table, document);
}

/* ---- all of it --------------------------------------------------------------------------------------- */

static void print_remarks(const struct document *document, const struct compare *compare)
{
	if (compare->remark_count == 0)
		return;
	document_heading(document, "Remarks");
	for (size_t i = 0; i < compare->remark_count; i++)
		document_item(document, "%s: %s", compare->remarks[i].id, compare->remarks[i].text);
}

bool compare_print(FILE *file, bool markdown, const struct compare *compare)
{
	struct document document = {file, markdown};
	if (markdown)
		fputs("# Comparison\n\n", file);
	for (size_t arm = 0; arm < compare->arm_count; arm++)
		print_arm(&document, compare, arm);
	print_method(&document, compare);
	bool fine = compare_print_settings(&document, compare);
	document_heading(&document, "Rows");
	fine = fine && print_rows(&document, compare);
	document_heading(&document, "Verdicts");
	print_verdicts(&document, compare);
	fine = fine && print_overall(&document, compare) && compare_print_levels(&document, compare) &&
	       compare_print_inside(&document, compare) && print_reach(&document, compare);
	print_remarks(&document, compare);
	return fine;
}
