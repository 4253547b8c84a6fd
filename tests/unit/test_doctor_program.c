/* Which allocator a program has, whether the shim can be loaded into it, and the small parts of doctor. */
#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/command.h"
#include "analyzer/doctor_check.h"
#include "analyzer/doctor_process.h"
#include "tests/unit/support_doctor.h"
#include "tests/unit/support_trace.h"

#define PROC "proc/4711/"

static const char *healthy(void)
{
	const char *root = healthy_machine("x86_64");
	healthy_process(root, EM_X86_64);
	return root;
}

static json_t *look(const char *root, int status)
{
	return DOCTOR(status, "--root", root, "--pid", "4711");
}

/* ---- allocators ---------------------------------------------------------------------------------------- */

static const struct {
	const char *symbols[3], *library, *allocator, *recommendations;
} programs[] = {
	{{"malloc", "TCMalloc_Internal_GetStats"}, NULL, "tcmalloc-google", "8.0"},
	{{"malloc", "MallocExtension_GetNumericProperty"}, NULL, "gperftools", "7.0"},
	{{"malloc", "mallctl"}, NULL, "jemalloc", "other"},
	{{"je_mallctl"}, NULL, "jemalloc", "other"},
	{{"mi_malloc"}, NULL, "mimalloc", "other"},
	{{"malloc"}, NULL, "other", "other"},
	{{"main"}, NULL, "system", "other"},
	{{"main"}, "/usr/lib/libtcmalloc_minimal.so.4", "gperftools", "7.0"},
	{{"main"}, "/usr/lib/libjemalloc.so.2", "jemalloc", "other"},
	{{"main"}, "/usr/lib/libmimalloc.so.2.0", "mimalloc", "other"},
};

static void put_program(const char *root, const char *const *names, const char *library)
{
	struct fake_symbol symbols[4] = {0};
	char maps[512];
	for (size_t i = 0; i < 3 && names[i]; i++)
		symbols[i] = (struct fake_symbol){names[i], 0x40, 0};
	fake_program(root, EM_X86_64, symbols);
	snprintf(maps, sizeof maps,
		 "00010000-00012000 r-xp 00000000 08:01 11  /usr/bin/mongod\n"
		 "00020000-00022000 r-xp 00000000 08:01 12  /lib/libc.so.6\n"
		 "00030000-00032000 r-xp 00000000 08:01 13  /lib/ld-linux-fake.so.1\n"
		 "00034000-00035000 r-xp 00000000 08:01 14  %s\n",
		 library ? library : "/usr/lib/libm.so.6");
	fake_file(root, PROC "maps", maps);
}

Test(doctor_program, the_allocator_is_told_by_symbols_and_libraries)
{
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		const char *root = healthy();
		put_program(root, programs[i].symbols, programs[i].library);
		json_t *report = look(root, !strcmp(programs[i].recommendations, "7.0"));
		cr_assert_str_eq(json_string_value(json_object_get(report, "allocator")),
				 programs[i].allocator, "%zu", i);
		cr_assert_str_eq(json_string_value(json_object_get(report, "recommendations")),
				 programs[i].recommendations, "%zu", i);
		json_decref(report);
	}
}

/* Started as an argument of its loader, to have a C library of its own. */
Test(doctor_program, a_program_below_its_loader)
{
	static const char command[] =
		"/opt/ld-linux-fake.so.1\0--library-path\0/opt\0/usr/bin/mongod\0-f\0/etc/mongod.conf";
	const char *root = healthy();
	fake_bytes(root, PROC "cmdline", command, sizeof command);
	fake_remove(root, PROC "exe");
	fake_link(root, PROC "exe", "/lib/ld-linux-fake.so.1");
	json_t *report = look(root, 0);
	cr_assert_str_eq(json_string_value(json_object_get(report, "allocator")), "tcmalloc-google");
	expect_finding(report, "per-cpu-caches", "ok", "found", "in use");
	json_decref(report);
}

/* ---- can the shim be loaded ---------------------------------------------------------------------------- */

