#include "shim/tracefile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "shim/raw.h"

#define HIGH_DESCRIPTOR 65536u
#define SUFFIX_LAST	100000
#define RAW_BYTES_MAX	(512u << 10) /* of one block */
#define PROCESS_BYTES	(32u << 10)  /* room for the process block */
#define STORED_BYTES_MAX                                                                                     \
	((size_t)ZSTD_COMPRESSBOUND(RAW_BYTES_MAX) + sizeof(struct block_header) + BLOCK_ALIGNMENT_BYTES)
#define ZSTD_WORKSPACE (2u << 20) /* level 1 with a window of RAW_BYTES_MAX needs 1.2 MiB */

static struct {
	int fd;
	bool shared_table; /* with the guest */
	char path[TRACEFILE_PATH_BYTES];
	dev_t device;
	ino_t inode;
	uint64_t seed; /* of header checks */
	uint64_t region_start, region_end, position;
	bool lapped; /* there is an older lap in the region */
	uint64_t sequence;
	uint64_t keyframe_position; /* bytes of blocks when the last keyframe was due */
	uint64_t appended_bytes;
	uint64_t stored_bytes, raw_bytes;
	ZSTD_CCtx *compressor;
	uint8_t *buffer; /* header, payload, padding of the block being written */
} file = {.fd = -1};

/* ---- writing
 * ------------------------------------------------------------------------------------------------------ */

/* A size limit raises SIGXFSZ, which kills: it is blocked in the writer, and taken back here. */
static void consume_size_signal(void)
{
	uint64_t xfsz = UINT64_C(1) << (SIGXFSZ - 1);
	struct timespec none = {0, 0};
	raw4(SYS_rt_sigtimedwait, (long)&xfsz, 0, (long)&none, RAW_KERNEL_SIGSET_BYTES);
}

/* Returns 0 or -errno. */
static int write_at(const void *data, size_t bytes, uint64_t offset)
{
	uint64_t before;
	size_t done = 0;
	int error = 0;
	raw_block_signals(&before);
	while (done < bytes) {
		long result = raw_pwrite(file.fd, (const char *)data + done, bytes - done, offset + done);
		if (result == -EINTR)
			continue;
		if (result == -EFBIG)
			consume_size_signal();
		if (result <= 0) {
			error = result < 0 ? (int)result : -ENOSPC;
			break;
		}
		done += (size_t)result;
	}
	raw_restore_signals(&before);
	return error;
}

/* ---- creating
 * ----------------------------------------------------------------------------------------------------- */

static bool exists(const char *path)
{
	return raw3(SYS_faccessat, AT_FDCWD, (long)path, 0) == 0;
}

static bool rings_exist(void)
{
	char rings[TRACEFILE_PATH_BYTES];
	tracefile_rings_path(rings);
	return exists(rings);
}

/* A device, a folder or a pipe under that name is a mistake, not an earlier trace. */
static bool is_something_else(const char *path)
{
	struct stat status;
	return raw4(SYS_newfstatat, AT_FDCWD, (long)path, (long)&status, 0) == 0 && !S_ISREG(status.st_mode);
}

static int create_new(const char *path)
{
	if (is_something_else(path))
		return -EINVAL;
	for (int suffix = 1; suffix <= SUFFIX_LAST; suffix++) {
		if (suffix == 1)
			snprintf(file.path, sizeof file.path, "%s", path);
		else
			snprintf(file.path, sizeof file.path, "%s.%d", path, suffix);
		if (rings_exist())
			continue;
		file.fd = raw_open(file.path, O_RDWR | O_CREAT | O_EXCL, 0644);
		if (file.fd != -EEXIST)
			return file.fd < 0 ? file.fd : 0;
	}
	return -EEXIST;
}

static void remember_identity(void)
{
	struct stat status;
	if (raw2(SYS_fstat, file.fd, (long)&status) == 0) {
		file.device = status.st_dev;
		file.inode = status.st_ino;
	}
}

