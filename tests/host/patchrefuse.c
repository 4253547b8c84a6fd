/*
 * Runs a program where code cannot be changed. Usage: patchrefuse gain|write PROGRAM [ARG...]
 *
 * gain   the kernel's PR_MDWE_REFUSE_EXEC_GAIN: memory that was writable does not become executable
 * write  memory is never writable and executable at once (a filter on mprotect, as SELinux' execmod has it)
 *
 * Exit status 77 where the kernel does not know how.
 */
#include "tests/host/guest.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE		 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

#define ARGUMENT(number)                                                                                     \
	(offsetof(struct seccomp_data, args) + 8 * (number)) /* its lower half: little endian */

static bool refuse_gain(void)
{
	return prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) == 0;
}

static bool refuse_write(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(2)),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PROT_WRITE | PROT_EXEC),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_WRITE | PROT_EXEC, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof code / sizeof *code, code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (!(strcmp(argv[1], "gain") == 0 ? refuse_gain() : refuse_write()))
		return 77;
	execvp(argv[2], argv + 2);
	return 78;
}
