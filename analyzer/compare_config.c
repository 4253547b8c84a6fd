#include "analyzer/compare_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/join.h"

#define VALUES_SHOWN 6 /* of one setting within one arm */

bool config_is_treatment(const char *keys, const char *key)
{
	for (const char *at = keys; at && *at;) {
		size_t length = strcspn(at, ",");
		if (length > 0 && strncmp(at, key, length) == 0 &&
		    (key[length] == 0 || key[length] == '.' || key[length] == '/'))
			return true;
		at += length + (at[length] == ',');
	}
	return false;
}

static const char *setting_of(const struct compare_run *run, const char *key)
{
	return json_string_value(json_object_get(run->settings, key));
}

/* ---- the values of a setting within an arm ----------------------------------------------------------- */

/* An object whose keys are the values: a set. */
static json_t *values_of(const struct compare *compare, size_t arm, const char *key)
{
	json_t *values = json_object();
	for (size_t i = 0; i < compare->run_count; i++) {
		const struct compare_run *run = &compare->runs[i];
		const char *value = run->arm == arm && run->use == RUN_USED ? setting_of(run, key) : NULL;
		if (value)
			json_object_set_new(values, value, json_true());
	}
	return values;
}

static bool same_set(const json_t *a, const json_t *b)
{
	return json_equal(a, b);
}

static char *shown_values(const json_t *values)
{
	char *text = NULL;
	size_t shown = 0;
	const char *value;
	json_t *unused;
	json_object_foreach ((json_t *)values, value, unused) {
		if (shown++ == VALUES_SHOWN)
			break;
		if (!join(&text, " | ", value))
			return NULL;
	}
	return text;
}

static bool fill(struct compare_difference *difference, json_t *const sets[], size_t arms, bool *found)
{
	*found = false;
	for (size_t arm = 0; arm < arms; arm++) {
		size_t known = json_object_size(sets[arm]);
		difference->values[arm] = shown_values(sets[arm]);
		difference->within[arm] = known > 1;
		difference->differs[arm] =
			known > 0 && json_object_size(sets[0]) > 0 && !same_set(sets[arm], sets[0]);
		*found |= difference->differs[arm];
		if (known > 0 && !difference->values[arm])
			return false;
	}
	return true;
}

static bool add_key(struct compare *compare, const char *key)
{
	json_t *sets[COMPARE_ARMS_MAX];
	struct compare_difference difference = {0};
	bool found, fine;
	for (size_t arm = 0; arm < compare->arm_count; arm++)
		sets[arm] = values_of(compare, arm, key);
	difference.treatment = config_is_treatment(
		compare->settings.treatment ? compare->settings.treatment : compare->treatment, key);
	fine = fill(&difference, sets, compare->arm_count, &found) && (difference.key = strdup(key)) != NULL;
	for (size_t arm = 0; arm < compare->arm_count; arm++)
		json_decref(sets[arm]);
	if (fine && found &&
	    array_reserve(&compare->differences, &compare->difference_capacity, compare->difference_count + 1,
			  sizeof *compare->differences)) {
		compare->differences[compare->difference_count++] = difference;
		return true;
	}
	free(difference.key);
	for (size_t arm = 0; arm < COMPARE_ARMS_MAX; arm++)
		free(difference.values[arm]);
	return fine && !found;
}

/* ---- all keys ---------------------------------------------------------------------------------------- */

static int by_text(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static json_t *all_keys(const struct compare *compare)
{
	json_t *keys = json_object();
	for (size_t i = 0; i < compare->run_count; i++)
		if (compare->runs[i].use == RUN_USED)
			json_object_update_missing(keys, compare->runs[i].settings);
	return keys;
}

static bool add_keys(struct compare *compare, json_t *keys)
{
	const char **sorted = malloc((json_object_size(keys) + 1) * sizeof *sorted), *key;
	size_t count = 0;
	json_t *unused;
	bool fine = sorted != NULL;
	if (!sorted)
		return false;
	json_object_foreach (keys, key, unused)
		sorted[count++] = key;
	if (count > 1)
		qsort(sorted, count, sizeof *sorted, by_text);
	for (size_t i = 0; fine && i < count; i++)
		fine = add_key(compare, sorted[i]);
	free(sorted);
	return fine;
}

bool compare_config(struct compare *compare, struct error *error)
{
	json_t *keys = all_keys(compare);
	bool fine = keys && add_keys(compare, keys);
	json_decref(keys);
	return fine || compare_out_of_memory(error);
}

size_t config_confounders(const struct compare *compare, size_t arm, char *text, size_t bytes)
{
	size_t count = 0, used = 0;
	if (bytes > 0)
		*text = 0;
	for (size_t i = 0; i < compare->difference_count; i++) {
		const struct compare_difference *difference = &compare->differences[i];
		if (!difference->differs[arm] || difference->treatment)
			continue;
		int length = snprintf(text + used, bytes - used, "%s%s", count ? ", " : "", difference->key);
		if (length > 0 && (size_t)length < bytes - used)
			used += (size_t)length;
		else
			text[used] = 0;
		count++;
	}
	return count;
}
