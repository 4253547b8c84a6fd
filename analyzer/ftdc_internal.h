/*
 * Inside the FTDC reader:
 *
 *   ftdc.c           which files, in which order; chunk after chunk
 *   ftdc_document.c  the documents of a file, and the next one after damage
 *   ftdc_chunk.c     a chunk: inflated, its deltas added up
 *   ftdc_schema.c    the metrics of a sample's document: names and values
 *   ftdc_again.c     the same, quickly, for a document that differs from the one before by its values alone
 *   ftdc_metadata.c  what server and machine say of themselves
 */
#ifndef MTRACE_FTDC_INTERNAL_H
#define MTRACE_FTDC_INTERNAL_H

#include <bson/bson.h>
#include <stdio.h>

#include "analyzer/ftdc.h"

/* ---- documents ----------------------------------------------------------------------------------------- */

enum ftdc_document_type { FTDC_TYPE_DESCRIPTION = 0, FTDC_TYPE_CHUNK = 1, FTDC_TYPE_PARAMETERS = 2 };

struct ftdc_document {
	uint64_t offset_bytes;
	uint32_t length_bytes;
	int64_t id_ms;
	int32_t type;	     /* may be one that this reader does not know */
	int32_t count;	     /* of type 2: 0 whole, above 0 changes; 0 where there is none */
	const uint8_t *data; /* field "data", subtype 0; NULL where there is none */
	uint32_t data_bytes;
	const uint8_t *inner; /* field "doc", a document; NULL where there is none */
	uint32_t inner_bytes;
};

struct ftdc_source {
	FILE *file;
	const char *path;
	uint64_t offset_bytes; /* of what is read next */
	bool interim;
	int64_t described_ms; /* _id of its newest type 0 document; INT64_MIN before that */
};

enum ftdc_read { FTDC_READ_END, FTDC_READ_DOCUMENT, FTDC_READ_DAMAGE };

/*
 * Reads the document at source->offset_bytes into *buffer, which grows, and moves on past it. DAMAGE with
 * `why` set (a constant) where there is none; the offset is then as before.
 */
enum ftdc_read ftdc_read_document(struct ftdc_source *source, uint8_t **buffer, size_t *capacity,
				  struct ftdc_document *document, const char **why);

/* Moves on to the next place behind `offset_bytes` that looks like a document, or to the end of the file. */
void ftdc_resync(struct ftdc_source *source, uint64_t offset_bytes);

/* ---- schema -------------------------------------------------------------------------------------------- */

#define FTDC_NONE SIZE_MAX

struct ftdc_metric {
	size_t name; /* offset in text */
	int64_t value;
};

/* Bytes of the document that may change while the metrics stay: the value of a field, without its length. */
struct ftdc_field {
	uint32_t offset_bytes; /* rises from field to field */
	uint32_t bytes;
	uint32_t type; /* bson_type_t; BSON_TYPE_EOD where it is no metric */
};

struct ftdc_schema {
	struct ftdc_metric *metrics;
	size_t count, capacity;
	char *text; /* names, each with its NUL */
	size_t text_bytes, text_capacity;
	size_t time_index; /* the metric that tells the time: "start", or the first date; or FTDC_NONE */
	uint8_t *document; /* the one that it was read from */
	size_t document_bytes, document_capacity;
	struct ftdc_field *fields;
	size_t field_count, field_capacity;
};

/* Reads the metrics of a sample's document, in place of what was there. NULL, or why not (a constant). */
const char *ftdc_schema_read(struct ftdc_schema *schema, const bson_t *sample);
/* Its fraction cut off; the nearest there is where an int64_t cannot hold it, 0 for NaN. */
int64_t ftdc_from_double(double value);
int64_t ftdc_from_decimal(const bson_decimal128_t *decimal);

/*
 * Takes the values from `document` where that has the very fields that the schema was read from, which is the
 * case for nearly each chunk behind the first; false, with nothing changed, where it has not.
 */
bool ftdc_schema_again(struct ftdc_schema *schema, const uint8_t *document, size_t bytes);

bool ftdc_schema_same(const struct ftdc_schema *a, const struct ftdc_schema *b);
void ftdc_schema_free(struct ftdc_schema *schema);

/* ---- chunks -------------------------------------------------------------------------------------------- */

struct ftdc_chunks {
	uint8_t *inflated;
	size_t inflated_capacity;
	struct ftdc_schema schema, next; /* that of the last chunk; room for the one being read */
	uint64_t schema_number;		 /* 0: none yet */
	size_t *column_of;		 /* of each metric: its column, or FTDC_NONE */
	size_t column_of_capacity;
	struct ftdc_column *columns;
	size_t column_count, columns_capacity;
	int64_t *values; /* times, then the columns, one after the other */
	size_t values_capacity;
	uint64_t inflated_bytes;
};

/* Decodes a chunk's data. NULL, or why not (a constant); `chunk` is filled in but for file and offset. */
const char *ftdc_chunk_decode(struct ftdc_chunks *chunks, const struct ftdc_options *options,
			      const uint8_t *data, size_t bytes, struct ftdc_chunk *chunk);
void ftdc_chunks_free(struct ftdc_chunks *chunks);

/* What the functions above say when memory runs out: the one reason that is no damage. Compare the pointer.
 */
extern const char ftdc_no_memory[];

/* ---- metadata ------------------------------------------------------------------------------------------ */

struct ftdc_metadata {
	bson_t *description; /* NULL: none yet */
	bson_t *parameters;
};

/* NULL, or why not (a constant). */
const char *ftdc_metadata_read(struct ftdc_metadata *metadata, const struct ftdc_document *document);
void ftdc_metadata_free(struct ftdc_metadata *metadata);
/* ftdc_text(), ftdc_number() */
bool ftdc_metadata_text(const struct ftdc_metadata *metadata, const char *path, char *text, size_t size);
bool ftdc_metadata_number(const struct ftdc_metadata *metadata, const char *path, int64_t *value);

#endif
