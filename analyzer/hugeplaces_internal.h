/* What hugeplaces.c (looks) and hugeplaces_calls.c (calls) share; nobody else includes this. */
#ifndef MTRACE_HUGEPLACES_INTERNAL_H
#define MTRACE_HUGEPLACES_INTERNAL_H

#include "analyzer/hugeplaces.h"

/* A place first seen small, of which the next reading of the settings may say why. */
struct fresh_place {
	uint64_t address;
	uint64_t since, time; /* touched between these two */
};

struct hugeplaces {
	const struct pages *pages;
	double unit_s;	      /* one time unit */
	uint64_t grace;	      /* in time units: by how much the order of a call and a look may be wrong */
	struct regionmap map; /* of a region: `state` is enum place_state, `file` the time, `owner` the
				 breaker, `listed` the call's number, `settled`: a MADV_COLLAPSE held it */
	struct region_list cut;
	struct breaker *breakers;
	size_t breaker_count, breaker_capacity;
	struct idmap by_stack;
	uint32_t serial; /* of the last call */
	struct coverage_way ways[PATH_COUNT];

	bool settings_seen;
	uint64_t fallback_after, fallback_until; /* when the count last rose */
	struct fresh_place *fresh;
	size_t fresh_count, fresh_capacity;
	uint64_t last_since;
};

/* Sets what is kept of [start, end); NULL: nothing. False when out of memory. */
bool hugeplaces_set(struct hugeplaces *places, uint64_t start, uint64_t end, const struct region *fact);

/* The index of a breaker, UINT32_MAX when out of memory. */
uint32_t hugeplaces_breaker(struct hugeplaces *places, uint32_t stack_id, uint8_t kind, uint32_t advice);

/* The place's loss is put down to a call. */
void hugeplaces_count_loss(struct hugeplaces *places, uint32_t breaker, uint32_t serial);

#endif
