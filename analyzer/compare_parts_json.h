/* Parts of compare_object(); each is a new reference. NULL stands for null: nobody gave prices. */
#ifndef MTRACE_COMPARE_PARTS_JSON_H
#define MTRACE_COMPARE_PARTS_JSON_H

#include "analyzer/compare.h"

json_t *compare_knee_array(const struct compare *compare);
json_t *compare_price_array(const struct compare *compare);
json_t *compare_difference_array(const struct compare *compare);
json_t *compare_inside_object(const struct compare *compare);

json_t *compare_count_or_null(uint64_t value);
void compare_put_ratio(json_t *object, const struct ratio *ratio); /* ratio, its interval, p, method */

#endif
