#include "analyzer/doctor_process.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* linux/auxvec.h; too new for some headers. */
#define AUX_RSEQ_FEATURE_SIZE 27
/* arch/arm64/include/uapi/asm/hwcap.h: HWCAP_ATOMICS. */
#define ARM64_HWCAP_ATOMICS (1u << 8)

#define GIB		    (INT64_C(1) << 30)

/* ---- strings of a command line or environment ---------------------------------------------------------- */

const char *doctor_setting(const char *block, size_t bytes, const char *name)
{
	const size_t length = strlen(name);
	for (size_t at = 0; at < bytes; at += strlen(block + at) + 1)
		if (strncmp(block + at, name, length) == 0 && block[at + length] == '=')
			return block + at + length + 1;
	return NULL;
}

const char *doctor_argument(const char *block, size_t bytes, const char *option)
{
	const char *value = doctor_setting(block, bytes, option);
	for (size_t at = 0; !value && at < bytes; at += strlen(block + at) + 1) {
		const size_t next = at + strlen(block + at) + 1;
		if (strcmp(block + at, option) == 0 && next < bytes)
			return block + next;
	}
	return value;
}

/* As glibc does it: pairs between colons, the last one counts, what is no number is passed over. */
int doctor_tunable_rseq(const char *tunables)
{
	static const char name[] = "glibc.pthread.rseq=";
	int value = 1;
	for (const char *at = tunables; at; at = strchr(at, ':')) {
		at += *at == ':';
		if (strncmp(at, name, strlen(name)) != 0)
			continue;
		char *end;
		unsigned long number = strtoul(at + strlen(name), &end, 0);
		if (end != at + strlen(name) && (*end == ':' || !*end) && number <= 1)
			value = (int)number;
	}
	return value;
}

/* ---- status -------------------------------------------------------------------------------------------- */

/* The text behind "KEY:" up to the end of its line; NULL. Of a file's first line too. */
static const char *line_of(const char *text, const char *key)
{
	const size_t length = strlen(key);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) == 0)
			return line + length;
	}
	return NULL;
}

static bool status_number(const char *status, const char *key, int base, int64_t *number)
{
	const char *line = line_of(status, key);
	char *end;
	if (!line)
		return false;
	*number = (int64_t)strtoull(line, &end, base);
	return end != line;
}

static void put_status(struct facts *facts, enum fact_id id, const char *status, const char *key, int base)
{
	int64_t number;
	if (status_number(status, key, base, &number))
		facts_number(facts, id, number, "status");
	else
		facts_unknown(facts, id, "its status has no line %s this kernel is too old for it", key);
}

/* "NSpid:\t4711\t1": one number a PID namespace, the last is what it takes for its own. How many there are.
 */
static int read_namespaces(const char *status, int64_t *inner)
{
	const char *line = line_of(status, "NSpid:");
	int count = 0;
	while (line && (line += strspn(line, " \t"), *line >= '0' && *line <= '9')) {
		*inner = strtoll(line, NULL, 10);
		line += strspn(line, "0123456789");
		count++;
	}
	return count;
}

static void read_parent(const struct doctor_files *files, struct facts *facts, const char *status)
{
	int64_t parent;
	char path[64];
	if (!status_number(status, "PPid:", 10, &parent) || parent <= 0)
		return;
	snprintf(path, sizeof path, "proc/%" PRId64 "/status", parent);
	char *text = files_text(files, path, NULL);
	if (text)
		put_status(facts, FACT_THP_PARENT, text, "THP_enabled:", 10);
	free(text);
}

/* ---- command line and environment ---------------------------------------------------------------------- */

void doctor_quote(FILE *out, const char *word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
	if (*word && strspn(word, plain) == strlen(word)) {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word; word++)
		*word == '\'' ? fputs("'\\''", out) : fputc(*word, out);
	fputc('\'', out);
}

/* "Groups:\t4 24 27 \n" as "4,24,27"; nothing where it has none. */
static void put_groups(FILE *out, const char *line)
{
	bool any = false;
	for (line += strspn(line, " \t"); *line >= '0' && *line <= '9'; line += strspn(line, " \t")) {
		const int length = (int)strspn(line, "0123456789");
		fprintf(out, "%s%.*s", any ? "," : " --groups=", length, line);
		any = true;
		line += length;
	}
	if (!any)
		fputs(" --clear-groups", out);
}

