/*
 * Live blocks by address: open addressing with linear probing and deletion by shifting back, 32 bytes a slot,
 * at most three quarters full. Address 0 marks an empty slot.
 */
#ifndef MTRACE_BLOCKTABLE_H
#define MTRACE_BLOCKTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/livemap.h"

struct block_table {
	struct live_block *slots;
	size_t count;  /* kept by the user: slots in use */
	unsigned bits; /* 2^bits slots */
};

/* Knuth's multiplicative hash (TAOCP 3, 6.4); the low bits of an address are mostly zero. */
static inline size_t block_table_hash(uint64_t address, unsigned bits)
{
	return (size_t)(((address ^ address >> 32) * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - bits));
}

static inline struct live_block *block_table_probe(const struct block_table *table, uint64_t address)
{
	size_t mask = ((size_t)1 << table->bits) - 1;
	size_t at = block_table_hash(address, table->bits);
	while (table->slots[at].address && table->slots[at].address != address)
		at = (at + 1) & mask;
	return &table->slots[at];
}

/* The block at `address`, or NULL. */
static inline struct live_block *block_table_find(const struct block_table *table, uint64_t address)
{
	struct live_block *block = block_table_probe(table, address);
	return block->address ? block : NULL;
}

bool block_table_create(struct block_table *table);
void block_table_free(struct block_table *table);
size_t block_table_bytes(const struct block_table *table);

bool block_table_grow(struct block_table *table);

/*
 * Where the block at `address` is, or (->address is 0) is to be put; the caller fills the slot in and counts
 * it. NULL when out of memory. Valid until the next call of this or of block_table_remove().
 */
static inline struct live_block *block_table_place(struct block_table *table, uint64_t address)
{
	if (table->count >= ((size_t)3 << table->bits) / 4 && !block_table_grow(table))
		return NULL;
	return block_table_probe(table, address);
}

/* Empties a slot in use; the caller counts it. Other blocks may move. */
void block_table_remove(struct block_table *table, struct live_block *block);

#endif
