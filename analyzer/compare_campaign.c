#include "analyzer/compare_campaign.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/compare_inputs.h"
#include "analyzer/compare_manifest.h"
#include "analyzer/compare_runs.h"
#include "analyzer/join.h"

#define PATH_BYTES 4096

struct campaign {
	char folder[PATH_BYTES];
	char arm[COMPARE_LABEL_BYTES]; /* behind the colon; empty */
	json_t *object;		       /* campaign.json */
	size_t number;		       /* from 1: tells the blocks of campaigns apart */
};

/* ---- the folder -------------------------------------------------------------------------------------- */

static bool holds_campaign(const char *folder)
{
	char path[PATH_BYTES + 16];
	snprintf(path, sizeof path, "%s/campaign.json", folder);
	return access(path, F_OK) == 0;
}

/* FOLDER, or FOLDER:ARM. False where it is no campaign's. */
static bool split_path(const char *path, struct campaign *campaign)
{
	if (strlen(path) >= PATH_BYTES)
		return false;
	snprintf(campaign->folder, sizeof campaign->folder, "%s", path);
	campaign->arm[0] = 0;
	if (holds_campaign(campaign->folder))
		return true;
	char *colon = strrchr(campaign->folder, ':');
	if (!colon || strlen(colon + 1) >= sizeof campaign->arm)
		return false;
	snprintf(campaign->arm, sizeof campaign->arm, "%s", colon + 1);
	*colon = 0;
	return holds_campaign(campaign->folder);
}

bool campaign_is(const char *path)
{
	struct campaign campaign;
	return split_path(path, &campaign);
}

/* The same folder has the same number wherever it is named. */
static size_t number_of(const char *folder)
{
	struct stat status;
	if (stat(folder, &status))
		return 1;
	return (size_t)(status.st_ino & 0x3fffffff) + 1;
}

static bool open_campaign(const char *path, struct campaign *campaign, struct error *error)
{
	char file[PATH_BYTES + 16];
	json_error_t wrong;
	if (!split_path(path, campaign))
		return error_set(error, ERROR_INPUT, path, ERROR_NO_OFFSET, "no folder of a campaign");
	snprintf(file, sizeof file, "%s/campaign.json", campaign->folder);
	campaign->number = number_of(campaign->folder);
	campaign->object = json_load_file(file, 0, &wrong);
	if (!campaign->object)
		return error_set(error, ERROR_INPUT, file,
				 wrong.position < 0 ? ERROR_NO_OFFSET : (uint64_t)wrong.position, "%s",
				 wrong.text);
	if (!json_is_array(json_object_get(campaign->object, "arms")))
		return error_set(error, ERROR_INPUT, file, ERROR_NO_OFFSET, "it names no arms");
	return true;
}

/* ---- what campaign.json says ------------------------------------------------------------------------- */

static bool take_text(char **text, const json_t *value)
{
	if (*text || !json_is_string(value))
		return true;
	*text = strdup(json_string_value(value));
	return *text != NULL;
}

static bool take_treatment(struct compare *compare, const json_t *keys)
{
	char *joined = NULL;
	for (size_t i = 0; i < json_array_size(keys); i++) {
		const char *key = json_string_value(json_array_get(keys, i));
		if (key && !join(&joined, ",", key))
			return false;
	}
	if (compare->treatment)
		free(joined);
	else
		compare->treatment = joined;
	return true;
}

static bool take_facts(struct compare *compare, const struct campaign *campaign, struct error *error)
{
	const json_t *object = campaign->object;
	return (take_text(&compare->axis, json_object_get(object, "axis")) &&
		take_text(&compare->order, json_object_get(object, "order")) &&
		take_treatment(compare, json_object_get(object, "treatment"))) ||
	       compare_out_of_memory(error);
}

static const char *workload_name(const struct campaign *campaign)
{
	return json_string_value(json_object_get(json_object_get(campaign->object, "workload"), "name"));
}

static const char *label_of(const struct campaign *campaign, size_t index)
{
	return json_string_value(json_array_get(json_object_get(campaign->object, "arms"), index));
}

/* The index of the arm `label`; the number of arms where there is none. */
static size_t arm_index(const struct campaign *campaign, const char *label)
{
	size_t count = json_array_size(json_object_get(campaign->object, "arms")), i;
	for (i = 0; i < count; i++)
		if (label_of(campaign, i) && strcmp(label_of(campaign, i), label) == 0)
			break;
	return i;
}

/* ---- runs -------------------------------------------------------------------------------------------- */

/* The load of an arm: its own, or the one for all. False where there is none that can be read. */
static bool read_load(const struct campaign *campaign, size_t index, const struct ycsb_options *options,
		      struct ycsb_file *load)
{
	char path[PATH_BYTES + 64];
	struct error ignored = {0};
	snprintf(path, sizeof path, "%s/loads/%zu/ycsb.txt", campaign->folder, index);
	if (access(path, F_OK) != 0)
		snprintf(path, sizeof path, "%s/loads/0/ycsb.txt", campaign->folder);
	return access(path, F_OK) == 0 && ycsb_read(path, options, load, &ignored);
}

struct arm_reading {
	struct compare *compare;
	const struct campaign *campaign;
	const char *label;
	size_t arm;
	const struct ycsb_options *options;
	struct ycsb_file files[2]; /* a run; the load, where there is one */
	size_t file_count;
};

