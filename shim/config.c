#include "shim/config.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "shim/clock.h"
#include "shim/diag.h"
#include "shim/program.h"
#include "shim/raw.h"

#define KIB UINT64_C(1024)

struct config config;

static char exe_path[CONFIG_PATH_BYTES];

static unsigned suffix_shift(char suffix)
{
	switch (suffix) {
	case 'k':
	case 'K':
		return 10;
	case 'm':
	case 'M':
		return 20;
	case 'g':
	case 'G':
		return 30;
	default:
		return 0;
	}
}

bool config_size(const char *text, uint64_t *value)
{
	uint64_t number = 0;
	const char *at = text;
	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(number, UINT64_C(10), &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
			return false;
	unsigned shift = suffix_shift(*at);
	if (at == text || number > UINT64_MAX >> shift)
		return false;
	*value = number << shift;
	return at[shift != 0] == '\0';
}

bool config_glob(const char *pattern, const char *text)
{
	const char *star = NULL, *retry = text;
	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			retry = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

/* ---- one variable each
 * ----------------------------------------------------------------------------------------- */

static void complain(const char *name, const char *value, const char *wanted, const char *used)
{
	diag("%s=%.200s is not %s; using %s", name, value, wanted, used);
}

static void read_number(const char *name, const char *value, uint64_t low, uint64_t high, const char *wanted,
			const char *fallback, uint64_t *target)
{
	uint64_t number;
	if (config_size(value, &number) && number >= low && number <= high)
		*target = number;
	else
		complain(name, value, wanted, fallback);
}

static void read_flag(const char *name, const char *value, bool *target)
{
	if (!strcmp(value, "0") || !strcmp(value, "1"))
		*target = value[0] == '1';
	else
		complain(name, value, "0 or 1", "0");
}

static void read_mode(const char *value)
{
	if (!strcmp(value, "sample"))
		config.mode = MODE_SAMPLE;
	else if (!strcmp(value, "full"))
		config.mode = MODE_FULL;
	else if (!strcmp(value, "off"))
		config.mode = MODE_CLOSED;
	else
		complain("MTRACE_MODE", value, "sample, full or off", "sample");
}

static void read_text(const char *name, const char *value, char *target, size_t bytes)
{
	if (value[0] && strlen(value) < bytes)
		memcpy(target, value, strlen(value) + 1);
	else
		complain(name, value, "a non-empty text of bearable length", target);
}

static void read_patch(const char *value)
{
	if (!strcmp(value, "auto") || !strcmp(value, "off"))
		config.patch = value[0] == 'a';
	else
		complain("MTRACE_PATCH", value, "auto or off", "auto");
}

static void read_pages(const char *value)
{
	static const char names[][12] = {"auto", "scan", "kpageflags", "smaps", "off"};
	_Static_assert(PAGES_WANT_OFF + 1 == sizeof names / sizeof *names, "one name each");
	for (unsigned i = 0; i <= PAGES_WANT_OFF; i++)
		if (!strcmp(value, names[i])) {
			config.pages = (enum pages_wanted)i;
			return;
		}
	complain("MTRACE_PAGES", value, "auto, scan, kpageflags, smaps or off", "auto");
}

static void read_depth(const char *value)
{
	uint64_t depth = config.stack_depth;
	read_number("MTRACE_STACK_DEPTH", value, 0, CODEC_STACK_DEPTH_MAX, "a number from 0 to 256", "32",
		    &depth);
	config.stack_depth = (unsigned)depth;
}

static void read_variable(const char *name, const char *value)
{
	if (!strcmp(name, "MTRACE_OUT"))
		read_text(name, value, config.out, sizeof config.out);
	else if (!strcmp(name, "MTRACE_MODE"))
		read_mode(value);
	else if (!strcmp(name, "MTRACE_SAMPLE_BYTES"))
		read_number(name, value, 1, UINT64_C(1) << 40, "a size from 1 to 1024G", "512K",
			    &config.sample_bytes);
	else if (!strcmp(name, "MTRACE_MAX_MIB"))
		read_number(name, value, 0, UINT64_C(1) << 30, "a number of MiB", "0", &config.max_mib);
	else if (!strcmp(name, "MTRACE_INTERVAL_MS"))
		read_number(name, value, 10, 3600000, "a number from 10 to 3600000", "1000",
			    &config.interval_ms);
	else if (!strcmp(name, "MTRACE_STACK_DEPTH"))
		read_depth(value);
	else if (!strcmp(name, "MTRACE_CHILDREN"))
		read_flag(name, value, &config.children);
	else if (!strcmp(name, "MTRACE_EXE"))
		read_text(name, value, config.exe_glob, sizeof config.exe_glob);
	else if (!strcmp(name, "MTRACE_LOCKS"))
		read_flag(name, value, &config.locks);
	else if (!strcmp(name, "MTRACE_PATCH"))
		read_patch(value);
	else if (!strcmp(name, "MTRACE_PAGES"))
		read_pages(value);
	else if (!strcmp(name, "MTRACE_RING_MIB"))
		read_number(name, value, 1, 2048, "a number from 1 to 2048", "64", &config.ring_mib);
}

static void read_assignment(const char *assignment)
{
	char name[32];
	const char *equals = strchr(assignment, '=');
	if (strncmp(assignment, "MTRACE_", 7) != 0 || !equals || (size_t)(equals - assignment) >= sizeof name)
		return;
	memcpy(name, assignment, (size_t)(equals - assignment));
	name[equals - assignment] = '\0';
	read_variable(name, equals + 1);
}

/* For a start so early that libc has no environ yet: as the kernel has it. Longer assignments are none of
 * ours. */
static void read_proc_environ(void)
{
	static char assignment[CONFIG_PATH_BYTES + 64];
	char buffer[512];
	size_t length = 0;
	long got;
	int fd = raw_open("/proc/self/environ", O_RDONLY, 0);
	while (fd >= 0 && (got = raw_read(fd, buffer, sizeof buffer)) > 0) {
		for (long i = 0; i < got; i++) {
			if (length < sizeof assignment)
				assignment[length++] = buffer[i];
			if (buffer[i] != '\0')
				continue;
			if (assignment[length - 1] == '\0')
				read_assignment(assignment);
			length = 0;
		}
	}
	if (fd >= 0)
		raw_close(fd);
}

void config_read(char **environment)
{
	config = (struct config){.mode = MODE_SAMPLE,
				 .sample_bytes = 512 * KIB,
				 .ring_mib = 64,
				 .interval_ms = 1000,
				 .stack_depth = 32,
				 .patch = true,
				 .out = "mtrace.%h.%p.mtr",
				 .exe_glob = "*"};
	program_path(exe_path, sizeof exe_path);
	if (!environment)
		read_proc_environ();
	for (char **at = environment; at && *at; at++)
		read_assignment(*at);
}

const char *config_exe_path(void)
{
	return exe_path;
}

const char *config_exe_name(void)
{
	const char *slash = strrchr(exe_path, '/');
	return slash ? slash + 1 : exe_path;
}

/* ---- the path of the trace
 * -------------------------------------------------------------------------------------- */

struct text {
	char *at;
	size_t left;
	bool good;
};

static void append(struct text *text, const char *piece)
{
	size_t length = strlen(piece);
	text->good = text->good && length < text->left;
	if (!text->good)
		return;
	memcpy(text->at, piece, length + 1);
	text->at += length;
	text->left -= length;
}

static void append_sequence(struct text *text, char letter)
{
	struct utsname host;
	char number[32];
	switch (letter) {
	case 'h':
		raw1(SYS_uname, (long)&host);
		append(text, host.nodename);
		return;
	case 'p':
		snprintf(number, sizeof number, "%d", raw_pid());
		append(text, number);
		return;
	case 'e':
		append(text, config_exe_name());
		return;
	case 't':
		snprintf(number, sizeof number, "%llu",
			 (unsigned long long)(clock_mark().realtime_ns / 1000000000u));
		append(text, number);
		return;
	case '%':
		append(text, "%");
		return;
	default:
		append(text, (char[]){'%', letter, '\0'});
	}
}

bool config_trace_path(char *path, size_t bytes)
{
	struct text text = {path, bytes, true};
	path[0] = '\0';
	if (config.out[0] != '/') {
		long length = raw2(SYS_getcwd, (long)path, (long)bytes);
		if (length <= 0 || path[0] != '/')
			return false;
		text.at += length - 1;
		text.left -= (size_t)length - 1;
		append(&text, "/");
	}
	for (const char *at = config.out; *at; at++) {
		if (*at == '%' && at[1])
			append_sequence(&text, *++at);
		else
			append(&text, (char[]){*at, '\0'});
	}
	return text.good;
}
