/* What the numbers of a comparison support, in one word and in words. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/compare_config.h"
#include "analyzer/compare_rows.h"
#include "analyzer/compare_words.h"
#include "analyzer/stats.h"

#define CONFOUNDERS_BYTES 256

/* ---- Holm's adjustment ------------------------------------------------------------------------------- */

static bool adjust(struct compare *compare)
{
	size_t count = compare->row_count + compare->overall_count;
	double *p = malloc((count + 1) * sizeof *p);
	if (!p)
		return false;
	for (size_t i = 0; i < compare->row_count; i++)
		p[i] = compare->rows[i].ratio.p;
	for (size_t i = 0; i < compare->overall_count; i++)
		p[compare->row_count + i] = compare->overall[i].ratio.p;
	for (size_t i = 0; i < count; i++)
		compare->family += isnan(p[i]) ? 0 : 1;
	bool fine = stats_adjust_holm(p, count, p);
	for (size_t i = 0; fine && i < compare->row_count; i++)
		compare->rows[i].p_adjusted = p[i];
	for (size_t i = 0; fine && i < compare->overall_count; i++)
		compare->overall[i].p_adjusted = p[compare->row_count + i];
	free(p);
	return fine;
}

/* ---- what can be shown ------------------------------------------------------------------------------- */

static void fill_reach(struct compare_reach *reach, size_t base_n, size_t arm_n, size_t family)
{
	double alpha = RATIO_LEVEL / (double)(family ? family : 1);
	const struct noise noise = noise_median(&reach->noise);
	reach->detectable = ratio_detectable(&noise, base_n, arm_n, alpha);
	for (size_t i = 0; i < COMPARE_EFFECTS; i++) {
		reach->power[i] = ratio_power(&noise, base_n, arm_n, log1p(compare_effects[i]), alpha);
		reach->runs[i] = ratio_runs_needed(&noise, compare_effects[i], alpha);
	}
}

static bool same_series(const struct compare_row *a, const struct compare_row *b)
{
	return a->arm.arm == b->arm.arm && a->metric == b->metric && strcmp(a->workload, b->workload) == 0 &&
	       strcmp(a->operation, b->operation) == 0;
}

/* An earlier row of which all of this holds, too; NULL. */
static const struct compare_row *row_alike(const struct compare *compare, const struct compare_row *row)
{
	for (const struct compare_row *other = compare->rows; other < row; other++)
		if (same_series(other, row) && other->noise.method == row->noise.method &&
		    other->ratio.base_n == row->ratio.base_n && other->ratio.arm_n == row->ratio.arm_n)
			return other;
	return NULL;
}

/* The noise of three runs is hardly known; that of all levels together is known better. */
static bool row_reach(const struct compare *compare, struct compare_row *row)
{
	const struct compare_row *alike = row_alike(compare, row);
	if (alike) {
		row->reach = alike->reach;
		return true;
	}
	struct noise *noises = malloc((compare->row_count + 1) * sizeof *noises);
	size_t count = 0;
	if (!noises)
		return false;
	for (size_t i = 0; i < compare->row_count; i++)
		if (same_series(&compare->rows[i], row) && compare->rows[i].noise.method == row->noise.method)
			noises[count++] = compare->rows[i].noise;
	row->reach.noise = noise_pool(noises, count);
	free(noises);
	fill_reach(&row->reach, row->ratio.base_n, row->ratio.arm_n, compare->family);
	return true;
}

/* ---- one word ---------------------------------------------------------------------------------------- */

static enum verdict decide(const struct ratio *ratio, double p_adjusted, bool lower_is_better,
			   double equivalence)
{
	if (ratio->method == RATIO_NONE)
		return VERDICT_UNDECIDED;
	if (p_adjusted < RATIO_LEVEL)
		return (ratio->ratio < 1) == lower_is_better ? VERDICT_FASTER : VERDICT_SLOWER;
	if (ratio->low >= 1 - equivalence && ratio->high <= 1 + equivalence)
		return VERDICT_EQUIVALENT;
	return VERDICT_UNDECIDED;
}

bool compare_decide(struct compare *compare, struct error *error)
{
	double equivalence = compare->settings.equivalence;
	compare->family = 0;
	if (!adjust(compare))
		return compare_out_of_memory(error);
	for (size_t i = 0; i < compare->row_count; i++) {
		struct compare_row *row = &compare->rows[i];
		row->verdict = row->base.n == 0 || row->arm.n == 0
				       ? VERDICT_INVALID
				       : decide(&row->ratio, row->p_adjusted,
						metric_infos[row->metric].lower_is_better, equivalence);
	}
	for (size_t i = 0; i < compare->overall_count; i++) {
		struct compare_overall *overall = &compare->overall[i];
		overall->verdict = decide(&overall->ratio, overall->p_adjusted,
					  metric_infos[overall->metric].lower_is_better, equivalence);
	}
	return true;
}

