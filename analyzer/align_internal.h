/* What the files of align.h share: clients, the runs that have a place in time. */
#ifndef MTRACE_ALIGN_INTERNAL_H
#define MTRACE_ALIGN_INTERNAL_H

#include "analyzer/align.h"

struct client {
	size_t file, run;
	const struct ycsb_run *source;
	int64_t start_ns, end_ns;
};

struct client_list {
	struct client *items;
	size_t count;
};

/* Runs with a clock, in order of their start; all others are set aside. False when out of memory. */
bool clients_find(const struct ycsb_file *files, size_t file_count, struct alignment *alignment,
		  struct client_list *clients);

/* From the first start to the last end goes into the alignment. */
void clients_range(const struct client_list *clients, struct alignment *alignment);

/* Keeps those that ran while something was traced; sets aside the others. */
void clients_keep_overlapping(struct client_list *clients, const struct model *model,
			      struct alignment *alignment);

/* A client's local time in the wrong zone is the usual reason why nothing overlaps. */
void clients_hint(const struct model *model, const struct client_list *clients, struct alignment *alignment);

void clients_set_aside(struct alignment *alignment, size_t file, size_t run, enum unplaced_reason reason);

#endif
