/* What the commands share, as the command line reaches it. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/command.h"
#include "tests/unit/support_report.h"
#include "tests/unit/support_trace_internal.h"

static char trace_path[256], rings_path[512], link_path[256];

static void start(void)
{
	cr_redirect_stdout();
	cr_redirect_stderr();
	snprintf(trace_path, sizeof trace_path, "%s", support_path("t.mtr"));
	snprintf(rings_path, sizeof rings_path, "%s.rings", trace_path);
	snprintf(link_path, sizeof link_path, "%s", support_path("link"));
	struct support_trace *trace = support_open(trace_path, &(struct support_options){.full = true});
	support_malloc(trace, 1, 10, 0x1000, 100, 0);
	support_end(trace, 1000);
	support_write_file(rings_path, "rings", 5);
	cr_assert_eq(symlink(trace_path, link_path), 0);
}

TestSuite(command, .init = start);

static void assert_spared(int (*command)(int argc, char **argv), const char *name, const char *output)
{
	size_t before_bytes, after_bytes;
	uint8_t *before = support_read_file(output, &before_bytes);
	char *argv[] = {(char *)name, trace_path, "-o", (char *)output, "--format=csv", NULL};
	cr_assert_eq(command(strcmp(name, "export") == 0 ? 5 : 4, argv), ERROR_USAGE, "%s -o %s", name,
		     output);
	uint8_t *after = support_read_file(output, &after_bytes);
	cr_assert_eq(before_bytes, after_bytes, "%s -o %s", name, output);
	cr_assert_arr_eq(before, after, before_bytes);
	free(before);
	free(after);
}

Test(command, an_output_that_is_the_input_or_its_rings_is_refused)
{
	const char *const outputs[] = {trace_path, rings_path, link_path};
	for (unsigned i = 0; i < 3; i++) {
		assert_spared(cmd_info, "info", outputs[i]);
		assert_spared(cmd_sites, "sites", outputs[i]);
		assert_spared(cmd_export, "export", outputs[i]);
	}
}

Test(command, an_output_that_exists_and_is_no_input_is_overwritten)
{
	size_t bytes;
	const char *output = support_path("old");
	support_write_file(output, "old", 3);
	char *argv[] = {"info", trace_path, "-o", (char *)output, NULL};
	cr_assert_eq(cmd_info(4, argv), 0);
	free(support_read_file(output, &bytes));
	cr_assert_gt(bytes, 100);
}

/* ---- options ------------------------------------------------------------------------------------------- */

Test(command, a_folder_that_does_not_exist_is_wrong_usage)
{
	const char *const options[] = {"--sysroot", "--debug-dir"};
	for (unsigned i = 0; i < 2; i++) {
		char *there[] = {"sites", trace_path, (char *)options[i], "/", NULL};
		char *missing[] = {"sites", trace_path, (char *)options[i], "/nonexistent/root", NULL};
		char *no_folder[] = {"sites", trace_path, (char *)options[i], trace_path, NULL};
		cr_assert_eq(cmd_sites(4, there), ERROR_NONE);
		cr_assert_eq(cmd_sites(4, missing), ERROR_USAGE);
		cr_assert_eq(cmd_sites(4, no_folder), ERROR_USAGE);
		char *folded[] = {"export",	      "--format=folded",   trace_path,
				  (char *)options[i], "/nonexistent/root", NULL};
		cr_assert_eq(cmd_export(5, folded), ERROR_USAGE);
	}
}

Test(command, a_name_among_others_is_chosen_or_refused)
{
	static const char *const names[] = {"one", "two"};
	cr_assert_eq(command_choose("sites", "sort", "two", names, 2), 1);
	cr_assert_eq(command_choose("sites", "sort", "on", names, 2), 2);
	cr_assert_eq(command_choose("sites", "sort", NULL, names, 2), 2);
	char *sites[] = {"sites", trace_path, "--sort=size", NULL};
	cr_assert_eq(cmd_sites(3, sites), ERROR_USAGE);
	char *weight[] = {"export", trace_path, "--format=folded", "--weight=size", NULL};
	cr_assert_eq(cmd_export(4, weight), ERROR_USAGE);
	char *format[] = {"export", trace_path, NULL};
	cr_assert_eq(cmd_export(2, format), ERROR_USAGE);
}

/* ---- info ---------------------------------------------------------------------------------------------- */

