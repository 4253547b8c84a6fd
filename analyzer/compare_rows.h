/*
 * The rows of a comparison: one for each cell, operation, metric and arm against the base.
 *
 * Runs of both arms in the same block are compared within it: the ratio is that of the differences of their
 * logarithms, a block's several runs of one arm being averaged first. Where fewer than two blocks hold both
 * arms it is Welch's over all runs. Every used run counts for centre and range.
 *
 * OVERALL rows hold throughput; latencies over all operations only where none is known by operation.
 */
#ifndef MTRACE_COMPARE_ROWS_H
#define MTRACE_COMPARE_ROWS_H

#include "analyzer/compare.h"

/* Rows, ratios over all levels, and their verdicts in one word, from the runs. False where the arms have no
 * level in common or memory is short. */
bool compare_rows(struct compare *compare, struct error *error);

/* Behind it: what can be shown, flags, and the verdicts in words. Needs compare->differences. */
bool compare_verdicts(struct compare *compare, struct error *error);

/* ---- parts ------------------------------------------------------------------------------------------- */

/* compare_overall.c: the mean ratio over all levels, from rows that have their ratios. */
bool compare_overall(struct compare *compare, struct error *error);

/* compare_verdict.c: Holm's adjustment over all rows and overall ratios, and the verdict that follows. */
bool compare_decide(struct compare *compare, struct error *error);

/* Whether `run` stands in the row's cell, used or not. */
bool row_has_run(const struct compare_row *row, const struct compare_run *run);

/* compare_flags.c: all flags of the row, from its numbers and its runs. */
void compare_flag(const struct compare *compare, struct compare_row *row, bool confounded);

/* Whether `run` is one of the row's cell and arms whose findings matter to it. */
bool row_shows_run(const struct compare_row *row, const struct compare_run *run);

/* Whether the side of an invalid row that has no value has runs all the same. */
bool row_lacks_value(const struct compare *compare, const struct compare_row *row);

#endif
