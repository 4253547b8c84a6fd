/* Call sites of a replayed trace, ordered and named: what `sites` prints. */
#ifndef MTRACE_SITES_H
#define MTRACE_SITES_H

#include "analyzer/json.h"
#include "analyzer/replay.h"
#include "analyzer/symbols.h"

/* Ties are broken by the peak, then by the bytes allocated, then by stack id. */
enum site_order {
	SITE_ORDER_LIVE = 0,   /* live bytes at the end */
	SITE_ORDER_PEAK = 1,   /* most live bytes at any moment */
	SITE_ORDER_ALLOC = 2,  /* bytes requested, reallocs included */
	SITE_ORDER_REMOTE = 3, /* frees by another thread than the allocating one */
};

/* The sites, in order; the caller frees the array, the sites belong to the live map. NULL when out of memory.
 */
const struct live_site **sites_sorted(const struct livemap *live, enum site_order order, size_t *count);

/* The first `top` sites (0: all). Neither takes anything over. */
json_t *sites_json(const struct replay *replay, struct symbols *symbols, enum site_order order, size_t top);
bool sites_print(FILE *file, const struct replay *replay, struct symbols *symbols, enum site_order order,
		 size_t top);

/* Sets `name` to the rounded value and, unless `exact`, NAME_low and NAME_high to the 95% interval. */
void json_put_estimate(json_t *object, const char *name, const struct estimate *estimate, bool exact);
void json_put_peak(json_t *object, const char *name, const struct peak *peak, bool exact);

#endif
