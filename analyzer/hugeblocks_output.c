#include "analyzer/hugeblocks_output.h"

#include "analyzer/format.h"

const char *hole_class_name(unsigned hole_class, char out[HOLE_NAME_BYTES])
{
	char bytes[FORMAT_TEXT_BYTES];
	if (hole_class == HOLE_FREE_PAGE)
		snprintf(out, HOLE_NAME_BYTES, "pages without a block");
	else if (hole_class == SIZE_CLASSES - 1)
		snprintf(out, HOLE_NAME_BYTES, "more");
	else
		snprintf(out, HOLE_NAME_BYTES, "up to %.30s",
			 format_bytes(bytes, (double)size_class_upper_bytes(hole_class)));
	return out;
}

/* The allocator's own figures of what is free in it, where it has them. */
const struct allocator_list allocator_lists[ALLOCATOR_LISTS] = {
	{"cpu_free_bytes", "per-CPU caches", {"tcmalloc.cpu_free"}},
	{"thread_free_bytes",
	 "thread caches",
	 {"tcmalloc.thread_cache_free", "tcmalloc.thread_cache_free_bytes"}},
	{"transfer_free_bytes",
	 "transfer caches",
	 {"tcmalloc.transfer_cache_free", "tcmalloc.transfer_cache_free_bytes"}},
	{"central_free_bytes",
	 "central cache",
	 {"tcmalloc.central_cache_free", "tcmalloc.central_cache_free_bytes"}},
	{"pageheap_free_bytes", "page heap", {"tcmalloc.pageheap_free_bytes"}},
};
