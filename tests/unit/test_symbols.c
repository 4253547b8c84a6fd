#include <criterion/criterion.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/symbols.h"
#include "tests/unit/support_trace.h"

/* ---- functions to be found ----------------------------------------------------------------------------- */

__attribute__((noinline)) static uint64_t where_am_i(void)
{
	__asm__ volatile("" ::: "memory");
	return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

__attribute__((noinline)) static uint64_t plain_function(void)
{
	uint64_t address = where_am_i();
	__asm__ volatile("" ::: "memory");
	return address;
}

__attribute__((always_inline)) static inline uint64_t inlined_function(void)
{
	uint64_t address = where_am_i();
	__asm__ volatile("" ::: "memory");
	return address;
}

__attribute__((noinline)) static uint64_t outer_function(void)
{
	uint64_t address = inlined_function();
	__asm__ volatile("" ::: "memory");
	return address;
}

uint64_t mangled_function(int number) __asm__("_ZN5guest3runEi");
__attribute__((noinline)) uint64_t mangled_function(int number)
{
	uint64_t address = where_am_i();
	__asm__ volatile("" ::"r"(number) : "memory");
	return address;
}

/* ---- this program as a traced module ------------------------------------------------------------------- */

struct self {
	uint64_t start, end, bias;
	char path[1024];
	uint8_t build_id[64];
	uint16_t build_id_bytes;
};

static void read_notes(struct self *self, const uint8_t *at, const uint8_t *end)
{
	while (at + sizeof(ElfW(Nhdr)) <= end) {
		const ElfW(Nhdr) *note = (const void *)at;
		const uint8_t *name = at + sizeof *note, *value = name + ((note->n_namesz + 3) & ~3u);
		if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz <= sizeof self->build_id) {
			memcpy(self->build_id, value, note->n_descsz);
			self->build_id_bytes = (uint16_t)note->n_descsz;
		}
		at = value + ((note->n_descsz + 3) & ~3u);
	}
}

static int find_self(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	struct self *self = context;
	self->start = UINT64_MAX;
	self->bias = info->dlpi_addr;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + header->p_vaddr;
		if (header->p_type == PT_NOTE)
			read_notes(self, (const uint8_t *)start, (const uint8_t *)start + header->p_memsz);
		if (header->p_type != PT_LOAD)
			continue;
		self->start = start < self->start ? start : self->start;
		self->end = start + header->p_memsz > self->end ? start + header->p_memsz : self->end;
	}
	return 1;
}

static struct self self_of(void)
{
	struct self self = {0};
	dl_iterate_phdr(find_self, &self);
	ssize_t length = readlink("/proc/self/exe", self.path, sizeof self.path - 1);
	cr_assert_gt(length, 0);
	cr_assert_gt(self.build_id_bytes, 2, "the tests are linked with a build-id");
	return self;
}

static struct trace *trace_with(const struct self *self, const char *path, const uint8_t *build_id)
{
	const char *file = support_path("symbols.mtr");
	struct support_options options = {.full = true};
	struct support_trace *writer = support_open(file, &options);
	support_module(writer, self->start, self->end, self->bias, path, build_id, self->build_id_bytes);
	support_module(writer, 0x10000000, 0x10001000, 0x10000000, "/opt/mtrace/libmtrace.so.1", NULL, 0);
	support_end(writer, 10);
	struct error error = {0};
	struct trace *trace = trace_open(file, &error);
	cr_assert(trace, "%s", error.text);
	return trace;
}

/* ---- names --------------------------------------------------------------------------------------------- */

