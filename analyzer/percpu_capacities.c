#include "analyzer/percpu_capacities.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/allocstats.h"

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)

/* Around the defaults: 1.5 MiB upstream, 1 GiB shared among all CPUs in mongod; 32 MiB for all threads. */
static const uint64_t usual[CACHE_DESIGNS][12] = {
	[CACHE_PER_CPU] = {0, KIB(64), KIB(256), KIB(512), MIB(1), KIB(1536), MIB(4), MIB(16), MIB(64),
			   MIB(128)},
	[CACHE_PER_THREAD] = {KIB(512), MIB(1), MIB(2), MIB(4), MIB(8), MIB(16), MIB(32), MIB(64), MIB(128),
			      MIB(256), MIB(512), MIB(1024)},
};
static const size_t usual_count[CACHE_DESIGNS] = {10, 12};

/* In its place, unless it is there or there is no room. */
static void add(struct percpu_options *options, enum cache_design design, uint64_t bytes)
{
	uint64_t *list = options->capacities[design];
	size_t *count = &options->capacity_count[design], at = *count;
	if (design == CACHE_PER_THREAD && bytes < CACHE_THREADS_MIN_BYTES)
		bytes = CACHE_THREADS_MIN_BYTES;
	if (design == CACHE_PER_THREAD && bytes > CACHE_THREADS_MAX_BYTES)
		bytes = CACHE_THREADS_MAX_BYTES;
	for (size_t i = 0; i < *count; i++)
		if (list[i] == bytes)
			return;
	if (*count == CACHEMODEL_LANES_MAX)
		return;
	for (; at && list[at - 1] > bytes; at--)
		list[at] = list[at - 1];
	list[at] = bytes;
	++*count;
}

static void add_in_force(struct percpu_options *options, const bool *wanted, const struct trace *trace)
{
	static const char *const names[] = {"tcmalloc.max_total_thread_cache_bytes", NULL};
	const struct allocstats *stats = trace_allocator(trace);
	if (!stats->kind)
		return;
	uint64_t limit_bytes = allocstats_limit_bytes(stats), total_bytes = allocstats_first(stats, names);
	if (wanted[CACHE_PER_CPU] && limit_bytes != ALLOCSTATS_UNKNOWN && allocstats_active(stats) == 1)
		add(options, CACHE_PER_CPU, limit_bytes);
	if (wanted[CACHE_PER_THREAD] && total_bytes != ALLOCSTATS_UNKNOWN)
		add(options, CACHE_PER_THREAD, total_bytes);
}

static bool refuse(struct error *error, const char *list)
{
	return error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET,
			 "--what-if %s: wanted are at most %u sizes with commas between them, such as "
			 "0,256K,1M,16M, or 'none'",
			 list, CACHEMODEL_LANES_MAX - 1);
}

/* "256K" at *at, which moves behind it. */
static bool take_size(const char **at, uint64_t *bytes)
{
	static const char suffixes[] = "KMGT";
	char *end;
	if (!isdigit((unsigned char)**at))
		return false;
	unsigned long long number = strtoull(*at, &end, 10);
	const char *suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
	unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
	*bytes = (uint64_t)number << shift;
	*at = suffix ? end + 1 : end;
	return (*bytes >> shift) == number;
}

static bool take_list(const char *list, const bool *wanted, struct percpu_options *options,
		      struct error *error)
{
	const char *at = list;
	for (unsigned count = 1;; count++, at++) {
		uint64_t bytes;
		if (count >= CACHEMODEL_LANES_MAX || !take_size(&at, &bytes) || (*at && *at != ','))
			return refuse(error, list);
		for (unsigned d = 0; d < CACHE_DESIGNS; d++)
			if (wanted[d])
				add(options, (enum cache_design)d, bytes);
		if (!*at)
			return true;
	}
}

static void take_usual(const bool *wanted, struct percpu_options *options)
{
	for (unsigned d = 0; d < CACHE_DESIGNS; d++)
		for (size_t i = 0; wanted[d] && i < usual_count[d]; i++)
			add(options, (enum cache_design)d, usual[d][i]);
}

static bool take_design(const char *design, bool *wanted, struct error *error)
{
	static const char *const names[] = {"per-cpu", "per-thread"};
	const bool both = !design || !strcmp(design, "both");
	for (unsigned d = 0; d < CACHE_DESIGNS; d++)
		wanted[d] = both || !strcmp(design, names[d]);
	if (wanted[CACHE_PER_CPU] || wanted[CACHE_PER_THREAD])
		return true;
	return error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET,
			 "--design %s: there are per-cpu, per-thread and both", design);
}

bool percpu_capacities(const char *list, const char *design, const struct trace *trace,
		       struct percpu_options *options, struct error *error)
{
	bool wanted[CACHE_DESIGNS];
	if (!take_design(design, wanted, error))
		return false;
	if (list && !strcmp(list, "none"))
		return true;
	if (!list)
		take_usual(wanted, options);
	else if (!take_list(list, wanted, options, error))
		return false;
	add_in_force(options, wanted, trace);
	return true;
}
