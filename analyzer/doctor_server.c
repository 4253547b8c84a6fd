/*
 * What is special about a mongod: its configuration, and the diagnostic data that it writes.
 *
 * Of the configuration only two values are wanted, whose names occur nowhere else in it, in the YAML form and
 * in the older one of "key=value": no parser is needed for that.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/doctor_process.h"
#include "analyzer/doctor_sources.h"

#define GIB	     (INT64_C(1) << 30)
#define DEFAULT_PATH "/data/db" /* storage.dbPath */

static bool is_mongod(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const size_t length = strlen("mongod");
	return strncmp(name, "mongod", length) == 0 && (!name[length] || strchr("-.", name[length]));
}

/* ---- configuration ------------------------------------------------------------------------------------- */

/* Below the process's root, whatever its working directory. */
static void absolute(const struct doctor_files *files, const char *path, char *text, size_t bytes)
{
	char name[64], folder[PATH_MAX];
	snprintf(name, sizeof name, "proc/%d/cwd", (int)files->pid);
	ssize_t length = *path == '/' ? -1 : readlinkat(files->root_fd, name, folder, sizeof folder - 1);
	folder[length > 0 ? length : 0] = '\0';
	snprintf(text, bytes, "%s/%s", folder, path);
}

/* The value behind `key` in a line of its own, without quotes and blanks around it; comments are none. */
static bool config_value(const char *config, const char *key, char *text, size_t bytes)
{
	const size_t length = strlen(key);
	for (const char *line = config; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		const char *word = line + strspn(line, " \t");
		if (strncmp(word, key, length) != 0)
			continue;
		word += length + strspn(word + length, " \t");
		if (*word != ':' && *word != '=')
			continue;
		word += 1 + strspn(word + 1, " \t\"'");
		snprintf(text, bytes, "%.*s", (int)strcspn(word, "\"'#\n"), word);
		for (size_t end = strlen(text); end && (text[end - 1] == ' ' || text[end - 1] == '\t'); end--)
			text[end - 1] = '\0';
		return text[0] != '\0';
	}
	return false;
}

static char *read_config(const struct doctor_files *files, const char *block, size_t bytes)
{
	char path[2 * PATH_MAX];
	const char *config = doctor_argument(block, bytes, "--config");
	if (!config)
		config = doctor_argument(block, bytes, "-f");
	if (!config) {
		errno = 0;
		return NULL;
	}
	absolute(files, config, path, sizeof path);
	return files_guest_text(files, path, NULL);
}

/* ---- cache --------------------------------------------------------------------------------------------- */

static void put_cache(struct facts *facts, const char *gigabytes, const char *from)
{
	char *end;
	double value = strtod(gigabytes, &end);
	if (end == gigabytes || !(value > 0) || value > 1e6)
		facts_unknown(facts, FACT_CACHE_BYTES, "the cache size in %s is no number", from);
	else
		facts_number(facts, FACT_CACHE_BYTES, (int64_t)(value * (double)GIB), from);
}

/* 0 stands for mongod's default. `config` may be NULL, for the reason in `config_error`. */
static void find_cache(struct facts *facts, const char *block, size_t bytes, const char *config,
		       int config_error)
{
	const char *size = doctor_argument(block, bytes, "--wiredTigerCacheSizeGB");
	char text[64];
	if (size)
		put_cache(facts, size, "its command line");
	else if (config && (config_value(config, "cacheSizeGB", text, sizeof text) ||
			    config_value(config, "wiredTigerCacheSizeGB", text, sizeof text)))
		put_cache(facts, text, "its configuration file");
	else if (config_error)
		facts_unknown(facts, FACT_CACHE_BYTES, "its configuration file: %s",
			      files_error_text(config_error));
	else
		facts_number(facts, FACT_CACHE_BYTES, 0, "its configuration");
}

/* ---- diagnostic data ----------------------------------------------------------------------------------- */

/* The name of the newest archive, which its time is part of; "" for none. */
static void find_newest(int folder_fd, char *name, size_t bytes)
{
	int fd = dup(folder_fd);
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	name[0] = '\0';
	for (const struct dirent *entry; folder && (entry = readdir(folder));)
		if (strncmp(entry->d_name, "metrics.2", strlen("metrics.2")) == 0 &&
		    strcmp(entry->d_name, name) > 0)
			snprintf(name, bytes, "%s", entry->d_name);
	if (folder)
		closedir(folder);
	else if (fd >= 0)
		close(fd);
}

static void read_file(int folder_fd, const char *name, struct facts *facts)
{
	char path[320];
	snprintf(path, sizeof path, "/proc/self/fd/%d/%s", folder_fd, name);
	doctor_ftdc_allocator(path, fact_number(facts, FACT_PID_INSIDE, 0), facts);
}

/* Newer samples are not archived yet; what the server is stands in the archive alone. */
static void read_data(const struct doctor_files *files, struct facts *facts, const char *folder)
{
	char database[2 * PATH_MAX], path[3 * PATH_MAX], name[256];
	absolute(files, folder, database, sizeof database);
	snprintf(path, sizeof path, "%s/diagnostic.data", database);
	int fd = files_guest_fd(files, path);
	if (fd < 0)
		return;
	find_newest(fd, name, sizeof name);
	read_file(fd, "metrics.interim", facts);
	if (*name)
		read_file(fd, name, facts);
	close(fd);
}

void doctor_process_server(const struct doctor_files *files, struct facts *facts, const char *block,
			   size_t bytes)
{
	char folder[PATH_MAX];
	if (!is_mongod(fact_text(facts, FACT_EXE)) && !is_mongod(block)) {
		facts_unknown(facts, FACT_CACHE_BYTES,
			      "it is no mongod, and its diagnostic data was not given (--ftdc)");
		return;
	}
	char *config = read_config(files, block, bytes);
	int config_error = config ? 0 : errno;
	const char *path = doctor_argument(block, bytes, "--dbpath");
	if (!path && config &&
	    (config_value(config, "dbPath", folder, sizeof folder) ||
	     config_value(config, "dbpath", folder, sizeof folder)))
		path = folder;
	read_data(files, facts, path ? path : DEFAULT_PATH);
	find_cache(facts, block, bytes, config, config_error);
	free(config);
}
