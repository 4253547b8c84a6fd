#include "analyzer/topology.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"

/* ---- lists: "0-3,8" and "0-3:439,4-7:1024" ------------------------------------------------------------- */

struct span {
	uint32_t first, last;
	uint64_t value;
};

/* The next range of a list; *at moves behind it. False at the end, and at anything that is none. */
static bool next_span(const char **at, bool with_value, struct span *out)
{
	char *end;
	if (!*at || **at < '0' || **at > '9')
		return false;
	unsigned long first = strtoul(*at, &end, 10), last = first;
	if (*end == '-')
		last = strtoul(end + 1, &end, 10);
	if (first > last || last >= TOPOLOGY_CPUS_MAX)
		return false;
	*out = (struct span){(uint32_t)first, (uint32_t)last, 0};
	if (with_value) {
		if (*end != ':')
			return false;
		out->value = strtoull(end + 1, &end, 0);
	}
	if (*end == ',')
		end++;
	else if (*end)
		return false;
	*at = end;
	return true;
}

static int by_number(const void *a, const void *b)
{
	const struct topology_cpu *left = a, *right = b;
	return (left->cpu > right->cpu) - (left->cpu < right->cpu);
}

static bool add_listed(struct topology *topology, size_t *capacity, const char *list)
{
	struct span span;
	bool seen[TOPOLOGY_CPUS_MAX] = {false};
	for (size_t i = 0; i < topology->count; i++)
		seen[topology->cpus[i].cpu] = true;
	while (next_span(&list, false, &span))
		for (uint32_t cpu = span.first; cpu <= span.last; cpu++) {
			if (seen[cpu])
				continue;
			seen[cpu] = true;
			if (!array_reserve(&topology->cpus, capacity, topology->count + 1,
					   sizeof *topology->cpus))
				return false;
			topology->cpus[topology->count++] = (struct topology_cpu){
				.cpu = cpu,
				.capacity = TOPOLOGY_UNKNOWN,
				.midr = TOPOLOGY_UNKNOWN,
				.node = TOPOLOGY_UNKNOWN,
				.package = TOPOLOGY_UNKNOWN,
			};
		}
	qsort(topology->cpus, topology->count, sizeof *topology->cpus, by_number);
	return true;
}

static struct topology_cpu *cpu_of(const struct topology *topology, uint32_t cpu)
{
	const struct topology_cpu key = {.cpu = cpu};
	return topology->count ? bsearch(&key, topology->cpus, topology->count, sizeof key, by_number) : NULL;
}

/* Sets the bool at `offset` of each CPU in the list. */
static bool take_flags(struct topology *topology, const char *list, size_t offset)
{
	struct span span;
	const bool known = list != NULL;
	while (next_span(&list, false, &span))
		for (uint32_t cpu = span.first; cpu <= span.last; cpu++) {
			struct topology_cpu *found = cpu_of(topology, cpu);
			if (found)
				*(bool *)((char *)found + offset) = true;
		}
	return known;
}

/* Sets the number at `offset` of each CPU in the list. */
static void take_values(struct topology *topology, const char *list, size_t offset)
{
	struct span span;
	while (next_span(&list, true, &span))
		for (uint32_t cpu = span.first; cpu <= span.last; cpu++) {
			struct topology_cpu *found = cpu_of(topology, cpu);
			if (found)
				*(uint64_t *)(void *)((char *)found + offset) = span.value;
		}
}

/* ---- types --------------------------------------------------------------------------------------------- */

struct core {
	uint32_t part; /* implementer << 12 | part */
	const char *name;
};

#define ARM_LTD UINT32_C(0x41)
#define AMPERE	UINT32_C(0xc0)

static const struct core cores[] = {
	{ARM_LTD << 12 | 0xd03, "Cortex-A53"},	{ARM_LTD << 12 | 0xd04, "Cortex-A35"},
	{ARM_LTD << 12 | 0xd05, "Cortex-A55"},	{ARM_LTD << 12 | 0xd07, "Cortex-A57"},
	{ARM_LTD << 12 | 0xd08, "Cortex-A72"},	{ARM_LTD << 12 | 0xd09, "Cortex-A73"},
	{ARM_LTD << 12 | 0xd0a, "Cortex-A75"},	{ARM_LTD << 12 | 0xd0b, "Cortex-A76"},
	{ARM_LTD << 12 | 0xd0c, "Neoverse-N1"}, {ARM_LTD << 12 | 0xd0d, "Cortex-A77"},
	{ARM_LTD << 12 | 0xd40, "Neoverse-V1"}, {ARM_LTD << 12 | 0xd41, "Cortex-A78"},
	{ARM_LTD << 12 | 0xd44, "Cortex-X1"},	{ARM_LTD << 12 | 0xd46, "Cortex-A510"},
	{ARM_LTD << 12 | 0xd47, "Cortex-A710"}, {ARM_LTD << 12 | 0xd48, "Cortex-X2"},
	{ARM_LTD << 12 | 0xd49, "Neoverse-N2"}, {ARM_LTD << 12 | 0xd4b, "Cortex-A78C"},
	{ARM_LTD << 12 | 0xd4d, "Cortex-A715"}, {ARM_LTD << 12 | 0xd4e, "Cortex-X3"},
	{ARM_LTD << 12 | 0xd4f, "Neoverse-V2"}, {ARM_LTD << 12 | 0xd80, "Cortex-A520"},
	{ARM_LTD << 12 | 0xd81, "Cortex-A720"}, {ARM_LTD << 12 | 0xd82, "Cortex-X4"},
	{ARM_LTD << 12 | 0xd84, "Neoverse-V3"}, {ARM_LTD << 12 | 0xd8e, "Neoverse-N3"},
	{AMPERE << 12 | 0xac3, "Ampere-1"},	{AMPERE << 12 | 0xac4, "Ampere-1a"},
};

