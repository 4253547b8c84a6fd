#include "analyzer/locks_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model.h"

/* ---- names --------------------------------------------------------------------------------------------- */

const char *lock_place_name(enum lock_place_kind kind)
{
	static const char *const names[] = {
		[PLACE_ADDRESS] = "address", [PLACE_MODULE] = "module", [PLACE_BLOCK] = "block",
		[PLACE_STACK] = "stack",     [PLACE_REGION] = "region", [PLACE_LIBATOMIC] = "libatomic",
		[PLACE_NO_ROOM] = "no-room", [PLACE_REST] = "rest",
	};
	return names[kind];
}

__attribute__((format(printf, 1, 2))) static char *text_of(const char *format, ...)
{
	char *text;
	va_list args;
	va_start(args, format);
	int length = vasprintf(&text, format, args);
	va_end(args);
	return length < 0 ? NULL : text;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

static char *module_name(const struct locks_view *view, const struct lock_place *place)
{
	size_t count;
	const char *path = trace_modules(locks_trace(view->locks), &count)[place->key].path;
	char *symbol, *name;
	uint64_t offset;
	if (!symbols_data(view->symbols, place->key, place->offset, &symbol, &offset))
		return text_of("%s+0x%" PRIx64, base_name(path), place->offset);
	if (offset)
		name = text_of("%s+0x%" PRIx64 " in %s", symbol, offset, base_name(path));
	else
		name = text_of("%s in %s", symbol, base_name(path));
	free(symbol);
	return name;
}

static char *block_name(const struct locks_view *view, const struct lock_place *place)
{
	char *site = site_name(view->symbols, locks_trace(view->locks), (uint32_t)place->key), *name;
	if (!site)
		return NULL;
	name = text_of("%s+0x%" PRIx64, site, place->offset);
	free(site);
	return name;
}

static char *stack_name(const struct locks_view *view, const struct lock_place *place)
{
	if (place->key == PLACE_NO_THREAD)
		return strdup("a thread's stack");
	char *thread = lock_thread_name(locks_trace(view->locks), (uint32_t)place->key);
	char *name = thread ? text_of("stack of %s", thread) : NULL;
	free(thread);
	return name;
}

static char *region_name(const struct locks_view *view, const struct lock_place *place)
{
	size_t count = 0;
	const struct region_owner *owners = view->regions ? regions_owners(view->regions, &count) : NULL;
	if (place->key >= count)
		return text_of("0x%" PRIx64, place->offset);
	return text_of("%s 0x%" PRIx64, owners[place->key].name, place->offset);
}

char *lock_row_name(const struct locks_view *view, const struct lock_row *row)
{
	switch (row->place.kind) {
	case PLACE_MODULE:
		return module_name(view, &row->place);
	case PLACE_BLOCK:
		return block_name(view, &row->place);
	case PLACE_STACK:
		return stack_name(view, &row->place);
	case PLACE_REGION:
		return region_name(view, &row->place);
	case PLACE_LIBATOMIC:
		return strdup("calls of libatomic");
	case PLACE_NO_ROOM:
		return strdup("locks for which the recorder had no room");
	case PLACE_REST:
		return text_of("locks behind the first %u", LOCK_ROWS_MAX);
	default:
		return text_of("0x%" PRIx64, row->place.offset);
	}
}

char *lock_thread_name(const struct trace *trace, uint32_t thread)
{
	const struct trace_thread *known = trace_thread(trace, thread);
	if (thread == PLACE_NO_THREAD)
		return strdup("other threads");
	if (known && known->name[0])
		return text_of("thread %" PRIu32 " (%.15s)", thread, known->name);
	return text_of("thread %" PRIu32, thread);
}

/* ---- order --------------------------------------------------------------------------------------------- */

/* What is sorted: what is held before the rest, then by the first number, then the second, then as they came.
 */
struct ranked {
	bool held;
	double first, second;
	size_t index;
};

static int most_first(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;
	if (a->held != b->held)
		return a->held ? -1 : 1;
	if (a->first != b->first)
		return a->first > b->first ? -1 : 1;
	if (a->second != b->second)
		return a->second > b->second ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

/* Takes over `ranked`. */
static size_t *order_of(struct ranked *ranked, size_t count)
{
	size_t *order = ranked ? malloc((count + 1) * sizeof *order) : NULL;
	if (order && count > 1)
		qsort(ranked, count, sizeof *ranked, most_first);
	for (size_t i = 0; order && i < count; i++)
		order[i] = ranked[i].index;
	free(ranked);
	return order;
}

size_t *lock_rows_order(const struct locks *locks, size_t *count)
{
	const struct lock_row *rows = locks_rows(locks, count);
	struct ranked *ranked = malloc((*count + 1) * sizeof *ranked);
	for (size_t i = 0; ranked && i < *count; i++)
		ranked[i] = (struct ranked){lock_kind_held(rows[i].kind), (double)rows[i].sums.wait,
					    (double)lock_operations(&rows[i].sums), i};
	return order_of(ranked, *count);
}

size_t *lock_sites_order(const struct locks *locks, size_t *count)
{
	const struct lock_site *sites = locks_sites(locks, count);
	struct ranked *ranked = malloc((*count + 1) * sizeof *ranked);
	for (size_t i = 0; ranked && i < *count; i++)
		ranked[i] = (struct ranked){lock_kind_held(sites[i].kind), sites[i].wait.value,
					    sites[i].acquired.value, i};
	return order_of(ranked, *count);
}

struct lock_sums lock_thread_sums(const struct lock_thread *thread)
{
	struct lock_sums sums = {0};
	for (unsigned kind = 0; kind < LOCK_KINDS; kind++) {
		const struct lock_sums *part = &thread->kinds[kind];
		sums.acquired += part->acquired;
		sums.released += part->released;
		sums.shared += part->shared;
		sums.contended += part->contended;
		sums.failed += part->failed;
		sums.wait += part->wait;
	}
	return sums;
}

size_t *lock_threads_order(const struct locks *locks, size_t *count)
{
	const struct lock_thread *threads = locks_threads(locks, count);
	struct ranked *ranked = malloc((*count + 1) * sizeof *ranked);
	for (size_t i = 0; ranked && i < *count; i++) {
		const struct lock_sums sums = lock_thread_sums(&threads[i]);
		ranked[i] = (struct ranked){false, (double)sums.wait, (double)lock_operations(&sums), i};
	}
	return order_of(ranked, *count);
}

/* ---- sites --------------------------------------------------------------------------------------------- */

char *lock_site_source(const struct locks_view *view, const struct lock_site *site)
{
	struct trace_stack stack;
	struct symbol_stack names;
	char *text = NULL;
	if (!trace_stack(locks_trace(view->locks), site->stack_id, &stack) ||
	    !symbols_stack(view->symbols, &stack, &names))
		return NULL;
	char *name = site_name(view->symbols, locks_trace(view->locks), site->stack_id);
	size_t at = 0; /* the frame that the name begins with */
	while (name && at < names.depth &&
	       strncmp(name, names.frames[at]->name, strlen(names.frames[at]->name)) != 0)
		at++;
	if (name && at < names.depth && names.frames[at]->source_file && names.frames[at]->line)
		text = text_of("%s:%u", base_name(names.frames[at]->source_file), names.frames[at]->line);
	free(name);
	symbol_stack_free(&names);
	return text;
}

struct lock_calls lock_site_operations(const struct lock_site *site)
{
	if (lock_kind_held(site->kind) || site->acquired.value > 0)
		return (struct lock_calls){true, site->acquired};
	/* Who waits for a condition variable or at a barrier is always told as one that had to wait. */
	return (struct lock_calls){site->kind != LOCK_SEM, site->contended};
}
