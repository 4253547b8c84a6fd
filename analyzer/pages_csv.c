#include "analyzer/pages_csv.h"

#include <inttypes.h>

static const char *state_name(uint32_t flags)
{
	if (!(flags & PAGE_PRESENT))
		return "swapped";
	if (flags & PAGE_ZERO)
		return "zero";
	return flags & PAGE_HUGE ? "huge" : flags & PAGE_FOLIO ? "folio" : "small";
}

void pages_csv(FILE *file, const struct pages *pages)
{
	struct page_run run;
	fputs("start,end,bytes,state,file\n", file);
	for (uint64_t at = 0; pages_from(pages, at, &run); at = run.end)
		fprintf(file, "0x%" PRIx64 ",0x%" PRIx64 ",%" PRIu64 ",%s,%d\n", run.start, run.end,
			run.end - run.start, state_name(run.flags), (run.flags & PAGE_FILE) != 0);
}
