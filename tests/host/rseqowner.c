/*
 * Looks to doctor like a mongod 8 in a known state, and waits: an executable that exports some of
 * google/tcmalloc's names and registers rseq for a thread-local variable __rseq_abi, in each of its threads,
 * as TCMalloc does; where glibc was there first, that fails, and it goes on without.
 *
 * usage: rseqowner [thp-off exec PROGRAM] [FILE]
 *
 * thp-off: switches huge pages off for itself and executes PROGRAM FILE, as a wrapper of a service does. Ends
 * when its input does. FILE
 * is made when all threads have tried, and holds its process id.
 */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tests/host/guest.h"

#if defined(__x86_64__)
#define SIGNATURE 0x53053053u
#else
#define SIGNATURE 0xd428bc00u
#endif

enum { THREADS = 3, PR_THP_DISABLE = 41 };

struct area {
	uint32_t cpu_id_start, cpu_id;
	unsigned char rest[24];
};

/* In front of it, so that its offset in the thread-local segment is not 0. */
_Thread_local char before[40] = {1};
_Thread_local struct area __rseq_abi __attribute__((aligned(32))) = {.cpu_id = (uint32_t)-1};

/* Only to be found. */
bool MallocExtension_Internal_GetNumericProperty(const char *name, size_t length, size_t *value)
{
	(void)name, (void)length, (void)value;
	return false;
}

static pthread_barrier_t ready;

static void register_thread(void)
{
	before[1]++;
	if (syscall(SYS_rseq, &__rseq_abi, sizeof __rseq_abi, 0, SIGNATURE) != 0)
		__rseq_abi.cpu_id = (uint32_t)-2;
}

static void *run_thread(void *unused)
{
	register_thread();
	pthread_barrier_wait(&ready);
	pause();
	return unused;
}

static void leave_file(const char *path)
{
	FILE *file = fopen(path, "w");
	require(file && fprintf(file, "%d\n", (int)getpid()) > 0 && fclose(file) == 0);
}

int main(int argc, char **argv)
{
	char byte;
	if (argc == 5 && !strcmp(argv[1], "thp-off")) {
		require(prctl(PR_THP_DISABLE, 1, 0, 0, 0) == 0);
		execl(argv[3], argv[3], argv[4], (char *)NULL);
		return 1;
	}
	register_thread();
	pthread_barrier_init(&ready, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;
		require(pthread_create(&thread, NULL, run_thread, NULL) == 0);
	}
	pthread_barrier_wait(&ready);
	if (argc == 2)
		leave_file(argv[1]);
	while (read(0, &byte, 1) > 0)
		continue;
	_exit(0);
}
