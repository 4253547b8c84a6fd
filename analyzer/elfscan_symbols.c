/* Functions by name, mapping symbols, and calls that are not linked yet. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/elfscan_internal.h"

/* $x and $d, alone or with a suffix behind a dot, say where code and data begin. */
struct mark {
	struct elfscan_section *section;
	uint64_t address;
	bool data;
};

struct marks {
	struct mark *items;
	size_t count, capacity;
};

static bool is_mapping(const char *name)
{
	return name[0] == '$' && (name[1] == 'x' || name[1] == 'd') && (name[2] == '\0' || name[2] == '.');
}

static int by_place(const void *one, const void *other)
{
	const struct mark *a = one, *b = other;
	if (a->section != b->section)
		return a->section < b->section ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static bool data_from_marks(struct marks *marks, bool *mapped)
{
	if (!marks->count)
		return true;
	*mapped = true;
	qsort(marks->items, marks->count, sizeof *marks->items, by_place);
	for (size_t i = 0; i < marks->count; i++) {
		const struct mark *mark = &marks->items[i], *next = mark + 1;
		bool last = i + 1 == marks->count || next->section != mark->section;
		uint64_t end = last ? mark->section->address + mark->section->size_bytes : next->address;
		if (mark->data && end > mark->address && !elfscan_add_data(mark->section, mark->address, end))
			return false;
	}
	return true;
}

/* ---- symbols ------------------------------------------------------------------------------------------- */

/* Sections stand in the order of their numbers. */
static struct elfscan_section *section_numbered(struct elfscan *scan, size_t index)
{
	size_t low = 0, high = scan->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (scan->sections[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low < scan->count && scan->sections[low].index == index ? &scan->sections[low] : NULL;
}

static struct elfscan_section *section_of(struct elfscan *scan, const GElf_Sym *symbol, bool by_address)
{
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || symbol->st_shndx == SHN_COMMON)
		return NULL;
	struct elfscan_section *found = by_address ? NULL : section_numbered(scan, symbol->st_shndx);
	/* More than 65,279 sections have their numbers elsewhere; segments have none. */
	bool unnumbered =
		by_address || symbol->st_shndx == SHN_XINDEX || (scan->count && !scan->sections[0].index);
	if (!found && unnumbered && !scan->relocatable)
		found = elfscan_section_at(scan, symbol->st_value);
	return found && symbol->st_value - found->address < found->size_bytes ? found : NULL;
}

/* Which of several names people know: exported ones, and those without underscores in front. */
static unsigned rank_of(const GElf_Sym *symbol, const char *name)
{
	static const unsigned bindings[] = {[STB_LOCAL] = 200, [STB_GLOBAL] = 0, [STB_WEAK] = 100};
	unsigned binding = GELF_ST_BIND(symbol->st_info);
	size_t underscores = strspn(name, "_");
	bool typed = GELF_ST_TYPE(symbol->st_info) != STT_NOTYPE;
	return (binding < 3 ? bindings[binding] : 0) + (underscores < 50 ? (unsigned)underscores : 50) +
	       (typed ? 0 : 1000);
}

static bool is_function(const GElf_Sym *symbol, const char *name)
{
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE: /* assembly's */
		return name[0] && name[0] != '$' && name[0] != '.';
	default:
		return false;
	}
}

static bool take_symbol(struct elfscan *scan, const GElf_Sym *symbol, const char *name, bool by_address,
			struct marks *marks)
{
	struct elfscan_section *section = name ? section_of(scan, symbol, by_address) : NULL;
	if (!section)
		return true;
	if (is_mapping(name)) {
		if (!array_reserve(&marks->items, &marks->capacity, marks->count + 1, sizeof *marks->items))
			return false;
		marks->items[marks->count++] = (struct mark){section, symbol->st_value, name[1] == 'd'};
		return true;
	}
	uint64_t end = symbol->st_value + symbol->st_size;
	return !is_function(symbol, name) ||
	       elfscan_add_function(
		       section, &(struct elfscan_function){symbol->st_value,
							   end < symbol->st_value ? symbol->st_value : end,
							   name, rank_of(symbol, name)});
}

static bool read_table(struct elfscan *scan, Elf *elf, Elf_Scn *table, bool by_address, struct marks *marks)
{
	GElf_Shdr header;
	Elf_Data *data = NULL;
	if (!gelf_getshdr(table, &header) || header.sh_entsize == 0 || !(data = elf_getdata(table, NULL)))
		return true;
	int count = (int)(data->d_size / header.sh_entsize);
	for (int i = 0; i < count; i++) {
		GElf_Sym symbol;
		if (gelf_getsym(data, i, &symbol) &&
		    !take_symbol(scan, &symbol, elf_strptr(elf, header.sh_link, symbol.st_name), by_address,
				 marks))
			return false;
	}
	return true;
}

bool elfscan_symbols(struct elfscan *scan, Elf *elf, bool by_address, bool *mapped)
{
	struct marks marks = {0};
	Elf_Scn *section = NULL;
	bool good = true;
	while (good && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			good = read_table(scan, elf, section, by_address, &marks);
	}
	good = good && data_from_marks(&marks, mapped);
	free(marks.items);
	return good;
}

/* ---- calls --------------------------------------------------------------------------------------------- */

static bool take_call(struct elfscan_section *section, const GElf_Rela *entry, const char *name)
{
	uint64_t type = GELF_R_TYPE(entry->r_info);
	if ((type != R_AARCH64_CALL26 && type != R_AARCH64_JUMP26) || !name)
		return true;
	if (!array_reserve(&section->calls, &section->calls_capacity, section->calls_count + 1,
			   sizeof *section->calls))
		return false;
	section->calls[section->calls_count++] = (struct elfscan_call){entry->r_offset, name};
	return true;
}

static const char *symbol_name(Elf *elf, size_t table_index, size_t symbol_index)
{
	Elf_Scn *table = elf_getscn(elf, table_index);
	GElf_Shdr header;
	GElf_Sym symbol;
	Elf_Data *data = table && gelf_getshdr(table, &header) ? elf_getdata(table, NULL) : NULL;
	if (!data || symbol_index > INT32_MAX || !gelf_getsym(data, (int)symbol_index, &symbol))
		return NULL;
	return elf_strptr(elf, header.sh_link, symbol.st_name);
}

bool elfscan_calls(struct elfscan *scan, Elf *elf)
{
	Elf_Scn *section = NULL;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA || !header.sh_entsize)
			continue;
		struct elfscan_section *code = section_numbered(scan, header.sh_info);
		Elf_Data *data = code ? elf_getdata(section, NULL) : NULL;
		int count = data ? (int)(data->d_size / header.sh_entsize) : 0;
		for (int i = 0; i < count; i++) {
			GElf_Rela entry;
			if (gelf_getrela(data, i, &entry) &&
			    !take_call(code, &entry,
				       symbol_name(elf, header.sh_link, GELF_R_SYM(entry.r_info))))
				return false;
		}
	}
	return true;
}
