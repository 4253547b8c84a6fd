#include "shim/ring.h"

#include <errno.h>

#define _LGPL_SOURCE
#include <urcu/wfcqueue.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "shim/clock.h"
#include "shim/free_stack.h"
#include "shim/raw.h"
#include "shim/writer.h"

#define SMALL_PER_EXTENT (RINGS_EXTENT_BYTES / CHUNK_SMALL_BYTES)
#define SLOTS_PER_EXTENT (RINGS_EXTENT_BYTES / SLOT_BYTES)
#define THREADS_MAX      32768u

/*
 * How many free items rings_provide() sees to, at first. 32 large chunks are 2 MiB: what two threads at full speed fill in
 * 20 ms. Whenever they were nearly used up before the writer came, it sees to twice as many from then on.
 */
#define LARGE_FREE_WANTED 32u
#define SMALL_FREE_WANTED 128u
#define SLOTS_FREE_WANTED 128u

/* Private memory beside each chunk: its place in the queue, and the writer's note. */
struct chunk_note {
	struct cds_wfcq_node node;
	uint32_t flushed_bytes;
};

static struct {
	struct rings_header *header; /* NULL: no rings */
	uint8_t *extents;
	uint64_t mapped_bytes;
	dev_t device;
	ino_t inode;
	uint32_t extents_used;
	struct free_stack large, small, slots;
	uint32_t large_wanted, small_wanted, slots_wanted;
	_Atomic uint32_t slot_extents[THREADS_MAX / SLOTS_PER_EXTENT]; /* extent of slots k * SLOTS_PER_EXTENT ... */
	_Atomic uint32_t slots_end;
	struct chunk_note *large_notes, *small_notes;
	struct thread *threads;
	struct __cds_wfcq_head queue_head; /* without its mutex: one consumer */
	struct cds_wfcq_tail queue_tail;
	_Atomic uint32_t ready; /* chunks in the queue */
	_Atomic uint32_t next_thread_id;
} rings;

/* ---- the file and its mapping ---------------------------------------------------------------------------------- */

static uint32_t header_span_bytes(void)
{
	return (uint32_t)(sizeof(struct rings_header) + TRACE_PAGE_BYTES * 16 - 1) & ~(TRACE_PAGE_BYTES * 16 - 1);
}

/* posix_fallocate's job without libc; signals are blocked, and SIGXFSZ, which a size limit raises, is taken back. */
static int allocate_on_disk(int fd, uint64_t offset, uint64_t bytes)
{
	uint64_t before, xfsz = UINT64_C(1) << (SIGXFSZ - 1);
	struct timespec none = {0, 0};
	raw_block_signals(&before);
	long result = raw4(SYS_fallocate, fd, 0, (long)offset, (long)bytes);
	if (result == -EFBIG && !(before & xfsz))
		raw4(SYS_rt_sigtimedwait, (long)&xfsz, 0, (long)&none, RAW_KERNEL_SIGSET_BYTES);
	raw_restore_signals(&before);
	return (int)result;
}

/* File systems without fallocate (some overlays, NFS 3): write zeros. */
static int write_zeros(int fd, uint64_t offset, uint64_t bytes)
{
	static const uint8_t zeros[TRACE_PAGE_BYTES];
	for (uint64_t done = 0; done < bytes; done += sizeof zeros) {
		long result = raw_pwrite(fd, zeros, sizeof zeros, offset + done);
		if (result != (long)sizeof zeros)
			return result < 0 ? (int)result : -ENOSPC;
	}
	return 0;
}

static int grow_file(int fd, uint64_t offset, uint64_t bytes)
{
	int result = allocate_on_disk(fd, offset, bytes);
	return result == -EOPNOTSUPP ? write_zeros(fd, offset, bytes) : result;
}

static bool reserve_private_memory(uint32_t extents)
{
	uint64_t small = (uint64_t)extents * SMALL_PER_EXTENT;
	rings.large_notes = raw_reserve(extents * sizeof(struct chunk_note));
	rings.small_notes = raw_reserve(small * sizeof(struct chunk_note));
	rings.large.next = raw_reserve(extents * sizeof(uint32_t));
	rings.small.next = raw_reserve(small * sizeof(uint32_t));
	rings.slots.next = raw_reserve(THREADS_MAX * sizeof(uint32_t));
	rings.threads = raw_reserve(THREADS_MAX * sizeof(struct thread));
	if (!rings.large_notes || !rings.small_notes || !rings.large.next || !rings.small.next || !rings.slots.next ||
	    !rings.threads)
		return false;
	raw3(SYS_madvise, (long)rings.threads, THREADS_MAX * sizeof(struct thread), MADV_WIPEONFORK);
	return true;
}

