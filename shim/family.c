#include "shim/family.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "shim/raw.h"

#define LINE_BYTES 512

/* "start-end perms offset dev inode path": the device and inode of a line, as text. */
static bool identity_of_line(const char *line, char *identity, size_t bytes)
{
	const char *at = line;
	for (int field = 0; field < 3 && at; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	const char *end = at ? strchr(at, ' ') : NULL;
	end = end ? strchr(end + 1, ' ') : NULL;
	if (!end || (size_t)(end - at) >= bytes)
		return false;
	memcpy(identity, at, (size_t)(end - at));
	identity[end - at] = '\0';
	return true;
}

static uint64_t hexadecimal(const char **text)
{
	uint64_t value = 0;
	for (;; (*text)++) {
		char c = **text;
		unsigned digit = c >= '0' && c <= '9'	? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
							: 16;
		if (digit == 16)
			return value;
		value = value << 4 | digit;
	}
}

static bool holds_address(const char *line, uint64_t address)
{
	uint64_t start = hexadecimal(&line);
	line += *line == '-';
	return address >= start && address < hexadecimal(&line);
}

/* Calls `visit` with each line (cut off at LINE_BYTES) until it returns true. Returns whether one did. */
static bool for_each_line(const char *path, bool (*visit)(const char *line, void *data), void *data)
{
	char buffer[1024], line[LINE_BYTES];
	size_t length = 0;
	bool found = false;
	long got;
	int fd = raw_open(path, O_RDONLY, 0);
	while (fd >= 0 && !found && (got = raw_read(fd, buffer, sizeof buffer)) > 0) {
		for (long i = 0; i < got && !found; i++) {
			if (buffer[i] != '\n') {
				if (length < sizeof line - 1)
					line[length++] = buffer[i];
				continue;
			}
			line[length] = '\0';
			length = 0;
			found = visit(line, data);
		}
	}
	if (fd >= 0)
		raw_close(fd);
	return found;
}

static bool is_own_line(const char *line, void *identity)
{
	return holds_address(line, (uint64_t)(uintptr_t)&family_parent_is_traced) &&
	       identity_of_line(line, identity, 64);
}

static bool has_identity(const char *line, void *identity)
{
	char here[64];
	return identity_of_line(line, here, sizeof here) && !strcmp(here, identity);
}

bool family_parent_is_traced(void)
{
	char identity[64], path[64];
	long parent = raw0(SYS_getppid);
	if (parent <= 0 || !for_each_line("/proc/self/maps", is_own_line, identity))
		return false;
	snprintf(path, sizeof path, "/proc/%ld/maps", parent);
	return for_each_line(path, has_identity, identity);
}

bool family_is_session_leader(void)
{
	return raw1(SYS_getsid, 0) == raw_pid();
}
