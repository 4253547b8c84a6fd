#include "analyzer/thpstate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/reader_settings.h"

#define FALLBACK "vmstat.thp_fault_fallback"

struct thpstate {
	struct settings_reader *reader;
	struct thp_value *values; /* by name */
	size_t count, capacity;
	struct thp_change *changes;
	size_t change_count, change_capacity;
	uint64_t changes_total;
	uint64_t last_time; /* of the last block */
	uint64_t fallback_after, fallback_until;
};

struct thpstate *thpstate_open(struct trace *trace)
{
	struct thpstate *state = calloc(1, sizeof *state);
	if (!state)
		return NULL;
	state->reader = settings_reader_open(trace);
	if (!state->reader) {
		thpstate_close(state);
		return NULL;
	}
	return state;
}

void thpstate_close(struct thpstate *state)
{
	if (!state)
		return;
	for (size_t i = 0; i < state->count; i++) {
		free(state->values[i].name);
		free(state->values[i].first);
		free(state->values[i].now);
	}
	for (size_t i = 0; i < state->change_count; i++) {
		free(state->changes[i].before);
		free(state->changes[i].after);
	}
	settings_reader_close(state->reader);
	free(state->values);
	free(state->changes);
	free(state);
}

/* ---- names -------------------------------------------------------------------------------------------- */

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/* What only ever counts up (trace/FORMAT.md, "Settings header"). */
static bool is_counter(const char *name)
{
	return begins(name, "vmstat.") || strstr(name, ".stats.") ||
	       strcmp(name, "thp.khugepaged.pages_collapsed") == 0 ||
	       strcmp(name, "thp.khugepaged.full_scans") == 0;
}

