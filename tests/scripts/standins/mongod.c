/*
 * A stand-in for mongod in the tests of campaigns: it speaks as much of MongoDB's wire protocol (OP_QUERY for
 * the first hello, OP_MSG for the rest) as libmongoc needs to count documents and to ask what it is. Of its
 * data it keeps a number in DBPATH/records. Options are mongod's: --dbpath and --port; all others are
 * repeated in the answer to getCmdLineOpts. With --lose N in its options it says N documents less than it
 * has.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bson/bson.h>

enum { OP_REPLY = 1, OP_QUERY = 2004, OP_MSG = 2013, LARGEST_BYTES = 1 << 20 };

struct header {
	int32_t bytes;
	int32_t id;
	int32_t answers;
	int32_t kind;
};

static char records_path[4096];
static const char **options;
static int option_count;
static long lose;

static long records_read(void)
{
	FILE *file = fopen(records_path, "r");
	long records = 0;
	if (file) {
		if (fscanf(file, "%ld", &records) != 1)
			records = 0;
		fclose(file);
	}
	return records;
}

static void records_write(long records)
{
	FILE *file = fopen(records_path, "w");
	if (!file)
		exit(3);
	fprintf(file, "%ld\n", records);
	fclose(file);
}

static void add_hello(bson_t *reply)
{
	BSON_APPEND_BOOL(reply, "ismaster", true);
	BSON_APPEND_BOOL(reply, "isWritablePrimary", true);
	BSON_APPEND_INT32(reply, "maxBsonObjectSize", 16 << 20);
	BSON_APPEND_INT32(reply, "maxMessageSizeBytes", 48 << 20);
	BSON_APPEND_INT32(reply, "maxWriteBatchSize", 100000);
	BSON_APPEND_INT32(reply, "minWireVersion", 0);
	BSON_APPEND_INT32(reply, "maxWireVersion", 21);
}

static void add_count(bson_t *reply)
{
	bson_t cursor, batch, first;
	BSON_APPEND_DOCUMENT_BEGIN(reply, "cursor", &cursor);
	BSON_APPEND_INT64(&cursor, "id", 0);
	BSON_APPEND_UTF8(&cursor, "ns", "ycsb.usertable");
	BSON_APPEND_ARRAY_BEGIN(&cursor, "firstBatch", &batch);
	BSON_APPEND_DOCUMENT_BEGIN(&batch, "0", &first);
	BSON_APPEND_INT64(&first, "n", records_read() - lose);
	bson_append_document_end(&batch, &first);
	bson_append_array_end(&cursor, &batch);
	bson_append_document_end(reply, &cursor);
}

static void add_options(bson_t *reply)
{
	bson_t parsed;
	BSON_APPEND_DOCUMENT_BEGIN(reply, "parsed", &parsed);
	for (int i = 0; i + 1 < option_count; i += 2)
		BSON_APPEND_UTF8(&parsed, options[i] + 2, options[i + 1]);
	bson_append_document_end(reply, &parsed);
}

static void add_status(bson_t *reply)
{
	bson_t tcmalloc;
	BSON_APPEND_DOCUMENT_BEGIN(reply, "tcmalloc", &tcmalloc);
	BSON_APPEND_BOOL(&tcmalloc, "usingPerCPUCaches", false);
	BSON_APPEND_INT32(&tcmalloc, "maxPerCPUCacheSizeBytes", 1572864);
	bson_append_document_end(reply, &tcmalloc);
}

static void answer(const bson_t *request, bson_t *reply)
{
	bson_iter_t iter;
	const char *command =
		bson_iter_init(&iter, request) && bson_iter_next(&iter) ? bson_iter_key(&iter) : "";

	if (!strcmp(command, "hello") || !strcasecmp(command, "ismaster"))
		add_hello(reply);
	else if (!strcmp(command, "aggregate"))
		add_count(reply);
	else if (!strcmp(command, "buildInfo"))
		BSON_APPEND_UTF8(reply, "version", "0.0.1-standin"),
			BSON_APPEND_UTF8(reply, "allocator", "system");
	else if (!strcmp(command, "getCmdLineOpts"))
		add_options(reply);
	else if (!strcmp(command, "serverStatus"))
		add_status(reply);
	else if (!strcmp(command, "standInLoad"))
		records_write((long)bson_iter_as_int64(&iter));
	BSON_APPEND_DOUBLE(reply, "ok", 1.0);
}

static int read_all(int connection, void *data, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t got = read(connection, (char *)data + done, bytes - done);
		if (got <= 0)
			return 0;
		done += (size_t)got;
	}
	return 1;
}

/* The document of a message: in a query behind flags, name, skip and limit; in OP_MSG behind flags and its
 * kind. */
static const uint8_t *document_of(const struct header *header, const uint8_t *body)
{
	if (header->kind == OP_QUERY)
		return body + 4 + strlen((const char *)body + 4) + 1 + 8;
	return body + 5;
}

static void send_reply(int connection, const struct header *asked, const bson_t *reply)
{
	uint8_t front[20] = {0};
	size_t front_bytes = asked->kind == OP_QUERY ? 20 : 5;
	struct header header = {(int32_t)(sizeof header + front_bytes + reply->len), 1, asked->id,
				asked->kind == OP_QUERY ? OP_REPLY : OP_MSG};
	if (asked->kind == OP_QUERY)
		front[16] = 1; /* one document */
	if (write(connection, &header, sizeof header) < 0 || write(connection, front, front_bytes) < 0 ||
	    write(connection, bson_get_data(reply), reply->len) < 0)
		_exit(0);
}

static void serve(int connection)
{
	static uint8_t body[LARGEST_BYTES];
	struct header header;

	while (read_all(connection, &header, sizeof header) && header.bytes > (int32_t)sizeof header &&
	       (size_t)header.bytes - sizeof header < sizeof body &&
	       read_all(connection, body, (size_t)header.bytes - sizeof header)) {
		const uint8_t *document = document_of(&header, body);
		int32_t bytes;
		bson_t request, reply = BSON_INITIALIZER;
		memcpy(&bytes, document, sizeof bytes);
		if (!bson_init_static(&request, document, (size_t)bytes))
			break;
		answer(&request, &reply);
		send_reply(connection, &header, &reply);
		bson_destroy(&reply);
	}
}

static void stop(int number)
{
	(void)number;
	exit(0);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const char *dbpath = ".";
	int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;

	if (argc == 2 && !strcmp(argv[1], "--version")) {
		puts("db version v0.0.1-standin");
		return 0;
	}
	options = (const char **)argv + 1;
	option_count = argc - 1;
	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--dbpath"))
			dbpath = argv[i + 1];
		else if (!strcmp(argv[i], "--port"))
			address.sin_port = htons((uint16_t)atoi(argv[i + 1]));
		else if (!strcmp(argv[i], "--lose"))
			lose = atol(argv[i + 1]);
	}
	snprintf(records_path, sizeof records_path, "%s/records", dbpath);
	signal(SIGTERM, stop);
	signal(SIGCHLD, SIG_IGN);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 64)) {
		perror("stand-in mongod");
		return 1;
	}
	for (;;) {
		int connection = accept(listener, NULL, NULL);
		if (connection >= 0 && fork() == 0) {
			serve(connection);
			_exit(0);
		}
		close(connection);
	}
}
