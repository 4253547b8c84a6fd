#include <ar.h>
#include <criterion/criterion.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/atomics_files.h"
#include "analyzer/atomics_output.h"
#include "analyzer/command.h"
#include "tests/unit/support_elf.h"
#include "tests/unit/support_trace.h"

static const uint32_t words[] = {0xb8e00041u /* ldaddal */, 0x88a07c41u /* cas */, 0xd65f03c0u};
static const uint8_t build_id[20] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};

static char folder[64];

static void enter(void)
{
	strcpy(folder, "/tmp/atomics-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
	support_elf_write("code.so",
			  &(struct support_elf){.words = words, .words_count = 3, .build_id = build_id});
}

static void leave(void)
{
	char command[100];
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	cr_assert_eq(chdir("/"), 0);
	cr_assert_eq(system(command), 0);
}

TestSuite(atomics_files, .init = enter, .fini = leave);

static void put_header(FILE *file, const char *name, size_t size)
{
	fprintf(file, "%-16s%-12s%-6s%-6s%-8s%-10zu%s", name, "0", "0", "0", "644", size, ARFMAG);
}

/* A thin archive with one long name, and a short one. */
static void make_thin(const char *path, const char *first, const char *second)
{
	FILE *file = fopen(path, "w");
	char name[20];
	cr_assert_not_null(file);
	fputs("!<thin>\n", file);
	put_header(file, "//", strlen(first) + 2);
	fprintf(file, "%s/\n%s", first, strlen(first) % 2 ? "\n" : "");
	put_header(file, "/0", 1000);
	snprintf(name, sizeof name, "%s/", second);
	put_header(file, name, 1000);
	fclose(file);
}

static void make_archive(const char *path, const char *const *members, size_t count)
{
	FILE *file = fopen(path, "w");
	cr_assert_not_null(file);
	fputs(ARMAG, file);
	for (size_t i = 0; i < count; i++) {
		char bytes[8192], name[20];
		FILE *member = fopen(members[i], "r");
		cr_assert_not_null(member);
		size_t size = fread(bytes, 1, sizeof bytes, member);
		fclose(member);
		snprintf(name, sizeof name, "%s/", members[i]);
		put_header(file, name, size);
		fwrite(bytes, 1, size, file);
		if (size % 2)
			fputc('\n', file);
	}
	fclose(file);
}

static void add(struct atomics_files *files, const char *operand)
{
	struct error error = {0};
	cr_assert(atomics_files_add(files, operand, &error), "%s", error.text);
}

/* ---- archives ------------------------------------------------------------------------------------------ */

Test(atomics_files, ordinary_archive)
{
	FILE *text = fopen("notes.txt", "w");
	fputs("no object\n", text);
	fclose(text);
	make_archive("lib.a", (const char *const[]){"code.so", "notes.txt", "code.so"}, 3);
	struct atomics_files files = {0};
	add(&files, "lib.a");
	cr_assert_eq(files.count, 1);
	const struct atomics_file *archive = &files.items[0];
	cr_assert_eq(archive->members_count, 3);
	cr_expect_eq(atomics_lse(&archive->census.all), 4);
	cr_expect_eq(archive->census.verdict, ATOMICS_INLINE_LSE);
	cr_expect_null(archive->problem);
	cr_expect_not_null(archive->members[1].problem, "a member that is no ELF file is named");
	cr_expect(atomics_files_problems(&files));
	atomics_files_free(&files);
}

Test(atomics_files, archive_cut_off)
{
	struct stat status;
	make_archive("lib.a", (const char *const[]){"code.so", "code.so"}, 2);
	cr_assert_eq(stat("lib.a", &status), 0);
	cr_assert_eq(truncate("lib.a", status.st_size - 100), 0);
	struct atomics_files files = {0};
	add(&files, "lib.a");
	cr_assert_not_null(files.items[0].problem);
	cr_expect_not_null(strstr(files.items[0].problem, "cut off"), "%s", files.items[0].problem);
	cr_expect_geq(atomics_lse(&files.items[0].census.all), 2, "the whole member still counts");
	atomics_files_free(&files);
}

Test(atomics_files, thin_archive)
{
	cr_assert_eq(mkdir("objects", 0700), 0);
	support_elf_write("objects/a_rather_long_name.o",
			  &(struct support_elf){.words = words, .words_count = 3});
	make_thin("lib.a", "objects/a_rather_long_name.o", "code.so");
	/* Members are looked for beside the archive, wherever it is named from. */
	char path[100];
	snprintf(path, sizeof path, "%s/lib.a", folder);
	cr_assert_eq(chdir("/"), 0);
	struct atomics_files files = {0};
	add(&files, path);
	cr_assert_null(files.items[0].problem, "%s", files.items[0].problem);
	cr_assert_eq(files.items[0].members_count, 2);
	cr_expect_str_eq(files.items[0].members[0].file, "objects/a_rather_long_name.o");
	cr_expect_eq(atomics_lse(&files.items[0].census.all), 4);
	atomics_files_free(&files);
}

Test(atomics_files, thin_archive_without_its_members)
{
	make_thin("lib.a", "gone_since_it_was_made.o", "code.so");
	struct atomics_files files = {0};
	add(&files, "lib.a");
	cr_assert_eq(files.items[0].members_count, 2);
	cr_expect_not_null(files.items[0].members[0].problem);
	cr_expect_eq(atomics_lse(&files.items[0].census.all), 2);
	atomics_files_free(&files);
}

/* Opening a pipe would wait for a writer. */
Test(atomics_files, thin_archive_naming_a_pipe, .timeout = 10)
{
	cr_assert_eq(mkfifo("pipe.o", 0600), 0);
	make_thin("lib.a", "pipe.o", "code.so");
	struct atomics_files files = {0};
	add(&files, "lib.a");
	cr_expect_str_eq(files.items[0].members[0].problem, "is no regular file");
	atomics_files_free(&files);
}

Test(atomics_files, damaged_thin_archives)
{
	static const char *const headers[] = {
		"/999            0           0     0     644     10        `\n", /* beyond the names */
		"/               0           0     0     644     x         `\n", /* no size */
		"a.o/            0           0     0     644     10        ??",	 /* no end of a header */
		"a.o/            0",
	};
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
		FILE *file = fopen("lib.a", "w");
		fprintf(file, "!<thin>\n%s", headers[i]);
		fclose(file);
		struct atomics_files files = {0};
		add(&files, "lib.a");
		cr_assert_not_null(files.items[0].problem, "header %zu", i);
		cr_expect_not_null(strstr(files.items[0].problem, "damaged"), "%s", files.items[0].problem);
		atomics_files_free(&files);
	}
}

