/*
 * Records: how events are written into a chunk and read back. Encode and decode sit side by side.
 *
 * A record is a header byte, then fields:
 *
 *     bits 0-3  enum record_tag: a hot event kind (1 to 6), or one of the others below
 *     bit 4     RECORD_HIT: the address is one that this chunk has seen lately; its index follows as one byte
 *     bit 5     RECORD_SAME_SIZE: with RECORD_HIT: the size is the one remembered with that address
 *     bit 6     RECORD_STACK: a stack id follows as the last field
 *     bit 7     with RECORD_HIT: bit 8 of the index
 *
 * Numbers are prefix varints: the count of trailing zero bits of the first byte, plus one, is the length in
 * bytes; the value sits above the lowest set bit, little-endian. A first byte of 0 is followed by 8 bytes of
 * value.
 *
 * Allocators hand out the same addresses again and again, so both sides keep a direct-mapped table of recent
 * (address, size) pairs: a hit costs one byte instead of four. The table starts empty with each chunk, which
 * is what makes chunks, and so blocks, independent of each other.
 *
 * The encoder is inline, allocates nothing, calls nothing, and writes at most RECORD_BYTES_MAX bytes (stack
 * records: STACK_RECORD_BYTES_MAX) past `position`. The caller makes sure of the room, and commits
 * afterwards.
 */
#ifndef MTRACE_CODEC_H
#define MTRACE_CODEC_H

#include <stddef.h>
#include <string.h>

#include "trace/event.h"
#include "trace/layout.h"

enum record_tag {
	RECORD_END = 0, /* never written: the zeros behind the last record must not decode */
	/* 1 to 6: the hot kinds of enum event_kind */
	RECORD_STACK_DEFINITION = 13,
	RECORD_CPU = 14,      /* the records that follow ran on another CPU */
	RECORD_EXTENDED = 15, /* any event: kind byte, time, field mask, the fields named there */
};

#define RECORD_TAG_MASK	    0x0fu
#define RECORD_HIT	    0x10u
#define RECORD_SAME_SIZE    0x20u
#define RECORD_STACK	    0x40u
#define RECORD_INDEX_BIT    0x80u

#define CODEC_CACHE_BITS    9u
#define CODEC_CACHE_ENTRIES (1u << CODEC_CACHE_BITS)

/* A cache entry is address >> 3 above the size; what does not fit is not remembered. */
#define CODEC_SIZE_BITS	       19u
#define CODEC_SIZE_MASK	       ((UINT64_C(1) << CODEC_SIZE_BITS) - 1)
#define CODEC_ADDRESS_LIMIT    (UINT64_C(1) << (64 - CODEC_SIZE_BITS + 3))

#define CODEC_STACK_DEPTH_MAX  256u
#define RECORD_BYTES_MAX       192u /* the longest record but a stack's, and the slack of wide stores */
#define STACK_RECORD_BYTES_MAX (32u + 9u * CODEC_STACK_DEPTH_MAX)

/* Fields of an extended record, in the order in which they follow. The last two have no value. */
enum extended_field {
	FIELD_ADDRESS = 1u << 0,
	FIELD_OLD_ADDRESS = 1u << 1,
	FIELD_SIZE = 1u << 2,
	FIELD_ALIGNMENT = 1u << 3,
	FIELD_RESULT = 1u << 4, /* zigzag */
	FIELD_ARG0 = 1u << 5,
	FIELD_ARG1 = 1u << 6,
	FIELD_ARG2 = 1u << 7,
	FIELD_ARG3 = 1u << 8,
	FIELD_STACK = 1u << 9,
	FIELD_DURATION = 1u << 10, /* end_time - time */
	FIELD_SAMPLED_OLD = 1u << 11,
	FIELD_SAMPLED_NEW = 1u << 12,
};

/* The state that encoder and decoder keep alike while they go through a chunk. */
struct codec_state {
	uint64_t time;	       /* of the last record */
	uint64_t address_unit; /* last address >> 3 that was written in full */
	uint32_t cpu;
	uint64_t cache[CODEC_CACHE_ENTRIES];
};

