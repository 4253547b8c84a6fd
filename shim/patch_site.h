/*
 * One entry point of an allocator inside the program, and what replaces its first bytes. What differs between
 * processors is in arch/<name>/patch_site.c: how a jump looks, which bytes it displaces, and how the
 * displaced instructions are made to run elsewhere.
 *
 *   entry:  [landing pad]  jump to slot.thunk     slot:  thunk       jump to the hook
 *           (rest of displaced instructions)             trampoline  landing pad, displaced instructions,
 *   rest:   ...                                                      jump to rest
 *
 * A slot lies within reach of the entry. The hook lies anywhere.
 */
#ifndef MTRACE_PATCH_SITE_H
#define MTRACE_PATCH_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATCH_SLOT_BYTES 256u /* of code memory for one entry */

struct patch_site {
	uintptr_t entry;		/* the function's address */
	size_t bytes;			/* and its size, as the symbol table has it */
	uintptr_t text_start, text_end; /* the readable code that it lies in: nothing beyond is looked at */
	bool guarded;			/* aarch64: its pages are mapped with PROT_BTI */
	size_t pad;	  /* bytes of the landing pad, which stays: the jump is written behind it */
	size_t displaced; /* bytes of the instructions that the jump replaces, whole or in part */
	uint8_t *slot;
	void *trampoline; /* what to call instead of the entry */
	uint8_t jump[16]; /* to be written at entry + pad */
	size_t jump_bytes;
};

/*
 * Places outside a function that its jumps lead to (gcc moves unlikely code there), and further ones from
 * there, each to be looked through for a way back into the first bytes. Beyond PATCH_WAYS_MAX they are not
 * followed.
 */
#define PATCH_WAYS_MAX	       64u
#define PATCH_WAY_INSTRUCTIONS 256u

struct patch_ways {
	uintptr_t starts[PATCH_WAYS_MAX];
	unsigned count;
};

static inline void patch_ways_add(struct patch_ways *ways, const struct patch_site *site, uintptr_t target)
{
	bool inside = target - site->entry < site->bytes;
	if (inside || target < site->text_start || target >= site->text_end || ways->count == PATCH_WAYS_MAX)
		return;
	for (unsigned i = 0; i < ways->count; i++)
		if (ways->starts[i] == target)
			return;
	ways->starts[ways->count++] = target;
}

/* How far from an entry its slot may lie. */
extern const uint64_t patch_site_reach_bytes;

/* Gets ready (opens the instruction decoder where one is needed). NULL, or why entries cannot be patched
 * here. */
const char *patch_site_start(void);

/*
 * Reads the function and decides which of its bytes a jump displaces. Fills pad and displaced. NULL, or why
 * this entry must be left alone: too short, a branch into the displaced bytes, instructions that cannot move.
 */
const char *patch_site_plan(struct patch_site *site);

/*
 * Writes thunk and trampoline into site->slot (PATCH_SLOT_BYTES, writable, not yet executable) and the jump
 * into site->jump. NULL, or why it cannot be done.
 */
const char *patch_site_build(struct patch_site *site, const void *hook);

/* Stores the jump at the entry, which must be writable. One thread runs, signals are blocked. */
void patch_site_write(const struct patch_site *site);

/* Makes the processor see code that was written as data. */
void patch_site_flush(const void *start, size_t bytes);

#endif
