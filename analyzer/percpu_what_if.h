/* The simulated capacities, and what follows from them, as JSON: parts of percpu_json(). */
#ifndef MTRACE_PERCPU_WHAT_IF_H
#define MTRACE_PERCPU_WHAT_IF_H

#include "analyzer/json.h"
#include "analyzer/percpu.h"

json_t *percpu_what_if_json(const struct percpu *percpu);   /* what_if[] */
json_t *percpu_advice_json(const struct percpu *percpu);    /* recommendations[] */
json_t *percpu_agreement_json(const struct percpu *percpu); /* NULL where a side is missing */

#endif
