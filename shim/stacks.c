#include "shim/stacks.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "shim/raw.h"
#include "shim/ring.h"
#include "shim/unwind.h"

#define TABLE_ENTRIES (1u << 19)
#define STACKS_MAX    (1u << 18) /* half of the table: probes stay short */
#define FRAMES_MAX    (UINT64_C(1) << 22)
#define PROBES_MAX    64u

/* Values of `id` that are no number. */
#define ID_PENDING 0u	      /* the one who claimed the entry is still writing the definition */
#define ID_FAILED  UINT32_MAX /* the definition found no room: the next one who comes tries again */

struct table_entry {
	_Atomic uint64_t hash; /* 0: free */
	_Atomic uint32_t id;
};

struct stored_stack {
	_Atomic uint32_t depth_plus_one; /* 0: not complete */
	uint32_t reserved;
	uint64_t first_frame; /* index */
};

static struct {
	struct table_entry *table;
	struct stored_stack *stored; /* by number */
	uint64_t *frames;
	_Atomic uint64_t frames_used;
	_Atomic uint32_t last;
} stacks;

bool stacks_start(void)
{
	if (stacks.table)
		return true;
	stacks.stored = raw_reserve((STACKS_MAX + 1) * sizeof(struct stored_stack));
	stacks.frames = raw_reserve(FRAMES_MAX * sizeof(uint64_t));
	struct table_entry *table = raw_reserve(TABLE_ENTRIES * sizeof(struct table_entry));
	if (stacks.stored && stacks.frames)
		stacks.table = table;
	return stacks.table != NULL;
}

void stacks_forget(void)
{
	if (!stacks.table)
		return;
	raw_munmap(stacks.table, TABLE_ENTRIES * sizeof(struct table_entry));
	raw_munmap(stacks.stored, (STACKS_MAX + 1) * sizeof(struct stored_stack));
	raw_munmap(stacks.frames, FRAMES_MAX * sizeof(uint64_t));
	memset(&stacks, 0, sizeof stacks);
}

/* ---- a new stack
 * -------------------------------------------------------------------------------------------------- */

static void store_copy(uint32_t id, const uint64_t *frames, unsigned depth)
{
	uint64_t first = atomic_fetch_add_explicit(&stacks.frames_used, depth, memory_order_relaxed);
	if (first + depth > FRAMES_MAX)
		return;
	memcpy(stacks.frames + first, frames, depth * sizeof *frames);
	stacks.stored[id].first_frame = first;
	/* Release: whoever sees the depth sees the frames. */
	atomic_store_explicit(&stacks.stored[id].depth_plus_one, depth + 1, memory_order_release);
}

static bool write_definition(struct thread *thread, uint64_t time, uint32_t id, const uint64_t *frames,
			     unsigned depth)
{
	uint8_t *at = ring_make_room(thread, time, STACK_RECORD_BYTES_MAX);
	if (!at)
		return false;
	ring_commit_bytes(thread, encode_stack(at, id, frames, depth));
	return true;
}

/* `entry` is ours to define. Returns the number, 0 where the definition found no room. */
static uint32_t define(struct thread *thread, uint64_t time, struct table_entry *entry,
		       const uint64_t *frames, unsigned depth)
{
	uint32_t id = atomic_fetch_add_explicit(&stacks.last, 1, memory_order_relaxed) + 1;
	if (id > STACKS_MAX) {
		atomic_store_explicit(&stacks.last, STACKS_MAX, memory_order_relaxed);
		return 0; /* the entry stays pending: this stack gets no number */
	}
	/* A handler that leaves by a jump would leave the number undefined for good. */
	uint64_t signals;
	raw_block_signals(&signals);
	bool written = write_definition(thread, time, id, frames, depth);
	raw_restore_signals(&signals);
	if (!written) {
		atomic_store_explicit(&entry->id, ID_FAILED, memory_order_relaxed);
		return 0;
	}
	store_copy(id, frames, depth);
	/* Release: the definition is committed before the number can be met. */
	atomic_store_explicit(&entry->id, id, memory_order_release);
	return id;
}

/* ---- look-up
 * ------------------------------------------------------------------------------------------------------ */

static bool claim(struct table_entry *entry, uint64_t hash, uint64_t *found)
{
	*found = 0;
	return atomic_compare_exchange_strong_explicit(&entry->hash, found, hash, memory_order_relaxed,
						       memory_order_relaxed);
}

static uint32_t intern(struct thread *thread, uint64_t time, uint64_t hash, const uint64_t *frames,
		       unsigned depth)
{
	for (unsigned probe = 0; probe < PROBES_MAX; probe++) {
		struct table_entry *entry = &stacks.table[(hash + probe) % TABLE_ENTRIES];
		uint64_t found;
		if (claim(entry, hash, &found))
			return define(thread, time, entry, frames, depth);
		if (found != hash)
			continue;
		uint32_t id = atomic_load_explicit(&entry->id, memory_order_acquire);
		uint32_t failed = ID_FAILED;
		if (id == ID_FAILED && atomic_compare_exchange_strong(&entry->id, &failed, ID_PENDING))
			return define(thread, time, entry, frames, depth);
		return id == ID_FAILED ? 0 : id;
	}
	return 0;
}

uint32_t stacks_current(struct thread *thread, uint64_t time, unsigned depth)
{
	uint64_t frames[CODEC_STACK_DEPTH_MAX + 8];
	if (!stacks.table || thread->sealed)
		return 0; /* unwinding asks the kernel what can be read */
	unsigned count = unwind_stack(thread, frames, depth + 8);
	if (count == 0)
		return 0;
	count = count > depth ? depth : count;
	uint64_t hash = XXH3_64bits(frames, count * sizeof *frames) | 1;
	struct stack_cache_entry *cached = &thread->stack_cache[hash >> 8 & (STACK_CACHE_ENTRIES - 1)];
	if (cached->hash == hash)
		return cached->id;
	uint32_t id = intern(thread, time, hash, frames, count);
	if (id)
		*cached = (struct stack_cache_entry){hash, id};
	return id;
}

uint32_t stacks_last(void)
{
	uint32_t last = atomic_load_explicit(&stacks.last, memory_order_relaxed);
	return last < STACKS_MAX ? last : STACKS_MAX;
}

bool stacks_get(uint32_t id, const uint64_t **frames, unsigned *depth)
{
	uint32_t stored = atomic_load_explicit(&stacks.stored[id].depth_plus_one, memory_order_acquire);
	if (!stored)
		return false;
	*frames = stacks.frames + stacks.stored[id].first_frame;
	*depth = stored - 1;
	return true;
}
