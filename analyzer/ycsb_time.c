/* Civil time, without and with this machine's zone. */

#include <time.h>

#include "analyzer/ycsb_parse.h"

#define NS_PER_S 1000000000LL

/* Days since 1970-01-01: years start in March, so that the leap day is the last of its year. */
static int64_t civil_days(int64_t year, unsigned month, unsigned day)
{
	int64_t y = month > 2 ? year : year - 1;
	int64_t months_since_march = (month + 9) % 12;
	int64_t leap_days = y / 4 - y / 100 + y / 400;
	const int64_t days_to_1970 = 719469;
	return 365 * y + leap_days + (153 * months_since_march + 2) / 5 + day - days_to_1970;
}

int64_t ycsb_civil_s(int64_t year, unsigned month, unsigned day, unsigned hour, unsigned minute,
		     unsigned second)
{
	return civil_days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
}

bool ycsb_civil_valid(int64_t year, unsigned month, unsigned day, unsigned hour, unsigned minute,
		      unsigned second)
{
	return year >= 1970 && year < 2262 && month >= 1 && month <= 12 && day >= 1 && day <= 31 &&
	       hour < 24 && minute < 60 && second < 61;
}

int64_t ycsb_local_zone_s(int64_t civil_s)
{
	time_t as_utc = (time_t)civil_s;
	struct tm civil;
	if (!gmtime_r(&as_utc, &civil))
		return 0;
	civil.tm_isdst = -1;
	return mktime(&civil) == (time_t)-1 ? 0 : civil.tm_gmtoff;
}

/* Digits behind a decimal point, to nanoseconds; digits beyond them are dropped. */
static int64_t take_fraction_ns(struct text *text)
{
	int64_t ns = 0, unit = NS_PER_S / 10;
	unsigned digit;
	if (!text_skip(text, "."))
		return 0;
	for (; text_take_digit(text, &digit); unit /= 10)
		ns += digit * unit;
	return ns;
}

/* "Z", "+02:00", "+0200", "+02" or nothing, which stands for this machine's zone. */
static bool take_zone(struct text *text, int64_t civil_s, int64_t *zone_s)
{
	unsigned hours, minutes = 0;
	if (text_skip(text, "Z")) {
		*zone_s = 0;
		return true;
	}
	bool west = text_starts(*text, "-");
	if (!text_skip(text, "+") && !text_skip(text, "-")) {
		*zone_s = ycsb_local_zone_s(civil_s);
		return text_empty(*text);
	}
	if (!text_take_digits(text, 2, &hours))
		return false;
	text_skip(text, ":");
	if (!text_empty(*text) && !text_take_digits(text, 2, &minutes))
		return false;
	*zone_s = (west ? -1 : 1) * (int64_t)(hours * 3600 + minutes * 60);
	return hours < 24 && minutes < 60;
}

static bool parse_iso(struct text text, int64_t *unix_ns)
{
	unsigned year, month, day, hour, minute, second = 0;
	bool date = text_take_digits(&text, 4, &year) && text_skip(&text, "-") &&
		    text_take_digits(&text, 2, &month) && text_skip(&text, "-") &&
		    text_take_digits(&text, 2, &day);
	if (!date || (!text_skip(&text, "T") && !text_skip(&text, " ")))
		return false;
	if (!text_take_digits(&text, 2, &hour) || !text_skip(&text, ":") ||
	    !text_take_digits(&text, 2, &minute))
		return false;
	if (text_skip(&text, ":") && !text_take_digits(&text, 2, &second))
		return false;
	int64_t fraction_ns = take_fraction_ns(&text), zone_s;
	if (!ycsb_civil_valid(year, month, day, hour, minute, second))
		return false;
	int64_t civil_s = ycsb_civil_s(year, month, day, hour, minute, second);
	if (!take_zone(&text, civil_s, &zone_s) || !text_empty(text))
		return false;
	*unix_ns = (civil_s - zone_s) * NS_PER_S + fraction_ns;
	return true;
}

bool ycsb_parse_time(const char *string, int64_t *unix_ns)
{
	struct text text = text_trim(text_of(string)), ahead = text;
	uint64_t seconds;
	if (text_take_u64(&ahead, &seconds) && (text_empty(ahead) || text_starts(ahead, "."))) {
		int64_t fraction_ns = take_fraction_ns(&ahead);
		*unix_ns = (int64_t)(seconds % (INT64_MAX / NS_PER_S)) * NS_PER_S + fraction_ns;
		return text_empty(ahead) && seconds < INT64_MAX / NS_PER_S;
	}
	return parse_iso(text, unix_ns);
}
