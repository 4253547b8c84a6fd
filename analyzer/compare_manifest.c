#include "analyzer/compare_manifest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEY_BYTES  512
#define DEPTH_MAX  32
#define QUARTER_NS (900 * INT64_C(1000000000)) /* zones differ by whole quarters of an hour */

/* ---- settings ---------------------------------------------------------------------------------------- */

static bool put_leaf(json_t *flat, const char *key, const json_t *value)
{
	if (!value || json_is_null(value))
		return true;
	if (json_is_string(value))
		return json_object_set_new(flat, key, json_string(json_string_value(value))) == 0;
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
	bool fine = text && json_object_set_new(flat, key, json_string(text)) == 0;
	free(text);
	return fine;
}

/* An object that is being gone through, and how much of the key is its own. */
struct depth {
	json_t *object;
	void *member;
	size_t key_bytes;
};

static bool extend_key(char key[KEY_BYTES], size_t *key_bytes, const char *name)
{
	int length = snprintf(key + *key_bytes, KEY_BYTES - *key_bytes, "%s%s", *key_bytes ? "." : "", name);
	bool fits = length >= 0 && (size_t)length < KEY_BYTES - *key_bytes;
	*key_bytes += fits ? (size_t)length : 0;
	return fits;
}

/* Objects that lie deeper, and keys that are longer, than any manifest's are left out. */
bool manifest_flatten(json_t *flat, const json_t *settings)
{
	struct depth stack[DEPTH_MAX];
	char key[KEY_BYTES] = "";
	size_t depth = 0;
	if (!json_is_object(settings))
		return true;
	stack[depth++] = (struct depth){(json_t *)settings, json_object_iter((json_t *)settings), 0};
	while (depth > 0) {
		struct depth *top = &stack[depth - 1];
		size_t key_bytes = top->key_bytes;
		if (!top->member) {
			depth--;
			continue;
		}
		json_t *value = json_object_iter_value(top->member);
		bool fits = extend_key(key, &key_bytes, json_object_iter_key(top->member));
		top->member = json_object_iter_next(top->object, top->member);
		if (!fits)
			continue;
		if (json_is_object(value) && depth < DEPTH_MAX)
			stack[depth++] = (struct depth){value, json_object_iter(value), key_bytes};
		else if (!json_is_object(value) && !put_leaf(flat, key, value))
			return false;
	}
	return true;
}

/* ---- a run's place and state ------------------------------------------------------------------------- */

static bool take_number(const json_t *manifest, const char *key, uint64_t *value)
{
	const json_t *number = json_object_get(manifest, key);
	if (!json_is_integer(number) || json_integer_value(number) < 0)
		return false;
	*value = (uint64_t)json_integer_value(number);
	return true;
}

static int64_t time_ns(const json_t *manifest, const char *key)
{
	uint64_t ms;
	return take_number(manifest, key, &ms) && ms < INT64_MAX / 1000000 ? (int64_t)ms * 1000000
									   : YCSB_NO_TIME;
}

/* Status lines are in the client's local time, whose zone is not known here; the manifest's are UTC. */
static void take_times(const json_t *manifest, struct compare_run *run)
{
	int64_t start_ns = time_ns(manifest, "started_unix_ms"), end_ns = time_ns(manifest, "ended_unix_ms");
	if (start_ns == YCSB_NO_TIME || end_ns == YCSB_NO_TIME)
		return;
	if (run->start_ns == YCSB_NO_TIME) {
		run->start_ns = start_ns;
		run->end_ns = end_ns;
		return;
	}
	double quarters = round((double)(start_ns - run->start_ns) / QUARTER_NS);
	run->start_ns += (int64_t)quarters * QUARTER_NS;
	run->end_ns += (int64_t)quarters * QUARTER_NS;
}

static void take_place(const json_t *manifest, size_t campaign, struct compare_run *run)
{
	uint64_t value;
	if (campaign > 0 && take_number(manifest, "block", &value) && value < UINT32_MAX)
		run->block = ((uint64_t)campaign << 32) | value;
	if (run->threads == YCSB_UNKNOWN && take_number(manifest, "threads", &value) && value > 0)
		run->threads = value;
	take_times(manifest, run);
}

static bool take_state(const json_t *manifest, struct compare_run *run)
{
	const char *state = json_string_value(json_object_get(manifest, "state"));
	const char *reason = json_string_value(json_object_get(manifest, "reason"));
	if (json_is_true(json_object_get(manifest, "warmup")))
		run->use = RUN_WARMUP;
	if (!state || strcmp(state, "done") == 0)
		return true;
	run->use = RUN_NOT_DONE;
	return run_add_finding(run, "run-failed", YCSB_INVALID, "the campaign says that it failed: %s",
			       reason ? reason : "no reason is given");
}

/* Settings at the end that are not those at the start: somebody changed them meanwhile. */
static bool check_after(const json_t *manifest, struct compare_run *run)
{
	const json_t *after = json_object_get(manifest, "thp_after");
	const json_t *before = json_object_get(json_object_get(manifest, "settings"), "thp");
	if (!json_is_object(after) || !json_is_object(before) || json_equal(after, before))
		return true;
	return run_add_finding(run, "settings-changed", YCSB_WARNING,
			       "the settings of huge pages were changed during the run");
}

static bool check_records(const json_t *manifest, struct compare_run *run)
{
	uint64_t expected, counted;
	if (!take_number(manifest, "records_expected", &expected) ||
	    !take_number(manifest, "records_counted", &counted) || expected == counted)
		return true;
	return run_add_finding(run, "record-count", YCSB_WARNING,
			       "%llu records were there before the run and %llu were expected",
			       (unsigned long long)counted, (unsigned long long)expected);
}

bool manifest_apply(const json_t *manifest, size_t campaign, struct compare_run *run)
{
	if (!manifest)
		return true;
	take_place(manifest, campaign, run);
	return take_state(manifest, run) && check_after(manifest, run) && check_records(manifest, run) &&
	       manifest_flatten(run->settings, json_object_get(manifest, "settings"));
}

/* ---- the file ---------------------------------------------------------------------------------------- */

json_t *manifest_beside(const char *path, struct error *error)
{
	char beside[4096];
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path) + 1 : 0;
	int length = snprintf(beside, sizeof beside, "%.*smanifest.json", folder, path);
	if (length < 0 || (size_t)length >= sizeof beside || access(beside, F_OK) != 0)
		return NULL;
	json_error_t wrong;
	json_t *manifest = json_load_file(beside, 0, &wrong);
	if (json_is_object(manifest))
		return manifest;
	error_set(error, ERROR_INPUT, beside,
		  manifest || wrong.position < 0 ? ERROR_NO_OFFSET : (uint64_t)wrong.position,
		  "no manifest of a run: %s", manifest ? "it is not an object" : wrong.text);
	json_decref(manifest);
	return NULL;
}
