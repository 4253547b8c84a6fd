/* The flags of a row; docs/compare.md says what they mean. */
#include <math.h>
#include <string.h>

#include "analyzer/compare_rows.h"

#define FEW_RUNS 3    /* the smallest p of a rank test on 3 against 3 is 0.1 */
#define COARSE	 0.02 /* of the centre */

static void flag(struct compare_row *row, const char *id)
{
	for (size_t i = 0; i < row->flag_count; i++)
		if (strcmp(row->flags[i], id) == 0)
			return;
	if (row->flag_count < ROW_FLAGS_MAX)
		row->flags[row->flag_count++] = id;
}

static bool has_zero(const struct compare_side *side)
{
	for (size_t i = 0; i < side->n; i++)
		if (!(side->values[i] > 0))
			return true;
	return false;
}

bool row_lacks_value(const struct compare *compare, const struct compare_row *row)
{
	size_t arm = row->base.n == 0 ? row->base.arm : row->arm.arm;
	for (size_t i = 0; i < compare->run_count; i++)
		if (compare->runs[i].arm == arm && compare->runs[i].use == RUN_USED &&
		    row_has_run(row, &compare->runs[i]))
			return true;
	return false;
}

static void flag_numbers(const struct compare *compare, struct compare_row *row)
{
	size_t least = row->base.n < row->arm.n ? row->base.n : row->arm.n;
	bool paired = row->log_ratio != NULL;
	size_t units = paired ? row->ratio.base_n : least;
	if (least == 0 && !row_lacks_value(compare, row))
		flag(row, "no-usable-run");
	else if (least == 0)
		flag(row, "no-value");
	if (least > 0 && (has_zero(&row->base) || has_zero(&row->arm)))
		flag(row, "zero-value");
	if (least == 1)
		flag(row, "one-run");
	else if (least > 1 && row->ratio.method == RATIO_NONE && !isnan(row->ratio.ratio))
		flag(row, "no-noise");
	if (least > 1 && units <= FEW_RUNS)
		flag(row, "few-runs");
	if (row->resolution > COARSE * fmin(row->base.center, row->arm.center))
		flag(row, "coarse");
	if (paired && (row->base.n > row->ratio.base_n || row->arm.n > row->ratio.base_n))
		flag(row, "incomplete-blocks");
}

bool row_shows_run(const struct compare_row *row, const struct compare_run *run)
{
	return (run->use == RUN_USED || run->use == RUN_INVALID || run->use == RUN_NOT_DONE) &&
	       (run->arm == row->base.arm || run->arm == row->arm.arm) && row_has_run(row, run);
}

/* Of the cell's runs: what was left out, what was cut, what the audit says. */
static void flag_runs(const struct compare *compare, struct compare_row *row)
{
	for (size_t i = 0; i < compare->run_count; i++) {
		const struct compare_run *run = &compare->runs[i];
		if ((run->arm != row->base.arm && run->arm != row->arm.arm) || !row_has_run(row, run))
			continue;
		if (run->use == RUN_INVALID || run->use == RUN_NOT_DONE)
			flag(row, "runs-left-out");
		if (run->use == RUN_FIRST)
			flag(row, "first-excluded");
		if (run->use == RUN_USED && run->trimmed_s > 0)
			flag(row, "trimmed");
		for (size_t f = 0; row_shows_run(row, run) && f < run->finding_count; f++)
			flag(row, run->findings[f].id);
	}
}

void compare_flag(const struct compare *compare, struct compare_row *row, bool confounded)
{
	flag_numbers(compare, row);
	if (confounded)
		flag(row, "confounded");
	flag_runs(compare, row);
}
