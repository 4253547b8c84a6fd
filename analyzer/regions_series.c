#include "analyzer/regions_series.h"

#include <math.h>

_Static_assert(SERIES_COMMITTED_LAST - SERIES_COMMITTED_FIRST + 1 == OWNER_KINDS,
	       "one series for each kind of owner, in the same order");

void regions_series(const struct regions *regions, double *values)
{
	size_t count;
	const struct region_owner *owners = regions_owners(regions, &count);
	for (size_t i = 0; i < count; i++) {
		double *value = &values[SERIES_COMMITTED_FIRST + (int)owners[i].kind];
		double bytes = (double)owners[i].bytes[REGION_COMMITTED];
		if (owners[i].peak_bytes[REGION_COMMITTED])
			*value = isnan(*value) ? bytes : *value + bytes;
	}
}
