#include "shim/patch_site.h"

#include <Zydis/Zydis.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "shim/library.h"
#include "shim/thread.h"

#define JUMP_BYTES	5u  /* e9 rel32 */
#define PAD_BYTES	4u  /* endbr64 */
#define THUNK_BYTES	16u /* ff 25 00 00 00 00, address, two of filling */
#define INSTRUCTION_MAX 15u

const uint64_t patch_site_reach_bytes = (UINT64_C(1) << 31) - (UINT64_C(1) << 20);

static const uint8_t endbr64[PAD_BYTES] = {0xf3, 0x0f, 0x1e, 0xfa};

/* ---- decoding
 * ---------------------------------------------------------------------------------------------------- */

#if ZYDIS_API >= 4
#define WIDTH_64 ZYDIS_STACK_WIDTH_64
#define DECODE	 "ZydisDecoderDecodeInstruction"
typedef ZyanStatus decode_function(const ZydisDecoder *, void *context, const void *, ZyanUSize,
				   ZydisDecodedInstruction *);
#define CALL_DECODE(decode, ...) (decode)(&zydis.decoder, NULL, __VA_ARGS__)
#else
#define WIDTH_64		 ZYDIS_ADDRESS_WIDTH_64
#define DECODE			 "ZydisDecoderDecodeBuffer"
typedef ZyanStatus decode_function(const ZydisDecoder *, const void *, ZyanUSize, ZydisDecodedInstruction *);
#define CALL_DECODE(decode, ...) (decode)(&zydis.decoder, __VA_ARGS__)
#endif

static struct {
	decode_function *decode;
	ZydisDecoder decoder;
} zydis;

const char *patch_site_start(void)
{
	if (zydis.decode)
		return NULL;
	void *handle = library_open(ZYDIS_SONAME);
	if (!handle)
		return ZYDIS_SONAME " (the instruction decoder) is neither beside libmtrace.so nor installed";
	ZyanU64 (*version)(void) = (ZyanU64(*)(void))dlsym(handle, "ZydisGetVersion");
	__typeof__(ZydisDecoderInit) *init =
		(__typeof__(ZydisDecoderInit) *)dlsym(handle, "ZydisDecoderInit");
	decode_function *decode = (decode_function *)dlsym(handle, DECODE);
	bool same = version && ZYDIS_VERSION_MAJOR(version()) == ZYDIS_VERSION_MAJOR(ZYDIS_VERSION) &&
		    ZYDIS_VERSION_MINOR(version()) == ZYDIS_VERSION_MINOR(ZYDIS_VERSION);
	if (!same || !init || !decode ||
	    !ZYAN_SUCCESS(init(&zydis.decoder, ZYDIS_MACHINE_MODE_LONG_64, WIDTH_64)))
		return ZYDIS_SONAME " is of another version than libmtrace.so was built with";
	zydis.decode = decode;
	return NULL;
}

struct instruction {
	const uint8_t *code;
	ZydisDecodedInstruction zydis;
};

static bool decode(struct instruction *instruction, const uint8_t *code, const uint8_t *end)
{
	size_t room = (size_t)(end - code);
	instruction->code = code;
	return ZYAN_SUCCESS(CALL_DECODE(zydis.decode, code, room < INSTRUCTION_MAX ? room : INSTRUCTION_MAX,
					&instruction->zydis));
}

static size_t length_of(const struct instruction *instruction)
{
	return instruction->zydis.length;
}

/* An immediate that counts from the end of the instruction: branches, calls. */
static bool is_relative(const struct instruction *instruction)
{
	return instruction->zydis.raw.imm[0].size && instruction->zydis.raw.imm[0].is_relative;
}

static uintptr_t target_of(const struct instruction *instruction)
{
	return (uintptr_t)instruction->code + length_of(instruction) +
	       (uintptr_t)instruction->zydis.raw.imm[0].value.s;
}

/* mod 0, r/m 5 in 64-bit mode: [rip + disp32] */
static bool is_rip_relative(const struct instruction *instruction)
{
	return (instruction->zydis.attributes & ZYDIS_ATTRIB_HAS_MODRM) &&
	       instruction->zydis.raw.modrm.mod == 0 && instruction->zydis.raw.modrm.rm == 5;
}

static bool is_call(const struct instruction *instruction)
{
	return instruction->zydis.meta.category == ZYDIS_CATEGORY_CALL;
}

/* Nothing behind it runs, unless something jumps there. */
static bool is_terminal(const struct instruction *instruction)
{
	return instruction->zydis.meta.category == ZYDIS_CATEGORY_RET ||
	       instruction->zydis.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
	       instruction->zydis.mnemonic == ZYDIS_MNEMONIC_UD2;
}

/* ---- planning
 * ---------------------------------------------------------------------------------------------------- */

#define BRANCH_BACK "a branch leads back into its first bytes"

