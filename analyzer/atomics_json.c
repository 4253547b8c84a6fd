#include <stdlib.h>
#include <string.h>

#include "analyzer/atomics_output.h"

/* From libstdc++ (Itanium C++ ABI, 3.4): NULL where the name is not mangled; otherwise malloc()ed. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

char *atomics_readable(const char *name)
{
	int status;
	if (!name)
		return NULL;
	char *demangled = strncmp(name, "_Z", 2) == 0 ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
	return demangled ? demangled : strdup(name);
}

static uint64_t weight(const struct atomics_place *place)
{
	const struct atomics_counts *counts = &place->counts;
	return atomics_lse(counts) + atomics_exclusive(counts) + counts->outline_calls +
	       counts->forms[ATOMIC_LSE128] + counts->forms[ATOMIC_LRCPC3];
}

static int by_weight(const void *one, const void *other)
{
	const struct atomics_place *const *a = one, *const *b = other;
	uint64_t left = weight(*a), right = weight(*b);
	if (left != right)
		return left > right ? -1 : 1;
	/* Both point into one array, which is in the order of addresses. */
	return *a < *b ? -1 : *a > *b;
}

const struct atomics_place **atomics_by_count(const struct atomics_census *census)
{
	size_t count = census->functions_count;
	const struct atomics_place **order = calloc(count ? count : 1, sizeof(struct atomics_place *));
	if (!order)
		return NULL;
	for (size_t i = 0; i < count; i++)
		order[i] = &census->functions[i];
	qsort(order, count, sizeof *order, by_weight);
	return order;
}

/* ---- counts -------------------------------------------------------------------------------------------- */

struct field {
	const char *name;
	enum atomic_form form;
};

static const struct field fields[] = {
	{"cas", ATOMIC_CAS},
	{"casp", ATOMIC_CASP},
	{"swp", ATOMIC_SWP},
	{"ld_op", ATOMIC_LD_OP},
	{"st_op", ATOMIC_ST_OP},
	{"load_exclusive", ATOMIC_LOAD_EXCLUSIVE},
	{"store_exclusive", ATOMIC_STORE_EXCLUSIVE},
	{"lse128", ATOMIC_LSE128},
	{"lrcpc3", ATOMIC_LRCPC3},
};

/* With `counts` of NULL all are unknown. */
static void put_counts(json_t *object, const struct atomics_counts *counts)
{
	if (counts) {
		json_put_count(object, "lse", atomics_lse(counts));
		json_put_count(object, "exclusive", atomics_exclusive(counts));
		json_put_count(object, "outline_calls", counts->outline_calls);
	} else {
		json_put_null(object, "lse");
		json_put_null(object, "exclusive");
		json_put_null(object, "outline_calls");
	}
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (counts)
			json_put_count(object, fields[i].name, counts->forms[fields[i].form]);
		else
			json_put_null(object, fields[i].name);
	}
}

static json_t *hexadecimal(uint64_t value)
{
	return json_sprintf("0x%llx", (unsigned long long)value);
}

static void put_readable(json_t *object, const char *key, const char *name)
{
	char *readable = atomics_readable(name);
	json_put_string(object, key, readable);
	free(readable);
}

/* ---- places -------------------------------------------------------------------------------------------- */

