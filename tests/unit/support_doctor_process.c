#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support_doctor.h"
#include "tests/unit/support_trace_internal.h"

#define PROC "proc/4711/"

/* ---- memory -------------------------------------------------------------------------------------------- */

/* Where the files are mapped, and the threads' descriptors lie. */
enum {
	EXE = 0x10000,
	LIBC = 0x20000,
	LOADER = 0x30000,
	FIRST_THREAD = 0x40000,
	THREAD_STEP = 0x2000,
	MEMORY = 0x50000
};
/* In libc: what glibc tells debuggers. */
enum { DB_SIZE = 0x100, DB_LIST = 0x110, DB_NEXT = 0x120, DB_USED = 0x130, DB_USER = 0x140 };
/* In the loader. */
enum { RSEQ_SIZE = 0x800, RSEQ_OFFSET = 0x808, GLOBAL = 0x1000, USED_AT = 0x40, USER_AT = 0x80 };
/* In a descriptor; the list element's `next` is its second word here, so that nothing is found by luck. */
enum { DESCRIPTOR = 0x900, LIST_AT = 0x2c0, NEXT_AT = 8 };
/* The program's thread-local segment. */
enum { TLS_ADDRESS = 0x3010, TLS_BYTES = 0x70, TLS_ALIGN = 32, AREA = 0x30 };

struct memory {
	uint8_t bytes[MEMORY];
};

static void put_word(struct memory *memory, uint64_t address, uint64_t value, size_t bytes)
{
	SUPPORT_CHECK(address + bytes <= MEMORY);
	memcpy(memory->bytes + address, &value, bytes);
}

static void put_description(struct memory *memory, uint64_t address, uint32_t bits, uint32_t offset)
{
	put_word(memory, address, bits, 4);
	put_word(memory, address + 4, 1, 4);
	put_word(memory, address + 8, offset, 4);
}

/* A circle of threads first to end - 1 behind a head. */
static void put_list(struct memory *memory, uint64_t head, int first, int end)
{
	uint64_t at = head;
	for (int i = first; i < end; i++) {
		uint64_t element = FIRST_THREAD + (uint64_t)i * THREAD_STEP + LIST_AT;
		put_word(memory, at + NEXT_AT, element, 8);
		at = element;
	}
	put_word(memory, at + NEXT_AT, head, 8);
}

/*
 * By the ELF TLS ABI: on x86-64 the segment ends at the thread pointer, which is the descriptor; on AArch64
 * it starts 16 bytes behind it, aligned, and the pointer is the descriptor's end. Its address leaves a
 * remainder of 16 by its alignment, and so does its place.
 */
static uint64_t program_area(unsigned machine, uint64_t descriptor)
{
	if (machine == EM_X86_64)
		return descriptor - 0x80 + 0x10 + AREA;
	return descriptor + DESCRIPTOR + 32 + 0x10 + AREA;
}

static uint64_t glibc_area(unsigned machine, uint64_t descriptor, int64_t *offset)
{
	*offset = machine == EM_X86_64 ? 0x7a0 : -0x160;
	return (machine == EM_X86_64 ? descriptor : descriptor + DESCRIPTOR) + (uint64_t)*offset;
}

void fake_memory(const char *root, const struct fake_threads *threads)
{
	struct memory *memory = calloc(1, sizeof *memory);
	int64_t offset = 0;
	SUPPORT_CHECK(memory);
	put_word(memory, LIBC + DB_SIZE, DESCRIPTOR, 4);
	put_description(memory, LIBC + DB_LIST, 128, LIST_AT);
	put_description(memory, LIBC + DB_NEXT, 64, NEXT_AT);
	put_description(memory, LIBC + DB_USED, 128, USED_AT);
	put_description(memory, LIBC + DB_USER, 128, USER_AT);
	put_list(memory, LOADER + GLOBAL + USER_AT, 0, 1);
	put_list(memory, LOADER + GLOBAL + USED_AT, 1, threads->count);
	for (int i = 0; i < threads->count; i++) {
		uint64_t descriptor = FIRST_THREAD + (uint64_t)i * THREAD_STEP;
		put_word(memory, glibc_area(threads->machine, descriptor, &offset) + 4,
			 i < threads->glibc ? 3 : UINT32_MAX - 1, 4);
		put_word(memory, program_area(threads->machine, descriptor) + 4,
			 i < threads->program ? 5 : UINT32_MAX - (threads->glibc > 0), 4);
	}
	put_word(memory, LOADER + RSEQ_SIZE, threads->glibc ? 20 : 0, 4);
	put_word(memory, LOADER + RSEQ_OFFSET, (uint64_t)offset, 8);
	fake_bytes(root, PROC "mem", memory->bytes, sizeof memory->bytes);
	free(memory);
}

/* ---- files --------------------------------------------------------------------------------------------- */

static const struct fake_symbol libc_symbols[] = {
	{"malloc", 0x40, 0},
	{"_thread_db_sizeof_pthread", DB_SIZE, 0},
	{"_thread_db_pthread_list", DB_LIST, 0},
	{"_thread_db_list_t_next", DB_NEXT, 0},
	{"_thread_db_rtld_global__dl_stack_used", DB_USED, 0},
	{"_thread_db_rtld_global__dl_stack_user", DB_USER, 0},
	{0},
};
static const struct fake_symbol loader_symbols[] = {
	{"_rtld_global", GLOBAL, 0}, {"__rseq_size", RSEQ_SIZE, 0}, {"__rseq_offset", RSEQ_OFFSET, 0}, {0}};
