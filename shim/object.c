#include "shim/object.h"

#include <string.h>

#include "shim/raw.h"

#ifndef NT_GNU_PROPERTY_TYPE_0
#define NT_GNU_PROPERTY_TYPE_0 5
#endif
#ifndef PT_GNU_PROPERTY
#define PT_GNU_PROPERTY 0x6474e553
#endif
#define VERSION_HIDDEN	     0x8000u	 /* not the default one of its name */
#define AARCH64_FEATURES     0xc0000000u /* GNU_PROPERTY_AARCH64_FEATURE_1_AND */
#define AARCH64_FEATURES_BTI 1u

/* ---- the dynamic section
 * ------------------------------------------------------------------------------------------ */

/* glibc has relocated these pointers in place; where the section is read-only it has not. */
static const void *pointer(const struct object *object, uintptr_t value)
{
	return (const void *)(value < object->bias ? value + object->bias : value);
}

static void take_dynamic(struct object *object, const ElfW(Dyn) * entry)
{
	for (; entry->d_tag != DT_NULL; entry++) {
		switch (entry->d_tag) {
		case DT_SYMTAB:
			object->symbols = pointer(object, entry->d_un.d_ptr);
			break;
		case DT_STRTAB:
			object->strings = pointer(object, entry->d_un.d_ptr);
			break;
		case DT_GNU_HASH:
			object->gnu_hash = pointer(object, entry->d_un.d_ptr);
			break;
		case DT_HASH:
			object->sysv_hash = pointer(object, entry->d_un.d_ptr);
			break;
		case DT_VERSYM:
			object->versions = pointer(object, entry->d_un.d_ptr);
			break;
		case DT_SYMBOLIC:
			object->symbolic = true;
			break;
		case DT_FLAGS:
			object->symbolic = object->symbolic || (entry->d_un.d_val & DF_SYMBOLIC);
			break;
		}
	}
}

/* Property notes are aligned to 8. */
static bool is_marked_bti(const uint8_t *at, size_t bytes)
{
	const uint8_t *end = at + bytes;
	while (end - at >= (long)sizeof(ElfW(Nhdr)) + 4) {
		const ElfW(Nhdr) *note = (const void *)at;
		const uint8_t *content = at + sizeof *note + ((note->n_namesz + 3u) & ~3u);
		if (content > end || note->n_descsz > (size_t)(end - content))
			return false;
		for (uint32_t i = 0; note->n_type == NT_GNU_PROPERTY_TYPE_0 && i + 12 <= note->n_descsz;) {
			uint32_t property[3]; /* type, bytes, first of the data */
			memcpy(property, content + i, sizeof property);
			if (property[0] == AARCH64_FEATURES)
				return property[2] & AARCH64_FEATURES_BTI;
			i += 8 + ((property[1] + 7u) & ~7u);
		}
		at = content + ((note->n_descsz + 7u) & ~7u);
	}
	return false;
}

void object_describe(struct object *object, const struct dl_phdr_info *info, const char *path)
{
	*object = (struct object){.path = path,
				  .bias = info->dlpi_addr,
				  .phdrs = info->dlpi_phdr,
				  .phdr_count = info->dlpi_phnum,
				  .start = UINTPTR_MAX};
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + phdr->p_vaddr, end = start + phdr->p_memsz;
		if (phdr->p_type == PT_DYNAMIC) {
			take_dynamic(object, (const void *)start);
		} else if (phdr->p_type == PT_GNU_PROPERTY) {
			object->guarded = is_marked_bti((const uint8_t *)start, phdr->p_memsz);
		} else if (phdr->p_type == PT_LOAD) {
			object->start = start < object->start ? start : object->start;
			object->end = end > object->end ? end : object->end;
		}
	}
}

/* ---- the dynamic symbol table
 * ------------------------------------------------------------------------------------- */

static bool is_defined(const ElfW(Sym) * symbol)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	return symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC);
}

static bool is_named(const struct object *object, uint32_t index, const char *name)
{
	return is_defined(&object->symbols[index]) &&
	       !(object->versions && (object->versions[index] & VERSION_HIDDEN)) &&
	       !strcmp(object->strings + object->symbols[index].st_name, name);
}

static uint32_t gnu_hash_of(const char *name)
{
	uint32_t hash = 5381;
	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

/* Index in the symbol table, or 0. */
static uint32_t find_by_gnu_hash(const struct object *object, const char *name)
{
	const uint32_t *table = object->gnu_hash;
	uint32_t buckets_count = table[0], first = table[1], bloom_words = table[2], hash = gnu_hash_of(name);
	const uint32_t *buckets = table + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof *table);
	const uint32_t *chain = buckets + buckets_count;
	uint32_t index = buckets_count ? buckets[hash % buckets_count] : 0;
	for (; index >= first && index; index++) {
		uint32_t link = chain[index - first];
		if ((link | 1) == (hash | 1) && is_named(object, index, name))
			return index;
		if (link & 1)
			return 0;
	}
	return 0;
}

