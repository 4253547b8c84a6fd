#include "analyzer/percpu_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/command.h"
#include "analyzer/format.h"
#include "analyzer/percpu_advice.h"
#include "analyzer/percpu_counted.h"
#include "analyzer/percpu_rank.h"

#define SHARE_TEXT_BYTES 64

/* "12.3%", and in sample mode "12.3% (10.1% to 14.9%)"; "-" where nothing was freed. */
static const char *share_text(char *text, struct share share, bool exact)
{
	if (isnan(share.value))
		snprintf(text, SHARE_TEXT_BYTES, "-");
	else if (exact)
		snprintf(text, SHARE_TEXT_BYTES, "%.2f%%", 100 * share.value);
	else
		snprintf(text, SHARE_TEXT_BYTES, "%.2f%% (%.2f%% to %.2f%%)", 100 * share.value,
			 100 * share.low, 100 * share.high);
	return text;
}

static char *count_text(char *text, double count)
{
	return format_count(text, (uint64_t)llround(fmax(count, 0)));
}

/* ---- head ---------------------------------------------------------------------------------------------- */

static void print_agreement(FILE *file, const struct percpu *percpu)
{
	struct agreement agreement = percpu_agreement(percpu);
	char own[FORMAT_TEXT_BYTES], predicted[FORMAT_TEXT_BYTES];
	if (!agreement.known)
		return;
	fprintf(file, "  misses by the allocator's count: %s; by the model at that limit: %s: %s\n",
		count_text(own, (double)(agreement.underflows + agreement.overflows)),
		count_text(predicted, (double)(agreement.model_underflows + agreement.model_overflows)),
		agreement.agrees ? "they agree"
				 : "THEY DISAGREE: the model, or what the trace covers, is not the "
				   "allocator's case");
}

static void print_force(FILE *file, const struct percpu *percpu)
{
	struct percpu_force force = percpu_in_force(percpu);
	struct rseq_verdict rseq = rseq_judge(percpu_trace(percpu), percpu_rseq(percpu));
	fprintf(file, "  per-CPU caches: %s: %s\n  rseq: %s\n", percpu_state_name(force.state), force.reason,
		rseq.text);
	print_agreement(file, percpu);
}

static void print_shares(FILE *file, const struct percpu *percpu)
{
	const struct percpu_totals *totals = percpu_totals(percpu);
	const struct percpu_flow *flow = &totals->flow;
	const bool exact = percpu_is_exact(percpu);
	char blocks[SHARE_TEXT_BYTES], bytes[SHARE_TEXT_BYTES], count[FORMAT_TEXT_BYTES];
	fprintf(file, "  freed on another CPU: %s of blocks, %s of bytes\n",
		share_text(blocks, tally_share_blocks(&flow->remote_cpu, &flow->placed, exact), exact),
		share_text(bytes, tally_share_bytes(&flow->remote_cpu, &flow->placed, exact), exact));
	fprintf(file, "  freed by another thread: %s of blocks, %s of bytes\n",
		share_text(blocks, tally_share_blocks(&flow->remote_thread, &flow->frees, exact), exact),
		share_text(bytes, tally_share_bytes(&flow->remote_thread, &flow->frees, exact), exact));
	const struct percpu_migrations migrations = percpu_migrations(percpu);
	fprintf(file, "  migrations: %s%s, %.1f a second\n", migrations.complete ? "" : "at least ",
		format_count(count, migrations.count),
		(double)migrations.count / fmax(percpu_duration_s(percpu), 1e-9));
	if (totals->calls_without_cpu)
		fprintf(file, "  calls on a CPU that is not known: %s\n",
			format_count(count, totals->calls_without_cpu));
	if (totals->unknown_frees)
		fprintf(file, "  frees of blocks whose allocation is not in the trace, left out: %s\n",
			format_count(count, totals->unknown_frees));
}

/* ---- CPUs ---------------------------------------------------------------------------------------------- */

