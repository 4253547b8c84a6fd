#include <criterion/criterion.h>
#include <math.h>

#include "analyzer/percpu.h"
#include "analyzer/percpu_advice.h"
#include "analyzer/percpu_rank.h"
#include "analyzer/windows.h"
#include "tests/unit/support_trace.h"

#define SECOND UINT64_C(1000000000)

static struct support_trace *writer;
static uint64_t now;

static void put(uint8_t kind, uint32_t thread, uint32_t cpu, uint64_t address, uint64_t bytes)
{
	now += 100;
	support_event(writer, &(struct trace_event){.kind = kind,
						    .time = SUPPORT_START_TIME + now,
						    .end_time = SUPPORT_START_TIME + now,
						    .thread = thread,
						    .cpu = cpu,
						    .address = address,
						    .size_bytes = bytes});
}

static void begin(const char *name, const struct support_options *options)
{
	now = 0;
	writer = support_open(support_path(name), options);
}

static struct percpu *finish(const char *name, const struct percpu_options *options, struct trace **trace)
{
	static const struct percpu_options none;
	struct error error = {0};
	support_end(writer, now + SECOND);
	*trace = trace_open(support_path(name), &error);
	cr_assert(*trace, "%s", error.text);
	struct percpu *percpu = percpu_read(*trace, options ? options : &none, &error);
	cr_assert(percpu, "%s", error.text);
	return percpu;
}

static void check(const struct percpu *percpu, enum cache_design design)
{
	const struct cachemodel *model = percpu_model(percpu, design);
	const char *wrong = model ? cachemodel_check(model) : NULL;
	cr_assert(!wrong, "%s", wrong);
}

static void done(struct percpu *percpu, struct trace *trace)
{
	check(percpu, CACHE_PER_CPU);
	check(percpu, CACHE_PER_THREAD);
	percpu_free(percpu);
	trace_close(trace);
}

static const struct support_options full = {.full = true};

/* ---- where blocks go ----------------------------------------------------------------------------------- */

Test(percpu, a_producer_and_a_consumer_are_told_apart_exactly)
{
	struct trace *trace;
	size_t count;
	begin("pair.mtr", &full);
	for (uint64_t i = 0; i < 1000; i++) {
		put(EVENT_MALLOC, 1, 0, 0x10000 + 64 * i, 48);
		bool handed = i % 4 == 3; /* a quarter */
		put(EVENT_FREE, handed ? 2 : 1, handed ? 1 : 0, 0x10000 + 64 * i, 0);
	}
	struct percpu *percpu = finish("pair.mtr", NULL, &trace);
	const struct percpu_flow *flow = &percpu_totals(percpu)->flow;
	struct share cpu = tally_share_blocks(&flow->remote_cpu, &flow->placed, true);
	struct share thread = tally_share_bytes(&flow->remote_thread, &flow->frees, true);
	cr_assert(cpu.value == 0.25 && cpu.low == 0.25 && cpu.high == 0.25);
	cr_assert(thread.value == 0.25);
	cr_assert_eq(percpu_cell(percpu, 0, 0).blocks, 750);
	cr_assert_eq(percpu_cell(percpu, 0, 1).blocks, 250);
	cr_assert_eq(percpu_cell(percpu, 0, 1).bytes, 250 * 48);
	cr_assert_eq(percpu_cell(percpu, 1, 0).blocks + percpu_cell(percpu, 1, 1).blocks, 0);
	const struct percpu_pair *pairs = percpu_pairs(percpu, &count);
	cr_assert_eq(count, 1);
	cr_assert_eq(pairs[0].frees.blocks, 250);
	cr_assert_eq(percpu_totals(percpu)->migrations, 0);
	cr_assert_eq(
		percpu_class(percpu, cache_class_of(cache_classes(CACHE_PER_CPU), 48))->remote_cpu.blocks,
		250);
	done(percpu, trace);
}