static int write_file_header(const uint8_t nonce[16])
{
	uint8_t page[TRACE_PAGE_BYTES] = {0};
	struct file_header header = {.version = TRACE_FORMAT_VERSION,
				     .header_bytes = sizeof header,
				     .region_start = file.region_start,
				     .region_end = file.region_end};
	memcpy(header.magic, TRACE_MAGIC, sizeof header.magic);
	memcpy(header.nonce, nonce, sizeof header.nonce);
	header.check = XXH3_64bits(&header, offsetof(struct file_header, check));
	memcpy(page, &header, sizeof header);
	memcpy(page + TRACE_HEADER_COPY_OFFSET, &header, sizeof header);
	return write_at(page, sizeof page, 0);
}

static bool reserve_buffers(void)
{
	if (!file.buffer)
		file.buffer = raw_reserve(STORED_BYTES_MAX);
	void *workspace = file.compressor ? NULL : raw_reserve(ZSTD_WORKSPACE);
	if (workspace)
		file.compressor = ZSTD_initStaticCCtx(workspace, ZSTD_WORKSPACE);
	return file.buffer && file.compressor;
}

int tracefile_create(const char *path, const uint8_t nonce[16], uint64_t max_mib)
{
	int result = create_new(path);
	if (result)
		return result;
	remember_identity();
	memcpy(&file.seed, nonce, sizeof file.seed);
	file.region_start = TRACE_PAGE_BYTES + PROCESS_BYTES;
	file.region_end = max_mib ? max_mib << 20 : 0;
	file.position = TRACE_PAGE_BYTES;
	file.lapped = false;
	file.sequence = file.stored_bytes = file.raw_bytes = file.appended_bytes = file.keyframe_position = 0;
	if (!reserve_buffers())
		return -ENOMEM;
	return write_file_header(nonce);
}

bool tracefile_write_process(const char *text, size_t bytes)
{
	size_t room = PROCESS_BYTES - sizeof(struct block_header) - BLOCK_ALIGNMENT_BYTES;
	bool good = tracefile_append(BLOCK_PROCESS, text, bytes < room ? bytes : room,
				     (struct block_times){0, 0}, TRACEFILE_PLAIN);
	file.position = file.region_start;
	return good;
}

int tracefile_open(void)
{
	file.fd = raw_open(file.path, O_RDWR, 0);
	return file.fd < 0 ? file.fd : 0;
}

int tracefile_fd(void)
{
	return file.fd;
}

void tracefile_discard(void)
{
	if (file.fd >= 0)
		raw3(SYS_unlinkat, AT_FDCWD, (long)file.path, 0);
	tracefile_close();
}

void tracefile_close(void)
{
	if (file.fd >= 0)
		raw_close(file.fd);
	file.fd = -1;
}

/* ---- appending
 * ---------------------------------------------------------------------------------------------------- */

/*
 * Where the writer shares the guest's descriptor table (no unshare allowed), the guest may have closed our
 * descriptor, and its number may now be a file of the guest's. Never write without having looked.
 */
static bool still_our_file(void)
{
	struct stat status;
	return file.fd >= 0 && raw2(SYS_fstat, file.fd, (long)&status) == 0 && status.st_dev == file.device &&
	       status.st_ino == file.inode;
}

static void move_high(int *fd)
{
	struct rlimit limit = {1024, 1024};
	raw4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit);
	rlim_t top = limit.rlim_cur < HIGH_DESCRIPTOR ? limit.rlim_cur : HIGH_DESCRIPTOR;
	long high = *fd < 0 ? -1 : raw3(SYS_fcntl, *fd, F_DUPFD_CLOEXEC, (long)(top - top / 8));
	if (high < 0)
		return;
	raw_close(*fd);
	*fd = (int)high;
}

static bool ensure_open(void)
{
	if (still_our_file())
		return true;
	if (tracefile_open() != 0)
		return false;
	if (file.shared_table)
		move_high(&file.fd);
	return still_our_file();
}

