#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/coverage_output.h"
#include "analyzer/hugeblocks_output.h"

/* ---- sums and rows ------------------------------------------------------------------------------------ */

/* What sums by mapping cannot tell; and whose counter is not there. */
static bool cause_known(const struct coverage_view *view, enum huge_cause cause, bool looked)
{
	switch (cause) {
	case CAUSE_EDGE:
	case CAUSE_BROKEN:
	case CAUSE_WAITING:
	case CAUSE_NOT_FAULTED:
		return looked;
	case CAUSE_FALLBACK:
		return looked &&
		       thpstate_find(coverage_settings(view->coverage), "vmstat.thp_fault_fallback");
	default:
		return true;
	}
}

static json_t *causes_json(const struct coverage_view *view, const struct coverage_sums *sums, bool looked)
{
	json_t *object = json_object();
	for (unsigned i = 0; i < CAUSE_COUNT; i++)
		json_put(object, huge_cause_id((enum huge_cause)i),
			 cause_known(view, (enum huge_cause)i, looked) ? json_count(sums->causes[i]) : NULL);
	return object;
}

static void put_sums(json_t *object, const struct coverage_view *view, const struct coverage_sums *sums,
		     bool looked)
{
	json_put_count(object, "resident_bytes", sums->resident_bytes);
	json_put_count(object, "huge_bytes", sums->huge_bytes);
	json_put_count(object, "eligible_bytes", sums->eligible_bytes);
	json_put(object, "huge_eligible_bytes", looked ? json_count(sums->huge_eligible_bytes) : NULL);
	json_put_count(object, "eligible_predicted_bytes", sums->eligible_predicted_bytes);
	json_put(object, "eligible_reserved_bytes",
		 looked ? json_count(sums->eligible_reserved_bytes) : NULL);
	json_put(object, "eligible_swapped_bytes", looked ? json_count(sums->eligible_swapped_bytes) : NULL);
	json_put_count(object, "swapped_bytes", sums->swapped_bytes);
	json_put(object, "zero_bytes", looked ? json_count(sums->zero_bytes) : NULL);
	json_put_count(object, "hugetlb_bytes", sums->hugetlb_bytes);
	json_put(object, "causes", causes_json(view, sums, looked));
}

static void put_level(json_t *object, const struct coverage_level *level, bool looked)
{
	json_put_count(object, "resident_bytes", level->resident_bytes);
	json_put_count(object, "huge_bytes", level->huge_bytes);
	json_put_count(object, "eligible_bytes", level->eligible_bytes);
	json_put(object, "eligible_reserved_bytes",
		 looked ? json_count(level->eligible_reserved_bytes) : NULL);
}

static json_t *row_owners(const struct coverage_view *view, const struct coverage_row *row)
{
	size_t count;
	const struct region_owner *owners = regions_owners(view->regions, &count);
	const struct coverage_level *levels = coverage_levels(view->coverage) + row->owners_at;
	json_t *array = json_array();
	for (size_t i = 0; i < row->owners_count; i++) {
		json_t *object = json_object();
		json_put_string(object, "owner", owners[levels[i].index].name);
		put_level(object, &levels[i], row->looked);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *row_sites(const struct coverage_view *view, const struct coverage_row *row)
{
	const struct coverage_level *levels = coverage_levels(view->coverage) + row->sites_at;
	json_t *array = json_array();
	for (size_t i = 0; i < row->sites_count; i++) {
		json_t *object = json_object();
		json_put_count(object, "site", levels[i].index);
		put_level(object, &levels[i], row->looked);
		json_array_append_new(array, object);
	}
	return array;
}

/* Only kpageflags sees folios. */
static void put_folios(json_t *object, const struct coverage_view *view, const struct coverage_row *row)
{
	bool known = pages_source(view->pages) == PAGES_FROM_KPAGEFLAGS;
	json_put(object, "folio_mapped_by_page_bytes",
		 known ? json_count(row->unplaced.folio_mapped_by_page_bytes) : NULL);
	json_put(object, "huge_unplaced_bytes", known ? json_count(row->unplaced.huge_bytes) : NULL);
}

static json_t *row_json(const struct coverage_view *view, const struct coverage_row *row)
{
	json_t *object = json_object();
	json_put_real(object, "t_s", trace_seconds(view->trace, row->time));
	json_put_real(object, "age_s", row->age_s);
	json_put_bool(object, "looked", row->looked);
	json_put(object, "rss_bytes", row->rss_bytes == SNAPSHOT_UNKNOWN ? NULL : json_count(row->rss_bytes));
	put_sums(object, view, &row->sums, row->looked);
	put_folios(object, view, row);
	json_put(object, "owners", row_owners(view, row));
	json_put(object, "sites", row_sites(view, row));
	return object;
}

static json_t *rows_json(const struct coverage_view *view)
{
	size_t count;
	const struct coverage_row *rows = coverage_rows(view->coverage, &count);
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, row_json(view, &rows[i]));
	return array;
}

/* ---- the last moment ---------------------------------------------------------------------------------- */

static bool last_looked(const struct coverage_view *view)
{
	size_t count;
	const struct coverage_row *rows = coverage_rows(view->coverage, &count);
	return count && rows[count - 1].looked;
}

static json_t *regions_json(const struct coverage_view *view)
{
	size_t count, owner_count;
	const struct coverage_region *regions = coverage_regions(view->coverage, &count);
	const struct region_owner *owners = regions_owners(view->regions, &owner_count);
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++) {
		json_t *object = json_object();
		json_put_count(object, "start", regions[i].start);
		json_put_count(object, "end", regions[i].end);
		json_put_string(object, "owner", owners[regions[i].owner].name);
		json_put_bool(object, "eligible", regions[i].eligible);
		json_put_bool(object, "predicted", regions[i].predicted);
		put_sums(object, view, &regions[i].sums, last_looked(view));
		json_array_append_new(array, object);
	}
	return array;
}