static void print_cpus(FILE *file, const struct percpu *percpu, size_t top)
{
	size_t count;
	const struct percpu_cpu *cpus = percpu_cpus(percpu, &count);
	const struct topology *topology = percpu_topology(percpu);
	const double seconds = fmax(percpu_duration_s(percpu), 1e-9);
	struct percpu_balance balance = percpu_balance(percpu);
	if (!count)
		return;
	fprintf(file, "\n%zu CPU%s with %sevents", count, count == 1 ? "" : "s",
		percpu_is_exact(percpu) ? "" : "sampled ");
	if (!isnan(balance.max_by_mean) && !percpu_counts(percpu)->count)
		fprintf(file, "; the busiest has %.2f times the mean of calls", balance.max_by_mean);
	fputs(" (a realloc is a free and an allocation)", file);
	fputs("\n   cpu     allocs/s      frees/s   from other CPUs  threads  migrations here  type\n", file);
	for (size_t i = 0; i < count && (!top || i < top); i++)
		fprintf(file, "%6" PRIu32 " %12.0f %12.0f %16.2f%% %8" PRIu32 " %16" PRIu64 "  %s\n",
			cpus[i].cpu, cpus[i].allocs.blocks / seconds, cpus[i].frees.blocks / seconds,
			cpus[i].frees.blocks > 0 ? 100 * cpus[i].frees_there.blocks / cpus[i].frees.blocks
						 : 0.0,
			cpus[i].threads, cpus[i].migrations, topology->types[cpus[i].type].name);
	if (top && count > top)
		fprintf(file, "  %zu more CPUs: --top N, 0 for all\n", count - top);
}

static void print_types(FILE *file, const struct percpu *percpu)
{
	const struct topology *topology = percpu_topology(percpu);
	const double seconds = fmax(percpu_duration_s(percpu), 1e-9);
	char count[FORMAT_TEXT_BYTES];
	if (!topology_is_mixed(topology))
		return;
	fprintf(file, "\nby type of CPU (migrations between types: %s%s)\n",
		percpu_is_exact(percpu) ? "" : "at least ",
		format_count(count, percpu_totals(percpu)->type_migrations));
	for (uint32_t i = 0; i < topology->type_count; i++) {
		struct percpu_type sum = percpu_type(percpu, i, 0);
		fprintf(file,
			"  %-32s %4" PRIu32 " of %" PRIu32 " CPUs used, %12.0f allocs/s, %12.0f frees/s\n",
			topology->types[i].name, sum.cpus, topology->types[i].cpus, sum.allocs / seconds,
			sum.frees / seconds);
	}
}

/* ---- threads and pairs --------------------------------------------------------------------------------- */

static void print_thread_name(FILE *file, const struct percpu *percpu, uint32_t index)
{
	size_t count;
	uint32_t number = percpu_threads(percpu, &count)[index].thread;
	const struct trace_thread *thread = trace_thread(percpu_trace(percpu), number);
	fprintf(file, "%" PRIu32, number);
	if (thread && thread->name[0]) {
		fputs(" ", file);
		print_safe(file, thread->name);
	}
}

static bool print_threads(FILE *file, const struct percpu *percpu, size_t top)
{
	size_t count, all;
	uint32_t *order = percpu_rank_threads(percpu, &count);
	const struct percpu_thread *threads = percpu_threads(percpu, &all);
	const struct trace *trace = percpu_trace(percpu);
	if (!order)
		return false;
	fputs("\nthreads, by calls\n", file);
	for (size_t i = 0; i < count && (!top || i < top); i++) {
		const struct percpu_thread *thread = &threads[order[i]];
		char allocs[FORMAT_TEXT_BYTES], frees[FORMAT_TEXT_BYTES];
		double seconds =
			trace_seconds(trace, thread->last_time) - trace_seconds(trace, thread->first_time);
		fputs("  ", file);
		print_thread_name(file, percpu, order[i]);
		fprintf(file, ": %s allocs, %s frees, %.1f migrations a second, %" PRIu32 " CPUs\n",
			count_text(allocs, thread->allocs.blocks), count_text(frees, thread->frees.blocks),
			seconds > 0 ? (double)thread->migrations / seconds : 0.0, thread->cpus);
	}
	free(order);
	return true;
}

static bool print_pairs(FILE *file, const struct percpu *percpu, size_t top)
{
	size_t count, all;
	uint32_t *order = percpu_rank_pairs(percpu, &count);
	const struct percpu_pair *pairs = percpu_pairs(percpu, &all);
	if (!order)
		return false;
	if (count)
		fputs("\nproducers and consumers, by blocks\n", file);
	for (size_t i = 0; i < count && (!top || i < top); i++) {
		const struct percpu_pair *pair = &pairs[order[i]];
		char blocks[FORMAT_TEXT_BYTES], bytes[FORMAT_TEXT_BYTES];
		fputs("  ", file);
		print_thread_name(file, percpu, pair->producer);
		fputs(" to ", file);
		print_thread_name(file, percpu, pair->consumer);
		fprintf(file, ": %s blocks, %s\n", count_text(blocks, pair->frees.blocks),
			format_bytes(bytes, pair->frees.bytes));
	}
	free(order);
	return true;
}

