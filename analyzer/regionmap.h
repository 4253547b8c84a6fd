/*
 * The address space of a process at one moment: regions, none of which overlaps another, each with what is
 * known about it. Neighbours of which the same is known are one region, so memory follows the number of
 * regions, not of calls. All operations take the logarithm of that number.
 */
#ifndef MTRACE_REGIONMAP_H
#define MTRACE_REGIONMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum region_state {
	REGION_RESERVED = 0,  /* mapped without access: address space only */
	REGION_COMMITTED = 1, /* may be touched */
	REGION_RELEASED = 2,  /* was given back to the kernel, and no call has asked for it again */
	REGION_STATES = 3,
};

/* What lies behind a region, as far as that is known. */
#define REGION_FILE_NONE    UINT64_C(0) /* private anonymous memory */
#define REGION_FILE_UNKNOWN UINT64_C(1) /* a file, or shared memory, that no reading has named yet */

struct region {
	uint64_t start;
	uint64_t end;	 /* greater than start */
	uint64_t file;	 /* REGION_FILE_*, otherwise stands for device and inode */
	uint32_t owner;	 /* index into the owners */
	uint32_t listed; /* what stands for itself: a line of a reading, a large block; not joined with a
			    neighbour that has another number here */
	uint8_t state;	 /* enum region_state */
	bool settled;	 /* the owner is known; otherwise it is a guess that later facts may correct */
};

/* Zero-initialize; regionmap_clear() at the end. */
struct regionmap {
	struct region_node *root;
	struct region_node *spare;
	uint64_t random;
	size_t count;
};

/* Regions taken out of a map. Zero-initialize; free `items` at the end. */
struct region_list {
	struct region *items;
	size_t count, capacity;
};

bool region_list_add(struct region_list *list, const struct region *region);

/* Adds a region where none is. False when out of memory; the map is then as before. */
bool regionmap_put(struct regionmap *map, const struct region *region);

/*
 * Takes out what lies in [start, end): appended to `out`, in order, cut off at both ends. What lies outside
 * stays. False when out of memory; what was not appended is then still in the map.
 */
bool regionmap_cut(struct regionmap *map, uint64_t start, uint64_t end, struct region_list *out);

/* The region at `address`, or NULL. Valid until the map changes. */
const struct region *regionmap_at(const struct regionmap *map, uint64_t address);

/* The first region that ends above `address`, or NULL. */
const struct region *regionmap_from(const struct regionmap *map, uint64_t address);

/* The first invariant that does not hold, in words; NULL where all do. */
const char *regionmap_check(const struct regionmap *map);

void regionmap_clear(struct regionmap *map);

#endif
