#include "analyzer/compare_frees.h"

#include <math.h>

#include "analyzer/blocktable.h"
#include "analyzer/estimate.h"
#include "analyzer/merge.h"

struct frees {
	struct block_table blocks; /* site: the CPU of the allocation */
	const struct trace *trace;
	uint64_t sample_bytes;
	int64_t start_ns, end_ns;
	double on_known_cpu, on_other_cpu; /* weights */
	double all, by_other_thread;
};

static bool remember(struct frees *frees, uint64_t address, uint64_t size_bytes,
		     const struct trace_event *event)
{
	if (address == 0)
		return true;
	struct live_block *block = block_table_place(&frees->blocks, address);
	if (!block)
		return false;
	frees->blocks.count += block->address == 0;
	*block = (struct live_block){address, size_bytes, event->end_time, event->cpu, event->thread};
	return true;
}

static void count(struct frees *frees, const struct live_block *block, const struct trace_event *event)
{
	int64_t at_ns = trace_realtime_ns(frees->trace, event->time);
	double weight = 1 / sample_probability(block->size_bytes, frees->sample_bytes);
	if (at_ns < frees->start_ns || at_ns > frees->end_ns)
		return;
	frees->all += weight;
	frees->by_other_thread += block->thread != event->thread ? weight : 0;
	if (block->site == EVENT_CPU_UNKNOWN || event->cpu == EVENT_CPU_UNKNOWN)
		return;
	frees->on_known_cpu += weight;
	frees->on_other_cpu += block->site != event->cpu ? weight : 0;
}

static void forget(struct frees *frees, uint64_t address, const struct trace_event *event)
{
	struct live_block *block = block_table_find(&frees->blocks, address);
	if (!block)
		return;
	count(frees, block, event);
	block_table_remove(&frees->blocks, block);
	frees->blocks.count--;
}

static bool take(struct frees *frees, const struct trace_event *event)
{
	if (event_is_allocation(event->kind))
		return remember(frees, event->address, event->size_bytes, event);
	if (event_is_free(event->kind)) {
		forget(frees, event->address, event);
	} else if (event->kind == EVENT_REALLOC) {
		bool sampling = frees->sample_bytes > 0;
		if (event->old_address && (!sampling || event->sampled_old))
			forget(frees, event->old_address, event);
		if (!sampling || event->sampled_new)
			return remember(frees, event->address, event->size_bytes, event);
	}
	return true;
}

static bool pass(struct frees *frees, struct merge *merge, struct error *error)
{
	struct merge_item item;
	while (merge_next(merge, &item, error))
		if (item.event && !take(frees, item.event))
			return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	return !error->code;
}

bool free_shares(struct trace *trace, int64_t start_ns, int64_t end_ns, struct free_shares *shares,
		 struct error *error)
{
	const struct trace_info *info = trace_info(trace);
	struct frees frees = {
		.trace = trace,
		.sample_bytes = info->mode == TRACE_MODE_SAMPLE ? info->sample_bytes : 0,
		.start_ns = start_ns,
		.end_ns = end_ns,
	};
	*shares = (struct free_shares){NAN, NAN};
	if (!block_table_create(&frees.blocks))
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	struct merge *merge = merge_open(trace, error);
	bool fine = merge && pass(&frees, merge, error);
	if (frees.on_known_cpu > 0)
		shares->other_cpu = frees.on_other_cpu / frees.on_known_cpu;
	if (frees.all > 0)
		shares->other_thread = frees.by_other_thread / frees.all;
	merge_close(merge);
	block_table_free(&frees.blocks);
	return fine;
}
