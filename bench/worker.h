/*
 * One thread of the workload: chooses an operation and a key, does it on the engine, measures it.
 *
 * The measured time is what YCSB's database layer would see: making the document (on writes), the engine's
 * work, the client's copy of what was read, and letting go of it. Choosing the operation and the key and
 * making up field values is outside.
 */
#ifndef MTRACE_BENCH_WORKER_H
#define MTRACE_BENCH_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/engine.h"
#include "bench/generator.h"
#include "bench/measure.h"
#include "bench/record.h"
#include "bench/workload.h"

struct worker {
	struct workload *workload;
	const struct engine *engine;
	void *session;
	struct measure_thread *measure;
	struct prng prng;
	struct latest latest;
	struct field_view *fields; /* field_count views of `values` */
	char *values;		   /* field_count * field_bytes */
	void **results;		   /* what a read or scan has copied */
	uint64_t result_count;
	uint64_t result_room;
};

void worker_init(struct worker *worker, struct workload *workload, const struct engine *engine, void *session,
		 struct measure_thread *measure, unsigned thread);
void worker_destroy(struct worker *worker);

/* Inserts the next record of the load phase. False where that failed. */
bool worker_load(struct worker *worker);
/* One operation of the mix. */
void worker_transact(struct worker *worker);

/* The number of the record that the next read would choose; for tests. */
uint64_t worker_choose(struct worker *worker);

#endif
