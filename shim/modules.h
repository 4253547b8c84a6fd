/*
 * The shared objects of the process, copied: where they lie, their build-ids, their program headers.
 *
 * Entries are only ever added; one that is unloaded keeps its place and is marked, since stacks recorded
 * before still point into it. The unwinder goes through the copy instead of dl_iterate_phdr, whose lock the
 * guest may hold. One refresh runs at a time; readers need no lock (`count` is stored with release after the
 * entry is complete).
 */
#ifndef MTRACE_MODULES_H
#define MTRACE_MODULES_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/layout.h"

#define MODULES_MAX	 4096u
#define MODULE_PHDRS_MAX 16u
#define MODULE_BUILD_ID	 32u

struct module {
	uint64_t start, end, bias;
	uint64_t loaded_time;
	_Atomic uint64_t unloaded_time; /* 0: still there */
	const char *path;		/* in the shim's own memory */
	uint16_t path_bytes;
	uint16_t build_id_bytes;
	uint16_t phdr_count;
	bool seen; /* during a refresh */
	uint8_t build_id[MODULE_BUILD_ID];
	ElfW(Phdr) phdrs[MODULE_PHDRS_MAX];
};

/* Looks for objects that came or went. Returns true where something changed. Takes the loader's lock: not for
 * hooks that may run under an allocator's lock. */
bool modules_refresh(void);

/* Something may have changed: the next modules_refresh_if_due() looks. Safe anywhere. */
void modules_expect_change(void);
bool modules_refresh_if_due(void);

unsigned modules_count(void);
const struct module *modules_get(unsigned index);

/* Counts changes: a user who remembers the value knows whether to look again. */
uint32_t modules_generation(void);

/* As dl_iterate_phdr, over the copy: the entries that are loaded. */
int modules_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data);

/* The address range of the shim itself. */
bool modules_own(uint64_t address);

/* Around a fork: no refresh, which holds the loader's lock, is under way in another thread while the process
 * is copied. */
void modules_hold(void);
void modules_release(void);

/* After a fork: the lock may have been held by a thread that is gone. */
void modules_after_fork(void);

#endif
