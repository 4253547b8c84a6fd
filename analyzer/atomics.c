#include "analyzer/atomics.h"

#include <elfutils/libdwelf.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/atomics_helpers.h"

/* ---- counts -------------------------------------------------------------------------------------------- */

uint64_t atomics_lse(const struct atomics_counts *counts)
{
	return counts->forms[ATOMIC_CAS] + counts->forms[ATOMIC_CASP] + counts->forms[ATOMIC_SWP] +
	       counts->forms[ATOMIC_LD_OP] + counts->forms[ATOMIC_ST_OP];
}

uint64_t atomics_exclusive(const struct atomics_counts *counts)
{
	return counts->forms[ATOMIC_LOAD_EXCLUSIVE] + counts->forms[ATOMIC_STORE_EXCLUSIVE];
}

bool atomics_any(const struct atomics_counts *counts)
{
	return counts->outline_calls || atomics_lse(counts) || atomics_exclusive(counts) ||
	       counts->forms[ATOMIC_LSE128] || counts->forms[ATOMIC_LRCPC3];
}

void atomics_add(struct atomics_counts *sum, const struct atomics_counts *counts)
{
	for (unsigned i = 0; i < ATOMIC_FORMS; i++)
		sum->forms[i] += counts->forms[i];
	sum->outline_calls += counts->outline_calls;
}

const char *atomics_verdict_name(enum atomics_verdict verdict)
{
	static const char *const names[] = {"none", "inline-lse", "no-lse", "outline", "mixed"};
	return names[verdict];
}

enum atomics_verdict atomics_judge(const struct atomics_counts *all, const struct atomics_counts *in_helpers)
{
	uint64_t lse = atomics_lse(all) + all->forms[ATOMIC_LSE128] - atomics_lse(in_helpers) -
		       in_helpers->forms[ATOMIC_LSE128];
	uint64_t exclusive = atomics_exclusive(all) - atomics_exclusive(in_helpers);
	bool outline = all->outline_calls || atomics_any(in_helpers);
	if ((lse != 0) + (exclusive != 0) + outline > 1)
		return ATOMICS_MIXED;
	return outline	   ? ATOMICS_OUTLINE
	       : lse	   ? ATOMICS_INLINE_LSE
	       : exclusive ? ATOMICS_NO_LSE
			   : ATOMICS_NONE;
}

/* ---- places -------------------------------------------------------------------------------------------- */

struct counting {
	struct atomics_census *census;
	const struct elfscan *scan;
	struct atomics_helpers helpers;
	bool list;
	const struct elfscan_section *section;
	size_t place;				 /* of the section; SIZE_MAX: not counted in yet */
	const struct elfscan_function *function; /* of the newest function place */
	size_t function_place;
};

/* A place in `section`; `name` may be NULL. NULL when out of memory. */
static struct atomics_place *add_place(struct atomics_place **places, size_t *count, size_t *capacity,
				       const char *section, const char *name)
{
	if (!array_reserve(places, capacity, *count + 1, sizeof **places))
		return NULL;
	struct atomics_place *place = &(*places)[*count];
	*place = (struct atomics_place){.section = strdup(section)};
	if (!place->section)
		return NULL;
	++*count; /* owned from here on */
	if (name && !(place->name = strdup(name)))
		return NULL;
	return place;
}

static struct atomics_place *section_place(struct counting *counting)
{
	struct atomics_census *census = counting->census;
	const struct elfscan_section *section = counting->section;
	if (counting->place == SIZE_MAX) {
		struct atomics_place *added =
			add_place(&census->sections, &census->sections_count, &census->sections_capacity,
				  section->name, section->name);
		if (!added)
			return NULL;
		added->address = section->address;
		counting->place = census->sections_count - 1;
	}
	return &census->sections[counting->place];
}

/* Words outside of all functions share a place, as the words of a function do. */
static struct atomics_place *function_place(struct counting *counting, uint64_t address)
{
	struct atomics_census *census = counting->census;
	const struct elfscan_function *function = elfscan_function(counting->section, address);
	if (counting->function_place == SIZE_MAX || counting->function != function) {
		struct atomics_place *added =
			add_place(&census->functions, &census->functions_count, &census->functions_capacity,
				  counting->section->name, function ? function->name : NULL);
		if (!added)
			return NULL;
		added->address = function ? function->start : address;
		added->helper = atomics_helper_at(&counting->helpers, address) != NULL;
		counting->function = function;
		counting->function_place = census->functions_count - 1;
	}
	return &census->functions[counting->function_place];
}

