/* Encodings, line ends and long lines; times given by the user; bounds on memory. */

#include <stdlib.h>

#include "analyzer/ycsb_lines.h"
#include "tests/unit/support_ycsb.h"

TestSuite(ycsb_lines, .fini = close_file);

/* Joins all lines as "number@offset:text|". */
static void read_all(const void *bytes, size_t length, char *out, size_t size)
{
	char path[32];
	int fd = memory_file(bytes, length, path);
	struct ycsb_lines *lines = ycsb_lines_open(path, &error);
	struct ycsb_line line;
	size_t used = 0;
	out[0] = 0;
	while (ycsb_lines_next(lines, &line, &error))
		used += (size_t)snprintf(out + used, size - used, "%llu@%llu:%.*s%s",
					 (unsigned long long)line.number,
					 (unsigned long long)line.offset_bytes, (int)text_length(line.text),
					 line.text.at, line.ended ? "|" : "");
	ycsb_lines_close(lines);
	close(fd);
}

Test(ycsb_lines, plain_and_windows_line_ends)
{
	char out[200];
	read_all("one\ntwo\r\n\nfour", 15, out, sizeof out);
	cr_assert_str_eq(out, "1@0:one|2@4:two|3@9:|4@10:four");
	read_all("\xef\xbb\xbfmarked\n", 10, out, sizeof out);
	cr_assert_str_eq(out, "1@3:marked|");
}

Test(ycsb_lines, utf16_both_ways_with_and_without_a_mark)
{
	char out[200];
	read_all("\xff\xfe"
		 "a\0\r\0\n\0\x1e\x22\n\0",
		 12, out, sizeof out);
	cr_assert_str_eq(out, "1@2:a|2@8:\xe2\x88\x9e|");
	read_all("\xfe\xff\0a\0\n\x22\x1e\0\n", 10, out, sizeof out);
	cr_assert_str_eq(out, "1@2:a|2@6:\xe2\x88\x9e|");
	read_all("a\0b\0\n\0", 6, out, sizeof out);
	cr_assert_str_eq(out, "1@0:ab|");
	/* A line feed byte within a character (U+0A0A) ends no line; a pair makes U+1F600; half a pair
	 * U+FFFD. */
	read_all("\xff\xfe\x0a\x0a\x3d\xd8\x00\xde\x3d\xd8\n\0", 12, out, sizeof out);
	cr_assert_str_eq(out, "1@2:\xe0\xa8\x8a\xf0\x9f\x98\x80\xef\xbf\xbd|");
}

static void check_long_line(unsigned unit)
{
	/* A line of 5 MiB between two short ones. */
	size_t length = (5u << 20) * unit, total = 2 * unit + length + 4 * unit;
	char *bytes = calloc(total + 2, 1), path[32];
	for (size_t i = 0; i < total / unit; i++)
		bytes[i * unit] = 'x';
	bytes[unit] = '\n';
	bytes[2 * unit + length] = '\n';
	bytes[total - unit] = '\n';
	int fd = memory_file(bytes, total, path);
	struct ycsb_lines *lines = ycsb_lines_open(path, &error);
	struct ycsb_line line;
	cr_assert(ycsb_lines_next(lines, &line, &error) && text_equals(line.text, "x"));
	cr_assert(ycsb_lines_next(lines, &line, &error));
	cr_assert_eq(text_length(line.text), YCSB_LINE_MAX / unit);
	cr_assert(ycsb_lines_next(lines, &line, &error));
	cr_assert(text_equals(line.text, "xx"));
	cr_assert_eq(line.offset_bytes, 3 * unit + length);
	cr_assert_not(ycsb_lines_next(lines, &line, &error));
	ycsb_lines_close(lines);
	close(fd);
	free(bytes);
}

Test(ycsb_lines, a_line_without_bounds_is_cut)
{
	check_long_line(1);
	check_long_line(2);
}

