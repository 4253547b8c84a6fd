/*
 * A thread that gives up all system calls but read, write and its end (strict seccomp), and goes on with
 * memory that the allocator has at hand. Any other call kills it.
 */
#include "tests/host/guest.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { WINDOW = 64, PAIRS = 150000 };

static void *blocks[WINDOW];

/* The same sizes again and again. */
static void churn(void)
{
	for (int i = 0; i < PAIRS; i++) {
		void **block = &blocks[i % WINDOW];
		free(*block);
		*block = malloc((size_t)(16 + i % 4 * 32));
	}
}

int main(int argc, char **argv)
{
	bool by_syscall = argc > 1 && strcmp(argv[1], "syscall") == 0;
	guest_count("allocs", 2 * PAIRS, 2 * PAIRS + 64);
	churn();
	long sealed = by_syscall ? syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL)
				 : prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	if (sealed != 0) {
		say("no strict mode here");
		return 0;
	}
	churn();
	say("worked behind the seal");
	syscall(SYS_exit, 5);
}
