#include "tests/unit/support_elf.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 1, SYMTAB, STRTAB, NAMES, NOTE };

static const char section_names[] = "\0.text\0.symtab\0.strtab\0.shstrtab\0.note.gnu.build-id\0.rela.text";

struct writing {
	const struct support_elf *file;
	Elf *elf;
	GElf_Sym symbols[64];
	size_t symbols_count;
	char strings[2048];
	size_t strings_bytes;
	uint8_t text[4096];
	uint8_t note[36];
	GElf_Rela calls[64];
};

static void must(bool good)
{
	if (good)
		return;
	fprintf(stderr, "support_elf: %s\n", elf_errmsg(-1));
	abort();
}

static uint32_t name_at(const char *name)
{
	const char *at = section_names + 1;
	while (strcmp(at, name) != 0)
		at += strlen(at) + 1;
	return (uint32_t)(at - section_names);
}

static Elf_Scn *add_section(struct writing *writing, const char *name, uint32_t type, void *bytes,
			    size_t size, Elf_Type kind)
{
	Elf_Scn *section = elf_newscn(writing->elf);
	Elf_Data *data = section ? elf_newdata(section) : NULL;
	GElf_Shdr header;
	must(data && gelf_getshdr(section, &header));
	*data = (Elf_Data){
		.d_buf = bytes, .d_size = size, .d_type = kind, .d_align = 4, .d_version = EV_CURRENT};
	header.sh_name = name_at(name);
	header.sh_type = type;
	must(gelf_update_shdr(section, &header));
	return section;
}

static void change(Elf_Scn *section, uint64_t flags, uint64_t address, uint32_t link, uint32_t info,
		   uint64_t entry)
{
	GElf_Shdr header;
	must(gelf_getshdr(section, &header));
	header.sh_flags = flags;
	header.sh_addr = address;
	header.sh_link = link;
	header.sh_info = info;
	header.sh_entsize = entry;
	must(gelf_update_shdr(section, &header));
}

static uint32_t add_string(struct writing *writing, const char *text)
{
	size_t at = writing->strings_bytes, bytes = strlen(text) + 1;
	must(at + bytes <= sizeof writing->strings);
	memcpy(writing->strings + at, text, bytes);
	writing->strings_bytes += bytes;
	return (uint32_t)at;
}

static void make_symbols(struct writing *writing)
{
	const struct support_elf *file = writing->file;
	writing->strings_bytes = 1;
	writing->symbols_count = 1;
	must(file->symbols_count + file->undefined_count < 63);
	for (size_t i = 0; i < file->symbols_count; i++) {
		const struct support_symbol *from = &file->symbols[i];
		writing->symbols[writing->symbols_count++] =
			(GElf_Sym){.st_name = add_string(writing, from->name),
				   .st_info = from->mapping ? GELF_ST_INFO(STB_LOCAL, STT_NOTYPE)
							    : GELF_ST_INFO(STB_GLOBAL, STT_FUNC),
				   .st_shndx = TEXT,
				   .st_value = from->value,
				   .st_size = from->size_bytes};
	}
	for (size_t i = 0; i < file->undefined_count; i++)
		writing->symbols[writing->symbols_count++] =
			(GElf_Sym){.st_name = add_string(writing, file->undefined[i]),
				   .st_info = GELF_ST_INFO(STB_GLOBAL, STT_NOTYPE)};
}

static void make_text(struct writing *writing)
{
	must(writing->file->words_count * 4 <= sizeof writing->text);
	for (size_t i = 0; i < writing->file->words_count; i++)
		for (unsigned byte = 0; byte < 4; byte++)
			writing->text[i * 4 + byte] = (uint8_t)(writing->file->words[i] >> byte * 8);
}

static void add_note(struct writing *writing)
{
	static const uint8_t head[] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};
	memcpy(writing->note, head, sizeof head);
	memcpy(writing->note + sizeof head, writing->file->build_id, 20);
	change(add_section(writing, ".note.gnu.build-id", SHT_NOTE, writing->note, sizeof writing->note,
			   ELF_T_BYTE),
	       SHF_ALLOC, 0x200, 0, 0, 0);
}

