/* Hostile text stays text: in HTML, in CSV, in gnuplot's strings; and gnuplot itself agrees. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/escape.h"
#include "analyzer/gnuplot.h"
#include "analyzer/plot_script.h"
#include "analyzer/scale.h"

static void check(void (*escape)(FILE *, const char *), const char *text, const char *wanted)
{
	char *got = NULL;
	size_t bytes;
	FILE *file = open_memstream(&got, &bytes);
	escape(file, text);
	fclose(file);
	cr_assert_str_eq(got, wanted, "'%s' became '%s'", text, got);
	free(got);
}

Test(escape, html)
{
	check(escape_html, "<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;");
	check(escape_html, "\" onerror='x' &amp;", "&quot; onerror=&#39;x&#39; &amp;amp;");
	check(escape_html, "a\nb\x01\x7f", "a?b??");
	check(escape_html, "caf\xc3\xa9", "caf\xc3\xa9");
	check(escape_html, "\xc3(\xe2\x82 \xc0\xbc\xff", "?(?? ???"); /* cut off, overlong, none at all */
	check(escape_html, "x\xe2\x80\xaey", "x?y");		      /* turns the text around */
}

Test(escape, csv)
{
	check(escape_csv, "plain name", "plain name");
	check(escape_csv, "a,b", "\"a,b\"");
	check(escape_csv, "say \"hi\"", "\"say \"\"hi\"\"\"");
	check(escape_csv, "two\nlines", "two?lines");
	check(escape_csv, "=cmd()", "\"'=cmd()\"");
	check(escape_csv, "-1+2", "\"'-1+2\"");
	check(escape_csv, " blank", "\" blank\"");
	check(escape_csv, "", "");
}

Test(escape, gnuplot)
{
	check(escape_gnuplot, "plain", "'plain'");
	check(escape_gnuplot, "it's", "'it\xe2\x80\x99s'");
	check(escape_gnuplot, "'; system('id'); '",
	      "'\xe2\x80\x99; system(\xe2\x80\x99id\xe2\x80\x99); \xe2\x80\x99'");
	check(escape_gnuplot, "two\nlines \\n", "'two?lines \\n'");
}

Test(escape, shorten)
{
	char out[64];
	cr_assert_str_eq(escape_shorten("short", 10, out, sizeof out), "short");
	cr_assert_str_eq(escape_shorten("0123456789abcdef", 9, out, sizeof out), "012...def");
	cr_assert_str_eq(
		escape_shorten("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 5, out, sizeof out),
		"\xc3\xa9...\xc3\xa9");
	cr_assert_str_eq(escape_shorten("0123456789", 10, out, 5), "0123", "never beyond the room");
	cr_assert_str_eq(escape_shorten("\xc3\xa9\xc3\xa9", 10, out, 4), "\xc3\xa9",
			 "never half a character");
}

/* ---- gnuplot ----------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/mtrace-escape-XXXXXX";

static void write_script(const char *title)
{
	char path[128];
	cr_assert_not_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/it.gp", folder);
	FILE *script = fopen(path, "w");
	cr_assert_not_null(script);
	fputs("set terminal svg noenhanced\nset output 'it.svg'\nset title ", script);
	escape_gnuplot(script, title);
	fputs("\nplot [0:1] x title ", script);
	escape_gnuplot(script, title);
	fputs("\n", script);
	fclose(script);
}

static bool have(const char *name)
{
	char path[160];
	struct stat there;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return stat(path, &there) == 0;
}

static void remove_folder(void)
{
	static const char *const names[] = {"it.gp", "it.svg"};
	char path[160];
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

TestSuite(gnuplot, .fini = remove_folder);

Test(gnuplot, runs_nothing_that_a_title_says)
{
	char message[200] = "";
	write_script("'; system 'touch owned'; '`touch owned`@x\"\\");
	enum gnuplot_result result = gnuplot_run("gnuplot", folder, "it.gp", message, sizeof message);
	if (result == GNUPLOT_MISSING)
		cr_skip_test("gnuplot is not installed");
	cr_assert_eq(result, GNUPLOT_DONE, "%s", message);
	cr_assert(have("it.svg"));
	cr_assert_not(have("owned"));
}

Test(gnuplot, missing_is_told_from_failed)
{
	char message[200] = "";
	write_script("x");
	cr_assert_eq(gnuplot_run("no-gnuplot-of-this-name", folder, "it.gp", message, sizeof message),
		     GNUPLOT_MISSING);
	cr_assert_eq(gnuplot_run("false", folder, "it.gp", message, sizeof message), GNUPLOT_FAILED);
	cr_assert_str_neq(message, "");
}

/* ---- axes and units ---------------------------------------------------------------------------------- */

Test(scale, prefixes)
{
	char text[SCALE_TEXT_BYTES];
	cr_assert_str_eq(scale_text(0, "bytes", text), "0 B");
	cr_assert_str_eq(scale_text(1023, "bytes", text), "1023 B");
	cr_assert_str_eq(scale_text(1536, "bytes/s", text), "1.50 KiB/s");
	cr_assert_str_eq(scale_text(41234, "ops/s", text), "41.2 k ops/s");
	cr_assert_str_eq(scale_text(250, "us", text), "250 us");
	cr_assert_str_eq(scale_text(12500, "us", text), "12.5 ms");
	cr_assert_str_eq(scale_text(0.25, "CPUs", text), "0.250 CPUs");
	cr_assert_str_eq(scale_text(NAN, "bytes", text), "unknown");
}

Test(scale, axis_steps)
{
	static const double steps[][2] = {{1, 0.2}, {4.9, 1}, {5, 1},	 {5.1, 2},
					  {41, 10}, {60, 20}, {999, 200}};
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		double got = plot_axis_step(steps[i][0], 5);
		cr_assert(fabs(got / steps[i][1] - 1) < 1e-9, "%g: %g", steps[i][0], got);
	}
	cr_assert_eq(plot_axis_step(0, 5), 1, "an axis of nothing still has marks");
}
