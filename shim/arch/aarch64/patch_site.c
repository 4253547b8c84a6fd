#include "shim/patch_site.h"

#include <string.h>

/*
 * Encodings: Arm Architecture Reference Manual, C4.1. One `B` of 4 bytes replaces one instruction.
 *
 * A function that starts with a landing pad (`bti c`) keeps it and is patched behind it. `paciasp` is a
 * landing pad too, but must run with the function's own return address, so it moves; where the page is
 * guarded (PROT_BTI), a `bti c` takes its place and the jump that of the next instruction.
 */
#define WORD	      4u
#define THUNK_BYTES   16u
#define BTI_C	      0xd503245fu
#define NOP	      0xd503201fu
#define BR_X17	      0xd61f0220u
#define SCRATCH	      17u /* x17: any call may change it (AAPCS64, 6.1.1) */
#define LINK_REGISTER 30u
#define ZERO_REGISTER 31u

/* B reaches 128 MiB; the rest is for what the function refers to. */
const uint64_t patch_site_reach_bytes = UINT64_C(126) << 20;

const char *patch_site_start(void)
{
	return NULL;
}

/* ---- decoding
 * ---------------------------------------------------------------------------------------------------- */

static uint32_t word_at(uintptr_t address)
{
	uint32_t word;
	memcpy(&word, (const void *)address, sizeof word);
	return word;
}

static bool matches(uint32_t word, uint32_t mask, uint32_t value)
{
	return (word & mask) == value;
}

/* `width` bits from bit `low` on, as a signed number. */
static int64_t signed_field(uint32_t word, unsigned low, unsigned width)
{
	return (int64_t)((uint64_t)word << (64 - low - width)) >> (64 - width);
}

static bool is_branch(uint32_t word)
{
	return matches(word, 0xfc000000u, 0x14000000u);
}
static bool is_call(uint32_t word)
{
	return matches(word, 0xfc000000u, 0x94000000u);
}
static bool is_address(uint32_t word)
{
	return matches(word, 0x1f000000u, 0x10000000u);
} /* adr, adrp */
static bool is_literal(uint32_t word)
{
	return matches(word, 0x3b000000u, 0x18000000u);
} /* ldr =, prfm */
static bool is_compare_branch(uint32_t word)
{
	return matches(word, 0x7e000000u, 0x74000000u);
} /* FEAT_CMPBR */

static bool is_landing_pad(uint32_t word)
{
	return matches(word, 0xffffff3fu, 0xd503241fu); /* bti, bti c, bti j, bti jc */
}

static bool is_signing(uint32_t word)
{
	return word == 0xd503233fu || word == 0xd503237fu; /* paciasp, pacibsp */
}

/* The bits that hold the distance of a conditional branch, in words; 0: it is none. */
static unsigned conditional_bits(uint32_t word)
{
	if (matches(word, 0xff000000u, 0x54000000u) || matches(word, 0x7e000000u, 0x34000000u))
		return 19; /* b.cond, bc.cond; cbz, cbnz */
	if (matches(word, 0x7e000000u, 0x36000000u))
		return 14; /* tbz, tbnz */
	return is_compare_branch(word) ? 9 : 0;
}

static uintptr_t target_of(uintptr_t at, uint32_t word)
{
	if (is_branch(word) || is_call(word))
		return at + (uintptr_t)(signed_field(word, 0, 26) * WORD);
	return at + (uintptr_t)(signed_field(word, 5, conditional_bits(word)) * WORD);
}

/* ---- planning
 * ---------------------------------------------------------------------------------------------------- */

#define RET 0xd65f0000u

static bool is_terminal(uint32_t word)
{
	return is_branch(word) || matches(word, 0xfffff000u, RET) ||
	       matches(word, 0xfffff000u, 0xd61f0000u); /* br */
}

