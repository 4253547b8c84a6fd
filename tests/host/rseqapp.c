/*
 * Registers rseq through syscall(), as TCMalloc does: an area of its own in thread-local storage, in each
 * thread at its first need.
 *
 * usage: rseqapp threads|fail-first|unregister
 *
 * What it prints is what the kernel answered. Where glibc has registered already, that is EINVAL everywhere.
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "tests/host/guest.h"

#if defined(__x86_64__)
#define SIGNATURE 0x53053053u
#else
#define SIGNATURE 0xd428bc00u
#endif

#define UNREGISTER 1

/* The head of the kernel's struct rseq, in the 32 bytes of its first version. */
struct area {
	uint32_t cpu_id_start;
	uint32_t cpu_id;
	unsigned char rest[24];
};
static _Thread_local struct area area __attribute__((aligned(32)));

enum { THREADS = 3, BLOCKS = 50 };

static unsigned long long registrations, failures;

/* 0, or the errno. */
static int call_rseq(size_t bytes, int flags)
{
	errno = 0;
	long result = syscall(SYS_rseq, &area, bytes, flags, SIGNATURE);
	check((result == 0) == (errno == 0));
	return result == 0 ? 0 : errno;
}

static int register_area(size_t bytes)
{
	area.cpu_id = (uint32_t)-1;
	int error = call_rseq(bytes, 0);
	__atomic_fetch_add(&registrations, 1, __ATOMIC_RELAXED);
	if (error)
		__atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
	check((error == 0) == ((int32_t)area.cpu_id >= 0));
	return error;
}

static void allocate(size_t bytes)
{
	for (int i = 0; i < BLOCKS; i++) {
		void *volatile block = malloc(bytes);
		require(block);
		free(block);
	}
}

static void *run_thread(void *result)
{
	*(int *)result = register_area(sizeof area);
	allocate(256);
	return NULL;
}

static void run_threads(void)
{
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;
		int error = -1;
		require(pthread_create(&thread, NULL, run_thread, &error) == 0);
		pthread_join(thread, NULL);
		say("thread %d: errno %d", i, error);
	}
}

int main(int argc, char **argv)
{
	require(argc == 2);
	allocate(1000); /* before it has an area */
	if (!strcmp(argv[1], "fail-first"))
		say("too short: errno %d", register_area(16));
	say("main: errno %d", register_area(sizeof area));
	allocate(2000);
	if (!strcmp(argv[1], "unregister")) {
		say("unregister: errno %d", call_rseq(sizeof area, UNREGISTER));
		allocate(3000);
	} else {
		run_threads();
	}
	guest_count("rseq.registrations", registrations, registrations);
	guest_count("rseq.failures", failures, failures);
	return 0;
}
