/*
 * HdrHistogram's histograms and logs. The encoder here follows the format's description and stands for
 * Java's; one line that Java wrote (HdrHistogram 2.1.11, values typed in below) keeps both honest.
 */

#include <stdlib.h>
#include <zlib.h>

#include "analyzer/hdr.h"
#include "tests/unit/support_ycsb.h"

static struct hdr_histogram histogram;

static void fini(void)
{
	hdr_free(&histogram);
	close_file();
}

TestSuite(hdr, .fini = fini);

/* ---- an encoder -------------------------------------------------------------------------------------- */

struct bytes {
	uint8_t at[4096];
	size_t count;
};

static void put(struct bytes *bytes, uint64_t value, unsigned width)
{
	while (width-- > 0)
		bytes->at[bytes->count++] = (uint8_t)(value >> (8 * width));
}

static void put_zigzag(struct bytes *bytes, int64_t value)
{
	uint64_t bits = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
	for (unsigned i = 0; i < 8 && bits >= 0x80; i++, bits >>= 7)
		bytes->at[bytes->count++] = (uint8_t)(bits | 0x80);
	bytes->at[bytes->count++] = (uint8_t)bits;
}

static struct bytes inner(unsigned digits, const int64_t *payload, size_t count)
{
	struct bytes body = {0}, all = {0};
	for (size_t i = 0; i < count; i++)
		put_zigzag(&body, payload[i]);
	put(&all, 0x1c849313, 4);
	put(&all, body.count, 4);
	put(&all, 0, 4);
	put(&all, digits, 4);
	put(&all, 1, 8);
	put(&all, 3600000000, 8);
	put(&all, 0x3ff0000000000000, 8);
	memcpy(all.at + all.count, body.at, body.count);
	all.count += body.count;
	return all;
}

/* Into base64; `text` has room enough. */
static void wrap(const struct bytes *contents, char *text)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	struct bytes out = {0};
	uLongf room = sizeof out.at - 8;
	cr_assert_eq(compress(out.at + 8, &room, contents->at, contents->count), Z_OK);
	put(&out, 0x1c849314, 4);
	put(&out, room, 4);
	out.count += room;
	for (size_t i = 0; i < out.count; i += 3) {
		uint32_t three = (uint32_t)out.at[i] << 16 | (uint32_t)out.at[i + 1] << 8 | out.at[i + 2];
		for (unsigned j = 0; j < 4; j++)
			*text++ = i + j > out.count ? '=' : digits[three >> (18 - 6 * j) & 63];
	}
	*text = 0;
}

static const char *encoded(unsigned digits, const int64_t *payload, size_t count)
{
	static char text[8192];
	struct bytes contents = inner(digits, payload, count);
	wrap(&contents, text);
	return text;
}

static enum hdr_result decode(const char *text)
{
	return hdr_decode(text, strlen(text), &histogram);
}

/* ---- histograms -------------------------------------------------------------------------------------- */

Test(hdr, counts_and_gaps)
{
	/* 3 zeroes, 5 sevens, 2 in the bucket of 4000 and 4001 */
	static const int64_t payload[] = {3, -6, 5, -(3024 - 8), 2};
	cr_assert_eq(decode(encoded(3, payload, 5)), HDR_DONE);
	cr_assert_eq(histogram.total, 10);
	near(hdr_min(&histogram), 0, "min");
	near(hdr_max(&histogram), 4001, "max: bucket 3024 is 2000 steps of 2");
	near(hdr_percentile(&histogram, 30), 0, "the third");
	near(hdr_percentile(&histogram, 31), 7, "the fourth");
	near(hdr_percentile(&histogram, 99), 4001, "p99");
	near(hdr_mean(&histogram), (5 * 7 + 2 * 4001) / 10.0, "mean over the middles");
}

Test(hdr, widths_of_buckets)
{
	static const struct {
		unsigned digits;
		size_t bucket;
		uint64_t lowest, highest;
	} cases[] = {
		{3, 0, 0, 0},
		{3, 2047, 2047, 2047},
		{3, 2048, 2048, 2049},
		{3, 3071, 4094, 4095},
		{3, 3072, 4096, 4099},
		{2, 255, 255, 255},
		{2, 256, 256, 257},
		{1, 32, 32, 33},
		{0, 1, 1, 1},
		{0, 2, 2, 3},
		{5, 262144, 262144, 262145},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct hdr_histogram shape = {.digits = cases[i].digits};
		cr_assert_eq(hdr_lowest(&shape, cases[i].bucket), cases[i].lowest, "case %zu", i);
		cr_assert_eq(hdr_highest(&shape, cases[i].bucket), cases[i].highest, "case %zu", i);
	}
}