/* ---- words ------------------------------------------------------------------------------------------- */

static void say_certain(const struct compare *compare, const struct verdict_facts *facts, struct words *words)
{
	char by[WORDS_PERCENT_BYTES], low[WORDS_PERCENT_BYTES], high[WORDS_PERCENT_BYTES];
	const struct ratio *ratio = facts->ratio;
	double sign = ratio->ratio < 1 ? -1 : 1;
	double a = sign * (ratio->low - 1), b = sign * (ratio->high - 1);
	bool energy = facts->metric == METRIC_PER_JOULE, better = facts->verdict == VERDICT_FASTER;
	words_add(words, "%s %s by %s%% [%s, %s]", compare->arms[facts->arm].label,
		  better   ? energy ? "better" : "faster"
		  : energy ? "worse"
			   : "slower",
		  words_percent(by, sign * (ratio->ratio - 1)), words_percent(low, fmin(a, b)),
		  words_percent(high, fmax(a, b)));
	if (metric_infos[facts->metric].latency)
		words_add(words, " (%s %s)", ratio->ratio < 1 ? "lower" : "higher",
			  metric_infos[facts->metric].title);
}

/* Runs of one server, or of one hour, would have their luck in common at all levels, and nothing would show
 * it.
 */
static void say_one_run_a_level(const struct verdict_facts *facts, struct words *words)
{
	words_add(words,
		  "; from one run an arm at each of %zu levels: it holds if nothing but the treatment was "
		  "common to an arm's runs",
		  facts->ratio->base_n);
}

static void say_units(const struct verdict_facts *facts, struct words *words)
{
	const struct ratio *ratio = facts->ratio;
	if (facts->units)
		words_add(words, "%zu %s", ratio->base_n, facts->units);
	else if (ratio->base_n == ratio->arm_n)
		words_add(words, "%zu runs an arm", ratio->base_n);
	else
		words_add(words, "%zu and %zu runs", ratio->base_n, ratio->arm_n);
}

static void say_undecided(const struct compare *compare, const struct verdict_facts *facts,
			  struct words *words)
{
	char by[WORDS_PERCENT_BYTES], low[WORDS_PERCENT_BYTES], high[WORDS_PERCENT_BYTES];
	const struct ratio *ratio = facts->ratio;
	words_add(words, "undecided: %s%% [%s, %s]; ", words_change(by, ratio->ratio - 1),
		  words_change(low, ratio->low - 1), words_change(high, ratio->high - 1));
	if (ratio->p < RATIO_LEVEL)
		words_add(words, "p is %.2g alone and %.2g among %zu comparisons; ", ratio->p,
			  facts->p_adjusted, compare->family);
	if (facts->reach->noise.method == RATIO_NONE)
		words_add(words, "from ");
	say_units(facts, words);
	if (facts->reach->noise.method == RATIO_NONE)
		return;
	if (isnan(facts->reach->detectable))
		words_add(words, " cannot show even 1000%%");
	else
		words_add(words, " cannot show less than %s%%", words_percent(by, facts->reach->detectable));
}

static void say_without_interval(const struct verdict_facts *facts, struct words *words)
{
	bool one_run = facts->base_n == 1 || facts->arm_n == 1;
	if (isnan(facts->ratio->ratio)) {
		words_add(words, "undecided: a value of 0 has no ratio");
		return;
	}
	words_add(words, "undecided: %+.3g%%, but ", 100 * (facts->ratio->ratio - 1));
	if (facts->over_levels)
		words_add(words, "a level %s has no interval, and then the mean has none",
			  one_run ? "with one run of an arm" : "at which every run printed the same");
	else if (facts->base_n == 1 && facts->arm_n == 1)
		words_add(words, "one run per arm supports no conclusion");
	else if (one_run)
		words_add(words, "one run of an arm supports no conclusion");
	else
		words_add(words, "every run printed the same: too coarse to show how far chance goes");
}

void verdict_words(const struct compare *compare, const struct verdict_facts *facts, struct words *words)
{
	switch (facts->verdict) {
	case VERDICT_FASTER:
	case VERDICT_SLOWER:
		say_certain(compare, facts, words);
		if (facts->by_level)
			say_one_run_a_level(facts, words);
		break;
	case VERDICT_EQUIVALENT:
		words_add(words, "no difference larger than %g%%", 100 * compare->settings.equivalence);
		if (facts->by_level)
			say_one_run_a_level(facts, words);
		break;
	case VERDICT_INVALID:
		words_add(words, "invalid: %s has no run that ",
			  compare->arms[facts->base_n == 0 ? 0 : facts->arm].label);
		if (facts->without_value)
			words_add(words, "says its %s", metric_infos[facts->metric].title);
		else
			words_add(words, "can be used");
		break;
	case VERDICT_UNDECIDED:
		if (facts->ratio->method == RATIO_NONE)
			say_without_interval(facts, words);
		else
			say_undecided(compare, facts, words);
	}
}

