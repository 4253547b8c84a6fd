/*
 * The machine's huge page settings and counters in a trace (BLOCK_SETTINGS), one block after the other.
 * trace/FORMAT.md lists the names.
 */
#ifndef MTRACE_READER_SETTINGS_H
#define MTRACE_READER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/error.h"
#include "analyzer/reader.h"
#include "trace/layout.h"

struct setting_line {
	const char *name;
	const char *value;
};

/* One block: what has changed since the one before. */
struct trace_settings {
	uint64_t time; /* time units */
	bool whole;    /* other names are known no more */
	const struct setting_line *lines;
	size_t count;
};

struct settings_reader;

/* NULL when out of memory. `trace` must outlive it. */
struct settings_reader *settings_reader_open(struct trace *trace);
void settings_reader_close(struct settings_reader *reader); /* NULL is fine */

/* When the next block was read; UINT64_MAX: there is none. */
uint64_t settings_reader_due(struct settings_reader *reader);

/*
 * The next block of `time` or before; its contents stay valid until the next call. False where there is none,
 * or on an error, which sets error->code. Damaged ones are listed by trace_damage() and passed over; a line
 * without '=' is passed over alone.
 */
bool settings_reader_next(struct settings_reader *reader, uint64_t time, struct trace_settings *settings,
			  struct error *error);

#endif
