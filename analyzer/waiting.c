#include "analyzer/waiting.h"

#include <string.h>

#include "analyzer/array.h"

#define PENDING_MAX 4096u

/* ---- frees in the wrong order -----------------------------------------------------------------------------
 */

static void pending_remove(struct pending_list *list, size_t at)
{
	list->count--;
	memmove(&list->items[at], &list->items[at + 1], (list->count - at) * sizeof *list->items);
}

static void settle_first(struct pending_list *list)
{
	if (list->items[0].owed)
		list->lost++;
	else
		list->unknown++;
	pending_remove(list, 0);
}

void pending_settle(struct pending_list *list, uint64_t time)
{
	while (list->count && (list->items[0].deadline < time || time == UINT64_MAX))
		settle_first(list);
}

bool pending_add(struct pending_list *list, const struct pending *pending)
{
	if (list->count == PENDING_MAX)
		settle_first(list);
	if (!array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
		return false;
	size_t at = list->count++;
	for (; at && list->items[at - 1].deadline > pending->deadline; at--)
		list->items[at] = list->items[at - 1];
	list->items[at] = *pending;
	return true;
}

bool pending_take(struct pending_list *list, uint64_t address, bool owed, uint32_t thread,
		  struct pending *taken)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct pending *pending = &list->items[i];
		if (pending->address != address || pending->owed != owed ||
		    thread == (owed ? pending->owner : pending->thread))
			continue;
		*taken = *pending;
		pending_remove(list, i);
		return true;
	}
	return false;
}

/* ---- reallocs that have not ended ---------------------------------------------------------------------- */

bool deferred_push(struct deferred_heap *heap, const struct deferred *deferred)
{
	if (!array_reserve(&heap->items, &heap->capacity, heap->count + 1, sizeof *heap->items))
		return false;
	size_t at = heap->count++;
	for (; at && heap->items[(at - 1) / 2].end_time > deferred->end_time; at = (at - 1) / 2)
		heap->items[at] = heap->items[(at - 1) / 2];
	heap->items[at] = *deferred;
	return true;
}

struct deferred deferred_pop(struct deferred_heap *heap)
{
	struct deferred *items = heap->items;
	struct deferred first = items[0], moving = items[--heap->count];
	size_t at = 0;
	for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
		if (child + 1 < heap->count && items[child + 1].end_time < items[child].end_time)
			child++;
		if (items[child].end_time >= moving.end_time)
			break;
		items[at] = items[child];
	}
	items[at] = moving;
	return first;
}
