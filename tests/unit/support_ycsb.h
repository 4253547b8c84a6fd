/* Reading YCSB's output from memory or from tests/golden/ycsb, and comparing what came of it. */
#ifndef MTRACE_TESTS_SUPPORT_YCSB_H
#define MTRACE_TESTS_SUPPORT_YCSB_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyzer/ycsb.h"

#define STAMP_S 1780228800LL /* 2026-05-31 12:00:00 UTC */

static struct ycsb_file file;
static struct error error;
static const struct ycsb_options utc = {.have_offset = true, .offset_s = 0};

static inline int memory_file(const void *bytes, size_t length, char path[32])
{
	int fd = memfd_create("ycsb", 0);
	for (size_t done = 0; done < length;) {
		ssize_t put = write(fd, (const char *)bytes + done, length - done);
		cr_assert_gt(put, 0);
		done += (size_t)put;
	}
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

static inline bool read_bytes(const char *bytes, size_t length, const struct ycsb_options *options)
{
	char path[32];
	int fd = memory_file(bytes, length, path);
	error = (struct error){0};
	ycsb_file_free(&file);
	bool done = ycsb_read(path, options, &file, &error);
	close(fd);
	return done;
}

static inline void read_text(const char *text)
{
	cr_assert(read_bytes(text, strlen(text), &utc), "%s", error.text);
}

static inline const struct ycsb_run *read_run(const char *text)
{
	read_text(text);
	cr_assert_eq(file.run_count, 1, "%zu runs", file.run_count);
	return &file.runs[0];
}

/* A fixture with one run and nothing that could not be read. */
static inline const struct ycsb_run *read_golden(const char *name, const struct ycsb_options *options)
{
	char path[128];
	snprintf(path, sizeof path, "tests/golden/ycsb/%s", name);
	error = (struct error){0};
	ycsb_file_free(&file);
	cr_assert(ycsb_read(path, options, &file, &error), "%s", error.text);
	cr_assert_eq(file.unread_lines, 0);
	cr_assert_eq(file.run_count, 1);
	return &file.runs[0];
}

static inline void close_file(void)
{
	ycsb_file_free(&file);
}

static inline void near(double got, double wanted, const char *what)
{
	cr_assert(fabs(got - wanted) <= 1e-9 * fabs(wanted) + 1e-12, "%s: %.12g instead of %.12g", what, got,
		  wanted);
}

#endif
