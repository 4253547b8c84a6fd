#include "analyzer/doctor_elf.h"

#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#define PAGE_BYTES 4096u

/* ---- headers ------------------------------------------------------------------------------------------- */

static void read_interpreter(struct doctor_elf *image, const GElf_Phdr *header)
{
	size_t bytes = header->p_filesz < sizeof image->interpreter - 1 ? (size_t)header->p_filesz
									: sizeof image->interpreter - 1;
	ssize_t got = pread(image->fd, image->interpreter, bytes, (off_t)header->p_offset);
	image->interpreter[got > 0 ? got : 0] = '\0';
}

static void read_segments(struct doctor_elf *image)
{
	size_t count = 0;
	bool loaded = false;
	GElf_Phdr header;
	elf_getphdrnum(image->elf, &count);
	for (size_t i = 0; i < count && gelf_getphdr(image->elf, (int)i, &header); i++) {
		if (header.p_type == PT_DYNAMIC)
			image->dynamic = true;
		if (header.p_type == PT_INTERP)
			read_interpreter(image, &header);
		if (header.p_type == PT_LOAD && !loaded) {
			loaded = true;
			image->load_address = header.p_vaddr & ~(uint64_t)(PAGE_BYTES - 1);
		}
		if (header.p_type == PT_TLS) {
			image->has_tls = true;
			image->tls_address = header.p_vaddr;
			image->tls_bytes = header.p_memsz;
			image->tls_align = header.p_align ? header.p_align : 1;
		}
	}
}

bool doctor_elf_open(struct doctor_elf *image, int fd)
{
	GElf_Ehdr header;
	*image = (struct doctor_elf){.fd = fd};
	elf_version(EV_CURRENT);
	image->elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	bool good = image->elf && elf_kind(image->elf) == ELF_K_ELF &&
		    gelf_getclass(image->elf) == ELFCLASS64 && gelf_getehdr(image->elf, &header);
	if (!good) {
		doctor_elf_close(image);
		return false;
	}
	image->machine = header.e_machine;
	read_segments(image);
	return true;
}

void doctor_elf_close(struct doctor_elf *image)
{
	elf_end(image->elf);
	if (image->fd >= 0)
		close(image->fd);
	*image = (struct doctor_elf){.fd = -1};
}

/* ---- symbols ------------------------------------------------------------------------------------------- */

static void match(struct doctor_symbol *symbols, size_t count, const char *name, const GElf_Sym *symbol)
{
	for (size_t i = 0; i < count; i++) {
		if (symbols[i].found || strcmp(symbols[i].name, name) != 0)
			continue;
		symbols[i].found = true;
		symbols[i].value = symbol->st_value;
	}
}

static void search_table(const struct doctor_elf *image, Elf_Scn *section, const GElf_Shdr *header,
			 struct doctor_symbol *symbols, size_t count)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t entries = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	GElf_Sym symbol;
	for (size_t i = 0; i < entries && i < INT32_MAX && gelf_getsym(data, (int)i, &symbol); i++) {
		const char *name = symbol.st_shndx == SHN_UNDEF
					   ? NULL
					   : elf_strptr(image->elf, header->sh_link, symbol.st_name);
		if (name)
			match(symbols, count, name, &symbol);
	}
}

void doctor_elf_symbols(const struct doctor_elf *image, struct doctor_symbol *symbols, size_t count)
{
	GElf_Shdr header;
	for (size_t i = 0; i < count; i++)
		symbols[i].found = false;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(image->elf, section));)
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB))
			search_table(image, section, &header, symbols, count);
}