static char *info_of(const char *path, bool json)
{
	size_t bytes;
	char *output = (char *)support_path("info");
	char *argv[] = {"info", (char *)path, "-o", output, "--json", NULL};
	int status = cmd_info(json ? 5 : 4, argv);
	cr_assert(status == ERROR_NONE || status == ERROR_INPUT);
	char *text = (char *)support_read_file(output, &bytes);
	text[bytes] = 0;
	return text;
}

static void assert_info(const char *path, const char *part, const char *json_part)
{
	char *text = info_of(path, false), *json = info_of(path, true);
	cr_assert_not_null(strstr(text, part), "%s", text);
	cr_assert_not_null(strstr(json, json_part), "%s", json);
	free(text);
	free(json);
}

/* 30 events in three blocks; the middle one gets a wrong byte, then the end is cut off. */
Test(command, info_counts_the_recorded_events_that_could_not_be_read)
{
	size_t bytes;
	uint64_t starts[3];
	const char *path = support_path("holes.mtr");
	struct support_trace *trace = support_open(path, &(struct support_options){.full = true});
	for (uint64_t i = 0; i < 30; i++) {
		support_malloc(trace, 1, 100 * i, 0x1000 + 64 * i, 50, 0);
		if (i % 10 == 9)
			support_snapshot(trace, 100 * i + 50, NULL);
	}
	support_end(trace, 4000);
	uint8_t *file = support_read_file(path, &bytes);
	unsigned found = 0;
	for (size_t at = TRACE_PAGE_BYTES; at + sizeof(struct block_header) < bytes; at += 16) {
		struct block_header header;
		memcpy(&header, file + at, sizeof header);
		if (header.magic == BLOCK_MAGIC && header.type == BLOCK_EVENTS && found < 3)
			starts[found++] = at;
	}
	cr_assert_eq(found, 3);
	assert_info(path, "30 recorded, 0 lost\n", "\"events_unread\": 0");
	file[starts[1] + sizeof(struct block_header)] ^= 1;
	support_write_file(path, file, bytes);
	assert_info(path, "10 recorded events could not be read", "\"events_unread\": 10");
	support_write_file(path, file, starts[2]);
	assert_info(path, "after the last snapshot is not known", "\"events_unread\": 10");
	free(file);
}

/* ---- sites --------------------------------------------------------------------------------------------- */

/* Site 1 has the peak, site 2 what is left. */
static const char *two_sites(const char *name, bool ended)
{
	static const uint64_t frames[] = {0x1111000, 0x2222000};
	const char *path = support_path(name);
	struct support_trace *trace = support_open(path, &(struct support_options){.full = true});
	support_stack(trace, 1, 1, &frames[0], 1);
	support_stack(trace, 1, 2, &frames[1], 1);
	support_malloc(trace, 1, 10, 0x1000, 5000, 1);
	support_malloc(trace, 1, 20, 0x9000, 40, 2);
	support_free_block(trace, 1, 30, 0x1000);
	support_snapshot(trace, 40, NULL);
	if (ended)
		support_end(trace, 50);
	else
		support_release(trace);
	return path;
}

static void assert_first_site(const char *path, const char *sort, const char *first)
{
	size_t bytes;
	char *output = (char *)support_path("sites");
	char *argv[] = {"sites", (char *)path, "-o", output, "--sort", (char *)sort, NULL};
	cmd_sites(sort ? 6 : 4, argv);
	char *text = (char *)support_read_file(output, &bytes);
	text[bytes] = 0;
	char *found = strstr(text, "#1");
	cr_assert_not_null(found);
	cr_assert_eq(strncmp(found, first, strlen(first)), 0, "%s", text);
	free(text);
}

Test(command, sites_are_sorted_by_peak_once_the_process_has_exited)
{
	const char *ended = two_sites("ended.mtr", true), *running = two_sites("running.mtr", false);
	assert_first_site(ended, NULL, "#1  live 0 B");
	assert_first_site(ended, "live", "#1  live 40 B");
	assert_first_site(running, NULL, "#1  live 40 B");
}

/* ---- report -------------------------------------------------------------------------------------------- */

static int report_into(const char *folder, const char *client)
{
	char *argv[] = {"report", trace_path, "-o", (char *)folder, "--ycsb", (char *)client, NULL};
	return cmd_report(client ? 6 : 4, argv);
}

