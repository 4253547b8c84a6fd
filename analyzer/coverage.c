#include "analyzer/coverage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "analyzer/array.h"
#include "analyzer/coverage_internal.h"

static bool out_of_memory(struct error *error)
{
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}

/* ---- rows --------------------------------------------------------------------------------------------- */

static bool add_level(struct coverage *coverage, uint32_t index, const struct coverage_sums *sums)
{
	if (!array_reserve(&coverage->levels, &coverage->level_capacity, coverage->level_count + 1,
			   sizeof *coverage->levels))
		return false;
	coverage->levels[coverage->level_count++] =
		(struct coverage_level){index, sums->resident_bytes, sums->huge_bytes, sums->eligible_bytes,
					sums->eligible_reserved_bytes};
	return true;
}

static bool add_owners(struct coverage *coverage, struct coverage_row *row)
{
	row->owners_at = coverage->level_count;
	for (size_t i = 0; i < coverage->owners.count; i++) {
		const struct coverage_sums *sums = &coverage->owners.items[i].sums;
		if ((sums->resident_bytes || sums->eligible_bytes) && !add_level(coverage, (uint32_t)i, sums))
			return false;
	}
	row->owners_count = coverage->level_count - row->owners_at;
	return true;
}

/* Insertion into the few that are kept. */
static size_t largest_sites(const struct part_list *sites, uint32_t out[COVERAGE_ROW_SITES])
{
	size_t count = 0;
	for (size_t i = 0; i < sites->count; i++) {
		uint64_t bytes = sites->items[i].sums.resident_bytes;
		size_t at = count;
		while (at > 0 && sites->items[out[at - 1]].sums.resident_bytes < bytes)
			at--;
		if (!bytes || at == COVERAGE_ROW_SITES)
			continue;
		count += count < COVERAGE_ROW_SITES;
		memmove(&out[at + 1], &out[at], (count - 1 - at) * sizeof *out);
		out[at] = (uint32_t)i;
	}
	return count;
}

static bool add_sites(struct coverage *coverage, struct coverage_row *row)
{
	uint32_t largest[COVERAGE_ROW_SITES];
	row->sites_at = coverage->level_count;
	row->sites_count = largest_sites(&coverage->sites, largest);
	for (size_t i = 0; i < row->sites_count; i++)
		if (!add_level(coverage, largest[i], &coverage->sites.items[largest[i]].sums))
			return false;
	return true;
}

/* A look can be a little younger than the snapshot behind it: clocks of different CPUs. */
static double age_s(const struct coverage *coverage, uint64_t time)
{
	if (coverage->oldest_look == UINT64_MAX)
		return NAN;
	return fmax(trace_seconds(coverage->trace, time) -
			    trace_seconds(coverage->trace, coverage->oldest_look),
		    0);
}

static bool moment(struct coverage *coverage, uint64_t time)
{
	struct coverage_row row = {.time = time, .looked = pages_known(coverage->pages)};
	if (!coverage_walk(coverage) ||
	    !array_reserve(&coverage->rows, &coverage->row_capacity, coverage->row_count + 1,
			   sizeof *coverage->rows) ||
	    !add_owners(coverage, &row) || !add_sites(coverage, &row))
		return false;
	row.age_s = age_s(coverage, time);
	row.rss_bytes = coverage->rss_bytes;
	row.sums = coverage->sums;
	row.unplaced = pages_unplaced(coverage->pages);
	coverage->rows[coverage->row_count++] = row;
	coverage->changed = coverage->looked = false;
	return true;
}

/* ---- settings and smaps ------------------------------------------------------------------------------- */

static void note_settings(struct coverage *coverage)
{
	const char *enabled = thpstate_enabled(coverage->settings, pages_huge_bytes(coverage->pages));
	bool disabled = thpstate_disabled(coverage->settings);
	bool first = !coverage->settings_time;
	char now[sizeof coverage->enabled];
	snprintf(now, sizeof now, "%s", enabled ? enabled : "");
	if (!first && (strcmp(now, coverage->enabled) != 0 || disabled != coverage->disabled))
		vmas_settings_changed(coverage->vmas);
	memcpy(coverage->enabled, now, sizeof now);
	coverage->disabled = disabled;
}

