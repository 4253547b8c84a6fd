#include "shim/lockblock.h"

#include <stddef.h>
#include <string.h>

#include "shim/clock.h"
#include "shim/locks.h"
#include "shim/ring.h"
#include "shim/tracefile.h"

#define RECORDS 256u
#define TRIES	100u
#define LEVEL	1

static struct {
	struct locks_header header;
	struct lock_record records[RECORDS];
} block;

static struct {
	bool want_whole;
	bool closing; /* what is read now is read for the last time */
	struct lock_told shared_told[LOCK_KINDS];
} state;

/* ---- blocks -------------------------------------------------------------------------------------------- */

static void begin(uint32_t flags)
{
	block.header = (struct locks_header){.time = clock_now(), .flags = flags};
}

static void flush(void)
{
	struct locks_header *header = &block.header;
	if (header->records == 0)
		return;
	header->end_time = clock_now();
	tracefile_append(BLOCK_LOCKS, &block, sizeof *header + header->records * sizeof *block.records,
			 (struct block_times){header->time, header->end_time}, LEVEL);
	begin(header->flags);
}

static void put(const struct lock_record *record)
{
	if (block.header.records == RECORDS)
		flush();
	block.records[block.header.records++] = *record;
}

/* ---- entries ------------------------------------------------------------------------------------------- */

static uint64_t calls_of(const struct lock_record *record)
{
	return record->acquired + record->released + record->failed + record->contended;
}

static void put_if_news(const struct lock_record *record, struct lock_told *told)
{
	uint64_t calls = calls_of(record);
	bool news = told->opened != record->opened || told->calls != calls;
	if (!calls || (!news && !state.want_whole && !state.closing))
		return;
	*told = (struct lock_told){record->opened, calls};
	put(record);
	if (state.closing)
		block.records[block.header.records - 1].flags |= LOCK_CLOSED;
}

/* The counterpart of replace_entry() (locks.c). Acquire: with the address the rest of the entry is seen. */
static bool copy_once(struct lock_table *table, uint32_t at, struct lock_record *copy)
{
	uint32_t before = atomic_load_explicit(&table->replaced, memory_order_acquire);
	atomic_load_explicit(locks_sum(&table->entries[at].address), memory_order_acquire);
	memcpy(copy, &table->entries[at], sizeof *copy);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&table->replacing, memory_order_relaxed) != at + 1 &&
	       atomic_load_explicit(&table->replaced, memory_order_relaxed) == before;
}

/* An owner that lost its CPU just here is asked again the next time. */
static void put_entry(struct lock_table *table, uint32_t at)
{
	struct lock_record copy;
	if (!atomic_load_explicit(locks_sum(&table->entries[at].address), memory_order_relaxed))
		return;
	for (unsigned i = 0; i < TRIES; i++)
		if (copy_once(table, at, &copy)) {
			put_if_news(&copy, &table->told[LOCK_KINDS + at]);
			return;
		}
}

/* Acquire: the records before the head are complete. Release: they may be written over. */
static void put_queue(struct lock_table *table)
{
	uint32_t head = atomic_load_explicit(&table->queue_head, memory_order_acquire);
	uint32_t tail = atomic_load_explicit(&table->queue_tail, memory_order_relaxed);
	for (; tail != head; tail++)
		put(&table->queue[tail % LOCK_QUEUE]);
	atomic_store_explicit(&table->queue_tail, tail, memory_order_release);
}

/* The queue last: an entry that is closed while the table is read is found there. */
static void put_table(struct lock_table *table)
{
	for (unsigned kind = 0; kind < LOCK_KINDS; kind++)
		put_if_news(&table->other[kind], &table->told[kind]);
	for (uint32_t at = 0; at < LOCK_ENTRIES; at++)
		put_entry(table, at);
	put_queue(table);
}

void lockblock_write(void)
{
	if (locks_state != LOCKS_ON)
		return;
	begin(state.want_whole ? LOCKS_WHOLE : 0);
	for (unsigned kind = 0; kind < LOCK_KINDS; kind++)
		put_if_news(&locks_shared()[kind], &state.shared_told[kind]);
	for (uint32_t i = 0; i < rings_slots_end(); i++) {
		struct lock_table *table = locks_table(i);
		if (table && atomic_load_explicit(&rings_slot(i)->state, memory_order_acquire) != SLOT_FREE)
			put_table(table);
	}
	flush();
	state.want_whole = false;
}

void lockblock_want_whole(void)
{
	state.want_whole = true;
}

/* For the slot's next thread. What was never written to is left alone: it takes no memory. */
static void empty_table(struct lock_table *table)
{
	for (uint32_t at = 0; at < LOCK_ENTRIES; at++)
		if (table->entries[at].address) {
			memset(&table->entries[at], 0, sizeof table->entries[at]);
			table->told[LOCK_KINDS + at] = (struct lock_told){0, 0};
		}
	memset(table->told, 0, LOCK_KINDS * sizeof *table->told);
	memset(table, 0, offsetof(struct lock_table, entries));
}

void lockblock_take_gone(struct thread *thread)
{
	struct lock_table *table = locks_state == LOCKS_ON ? thread->locks : NULL;
	if (!table)
		return;
	begin(0);
	state.closing = true;
	put_table(table);
	state.closing = false;
	flush();
	empty_table(table);
}
