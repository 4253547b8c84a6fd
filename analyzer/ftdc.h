/*
 * FTDC: what mongod records about itself, once a second, in <dbPath>/diagnostic.data.
 *
 * A file is a row of BSON documents. Type 0 describes server and machine and stands at the start of each
 * file, type 1 holds a chunk: up to some hundred samples of the same metrics, compressed, type 2
 * (MongoDB 8.0) holds the server's parameters, whole or as changes to the ones before. The reader goes
 * through them in the order of time and hands out chunk after chunk; it keeps one chunk in memory, whatever
 * the length of the files.
 *
 *   metric   one number of a sample, named by its path in the sample's document: "serverStatus.mem.resident".
 *            A timestamp gives two, PATH.t (seconds since 1970) and PATH.i (its increment). Text has none.
 *   schema   the metrics of a chunk, in order; each chunk has one of its own, most have that of their
 *            predecessor.
 *   value    a 64-bit integer: numbers as they are, fractions cut off toward zero (that is what mongod keeps
 *            of them), booleans as 0 and 1, dates as milliseconds since 1970.
 *
 * Input is untrusted. What is broken is skipped, said in ftdc_damage(), and the reader goes on at the next
 * thing that looks like a document; the limits below bound the memory that a file can make it take.
 */
#ifndef MTRACE_FTDC_H
#define MTRACE_FTDC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/error.h"

#define FTDC_DOCUMENT_MAX_BYTES (16u << 20) /* a document of a file, and a chunk inflated; mongod: 10 MB */
#define FTDC_METRICS_MAX	(UINT32_C(1) << 18) /* in a chunk; MongoDB 8 has about 3,000 */
#define FTDC_SAMPLES_MAX	(UINT32_C(1) << 16) /* in a chunk; mongod's default is 300 */
#define FTDC_VALUES_MAX		(UINT64_C(1) << 24) /* metrics times samples of a chunk */
#define FTDC_NAME_MAX_BYTES	2048u
#define FTDC_DEPTH_MAX		10  /* documents inside each other in a sample, as in mongod */
#define FTDC_DAMAGE_MAX		256 /* entries kept; ftdc_damage_count() counts on */

struct ftdc_options {
	/*
	 * Asked for each metric of each schema that differs from the one before: is it wanted? Chunks come
	 * with the wanted ones only, which saves most of the memory and some of the time. NULL: all.
	 */
	bool (*wanted)(void *context, const char *name);
	void *context;
	/* Chunks come without values and times (samples is 0), at a fraction of the cost: to learn the names.
	 */
	bool names_only;
};

struct ftdc_column {
	const char *name;
	const int64_t *values; /* chunk.samples of them; NULL with names_only */
};

/* Owned by the reader, valid until the next ftdc_next(). */
struct ftdc_chunk {
	const char *file;
	uint64_t offset_bytes;
	uint64_t schema;	/* same number: same columns as in the chunk before */
	size_t metrics;		/* in the file, wanted or not */
	size_t samples;		/* after the repeated ones were left out */
	size_t repeated;	/* samples left out, since an earlier chunk had them (see ftdc_next) */
	const int64_t *time_ms; /* since 1970 UTC; grows by the period, but for gaps and set clocks */
	const struct ftdc_column *columns;
	size_t column_count;
};

struct ftdc_damage {
	const char *file;
	uint64_t offset_bytes;
	uint64_t bytes; /* passed over */
	char text[120];
};

struct ftdc;

/*
 * Opens a file, or a folder: its metrics.* in the order of their names, which is that of time,
 * metrics.interim last. A database path, with a folder diagnostic.data in it, will do as well. NULL with
 * `error` filled in (ERROR_INPUT) where there is nothing to read. `options` may be NULL. Free with
 * ftdc_close().
 */
struct ftdc *ftdc_open(const char *path, const struct ftdc_options *options, struct error *error);
void ftdc_close(struct ftdc *ftdc); /* NULL is fine */

/*
 * The next chunk that can be read; false at the end, and when out of memory (then `error` is filled in).
 * Damage is no error. A crash, or a copy of a running server's folder, can leave samples both in
 * metrics.interim and in an archive; where samples of metrics.interim, or what mongod recovered from it, are
 * not newer than what came before, they are left out.
 */
bool ftdc_next(struct ftdc *ftdc, struct ftdc_chunk *chunk, struct error *error);

/*
 * What the newest description (type 0), and then the newest parameters (type 2), say under `path`, without
 * the leading "doc.": "buildInfo.version", "getParameter.tcmallocReleaseRate". Text gets numbers and booleans
 * ("true", "false") too, cut off to `size` bytes. False where there is no such field, or it has another type.
 */
bool ftdc_text(const struct ftdc *ftdc, const char *path, char *text, size_t size);
bool ftdc_number(const struct ftdc *ftdc, const char *path, int64_t *value);

/* Paths of the files, in the order in which they are read. */
const char *const *ftdc_files(const struct ftdc *ftdc, size_t *count);

/* Bytes read and bytes in all, for progress. */
uint64_t ftdc_done_bytes(const struct ftdc *ftdc);
uint64_t ftdc_total_bytes(const struct ftdc *ftdc);
uint64_t ftdc_inflated_bytes(const struct ftdc *ftdc); /* of the chunks so far; less with names_only */

/* In the order found, complete at the end. *count never exceeds FTDC_DAMAGE_MAX. Owned by the reader. */
const struct ftdc_damage *ftdc_damage(const struct ftdc *ftdc, size_t *count);
uint64_t ftdc_damage_count(const struct ftdc *ftdc);

#endif
