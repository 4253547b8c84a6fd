#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/reader_internal.h"

/* ---- modules ------------------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct trace_module *left = a, *right = b;
	if (left->start != right->start)
		return left->start > right->start ? 1 : -1;
	if (left->loaded_time != right->loaded_time)
		return left->loaded_time > right->loaded_time ? 1 : -1;
	if (left->end != right->end)
		return left->end > right->end ? 1 : -1;
	return strcmp(left->path, right->path);
}

static void module_drop(struct trace_module *module)
{
	free((char *)module->path);
	free((uint8_t *)module->build_id);
}

/* Sorts, and makes one of the records that keyframes repeat; the unload time stands in the later ones only.
 */
static void modules_compact(struct trace *trace)
{
	struct trace_module *modules = trace->modules;
	if (!trace->modules_count)
		return;
	qsort(modules, trace->modules_count, sizeof *modules, by_start);
	size_t kept = 1;
	for (size_t i = 1; i < trace->modules_count; i++) {
		struct trace_module *last = &modules[kept - 1];
		if (by_start(last, &modules[i]) != 0) {
			modules[kept++] = modules[i];
			continue;
		}
		if (modules[i].unloaded_time > last->unloaded_time)
			last->unloaded_time = modules[i].unloaded_time;
		module_drop(&modules[i]);
	}
	trace->modules_count = trace->modules_compacted = kept;
}

static bool module_add(struct trace *trace, const struct module_record *record, const uint8_t *tail)
{
	if (trace->modules_count >= 1024 && trace->modules_count >= 2 * trace->modules_compacted)
		modules_compact(trace);
	if (!array_reserve(&trace->modules, &trace->modules_capacity, trace->modules_count + 1,
			   sizeof *trace->modules))
		return false;
	char *path = strndup((const char *)tail + record->build_id_bytes, record->path_bytes);
	uint8_t *build_id = malloc(record->build_id_bytes + 1u);
	if (!path || !build_id) {
		free(path);
		free(build_id);
		return false;
	}
	memcpy(build_id, tail, record->build_id_bytes);
	trace->modules[trace->modules_count++] = (struct trace_module){
		.start = record->start,
		.end = record->end,
		.bias = record->bias,
		.loaded_time = record->loaded_time,
		.unloaded_time = record->unloaded_time,
		.path = path,
		.build_id = build_id,
		.build_id_bytes = record->build_id_bytes,
	};
	return true;
}

bool defs_modules(struct trace *trace, const uint8_t *payload, size_t bytes, uint64_t block_offset)
{
	size_t at = 0;
	while (at < bytes) {
		struct module_record record = {0};
		if (bytes - at >= sizeof record)
			memcpy(&record, payload + at, sizeof record);
		size_t tail =
			bytes - at >= sizeof record ? (size_t)record.build_id_bytes + record.path_bytes : 0;
		if (bytes - at < sizeof record + tail || record.start >= record.end) {
			damage_add(trace, trace->path, block_offset, bytes - at,
				   "a module record cannot be read");
			return true;
		}
		if (!module_add(trace, &record, payload + at + sizeof record))
			return false;
		at += (sizeof record + tail + 7) & ~(size_t)7;
	}
	return true;
}

/* ---- threads ------------------------------------------------------------------------------------------- */

static void thread_complete(struct trace_thread *thread, const struct thread_record *record)
{
	if (record->kernel_tid)
		thread->kernel_tid = record->kernel_tid;
	if (record->start_time && (!thread->start_time || record->start_time < thread->start_time))
		thread->start_time = record->start_time;
	if (record->exit_time)
		thread->exit_time = record->exit_time;
	if (record->name[0]) {
		memcpy(thread->name, record->name, sizeof thread->name);
		thread->name[sizeof thread->name - 1] = '\0';
	}
}

bool defs_thread(struct trace *trace, const struct thread_record *record)
{
	uint32_t index = idmap_get(&trace->threads_by_number, record->thread);
	if (index == IDMAP_NONE) {
		if (!array_reserve(&trace->threads, &trace->threads_capacity, trace->threads_count + 1,
				   sizeof *trace->threads) ||
		    !idmap_add(&trace->threads_by_number, record->thread, (uint32_t)trace->threads_count))
			return false;
		index = (uint32_t)trace->threads_count++;
		trace->threads[index] = (struct trace_thread){.thread = record->thread};
	}
	thread_complete(&trace->threads[index], record);
	return true;
}

