#include "analyzer/coverage_series.h"

static void put_share(double *value, uint64_t part_bytes, uint64_t whole_bytes)
{
	if (whole_bytes)
		*value = 100 * (double)part_bytes / (double)whole_bytes;
}

void coverage_series(const struct coverage *coverage, double *values)
{
	const struct coverage_row *row = coverage_fresh_row(coverage);
	if (!row)
		return;
	const struct coverage_sums *sums = &row->sums;
	values[SERIES_HUGE_MAPPED] = (double)sums->huge_bytes;
	values[SERIES_HUGE_ELIGIBLE] = (double)coverage_usable_bytes(sums);
	put_share(&values[SERIES_HUGE_COVERAGE], sums->huge_bytes, sums->resident_bytes);
	if (!row->looked)
		return; /* what smaps alone cannot tell */
	values[SERIES_HUGE_BROKEN] = (double)sums->causes[CAUSE_BROKEN];
	put_share(&values[SERIES_HUGE_COVERAGE_ELIGIBLE], sums->huge_eligible_bytes,
		  coverage_usable_bytes(sums));
}