static const struct fake_symbol mongod_symbols[] = {{"malloc", 0x40, 0},
						    {"MallocExtension_Internal_GetNumericProperty", 0x50, 0},
						    {"__rseq_abi", AREA, 1},
						    {0}};

void fake_program(const char *root, unsigned machine, const struct fake_symbol *symbols)
{
	fake_elf(root, PROC "root/usr/bin/mongod",
		 &(struct fake_elf){.machine = machine,
				    .interpreter = "/lib/ld-linux.so",
				    .symbols = symbols,
				    .tls_address = TLS_ADDRESS,
				    .tls_bytes = TLS_BYTES,
				    .tls_align = TLS_ALIGN});
}

/* Two LSE instructions (swp, cas), and a pair of exclusive ones. */
static const uint32_t both_atomics[] = {0xf8208041, 0xc8a07c41, 0xc85f7c20, 0xc8017c02};

static void put_modules(const char *root, unsigned machine)
{
	fake_program(root, machine, mongod_symbols);
	fake_elf(root, PROC "root/lib/libc.so.6",
		 &(struct fake_elf){.machine = machine,
				    .interpreter = "/lib/ld-linux.so",
				    .symbols = libc_symbols,
				    .code = both_atomics,
				    .code_count = 4});
	fake_elf(root, PROC "root/lib/ld-linux-fake.so.1",
		 &(struct fake_elf){.machine = machine, .symbols = loader_symbols});
	fake_file(root, PROC "maps",
		  machine == EM_X86_64
			  ? "00010000-00012000 r-xp 00000000 08:01 11  /usr/bin/mongod\n"
			    "00020000-00022000 r-xp 00000000 08:01 12  /lib/libc.so.6\n"
			    "00022000-00023000 rw-p 00002000 08:01 12  /lib/libc.so.6\n"
			    "00030000-00032000 r-xp 00000000 08:01 13  /lib/ld-linux-fake.so.1\n"
			    "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0  [stack]\n"
			    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n"
			  : "00010000-00012000 r-xp 00000000 08:01 11  /usr/bin/mongod\n"
			    "00020000-00022000 r-xp 00000000 08:01 12  /lib/libc.so.6\n"
			    "00030000-00032000 r-xp 00000000 08:01 13  /lib/ld-linux-fake.so.1\n"
			    "fffff0000000-fffff0021000 rw-p 00000000 00:00 0  [stack]\n");
}

static const struct {
	const char *path, *text;
} process_files[] = {
	{PROC "status",
	 "Name:\tmongod\nPPid:\t1\nNSpid:\t4711\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t \n"
	 "THP_enabled:\t1\nCapEff:\t0000000000000000\nSeccomp:\t0\n"},
	{"proc/1/status", "Name:\tsystemd\nTHP_enabled:\t1\n"},
	{PROC "cgroup", "0::/db.slice/mongod.service\n"},
	{PROC "limits", "Limit                     Soft Limit           Hard Limit           Units     \n"
			"Max open files            64000                64000                files     \n"},
	{PROC "numa_maps", "00010000 default file=/usr/bin/mongod mapped=2 N0=2\n"},
	{PROC "root/etc/mongod.conf", "# cacheSizeGB: 99\nstorage:\n  dbPath: \"/var/lib/mongodb\"\n"
				      "  wiredTiger:\n    engineConfig:\n      cacheSizeGB: 1.5\n"},
	{"sys/fs/cgroup/db.slice/mongod.service/memory.max", "4294967296\n"},
	{"sys/fs/cgroup/db.slice/mongod.service/memory.high", "max\n"},
	{"sys/fs/cgroup/db.slice/mongod.service/memory.events", "low 0\nhigh 0\nmax 7\noom 0\noom_kill 0\n"},
	{"sys/fs/cgroup/db.slice/memory.max", "max\n"},
};

void healthy_process(const char *root, unsigned machine)
{
	static const char command[] = "/usr/bin/mongod\0--config\0/etc/mongod.conf";
	static const char environment[] = "LANG=C\0GLIBC_TUNABLES=glibc.pthread.rseq=0";
	const uint64_t auxiliary[] = {AT_HWCAP, 1 << 8, 27, 28, AT_SECURE, 0, AT_NULL, 0};
	for (size_t i = 0; i < sizeof process_files / sizeof *process_files; i++)
		fake_file(root, process_files[i].path, process_files[i].text);
	fake_bytes(root, PROC "cmdline", command, sizeof command);
	fake_bytes(root, PROC "environ", environment, sizeof environment);
	fake_bytes(root, PROC "auxv", auxiliary, sizeof auxiliary);
	fake_link(root, PROC "exe", "/usr/bin/mongod");
	fake_link(root, PROC "cwd", "/");
	put_modules(root, machine);
	fake_memory(root, &(struct fake_threads){.machine = machine, .count = 4, .program = 4});
}
