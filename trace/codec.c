#include "trace/codec.h"

/* ---- encode
 * ------------------------------------------------------------------------------------------------- */

static unsigned extended_mask(const struct trace_event *event)
{
	unsigned mask = 0;
	mask |= event->address ? FIELD_ADDRESS : 0;
	mask |= event->old_address ? FIELD_OLD_ADDRESS : 0;
	mask |= event->size_bytes ? FIELD_SIZE : 0;
	mask |= event->alignment_bytes ? FIELD_ALIGNMENT : 0;
	mask |= event->result ? FIELD_RESULT : 0;
	for (unsigned i = 0; i < EVENT_ARGS_MAX; i++)
		mask |= event->args[i] ? (unsigned)FIELD_ARG0 << i : 0;
	mask |= event->stack_id ? FIELD_STACK : 0;
	mask |= event->end_time > event->time ? FIELD_DURATION : 0;
	mask |= event->sampled_old ? FIELD_SAMPLED_OLD : 0;
	mask |= event->sampled_new ? FIELD_SAMPLED_NEW : 0;
	return mask;
}

uint8_t *encode_extended(struct codec_state *state, uint8_t *at, const struct trace_event *event)
{
	unsigned mask = extended_mask(event);
	*at++ = RECORD_EXTENDED;
	*at++ = event->kind;
	at = varint_put(at, codec_advance(state, event->time));
	at = varint_put(at, mask);
	if (mask & FIELD_ADDRESS)
		at = varint_put(at, event->address);
	if (mask & FIELD_OLD_ADDRESS)
		at = varint_put(at, event->old_address);
	if (mask & FIELD_SIZE)
		at = varint_put(at, event->size_bytes);
	if (mask & FIELD_ALIGNMENT)
		at = varint_put(at, event->alignment_bytes);
	if (mask & FIELD_RESULT)
		at = varint_put(at, zigzag(event->result));
	for (unsigned i = 0; i < EVENT_ARGS_MAX; i++)
		if (mask & (unsigned)FIELD_ARG0 << i)
			at = varint_put(at, event->args[i]);
	if (mask & FIELD_STACK)
		at = varint_put(at, event->stack_id);
	if (mask & FIELD_DURATION)
		at = varint_put(at, codec_advance(state, event->end_time));
	return at;
}

uint8_t *encode_stack(uint8_t *at, uint32_t stack_id, const uint64_t *frames, unsigned depth)
{
	*at++ = RECORD_STACK_DEFINITION;
	at = varint_put(at, stack_id);
	at = varint_put(at, depth);
	uint64_t previous = 0;
	for (unsigned i = 0; i < depth; i++) {
		at = varint_put(at, zigzag((int64_t)(frames[i] - previous)));
		previous = frames[i];
	}
	return at;
}

/* ---- decode
 * ------------------------------------------------------------------------------------------------- */

/* Reads a varint; the caller compares the position with the end afterwards (the slack makes the load safe).
 */
static inline const uint8_t *varint_get(const uint8_t *at, uint64_t *value)
{
	uint64_t word;
	memcpy(&word, at, 8);
	if (__builtin_expect((word & 0xff) == 0, 0)) {
		memcpy(value, at + 1, 8);
		return at + 9;
	}
	unsigned bytes = (unsigned)__builtin_ctzll(word) + 1;
	uint64_t kept = bytes == 8 ? word : word & ((UINT64_C(1) << (8 * bytes)) - 1);
	*value = kept >> bytes;
	return at + bytes;
}

/* As varint_get, for loops over many fields: false at or past the end. */
static bool field_get(struct decoder *decoder, uint64_t *value)
{
	if (decoder->position >= decoder->end)
		return false;
	decoder->position = varint_get(decoder->position, value);
	return decoder->position <= decoder->end;
}

void decoder_start(struct decoder *decoder, const struct chunk_header *chunk, const uint8_t *records,
		   size_t bytes)
{
	codec_reset(&decoder->state, chunk->base_time, chunk->cpu);
	decoder->start = decoder->position = records;
	decoder->end = records + bytes;
	decoder->thread = chunk->thread;
}

