#include <math.h>

#include "analyzer/allocstats.h"
#include "analyzer/hugeblocks_output.h"
#include "analyzer/reader.h"
#include "analyzer/sites.h"

static uint64_t whole(double bytes)
{
	return (uint64_t)llround(fmax(bytes, 0));
}

void json_put_interval(json_t *object, const char *name, const struct interval *interval, bool exact)
{
	char bound[64];
	json_put_count(object, name, whole(interval->value));
	if (exact)
		return;
	snprintf(bound, sizeof bound, "%s_low", name);
	json_put_count(object, bound, whole(interval->low));
	snprintf(bound, sizeof bound, "%s_high", name);
	json_put_count(object, bound, whole(interval->high));
}

/* Live bytes are no more than what is resident, whatever the samples say. */
static void put_live(json_t *object, const char *name, const struct estimate *live, uint64_t resident_bytes,
		     bool exact)
{
	const struct interval bytes = estimate_within(live, (double)resident_bytes);
	json_put_interval(object, name, &bytes, exact);
}

static json_t *owner_json(const struct hugeblocks_look *look, enum owner_kind kind, bool exact)
{
	const struct hugeblocks_owner sums = hugeblocks_owner(look, kind);
	json_t *object = json_object();
	json_put_string(object, "owner", owner_kind_name(kind));
	json_put_count(object, "resident_bytes", sums.resident_bytes);
	json_put_count(object, "huge_bytes", sums.huge_bytes);
	put_live(object, "live_bytes", &sums.live_bytes, sums.resident_bytes, exact);
	put_live(object, "live_huge_bytes", &sums.live_huge_bytes, sums.huge_bytes, exact);
	json_put_interval(object, "unused_bytes", &sums.unused_bytes, exact);
	json_put_interval(object, "bloat_bytes", &sums.bloat_bytes, exact);
	if (sums.rounding_known)
		json_put_estimate(object, "rounding_bytes", &sums.rounding_bytes, exact);
	else
		json_put_null(object, "rounding_bytes");
	return object;
}

static json_t *owners_json(const struct hugeblocks_look *look, bool exact)
{
	json_t *array = json_array();
	for (unsigned kind = 0; kind < OWNER_KINDS; kind++)
		if (hugeblocks_owner(look, (enum owner_kind)kind).resident_bytes)
			json_array_append_new(array, owner_json(look, (enum owner_kind)kind, exact));
	return array;
}

static json_t *class_json(const struct hugeblocks_look *look, unsigned hole_class, bool exact)
{
	const uint64_t *holes = look->sweep.hole_bytes[hole_class];
	json_t *object = json_object();
	bool bounded = hole_class < SIZE_CLASSES - 1;
	json_put(object, "up_to_bytes", bounded ? json_count(size_class_upper_bytes(hole_class)) : NULL);
	json_put_bool(object, "free_pages", hole_class == HOLE_FREE_PAGE);
	if (hole_class < SIZE_CLASSES) {
		struct estimate live = look->sweep.live_bytes[hole_class][BACKING_SMALL];
		estimate_add(&live, &look->sweep.live_bytes[hole_class][BACKING_HUGE]);
		json_put_estimate(object, "live_bytes", &live, exact);
		json_put_estimate(object, "live_huge_bytes",
				  &look->sweep.live_bytes[hole_class][BACKING_HUGE], exact);
	} else {
		json_put_count(object, "live_bytes", 0);
		json_put_count(object, "live_huge_bytes", 0);
	}
	json_put(object, "unused_bytes", exact ? json_count(holes[0] + holes[1]) : NULL);
	json_put(object, "bloat_bytes", exact ? json_count(holes[BACKING_HUGE]) : NULL);
	return object;
}

static bool class_empty(const struct hugeblocks_look *look, unsigned hole_class)
{
	const uint64_t *holes = look->sweep.hole_bytes[hole_class];
	if (holes[BACKING_SMALL] || holes[BACKING_HUGE])
		return false;
	return hole_class == HOLE_FREE_PAGE ||
	       (!(look->sweep.live_bytes[hole_class][BACKING_SMALL].value > 0) &&
		!(look->sweep.live_bytes[hole_class][BACKING_HUGE].value > 0));
}

