/* Sections of the text: settings that differ, levels of threads, money, what happened inside. */
#include <math.h>
#include <string.h>

#include "analyzer/compare_inside.h"
#include "analyzer/compare_knee.h"
#include "analyzer/compare_locks.h"
#include "analyzer/compare_text.h"
#include "analyzer/compare_words.h"
#include "analyzer/escape.h"
#include "analyzer/scale.h"

#define VALUE_WIDTH 48

/* ---- settings ---------------------------------------------------------------------------------------- */

static const char *difference_kind(const struct compare *compare, const struct compare_difference *difference)
{
	for (size_t arm = 0; arm < compare->arm_count; arm++)
		if (difference->within[arm])
			return difference->treatment ? "treatment, varies within an arm"
						     : "confounds, varies";
	return difference->treatment ? "treatment" : "confounds";
}

bool compare_print_settings(const struct document *document, const struct compare *compare)
{
	struct table table = {0};
	char room[4 * VALUE_WIDTH + 8];
	if (compare->difference_count == 0)
		return true;
	document_heading(document, "Settings that differ between the arms");
	table_column(&table, "setting", false);
	for (size_t arm = 0; arm < compare->arm_count; arm++)
		table_column(&table, compare->arms[arm].label, false);
	table_column(&table, "", false);
	for (size_t i = 0; i < compare->difference_count; i++) {
		const struct compare_difference *difference = &compare->differences[i];
		table_cell(&table, "%s", difference->key);
		for (size_t arm = 0; arm < compare->arm_count; arm++)
			table_cell(
				&table, "%s",
				escape_shorten(difference->values[arm] ? difference->values[arm] : "unknown",
					       VALUE_WIDTH, room, sizeof room));
		table_cell(&table, "%s", difference_kind(compare, difference));
	}
	return table_print(&table, document);
}

/* ---- levels ------------------------------------------------------------------------------------------ */

static void print_spots(const struct document *document, const struct compare *compare,
			const struct compare_knee *knee)
{
	char room[384], percent[WORDS_PERCENT_BYTES], low[WORDS_PERCENT_BYTES], high[WORDS_PERCENT_BYTES];
	char number[COMPARE_NUMBER_BYTES];
	struct words words = {room, sizeof room, 0};
	words_add(&words, "%s%s%s: peak %s ops/s at %llu thread%s%s", knee->workload,
		  *knee->workload ? ", " : "", compare->arms[knee->arm].label,
		  compare_number(number, knee->peak_ops_s), (unsigned long long)knee->peak_threads,
		  knee->peak_threads == 1 ? "" : "s",
		  knee->peak_is_last ? " (the last level: no knee in the tested range)" : "");
	words_add(&words, "; sweet spot %llu thread%s", (unsigned long long)knee->sweet_threads,
		  knee->sweet_threads == 1 ? "" : "s");
	if (knee->sweet_threads != knee->peak_threads)
		words_add(&words, ", %s%% of the peak",
			  words_percent(percent, knee->sweet_ops_s / knee->peak_ops_s));
	if (knee->sweet_threads != knee->peak_threads && knee->sweet_ratio.method != RATIO_NONE)
		words_add(&words, " [%s, %s]", words_percent(low, knee->sweet_ratio.low),
			  words_percent(high, knee->sweet_ratio.high));
	document_item(document, "%s", room);
}

static void add_step(struct table *table, const struct compare *compare, const struct compare_knee *knee,
		     const struct knee_step *step)
{
	char room[384], percent[WORDS_PERCENT_BYTES];
	struct words words = {room, sizeof room, 0};
	room[0] = 0;
	table_cell(table, "%s", knee->workload);
	table_cell(table, "%s", compare->arms[knee->arm].label);
	table_cell(table, "%llu to %llu", (unsigned long long)step->from, (unsigned long long)step->to);
	table_cell(table, "%s%%", words_change(percent, step->to_ops_s / step->from_ops_s - 1));
	if (isnan(step->from_mean_us) || isnan(step->to_mean_us))
		table_cell(table, "-");
	else
		table_cell(table, "%s%%", words_change(percent, step->to_mean_us / step->from_mean_us - 1));
	for (size_t i = 0; i < step->p95_count; i++)
		words_add(&words, "%s%s %s%%", i ? ", " : "", step->p95[i].operation,
			  words_change(percent, step->p95[i].to_us / step->p95[i].from_us - 1));
	table_cell(table, "%s", room);
}

static bool print_knees(const struct document *document, const struct compare *compare)
{
	struct table table = {0};
	static const char *const titles[] = {"workload",   "arm",	   "threads",
					     "throughput", "mean latency", "p95 latency"};
	if (compare->knee_count == 0)
		return true;
	document_heading(document, "Levels of threads");
	for (size_t i = 0; i < compare->knee_count; i++)
		print_spots(document, compare, &compare->knees[i]);
	fputc('\n', document->file);
	for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
		table_column(&table, titles[i], i == 3 || i == 4);
	for (size_t i = 0; i < compare->knee_count; i++)
		for (size_t s = 0; s < compare->knees[i].step_count; s++)
			add_step(&table, compare, &compare->knees[i], &compare->knees[i].steps[s]);
	return table_print(&table, document);
}

