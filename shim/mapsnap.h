/*
 * The process's mappings in the trace, as BLOCK_MAPS: what no hook sees (libc's arenas, thread stacks, the
 * loader's work), and what the hooks' picture can be checked against. By the writer, and by the thread that
 * starts recording before there is one.
 */
#ifndef MTRACE_MAPSNAP_H
#define MTRACE_MAPSNAP_H

#include <stdbool.h>
#include <stdint.h>

/* Reads all mappings and writes all of them. */
void mapsnap_take_whole(void);

/* Reads them where that is due, once per interval, and writes what has changed since the last reading. */
void mapsnap_take(uint64_t interval_ms);

/* The next mapsnap_take() writes all of them. */
void mapsnap_want_whole(void);

/* One of the guest's mappings, as the last reading had it. */
struct mapsnap_range {
	uint64_t start;
	uint64_t end;
	bool file; /* or shared memory: has an inode */
};

/* The first one that ends above `address`. False: there is none. */
bool mapsnap_guest_from(uint64_t address, struct mapsnap_range *range);

#endif
