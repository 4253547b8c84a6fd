/*
 * mongo-facts: what a campaign asks a MongoDB server before a run: whether it answers, how many documents
 * there are, and what it is (version, allocator, options).
 *
 * Documents are counted one by one (countDocuments): the server's own estimate can be wrong after a crash,
 * and a wrong count would stop a campaign, or let it go on with other data.
 */
#include <stdio.h>
#include <string.h>

#include <mongoc/mongoc.h>

#include "bench/failure.h"

#define PROGRAM "mongo-facts"

/* YCSB's names, used where neither URL nor argument says otherwise. */
#define DEFAULT_DATABASE   "test"
#define DEFAULT_COLLECTION "usertable"

struct request {
	bool ping;
	bool count;
	const char *url;
	const char *collection;
};

struct server {
	mongoc_client_t *client;
	const char *database;
};

static const char help_text[] =
	"usage: mongo-facts [--ping|--count] URL [COLLECTION]\n"
	"\n"
	"Asks a MongoDB server (mongodb://HOST:PORT/DATABASE). Prints one JSON object: records (documents "
	"in\n"
	"COLLECTION, by default YCSB's usertable in the URL's database), version, git_version, allocator, "
	"options\n"
	"(that it was started with) and tcmalloc (figures of its allocator; null where it has none).\n"
	"\n"
	"  --ping    only whether it answers within 2 seconds; prints nothing\n"
	"  --count   only the number of documents\n"
	"\n"
	"Exit status: 0 done; 1 no answer, or an error of the server; 2 wrong usage.\n";

static bool failed(struct failure *failure, const char *what, const bson_error_t *error)
{
	return failure_set(failure, EXIT_FAILED, "%s: %s", what, error->message);
}

/* Runs a command that takes nothing but its name. The caller destroys `reply` in any case. */
static bool ask(const struct server *server, const char *database, const char *command, bson_t *reply,
		struct failure *failure)
{
	bson_error_t error;
	bson_t *request = BCON_NEW(command, BCON_INT32(1));
	bool done = mongoc_client_command_simple(server->client, database, request, NULL, reply, &error);

	bson_destroy(request);
	return done || failed(failure, command, &error);
}

static bool count_documents(const struct server *server, const char *name, int64_t *records,
			    struct failure *failure)
{
	mongoc_collection_t *collection =
		mongoc_client_get_collection(server->client, server->database, name);
	bson_t everything = BSON_INITIALIZER;
	bson_error_t error;

	*records = mongoc_collection_count_documents(collection, &everything, NULL, NULL, NULL, &error);
	bson_destroy(&everything);
	mongoc_collection_destroy(collection);
	return *records >= 0 || failed(failure, "countDocuments", &error);
}

/* ---- facts ---- */

/* Copies a field of an answer under a name of ours; null where it is not there. */
static void copy_field(bson_t *facts, const char *name, const bson_t *reply, const char *path)
{
	bson_iter_t top, field;

	if (bson_iter_init(&top, reply) && bson_iter_find_descendant(&top, path, &field))
		bson_append_iter(facts, name, -1, &field);
	else
		bson_append_null(facts, name, -1);
}

/* One answer, and the fields of it that are facts. An answer that is refused (no rights) leaves them null. */
static void add_facts(const struct server *server, const char *command, const char *const fields[][2],
		      bson_t *facts)
{
	struct failure refused = {0};
	bson_t reply;

	if (!ask(server, "admin", command, &reply, &refused))
		fprintf(stderr, PROGRAM ": %s\n", refused.text);
	for (size_t i = 0; fields[i][0]; i++)
		copy_field(facts, fields[i][0], &reply, fields[i][1]);
	bson_destroy(&reply);
}

static void print_json(const bson_t *facts)
{
	char *text = bson_as_relaxed_extended_json(facts, NULL);

	puts(text);
	bson_free(text);
}

