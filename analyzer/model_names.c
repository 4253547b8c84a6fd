/* Names of allocating stacks, and the rows' sites by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model.h"

/* ---- one stack ----------------------------------------------------------------------------------------- */

/* Frames that say nothing about who allocates: operator new, containers, the allocator itself. */
static bool frame_is_plumbing(const struct symbol_frame *frame)
{
	static const char *const starts[] = {
		"operator new", "operator delete", "std::", "__gnu_cxx::",	 "void std::",
		"void* std::",	"decltype",	   "_Zn",   "boost::container::"};
	static const char *const names[] = {"malloc",	      "calloc",	       "realloc", "reallocarray",
					    "posix_memalign", "aligned_alloc", "memalign"};
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (strncmp(frame->name, starts[i], strlen(starts[i])) == 0)
			return true;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(frame->name, names[i]) == 0)
			return true;
	return false;
}

static char *site_name_of_frames(const struct symbol_stack *stack)
{
	size_t inner = 0;
	while (inner + 1 < stack->depth && frame_is_plumbing(stack->frames[inner]))
		inner++;
	char *name = NULL;
	int length;
	if (inner + 1 < stack->depth)
		length = asprintf(&name, "%s < %s", stack->frames[inner]->name,
				  stack->frames[inner + 1]->name);
	else
		length = asprintf(&name, "%s", stack->frames[inner]->name);
	return length < 0 ? NULL : name;
}

char *site_name(struct symbols *symbols, const struct trace *trace, uint32_t stack_id)
{
	struct trace_stack stack;
	if (stack_id == 0)
		return strdup("(no stack recorded)");
	if (!trace_stack(trace, stack_id, &stack) || stack.depth == 0)
		return strdup("(stack not in the trace)");
	struct symbol_stack names;
	if (!symbols_stack(symbols, &stack, &names))
		return NULL;
	char *name = names.depth ? site_name_of_frames(&names) : strdup("(inside of the shim)");
	symbol_stack_free(&names);
	return name;
}

/* ---- the sites that rows kept -------------------------------------------------------------------------- */

/* The index of `name` among the timeline's sites, which takes it over. SIZE_MAX where memory is short. */
static size_t timeline_site(struct timeline *timeline, char *name)
{
	for (size_t i = 0; i < timeline->site_count; i++)
		if (strcmp(timeline->sites[i], name) == 0) {
			free(name);
			return i;
		}
	char **sites = realloc(timeline->sites, (timeline->site_count + 1) * sizeof *sites);
	if (!sites) {
		free(name);
		return SIZE_MAX;
	}
	timeline->sites = sites;
	sites[timeline->site_count] = name;
	return timeline->site_count++;
}

/* Stacks of one name become one site, in the row's order. */
static void row_rename_sites(struct model_row *row, const uint32_t *renamed)
{
	struct model_row old = *row;
	row->site_count = 0;
	for (uint32_t i = 0; i < old.site_count; i++) {
		uint32_t site = renamed[old.sites[i].site], at = 0;
		while (at < row->site_count && row->sites[at].site != site)
			at++;
		if (at == row->site_count)
			row->sites[row->site_count++] = (struct site_level){site, 0, 0};
		struct site_level grown = {site, row->sites[at].live_bytes + old.sites[i].live_bytes,
					   row->sites[at].huge_bytes + old.sites[i].huge_bytes};
		for (; at > 0 && row->sites[at - 1].live_bytes < grown.live_bytes; at--)
			row->sites[at] = row->sites[at - 1];
		row->sites[at] = grown;
	}
}

/* renamed[livemap's index] = the timeline's, for those that stand in a row. */
static bool name_rows(struct timeline *timeline, size_t first_row, const struct livemap *map,
		      const struct trace *trace, struct symbols *symbols, uint32_t *renamed)
{
	size_t count;
	const struct live_site *sites = livemap_sites(map, &count);
	for (size_t i = 0; i < count; i++)
		renamed[i] = UINT32_MAX;
	for (size_t r = first_row; r < timeline->row_count; r++) {
		struct model_row *row = &timeline->rows[r];
		for (uint32_t i = 0; i < row->site_count; i++) {
			uint32_t site = row->sites[i].site;
			if (renamed[site] != UINT32_MAX)
				continue;
			char *name = site_name(symbols, trace, sites[site].stack_id);
			size_t index = name ? timeline_site(timeline, name) : SIZE_MAX;
			if (index == SIZE_MAX)
				return false;
			renamed[site] = (uint32_t)index;
		}
		row_rename_sites(row, renamed);
	}
	return true;
}

bool timeline_name_sites(struct timeline *timeline, size_t first_row, const struct livemap *map,
			 const struct trace *trace, struct symbols *symbols)
{
	size_t count;
	livemap_sites(map, &count);
	uint32_t *renamed = malloc((count + 1) * sizeof *renamed);
	bool good = renamed && name_rows(timeline, first_row, map, trace, symbols, renamed);
	free(renamed);
	return good;
}
