#include <criterion/criterion.h>
#include <stdlib.h>

#include "trace/codec.h"

#define BUFFER_BYTES (1u << 20)

static uint64_t random_state;

/* Marsaglia, "Xorshift RNGs", 2003. */
static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Numbers of every length, short ones as often as long ones. */
static uint64_t random_number(void)
{
	return random_next() >> (random_next() % 64);
}

/* Few addresses, so that many are hits; some odd, some beyond what the hot form holds. */
static uint64_t random_address(void)
{
	uint64_t choice = random_next() % 20;
	if (choice == 0)
		return random_number() | 1;
	if (choice == 1)
		return CODEC_ADDRESS_LIMIT + random_next() % 4096 * 8;
	if (choice == 2)
		return CODEC_ADDRESS_LIMIT - 8 * (1 + random_next() % 100);
	return 0x7f0000000000u + random_next() % 1500 * 16;
}

static uint64_t random_size(void)
{
	switch (random_next() % 8) {
	case 0:
		return random_number();
	case 1:
		return CODEC_SIZE_MASK - 2 + random_next() % 5;
	case 2:
		return 0;
	default:
		return 16 * (random_next() % 8);
	}
}

static struct trace_event random_event(uint64_t *time, uint32_t *cpu)
{
	static const uint8_t kinds[] = {EVENT_MALLOC,  EVENT_FREE,	   EVENT_REALLOC, EVENT_CALLOC,
					EVENT_NEW,     EVENT_DELETE,	   EVENT_ALIGNED, EVENT_MMAP,
					EVENT_MADVISE, EVENT_THREAD_START, EVENT_FAILED,  200};
	struct trace_event event = {.thread = 77};
	*time += random_next() % 3 ? random_next() % 100 : random_number() >> 16;
	if (random_next() % 50 == 0)
		*cpu = random_next() % 5 ? (uint32_t)(random_next() % 128) : EVENT_CPU_UNKNOWN;
	event.kind = kinds[random_next() % 100 < 90 ? random_next() % 6 : random_next() % sizeof kinds];
	event.cpu = *cpu;
	event.time = event.end_time = *time;
	event.address = random_address();
	if (event_is_free(event.kind))
		return event;
	event.size_bytes = random_size();
	event.stack_id = random_next() % 4 ? 0 : (uint32_t)random_number();
	if (event.kind == EVENT_REALLOC) {
		event.old_address = random_next() % 8 ? random_address() : 0;
		event.end_time = *time += random_next() % 1000;
		event.sampled_old = random_next() % 8 == 0;
		event.sampled_new = random_next() % 8 == 0;
	}
	if (event.kind >= EVENT_ALIGNED) {
		event.alignment_bytes = random_next() % 2 ? UINT64_C(1) << random_next() % 64 : 0;
		event.result = (int64_t)random_number() * (random_next() % 2 ? 1 : -1);
		event.old_address = random_number();
		for (unsigned i = 0; i < EVENT_ARGS_MAX; i++)
			event.args[i] = random_next() % 2 ? random_number() : 0;
	}
	return event;
}

static bool is_hot(const struct trace_event *event)
{
	bool plain = event->kind <= EVENT_DELETE && event->address && codec_address_fits(event->address) &&
		     !event->sampled_old && !event->sampled_new;
	return plain && (event->kind != EVENT_REALLOC ||
			 (event->old_address && codec_address_fits(event->old_address)));
}

static uint8_t *encode(struct codec_state *state, uint8_t *at, const struct trace_event *event)
{
	if (state->cpu != event->cpu)
		at = encode_cpu(state, at, event->cpu);
	if (!is_hot(event))
		return encode_extended(state, at, event);
	if (event_is_free(event->kind))
		return encode_free(state, at, (enum event_kind)event->kind, event->time, event->address);
	if (event->kind == EVENT_REALLOC)
		return encode_realloc(state, at, event->time, event->end_time, event->old_address,
				      event->address, event->size_bytes, event->stack_id);
	return encode_allocation(state, at, (enum event_kind)event->kind, event->time, event->address,
				 event->size_bytes, event->stack_id);
}

static struct chunk_header chunk_of(uint64_t base_time, uint32_t cpu, size_t committed)
{
	return (struct chunk_header){.magic = CHUNK_MAGIC,
				     .thread = 77,
				     .base_time = base_time,
				     .cpu = cpu,
				     .committed = (uint32_t)committed,
				     .capacity = (uint32_t)committed};
}

