#include "bench/store.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct engine *const store_engines[] = {
#if HAVE_WIREDTIGER
	&engine_wiredtiger,
#endif
#if HAVE_ROCKSDB
	&engine_rocksdb,
#endif
	NULL,
};

const struct engine *store_find_engine(const char *name, struct failure *failure)
{
	char names[128] = "";

	for (size_t i = 0; store_engines[i]; i++) {
		size_t used = strlen(names);

		if (!strcmp(store_engines[i]->name, name))
			return store_engines[i];
		snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", store_engines[i]->name);
	}
	failure_set(failure, EXIT_WRONG_USAGE, "engine %s: this build has %s", name,
		    names[0] ? names : "none");
	return NULL;
}

static const char *engine_property(char name[64], const struct engine *engine, const char *suffix)
{
	snprintf(name, 64, "%s.%s", engine->name, suffix);
	return name;
}

bool store_configure(struct store *store, const struct engine *engine, struct properties *properties,
		     unsigned sessions, struct failure *failure)
{
	enum { CACHE_LEAST = 1 << 20, CACHE_DEFAULT = 1 << 30 };
	const char *directory, *config, *table = NULL;
	char name[64];

	*store = (struct store){.engine = engine};
	directory = properties_get(properties, engine_property(name, engine, "dir"));
	if (directory && strlen(directory) >= sizeof store->directory)
		return failure_set(failure, EXIT_WRONG_USAGE, "property %s: longer than a path can be", name);
	store->given = directory && directory[0];
	snprintf(store->directory, sizeof store->directory, "%s", store->given ? directory : "");
	config = properties_get(properties, engine_property(name, engine, "config"));
	store->settings.config = config ? config : "";
	if (engine->has_tables)
		table = properties_get(properties, engine_property(name, engine, "table"));
	store->settings.table = table ? table : "";
	store->settings.sessions = sessions;
	return properties_bytes(properties, engine_property(name, engine, "cache"), CACHE_DEFAULT,
				CACHE_LEAST, &store->settings.cache_bytes, failure);
}

static bool make_directory(struct store *store, struct failure *failure)
{
	const char *parent = getenv("TMPDIR");
	int length;

	if (store->given) {
		if (mkdir(store->directory, 0777) == 0 || errno == EEXIST)
			return true;
		return failure_set(failure, EXIT_WRONG_USAGE,
				   "property %s.dir=%s: cannot make this folder: %s", store->engine->name,
				   store->directory, strerror(errno));
	}
	length = snprintf(store->directory, sizeof store->directory, "%s/ycsb-embedded-XXXXXX",
			  parent && parent[0] ? parent : "/tmp");
	if (length >= (int)sizeof store->directory)
		return failure_set(failure, EXIT_FAILED, "TMPDIR: longer than a path can be");
	store->made = mkdtemp(store->directory) != NULL;
	return store->made || failure_set(failure, EXIT_FAILED,
					  "cannot make a folder %s: %s; set TMPDIR, or -p %s.dir=FOLDER",
					  store->directory, strerror(errno), store->engine->name);
}

static bool ask_to_load(const struct store *store, struct failure *failure)
{
	const char *engine = store->engine->name;

	if (!store->given)
		return failure_set(failure, EXIT_WRONG_USAGE,
				   "a loaded store is needed: give its folder by -p %s.dir=FOLDER, or use "
				   "'both' to load and run",
				   engine);
	return failure_set(
		failure, EXIT_FAILED,
		"%s holds no records of a %s store: load it first (ycsb-embedded load %s -p %s.dir=%s)",
		store->directory, engine, engine, engine, store->directory);
}

static bool note_record(void *context, const void *value, size_t bytes)
{
	(void)value;
	(void)bytes;
	return *(bool *)context = true;
}

/* Whether a scan from `key` finds a record. */
static bool finds_record(struct store *store, bool scan, const char *key, struct failure *failure)
{
	void *session = store->engine->session_open(store->handle, failure);
	bool found = false;

	if (!session)
		return false;
	if (scan)
		store->engine->scan(session, key, 1, note_record, &found);
	else
		store->engine->read(session, key, note_record, &found);
	store->engine->session_close(session);
	return found;
}

bool store_holds(struct store *store, const char *key, struct failure *failure)
{
	return finds_record(store, false, key, failure);
}

static bool count_record(void *context, const void *value, size_t bytes)
{
	(void)value;
	(void)bytes;
	++*(uint64_t *)context;
	return true;
}

bool store_count(struct store *store, uint64_t *records, struct failure *failure)
{
	void *session = store->engine->session_open(store->handle, failure);
	enum op_status status;

	*records = 0;
	if (!session)
		return false;
	status = store->engine->scan(session, "", UINT64_MAX, count_record, records);
	store->engine->session_close(session);
	return status != STATUS_ERROR ||
	       failure_set(failure, EXIT_FAILED, "%s: its records cannot be counted", store->directory);
}

bool store_open(struct store *store, bool must_exist, struct failure *failure)
{
	if (must_exist && (!store->given || !store->engine->present(store->directory)))
		return ask_to_load(store, failure);
	if (!make_directory(store, failure))
		return false;
	store->settings.directory = store->directory;
	store->handle = store->engine->open(&store->settings, failure);
	if (!store->handle)
		return false;
	return !must_exist || finds_record(store, true, "user", failure) || ask_to_load(store, failure);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	(void)status;
	(void)kind;
	(void)walk;
	return remove(path);
}

bool store_close(struct store *store, struct failure *failure)
{
	bool closed = !store->handle || store->engine->close(store->handle, failure);

	store->handle = NULL;
	if (store->made && nftw(store->directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS))
		closed = failure_set(failure, EXIT_FAILED, "cannot remove %s: %s", store->directory,
				     strerror(errno));
	store->made = false;
	return closed;
}
