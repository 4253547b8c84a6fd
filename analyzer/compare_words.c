#include "analyzer/compare_words.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void words_add(struct words *words, const char *format, ...)
{
	va_list arguments;
	if (words->used + 1 >= words->bytes)
		return;
	va_start(arguments, format);
	int length = vsnprintf(words->text + words->used, words->bytes - words->used, format, arguments);
	va_end(arguments);
	if (length > 0)
		words->used += (size_t)length < words->bytes - words->used ? (size_t)length
									   : words->bytes - words->used - 1;
}

static int decimals(double percent)
{
	double size = fabs(percent);
	return size >= 9.95 ? 0 : size >= 0.95 ? 1 : 2;
}

const char *words_percent(char text[WORDS_PERCENT_BYTES], double fraction)
{
	double percent = 100 * fraction;
	if (isnan(percent))
		snprintf(text, WORDS_PERCENT_BYTES, "?");
	else
		snprintf(text, WORDS_PERCENT_BYTES, "%.*f", decimals(percent), percent);
	return text;
}

const char *words_change(char text[WORDS_PERCENT_BYTES], double fraction)
{
	double percent = 100 * fraction;
	if (isnan(percent))
		snprintf(text, WORDS_PERCENT_BYTES, "?");
	else
		snprintf(text, WORDS_PERCENT_BYTES, "%+.*f", decimals(percent), percent);
	return text;
}
