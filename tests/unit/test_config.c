#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/config.h"
#include "shim/diag.h"
#include "tests/unit/support_trace.h"

/* ---- sizes and globs
 * ------------------------------------------------------------------------------------------------ */

static void assert_size(const char *text, uint64_t expected)
{
	uint64_t value = 77;
	cr_assert(config_size(text, &value), "%s", text);
	cr_assert_eq(value, expected, "%s: %lu", text, (unsigned long)value);
}

static void assert_no_size(const char *text)
{
	uint64_t value;
	cr_assert_not(config_size(text, &value), "%s: %lu", text, (unsigned long)value);
}

Test(config, sizes)
{
	assert_size("0", 0);
	assert_size("7", 7);
	assert_size("0012", 12);
	assert_size("3k", 3 << 10);
	assert_size("3K", 3 << 10);
	assert_size("5m", 5 << 20);
	assert_size("5M", 5 << 20);
	assert_size("1024g", UINT64_C(1) << 40);
	assert_size("1024G", UINT64_C(1) << 40);
}

Test(config, no_sizes)
{
	static const char *const wrong[] = {"",
					    " ",
					    "K",
					    "-1",
					    "+1",
					    " 1",
					    "1 ",
					    "1KB",
					    "1KK",
					    "1T",
					    "1.5",
					    "0x10",
					    "1 K",
					    "1e3",
					    "999999999999999999999G",
					    "18446744073709551616",
					    "18446744073709551616K",
					    "17179869184G"};
	for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		assert_no_size(wrong[i]);
}

Test(config, globs)
{
	cr_assert(config_glob("", ""));
	cr_assert(config_glob("*", ""));
	cr_assert(config_glob("*", "mongod"));
	cr_assert(config_glob("mongod", "mongod"));
	cr_assert(config_glob("mongo?", "mongod"));
	cr_assert(config_glob("m*d", "mongod"));
	cr_assert(config_glob("*ongo*", "mongod"));
	cr_assert(config_glob("m**d", "mongod"));
	cr_assert(config_glob("*ab", "aab"));
	cr_assert(config_glob("*aab*b", "aaaabcb"));
	cr_assert_not(config_glob("", "m"));
	cr_assert_not(config_glob("mongo", "mongod"));
	cr_assert_not(config_glob("mongod", "mongo"));
	cr_assert_not(config_glob("mongod?", "mongod"));
	cr_assert_not(config_glob("ongod", "mongod"));
	cr_assert_not(config_glob("m*s", "mongod"));
	cr_assert_not(config_glob("*?", ""));
	cr_assert_not(config_glob("a*b*c", "aXbX"));
}

/* ---- one variable each
 * -------------------------------------------------------------------------------------------- */

static void stderr_to(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	cr_assert_geq(fd, 0);
	cr_assert_eq(dup2(fd, 2), 2);
	close(fd);
}

/* Reads assignments (NULL at the end); returns what came out on standard error. */
static const char *read_environment(char **environment)
{
	static char output[8192];
	const char *path = support_path("stderr");
	int before = dup(2);
	stderr_to(path);
	diag_start();
	config_read(environment);
	dup2(before, 2);
	close(before);
	size_t bytes;
	char *text = (char *)support_read_file(path, &bytes);
	cr_assert_lt(bytes, sizeof output);
	memcpy(output, text, bytes);
	output[bytes] = '\0';
	free(text);
	return output;
}

static const char *read_one(const char *assignment)
{
	static char copy[CONFIG_PATH_BYTES * 2];
	cr_assert_lt((size_t)snprintf(copy, sizeof copy, "%s", assignment), sizeof copy);
	return read_environment((char *[]){copy, NULL});
}

static unsigned occurrences(const char *text, const char *what)
{
	unsigned count = 0;
	for (; (text = strstr(text, what)); text += strlen(what))
		count++;
	return count;
}

static struct config defaults(void)
{
	cr_assert_str_empty(read_environment((char *[]){NULL}));
	return config;
}

static void assert_good(const char *assignment)
{
	const char *output = read_one(assignment);
	cr_assert_str_empty(output, "%s: %s", assignment, output);
}

/* One line, which names variable, value and default; all settings as they are without the variable. */
static void assert_bad(const char *name, const char *value, const char *fallback)
{
	char assignment[CONFIG_PATH_BYTES + 100], given[CONFIG_PATH_BYTES + 100], used[100];
	struct config expected = defaults();
	snprintf(assignment, sizeof assignment, "%s=%s", name, value);
	snprintf(given, sizeof given, "%s=%.200s is not ", name, value);
	snprintf(used, sizeof used, "; using %s\n", fallback);
	const char *output = read_one(assignment);
	cr_assert_eq(occurrences(output, "\n"), 1, "%s: %s", assignment, output);
	cr_assert_eq(strncmp(output, "mtrace: ", 8), 0, "%s", output);
	cr_assert_eq(occurrences(output, given), 1, "%s: %s", assignment, output);
	cr_assert_eq(occurrences(output, name), 1, "%s: %s", assignment, output);
	cr_assert_eq(occurrences(output, used), 1, "%s: %s", assignment, output);
	cr_assert_eq(memcmp(&config, &expected, sizeof config), 0, "%s changed a setting", assignment);
}