static void add_calls(struct writing *writing)
{
	const struct support_elf *file = writing->file;
	for (size_t i = 0; i < file->calls_count; i++)
		writing->calls[i] =
			(GElf_Rela){.r_offset = file->calls[i].offset,
				    .r_info = GELF_R_INFO(1 + file->symbols_count + file->calls[i].symbol,
							  R_AARCH64_CALL26)};
	change(add_section(writing, ".rela.text", SHT_RELA, writing->calls,
			   file->calls_count * sizeof(GElf_Rela), ELF_T_RELA),
	       0, 0, SYMTAB, TEXT, sizeof(GElf_Rela));
}

static void add_sections(struct writing *writing)
{
	const struct support_elf *file = writing->file;
	size_t text_bytes = file->words_count * 4;
	change(add_section(writing, ".text", SHT_PROGBITS, writing->text, text_bytes, ELF_T_BYTE),
	       SHF_ALLOC | SHF_EXECINSTR, file->relocatable ? 0 : SUPPORT_TEXT_ADDRESS, 0, 0, 0);
	change(add_section(writing, ".symtab", SHT_SYMTAB, writing->symbols,
			   writing->symbols_count * sizeof(GElf_Sym), ELF_T_SYM),
	       0, 0, STRTAB, 1, sizeof(GElf_Sym));
	add_section(writing, ".strtab", SHT_STRTAB, writing->strings, writing->strings_bytes, ELF_T_BYTE);
	add_section(writing, ".shstrtab", SHT_STRTAB, (char *)(uintptr_t)section_names, sizeof section_names,
		    ELF_T_BYTE);
	if (file->build_id)
		add_note(writing);
	if (file->calls_count)
		add_calls(writing);
}

/* The program header comes behind the ELF header, the code behind both. */
static void write_segment(const char *path, const struct support_elf *file, const uint8_t *text)
{
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_DYN,
			     .e_machine = EM_AARCH64,
			     .e_version = EV_CURRENT,
			     .e_phoff = sizeof header,
			     .e_ehsize = sizeof header,
			     .e_phentsize = sizeof(Elf64_Phdr),
			     .e_phnum = 1};
	Elf64_Phdr segment = {.p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_offset = sizeof header + sizeof segment,
			      .p_vaddr = SUPPORT_TEXT_ADDRESS,
			      .p_filesz = file->words_count * 4,
			      .p_memsz = file->words_count * 4};
	FILE *out = fopen(path, "wb");
	must(out && fwrite(&header, sizeof header, 1, out) == 1 &&
	     fwrite(&segment, sizeof segment, 1, out) == 1 && fwrite(text, segment.p_filesz, 1, out) == 1 &&
	     fclose(out) == 0);
}

void support_elf_write(const char *path, const struct support_elf *file)
{
	struct writing writing = {.file = file};
	GElf_Ehdr header;
	make_text(&writing);
	if (file->no_sections) {
		write_segment(path, file, writing.text);
		return;
	}
	make_symbols(&writing);
	elf_version(EV_CURRENT);
	int fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	writing.elf = elf_begin(fd, ELF_C_WRITE, NULL);
	must(fd >= 0 && writing.elf && gelf_newehdr(writing.elf, ELFCLASS64) &&
	     gelf_getehdr(writing.elf, &header));
	header.e_ident[EI_DATA] = file->big_endian ? ELFDATA2MSB : ELFDATA2LSB;
	header.e_type = file->relocatable ? ET_REL : ET_DYN;
	header.e_machine = (GElf_Half)(file->machine ? file->machine : EM_AARCH64);
	header.e_version = EV_CURRENT;
	header.e_shstrndx = NAMES;
	must(gelf_update_ehdr(writing.elf, &header));
	add_sections(&writing);
	must(elf_update(writing.elf, ELF_C_WRITE) >= 0);
	elf_end(writing.elf);
	close(fd);
}
