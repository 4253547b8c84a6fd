/*
 * Reading words and numbers from the front of a piece of text, as the parsers of YCSB's output need it.
 *
 * A struct text points into a line of somebody else; it owns nothing and is passed by value or moved forward.
 * A text_take_*() that returns false has not moved it.
 *
 * Java prints status lines in the client's language: decimal comma or Arabic mark, Arabic, Persian,
 * Devanagari or Thai digits. text_take_number() reads all of them; everything in the export block is plain
 * ASCII.
 */
#ifndef MTRACE_YCSB_TEXT_H
#define MTRACE_YCSB_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text {
	const char *at;
	const char *end;
};

static inline size_t text_length(struct text text)
{
	return (size_t)(text.end - text.at);
}

static inline bool text_empty(struct text text)
{
	return text.at >= text.end;
}

struct text text_of(const char *string);

/* Inline, for the compiler to compare literals as numbers. */
static inline bool text_starts(struct text text, const char *string)
{
	size_t length = strlen(string);
	return text_length(text) >= length && memcmp(text.at, string, length) == 0;
}

static inline bool text_equals(struct text text, const char *string)
{
	return text_length(text) == strlen(string) && text_starts(text, string);
}

bool text_contains(struct text text, const char *string);

/* Where `string` first stands in the text; NULL where it does not. */
const char *text_find(struct text text, const char *string);

/* Moves behind `string` where the text starts with it. */
static inline bool text_skip(struct text *text, const char *string)
{
	if (!text_starts(*text, string))
		return false;
	text->at += strlen(string);
	return true;
}

/* Moves behind the next place of `string`; what stood before it goes into *before (may be NULL). */
bool text_skip_past(struct text *text, const char *string, struct text *before);

/* Without blanks, tabs and line ends at both ends. */
struct text text_trim(struct text text);

/* Takes the text up to the next `separator`, which is skipped, or all that is left. False where nothing is
 * left. */
bool text_take_field(struct text *text, char separator, struct text *field);

/* Copies, cut to `size` - 1 bytes, and ends with a zero byte. */
void text_copy(struct text text, char *buffer, size_t size);

/* One decimal digit of any of the scripts above. */
bool text_take_digit(struct text *text, unsigned *digit);

/* Exactly `digits` digits. */
bool text_take_digits(struct text *text, unsigned digits, unsigned *value);

/* ASCII digits; false also where the value does not fit. */
bool text_take_u64(struct text *text, uint64_t *value);
bool text_take_i64(struct text *text, int64_t *value);

/*
 * A number as DecimalFormat prints it in any locale: optional minus, digits, optional mark and digits. "NaN",
 * U+FFFD and nothing at all (an empty average is printed so) give NaN, the sign for infinity gives infinity.
 * A comma is a decimal mark only with a digit behind it: in "Avg=19,59, 90=45" the second one separates.
 */
bool text_take_number(struct text *text, double *value);

/* A whole text that Java's Double.toString or Long.toString printed: "9759.0", "1.0E7", "NaN", "-Infinity".
 */
bool text_double(struct text text, double *value);

/* A count, which releases up to 0.12 print as a double: "499.0". False for negative or fractional values. */
bool text_count(struct text text, uint64_t *value);

#endif
