/*
 * Under RLIMIT_FSIZE, set by the runner: a file that grows too far raises SIGXFSZ, which kills. `default`
 * leaves it at that and writes nothing itself; `handler` counts, and must count its own one alone.
 */
#include "tests/host/guest.h"

#include <signal.h>
#include <sys/resource.h>

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
	(void)number;
	signals = signals + 1;
}

static void allocate(void)
{
	uint32_t seed = 9;
	for (int i = 0; i < 600000; i++) {
		char *p = malloc(1 + guest_random(&seed) % 5000);
		require(p);
		*p = 1;
		free(p);
	}
}

static void write_too_much(const char *path)
{
	struct rlimit limit;
	getrlimit(RLIMIT_FSIZE, &limit);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	require(fd >= 0 && limit.rlim_cur != RLIM_INFINITY);
	check(pwrite(fd, "x", 1, (off_t)limit.rlim_cur - 1) == 1);
	errno = 0;
	check(pwrite(fd, "x", 1, (off_t)limit.rlim_cur) == -1 && errno == EFBIG);
	close(fd);
}

int main(int argc, char **argv)
{
	require(argc == 3);
	bool handles = strcmp(argv[1], "handler") == 0;
	if (handles)
		signal(SIGXFSZ, on_signal);
	allocate();
	check(signals == 0);
	if (handles)
		write_too_much(argv[2]);
	allocate();
	say("%s: %d signals", argv[1], (int)signals);
	return 0;
}