/* The index of `name`, or where it would have to stand. */
static size_t place_of(const struct thpstate *state, const char *name)
{
	size_t low = 0, high = state->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(state->values[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct thp_value *find(const struct thpstate *state, const char *name)
{
	size_t at = place_of(state, name);
	bool there = at < state->count && strcmp(state->values[at].name, name) == 0;
	return there ? &state->values[at] : NULL;
}

/* Changes name values by their index, which moves up when one is put in front. */
static void changes_move(struct thpstate *state, size_t at)
{
	for (size_t i = 0; i < state->change_count; i++)
		if (state->changes[i].value >= at)
			state->changes[i].value++;
}

static struct thp_value *add(struct thpstate *state, const char *name)
{
	size_t at = place_of(state, name);
	char *copy = strdup(name);
	if (!copy ||
	    !array_reserve(&state->values, &state->capacity, state->count + 1, sizeof *state->values)) {
		free(copy);
		return NULL;
	}
	struct thp_value *value = &state->values[at];
	memmove(value + 1, value, (state->count++ - at) * sizeof *value);
	*value = (struct thp_value){.name = copy, .counter = is_counter(name)};
	changes_move(state, at);
	return value;
}

/* ---- values ------------------------------------------------------------------------------------------- */

static bool copy_text(const char *text, char **out)
{
	*out = text ? strdup(text) : NULL;
	return !text || *out;
}

static bool note_change(struct thpstate *state, const struct thp_value *value, const char *after,
			uint64_t time)
{
	struct thp_change change = {.time = time, .value = (size_t)(value - state->values)};
	state->changes_total++;
	if (state->change_count >= THP_CHANGES_MAX)
		return true;
	if (!array_reserve(&state->changes, &state->change_capacity, state->change_count + 1,
			   sizeof *state->changes) ||
	    !copy_text(value->now, &change.before))
		return false;
	if (!copy_text(after, &change.after)) {
		free(change.before);
		return false;
	}
	state->changes[state->change_count++] = change;
	return true;
}

static uint64_t number_of(const char *text)
{
	errno = 0;
	uint64_t number = strtoull(text, NULL, 10);
	return errno ? UINT64_MAX : number;
}

static bool set(struct thpstate *state, struct thp_value *value, const char *text, uint64_t time)
{
	char *copy;
	bool differs = !value->now || !text || strcmp(value->now, text) != 0;
	if (!differs || (!value->now && !text))
		return true;
	if (value->first && !value->counter && !note_change(state, value, text, time))
		return false;
	if (!value->first && !copy_text(text, &value->first))
		return false;
	if (!copy_text(text, &copy))
		return false;
	if (value->counter && text) {
		value->count = number_of(text);
		value->first_count = value->time ? value->first_count : value->count;
	}
	value->first_time = value->time ? value->first_time : time;
	value->time = time;
	free(value->now);
	value->now = copy;
	return true;
}

static bool take_line(struct thpstate *state, const struct setting_line *line, uint64_t time)
{
	struct thp_value *value = find(state, line->name);
	uint64_t before = value ? value->count : 0;
	bool is_new = !value;
	value = value ? value : add(state, line->name);
	if (!value || !set(state, value, line->value, time))
		return false;
	if (!is_new && value->count > before && strcmp(line->name, FALLBACK) == 0) {
		state->fallback_after = state->last_time;
		state->fallback_until = time;
	}
	return true;
}

static bool has_line(const struct trace_settings *settings, const char *name)
{
	for (size_t i = 0; i < settings->count; i++)
		if (strcmp(settings->lines[i].name, name) == 0)
			return true;
	return false;
}

static bool take(struct thpstate *state, const struct trace_settings *settings)
{
	for (size_t i = 0; settings->whole && i < state->count; i++)
		if (!has_line(settings, state->values[i].name) &&
		    !set(state, &state->values[i], NULL, settings->time))
			return false;
	for (size_t i = 0; i < settings->count; i++)
		if (!take_line(state, &settings->lines[i], settings->time))
			return false;
	state->last_time = settings->time;
	return true;
}

bool thpstate_until(struct thpstate *state, uint64_t time, struct error *error)
{
	struct trace_settings settings;
	while (settings_reader_next(state->reader, time, &settings, error))
		if (!take(state, &settings))
			return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	return error->code == ERROR_NONE;
}

uint64_t thpstate_due(const struct thpstate *state)
{
	return settings_reader_due(state->reader);
}

/* ---- answers ------------------------------------------------------------------------------------------ */

const char *thpstate_value(const struct thpstate *state, const char *name)
{
	const struct thp_value *value = find(state, name);
	return value ? value->now : NULL;
}

const struct thp_value *thpstate_values(const struct thpstate *state, size_t *count)
{
	*count = state->count;
	return state->values;
}

const struct thp_value *thpstate_find(const struct thpstate *state, const char *name)
{
	return find(state, name);
}

const struct thp_change *thpstate_changes(const struct thpstate *state, size_t *count)
{
	*count = state->change_count;
	return state->changes;
}

uint64_t thpstate_changes_count(const struct thpstate *state)
{
	return state->changes_total;
}

bool thpstate_rise(const struct thpstate *state, const char *name, uint64_t *rise)
{
	const struct thp_value *value = find(state, name);
	if (!value || !value->counter || !value->time || value->count == UINT64_MAX ||
	    value->count < value->first_count)
		return false;
	*rise = value->count - value->first_count;
	return true;
}

void thpstate_fallback(const struct thpstate *state, uint64_t *after_time, uint64_t *until_time)
{
	*after_time = state->fallback_after;
	*until_time = state->fallback_until;
}

const char *thpstate_enabled(const struct thpstate *state, uint64_t huge_bytes)
{
	char name[64];
	snprintf(name, sizeof name, "thp.hugepages-%" PRIu64 "kB.enabled", huge_bytes / 1024);
	const char *own = thpstate_value(state, name);
	return own && strcmp(own, "inherit") != 0 ? own : thpstate_value(state, "thp.enabled");
}

bool thpstate_disabled(const struct thpstate *state)
{
	const char *value = thpstate_value(state, "process.thp_disable");
	return value && strcmp(value, "0") != 0;
}