static void put_part(json_t *object, const struct coverage_view *view, const struct coverage_part *part)
{
	put_sums(object, view, &part->sums, last_looked(view));
	json_put_count(object, "resident_bytes_peak", part->resident_bytes_peak);
	json_put_count(object, "huge_bytes_peak", part->huge_bytes_peak);
}

static json_t *owners_json(const struct coverage_view *view)
{
	size_t count, owner_count;
	const struct coverage_part *parts = coverage_owners(view->coverage, &count);
	const struct region_owner *owners = regions_owners(view->regions, &owner_count);
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++) {
		if (!parts[i].resident_bytes_peak && !parts[i].sums.eligible_bytes)
			continue;
		json_t *object = json_object();
		json_put_string(object, "owner", owners[i].name);
		put_part(object, view, &parts[i]);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *stack_json(const struct coverage_view *view, uint32_t stack_id)
{
	struct symbol_stack names;
	json_t *array = json_array();
	coverage_stack(view, stack_id, &names);
	for (size_t i = 0; i < names.depth; i++)
		json_array_append_new(array, json_safe_string(names.frames[i]->name));
	symbol_stack_free(&names);
	return array;
}

/* All of them, so that snapshots[].sites[] can name them by their place. */
static json_t *sites_json_array(const struct coverage_view *view)
{
	size_t count;
	const struct coverage_part *parts = coverage_sites(view->coverage, &count);
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++) {
		json_t *object = json_object();
		json_put(object, "stack", stack_json(view, parts[i].stack_id));
		json_put(object, "stack_id", parts[i].stack_id ? json_count(parts[i].stack_id) : NULL);
		put_part(object, view, &parts[i]);
		json_array_append_new(array, object);
	}
	return array;
}

/* ---- breakers and ways -------------------------------------------------------------------------------- */

static void put_statistics(json_t *object, gsl_rstat_workspace *seconds, const char *prefix)
{
	char name[48];
	bool any = gsl_rstat_n(seconds) > 0;
	snprintf(name, sizeof name, "%smedian_s", prefix);
	json_put_real(object, name, any ? gsl_rstat_median(seconds) : NAN);
	snprintf(name, sizeof name, "%smax_s", prefix);
	json_put_real(object, name, any ? gsl_rstat_max(seconds) : NAN);
}

static json_t *breaker_json(const struct coverage_view *view, const struct breaker *breaker)
{
	char call[CALL_NAME_BYTES];
	bool is_call = breaker->kind != EVENT_NONE;
	json_t *object = json_object();
	json_put(object, "stack", stack_json(view, breaker->stack_id));
	json_put(object, "stack_id", breaker->stack_id ? json_count(breaker->stack_id) : NULL);
	json_put_string(object, "call", is_call ? coverage_call_name(breaker, call) : NULL);
	json_put(object, "calls", is_call ? json_count(breaker->calls) : NULL);
	json_put_count(object, "huge_pages_lost", breaker->huge_pages_lost);
	json_put_count(object, "huge_bytes_lost", breaker->huge_pages_lost * pages_huge_bytes(view->pages));
	json_put_count(object, "came_back", breaker->came_back);
	json_put_count(object, "never_came_back", breaker->huge_pages_lost - breaker->came_back);
	put_statistics(object, breaker->back_s, "came_back_");
	return object;
}

static json_t *breakers_json(const struct coverage_view *view)
{
	const struct hugeplaces *places = coverage_places(view->coverage);
	size_t count, all;
	if (!places)
		return NULL;
	const struct breaker *breakers = hugeplaces_breakers(places, &all);
	size_t *order = coverage_breakers_sorted(places, &count);
	json_t *array = json_array();
	for (size_t i = 0; order && i < count; i++)
		json_array_append_new(array, breaker_json(view, &breakers[order[i]]));
	free(order);
	return array;
}