/* ---- processes and traces ------------------------------------------------------------------------------ */

Test(atomics_files, own_process)
{
	char pid[20];
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	struct atomics_files files = {0};
	add(&files, pid);
	cr_assert_gt(files.count, 1);
	bool found = false;
	for (size_t i = 0; i < files.count; i++)
		found = found || strstr(files.items[i].file, "libc.so") != NULL;
	cr_expect(found, "the C library is mapped");
	atomics_files_free(&files);
}

Test(atomics_files, modules_of_a_trace)
{
	char path[100];
	static const uint8_t other[20] = {9};
	snprintf(path, sizeof path, "%s/code.so", folder);
	struct support_trace *trace = support_open("t.mtr", &(struct support_options){0});
	support_module(trace, 0x1000, 0x2000, 0x1000, "/code.so", build_id, 20);
	support_module(trace, 0x3000, 0x4000, 0x3000, "/code.so", build_id, 20); /* the same, loaded again */
	support_module(trace, 0x5000, 0x6000, 0x5000, "/code.so", other, 20);
	support_module(trace, 0x7000, 0x8000, 0x7000, "/gone.so", other, 20);
	support_module(trace, 0x9000, 0xa000, 0x9000, "[vdso]", NULL, 0);
	support_end(trace, 1000);
	struct atomics_files files = {.sysroot = folder};
	add(&files, "t.mtr");
	cr_assert_eq(files.count, 3);
	unsigned counted = 0, replaced = 0;
	for (size_t i = 0; i < files.count; i++) {
		const char *problem = files.items[i].problem;
		counted += !problem && atomics_lse(&files.items[i].census.all) == 2;
		replaced += problem && strstr(problem, "another build-id");
	}
	cr_expect_eq(counted, 1);
	cr_expect_eq(replaced, 1);
	atomics_files_free(&files);
}

/* ---- the command --------------------------------------------------------------------------------------- */

static json_t *run_json(const char *operand, int wanted)
{
	char *argv[] = {(char[]){"atomics"},  (char[]){"--json"}, (char[]){"-o"},
			(char[]){"out.json"}, strdup(operand),	  NULL};
	cr_assert_eq(cmd_atomics(5, argv), wanted);
	free(argv[4]);
	json_t *object = json_load_file("out.json", 0, NULL);
	cr_assert_not_null(object);
	return object;
}

Test(atomics_files, json_of_a_file)
{
	json_t *object = run_json("code.so", ERROR_NONE);
	const json_t *file = json_array_get(json_object_get(object, "files"), 0);
	cr_expect_str_eq(json_string_value(json_object_get(file, "file")), "code.so");
	cr_expect_str_eq(json_string_value(json_object_get(file, "machine")), "aarch64");
	cr_expect_str_eq(json_string_value(json_object_get(file, "verdict")), "inline-lse");
	cr_expect_str_eq(json_string_value(json_object_get(file, "build_id")),
			 "0102030405060708090a0b0c0d0e0f1011121314");
	cr_expect_eq(json_integer_value(json_object_get(file, "lse")), 2);
	cr_expect_eq(json_integer_value(json_object_get(file, "exclusive")), 0);
	cr_expect_eq(json_integer_value(json_object_get(file, "outline_calls")), 0);
	json_decref(object);
}

Test(atomics_files, json_of_another_machine_has_no_counts)
{
	support_elf_write("code.so",
			  &(struct support_elf){.words = words, .words_count = 3, .machine = EM_X86_64});
	json_t *object = run_json("code.so", ERROR_NONE);
	const json_t *file = json_array_get(json_object_get(object, "files"), 0);
	cr_expect(json_is_null(json_object_get(file, "lse")));
	cr_expect_str_eq(json_string_value(json_object_get(file, "verdict")), "none");
	json_decref(object);
}

Test(atomics_files, exit_statuses)
{
	FILE *text = fopen("text", "w");
	fputs("neither", text);
	fclose(text);
	json_decref(run_json("text", ERROR_INPUT));
	json_decref(run_json("no_such_file", ERROR_INPUT));
	json_decref(run_json("999999999", ERROR_INPUT));
	support_elf_write("big.so",
			  &(struct support_elf){.words = words, .words_count = 3, .big_endian = true});
	json_t *object = run_json("big.so", ERROR_INPUT);
	const json_t *file = json_array_get(json_object_get(object, "files"), 0);
	cr_expect(json_is_null(json_object_get(file, "verdict")));
	cr_expect(json_is_null(json_object_get(file, "lse")));
	json_decref(object);
	char *none[] = {(char[]){"atomics"}, NULL};
	cr_expect_eq(cmd_atomics(1, none), ERROR_USAGE);
}
