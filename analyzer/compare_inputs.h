/*
 * Where the runs of a comparison come from.
 *
 *   --arm LABEL=FILE     output of YCSB or go-ycsb, of any kind that `ycsb` reads; may hold several runs. A
 *                        manifest.json beside it (docs/campaign.md) is taken too.
 *   --arm LABEL=FOLDER   all files in it; of a campaign with one arm, its runs
 *   --arm LABEL=FOLDER:ARM   the runs of that arm of a campaign
 *   --arm LABEL='a*.txt' where no file is called so: all that match
 *   --arm LABEL=FILE.csv a summary: one row a run, or a run and operation (compare_summary.h)
 *   FOLDER               a campaign, with its arms
 *   FILE.csv             a summary that has a column for the arm
 *
 * A label that comes again gets further runs.
 */
#ifndef MTRACE_COMPARE_INPUTS_H
#define MTRACE_COMPARE_INPUTS_H

#include "analyzer/command.h"
#include "analyzer/compare.h"

struct compare_request {
	struct string_list arms;     /* "LABEL=PATH", in order */
	struct string_list operands; /* campaigns, summaries */
	const char *base;	     /* label of the base; NULL: the first */
	const char *columns;	     /* of summaries: "KEY=COLUMN,..."; NULL */
	struct ycsb_options ycsb;
};

/*
 * Reads everything, and chooses the runs that are used. An input that cannot be read is said on stderr and
 * left out (compare->inputs_left_out), unless nothing else is there. False with `error` set on wrong usage,
 * where fewer than two arms have runs, or where memory is short.
 */
bool compare_read(const struct compare_request *request, struct compare *compare, struct error *error);

/* Says an error of one input, which is left out, and forgets it. False where it is not an input's. */
bool compare_leave_out(struct compare *compare, struct error *error);

#endif
