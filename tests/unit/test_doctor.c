/* `doctor --root` on folders that stand for a machine: the healthy one, and each finding. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <string.h>

#include "analyzer/command.h"
#include "analyzer/doctor.h"
#include "tests/unit/support_doctor.h"
#include "tests/unit/support_trace.h"

#define THP "sys/kernel/mm/transparent_hugepage/"

/* ---- nothing to complain about ------------------------------------------------------------------------- */

static void expect_all_ok(const json_t *report, size_t at_least)
{
	const json_t *findings = json_object_get(report, "findings");
	cr_assert(json_array_size(findings) >= at_least, "only %zu findings", json_array_size(findings));
	for (size_t i = 0; i < json_array_size(findings); i++) {
		const json_t *finding = json_array_get(findings, i);
		const char *id = json_string_value(json_object_get(finding, "id"));
		expect_finding(report, id, "ok", NULL, NULL);
		cr_assert(*field_of(report, id, "found"), "%s has found nothing", id);
		cr_assert(*field_of(report, id, "source") && *field_of(report, id, "why"), "%s", id);
		cr_assert(json_is_null(json_object_get(finding, "fix")), "%s is ok and has a fix", id);
	}
}

/* The C library, whose rseq only a process can forbid, is left out of the machine. */
Test(doctor, a_machine_as_mongodb_wants_it_has_no_finding)
{
	static const char *const arches[] = {"x86_64", "aarch64"};
	for (size_t i = 0; i < 2; i++) {
		const char *root = healthy_machine(arches[i]);
		json_t *report = DOCTOR(0, "--root", root);
		expect_finding(report, "rseq-owner", "unknown", "found", "no ld-linux");
		cr_assert_eq(json_integer_value(json_object_get(report, "warn")), 0);
		cr_assert_eq(json_integer_value(json_object_get(report, "bad")), 0);
		cr_assert_eq(json_integer_value(json_object_get(report, "ok")), 17);
		cr_assert_str_eq(json_string_value(json_object_get(report, "arch")), arches[i]);
		cr_assert(json_is_null(json_object_get(report, "pid")));
		json_decref(report);
	}
}

Test(doctor, a_process_as_mongodb_wants_it_has_no_finding)
{
	static const struct {
		const char *arch;
		unsigned machine;
	} machines[] = {{"x86_64", 62}, {"aarch64", 183}};
	char pid[16];
	snprintf(pid, sizeof pid, "%d", FAKE_PID);
	for (size_t i = 0; i < 2; i++) {
		const char *root = healthy_machine(machines[i].arch);
		healthy_process(root, machines[i].machine);
		json_t *report = DOCTOR(0, "--root", root, "--pid", pid);
		expect_all_ok(report, 26);
		cr_assert_str_eq(json_string_value(json_object_get(report, "allocator")), "tcmalloc-google");
		cr_assert_eq(json_integer_value(json_object_get(report, "pid")), FAKE_PID);
		json_decref(report);
	}
}

/* ---- one thing wrong with a machine -------------------------------------------------------------------- */

