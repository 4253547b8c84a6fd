#include "analyzer/elfscan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/elfscan_internal.h"

/* ---- parts --------------------------------------------------------------------------------------------- */

bool elfscan_add_function(struct elfscan_section *section, const struct elfscan_function *function)
{
	if (!array_reserve(&section->functions, &section->functions_capacity, section->functions_count + 1,
			   sizeof *section->functions))
		return false;
	section->functions[section->functions_count++] = *function;
	return true;
}

bool elfscan_add_data(struct elfscan_section *section, uint64_t start, uint64_t end)
{
	if (!array_reserve(&section->data, &section->data_capacity, section->data_count + 1,
			   sizeof *section->data))
		return false;
	section->data[section->data_count++] = (struct elfscan_span){start, end};
	return true;
}

struct elfscan_section *elfscan_section_at(struct elfscan *scan, uint64_t address)
{
	for (size_t i = 0; i < scan->count; i++)
		if (address - scan->sections[i].address < scan->sections[i].size_bytes)
			return &scan->sections[i];
	return NULL;
}

static bool add_section(struct elfscan *scan, const struct elfscan_section *section)
{
	if (!array_reserve(&scan->sections, &scan->capacity, scan->count + 1, sizeof *scan->sections))
		return false;
	scan->sections[scan->count++] = *section;
	return true;
}

/* ---- sections ------------------------------------------------------------------------------------------ */

static bool read_section(struct elfscan *scan, Elf *elf, Elf_Scn *from, const GElf_Shdr *header,
			 const char *file, struct error *error)
{
	size_t names;
	const char *name =
		elf_getshdrstrndx(elf, &names) == 0 ? elf_strptr(elf, names, header->sh_name) : NULL;
	const Elf_Data *data = elf_rawdata(from, NULL);
	if (!data || (!data->d_buf && header->sh_size))
		return error_set(error, ERROR_INPUT, file, header->sh_offset,
				 "section %s lies beyond the end of the file; the file is cut off",
				 name ? name : "of code");
	const struct elfscan_section section = {
		.name = name ? name : "?",
		.index = elf_ndxscn(from),
		.address = scan->relocatable ? 0 : header->sh_addr,
		.bytes = data->d_buf,
		.size_bytes = data->d_size,
	};
	return data->d_size == 0 || add_section(scan, &section) ||
	       error_set(error, ERROR_INTERNAL, file, ERROR_NO_OFFSET, "out of memory");
}

static bool read_sections(struct elfscan *scan, Elf *elf, const char *file, struct error *error)
{
	Elf_Scn *section = NULL;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header))
			return error_set(error, ERROR_INPUT, file, ERROR_NO_OFFSET,
					 "damaged section headers: %s", elf_errmsg(-1));
		if ((header.sh_flags & SHF_EXECINSTR) && header.sh_type == SHT_PROGBITS &&
		    !read_section(scan, elf, section, &header, file, error))
			return false;
	}
	return true;
}

static bool read_segments(struct elfscan *scan, Elf *elf, const char *file, struct error *error)
{
	size_t count;
	if (elf_getphdrnum(elf, &count) != 0)
		return error_set(error, ERROR_INPUT, file, ERROR_NO_OFFSET, "damaged program headers: %s",
				 elf_errmsg(-1));
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    !(header.p_flags & PF_X) || header.p_filesz == 0)
			continue;
		const Elf_Data *data =
			elf_getdata_rawchunk(elf, (int64_t)header.p_offset, header.p_filesz, ELF_T_BYTE);
		if (!data)
			return error_set(
				error, ERROR_INPUT, file, header.p_offset,
				"an executable segment lies beyond the end of the file; the file is cut off");
		const struct elfscan_section section = {.name = "(segment)",
							.address = header.p_vaddr,
							.bytes = data->d_buf,
							.size_bytes = data->d_size};
		if (!add_section(scan, &section))
			return error_set(error, ERROR_INTERNAL, file, ERROR_NO_OFFSET, "out of memory");
	}
	return true;
}

/* ---- order --------------------------------------------------------------------------------------------- */

static int by_start_and_rank(const void *one, const void *other)
{
	const struct elfscan_function *a = one, *b = other;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->name && b->name ? strcmp(a->name, b->name) : 0;
}

static int by_span_start(const void *one, const void *other)
{
	const struct elfscan_span *a = one, *b = other;
	return a->start < b->start ? -1 : a->start > b->start;
}