/* ---- money ------------------------------------------------------------------------------------------- */

static void add_price(struct table *table, const struct compare *compare, const struct compare_price *price)
{
	char number[COMPARE_NUMBER_BYTES];
	table_cell(table, "%s", price->workload);
	if (price->threads == YCSB_UNKNOWN)
		table_cell(table, "?");
	else
		table_cell(table, "%llu", (unsigned long long)price->threads);
	table_cell(table, "%s", compare->arms[price->arm].label);
	table_cell(table, "%g", price->usd_per_hour);
	table_cell(table, "%s", compare_number(number, price->ops_per_usd));
	if (isnan(price->relative))
		table_cell(table, "-");
	else
		table_cell(table, "%.1f%%", 100 * price->relative);
	if (price->ratio.method == RATIO_NONE)
		table_cell(table, "%s", price->best ? "the best" : "no interval");
	else
		table_cell(table, "%.1f..%.1f", 100 * price->ratio.low, 100 * price->ratio.high);
}

static bool print_prices(const struct document *document, const struct compare *compare)
{
	static const char *const titles[] = {"workload",	   "threads",	  "arm", "USD per hour",
					     "operations per USD", "of the best", "95%"};
	struct table table = {0};
	if (compare->price_count == 0)
		return true;
	document_heading(document, "Operations per dollar");
	for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
		table_column(&table, titles[i], i != 0 && i != 2);
	for (size_t i = 0; i < compare->price_count; i++)
		add_price(&table, compare, &compare->prices[i]);
	return table_print(&table, document);
}

bool compare_print_levels(const struct document *document, const struct compare *compare)
{
	return print_knees(document, compare) && print_prices(document, compare);
}

/* ---- inside ------------------------------------------------------------------------------------------ */

static void add_change(struct table *table, const struct compare *compare, const struct inside_change *change)
{
	char base[SCALE_TEXT_BYTES], arm[SCALE_TEXT_BYTES];
	const struct inside_quantity quantity = inside_quantity(compare, change->quantity);
	table_cell(table, "%s", quantity.title);
	table_cell(table, "%s", compare->arm_count > 2 ? compare->arms[change->arm].label : "");
	table_cell(table, "%s", inside_text(&quantity, change->base_center, base));
	table_cell(table, "%s", inside_text(&quantity, change->arm_center, arm));
	table_cell(table, "%zu of %zu %s", change->up >= change->down ? change->up : change->down,
		   change->pairs, change->up >= change->down ? "up" : "down");
	if (change->ratio.method == RATIO_NONE)
		table_cell(table, "-");
	else
		table_cell(table, "%.3g [%.3g..%.3g]", change->ratio.ratio, change->ratio.low,
			   change->ratio.high);
}

static void print_regression(const struct document *document, const struct inside_regression *fit)
{
	char slope[WORDS_PERCENT_BYTES], low[WORDS_PERCENT_BYTES], high[WORDS_PERCENT_BYTES];
	if (!fit->known)
		return;
	document_text(document,
		      "Throughput on huge page coverage, over %zu runs of all arms within %zu levels of "
		      "threads: %s%% [%s, %s] with 10 points more of coverage (p %.2g). An association: "
		      "whatever else the arms do to throughput is in it.",
		      fit->runs, fit->groups, words_change(slope, expm1(fit->slope / 10)),
		      words_change(low, expm1(fit->low / 10)), words_change(high, expm1(fit->high / 10)),
		      fit->p);
}

bool compare_print_inside(const struct document *document, const struct compare *compare)
{
	struct table table = {0};
	if (compare->traces_missing && compare->change_count == 0) {
		document_heading(document, "What moved with it");
		document_text(document, "%s", compare->traces_missing);
		return true;
	}
	if (compare->change_count == 0)
		return true;
	document_heading(document, "What moved with it");
	document_text(document,
		      "From the traces and series beside the runs, ordered by how consistently each "
		      "moved with the treatment. What moves together need not be cause and effect.");
	table_column(&table, "quantity", false);
	table_column(&table, "arm", false);
	table_column(&table, compare->arms[0].label, true);
	table_column(&table, compare->arm_count > 2 ? "arm's" : compare->arms[1].label, true);
	table_column(&table, compare->changes[0].within_blocks ? "pairs within blocks" : "pairs of runs",
		     true);
	table_column(&table, "ratio [95%]", true);
	for (size_t i = 0; i < compare->change_count; i++)
		add_change(&table, compare, &compare->changes[i]);
	bool fine = table_print(&table, document);
	if (compare->traces_missing)
		document_text(document, "%s", compare->traces_missing);
	print_regression(document, &compare->regression);
	compare_locks_print(document, compare);
	return fine;
}
