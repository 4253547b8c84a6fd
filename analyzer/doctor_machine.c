#include "analyzer/doctor_machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define THP "sys/kernel/mm/transparent_hugepage"

/* ---- kernel and processor ------------------------------------------------------------------------------ */

static void trim(char *text)
{
	text[strcspn(text, "\n")] = '\0';
}

static void read_kernel(const struct doctor_files *files, struct facts *facts)
{
	static const char path[] = "proc/sys/kernel/osrelease";
	char *text = files_text(files, path, NULL);
	if (text) {
		trim(text);
		facts_text(facts, FACT_KERNEL, text, "/proc/sys/kernel/osrelease");
	} else {
		facts_unknown(facts, FACT_KERNEL, "/%s: %s", path, files_error_text(errno));
	}
	free(text);
}

/* Linux 6.1 and newer; before that only the machine itself can be asked. */
static void read_arch(const struct doctor_files *files, struct facts *facts)
{
	struct utsname name;
	char *text = files_text(files, "proc/sys/kernel/arch", NULL);
	if (text) {
		trim(text);
		facts_text(facts, FACT_ARCH, text, "/proc/sys/kernel/arch");
	} else if (!*files->root && uname(&name) == 0) {
		facts_text(facts, FACT_ARCH, name.machine, "uname");
	} else {
		facts_unknown(facts, FACT_ARCH, "/proc/sys/kernel/arch: %s", files_error_text(errno));
	}
	free(text);
}

/* The line of arm64's cpuinfo is "Features : fp asimd ... atomics ...". */
static bool has_word(const char *line, const char *word)
{
	const size_t bytes = strlen(word), end = strcspn(line, "\n");
	for (const char *at = line; (at = strstr(at, word)) && (size_t)(at - line) < end; at += bytes)
		if (at[-1] == ' ' && (at[bytes] == ' ' || at[bytes] == '\n' || !at[bytes]))
			return true;
	return false;
}

