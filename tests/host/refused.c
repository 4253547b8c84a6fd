/*
 * Starts a program to which the kernel refuses system calls with EPERM, as a container does: unshare(), and
 * with `both` close_range() too. Usage: refused unshare|both PROGRAM [ARGUMENT]...
 */
#include "tests/host/guest.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static bool refuse(const unsigned *numbers, size_t count)
{
	struct sock_filter code[8];
	unsigned short n = 0;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < count; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {n, code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int main(int argc, char **argv)
{
	static const unsigned numbers[] = {SYS_unshare, SYS_close_range};
	require(argc > 2);
	if (!refuse(numbers, strcmp(argv[1], "both") == 0 ? 2 : 1))
		return 77;
	execvp(argv[2], argv + 2);
	return 99;
}
