#include "analyzer/blocktable.h"

#include <sys/mman.h>

#define FIRST_BITS 10u

/* Nearly every access misses the cache, and with small pages the TLB as well: huge pages are asked for. */
static struct live_block *slots_map(unsigned bits)
{
	size_t bytes = sizeof(struct live_block) << bits;
	void *slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (slots == MAP_FAILED)
		return NULL;
	madvise(slots, bytes, MADV_HUGEPAGE);
	return slots;
}

bool block_table_create(struct block_table *table)
{
	*table = (struct block_table){.slots = slots_map(FIRST_BITS), .bits = FIRST_BITS};
	return table->slots != NULL;
}

void block_table_free(struct block_table *table)
{
	if (table->slots)
		munmap(table->slots, block_table_bytes(table));
	*table = (struct block_table){0};
}

size_t block_table_bytes(const struct block_table *table)
{
	return sizeof *table->slots << table->bits;
}

bool block_table_grow(struct block_table *table)
{
	struct block_table grown = {.count = table->count, .bits = table->bits + 1};
	grown.slots = slots_map(grown.bits);
	if (!grown.slots)
		return false;
	for (size_t i = 0; i < (size_t)1 << table->bits; i++)
		if (table->slots[i].address)
			*block_table_probe(&grown, table->slots[i].address) = table->slots[i];
	block_table_free(table);
	*table = grown;
	return true;
}

void block_table_remove(struct block_table *table, struct live_block *block)
{
	size_t mask = ((size_t)1 << table->bits) - 1;
	size_t hole = (size_t)(block - table->slots);
	for (size_t at = (hole + 1) & mask; table->slots[at].address; at = (at + 1) & mask) {
		size_t home = block_table_hash(table->slots[at].address, table->bits);
		/* The block may move back into the hole unless its home lies behind it. */
		if (((at - home) & mask) >= ((at - hole) & mask)) {
			table->slots[hole] = table->slots[at];
			hole = at;
		}
	}
	table->slots[hole].address = 0;
}
