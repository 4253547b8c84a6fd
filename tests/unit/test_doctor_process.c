/* `doctor --root --pid` on folders that stand for a machine with a mongod. */
#include <criterion/criterion.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/command.h"
#include "analyzer/doctor_process.h"
#include "tests/unit/support_doctor.h"
#include "tests/unit/support_trace.h"

#define PROC "proc/4711/"
#define THP  "sys/kernel/mm/transparent_hugepage/"

static const char *healthy(unsigned machine)
{
	const char *root = healthy_machine(machine == EM_AARCH64 ? "aarch64" : "x86_64");
	healthy_process(root, machine);
	return root;
}

static json_t *look(const char *root, int status)
{
	return DOCTOR(status, "--root", root, "--pid", "4711");
}

/* Of a healthy process, with one file in its place. */
static json_t *look_with(unsigned machine, const char *path, const char *text, int status)
{
	const char *root = healthy(machine);
	if (text)
		fake_file(root, path, text);
	else
		fake_remove(root, path);
	return look(root, status);
}

static void expect_with(const char *path, const char *text, const char *id, const char *state,
			const char *found)
{
	bool wrong = !strcmp(state, "bad") || !strcmp(state, "warn");
	json_t *report = look_with(EM_X86_64, path, text, wrong);
	expect_finding(report, id, state, "found", found);
	json_decref(report);
}

/* ---- rseq ---------------------------------------------------------------------------------------------- */

static const unsigned machines[] = {EM_X86_64, EM_AARCH64};

#define FOR_EACH_MACHINE(machine)                                                                            \
	for (size_t index = 0, machine = machines[0]; index < 2; machine = machines[++index % 2])

static const char *with_threads(unsigned machine, int glibc, int program, const char *environment)
{
	const char *root = healthy(machine);
	fake_memory(root, &(struct fake_threads){
				  .machine = machine, .count = 4, .glibc = glibc, .program = program});
	if (environment)
		fake_bytes(root, PROC "environ", environment, strlen(environment) + 1);
	return root;
}

Test(doctor_process, threads_say_that_the_program_has_rseq)
{
	FOR_EACH_MACHINE(machine)
	{
		json_t *report = look(with_threads((unsigned)machine, 0, 4, NULL), 0);
		expect_finding(report, "rseq-owner", "ok", "found", "4 the program's own");
		expect_finding(report, "per-cpu-caches", "ok", "found", "in use");
		json_decref(report);
	}
}

Test(doctor_process, threads_say_that_glibc_has_rseq)
{
	FOR_EACH_MACHINE(machine)
	{
		json_t *report = look(with_threads((unsigned)machine, 4, 0, "LANG=C"), 1);
		expect_finding(report, "rseq-owner", "bad", "found", "of 4 threads 4 have glibc's area");
		expect_finding(report, "per-cpu-caches", "bad", "advice", "rseq-owner says what to do");
		expect_finding(report, "per-cpu-capacity", "ok", "found", "not in use");
		json_decref(report);
	}
}

Test(doctor_process, nobody_has_it_before_the_first_allocation)
{
	json_t *report = look(with_threads(EM_X86_64, 0, 0, NULL), 0);
	expect_finding(report, "rseq-owner", "ok", "found", "0 the program's own");
	expect_finding(report, "per-cpu-caches", "unknown", "found", "no thread has asked");
	json_decref(report);
}

Test(doctor_process, without_its_memory_the_environment_decides)
{
	const char *root = with_threads(EM_X86_64, 4, 0, "LANG=C");
	fake_remove(root, PROC "mem");
	json_t *report = look(root, 1);
	expect_finding(report, "rseq-owner", "bad", "found", "GLIBC_TUNABLES of the process lets it");
	expect_finding(report, "per-cpu-caches", "unknown", "found", "No such file");
	json_decref(report);
	expect_with(PROC "mem", "short", "rseq-owner", "ok", "keeps glibc from rseq");
}

Test(doctor_process, a_list_of_threads_that_runs_in_a_circle_is_left)
{
	const char *root = healthy(EM_X86_64);
	size_t bytes;
	char path[256];
	snprintf(path, sizeof path, "%s/" PROC "mem", root);
	uint8_t *memory = support_read_file(path, &bytes);
	const uint64_t itself = 0x42000 + 0x2c0;
	memcpy(memory + 0x42000 + 0x2c0 + 8, &itself, sizeof itself);
	support_write_file(path, memory, bytes);
	json_t *report = look(root, 0);
	expect_finding(report, "rseq-owner", "ok", "found", "of 20000 threads");
	json_decref(report);
	free(memory);
}