Test(percpu, migrations_are_counted_by_thread_and_cpu)
{
	struct trace *trace;
	size_t count;
	begin("migrations.mtr", &full);
	for (uint32_t i = 0; i < 30; i++) /* 0 1 2 0 1 2 ... */
		put(EVENT_MALLOC, 1, i % 3, 0x10000 + 64 * i, 8);
	for (uint32_t i = 0; i < 10; i++)
		put(EVENT_MALLOC, 2, 7, 0x20000 + 64 * i, 8);
	put(EVENT_MALLOC, 2, EVENT_CPU_UNKNOWN, 0x30000, 8); /* says nothing */
	put(EVENT_MALLOC, 2, 7, 0x30040, 8);
	struct percpu *percpu = finish("migrations.mtr", NULL, &trace);
	cr_assert_eq(percpu_totals(percpu)->migrations, 29);
	cr_assert_eq(percpu_totals(percpu)->calls_without_cpu, 1);
	const struct percpu_thread *threads = percpu_threads(percpu, &count);
	cr_assert(threads[0].migrations == 29 && threads[0].cpus == 3);
	cr_assert(threads[1].migrations == 0 && threads[1].cpus == 1);
	const struct percpu_cpu *cpus = percpu_cpus(percpu, &count);
	cr_assert_eq(count, 4);
	cr_assert(cpus[3].cpu == 7 && cpus[3].threads == 1 && cpus[3].allocs.blocks == 11);
	cr_assert_eq(cpus[0].migrations + cpus[1].migrations + cpus[2].migrations, 29);
	done(percpu, trace);
}

/* A block that is handed over and freed at the same moment can come with its free first. */
Test(percpu, a_free_that_comes_before_its_allocation_finds_it)
{
	struct trace *trace;
	begin("early.mtr", &full);
	put(EVENT_FREE, 2, 1, 0x10000, 0);
	put(EVENT_MALLOC, 1, 0, 0x10000, 32);
	put(EVENT_MALLOC, 1, 0, 0x20000,
	    32); /* the free of this one comes after the next owner's allocation */
	put(EVENT_MALLOC, 3, 2, 0x20000, 32);
	put(EVENT_FREE, 2, 1, 0x20000, 0);
	now += 10 * SECOND;
	put(EVENT_FREE, 3, 2, 0x20000, 0);
	put(EVENT_FREE, 3, 2, 0x90000, 0); /* nobody's */
	const struct percpu_options simulate = {.capacities = {{0, 4096}, {1 << 20}},
						.capacity_count = {2, 1}};
	struct percpu *percpu = finish("early.mtr", &simulate, &trace);
	const struct percpu_totals *totals = percpu_totals(percpu);
	cr_assert_eq(totals->flow.frees.blocks, 3);
	cr_assert_eq(totals->flow.remote_cpu.blocks, 2);
	cr_assert_eq(totals->unknown_frees, 1);
	cr_assert_eq(percpu_cell(percpu, 0, 1).blocks, 2);
	cr_assert_eq(cachemodel_frees(percpu_model(percpu, CACHE_PER_CPU)), 3);
	done(percpu, trace);
}

Test(percpu, a_realloc_frees_and_allocates_where_it_runs)
{
	struct trace *trace;
	begin("realloc.mtr", &full);
	put(EVENT_MALLOC, 1, 0, 0x10000, 1000);
	const uint64_t sizes[] = {1020, 600, 2000}; /* the first two stay in the class of 1024 */
	for (unsigned i = 0; i < 3; i++) {
		now += 100;
		support_event(writer, &(struct trace_event){.kind = EVENT_REALLOC,
							    .time = SUPPORT_START_TIME + now,
							    .end_time = SUPPORT_START_TIME + now + 50,
							    .thread = 2,
							    .cpu = 1,
							    .old_address = 0x10000 + 0x1000 * i,
							    .address = 0x11000 + 0x1000 * i,
							    .size_bytes = sizes[i]});
	}
	put(EVENT_FREE, 2, 1, 0x13000, 0);
	const struct percpu_options simulate = {.capacities = {{4096}, {1 << 20}}, .capacity_count = {1, 1}};
	struct percpu *percpu = finish("realloc.mtr", &simulate, &trace);
	const struct percpu_flow *flow = &percpu_totals(percpu)->flow;
	cr_assert_eq(flow->frees.blocks, 4);
	cr_assert_eq(flow->allocs.blocks, 4);
	cr_assert_eq(flow->remote_cpu.blocks, 1);
	for (unsigned d = 0; d < CACHE_DESIGNS; d++) {
		cr_assert_eq(cachemodel_allocs(percpu_model(percpu, (enum cache_design)d)), 2);
		cr_assert_eq(cachemodel_frees(percpu_model(percpu, (enum cache_design)d)), 2);
	}
	done(percpu, trace);
}

/* ---- sample mode --------------------------------------------------------------------------------------- */

