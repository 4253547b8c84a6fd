#include "shim/locks.h"

#include <string.h>

#include "shim/config.h"
#include "shim/raw.h"
#include "shim/ring_internal.h"
#include "shim/sampling.h"

uint32_t locks_state;

/* Tables of neighbouring slots in one mapping each, as for their struct thread. */
static _Atomic(struct lock_table *) pieces[THREADS_MAX / SLOTS_PER_EXTENT];
static _Alignas(64) struct lock_record shared[LOCK_KINDS];

/* ---- life ---------------------------------------------------------------------------------------------- */

/* `opened` of all of them, and the thread that they are of. */
static void open_for_all(struct lock_record *records, uint32_t thread, uint64_t opened)
{
	for (unsigned kind = 0; kind < LOCK_KINDS; kind++)
		records[kind] =
			(struct lock_record){.thread = thread, .kind = (uint16_t)kind, .opened = opened};
}

void locks_start(void)
{
	if (!config.locks)
		return;
	open_for_all(shared, UINT32_MAX, clock_now());
	locks_state = LOCKS_ON;
}

/* The kernel has wiped the tables (MADV_WIPEONFORK). Emulators say so and have not. */
void locks_forget(void)
{
	if (locks_state == LOCKS_ON)
		locks_state = LOCKS_OFF;
	for (uint32_t index = 0; index < THREADS_MAX; index++) {
		struct lock_table *table = locks_table(index);
		if (!table)
			index |= SLOTS_PER_EXTENT - 1; /* nor have those beside it */
		else if (table->last_opened)
			memset(table, 0, sizeof *table);
	}
}

struct lock_table *locks_table(uint32_t index)
{
	struct lock_table *piece =
		atomic_load_explicit(&pieces[index / SLOTS_PER_EXTENT], memory_order_acquire);
	return piece ? &piece[index % SLOTS_PER_EXTENT] : NULL;
}

struct lock_record *locks_shared(void)
{
	return shared;
}

/* Two threads may come at once: one of them finds the other's. */
static void make_piece(uint32_t index)
{
	size_t bytes = SLOTS_PER_EXTENT * sizeof(struct lock_table);
	struct lock_table *piece = raw_reserve(bytes), *none = NULL;
	if (!piece)
		return;
	raw3(SYS_madvise, (long)piece, (long)bytes, MADV_WIPEONFORK);
	/* Release: whoever sees the piece may use it. */
	if (!atomic_compare_exchange_strong(&pieces[index / SLOTS_PER_EXTENT], &none, piece))
		raw_munmap(piece, bytes);
}

void locks_attach(struct thread *thread)
{
	if (locks_state != LOCKS_ON)
		return;
	if (!locks_table(thread->index))
		make_piece(thread->index);
	struct lock_table *table = locks_table(thread->index);
	if (!table)
		return;
	table->last_opened = clock_now();
	open_for_all(table->other, thread->id, table->last_opened);
	table->countdown = 1 + (uint32_t)(sampling_random(thread) % (2 * LOCKS_EVERY - 1));
	table->wait_weight = table->wait_countdown = 1;
	thread->locks = table;
}

/* ---- entries ------------------------------------------------------------------------------------------- */

/* Release: the writer that sees the address sees the rest. */
static void fill_entry(struct thread *thread, struct lock_record *entry, enum lock_kind kind,
		       uint64_t address)
{
	struct lock_table *table = thread->locks;
	uint64_t now = clock_now();
	table->last_opened = now > table->last_opened ? now : table->last_opened + 1;
	*entry = (struct lock_record){
		.opened = table->last_opened, .thread = thread->id, .kind = (uint16_t)kind};
	atomic_store_explicit(locks_sum(&entry->address), address, memory_order_release);
}

static bool close_entry(struct lock_table *table, const struct lock_record *entry)
{
	uint32_t head = atomic_load_explicit(&table->queue_head, memory_order_relaxed);
	/* Acquire: the writer has read what stood there. */
	if (head - atomic_load_explicit(&table->queue_tail, memory_order_acquire) == LOCK_QUEUE)
		return false;
	struct lock_record *closed = &table->queue[head % LOCK_QUEUE];
	*closed = *entry;
	closed->flags |= LOCK_CLOSED;
	/* Release: the writer that sees the new head sees the record. */
	atomic_store_explicit(&table->queue_head, head + 1, memory_order_release);
	return true;
}

/* The stores to the entry stand between the two of `replacing`: a reader that sees any of them sees that its
 * copy is of no use. */
static struct lock_record *replace_entry(struct thread *thread, uint32_t at, enum lock_kind kind,
					 uint64_t address)
{
	struct lock_table *table = thread->locks;
	struct lock_record *entry = &table->entries[at];
	if (!close_entry(table, entry))
		return &table->other[kind];
	atomic_store_explicit(&table->replacing, at + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	fill_entry(thread, entry, kind, address);
	atomic_fetch_add_explicit(&table->replaced, 1, memory_order_release);
	atomic_store_explicit(&table->replacing, 0, memory_order_release);
	return entry;
}

static uint64_t calls_of(const struct lock_record *entry)
{
	return entry->acquired + entry->released + entry->failed;
}

/* The place of the least used of those that may give way is the new lock's. Entries never become free again,
 * so the first free one ends the search. */
__attribute__((noinline)) struct lock_record *locks_open_entry(struct thread *thread, enum lock_kind kind,
							       uint64_t address)
{
	struct lock_record *entries = thread->locks->entries;
	uint32_t home = (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 56), least = home;
	for (uint32_t probe = 0; probe < LOCK_PROBES; probe++) {
		uint32_t at = (home + probe) % LOCK_ENTRIES;
		if (entries[at].address == address && entries[at].kind == kind)
			return &entries[at];
		if (!entries[at].address) {
			fill_entry(thread, &entries[at], kind, address);
			return &entries[at];
		}
		if (calls_of(&entries[at]) < calls_of(&entries[least]))
			least = at;
	}
	return replace_entry(thread, least, kind, address);
}