static inline void codec_reset(struct codec_state *state, uint64_t base_time, uint32_t cpu)
{
	state->time = base_time;
	state->address_unit = 0;
	state->cpu = cpu;
	memset(state->cache, 0, sizeof state->cache);
}

/* Knuth's multiplicative hash (TAOCP 3, 6.4) of the address in units of 8 bytes. */
static inline unsigned codec_index(uint64_t address_unit)
{
	return (unsigned)((address_unit * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - CODEC_CACHE_BITS));
}

static inline uint64_t zigzag(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* The hot path pays for every call: these are inlined into the hooks whatever the compiler thinks of their
 * size. */
#define CODEC_INLINE static inline __attribute__((always_inline))

/* ---- encode
 * ------------------------------------------------------------------------------------------------- */

/* Writes `value` at `at`; stores up to 9 bytes. Returns the place behind it. */
CODEC_INLINE uint8_t *varint_put(uint8_t *at, uint64_t value)
{
	if (__builtin_expect(value >> 56 != 0, 0)) {
		*at = 0;
		memcpy(at + 1, &value, 8);
		return at + 9;
	}
	unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);
	unsigned bytes = (bits + 6) * 37 >> 8; /* (bits + 6) / 7 for bits <= 56 */
	uint64_t word = (value << bytes) | (UINT64_C(1) << (bytes - 1));
	memcpy(at, &word, 8);
	return at + bytes;
}

/* True where the hot form can hold the address: aligned to 8 and below 2^48. Others take the extended form.
 */
static inline bool codec_address_fits(uint64_t address)
{
	return (address & 7) == 0 && address < CODEC_ADDRESS_LIMIT;
}

/* Advances the state's clock; a step back (another CPU's clock) counts as no time. Returns the difference. */
CODEC_INLINE uint64_t codec_advance(struct codec_state *state, uint64_t time)
{
	uint64_t delta = time > state->time ? time - state->time : 0;
	state->time += delta;
	return delta;
}

/* The part shared by allocations and frees: header, time, address. `*entry` is where the pair is remembered.
 */
CODEC_INLINE uint8_t *codec_put_address(struct codec_state *state, uint8_t *at, unsigned header,
					uint64_t time, uint64_t address, uint64_t **entry, bool *hit)
{
	uint64_t unit = address >> 3;
	unsigned index = codec_index(unit);
	uint64_t *slot = &state->cache[index];
	uint64_t delta = codec_advance(state, time);
	*entry = slot;
	*hit = (*slot >> CODEC_SIZE_BITS) == unit;
	if (*hit) {
		at[0] = (uint8_t)(header | RECORD_HIT | (index >> 8 << 7));
		at = varint_put(at + 1, delta);
		*at = (uint8_t)index;
		return at + 1;
	}
	at[0] = (uint8_t)header;
	at = varint_put(at + 1, delta);
	at = varint_put(at, zigzag((int64_t)(unit - state->address_unit)));
	state->address_unit = unit;
	return at;
}

/* Remembers the pair; a size that does not fit is remembered as one that never matches. */
static inline uint64_t codec_pair(uint64_t address, uint64_t size_bytes)
{
	return (address >> 3) << CODEC_SIZE_BITS |
	       (size_bytes < CODEC_SIZE_MASK ? size_bytes : CODEC_SIZE_MASK);
}

/* EVENT_MALLOC, EVENT_CALLOC, EVENT_NEW without alignment. Needs codec_address_fits(address). */
CODEC_INLINE uint8_t *encode_allocation(struct codec_state *state, uint8_t *at, enum event_kind kind,
					uint64_t time, uint64_t address, uint64_t size_bytes,
					uint32_t stack_id)
{
	uint8_t *header = at;
	uint64_t *entry;
	bool hit;
	uint64_t pair = codec_pair(address, size_bytes);
	unsigned tag = (unsigned)kind | (stack_id ? RECORD_STACK : 0);
	at = codec_put_address(state, at, tag, time, address, &entry, &hit);
	if (hit && *entry == pair && size_bytes < CODEC_SIZE_MASK)
		*header |= RECORD_SAME_SIZE;
	else
		at = varint_put(at, size_bytes);
	*entry = pair;
	return stack_id ? varint_put(at, stack_id) : at;
}

