/*
 * A process's mappings, as /proc/PID/maps lists them.
 */
#ifndef MTRACE_MAPS_H
#define MTRACE_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct mapping {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* in the file */
	uint64_t device;     /* major number in the upper half, minor in the lower */
	uint64_t inode;	     /* 0: no file */
	int prot;	     /* PROT_* */
	bool shared;
	const char *name; /* path, "[heap]" and the like, or "" */
};

/* One line of such a list: start-end rwxp offset major:minor inode   name. False: it is none. */
bool maps_parse(const char *line, struct mapping *mapping);

#define MAPS_SELF "/proc/self/maps"

/*
 * Calls visit for each mapping in the list at `path`, by rising address, until it returns false. Allocates
 * nothing; the list is read in pieces, so what changes meanwhile may be seen in part. False: it cannot be
 * read.
 */
bool maps_visit(const char *path, bool (*visit)(const struct mapping *mapping, void *argument),
		void *argument);

#endif
