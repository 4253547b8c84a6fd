#include "shim/keyframe.h"

#include <stdio.h>
#include <string.h>

#include "shim/clock.h"
#include "shim/looks.h"
#include "shim/modules.h"
#include "shim/raw.h"
#include "shim/ring.h"
#include "shim/stacks.h"
#include "shim/tracefile.h"

#define BUFFER_BYTES  (64u << 10)
#define ENDED_THREADS 512u
#define LEVEL	      1

static struct {
	_Alignas(8) uint8_t bytes[BUFFER_BYTES + STACK_RECORD_BYTES_MAX];
	size_t used;
	enum block_type type;
} block;

static struct {
	struct thread_record records[ENDED_THREADS];
	unsigned count;
} ended;

/* ---- gathering records into blocks
 * ---------------------------------------------------------------------------------- */

static void begin(enum block_type type)
{
	block.type = type;
	block.used = 0;
}

static void flush(void)
{
	uint64_t now = clock_now();
	if (block.used > 0)
		tracefile_append(block.type, block.bytes, block.used, (struct block_times){now, now}, LEVEL);
	block.used = 0;
}

/* Room for `bytes`, or NULL where a record is larger than any block. */
static uint8_t *room(size_t bytes)
{
	if (block.used + bytes > BUFFER_BYTES)
		flush();
	return bytes <= BUFFER_BYTES ? block.bytes + block.used : NULL;
}

/* ---- modules
 * ---------------------------------------------------------------------------------------------------------
 */

static void put_module(const struct module *module)
{
	struct module_record record = {.start = module->start,
				       .end = module->end,
				       .bias = module->bias,
				       .loaded_time = module->loaded_time,
				       .unloaded_time = module->unloaded_time,
				       .build_id_bytes = module->build_id_bytes,
				       .path_bytes = module->path_bytes};
	size_t bytes = (sizeof record + record.build_id_bytes + record.path_bytes + 7) & ~(size_t)7;
	uint8_t *at = room(bytes);
	if (!at)
		return;
	memset(at, 0, bytes);
	memcpy(at, &record, sizeof record);
	memcpy(at + sizeof record, module->build_id, record.build_id_bytes);
	memcpy(at + sizeof record + record.build_id_bytes, module->path, record.path_bytes);
	block.used += bytes;
}

void keyframe_write_modules(void)
{
	begin(BLOCK_MODULES);
	for (unsigned i = 0; i < modules_count(); i++)
		put_module(modules_get(i));
	flush();
}

/* ---- threads
 * ---------------------------------------------------------------------------------------------------------
 */

static void put_thread(const struct thread_record *record)
{
	memcpy(room(sizeof *record), record, sizeof *record);
	block.used += sizeof *record;
}

static void put_ended_threads(void)
{
	for (unsigned i = 0; i < ended.count; i++)
		put_thread(&ended.records[i]);
	ended.count = 0;
}

/* The name may have been set since the thread was first seen. */
static void read_name(uint32_t tid, char name[16])
{
	char path[64];
	snprintf(path, sizeof path, "/proc/self/task/%u/comm", tid);
	int fd = raw_open(path, O_RDONLY, 0);
	long length = fd < 0 ? -1 : raw_read(fd, name, 16);
	if (fd >= 0)
		raw_close(fd);
	if (length > 0)
		name[length - 1] = '\0'; /* instead of the line end */
}

void keyframe_write_threads(void)
{
	begin(BLOCK_THREADS);
	put_ended_threads();
	uint32_t end = rings_slots_end();
	for (uint32_t i = 0; i < end; i++) {
		const struct ring_slot *slot = rings_slot(i);
		if (atomic_load_explicit(&slot->state, memory_order_acquire) == SLOT_FREE)
			continue;
		struct thread_record record = {
			.thread = slot->thread,
			.kernel_tid = slot->kernel_tid,
			.start_time = slot->start_time,
			.exit_time = atomic_load_explicit(&slot->exit_time, memory_order_relaxed)};
		memcpy(record.name, slot->name, sizeof record.name);
		read_name(record.kernel_tid, record.name);
		put_thread(&record);
	}
	flush();
}

void keyframe_add_thread(const struct thread_record *record)
{
	if (ended.count == ENDED_THREADS) {
		begin(BLOCK_THREADS);
		put_ended_threads();
		flush();
	}
	ended.records[ended.count++] = *record;
}

/* ---- stacks
 * ----------------------------------------------------------------------------------------------------------
 */

static void write_stacks(void)
{
	begin(BLOCK_STACKS);
	for (uint32_t id = 1; id <= stacks_last(); id++) {
		const uint64_t *frames;
		unsigned depth;
		if (!stacks_get(id, &frames, &depth))
			continue;
		uint8_t *at = room(STACK_RECORD_BYTES_MAX);
		block.used += (size_t)(encode_stack(at, id, frames, depth) - at);
	}
	flush();
}

void keyframe_write_all(void)
{
	keyframe_write_modules();
	keyframe_write_threads();
	write_stacks();
	looks_want_whole();
}