/* Whether a finding of that kind was said before run `index`'s. */
static bool was_said(const struct compare *compare, const struct compare_row *row, size_t index,
		     size_t finding)
{
	const char *id = compare->runs[index].findings[finding].id;
	for (size_t i = 0; i <= index; i++) {
		const struct compare_run *run = &compare->runs[i];
		size_t count = i == index ? finding : run->finding_count;
		for (size_t f = 0; row_shows_run(row, run) && f < count; f++)
			if (strcmp(run->findings[f].id, id) == 0)
				return true;
	}
	return false;
}

/* What was found in the row's runs, each kind once. */
static void add_findings(const struct compare *compare, const struct compare_row *row, struct words *words)
{
	for (size_t i = 0; i < compare->run_count; i++) {
		const struct compare_run *run = &compare->runs[i];
		for (size_t f = 0; row_shows_run(row, run) && f < run->finding_count; f++)
			if (!was_said(compare, row, i, f))
				words_add(words, "; %s", run->findings[f].text);
	}
}

static void judge_row(const struct compare *compare, struct compare_row *row)
{
	char confounders[CONFOUNDERS_BYTES];
	struct words words = {row->text, sizeof row->text, 0};
	bool confounded = config_confounders(compare, row->arm.arm, confounders, sizeof confounders) > 0;
	compare_flag(compare, row, confounded);
	if (confounded)
		words_add(&words, "confounded (%s): ", confounders);
	const struct verdict_facts facts = {
		.verdict = row->verdict,
		.metric = row->metric,
		.arm = row->arm.arm,
		.base_n = row->base.n,
		.arm_n = row->arm.n,
		.ratio = &row->ratio,
		.p_adjusted = row->p_adjusted,
		.reach = &row->reach,
		.units = row->log_ratio ? "blocks" : NULL,
		.without_value = row->verdict == VERDICT_INVALID && row_lacks_value(compare, row),
	};
	verdict_words(compare, &facts, &words);
	if (row->speaks)
		add_findings(compare, row, &words);
}

static bool is_level_of(const struct compare_row *row, const struct compare_overall *overall)
{
	return row->arm.arm == overall->arm && row->metric == overall->metric &&
	       row->threads != YCSB_UNKNOWN && !isnan(row->ratio.ratio) &&
	       strcmp(row->workload, overall->workload) == 0 &&
	       strcmp(row->operation, overall->operation) == 0;
}

/* The fewest runs that the base, or the arm, has at a level. */
static size_t fewest_runs(const struct compare *compare, const struct compare_overall *overall, bool of_base)
{
	size_t fewest = SIZE_MAX;
	for (size_t i = 0; i < compare->row_count; i++) {
		const struct compare_row *row = &compare->rows[i];
		size_t n = of_base ? row->base.n : row->arm.n;
		if (is_level_of(row, overall) && n < fewest)
			fewest = n;
	}
	return fewest;
}

static void judge_overall(const struct compare *compare, struct compare_overall *overall)
{
	char confounders[CONFOUNDERS_BYTES];
	struct words words = {overall->text, sizeof overall->text, 0};
	if (config_confounders(compare, overall->arm, confounders, sizeof confounders) > 0)
		words_add(&words, "confounded (%s): ", confounders);
	const struct verdict_facts facts = {
		.verdict = overall->verdict,
		.metric = overall->metric,
		.arm = overall->arm,
		.base_n = fewest_runs(compare, overall, true),
		.arm_n = fewest_runs(compare, overall, false),
		.ratio = &overall->ratio,
		.p_adjusted = overall->p_adjusted,
		.reach = &overall->reach,
		.units = overall->by_block   ? "blocks"
			 : overall->by_level ? "levels with one run an arm at each"
					     : NULL,
		.over_levels = true,
		.by_level = overall->by_level,
	};
	verdict_words(compare, &facts, &words);
}

bool compare_verdicts(struct compare *compare, struct error *error)
{
	for (size_t i = 0; i < compare->row_count; i++) {
		if (!row_reach(compare, &compare->rows[i]))
			return compare_out_of_memory(error);
		judge_row(compare, &compare->rows[i]);
	}
	for (size_t i = 0; i < compare->overall_count; i++) {
		struct compare_overall *overall = &compare->overall[i];
		fill_reach(&overall->reach, overall->ratio.base_n, overall->ratio.arm_n, compare->family);
		judge_overall(compare, overall);
	}
	return true;
}