/* ---- commands that mend it ----------------------------------------------------------------------------- */

static json_t *glibc_has_it(const char *root, const char *cgroup, const char *environment)
{
	fake_memory(root, &(struct fake_threads){.machine = EM_X86_64, .count = 2, .glibc = 2});
	fake_bytes(root, PROC "environ", environment, strlen(environment) + 1);
	if (cgroup)
		fake_file(root, PROC "cgroup", cgroup);
	return look(root, 1);
}

Test(doctor_process, a_unit_gets_a_drop_in)
{
	json_t *report = glibc_has_it(healthy(EM_X86_64), NULL, "A=B");
	cr_assert_str_eq(
		field_of(report, "rseq-owner", "fix"),
		"mkdir -p /etc/systemd/system/mongod.service.d && printf "
		"'[Service]\\nEnvironment=GLIBC_TUNABLES=glibc.pthread.rseq=0\\n' "
		">/etc/systemd/system/mongod.service.d/50-GLIBC_TUNABLES.conf && systemctl daemon-reload && "
		"systemctl restart mongod.service");
	json_decref(report);
}

Test(doctor_process, other_tunables_stay)
{
	json_t *report =
		glibc_has_it(healthy(EM_X86_64), "0::/user.slice/user@0.service\n",
			     "GLIBC_TUNABLES=glibc.malloc.arena_max=2:glibc.pthread.rseq=1:glibc.x=y");
	cr_assert_str_eq(field_of(report, "rseq-owner", "fix"),
			 "env GLIBC_TUNABLES=glibc.malloc.arena_max=2:glibc.x=y:glibc.pthread.rseq=0 "
			 "/usr/bin/mongod --config /etc/mongod.conf");
	json_decref(report);
}

Test(doctor_process, its_folder_its_user_and_what_a_shell_would_change)
{
	static const char command[] = "./mongod\0--dbpath\0my data\0it's";
	const char *root = healthy(EM_X86_64);
	fake_bytes(root, PROC "cmdline", command, sizeof command);
	fake_remove(root, PROC "cwd");
	fake_link(root, PROC "cwd", "/srv/db 1");
	fake_file(root, PROC "status",
		  "PPid:\t1\nUid:\t103\t103\t103\t103\nGid:\t65\t65\t65\t65\nGroups:\t65 7 "
		  "\nTHP_enabled:\t1\n");
	json_t *report = glibc_has_it(root, "0::/\n", "A=B");
	cr_assert_str_eq(field_of(report, "rseq-owner", "fix"),
			 "cd '/srv/db 1' && setpriv --reuid=103 --regid=65 --groups=65,7 env "
			 "GLIBC_TUNABLES=glibc.pthread.rseq=0 ./mongod --dbpath 'my data' 'it'\\''s'");
	json_decref(report);
}

Test(doctor_process, a_container_is_started_again)
{
	json_t *report = glibc_has_it(healthy(EM_X86_64), "0::/system.slice/docker-0123abc.scope\n", "A=B");
	cr_assert_str_eq(field_of(report, "rseq-owner", "fix"), "");
	expect_finding(report, "rseq-owner", "bad", "advice", "-e GLIBC_TUNABLES=glibc.pthread.rseq=0");
	cr_assert(json_is_true(json_object_get(report, "container")));
	json_decref(report);
}

/* ---- kernels that break it ----------------------------------------------------------------------------- */

Test(doctor_process, on_a_broken_kernel_glibc_should_have_rseq)
{
	const char *root = healthy(EM_X86_64);
	fake_file(root, "proc/sys/kernel/osrelease", "6.19.3\n");
	json_t *report = look(root, 1);
	expect_finding(report, "kernel-range", "bad", "fix", "GLIBC_TUNABLES=glibc.pthread.rseq=1");
	expect_finding(report, "rseq-owner", "ok", NULL, NULL);
	json_decref(report);
	report = glibc_has_it(root, NULL, "GLIBC_TUNABLES=glibc.pthread.rseq=1");
	expect_finding(report, "kernel-range", "ok", "found", "TCMalloc keeps away");
	expect_finding(report, "rseq-owner", "ok", NULL, NULL);
	expect_finding(report, "per-cpu-caches", "warn", "advice", "lesser evil");
	json_decref(report);
}