Test(symbols, functions_of_this_program)
{
	struct self self = self_of();
	struct trace *trace = trace_with(&self, self.path, self.build_id);
	struct symbols *symbols = symbols_create(trace, NULL);
	const struct symbol_frame *frames, *again;
	size_t count;
	cr_assert_eq(symbols_resolve(symbols, plain_function(), &frames), 1);
	cr_assert_str_eq(frames->name, "plain_function");
	cr_assert_str_eq(frames->module, strrchr(self.path, '/') + 1);
	cr_assert(strstr(frames->source_file, "test_symbols.c"));
	cr_assert_gt(frames->line, 10);
	cr_assert_eq(symbols_resolve(symbols, plain_function(), &again), 1);
	cr_assert_eq(frames, again, "looked up once");
	symbols_unmatched(symbols, &count);
	cr_assert_eq(count, 0);
	symbols_free(symbols);
	trace_close(trace);
}

Test(symbols, inlined_functions_come_before_the_one_around_them)
{
	struct self self = self_of();
	struct trace *trace = trace_with(&self, self.path, self.build_id);
	struct symbols *symbols = symbols_create(trace, NULL);
	const struct symbol_frame *frames;
	cr_assert_eq(symbols_resolve(symbols, outer_function(), &frames), 2);
	cr_assert_str_eq(frames[0].name, "inlined_function");
	cr_assert(frames[0].inlined);
	cr_assert_str_eq(frames[1].name, "outer_function");
	cr_assert_not(frames[1].inlined);
	cr_assert_gt(frames[1].line, frames[0].line);
	symbols_free(symbols);
	trace_close(trace);
}

Test(symbols, cplusplus_names_are_demangled)
{
	struct self self = self_of();
	struct trace *trace = trace_with(&self, self.path, self.build_id);
	struct symbols *symbols = symbols_create(trace, NULL);
	const struct symbol_frame *frames;
	symbols_resolve(symbols, mangled_function(3), &frames);
	cr_assert_str_eq(frames->name, "guest::run(int)");
	symbols_free(symbols);
	trace_close(trace);
}

Test(symbols, unknown_addresses_are_shown_as_numbers)
{
	struct self self = self_of();
	struct trace *trace = trace_with(&self, self.path, self.build_id);
	struct symbols *symbols = symbols_create(trace, NULL);
	const struct symbol_frame *frames;
	const uint64_t odd[] = {0, 0x1234, UINT64_MAX};
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(symbols_resolve(symbols, odd[i], &frames), 1);
		cr_assert_null(frames->module);
	}
	cr_assert_str_eq(frames->name, "0xffffffffffffffff");
	symbols_free(symbols);
	trace_close(trace);
}

/* ---- which file ---------------------------------------------------------------------------------------- */

Test(symbols, another_build_id_is_not_used_and_named)
{
	struct self self = self_of();
	uint8_t other[64];
	size_t count;
	memcpy(other, self.build_id, sizeof other);
	other[3] ^= 1;
	struct trace *trace = trace_with(&self, self.path, other);
	struct symbols *symbols = symbols_create(trace, NULL);
	const struct symbol_frame *frames;
	char expected[1100];
	uint64_t address = plain_function();
	symbols_resolve(symbols, address, &frames);
	snprintf(expected, sizeof expected, "%s+0x%lx", strrchr(self.path, '/') + 1, address - self.bias);
	cr_assert_str_eq(frames->name, expected);
	const char *const *unmatched = symbols_unmatched(symbols, &count);
	cr_assert_eq(count, 1);
	cr_assert(strstr(unmatched[0], self.path));
	cr_assert(strstr(unmatched[0], "build-id"));
	symbols_free(symbols);
	trace_close(trace);
}

static void copy_self(const struct self *self, const char *to)
{
	size_t bytes;
	uint8_t *file = support_read_file(self->path, &bytes);
	support_write_file(to, file, bytes);
	free(file);
}