/* MIDR_EL1: implementer in bits 31 to 24, part number in bits 15 to 4. */
const char *topology_core_name(uint64_t midr)
{
	uint32_t part = (uint32_t)(midr >> 24 & 0xff) << 12 | (uint32_t)(midr >> 4 & 0xfff);
	for (size_t i = 0; midr != TOPOLOGY_UNKNOWN && i < sizeof cores / sizeof *cores; i++)
		if (cores[i].part == part)
			return cores[i].name;
	return NULL;
}

static void name_type(struct topology_type *type, const char *given)
{
	char core[40] = "CPU";
	const char *known = given ? given : topology_core_name(type->midr);
	if (known)
		snprintf(core, sizeof core, "%s", known);
	else if (type->midr != TOPOLOGY_UNKNOWN)
		snprintf(core, sizeof core, "MIDR 0x%" PRIx64, type->midr);
	if (type->capacity == TOPOLOGY_UNKNOWN)
		snprintf(type->name, sizeof type->name, "%s", core);
	else
		snprintf(type->name, sizeof type->name, "%s, capacity %" PRIu64, core, type->capacity);
}

static bool type_for(struct topology *topology, struct topology_cpu *cpu, const char *given)
{
	struct topology_type type = {.capacity = cpu->capacity, .midr = cpu->midr};
	name_type(&type, given);
	for (cpu->type = 0; cpu->type < topology->type_count; cpu->type++)
		if (!strcmp(topology->types[cpu->type].name, type.name) &&
		    topology->types[cpu->type].midr == type.midr)
			break;
	if (cpu->type == topology->type_count) {
		struct topology_type *grown =
			realloc(topology->types, (topology->type_count + 1) * sizeof *grown);
		if (!grown)
			return false;
		topology->types = grown;
		topology->types[topology->type_count++] = type;
	}
	topology->types[cpu->type].cpus++;
	return true;
}

static bool is_listed(const char *list, uint32_t cpu)
{
	struct span span;
	while (next_span(&list, false, &span))
		if (span.first <= cpu && cpu <= span.last)
			return true;
	return false;
}

static bool assign_types(struct topology *topology, const struct trace *trace)
{
	const char *performance = trace_key(trace, "cpus_core"), *efficient = trace_key(trace, "cpus_atom");
	for (size_t i = 0; i < topology->count; i++) {
		struct topology_cpu *cpu = &topology->cpus[i];
		const char *given = is_listed(performance, cpu->cpu) ? "performance core"
				    : is_listed(efficient, cpu->cpu) ? "efficient core"
								     : NULL;
		if (!type_for(topology, cpu, given))
			return false;
	}
	struct topology_cpu none = {.capacity = TOPOLOGY_UNKNOWN, .midr = TOPOLOGY_UNKNOWN};
	if (topology->type_count || !type_for(topology, &none, NULL))
		return topology->type_count != 0;
	topology->types[0].cpus = 0;
	return true;
}

/* ---- public -------------------------------------------------------------------------------------------- */

bool topology_read(struct topology *topology, const struct trace *trace)
{
	const char *online = trace_key(trace, "cpus_online");
	size_t capacity = 0;
	*topology = (struct topology){0};
	if (!add_listed(topology, &capacity, trace_key(trace, "cpus_possible")) ||
	    !add_listed(topology, &capacity, online)) {
		topology_free(topology);
		return false;
	}
	topology->online_known = take_flags(topology, online, offsetof(struct topology_cpu, online));
	topology->allowed_known = take_flags(topology, trace_key(trace, "cpus_allowed"),
					     offsetof(struct topology_cpu, allowed));
	take_values(topology, trace_key(trace, "cpu_capacity"), offsetof(struct topology_cpu, capacity));
	take_values(topology, trace_key(trace, "cpu_midr"), offsetof(struct topology_cpu, midr));
	take_values(topology, trace_key(trace, "cpu_node"), offsetof(struct topology_cpu, node));
	take_values(topology, trace_key(trace, "cpu_package"), offsetof(struct topology_cpu, package));
	if (assign_types(topology, trace))
		return true;
	topology_free(topology);
	return false;
}

void topology_free(struct topology *topology)
{
	free(topology->cpus);
	free(topology->types);
	*topology = (struct topology){0};
}

const struct topology_cpu *topology_cpu(const struct topology *topology, uint32_t cpu)
{
	return cpu_of(topology, cpu);
}

uint32_t topology_type_of(const struct topology *topology, uint32_t cpu)
{
	const struct topology_cpu *found = cpu_of(topology, cpu);
	return found ? found->type : 0;
}
