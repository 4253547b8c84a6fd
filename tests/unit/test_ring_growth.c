/* How the rings file grows, and what happens where it may not. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "tests/unit/support_shim.h"

#define EXTENT 65536u

static const volatile uint32_t cpu_zero;

static void limit_file_size(rlim_t bytes)
{
	struct rlimit limit;
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	setrlimit(RLIMIT_FSIZE, &limit);
}

/* Writes until there is no room. Returns the next number to write. */
static uint64_t fill(struct thread *thread, uint64_t number)
{
	while (support_ring_write(thread, number, number * 4096, number))
		number++;
	return number;
}

Test(ring_growth, starts_small)
{
	support_rings(UINT64_C(64) << 20);
	cr_assert_leq(rings_bytes(), EXTENT * 44, "%lu extents at the start", rings_bytes() / EXTENT);
}

Test(ring_growth, goes_on_when_a_full_disk_has_room_again)
{
	int fd = support_rings(8 << 20);
	struct thread *thread = support_ring_thread(&cpu_zero);
	limit_file_size(rings_bytes());
	uint64_t number = fill(thread, 1);
	for (int tick = 0; tick < 60; tick++)
		rings_provide(fd);
	cr_assert(rings_low(), "nothing is free, but nothing is said to be wanted");
	limit_file_size(RLIM_INFINITY);
	rings_provide(fd);
	cr_assert(support_ring_write(thread, number, number * 4096, number), "never provided again");
}

static void refuse_fallocate(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = code};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		cr_skip_test("no seccomp filters here");
}

/* The size limit's signal must not reach a guest that has no handler for it. */
Test(ring_growth, size_limit_without_fallocate_does_not_kill)
{
	signal(SIGXFSZ, SIG_DFL);
	limit_file_size(6 * EXTENT);
	refuse_fallocate();
	support_rings(8 << 20);
	cr_assert_leq(rings_bytes(), 6 * EXTENT);
}
