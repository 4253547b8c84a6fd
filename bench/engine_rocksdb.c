/*
 * RocksDB through its C interface, set up to be comparable with the WiredTiger engine: no compression, no
 * log.
 *
 * RocksDB alone has no atomic read-change-write and no insert that fails on an existing key. As a server
 * would, a lock on the document, one of a fixed number by hash of the key, makes both atomic.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rocksdb/c.h>

#include "bench/engine.h"

enum { DOCUMENT_LOCKS = 1024, BLOOM_BITS_PER_KEY = 10, BACKGROUND_JOBS = 2 };

/* A store and its sessions are the same thing here: RocksDB keeps no state per thread. */
struct rocks {
	rocksdb_t *db;
	rocksdb_options_t *options;
	rocksdb_cache_t *cache;
	rocksdb_readoptions_t *read_options;
	rocksdb_writeoptions_t *write_options;
	pthread_mutex_t document_locks[DOCUMENT_LOCKS];
};

static bool rocks_present(const char *directory)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/CURRENT", directory);
	return access(path, F_OK) == 0;
}

/* ---- opening and closing ---- */

static rocksdb_options_t *our_options(rocksdb_cache_t *cache)
{
	rocksdb_options_t *options = rocksdb_options_create();
	rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();

	rocksdb_block_based_options_set_block_cache(table, cache);
	rocksdb_block_based_options_set_filter_policy(table,
						      rocksdb_filterpolicy_create_bloom(BLOOM_BITS_PER_KEY));
	rocksdb_options_set_block_based_table_factory(options, table); /* takes a copy */
	rocksdb_block_based_options_destroy(table);
	rocksdb_options_set_create_if_missing(options, 1);
	rocksdb_options_set_compression(options, rocksdb_no_compression);
	rocksdb_options_set_max_background_jobs(options, BACKGROUND_JOBS);
	return options;
}

/* Applies the user's "name=value;..." over ours. */
static bool add_config(rocksdb_options_t **options, const char *config, struct failure *failure)
{
	rocksdb_options_t *changed;
	char *error = NULL;

	if (!config[0])
		return true;
	changed = rocksdb_options_create();
	rocksdb_get_options_from_string(*options, config, changed, &error);
	if (error) {
		failure_set(failure, EXIT_WRONG_USAGE,
			    "property rocksdb.config=%s: %s (expected NAME=VALUE;... of RocksDB's options)",
			    config, error);
		rocksdb_free(error);
		rocksdb_options_destroy(changed);
		return false;
	}
	rocksdb_options_destroy(*options);
	*options = changed;
	return true;
}

static void free_rocks(struct rocks *rocks)
{
	if (rocks->db)
		rocksdb_close(rocks->db);
	rocksdb_options_destroy(rocks->options);
	rocksdb_cache_destroy(rocks->cache);
	rocksdb_readoptions_destroy(rocks->read_options);
	rocksdb_writeoptions_destroy(rocks->write_options);
	for (int i = 0; i < DOCUMENT_LOCKS; i++)
		pthread_mutex_destroy(&rocks->document_locks[i]);
	free(rocks);
}

static struct rocks *new_rocks(uint64_t cache_bytes)
{
	struct rocks *rocks = must_calloc(1, sizeof *rocks);

	rocks->cache = rocksdb_cache_create_lru(cache_bytes);
	rocks->options = our_options(rocks->cache);
	rocks->read_options = rocksdb_readoptions_create();
	rocks->write_options = rocksdb_writeoptions_create();
	rocksdb_writeoptions_disable_WAL(rocks->write_options, 1);
	for (int i = 0; i < DOCUMENT_LOCKS; i++)
		pthread_mutex_init(&rocks->document_locks[i], NULL);
	return rocks;
}

static void *rocks_open(const struct engine_settings *settings, struct failure *failure)
{
	struct rocks *rocks = new_rocks(settings->cache_bytes);
	char *error = NULL;

	if (add_config(&rocks->options, settings->config, failure)) {
		rocks->db = rocksdb_open(rocks->options, settings->directory, &error);
		if (rocks->db)
			return rocks;
		failure_set(failure, EXIT_FAILED, "RocksDB cannot open %s: %s", settings->directory, error);
		rocksdb_free(error);
	}
	free_rocks(rocks);
	return NULL;
}

/* Without a log, what is still in memory has to be written now. */
static bool rocks_close(void *store, struct failure *failure)
{
	struct rocks *rocks = store;
	rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
	char *error = NULL;

	rocksdb_flushoptions_set_wait(options, 1);
	rocksdb_flush(rocks->db, options, &error);
	rocksdb_flushoptions_destroy(options);
	if (error)
		failure_set(failure, EXIT_FAILED, "RocksDB cannot write what it holds: %s", error);
	free_rocks(rocks);
	if (!error)
		return true;
	rocksdb_free(error);
	return false;
}

static void *rocks_session_open(void *store, struct failure *failure)
{
	(void)failure;
	return store;
}

static void rocks_session_close(void *session)
{
	(void)session;
}

