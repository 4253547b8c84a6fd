#include <criterion/criterion.h>

#include <string.h>

#include "bench/properties.h"

static struct properties *parse(const char *text, struct failure *failure)
{
	struct properties *properties = properties_new();

	*failure = (struct failure){0};
	properties_parse(properties, text, strlen(text), "test.properties", failure);
	return properties;
}

static void expect_value(const char *text, const char *name, const char *value)
{
	struct failure failure;
	struct properties *properties = parse(text, &failure);
	const char *found = properties_get(properties, name);

	cr_expect_eq(failure.exit_status, 0, "%s", failure.text);
	cr_expect(found && !strcmp(found, value), "'%s' gives %s = '%s', not '%s'", text, name,
		  found ? found : "(none)", value);
	properties_free(properties);
}

Test(properties, names_end_at_equals_colon_or_blank)
{
	expect_value("a=1", "a", "1");
	expect_value("a:1\n", "a", "1");
	expect_value("a 1\r\n", "a", "1");
	expect_value("  a \t= \f 1 2\n", "a", "1 2");
	expect_value("a==1", "a", "=1");
	expect_value("a", "a", "");
	expect_value("a=\nb=2", "a", "");
	expect_value("=1", "", "1");
}

Test(properties, later_lines_win_and_comments_are_skipped)
{
	expect_value("# a=9\n\n  ! a=8\na=1\ra=2", "a", "2");
	expect_value("a=1 # not a comment", "a", "1 # not a comment");
	/* A comment is not continued. */
	expect_value("# comment \\\na=3", "a", "3");
}

Test(properties, a_backslash_continues_a_line)
{
	expect_value("a=one,\\\n   two,\\\r\n\tthree", "a", "one,two,three");
	expect_value("lo\\\n  ng=1", "long", "1");
	expect_value("a=x\\\\\nb=1", "a", "x\\");
	expect_value("a=x\\", "a", "x");
}

Test(properties, escapes)
{
	expect_value("a=\\t\\n\\r\\f\\q\\:", "a", "\t\n\r\fq:");
	expect_value("a\\=b\\ c\\:d=1", "a=b c:d", "1");
	expect_value("a=\\u0041\\u00e4\\u20AC", "a", "A\u00e4\u20ac");
	expect_value("a=\\uD83D\\uDE00", "a", "\U0001F600");
}

Test(properties, malformed_unicode_is_refused_with_its_line)
{
	static const char *const bad[] = {"x=1\na=\\u00g1", "x=1\na=\\u12", "x=1\na=\\uD83D\\u0041",
					  "x=1\na=\\u0000"};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct failure failure;
		struct properties *properties = parse(bad[i], &failure);

		cr_expect_eq(failure.exit_status, EXIT_WRONG_USAGE, "%s", bad[i]);
		cr_expect(strstr(failure.text, "test.properties:2:") != NULL, "%s", failure.text);
		properties_free(properties);
	}
}

Test(properties, nul_bytes_are_refused)
{
	struct properties *properties = properties_new();
	struct failure failure = {0};

	cr_expect_not(properties_parse(properties, "a=1\0b=2", 7, "binary", &failure));
	cr_expect(strstr(failure.text, "binary") != NULL);
	properties_free(properties);
}

Test(properties, a_missing_file_is_named)
{
	struct properties *properties = properties_new();
	struct failure failure = {0};

	cr_expect_not(properties_load(properties, "/nonexistent/workload", &failure));
	cr_expect_eq(failure.exit_status, EXIT_WRONG_USAGE);
	cr_expect(strstr(failure.text, "/nonexistent/workload") != NULL);
	properties_free(properties);
}

Test(properties, arguments_and_merging)
{
	struct properties *files = properties_new(), *given = properties_new();
	struct failure failure = {0};

	properties_set(files, "recordcount", "5");
	properties_set(files, "fieldcount", "3");
	cr_expect(properties_set_argument(given, "recordcount=7", &failure));
	cr_expect(properties_set_argument(given, "x=a=b", &failure));
	cr_expect_not(properties_set_argument(given, "noequals", &failure));
	failure.exit_status = 0;
	cr_expect_not(properties_set_argument(given, "=1", &failure));
	properties_merge(files, given);
	cr_expect_str_eq(properties_get(files, "recordcount"), "7");
	cr_expect_str_eq(properties_get(files, "fieldcount"), "3");
	cr_expect_str_eq(properties_get(files, "x"), "a=b");
	properties_free(files);
	properties_free(given);
}