static void read_cpu(const struct doctor_files *files, struct facts *facts)
{
	char *text = files_text(files, "proc/cpuinfo", NULL);
	const char *features = text ? strstr(text, "\nFeatures") : NULL;
	if (features)
		facts_number(facts, FACT_CPU_LSE, has_word(features + 1, "atomics"), "/proc/cpuinfo");
	else
		facts_unknown(facts, FACT_CPU_LSE, "/proc/cpuinfo has no line Features");
	free(text);
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static void read_meminfo_line(struct facts *facts, const char *text, const char *key, enum fact_id id)
{
	int64_t kib;
	const char *line = strstr(text, key);
	char number[32];
	if (!line || sscanf(line + strlen(key), " %31[0-9]", number) != 1 ||
	    !files_parse_number(number, &kib) || kib > INT64_MAX / 1024)
		facts_unknown(facts, id, "/proc/meminfo has no line %s", key);
	else
		facts_number(facts, id, kib * 1024, "/proc/meminfo");
}

static void read_memory(const struct doctor_files *files, struct facts *facts)
{
	char *text = files_text(files, "proc/meminfo", NULL);
	if (text) {
		read_meminfo_line(facts, text, "MemTotal:", FACT_MEMORY_BYTES);
		read_meminfo_line(facts, text, "SwapTotal:", FACT_SWAP_BYTES);
	} else {
		facts_unknown(facts, FACT_MEMORY_BYTES, "/proc/meminfo: %s", files_error_text(errno));
		facts_unknown(facts, FACT_SWAP_BYTES, "/proc/meminfo: %s", files_error_text(errno));
	}
	free(text);
}

/* "0", "0-3", "0,2-3": how many; 0 where it is none of these. */
static int64_t count_list(const char *text)
{
	int64_t count = 0;
	for (const char *at = text; *at && *at != '\n';) {
		char *end;
		unsigned long first = strtoul(at, &end, 10), last = first;
		if (end == at)
			return 0;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (last < first || last > UINT16_MAX)
			return 0;
		count += (int64_t)(last - first) + 1;
		at = *end == ',' ? end + 1 : end;
	}
	return count;
}

/* A kernel without NUMA has no such folder, and one node. */
static void read_nodes(const struct doctor_files *files, struct facts *facts)
{
	static const char path[] = "sys/devices/system/node/online";
	char *text = files_text(files, path, NULL);
	int64_t nodes = text ? count_list(text) : 0;
	if (nodes > 0)
		facts_number(facts, FACT_NUMA_NODES, nodes, "/sys/devices/system/node/online");
	else if (!text && errno == ENOENT && faccessat(files->root_fd, "sys/devices/system", F_OK, 0) == 0)
		facts_number(facts, FACT_NUMA_NODES, 1, "no /sys/devices/system/node");
	else
		facts_unknown(facts, FACT_NUMA_NODES, "/%s: %s", path,
			      text ? "is no list" : files_error_text(errno));
	free(text);
}

static void read_settings(const struct doctor_files *files, struct facts *facts)
{
	static const char zone_reclaim[] = "proc/sys/vm/zone_reclaim_mode";
	files_number(files, facts, FACT_OVERCOMMIT, "proc/sys/vm/overcommit_memory");
	files_number(files, facts, FACT_SWAPPINESS, "proc/sys/vm/swappiness");
	files_number(files, facts, FACT_MAX_MAP_COUNT, "proc/sys/vm/max_map_count");
	/* Kernels without NUMA do not have it, and do not reclaim by zone. */
	if (faccessat(files->root_fd, zone_reclaim, F_OK, 0) != 0 && errno == ENOENT &&
	    faccessat(files->root_fd, "proc/sys/vm", F_OK, 0) == 0)
		facts_number(facts, FACT_ZONE_RECLAIM, 0, "no /proc/sys/vm/zone_reclaim_mode");
	else
		files_number(files, facts, FACT_ZONE_RECLAIM, zone_reclaim);
}

/* ---- huge pages ---------------------------------------------------------------------------------------- */

static void append(char **list, const char *size, const char *setting)
{
	char *longer = NULL;
	if (asprintf(&longer, "%s%s%s %s", *list ? *list : "", *list ? ", " : "", size, setting) < 0)
		return;
	free(*list);
	*list = longer;
}

/* One folder hugepages-NkB: the size of a PMD's, or a smaller one. */
static void read_size(const struct doctor_files *files, struct facts *facts, const char *folder, char **list)
{
	char path[160];
	int64_t kib = strtoll(folder + strlen("hugepages-"), NULL, 10);
	snprintf(path, sizeof path, THP "/%.60s/enabled", folder);
	if (fact_known(facts, FACT_THP_PMD_BYTES) &&
	    kib == fact_number(facts, FACT_THP_PMD_BYTES, 0) / 1024) {
		files_choice(files, facts, FACT_THP_PMD_ENABLED, path);
		return;
	}
	char *text = files_text(files, path, NULL);
	const char *chosen = text ? files_chosen(text) : NULL;
	if (chosen && strcmp(chosen, "never") != 0)
		append(list, folder + strlen("hugepages-"), chosen);
	free(text);
}

/* Linux 6.8 and newer. */
static void read_sizes(const struct doctor_files *files, struct facts *facts)
{
	int fd = openat(files->root_fd, THP, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	char *list = NULL;
	bool any = false;
	for (const struct dirent *entry; folder && (entry = readdir(folder));) {
		if (strncmp(entry->d_name, "hugepages-", strlen("hugepages-")) != 0)
			continue;
		any = true;
		read_size(files, facts, entry->d_name, &list);
	}
	if (any)
		facts_text(facts, FACT_THP_SMALLER, list ? list : "", "/" THP "/hugepages-*/enabled");
	else
		facts_text(facts, FACT_THP_PMD_ENABLED, "inherit", "a kernel without settings by size");
	facts_unknown(facts, FACT_THP_PMD_ENABLED, "there is no folder /" THP "/hugepages-* of its size");
	free(list);
	if (folder)
		closedir(folder);
	else if (fd >= 0)
		close(fd);
}

/* On a kernel without it the rest stays unknown: nobody asks. */
static void read_huge_pages(const struct doctor_files *files, struct facts *facts)
{
	bool there = faccessat(files->root_fd, THP, F_OK, 0) == 0;
	if (!there && (errno != ENOENT || faccessat(files->root_fd, "sys/kernel", F_OK, 0) != 0)) {
		facts_unknown(facts, FACT_THP_SUPPORT, "/" THP ": %s", files_error_text(errno));
		return;
	}
	facts_number(facts, FACT_THP_SUPPORT, there, there ? "/" THP : "no /" THP);
	if (!there)
		return;
	files_choice(files, facts, FACT_THP_ENABLED, THP "/enabled");
	files_choice(files, facts, FACT_THP_DEFRAG, THP "/defrag");
	files_number(files, facts, FACT_THP_PMD_BYTES, THP "/hpage_pmd_size");
	files_number(files, facts, FACT_THP_ZERO_PAGE, THP "/use_zero_page");
	files_number(files, facts, FACT_THP_MAX_PTES_NONE, THP "/khugepaged/max_ptes_none");
	files_number(files, facts, FACT_THP_PAGES_TO_SCAN, THP "/khugepaged/pages_to_scan");
	files_number(files, facts, FACT_THP_COLLAPSE_DEFRAG, THP "/khugepaged/defrag");
	if (faccessat(files->root_fd, THP "/shrink_underused", F_OK, 0) == 0)
		files_number(files, facts, FACT_THP_SHRINKER, THP "/shrink_underused");
	else
		facts_number(facts, FACT_THP_SHRINKER, 0, "a kernel without shrink_underused");
	read_sizes(files, facts);
}

void doctor_machine_name(const struct doctor_files *files, struct facts *facts)
{
	read_kernel(files, facts);
	read_arch(files, facts);
}

void doctor_machine(const struct doctor_files *files, struct facts *facts)
{
	read_cpu(files, facts);
	read_memory(files, facts);
	read_nodes(files, facts);
	read_settings(files, facts);
	read_huge_pages(files, facts);
	doctor_machine_rseq(files, facts);
	if (!*files->root)
		facts_number(facts, FACT_PAGE_BYTES, sysconf(_SC_PAGESIZE), "sysconf");
}
