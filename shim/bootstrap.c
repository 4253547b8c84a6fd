#include "shim/bootstrap.h"

#include <stdatomic.h>

#include "shim/lifecycle.h"
#include "shim/raw.h"

#define LOG_ENTRIES 4096u

uintptr_t bootstrap_start = UINTPTR_MAX / 2;

struct header {
	size_t bytes;
	size_t reserved; /* keeps the block 16-aligned */
};

static struct {
	_Atomic uint64_t used;
	_Atomic uint32_t logged;
	struct {
		uint64_t address, size_bytes;
		uint8_t kind;
	} log[LOG_ENTRIES];
} arena;

static bool create(void)
{
	if (bootstrap_start != UINTPTR_MAX / 2)
		return true;
	void *start = raw_reserve(BOOTSTRAP_BYTES);
	if (!start)
		return false;
	bootstrap_start = (uintptr_t)start;
	return true;
}

static void note(enum event_kind kind, uint64_t address, uint64_t size_bytes)
{
	if (lifecycle_phase() != PHASE_EARLY)
		return; /* our own: what looking up the next functions allocates */
	uint32_t index = atomic_fetch_add_explicit(&arena.logged, 1, memory_order_relaxed);
	if (index >= LOG_ENTRIES)
		return;
	arena.log[index].address = address;
	arena.log[index].size_bytes = size_bytes;
	arena.log[index].kind = (uint8_t)kind;
}

void *bootstrap_allocate(enum event_kind kind, size_t bytes, size_t alignment)
{
	size_t spare = alignment > 16 ? alignment : 16;
	if (!create() || bytes > BOOTSTRAP_BYTES / 2 || spare > BOOTSTRAP_BYTES / 4)
		return NULL;
	uint64_t need = sizeof(struct header) + spare + ((bytes + 15) & ~(size_t)15);
	uint64_t offset = atomic_fetch_add_explicit(&arena.used, need, memory_order_relaxed);
	if (offset + need > BOOTSTRAP_BYTES)
		return NULL;
	uintptr_t block =
		(bootstrap_start + offset + sizeof(struct header) + spare - 1) & ~(uintptr_t)(spare - 1);
	((struct header *)block)[-1].bytes = bytes;
	note(kind, block, bytes);
	return (void *)block;
}

size_t bootstrap_size(const void *block)
{
	return ((const struct header *)block)[-1].bytes;
}

void bootstrap_free(enum event_kind kind, void *block)
{
	note(kind, (uintptr_t)block, 0);
}

void bootstrap_replay(void (*visit)(enum event_kind kind, uint64_t address, uint64_t size_bytes))
{
	uint32_t logged = atomic_load_explicit(&arena.logged, memory_order_relaxed);
	for (uint32_t i = 0; i < logged && i < LOG_ENTRIES; i++)
		visit((enum event_kind)arena.log[i].kind, arena.log[i].address, arena.log[i].size_bytes);
	atomic_store_explicit(&arena.logged, 0, memory_order_relaxed);
}
