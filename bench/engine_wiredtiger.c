/*
 * WiredTiger as MongoDB uses it: one table, a session and a cursor per thread, snapshot transactions for
 * updates and scans, a checkpoint a minute, no log (that is for durability, which a workload in one process
 * does not need).
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <wiredtiger.h>

#include "bench/engine.h"

#define TABLE_URI "table:usertable"

/* Page and value limits of MongoDB's collections. */
#define TABLE_CONFIG "key_format=S,value_format=u,memory_page_max=10m,split_pct=90,leaf_value_max=64MB"

/* A conflict is tried again, as a server does; beyond this something is stuck. */
enum { CONFLICTS_MOST = 100000 };

struct session {
	WT_SESSION *session;
	WT_CURSOR *cursor;
};

static int report_error(WT_EVENT_HANDLER *handler, WT_SESSION *session, int error, const char *message)
{
	(void)handler;
	(void)session;
	(void)error;
	engine_complain(&engine_wiredtiger, "library", message);
	return 0;
}

static WT_EVENT_HANDLER event_handler = {.handle_error = report_error};

static bool wiredtiger_present(const char *directory)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/WiredTiger", directory);
	return access(path, F_OK) == 0;
}

static char *connection_config(const struct engine_settings *settings)
{
	char *config;

	if (asprintf(&config,
		     "create,cache_size=%llu,session_max=%u,eviction=(threads_min=1,threads_max=4),"
		     "checkpoint=(wait=60),"
		     "log=(enabled=false)%s%s",
		     (unsigned long long)settings->cache_bytes, settings->sessions + 32,
		     settings->config[0] ? "," : "", settings->config) < 0)
		return NULL;
	return config;
}

/* A table that is there stays as it was made. */
static int create_table(WT_CONNECTION *connection, const char *settings)
{
	char *config;
	WT_SESSION *session;
	int error;

	if (asprintf(&config, TABLE_CONFIG "%s%s", settings[0] ? "," : "", settings) < 0)
		return ENOMEM;
	error = connection->open_session(connection, NULL, NULL, &session);
	if (!error) {
		error = session->create(session, TABLE_URI, config);
		session->close(session, NULL);
	}
	free(config);
	return error;
}

static bool open_table(WT_CONNECTION *connection, const struct engine_settings *settings,
		       struct failure *failure)
{
	int error = create_table(connection, settings->table);

	if (error == EINVAL && settings->table[0])
		return failure_set(failure, EXIT_WRONG_USAGE,
				   "property wiredtiger.table=%s: WiredTiger does not accept it (%s)",
				   settings->table, wiredtiger_strerror(error));
	return !error || failure_set(failure, EXIT_FAILED, "WiredTiger cannot make its table in %s: %s",
				     settings->directory, wiredtiger_strerror(error));
}

static void *wiredtiger_open_store(const struct engine_settings *settings, struct failure *failure)
{
	char *config = connection_config(settings);
	WT_CONNECTION *connection = NULL;
	int error =
		config ? wiredtiger_open(settings->directory, &event_handler, config, &connection) : ENOMEM;

	if (error == EINVAL && settings->config[0]) {
		failure_set(failure, EXIT_WRONG_USAGE,
			    "property wiredtiger.config=%s: WiredTiger does not accept it (%s)",
			    settings->config, wiredtiger_strerror(error));
	} else if (error) {
		failure_set(failure, EXIT_FAILED, "WiredTiger cannot open %s: %s (configuration: %s)",
			    settings->directory, wiredtiger_strerror(error), config ? config : "");
	} else if (!open_table(connection, settings, failure)) {
		connection->close(connection, NULL);
		connection = NULL;
	}
	free(config);
	return connection;
}

static bool wiredtiger_close_store(void *store, struct failure *failure)
{
	WT_CONNECTION *connection = store;
	int error = connection->close(connection, NULL);

	return !error ||
	       failure_set(failure, EXIT_FAILED, "WiredTiger cannot close: %s", wiredtiger_strerror(error));
}

static void wiredtiger_session_close(void *opaque)
{
	struct session *session = opaque;

	session->session->close(session->session, NULL);
	free(session);
}

static void *wiredtiger_session_open(void *store, struct failure *failure)
{
	WT_CONNECTION *connection = store;
	struct session *session = must_calloc(1, sizeof *session);
	int error = connection->open_session(connection, NULL, NULL, &session->session);

	if (!error) {
		error = session->session->open_cursor(session->session, TABLE_URI, NULL, "overwrite=false",
						      &session->cursor);
		if (!error)
			return session;
		session->session->close(session->session, NULL);
	}
	failure_set(failure, EXIT_FAILED, "WiredTiger cannot open a session: %s", wiredtiger_strerror(error));
	free(session);
	return NULL;
}

/* ---- operations ---- */

/* As an error number: a visitor or a change refused the record, and has said why. */
enum { REFUSED = EINVAL };

