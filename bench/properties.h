/*
 * Properties as YCSB takes them: Java properties files (-P) and single settings (-p).
 *
 * The later setting of a name wins; properties_merge() lets the command line win over files. The getters mark
 * a name as read, so that at the end those without effect can be named (properties_unread). A getter of a
 * typed value fails with EXIT_WRONG_USAGE and a text that names property, value and what would be right.
 */
#ifndef MTRACE_BENCH_PROPERTIES_H
#define MTRACE_BENCH_PROPERTIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/failure.h"

struct properties;

struct properties *properties_new(void);
void properties_free(struct properties *properties);

/* Sets one name. Both strings are copied. */
void properties_set(struct properties *properties, const char *name, const char *value);

/* Sets from "NAME=VALUE" of a -p option. Fails where there is no '=' or no name. */
bool properties_set_argument(struct properties *properties, const char *argument, struct failure *failure);

/*
 * Reads the text of a Java properties file: '#' and '!' begin a comment line, '=', ':' or white space ends a
 * name, a backslash at the end of a line continues it, and \t \n \r \f \uXXXX and \anything are escapes
 * (\uXXXX becomes UTF-8). `origin` is the file's name for messages. Fails on a malformed \u and on NUL bytes.
 */
bool properties_parse(struct properties *properties, const char *text, size_t bytes, const char *origin,
		      struct failure *failure);
bool properties_load(struct properties *properties, const char *path, struct failure *failure);

/* Sets everything that `from` holds in `into` too. */
void properties_merge(struct properties *into, const struct properties *from);

/* The value, owned by `properties`, or NULL. */
const char *properties_get(struct properties *properties, const char *name);

/* Typed values; `fallback` where the name is not set. White space around the value is ignored. */
bool properties_count(struct properties *properties, const char *name, uint64_t fallback, uint64_t low,
		      uint64_t high, uint64_t *value, struct failure *failure);
bool properties_real(struct properties *properties, const char *name, double fallback, double low,
		     double high, double *value, struct failure *failure);
bool properties_flag(struct properties *properties, const char *name, bool fallback, bool *value,
		     struct failure *failure);
/* A number of bytes with an optional suffix K, M or G (powers of 1024; "KB", "MiB" and small letters too). */
bool properties_bytes(struct properties *properties, const char *name, uint64_t fallback, uint64_t low,
		      uint64_t *value, struct failure *failure);
/* One of `names` (ended by NULL); *value becomes its index. */
bool properties_choice(struct properties *properties, const char *name, unsigned fallback,
		       const char *const *names, unsigned *value, struct failure *failure);

/* Calls `visit` for each name that no getter has asked for. */
void properties_unread(const struct properties *properties, void (*visit)(void *context, const char *name),
		       void *context);

#endif
