/*
 * What happened inside while throughput changed: from the traces of the runs, and the user's own series.
 *
 * A quantity is one number a run, over the time in which it was measured: of a series that is a rate, its sum
 * over the operations done (faults per operation: a faster arm has more of everything per second); of a level
 * its mean. It is compared between arms the way throughput is: within blocks where there are any, at the same
 * level of threads otherwise. The share of pairs in which it moved the same way says how consistently it went
 * with the treatment: association, never cause.
 */
#ifndef MTRACE_COMPARE_INSIDE_H
#define MTRACE_COMPARE_INSIDE_H

#include "analyzer/compare.h"
#include "analyzer/model.h"
#include "analyzer/scale.h"

enum quantity_kind {
	QUANTITY_PER_OPERATION, /* unit: of what is counted */
	QUANTITY_LEVEL,
	QUANTITY_SHARE, /* 0..1 */
};

struct inside_quantity {
	const char *name;  /* stable */
	const char *title; /* for people */
	const char *unit;  /* of scale.h */
	enum quantity_kind kind;
};

/* Quantities of traces are numbered from 0; those of the user's series follow. */
size_t inside_quantities(const struct compare *compare);
struct inside_quantity inside_quantity(const struct compare *compare, size_t index);

#define INSIDE_COVERAGE	    0 /* the quantity of the regression: share of RSS on huge pages */
#define INSIDE_LOCK_ATOMICS 3 /* compare_locks.h */

/* "0.71", "12.3 MiB", "2.4e-3 faults per operation". Returns `text`. */
const char *inside_text(const struct inside_quantity *quantity, double value, char text[SCALE_TEXT_BYTES]);

/*
 * Reads the traces of all used runs, one after the other, into their run->inside. A trace that cannot be read
 * is left out and said. Progress goes to a terminal. False where memory is short.
 */
bool compare_read_traces(struct compare *compare, struct error *error);

/*
 * The same with the diagnostic data of the servers (analyzer/model_ftdc.h), read once for all runs: what
 * mongod recorded while a run went on is put beside what its trace says. `paths`: one or more; of several, a
 * run takes the one that covers most of its time. What cannot be read is left out and said. After
 * compare_read_traces(), if that is called.
 */
bool compare_read_ftdc(struct compare *compare, const char *const *paths, size_t count, struct error *error);

/* Fills in compare->changes and compare->regression. False where memory is short. */
bool compare_inside(struct compare *compare, struct error *error);

/* ---- parts ------------------------------------------------------------------------------------------- */

/* Values of a run, unless it has them: all NaN. False where memory is short. */
bool inside_room(const struct compare *compare, struct compare_run *run);

/* Of a shell and the server that it started, the one that was there for longest; NULL: none was. */
const struct timeline *inside_main_timeline(const struct model *model, int64_t start_ns, int64_t end_ns);

/* Mean of a series over that time; NaN where most of it is not known. */
double inside_mean(const struct timeline *timeline, enum series_id id, int64_t start_ns, int64_t end_ns);

/* What a timeline knows of that time into the run. */
void inside_take(struct compare_run *run, const struct timeline *timeline, int64_t start_ns, int64_t end_ns);

#define REGRESSION_FREEDOM_MIN 5

/*
 * Least squares of y on x within groups (each has its own mean): slope with 95% interval. known is false with
 * fewer than REGRESSION_FREEDOM_MIN degrees of freedom, or where x does not vary within a group.
 */
struct inside_regression inside_regress(const double *x, const double *y, const size_t *group, size_t n);

#endif
