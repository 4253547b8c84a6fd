/*
 * Exact counts by CPU and size step of a trace in sample mode (BLOCK_CPUS, trace/FORMAT.md): what the hooks
 * counted, beside the samples that everything else in such a trace rests on.
 *
 * A realloc is counted as one, with its new size, and is in no step. Calls that no thread's counts hold (of
 * threads without a place in the rings file, in signal handlers that interrupted a record, and, after a kill,
 * since the last interval) are on no CPU: trace_info's counters have them.
 */
#ifndef MTRACE_CPUCOUNTS_H
#define MTRACE_CPUCOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/error.h"
#include "analyzer/reader.h"
#include "trace/layout.h"
#include "trace/sizestep.h"

struct cpu_count {
	uint32_t cpu;		   /* EVENT_CPU_UNKNOWN: on a CPU that is not known */
	uint64_t calls[CPU_CALLS]; /* by enum cpu_calls */
	struct step_count steps[SIZE_STEPS];
};

/* All since the start of the trace, also in a flight recorder. */
struct cpu_counts {
	struct cpu_count *cpus; /* by rising number, the unknown one last */
	size_t count, capacity; /* 0: the trace has none (full mode, or an older shim) */
	uint64_t time;		/* of the last reading, time units */
	bool exact; /* false: while they were read a thread went to another CPU, or a block is damaged */
};

/* `counts` is all zero before; cpu_counts_free() in any case. Damaged blocks are listed by trace_damage() and
 * passed over. False on an error, which is set. */
bool cpu_counts_read(struct cpu_counts *counts, struct trace *trace, struct error *error);
void cpu_counts_free(struct cpu_counts *counts);

/* Over all CPUs. */
struct cpu_count cpu_counts_sum(const struct cpu_counts *counts);

/* Blocks that came or went: a realloc lets one go and brings one. */
double cpu_count_calls(const struct cpu_count *count);

/* How evenly calls lie on the CPUs that had any: the most by the mean, and the coefficient of variation. NaN
 * where none had. */
struct cpu_balance {
	double max_by_mean, variation;
};
struct cpu_balance cpu_counts_balance(const struct cpu_counts *counts);

/* The same of the allocations of one size step. */
struct cpu_balance cpu_counts_step_balance(const struct cpu_counts *counts, unsigned step);

#endif
