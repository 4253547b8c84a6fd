#include "analyzer/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

char *format_count(char *text, uint64_t value)
{
	char digits[24];
	int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
	char *to = text;
	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return text;
}

char *format_bytes(char *text, double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	unsigned unit = 0;
	for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
		bytes /= 1024;
	snprintf(text, FORMAT_TEXT_BYTES, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
	return text;
}

char *format_seconds(char *text, double seconds)
{
	if (seconds < 120)
		snprintf(text, FORMAT_TEXT_BYTES, "%.*f s", seconds < 1 ? 3 : 1, seconds);
	else if (seconds < 7200)
		snprintf(text, FORMAT_TEXT_BYTES, "%.0f min %02.0f s", (double)(int64_t)(seconds / 60),
			 (double)((int64_t)seconds % 60));
	else
		snprintf(text, FORMAT_TEXT_BYTES, "%.0f h %02.0f min", (double)(int64_t)(seconds / 3600),
			 (double)((int64_t)seconds / 60 % 60));
	return text;
}

char *format_utc(char *text, int64_t realtime_ns)
{
	int64_t seconds = realtime_ns / 1000000000, rest = realtime_ns % 1000000000;
	if (rest < 0) {
		seconds--;
		rest += 1000000000;
	}
	time_t time = (time_t)seconds;
	struct tm parts;
	char date[32] = "?";
	if (gmtime_r(&time, &parts))
		strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(text, FORMAT_TEXT_BYTES, "%s.%03dZ", date, (int)(rest / 1000000));
	return text;
}

char *format_percent(char *text, double part, double whole)
{
	if (whole > 0)
		snprintf(text, FORMAT_TEXT_BYTES, "%.1f%%", 100 * part / whole);
	else
		snprintf(text, FORMAT_TEXT_BYTES, "-");
	return text;
}
