/*
 * A program that closes every descriptor, its own or not, and fills files of its own: no byte in them may be
 * another's. Usage: closefds loop|range|dup FOLDER
 */
#include "tests/host/guest.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { ROUNDS = 60, FILES = 24, FILE_BYTES = 20000, MOST_DESCRIPTORS = 4096 };

static const char *folder;

static void allocate(int times)
{
	for (int i = 0; i < times; i++) {
		char *p = malloc((size_t)(1 + i % 900));
		char *q = malloc(70000);
		require(p && q);
		*p = *q = 1;
		free(q);
		free(p);
	}
}

static void *allocate_in_thread(void *argument)
{
	allocate(200);
	return argument;
}

static void close_by_loop(void)
{
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	int end = limit.rlim_cur < MOST_DESCRIPTORS ? (int)limit.rlim_cur : MOST_DESCRIPTORS;
	for (int fd = 3; fd < end; fd++)
		close(fd);
}

static void close_by_range(void)
{
#ifdef SYS_close_range
	if (syscall(SYS_close_range, 3, ~0u, 0) == 0)
		return;
#endif
	close_by_loop();
}

static unsigned char byte_at(int round, int file, int offset)
{
	return (unsigned char)(round * 31 + file * 7 + offset);
}

static int open_file(int file)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/file.%d", folder, file);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	require(fd >= 0);
	return fd;
}

static void write_file(int fd, int round, int file)
{
	unsigned char content[FILE_BYTES];
	for (int i = 0; i < FILE_BYTES; i++)
		content[i] = byte_at(round, file, i);
	for (int i = 0; i < FILE_BYTES; i += 1000)
		require(write(fd, content + i, 1000) == 1000);
}

static void check_file(int fd, int round, int file)
{
	unsigned char content[FILE_BYTES + 1];
	check(lseek(fd, 0, SEEK_CUR) == FILE_BYTES);
	check(pread(fd, content, sizeof content, 0) == FILE_BYTES);
	int damaged = 0;
	for (int i = 0; i < FILE_BYTES; i++)
		damaged += content[i] != byte_at(round, file, i);
	check(damaged == 0);
}

/* Whatever is in a pipe or a socket must be what was put there, and nothing else. */
static void check_stream(int in, int out)
{
	char text[16];
	allocate(5);
	require(write(in, "0123456789", 10) == 10);
	allocate(5);
	check(read(out, text, sizeof text) == 10 && memcmp(text, "0123456789", 10) == 0);
}

static void run_round(int round, void (*close_all)(void))
{
	int files[FILES], ends[2], sockets[2];
	close_all();
	for (int i = 0; i < FILES; i++)
		files[i] = open_file(i);
	require(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	/* Where we share the guest's table, opening the trace again takes a low number for some microseconds.
	 */
	if (!getenv("GUEST_TABLE_IS_SHARED"))
		check(files[0] == 3 && files[FILES - 1] == 3 + FILES - 1);
	allocate(200);
	for (int i = 0; i < FILES; i++)
		write_file(files[i], round, i);
	pthread_t thread;
	require(pthread_create(&thread, NULL, allocate_in_thread, NULL) == 0);
	check_stream(ends[1], ends[0]);
	check_stream(sockets[0], sockets[1]);
	pthread_join(thread, NULL);
	for (int i = 0; i < FILES; i++)
		check_file(files[i], round, i);
}

/* Descriptors up to 200 become the guest's file without ever being closed in between. */
static void run_dup_round(int round)
{
	int fd = open_file(0);
	for (int other = 3; other < 200; other++)
		if (other != fd)
			require(dup2(fd, other) == other);
	write_file(fd, round, 0);
	allocate(500);
	check_file(fd, round, 0);
	for (int other = 3; other < 200; other++)
		close(other);
}

int main(int argc, char **argv)
{
	require(argc == 3);
	folder = argv[2];
	for (int round = 0; round < ROUNDS; round++) {
		if (strcmp(argv[1], "dup") == 0)
			run_dup_round(round);
		else
			run_round(round, strcmp(argv[1], "range") == 0 ? close_by_range : close_by_loop);
	}
	guest_count("allocs", 500 * ROUNDS, 1000 * ROUNDS + 64 * ROUNDS);
	say("%s: %d rounds", argv[1], ROUNDS);
	return 0;
}