static bool keep_instruction(const struct counting *counting, uint64_t address, uint32_t word)
{
	struct atomics_census *census = counting->census;
	if (!array_reserve(&census->instructions, &census->instructions_capacity,
			   census->instructions_count + 1, sizeof *census->instructions))
		return false;
	census->instructions[census->instructions_count++] =
		(struct atomics_instruction){address, word, counting->place, counting->function_place};
	return true;
}

/* What the word counts as; false where as nothing. */
static bool look_at(const struct counting *counting, uint64_t address, uint32_t word,
		    struct atomics_counts *counts)
{
	enum atomic_form form = atomics_form(word);
	*counts = (struct atomics_counts){0};
	if (form != ATOMIC_NONE)
		counts->forms[form] = 1;
	else if (atomics_calls_helper(&counting->helpers, counting->scan, counting->section, address))
		counts->outline_calls = 1;
	else
		return false;
	return true;
}

static bool count_word(struct counting *counting, uint64_t address)
{
	uint32_t word = elfscan_word(counting->section, address);
	struct atomics_counts counts;
	if (!look_at(counting, address, word, &counts))
		return true;
	struct atomics_place *section = section_place(counting);
	struct atomics_place *function = section ? function_place(counting, address) : NULL;
	if (!function)
		return false;
	atomics_add(&counting->census->all, &counts);
	atomics_add(&section->counts, &counts);
	atomics_add(&function->counts, &counts);
	if (atomics_helper_at(&counting->helpers, address))
		atomics_add(&counting->census->in_helpers, &counts);
	return !counting->list || counts.outline_calls || keep_instruction(counting, address, word);
}

static bool count_section(struct counting *counting, const struct elfscan_section *section)
{
	counting->section = section;
	counting->place = counting->function_place = SIZE_MAX;
	for (uint64_t at = (section->address + 3) & ~UINT64_C(3); elfscan_holds(section, at); at += 4) {
		if (elfscan_data_at(section, at))
			counting->census->data_bytes += 4;
		else if (!count_word(counting, at))
			return false;
		else
			counting->census->code_bytes += 4;
	}
	return true;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* Addresses of a relocatable file's sections overlap: its helpers are looked up section by section. */
static bool count_relocatable(struct counting *counting)
{
	for (size_t i = 0; i < counting->scan->count; i++) {
		counting->helpers.count = 0;
		if (!atomics_helpers_find(&counting->helpers, &counting->scan->sections[i]))
			return false;
		counting->census->helpers += counting->helpers.count;
		if (!count_section(counting, &counting->scan->sections[i]))
			return false;
	}
	return true;
}

static bool count_linked(struct counting *counting)
{
	for (size_t i = 0; i < counting->scan->count; i++)
		if (!atomics_helpers_find(&counting->helpers, &counting->scan->sections[i]))
			return false;
	atomics_helpers_sort(&counting->helpers);
	counting->census->helpers = counting->helpers.count;
	for (size_t i = 0; i < counting->scan->count; i++)
		if (!count_section(counting, &counting->scan->sections[i]))
			return false;
	return true;
}

static void take_build_id(struct atomics_census *census, Elf *elf)
{
	const void *id;
	ssize_t bytes = dwelf_elf_gnu_build_id(elf, &id);
	if (bytes <= 0 || (size_t)bytes > sizeof census->build_id)
		return;
	memcpy(census->build_id, id, (size_t)bytes);
	census->build_id_bytes = (size_t)bytes;
}

static bool count_all(struct atomics_census *census, const struct elfscan *scan, bool list)
{
	struct counting counting = {.census = census, .scan = scan, .list = list};
	bool good = scan->relocatable ? count_relocatable(&counting) : count_linked(&counting);
	free(counting.helpers.spans);
	census->verdict = atomics_judge(&census->all, &census->in_helpers);
	return good;
}

bool atomics_census(struct atomics_census *census, Elf *elf, Elf *debug, bool list, const char *file,
		    struct error *error)
{
	struct elfscan scan;
	*census = (struct atomics_census){0};
	bool good = elfscan_read(&scan, elf, debug, file, error);
	if (good) {
		take_build_id(census, elf);
		census->machine = strdup(scan.machine);
		census->aarch64 = scan.aarch64;
		census->data = scan.data;
		good = (census->machine && count_all(census, &scan, list)) ||
		       error_set(error, ERROR_INTERNAL, file, ERROR_NO_OFFSET, "out of memory");
	}
	elfscan_free(&scan);
	return good;
}

static void free_places(struct atomics_place *places, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(places[i].name);
		free(places[i].section);
	}
	free(places);
}

void atomics_census_free(struct atomics_census *census)
{
	free_places(census->sections, census->sections_count);
	free_places(census->functions, census->functions_count);
	free(census->instructions);
	free(census->machine);
	*census = (struct atomics_census){0};
}
