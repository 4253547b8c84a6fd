/* Whatever events are encoded, the decoder gives the same ones back, and no record is longer than promised.
 */
#include "tests/fuzz/fuzz.h"
#include "trace/codec.h"

enum { EVENTS_MAX = 512 };

/* A number of any length, short ones being the likely ones. */
static uint64_t next_number(struct input *input)
{
	uint64_t value = 0;
	input_take(input, &value, input_byte(input) % 9);
	return value;
}

static uint64_t next_address(struct input *input)
{
	uint8_t choice = input_byte(input);
	return choice < 200 ? (choice + 1) * UINT64_C(16) : next_number(input);
}

static struct trace_event next_event(struct input *input, uint64_t *time)
{
	struct trace_event event = {.kind = input_byte(input), .thread = 1, .cpu = input_byte(input) & 3};
	event.kind = event.kind & 0x80 ? event.kind : event.kind % 7;
	event.kind = event.kind ? event.kind : EVENT_MALLOC;
	*time += next_number(input) >> 8;
	event.time = event.end_time = *time;
	event.address = next_address(input);
	if (event_is_free(event.kind))
		return event;
	event.size_bytes = next_number(input);
	event.stack_id = (uint32_t)next_number(input);
	if (event.kind == EVENT_REALLOC) {
		event.old_address = next_address(input);
		*time += input_byte(input);
		event.end_time = *time;
		event.sampled_old = input_byte(input) & 1;
		event.sampled_new = input_byte(input) & 1;
	} else if (event.kind > EVENT_DELETE) {
		event.alignment_bytes = next_number(input);
		event.result = (int64_t)next_number(input);
		for (unsigned i = 0; i < EVENT_ARGS_MAX; i++)
			event.args[i] = next_number(input);
	}
	return event;
}

static bool is_hot(const struct trace_event *event)
{
	return event->kind <= EVENT_DELETE && event->address && codec_address_fits(event->address) &&
	       !event->sampled_old && !event->sampled_new &&
	       (event->kind != EVENT_REALLOC ||
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

static bool same(const struct trace_event *a, const struct trace_event *b)
{
	return a->kind == b->kind && a->time == b->time && a->end_time == b->end_time &&
	       a->address == b->address && a->old_address == b->old_address &&
	       a->size_bytes == b->size_bytes && a->alignment_bytes == b->alignment_bytes &&
	       a->result == b->result && a->stack_id == b->stack_id && a->cpu == b->cpu &&
	       a->thread == b->thread && a->sampled_old == b->sampled_old &&
	       a->sampled_new == b->sampled_new && memcmp(a->args, b->args, sizeof a->args) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct trace_event events[EVENTS_MAX];
	static uint8_t records[EVENTS_MAX * RECORD_BYTES_MAX + DECODE_SLACK_BYTES];
	static struct codec_state state;
	static struct decoder decoder;
	struct input input = {data, bytes};
	struct trace_event event;
	uint64_t time = 0;
	uint8_t *at = records;
	size_t count = 0;
	codec_reset(&state, 0, 0);
	for (; input.left > 0 && count < EVENTS_MAX; count++) {
		uint8_t *before = at;
		events[count] = next_event(&input, &time);
		at = encode(&state, at, &events[count]);
		require(at - before <= (long)RECORD_BYTES_MAX - 8);
	}
	struct chunk_header chunk = {.magic = CHUNK_MAGIC, .thread = 1};
	decoder_start(&decoder, &chunk, records, (size_t)(at - records));
	for (size_t i = 0; i < count; i++) {
		require(decode_next(&decoder, &event) == DECODE_EVENT);
		require(same(&event, &events[i]));
	}
	require(decode_next(&decoder, &event) == DECODE_END);
	return 0;
}
