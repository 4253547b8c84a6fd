#include "shim/ring_internal.h"

#include "shim/writer.h"

struct ring_slot *rings_slot(uint32_t index)
{
	uint32_t extent =
		atomic_load_explicit(&rings.slot_extents[index / SLOTS_PER_EXTENT], memory_order_relaxed);
	uint8_t *base = rings.extents + (uint64_t)extent * RINGS_EXTENT_BYTES;
	return (struct ring_slot *)(base + index % SLOTS_PER_EXTENT * SLOT_BYTES);
}

struct thread *rings_thread(uint32_t index)
{
	return &rings.thread_pieces[index / SLOTS_PER_EXTENT][index % SLOTS_PER_EXTENT];
}

uint32_t rings_slots_end(void)
{
	return atomic_load_explicit(&rings.slots_end, memory_order_acquire);
}

/* The kernel has wiped them (MADV_WIPEONFORK). Emulators say so and have not: two writers would share a ring.
 */
void rings_forget_threads(void)
{
	for (uint32_t i = 0; i < rings_slots_end(); i++) {
		struct thread *thread = rings_thread(i);
		if (thread->slot)
			memset(thread, 0, sizeof *thread);
	}
}

struct thread *rings_take_slot(void)
{
	uint32_t index;
	if (!rings.header || !free_stack_take(&rings.slots, &index))
		return NULL;
	struct thread *thread = rings_thread(index);
	struct ring_slot *slot = rings_slot(index);
	memset(thread, 0, offsetof(struct thread, codec));
	memset(thread->stack_cache, 0, sizeof thread->stack_cache);
	memset(thread->steps, 0, sizeof thread->steps);
	thread->index = index;
	thread->slot = slot;
	thread->id = atomic_fetch_add_explicit(&rings.next_thread_id, 1, memory_order_relaxed) + 1;
	thread->position = (uint8_t *)1; /* above a limit of NULL */
	if (rings_low())
		writer_wake();
	slot->thread = thread->id;
	return thread;
}

void rings_release_slot(struct thread *thread)
{
	struct rings_header *header = rings.header;
	struct ring_slot *slot = thread->slot;
	uint64_t epoch = atomic_load_explicit(&header->retired_epoch, memory_order_relaxed);
	const uint64_t *before = header->retired_counters[epoch % 2];
	uint64_t *after = header->retired_counters[(epoch + 1) % 2];
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		after[i] = before[i] + atomic_load_explicit(&slot->counters[i], memory_order_relaxed);
	atomic_store_explicit(&slot->retired_at, epoch + 1, memory_order_release);
	/* Release: whoever sees the new epoch sees the sums, and the slot as retired. */
	atomic_store_explicit(&header->retired_epoch, epoch + 1, memory_order_release);
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		atomic_store_explicit(&slot->counters[i], 0, memory_order_relaxed);
	atomic_store_explicit(&slot->state, SLOT_FREE, memory_order_release);
	atomic_store_explicit(&slot->retired_at, 0, memory_order_release);
	free_stack_give(&rings.slots, thread->index);
}

void rings_count_shared(enum counter counter, uint64_t n)
{
	if (rings.header && n)
		atomic_fetch_add_explicit(&rings.header->shared_counters[counter], n, memory_order_relaxed);
}

uint64_t rings_shared(enum counter counter)
{
	return atomic_load_explicit(&rings.header->shared_counters[counter], memory_order_relaxed);
}

uint64_t rings_total(enum counter counter)
{
	uint64_t epoch = atomic_load_explicit(&rings.header->retired_epoch, memory_order_acquire);
	uint64_t total = rings_shared(counter) + rings.header->retired_counters[epoch % 2][counter];
	for (uint32_t index = 0; index < rings_slots_end(); index++)
		if (ring_slot_counts(rings_slot(index), epoch))
			total += atomic_load_explicit(&rings_slot(index)->counters[counter],
						      memory_order_relaxed);
	return total;
}