static json_t *classes_json(const struct hugeblocks_look *look, bool exact)
{
	json_t *array = json_array();
	for (unsigned i = 0; i < HOLE_CLASSES; i++)
		if (!class_empty(look, i))
			json_array_append_new(array, class_json(look, i, exact));
	return array;
}

static json_t *moments_json(const struct trace *trace, const struct hugeblocks *blocks)
{
	size_t count;
	const struct hugeblocks_moment *moments = hugeblocks_moments(blocks, &count);
	bool exact = hugeblocks_exact(blocks);
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++) {
		const struct hugeblocks_sums *sums = &moments[i].sums;
		json_t *object = json_object();
		json_put_real(object, "t_s", trace_seconds(trace, moments[i].time));
		json_put_count(object, "resident_bytes", sums->resident_bytes);
		json_put_count(object, "huge_bytes", sums->huge_bytes);
		put_live(object, "live_bytes", &sums->live_bytes, sums->resident_bytes, exact);
		put_live(object, "live_huge_bytes", &sums->live_huge_bytes, sums->huge_bytes, exact);
		json_put_interval(object, "unused_bytes", &sums->unused_bytes, exact);
		json_put_interval(object, "bloat_bytes", &sums->bloat_bytes, exact);
		json_array_append_new(array, object);
	}
	return array;
}

/* By owner and by class over time; the looks between two of these are in moments[] alone. */
static json_t *kept_json(const struct trace *trace, const struct hugeblocks *blocks)
{
	size_t count;
	const struct hugeblocks_look *looks = hugeblocks_kept(blocks, &count);
	bool exact = hugeblocks_exact(blocks);
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++) {
		json_t *object = json_object();
		json_put_real(object, "t_s", trace_seconds(trace, looks[i].time));
		json_put(object, "owners", owners_json(&looks[i], exact));
		json_put(object, "size_classes", classes_json(&looks[i], exact));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *free_lists_json(const struct trace *trace)
{
	const struct allocstats *stats = trace_allocator(trace);
	if (stats->kind == 0)
		return NULL;
	json_t *object = json_object();
	json_put_real(object, "at_s", trace_seconds(trace, stats->mark.time));
	for (size_t i = 0; i < ALLOCATOR_LISTS; i++) {
		uint64_t bytes = allocstats_first(stats, allocator_lists[i].names);
		json_put(object, allocator_lists[i].key,
			 bytes == ALLOCSTATS_UNKNOWN ? NULL : json_count(bytes));
	}
	return object;
}

static json_t *allocator_json(const struct trace *trace, const struct hugeblocks *blocks)
{
	const struct hugeblocks_look *look = hugeblocks_usual(blocks);
	const struct hugeblocks_sums sums = hugeblocks_sums(look);
	bool exact = hugeblocks_exact(blocks);
	json_t *object = json_object();
	json_put_real(object, "at_s", trace_seconds(trace, look->time));
	json_put_bool(object, "estimated", !exact);
	json_put_count(object, "resident_bytes", sums.resident_bytes);
	json_put_count(object, "huge_bytes", sums.huge_bytes);
	put_live(object, "live_bytes", &sums.live_bytes, sums.resident_bytes, exact);
	put_live(object, "live_huge_bytes", &sums.live_huge_bytes, sums.huge_bytes, exact);
	json_put_estimate(object, "live_elsewhere_bytes", &look->live_elsewhere_bytes, exact);
	json_put(object, "owners", owners_json(look, exact));
	json_put(object, "size_classes", classes_json(look, exact));
	json_put(object, "free_lists", free_lists_json(trace));
	json_put(object, "moments", moments_json(trace, blocks));
	json_put(object, "looks", kept_json(trace, blocks));
	return object;
}

void hugeblocks_put_json(json_t *object, const struct trace *trace, const struct hugeblocks *blocks)
{
	if (!blocks || !hugeblocks_known(blocks) || !hugeblocks_complete(blocks)) {
		json_put_null(object, "bloat_bytes");
		json_put_null(object, "unused_bytes");
		json_put_null(object, "allocator");
		return;
	}
	const struct hugeblocks_sums sums = hugeblocks_sums(hugeblocks_usual(blocks));
	bool exact = hugeblocks_exact(blocks);
	json_put_interval(object, "bloat_bytes", &sums.bloat_bytes, exact);
	json_put_interval(object, "unused_bytes", &sums.unused_bytes, exact);
	json_put(object, "allocator", allocator_json(trace, blocks));
}
