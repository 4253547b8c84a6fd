#include "shim/ring_internal.h"

#include <errno.h>
#include <linux/falloc.h>

#include "shim/config.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/*
 * How many free items rings_provide() sees to, at first. 32 large chunks are 2 MiB: what two threads at full
 * speed fill in 20 ms. Whenever they were nearly used up before the writer came, it sees to twice as many
 * from then on.
 */
#define LARGE_FREE_WANTED 32u
#define SMALL_FREE_WANTED 128u
#define SLOTS_FREE_WANTED 128u

struct rings rings;

/* ---- the file and its mapping
 * ---------------------------------------------------------------------------------- */

static uint32_t header_span_bytes(void)
{
	return (uint32_t)(sizeof(struct rings_header) + TRACE_PAGE_BYTES * 16 - 1) &
	       ~(TRACE_PAGE_BYTES * 16 - 1);
}

/* A size limit raises SIGXFSZ, which kills: signals are blocked around what grows a file, and it is taken
 * back, unless it was pending before for another reason. */
struct quiet {
	uint64_t blocked_before, pending_before;
};

#define XFSZ_BIT (UINT64_C(1) << (SIGXFSZ - 1))

static struct quiet quiet_begin(void)
{
	struct quiet quiet = {0, 0};
	raw_block_signals(&quiet.blocked_before);
	raw2(SYS_rt_sigpending, (long)&quiet.pending_before, RAW_KERNEL_SIGSET_BYTES);
	return quiet;
}

static void quiet_end(const struct quiet *quiet)
{
	uint64_t xfsz = XFSZ_BIT;
	struct timespec none = {0, 0};
	if (!(quiet->pending_before & XFSZ_BIT))
		raw4(SYS_rt_sigtimedwait, (long)&xfsz, 0, (long)&none, RAW_KERNEL_SIGSET_BYTES);
	raw_restore_signals(&quiet->blocked_before);
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
	struct quiet quiet = quiet_begin();
	int result = (int)raw4(SYS_fallocate, fd, 0, (long)offset, (long)bytes);
	if (result == -EOPNOTSUPP)
		result = write_zeros(fd, offset, bytes);
	quiet_end(&quiet);
	return result;
}

static bool reserve_private_memory(uint32_t extents)
{
	uint64_t small = (uint64_t)extents * SMALL_PER_EXTENT;
	rings.large_notes = raw_reserve(extents * sizeof(struct chunk_note));
	rings.small_notes = raw_reserve(small * sizeof(struct chunk_note));
	rings.large.next = raw_reserve(extents * sizeof(uint32_t));
	rings.small.next = raw_reserve(small * sizeof(uint32_t));
	rings.slots.next = raw_reserve(THREADS_MAX * sizeof(uint32_t));
	return rings.large_notes && rings.small_notes && rings.large.next && rings.small.next &&
	       rings.slots.next;
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

/* The descriptor may be shared with a guest that closes what it does not know: never grow a file that is not
 * ours. */
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

/* Full mode fills a chunk of each thread in a millisecond, and the writer may have to wait for a CPU. */
static uint32_t large_wanted_at_first(uint32_t extents)
{
	uint32_t quarter = extents / 4;
	return config.mode == MODE_FULL && quarter > LARGE_FREE_WANTED ? quarter : LARGE_FREE_WANTED;
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
	void *map =
		result ? NULL : raw_mmap(NULL, rings.mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!result && (!map || !reserve_private_memory((uint32_t)extents)))
		result = -ENOMEM;
	if (!result) {
		rings.header = map;
		rings.extents = (uint8_t *)map + span;
		write_header(nonce, (uint32_t)extents);
		remember_identity(fd);
		rings.large_wanted = large_wanted_at_first((uint32_t)extents);
		rings.small_wanted = extents < 64 ? SMALL_PER_EXTENT : SMALL_FREE_WANTED;
		rings.slots_wanted = extents < 64 ? SLOTS_PER_EXTENT : SLOTS_FREE_WANTED;
		__cds_wfcq_init(&rings.queue_head, &rings.queue_tail);
		rings_provide(fd);
	} else {
		if (map)
			raw_munmap(map, rings.mapped_bytes);
		raw3(SYS_unlinkat, AT_FDCWD, (long)path, 0);
	}
	raw_close(fd);
	return result;
}

static int write_copy(int fd, uint64_t bytes)
{
	const uint8_t *from = (const uint8_t *)rings.header;
	for (uint64_t done = 0; done < bytes;) {
		long result = raw_pwrite(fd, from + done, bytes - done, done);
		if (result <= 0)
			return result < 0 ? (int)result : -ENOSPC;
		done += (uint64_t)result;
	}
	return 0;
}

int rings_remake(const char *path)
{
	int fd = raw_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return fd;
	int result = grow_file(fd, 0, rings_bytes());
	if (!result)
		result = write_copy(fd, rings_bytes());
	if (!result && !raw_mmap(rings.header, rings.mapped_bytes, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_FIXED, fd, 0))
		result = -ENOMEM;
	if (!result) {
		remember_identity(fd);
		return fd;
	}
	raw_close(fd);
	raw3(SYS_unlinkat, AT_FDCWD, (long)path, 0);
	return result;
}

void rings_empty(int fd)
{
	if (is_our_file(fd))
		raw4(SYS_fallocate, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (long)rings_bytes());
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

/* The structures of the next threads, empty in a forked child (thread.h). */
static bool open_piece(uint32_t first)
{
	struct thread **piece = &rings.thread_pieces[first / SLOTS_PER_EXTENT];
	if (*piece)
		return true;
	*piece = raw_reserve(SLOTS_PER_EXTENT * sizeof **piece);
	if (*piece)
		raw3(SYS_madvise, (long)*piece, SLOTS_PER_EXTENT * sizeof **piece, MADV_WIPEONFORK);
	return *piece != NULL;
}

static bool provide_slots(int fd)
{
	uint32_t extent, first = atomic_load_explicit(&rings.slots_end, memory_order_relaxed);
	if (first == THREADS_MAX || !open_piece(first) || !take_extent(fd, EXTENT_SLOTS, &extent))
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
	bool scarce = free_count(stack) < *wanted / 8, provided = false;
	while (free_count(stack) < *wanted && within_share(share) && one_more(fd))
		provided = true;
	/* Twice as many from the next time on, where that can be had; the first time nothing has been used
	 * up. */
	if (scarce && provided && rings.provided_once)
		*wanted *= 2;
}

/* The last extents are kept for small chunks and slots, so that new threads find a place. */
void rings_provide(int fd)
{
	provide(&rings.slots, &rings.slots_wanted, 8, fd, provide_slots);
	provide(&rings.small, &rings.small_wanted, 7, fd, provide_small);
	provide(&rings.large, &rings.large_wanted, 6, fd, provide_large);
	rings.provided_once = true;
}

bool rings_low(void)
{
	return free_count(&rings.large) < rings.large_wanted / 2 ||
	       free_count(&rings.small) < rings.small_wanted / 2 ||
	       free_count(&rings.slots) < rings.slots_wanted / 2;
}

uint32_t rings_ready(void)
{
	return atomic_load_explicit(&rings.ready, memory_order_relaxed);
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