/* 4 KiB blocks at a mean of 64 KiB: each sample stands for 16.5 blocks. */
Test(percpu, samples_are_weighted_and_shares_have_intervals)
{
	struct trace *trace;
	const struct support_options sample = {.sample_bytes = 65536};
	begin("sample.mtr", &sample);
	for (uint64_t i = 0; i < 400; i++) {
		put(EVENT_MALLOC, 1, 0, 0x100000 + 4096 * i, 4096);
		put(EVENT_FREE, i % 5 ? 1 : 2, i % 5 ? 0 : 1, 0x100000 + 4096 * i, 0);
	}
	const struct percpu_options simulate = {.capacities = {{4096}}, .capacity_count = {1}};
	struct percpu *percpu = finish("sample.mtr", &simulate, &trace);
	const struct percpu_flow *flow = &percpu_totals(percpu)->flow;
	double weight = 1 / (1 - exp(-1.0 / 16));
	cr_assert_float_eq(flow->allocs.blocks, 400 * weight, 1e-6);
	struct share cpu = tally_share_blocks(&flow->remote_cpu, &flow->placed, false);
	cr_assert_float_eq(cpu.value, 0.2, 1e-12);
	/* Clopper and Pearson of 80 in 400 */
	cr_assert_float_eq(cpu.low, 0.16190, 1e-4);
	cr_assert_float_eq(cpu.high, 0.24261, 1e-4);
	cr_assert_null(percpu_model(percpu, CACHE_PER_CPU));
	cr_assert_null(percpu_reuse(percpu));
	done(percpu, trace);
}

/* ---- what if ------------------------------------------------------------------------------------------- */

Test(percpu, capacity_0_is_one_refill_an_allocation)
{
	struct trace *trace;
	begin("zero.mtr", &full);
	for (uint64_t i = 0; i < 5000; i++) {
		put(EVENT_NEW, 1, (uint32_t)i % 2, 0x10000 + 64 * i, 48 + i % 100);
		put(EVENT_DELETE, 1, (uint32_t)i % 2, 0x10000 + 64 * i, 0);
	}
	const struct percpu_options simulate = {.capacities = {{0, 1 << 20}}, .capacity_count = {2}};
	struct percpu *percpu = finish("zero.mtr", &simulate, &trace);
	struct percpu_result zero = percpu_result(percpu, CACHE_PER_CPU, 0);
	cr_assert_eq(zero.counts.underflows, 5000);
	cr_assert_eq(zero.counts.overflows, 5000);
	cr_assert_eq(zero.hit_ratio, 0);
	struct advice advice = advise(percpu, CACHE_PER_CPU);
	cr_assert_eq(advice.enough, 1);
	cr_assert_eq(advice.caches, 2);
	done(percpu, trace);
}

Test(percpu, windows_estimate_what_the_whole_trace_gives)
{
	struct trace *trace;
	const struct support_options large = {
		.full = true, .compressed = true, .chunk_bytes = CHUNK_LARGE_BYTES};
	struct percpu_options simulate = {.capacities = {{0, 16384}, {1 << 20}}, .capacity_count = {2, 1}};
	begin("windows.mtr", &large);
	uint64_t state = 1, calls = 0;
	while (calls < 8 * WINDOW_CALLS) { /* bursts of up to 255 blocks */
		state = state * 6364136223846793005u + 1442695040888963407u;
		const uint64_t burst = state >> 56;
		for (uint64_t i = 0; i < burst; i++)
			put(EVENT_MALLOC, 1, 0, 0x100000 + 64 * i, 16 + (state >> 40) % 48);
		for (uint64_t i = 0; i < burst; i++)
			put(EVENT_FREE, 1, 0, 0x100000 + 64 * i, 0);
		calls += 2 * burst;
		if (state >> 32 & 127)
			continue;
		support_snapshot(writer, now, NULL);
	}
	struct percpu *whole = finish("windows.mtr", &simulate, &trace);
	simulate.window_every = 3;
	struct error error = {0};
	struct percpu *part = percpu_read(trace, &simulate, &error);
	cr_assert(part && percpu_is_sampled(part));
	for (size_t lane = 0; lane < 2; lane++) {
		struct percpu_result exact = percpu_result(whole, CACHE_PER_CPU, lane);
		struct percpu_result estimate = percpu_result(part, CACHE_PER_CPU, lane);
		cr_assert_eq(exact.allocs, estimate.allocs);
		cr_assert(estimate.low <= exact.hit_ratio && exact.hit_ratio <= estimate.high,
			  "%zu: %.6f in %.6f .. %.6f", lane, exact.hit_ratio, estimate.low, estimate.high);
		cr_assert_float_eq(estimate.hit_ratio, exact.hit_ratio, 0.002);
		cr_assert_float_eq((double)estimate.counts.underflows, (double)exact.counts.underflows,
				   0.06 * (double)exact.counts.underflows);
	}
	done(part, NULL);
	done(whole, trace);
}