static void put_user(FILE *out, const char *status)
{
	int64_t user, group;
	const char *groups = line_of(status, "Groups:");
	if (!status_number(status, "Uid:", 10, &user) || !status_number(status, "Gid:", 10, &group) ||
	    user == 0)
		return;
	fprintf(out, "setpriv --reuid=%" PRId64 " --regid=%" PRId64, user, group);
	put_groups(out, groups ? groups : "");
	fputc(' ', out);
}

/* Its folder and user, so that the command works from anywhere, and as root. */
static void put_prefix(const struct doctor_files *files, struct facts *facts, const char *status)
{
	char name[64], folder[PATH_MAX], *text = NULL;
	size_t size = 0;
	snprintf(name, sizeof name, "proc/%d/cwd", (int)files->pid);
	ssize_t bytes = readlinkat(files->root_fd, name, folder, sizeof folder - 1);
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return;
	if (bytes > 1) {
		folder[bytes] = '\0';
		fputs("cd ", out);
		doctor_quote(out, folder);
		fputs(" && ", out);
	}
	put_user(out, status);
	if (fclose(out) == 0)
		facts_text(facts, FACT_COMMAND_PREFIX, text, "status");
	free(text);
}

static void put_command(struct facts *facts, const char *block, size_t bytes)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	for (size_t at = 0; out && at < bytes; at += strlen(block + at) + 1) {
		if (at)
			fputc(' ', out);
		doctor_quote(out, block + at);
	}
	if (out && fclose(out) == 0 && size)
		facts_text(facts, FACT_COMMAND, text, "cmdline");
	free(text);
}

static bool read_status(const struct doctor_files *files, struct facts *facts, struct error *error)
{
	char *status = files_process_text(files, "status", NULL);
	int64_t inner = files->pid;
	if (!status)
		return error_set(error, ERROR_INPUT, NULL, ERROR_NO_OFFSET,
				 "%s/proc/%d/status: %s: there is no such process", files->root,
				 (int)files->pid, strerror(errno));
	facts_number(facts, FACT_PID, files->pid, "--pid");
	put_status(facts, FACT_THP_ALLOWED, status, "THP_enabled:", 10);
	put_status(facts, FACT_SECCOMP, status, "Seccomp:", 10);
	put_status(facts, FACT_CAPABILITIES, status, "CapEff:", 16);
	if (read_namespaces(status, &inner) > 1 && !files_shares_root(files))
		facts_number(facts, FACT_CONTAINER, 1, "status");
	facts_number(facts, FACT_PID_INSIDE, inner, "status");
	read_parent(files, facts, status);
	put_prefix(files, facts, status);
	free(status);
	return true;
}

static void read_command(const struct doctor_files *files, struct facts *facts)
{
	size_t bytes = 0;
	char *block = files_process_text(files, "cmdline", &bytes);
	if (!block || bytes == 0) {
		facts_unknown(facts, FACT_COMMAND, "%s", block ? "it is empty" : files_error_text(errno));
	} else {
		put_command(facts, block, bytes);
		doctor_process_server(files, facts, block, bytes);
	}
	free(block);
}

static void read_environment(const struct doctor_files *files, struct facts *facts)
{
	size_t bytes = 0;
	char *block = files_process_text(files, "environ", &bytes);
	if (!block) {
		const char *reason = files_error_text(errno);
		facts_unknown(facts, FACT_TUNABLES, "its environment: %s", reason);
		facts_unknown(facts, FACT_TUNABLE_RSEQ, "its environment: %s", reason);
		facts_unknown(facts, FACT_PER_CPU_SETTING, "its environment: %s", reason);
		return;
	}
	const char *tunables = doctor_setting(block, bytes, "GLIBC_TUNABLES");
	const char *size = doctor_setting(block, bytes, "MONGO_TCMALLOC_PER_CPU_CACHE_SIZE_BYTES");
	facts_text(facts, FACT_TUNABLES, tunables ? tunables : "", "its environment");
	facts_number(facts, FACT_TUNABLE_RSEQ, doctor_tunable_rseq(tunables), "its environment");
	facts_number(facts, FACT_PER_CPU_SETTING, size ? strtoll(size, NULL, 10) : 0, "its environment");
	free(block);
}