/* ---- capacity ------------------------------------------------------------------------------------------ */

Test(doctor_process, no_limit_in_a_container_means_no_capacity)
{
	const char *root = healthy(EM_X86_64);
	fake_file(root, PROC "cgroup", "0::/kubepods.slice/pod1/abc\n");
	fake_file(root, PROC "root/sys/fs/cgroup/memory.max", "max\n");
	json_t *report = look(root, 1);
	expect_finding(report, "per-cpu-capacity", "bad", "advice",
		       "-e MONGO_TCMALLOC_PER_CPU_CACHE_SIZE_BYTES=16777216");
	expect_finding(report, "per-cpu-capacity", "bad", "why", "36% to 60%");
	json_decref(report);
	static const char repaired[] =
		"GLIBC_TUNABLES=glibc.pthread.rseq=0\0MONGO_TCMALLOC_PER_CPU_CACHE_SIZE_BYTES=16777216";
	fake_bytes(root, PROC "environ", repaired, sizeof repaired);
	report = look(root, 0);
	expect_finding(report, "per-cpu-capacity", "ok", "found", "set to 16777216 bytes");
	json_decref(report);
}

Test(doctor_process, a_limit_in_a_container_is_fine)
{
	const char *root = healthy(EM_X86_64);
	fake_file(root, PROC "root/sys/fs/cgroup/memory.max", "2147483648\n");
	json_t *report = look(root, 0);
	expect_finding(report, "per-cpu-capacity", "ok", "found", "2147483648 bytes");
	json_decref(report);
}

/* ---- huge pages, limits, cache ------------------------------------------------------------------------- */

#define STATUS(thp, seccomp, capabilities)                                                                   \
	"PPid:\t1\nNSpid:\t4711\nTHP_enabled:\t" thp "\nSeccomp:\t" seccomp "\nCapEff:\t" capabilities "\n"

Test(doctor_process, huge_pages_switched_off_by_prctl)
{
	const char *root = healthy(EM_X86_64);
	fake_file(root, PROC "status", STATUS("0", "0", "0"));
	fake_file(root, "proc/1/status", "THP_enabled:\t0\n");
	fake_file(root, PROC "cgroup", "0::/\n");
	json_t *report = look(root, 1);
	expect_finding(report, "thp-process", "bad", "advice", "its parent process or one above it");
	expect_finding(report, "thp-process", "bad", "fix", "/usr/bin/mongod --config /etc/mongod.conf");
	json_decref(report);
	json_decref(DOCTOR(0, "--root", root, "--pid", "4711", "--for", "7.0"));
	expect_with(PROC "status", "PPid:\t1\n", "thp-process", "unknown", "too old");
}

Test(doctor_process, interleaving_is_asked_for_where_there_is_more_than_one_node)
{
	const char *root = healthy(EM_X86_64);
	fake_file(root, "sys/devices/system/node/online", "0-1\n");
	json_t *report = look(root, 1);
	expect_finding(report, "numa", "warn", "found", "2 nodes, policy default");
	json_decref(report);
	fake_file(root, PROC "numa_maps",
		  "00010000 interleave:0-1 anon=2\n00020000 interleave:0-1 file=/x\n");
	json_decref(look(root, 0));
}

Test(doctor_process, areas_are_counted_by_the_limit_of_descriptors)
{
	expect_with(PROC "limits",
		    "Max open files            1048576              1048576              files\n",
		    "max-map-count", "warn", "262144");
	expect_with(PROC "limits",
		    "Max open files            unlimited            unlimited            files\n",
		    "max-map-count", "warn", "262144");
}

Test(doctor_process, limits_of_all_the_cgroups_above_hold)
{
	const char *cgroup = "sys/fs/cgroup/db.slice/";
	char path[128];
	snprintf(path, sizeof path, "%smemory.max", cgroup);
	json_t *report = look_with(EM_X86_64, path, "1073741824\n", 1);
	expect_finding(report, "cgroup-memory", "ok", "found", "limit 1.0 GiB");
	expect_finding(report, "cache-size", "bad", "found", "1.5 GiB of 1.0 GiB");
	json_decref(report);
	snprintf(path, sizeof path, "%smongod.service/memory.high", cgroup);
	expect_with(path, "2147483648\n", "cgroup-memory", "warn", "memory.high 2.0 GiB");
	snprintf(path, sizeof path, "%smongod.service/memory.events", cgroup);
	expect_with(path, "oom 3\noom_kill 2\n", "cgroup-memory", "warn", "killed for memory: 2");
}