Test(config, defaults)
{
	defaults();
	cr_assert_eq(config.mode, MODE_SAMPLE);
	cr_assert_eq(config.sample_bytes, 512 << 10);
	cr_assert_eq(config.max_mib, 0);
	cr_assert_eq(config.ring_mib, 64);
	cr_assert_eq(config.interval_ms, 1000);
	cr_assert_eq(config.stack_depth, 32);
	cr_assert_not(config.children);
	cr_assert_str_eq(config.out, "mtrace.%h.%p.mtr");
	cr_assert_str_eq(config.exe_glob, "*");
}

Test(config, mode)
{
	assert_good("MTRACE_MODE=full");
	cr_assert_eq(config.mode, MODE_FULL);
	assert_good("MTRACE_MODE=off");
	cr_assert_eq(config.mode, MODE_CLOSED);
	assert_good("MTRACE_MODE=sample");
	cr_assert_eq(config.mode, MODE_SAMPLE);
	assert_bad("MTRACE_MODE", "Full", "sample");
	assert_bad("MTRACE_MODE", "", "sample");
}

Test(config, sample_bytes)
{
	assert_good("MTRACE_SAMPLE_BYTES=1");
	cr_assert_eq(config.sample_bytes, 1);
	assert_good("MTRACE_SAMPLE_BYTES=64K");
	cr_assert_eq(config.sample_bytes, 64 << 10);
	assert_good("MTRACE_SAMPLE_BYTES=1024G");
	cr_assert_eq(config.sample_bytes, UINT64_C(1) << 40);
	assert_bad("MTRACE_SAMPLE_BYTES", "0", "512K");
	assert_bad("MTRACE_SAMPLE_BYTES", "1025G", "512K");
	assert_bad("MTRACE_SAMPLE_BYTES", "64KB", "512K");
}

Test(config, max_mib)
{
	assert_good("MTRACE_MAX_MIB=100");
	cr_assert_eq(config.max_mib, 100);
	assert_bad("MTRACE_MAX_MIB", "-1", "0");
	assert_bad("MTRACE_MAX_MIB", "1025M", "0");
}

Test(config, ring_mib)
{
	assert_good("MTRACE_RING_MIB=1");
	cr_assert_eq(config.ring_mib, 1);
	assert_good("MTRACE_RING_MIB=2K");
	cr_assert_eq(config.ring_mib, 2048);
	assert_bad("MTRACE_RING_MIB", "0", "64");
	assert_bad("MTRACE_RING_MIB", "2049", "64");
}

Test(config, interval)
{
	assert_good("MTRACE_INTERVAL_MS=10");
	cr_assert_eq(config.interval_ms, 10);
	assert_good("MTRACE_INTERVAL_MS=3600000");
	cr_assert_eq(config.interval_ms, 3600000);
	assert_bad("MTRACE_INTERVAL_MS", "9", "1000");
	assert_bad("MTRACE_INTERVAL_MS", "3600001", "1000");
}

Test(config, stack_depth)
{
	assert_good("MTRACE_STACK_DEPTH=0");
	cr_assert_eq(config.stack_depth, 0);
	assert_good("MTRACE_STACK_DEPTH=256");
	cr_assert_eq(config.stack_depth, 256);
	assert_bad("MTRACE_STACK_DEPTH", "257", "32");
	assert_bad("MTRACE_STACK_DEPTH", "4G", "32"); /* 2^32, 0 in an unsigned */
}

Test(config, children)
{
	assert_good("MTRACE_CHILDREN=1");
	cr_assert(config.children);
	assert_good("MTRACE_CHILDREN=0");
	cr_assert_not(config.children);
	assert_bad("MTRACE_CHILDREN", "yes", "0");
	assert_bad("MTRACE_CHILDREN", "10", "0");
}

Test(config, locks_and_patch)
{
	assert_good("MTRACE_LOCKS=0");
	cr_assert_not(config.locks);
	assert_good("MTRACE_LOCKS=1");
	cr_assert(config.locks);
	assert_bad("MTRACE_LOCKS", "2", "0");
	assert_good("MTRACE_PATCH=auto");
	assert_good("MTRACE_PATCH=off");
	assert_bad("MTRACE_PATCH", "on", "auto");
}