/*
 * A call of the function by itself comes to the hook and is nested there; a jump back to the start is a loop,
 * which the hook would enter in the middle.
 */
static bool leads_back(const struct patch_site *site, const struct instruction *instruction)
{
	uintptr_t target = target_of(instruction);
	bool recursion = is_call(instruction) && target == site->entry;
	return target - site->entry < site->pad + site->displaced && !recursion;
}

/* From a place outside the function to the end of that stretch of code. */
static const char *follow_way(const struct patch_site *site, struct patch_ways *ways, uintptr_t start)
{
	const uint8_t *code = (const uint8_t *)start, *end = (const uint8_t *)site->text_end;
	struct instruction instruction;
	for (unsigned i = 0; i < PATCH_WAY_INSTRUCTIONS && code < end; i++, code += length_of(&instruction)) {
		if (!decode(&instruction, code, end))
			return NULL;
		if (is_relative(&instruction) && leads_back(site, &instruction))
			return BRANCH_BACK;
		if (is_relative(&instruction) && !is_call(&instruction))
			patch_ways_add(ways, site, target_of(&instruction));
		if (is_terminal(&instruction))
			return NULL;
	}
	return NULL;
}

/* Every branch of the function, its own first instructions included, and of what its jumps lead to. */
static const char *find_branch_back(const struct patch_site *site)
{
	const uint8_t *code = (const uint8_t *)site->entry, *end = code + site->bytes;
	struct instruction instruction;
	struct patch_ways ways = {.count = 0};
	for (; code < end; code += length_of(&instruction)) {
		if (!decode(&instruction, code, end))
			return "it holds an instruction that the decoder does not know";
		if (!is_relative(&instruction))
			continue;
		if (leads_back(site, &instruction))
			return BRANCH_BACK;
		if (!is_call(&instruction))
			patch_ways_add(&ways, site, target_of(&instruction));
	}
	const char *problem = NULL;
	for (unsigned i = 0; i < ways.count && !problem; i++)
		problem = follow_way(site, &ways, ways.starts[i]);
	return problem;
}

const char *patch_site_plan(struct patch_site *site)
{
	const uint8_t *start = (const uint8_t *)site->entry, *end = start + site->bytes;
	struct instruction instruction;
	site->pad = site->bytes >= PAD_BYTES && !memcmp(start, endbr64, PAD_BYTES) ? PAD_BYTES : 0;
	if (site->bytes < site->pad + JUMP_BYTES)
		return "it is shorter than a jump";
	for (site->displaced = 0; site->displaced < JUMP_BYTES; site->displaced += length_of(&instruction)) {
		const uint8_t *code = start + site->pad + site->displaced;
		if (code >= end)
			return "it is shorter than a jump";
		if (!decode(&instruction, code, end))
			return "it holds an instruction that the decoder does not know";
		if (is_terminal(&instruction) && site->displaced + length_of(&instruction) < JUMP_BYTES)
			return "it is shorter than a jump";
	}
	return find_branch_back(site);
}

/* ---- building
 * ---------------------------------------------------------------------------------------------------- */

struct writer {
	uint8_t *at;
	uint8_t *literal; /* the lowest one so far: 64-bit values grow down from the slot's end */
	bool too_far;
};

static void put(struct writer *writer, const void *bytes, size_t count)
{
	memcpy(writer->at, bytes, count);
	writer->at += count;
}

static void put_byte(struct writer *writer, uint8_t byte)
{
	*writer->at++ = byte;
}

/* A 32-bit distance from the end of itself plus `behind` more bytes. */
static void put_distance(struct writer *writer, uintptr_t target, size_t behind)
{
	int64_t distance = (int64_t)(target - ((uintptr_t)writer->at + 4 + behind));
	int32_t stored = (int32_t)distance;
	writer->too_far = writer->too_far || stored != distance;
	put(writer, &stored, 4);
}

static uintptr_t add_literal(struct writer *writer, uint64_t value)
{
	writer->literal -= 8;
	memcpy(writer->literal, &value, 8);
	return (uintptr_t)writer->literal;
}

/* push of the address behind the original call: what the callee returns to, and unwinds through, is the
 * function itself. */
static void put_push_return(struct writer *writer, const struct instruction *call)
{
	put(writer, "\xff\x35", 2);
	put_distance(writer, add_literal(writer, (uintptr_t)call->code + length_of(call)), 0);
}

static void put_jump(struct writer *writer, uintptr_t target)
{
	put_byte(writer, 0xe9);
	put_distance(writer, target, 0);
}

static bool is_short_conditional(const struct instruction *instruction)
{
	return instruction->zydis.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
	       (instruction->zydis.opcode & 0xf0) == 0x70;
}

static bool is_near_conditional(const struct instruction *instruction)
{
	return instruction->zydis.opcode_map == ZYDIS_OPCODE_MAP_0F &&
	       (instruction->zydis.opcode & 0xf0) == 0x80;
}

