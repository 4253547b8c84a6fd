/* Topologies as machines have them: recorded keys of the process block, and traces that go with them. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "analyzer/percpu.h"
#include "analyzer/percpu_advice.h"
#include "analyzer/percpu_rank.h"
#include "tests/unit/support_trace.h"

#define SECOND UINT64_C(1000000000)

/* Rockchip RK3588: four Cortex-A55, four Cortex-A76; some of the latter report a little less. */
static const char rk3588[] =
	"cpus_possible=0-7\ncpus_online=0-7\ncpus_allowed=0-7\ncpu_node=0-7:0\n"
	"cpu_capacity=0-3:414,4-7:1024\ncpu_midr=0-3:0x412fd050,4-7:0x414fd0b0\ncpu_package=0-7:0\n";

static struct trace *open_with(const char *name, const char *keys, uint64_t seconds,
			       void (*fill)(struct support_trace *))
{
	struct error error = {0};
	const struct support_options options = {.full = true, .extra_keys = keys};
	struct support_trace *writer = support_open(support_path(name), &options);
	if (fill)
		fill(writer);
	support_end(writer, seconds * SECOND);
	struct trace *trace = trace_open(support_path(name), &error);
	cr_assert(trace, "%s", error.text);
	return trace;
}

static struct topology topology_of(const char *keys)
{
	struct topology topology;
	struct trace *trace = open_with("keys.mtr", keys, 1, NULL);
	cr_assert(topology_read(&topology, trace));
	trace_close(trace);
	return topology;
}