Test(hdr, sums)
{
	struct hdr_histogram sum = {0};
	static const int64_t one[] = {-4, 1}, two[] = {-9, 3};
	cr_assert_eq(decode(encoded(3, one, 2)), HDR_DONE);
	cr_assert_eq(hdr_add(&sum, &histogram), HDR_DONE);
	cr_assert_eq(decode(encoded(3, two, 2)), HDR_DONE);
	cr_assert_eq(hdr_add(&sum, &histogram), HDR_DONE);
	cr_assert_eq(sum.total, 4);
	near(hdr_mean(&sum), (4 + 3 * 9) / 4.0, "mean of both");
	cr_assert_eq(decode(encoded(2, two, 2)), HDR_DONE);
	cr_assert_eq(hdr_add(&sum, &histogram), HDR_FOREIGN, "other digits");
	cr_assert_eq(sum.total, 4);
	hdr_free(&sum);
}

Test(hdr, an_empty_histogram_has_no_figures)
{
	cr_assert_eq(decode(encoded(3, NULL, 0)), HDR_DONE);
	cr_assert_eq(histogram.total, 0);
	cr_assert(isnan(hdr_mean(&histogram)) && isnan(hdr_max(&histogram)) &&
		  isnan(hdr_percentile(&histogram, 50)));
}

Test(hdr, the_largest_count_and_the_largest_gap)
{
	static const int64_t most[] = {INT64_MAX}, twice[] = {INT64_MAX, INT64_MAX, 2},
			     far[] = {-(1LL << 40), 1}, high[] = {-60000, 1};
	cr_assert_eq(decode(encoded(3, most, 1)), HDR_DONE);
	cr_assert_eq(histogram.total, (uint64_t)INT64_MAX, "the ninth byte holds eight bits");
	cr_assert_eq(decode(encoded(3, twice, 3)), HDR_DAMAGED, "the sum does not fit");
	cr_assert_eq(decode(encoded(3, far, 2)), HDR_DAMAGED);
	cr_assert_eq(decode(encoded(3, high, 2)), HDR_DAMAGED, "beyond 63 bits");
}

Test(hdr, every_cut_and_every_flipped_byte_is_safe)
{
	static const int64_t payload[] = {3, -6, 5, -3000, 2};
	char good[8192], bad[8192];
	snprintf(good, sizeof good, "%s", encoded(3, payload, 5));
	for (size_t i = 0; i < strlen(good) - 4; i++) {
		cr_assert_eq(hdr_decode(good, i, &histogram), HDR_DAMAGED, "cut at %zu", i);
		memcpy(bad, good, sizeof bad);
		bad[i] = bad[i] == '!' ? '?' : '!';
		cr_assert_eq(decode(bad), HDR_DAMAGED, "foreign character at %zu", i);
	}
}

Test(hdr, other_encodings_are_foreign)
{
	struct bytes contents = inner(3, NULL, 0);
	char text[8192];
	contents.at[11] = 1; /* an index offset: a histogram of doubles */
	wrap(&contents, text);
	cr_assert_eq(decode(text), HDR_FOREIGN);
	contents = inner(9, NULL, 0);
	wrap(&contents, text);
	cr_assert_eq(decode(text), HDR_DAMAGED);
	cr_assert_eq(decode("HISTEgAAAAA="), HDR_FOREIGN, "V1");
}

/* ---- logs -------------------------------------------------------------------------------------------- */

#define HEAD                                                                                                 \
	"#[Logging for: READ]\n#[Histogram log format version 1.3]\n"                                        \
	"#[StartTime: 1780228800.000 (seconds since epoch), Sun May 31 12:00:00 UTC 2026]\n"                 \
	"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"

static char text[32768];

static void log_line(const char *front, const int64_t *payload, size_t count)
{
	strcat(strcat(strcat(text, front), encoded(3, payload, count)), "\n");
}

