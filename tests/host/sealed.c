/*
 * A program that gives up most system calls once it is up (seccomp): opening, truncating and allocating files
 * and new memory descriptors fail with EPERM from there on, in this thread and those that it starts.
 */
#include "tests/host/guest.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static const unsigned refused[] = {
	SYS_openat,	SYS_ftruncate,	     SYS_fallocate, SYS_memfd_create,
	SYS_pipe2,	SYS_rt_sigtimedwait, SYS_gettid,    SYS_sched_getaffinity,
	SYS_membarrier, SYS_readlinkat,	     SYS_unlinkat,  SYS_renameat,
};
enum { REFUSED = sizeof refused / sizeof refused[0] };

static bool seal(void)
{
	struct sock_filter code[2 * REFUSED + 2];
	size_t n = 0;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < REFUSED; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {(unsigned short)n, code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void *allocate(void *argument)
{
	for (int i = 0; i < 30000; i++) {
		char *p = malloc((size_t)(1 + i % 3000));
		require(p);
		*p = 1;
		free(p);
	}
	return argument;
}

int main(void)
{
	pthread_t thread;
	allocate(NULL);
	if (!seal()) {
		say("no seccomp here");
		return 0;
	}
	allocate(NULL);
	require(pthread_create(&thread, NULL, allocate, NULL) == 0);
	pthread_join(thread, NULL);
	check(open("/dev/null", O_RDONLY) == -1 && errno == EPERM);
	say("worked behind the seal");
	return 0;
}