static bool print_facts(const struct server *server, const struct request *request, struct failure *failure)
{
	static const char *const build[][2] = {{"version", "version"},
					       {"git_version", "gitVersion"},
					       {"allocator", "allocator"},
					       {NULL, NULL}};
	static const char *const options[][2] = {{"options", "parsed"}, {NULL, NULL}};
	static const char *const status[][2] = {{"tcmalloc", "tcmalloc"}, {NULL, NULL}};
	bson_t facts = BSON_INITIALIZER;
	int64_t records;
	bool done = count_documents(server, request->collection, &records, failure);

	if (done) {
		BSON_APPEND_INT64(&facts, "records", records);
		add_facts(server, "buildInfo", build, &facts);
		add_facts(server, "getCmdLineOpts", options, &facts);
		add_facts(server, "serverStatus", status, &facts);
		print_json(&facts);
	}
	bson_destroy(&facts);
	return done;
}

static bool answer(const struct server *server, const struct request *request, struct failure *failure)
{
	int64_t records;
	bson_t reply;
	bool done;

	if (request->ping) {
		done = ask(server, server->database, "ping", &reply, failure);
		bson_destroy(&reply);
		return done;
	}
	if (!request->count)
		return print_facts(server, request, failure);
	if (!count_documents(server, request->collection, &records, failure))
		return false;
	printf("%lld\n", (long long)records);
	return true;
}

static bool ask_server(const struct request *request, struct failure *failure)
{
	enum { PING_WAITS_MS = 2000 };
	bson_error_t error;
	mongoc_uri_t *uri = mongoc_uri_new_with_error(request->url, &error);
	struct server server = {0};
	bool done;

	if (!uri)
		return failure_set(failure, EXIT_WRONG_USAGE, "%s: %s", request->url, error.message);
	if (request->ping)
		mongoc_uri_set_option_as_int32(uri, MONGOC_URI_SERVERSELECTIONTIMEOUTMS, PING_WAITS_MS);
	server.database = mongoc_uri_get_database(uri);
	if (!server.database)
		server.database = DEFAULT_DATABASE;
	server.client = mongoc_client_new_from_uri(uri);
	done = server.client ? answer(&server, request, failure)
			     : failure_set(failure, EXIT_FAILED, "%s: this build of libmongoc cannot use it",
					   request->url);
	mongoc_client_destroy(server.client);
	mongoc_uri_destroy(uri);
	return done;
}

static bool read_words(int argc, char **argv, struct request *request, struct failure *failure)
{
	request->collection = DEFAULT_COLLECTION;
	for (int i = 1, words = 0; i < argc; i++) {
		if (!strcmp(argv[i], "--ping"))
			request->ping = true;
		else if (!strcmp(argv[i], "--count"))
			request->count = true;
		else if (argv[i][0] == '-' || words == 2)
			return failure_set(failure, EXIT_WRONG_USAGE, "%s: not expected (see --help)",
					   argv[i]);
		else if (words++ == 0)
			request->url = argv[i];
		else
			request->collection = argv[i];
	}
	if (request->ping && request->count)
		return failure_set(failure, EXIT_WRONG_USAGE, "--ping and --count: one of them (see --help)");
	return request->url || failure_set(failure, EXIT_WRONG_USAGE, "expected a URL (see --help)");
}

int main(int argc, char **argv)
{
	struct request request = {0};
	struct failure failure = {0};
	bool done;

	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			fputs(help_text, stdout);
			return EXIT_DONE;
		}
	if (!read_words(argc, argv, &request, &failure))
		return failure_print(&failure, PROGRAM);
	mongoc_init();
	done = ask_server(&request, &failure);
	mongoc_cleanup();
	if (done && (fflush(stdout) || ferror(stdout)))
		done = failure_set(&failure, EXIT_FAILED, "cannot write to standard output");
	return done ? EXIT_DONE : failure_print(&failure, PROGRAM);
}