Test(hdr, a_log_becomes_a_run)
{
	static const int64_t first[] = {-100, 30}, second[] = {-300, 10};
	strcpy(text, HEAD);
	log_line("0.500,2.000,0.100,", first, 2);
	log_line("2.500,2.000,0.300,", second, 2);
	const struct ycsb_run *run = read_run(text);
	cr_assert_eq(run->format, YCSB_HDR_LOG);
	cr_assert(run->complete);
	cr_assert_eq(run->operation_kinds, 1);
	cr_assert_str_eq(run->operations[0].name, "READ");
	cr_assert_eq(run->operations[0].count, 40);
	near(run->operations[0].mean_us, 150, "mean");
	near(ycsb_percentile_us(&run->operations[0], 50), 100, "p50");
	near(ycsb_percentile_us(&run->operations[0], 95), 300, "p95");
	near(run->throughput_ops_s, 10, "40 in 4 s");
	cr_assert_eq(run->interval_count, 2);
	near(run->intervals[0].ops_s, 15, "rate");
	near(run->intervals[1].mean_us, 300, "mean of the interval");
	cr_assert_eq(run->intervals[1].start_ns, (STAMP_S + 2) * 1000000000 + 500000000);
	cr_assert_eq(run->operations[0].bucket_kind, YCSB_BUCKETS_US);
}

Test(hdr, tags_are_operations)
{
	static const int64_t counts[] = {-100, 5};
	strcpy(text, "#[Histogram log format version 1.3]\n#[StartTime: 7.0 (seconds since epoch), x]\n");
	log_line("Tag=READ,0.0,1.0,0.1,", counts, 2);
	log_line("Tag=Intended-READ,0.0,1.0,0.1,", counts, 2);
	log_line("Tag=UPDATE,0.0,1.0,0.1,", counts, 2);
	const struct ycsb_run *run = read_run(text);
	cr_assert_eq(run->operation_kinds, 3);
	near(run->throughput_ops_s, 10, "Intended-READ is READ again");
	cr_assert_eq(run->interval_count, 1);
}

Test(hdr, a_damaged_line_is_reported_and_the_others_counted)
{
	static const int64_t counts[] = {-100, 5};
	strcpy(text, HEAD);
	log_line("0.0,1.0,0.1,", counts, 2);
	strcat(text, "1.0,1.0,0.1,HISTFAAAA!!!\n2.0,one,0.1,HISTFAAA\n");
	log_line("3.0,1.0,0.1,", counts, 2);
	strcat(text, "4.0,1.0,0.1,HISTFA");
	read_text(text);
	cr_assert_eq(file.unread_lines, 3);
	cr_assert_eq(file.unread.line, 6);
	cr_assert_eq(file.runs[0].operations[0].count, 10);
}

/* The squares of 1 to 500, three digits. */
#define JAVA_LINE                                                                                            \
	"0.0,1.0,0.25,"                                                                                      \
	"HISTFAAAASx4nI3QwUeDcRzH8ef7eQ6Tmcc8ZrJmMpk8MplMZiaTyWQymSRJkiRJkiQdig4dOuzQoUOHDh069K91"           \
	"6L4+fvvl9/z8nrG9vL8fm4eHzT0OQ8/zf73xx9cr42+jUetH/wIfKaQRIEQeBZRQRgURqqihjgZaaKODLnroY4Bd"           \
	"7OMQxzjFOS5xjVvc40HwJHgWvAiGglfBm+Bd8CH4FHwJvoVP72CPDuiITuiMLuiKbugOTb6thTVq0zp1aIO6tEk9"           \
	"2qI+bdOAz0bKklbVlrWatqLVtVWtoTWpqJRUxrzKKKuMBZVRURmLKiNiOf7bJlfeyjVr5SpYuYpW/zKWILZuQWyT"           \
	"ZWPrlo1tsjC2bmFsk+XUnaGUuu5OJ5245k7Ovu5OJ5O45k7Ovmb/ANp7Ss0="                                       \
	"\n"
#define JAVA_MEAN 83591.55
#define JAVA_MAX  250111
#define JAVA_P50  62527
#define JAVA_P99  245119

Test(hdr, a_line_of_java_s)
{
	read_text(HEAD JAVA_LINE);
	const struct ycsb_operation *read = &file.runs[0].operations[0];
	cr_assert_eq(read->count, 500);
	near(read->mean_us, JAVA_MEAN, "mean");
	near(read->max_us, JAVA_MAX, "max");
	near(ycsb_percentile_us(read, 50), JAVA_P50, "p50");
	near(ycsb_percentile_us(read, 99), JAVA_P99, "p99");
}
