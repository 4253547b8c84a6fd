#include "shim/modules.h"

#include <string.h>

#include "shim/clock.h"
#include "shim/config.h"
#include "shim/raw.h"

#define PATH_ARENA_BYTES (UINT64_C(16) << 20)

static struct {
	struct module *entries;
	_Atomic uint32_t count;
	_Atomic uint32_t generation;
	_Atomic uint32_t busy;
	_Atomic uint32_t due;
	_Atomic uint32_t held; /* forks under way */
	char *paths;
	uint64_t paths_used;
	unsigned long long adds, subs;
	uint64_t own_start, own_end;
} modules;

/* ---- one object
 * ------------------------------------------------------------------------------------------------- */

static void take_range(struct module *module, const struct dl_phdr_info *info)
{
	module->bias = info->dlpi_addr;
	module->start = UINT64_MAX;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		if (phdr->p_type != PT_LOAD)
			continue;
		uint64_t start = info->dlpi_addr + phdr->p_vaddr, end = start + phdr->p_memsz;
		module->start = start < module->start ? start : module->start;
		module->end = end > module->end ? end : module->end;
	}
}

static void take_build_id(struct module *module, const struct dl_phdr_info *info, const ElfW(Phdr) * phdr)
{
	const uint8_t *at = (const uint8_t *)(info->dlpi_addr + phdr->p_vaddr), *end = at + phdr->p_memsz;
	while (end - at >= (long)sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)at;
		const uint8_t *name = at + sizeof *note;
		const uint8_t *content = name + ((note->n_namesz + 3u) & ~3u);
		if (content > end || note->n_descsz > (size_t)(end - content))
			return;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(name, "GNU", 4) &&
		    note->n_descsz <= MODULE_BUILD_ID) {
			module->build_id_bytes = (uint16_t)note->n_descsz;
			memcpy(module->build_id, content, note->n_descsz);
		}
		at = content + ((note->n_descsz + 3u) & ~3u);
	}
}

static void take_headers(struct module *module, const struct dl_phdr_info *info)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			take_build_id(module, info, &info->dlpi_phdr[i]);
		if (module->phdr_count < MODULE_PHDRS_MAX)
			module->phdrs[module->phdr_count++] = info->dlpi_phdr[i];
	}
}

static void take_path(struct module *module, const char *name)
{
	const char *path = name && name[0] ? name : config_exe_path();
	size_t bytes = strnlen(path, CONFIG_PATH_BYTES);
	if (modules.paths_used + bytes > PATH_ARENA_BYTES)
		bytes = 0;
	char *copy = modules.paths + modules.paths_used;
	memcpy(copy, path, bytes);
	modules.paths_used += bytes;
	module->path = copy;
	module->path_bytes = (uint16_t)bytes;
}

static bool same_object(const struct module *module, const struct dl_phdr_info *info)
{
	const char *path = info->dlpi_name && info->dlpi_name[0] ? info->dlpi_name : config_exe_path();
	return module->bias == info->dlpi_addr && strnlen(path, CONFIG_PATH_BYTES) == module->path_bytes &&
	       !memcmp(path, module->path, module->path_bytes);
}

static struct module *find(const struct dl_phdr_info *info)
{
	uint32_t count = atomic_load_explicit(&modules.count, memory_order_relaxed);
	for (uint32_t i = 0; i < count; i++)
		if (same_object(&modules.entries[i], info))
			return &modules.entries[i];
	return NULL;
}

static void note_own_range(const struct module *module)
{
	uint64_t here = (uint64_t)(uintptr_t)&modules;
	if (here >= module->start && here < module->end) {
		modules.own_start = module->start;
		modules.own_end = module->end;
	}
}

static void add(const struct dl_phdr_info *info)
{
	uint32_t count = atomic_load_explicit(&modules.count, memory_order_relaxed);
	if (count == MODULES_MAX)
		return;
	struct module *module = &modules.entries[count];
	take_range(module, info);
	take_headers(module, info);
	take_path(module, info->dlpi_name);
	note_own_range(module);
	module->loaded_time = clock_now();
	module->seen = true;
	/* Release: whoever sees the new count sees the entry. */
	atomic_store_explicit(&modules.count, count + 1, memory_order_release);
	atomic_fetch_add_explicit(&modules.generation, 1, memory_order_relaxed);
}

/* ---- all of them
 * -------------------------------------------------------------------------------------------------- */