static void write_header(const uint8_t nonce[16], uint32_t extents)
{
	struct rings_header *header = rings.header;
	memcpy(header->magic, RINGS_MAGIC, sizeof header->magic);
	header->version = TRACE_FORMAT_VERSION;
	header->extents_offset = header_span_bytes();
	memcpy(header->nonce, nonce, sizeof header->nonce);
	header->extents_count = extents;
	header->check = XXH3_64bits(header, offsetof(struct rings_header, check));
}

/* The descriptor may be shared with a guest that closes what it does not know: never grow a file that is not ours. */
static bool is_our_file(int fd)
{
	struct stat status;
	return fd >= 0 && raw2(SYS_fstat, fd, (long)&status) == 0 && status.st_dev == rings.device &&
	       status.st_ino == rings.inode;
}

static void remember_identity(int fd)
{
	struct stat status = {0};
	raw2(SYS_fstat, fd, (long)&status);
	rings.device = status.st_dev;
	rings.inode = status.st_ino;
}

int rings_create(const char *path, const uint8_t nonce[16], uint64_t bytes)
{
	uint32_t span = header_span_bytes();
	uint64_t extents = bytes > span ? (bytes - span) / RINGS_EXTENT_BYTES : 0;
	extents = extents < 4 ? 4 : extents > RINGS_EXTENTS_MAX ? RINGS_EXTENTS_MAX : extents;
	int fd = raw_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return fd;
	int result = grow_file(fd, 0, span);
	rings.mapped_bytes = span + extents * RINGS_EXTENT_BYTES;
	void *map = result ? NULL
			   : raw_mmap(NULL, rings.mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!result && (!map || !reserve_private_memory((uint32_t)extents)))
		result = -ENOMEM;
	if (!result) {
		rings.header = map;
		rings.extents = (uint8_t *)map + span;
		write_header(nonce, (uint32_t)extents);
		remember_identity(fd);
		rings.large_wanted = LARGE_FREE_WANTED;
		rings.small_wanted = extents < 64 ? SMALL_PER_EXTENT : SMALL_FREE_WANTED;
		rings.slots_wanted = extents < 64 ? SLOTS_PER_EXTENT : SLOTS_FREE_WANTED;
		__cds_wfcq_init(&rings.queue_head, &rings.queue_tail);
		rings_provide(fd);
	} else {
		raw3(SYS_unlinkat, AT_FDCWD, (long)path, 0);
	}
	raw_close(fd);
	return result;
}

void rings_forget(void)
{
	if (rings.header)
		raw_munmap(rings.header, rings.mapped_bytes);
	/* The private memory stays reserved: threads of the parent are gone, their structures wiped. */
	memset(&rings, 0, sizeof rings);
}

static bool take_extent(int fd, enum extent_kind kind, uint32_t *extent)
{
	if (rings.extents_used == rings.header->extents_count || !is_our_file(fd))
		return false;
	uint64_t offset = header_span_bytes() + (uint64_t)rings.extents_used * RINGS_EXTENT_BYTES;
	if (grow_file(fd, offset, RINGS_EXTENT_BYTES) != 0)
		return false;
	*extent = rings.extents_used++;
	atomic_store_explicit(&rings.header->extent_kinds[*extent], (uint8_t)kind, memory_order_release);
	return true;
}

static bool provide_slots(int fd)
{
	uint32_t extent, first = atomic_load_explicit(&rings.slots_end, memory_order_relaxed);
	if (first == THREADS_MAX || !take_extent(fd, EXTENT_SLOTS, &extent))
		return false;
	atomic_store_explicit(&rings.slot_extents[first / SLOTS_PER_EXTENT], extent, memory_order_relaxed);
	/* Release: whoever sees the new end finds the extent. */
	atomic_store_explicit(&rings.slots_end, first + SLOTS_PER_EXTENT, memory_order_release);
	for (uint32_t i = 0; i < SLOTS_PER_EXTENT; i++)
		free_stack_give(&rings.slots, first + SLOTS_PER_EXTENT - 1 - i);
	return true;
}

