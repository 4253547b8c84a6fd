#include "analyzer/align.h"

#include "analyzer/span.h"

#define ZONE_STEP_S 900			      /* zones differ by quarters of an hour */
#define ZONE_STEPS  (26 * 3600 / ZONE_STEP_S) /* and lie within UTC-12 and UTC+14 */
#define NS_PER_S    INT64_C(1000000000)

int64_t align_zone_shift_s(int64_t client_start_ns, int64_t client_end_ns, int64_t trace_start_ns,
			   int64_t trace_end_ns)
{
	int64_t client_ns = client_end_ns - client_start_ns, trace_ns = trace_end_ns - trace_start_ns;
	int64_t best_ns = (client_ns < trace_ns ? client_ns : trace_ns) / 2, best_shift_s = 0;
	for (int64_t step = 2; step <= 2 * ZONE_STEPS + 1; step++) {
		int64_t shift_s = (step % 2 ? -1 : 1) * (step / 2) * ZONE_STEP_S;
		int64_t shift_ns = shift_s * NS_PER_S;
		int64_t found_ns = span_overlap_ns(client_start_ns + shift_ns, client_end_ns + shift_ns,
						   trace_start_ns, trace_end_ns);
		if (found_ns > best_ns) {
			best_ns = found_ns;
			best_shift_s = shift_s;
		}
	}
	return best_shift_s;
}
