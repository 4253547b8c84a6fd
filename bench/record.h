/*
 * Documents: the fields of a record as one value of the store, and the copies that a client makes of them.
 *
 * Stored form, all numbers little-endian and 32 bits wide:
 *     total bytes (these four included) | number of fields |
 *     per field: bytes of name | bytes of value | name | value
 * It stands for BSON: sizes first, names in every document, read front to back.
 *
 * What comes out of a store is not trusted: a document whose lengths do not add up is refused.
 */
#ifndef MTRACE_BENCH_RECORD_H
#define MTRACE_BENCH_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A field inside somebody else's memory. */
struct field_view {
	const char *name;
	const char *value;
	uint32_t name_bytes;
	uint32_t value_bytes;
};

/* A field of a client's copy: a block of its own, name and value one after the other. */
struct field {
	uint32_t name_bytes;
	uint32_t value_bytes;
	char bytes[];
};

/* A client's copy of a document: one block for this and one for each field. */
struct record {
	uint32_t count;
	struct field *fields[];
};

/* Bytes of the stored form. */
size_t record_stored_bytes(const struct field_view *fields, uint32_t count);

/*
 * The stored form in a new block of malloc(), which the caller frees; *bytes is its size. NULL without memory
 * or where it would pass 4 GiB.
 */
void *record_encode(const struct field_view *fields, uint32_t count, size_t *bytes);

/* True where `data` is a whole document; otherwise *reason says (in a few words, static) what is wrong. */
bool record_check(const void *data, size_t bytes, const char **reason);

/*
 * Copies a stored document into blocks of malloc(), as a driver does: all fields, or only the one called
 * `only` where that is not NULL. The caller frees it with record_free(). NULL where it is malformed or memory
 * ran out.
 */
struct record *record_decode(const void *data, size_t bytes, const char *only, const char **reason);
void record_free(struct record *record);

/*
 * A new document (malloc) in which the fields named in `changes` have their new values; those that the old
 * one lacks are added at its end, as $set does. NULL where the old one is malformed or memory ran out.
 */
void *record_change(const void *data, size_t bytes, const struct field_view *changes, uint32_t count,
		    size_t *new_bytes, const char **reason);

#endif