/* EVENT_FREE, EVENT_DELETE. Needs codec_address_fits(address). */
CODEC_INLINE uint8_t *encode_free(struct codec_state *state, uint8_t *at, enum event_kind kind, uint64_t time,
				  uint64_t address)
{
	uint64_t *entry;
	bool hit;
	at = codec_put_address(state, at, (unsigned)kind, time, address, &entry, &hit);
	if (!hit)
		*entry = codec_pair(address, CODEC_SIZE_MASK);
	return at;
}

/* EVENT_REALLOC without sampling flags. Needs codec_address_fits() of both; `address` is not 0. */
CODEC_INLINE uint8_t *encode_realloc(struct codec_state *state, uint8_t *at, uint64_t time, uint64_t end_time,
				     uint64_t old_address, uint64_t address, uint64_t size_bytes,
				     uint32_t stack_id)
{
	uint64_t *entry;
	bool hit;
	unsigned tag = (unsigned)EVENT_REALLOC | (stack_id ? RECORD_STACK : 0);
	at = codec_put_address(state, at, tag, time, old_address, &entry, &hit);
	at = varint_put(at, codec_advance(state, end_time));
	at = varint_put(at, zigzag((int64_t)((address >> 3) - (old_address >> 3))));
	at = varint_put(at, size_bytes);
	state->cache[codec_index(address >> 3)] = codec_pair(address, size_bytes);
	return stack_id ? varint_put(at, stack_id) : at;
}

/* The following records ran on `cpu`. */
static inline uint8_t *encode_cpu(struct codec_state *state, uint8_t *at, uint32_t cpu)
{
	*at = RECORD_CPU;
	state->cpu = cpu;
	return varint_put(at + 1, cpu);
}

/* Any event; `event->thread` and `event->cpu` are not written (the chunk and encode_cpu carry them). */
uint8_t *encode_extended(struct codec_state *state, uint8_t *at, const struct trace_event *event);

/* Defines a stack: `depth` return addresses, innermost first, at most CODEC_STACK_DEPTH_MAX. */
uint8_t *encode_stack(uint8_t *at, uint32_t stack_id, const uint64_t *frames, unsigned depth);

/* ---- decode
 * ------------------------------------------------------------------------------------------------- */

/* Input for the decoder. At least DECODE_SLACK_BYTES readable bytes must follow `end` (their values do not
 * matter). */
struct decoder {
	struct codec_state state;
	const uint8_t *start;
	const uint8_t *position;
	const uint8_t *end;
	uint32_t thread;
	/* Where the last record was a stack definition: valid until the next call. */
	uint32_t stack_id;
	unsigned stack_depth;
	uint64_t stack_frames[CODEC_STACK_DEPTH_MAX];
};

#define DECODE_SLACK_BYTES 16u

enum decode_result {
	DECODE_EVENT = 1,   /* *event is filled in */
	DECODE_STACK = 2,   /* decoder->stack_* are filled in */
	DECODE_END = 3,	    /* all bytes are read */
	DECODE_DAMAGED = 4, /* the bytes at decoder->position are no record */
};

/* Starts on the records of `chunk` (its header already checked by chunk_header_valid). */
void decoder_start(struct decoder *decoder, const struct chunk_header *chunk, const uint8_t *records,
		   size_t bytes);

/* Starts on the payload of a BLOCK_STACKS: decode_next then gives stacks only. */
void decoder_start_stacks(struct decoder *decoder, const uint8_t *payload, size_t bytes);

/* Reads one record. Never reads beyond end + DECODE_SLACK_BYTES, whatever the bytes are. */
enum decode_result decode_next(struct decoder *decoder, struct trace_event *event);

/* The invariants of a chunk header that stands for `available` bytes of records behind it. */
bool chunk_header_valid(const struct chunk_header *chunk, size_t available);

#endif