Test(command, a_report_over_the_client_output_is_refused)
{
	char client[512];
	size_t before_bytes, after_bytes;
	const char *folder = support_path("out");
	cr_assert_eq(mkdir(folder, 0777), 0);
	snprintf(client, sizeof client, "%s/summary.txt", folder);
	FILE *file = fopen(client, "w");
	run_client(file, 0, 10, 1, 0, false);
	fclose(file);
	uint8_t *before = support_read_file(client, &before_bytes);
	cr_assert_eq(report_into(folder, client), ERROR_USAGE);
	uint8_t *after = support_read_file(client, &after_bytes);
	cr_assert_eq(before_bytes, after_bytes);
	cr_assert_arr_eq(before, after, before_bytes);
	free(before);
	free(after);
}

static void assert_left_out(int argc, char **argv, const char *folder, const char *unread)
{
	char path[512];
	size_t bytes;
	cr_assert_eq(cmd_report(argc, argv), ERROR_INPUT);
	snprintf(path, sizeof path, "%s/summary.txt", folder);
	char *text = (char *)support_read_file(path, &bytes);
	text[bytes] = 0;
	cr_assert_not_null(strstr(text, unread), "%s", text);
	cr_assert_not_null(strstr(text, "left out"), "%s", text);
	free(text);
	cr_assert_eq(access(strcat(strcpy(path, folder), "/report.json"), R_OK), 0);
}

Test(command, a_report_is_made_from_what_can_be_read)
{
	char *out = (char *)support_path("out"), *text = (char *)support_path("no-client");
	support_write_file(text, "no output of a client\n", 22);
	char *client[] = {"report", trace_path, "-o", out, "--ycsb", text, NULL};
	assert_left_out(6, client, out, "no-client");
	char *missing[] = {"report", "/nonexistent", trace_path, "-o", out, NULL};
	assert_left_out(5, missing, out, "/nonexistent");
	char *other[] = {"report", trace_path, text, "-o", out, NULL};
	assert_left_out(5, other, out, "no-client");
	char *none[] = {"report", "/nonexistent", text, "-o", out, NULL};
	cr_assert_eq(cmd_report(5, none), ERROR_INPUT);
}

Test(command, figures_of_an_earlier_report_are_removed_and_nothing_else)
{
	static const struct {
		const char *name;
		bool ours;
	} files[] = {{"sites.png", true},      {"overview-2.svg", true}, {"sizes-12.gp", true},
		     {"sites-old.png", false}, {"sites.txt", false},	 {"mine.png", false}};
	char path[512];
	const char *folder = support_path("out");
	cr_assert_eq(report_into(folder, NULL), 0);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/plots/%s", folder, files[i].name);
		support_write_file(path, "old", 3);
	}
	cr_assert_eq(report_into(folder, NULL), 0);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/plots/%s", folder, files[i].name);
		cr_assert_eq(access(path, F_OK) != 0, files[i].ours, "%s", files[i].name);
	}
}

/* Nobody may make folders in /sys, not even root; that none is there yet is not the reason. */
Test(command, the_reason_why_a_folder_cannot_be_made_is_that_of_mkdir)
{
	char text[1024] = "";
	FILE *said = cr_get_redirected_stderr();
	cr_assert_eq(report_into("/sys/mtrace-report", NULL), ERROR_INTERNAL);
	fflush(stderr);
	cr_assert_not_null(fgets(text, sizeof text, said));
	cr_assert_not_null(strstr(text, "cannot make this folder"), "%s", text);
	cr_assert_null(strstr(text, strerror(ENOENT)), "%s", text);
}

/* Names come from files that anybody may have made. */
Test(command, frames_are_printed_with_their_source)
{
	static const struct {
		struct symbol_frame frame;
		const char *text;
	} cases[] = {{{.name = "main", .source_file = "/src/a/mongo.c", .line = 12}, "main  mongo.c:12"},
		     {{.name = "main", .source_file = "mongo.c", .inlined = true}, "main  mongo.c (inlined)"},
		     {{.name = "a\033[2J", .line = 3}, "a?[2J"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *text;
		size_t bytes;
		FILE *file = open_memstream(&text, &bytes);
		print_frame(file, &cases[i].frame);
		cr_assert_eq(fclose(file), 0);
		cr_expect_str_eq(text, cases[i].text);
		free(text);
	}
}