Test(doctor_program, a_static_program_takes_no_preload)
{
	static const struct fake_symbol symbols[] = {
		{"malloc", 0x40, 0}, {"TCMalloc_Internal_GetStats", 0x50, 0}, {0}};
	const char *root = healthy();
	fake_elf(root, PROC "root/usr/bin/mongod",
		 &(struct fake_elf){.machine = EM_X86_64, .symbols = symbols});
	fake_file(root, PROC "maps", "00010000-00012000 r-xp 00000000 08:01 11  /usr/bin/mongod\n");
	json_t *report = look(root, 1);
	expect_finding(report, "shim-load", "bad", "advice", "static program takes no preload");
	expect_finding(report, "per-cpu-caches", "unknown", NULL, NULL);
	json_decref(report);
}

Test(doctor_program, musl_is_no_glibc)
{
	const char *root = healthy();
	fake_file(root, PROC "maps",
		  "00010000-00012000 r-xp 00000000 08:01 11  /usr/bin/mongod\n"
		  "00030000-00032000 r-xp 00000000 08:01 13  /lib/ld-musl-x86_64.so.1\n");
	json_t *report = look(root, 1);
	expect_finding(report, "shim-load", "bad", "found", "musl");
	expect_finding(report, "rseq-owner", "ok", "found", "does not use rseq");
	json_decref(report);
}

Test(doctor_program, it_is_said_where_it_is_loaded_already)
{
	const char *root = healthy();
	const char *const names[3] = {"malloc", "TCMalloc_Internal_GetStats"};
	put_program(root, names, "/opt/libmtrace.so");
	json_t *report = look(root, 0);
	expect_finding(report, "shim-load", "ok", "found", "libmtrace.so is in it");
	json_decref(report);
}

Test(doctor_program, secure_execution_and_strict_seccomp)
{
	const uint64_t auxiliary[] = {AT_SECURE, 1, AT_NULL, 0};
	const char *root = healthy();
	fake_bytes(root, PROC "auxv", auxiliary, sizeof auxiliary);
	fake_file(root, PROC "status", "PPid:\t1\nTHP_enabled:\t1\nSeccomp:\t1\nCapEff:\t0000000000000000\n");
	json_t *report = look(root, 1);
	expect_finding(report, "shim-secure", "bad", "advice", "ignores LD_PRELOAD");
	expect_finding(report, "shim-seccomp", "bad", "found", "strict");
	json_decref(report);
}

Test(doctor_program, an_old_kernel_tells_addresses_to_the_privileged_only)
{
	const char *root = healthy();
	fake_file(root, "proc/sys/kernel/osrelease", "6.1.0-13-amd64\n");
	json_t *report = look(root, 1);
	expect_finding(report, "shim-pages", "warn", "found", "without CAP_SYS_ADMIN");
	json_decref(report);
	fake_file(root, PROC "status", "PPid:\t1\nTHP_enabled:\t1\nSeccomp:\t0\nCapEff:\t000001ffffffffff\n");
	json_decref(look(root, 0));
}

/* ---- files that are not what they should be ------------------------------------------------------------ */

Test(doctor_program, a_program_that_is_no_elf_file_leaves_things_unknown)
{
	const char *root = healthy();
	fake_file(root, PROC "root/usr/bin/mongod", "#!/bin/sh\n");
	fake_file(root, PROC "root/lib/libc.so.6", "\177ELF");
	json_t *report = look(root, 0);
	expect_finding(report, "shim-malloc", "unknown", "found", "cannot be read");
	expect_finding(report, "shim-load", "unknown", "found", "cannot be read");
	json_decref(report);
}