static bool provide_small(int fd)
{
	uint32_t extent;
	if (!take_extent(fd, EXTENT_SMALL, &extent))
		return false;
	for (uint32_t i = 0; i < SMALL_PER_EXTENT; i++)
		free_stack_give(&rings.small, extent * SMALL_PER_EXTENT + i);
	return true;
}

static bool provide_large(int fd)
{
	uint32_t extent;
	if (!take_extent(fd, EXTENT_LARGE, &extent))
		return false;
	free_stack_give(&rings.large, extent);
	return true;
}

static uint32_t free_count(struct free_stack *stack)
{
	return atomic_load_explicit(&stack->length, memory_order_relaxed);
}

/* In extents: a share of the bound, so that each kind finds a place in a small one. */
static bool within_share(uint32_t share)
{
	return rings.extents_used < rings.header->extents_count * share / 8;
}

static void provide(struct free_stack *stack, uint32_t *wanted, uint32_t share, int fd, bool (*one_more)(int))
{
	if (free_count(stack) < *wanted / 8)
		*wanted *= within_share(share) ? 2 : 1;
	while (free_count(stack) < *wanted && within_share(share) && one_more(fd))
		;
}

/* The last extents are kept for small chunks and slots, so that new threads find a place. */
void rings_provide(int fd)
{
	provide(&rings.slots, &rings.slots_wanted, 8, fd, provide_slots);
	provide(&rings.small, &rings.small_wanted, 7, fd, provide_small);
	provide(&rings.large, &rings.large_wanted, 6, fd, provide_large);
}

bool rings_low(void)
{
	return free_count(&rings.large) < rings.large_wanted / 2 || free_count(&rings.small) < rings.small_wanted / 2 ||
	       free_count(&rings.slots) < rings.slots_wanted / 2;
}

bool rings_ready(void)
{
	return atomic_load_explicit(&rings.ready, memory_order_relaxed) != 0;
}

uint64_t rings_bytes(void)
{
	return header_span_bytes() + (uint64_t)rings.extents_used * RINGS_EXTENT_BYTES;
}

unsigned rings_backlog_percent(void)
{
	uint32_t ready = atomic_load_explicit(&rings.ready, memory_order_relaxed);
	return (unsigned)(100ull * ready / rings.header->extents_count);
}

/* ---- slots --------------------------------------------------------------------------------------------------- */

struct ring_slot *rings_slot(uint32_t index)
{
	uint32_t extent = atomic_load_explicit(&rings.slot_extents[index / SLOTS_PER_EXTENT], memory_order_relaxed);
	uint8_t *base = rings.extents + (uint64_t)extent * RINGS_EXTENT_BYTES;
	return (struct ring_slot *)(base + index % SLOTS_PER_EXTENT * SLOT_BYTES);
}

struct thread *rings_thread(uint32_t index)
{
	return &rings.threads[index];
}

uint32_t rings_slots_end(void)
{
	return atomic_load_explicit(&rings.slots_end, memory_order_acquire);
}

struct thread *rings_take_slot(void)
{
	uint32_t index;
	if (!rings.header || !free_stack_take(&rings.slots, &index))
		return NULL;
	struct thread *thread = &rings.threads[index];
	struct ring_slot *slot = rings_slot(index);
	memset(thread, 0, offsetof(struct thread, codec));
	memset(thread->stack_cache, 0, sizeof thread->stack_cache);
	thread->index = index;
	thread->slot = slot;
	thread->id = atomic_fetch_add_explicit(&rings.next_thread_id, 1, memory_order_relaxed) + 1;
	thread->position = (uint8_t *)1; /* above a limit of NULL */
	if (rings_low())
		writer_wake();
	slot->thread = thread->id;
	return thread;
}