/* NULL as a text: the file is not there. */
static const struct spoiled {
	const char *path, *text, *id, *state, *found, *fix;
} spoiled[] = {
	{THP "enabled", "always [madvise] never\n", "thp-enabled", "bad", "madvise",
	 "echo always >/sys/kernel/mm/transparent_hugepage/enabled"},
	{THP "enabled", "always madvise [never]\n", "thp-enabled", "bad", "never", "echo always >"},
	{THP "enabled", "always\n", "thp-enabled", "unknown", "no word in brackets", ""},
	{THP "enabled", NULL, "thp-enabled", "unknown", "No such file", ""},
	{THP "defrag", "always defer defer+madvise [madvise] never\n", "thp-defrag", "warn", "madvise",
	 "echo defer+madvise >/sys/kernel/mm/transparent_hugepage/defrag"},
	{THP "khugepaged/max_ptes_none", "511\n", "thp-max-ptes-none", "warn", "511",
	 "echo 0 >/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none"},
	{THP "khugepaged/max_ptes_none", "many\n", "thp-max-ptes-none", "unknown", "no number", ""},
	{THP "khugepaged/pages_to_scan", "0\n", "thp-khugepaged", "warn", "pages_to_scan 0",
	 "echo 4096 >/sys/kernel/mm/transparent_hugepage/khugepaged/pages_to_scan"},
	{THP "khugepaged/defrag", "0\n", "thp-khugepaged", "warn", "defrag 0",
	 "echo 1 >/sys/kernel/mm/transparent_hugepage/khugepaged/defrag"},
	{THP "hpage_pmd_size", "536870912\n", "thp-size", "warn", "512.0 MiB", ""},
	{THP "hugepages-2048kB/enabled", "always inherit madvise [never]\n", "thp-by-size", "bad",
	 "2048 kB: never", "echo inherit >/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled"},
	{THP "hugepages-64kB/enabled", "[always] inherit madvise never\n", "thp-by-size", "ok", "64kB always",
	 ""},
	{THP "use_zero_page", "0\n", "thp-zero-page", "warn", "0",
	 "echo 1 >/sys/kernel/mm/transparent_hugepage/use_zero_page"},
	{THP "shrink_underused", "1\n", "thp-shrinker", "warn", "shrink_underused 1",
	 "echo 0 >/sys/kernel/mm/transparent_hugepage/shrink_underused"},
	{THP "shrink_underused", NULL, "thp-shrinker", "ok", "shrink_underused 0", ""},
	{"sys/kernel/mm/transparent_hugepage", NULL, "thp-support", "bad", "without transparent huge pages",
	 ""},
	{"proc/sys/kernel/osrelease", "4.17.19\n", "kernel-version", "bad", "4.17.19", ""},
	{"proc/sys/kernel/osrelease", "4.18.0-553.el8_10.x86_64\n", "kernel-version", "ok", "4.18.0", ""},
	{"proc/sys/kernel/osrelease", "6.18.99\n", "kernel-range", "ok", "6.18.99", ""},
	{"proc/sys/kernel/osrelease", "6.19.0\n", "kernel-range", "bad", "6.19.0", ""},
	{"proc/sys/kernel/osrelease", "7.0.0-34-generic\n", "kernel-range", "bad", "7.0.0", ""},
	{"proc/sys/kernel/osrelease", "7.0.13\n", "kernel-range", "bad", "7.0.13", ""},
	{"proc/sys/kernel/osrelease", "7.0.14\n", "kernel-range", "ok", "7.0.14", ""},
	{"proc/sys/kernel/osrelease", "7.1.5\n", "kernel-range", "ok", "7.1.5", ""},
	{"proc/kallsyms", "0 T __x64_sys_membarrier\n", "kernel-rseq", "bad", "has no rseq", ""},
	{"proc/kallsyms", "", "kernel-rseq", "unknown", "kallsyms", ""},
	{"proc/sys/vm/overcommit_memory", "0\n", "overcommit", "warn", "0",
	 "echo 1 >/proc/sys/vm/overcommit_memory"},
	{"proc/sys/vm/overcommit_memory", "2\n", "overcommit", "bad", "2",
	 "echo 1 >/proc/sys/vm/overcommit_memory"},
	{"proc/sys/vm/zone_reclaim_mode", "1\n", "zone-reclaim", "warn", "1",
	 "echo 0 >/proc/sys/vm/zone_reclaim_mode"},
	{"proc/sys/vm/zone_reclaim_mode", NULL, "zone-reclaim", "ok", "0", ""},
	{"proc/sys/vm/max_map_count", "65530\n", "max-map-count", "warn", "65530",
	 "echo 128000 >/proc/sys/vm/max_map_count"},
	{"proc/meminfo", "MemTotal: 33554432 kB\nSwapTotal: 1048576 kB\n", "swappiness", "warn",
	 "1.0 GiB of swap", "echo 1 >/proc/sys/vm/swappiness"},
	{"proc/meminfo", "MemTotal: 33554432 kB\n", "swappiness", "warn", "swap not known", ""},
	{"sys/devices/system/node/online", "0-1\n", "numa", "unknown", "2 nodes", ""},
	{"sys/devices/system/node/online", "x\n", "numa", "unknown", "no list", ""},
};

static int status_for(const char *state)
{
	return !strcmp(state, "bad") || !strcmp(state, "warn") ? ERROR_NEGATIVE : ERROR_NONE;
}

Test(doctor, each_fault_of_a_machine_is_found)
{
	for (size_t i = 0; i < sizeof spoiled / sizeof *spoiled; i++) {
		const struct spoiled *fault = &spoiled[i];
		const char *root = healthy_machine("x86_64");
		if (fault->text)
			fake_file(root, fault->path, fault->text);
		else
			fake_remove(root, fault->path);
		json_t *report = DOCTOR(status_for(fault->state), "--root", root);
		expect_finding(report, fault->id, fault->state, "found", fault->found);
		expect_finding(report, fault->id, fault->state, "fix", fault->fix);
		if (!*fault->fix && strcmp(fault->state, "warn"))
			cr_assert_str_eq(field_of(report, fault->id, "fix"), "", "%zu", i);
		json_decref(report);
	}
}

