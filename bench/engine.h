/*
 * What the workload asks of a storage engine. One engine_<name>.c implements it; store.c knows them all.
 *
 * A store is opened once. A session belongs to one thread; different sessions work side by side. Keys are
 * strings, values bytes. Values given to a visitor belong to the engine and end with the visitor's return.
 */
#ifndef MTRACE_BENCH_ENGINE_H
#define MTRACE_BENCH_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/failure.h"

/* What became of an operation; the names printed are YCSB's. */
enum op_status {
	STATUS_OK,
	STATUS_NOT_FOUND,
	STATUS_ERROR, /* the engine has said why on stderr, or the document was malformed */
	STATUS_COUNT
};

/* Takes a value. False ends the operation with STATUS_ERROR. */
typedef bool engine_visit(void *context, const void *value, size_t bytes);

/* Makes the new value of a record: a block of malloc() that the engine frees, or NULL (as false above). */
typedef void *engine_change(void *context, const void *value, size_t bytes, size_t *new_bytes);

struct engine_settings {
	const char *directory; /* exists */
	const char *config;    /* settings of the engine in its own syntax, after ours and so stronger; may be
				  empty */
	const char *table;     /* the same for the table that is made by a load, in an engine that has such */
	uint64_t cache_bytes;
	unsigned sessions; /* at most that many at a time */
};

struct engine {
	const char *name;    /* on the command line, and before the dot in its properties */
	const char *product; /* with version, for people */
	bool has_tables;     /* takes engine_settings.table */

	/* Whether the directory holds a store of this engine. */
	bool (*present)(const char *directory);
	/* Opens the store, creating it where there is none. NULL: it failed. */
	void *(*open)(const struct engine_settings *settings, struct failure *failure);
	/* Everything written is on disk when it returns true. */
	bool (*close)(void *store, struct failure *failure);

	void *(*session_open)(void *store, struct failure *failure);
	void (*session_close)(void *session);

	enum op_status (*read)(void *session, const char *key, engine_visit *visit, void *context);
	/* STATUS_ERROR where the key is there already. */
	enum op_status (*insert)(void *session, const char *key, const void *value, size_t bytes);
	/* Reads, changes and writes a record in one atomic step; a conflict calls `change` again. */
	enum op_status (*update)(void *session, const char *key, engine_change *change, void *context);
	/* Visits up to `limit` records in the order of keys from the first that is not below `key`. */
	enum op_status (*scan)(void *session, const char *key, uint64_t limit, engine_visit *visit,
			       void *context);
};

extern const struct engine engine_wiredtiger; /* where HAVE_WIREDTIGER is 1 */
extern const struct engine engine_rocksdb;    /* where HAVE_ROCKSDB is 1 */

/* One line on stderr about an operation that failed inside the engine; after a few, silence. */
void engine_complain(const struct engine *engine, const char *what, const char *why);

#endif
