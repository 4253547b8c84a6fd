#include "analyzer/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/symbols_internal.h"

#define CACHE_BITS_FIRST 10u
#define SHIM_NAME	 "libmtrace.so"

struct cached {
	uint64_t address;
	struct symbol_frame *frames; /* NULL: an empty slot */
	size_t count;
};

struct symbols {
	struct symbol_paths paths;
	struct symbol_module *modules;
	size_t modules_count;
	struct cached *cache;
	size_t cached_count;
	unsigned cache_bits;
	char **unmatched;
	size_t unmatched_count, unmatched_capacity;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* ---- cache --------------------------------------------------------------------------------------------- */

static struct cached *cache_probe(struct cached *cache, unsigned bits, uint64_t address)
{
	size_t mask = ((size_t)1 << bits) - 1;
	size_t at = (size_t)((address * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - bits));
	while (cache[at].frames && cache[at].address != address)
		at = (at + 1) & mask;
	return &cache[at];
}

static bool cache_grow(struct symbols *symbols)
{
	unsigned bits = symbols->cache ? symbols->cache_bits + 1 : CACHE_BITS_FIRST;
	struct cached *grown = calloc((size_t)1 << bits, sizeof *grown);
	if (!grown)
		return false;
	for (size_t i = 0; symbols->cache && i < (size_t)1 << symbols->cache_bits; i++)
		if (symbols->cache[i].frames)
			*cache_probe(grown, bits, symbols->cache[i].address) = symbols->cache[i];
	free(symbols->cache);
	symbols->cache = grown;
	symbols->cache_bits = bits;
	return true;
}

static void cache_free(struct symbols *symbols)
{
	for (size_t i = 0; symbols->cache && i < (size_t)1 << symbols->cache_bits; i++) {
		struct cached *cached = &symbols->cache[i];
		for (size_t j = 0; cached->frames && j < cached->count; j++)
			free((char *)cached->frames[j].name);
		free(cached->frames);
	}
	free(symbols->cache);
}

/* ---- modules ------------------------------------------------------------------------------------------- */

/* Modules may have shared an address one after another: the one that stayed longest is taken. */
static struct symbol_module *module_at(const struct symbols *symbols, uint64_t address)
{
	struct symbol_module *found = NULL;
	for (size_t i = 0; i < symbols->modules_count; i++) {
		const struct trace_module *traced = symbols->modules[i].traced;
		if (traced->start > address)
			break;
		if (address < traced->end && (!found || traced->unloaded_time == 0))
			found = &symbols->modules[i];
	}
	return found;
}

static void list_unmatched(struct symbols *symbols, const struct symbol_module *module)
{
	char *text;
	if (!array_reserve(&symbols->unmatched, &symbols->unmatched_capacity, symbols->unmatched_count + 1,
			   sizeof *symbols->unmatched))
		return;
	if (asprintf(&text, "%s: %s", module->traced->path,
		     module->reason ? module->reason : "cannot be used") >= 0)
		symbols->unmatched[symbols->unmatched_count++] = text;
}

static bool module_usable(struct symbols *symbols, struct symbol_module *module)
{
	if (!module->tried) {
		symbol_module_open(module, &symbols->paths);
		if (!module->loaded)
			list_unmatched(symbols, module);
	}
	return module->loaded != NULL;
}

bool symbols_is_shim(const struct symbols *symbols, uint64_t address)
{
	const struct symbol_module *module = module_at(symbols, address);
	return module && strncmp(base_name(module->traced->path), SHIM_NAME, strlen(SHIM_NAME)) == 0;
}

/* ---- addresses ----------------------------------------------------------------------------------------- */

static char *nameless(const struct symbol_module *module, uint64_t address)
{
	char *text = NULL;
	int length = module ? asprintf(&text, "%s+0x%" PRIx64, base_name(module->traced->path),
				       address - module->traced->bias)
			    : asprintf(&text, "0x%" PRIx64, address);
	return length < 0 ? NULL : text;
}

/* Looks up the call before the return address. 0 when out of memory. */
static size_t look_up(struct symbols *symbols, uint64_t return_address, struct symbol_frame *frames)
{
	uint64_t address = return_address ? return_address - 1 : 0;
	struct symbol_module *module = module_at(symbols, address);
	size_t count = 0;
	if (module && module_usable(symbols, module))
		count = symbol_module_lookup(module, address, frames);
	if (!count) {
		frames[0] = (struct symbol_frame){.name = nameless(module, return_address)};
		count = frames[0].name ? 1 : 0;
	}
	for (size_t i = 0; i < count; i++) {
		frames[i].address = return_address;
		frames[i].module = module ? base_name(module->traced->path) : NULL;
	}
	return count;
}

size_t symbols_resolve(struct symbols *symbols, uint64_t return_address, const struct symbol_frame **frames)
{
	static const struct symbol_frame none = {.name = "?"};
	*frames = &none;
	if ((!symbols->cache || symbols->cached_count >= (size_t)1 << (symbols->cache_bits - 1)) &&
	    !cache_grow(symbols))
		return 1;
	struct cached *cached = cache_probe(symbols->cache, symbols->cache_bits, return_address);
	if (!cached->frames) {
		struct symbol_frame found[SYMBOL_INLINE_MAX] = {0};
		size_t count = look_up(symbols, return_address, found);
		struct symbol_frame *copy = count ? malloc(count * sizeof *copy) : NULL;
		if (!copy) {
			for (size_t i = 0; i < count; i++)
				free((char *)found[i].name);
			return 1;
		}
		memcpy(copy, found, count * sizeof *copy);
		*cached = (struct cached){return_address, copy, count};
		symbols->cached_count++;
	}
	*frames = cached->frames;
	return cached->count;
}

bool symbols_data(struct symbols *symbols, size_t module, uint64_t in_file, char **name,
		  uint64_t *offset_bytes)
{
	if (module >= symbols->modules_count || !module_usable(symbols, &symbols->modules[module]))
		return false;
	*name = symbol_module_data(&symbols->modules[module], in_file, offset_bytes);
	return *name != NULL;
}

/* ---- stacks -------------------------------------------------------------------------------------------- */

bool symbols_stack(struct symbols *symbols, const struct trace_stack *stack, struct symbol_stack *names)
{
	size_t first = 0, end = stack->depth, capacity = 0;
	*names = (struct symbol_stack){0};
	while (first < end && symbols_is_shim(symbols, stack->frames[first]))
		first++;
	while (end > first && symbols_is_shim(symbols, stack->frames[end - 1]))
		end--;
	for (size_t i = first; i < end; i++) {
		const struct symbol_frame *frames;
		size_t count = symbols_resolve(symbols, stack->frames[i], &frames);
		if (!array_reserve(&names->frames, &capacity, names->depth + count, sizeof *names->frames)) {
			symbol_stack_free(names);
			return false;
		}
		for (size_t j = 0; j < count; j++)
			names->frames[names->depth++] = &frames[j];
	}
	return true;
}

void symbol_stack_free(struct symbol_stack *names)
{
	free(names->frames);
	*names = (struct symbol_stack){0};
}

/* ---- public -------------------------------------------------------------------------------------------- */

static bool set_paths(struct symbol_paths *paths, const struct symbol_options *options)
{
	const char *sysroot = options && options->sysroot ? options->sysroot : "";
	const char *debug_dir = options && options->debug_dir ? options->debug_dir : "/usr/lib/debug";
	paths->sysroot = strcmp(sysroot, "/") == 0 ? "" : sysroot;
	paths->debug_dir = debug_dir;
	paths->callbacks = (Dwfl_Callbacks){
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &paths->search,
	};
	if (asprintf(&paths->search, ":.debug:%s:%s/usr/lib/debug", debug_dir, paths->sysroot) < 0)
		paths->search = NULL;
	return paths->search != NULL;
}

struct symbols *symbols_create(const struct trace *trace, const struct symbol_options *options)
{
	struct symbols *symbols = calloc(1, sizeof *symbols);
	if (!symbols)
		return NULL;
	const struct trace_module *traced = trace_modules(trace, &symbols->modules_count);
	symbols->modules = calloc(symbols->modules_count + 1, sizeof *symbols->modules);
	if (!symbols->modules || !set_paths(&symbols->paths, options)) {
		symbols_free(symbols);
		return NULL;
	}
	for (size_t i = 0; i < symbols->modules_count; i++)
		symbols->modules[i].traced = &traced[i];
	return symbols;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	cache_free(symbols);
	for (size_t i = 0; symbols->modules && i < symbols->modules_count; i++)
		symbol_module_close(&symbols->modules[i]);
	for (size_t i = 0; i < symbols->unmatched_count; i++)
		free(symbols->unmatched[i]);
	free(symbols->unmatched);
	free(symbols->modules);
	free(symbols->paths.search);
	free(symbols);
}

const char *const *symbols_unmatched(const struct symbols *symbols, size_t *count)
{
	*count = symbols->unmatched_count;
	return (const char *const *)symbols->unmatched;
}
