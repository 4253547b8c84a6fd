#include "analyzer/span.h"

#include <math.h>

int64_t span_overlap_ns(int64_t a_start_ns, int64_t a_end_ns, int64_t b_start_ns, int64_t b_end_ns)
{
	int64_t start_ns = a_start_ns > b_start_ns ? a_start_ns : b_start_ns;
	int64_t end_ns = a_end_ns < b_end_ns ? a_end_ns : b_end_ns;
	return end_ns > start_ns ? end_ns - start_ns : 0;
}

double span_mean(struct span_list *list, int64_t start_ns, int64_t end_ns)
{
	double sum = 0, covered = 0, lowest = INFINITY, highest = -INFINITY;
	while (list->next < list->count && list->spans[list->next].end_ns <= start_ns)
		list->next++;
	for (size_t i = list->next; i < list->count && list->spans[i].start_ns < end_ns; i++) {
		const struct span *span = &list->spans[i];
		if (isnan(span->value))
			continue;
		double overlap = (double)span_overlap_ns(span->start_ns, span->end_ns, start_ns, end_ns);
		sum += span->value * overlap;
		covered += overlap;
		lowest = fmin(lowest, span->value);
		highest = fmax(highest, span->value);
	}
	if (covered <= 0 || covered * 2 < (double)(end_ns - start_ns))
		return NAN;
	return fmin(fmax(sum / covered, lowest), highest);
}