/* ---- sites and classes --------------------------------------------------------------------------------- */

static void print_stack(FILE *file, const struct percpu *percpu, struct symbols *symbols, uint32_t stack_id)
{
	struct trace_stack stack;
	struct symbol_stack names = {0};
	if (trace_stack(percpu_trace(percpu), stack_id, &stack))
		symbols_stack(symbols, &stack, &names);
	for (size_t i = 0; i < names.depth && i < 4; i++) {
		fputs(i ? " < " : "    ", file);
		print_safe(file, names.frames[i]->name);
	}
	fputs(names.depth ? "\n" : "    (no stack recorded)\n", file);
	symbol_stack_free(&names);
}

static bool print_sites(FILE *file, const struct percpu *percpu, struct symbols *symbols, size_t top)
{
	size_t count, all;
	uint32_t *order = percpu_rank_sites(percpu, &count);
	const struct percpu_site *sites = percpu_sites(percpu, &all);
	const bool exact = percpu_is_exact(percpu);
	if (!order)
		return false;
	if (percpu_totals(percpu)->flow.remote_cpu.samples ||
	    percpu_totals(percpu)->flow.remote_thread.samples)
		fputs("\nsites, by remote frees\n", file);
	for (size_t i = 0; i < count && (!top || i < top); i++) {
		const struct percpu_flow *flow = &sites[order[i]].flow;
		char frees[FORMAT_TEXT_BYTES], cpu[SHARE_TEXT_BYTES], thread[SHARE_TEXT_BYTES];
		if (!flow->remote_cpu.samples && !flow->remote_thread.samples)
			break;
		fprintf(file, "  %s frees, %s on another CPU, %s by another thread\n",
			count_text(frees, flow->frees.blocks),
			share_text(cpu, tally_share_blocks(&flow->remote_cpu, &flow->placed, exact), exact),
			share_text(thread, tally_share_blocks(&flow->remote_thread, &flow->frees, exact),
				   exact));
		print_stack(file, percpu, symbols, sites[order[i]].stack_id);
	}
	free(order);
	return true;
}

static void print_class(FILE *file, const struct percpu *percpu, unsigned class)
{
	const enum cache_design design = percpu_class_design(percpu);
	const struct percpu_flow *flow = percpu_class(percpu, class);
	const struct reuse *reuse = design == CACHE_PER_CPU ? percpu_reuse(percpu) : NULL;
	const uint32_t bytes = cache_classes(design)->classes[class].bytes;
	char allocs[FORMAT_TEXT_BYTES], frees[FORMAT_TEXT_BYTES], half[FORMAT_TEXT_BYTES],
		most[FORMAT_TEXT_BYTES];
	fprintf(file, "%8" PRIu32 " %14s %14s %9.2f%%", bytes, count_text(allocs, flow->allocs.blocks),
		count_text(frees, flow->frees.blocks),
		flow->placed.blocks > 0 ? 100 * flow->remote_cpu.blocks / flow->placed.blocks : 0.0);
	if (reuse && reuse_quantile(reuse_class(reuse, class), 0.5))
		fprintf(file, " %12s %12s",
			format_bytes(half, (double)bytes * reuse_quantile(reuse_class(reuse, class), 0.5)),
			format_bytes(most, (double)bytes * reuse_quantile(reuse_class(reuse, class), 0.99)));
	fputs("\n", file);
}

static void print_classes(FILE *file, const struct percpu *percpu)
{
	const enum cache_design design = percpu_class_design(percpu);
	if (!percpu_totals(percpu)->flow.allocs.samples)
		return;
	fprintf(file,
		"\nsize classes of %s\n   bytes         allocs          frees  other CPU   reuse, half       "
		"   99%%\n",
		design == CACHE_PER_CPU ? "google/tcmalloc" : "gperftools");
	for (unsigned i = 1; i < cache_classes(design)->count; i++)
		if (percpu_class(percpu, i)->allocs.samples || percpu_class(percpu, i)->frees.samples)
			print_class(file, percpu, i);
}

/* ---- what if ------------------------------------------------------------------------------------------- */