Test(doctor, two_faults_of_khugepaged_have_one_command)
{
	const char *root = healthy_machine("x86_64");
	fake_file(root, THP "khugepaged/pages_to_scan", "0\n");
	fake_file(root, THP "khugepaged/defrag", "0\n");
	json_t *report = DOCTOR(1, "--root", root);
	expect_finding(report, "thp-khugepaged", "warn", "fix", "pages_to_scan && echo 1 >");
	json_decref(report);
}

Test(doctor, an_older_kernel_without_settings_by_size_is_fine)
{
	const char *root = healthy_machine("x86_64");
	fake_remove(root, THP "hugepages-2048kB");
	fake_remove(root, THP "hugepages-64kB");
	json_t *report = DOCTOR(0, "--root", root);
	expect_finding(report, "thp-by-size", "ok", "found", "without settings by size");
	json_decref(report);
}

/* ---- recommendations of 7.0 ---------------------------------------------------------------------------- */

Test(doctor, mongodb_7_wants_huge_pages_off)
{
	const char *root = healthy_machine("x86_64");
	json_t *report = DOCTOR(1, "--root", root, "--for", "7.0");
	expect_finding(report, "thp-enabled", "bad", "fix",
		       "echo never >/sys/kernel/mm/transparent_hugepage/enabled");
	expect_finding(report, "thp-enabled", "bad", "source", "disable-transparent-huge-pages");
	cr_assert_str_eq(state_of(report, "rseq-owner"), "absent");
	cr_assert_str_eq(state_of(report, "thp-defrag"), "absent");
	json_decref(report);
	fake_file(root, THP "enabled", "always madvise [never]\n");
	json_decref(DOCTOR(0, "--root", root, "--for", "4.4.6"));
	fake_file(root, THP "enabled", "always [madvise] never\n");
	json_decref(DOCTOR(0, "--root", root, "--for", "7.0"));
	json_decref(DOCTOR(1, "--root", root, "--for", "8.2"));
}

Test(doctor, nothing_is_known_of_an_empty_folder)
{
	json_t *report = DOCTOR(0, "--root", fake_root());
	cr_assert_eq((size_t)json_integer_value(json_object_get(report, "unknown")),
		     json_array_size(json_object_get(report, "findings")));
	json_decref(report);
}

/* ---- ends ---------------------------------------------------------------------------------------------- */

Test(doctor, wrong_usage_is_exit_status_2, .init = cr_redirect_stderr)
{
	char *version[] = {"doctor", "--for", "new", NULL}, *operand[] = {"doctor", "x", NULL};
	char *pid[] = {"doctor", "--pid", "99999999999", NULL}, *none[] = {"doctor", "--pid", "x", NULL};
	cr_assert_eq(cmd_doctor(3, version), ERROR_USAGE);
	cr_assert_eq(cmd_doctor(2, operand), ERROR_USAGE);
	cr_assert_eq(cmd_doctor(3, pid), ERROR_USAGE);
	cr_assert_eq(cmd_doctor(3, none), ERROR_USAGE);
}

Test(doctor, a_process_that_is_not_there_is_exit_status_3, .init = cr_redirect_stderr)
{
	const char *root = healthy_machine("x86_64");
	char *argv[] = {"doctor", "--root", (char *)root, "--pid", "12", NULL};
	cr_assert_eq(cmd_doctor(5, argv), ERROR_INPUT);
}

Test(doctor, the_text_has_a_line_a_check_and_cannot_drive_a_terminal)
{
	const char *root = healthy_machine("x86_64"), *path = support_path("text");
	size_t bytes;
	fake_file(root, "proc/sys/kernel/osrelease", "6.12.0\x1b[31m\n");
	fake_file(root, THP "enabled", "always [madvise] never\n");
	char *argv[] = {"doctor", "--root", (char *)root, "-o", (char *)path, NULL};
	cr_assert_eq(cmd_doctor(5, argv), ERROR_NEGATIVE);
	char *text = (char *)support_read_file(path, &bytes);
	text[bytes] = '\0';
	cr_assert_null(strchr(text, 0x1b));
	cr_assert(strstr(text, "\nbad      thp-enabled        madvise"), "%s", text);
	cr_assert(strstr(text, "fix     echo always >/sys/kernel/mm/transparent_hugepage/enabled\n"));
	cr_assert(strstr(text, "\nok       thp-defrag         defer+madvise"));
	cr_assert(strstr(text, "1 bad, 1 unknown"));
	free(text);
}