Test(ycsb_lines, a_pipe_that_gives_a_byte_at_a_time)
{
	int ends[2];
	char path[32];
	const char *bytes = "\xff\xfe"
			    "a\0b\0\n\0c\0";
	cr_assert_eq(pipe(ends), 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
	if (fork() == 0) {
		for (size_t i = 0; i < 10; i++)
			if (write(ends[1], bytes + i, 1) != 1)
				_exit(1);
		_exit(0);
	}
	close(ends[1]);
	struct ycsb_lines *lines = ycsb_lines_open(path, &error);
	struct ycsb_line line;
	cr_assert(ycsb_lines_next(lines, &line, &error) && text_equals(line.text, "ab") && line.ended);
	cr_assert(ycsb_lines_next(lines, &line, &error) && text_equals(line.text, "c") && !line.ended);
	cr_assert_not(ycsb_lines_next(lines, &line, &error));
	ycsb_lines_close(lines);
	close(ends[0]);
}

/* ---- bounds ------------------------------------------------------------------------------------------ */

Test(ycsb_lines, a_series_without_end_is_merged)
{
	const unsigned seconds = 3 * YCSB_INTERVALS_MAX;
	size_t room = (size_t)seconds * 64;
	char *text = malloc(room), *end = text;
	for (unsigned s = 0; s <= seconds; s++)
		end += sprintf(end, "2026-05-%02u %02u:%02u:%02u:000 %u sec: %llu operations; \n",
			       1 + s / 86400, s / 3600 % 24, s / 60 % 60, s % 60, s, 5ULL * s);
	cr_assert(read_bytes(text, (size_t)(end - text), &utc));
	const struct ycsb_run *run = &file.runs[0];
	cr_assert_leq(run->interval_count, YCSB_INTERVALS_MAX);
	cr_assert(run->flags & YCSB_FLAG_INTERVALS_MERGED);
	uint64_t operations = 0;
	for (size_t i = 0; i < run->interval_count; i++) {
		operations += run->intervals[i].operations;
		cr_assert_eq(run->intervals[i].ops_s, 5);
		cr_assert(i == 0 || run->intervals[i].start_ns == run->intervals[i - 1].end_ns);
	}
	cr_assert_eq(operations, 5ULL * seconds);
	free(text);
}

/* ---- times of the user ------------------------------------------------------------------------------- */

static int64_t parsed(const char *text)
{
	int64_t ns = -1;
	cr_assert(ycsb_parse_time(text, &ns), "%s", text);
	return ns;
}

Test(ycsb_time, accepted)
{
	const int64_t noon_ns = 1780228800LL * 1000000000;
	cr_assert_eq(parsed("1780228800"), noon_ns);
	cr_assert_eq(parsed("1780228800.25"), noon_ns + 250000000);
	cr_assert_eq(parsed("2026-05-31T12:00:00Z"), noon_ns);
	cr_assert_eq(parsed("2026-05-31 14:00:00+02:00"), noon_ns);
	cr_assert_eq(parsed("2026-05-31T06:30:00.5-0530"), noon_ns + 500000000);
	cr_assert_eq(parsed("2026-05-31T12:00Z"), noon_ns);
	cr_assert_eq(parsed("2024-02-29T00:00:00Z") - parsed("2024-02-28T00:00:00Z"), 86400LL * 1000000000);
	cr_assert_eq(parsed("2100-03-01T00:00:00Z") - parsed("2100-02-28T00:00:00Z"), 86400LL * 1000000000);
	setenv("TZ", "XST+3", 1);
	cr_assert_eq(parsed("2026-05-31T09:00:00"), noon_ns);
}

Test(ycsb_time, refused)
{
	static const char *const wrong[] = {"",
					    "noon",
					    "2026-05-31",
					    "2026-13-01T00:00:00Z",
					    "12:00:00",
					    "2026-05-31T25:00:00Z",
					    "2026-05-31T12:00:00 CET",
					    "99999999999999999999",
					    "1.2.3",
					    "2026-05-31T12:00:00+2"};
	int64_t ns;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		cr_assert_not(ycsb_parse_time(wrong[i], &ns), "%s", wrong[i]);
}