static void assert_same(const struct trace_event *got, const struct trace_event *put)
{
	cr_assert_eq(got->kind, put->kind);
	cr_assert_eq(got->time, put->time);
	cr_assert_eq(got->end_time, put->end_time);
	cr_assert_eq(got->address, put->address);
	cr_assert_eq(got->old_address, put->old_address);
	cr_assert_eq(got->size_bytes, put->size_bytes);
	cr_assert_eq(got->alignment_bytes, put->alignment_bytes);
	cr_assert_eq(got->result, put->result);
	cr_assert_eq(got->stack_id, put->stack_id);
	cr_assert_eq(got->thread, put->thread);
	cr_assert_eq(got->cpu, put->cpu);
	cr_assert_eq(got->sampled_old, put->sampled_old);
	cr_assert_eq(got->sampled_new, put->sampled_new);
	for (unsigned i = 0; i < EVENT_ARGS_MAX; i++)
		cr_assert_eq(got->args[i], put->args[i]);
}

static void round_trip(uint64_t seed)
{
	enum { EVENTS = 5000 };
	struct trace_event *events = calloc(EVENTS, sizeof *events);
	uint8_t *buffer = calloc(BUFFER_BYTES + DECODE_SLACK_BYTES, 1);
	struct codec_state state;
	uint64_t time = 1000000;
	uint32_t cpu = 3;
	random_state = seed;
	codec_reset(&state, time, cpu);
	uint8_t *at = buffer;
	for (unsigned i = 0; i < EVENTS; i++) {
		events[i] = random_event(&time, &cpu);
		uint8_t *before = at;
		at = encode(&state, at, &events[i]);
		cr_assert_leq(at - before, (long)RECORD_BYTES_MAX);
		cr_assert_lt(at, buffer + BUFFER_BYTES - RECORD_BYTES_MAX);
	}
	struct chunk_header chunk = chunk_of(1000000, 3, 0);
	struct decoder decoder;
	struct trace_event event;
	decoder_start(&decoder, &chunk, buffer, (size_t)(at - buffer));
	for (unsigned i = 0; i < EVENTS; i++) {
		cr_assert_eq(decode_next(&decoder, &event), DECODE_EVENT, "seed %lu, event %u",
			     (unsigned long)seed, i);
		assert_same(&event, &events[i]);
	}
	cr_assert_eq(decode_next(&decoder, &event), DECODE_END);
	free(buffer);
	free(events);
}

Test(codec, random_events_come_back)
{
	for (uint64_t seed = 1; seed <= 40; seed++)
		round_trip(seed * UINT64_C(0x9e3779b97f4a7c15));
}

Test(codec, varint_covers_all_lengths)
{
	uint8_t bytes[32] = {0};
	for (unsigned bit = 0; bit < 64; bit++) {
		for (int step = -1; step <= 1; step++) {
			struct codec_state state;
			uint64_t value = (UINT64_C(1) << bit) + (uint64_t)(int64_t)step;
			codec_reset(&state, 0, 0);
			/* A CPU record holds 32 bits; a size of a malloc holds all 64. */
			uint8_t *end = encode_allocation(&state, bytes, EVENT_MALLOC, 0, 64, value, 0);
			struct chunk_header chunk = chunk_of(0, 0, 0);
			struct decoder decoder;
			struct trace_event event;
			decoder_start(&decoder, &chunk, bytes, (size_t)(end - bytes));
			cr_assert_eq(decode_next(&decoder, &event), DECODE_EVENT);
			cr_assert_eq(event.size_bytes, value);
			cr_assert_eq(decoder.position, end);
		}
	}
}

Test(codec, a_repeated_pair_takes_three_bytes)
{
	uint8_t bytes[64];
	struct codec_state state;
	codec_reset(&state, 0, 0);
	uint8_t *at = encode_allocation(&state, bytes, EVENT_MALLOC, 10, 0x7f0000001000, 48, 0);
	uint8_t *freed = encode_free(&state, at, EVENT_FREE, 20, 0x7f0000001000);
	uint8_t *again = encode_allocation(&state, freed, EVENT_MALLOC, 30, 0x7f0000001000, 48, 0);
	cr_assert_eq(freed - at, 3);
	cr_assert_eq(again - freed, 3);
}

Test(codec, time_never_steps_back)
{
	uint8_t bytes[64 + DECODE_SLACK_BYTES] = {0};
	struct codec_state state;
	codec_reset(&state, 100, 0);
	uint8_t *at = encode_allocation(&state, bytes, EVENT_MALLOC, 150, 0x1000, 1, 0);
	at = encode_free(&state, at, EVENT_FREE, 120, 0x1000);
	struct chunk_header chunk = chunk_of(100, 0, 0);
	struct decoder decoder;
	struct trace_event event;
	decoder_start(&decoder, &chunk, bytes, (size_t)(at - bytes));
	cr_assert_eq(decode_next(&decoder, &event), DECODE_EVENT);
	cr_assert_eq(event.time, 150);
	cr_assert_eq(decode_next(&decoder, &event), DECODE_EVENT);
	cr_assert_eq(event.time, 150);
}

