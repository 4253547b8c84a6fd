#include "tests/unit/support_shim.h"

#include <criterion/criterion.h>
#include <fcntl.h>

#include "shim/unwind.h"
#include "shim/writer.h"
#include "tests/unit/support_trace.h"

_Atomic uint32_t support_wakes;

static _Thread_local const uint64_t *stack_frames;
static _Thread_local unsigned stack_depth;

void writer_wake(void)
{
	atomic_fetch_add(&support_wakes, 1);
}

void support_next_stack(const uint64_t *frames, unsigned depth)
{
	stack_frames = frames;
	stack_depth = depth;
}

unsigned unwind_stack(struct thread *thread, uint64_t *frames, unsigned depth)
{
	(void)thread;
	unsigned count = stack_depth < depth ? stack_depth : depth;
	for (unsigned i = 0; i < count; i++)
		frames[i] = stack_frames[i];
	return count;
}

uint64_t support_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

int support_rings(uint64_t bytes)
{
	static const uint8_t nonce[16] = "nonce of a test";
	const char *path = support_path("test.rings");
	cr_assert_eq(rings_create(path, nonce, bytes), 0);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	return fd;
}

struct thread *support_ring_thread(const volatile uint32_t *cpu)
{
	struct thread *thread = rings_take_slot();
	if (!thread)
		return NULL;
	thread->cpu_id = cpu;
	atomic_store(&thread->slot->state, SLOT_LIVE);
	return thread;
}

bool support_ring_write(struct thread *thread, uint64_t time, uint64_t address, uint64_t size_bytes)
{
	uint8_t *at = ring_begin(thread, time);
	if (!at)
		return false;
	ring_commit(thread,
		    encode_allocation(&thread->codec, at, EVENT_MALLOC, time, address, size_bytes, 0));
	return true;
}

void support_chunk_start(struct decoder *decoder, const struct chunk_header *chunk)
{
	uint32_t committed = atomic_load_explicit(&chunk->committed, memory_order_acquire);
	cr_assert_eq(atomic_load(&chunk->state), CHUNK_READY);
	cr_assert_leq(committed + DECODE_SLACK_BYTES, chunk->capacity);
	cr_assert(chunk_header_valid(chunk, chunk->capacity));
	decoder_start(decoder, chunk, (const uint8_t *)(chunk + 1), committed);
}

uint64_t support_drain(void)
{
	static struct decoder decoder;
	uint64_t events = 0;
	for (struct chunk_header *chunk; (chunk = rings_next_ready());) {
		struct trace_event event;
		enum decode_result result;
		support_chunk_start(&decoder, chunk);
		while ((result = decode_next(&decoder, &event)) == DECODE_EVENT || result == DECODE_STACK)
			events += result == DECODE_EVENT;
		cr_assert_eq(result, DECODE_END);
		rings_release(chunk);
	}
	return events;
}

uint64_t support_lost(const struct thread *thread)
{
	uint64_t lost = 0;
	for (unsigned i = COUNTER_LOST_FIRST; i <= COUNTER_LOST_LAST; i++)
		lost += atomic_load(&thread->slot->counters[i]);
	return lost;
}
