/* Names for locks: by the symbol, the allocating stack, the thread or the owner of the region that holds
 * them. */
#ifndef MTRACE_LOCKS_NAMES_H
#define MTRACE_LOCKS_NAMES_H

#include "analyzer/locksums.h"
#include "analyzer/regions.h"
#include "analyzer/symbols.h"

/* What is to be shown. Nothing of it is taken over. */
struct locks_view {
	const struct locks *locks;
	const struct regions *regions;
	struct symbols *symbols;
	size_t top;	      /* only so many locks, sites and threads; 0: all */
	double cpus;	      /* busy CPUs of the process over the time of the locks; NaN: not known */
	double per_operation; /* atomic instructions per operation of the client; NaN: not known */
	const double *saved_ns;
	size_t saved_count; /* differences for which a bound is given */
};

/*
 * "queue_lock+0x8 in server", "new_client < accept_one+0x28", "stack of thread 7 (conn12)", "tcmalloc-normal
 * 0x7f...". Owned by the caller; NULL when out of memory.
 */
char *lock_row_name(const struct locks_view *view, const struct lock_row *row);

/* "module", "block", "stack", "region", "address", "libatomic", "no-room", "rest". */
const char *lock_place_name(enum lock_place_kind kind);

/* Of a thread; "other threads" for those without a number. Owned by the caller; NULL when out of memory. */
char *lock_thread_name(const struct trace *trace, uint32_t thread);

/* Indices of all rows, sites or threads: locks that are held before condition variables, semaphores and
 * barriers, then those with most wait first, then with most operations. Owned by the caller; NULL when out of
 * memory. */
size_t *lock_rows_order(const struct locks *locks, size_t *count);
size_t *lock_sites_order(const struct locks *locks, size_t *count);
size_t *lock_threads_order(const struct locks *locks, size_t *count);

/* Of a site: calls, and their 95% interval. Where the kind is not held: `known` is false, see
 * lock_kind_held(). */
struct lock_calls {
	bool known;
	struct estimate value;
};
struct lock_calls lock_site_operations(const struct lock_site *site);

/* "queue.c:12": the line of the call in the function that the site is named by. Owned by the caller; NULL
 * where it is not known. */
char *lock_site_source(const struct locks_view *view, const struct lock_site *site);

/* Sums over all kinds of a thread. */
struct lock_sums lock_thread_sums(const struct lock_thread *thread);

#endif
