/* Size steps, and counts by CPU out of a trace. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "analyzer/cpucounts.h"
#include "tests/unit/support_trace.h"

/* ---- size steps ---------------------------------------------------------------------------------------- */

Test(sizestep, steps_meet_without_gap_or_overlap)
{
	cr_assert_eq(size_step_first(0), 0);
	for (unsigned step = 0; step < SIZE_STEPS; step++) {
		cr_assert_eq(size_step(size_step_first(step)), step, "%u", step);
		cr_assert_eq(size_step(size_step_last(step)), step, "%u", step);
		if (step)
			cr_assert_eq(size_step_first(step), size_step_last(step - 1) + 1);
	}
	cr_assert_eq(size_step_last(SIZE_STEPS - 1), UINT64_MAX);
}

Test(sizestep, ends_are_the_ones_that_the_format_lists)
{
	static const struct {
		uint64_t bytes;
		unsigned step;
	} table[] = {{0, 0},   {2, 0},	 {3, 1},   {16, 7},  {17, 8},	   {20, 8},	{21, 9},
		     {32, 11}, {33, 12}, {40, 12}, {64, 15}, {262144, 63}, {262145, 64}};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		cr_assert_eq(size_step(table[i].bytes), table[i].step, "%lu", table[i].bytes);
}

/* ---- counts -------------------------------------------------------------------------------------------- */

static uint8_t payload[65536];
static size_t used;

static void begin_block(uint64_t time, uint32_t cpus, uint32_t flags)
{
	const struct cpus_header header = {.time = time, .end_time = time + 1, .cpus = cpus, .flags = flags};
	memcpy(payload, &header, sizeof header);
	used = sizeof header;
}

static void put_cpu(uint32_t cpu, uint64_t allocs, uint64_t frees, uint64_t reallocs, uint32_t steps)
{
	const struct cpu_record record = {.cpu = cpu,
					  .steps = steps,
					  .calls = {[CPU_ALLOCS] = allocs,
						    [CPU_FREES] = frees,
						    [CPU_REALLOCS] = reallocs,
						    [CPU_ARRIVALS] = 3}};
	memcpy(payload + used, &record, sizeof record);
	used += sizeof record;
	for (uint32_t i = 0; i < steps; i++) {
		const struct step_count step = {allocs * (i + 1), allocs * 100};
		memcpy(payload + used, &step, sizeof step);
		used += sizeof step;
	}
}

static void put_block(struct support_trace *trace)
{
	support_block(trace, BLOCK_CPUS, payload, (uint32_t)used);
}

static struct trace *read_back(struct support_trace *writer, const char *path, struct cpu_counts *counts)
{
	struct error error = {0};
	support_end(writer, 1000000);
	struct trace *trace = trace_open(path, &error);
	cr_assert(trace, "%s", error.text);
	cr_assert(cpu_counts_read(counts, trace, &error), "%s", error.text);
	return trace;
}

static void done(struct trace *trace, struct cpu_counts *counts)
{
	cpu_counts_free(counts);
	trace_close(trace);
}

Test(cpucounts, the_latest_record_of_a_cpu_counts)
{
	struct cpu_counts counts = {0};
	const char *path = support_path("latest.mtr");
	struct support_trace *writer = support_open(path, &(struct support_options){0});
	begin_block(SUPPORT_START_TIME + 10, 2, CPUS_LAST);
	put_cpu(300, 10, 5, 0, 2);
	put_cpu(EVENT_CPU_UNKNOWN, 1, 0, 0, 0);
	put_block(writer);
	begin_block(SUPPORT_START_TIME + 20, 2, CPUS_LAST | CPUS_EXACT);
	put_cpu(300, 30, 6, 2, 3);
	put_cpu(0, 10, 0, 0, 1);
	put_block(writer);
	struct trace *trace = read_back(writer, path, &counts);
	cr_assert_eq(counts.count, 3);
	cr_assert(counts.exact && counts.time == SUPPORT_START_TIME + 20);
	cr_assert(counts.cpus[0].cpu == 0 && counts.cpus[1].cpu == 300 &&
		  counts.cpus[2].cpu == EVENT_CPU_UNKNOWN);
	cr_assert_eq(counts.cpus[1].calls[CPU_ALLOCS], 30);
	cr_assert_eq(counts.cpus[1].steps[2].allocs, 90);
	cr_assert_eq(cpu_count_calls(&counts.cpus[1]), 40); /* 30 + 6 + 2 * 2 */
	const struct cpu_count sum = cpu_counts_sum(&counts);
	cr_assert(sum.calls[CPU_ALLOCS] == 41 && sum.steps[0].allocs == 40 && sum.steps[0].bytes == 4000);
	/* 40 and 10: the unknown CPU is none */
	cr_assert_float_eq(cpu_counts_balance(&counts).max_by_mean, 1.6, 1e-12);
	cr_assert_float_eq(cpu_counts_balance(&counts).variation, 0.6, 1e-12);
	cr_assert_float_eq(cpu_counts_step_balance(&counts, 0).max_by_mean, 1.5, 1e-12);
	cr_assert(isnan(cpu_counts_step_balance(&counts, 7).max_by_mean));
	done(trace, &counts);
}

Test(cpucounts, damaged_blocks_are_passed_over)
{
	struct cpu_counts counts = {0};
	size_t damages;
	const char *path = support_path("damaged.mtr");
	struct support_trace *writer = support_open(path, &(struct support_options){0});
	begin_block(SUPPORT_START_TIME + 10, 1, CPUS_LAST | CPUS_EXACT);
	put_cpu(4, 10, 5, 0, 2);
	put_block(writer);
	begin_block(SUPPORT_START_TIME + 20, 2, CPUS_LAST | CPUS_EXACT); /* one is missing */
	put_cpu(4, 99, 5, 0, 2);
	put_block(writer);
	begin_block(SUPPORT_START_TIME + 30, 1, CPUS_LAST | CPUS_EXACT);
	put_cpu(4, 99, 5, 0, SIZE_STEPS + 1); /* more steps than there are */
	put_block(writer);
	support_block(writer, BLOCK_CPUS, payload, sizeof(struct cpus_header) - 1);
	struct trace *trace = read_back(writer, path, &counts);
	cr_assert_eq(counts.count, 1);
	cr_assert(counts.cpus[0].calls[CPU_ALLOCS] == 10 && !counts.exact);
	trace_damage(trace, &damages);
	cr_assert_eq(damages, 3);
	done(trace, &counts);
}

Test(cpucounts, a_trace_without_them_has_none)
{
	struct cpu_counts counts = {0};
	const char *path = support_path("none.mtr");
	struct trace *trace = read_back(support_open(path, &(struct support_options){0}), path, &counts);
	cr_assert(counts.count == 0 && isnan(cpu_counts_balance(&counts).max_by_mean));
	done(trace, &counts);
}