static void print_lane(FILE *file, const struct percpu *percpu, enum cache_design design, size_t lane,
		       const struct advice *advice)
{
	const struct percpu_result result = percpu_result(percpu, design, lane);
	char capacity[FORMAT_TEXT_BYTES], under[FORMAT_TEXT_BYTES], over[FORMAT_TEXT_BYTES],
		objects[FORMAT_TEXT_BYTES];
	fprintf(file, "%10s %9.3f%% %14s %14s %16s",
		format_bytes(capacity, (double)result.counts.capacity_bytes), 100 * result.hit_ratio,
		format_count(under, result.counts.underflows), format_count(over, result.counts.overflows),
		format_count(objects,
			     result.counts.central_fetched_objects + result.counts.central_released_objects));
	if (percpu_is_sampled(percpu))
		fprintf(file, "  (%.3f%% to %.3f%%)", 100 * result.low, 100 * result.high);
	fprintf(file, "%s%s\n", lane == advice->knee ? "  knee" : "",
		lane == advice->enough ? "  recommended" : "");
}

static void print_advice(FILE *file, const struct percpu *percpu, enum cache_design design,
			 const struct advice *advice)
{
	char cost[FORMAT_TEXT_BYTES], held[FORMAT_TEXT_BYTES], caches[FORMAT_TEXT_BYTES];
	if (advice->enough == ADVICE_NONE)
		return;
	uint64_t bytes = percpu_result(percpu, design, advice->enough).counts.capacity_bytes;
	fprintf(file, "  recommended: %s=%" PRIu64 " (mongod: %s); the caches then held %s at most, of %s",
		advice->variable, bytes, advice->setting, format_bytes(held, advice->cached_bytes),
		format_bytes(cost, advice->cost_bytes));
	fprintf(file, design == CACHE_PER_CPU ? " that %s CPU%s may hold\n" : " for all of %s thread%s\n",
		format_count(caches, advice->caches), advice->caches == 1 ? "" : "s");
}

static void print_design(FILE *file, const struct percpu *percpu, enum cache_design design)
{
	const struct cachemodel *model = percpu_model(percpu, design);
	if (!model)
		return;
	struct advice advice = advise(percpu, design);
	if (isnan(percpu_result(percpu, design, 0).hit_ratio)) {
		fprintf(file, "\nwhat if: no calls that pass %s caches were simulated\n",
			design == CACHE_PER_CPU ? "per-CPU" : "per-thread");
		return;
	}
	fprintf(file,
		"\nwhat if: %s\n  capacity       hits     underflows      overflows  central objects%s\n",
		design == CACHE_PER_CPU ? "per-CPU caches as google/tcmalloc's, capacity of one CPU"
					: "per-thread caches as gperftools', capacity of all threads",
		percpu_is_sampled(percpu) ? "  (95% interval of hits; windows of the trace)" : "");
	for (size_t i = 0; i < cachemodel_lanes(model); i++)
		print_lane(file, percpu, design, i, &advice);
	print_advice(file, percpu, design, &advice);
}

static void print_what_if(FILE *file, const struct percpu *percpu)
{
	if (!percpu_is_exact(percpu))
		fputs("\nwhat if: needs a trace in full mode (MTRACE_MODE=full): caches move batches of "
		      "blocks, of which\n"
		      "samples say nothing\n",
		      file);
	for (unsigned d = 0; d < CACHE_DESIGNS; d++)
		print_design(file, percpu, (enum cache_design)d);
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

void percpu_print_summary(FILE *file, const struct percpu *percpu)
{
	print_force(file, percpu);
	print_shares(file, percpu);
	for (unsigned d = 0; d < CACHE_DESIGNS; d++)
		if (percpu_model(percpu, (enum cache_design)d)) {
			struct advice advice = advise(percpu, (enum cache_design)d);
			print_advice(file, percpu, (enum cache_design)d, &advice);
		}
}

bool percpu_print(FILE *file, const struct percpu *percpu, struct symbols *symbols, size_t top)
{
	print_safe(file, trace_info(percpu_trace(percpu))->path);
	fputs(percpu_is_exact(percpu) ? ": full mode, exact\n"
				      : ": sample mode, estimates with 95% intervals\n",
	      file);
	print_force(file, percpu);
	print_shares(file, percpu);
	percpu_counted_print(file, percpu, top);
	print_cpus(file, percpu, top);
	print_types(file, percpu);
	bool good = print_threads(file, percpu, top) && print_pairs(file, percpu, top) &&
		    print_sites(file, percpu, symbols, top);
	print_classes(file, percpu);
	print_what_if(file, percpu);
	return good;
}