/* ---- operations ---- */

static enum op_status fail(const char *what, char *error)
{
	engine_complain(&engine_rocksdb, what, error);
	rocksdb_free(error);
	return STATUS_ERROR;
}

static pthread_mutex_t *lock_of(struct rocks *rocks, const char *key)
{
	uint32_t hash = 0;

	while (*key)
		hash = (hash ^ (unsigned char)*key++) * 0x9E3779B1U;
	return &rocks->document_locks[(hash >> 16) % DOCUMENT_LOCKS];
}

/* STATUS_OK with *slice for the caller to destroy, or another status without. */
static enum op_status get(struct rocks *rocks, const char *what, const char *key,
			  rocksdb_pinnableslice_t **slice)
{
	char *error = NULL;

	*slice = rocksdb_get_pinned(rocks->db, rocks->read_options, key, strlen(key), &error);
	if (error)
		return fail(what, error);
	return *slice ? STATUS_OK : STATUS_NOT_FOUND;
}

static enum op_status put(struct rocks *rocks, const char *what, const char *key, const void *value,
			  size_t bytes)
{
	char *error = NULL;

	rocksdb_put(rocks->db, rocks->write_options, key, strlen(key), value, bytes, &error);
	return error ? fail(what, error) : STATUS_OK;
}

static enum op_status rocks_read(void *session, const char *key, engine_visit *visit, void *context)
{
	rocksdb_pinnableslice_t *slice;
	enum op_status status = get(session, "read", key, &slice);
	const char *value;
	size_t bytes;

	if (status != STATUS_OK)
		return status;
	value = rocksdb_pinnableslice_value(slice, &bytes);
	if (!visit(context, value, bytes))
		status = STATUS_ERROR;
	rocksdb_pinnableslice_destroy(slice);
	return status;
}

static enum op_status insert_locked(struct rocks *rocks, const char *key, const void *value, size_t bytes)
{
	rocksdb_pinnableslice_t *slice;
	enum op_status status = get(rocks, "insert", key, &slice);

	if (status == STATUS_NOT_FOUND)
		return put(rocks, "insert", key, value, bytes);
	if (status == STATUS_OK) {
		rocksdb_pinnableslice_destroy(slice);
		engine_complain(&engine_rocksdb, "insert", "the key is there already");
	}
	return STATUS_ERROR;
}

static enum op_status rocks_insert(void *session, const char *key, const void *value, size_t bytes)
{
	pthread_mutex_t *lock = lock_of(session, key);
	enum op_status status;

	pthread_mutex_lock(lock);
	status = insert_locked(session, key, value, bytes);
	pthread_mutex_unlock(lock);
	return status;
}

static enum op_status update_locked(struct rocks *rocks, const char *key, engine_change *change,
				    void *context)
{
	rocksdb_pinnableslice_t *slice;
	enum op_status status = get(rocks, "update", key, &slice);
	const char *old;
	void *changed;
	size_t bytes;

	if (status != STATUS_OK)
		return status;
	old = rocksdb_pinnableslice_value(slice, &bytes);
	changed = change(context, old, bytes, &bytes);
	rocksdb_pinnableslice_destroy(slice);
	if (!changed)
		return STATUS_ERROR;
	status = put(rocks, "update", key, changed, bytes);
	free(changed);
	return status;
}

static enum op_status rocks_update(void *session, const char *key, engine_change *change, void *context)
{
	pthread_mutex_t *lock = lock_of(session, key);
	enum op_status status;

	pthread_mutex_lock(lock);
	status = update_locked(session, key, change, context);
	pthread_mutex_unlock(lock);
	return status;
}

static enum op_status visit_from(rocksdb_iterator_t *iterator, uint64_t limit, engine_visit *visit,
				 void *context)
{
	char *error = NULL;

	for (; limit && rocksdb_iter_valid(iterator); limit--, rocksdb_iter_next(iterator)) {
		size_t bytes;
		const char *value = rocksdb_iter_value(iterator, &bytes);

		if (!visit(context, value, bytes))
			return STATUS_ERROR;
	}
	rocksdb_iter_get_error(iterator, &error);
	return error ? fail("scan", error) : STATUS_OK;
}

static enum op_status rocks_scan(void *session, const char *key, uint64_t limit, engine_visit *visit,
				 void *context)
{
	struct rocks *rocks = session;
	rocksdb_iterator_t *iterator = rocksdb_create_iterator(rocks->db, rocks->read_options);
	enum op_status status;

	rocksdb_iter_seek(iterator, key, strlen(key));
	status = visit_from(iterator, limit, visit, context);
	rocksdb_iter_destroy(iterator);
	return status;
}

const struct engine engine_rocksdb = {
	.name = "rocksdb",
	.product = "RocksDB",
	.present = rocks_present,
	.open = rocks_open,
	.close = rocks_close,
	.session_open = rocks_session_open,
	.session_close = rocks_session_close,
	.read = rocks_read,
	.insert = rocks_insert,
	.update = rocks_update,
	.scan = rocks_scan,
};
