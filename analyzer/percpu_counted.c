#include "analyzer/percpu_counted.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/format.h"
#include "analyzer/info.h"

/* Seconds that were counted: counts begin with the trace, whatever a flight recorder has kept of it. */
static double seconds_of(const struct percpu *percpu, const struct cpu_counts *counts)
{
	return fmax(trace_seconds(percpu_trace(percpu), counts->time), 0);
}

static double rate(uint64_t count, double seconds)
{
	return seconds > 0 ? (double)count / seconds : NAN;
}

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static void put_calls(json_t *object, const struct cpu_count *count, double seconds)
{
	static const char *const names[CPU_CALLS] = {"allocs",	      "alloc_bytes", "reallocs",
						     "realloc_bytes", "frees",	     "migrations"};
	for (unsigned i = 0; i < CPU_CALLS; i++)
		json_put_count(object, names[i], count->calls[i]);
	json_put_real(object, "allocs_per_s", rate(count->calls[CPU_ALLOCS], seconds));
	json_put_real(object, "frees_per_s", rate(count->calls[CPU_FREES], seconds));
	json_put_real(object, "migrations_per_s", rate(count->calls[CPU_ARRIVALS], seconds));
}

/* Steps with an allocation; with their balance where `counts` is given. */
static json_t *sizes_json(const struct cpu_count *count, const struct cpu_counts *counts, double seconds)
{
	json_t *array = json_array();
	for (unsigned step = 0; step < SIZE_STEPS; step++) {
		const struct step_count *found = &count->steps[step];
		if (!found->allocs)
			continue;
		json_t *object = json_object();
		json_put_count(object, "size_bytes_min", size_step_first(step));
		json_put_count(object, "size_bytes_max", size_step_last(step));
		json_put_count(object, "allocs", found->allocs);
		json_put_count(object, "alloc_bytes", found->bytes);
		json_put_real(object, "allocs_per_s", rate(found->allocs, seconds));
		if (counts)
			json_put_real(object, "balance_max_by_mean",
				      cpu_counts_step_balance(counts, step).max_by_mean);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *cpus_json(const struct cpu_counts *counts, double seconds)
{
	json_t *array = json_array();
	for (size_t i = 0; i < counts->count; i++) {
		const struct cpu_count *count = &counts->cpus[i];
		json_t *object = json_object();
		json_put(object, "cpu", count->cpu == EVENT_CPU_UNKNOWN ? NULL : json_count(count->cpu));
		put_calls(object, count, seconds);
		json_put(object, "sizes", sizes_json(count, NULL, seconds));
		json_array_append_new(array, object);
	}
	return array;
}

/* What the trace counted and no CPU has; NULL where that is not known. */
static json_t *elsewhere(uint64_t all, uint64_t placed, bool known)
{
	return known ? json_count(all > placed ? all - placed : 0) : NULL;
}

json_t *percpu_counted_json(const struct percpu *percpu)
{
	const struct cpu_counts *counts = percpu_counts(percpu);
	if (!counts->count)
		return NULL;
	const struct trace_info *info = trace_info(percpu_trace(percpu));
	const double seconds = seconds_of(percpu, counts);
	const struct cpu_count sum = cpu_counts_sum(counts);
	json_t *object = json_object();
	json_put_bool(object, "exact", counts->exact);
	json_put_real(object, "duration_s", seconds);
	put_calls(object, &sum, seconds);
	json_put(object, "allocs_elsewhere",
		 elsewhere(info_allocs(info->counters), sum.calls[CPU_ALLOCS], info->counters_known));
	json_put(object, "frees_elsewhere",
		 elsewhere(info_frees(info->counters), sum.calls[CPU_FREES], info->counters_known));
	json_put(object, "cpus", cpus_json(counts, seconds));
	json_put(object, "sizes", sizes_json(&sum, counts, seconds));
	return object;
}

/* ---- text ---------------------------------------------------------------------------------------------- */

static void print_cpus(FILE *file, const struct cpu_counts *counts, double seconds, size_t top)
{
	const struct cpu_balance balance = cpu_counts_balance(counts);
	fprintf(file, "\ncounted by CPU%s", counts->exact ? ", exact" : "");
	if (!isnan(balance.max_by_mean))
		fprintf(file, "; the busiest has %.2f times the mean of calls", balance.max_by_mean);
	fputs("\n     cpu     allocs/s      frees/s   reallocs/s      MiB/s  migrations here\n", file);
	for (size_t i = 0; i < counts->count && (!top || i < top); i++) {
		const struct cpu_count *count = &counts->cpus[i];
		char cpu[16] = "unknown";
		if (count->cpu != EVENT_CPU_UNKNOWN)
			snprintf(cpu, sizeof cpu, "%" PRIu32, count->cpu);
		fprintf(file, "%8s %12.0f %12.0f %12.0f %10.1f %16" PRIu64 "\n", cpu,
			rate(count->calls[CPU_ALLOCS], seconds), rate(count->calls[CPU_FREES], seconds),
			rate(count->calls[CPU_REALLOCS], seconds),
			rate(count->calls[CPU_ALLOC_BYTES], seconds) / (1 << 20), count->calls[CPU_ARRIVALS]);
	}
	if (top && counts->count > top)
		fprintf(file, "  %zu more CPUs: --top N, 0 for all\n", counts->count - top);
}

struct step_rank {
	uint64_t allocs;
	unsigned step;
};

static int by_allocs(const void *a, const void *b)
{
	const struct step_rank *left = a, *right = b;
	if (left->allocs != right->allocs)
		return left->allocs < right->allocs ? 1 : -1;
	return (left->step > right->step) - (left->step < right->step);
}

static void print_sizes(FILE *file, const struct cpu_counts *counts, double seconds, size_t top)
{
	const struct cpu_count sum = cpu_counts_sum(counts);
	struct step_rank order[SIZE_STEPS];
	for (unsigned i = 0; i < SIZE_STEPS; i++)
		order[i] = (struct step_rank){sum.steps[i].allocs, i};
	qsort(order, SIZE_STEPS, sizeof *order, by_allocs);
	fputs("\ncounted by size, the most frequent first\n         bytes asked for       allocs/s      "
	      "MiB/s  busiest CPU by mean\n",
	      file);
	for (unsigned i = 0; i < SIZE_STEPS && order[i].allocs && (!top || i < top); i++) {
		const unsigned step = order[i].step;
		char first[FORMAT_TEXT_BYTES], last[FORMAT_TEXT_BYTES];
		fprintf(file, "%10s to %10s %14.0f %10.1f %20.2f\n",
			format_count(first, size_step_first(step)), format_count(last, size_step_last(step)),
			rate(order[i].allocs, seconds), rate(sum.steps[step].bytes, seconds) / (1 << 20),
			cpu_counts_step_balance(counts, step).max_by_mean);
	}
}

void percpu_counted_print(FILE *file, const struct percpu *percpu, size_t top)
{
	const struct cpu_counts *counts = percpu_counts(percpu);
	if (!counts->count)
		return;
	const double seconds = seconds_of(percpu, counts);
	print_cpus(file, counts, seconds, top);
	print_sizes(file, counts, seconds, top);
}