static json_t *sections_json(const struct atomics_census *census)
{
	json_t *list = json_array();
	for (size_t i = 0; i < census->sections_count; i++) {
		json_t *object = json_object();
		json_put_string(object, "name", census->sections[i].name);
		json_put(object, "address", hexadecimal(census->sections[i].address));
		put_counts(object, &census->sections[i].counts);
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *function_json(const struct atomics_place *place)
{
	json_t *object = json_object();
	put_readable(object, "name", place->name);
	json_put_string(object, "section", place->section);
	json_put(object, "address", hexadecimal(place->address));
	json_put_bool(object, "helper", place->helper);
	put_counts(object, &place->counts);
	return object;
}

static json_t *functions_json(const struct atomics_census *census, size_t top)
{
	const struct atomics_place **order = atomics_by_count(census);
	json_t *list = json_array();
	for (size_t i = 0; order && i < census->functions_count && (!top || i < top); i++)
		json_array_append_new(list, function_json(order[i]));
	free(order);
	return list;
}

static json_t *instructions_json(const struct atomics_census *census)
{
	json_t *list = json_array();
	for (size_t i = 0; i < census->instructions_count; i++) {
		const struct atomics_instruction *instruction = &census->instructions[i];
		char mnemonic[ATOMICS_MNEMONIC_BYTES];
		json_t *object = json_object();
		atomics_mnemonic(instruction->word, mnemonic);
		json_put(object, "address", hexadecimal(instruction->address));
		json_put(object, "word", json_sprintf("%08x", instruction->word));
		json_put_string(object, "mnemonic", mnemonic);
		json_put_string(object, "section", census->sections[instruction->section].name);
		put_readable(object, "function", census->functions[instruction->function].name);
		json_array_append_new(list, object);
	}
	return list;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static json_t *build_id_json(const struct atomics_census *census)
{
	char text[2 * sizeof census->build_id + 1] = "";
	for (size_t i = 0; i < census->build_id_bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", census->build_id[i]);
	return census->build_id_bytes ? json_string(text) : NULL;
}

static void put_known(json_t *object, const struct atomics_census *census, const struct atomics_view *view)
{
	put_counts(object, &census->all);
	json_put_string(object, "verdict", atomics_verdict_name(census->verdict));
	json_put_count(object, "outline_helpers", census->helpers);
	json_put_count(object, "outline_lse", atomics_lse(&census->in_helpers));
	json_put_count(object, "outline_exclusive", atomics_exclusive(&census->in_helpers));
	bool outline = census->helpers || census->all.outline_calls;
	json_put_string(object, "decided_by", outline ? "HWCAP_ATOMICS" : NULL);
	json_put_count(object, "code_bytes", census->code_bytes);
	json_put_count(object, "data_bytes", census->data_bytes);
	json_put_string(object, "data_known_by",
			census->data == ELFSCAN_DATA_SYMBOLS ? "mapping-symbols" : "literal-loads");
	json_put(object, "sections", sections_json(census));
	if (view->functions)
		json_put(object, "functions", functions_json(census, view->top));
	if (view->instructions)
		json_put(object, "instructions", instructions_json(census));
}

/* Without the members of an archive, which have none themselves. */
static json_t *file_object(const struct atomics_file *item, const struct atomics_view *view)
{
	json_t *object = json_object();
	const struct atomics_census *census = &item->census;
	json_put_string(object, "file", item->file);
	json_put_string(object, "machine", census->machine);
	json_put(object, "build_id", build_id_json(census));
	json_put_string(object, "problem", item->problem);
	if (census->machine && census->aarch64 && (!item->problem || item->archive)) {
		put_known(object, census, view);
	} else {
		put_counts(object, NULL);
		/* Code of another machine has none of these; of a file that was not read nothing is known. */
		json_put_string(object, "verdict", census->machine && !item->problem ? "none" : NULL);
	}
	return object;
}

static json_t *file_json(const struct atomics_file *item, const struct atomics_view *view)
{
	json_t *object = file_object(item, view);
	if (!item->archive)
		return object;
	json_t *members = json_array();
	for (size_t i = 0; i < item->members_count; i++)
		json_array_append_new(members, file_object(&item->members[i], view));
	json_put(object, "members", members);
	return object;
}

json_t *atomics_json(const struct atomics_files *files, const struct atomics_view *view)
{
	json_t *object = json_object(), *list = json_array();
	for (size_t i = 0; i < files->count; i++)
		json_array_append_new(list, file_json(&files->items[i], view));
	json_put(object, "files", list);
	if (files->hwcap == ATOMICS_HWCAP_UNKNOWN)
		json_put_null(object, "process_has_lse");
	else
		json_put_bool(object, "process_has_lse", files->hwcap == ATOMICS_HWCAP_PRESENT);
	return object;
}
