/* What a stripped file still says: where its functions begin, and which words are literals. */
#include <dwarf.h>
#include <string.h>

#include "analyzer/elfscan_internal.h"

/* Version 1, then three encodings: of the pointer to .eh_frame, of the count, of the table. */
#define HDR_BYTES	12
#define HDR_ENTRY_BYTES 8

static int32_t read_s32(const uint8_t *at)
{
	return (int32_t)((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
			 (uint32_t)at[3] << 24);
}

/* Linkers write the table in one form only: 4 bytes relative to its own section. */
static bool known_form(const uint8_t *bytes, size_t size)
{
	return size >= HDR_BYTES && bytes[0] == 1 && (bytes[1] & 0x0f) == DW_EH_PE_sdata4 &&
	       bytes[2] == DW_EH_PE_udata4 && bytes[3] == (DW_EH_PE_datarel | DW_EH_PE_sdata4);
}

static bool take_frames(struct elfscan *scan, const uint8_t *bytes, size_t size, uint64_t address)
{
	if (!known_form(bytes, size))
		return true;
	size_t count = (uint32_t)read_s32(bytes + 8);
	size_t room = (size - HDR_BYTES) / HDR_ENTRY_BYTES;
	count = count < room ? count : room;
	for (size_t i = 0; i < count; i++) {
		uint64_t start =
			address + (uint64_t)(int64_t)read_s32(bytes + HDR_BYTES + i * HDR_ENTRY_BYTES);
		struct elfscan_section *section = elfscan_section_at(scan, start);
		if (section && !elfscan_add_function(
				       section, &(struct elfscan_function){start, start, NULL, UINT32_MAX}))
			return false;
	}
	return true;
}

bool elfscan_frames(struct elfscan *scan, Elf *elf)
{
	size_t count;
	if (scan->relocatable || elf_getphdrnum(elf, &count) != 0)
		return true;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_GNU_EH_FRAME)
			continue;
		const Elf_Data *data =
			elf_getdata_rawchunk(elf, (int64_t)header.p_offset, header.p_filesz, ELF_T_BYTE);
		if (data && !take_frames(scan, data->d_buf, data->d_size, header.p_vaddr))
			return false;
	}
	return true;
}

/* ---- literals ------------------------------------------------------------------------------------------ */

/* LDR (literal) and LDRSW (literal): bytes that it loads; 0 for PRFM and everything else. */
static unsigned literal_bytes(uint32_t word)
{
	static const unsigned general[] = {4, 8, 4, 0}, vector[] = {4, 8, 16, 0};
	if ((word & 0x3b000000) != 0x18000000)
		return 0;
	return word >> 26 & 1 ? vector[word >> 30] : general[word >> 30];
}

bool elfscan_literals(struct elfscan_section *section)
{
	uint64_t end = section->address + section->size_bytes;
	for (uint64_t at = (section->address + 3) & ~UINT64_C(3); elfscan_holds(section, at); at += 4) {
		uint32_t word = elfscan_word(section, at);
		unsigned bytes = literal_bytes(word);
		if (!bytes)
			continue;
		int64_t offset = ((int32_t)(word << 8) >> 13) * INT64_C(4);
		uint64_t target = at + (uint64_t)offset;
		if (target < section->address || target >= end || end - target < bytes)
			continue;
		if (!elfscan_add_data(section, target, target + bytes))
			return false;
	}
	return true;
}