Test(codec, stacks_come_back)
{
	static uint64_t frames[CODEC_STACK_DEPTH_MAX];
	static uint8_t bytes[STACK_RECORD_BYTES_MAX + DECODE_SLACK_BYTES];
	random_state = 99;
	for (unsigned i = 0; i < CODEC_STACK_DEPTH_MAX; i++)
		frames[i] = random_next();
	const unsigned depths[] = {0, 1, 32, CODEC_STACK_DEPTH_MAX};
	for (unsigned i = 0; i < 4; i++) {
		uint8_t *end = encode_stack(bytes, UINT32_MAX - i, frames, depths[i]);
		cr_assert_leq(end - bytes, (long)STACK_RECORD_BYTES_MAX);
		struct decoder decoder;
		struct trace_event event;
		decoder_start_stacks(&decoder, bytes, (size_t)(end - bytes));
		cr_assert_eq(decode_next(&decoder, &event), DECODE_STACK);
		cr_assert_eq(decoder.stack_id, UINT32_MAX - i);
		cr_assert_eq(decoder.stack_depth, depths[i]);
		cr_assert_eq(memcmp(decoder.stack_frames, frames, depths[i] * sizeof *frames), 0);
		cr_assert_eq(decode_next(&decoder, &event), DECODE_END);
	}
}

/* Decodes until the end or damage; gives the number of events. The bytes stand at the end of their
 * allocation. */
static unsigned decode_all(const uint8_t *bytes, size_t count, enum decode_result *last)
{
	uint8_t *copy = malloc(count + DECODE_SLACK_BYTES);
	struct chunk_header chunk = chunk_of(0, 0, count);
	struct decoder decoder;
	struct trace_event event;
	unsigned events = 0;
	memcpy(copy, bytes, count);
	memset(copy + count, 0xa5, DECODE_SLACK_BYTES);
	decoder_start(&decoder, &chunk, copy, count);
	while ((*last = decode_next(&decoder, &event)) == DECODE_EVENT || *last == DECODE_STACK)
		events++;
	cr_assert_leq(decoder.position, decoder.end);
	free(copy);
	return events;
}

Test(codec, cut_anywhere_it_gives_the_whole_records_before)
{
	enum { EVENTS = 120 };
	static uint8_t bytes[EVENTS * RECORD_BYTES_MAX];
	size_t ends[EVENTS + 1] = {0};
	struct codec_state state;
	uint64_t time = 0;
	uint32_t cpu = 0;
	random_state = 4711;
	codec_reset(&state, 0, 0);
	uint8_t *at = bytes;
	for (unsigned i = 0; i < EVENTS; i++) {
		struct trace_event event = random_event(&time, &cpu);
		at = encode(&state, at, &event);
		ends[i + 1] = (size_t)(at - bytes);
	}
	unsigned whole = 0;
	for (size_t cut = 0; cut <= ends[EVENTS]; cut++) {
		enum decode_result last;
		while (whole < EVENTS && ends[whole + 1] <= cut)
			whole++;
		cr_assert_eq(decode_all(bytes, cut, &last), whole, "cut at %zu", cut);
		/* A cut between a CPU record and its event is an end as well. */
		if (cut == ends[whole])
			cr_assert_eq(last, DECODE_END);
	}
}

Test(codec, random_bytes_never_lead_out)
{
	static uint8_t bytes[512];
	random_state = 815;
	for (unsigned round = 0; round < 20000; round++) {
		enum decode_result last;
		size_t count = random_next() % sizeof bytes;
		for (size_t i = 0; i < count; i++)
			bytes[i] = (uint8_t)(random_next() >> 32);
		decode_all(bytes, count, &last);
	}
}

Test(codec, zeros_do_not_decode)
{
	static const uint8_t zeros[64];
	enum decode_result last;
	cr_assert_eq(decode_all(zeros, sizeof zeros, &last), 0);
	cr_assert_eq(last, DECODE_DAMAGED);
}

Test(codec, chunk_headers_are_checked)
{
	struct chunk_header good = chunk_of(0, 0, 100), bad;
	cr_assert(chunk_header_valid(&good, 100));
	cr_assert_not(chunk_header_valid(&good, 99));
	bad = good;
	bad.magic ^= 1;
	cr_assert_not(chunk_header_valid(&bad, 100));
	bad = good;
	bad.skip = 101;
	cr_assert_not(chunk_header_valid(&bad, 100));
	bad = good;
	bad.committed = CHUNK_LARGE_BYTES + 1;
	cr_assert_not(chunk_header_valid(&bad, SIZE_MAX));
}