bool defs_threads(struct trace *trace, const uint8_t *payload, size_t bytes, uint64_t block_offset)
{
	if (bytes % sizeof(struct thread_record))
		damage_add(trace, trace->path, block_offset, bytes, "a thread record is cut off");
	for (size_t at = 0; at + sizeof(struct thread_record) <= bytes; at += sizeof(struct thread_record)) {
		struct thread_record record;
		memcpy(&record, payload + at, sizeof record);
		if (!defs_thread(trace, &record))
			return false;
	}
	return true;
}

static int by_thread(const void *a, const void *b)
{
	uint32_t left = ((const struct trace_thread *)a)->thread,
		 right = ((const struct trace_thread *)b)->thread;
	return (left > right) - (left < right);
}

bool defs_finish(struct trace *trace)
{
	modules_compact(trace);
	if (trace->threads_count)
		qsort(trace->threads, trace->threads_count, sizeof *trace->threads, by_thread);
	idmap_clear(&trace->threads_by_number);
	for (size_t i = 0; i < trace->threads_count; i++)
		if (!idmap_add(&trace->threads_by_number, trace->threads[i].thread, (uint32_t)i))
			return false;
	return true;
}

/* ---- stacks -------------------------------------------------------------------------------------------- */

bool defs_stack(struct trace *trace, uint32_t stack_id, const uint64_t *frames, unsigned depth)
{
	if (idmap_get(&trace->stacks_by_id, stack_id) != IDMAP_NONE)
		return true;
	if (!array_reserve(&trace->stacks, &trace->stacks_capacity, trace->stacks_count + 1,
			   sizeof *trace->stacks) ||
	    !array_reserve(&trace->stack_frames, &trace->frames_capacity, trace->frames_count + depth,
			   sizeof *trace->stack_frames) ||
	    !idmap_add(&trace->stacks_by_id, stack_id, (uint32_t)trace->stacks_count))
		return false;
	trace->stacks[trace->stacks_count++] = (struct stack_entry){trace->frames_count, depth};
	if (depth)
		memcpy(trace->stack_frames + trace->frames_count, frames, depth * sizeof *frames);
	trace->frames_count += depth;
	return true;
}

bool defs_stacks(struct trace *trace, const uint8_t *payload, size_t bytes, uint64_t block_offset)
{
	struct decoder decoder;
	struct trace_event unused;
	decoder_start_stacks(&decoder, payload, bytes);
	for (;;) {
		switch (decode_next(&decoder, &unused)) {
		case DECODE_STACK:
			if (!defs_stack(trace, decoder.stack_id, decoder.stack_frames, decoder.stack_depth))
				return false;
			break;
		case DECODE_END:
			return true;
		default:
			damage_add(trace, trace->path, block_offset, bytes, "a stack record cannot be read");
			return true;
		}
	}
}

void defs_free(struct trace *trace)
{
	for (size_t i = 0; i < trace->modules_count; i++)
		module_drop(&trace->modules[i]);
	free(trace->modules);
	free(trace->threads);
	free(trace->stacks);
	free(trace->stack_frames);
	idmap_clear(&trace->threads_by_number);
	idmap_clear(&trace->stacks_by_id);
}

/* ---- accessors ----------------------------------------------------------------------------------------- */

const struct trace_module *trace_modules(const struct trace *trace, size_t *count)
{
	*count = trace->modules_count;
	return trace->modules;
}

const struct trace_thread *trace_threads(const struct trace *trace, size_t *count)
{
	*count = trace->threads_count;
	return trace->threads;
}

const struct trace_thread *trace_thread(const struct trace *trace, uint32_t thread)
{
	uint32_t index = idmap_get(&trace->threads_by_number, thread);
	return index == IDMAP_NONE ? NULL : &trace->threads[index];
}

bool trace_stack(const struct trace *trace, uint32_t stack_id, struct trace_stack *stack)
{
	uint32_t index = stack_id ? idmap_get(&trace->stacks_by_id, stack_id) : IDMAP_NONE;
	if (index == IDMAP_NONE)
		return false;
	const struct stack_entry *entry = &trace->stacks[index];
	*stack = (struct trace_stack){entry->depth ? trace->stack_frames + entry->first : NULL, entry->depth};
	return true;
}

size_t trace_stacks_count(const struct trace *trace)
{
	return trace->stacks_count;
}
