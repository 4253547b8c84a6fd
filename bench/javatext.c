#include "bench/javatext.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char *copy_text(char text[JAVATEXT_BYTES], const char *from)
{
	snprintf(text, JAVATEXT_BYTES, "%s", from);
	return text;
}

/* The shortest "d.dde[+-]dd" that reads back as `value`. */
static void shortest_digits(char out[JAVATEXT_BYTES], double value)
{
	for (int decimals = 0; decimals < 17; decimals++) {
		snprintf(out, JAVATEXT_BYTES, "%.*e", decimals, value);
		if (strtod(out, NULL) == value)
			break;
	}
}

/* digits (without a point) and the place of the point, from 1 for d.ddd: "12" and -1 is 0.0012. */
static void write_plain(char *text, const char *digits, int point)
{
	int count = (int)strlen(digits);

	if (point <= 0) {
		snprintf(text, JAVATEXT_BYTES, "0.%.*s%s", -point, "000", digits);
		return;
	}
	text += snprintf(text, 20, "%.*s", point, digits);
	for (int i = count; i < point; i++)
		*text++ = '0';
	snprintf(text, 20, ".%s", count > point ? digits + point : "0");
}

char *java_double(char text[JAVATEXT_BYTES], double value)
{
	char shortest[JAVATEXT_BYTES], digits[20];
	const char *exponent_text;
	int exponent, count = 0;

	if (isnan(value))
		return copy_text(text, "NaN");
	if (isinf(value))
		return copy_text(text, value < 0 ? "-Infinity" : "Infinity");
	if (value == 0)
		return copy_text(text, signbit(value) ? "-0.0" : "0.0");
	shortest_digits(shortest, fabs(value));
	exponent_text = strchr(shortest, 'e');
	exponent = (int)strtol(exponent_text + 1, NULL, 10);
	for (const char *c = shortest; c < exponent_text; c++)
		if (*c != '.')
			digits[count++] = *c;
	digits[count] = '\0';
	text[0] = '-';
	if (exponent >= -3 && exponent < 7)
		write_plain(text + (signbit(value) != 0), digits, exponent + 1);
	else
		snprintf(text + (signbit(value) != 0), JAVATEXT_BYTES - 1, "%c.%sE%d", digits[0],
			 count > 1 ? digits + 1 : "0", exponent);
	return text;
}

char *java_two_decimals(char text[JAVATEXT_BYTES], double value)
{
	size_t length;

	if (isnan(value))
		return copy_text(text, "NaN");
	if (isinf(value))
		return copy_text(text, value < 0 ? "-\u221E" : "\u221E");
	if (fabs(value) > 1e40)
		return java_double(text, value);
	length = (size_t)snprintf(text, JAVATEXT_BYTES, "%.2f", value);
	while (text[length - 1] == '0')
		text[--length] = '\0';
	if (text[length - 1] == '.')
		text[length - 1] = '\0';
	return text;
}

char *java_remaining(char text[JAVATEXT_BYTES], int64_t seconds)
{
	int64_t days = seconds / 86400, hours = seconds / 3600 % 24, minutes = seconds / 60 % 60;
	char *out = text;

	*out = '\0';
	if (days > 0)
		out += sprintf(out, "%" PRId64 " day%s ", days, days == 1 ? "" : "s");
	if (hours > 0)
		out += sprintf(out, "%" PRId64 " hour%s ", hours, hours == 1 ? "" : "s");
	if (days < 1 && minutes > 0)
		out += sprintf(out, "%" PRId64 " minute%s ", minutes, minutes == 1 ? "" : "s");
	if (out == text)
		sprintf(out, "%" PRId64 " second%s ", seconds, seconds >= 0 && seconds < 10 ? "" : "s");
	return text;
}

int64_t java_long(double value)
{
	if (isnan(value))
		return 0;
	if (value >= 0x1p63)
		return INT64_MAX;
	if (value < -0x1p63)
		return INT64_MIN;
	return (int64_t)value;
}

char *java_timestamp(char text[JAVATEXT_BYTES], int64_t wall_ms)
{
	time_t seconds = (time_t)(wall_ms / 1000);
	struct tm local;
	size_t length;

	localtime_r(&seconds, &local);
	length = strftime(text, JAVATEXT_BYTES, "%Y-%m-%d %H:%M:%S", &local);
	snprintf(text + length, JAVATEXT_BYTES - length, ":%03d", (int)(wall_ms % 1000));
	return text;
}

char *java_ordinal(char text[JAVATEXT_BYTES], double percent)
{
	static const char *const suffixes[] = {"th", "st", "nd", "rd"};
	int whole = (int)percent, last = whole % 10;

	if (percent != whole)
		return java_double(text, percent);
	snprintf(text, JAVATEXT_BYTES, "%d%s", whole, suffixes[last <= 3 && whole / 10 % 10 != 1 ? last : 0]);
	return text;
}
