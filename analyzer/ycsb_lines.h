/*
 * Lines of a text file of unknown encoding, one at a time, in bounded memory.
 *
 * UTF-8 and anything like it is passed through; UTF-16 (with a byte order mark, or recognised by its zero
 * bytes: PowerShell's redirection writes it) becomes UTF-8. Line ends are LF or CR LF. A line longer than
 * YCSB_LINE_MAX is cut there and its rest skipped.
 */
#ifndef MTRACE_YCSB_LINES_H
#define MTRACE_YCSB_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/error.h"
#include "analyzer/ycsb_text.h"

#define YCSB_LINE_MAX (1u << 20)

struct ycsb_line {
	struct text text;      /* without its end; valid until the next call */
	uint64_t number;       /* from 1 */
	uint64_t offset_bytes; /* of its first byte in the file */
	bool ended;	       /* false: the file stops within it */
};

struct ycsb_lines;

/* NULL with `error` filled in where the file cannot be opened or read. The result is the caller's to close.
 */
struct ycsb_lines *ycsb_lines_open(const char *path, struct error *error);

/* False at the end, or where reading fails, which fills in `error`. */
bool ycsb_lines_next(struct ycsb_lines *lines, struct ycsb_line *line, struct error *error);

void ycsb_lines_close(struct ycsb_lines *lines);

#endif
