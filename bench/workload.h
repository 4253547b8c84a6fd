/*
 * YCSB's core workload as its properties describe it: the mix, the keys, the documents. Shared by all
 * threads.
 */
#ifndef MTRACE_BENCH_WORKLOAD_H
#define MTRACE_BENCH_WORKLOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bench/generator.h"
#include "bench/keyspace.h"
#include "bench/measure.h"
#include "bench/properties.h"

enum request_distribution { REQUEST_ZIPFIAN, REQUEST_UNIFORM, REQUEST_LATEST };

/* How a client holds what it has read: a block for each field, as drivers do, or one for the whole document.
 */
enum client_copy { COPY_FIELDS, COPY_DOCUMENT };

/* The first five of enum operation are what a mix is made of. */
enum { MIX_COUNT = OP_READ_MODIFY_WRITE + 1 };

struct workload {
	/* from the properties */
	uint64_t record_count;
	uint64_t insert_start;
	uint64_t insert_count;
	uint64_t operation_count; /* of the run phase; 0: until the time is over */
	double mix[MIX_COUNT];
	unsigned distribution; /* enum request_distribution */
	uint64_t scan_min;
	uint64_t scan_max;
	bool scan_zipfian;
	uint32_t field_count;
	uint32_t field_bytes;
	bool read_all_fields;
	bool write_all_fields;
	unsigned copy; /* enum client_copy */
	struct key_naming naming;
	uint64_t seed;
	/* made from them */
	struct weighted chooser;
	struct scrambled scrambled;
	struct zipfian scan_lengths;
	char (*field_names)[16];
	/* of the present phase */
	struct keyspace keyspace;   /* of the run phase */
	_Atomic uint64_t next_load; /* of the load phase, where nobody reads: a relaxed counter is enough */
};

/* Reads the properties; fails with EXIT_WRONG_USAGE on one that does not fit. */
bool workload_init(struct workload *workload, struct properties *properties, bool has_time_limit,
		   struct failure *failure);
void workload_destroy(struct workload *workload);

/* Begins a phase. Loading hands out the numbers from insert_start, running those from record_count. */
void workload_begin(struct workload *workload, bool loading);
void workload_end(struct workload *workload);

#endif
