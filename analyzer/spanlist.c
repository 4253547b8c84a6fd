#include "analyzer/spanlist.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_FIRST 8u
#define AHEAD	    8u /* draws made before the first of them is used */
#define TOGETHER    8u /* of a span's objects, so large a part comes back with one draw */

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

static void *duplicate(const void *array, uint32_t count, size_t item_bytes)
{
	void *copy = malloc(count * item_bytes + 1);
	if (copy && count)
		memcpy(copy, array, count * item_bytes);
	return copy;
}

bool spanlist_copy(struct spanlist *copy, const struct spanlist *list)
{
	*copy = *list;
	copy->spans = duplicate(list->spans, list->capacity, sizeof *list->spans);
	bool good = copy->spans != NULL;
	for (unsigned i = 0; i < SPANLIST_BUCKETS; i++) {
		struct span_bucket *bucket = &copy->buckets[i];
		bucket->spans = duplicate(list->buckets[i].spans, bucket->capacity, sizeof *bucket->spans);
		good = good && bucket->spans;
	}
	if (!good) {
		spanlist_free(copy);
		spanlist_start(copy, list->objects);
	}
	return good;
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
__attribute__((noinline)) static bool change_bucket(struct spanlist *list, uint32_t span, uint32_t out)
{
	const uint32_t before = list->spans[span].out;
	struct span_bucket *from = &list->buckets[bucket_of(before)], *to = &list->buckets[bucket_of(out)];
	if (before)
		leave_bucket(list, from, span);
	if (out && !enter_bucket(list, to, span))
		return false;
	from->out -= before;
	to->out += out;
	return true;
}

static inline bool set_out(struct spanlist *list, uint32_t span, uint32_t out)
{
	const uint32_t before = list->spans[span].out;
	const unsigned bucket = bucket_of(before);
	if (bucket == bucket_of(out))
		list->buckets[bucket].out += (uint64_t)out - before;
	else if (!change_bucket(list, span, out))
		return false;
	list->out += (uint64_t)out - before;
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
	if (list->objects == 1) /* cut up for the one, and gone with it */
		return 1;
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

/* Marsaglia, "Xorshift RNGs", 2003. */
static inline uint64_t draw(struct spanlist *list)
{
	list->random ^= list->random << 13;
	list->random ^= list->random >> 7;
	list->random ^= list->random << 17;
	return list->random;
}

/* 32 random bits, scaled to a range. */
static inline uint32_t scaled(uint64_t bits, uint64_t range)
{
	return (uint32_t)((bits & UINT32_MAX) * range >> 32);
}

/* A span that may be the one, and the bits that decide. */
struct candidate {
	uint64_t bits;
	uint32_t span, bucket;
};

static inline void draw_span(struct spanlist *list, struct candidate *candidate)
{
	const struct span_bucket *bucket = &list->buckets[candidate->bucket];
	candidate->bits = draw(list);
	candidate->span = bucket->spans[scaled(candidate->bits >> 32, bucket->count)];
}

/* A bucket by its objects, the fullest first, and a span in it. */
static inline struct candidate draw_candidate(struct spanlist *list)
{
	struct candidate candidate = {.bucket = bucket_of(list->objects)};
	uint64_t at = scaled(draw(list), list->out);
	for (; at >= list->buckets[candidate.bucket].out; candidate.bucket--)
		at -= list->buckets[candidate.bucket].out;
	draw_span(list, &candidate);
	return candidate;
}

/* By rejection: of more than half of what its bucket's spans could have out all are. The span may have left
 * the bucket since it was drawn. */
static inline bool is_accepted(const struct spanlist *list, const struct candidate *candidate)
{
	const uint32_t out = list->spans[candidate->span].out;
	return bucket_of(out) == candidate->bucket &&
	       (scaled(candidate->bits, UINT64_C(1) << candidate->bucket) < out ||
		list->buckets[candidate->bucket].count == 1);
}

static inline uint32_t decide(struct spanlist *list, struct candidate candidate)
{
	while (!is_accepted(list, &candidate)) {
		if (list->buckets[candidate.bucket].count)
			draw_span(list, &candidate);
		else
			candidate = draw_candidate(list);
	}
	return candidate.span;
}

/* Back into that span; false when out of memory. */
static inline bool give_to(struct spanlist *list, uint32_t span, uint32_t objects)
{
	const uint32_t out = list->spans[span].out;
	if (out == list->objects)
		link_first(list, span);
	if (!set_out(list, span, out - objects))
		return false;
	if (out > objects)
		return true;
	unlink_span(list, span); /* to the page heap */
	list->spans[span].next = list->unused;
	list->unused = span;
	return true;
}

/* Spans lie far apart in memory: some are drawn ahead, so that the waits for them overlap. */
bool spanlist_give(struct spanlist *list, uint32_t objects)
{
	const uint32_t together = list->objects / TOGETHER + 1;
	struct candidate ahead[AHEAD];
	while (objects && list->out && list->objects > 1) {
		uint32_t draws = (objects + together - 1) / together;
		draws = draws < AHEAD ? draws : AHEAD;
		for (uint32_t i = 0; i < draws; i++) {
			ahead[i] = draw_candidate(list);
			__builtin_prefetch(&list->spans[ahead[i].span], 1);
		}
		for (uint32_t i = 0; i < draws && objects && list->out; i++) {
			const uint32_t span = decide(list, ahead[i]), out = list->spans[span].out;
			uint32_t here = out < together ? out : together;
			here = here < objects ? here : objects;
			if (!give_to(list, span, here))
				return false;
			objects -= here;
		}
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
