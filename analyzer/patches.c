#include "analyzer/patches.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/json.h"

struct patch {
	char name[128], state[16];
	const char *detail;
};

static bool take_field(const char **at, char *field, size_t bytes)
{
	size_t length = strcspn(*at, "\t");
	if ((*at)[length] != '\t' || length >= bytes)
		return false;
	memcpy(field, *at, length);
	field[length] = '\0';
	*at += length + 1;
	return true;
}

/* NAME tab STATE tab DETAIL */
static bool parse(const struct process_key *key, struct patch *patch)
{
	const char *at = key->value;
	bool good = !strcmp(key->name, "patch") && take_field(&at, patch->name, sizeof patch->name) &&
		    take_field(&at, patch->state, sizeof patch->state);
	patch->detail = at;
	return good;
}

static json_t *patch_json(const struct patch *patch, const char *module)
{
	json_t *object = json_object();
	json_put_string(object, "name", patch->name);
	json_put_string(object, "module", module);
	json_put_string(object, "state", patch->state);
	json_put_string(object, "reason", patch->detail[0] ? patch->detail : NULL);
	return object;
}

json_t *patches_json(const struct trace *trace)
{
	const char *module = trace_key(trace, "patch_module");
	json_t *array = json_array();
	size_t count;
	const struct process_key *keys = trace_keys(trace, &count);
	struct patch patch;
	for (size_t i = 0; i < count; i++)
		if (parse(&keys[i], &patch))
			json_array_append_new(array, patch_json(&patch, module));
	return array;
}

json_t *patched_at_json(const struct trace *trace)
{
	uint64_t time, start = trace_start_time(trace);
	if (!trace_key_number(trace, "patch_time", &time))
		return json_null();
	return json_real(time > start ? trace_seconds(trace, time) : 0); /* before anything is recorded */
}

bool patches_text(const struct trace *trace, char *text, size_t bytes)
{
	const char *module = trace_key(trace, "patch_module");
	size_t count, patched = 0, skipped = 0;
	const struct process_key *keys = trace_keys(trace, &count);
	struct patch patch, first = {.detail = ""};
	for (size_t i = 0; i < count; i++) {
		if (!parse(&keys[i], &patch))
			continue;
		patched += !strcmp(patch.state, "patched");
		if (!strcmp(patch.state, "skipped") && !skipped++)
			first = patch;
	}
	if (!module || (!patched && !skipped))
		return false;
	int used = snprintf(text, bytes, "%zu entry points of %s", patched, module);
	if (skipped && used > 0 && (size_t)used < bytes)
		snprintf(text + used, bytes - (size_t)used, "; not %s%s: %s", first.name,
			 skipped > 1 ? " and others" : "", first.detail);
	return true;
}
