/*
 * Where a lock lies: in a module's data, in a block of the allocator, on a stack, or in a region of another
 * owner. Asked while the events of a trace go by, about the moment that they have come to.
 */
#ifndef MTRACE_LOCKPLACE_H
#define MTRACE_LOCKPLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/livemap.h"
#include "analyzer/reader.h"
#include "analyzer/regions.h"

enum lock_place_kind {
	PLACE_ADDRESS,	 /* nothing is known; offset: the address */
	PLACE_MODULE,	 /* key: index into trace_modules(); offset: address in the ELF file */
	PLACE_BLOCK,	 /* key: stack id of its allocation; offset: in the block */
	PLACE_STACK,	 /* key: thread number, PLACE_NO_THREAD where not known */
	PLACE_REGION,	 /* key: index into regions_owners(); offset: the address */
	PLACE_LIBATOMIC, /* calls of libatomic, of which no address is recorded */
	PLACE_NO_ROOM,	 /* locks for which the recorder had no room */
	PLACE_REST,	 /* locks for which the analyzer has no row */
};

#define PLACE_NO_THREAD UINT32_MAX

struct lock_place {
	enum lock_place_kind kind;
	uint64_t key;
	uint64_t offset;
};

/* What is known of the process at this moment; each may be NULL. */
struct lock_world {
	const struct livemap *live;
	const struct regions *regions;
};

struct lockplaces;

/* NULL when out of memory. `trace` must outlive it. */
struct lockplaces *lockplaces_open(const struct trace *trace);
void lockplaces_close(struct lockplaces *places); /* NULL is fine */

/* Threads and their stacks come and go. False when out of memory. */
bool lockplaces_event(struct lockplaces *places, const struct trace_event *event);

/*
 * A block is found in full mode where it is live and, in sample mode, where it was sampled besides. One that
 * begins more than PLACE_NEAR_BYTES before the lock takes a search through all live blocks; PLACE_SEARCH_MAX
 * of them may be looked at in a trace, after which such locks are placed by their region.
 */
struct lock_place lockplaces_find(struct lockplaces *places, const struct lock_world *world, uint64_t address,
				  uint64_t time);

#define PLACE_NEAR_BYTES 4096u
#define PLACE_SEARCH_MAX (UINT64_C(1) << 31)

#endif
