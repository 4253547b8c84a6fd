#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/support_shim.h"
#include "tests/unit/support_trace.h"

#define MIB (UINT64_C(1) << 20)

static const volatile uint32_t cpu_zero;
static const uint8_t nonce[16] = "nonce of a test";

static struct stat status_of(int fd)
{
	struct stat status;
	cr_assert_eq(fstat(fd, &status), 0);
	return status;
}

/* Takes all there is. Returns the records written. */
static uint64_t use_up(struct thread *thread)
{
	uint64_t written = 0;
	while (support_ring_write(thread, written, written * 4096 + 4096, written))
		written++;
	return written;
}

/* ---- the file
 * ------------------------------------------------------------------------------------------------------- */

Test(ring_file, header)
{
	struct rings_header header;
	int fd = support_rings(MIB);
	cr_assert_eq(pread(fd, &header, sizeof header, 0), sizeof header);
	cr_assert_arr_eq(header.magic, RINGS_MAGIC, sizeof header.magic);
	cr_assert_eq(header.version, TRACE_FORMAT_VERSION);
	cr_assert_arr_eq(header.nonce, nonce, sizeof nonce);
	cr_assert_eq(header.extents_offset + (uint64_t)header.extents_count * RINGS_EXTENT_BYTES, MIB);
	cr_assert_geq(header.extents_offset, sizeof header);
	cr_assert_eq(status_of(fd).st_mode & 0777, 0600);
	cr_assert_eq((uint64_t)status_of(fd).st_size, rings_bytes());
}

/* A store to a hole on a full disk is a SIGBUS: what the rings use must have its place on disk. */
Test(ring_file, no_holes)
{
	int fd = support_rings(4 * MIB);
	cr_assert_geq((uint64_t)status_of(fd).st_blocks * 512, rings_bytes());
	use_up(support_ring_thread(&cpu_zero));
	rings_provide(fd);
	cr_assert_geq((uint64_t)status_of(fd).st_blocks * 512, rings_bytes());
}

Test(ring_file, never_touches_what_exists)
{
	const char *path = support_path("test.rings");
	support_write_file(path, "precious", 8);
	cr_assert_eq(rings_create(path, nonce, MIB), -EEXIST);
	size_t bytes;
	uint8_t *data = support_read_file(path, &bytes);
	cr_assert_eq(bytes, 8);
	cr_assert_arr_eq(data, "precious", 8);
}

Test(ring_file, folder_that_does_not_exist)
{
	cr_assert_eq(rings_create("/nonexistent/x.rings", nonce, MIB), -ENOENT);
	cr_assert_null(rings_take_slot());
}

static void assert_bound(uint64_t bound)
{
	int fd = support_rings(bound);
	uint64_t before = rings_bytes();
	for (unsigned i = 0; i < 40; i++) {
		struct thread *thread = support_ring_thread(&cpu_zero);
		cr_assert_not_null(thread, "the last extents are kept for new threads");
		use_up(thread);
		rings_provide(fd);
		cr_assert_leq(rings_bytes(), bound);
		cr_assert_eq((uint64_t)status_of(fd).st_size, rings_bytes());
	}
	cr_assert_gt(rings_bytes(), before, "nothing was provided");
	cr_assert_geq(rings_bytes(), bound / 4 * 3);
	support_drain();
}

Test(ring_file, bound_of_1_mib)
{
	assert_bound(MIB);
}

Test(ring_file, bound_of_5_mib)
{
	assert_bound(5 * MIB);
}

/* More threads than chunks: the bound holds for slots as well, each is given out once, and none is made up.
 */