void rings_release_slot(struct thread *thread)
{
	struct rings_header *header = rings.header;
	struct ring_slot *slot = thread->slot;
	uint64_t epoch = atomic_load_explicit(&header->retired_epoch, memory_order_relaxed);
	const uint64_t *before = header->retired_counters[epoch % 2];
	uint64_t *after = header->retired_counters[(epoch + 1) % 2];
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		after[i] = before[i] + atomic_load_explicit(&slot->counters[i], memory_order_relaxed);
	atomic_store_explicit(&slot->retired_at, epoch + 1, memory_order_release);
	/* Release: whoever sees the new epoch sees the sums, and the slot as retired. */
	atomic_store_explicit(&header->retired_epoch, epoch + 1, memory_order_release);
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		atomic_store_explicit(&slot->counters[i], 0, memory_order_relaxed);
	atomic_store_explicit(&slot->state, SLOT_FREE, memory_order_release);
	atomic_store_explicit(&slot->retired_at, 0, memory_order_release);
	free_stack_give(&rings.slots, thread->index);
}

void rings_count_shared(enum counter counter, uint64_t n)
{
	if (rings.header && n)
		atomic_fetch_add_explicit(&rings.header->shared_counters[counter], n, memory_order_relaxed);
}

uint64_t rings_shared(enum counter counter)
{
	return atomic_load_explicit(&rings.header->shared_counters[counter], memory_order_relaxed);
}

uint64_t rings_total(enum counter counter)
{
	uint64_t epoch = atomic_load_explicit(&rings.header->retired_epoch, memory_order_acquire);
	uint64_t total = rings_shared(counter) + rings.header->retired_counters[epoch % 2][counter];
	for (uint32_t index = 0; index < rings_slots_end(); index++)
		if (ring_slot_counts(rings_slot(index), epoch))
			total += atomic_load_explicit(&rings_slot(index)->counters[counter], memory_order_relaxed);
	return total;
}

/* ---- chunks -------------------------------------------------------------------------------------------------- */

static bool is_large(const struct chunk_header *chunk)
{
	return chunk->capacity > CHUNK_SMALL_BYTES;
}

static uint64_t offset_of(const struct chunk_header *chunk)
{
	return (uint64_t)((const uint8_t *)chunk - rings.extents);
}

static struct chunk_note *note_of(struct chunk_header *chunk)
{
	return is_large(chunk) ? &rings.large_notes[offset_of(chunk) / CHUNK_LARGE_BYTES]
			       : &rings.small_notes[offset_of(chunk) / CHUNK_SMALL_BYTES];
}

static struct chunk_header *take_large(void)
{
	uint32_t item;
	if (!free_stack_take(&rings.large, &item))
		return NULL;
	struct chunk_header *chunk = (struct chunk_header *)(rings.extents + (uint64_t)item * CHUNK_LARGE_BYTES);
	chunk->capacity = CHUNK_LARGE_BYTES - sizeof *chunk;
	return chunk;
}

static struct chunk_header *take_small(void)
{
	uint32_t item;
	if (!free_stack_take(&rings.small, &item))
		return NULL;
	struct chunk_header *chunk = (struct chunk_header *)(rings.extents + (uint64_t)item * CHUNK_SMALL_BYTES);
	chunk->capacity = CHUNK_SMALL_BYTES - sizeof *chunk;
	return chunk;
}

static struct chunk_header *take_chunk(bool large)
{
	struct chunk_header *chunk = large ? take_large() : take_small();
	if (!chunk)
		chunk = large ? take_small() : take_large();
	return chunk;
}

static uint64_t lost_so_far(const struct thread *thread)
{
	uint64_t lost = 0;
	for (unsigned i = COUNTER_LOST_FIRST; i <= COUNTER_LOST_LAST; i++)
		lost += atomic_load_explicit(&thread->slot->counters[i], memory_order_relaxed);
	return lost;
}

static void open_chunk(struct thread *thread, struct chunk_header *chunk, uint64_t time)
{
	chunk->thread = thread->id;
	chunk->kernel_tid = thread->slot->kernel_tid;
	chunk->sequence = thread->next_sequence++;
	chunk->base_time = time;
	chunk->lost_before = lost_so_far(thread);
	chunk->events_before = atomic_load_explicit(&thread->slot->counters[COUNTER_EVENTS], memory_order_relaxed);
	chunk->cpu = *thread->cpu_id;
	chunk->skip = 0;
	chunk->magic = CHUNK_MAGIC;
	atomic_store_explicit(&chunk->committed, 0, memory_order_relaxed);
	note_of(chunk)->flushed_bytes = 0;
	if (chunk->cpu != thread->codec.cpu && chunk->sequence > 0)
		thread_count(thread, COUNTER_MIGRATIONS);
	codec_reset(&thread->codec, time, chunk->cpu);
	thread->records = thread->position = (uint8_t *)(chunk + 1);
	/* Release: a reader of the rings, or the writer, that sees the state or the address sees the header. */
	atomic_store_explicit(&chunk->state, CHUNK_ACTIVE, memory_order_release);
	atomic_store_explicit(&thread->chunk, chunk, memory_order_release);
}

