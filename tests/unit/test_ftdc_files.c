/* Diagnostic data of several files, what they say of the server, and the names of all metrics. */
#include <sys/stat.h>

#include "analyzer/ftdc_names.h"
#include "tests/unit/support_ftdc_read.h"

/* ---- files --------------------------------------------------------------------------------------------- */

static const char *folder(const char *name)
{
	const char *path = support_path(name);
	cr_assert_eq(mkdir(path, 0700), 0);
	return path;
}

static void put_file(const char *directory, const char *name, struct bytes *file)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", directory, name);
	support_write_file(path, file->data, file->count);
	bytes_free(file);
}

static void put_plain_file(const char *directory, const char *name, int64_t ms, size_t count)
{
	struct bytes file = {0};
	put_plain_chunk(&file, ms, ms / 1000, count);
	put_file(directory, name, &file);
}

Test(ftdc_files, files_come_in_order_and_the_interim_file_last)
{
	const char *directory = folder("diagnostic.data");
	put_plain_file(directory, "metrics.2026-05-31T13-00-00Z-00000", 20000, 10);
	put_plain_file(directory, "metrics.interim", 30000, 3);
	put_plain_file(directory, "metrics.2026-05-31T12-00-00Z-00001", 10000, 10);
	put_plain_file(directory, "metrics.2026-05-31T12-00-00Z-00000", 0, 10);
	put_plain_file(directory, "metrics.interim.temp", 99000, 1);
	put_plain_file(directory, "notes", 99000, 1);
	struct ftdc *ftdc = open_path(directory, NULL);
	struct ftdc_chunk chunk;
	size_t files;
	cr_assert(ftdc_files(ftdc, &files)[3] && files == 4);
	for (int64_t i = 0; i < 4; i++) {
		expect_chunk(ftdc, &chunk, i < 3 ? 10 : 3);
		cr_assert_eq(chunk.time_ms[0], START_MS + i * 10000);
	}
	cr_assert_eq(ftdc_done_bytes(ftdc), ftdc_total_bytes(ftdc));
	expect_end(ftdc, 0);
}

Test(ftdc_files, a_database_path_will_do)
{
	const char *database = folder("db");
	folder("db/diagnostic.data");
	put_plain_file(database, "diagnostic.data/metrics.2026-05-31T12-00-00Z-00000", 0, 4);
	struct ftdc *ftdc = open_path(database, NULL);
	struct ftdc_chunk chunk;
	expect_chunk(ftdc, &chunk, 4);
	expect_end(ftdc, 0);
}

Test(ftdc_files, samples_of_the_interim_file_that_were_archived_come_once)
{
	const char *directory = folder("d");
	put_plain_file(directory, "metrics.2026-05-31T12-00-00Z-00000", 0, 10);
	put_plain_file(directory, "metrics.interim", 6000, 7); /* 6 to 12 s: four of them twice */
	struct ftdc *ftdc = open_path(directory, NULL);
	struct ftdc_chunk chunk;
	expect_chunk(ftdc, &chunk, 10);
	expect_chunk(ftdc, &chunk, 3);
	cr_assert_eq(chunk.repeated, 4);
	cr_assert_eq(chunk.time_ms[0], START_MS + 10000);
	cr_assert_eq(column(&chunk, "serverStatus.value")[0], 10);
	cr_assert_eq(column(&chunk, "start")[2], START_MS + 12000);
	expect_end(ftdc, 0);
}

Test(ftdc_files, what_was_recovered_after_a_crash_comes_once)
{
	const char *directory = folder("d");
	struct bytes second = {0};
	bson_t *doc = BCON_NEW("x", BCON_INT32(1));
	put_plain_file(directory, "metrics.2026-05-31T12-00-00Z-00000", 0, 10);
	put_description(&second, START_MS + 60000, doc);
	put_plain_chunk(&second, 8000, 8, 5); /* older than the description: from metrics.interim */
	put_plain_chunk(&second, 60000, 60, 5);
	put_file(directory, "metrics.2026-05-31T12-01-00Z-00000", &second);
	struct ftdc *ftdc = open_path(directory, NULL);
	struct ftdc_chunk chunk;
	expect_chunk(ftdc, &chunk, 10);
	expect_chunk(ftdc, &chunk, 3);
	cr_assert_eq(chunk.time_ms[0], START_MS + 10000);
	expect_chunk(ftdc, &chunk, 5);
	cr_assert_eq(chunk.repeated, 0);
	expect_end(ftdc, 0);
	bson_destroy(doc);
}

Test(ftdc_files, a_clock_that_was_set_back_loses_no_samples)
{
	struct bytes file = {0};
	struct ftdc_chunk chunk;
	put_plain_chunk(&file, 50000, 1, 5);
	put_plain_chunk(&file, 10000, 1, 5);
	struct ftdc *ftdc = open_bytes(&file, NULL);
	expect_chunk(ftdc, &chunk, 5);
	expect_chunk(ftdc, &chunk, 5);
	cr_assert_eq(chunk.time_ms[0], START_MS + 10000);
	expect_end(ftdc, 0);
}

/* ---- descriptions and parameters ----------------------------------------------------------------------- */

static void expect_text(const struct ftdc *ftdc, const char *path, const char *wanted)
{
	char text[64] = "";
	cr_assert_eq(ftdc_text(ftdc, path, text, sizeof text), wanted != NULL, "%s", path);
	cr_assert_str_eq(text, wanted ? wanted : "", "%s", path);
}