void decoder_start_stacks(struct decoder *decoder, const uint8_t *payload, size_t bytes)
{
	codec_reset(&decoder->state, 0, EVENT_CPU_UNKNOWN);
	decoder->start = decoder->position = payload;
	decoder->end = payload + bytes;
	decoder->thread = 0;
}

static bool decode_stack(struct decoder *decoder)
{
	uint64_t id, depth, delta, frame = 0;
	if (!field_get(decoder, &id) || !field_get(decoder, &depth))
		return false;
	if (id == 0 || id > UINT32_MAX || depth > CODEC_STACK_DEPTH_MAX)
		return false;
	for (unsigned i = 0; i < depth; i++) {
		if (!field_get(decoder, &delta))
			return false;
		frame += (uint64_t)unzigzag(delta);
		decoder->stack_frames[i] = frame;
	}
	decoder->stack_id = (uint32_t)id;
	decoder->stack_depth = (unsigned)depth;
	return true;
}

static bool decode_cpu(struct decoder *decoder)
{
	uint64_t cpu;
	if (!field_get(decoder, &cpu) || cpu > UINT32_MAX)
		return false;
	decoder->state.cpu = (uint32_t)cpu;
	return true;
}

static bool decode_extended_fields(struct decoder *decoder, struct trace_event *event, uint64_t mask)
{
	uint64_t number = 0;
	bool good = true;
	if (mask & FIELD_ADDRESS)
		good = good && field_get(decoder, &event->address);
	if (mask & FIELD_OLD_ADDRESS)
		good = good && field_get(decoder, &event->old_address);
	if (mask & FIELD_SIZE)
		good = good && field_get(decoder, &event->size_bytes);
	if (mask & FIELD_ALIGNMENT)
		good = good && field_get(decoder, &event->alignment_bytes);
	if (mask & FIELD_RESULT) {
		good = good && field_get(decoder, &number);
		event->result = unzigzag(number);
	}
	for (unsigned i = 0; i < EVENT_ARGS_MAX; i++)
		if (mask & (unsigned)FIELD_ARG0 << i)
			good = good && field_get(decoder, &event->args[i]);
	if (mask & FIELD_STACK) {
		good = good && field_get(decoder, &number) && number <= UINT32_MAX;
		event->stack_id = (uint32_t)number;
	}
	if (mask & FIELD_DURATION) {
		good = good && field_get(decoder, &number);
		decoder->state.time += number;
		event->end_time = decoder->state.time;
	}
	return good;
}

static bool decode_extended(struct decoder *decoder, struct trace_event *event)
{
	if (decoder->position >= decoder->end)
		return false;
	uint64_t delta, mask;
	event->kind = *decoder->position++;
	if (!field_get(decoder, &delta) || !field_get(decoder, &mask))
		return false;
	decoder->state.time += delta;
	event->time = event->end_time = decoder->state.time;
	event->cpu = decoder->state.cpu;
	event->sampled_old = mask & FIELD_SAMPLED_OLD;
	event->sampled_new = mask & FIELD_SAMPLED_NEW;
	return event->kind != EVENT_NONE && mask < FIELD_SAMPLED_NEW << 1 &&
	       decode_extended_fields(decoder, event, mask);
}

/* Header byte and `delta` are read. Gives the cache entry of the address, or NULL for a damaged record. */
static inline uint64_t *decode_address(struct decoder *decoder, unsigned header, uint64_t *address)
{
	struct codec_state *state = &decoder->state;
	if (header & RECORD_HIT) {
		unsigned index = *decoder->position++ | (header & RECORD_INDEX_BIT) << 1;
		*address = state->cache[index] >> CODEC_SIZE_BITS << 3;
		return *address ? &state->cache[index] : NULL;
	}
	uint64_t difference;
	decoder->position = varint_get(decoder->position, &difference);
	state->address_unit += (uint64_t)unzigzag(difference);
	*address = state->address_unit << 3;
	return *address < CODEC_ADDRESS_LIMIT ? &state->cache[codec_index(state->address_unit)] : NULL;
}