static uint32_t find_by_sysv_hash(const struct object *object, const char *name)
{
	const uint32_t *table = object->sysv_hash;
	uint32_t buckets_count = table[0], hash = 0;
	const uint32_t *buckets = table + 2, *chain = buckets + buckets_count;
	for (const char *at = name; *at; at++) {
		hash = (hash << 4) + (uint8_t)*at;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	for (uint32_t index = buckets_count ? buckets[hash % buckets_count] : 0; index; index = chain[index])
		if (is_named(object, index, name))
			return index;
	return 0;
}

static struct object_symbol describe(const struct object *object, const ElfW(Sym) * symbol, bool exported)
{
	return (struct object_symbol){.address = object->bias + symbol->st_value,
				      .bytes = symbol->st_size,
				      .exported = exported,
				      .indirect = ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC};
}

struct object_symbol object_exported(const struct object *object, const char *name)
{
	uint32_t index = 0;
	if (object->symbols && object->strings && object->gnu_hash)
		index = find_by_gnu_hash(object, name);
	else if (object->symbols && object->strings && object->sysv_hash)
		index = find_by_sysv_hash(object, name);
	return index ? describe(object, &object->symbols[index], true) : (struct object_symbol){0};
}

/* ---- .symtab
 * ------------------------------------------------------------------------------------------------------ */

struct file {
	const uint8_t *bytes;
	size_t size;
};

static const void *at_offset(const struct file *file, uint64_t offset, uint64_t bytes)
{
	return offset <= file->size && bytes <= file->size - offset ? file->bytes + offset : NULL;
}

static bool open_file(const char *path, struct file *file)
{
	struct stat status;
	int fd = raw_open(path, O_RDONLY, 0);
	if (fd < 0)
		return false;
	bool good = raw2(SYS_fstat, fd, (long)&status) == 0 && status.st_size > (off_t)sizeof(ElfW(Ehdr));
	file->size = good ? (size_t)status.st_size : 0;
	file->bytes = good ? raw_mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	raw_close(fd);
	return file->bytes != NULL;
}

/* The file that was loaded, and not one that has taken its place since. */
static bool is_file_of(const struct file *file, const struct object *object)
{
	const ElfW(Ehdr) *header = at_offset(file, 0, sizeof *header);
	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phnum != object->phdr_count)
		return false;
	size_t bytes = header->e_phnum * sizeof(ElfW(Phdr));
	const void *phdrs = at_offset(file, header->e_phoff, bytes);
	return phdrs && !memcmp(phdrs, object->phdrs, bytes);
}

/*
 * Hidden symbols become local ones when they are linked. Other linkers leave them their visibility, by which
 * they differ from static functions; GNU ld takes it away, and puts them behind all others, after an entry
 * for a source file without a name.
 */
static bool is_public(const ElfW(Sym) * symbol, bool is_behind_sources)
{
	unsigned visibility = ELF64_ST_VISIBILITY(symbol->st_other);
	return ELF64_ST_BIND(symbol->st_info) != STB_LOCAL || visibility == STV_HIDDEN ||
	       visibility == STV_INTERNAL || is_behind_sources;
}

/* Most names of a large C++ program start with "_ZN": they are not compared one by one. */
static bool may_be_wanted(const char *name)
{
	return strncmp(name, "_ZN", 3) != 0 && strncmp(name, "_ZS", 3) != 0 && strncmp(name, "_ZZ", 3) != 0;
}

static void search(const struct object *object, const struct file *file, const ElfW(Shdr) * table,
		   const ElfW(Shdr) * text, const char *const *names, unsigned count,
		   struct object_symbol *found)
{
	const ElfW(Sym) *symbols = at_offset(file, table->sh_offset, table->sh_size);
	const char *strings = at_offset(file, text->sh_offset, text->sh_size);
	if (!symbols || !strings || !text->sh_size || strings[text->sh_size - 1])
		return;
	bool is_behind_sources = false;
	for (size_t i = 1; i < table->sh_size / sizeof *symbols; i++) {
		if (symbols[i].st_name >= text->sh_size)
			continue;
		const char *name = strings + symbols[i].st_name;
		if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FILE)
			is_behind_sources = !name[0];
		if (!is_defined(&symbols[i]) || !is_public(&symbols[i], is_behind_sources))
			continue;
		for (unsigned n = 0; may_be_wanted(name) && n < count; n++)
			if (!found[n].address && name[0] == names[n][0] && !strcmp(name, names[n]))
				found[n] = describe(object, &symbols[i], false);
	}
}

static void search_file(const struct object *object, const struct file *file, const char *const *names,
			unsigned count, struct object_symbol *found)
{
	const ElfW(Ehdr) *header = at_offset(file, 0, sizeof *header);
	const ElfW(Shdr) *sections =
		header ? at_offset(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof *sections)
		       : NULL;
	if (!sections || header->e_shentsize != sizeof *sections)
		return;
	for (unsigned i = 0; i < header->e_shnum; i++)
		if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < header->e_shnum)
			search(object, file, &sections[i], &sections[sections[i].sh_link], names, count,
			       found);
}

void object_find(const struct object *object, const char *const *names, unsigned count,
		 struct object_symbol *symbols)
{
	struct file file;
	for (unsigned i = 0; i < count; i++)
		symbols[i] = object_exported(object, names[i]);
	/* A program that was deleted, or came from memory, has a file all the same. */
	if (!open_file(object->path, &file) && !open_file("/proc/self/exe", &file))
		return;
	if (is_file_of(&file, object))
		search_file(object, &file, names, count, symbols);
	raw_munmap((void *)(uintptr_t)file.bytes, file.size);
}
