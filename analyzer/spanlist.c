#include "analyzer/spanlist.h"

#include <stdlib.h>

#define COUNT_FIRST 8u

void spanlist_start(struct spanlist *list, uint32_t objects)
{
	*list = (struct spanlist){.objects = objects,
				  .first = SPANLIST_NONE,
				  .unused = SPANLIST_NONE,
				  .random = 88172645463325252u};
}

void spanlist_free(struct spanlist *list)
{
	free(list->spans);
	for (unsigned i = 0; i < SPANLIST_BUCKETS; i++)
		free(list->buckets[i].spans);
	*list = (struct spanlist){0};
}

/* Makes room for one more; doubles. */
static bool reserve(void *array, uint32_t *capacity, uint32_t count, size_t item_bytes)
{
	if (count < *capacity)
		return true;
	uint32_t wanted = *capacity ? 2 * *capacity : COUNT_FIRST;
	void *grown = realloc(*(void **)array, wanted * item_bytes);
	if (!grown)
		return false;
	*(void **)array = grown;
	*capacity = wanted;
	return true;
}

/* ---- those with free objects --------------------------------------------------------------------------- */

static void link_first(struct spanlist *list, uint32_t span)
{
	list->spans[span].next = list->first;
	list->spans[span].previous = SPANLIST_NONE;
	if (list->first != SPANLIST_NONE)
		list->spans[list->first].previous = span;
	list->first = span;
}

static void unlink_span(struct spanlist *list, uint32_t span)
{
	const struct span_state *state = &list->spans[span];
	if (state->next != SPANLIST_NONE)
		list->spans[state->next].previous = state->previous;
	if (state->previous != SPANLIST_NONE)
		list->spans[state->previous].next = state->next;
	else
		list->first = state->next;
}

/* ---- by objects out ------------------------------------------------------------------------------------ */

static unsigned bucket_of(uint32_t out)
{
	return out ? 32 - (unsigned)__builtin_clz(out) : 0;
}

static void leave_bucket(struct spanlist *list, struct span_bucket *bucket, uint32_t span)
{
	uint32_t last = bucket->spans[--bucket->count], place = list->spans[span].place;
	bucket->spans[place] = last;
	list->spans[last].place = place;
}

static bool enter_bucket(struct spanlist *list, struct span_bucket *bucket, uint32_t span)
{
	if (!reserve(&bucket->spans, &bucket->capacity, bucket->count, sizeof *bucket->spans))
		return false;
	list->spans[span].place = bucket->count;
	bucket->spans[bucket->count++] = span;
	return true;
}

/* Bucket 0 holds no spans: none of their objects are out. */
static bool set_out(struct spanlist *list, uint32_t span, uint32_t out)
{
	const uint32_t before = list->spans[span].out;
	struct span_bucket *from = &list->buckets[bucket_of(before)], *to = &list->buckets[bucket_of(out)];
	if (from != to && before)
		leave_bucket(list, from, span);
	if (from != to && out && !enter_bucket(list, to, span))
		return false;
	from->out -= before;
	to->out += out;
	list->out += out;
	list->out -= before;
	list->spans[span].out = out;
	return true;
}

/* ---- taking and giving --------------------------------------------------------------------------------- */

static bool add_span(struct spanlist *list)
{
	uint32_t span = list->unused;
	if (span != SPANLIST_NONE) {
		list->unused = list->spans[span].next;
	} else {
		if (!reserve(&list->spans, &list->capacity, list->used, sizeof *list->spans))
			return false;
		span = list->used++;
	}
	list->spans[span] = (struct span_state){0};
	link_first(list, span);
	return true;
}

uint32_t spanlist_take(struct spanlist *list, uint32_t objects)
{
	uint32_t got = 0;
	if (list->first == SPANLIST_NONE && !add_span(list))
		return 0;
	while (got < objects && list->first != SPANLIST_NONE) {
		const uint32_t span = list->first, out = list->spans[span].out;
		uint32_t here = list->objects - out;
		here = here < objects - got ? here : objects - got;
		if (!set_out(list, span, out + here))
			return 0;
		got += here;
		if (out + here == list->objects)
			unlink_span(list, span);
	}
	return got;
}

/* Marsaglia, "Xorshift RNGs", 2003; the high bits scaled to a range. */
static uint64_t draw(struct spanlist *list, uint64_t range)
{
	list->random ^= list->random << 13;
	list->random ^= list->random >> 7;
	list->random ^= list->random << 17;
	return (uint64_t)((unsigned __int128)list->random * range >> 64);
}

/* A bucket by its objects, and in it a span by rejection: more than half of its most are out in each. */
static uint32_t some_span(struct spanlist *list)
{
	uint64_t at = draw(list, list->out);
	unsigned bucket = 1;
	for (; at >= list->buckets[bucket].out; bucket++)
		at -= list->buckets[bucket].out;
	const struct span_bucket *found = &list->buckets[bucket];
	for (;;) {
		uint32_t span = found->spans[draw(list, found->count)];
		if (draw(list, UINT64_C(1) << bucket) < list->spans[span].out)
			return span;
	}
}

bool spanlist_give(struct spanlist *list, uint32_t objects)
{
	for (; objects && list->out; objects--) {
		const uint32_t span = some_span(list), out = list->spans[span].out;
		if (out == list->objects)
			link_first(list, span);
		if (!set_out(list, span, out - 1))
			return false;
		if (out > 1)
			continue;
		unlink_span(list, span); /* to the page heap */
		list->spans[span].next = list->unused;
		list->unused = span;
	}
	return true;
}

uint64_t spanlist_memory_bytes(const struct spanlist *list)
{
	uint64_t bytes = (uint64_t)list->capacity * sizeof *list->spans;
	for (unsigned i = 0; i < SPANLIST_BUCKETS; i++)
		bytes += (uint64_t)list->buckets[i].capacity * sizeof *list->buckets[i].spans;
	return bytes;
}