Test(ftdc_files, the_newest_description_counts)
{
	bson_t *old = BCON_NEW("buildInfo", "{", "version", BCON_UTF8("7.0.1"), "}"),
	       *new = BCON_NEW("buildInfo", "{", "version", BCON_UTF8("8.0.3"), "bits", BCON_INT32(64),
			       "debug", BCON_BOOL(false), "big", BCON_DOUBLE(2.5), "modules", "[", "]", "}");
	struct bytes file = {0};
	struct ftdc_chunk chunk;
	int64_t bits, big;
	put_description(&file, START_MS, old);
	put_plain_chunk(&file, 0, 1, 1);
	put_description(&file, START_MS + 1000, new);
	put_plain_chunk(&file, 1000, 1, 1);
	struct ftdc *ftdc = open_bytes(&file, NULL);
	expect_text(ftdc, "buildInfo.version", NULL);
	expect_chunk(ftdc, &chunk, 1);
	expect_text(ftdc, "buildInfo.version", "7.0.1");
	expect_chunk(ftdc, &chunk, 1);
	expect_text(ftdc, "buildInfo.version", "8.0.3");
	expect_text(ftdc, "buildInfo.bits", "64");
	expect_text(ftdc, "buildInfo.debug", "false");
	expect_text(ftdc, "buildInfo.modules", NULL);
	expect_text(ftdc, "buildInfo.version.x", NULL);
	cr_assert(ftdc_number(ftdc, "buildInfo.bits", &bits) && bits == 64);
	cr_assert(ftdc_number(ftdc, "buildInfo.big", &big) && big == 2);
	cr_assert_not(ftdc_number(ftdc, "buildInfo.version", &bits));
	expect_end(ftdc, 0);
	bson_destroy(old);
	bson_destroy(new);
}

Test(ftdc_files, changes_of_parameters_are_laid_over_the_ones_before)
{
	bson_t *whole =
		BCON_NEW("start", BCON_DATE_TIME(START_MS), "getParameter", "{", "a", BCON_INT32(1), "b",
			 BCON_INT32(2), "}", "getClusterParameter", "{", "c", BCON_INT32(3), "}");
	bson_t *change = BCON_NEW("start", BCON_DATE_TIME(START_MS + 9), "getParameter", "{", "b",
				  BCON_INT32(20), "d", BCON_UTF8("new"), "}");
	bson_t *again = BCON_NEW("getParameter", "{", "a", BCON_INT32(10), "}", "other", "{", "e",
				 BCON_INT32(5), "}");
	struct bytes file = {0};
	put_parameters(&file, START_MS, 0, whole);
	put_parameters(&file, START_MS + 1, 1, change);
	put_parameters(&file, START_MS + 2, 1, again);
	struct ftdc *ftdc = open_bytes(&file, NULL);
	struct ftdc_chunk chunk;
	cr_assert_not(ftdc_next(ftdc, &chunk, &error));
	expect_text(ftdc, "getParameter.a", "10");
	expect_text(ftdc, "getParameter.b", "20");
	expect_text(ftdc, "getParameter.d", "new");
	expect_text(ftdc, "getClusterParameter.c", "3");
	expect_text(ftdc, "other.e", "5");
	expect_end(ftdc, 0);
	bson_destroy(whole);
	bson_destroy(change);
	bson_destroy(again);
}

Test(ftdc_files, documents_of_a_later_server_are_passed_over)
{
	bson_t *later = BCON_NEW("_id", BCON_DATE_TIME(START_MS), "type", BCON_INT32(9), "what", "[",
				 BCON_INT32(1), "]");
	struct bytes file = {0};
	struct ftdc_chunk chunk;
	put_plain_chunk(&file, 0, 1, 2);
	put_bytes(&file, bson_get_data(later), later->len);
	put_plain_chunk(&file, 2000, 3, 2);
	struct ftdc *ftdc = open_bytes(&file, NULL);
	expect_chunk(ftdc, &chunk, 2);
	expect_chunk(ftdc, &chunk, 2);
	expect_end(ftdc, 0);
	bson_destroy(later);
}

/* ---- names --------------------------------------------------------------------------------------------- */

Test(ftdc_files, a_set_of_names_keeps_their_order_and_grows)
{
	struct ftdc_names names = {0};
	bool memory = true;
	char name[16];
	cr_assert_eq(ftdc_names_find(&names, "x0"), FTDC_NO_NAME);
	for (size_t round = 0; round < 2; round++)
		for (size_t i = 0; i < 5000; i++) {
			snprintf(name, sizeof name, "x%zu", i);
			cr_assert_eq(ftdc_names_add(&names, name, &memory), i);
		}
	cr_assert_eq(names.count, 5000);
	cr_assert_str_eq(names.items[4999], "x4999");
	cr_assert_eq(ftdc_names_find(&names, "x777"), 777);
	cr_assert_eq(ftdc_names_find(&names, "y"), FTDC_NO_NAME);
	cr_assert(memory && names.refused == 0);
	ftdc_names_free(&names);
}

Test(ftdc_files, a_set_of_names_is_bounded)
{
	struct ftdc_names names = {0};
	bool memory = true;
	char name[16];
	for (size_t i = 0; i < FTDC_NAMES_MAX; i++) {
		snprintf(name, sizeof name, "%zu", i);
		cr_assert_eq(ftdc_names_add(&names, name, &memory), i);
	}
	cr_assert_eq(ftdc_names_add(&names, "one more", &memory), FTDC_NO_NAME);
	cr_assert_eq(ftdc_names_add(&names, "5", &memory), 5);
	cr_assert(memory && names.refused == 1);
	ftdc_names_free(&names);
}
