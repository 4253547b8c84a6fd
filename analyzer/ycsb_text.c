#include "analyzer/ycsb_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct text text_of(const char *string)
{
	return (struct text){string, string + strlen(string)};
}

const char *text_find(struct text text, const char *string)
{
	return memmem(text.at, text_length(text), string, strlen(string));
}

bool text_contains(struct text text, const char *string)
{
	return text_find(text, string) != NULL;
}

bool text_skip_past(struct text *text, const char *string, struct text *before)
{
	const char *found = text_find(*text, string);
	if (!found)
		return false;
	if (before)
		*before = (struct text){text->at, found};
	text->at = found + strlen(string);
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct text text_trim(struct text text)
{
	while (text.at < text.end && is_blank(*text.at))
		text.at++;
	while (text.at < text.end && is_blank(text.end[-1]))
		text.end--;
	return text;
}

bool text_take_field(struct text *text, char separator, struct text *field)
{
	if (text_empty(*text))
		return false;
	const char *found = memchr(text->at, separator, text_length(*text));
	*field = (struct text){text->at, found ? found : text->end};
	text->at = found ? found + 1 : text->end;
	return true;
}

void text_copy(struct text text, char *buffer, size_t size)
{
	size_t length = text_length(text) < size ? text_length(text) : size - 1;
	memcpy(buffer, text.at, length);
	buffer[length] = 0;
}

/* ---- digits ------------------------------------------------------------------------------------------ */

struct script {
	const char *prefix;	 /* leading bytes of the digits in UTF-8 */
	unsigned char zero_byte; /* last byte of digit 0 */
};

static const struct script scripts[] = {
	{"\xd9", 0xa0},	    /* Arabic-Indic, U+0660 */
	{"\xdb", 0xb0},	    /* Persian, U+06F0 */
	{"\xe0\xb9", 0x90}, /* Thai, U+0E50 */
	{"\xe0\xa5", 0xa6}, /* Devanagari, U+0966 */
};

static __attribute__((noinline)) bool take_foreign_digit(struct text *text, unsigned *digit)
{
	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
		size_t length = strlen(scripts[i].prefix);
		if (text_length(*text) <= length || !text_starts(*text, scripts[i].prefix))
			continue;
		unsigned value = (unsigned)(unsigned char)text->at[length] - scripts[i].zero_byte;
		if (value > 9)
			continue;
		*digit = value;
		text->at += length + 1;
		return true;
	}
	return false;
}

static inline bool take_digit(struct text *text, unsigned *digit)
{
	if (text_empty(*text))
		return false;
	unsigned value = (unsigned)(unsigned char)*text->at - '0';
	if (value <= 9) {
		*digit = value;
		text->at++;
		return true;
	}
	return (*text->at & 0x80) && take_foreign_digit(text, digit);
}

bool text_take_digit(struct text *text, unsigned *digit)
{
	return take_digit(text, digit);
}

bool text_take_digits(struct text *text, unsigned digits, unsigned *value)
{
	struct text ahead = *text;
	unsigned sum = 0, digit;
	for (unsigned i = 0; i < digits; i++) {
		if (!take_digit(&ahead, &digit))
			return false;
		sum = 10 * sum + digit;
	}
	*value = sum;
	*text = ahead;
	return true;
}

bool text_take_u64(struct text *text, uint64_t *value)
{
	const char *at = text->at;
	uint64_t sum = 0;
	for (; at < text->end && *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum))
			return false;
	if (at == text->at)
		return false;
	*value = sum;
	text->at = at;
	return true;
}

bool text_take_i64(struct text *text, int64_t *value)
{
	struct text ahead = *text;
	bool negative = text_skip(&ahead, "-");
	uint64_t magnitude;
	if (!text_take_u64(&ahead, &magnitude) || magnitude > INT64_MAX)
		return false;
	*value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
	*text = ahead;
	return true;
}

/* ---- localised numbers ------------------------------------------------------------------------------- */

static bool take_minus(struct text *text)
{
	if (text_empty(*text) || (*text->at >= '0' && *text->at <= '9'))
		return false;
	text_skip(text, "\xd8\x9c"); /* U+061C, which Arabic locales put before the sign */
	return text_skip(text, "-") || text_skip(text, "\xe2\x88\x92" /* U+2212 */);
}

static bool take_decimal_mark(struct text *text)
{
	struct text ahead = *text;
	unsigned digit;
	if (!text_skip(&ahead, ".") && !text_skip(&ahead, ",") && !text_skip(&ahead, "\xd9\xab" /* U+066B */))
		return false;
	*text = ahead;
	return text_take_digit(&ahead, &digit);
}

/* Digits into a double; false where there is none. */
static bool take_digit_run(struct text *text, double *sum, double *scale)
{
	unsigned digit;
	bool any = false;
	while (take_digit(text, &digit)) {
		*sum = *sum * 10 + digit;
		*scale *= 10;
		any = true;
	}
	return any;
}

static bool take_special(struct text *text, double *value)
{
	if (text_skip(text, "\xe2\x88\x9e" /* U+221E */) || text_skip(text, "Infinity"))
		*value = INFINITY;
	else if (text_skip(text, "NaN") || text_skip(text, "\xef\xbf\xbd" /* U+FFFD */) ||
		 text_empty(*text) || *text->at == ',' || *text->at == ']')
		*value = NAN;
	else
		return false;
	return true;
}

bool text_take_number(struct text *text, double *value)
{
	struct text ahead = *text;
	bool negative = take_minus(&ahead);
	double sum = 0, scale = 1;
	if (take_digit_run(&ahead, &sum, &scale)) {
		struct text behind = ahead;
		scale = 1;
		if (take_decimal_mark(&behind) && take_digit_run(&behind, &sum, &scale))
			ahead = behind;
		*value = sum / scale;
	} else if (!take_special(&ahead, value)) {
		return false;
	}
	if (negative)
		*value = -*value;
	*text = ahead;
	return true;
}

/* ---- plain numbers ----------------------------------------------------------------------------------- */

bool text_double(struct text text, double *value)
{
	char buffer[64];
	char *stop;
	if (text_empty(text) || text_length(text) >= sizeof buffer || is_blank(*text.at))
		return false;
	text_copy(text, buffer, sizeof buffer);
	*value = strtod(buffer, &stop);
	return *stop == 0;
}

bool text_count(struct text text, uint64_t *value)
{
	struct text ahead = text;
	if (text_take_u64(&ahead, value) && text_empty(ahead))
		return true;
	double number;
	if (!text_double(text, &number) || !(number >= 0) || number != floor(number) || number >= 0x1p63)
		return false;
	*value = (uint64_t)number;
	return true;
}