static enum op_status status_of(const char *what, int error)
{
	if (!error)
		return STATUS_OK;
	if (error == WT_NOTFOUND)
		return STATUS_NOT_FOUND;
	if (error != REFUSED)
		engine_complain(&engine_wiredtiger, what, wiredtiger_strerror(error));
	return STATUS_ERROR;
}

static int visit_current(WT_CURSOR *cursor, engine_visit *visit, void *context)
{
	WT_ITEM value;
	int error = cursor->get_value(cursor, &value);

	if (error)
		return error;
	return visit(context, value.data, value.size) ? 0 : REFUSED;
}

static enum op_status wiredtiger_read(void *opaque, const char *key, engine_visit *visit, void *context)
{
	WT_CURSOR *cursor = ((struct session *)opaque)->cursor;
	int error, conflicts = 0;

	do {
		cursor->set_key(cursor, key);
		error = cursor->search(cursor);
	} while (error == WT_ROLLBACK && ++conflicts < CONFLICTS_MOST);
	if (!error)
		error = visit_current(cursor, visit, context);
	cursor->reset(cursor);
	return status_of("read", error);
}

static enum op_status wiredtiger_insert(void *opaque, const char *key, const void *value, size_t bytes)
{
	WT_CURSOR *cursor = ((struct session *)opaque)->cursor;
	WT_ITEM item = {.data = value, .size = bytes};
	int error, conflicts = 0;

	do {
		cursor->set_key(cursor, key);
		cursor->set_value(cursor, &item);
		error = cursor->insert(cursor);
	} while (error == WT_ROLLBACK && ++conflicts < CONFLICTS_MOST);
	cursor->reset(cursor);
	return status_of("insert", error);
}

/* Inside a transaction. */
static int change_record(WT_CURSOR *cursor, const char *key, engine_change *change, void *context)
{
	WT_ITEM old, item = {0};
	void *changed;
	int error;

	cursor->set_key(cursor, key);
	error = cursor->search(cursor);
	if (!error)
		error = cursor->get_value(cursor, &old);
	if (error)
		return error;
	changed = change(context, old.data, old.size, &item.size);
	if (!changed)
		return REFUSED;
	item.data = changed;
	cursor->set_value(cursor, &item);
	error = cursor->update(cursor);
	free(changed);
	return error;
}

static int update_once(struct session *session, const char *key, engine_change *change, void *context)
{
	WT_SESSION *wt = session->session;
	int error = wt->begin_transaction(wt, "isolation=snapshot");

	if (error)
		return error;
	error = change_record(session->cursor, key, change, context);
	if (!error)
		return wt->commit_transaction(wt, NULL);
	wt->rollback_transaction(wt, NULL);
	return error;
}

static enum op_status wiredtiger_update(void *opaque, const char *key, engine_change *change, void *context)
{
	struct session *session = opaque;
	int error, conflicts = 0;

	while ((error = update_once(session, key, change, context)) == WT_ROLLBACK &&
	       ++conflicts < CONFLICTS_MOST)
		sched_yield();
	session->cursor->reset(session->cursor);
	return status_of("update", error);
}

/* The first record at or after `key`. */
static int seek(WT_CURSOR *cursor, const char *key)
{
	int error, place;

	cursor->set_key(cursor, key);
	error = cursor->search_near(cursor, &place);
	return error || place >= 0 ? error : cursor->next(cursor);
}

static int scan_records(WT_CURSOR *cursor, const char *key, uint64_t limit, engine_visit *visit,
			void *context)
{
	int error = seek(cursor, key);

	while (!error) {
		error = visit_current(cursor, visit, context);
		if (error || --limit == 0)
			return error;
		error = cursor->next(cursor);
	}
	return error == WT_NOTFOUND ? 0 : error;
}

/*
 * Not repeated after a conflict, since part of the records have been visited: a reader is rolled back only
 * where the cache is stuck, and that is worth an error.
 */
static enum op_status wiredtiger_scan(void *opaque, const char *key, uint64_t limit, engine_visit *visit,
				      void *context)
{
	struct session *session = opaque;
	WT_SESSION *wt = session->session;
	int error = wt->begin_transaction(wt, "isolation=snapshot");

	if (!error) {
		error = scan_records(session->cursor, key, limit, visit, context);
		session->cursor->reset(session->cursor);
		wt->rollback_transaction(wt, NULL);
	}
	return status_of("scan", error);
}

#define TEXT_OF(number)	 #number
#define VERSION(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)

const struct engine engine_wiredtiger = {
	.name = "wiredtiger",
	.product = "WiredTiger " VERSION(WIREDTIGER_VERSION_MAJOR, WIREDTIGER_VERSION_MINOR,
					 WIREDTIGER_VERSION_PATCH),
	.has_tables = true,
	.present = wiredtiger_present,
	.open = wiredtiger_open_store,
	.close = wiredtiger_close_store,
	.session_open = wiredtiger_session_open,
	.session_close = wiredtiger_session_close,
	.read = wiredtiger_read,
	.insert = wiredtiger_insert,
	.update = wiredtiger_update,
	.scan = wiredtiger_scan,
};