static bool read_settings(struct coverage *coverage, uint64_t time, struct error *error)
{
	for (uint64_t due; (due = thpstate_due(coverage->settings)) <= time && due != UINT64_MAX;) {
		uint64_t after, until, before = coverage->settings_time;
		if (!thpstate_until(coverage->settings, due, error))
			return false;
		note_settings(coverage);
		coverage->settings_time = due;
		thpstate_fallback(coverage->settings, &after, &until);
		bool fell_back = until > before && before;
		if (!hugeplaces_settings(coverage->places, fell_back ? after : before, due, fell_back))
			return out_of_memory(error);
	}
	return true;
}

static void check_looks(struct coverage *coverage, const struct trace_smaps *smaps)
{
	struct coverage_check *check = &coverage->check;
	check->readings++;
	check->last_looks_bytes = check->last_smaps_bytes = 0;
	for (size_t i = 0; i < smaps->count; i++) {
		const struct smaps_record *record = &smaps->records[i];
		if (record->flags & (SMAPS_OWN | SMAPS_HUGETLB))
			continue;
		uint64_t looks_bytes = pages_sums(coverage->pages, record->start, record->end).huge_bytes;
		uint64_t smaps_bytes = smaps_huge_bytes(record);
		check->mappings++;
		check->mappings_differing += looks_bytes != smaps_bytes;
		check->last_looks_bytes += looks_bytes;
		check->last_smaps_bytes += smaps_bytes;
	}
}

static bool note_smaps(struct coverage *coverage, struct error *error)
{
	const struct trace_smaps *smaps = pages_smaps(coverage->pages);
	if (!smaps->count || smaps->time == coverage->smaps_time)
		return true;
	coverage->smaps_time = smaps->time;
	if (!read_settings(coverage, smaps->time, error))
		return false;
	vmas_read(coverage->vmas);
	if (pages_source(coverage->pages) == PAGES_FROM_SCAN)
		check_looks(coverage, smaps);
	/* Looks that do not tell all yet: a flight recorder without its beginning knows few regions, too. */
	bool alone = !pages_known(coverage->pages) && pages_source(coverage->pages) == 0;
	return !alone || moment(coverage, smaps->time) || out_of_memory(error);
}

static bool catch_up(struct coverage *coverage, uint64_t time, struct error *error)
{
	return note_smaps(coverage, error) && read_settings(coverage, time, error);
}

/* ---- the stream --------------------------------------------------------------------------------------- */

bool coverage_event(struct coverage *coverage, const struct trace_event *event, struct error *error)
{
	coverage->credit++;
	if (event->kind < EVENT_MMAP || event->kind > EVENT_PRCTL)
		return true;
	coverage->changed = true;
	if (!catch_up(coverage, event->time, error))
		return false;
	if (event->kind == EVENT_PRCTL && event->args[0] == PR_SET_THP_DISABLE && event->result >= 0)
		vmas_settings_changed(coverage->vmas);
	return (vmas_event(coverage->vmas, event) && hugeplaces_event(coverage->places, event)) ||
	       out_of_memory(error);
}

static void note_faults(struct coverage *coverage, const struct snapshot *snapshot)
{
	struct coverage_faults faults = {snapshot->minor_faults, snapshot->major_faults};
	if (!coverage->faults_known)
		coverage->first_faults = faults;
	coverage->last_faults = faults;
	coverage->faults_known = true;
}

bool coverage_snapshot(struct coverage *coverage, const struct snapshot *snapshot, struct error *error)
{
	uint64_t time = snapshot->mark.time;
	coverage->credit += COVERAGE_STEPS;
	note_faults(coverage, snapshot);
	coverage->rss_bytes = snapshot->rss_bytes;
	if (!catch_up(coverage, time, error))
		return false;
	if (pages_known(coverage->pages) && pages_decided(coverage->pages) && coverage->looked &&
	    coverage->credit >= coverage->steps) {
		if (!moment(coverage, time))
			return out_of_memory(error);
		coverage->credit -= coverage->steps < coverage->credit ? coverage->steps : coverage->credit;
	}
	coverage->rows_before = coverage->rows_at_snapshot;
	coverage->rows_at_snapshot = coverage->row_count;
	return true;
}

bool coverage_finish(struct coverage *coverage, struct error *error)
{
	const struct trace_info *info = trace_info(coverage->trace);
	if (!catch_up(coverage, UINT64_MAX, error))
		return false;
	if (!pages_known(coverage->pages) || !pages_decided(coverage->pages) || !coverage->changed)
		return true;
	return moment(coverage, info->last_time) || out_of_memory(error);
}

static bool see(void *context, const struct pages_change *change)
{
	struct coverage *coverage = context;
	coverage->changed |= change->time > 0;
	coverage->looked = true;
	return true;
}

