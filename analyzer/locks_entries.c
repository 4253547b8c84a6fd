/* Entries: from records, of which the latest counts, to what was added. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/locksums_internal.h"

#define CLOSED_MIN 4096u /* fewer are not worth a sweep */

static uint64_t hash_of(const struct lock_record *record)
{
	uint64_t hash = hashindex_mix(0, record->address);
	hash = hashindex_mix(hash, record->opened);
	return hashindex_mix(hash, (uint64_t)record->thread << 16 | record->kind);
}

static bool same(const void *items, uint32_t index, const void *key)
{
	const struct lock_record *a = &((const struct lock_entry *)items)[index].last, *b = key;
	return a->address == b->address && a->opened == b->opened && a->thread == b->thread &&
	       a->kind == b->kind;
}

struct lock_entry *lock_entries_find(const struct lock_entries *entries, const struct lock_record *record)
{
	uint32_t index = hashindex_get(&entries->by_key, hash_of(record), same, entries->items, record);
	return index == HASHINDEX_NONE ? NULL : &entries->items[index];
}

struct lock_entry *lock_entries_add(struct lock_entries *entries, const struct lock_record *last,
				    struct lock_slot slot)
{
	if (entries->count >= HASHINDEX_NONE ||
	    !array_reserve(&entries->items, &entries->capacity, entries->count + 1, sizeof *entries->items) ||
	    !hashindex_add(&entries->by_key, hash_of(last), (uint32_t)entries->count))
		return NULL;
	struct lock_entry *entry = &entries->items[entries->count++];
	*entry = (struct lock_entry){*last, slot};
	return entry;
}

/* ---- growth -------------------------------------------------------------------------------------------- */

static uint64_t growth(uint64_t before, uint64_t now)
{
	return now > before ? now - before : 0;
}

struct lock_sums lock_entries_take(struct lock_entries *entries, struct lock_entry *entry,
				   const struct lock_record *record)
{
	const struct lock_record *last = &entry->last;
	struct lock_sums grown = {
		.acquired = growth(last->acquired, record->acquired),
		.released = growth(last->released, record->released),
		.shared = growth(last->shared, record->shared),
		.contended = growth(last->contended, record->contended),
		.failed = growth(last->failed, record->failed),
		.wait = growth(last->wait, record->wait),
		.wait_longest = record->wait_longest,
		.held = growth(last->held, record->held),
		.hold = growth(last->hold, record->hold),
		.hold_longest = record->hold_longest,
	};
	for (unsigned i = 0; i < LOCK_BUCKETS; i++) {
		grown.waits[i] = growth(last->waits[i], record->waits[i]);
		grown.holds[i] = growth(last->holds[i], record->holds[i]);
	}
	entries->closed += (record->flags & LOCK_CLOSED) && !(last->flags & LOCK_CLOSED);
	entry->last = *record;
	return grown;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void lock_sums_add(struct lock_sums *sums, const struct lock_sums *part)
{
	sums->acquired += part->acquired;
	sums->released += part->released;
	sums->shared += part->shared;
	sums->contended += part->contended;
	sums->failed += part->failed;
	sums->wait += part->wait;
	sums->wait_longest = larger(sums->wait_longest, part->wait_longest);
	sums->held += part->held;
	sums->hold += part->hold;
	sums->hold_longest = larger(sums->hold_longest, part->hold_longest);
	for (unsigned i = 0; i < LOCK_BUCKETS; i++) {
		sums->waits[i] += part->waits[i];
		sums->holds[i] += part->holds[i];
	}
}

/* ---- closed ones --------------------------------------------------------------------------------------- */

bool lock_entries_sweep(struct lock_entries *entries)
{
	size_t kept = 0;
	if (entries->closed < CLOSED_MIN || entries->closed < entries->count / 2)
		return true;
	hashindex_clear(&entries->by_key);
	for (size_t i = 0; i < entries->count; i++) {
		if (entries->items[i].last.flags & LOCK_CLOSED)
			continue;
		entries->items[kept] = entries->items[i];
		if (!hashindex_add(&entries->by_key, hash_of(&entries->items[kept].last), (uint32_t)kept))
			return false;
		kept++;
	}
	entries->count = kept;
	entries->closed = 0;
	return true;
}

void lock_entries_free(struct lock_entries *entries)
{
	free(entries->items);
	hashindex_clear(&entries->by_key);
	*entries = (struct lock_entries){0};
}