static int take_object(struct dl_phdr_info *info, size_t bytes, void *data)
{
	(void)bytes;
	(void)data;
	struct module *module = find(info);
	modules.adds = info->dlpi_adds;
	modules.subs = info->dlpi_subs;
	if (!module) {
		add(info);
		return 0;
	}
	module->seen = true;
	if (atomic_load_explicit(&module->unloaded_time, memory_order_relaxed)) {
		/* Loaded again at its old place, as it was. */
		atomic_store_explicit(&module->unloaded_time, 0, memory_order_relaxed);
		atomic_fetch_add_explicit(&modules.generation, 1, memory_order_relaxed);
	}
	return 0;
}

static int changed(struct dl_phdr_info *info, size_t bytes, void *data)
{
	(void)bytes;
	(void)data;
	return info->dlpi_adds != modules.adds || info->dlpi_subs != modules.subs ? 1 : 2;
}

static void mark_unloaded(void)
{
	uint32_t count = atomic_load_explicit(&modules.count, memory_order_relaxed);
	for (uint32_t i = 0; i < count; i++) {
		struct module *module = &modules.entries[i];
		if (module->seen || atomic_load_explicit(&module->unloaded_time, memory_order_relaxed))
			continue;
		atomic_store_explicit(&module->unloaded_time, clock_now(), memory_order_relaxed);
		atomic_fetch_add_explicit(&modules.generation, 1, memory_order_relaxed);
	}
}

static bool reserve(void)
{
	if (!modules.entries)
		modules.entries = raw_reserve(MODULES_MAX * sizeof(struct module));
	if (!modules.paths)
		modules.paths = raw_reserve(PATH_ARENA_BYTES);
	return modules.entries && modules.paths;
}

/* The two flags are sequentially consistent: either the fork sees us busy, or we see that it holds. */
bool modules_refresh(void)
{
	if (atomic_exchange(&modules.busy, 1))
		return false;
	if (atomic_load(&modules.held)) {
		atomic_store(&modules.busy, 0);
		return false;
	}
	uint32_t before = modules_generation();
	if (reserve() && dl_iterate_phdr(changed, NULL) == 1) {
		for (uint32_t i = 0; i < atomic_load_explicit(&modules.count, memory_order_relaxed); i++)
			modules.entries[i].seen = false;
		dl_iterate_phdr(take_object, NULL);
		mark_unloaded();
	}
	atomic_store_explicit(&modules.busy, 0, memory_order_release);
	return modules_generation() != before;
}

void modules_expect_change(void)
{
	atomic_store_explicit(&modules.due, 1, memory_order_relaxed);
}

bool modules_refresh_if_due(void)
{
	if (!atomic_load_explicit(&modules.due, memory_order_relaxed))
		return false;
	atomic_store_explicit(&modules.due, 0, memory_order_relaxed);
	return modules_refresh();
}

unsigned modules_count(void)
{
	return atomic_load_explicit(&modules.count, memory_order_acquire);
}

const struct module *modules_get(unsigned index)
{
	return &modules.entries[index];
}

uint32_t modules_generation(void)
{
	return atomic_load_explicit(&modules.generation, memory_order_relaxed);
}

int modules_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
	for (unsigned i = 0; i < modules_count(); i++) {
		struct module *module = &modules.entries[i];
		if (atomic_load_explicit(&module->unloaded_time, memory_order_relaxed))
			continue;
		struct dl_phdr_info info = {.dlpi_addr = module->bias,
					    .dlpi_name = "",
					    .dlpi_phdr = module->phdrs,
					    .dlpi_phnum = module->phdr_count,
					    .dlpi_adds = modules_generation()};
		int result = callback(&info, sizeof info, data);
		if (result)
			return result;
	}
	return 0;
}

bool modules_own(uint64_t address)
{
	return address >= modules.own_start && address < modules.own_end;
}

void modules_hold(void)
{
	struct timespec pause = {0, 50000};
	atomic_fetch_add(&modules.held, 1);
	for (unsigned waits = 0; atomic_load(&modules.busy) && waits < 2000; waits++)
		raw2(SYS_nanosleep, (long)&pause, 0);
}

void modules_release(void)
{
	atomic_fetch_sub(&modules.held, 1);
}

void modules_after_fork(void)
{
	atomic_store(&modules.held, 0);
	atomic_store_explicit(&modules.busy, 0, memory_order_relaxed);
}
