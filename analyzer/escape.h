/*
 * Text from outside (paths, symbols, operation names) into the languages of a report. Each writes bytes that
 * are not UTF-8, and control characters, as '?', so that what comes out is always valid text on one line.
 */
#ifndef MTRACE_ESCAPE_H
#define MTRACE_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/* For element content and quoted attributes. */
void escape_html(FILE *file, const char *text);

/* A CSV field (RFC 4180): in quotes where it holds a comma, a quote or a blank at an end. A field that a
 * spreadsheet would take for a formula (=, +, -, @ at its start) gets an apostrophe in front. */
void escape_csv(FILE *file, const char *text);

/*
 * A gnuplot string in single quotes, in which gnuplot replaces nothing: no `command`, no @macro, no
 * backslash. A quote inside becomes a typographic one: gnuplot 5.4 takes a doubled one at the start for an
 * empty string.
 */
void escape_gnuplot(FILE *file, const char *text);

/* Copies `text`, cut in its middle to `width` characters (not bytes). Returns `out`. */
const char *escape_shorten(const char *text, size_t width, char *out, size_t out_bytes);

#endif
