/*
 * How fast YCSB's status lines are read, and in how much memory.
 *
 *     ycsb_speed [MEGABYTES]
 *
 * The file is written to /tmp first (one line a second, two operations in each, as Java YCSB 0.17 prints
 * them) and removed. Prints megabytes per second of CPU time, and the largest resident size of the reading
 * process.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/ycsb.h"
#include "tests/bench/speed.h"

static void write_line(FILE *file, uint64_t second)
{
	time_t time = (time_t)(1780228800 + second);
	struct tm civil;
	char stamp[32];
	gmtime_r(&time, &civil);
	strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &civil);
	fprintf(file,
		"%s:%03u %" PRIu64 " sec: %" PRIu64
		" operations; %u.5 current ops/sec; est completion in 3 hours 5 minutes "
		"[READ: Count=%u, Max=90111, Min=90, Avg=612.34, 90=900, 99=4501, 99.9=23001, 99.99=90111] "
		"[UPDATE: Count=%u, Max=90111, Min=90, Avg=712.34, 90=900, 99=4501, 99.9=23001, 99.99=90111] "
		"\n",
		stamp, (unsigned)(second % 7), second, second * 9450, 9000 + (unsigned)(second % 900),
		4500 + (unsigned)(second % 90), 4500 + (unsigned)(second % 77));
}

static void write_file(FILE *file, long megabytes)
{
	fputs("Command line: -t -threads 64\n", file);
	for (uint64_t second = 0; ftell(file) < megabytes * 1000000; second++)
		write_line(file, second);
}

int main(int argc, char **argv)
{
	long megabytes = argc > 1 ? strtol(argv[1], NULL, 10) : 300;
	char path[] = "/tmp/ycsb_speed.XXXXXX";
	int fd = mkstemp(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file || megabytes <= 0 || megabytes > 100000)
		return 2;
	write_file(file, megabytes);
	if (fclose(file) != 0)
		return 4;
	struct ycsb_file read = {0};
	struct error error = {0};
	double start = now_s();
	bool good = ycsb_read(path, NULL, &read, &error);
	double seconds = now_s() - start;
	unlink(path);
	if (!good)
		return error_print(&error);
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("%ld MB, %" PRIu64 " lines: %.0f MB per CPU second, %ld MiB resident, %zu intervals kept\n",
	       megabytes, read.lines, (double)megabytes / seconds, usage.ru_maxrss / 1024,
	       read.runs[0].interval_count);
	ycsb_file_free(&read);
	return 0;
}
