/* Call sites of a replayed trace, ordered and named: what `sites` prints. */
#ifndef MTRACE_SITES_H
#define MTRACE_SITES_H

#include "analyzer/hugeblocks.h"
#include "analyzer/json.h"
#include "analyzer/replay.h"
#include "analyzer/symbols.h"

/* Ties are broken by the peak, then by the bytes allocated, then by stack id. */
enum site_order {
	SITE_ORDER_LIVE = 0,   /* live bytes at the end */
	SITE_ORDER_PEAK = 1,   /* most live bytes at any moment */
	SITE_ORDER_ALLOC = 2,  /* bytes requested, reallocs included */
	SITE_ORDER_REMOTE = 3, /* frees by another thread than the allocating one */
	SITE_ORDER_HUGE = 4,   /* most live bytes on huge pages at any look (hugeblocks.h) */
};

/* What is to be shown. Nothing of it is taken over. */
struct sites_view {
	const struct replay *replay;
	const struct hugeblocks *huge; /* NULL, or without a look: bytes on huge pages are not known */
	struct symbols *symbols;
	enum site_order order;
	size_t top; /* only so many sites; 0: all */
};

json_t *sites_json(const struct sites_view *view);
bool sites_print(FILE *file, const struct sites_view *view); /* false when out of memory */

/* Sets `name` to the rounded value and, unless `exact`, NAME_low and NAME_high to the 95% interval. */
void json_put_estimate(json_t *object, const char *name, const struct estimate *estimate, bool exact);
void json_put_peak(json_t *object, const char *name, const struct peak *peak, bool exact);

#endif