Test(properties, counts)
{
	static const char *const bad[] = {
		"", "x", "-1", "+1", "1.5", "1e3", "3x", "101", "99999999999999999999999"};
	struct properties *properties = properties_new();
	struct failure failure = {0};
	uint64_t value;

	cr_expect(properties_count(properties, "n", 9, 0, 100, &value, &failure) && value == 9);
	properties_set(properties, "n", " 42 ");
	cr_expect(properties_count(properties, "n", 9, 0, 100, &value, &failure) && value == 42);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		failure.exit_status = 0;
		properties_set(properties, "n", bad[i]);
		cr_expect_not(properties_count(properties, "n", 9, 0, 100, &value, &failure), "'%s'", bad[i]);
		cr_expect_eq(failure.exit_status, EXIT_WRONG_USAGE);
		cr_expect(strstr(failure.text, "property n=") != NULL &&
			  strstr(failure.text, bad[i]) != NULL);
	}
	properties_free(properties);
}

static void expect_bytes(const char *text, uint64_t expected)
{
	struct properties *properties = properties_new();
	struct failure failure = {0};
	uint64_t value = 0;
	bool done;

	properties_set(properties, "wiredtiger.cache", text);
	done = properties_bytes(properties, "wiredtiger.cache", 1, 1, &value, &failure);
	cr_expect_eq(done, expected != 0, "'%s'", text);
	if (expected)
		cr_expect_eq(value, expected, "'%s' is %llu", text, (unsigned long long)value);
	properties_free(properties);
}

Test(properties, sizes)
{
	expect_bytes("5", 5);
	expect_bytes("5k", 5120);
	expect_bytes("60M", 60 << 20);
	expect_bytes("60MB", 60 << 20);
	expect_bytes("2 GiB", UINT64_C(2) << 30);
	expect_bytes("0", 0);
	expect_bytes("M", 0);
	expect_bytes("1.5G", 0);
	expect_bytes("1T", 0);
	expect_bytes("1Mx", 0);
	expect_bytes("18446744073709551615G", 0);
}

Test(properties, reals_flags_and_choices)
{
	static const char *const names[] = {"zipfian", "uniform", NULL};
	struct properties *properties = properties_new();
	struct failure failure = {0};
	double real;
	bool flag;
	unsigned choice;

	properties_set(properties, "w", "0.25");
	properties_set(properties, "nan", "nan");
	properties_set(properties, "f", "TRUE");
	properties_set(properties, "g", "yes");
	properties_set(properties, "d", "uniform");
	properties_set(properties, "e", "Uniform");
	cr_expect(properties_real(properties, "w", 0, 0, 1, &real, &failure) && real == 0.25);
	cr_expect(properties_flag(properties, "f", false, &flag, &failure) && flag);
	cr_expect(properties_choice(properties, "d", 0, names, &choice, &failure) && choice == 1);
	cr_expect_not(properties_real(properties, "nan", 0, 0, 1, &real, &failure));
	failure.exit_status = 0;
	cr_expect_not(properties_flag(properties, "g", false, &flag, &failure));
	failure.exit_status = 0;
	cr_expect_not(properties_choice(properties, "e", 0, names, &choice, &failure));
	cr_expect_str_eq(failure.text, "property e=Uniform: expected one of zipfian, uniform");
	properties_free(properties);
}

static void count_unread(void *context, const char *name)
{
	cr_expect_str_eq(name, "recordcuont");
	++*(unsigned *)context;
}

Test(properties, names_nobody_asked_for_are_found)
{
	struct properties *properties = properties_new();
	unsigned unread = 0;

	properties_set(properties, "recordcount", "1");
	properties_set(properties, "recordcuont", "1");
	properties_get(properties, "recordcount");
	properties_unread(properties, count_unread, &unread);
	cr_expect_eq(unread, 1);
	properties_free(properties);
}