/* ---- the rest ------------------------------------------------------------------------------------------ */

static void read_exe(const struct doctor_files *files, struct facts *facts)
{
	char name[64], path[PATH_MAX];
	snprintf(name, sizeof name, "proc/%d/exe", (int)files->pid);
	ssize_t bytes = readlinkat(files->root_fd, name, path, sizeof path - 1);
	if (bytes < 0) {
		facts_unknown(facts, FACT_EXE, "/%s: %s", name, files_error_text(errno));
		return;
	}
	path[bytes] = '\0';
	char *deleted = strstr(path, " (deleted)");
	if (deleted && deleted[strlen(" (deleted)")] == '\0')
		*deleted = '\0';
	facts_text(facts, FACT_EXE, path, name);
}

/* The columns are soft limit, hard limit, units. */
static void read_limits(const struct doctor_files *files, struct facts *facts)
{
	char *text = files_process_text(files, "limits", NULL);
	const char *line = text ? line_of(text, "Max open files") : NULL;
	char soft[32];
	int64_t number;
	if (!line || sscanf(line, " %31s", soft) != 1)
		facts_unknown(facts, FACT_OPEN_FILES, "its limits: %s",
			      text ? "no line of open files" : files_error_text(errno));
	else if (strcmp(soft, "unlimited") == 0)
		facts_number(facts, FACT_OPEN_FILES, INT64_MAX, "limits");
	else if (files_parse_number(soft, &number))
		facts_number(facts, FACT_OPEN_FILES, number, "limits");
	free(text);
}

static void read_auxiliary(const struct doctor_files *files, struct facts *facts)
{
	size_t bytes = 0;
	char *block = files_process_text(files, "auxv", &bytes);
	if (!block) {
		facts_unknown(facts, FACT_SECURE, "its auxiliary vector: %s", files_error_text(errno));
		return;
	}
	for (size_t at = 0; at + 16 <= bytes; at += 16) {
		uint64_t pair[2];
		memcpy(pair, block + at, sizeof pair);
		if (pair[0] == AT_SECURE)
			facts_number(facts, FACT_SECURE, pair[1] != 0, "auxv");
		if (pair[0] == AUX_RSEQ_FEATURE_SIZE && pair[1])
			facts_number(facts, FACT_KERNEL_RSEQ, 1, "auxv");
		if (pair[0] == AT_HWCAP && fact_is(facts, FACT_ARCH, "aarch64"))
			facts_number(facts, FACT_CPU_LSE, (pair[1] & ARM64_HWCAP_ATOMICS) != 0, "auxv");
	}
	free(block);
	facts_unknown(facts, FACT_SECURE, "its auxiliary vector does not say");
}

/* "7f12... interleave:0-1 anon=...": the policy of the most mappings. */
static void read_policy(const struct doctor_files *files, struct facts *facts)
{
	char *text = files_process_text(files, "numa_maps", NULL);
	char policy[64];
	uint64_t all = 0, interleaved = 0;
	if (!text || !*text) {
		facts_unknown(facts, FACT_NUMA_POLICY, "its numa_maps: %s",
			      text ? "it has none" : files_error_text(errno));
		free(text);
		return;
	}
	for (const char *line = text; line && line[*line == '\n']; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "%*x %63s", policy) != 1)
			continue;
		all++;
		interleaved += strncmp(policy, "interleave", 10) == 0;
	}
	facts_text(facts, FACT_NUMA_POLICY, 2 * interleaved >= all ? "interleave" : "default", "numa_maps");
	free(text);
}

bool doctor_process(const struct doctor_files *files, struct facts *facts, struct error *error)
{
	struct doctor_program program;
	if (!read_status(files, facts, error))
		return false;
	read_exe(files, facts);
	read_command(files, facts);
	read_environment(files, facts);
	read_limits(files, facts);
	read_auxiliary(files, facts);
	read_policy(files, facts);
	doctor_process_cgroup(files, facts);
	doctor_process_program(files, facts, &program);
	doctor_process_threads(files, facts, &program);
	doctor_program_close(&program);
	return true;
}
