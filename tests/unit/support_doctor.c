#include "tests/unit/support_doctor.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/command.h"
#include "tests/unit/support_trace.h"
#include "tests/unit/support_trace_internal.h"

/* ---- folders ------------------------------------------------------------------------------------------- */

const char *fake_root(void)
{
	static unsigned count;
	char name[32];
	snprintf(name, sizeof name, "root%u", count++);
	const char *path = strdup(support_path(name));
	SUPPORT_CHECK(path && mkdir(path, 0755) == 0);
	return path;
}

static void full_path(char *path, size_t bytes, const char *root, const char *name)
{
	SUPPORT_CHECK((size_t)snprintf(path, bytes, "%s/%s", root, name) < bytes);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		SUPPORT_CHECK(mkdir(path, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
}

void fake_bytes(const char *root, const char *path, const void *data, size_t bytes)
{
	char full[512];
	full_path(full, sizeof full, root, path);
	support_write_file(full, data, bytes);
}

void fake_file(const char *root, const char *path, const char *text)
{
	fake_bytes(root, path, text, strlen(text));
}

void fake_link(const char *root, const char *path, const char *target)
{
	char full[512];
	full_path(full, sizeof full, root, path);
	SUPPORT_CHECK(symlink(target, full) == 0);
}

void fake_remove(const char *root, const char *path)
{
	char command[600];
	snprintf(command, sizeof command, "rm -r '%s/%s'", root, path);
	SUPPORT_CHECK(system(command) == 0);
}

/* ---- machine ------------------------------------------------------------------------------------------- */

static const struct {
	const char *path, *text;
} machine_files[] = {
	{"proc/sys/kernel/osrelease", "6.12.30\n"},
	{"proc/meminfo", "MemTotal:       33554432 kB\nMemFree:  1 kB\nSwapTotal:       0 kB\n"},
	{"proc/sys/vm/overcommit_memory", "1\n"},
	{"proc/sys/vm/swappiness", "60\n"},
	{"proc/sys/vm/zone_reclaim_mode", "0\n"},
	{"proc/sys/vm/max_map_count", "262144\n"},
	{"proc/kallsyms", "0000000000000000 T __x64_sys_membarrier\n0000000000000000 T __x64_sys_rseq\n"},
	{"sys/devices/system/node/online", "0\n"},
	{"sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"},
	{"sys/kernel/mm/transparent_hugepage/defrag", "always defer [defer+madvise] madvise never\n"},
	{"sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n"},
	{"sys/kernel/mm/transparent_hugepage/use_zero_page", "1\n"},
	{"sys/kernel/mm/transparent_hugepage/shrink_underused", "0\n"},
	{"sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none", "0\n"},
	{"sys/kernel/mm/transparent_hugepage/khugepaged/pages_to_scan", "4096\n"},
	{"sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "1\n"},
	{"sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled", "always [inherit] madvise never\n"},
	{"sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled", "always inherit madvise [never]\n"},
};

const char *healthy_machine(const char *arch)
{
	const char *root = fake_root();
	char line[32];
	for (size_t i = 0; i < sizeof machine_files / sizeof *machine_files; i++)
		fake_file(root, machine_files[i].path, machine_files[i].text);
	snprintf(line, sizeof line, "%s\n", arch);
	fake_file(root, "proc/sys/kernel/arch", line);
	fake_file(root, "proc/cpuinfo",
		  strcmp(arch, "aarch64") ? "processor\t: 0\nflags\t\t: fpu lahf_lm\n"
					  : "processor\t: 0\nFeatures\t: fp asimd atomics fphp\n");
	return root;
}

/* ---- ELF files ----------------------------------------------------------------------------------------- */

enum { SECTION_NULL, SECTION_TEXT, SECTION_SYMBOLS, SECTION_STRINGS, SECTION_NAMES, SECTIONS };
enum { SYMBOLS_MAX = 24, NAMES_BYTES = 2048, SEGMENTS_MAX = 4 };

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[SEGMENTS_MAX];
	Elf64_Shdr sections[SECTIONS];
	Elf64_Sym symbols[SYMBOLS_MAX];
	char names[NAMES_BYTES], interpreter[128], section_names[40];
	uint32_t code[64];
};

static void put_symbols(struct image *image, const struct fake_symbol *symbols)
{
	size_t count = 1, used = 1;
	for (; symbols && symbols->name; symbols++, count++) {
		const size_t bytes = strlen(symbols->name) + 1;
		SUPPORT_CHECK(count < SYMBOLS_MAX && used + bytes <= NAMES_BYTES);
		memcpy(image->names + used, symbols->name, bytes);
		image->symbols[count] =
			(Elf64_Sym){.st_name = (Elf64_Word)used,
				    .st_info = ELF64_ST_INFO(STB_GLOBAL, symbols->tls ? STT_TLS : STT_OBJECT),
				    .st_shndx = SECTION_TEXT,
				    .st_value = symbols->value};
		used += bytes;
	}
	image->sections[SECTION_SYMBOLS] = (Elf64_Shdr){.sh_name = 7,
							.sh_type = SHT_DYNSYM,
							.sh_link = SECTION_STRINGS,
							.sh_info = 1,
							.sh_offset = offsetof(struct image, symbols),
							.sh_size = count * sizeof(Elf64_Sym),
							.sh_entsize = sizeof(Elf64_Sym),
							.sh_addralign = 8};
	image->sections[SECTION_STRINGS] = (Elf64_Shdr){.sh_name = 15,
							.sh_type = SHT_STRTAB,
							.sh_size = used,
							.sh_offset = offsetof(struct image, names),
							.sh_addralign = 1};
}

static void put_segments(struct image *image, const struct fake_elf *elf)
{
	Elf64_Phdr *segment = image->segments;
	*segment++ = (Elf64_Phdr){.p_type = PT_LOAD,
				  .p_flags = PF_R | PF_X,
				  .p_filesz = sizeof *image,
				  .p_memsz = sizeof *image,
				  .p_align = 4096};
	if (elf->interpreter) {
		snprintf(image->interpreter, sizeof image->interpreter, "%s", elf->interpreter);
		*segment++ = (Elf64_Phdr){.p_type = PT_INTERP,
					  .p_offset = offsetof(struct image, interpreter),
					  .p_filesz = strlen(elf->interpreter) + 1};
	}
	if (elf->tls_bytes)
		*segment++ = (Elf64_Phdr){.p_type = PT_TLS,
					  .p_vaddr = elf->tls_address,
					  .p_memsz = elf->tls_bytes,
					  .p_align = elf->tls_align};
	image->header.e_phnum = (Elf64_Half)(segment - image->segments);
}

void fake_elf(const char *root, const char *path, const struct fake_elf *elf)
{
	struct image image = {0};
	image.header = (Elf64_Ehdr){.e_type = ET_DYN,
				    .e_machine = (Elf64_Half)elf->machine,
				    .e_version = EV_CURRENT,
				    .e_phoff = offsetof(struct image, segments),
				    .e_shoff = offsetof(struct image, sections),
				    .e_ehsize = sizeof(Elf64_Ehdr),
				    .e_phentsize = sizeof(Elf64_Phdr),
				    .e_shentsize = sizeof(Elf64_Shdr),
				    .e_shnum = SECTIONS,
				    .e_shstrndx = SECTION_NAMES};
	memcpy(image.header.e_ident, ELFMAG, SELFMAG);
	image.header.e_ident[EI_CLASS] = ELFCLASS64;
	image.header.e_ident[EI_DATA] = ELFDATA2LSB;
	image.header.e_ident[EI_VERSION] = EV_CURRENT;
	memcpy(image.section_names, "\0.text\0.dynsym\0.dynstr\0.shstrtab", 33);
	SUPPORT_CHECK(elf->code_count <= sizeof image.code / sizeof *image.code);
	if (elf->code_count)
		memcpy(image.code, elf->code, elf->code_count * sizeof *elf->code);
	put_segments(&image, elf);
	put_symbols(&image, elf->symbols);
	image.sections[SECTION_TEXT] = (Elf64_Shdr){.sh_name = 1,
						    .sh_type = SHT_PROGBITS,
						    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
						    .sh_offset = offsetof(struct image, code),
						    .sh_size = elf->code_count * 4,
						    .sh_addralign = 4};
	image.sections[SECTION_NAMES] = (Elf64_Shdr){.sh_name = 23,
						     .sh_type = SHT_STRTAB,
						     .sh_offset = offsetof(struct image, section_names),
						     .sh_size = 33,
						     .sh_addralign = 1};
	fake_bytes(root, path, &image, sizeof image);
}

/* ---- reports ------------------------------------------------------------------------------------------- */

json_t *doctor_report(int status, const char *const *options)
{
	char *argv[32] = {"doctor", "--json", "-o", NULL};
	int argc = 4;
	size_t bytes;
	const char *path = support_path("report.json");
	argv[3] = (char *)path;
	for (; *options && argc < 31; options++)
		argv[argc++] = (char *)*options;
	int ended = cmd_doctor(argc, argv);
	cr_assert_eq(ended, status, "exit status %d, not %d", ended, status);
	char *text = (char *)support_read_file(path, &bytes);
	json_error_t error;
	json_t *report = json_loadb(text, bytes, 0, &error);
	cr_assert(report, "%s", error.text);
	free(text);
	return report;
}

static const json_t *finding_of(const json_t *report, const char *id)
{
	const json_t *findings = json_object_get(report, "findings");
	for (size_t i = 0; i < json_array_size(findings); i++) {
		const json_t *finding = json_array_get(findings, i);
		if (!strcmp(json_string_value(json_object_get(finding, "id")), id))
			return finding;
	}
	return NULL;
}

const char *field_of(const json_t *report, const char *id, const char *field)
{
	const char *text = json_string_value(json_object_get(finding_of(report, id), field));
	return text ? text : "";
}

const char *state_of(const json_t *report, const char *id)
{
	return finding_of(report, id) ? field_of(report, id, "state") : "absent";
}

void expect_finding(const json_t *report, const char *id, const char *state, const char *field,
		    const char *text)
{
	cr_assert_str_eq(state_of(report, id), state, "%s is %s, not %s: %s", id, state_of(report, id), state,
			 field_of(report, id, "found"));
	if (field)
		cr_assert(strstr(field_of(report, id, field), text), "%s, %s: no '%s' in: %s", id, field,
			  text, field_of(report, id, field));
}
