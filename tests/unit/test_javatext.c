#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "bench/javatext.h"

static void expect_double(double value, const char *expected)
{
	char text[JAVATEXT_BYTES];

	cr_expect_str_eq(java_double(text, value), expected);
}

Test(javatext, doubles_as_java_prints_them)
{
	expect_double(0, "0.0");
	expect_double(-0.0, "-0.0");
	expect_double(1, "1.0");
	expect_double(-2.5, "-2.5");
	expect_double(100, "100.0");
	expect_double(80000, "80000.0");
	expect_double(13053.126223730584, "13053.126223730584");
	expect_double(0.1 + 0.2, "0.30000000000000004");
	expect_double(0.21633333333333332, "0.21633333333333332");
	expect_double(0.001, "0.001");
	expect_double(0.0123, "0.0123");
	expect_double(9999999, "9999999.0");
	expect_double(1e7, "1.0E7");
	expect_double(3.48e8, "3.48E8");
	expect_double(-12345678.5, "-1.23456785E7");
	expect_double(0.00095, "9.5E-4");
	expect_double(1e-300, "1.0E-300");
	expect_double(NAN, "NaN");
	expect_double(INFINITY, "Infinity");
	expect_double(-INFINITY, "-Infinity");
}

static void expect_decimals(double value, const char *expected)
{
	char text[JAVATEXT_BYTES];

	cr_expect_str_eq(java_two_decimals(text, value), expected);
}

Test(javatext, at_most_two_decimals_half_to_even)
{
	expect_decimals(13053.13, "13053.13");
	expect_decimals(656.5994859841014, "656.6");
	expect_decimals(1321, "1321");
	expect_decimals(100, "100");
	expect_decimals(0, "0");
	expect_decimals(0.125, "0.12");
	expect_decimals(0.375, "0.38");
	expect_decimals(-0.174, "-0.17");
	expect_decimals(NAN, "NaN");
	expect_decimals(INFINITY, "\u221E");
}

static void expect_remaining(int64_t seconds, const char *expected)
{
	char text[JAVATEXT_BYTES];

	cr_expect_str_eq(java_remaining(text, seconds), expected);
}

Test(javatext, remaining_time)
{
	expect_remaining(0, "0 second ");
	expect_remaining(1, "1 second ");
	expect_remaining(5, "5 second ");
	expect_remaining(10, "10 seconds ");
	expect_remaining(59, "59 seconds ");
	expect_remaining(60, "1 minute ");
	expect_remaining(119, "1 minute ");
	expect_remaining(3600, "1 hour ");
	expect_remaining(2 * 3600 + 120, "2 hours 2 minutes ");
	expect_remaining(86400, "1 day ");
	expect_remaining(86400 + 9 * 3600 + 1800, "1 day 9 hours ");
	expect_remaining(INT64_MAX, "106751991167300 days 15 hours ");
}

Test(javatext, casts_to_long)
{
	cr_expect_eq(java_long(NAN), 0);
	cr_expect_eq(java_long(1e300), INT64_MAX);
	cr_expect_eq(java_long(-1e300), INT64_MIN);
	cr_expect_eq(java_long(12.9), 12);
}

Test(javatext, time_stamps_are_local_and_have_no_zone)
{
	char text[JAVATEXT_BYTES];

	setenv("TZ", "XYZ-2", 1); /* two hours east */
	tzset();
	cr_expect_str_eq(java_timestamp(text, INT64_C(1685974429458)), "2023-06-05 16:13:49:458");
	cr_expect_str_eq(java_timestamp(text, INT64_C(1685974429007)), "2023-06-05 16:13:49:007");
}

static void expect_ordinal(double percent, const char *expected)
{
	char text[JAVATEXT_BYTES];

	cr_expect_str_eq(java_ordinal(text, percent), expected);
}

Test(javatext, ordinals)
{
	expect_ordinal(95, "95th");
	expect_ordinal(99, "99th");
	expect_ordinal(99.9, "99.9");
	expect_ordinal(99.99, "99.99");
	expect_ordinal(1, "1st");
	expect_ordinal(2, "2nd");
	expect_ordinal(3, "3rd");
	expect_ordinal(4, "4th");
	expect_ordinal(11, "11th");
	expect_ordinal(12, "12th");
	expect_ordinal(21, "21st");
	expect_ordinal(53, "53rd");
	expect_ordinal(100, "100th");
}