/* Looks through the words from `start` to `end`. False: one of them leads back into the first bytes. */
static bool look_through(const struct patch_site *site, struct patch_ways *ways, uintptr_t start,
			 uintptr_t end, bool to_terminal)
{
	for (uintptr_t at = start; at < end; at += WORD) {
		uint32_t word = word_at(at);
		if (is_branch(word) || is_call(word) || conditional_bits(word)) {
			uintptr_t target = target_of(at, word);
			bool recursion = is_call(word) && target == site->entry;
			if (target - site->entry < site->pad + site->displaced && !recursion)
				return false;
			if (!is_call(word))
				patch_ways_add(ways, site, target);
		}
		if (to_terminal && is_terminal(word))
			return true;
	}
	return true;
}

const char *patch_site_plan(struct patch_site *site)
{
	if (site->entry % WORD || site->bytes < WORD)
		return "it is shorter than a jump";
	uint32_t first = word_at(site->entry);
	bool moves_pad = site->guarded && is_signing(first);
	site->pad = is_landing_pad(first) ? WORD : 0;
	site->displaced = moves_pad ? 2 * WORD : WORD;
	if (site->bytes < site->pad + site->displaced)
		return "it is shorter than a jump";
	struct patch_ways ways = {.count = 0};
	bool good = look_through(site, &ways, site->entry, site->entry + site->bytes / WORD * WORD, false);
	for (unsigned i = 0; i < ways.count && good; i++) {
		uintptr_t end = ways.starts[i] + PATCH_WAY_INSTRUCTIONS * WORD;
		good = look_through(site, &ways, ways.starts[i], end < site->text_end ? end : site->text_end,
				    true);
	}
	return good ? NULL : "a branch leads back into its first bytes";
}

/* ---- building
 * ---------------------------------------------------------------------------------------------------- */

struct writer {
	uint8_t *at;
	uint8_t *literal; /* the lowest one so far: 64-bit values grow down from the slot's end */
};

static void put(struct writer *writer, uint32_t word)
{
	memcpy(writer->at, &word, WORD);
	writer->at += WORD;
}

static bool branch_reaches(uintptr_t from, uintptr_t to)
{
	int64_t distance = (int64_t)(to - from);
	return distance >= -(INT64_C(1) << 27) && distance < INT64_C(1) << 27;
}

static uint32_t branch(uintptr_t from, uintptr_t to)
{
	return 0x14000000u | ((uint32_t)((to - from) / WORD) & 0x03ffffffu);
}

/* ldr x<reg>, =value */
static void put_load(struct writer *writer, unsigned reg, uint64_t value)
{
	writer->literal -= 8;
	memcpy(writer->literal, &value, 8);
	uint32_t words = (uint32_t)(writer->literal - writer->at) / WORD;
	put(writer, 0x58000000u | words << 5 | reg);
}

/* A function that is too far for B is entered at its start: there `br x17` may land on `bti c`. */
static void put_branch(struct writer *writer, uintptr_t target)
{
	if (branch_reaches((uintptr_t)writer->at, target)) {
		put(writer, branch((uintptr_t)writer->at, target));
	} else {
		put_load(writer, SCRATCH, target);
		put(writer, BR_X17);
	}
}

/* The condition leads to the next but one word, where the branch stands; else that is jumped over. */
static void put_conditional(struct writer *writer, uint32_t word, uintptr_t target)
{
	unsigned bits = conditional_bits(word);
	uint32_t field = ((1u << bits) - 1) << 5;
	put(writer, (word & ~field) | 2u << 5);
	uint8_t *over = writer->at;
	put(writer, NOP);
	put_branch(writer, target);
	uint32_t jump = branch((uintptr_t)over, (uintptr_t)writer->at);
	memcpy(over, &jump, WORD);
}

static void put_address(struct writer *writer, uint32_t word, uintptr_t at)
{
	uint64_t low = word >> 29 & 3;
	int64_t distance = signed_field(word, 5, 19) * 4 + (int64_t)low;
	bool page = word >> 31;
	uint64_t value = page ? (at & ~UINT64_C(4095)) + ((uint64_t)distance << 12) : at + (uint64_t)distance;
	if ((word & 31) != ZERO_REGISTER)
		put_load(writer, word & 31, value);
}

