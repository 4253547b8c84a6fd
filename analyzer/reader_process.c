#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/reader_internal.h"

/* A copy of `bytes` at `text` with `\n` and `\\` resolved. NUL bytes end it. */
static char *unescape(const char *text, size_t bytes)
{
	char *copy = malloc(bytes + 1);
	char *to = copy;
	for (size_t i = 0; copy && i < bytes; i++) {
		if (text[i] == '\\' && i + 1 < bytes && (text[i + 1] == 'n' || text[i + 1] == '\\'))
			*to++ = text[++i] == 'n' ? '\n' : '\\';
		else
			*to++ = text[i];
	}
	if (copy)
		*to = '\0';
	return copy;
}

static bool add_key(struct trace *trace, const char *line, size_t bytes)
{
	const char *equals = memchr(line, '=', bytes);
	if (!equals)
		return true;
	if (!array_reserve(&trace->keys, &trace->keys_capacity, trace->keys_count + 1, sizeof *trace->keys))
		return false;
	size_t name_bytes = (size_t)(equals - line);
	struct process_key *key = &trace->keys[trace->keys_count++];
	key->name = unescape(line, name_bytes);
	key->value = unescape(equals + 1, bytes - name_bytes - 1);
	return key->name && key->value;
}

bool process_parse(struct trace *trace, const char *text, size_t bytes)
{
	const char *end = text + bytes;
	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((stop ? stop : end) - text);
		if (!add_key(trace, text, length))
			return false;
		text += length + 1;
	}
	return true;
}

void process_free(struct trace *trace)
{
	for (size_t i = 0; i < trace->keys_count; i++) {
		free(trace->keys[i].name);
		free(trace->keys[i].value);
	}
	free(trace->keys);
}

const struct process_key *trace_keys(const struct trace *trace, size_t *count)
{
	*count = trace->keys_count;
	return trace->keys;
}

const char *trace_key(const struct trace *trace, const char *key)
{
	for (size_t i = 0; i < trace->keys_count; i++)
		if (strcmp(trace->keys[i].name, key) == 0)
			return trace->keys[i].value;
	return NULL;
}

bool trace_key_number(const struct trace *trace, const char *key, uint64_t *value)
{
	const char *text = trace_key(trace, key);
	if (!text || *text < '0' || *text > '9')
		return false;
	char *end;
	errno = 0;
	uint64_t number = strtoull(text, &end, 10);
	if (errno || *end)
		return false;
	*value = number;
	return true;
}