/* Cut off or with any byte inverted: some answer, and no crash. */
Test(doctor_program, damaged_elf_files)
{
	const char *root = healthy(), *path = PROC "root/usr/bin/mongod";
	char full[256];
	size_t bytes;
	snprintf(full, sizeof full, "%s/%s", root, path);
	uint8_t *whole = support_read_file(full, &bytes);
	for (size_t at = 0; at < bytes; at += 1 + at / 64) {
		struct doctor_symbol symbol = {.name = "malloc"};
		struct doctor_elf elf;
		uint8_t kept = whole[at];
		whole[at] ^= 0xff;
		fake_bytes(root, path, whole, bytes);
		whole[at] = kept;
		if (doctor_elf_open(&elf, open(full, O_RDONLY))) {
			doctor_elf_symbols(&elf, &symbol, 1);
			doctor_elf_close(&elf);
		}
		fake_bytes(root, path, whole, at);
		if (doctor_elf_open(&elf, open(full, O_RDONLY))) {
			doctor_elf_symbols(&elf, &symbol, 1);
			doctor_elf_close(&elf);
		}
	}
	fake_bytes(root, path, whole, bytes);
	json_decref(look(root, 0));
	free(whole);
}

/* Links inside a container lead to nowhere outside of it. */
Test(doctor_program, a_configuration_behind_a_link_is_the_container_s)
{
	const char *root = healthy(), *outside = support_path("outside.conf");
	support_write_file(outside, "cacheSizeGB: 100\n", 17);
	fake_remove(root, PROC "root/etc/mongod.conf");
	fake_link(root, PROC "root/etc/mongod.conf", outside);
	json_t *report = look(root, 0);
	expect_finding(report, "cache-size", "unknown", "found", "No such file");
	json_decref(report);
	fake_remove(root, PROC "root/etc/mongod.conf");
	fake_link(root, PROC "root/etc/mongod.conf", "/opt/real.conf");
	fake_file(root, PROC "root/opt/real.conf", "cacheSizeGB: 1\n");
	report = look(root, 0);
	expect_finding(report, "cache-size", "ok", "found", "1.0 GiB");
	json_decref(report);
}

/* ---- parts --------------------------------------------------------------------------------------------- */

Test(doctor_program, settings_and_arguments)
{
	static const char block[] = "prog\0--path=/a\0--size\0003\0NAME=x=y\0NAMES=z\0--last";
	cr_assert_str_eq(doctor_argument(block, sizeof block, "--path"), "/a");
	cr_assert_str_eq(doctor_argument(block, sizeof block, "--size"), "3");
	cr_assert_null(doctor_argument(block, sizeof block, "--last"));
	cr_assert_null(doctor_argument(block, sizeof block, "--pat"));
	cr_assert_str_eq(doctor_setting(block, sizeof block, "NAME"), "x=y");
	cr_assert_str_eq(doctor_setting(block, sizeof block, "NAMES"), "z");
	cr_assert_null(doctor_setting(block, sizeof block, "AME"));
}

Test(doctor_program, the_tunable_is_read_as_glibc_reads_it)
{
	cr_assert_eq(doctor_tunable_rseq(NULL), 1);
	cr_assert_eq(doctor_tunable_rseq(""), 1);
	cr_assert_eq(doctor_tunable_rseq("glibc.pthread.rseq=0"), 0);
	cr_assert_eq(doctor_tunable_rseq("a.b=1:glibc.pthread.rseq=0:c.d=2"), 0);
	cr_assert_eq(doctor_tunable_rseq("glibc.pthread.rseq=0:glibc.pthread.rseq=1"), 1);
	cr_assert_eq(doctor_tunable_rseq("glibc.pthread.rseq=7"), 1);
	cr_assert_eq(doctor_tunable_rseq("xglibc.pthread.rseq=0"), 1);
	cr_assert_eq(doctor_tunable_rseq("glibc.pthread.rseq=0x0"), 0);
}

Test(doctor_program, releases_compare)
{
	cr_assert_eq(judge_release("6.19.0"), 6019000);
	cr_assert_eq(judge_release("6.19.0-rc1"), 6019000);
	cr_assert_eq(judge_release("7.0-rc3"), 7000000);
	cr_assert_eq(judge_release("7.0.13+deb14-amd64"), 7000013);
	cr_assert_eq(judge_release("8.0"), 8000000);
	cr_assert_eq(judge_release("8.2.10"), 8002010);
	cr_assert_eq(judge_release("8"), -1);
	cr_assert_eq(judge_release("new"), -1);
	cr_assert_eq(judge_release(""), -1);
	cr_assert_eq(judge_release("6.99999.1"), -1);
}
