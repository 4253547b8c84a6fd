#include "analyzer/cpucounts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/blockcursor.h"

/* ---- reading ------------------------------------------------------------------------------------------- */

/* Bytes of the record at `at` with its steps; 0: it is not whole, or no record. */
static size_t record_bytes(const uint8_t *at, size_t left, struct cpu_record *record)
{
	if (left < sizeof *record)
		return 0;
	memcpy(record, at, sizeof *record);
	const size_t bytes = sizeof *record + record->steps * sizeof(struct step_count);
	return record->steps <= SIZE_STEPS && bytes <= left ? bytes : 0;
}

static bool is_whole(const struct cpus_header *header, const uint8_t *records, size_t left)
{
	struct cpu_record record;
	for (uint32_t i = 0; i < header->cpus; i++) {
		size_t bytes = record_bytes(records, left, &record);
		if (!bytes)
			return false;
		records += bytes;
		left -= bytes;
	}
	return header->end_time >= header->time;
}

/* The place of a CPU, made where it has none. NULL when out of memory. */
static struct cpu_count *place(struct cpu_counts *counts, uint32_t cpu)
{
	size_t at = 0;
	while (at < counts->count && counts->cpus[at].cpu < cpu)
		at++;
	if (at < counts->count && counts->cpus[at].cpu == cpu)
		return &counts->cpus[at];
	if (!array_reserve(&counts->cpus, &counts->capacity, counts->count + 1, sizeof *counts->cpus))
		return NULL;
	memmove(&counts->cpus[at + 1], &counts->cpus[at], (counts->count - at) * sizeof *counts->cpus);
	counts->count++;
	return &counts->cpus[at];
}

static enum parse_result parse(void *context, const uint8_t *payload, size_t bytes)
{
	struct cpu_counts *counts = context;
	struct cpus_header header;
	struct cpu_record record = {0};
	if (bytes < sizeof header)
		return PARSE_BAD;
	memcpy(&header, payload, sizeof header);
	const uint8_t *at = payload + sizeof header;
	size_t left = bytes - sizeof header;
	if (!is_whole(&header, at, left))
		return PARSE_BAD;
	for (uint32_t i = 0; i < header.cpus; i++) {
		const size_t taken = record_bytes(at, left, &record);
		struct cpu_count *count = place(counts, record.cpu);
		if (!count)
			return PARSE_NO_MEMORY;
		*count = (struct cpu_count){.cpu = record.cpu};
		memcpy(count->calls, record.calls, sizeof count->calls);
		memcpy(count->steps, at + sizeof record, taken - sizeof record);
		at += taken;
		left -= taken;
	}
	counts->time = header.time;
	counts->exact = header.flags & CPUS_EXACT;
	return PARSE_GOOD;
}

bool cpu_counts_read(struct cpu_counts *counts, struct trace *trace, struct error *error)
{
	struct block_cursor cursor = {
		.trace = trace, .type = BLOCK_CPUS, .damaged = "counts by CPU cannot be read"};
	while (block_cursor_next(&cursor, UINT64_MAX, parse, counts, error))
		;
	counts->exact &= !cursor.skipped;
	block_cursor_close(&cursor);
	return !error->code;
}

void cpu_counts_free(struct cpu_counts *counts)
{
	free(counts->cpus);
	*counts = (struct cpu_counts){0};
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

struct cpu_count cpu_counts_sum(const struct cpu_counts *counts)
{
	struct cpu_count sum = {.cpu = EVENT_CPU_UNKNOWN};
	for (size_t i = 0; i < counts->count; i++) {
		for (unsigned k = 0; k < CPU_CALLS; k++)
			sum.calls[k] += counts->cpus[i].calls[k];
		for (unsigned k = 0; k < SIZE_STEPS; k++) {
			sum.steps[k].allocs += counts->cpus[i].steps[k].allocs;
			sum.steps[k].bytes += counts->cpus[i].steps[k].bytes;
		}
	}
	return sum;
}

double cpu_count_calls(const struct cpu_count *count)
{
	return (double)count->calls[CPU_ALLOCS] + (double)count->calls[CPU_FREES] +
	       2 * (double)count->calls[CPU_REALLOCS];
}

struct moments {
	double count, sum, squares, most;
};

static void moments_add(struct moments *moments, double value)
{
	moments->count += value > 0;
	moments->sum += value;
	moments->squares += value * value;
	moments->most = fmax(moments->most, value);
}

static struct cpu_balance balance_of(const struct moments *moments)
{
	const double mean = moments->sum / moments->count;
	if (!(moments->sum > 0))
		return (struct cpu_balance){NAN, NAN};
	return (struct cpu_balance){moments->most / mean,
				    sqrt(fmax(moments->squares / moments->count - mean * mean, 0)) / mean};
}

struct cpu_balance cpu_counts_balance(const struct cpu_counts *counts)
{
	struct moments moments = {0};
	for (size_t i = 0; i < counts->count; i++)
		if (counts->cpus[i].cpu != EVENT_CPU_UNKNOWN)
			moments_add(&moments, cpu_count_calls(&counts->cpus[i]));
	return balance_of(&moments);
}

struct cpu_balance cpu_counts_step_balance(const struct cpu_counts *counts, unsigned step)
{
	struct moments moments = {0};
	for (size_t i = 0; i < counts->count; i++)
		if (counts->cpus[i].cpu != EVENT_CPU_UNKNOWN)
			moments_add(&moments, (double)counts->cpus[i].steps[step].allocs);
	return balance_of(&moments);
}