/* `count` times 'x'. */
static char *long_text(size_t count)
{
	char *text = calloc(1, count + 1);
	memset(text, 'x', count);
	return text;
}

Test(config, texts)
{
	char assignment[CONFIG_PATH_BYTES + 100];
	assert_good("MTRACE_OUT=/tmp/a=b.mtr");
	cr_assert_str_eq(config.out, "/tmp/a=b.mtr");
	assert_good("MTRACE_EXE=mongo*");
	cr_assert_str_eq(config.exe_glob, "mongo*");
	assert_bad("MTRACE_OUT", "", "mtrace.%h.%p.mtr");
	assert_bad("MTRACE_EXE", "", "*");
	assert_bad("MTRACE_OUT", long_text(CONFIG_PATH_BYTES), "mtrace.%h.%p.mtr");
	assert_bad("MTRACE_EXE", long_text(sizeof config.exe_glob), "*");
	snprintf(assignment, sizeof assignment, "MTRACE_OUT=%s", long_text(CONFIG_PATH_BYTES - 1));
	assert_good(assignment);
	cr_assert_eq(strlen(config.out), CONFIG_PATH_BYTES - 1);
	snprintf(assignment, sizeof assignment, "MTRACE_EXE=%s", long_text(sizeof config.exe_glob - 1));
	assert_good(assignment);
	cr_assert_eq(strlen(config.exe_glob), sizeof config.exe_glob - 1);
}

Test(config, what_is_none_of_ours)
{
	struct config expected = defaults();
	assert_good("MTRACE_MODES=full");
	assert_good("MTRACE_=full");
	assert_good("MTRACE_MODE");
	assert_good("XMTRACE_MODE=full");
	assert_good("mtrace_mode=full");
	assert_good("MTRACE_A_NAME_THAT_IS_LONGER_THAN_ANY_OF_OURS=1");
	cr_assert_eq(memcmp(&config, &expected, sizeof config), 0);
}

Test(config, several_at_once)
{
	const char *output = read_environment((char *[]){"PATH=/bin", "MTRACE_MODE=bad", "MTRACE_RING_MIB=8",
							 "MTRACE_INTERVAL_MS=1", "HOME=/", NULL});
	cr_assert_eq(occurrences(output, "\n"), 2);
	cr_assert_eq(occurrences(output, "MTRACE_MODE=bad is not "), 1);
	cr_assert_eq(occurrences(output, "MTRACE_INTERVAL_MS=1 is not "), 1);
	cr_assert_eq(config.ring_mib, 8);
}

/* The guest put a file of its own where standard error was: nothing is written there. */
Test(config, no_message_into_a_foreign_file)
{
	const char *path = support_path("foreign");
	size_t bytes;
	int before = dup(2);
	stderr_to(support_path("stderr"));
	diag_start();
	stderr_to(path);
	config_read((char *[]){"MTRACE_MODE=bad", NULL});
	dup2(before, 2);
	free(support_read_file(path, &bytes));
	cr_assert_eq(bytes, 0);
}

/* ---- as the kernel has it
 * ----------------------------------------------------------------------------------------- */

/* This process's first environment, which the kernel shows in /proc/self/environ. */
static char *kernel_environment(size_t *bytes)
{
	char line[2048] = {0};
	FILE *stat = fopen("/proc/self/stat", "r");
	cr_assert(stat && fgets(line, sizeof line, stat));
	fclose(stat);
	char *at = strrchr(line, ')');
	for (unsigned field = 2; field < 50; field++)
		at = strchr(at + 1, ' '); /* env_start is field 50, env_end the next: proc(5) */
	unsigned long start = strtoul(at, &at, 10), end = strtoul(at, &at, 10);
	*bytes = end - start;
	return (char *)start;
}

Test(config, proc_environ)
{
	static const char wanted[] = "MTRACE_RING_MIB=7\0A=B\0MTRACE_MODE=full";
	size_t bytes;
	char *environment = kernel_environment(&bytes);
	if (bytes < sizeof wanted)
		cr_skip_test("started with too small an environment");
	memset(environment, 'x', bytes); /* the rest is one text that says nothing */
	memcpy(environment, wanted, sizeof wanted);
	environment[bytes - 1] = '\0';
	cr_assert_str_empty(read_environment(NULL));
	cr_assert_eq(config.ring_mib, 7);
	cr_assert_eq(config.mode, MODE_FULL);
}

Test(config, plain_bytes_above_a_gigabyte)
{
	uint64_t value;
	cr_assert(config_size("2000000000", &value));
	cr_assert_eq(value, UINT64_C(2000000000));
	cr_assert_not(config_size("18446744073709551616", &value));
	cr_assert_not(config_size("17179869184G", &value));
}
