#include "analyzer/allocstats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"

/* A decimal number that is the whole of [at, end). "-" and anything else are unknown. */
static uint64_t number_of(const char *at, const char *end)
{
	uint64_t number = 0;
	if (at == end)
		return ALLOCSTATS_UNKNOWN;
	for (; at < end; at++)
		if (*at < '0' || *at > '9' || __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
			return ALLOCSTATS_UNKNOWN;
	return number;
}

/* Six fields, separated by single spaces. */
static bool parse_cpu(struct allocstats_cpu *cpu, const char *at, const char *end)
{
	uint64_t *const fields[] = {&cpu->cpu,	      &cpu->used_bytes, &cpu->unallocated_bytes,
				    &cpu->underflows, &cpu->overflows,	&cpu->reclaims};
	for (size_t i = 0; i < 6; i++) {
		const char *stop = memchr(at, ' ', (size_t)(end - at));
		if ((i < 5) != (stop != NULL))
			return false;
		*fields[i] = number_of(at, stop ? stop : end);
		at = stop ? stop + 1 : end;
	}
	return cpu->cpu != ALLOCSTATS_UNKNOWN;
}

struct capacities {
	size_t values, cpus;
};

static bool add_cpu(struct allocstats *out, struct capacities *room, const char *at, const char *end)
{
	struct allocstats_cpu cpu;
	if (!parse_cpu(&cpu, at, end))
		return true;
	if (!array_reserve(&out->cpus, &room->cpus, out->cpu_count + 1, sizeof cpu))
		return false;
	out->cpus[out->cpu_count++] = cpu;
	return true;
}

/* `name=value` without its newline; cuts the name off at the '='. */
static bool add_line(struct allocstats *out, struct capacities *room, char *line, char *end)
{
	char *equals = memchr(line, '=', (size_t)(end - line));
	if (!equals)
		return true;
	*equals = '\0';
	if (strcmp(line, "cpu") == 0)
		return add_cpu(out, room, equals + 1, end);
	uint64_t value = number_of(equals + 1, end);
	if (value == ALLOCSTATS_UNKNOWN)
		return true;
	if (!array_reserve(&out->values, &room->values, out->value_count + 1, sizeof *out->values))
		return false;
	out->values[out->value_count++] = (struct allocstats_value){line, value};
	return true;
}

bool allocstats_parse(struct allocstats *out, const uint8_t *payload, size_t bytes)
{
	struct allocator_record record;
	struct capacities room = {0};
	*out = (struct allocstats){0};
	if (bytes < sizeof record)
		return true;
	memcpy(&record, payload, sizeof record);
	size_t text_bytes = bytes - sizeof record;
	out->text = malloc(text_bytes + 1);
	if (!out->text)
		return false;
	memcpy(out->text, payload + sizeof record, text_bytes);
	out->mark = record.mark;
	out->kind = record.kind;
	out->values_age_ns = record.values_age_ns;
	out->per_cpu_age_ns = record.per_cpu_age_ns;
	char *end = out->text + text_bytes;
	for (char *line = out->text, *stop; line < end; line = stop + 1) {
		stop = memchr(line, '\n', (size_t)(end - line));
		if (!stop)
			break;
		if (!add_line(out, &room, line, stop)) {
			allocstats_free(out);
			return false;
		}
	}
	return true;
}

void allocstats_free(struct allocstats *stats)
{
	free(stats->values);
	free(stats->cpus);
	free(stats->text);
	*stats = (struct allocstats){0};
}

uint64_t allocstats_value(const struct allocstats *stats, const char *name)
{
	for (size_t i = 0; i < stats->value_count; i++)
		if (strcmp(stats->values[i].name, name) == 0)
			return stats->values[i].value;
	return ALLOCSTATS_UNKNOWN;
}

uint64_t allocstats_first(const struct allocstats *stats, const char *const *names)
{
	uint64_t value = ALLOCSTATS_UNKNOWN;
	for (; *names && value == ALLOCSTATS_UNKNOWN; names++)
		value = allocstats_value(stats, *names);
	return value;
}

static void add(uint64_t *sum, uint64_t value)
{
	if (value == ALLOCSTATS_UNKNOWN || *sum == ALLOCSTATS_UNKNOWN ||
	    __builtin_add_overflow(*sum, value, sum))
		*sum = ALLOCSTATS_UNKNOWN;
}

struct allocstats_cpu allocstats_sum(const struct allocstats *stats)
{
	const uint64_t none = stats->cpu_count ? 0 : ALLOCSTATS_UNKNOWN;
	struct allocstats_cpu sum = {stats->cpu_count, none, none, none, none, none};
	for (size_t i = 0; i < stats->cpu_count; i++) {
		const struct allocstats_cpu *cpu = &stats->cpus[i];
		add(&sum.used_bytes, cpu->used_bytes);
		add(&sum.unallocated_bytes, cpu->unallocated_bytes);
		add(&sum.underflows, cpu->underflows);
		add(&sum.overflows, cpu->overflows);
		add(&sum.reclaims, cpu->reclaims);
	}
	return sum;
}

int allocstats_active(const struct allocstats *stats)
{
	uint64_t active = allocstats_value(stats, "per_cpu_caches_active");
	return active == ALLOCSTATS_UNKNOWN ? -1 : active != 0;
}

uint64_t allocstats_limit_bytes(const struct allocstats *stats)
{
	static const char *const names[] = {"max_per_cpu_cache_bytes", "per_cpu_limit_bytes", NULL};
	return allocstats_first(stats, names);
}