/* Compresses behind the header's place. Returns the stored size and sets the encoding. */
static size_t encode_payload(const void *payload, size_t bytes, int level, uint16_t *encoding)
{
	uint8_t *target = file.buffer + sizeof(struct block_header);
	if (level != TRACEFILE_PLAIN) {
		ZSTD_CCtx_reset(file.compressor, ZSTD_reset_session_and_parameters);
		ZSTD_CCtx_setParameter(file.compressor, ZSTD_c_compressionLevel, level);
		ZSTD_CCtx_setPledgedSrcSize(file.compressor, bytes);
		size_t stored = ZSTD_compress2(file.compressor, target, ZSTD_COMPRESSBOUND(RAW_BYTES_MAX),
					       payload, bytes);
		if (!ZSTD_isError(stored) && stored < bytes) {
			*encoding = BLOCK_ZSTD;
			return stored;
		}
	}
	memcpy(target, payload, bytes);
	*encoding = BLOCK_PLAIN;
	return bytes;
}

static size_t padded(size_t bytes)
{
	return (bytes + BLOCK_ALIGNMENT_BYTES - 1) & ~(size_t)(BLOCK_ALIGNMENT_BYTES - 1);
}

/* What the last lap left behind the end of this one is older than all the rest and does not connect to it. */
static bool clear_tail(void)
{
	static const uint8_t zeros[4 * TRACE_PAGE_BYTES];
	for (uint64_t at = file.position; at < file.region_end;) {
		uint64_t bytes = file.region_end - at < sizeof zeros ? file.region_end - at : sizeof zeros;
		if (write_at(zeros, bytes, at) != 0)
			return false;
		at += bytes;
	}
	return true;
}

/* The place for a block; false where making it failed. */
static bool place_for(size_t bytes, uint64_t *place)
{
	bool wraps = file.region_end && file.position + bytes > file.region_end && file.sequence > 0;
	*place = wraps ? file.region_start : file.position;
	return !wraps || !file.lapped || clear_tail();
}

bool tracefile_append(enum block_type type, const void *payload, size_t bytes, struct block_times times,
		      int level)
{
	if (bytes > RAW_BYTES_MAX || !ensure_open())
		return false;
	struct block_header header = {.magic = BLOCK_MAGIC,
				      .type = (uint16_t)type,
				      .sequence = file.sequence,
				      .raw_bytes = (uint32_t)bytes,
				      .first_time = times.first,
				      .last_time = times.last};
	header.stored_bytes = (uint32_t)encode_payload(payload, bytes, level, &header.encoding);
	size_t stored = sizeof header + header.stored_bytes, whole = padded(stored);
	header.payload_check = XXH3_64bits(file.buffer + sizeof header, header.stored_bytes);
	header.header_check =
		XXH3_64bits_withSeed(&header, offsetof(struct block_header, header_check), file.seed);
	memcpy(file.buffer, &header, sizeof header);
	memset(file.buffer + stored, 0, whole - stored);
	uint64_t place;
	if (!place_for(whole, &place) || write_at(file.buffer, whole, place) != 0)
		return false;
	file.lapped = file.lapped || place < file.position;
	file.position = place + whole;
	file.sequence++;
	file.appended_bytes += whole;
	file.stored_bytes += header.stored_bytes;
	file.raw_bytes += bytes;
	return true;
}

bool tracefile_keyframe_due(void)
{
	if (!file.region_end)
		return false;
	uint64_t half = (file.region_end - file.region_start) / 2;
	if (file.keyframe_position && file.appended_bytes - file.keyframe_position < half)
		return false;
	file.keyframe_position = file.appended_bytes;
	return true;
}

void tracefile_end(void)
{
	if (!file.region_end && still_our_file())
		raw2(SYS_ftruncate, file.fd, (long)file.position);
}

void tracefile_move_high(int *other)
{
	file.shared_table = true;
	move_high(&file.fd);
	move_high(other);
}

uint64_t tracefile_stored_bytes(void)
{
	return file.stored_bytes;
}

uint64_t tracefile_raw_bytes(void)
{
	return file.raw_bytes;
}

const char *tracefile_path(void)
{
	return file.path;
}

void tracefile_rings_path(char *path)
{
	snprintf(path, TRACEFILE_PATH_BYTES, "%.4200s%s", file.path, TRACE_RINGS_SUFFIX);
}