Test(ring_file, slots_end)
{
	static bool taken[32768];
	int fd = support_rings(MIB);
	unsigned threads = 0;
	for (struct thread *thread; (thread = rings_take_slot()); threads++) {
		cr_assert_lt(thread->index, rings_slots_end());
		cr_assert_not(taken[thread->index]);
		taken[thread->index] = true;
		cr_assert_eq(thread->id, threads + 1);
		cr_assert_eq(rings_thread(thread->index), thread);
		cr_assert_eq(rings_slot(thread->index), thread->slot);
		rings_provide(fd);
	}
	cr_assert_gt(threads, RINGS_EXTENT_BYTES / SLOT_BYTES);
	cr_assert_eq(threads, rings_slots_end());
	cr_assert_leq(rings_bytes(), MIB);
}

/* The guest closed our descriptor and opened a file of its own, which got the same number. */
Test(ring_file, a_foreign_descriptor_is_left_alone)
{
	support_rings(4 * MIB);
	int foreign = open(support_path("foreign"), O_RDWR | O_CREAT, 0600);
	uint64_t before = rings_bytes();
	use_up(support_ring_thread(&cpu_zero));
	rings_provide(foreign);
	rings_provide(-1);
	cr_assert_eq(status_of(foreign).st_size, 0);
	cr_assert_eq(rings_bytes(), before);
}

Test(ring_file, starts_anew_after_rings_forget)
{
	support_rings(MIB);
	use_up(support_ring_thread(&cpu_zero));
	rings_count_shared(COUNTER_LOST_DISK, 5);
	rings_forget();
	cr_assert_null(rings_take_slot());
	cr_assert_eq(rings_create(support_path("second.rings"), nonce, MIB), 0);
	cr_assert_eq(rings_total(COUNTER_LOST_DISK), 0);
	cr_assert_not(rings_ready());
	struct thread *thread = support_ring_thread(&cpu_zero);
	cr_assert_eq(thread->id, 1);
	uint64_t written = use_up(thread);
	cr_assert_eq(support_drain(), written);
}

/* ---- no room on disk
 * ------------------------------------------------------------------------------------------------ */

static void limit_file_size(uint64_t bytes)
{
	struct rlimit limit;
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	signal(SIGXFSZ, SIG_DFL);
}

/* The signal that the kernel sends for a file over the limit must neither arrive nor stay pending. */
static void assert_no_signal(void)
{
	sigset_t pending;
	cr_assert_eq(sigpending(&pending), 0);
	cr_assert_eq(sigismember(&pending, SIGXFSZ), 0);
	cr_assert_eq(sigprocmask(SIG_BLOCK, NULL, &pending), 0);
	cr_assert_eq(sigismember(&pending, SIGXFSZ), 0, "the mask was changed");
}

Test(ring_file, size_limit_below_the_header)
{
	limit_file_size(4096);
	const char *path = support_path("test.rings");
	cr_assert_eq(rings_create(path, nonce, MIB), -EFBIG);
	cr_assert_neq(access(path, F_OK), 0, "the useless file stays");
	assert_no_signal();
}

Test(ring_file, size_limit_below_the_bound)
{
	const uint64_t limit = 6 * RINGS_EXTENT_BYTES + 100;
	limit_file_size(limit);
	int fd = support_rings(8 * MIB);
	assert_no_signal();
	cr_assert_leq(rings_bytes(), limit);
	struct thread *thread = support_ring_thread(&cpu_zero);
	cr_assert_not_null(thread);
	uint64_t written = use_up(thread);
	rings_provide(fd);
	assert_no_signal();
	cr_assert_eq(support_drain(), written);
}

/* Makes fallocate fail, as on NFS 3. False: no such filters here (an emulator). */
static bool refuse_fallocate(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

Test(ring_file, file_system_without_fallocate)
{
	if (!refuse_fallocate())
		cr_skip_test("system call filters are not available");
	int fd = support_rings(MIB);
	cr_assert_eq((uint64_t)status_of(fd).st_size, rings_bytes());
	cr_assert_geq((uint64_t)status_of(fd).st_blocks * 512, rings_bytes());
	uint64_t written = use_up(support_ring_thread(&cpu_zero));
	cr_assert_gt(written, 1000);
	cr_assert_eq(support_drain(), written);
}