/* By its address: through its own register, or for a vector register through x17. A prefetch may go. */
static void put_literal(struct writer *writer, uint32_t word, uintptr_t at)
{
	static const uint32_t general[] = {0xb9400000u, 0xf9400000u, 0xb9800000u}; /* w, x, sw */
	static const uint32_t vector[] = {0xbd400000u, 0xfd400000u, 0x3dc00000u};  /* s, d, q */
	bool is_vector = word >> 26 & 1;
	unsigned size = word >> 30, reg = word & 31, base = is_vector ? SCRATCH : reg;
	if (size == 3 || (!is_vector && reg == ZERO_REGISTER))
		return;
	put_load(writer, base, at + (uint64_t)(signed_field(word, 5, 19) * WORD));
	put(writer, (is_vector ? vector : general)[size] | base << 5 | reg);
}

static void put_displaced(struct writer *writer, uintptr_t at)
{
	uint32_t word = word_at(at);
	if (is_call(word)) {
		/* It returns to the function itself, which is what an unwinder is to see. */
		put_load(writer, LINK_REGISTER, at + WORD);
		put_branch(writer, target_of(at, word));
	} else if (is_branch(word)) {
		put_branch(writer, target_of(at, word));
	} else if (conditional_bits(word)) {
		put_conditional(writer, word, target_of(at, word));
	} else if (is_address(word)) {
		put_address(writer, word, at);
	} else if (is_literal(word)) {
		put_literal(writer, word, at);
	} else {
		put(writer, word);
	}
}

const char *patch_site_build(struct patch_site *site, const void *hook)
{
	struct writer writer = {site->slot, site->slot + PATCH_SLOT_BYTES};
	uintptr_t start = site->entry + site->pad, rest = start + site->displaced;
	put_load(&writer, SCRATCH, (uintptr_t)hook);
	put(&writer, BR_X17);
	writer.at = site->slot + THUNK_BYTES;
	site->trampoline = writer.at;
	for (uintptr_t at = start; at < rest; at += WORD)
		put_displaced(&writer, at);
	if (!branch_reaches((uintptr_t)writer.at, rest) ||
	    !branch_reaches(rest - WORD, (uintptr_t)site->slot))
		return "it lies too far from free memory";
	put_branch(&writer, rest);

	uint32_t jump[2] = {BTI_C, branch(rest - WORD, (uintptr_t)site->slot)};
	site->jump_bytes = site->displaced;
	memcpy(site->jump, site->displaced == WORD ? &jump[1] : jump, site->jump_bytes);
	return NULL;
}

/*
 * Each word by one aligned store: whoever fetches it gets the old instruction or the new one, never a mix
 * (Arm ARM, B2.2.5 lists B among what may be replaced while other CPUs run it; here none does). The last word
 * goes first, so that the jump is there before the landing pad leads to it.
 */
void patch_site_write(const struct patch_site *site)
{
	for (size_t offset = site->jump_bytes; offset; offset -= WORD) {
		uint32_t word;
		memcpy(&word, site->jump + offset - WORD, WORD);
		__atomic_store_n((uint32_t *)(site->entry + site->pad + offset - WORD), word,
				 __ATOMIC_RELAXED);
	}
	patch_site_flush((void *)site->entry, site->pad + site->jump_bytes);
}

/*
 * Instruction caches are not coherent with data caches: the new words must be cleaned to the point of
 * unification (dc cvau), then the old ones dropped from the instruction cache (ic ivau), with a barrier after
 * each, and the pipeline refilled (isb). That is what __builtin___clear_cache does. ic ivau reaches the whole
 * inner shareable domain, so CPUs that this thread moves to, and threads that start later, see the new code:
 * they come by a context switch, which synchronises the pipeline.
 */
void patch_site_flush(const void *start, size_t bytes)
{
	__builtin___clear_cache((char *)(uintptr_t)start, (char *)(uintptr_t)start + bytes);
}