static int by_call_address(const void *one, const void *other)
{
	const struct elfscan_call *a = one, *b = other;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* One name a start; the end is the longest that any of its names has. */
static void order_functions(struct elfscan_section *section)
{
	struct elfscan_function *functions = section->functions;
	size_t kept = 0;
	if (!section->functions_count)
		return;
	qsort(functions, section->functions_count, sizeof *functions, by_start_and_rank);
	for (size_t i = 1; i < section->functions_count; i++) {
		if (functions[i].start != functions[kept].start)
			functions[++kept] = functions[i];
		else if (functions[i].end > functions[kept].end)
			functions[kept].end = functions[i].end;
	}
	section->functions_count = kept + 1;
}

static void order_data(struct elfscan_section *section)
{
	struct elfscan_span *data = section->data;
	size_t kept = 0;
	if (!section->data_count)
		return;
	qsort(data, section->data_count, sizeof *data, by_span_start);
	for (size_t i = 1; i < section->data_count; i++) {
		if (data[i].start > data[kept].end)
			data[++kept] = data[i];
		else if (data[i].end > data[kept].end)
			data[kept].end = data[i].end;
	}
	section->data_count = kept + 1;
}

static void order_sections(struct elfscan *scan)
{
	for (size_t i = 0; i < scan->count; i++) {
		struct elfscan_section *section = &scan->sections[i];
		order_functions(section);
		order_data(section);
		if (section->calls_count)
			qsort(section->calls, section->calls_count, sizeof *section->calls, by_call_address);
	}
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static void name_machine(struct elfscan *scan, const GElf_Ehdr *header)
{
	static const struct {
		unsigned machine;
		const char *name;
	} known[] = {{EM_AARCH64, "aarch64"}, {EM_X86_64, "x86-64"}, {EM_386, "i386"}, {EM_ARM, "arm"},
		     {EM_RISCV, "riscv"},     {EM_PPC64, "ppc64"},   {EM_S390, "s390"}};
	snprintf(scan->machine_text, sizeof scan->machine_text, "machine %u", header->e_machine);
	scan->machine = scan->machine_text;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].machine == header->e_machine)
			scan->machine = known[i].name;
	scan->aarch64 = header->e_machine == EM_AARCH64;
}

static bool read_names(struct elfscan *scan, Elf *elf, Elf *debug)
{
	bool mapped = false;
	if (!elfscan_symbols(scan, elf, false, &mapped) ||
	    (debug && !elfscan_symbols(scan, debug, true, &mapped)) || !elfscan_frames(scan, elf) ||
	    (scan->relocatable && !elfscan_calls(scan, elf)))
		return false;
	scan->data = mapped ? ELFSCAN_DATA_SYMBOLS : ELFSCAN_DATA_LITERALS;
	for (size_t i = 0; !mapped && i < scan->count; i++)
		if (!elfscan_literals(&scan->sections[i]))
			return false;
	order_sections(scan);
	return true;
}

bool elfscan_read(struct elfscan *scan, Elf *elf, Elf *debug, const char *file, struct error *error)
{
	GElf_Ehdr header;
	size_t sections = 0;
	*scan = (struct elfscan){0};
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return error_set(error, ERROR_INPUT, file, ERROR_NO_OFFSET, "is no ELF file");
	name_machine(scan, &header);
	if (!scan->aarch64)
		return true;
	if (header.e_ident[EI_DATA] != ELFDATA2LSB)
		return error_set(error, ERROR_INPUT, file, EI_DATA,
				 "is for big-endian AArch64, which mtrace does not read");
	scan->relocatable = header.e_type == ET_REL;
	if (elf_getshdrnum(elf, &sections) != 0)
		return error_set(error, ERROR_INPUT, file, header.e_shoff, "damaged section headers: %s",
				 elf_errmsg(-1));
	bool good = sections ? read_sections(scan, elf, file, error) : read_segments(scan, elf, file, error);
	return good && (read_names(scan, elf, debug) ||
			error_set(error, ERROR_INTERNAL, file, ERROR_NO_OFFSET, "out of memory"));
}

void elfscan_free(struct elfscan *scan)
{
	for (size_t i = 0; i < scan->count; i++) {
		free(scan->sections[i].functions);
		free(scan->sections[i].data);
		free(scan->sections[i].calls);
	}
	free(scan->sections);
	*scan = (struct elfscan){0};
}

/* ---- lookup -------------------------------------------------------------------------------------------- */

const struct elfscan_function *elfscan_function(const struct elfscan_section *section, uint64_t address)
{
	size_t low = 0, high = section->functions_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (section->functions[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	const struct elfscan_function *found = &section->functions[low - 1];
	return found->end == found->start || address < found->end ? found : NULL;
}

const struct elfscan_span *elfscan_data_at(const struct elfscan_section *section, uint64_t address)
{
	size_t low = 0, high = section->data_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (section->data[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < section->data_count && section->data[low].start <= address ? &section->data[low] : NULL;
}
