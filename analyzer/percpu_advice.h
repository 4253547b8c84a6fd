/*
 * What follows from a simulation: the knee of the curve, a capacity worth having and what it costs, and
 * whether the allocator's own figures agree with the model's.
 */
#ifndef MTRACE_PERCPU_ADVICE_H
#define MTRACE_PERCPU_ADVICE_H

#include <stddef.h>
#include <stdint.h>

#include "analyzer/percpu.h"

#define ADVICE_NONE SIZE_MAX

/* A point of the curve, by rising capacity. */
struct curve_point {
	uint64_t capacity_bytes;
	double miss_ratio;
};

/* Less than this between the ends of a curve is flat: capacity does not matter. */
#define CURVE_FLAT 0.005

/*
 * The knee: the point farthest below the straight line between the ends, over the logarithm of the capacity
 * (Satopaa et al., "Finding a Kneedle in a Haystack", ICDCS workshops 2011). A capacity of 0 stands one
 * doubling below the next. ADVICE_NONE for a flat curve, and with fewer than three points.
 */
size_t curve_knee(const struct curve_point *points, size_t count);

/* The smallest capacity whose miss ratio is within CURVE_FLAT of the least. ADVICE_NONE without points. */
size_t curve_enough(const struct curve_point *points, size_t count);

/* Of one simulated design. */
struct advice {
	size_t knee;	      /* lane; ADVICE_NONE */
	size_t enough;	      /* lane; ADVICE_NONE */
	uint64_t caches;      /* CPUs that may hold a cache, or threads that had one */
	double cost_bytes;    /* most that the caches may hold at that capacity */
	double cached_bytes;  /* most that they held in the simulation */
	const char *setting;  /* of mongod */
	const char *variable; /* of the environment; NULL: none */
};
struct advice advise(const struct percpu *percpu, enum cache_design design);

enum percpu_state { PERCPU_UNKNOWN, PERCPU_INACTIVE, PERCPU_ACTIVE };
struct percpu_force {
	enum percpu_state state;
	char reason[400];
};
/* Whether per-CPU caches are in force, and how that is known. */
struct percpu_force percpu_in_force(const struct percpu *percpu);
const char *percpu_state_name(enum percpu_state state); /* "unknown", "inactive", "active" */

/* Misses by the allocator's own count beside those of the lane that has its limit. */
struct agreement {
	bool known;  /* false: one of the two sides is missing; the rest is then meaningless */
	bool agrees; /* within AGREEMENT_FACTOR of each other */
	uint64_t limit_bytes;
	uint64_t underflows, overflows; /* by the allocator, since the process began */
	uint64_t model_underflows, model_overflows;
	double ratio; /* model by allocator */
};
#define AGREEMENT_FACTOR 1.5
struct agreement percpu_agreement(const struct percpu *percpu);

#endif