static void put(struct support_trace *writer, uint64_t at, uint8_t kind, uint32_t thread, uint32_t cpu,
		uint64_t address)
{
	support_event(writer, &(struct trace_event){.kind = kind,
						    .time = SUPPORT_START_TIME + at,
						    .end_time = SUPPORT_START_TIME + at,
						    .thread = thread,
						    .cpu = cpu,
						    .address = address,
						    .size_bytes = kind == EVENT_MALLOC ? 64 : 0});
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

Test(topology, unequal_cores_are_two_types)
{
	struct topology topology = topology_of(rk3588);
	cr_assert_eq(topology.count, 8);
	cr_assert(topology_is_mixed(&topology));
	cr_assert_eq(topology.type_count, 2);
	cr_assert_str_eq(topology.types[0].name, "Cortex-A55, capacity 414");
	cr_assert_str_eq(topology.types[1].name, "Cortex-A76, capacity 1024");
	cr_assert_eq(topology.types[0].cpus, 4);
	cr_assert_eq(topology_type_of(&topology, 5), 1);
	cr_assert_eq(topology_type_of(&topology, 99), 0);
	topology_free(&topology);
}

Test(topology, gaps_and_more_than_256_cpus)
{
	struct topology topology =
		topology_of("cpus_possible=0-95,128-223,1024-1215\ncpus_online=0-95,128-223\n"
			    "cpus_allowed=64-71\ncpu_node=0-95:0,128-223:1\ncpu_package=0-95:0,128-223:36\n");
	cr_assert_eq(topology.count, 384);
	cr_assert_eq(topology.type_count, 1);
	cr_assert_null(topology_cpu(&topology, 96));
	cr_assert_null(topology_cpu(&topology, 1023));
	const struct topology_cpu *cpu = topology_cpu(&topology, 223), *later = topology_cpu(&topology, 1215);
	cr_assert(cpu && cpu->online && !cpu->allowed && cpu->node == 1 && cpu->package == 36);
	cr_assert(later && !later->online && later->node == TOPOLOGY_UNKNOWN);
	cr_assert(topology_cpu(&topology, 71)->allowed);
	cr_assert_eq(topology_cpu(&topology, 0)->midr, TOPOLOGY_UNKNOWN);
	topology_free(&topology);
}

Test(topology, hybrids_of_x86_by_the_kernels_lists)
{
	struct topology topology = topology_of("cpus_possible=0-19\ncpus_online=0-19\ncpus_core=0-11\n"
					       "cpus_atom=12-19\n");
	cr_assert_eq(topology.type_count, 2);
	cr_assert_str_eq(topology.types[1].name, "efficient core");
	cr_assert_eq(topology.types[1].cpus, 8);
	topology_free(&topology);
}

Test(topology, nothing_known_is_one_type_without_cpus)
{
	struct topology topology = topology_of("");
	cr_assert_eq(topology.count, 0);
	cr_assert_eq(topology.type_count, 1);
	cr_assert(!topology.online_known && !topology.allowed_known);
	topology_free(&topology);
}

Test(topology, lists_that_are_none_are_left_out)
{
	struct topology topology = topology_of("cpus_possible=0-1,3-2\ncpus_online=0-99999999999\n"
					       "cpu_capacity=0:,1:512\ncpu_node=x\ncpu_midr=0-1\n");
	cr_assert_eq(topology.count, 2);
	cr_assert_eq(topology.cpus[0].midr, TOPOLOGY_UNKNOWN);
	cr_assert_eq(topology.cpus[0].node, TOPOLOGY_UNKNOWN);
	topology_free(&topology);
}

Test(topology, names_of_cores)
{
	cr_assert_str_eq(topology_core_name(0x410fd0c1), "Neoverse-N1");
	cr_assert_null(topology_core_name(0x00000000));
	cr_assert_null(topology_core_name(TOPOLOGY_UNKNOWN));
}

/* ---- traces -------------------------------------------------------------------------------------------- */

/* A thread that changes between an A55 and an A76 at each pair of calls, and between two A76 at every fourth.
 */
static void wander(struct support_trace *writer)
{
	static const uint32_t cpus[] = {0, 4, 0, 4, 5};
	for (uint64_t i = 0; i < 5000; i++) {
		uint32_t cpu = cpus[i % 5];
		put(writer, 1000 * i, EVENT_MALLOC, 1, cpu, 0x10000 + 64 * i);
		put(writer, 1000 * i + 500, EVENT_FREE, 1, cpu, 0x10000 + 64 * i);
	}
}

Test(topology, rates_migrations_and_hits_by_type)
{
	struct error error = {0};
	const struct percpu_options simulate = {.capacities = {{0, 1 << 20}}, .capacity_count = {2}};
	struct trace *trace = open_with("types.mtr", rk3588, 1, wander);
	struct percpu *percpu = percpu_read(trace, &simulate, &error);
	cr_assert(percpu);
	const struct percpu_totals *totals = percpu_totals(percpu);
	cr_assert_eq(totals->migrations, 4999);
	/* 0 4, 4 0, 0 4 and, from 5 to the next 0; not 4 5 */
	cr_assert_eq(totals->type_migrations, 3999);
	struct percpu_type little = percpu_type(percpu, 0, 0), big = percpu_type(percpu, 1, 0);
	cr_assert(little.cpus == 1 && little.allocs == 2000 && little.frees == 2000);
	cr_assert(big.cpus == 2 && big.allocs == 3000);
	cr_assert(little.calls.underflows == 2000 && big.calls.overflows == 3000);
	big = percpu_type(percpu, 1, 1);
	cr_assert(big.calls.allocs == 3000 && big.calls.underflows == 2); /* the first on each */
	cr_assert_eq(advise(percpu, CACHE_PER_CPU).caches, 8);
	percpu_free(percpu);
	trace_close(trace);
}

/* CPUs 300 to 2099 of a machine with gaps, one of which was not online at the start. */
static void spread(struct support_trace *writer)
{
	for (uint64_t i = 0; i < 3600; i++) {
		uint32_t cpu = 300 + (uint32_t)(i % 600) * 3;
		put(writer, 1000 * i, EVENT_MALLOC, (uint32_t)(1 + i % 50), cpu, 0x10000 + 64 * i);
		put(writer, 1000 * i + 1, EVENT_FREE, (uint32_t)(1 + i % 50), cpu + (i % 2 ? 3 : 0),
		    0x10000 + 64 * i);
	}
}

Test(topology, six_hundred_cpus_with_gaps_in_a_trace)
{
	struct error error = {0};
	size_t count;
	const struct percpu_options simulate = {.capacities = {{0, 1 << 20}}, .capacity_count = {2}};
	struct trace *trace =
		open_with("spread.mtr", "cpus_possible=0-4095\ncpus_online=300-2000\n", 1, spread);
	struct percpu *percpu = percpu_read(trace, &simulate, &error);
	cr_assert(percpu);
	const struct percpu_cpu *cpus = percpu_cpus(percpu, &count);
	cr_assert_eq(count, 601);
	double stayed = 0, went = 0;
	for (size_t i = 0; i < count; i++) {
		cr_assert(i == 0 || cpus[i].cpu > cpus[i - 1].cpu);
		stayed += percpu_cell(percpu, i, i).blocks;
		went += i + 1 < count ? percpu_cell(percpu, i, i + 1).blocks : 0;
	}
	cr_assert(stayed == 1800 && went == 1800);
	cr_assert(!topology_cpu(percpu_topology(percpu), 2097)->online);
	cr_assert_eq(cpus[count - 1].cpu, 2100);
	cr_assert_null(cachemodel_check(percpu_model(percpu, CACHE_PER_CPU)));
	percpu_free(percpu);
	trace_close(trace);
}
