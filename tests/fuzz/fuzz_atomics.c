/*
 * Any bytes are counted as an ELF file, or as an archive of either kind: what is counted by section and by
 * function is what is counted altogether, what lies in helpers is part of it, and the output can be made.
 */
#include "analyzer/atomics_output.h"
#include "tests/fuzz/fuzz.h"

#include <elf.h>

/* ---- inputs -------------------------------------------------------------------------------------------- */

/* Magic numbers are hard to guess: the first byte says what the rest is the inside of. */
static size_t build(const uint8_t *data, size_t bytes, uint8_t *file)
{
	struct input input = {data, bytes};
	uint8_t kind = input_byte(&input) % 4;
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_machine = EM_AARCH64,
			     .e_version = EV_CURRENT,
			     .e_ehsize = sizeof header,
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_phentsize = sizeof(Elf64_Phdr)};
	size_t head = 0;
	if (kind == 1) {
		header.e_type = input_byte(&input) % 2 ? ET_REL : ET_DYN;
		header.e_shnum = input_byte(&input) % 8;
		header.e_phnum = input_byte(&input) % 4;
		header.e_shstrndx = input_byte(&input) % 8;
		header.e_shoff = header.e_shnum ? sizeof header : 0;
		header.e_phoff = header.e_phnum ? sizeof header + header.e_shnum * sizeof(Elf64_Shdr) : 0;
		head = sizeof header;
		memcpy(file, &header, head);
	} else if (kind > 1) {
		head = 8;
		memcpy(file, kind == 2 ? "!<arch>\n" : "!<thin>\n", head);
	}
	memcpy(file + head, input.at, input.left);
	return head + input.left;
}

/* ---- properties ---------------------------------------------------------------------------------------- */

static void check_sum(const struct atomics_place *places, size_t count, const struct atomics_counts *all)
{
	struct atomics_counts sum = {0};
	for (size_t i = 0; i < count; i++) {
		require(places[i].section && atomics_any(&places[i].counts));
		atomics_add(&sum, &places[i].counts);
	}
	require(memcmp(&sum, all, sizeof sum) == 0);
}

static void check_census(const struct atomics_census *census)
{
	check_sum(census->sections, census->sections_count, &census->all);
	check_sum(census->functions, census->functions_count, &census->all);
	require(census->all.forms[ATOMIC_NONE] == 0);
	for (unsigned i = 0; i < ATOMIC_FORMS; i++)
		require(census->in_helpers.forms[i] <= census->all.forms[i]);
	require(census->verdict == atomics_judge(&census->all, &census->in_helpers));
	require(census->instructions_count == atomics_lse(&census->all) + atomics_exclusive(&census->all) +
						      census->all.forms[ATOMIC_LSE128] +
						      census->all.forms[ATOMIC_LRCPC3]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static char path[64];
	static uint8_t file[(1 << 16) + 256];
	if (!path[0])
		scratch_path(path, sizeof path, "atomics");
	if (bytes > 1 << 16)
		return 0;
	scratch_write(path, file, build(data, bytes, file));
	struct atomics_files files = {.list = true};
	struct error error = {0};
	require(atomics_files_add(&files, path, &error) || error.code == ERROR_INPUT);
	for (size_t i = 0; i < files.count; i++) {
		struct atomics_file *item = &files.items[i];
		require(item->problem || item->census.machine || item->archive);
		if (!item->problem && !item->archive)
			check_census(&item->census);
		for (size_t j = 0; j < item->members_count; j++)
			if (!item->members[j].problem)
				check_census(&item->members[j].census);
	}
	json_t *object =
		atomics_json(&files, &(struct atomics_view){.functions = true, .instructions = true});
	require(object);
	json_decref(object);
	atomics_files_free(&files);
	unlink(path);
	return 0;
}