static bool decode_realloc_rest(struct decoder *decoder, struct trace_event *event)
{
	uint64_t duration, difference;
	if (!field_get(decoder, &duration) || !field_get(decoder, &difference) ||
	    !field_get(decoder, &event->size_bytes))
		return false;
	event->old_address = event->address;
	event->address += (uint64_t)unzigzag(difference) << 3;
	decoder->state.time += duration;
	event->end_time = decoder->state.time;
	if (!codec_address_fits(event->address))
		return false;
	decoder->state.cache[codec_index(event->address >> 3)] =
		codec_pair(event->address, event->size_bytes);
	return true;
}

static inline bool decode_allocation_rest(struct decoder *decoder, struct trace_event *event, unsigned header,
					  uint64_t *entry)
{
	if (header & RECORD_SAME_SIZE)
		event->size_bytes = *entry & CODEC_SIZE_MASK;
	else
		decoder->position = varint_get(decoder->position, &event->size_bytes);
	*entry = codec_pair(event->address, event->size_bytes);
	return decoder->position <= decoder->end;
}

static inline bool decode_hot(struct decoder *decoder, struct trace_event *event, unsigned header)
{
	uint64_t delta, stack = 0;
	decoder->position = varint_get(decoder->position, &delta);
	decoder->state.time += delta;
	event->kind = (uint8_t)(header & RECORD_TAG_MASK);
	event->time = event->end_time = decoder->state.time;
	event->cpu = decoder->state.cpu;
	if (decoder->position >= decoder->end)
		return false;
	uint64_t *entry = decode_address(decoder, header, &event->address);
	if (!entry || decoder->position > decoder->end)
		return false;
	if (event_is_free(event->kind)) {
		if (!(header & RECORD_HIT))
			*entry = codec_pair(event->address, CODEC_SIZE_MASK);
		return !(header & RECORD_STACK);
	}
	bool good = event->kind == EVENT_REALLOC ? decode_realloc_rest(decoder, event)
						 : decode_allocation_rest(decoder, event, header, entry);
	if (!good || !(header & RECORD_STACK))
		return good;
	good = field_get(decoder, &stack) && stack <= UINT32_MAX;
	event->stack_id = (uint32_t)stack;
	return good;
}

/* The rare tags. Returns 0 where reading goes on with the next record. */
static int decode_other(struct decoder *decoder, struct trace_event *event, unsigned tag)
{
	switch (tag) {
	case RECORD_CPU:
		return decode_cpu(decoder) ? 0 : DECODE_DAMAGED;
	case RECORD_EXTENDED:
		return decode_extended(decoder, event) ? DECODE_EVENT : DECODE_DAMAGED;
	case RECORD_STACK_DEFINITION:
		return decode_stack(decoder) ? DECODE_STACK : DECODE_DAMAGED;
	default:
		return DECODE_DAMAGED;
	}
}

enum decode_result decode_next(struct decoder *decoder, struct trace_event *event)
{
	for (;;) {
		if (decoder->position >= decoder->end)
			return DECODE_END;
		const uint8_t *record = decoder->position;
		unsigned header = *decoder->position++;
		unsigned tag = header & RECORD_TAG_MASK;
		*event = (struct trace_event){.thread = decoder->thread};
		int result;
		if (tag >= EVENT_MALLOC && tag <= EVENT_DELETE)
			result = decode_hot(decoder, event, header) ? DECODE_EVENT : DECODE_DAMAGED;
		else
			result = decode_other(decoder, event, tag);
		if (result == DECODE_DAMAGED)
			decoder->position = record;
		if (result)
			return (enum decode_result)result;
	}
}

bool chunk_header_valid(const struct chunk_header *chunk, size_t available)
{
	uint32_t committed = atomic_load_explicit(&chunk->committed, memory_order_acquire);
	return chunk->magic == CHUNK_MAGIC && committed <= available && chunk->skip <= committed &&
	       committed <= CHUNK_LARGE_BYTES;
}
