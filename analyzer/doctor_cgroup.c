/*
 * Memory limits of the cgroup of a process, twice: as the process sees them, which is what mongod and
 * TCMalloc go by, and as they hold. Kernel documentation: admin-guide/cgroup-v2, "Memory Interface Files";
 * admin-guide/cgroup-v1/memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/doctor_process.h"

/* v1 has no word for "no limit", but a number that no machine has: the largest multiple of a page. */
#define V1_UNLIMITED_BYTES (INT64_MAX >> 16 << 16)

/* ---- as the process sees it ---------------------------------------------------------------------------- */

/* TCMalloc as MongoDB has it opens just this path. */
static void read_view(const struct doctor_files *files, struct facts *facts)
{
	char *text = files_guest_text(files, "sys/fs/cgroup/memory.max", NULL);
	if (text) {
		text[strcspn(text, "\n")] = '\0';
		facts_text(facts, FACT_VIEW_LIMIT, text, "/sys/fs/cgroup/memory.max, as the process sees it");
	} else if (errno == ENOENT || errno == ENOTDIR) {
		facts_text(facts, FACT_VIEW_LIMIT, "",
			   "no /sys/fs/cgroup/memory.max in the view of the process");
	} else {
		facts_unknown(facts, FACT_VIEW_LIMIT, "the root folder of the process: %s",
			      files_error_text(errno));
	}
	free(text);
}

/* ---- as they hold -------------------------------------------------------------------------------------- */

struct hierarchy {
	int version;
	const char *folder; /* where it is mounted */
	char path[1024];    /* of the process in it, "/" at its root */
};

/* Of "4:memory:/a/b" or "0::/a/b", the line with these controllers. */
static bool find_path(const char *text, const char *controllers, char *path, size_t bytes)
{
	const size_t length = strlen(controllers);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		const char *first = strchr(line, ':');
		if (!first || strncmp(first + 1, controllers, length) != 0 || first[1 + length] != ':')
			continue;
		const char *at = first + length + 2;
		snprintf(path, bytes, "%.*s", (int)strcspn(at, "\n"), at);
		return true;
	}
	return false;
}

static bool exists(const struct doctor_files *files, const char *path)
{
	char *text = files_text(files, path, NULL);
	free(text);
	return text != NULL;
}

/* The memory controller is in one of the two hierarchies: in v1's where that has it. */
static bool find_hierarchy(const struct doctor_files *files, const char *text, struct hierarchy *hierarchy)
{
	*hierarchy = (struct hierarchy){.version = 1, .folder = "sys/fs/cgroup/memory"};
	if (find_path(text, "memory", hierarchy->path, sizeof hierarchy->path))
		return true;
	bool hybrid = exists(files, "sys/fs/cgroup/unified/cgroup.controllers");
	*hierarchy = (struct hierarchy){.version = 2,
					.folder = hybrid ? "sys/fs/cgroup/unified" : "sys/fs/cgroup"};
	return find_path(text, "", hierarchy->path, sizeof hierarchy->path);
}

/* "max" and v1's huge numbers are no limit. False where there is no such file. */
static bool read_limit(const struct doctor_files *files, const struct hierarchy *hierarchy, const char *name,
		       int64_t *bytes)
{
	char path[1200];
	snprintf(path, sizeof path, "%s%s/%s", hierarchy->folder, hierarchy->path, name);
	char *text = files_text(files, path, NULL);
	if (!text)
		return false;
	if (!files_parse_number(text, bytes) || *bytes >= V1_UNLIMITED_BYTES)
		*bytes = INT64_MAX;
	free(text);
	return true;
}

/* The lowest from the cgroup of the process up to the root. */
static void read_lowest(const struct doctor_files *files, struct facts *facts, enum fact_id id,
			struct hierarchy hierarchy, const char *name)
{
	int64_t lowest = INT64_MAX, bytes;
	char from[1200];
	bool any = false;
	snprintf(from, sizeof from, "/%s%s/%s", hierarchy.folder, hierarchy.path, name);
	for (;;) {
		if (read_limit(files, &hierarchy, name, &bytes)) {
			any = true;
			if (bytes < lowest) {
				lowest = bytes;
				snprintf(from, sizeof from, "/%s%s/%s", hierarchy.folder, hierarchy.path,
					 name);
			}
		}
		char *slash = strrchr(hierarchy.path, '/');
		if (!slash)
			break;
		*slash = '\0';
	}
	if (any || hierarchy.version == 2)
		facts_number(facts, id, lowest, from);
	else
		facts_unknown(facts, id, "%s: no such file", from);
}

