/* Rows: the locks of one kind at one place, and how many threads used them. */
#include <math.h>
#include <stdlib.h>

#include "analyzer/array.h"
#include "analyzer/locksums_internal.h"

struct lock_member {
	uint32_t row;
	uint64_t address;
	double atomics;
};

/* ---- places -------------------------------------------------------------------------------------------- */

struct row_key {
	const struct lock_place *place;
	unsigned kind;
	uint64_t address; /* 0: of any */
};

static uint64_t row_hash(const struct row_key *key)
{
	uint64_t hash = hashindex_mix((uint64_t)key->place->kind << 8 | key->kind, key->place->key);
	return hashindex_mix(hashindex_mix(hash, key->place->offset), key->address);
}

static bool same_row(const void *items, uint32_t index, const void *wanted)
{
	const struct lock_row *row = &((const struct lock_row *)items)[index];
	const struct row_key *key = wanted;
	return row->place.kind == key->place->kind && row->place.key == key->place->key &&
	       row->place.offset == key->place->offset && row->kind == key->kind &&
	       (!key->address || row->address == key->address);
}

static bool same_member(const void *items, uint32_t index, const void *wanted)
{
	const struct lock_member *member = &((const struct lock_member *)items)[index], *key = wanted;
	return member->row == key->row && member->address == key->address;
}

/* The index of an address in its row, UINT32_MAX where none is recorded. False when out of memory. */
static bool member_of(struct lock_rows *rows, uint32_t row, uint64_t address, uint32_t *member)
{
	const struct lock_member key = {.row = row, .address = address};
	uint64_t hash = hashindex_mix(hashindex_mix(0, row), address);
	*member = UINT32_MAX;
	if (!address)
		return true;
	*member = hashindex_get(&rows->by_member, hash, same_member, rows->members, &key);
	if (*member != HASHINDEX_NONE)
		return true;
	if (rows->member_count >= HASHINDEX_NONE ||
	    !array_reserve(&rows->members, &rows->member_capacity, rows->member_count + 1,
			   sizeof *rows->members) ||
	    !hashindex_add(&rows->by_member, hash, (uint32_t)rows->member_count))
		return false;
	*member = (uint32_t)rows->member_count++;
	rows->members[*member] = key;
	rows->items[row].locks++;
	return true;
}

static uint32_t find_row(const struct lock_rows *rows, const struct row_key *key)
{
	return hashindex_get(&rows->by_place, row_hash(key), same_row, rows->items, key);
}

static uint32_t add_row(struct lock_rows *rows, const struct row_key *key, uint64_t address)
{
	uint32_t row = (uint32_t)rows->count;
	if (!array_reserve(&rows->items, &rows->capacity, rows->count + 1, sizeof *rows->items) ||
	    !hashindex_add(&rows->by_place, row_hash(key), row))
		return UINT32_MAX;
	rows->items[rows->count++] =
		(struct lock_row){.place = *key->place, .kind = key->kind, .address = address};
	return row;
}

struct lock_slot lock_rows_of(struct lock_rows *rows, const struct lock_place *place, unsigned kind,
			      uint64_t address)
{
	static const struct lock_place rest = {.kind = PLACE_REST};
	struct row_key key = {place, kind, rows->each ? address : 0};
	struct lock_slot slot = {find_row(rows, &key), UINT32_MAX};
	if (slot.row == HASHINDEX_NONE && rows->count >= LOCK_ROWS_MAX) {
		key = (struct row_key){&rest, kind, 0};
		slot.row = find_row(rows, &key);
	}
	if (slot.row == HASHINDEX_NONE)
		slot.row = add_row(rows, &key, address);
	if (slot.row != UINT32_MAX && !member_of(rows, slot.row, address, &slot.member))
		slot.row = UINT32_MAX;
	return slot;
}

/* ---- who used them ------------------------------------------------------------------------------------- */

static bool add_use(struct lock_rows *rows, uint32_t row, uint32_t thread, bool waited)
{
	uint32_t use = pairmap_get(&rows->uses, row, thread);
	if (use == PAIRMAP_NONE) {
		use = (uint32_t)rows->use_count;
		if (!array_reserve(&rows->use_waited, &rows->use_capacity, rows->use_count + 1,
				   sizeof *rows->use_waited) ||
		    !pairmap_add(&rows->uses, row, thread, use))
			return false;
		rows->use_waited[rows->use_count++] = false;
		rows->items[row].threads++;
	}
	rows->items[row].threads_waited += waited && !rows->use_waited[use];
	rows->use_waited[use] |= waited;
	return true;
}

bool lock_rows_add(struct lock_rows *rows, struct lock_slot slot, uint32_t thread,
		   const struct lock_sums *part, double atomics)
{
	struct lock_row *row = &rows->items[slot.row];
	lock_sums_add(&row->sums, part);
	if (slot.member != UINT32_MAX) {
		struct lock_member *member = &rows->members[slot.member];
		member->atomics += atomics;
		row->busiest = fmax(row->busiest, member->atomics);
	}
	if (thread != PLACE_NO_THREAD)
		return add_use(rows, slot.row, thread, part->contended > 0);
	row->other_threads = true;
	return true;
}

void lock_rows_free(struct lock_rows *rows)
{
	free(rows->items);
	free(rows->members);
	free(rows->use_waited);
	hashindex_clear(&rows->by_place);
	hashindex_clear(&rows->by_member);
	pairmap_clear(&rows->uses);
	*rows = (struct lock_rows){0};
}