/* A killed or failed run can have printed nothing that is YCSB's: it stays in the list, without numbers. */
static bool take_silent(struct arm_reading *reading, const char *path, const json_t *manifest,
			struct error *error)
{
	struct compare_run *run = compare_add_run(reading->compare, reading->arm);
	const char *workload = workload_name(reading->campaign);
	if (!run)
		return compare_out_of_memory(error);
	run->use = RUN_INVALID;
	run->source = strdup(path);
	run->workload = strdup(workload ? workload : "");
	run->settings = json_object();
	if (!run->source || !run->workload || !run->settings ||
	    !run_add_finding(run, "no-output", YCSB_INVALID, "no output of YCSB: %s", error->text) ||
	    !manifest_apply(manifest, reading->campaign->number, run))
		return compare_out_of_memory(&(struct error){0});
	*error = (struct error){0};
	return true;
}

static bool take_run(struct arm_reading *reading, const char *folder, const json_t *manifest,
		     struct error *error)
{
	char path[PATH_BYTES + 64], trace[PATH_BYTES + 64];
	snprintf(path, sizeof path, "%s/ycsb.txt", folder);
	snprintf(trace, sizeof trace, "%s/trace.mtr", folder);
	if (!ycsb_read(path, reading->options, &reading->files[0], error))
		return error->code == ERROR_INPUT && take_silent(reading, path, manifest, error);
	const struct run_origin origin = {
		.workload = workload_name(reading->campaign),
		.manifest = manifest,
		.campaign = reading->campaign->number,
		.trace = access(trace, F_OK) == 0 ? trace : NULL,
	};
	bool fine = compare_take_runs(reading->compare, reading->arm, reading->files, reading->file_count, 0,
				      &origin, error);
	ycsb_file_free(&reading->files[0]);
	return fine;
}

static bool read_run(struct arm_reading *reading, const char *name, struct error *error)
{
	char folder[PATH_BYTES + 32], inside[PATH_BYTES + 48];
	snprintf(folder, sizeof folder, "%s/runs/%.16s", reading->campaign->folder, name);
	snprintf(inside, sizeof inside, "%s/ycsb.txt", folder);
	json_t *manifest = manifest_beside(inside, error);
	if (!manifest && error->code)
		return compare_leave_out(reading->compare, error);
	const char *label = json_string_value(json_object_get(manifest, "arm"));
	bool fine =
		!label || strcmp(label, reading->label) != 0 || take_run(reading, folder, manifest, error);
	json_decref(manifest);
	return fine || compare_leave_out(reading->compare, error);
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static bool read_runs(struct arm_reading *reading, struct error *error)
{
	char path[PATH_BYTES + 16];
	struct dirent **names;
	bool fine = true;
	snprintf(path, sizeof path, "%s/runs", reading->campaign->folder);
	int count = scandir(path, &names, is_visible, alphasort);
	if (count < 0)
		return error_set(error, ERROR_INPUT, path, ERROR_NO_OFFSET,
				 "cannot read the folder of its runs: %s", strerror(errno));
	for (int i = 0; i < count; i++) {
		fine = fine && read_run(reading, names[i]->d_name, error);
		free(names[i]);
	}
	free(names);
	return fine;
}

static bool read_arm(struct compare *compare, const struct campaign *campaign, const char *label, size_t arm,
		     const struct ycsb_options *options, struct error *error)
{
	struct arm_reading reading = {compare, campaign, label, arm, options, {{0}}, 1};
	reading.file_count +=
		read_load(campaign, arm_index(campaign, label), options, &reading.files[1]) ? 1 : 0;
	bool fine = read_runs(&reading, error);
	if (reading.file_count > 1)
		ycsb_file_free(&reading.files[1]);
	return fine;
}

/* ---- both ways in ------------------------------------------------------------------------------------ */

static bool read_all(struct compare *compare, const struct campaign *campaign,
		     const struct ycsb_options *options, struct error *error)
{
	size_t count = json_array_size(json_object_get(campaign->object, "arms"));
	for (size_t i = 0; i < count; i++) {
		size_t arm;
		const char *label = label_of(campaign, i);
		if (label && (!compare_arm(compare, label, &arm, error) ||
			      !read_arm(compare, campaign, label, arm, options, error)))
			return false;
	}
	return true;
}

bool campaign_read(struct compare *compare, const char *folder, const struct ycsb_options *options,
		   struct error *error)
{
	struct campaign campaign = {0};
	bool fine = open_campaign(folder, &campaign, error) && take_facts(compare, &campaign, error) &&
		    read_all(compare, &campaign, options, error);
	json_decref(campaign.object);
	return fine;
}

static const char *choose_label(const struct campaign *campaign, struct error *error)
{
	size_t count = json_array_size(json_object_get(campaign->object, "arms"));
	if (campaign->arm[0] == 0 && count == 1 && label_of(campaign, 0))
		return label_of(campaign, 0);
	if (campaign->arm[0] && arm_index(campaign, campaign->arm) < count)
		return campaign->arm;
	char *arms = json_dumps(json_object_get(campaign->object, "arms"), JSON_COMPACT);
	error_set(error, ERROR_USAGE, campaign->folder, ERROR_NO_OFFSET,
		  "name one arm of this campaign, as FOLDER:ARM; it has %s", arms ? arms : "several");
	free(arms);
	return NULL;
}

bool campaign_read_arm(struct compare *compare, const char *path, size_t arm,
		       const struct ycsb_options *options, struct error *error)
{
	struct campaign campaign = {0};
	const char *label;
	bool fine = open_campaign(path, &campaign, error) &&
		    (label = choose_label(&campaign, error)) != NULL &&
		    take_facts(compare, &campaign, error) &&
		    read_arm(compare, &campaign, label, arm, options, error);
	json_decref(campaign.object);
	return fine;
}