Test(doctor_process, the_first_version_of_cgroups)
{
	const char *root = healthy(EM_X86_64);
	fake_file(root, PROC "cgroup", "12:cpu:/\n7:memory:/docker/4f2a\n0::/\n");
	fake_file(root, "sys/fs/cgroup/memory/docker/4f2a/memory.limit_in_bytes", "9223372036854771712\n");
	fake_file(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "4294967296\n");
	json_t *report = look(root, 0);
	expect_finding(report, "cgroup-memory", "ok", "found", "cgroup v1, limit 4.0 GiB");
	expect_finding(report, "per-cpu-capacity", "ok", "found", "no /sys/fs/cgroup/memory.max");
	json_decref(report);
}

Test(doctor_process, a_cache_larger_than_the_default)
{
	static const char command[] = "/usr/bin/mongod\0--wiredTigerCacheSizeGB=2.5";
	const char *root = healthy(EM_X86_64);
	fake_bytes(root, PROC "cmdline", command, sizeof command);
	json_t *report = look(root, 1);
	expect_finding(report, "cache-size", "warn", "fix", "cache_size=1536M");
	json_decref(report);
	expect_with(PROC "root/etc/mongod.conf", "storage:\n  dbPath: /x\n", "cache-size", "ok", "not set");
	expect_with(PROC "root/etc/mongod.conf", "wiredTigerCacheSizeGB = 3.9\n", "cache-size", "bad",
		    "3.9 GiB");
	expect_with(PROC "root/etc/mongod.conf", NULL, "cache-size", "unknown", "No such file");
}

/* ---- AArch64 ------------------------------------------------------------------------------------------- */

static json_t *with_libc(const uint32_t *code, size_t count, uint64_t capabilities, int status)
{
	const char *root = healthy(EM_AARCH64);
	const uint64_t auxiliary[] = {AT_HWCAP, capabilities, AT_SECURE, 0, AT_NULL, 0};
	fake_bytes(root, PROC "auxv", auxiliary, sizeof auxiliary);
	fake_elf(root, PROC "root/lib/libc.so.6",
		 &(struct fake_elf){
			 .machine = EM_AARCH64, .interpreter = "/l", .code = code, .code_count = count});
	return look(root, status);
}

/* Encodings as an assembler gives them: ldaddal, swpal, casal, caspal, stadd; ldaxr, stlxr, ldxp, stxp; ldar,
 * add. */
static const uint32_t lse[] = {0xb8e00041, 0xb8e18042, 0xc8e0fc41, 0x4860fc82,
			       0xb820005f, 0xc8dffc20, 0x8b020020};
static const uint32_t exclusive[] = {0xc85ffc20, 0xc802fc23, 0xc87f0440, 0xc8240440, 0xc8dffc20};

Test(doctor_process, atomics_of_the_c_library_and_of_the_processor)
{
	json_t *report = with_libc(lse, 7, 1 << 8, 0);
	expect_finding(report, "lse", "ok", "found", "inline-lse (5 LSE, 0 exclusive");
	json_decref(report);
	report = with_libc(exclusive, 5, 1 << 8, 1);
	expect_finding(report, "lse", "warn", "found", "no-lse (0 LSE, 4 exclusive");
	json_decref(report);
	report = with_libc(exclusive, 5, 0, 0);
	expect_finding(report, "lse", "ok", "found", "the processor has no LSE");
	json_decref(report);
	report = with_libc(lse, 7, 0, 1);
	expect_finding(report, "lse", "bad", "advice", "dies of its first atomic operation");
	json_decref(report);
}

Test(doctor_process, an_address_space_of_39_bits)
{
	const char *root = healthy(EM_AARCH64);
	fake_file(root, PROC "maps",
		  "00010000-00012000 r-xp 00000000 08:01 11  /usr/bin/mongod\n"
		  "7ff0000000-7ff0021000 rw-p 00000000 00:00 0  [stack]\n");
	json_t *report = look(root, 1);
	expect_finding(report, "address-space", "bad", "found", "39 bits");
	json_decref(report);
}