/* ---- open, close, answers ----------------------------------------------------------------------------- */

struct coverage *coverage_open(struct trace *trace, const struct regions *regions, struct pages *pages)
{
	struct coverage *coverage = calloc(1, sizeof *coverage);
	if (!coverage)
		return NULL;
	coverage->trace = trace;
	coverage->regions = regions;
	coverage->pages = pages;
	coverage->credit = COVERAGE_STEPS;
	coverage->rss_bytes = SNAPSHOT_UNKNOWN;
	coverage->settings = thpstate_open(trace);
	coverage->places = hugeplaces_open(trace, pages);
	coverage->vmas = vmas_open(pages_page_bytes(pages));
	if (!coverage->settings || !coverage->places || !coverage->vmas ||
	    !pages_watch(pages, see, coverage)) {
		coverage_close(coverage);
		return NULL;
	}
	return coverage;
}

void coverage_close(struct coverage *coverage)
{
	if (!coverage)
		return;
	thpstate_close(coverage->settings);
	hugeplaces_close(coverage->places);
	vmas_close(coverage->vmas);
	idmap_clear(&coverage->sites_by_stack);
	free(coverage->rows);
	free(coverage->levels);
	free(coverage->owners.items);
	free(coverage->sites.items);
	free(coverage->spans);
	free(coverage);
}

bool coverage_known(const struct coverage *coverage)
{
	return coverage->row_count > 0;
}

const struct coverage_row *coverage_rows(const struct coverage *coverage, size_t *count)
{
	*count = coverage->row_count;
	return coverage->rows;
}

const struct coverage_row *coverage_fresh_row(const struct coverage *coverage)
{
	bool fresh = coverage->rows_at_snapshot > coverage->rows_before;
	return fresh ? &coverage->rows[coverage->rows_at_snapshot - 1] : NULL;
}

const struct coverage_level *coverage_levels(const struct coverage *coverage)
{
	return coverage->levels;
}

const struct coverage_part *coverage_owners(const struct coverage *coverage, size_t *count)
{
	*count = coverage->owners.count;
	return coverage->owners.items;
}

const struct coverage_part *coverage_sites(const struct coverage *coverage, size_t *count)
{
	*count = coverage->sites.count;
	return coverage->sites.items;
}

const struct coverage_region *coverage_regions(const struct coverage *coverage, size_t *count)
{
	*count = coverage->span_count;
	return coverage->spans;
}

const struct hugeplaces *coverage_places(const struct coverage *coverage)
{
	bool looked = pages_known(coverage->pages) && pages_huge_bytes(coverage->pages);
	return looked ? coverage->places : NULL;
}

const struct thpstate *coverage_settings(const struct coverage *coverage)
{
	return coverage->settings;
}

struct coverage_check coverage_check(const struct coverage *coverage)
{
	return coverage->check;
}

static uint64_t rise(uint64_t first, uint64_t last)
{
	bool known = first != SNAPSHOT_UNKNOWN && last != SNAPSHOT_UNKNOWN && last >= first;
	return known ? last - first : SNAPSHOT_UNKNOWN;
}

struct coverage_faults coverage_faults(const struct coverage *coverage)
{
	const struct coverage_faults *first = &coverage->first_faults, *last = &coverage->last_faults;
	if (!coverage->faults_known)
		return (struct coverage_faults){SNAPSHOT_UNKNOWN, SNAPSHOT_UNKNOWN};
	return (struct coverage_faults){rise(first->minor, last->minor), rise(first->major, last->major)};
}

const char *coverage_sums_check(const struct coverage_sums *sums, bool looked)
{
	uint64_t small_bytes = 0, eligible_bytes = sums->huge_eligible_bytes + sums->eligible_reserved_bytes +
						   sums->eligible_swapped_bytes;
	for (unsigned i = 0; i < CAUSE_COUNT; i++) {
		small_bytes += i != CAUSE_NOT_FAULTED ? sums->causes[i] : 0;
		eligible_bytes += i >= CAUSE_BROKEN && i != CAUSE_UNKNOWN ? sums->causes[i] : 0;
	}
	if (sums->huge_bytes > sums->resident_bytes)
		return "more is huge than is resident";
	if (small_bytes != sums->resident_bytes - sums->huge_bytes)
		return "the causes do not add up to what is resident and not huge";
	if (looked && eligible_bytes != sums->eligible_bytes)
		return "what is eligible is not what became of it";
	return NULL;
}
