/* Records of any content decode to an end or to damage, in steps that go forward and stay inside. */
#include "tests/fuzz/fuzz.h"
#include "trace/codec.h"

/* A byte of input makes one record at the least. */
static void decode_all(struct decoder *decoder, size_t bytes)
{
	struct trace_event event;
	for (size_t records = 0;; records++) {
		require(records <= bytes);
		const uint8_t *before = decoder->position;
		switch (decode_next(decoder, &event)) {
		case DECODE_EVENT:
			require(event.kind != EVENT_NONE);
			break;
		case DECODE_STACK:
			require(decoder->stack_depth <= CODEC_STACK_DEPTH_MAX);
			break;
		case DECODE_END:
			require(decoder->position == decoder->end);
			return;
		case DECODE_DAMAGED:
			return;
		}
		require(decoder->position > before && decoder->position <= decoder->end);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct input input = {data, bytes};
	bool stacks = input_byte(&input) & 1;
	struct chunk_header chunk = {.magic = CHUNK_MAGIC, .thread = 1};
	input_take(&input, &chunk.base_time, sizeof chunk.base_time);
	input_take(&input, &chunk.cpu, sizeof chunk.cpu);

	/* A block of exactly this size, so that a read beyond the slack is seen. */
	uint8_t *records = calloc(1, input.left + DECODE_SLACK_BYTES);
	require(records);
	size_t count = input.left;
	input_take(&input, records, count);

	static struct decoder decoder;
	if (stacks)
		decoder_start_stacks(&decoder, records, count);
	else
		decoder_start(&decoder, &chunk, records, count);
	decode_all(&decoder, count);
	free(records);
	return 0;
}
