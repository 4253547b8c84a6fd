/*
 * What every guest shares: output without stdio (which allocates), checks, and the counts that a trace must
 * show.
 *
 * A guest prints only what is the same in every run. What differs from run to run but must agree with the
 * trace goes to the file named by GUEST_COUNTS, one line each: field of `info --json`, least and greatest
 * value.
 */
#ifndef TESTS_HOST_GUEST_H
#define TESTS_HOST_GUEST_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __cplusplus
#include <cstdlib>
#include <cstring>
#endif

static inline void guest_write(int fd, const char *text, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = write(fd, text, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		text += n;
		bytes -= (size_t)n;
	}
}

/* One line on standard output, up to 1023 bytes. */
__attribute__((format(printf, 1, 2))) static inline void say(const char *format, ...)
{
	char line[1024];
	va_list arguments;
	va_start(arguments, format);
	int n = vsnprintf(line, sizeof line - 1, format, arguments);
	va_end(arguments);
	if (n < 0)
		return;
	size_t bytes = (size_t)n < sizeof line - 1 ? (size_t)n : sizeof line - 2;
	line[bytes++] = '\n';
	guest_write(STDOUT_FILENO, line, bytes);
}

static inline void guest_failed(const char *file, int line, const char *what)
{
	say("check failed: %s:%d: %s", file, line, what);
}

/* Says what does not hold and goes on; the runner fails a guest that says so. */
#define check(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition))                                                                            \
			guest_failed(__FILE__, __LINE__, #condition);                                        \
	} while (0)

/* For what the guest cannot go on without. */
#define require(condition)                                                                                   \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			guest_failed(__FILE__, __LINE__, #condition);                                        \
			_exit(99);                                                                           \
		}                                                                                            \
	} while (0)

/* `field` of `info --json` must lie within [least, most] for this very run. "allocs+.lost" is a field as
 * well. */
static inline void guest_count(const char *field, unsigned long long least, unsigned long long most)
{
	const char *path = getenv("GUEST_COUNTS");
	if (!path)
		return;
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	char line[128];
	int n = snprintf(line, sizeof line, "%s %llu %llu\n", field, least, most);
	guest_write(fd, line, (size_t)n);
	close(fd);
}

/* xorshift32: the same numbers in every run. */
static inline uint32_t guest_random(uint32_t *state)
{
	uint32_t x = *state;
	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return *state = x;
}

/* Marks both ends of a block; `tag_holds` tells whether the marks are still there. */
static inline void tag_block(void *block, size_t bytes, unsigned tag)
{
	unsigned char *p = (unsigned char *)block;
	if (bytes > 0)
		p[0] = p[bytes - 1] = (unsigned char)tag;
}

static inline bool tag_holds(const void *block, size_t bytes, unsigned tag)
{
	const unsigned char *p = (const unsigned char *)block;
	return bytes == 0 || (p[0] == (unsigned char)tag && p[bytes - 1] == (unsigned char)tag);
}

#endif