void ring_hand_over(struct thread *thread)
{
	struct chunk_header *chunk = atomic_load_explicit(&thread->chunk, memory_order_relaxed);
	if (!chunk)
		return;
	atomic_store_explicit(&thread->limit, NULL, memory_order_relaxed);
	atomic_store_explicit(&thread->chunk, NULL, memory_order_relaxed);
	thread->position = (uint8_t *)1;
	atomic_store_explicit(&chunk->state, CHUNK_READY, memory_order_release);
	struct chunk_note *note = note_of(chunk);
	cds_wfcq_node_init(&note->node);
	atomic_fetch_add_explicit(&rings.ready, 1, memory_order_relaxed);
	cds_wfcq_enqueue(&rings.queue_head, &rings.queue_tail, &note->node);
}

/* Hands over the chunk that is full, or asked for. True where there is room in it after all. */
static bool still_has_room(struct thread *thread, size_t need)
{
	struct chunk_header *chunk = atomic_load_explicit(&thread->chunk, memory_order_relaxed);
	if (!chunk)
		return false;
	uint8_t *end = (uint8_t *)(chunk + 1) + chunk->capacity;
	bool rotate = atomic_load_explicit(&thread->limit, memory_order_relaxed) == NULL;
	if (!rotate && (size_t)(end - thread->position) >= need)
		return true;
	thread->chunk_filled = !rotate;
	ring_hand_over(thread);
	return false;
}

static bool open_next(struct thread *thread, uint64_t time, size_t need)
{
	struct chunk_header *chunk = take_chunk(thread->chunk_filled || need > CHUNK_SMALL_BYTES / 2);
	if (!chunk)
		return false;
	if (chunk->capacity < need + DECODE_SLACK_BYTES) {
		rings_release(chunk);
		return false;
	}
	open_chunk(thread, chunk, time);
	atomic_store_explicit(&thread->limit, thread->records + chunk->capacity - RECORD_BYTES_MAX, memory_order_relaxed);
	return true;
}

/* Signals wait: a handler that left the queue or a free stack half changed, by a jump, would break them for everybody. */
__attribute__((noinline)) uint8_t *ring_make_room(struct thread *thread, uint64_t time, size_t need)
{
	uint64_t signals;
	raw_block_signals(&signals);
	bool room = still_has_room(thread, need) || open_next(thread, time, need);
	raw_restore_signals(&signals);
	if (unlikely(rings_low()))
		writer_wake();
	return room ? thread->position : NULL;
}

struct chunk_header *rings_next_ready(void)
{
	struct cds_wfcq_node *node = __cds_wfcq_dequeue_nonblocking(&rings.queue_head, &rings.queue_tail);
	if (!node || node == CDS_WFCQ_WOULDBLOCK)
		return NULL;
	atomic_fetch_sub_explicit(&rings.ready, 1, memory_order_relaxed);
	struct chunk_note *note = (struct chunk_note *)((char *)node - offsetof(struct chunk_note, node));
	uint64_t large = (uint64_t)(note - rings.large_notes);
	uint8_t *at = note >= rings.large_notes && large < rings.header->extents_count
			      ? rings.extents + large * CHUNK_LARGE_BYTES
			      : rings.extents + (uint64_t)(note - rings.small_notes) * CHUNK_SMALL_BYTES;
	return (struct chunk_header *)at;
}

uint32_t *rings_flushed(struct chunk_header *chunk)
{
	return &note_of(chunk)->flushed_bytes;
}

void rings_release(struct chunk_header *chunk)
{
	uint64_t offset = offset_of(chunk);
	bool large = is_large(chunk);
	atomic_store_explicit(&chunk->state, CHUNK_FREE, memory_order_release);
	if (large)
		free_stack_give(&rings.large, (uint32_t)(offset / CHUNK_LARGE_BYTES));
	else
		free_stack_give(&rings.small, (uint32_t)(offset / CHUNK_SMALL_BYTES));
}