static json_t *ways_json(const struct coverage_view *view)
{
	static const char *const names[PATH_COUNT] = {"fault", "khugepaged", "collapse"};
	const struct hugeplaces *places = coverage_places(view->coverage);
	if (!places || pages_source(view->pages) != PAGES_FROM_SCAN)
		return NULL;
	const struct coverage_way *ways = hugeplaces_ways(places);
	json_t *object = json_object();
	for (unsigned i = 0; i < PATH_COUNT; i++) {
		json_t *way = json_object();
		json_put_count(way, "huge_pages", ways[i].huge_pages);
		json_put_count(way, "huge_bytes", ways[i].huge_pages * pages_huge_bytes(view->pages));
		put_statistics(way, ways[i].delay_s, "");
		json_put(object, names[i], way);
	}
	return object;
}

/* ---- settings and counters ---------------------------------------------------------------------------- */

static json_t *settings_json(const struct coverage_view *view)
{
	size_t count;
	const struct thp_value *values = thpstate_values(coverage_settings(view->coverage), &count);
	json_t *object = json_object();
	for (size_t i = 0; i < count; i++)
		if (!values[i].counter)
			json_put_string(object, values[i].name, values[i].first);
	return object;
}

static json_t *changes_json(const struct coverage_view *view)
{
	const struct thpstate *settings = coverage_settings(view->coverage);
	size_t count, value_count;
	const struct thp_change *changes = thpstate_changes(settings, &count);
	const struct thp_value *values = thpstate_values(settings, &value_count);
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++) {
		json_t *object = json_object();
		json_put_real(object, "t_s", trace_seconds(view->trace, changes[i].time));
		json_put_string(object, "name", values[changes[i].value].name);
		json_put_string(object, "before", changes[i].before);
		json_put_string(object, "after", changes[i].after);
		json_array_append_new(array, object);
	}
	return array;
}

/* Of the whole machine, while the trace was written. */
static json_t *host_json(const struct coverage_view *view)
{
	const struct thpstate *settings = coverage_settings(view->coverage);
	size_t count;
	uint64_t rise;
	const struct thp_value *values = thpstate_values(settings, &count);
	json_t *object = json_object();
	for (size_t i = 0; i < count; i++)
		if (values[i].counter)
			json_put(object, values[i].name,
				 thpstate_rise(settings, values[i].name, &rise) ? json_count(rise) : NULL);
	return object;
}

static json_t *process_json(const struct coverage_view *view)
{
	const struct coverage_faults faults = coverage_faults(view->coverage);
	json_t *object = json_object();
	json_put(object, "minor_faults", faults.minor == SNAPSHOT_UNKNOWN ? NULL : json_count(faults.minor));
	json_put(object, "major_faults", faults.major == SNAPSHOT_UNKNOWN ? NULL : json_count(faults.major));
	return object;
}

static json_t *check_json(const struct coverage_view *view)
{
	const struct coverage_check check = coverage_check(view->coverage);
	if (!check.readings)
		return NULL;
	json_t *object = json_object();
	json_put_count(object, "readings", check.readings);
	json_put_count(object, "mappings", check.mappings);
	json_put_count(object, "mappings_differing", check.mappings_differing);
	json_put_count(object, "last_looks_huge_bytes", check.last_looks_bytes);
	json_put_count(object, "last_smaps_huge_bytes", check.last_smaps_bytes);
	return object;
}

/* ---- all of it ---------------------------------------------------------------------------------------- */

static json_t *peak_json(const struct coverage_view *view)
{
	const struct coverage_row *row = coverage_peak_row(view->coverage);
	return row ? row_json(view, row) : NULL;
}

json_t *coverage_json(const struct coverage_view *view)
{
	size_t count;
	const struct coverage_row *rows = coverage_rows(view->coverage, &count);
	uint64_t huge_bytes = pages_huge_bytes(view->pages);
	json_t *object = json_object();
	json_put_string(object, "trace", trace_info(view->trace)->path);
	json_put_string(object, "source", coverage_source(view));
	json_put_count(object, "page_bytes", pages_page_bytes(view->pages));
	json_put(object, "huge_page_bytes", huge_bytes ? json_count(huge_bytes) : NULL);
	json_put(object, "snapshots", rows_json(view));
	json_put(object, "causes",
		 count ? causes_json(view, &rows[count - 1].sums, rows[count - 1].looked) : NULL);
	json_put(object, "peak", peak_json(view));
	json_put(object, "regions", regions_json(view));
	json_put(object, "owners", owners_json(view));
	json_put(object, "mapping_sites", sites_json_array(view));
	json_put(object, "breakers", breakers_json(view));
	json_put(object, "paths", ways_json(view));
	hugeblocks_put_json(object, view->trace, view->blocks);
	json_put(object, "process", process_json(view));
	json_put(object, "host", host_json(view));
	json_put(object, "settings", settings_json(view));
	json_put(object, "setting_changes", changes_json(view));
	json_put(object, "check", check_json(view));
	return object;
}
