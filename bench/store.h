/*
 * The store of a program's run: which engine, in which folder, opened once for all phases.
 *
 * The folder is the property ENGINE.dir. Without it a fresh one is made under TMPDIR (or /tmp) and removed
 * when the store is closed.
 */
#ifndef MTRACE_BENCH_STORE_H
#define MTRACE_BENCH_STORE_H

#include <limits.h>
#include <stdbool.h>

#include "bench/engine.h"
#include "bench/properties.h"

struct store {
	const struct engine *engine;
	void *handle;
	struct engine_settings settings;
	char directory[PATH_MAX];
	bool given; /* the directory is the user's: it stays */
	bool made;  /* the directory is ours and exists */
};

/* The engines built in, ended by NULL. The first is the default. There may be none. */
extern const struct engine *const store_engines[];

/* NULL with a text that lists the engines of this build. */
const struct engine *store_find_engine(const char *name, struct failure *failure);

/* Reads ENGINE.dir, ENGINE.cache, ENGINE.config and, where the engine has tables, ENGINE.table. Touches
 * nothing. */
bool store_configure(struct store *store, const struct engine *engine, struct properties *properties,
		     unsigned sessions, struct failure *failure);

/* Opens the store. With `must_exist` a folder that holds none, or an empty store, is an error. */
bool store_open(struct store *store, bool must_exist, struct failure *failure);

/* True where the record is in the store. */
bool store_holds(struct store *store, const char *key, struct failure *failure);

/* Number of records in an open store: it reads all of them. */
bool store_count(struct store *store, uint64_t *records, struct failure *failure);

/* Closes what is open and removes the folder if it is ours. May be called on a store that never opened. */
bool store_close(struct store *store, struct failure *failure);

#endif
