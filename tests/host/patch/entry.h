/* Parts of a small allocator, from which entry points are put together. */
#ifndef TESTS_HOST_PATCH_ENTRY_H
#define TESTS_HOST_PATCH_ENTRY_H

#include <stddef.h>
#include <stdint.h>

/* What malloc and free are once their first instructions have run. */
void *entry_allocate(size_t bytes);
void entry_release(void *block);

/* The entry points written in assembler add entry_magic to entry_sum in each call of malloc. */
extern uint64_t entry_magic, entry_sum;

/* What libearlyblocks.c takes before a preloaded object's constructor runs. */
enum { EARLY_BLOCKS = 100, EARLY_BYTES = 300 };
extern void *early_blocks[EARLY_BLOCKS];

/* The variants that have operators; a weak reference would find those of a preloaded object. */
#if defined VARIANT_tail
#define HAS_ARRAYS 1
#endif
#if defined VARIANT_tail || defined VARIANT_fall_through
#define HAS_SIZED 1
#endif
#if defined VARIANT_tail || defined VARIANT_fall_through || defined VARIANT_alias
#define HAS_OPERATORS 1
void *_Znwm(size_t bytes);
void *_Znam(size_t bytes);
void _ZdlPv(void *block);
void _ZdlPvm(void *block, size_t bytes);
#endif

#endif
