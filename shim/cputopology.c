#include "shim/cputopology.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "shim/raw.h"
#include "shim/smallfile.h"
#include "shim/text.h"

#define CPUS	   "/sys/devices/system/cpu/"
#define NODES	   "/sys/devices/system/node/"
#define CPUS_MAX   4096u
#define RUNS_BYTES 6144u /* a key that would be longer is left out: the process block holds others, too */

/* A list of runs that grows; only one at a time is made. */
static struct {
	char text[RUNS_BYTES];
	size_t used;
	bool full;
	unsigned first, last;
	uint64_t value;
	bool open;
} runs;

static void runs_begin(void)
{
	runs.used = 0;
	runs.text[0] = '\0';
	runs.full = runs.open = false;
}

static void runs_close(bool hexadecimal, bool with_value)
{
	char range[32], value[32] = "";
	if (!runs.open)
		return;
	if (runs.first == runs.last)
		snprintf(range, sizeof range, "%u", runs.first);
	else
		snprintf(range, sizeof range, "%u-%u", runs.first, runs.last);
	if (with_value)
		snprintf(value, sizeof value, hexadecimal ? ":0x%llx" : ":%llu",
			 (unsigned long long)runs.value);
	int length = snprintf(runs.text + runs.used, sizeof runs.text - runs.used, "%s%s%s",
			      runs.used ? "," : "", range, value);
	runs.full |= length < 0 || (size_t)length >= sizeof runs.text - runs.used;
	runs.used += runs.full ? 0 : (size_t)length;
	runs.open = false;
}

static void runs_add(unsigned cpu, uint64_t value, bool hexadecimal, bool with_value)
{
	if (runs.open && runs.value == value && cpu == runs.last + 1) {
		runs.last = cpu;
		return;
	}
	runs_close(hexadecimal, with_value);
	runs.first = runs.last = cpu;
	runs.value = value;
	runs.open = true;
}

static void runs_put(void (*put)(const char *, const char *), const char *key)
{
	if (!runs.full && runs.used)
		put(key, runs.text);
}

/* ---- numbers --------------------------------------------------------------------------------------------
 */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Decimal, or hexadecimal after 0x, as in sysfs. */
static uint64_t number_of(const char *text)
{
	const bool hexadecimal = text[0] == '0' && text[1] == 'x';
	text += hexadecimal ? 2 : 0;
	return text_number(&text, hexadecimal ? 16 : 10);
}

/* ---- lists of the kernel ------------------------------------------------------------------------------- */

/* "0-3,8": the next range; *at moves behind it. */
static bool next_range(const char **at, unsigned *first, unsigned *last)
{
	if (!is_digit(**at))
		return false;
	uint64_t from = text_number(at, 10), to = from;
	if (**at == '-') {
		++*at;
		to = text_number(at, 10);
	}
	*at += **at == ',';
	*first = (unsigned)from;
	*last = (unsigned)to;
	return from <= to && to < CPUS_MAX;
}

/* One line of a file; false where it is absent or empty. */
static bool read_line(const char *path, char *text, size_t bytes)
{
	if (smallfile_read(path, text, bytes) <= 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	return text[0] != '\0';
}

static void put_list(void (*put)(const char *, const char *), const char *key, const char *path)
{
	char text[2048];
	if (read_line(path, text, sizeof text))
		put(key, text);
}

/* ---- values by CPU ------------------------------------------------------------------------------------- */

/* The number in a file of each of `cpus`. Where the first one has no such file, nor has any other. */
static void put_values(void (*put)(const char *, const char *), const char *key, const char *cpus,
		       const char *file, bool hexadecimal)
{
	unsigned first, last;
	char path[128], text[64];
	runs_begin();
	for (const char *at = cpus; next_range(&at, &first, &last);)
		for (unsigned cpu = first; cpu <= last; cpu++) {
			snprintf(path, sizeof path, CPUS "cpu%u/%s", cpu, file);
			if (read_line(path, text, sizeof text))
				runs_add(cpu, number_of(text), hexadecimal, true);
			else if (!runs.open && !runs.used)
				return;
		}
	runs_close(hexadecimal, true);
	runs_put(put, key);
}

/* The node of each CPU, from the nodes' lists: a file a node. */
static uint16_t node_of[CPUS_MAX];

static bool read_nodes(void)
{
	char online[512], path[128], list[2048];
	unsigned first, last, cpu, end;
	memset(node_of, 0xff, sizeof node_of);
	if (!read_line(NODES "online", online, sizeof online))
		return false;
	for (const char *at = online; next_range(&at, &first, &last);)
		for (unsigned node = first; node <= last; node++) {
			snprintf(path, sizeof path, NODES "node%u/cpulist", node);
			if (!read_line(path, list, sizeof list))
				continue;
			for (const char *in = list; next_range(&in, &cpu, &end);)
				for (; cpu <= end; cpu++)
					node_of[cpu] = (uint16_t)node;
		}
	return true;
}

static void put_nodes(void (*put)(const char *, const char *))
{
	if (!read_nodes())
		return;
	runs_begin();
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++)
		if (node_of[cpu] != UINT16_MAX)
			runs_add(cpu, node_of[cpu], false, true);
	runs_close(false, true);
	runs_put(put, "cpu_node");
}

/* The main thread's mask when tracing begins. */
static void put_allowed(void (*put)(const char *, const char *))
{
	static unsigned long mask[CPUS_MAX / (8 * sizeof(unsigned long))];
	const unsigned bits = 8 * sizeof *mask;
	long bytes = raw3(SYS_sched_getaffinity, raw_pid(), sizeof mask, (long)mask);
	runs_begin();
	for (unsigned cpu = 0; bytes > 0 && cpu < 8 * (unsigned)bytes; cpu++)
		if (mask[cpu / bits] >> cpu % bits & 1)
			runs_add(cpu, 0, false, false);
	runs_close(false, false);
	runs_put(put, "cpus_allowed");
}

void cputopology_write(void (*put)(const char *key, const char *value))
{
	static char online[2048];
	put_list(put, "cpus_possible", CPUS "possible");
	put_list(put, "cpus_online", CPUS "online");
	put_list(put, "cpus_core", "/sys/devices/cpu_core/cpus");
	put_list(put, "cpus_atom", "/sys/devices/cpu_atom/cpus");
	put_allowed(put);
	put_nodes(put);
	if (!read_line(CPUS "online", online, sizeof online))
		return;
	put_values(put, "cpu_capacity", online, "cpu_capacity", false);
	put_values(put, "cpu_midr", online, "regs/identification/midr_el1", true);
	put_values(put, "cpu_package", online, "topology/physical_package_id", false);
}