static void read_kills(const struct doctor_files *files, struct facts *facts,
		       const struct hierarchy *hierarchy)
{
	char path[1200];
	snprintf(path, sizeof path, "%s%s/%s", hierarchy->folder, hierarchy->path,
		 hierarchy->version == 2 ? "memory.events" : "memory.oom_control");
	char *text = files_text(files, path, NULL);
	const char *line = text ? strstr(text, "oom_kill ") : NULL;
	if (line)
		facts_number(facts, FACT_CGROUP_OOM_KILLS, strtoll(line + strlen("oom_kill "), NULL, 10),
			     path);
	else
		facts_unknown(facts, FACT_CGROUP_OOM_KILLS, "/%s does not count them", path);
	free(text);
}

static void read_effective(const struct doctor_files *files, struct facts *facts, const char *text)
{
	struct hierarchy hierarchy;
	if (!find_hierarchy(files, text, &hierarchy)) {
		facts_unknown(facts, FACT_CGROUP_LIMIT_BYTES, "its cgroup has no line of memory");
		return;
	}
	if (strcmp(hierarchy.path, "/") == 0)
		hierarchy.path[0] = '\0';
	facts_number(facts, FACT_CGROUP_VERSION, hierarchy.version, "cgroup");
	read_kills(files, facts, &hierarchy);
	if (hierarchy.version == 2)
		read_lowest(files, facts, FACT_CGROUP_HIGH_BYTES, hierarchy, "memory.high");
	read_lowest(files, facts, FACT_CGROUP_LIMIT_BYTES, hierarchy,
		    hierarchy.version == 2 ? "memory.max" : "memory.limit_in_bytes");
}

/* ---- what runs it -------------------------------------------------------------------------------------- */

/* The last part of its path that ends in ".service", of any hierarchy. */
static void read_unit(struct facts *facts, const char *text)
{
	static const char ending[] = ".service";
	const char *found = NULL;
	for (const char *at = text; (at = strstr(at, ending)); at++)
		if (at[strlen(ending)] == '\n' || at[strlen(ending)] == '/' || !at[strlen(ending)])
			found = at;
	if (!found)
		return;
	const char *start = found;
	while (start > text && start[-1] != '/' && start[-1] != '\n')
		start--;
	char unit[256];
	snprintf(unit, sizeof unit, "%.*s", (int)(found - start) + (int)strlen(ending), start);
	/* A user's session is no unit of the program. */
	if (strncmp(unit, "user@", 5) != 0)
		facts_text(facts, FACT_UNIT, unit, "cgroup");
}

static bool is_container(const struct doctor_files *files, const char *text)
{
	static const char *const marks[] = {"docker", "kubepods", "libpod", "containerd", "/lxc"};
	static const char *const left_behind[] = {".dockerenv", "run/.containerenv"};
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (strstr(text, marks[i]))
			return true;
	for (size_t i = 0; i < sizeof left_behind / sizeof *left_behind; i++) {
		char *file = files_guest_text(files, left_behind[i], NULL);
		free(file);
		if (file)
			return true;
	}
	return false;
}

void doctor_process_cgroup(const struct doctor_files *files, struct facts *facts)
{
	char *text = files_process_text(files, "cgroup", NULL);
	read_view(files, facts);
	if (!text) {
		facts_unknown(facts, FACT_CGROUP_LIMIT_BYTES, "its cgroup: %s", files_error_text(errno));
		return;
	}
	/* Of a process in doctor's own container all is as on a machine without. */
	if (!files_shares_root(files) && is_container(files, text))
		facts_number(facts, FACT_CONTAINER, 1, "cgroup");
	facts_number(facts, FACT_CONTAINER, 0, "cgroup");
	read_unit(facts, text);
	read_effective(files, facts, text);
	free(text);
}