static const char *put_relative(struct writer *writer, const struct instruction *instruction)
{
	uintptr_t target = target_of(instruction);
	if (is_call(instruction)) {
		put_push_return(writer, instruction);
		put_jump(writer, target);
	} else if (instruction->zydis.meta.category == ZYDIS_CATEGORY_UNCOND_BR) {
		put_jump(writer, target);
	} else if (is_short_conditional(instruction) || is_near_conditional(instruction)) {
		put_byte(writer, 0x0f);
		put_byte(writer, (uint8_t)(0x80 | (instruction->zydis.opcode & 0x0f)));
		put_distance(writer, target, 0);
	} else {
		return "a branch among its first instructions has only a short form";
	}
	return NULL;
}

/* As it is, but for the distance of a RIP-relative operand. */
static void put_moved(struct writer *writer, const struct instruction *instruction)
{
	size_t length = length_of(instruction), offset = instruction->zydis.raw.disp.offset;
	if (!is_rip_relative(instruction)) {
		put(writer, instruction->code, length);
		return;
	}
	uintptr_t target =
		(uintptr_t)instruction->code + length + (uintptr_t)instruction->zydis.raw.disp.value;
	put(writer, instruction->code, offset);
	put_distance(writer, target, length - offset - 4);
	put(writer, instruction->code + offset + 4, length - offset - 4);
}

/* call r/m: the same as a push and a jump (ff /2 becomes ff /4), unless the operand counts from rsp. */
static const char *put_indirect_call(struct writer *writer, const struct instruction *instruction)
{
	bool from_rsp = instruction->zydis.raw.modrm.rm == 4; /* rsp itself, or an address with a SIB byte */
	if (instruction->zydis.opcode != 0xff || from_rsp)
		return "an indirect call stands among its first instructions";
	put_push_return(writer, instruction);
	uint8_t *moved = writer->at;
	put_moved(writer, instruction);
	size_t offset = instruction->zydis.raw.modrm.offset;
	moved[offset] = (uint8_t)((moved[offset] & ~0x38u) | 0x20u);
	return NULL;
}

/* A shadow stack knows only returns of real calls. */
static bool has_shadow_stack(void)
{
	uint64_t pointer = 0;
	__asm__ volatile("rdsspq %0" : "+r"(pointer)); /* a no-op where there is none */
	return pointer != 0;
}

static const char *put_displaced(struct writer *writer, const struct patch_site *site)
{
	const uint8_t *start = (const uint8_t *)site->entry + site->pad, *end = start + site->displaced;
	struct instruction instruction;
	for (const uint8_t *code = start; code < end; code += length_of(&instruction)) {
		if (!decode(&instruction, code, end))
			return "it holds an instruction that the decoder does not know";
		bool last = code + length_of(&instruction) == end;
		if (is_call(&instruction) && (!last || has_shadow_stack()))
			return "a call stands among its first instructions";
		const char *problem = NULL;
		if (is_relative(&instruction))
			problem = put_relative(writer, &instruction);
		else if (is_call(&instruction))
			problem = put_indirect_call(writer, &instruction);
		else
			put_moved(writer, &instruction);
		if (problem)
			return problem;
	}
	return NULL;
}

const char *patch_site_build(struct patch_site *site, const void *hook)
{
	uint64_t address = (uintptr_t)hook;
	struct writer writer = {site->slot, site->slot + PATCH_SLOT_BYTES, false};
	put(&writer, "\xff\x25\0\0\0\0", 6);
	put(&writer, &address, 8);
	writer.at = site->slot + THUNK_BYTES;
	site->trampoline = writer.at;
	put(&writer, (const void *)site->entry, site->pad);
	const char *problem = put_displaced(&writer, site);
	if (problem)
		return problem;
	put_jump(&writer, site->entry + site->pad + site->displaced);

	struct writer jump = {site->jump, NULL, false};
	int64_t distance = (int64_t)((uintptr_t)site->slot - (site->entry + site->pad + JUMP_BYTES));
	int32_t stored = (int32_t)distance;
	put_byte(&jump, 0xe9);
	put(&jump, &stored, 4);
	site->jump_bytes = JUMP_BYTES;
	return writer.too_far || stored != distance ? "what its first instructions refer to is too far away"
						    : NULL;
}

void patch_site_write(const struct patch_site *site)
{
	memcpy((void *)(site->entry + site->pad), site->jump, site->jump_bytes);
	patch_site_flush((void *)site->entry, site->pad + site->jump_bytes);
}

/* Stores to code are seen by the thread that made them after its next jump, and by threads that start later.
 */
void patch_site_flush(const void *start, size_t bytes)
{
	(void)start;
	(void)bytes;
	__asm__ volatile("" ::: "memory");
}
