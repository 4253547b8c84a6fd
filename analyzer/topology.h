/*
 * The CPUs of the traced machine, as the process block has them: which there are, what kind each is, and
 * where it sits. Machines may have more than 256, and gaps in their numbers; CPUs may come and go.
 *
 * Words:
 *   type   CPUs of the same MIDR and the same cpu_capacity (x86-64 hybrids: of the same kernel PMU)
 */
#ifndef MTRACE_TOPOLOGY_H
#define MTRACE_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/reader.h"

#define TOPOLOGY_UNKNOWN  UINT64_MAX
#define TOPOLOGY_CPUS_MAX 8192u /* numbers from there on are damage: Linux's NR_CPUS goes no further */

struct topology_cpu {
	uint32_t cpu;
	uint64_t capacity; /* of 1024 for the fastest; TOPOLOGY_UNKNOWN */
	uint64_t midr;	   /* AArch64's MIDR_EL1; TOPOLOGY_UNKNOWN */
	uint64_t node;	   /* NUMA node; TOPOLOGY_UNKNOWN */
	uint64_t package;  /* TOPOLOGY_UNKNOWN */
	uint32_t type;	   /* index into topology.types */
	bool online;	   /* when tracing began */
	bool allowed;	   /* in the process's affinity mask when tracing began */
};

struct topology_type {
	char name[64]; /* "Cortex-A76, capacity 1024"; "CPU" where nothing tells types apart */
	uint64_t capacity;
	uint64_t midr;
	uint32_t cpus;
};

/* Zero-initialize before topology_read(). */
struct topology {
	struct topology_cpu *cpus; /* possible ones, by number */
	size_t count;		   /* 0: the trace does not say */
	struct topology_type *types;
	size_t type_count; /* at least 1: for CPUs that nothing is known of */
	bool online_known, allowed_known;
};

/* False when out of memory. What cannot be read of a key is left out. */
bool topology_read(struct topology *topology, const struct trace *trace);
void topology_free(struct topology *topology);

/* NULL where the trace does not list that CPU. */
const struct topology_cpu *topology_cpu(const struct topology *topology, uint32_t cpu);

/* Index of the CPU's type; 0 where it is not listed. */
uint32_t topology_type_of(const struct topology *topology, uint32_t cpu);

/* Types differ: some CPUs are of another kind than others. */
static inline bool topology_is_mixed(const struct topology *topology)
{
	return topology->type_count > 1;
}

/*
 * The name of an AArch64 core by implementer and part number, e.g. "Cortex-A76"; NULL where it is not known.
 * The numbers are those of Arm's technical reference manuals, and of Linux's
 * arch/arm64/include/asm/cputype.h.
 */
const char *topology_core_name(uint64_t midr);

#endif