Test(symbols, sysroot_is_put_before_the_path)
{
	struct self self = self_of();
	char root[300];
	snprintf(root, sizeof root, "%s", support_path("root"));
	cr_assert_eq(mkdir(root, 0700), 0);
	copy_self(&self, support_path("root/guest"));
	struct trace *trace = trace_with(&self, "/guest", self.build_id);
	struct symbols *symbols = symbols_create(trace, &(struct symbol_options){.sysroot = root});
	const struct symbol_frame *frames;
	symbols_resolve(symbols, plain_function(), &frames);
	cr_assert_str_eq(frames->name, "plain_function");
	symbols_free(symbols);
	trace_close(trace);
}

Test(symbols, debug_dir_is_searched_by_build_id)
{
	struct self self = self_of();
	char directory[300], path[600];
	int at;
	snprintf(directory, sizeof directory, "%s", support_path("debug"));
	cr_assert_eq(mkdir(directory, 0700), 0);
	at = snprintf(path, sizeof path, "%s/.build-id", directory);
	cr_assert_eq(mkdir(path, 0700), 0);
	at += snprintf(path + at, sizeof path - (size_t)at, "/%02x", self.build_id[0]);
	cr_assert_eq(mkdir(path, 0700), 0);
	at += snprintf(path + at, sizeof path - (size_t)at, "/");
	for (unsigned i = 1; i < self.build_id_bytes; i++)
		at += snprintf(path + at, sizeof path - (size_t)at, "%02x", self.build_id[i]);
	snprintf(path + at, sizeof path - (size_t)at, ".debug");
	copy_self(&self, path);
	struct trace *trace = trace_with(&self, "/nowhere/guest", self.build_id);
	struct symbols *symbols = symbols_create(trace, &(struct symbol_options){.debug_dir = directory});
	const struct symbol_frame *frames;
	size_t count;
	symbols_resolve(symbols, plain_function(), &frames);
	cr_assert_str_eq(frames->name, "plain_function");
	symbols_unmatched(symbols, &count);
	cr_assert_eq(count, 0);
	symbols_free(symbols);
	trace_close(trace);
}

Test(symbols, pipes_devices_and_text_are_not_taken_for_modules)
{
	struct self self = self_of();
	const char *text = support_path("text");
	support_write_file(text, "no ELF file", 11);
	const char *const paths[] = {"/dev/zero", "/proc/self", "/nowhere", text, "[vdso]", ""};
	for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct trace *trace = trace_with(&self, paths[i], self.build_id);
		struct symbols *symbols = symbols_create(trace, NULL);
		const struct symbol_frame *frames;
		size_t count;
		cr_assert_eq(symbols_resolve(symbols, plain_function(), &frames), 1);
		cr_assert_null(frames->source_file);
		symbols_unmatched(symbols, &count);
		cr_assert_eq(count, 1, "%s", paths[i]);
		symbols_free(symbols);
		trace_close(trace);
	}
}

/* ---- stacks -------------------------------------------------------------------------------------------- */

Test(symbols, the_shims_own_frames_are_dropped_at_both_ends)
{
	struct self self = self_of();
	struct trace *trace = trace_with(&self, self.path, self.build_id);
	struct symbols *symbols = symbols_create(trace, NULL);
	const uint64_t frames[] = {0x10000100, 0x10000200,	 outer_function(),
				   0x10000300, plain_function(), 0x10000400};
	struct trace_stack stack = {frames, 6};
	struct symbol_stack names;
	cr_assert(symbols_stack(symbols, &stack, &names));
	cr_assert_eq(names.depth, 4);
	cr_assert_str_eq(names.frames[0]->name, "inlined_function");
	cr_assert_str_eq(names.frames[1]->name, "outer_function");
	cr_assert_str_eq(names.frames[2]->name, "libmtrace.so.1+0x300");
	cr_assert_str_eq(names.frames[3]->name, "plain_function");
	symbol_stack_free(&names);
	stack = (struct trace_stack){frames, 2};
	cr_assert(symbols_stack(symbols, &stack, &names));
	cr_assert_eq(names.depth, 0);
	symbol_stack_free(&names);
	symbols_free(symbols);
	trace_close(trace);
}
