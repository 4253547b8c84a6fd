#include "analyzer/compare_inputs.h"

#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/compare_campaign.h"
#include "analyzer/compare_manifest.h"
#include "analyzer/compare_runs.h"
#include "analyzer/compare_summary.h"

#define PATH_BYTES 4096

bool compare_leave_out(struct compare *compare, struct error *error)
{
	if (error->code != ERROR_INPUT)
		return false;
	error_print(error);
	*error = (struct error){0};
	compare->inputs_left_out = true;
	return true;
}

/* ---- paths of one arm -------------------------------------------------------------------------------- */

struct path_list {
	char **paths;
	size_t count;
};

static bool add_path(struct path_list *list, const char *path)
{
	char **grown = realloc(list->paths, (list->count + 1) * sizeof *grown);
	if (!grown)
		return false;
	list->paths = grown;
	grown[list->count] = strdup(path);
	return grown[list->count++] != NULL;
}

static void free_paths(struct path_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->paths[i]);
	free(list->paths);
}

static bool is_folder(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool exists(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0;
}

static bool ends(const char *text, const char *ending)
{
	size_t length = strlen(text), wanted = strlen(ending);
	return length >= wanted && strcmp(text + length - wanted, ending) == 0;
}

/* What lies beside the output of a run and is none. */
static bool is_other(const char *name)
{
	static const char *const endings[] = {".mtr", ".rings", ".png", ".svg", ".gp", ".md", ".html"};
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (ends(name, endings[i]))
			return true;
	return *name == '.' || strcmp(name, "manifest.json") == 0;
}

static bool add_folder(struct path_list *list, const char *folder, struct error *error)
{
	struct dirent **names;
	char path[PATH_BYTES];
	bool fine = true;
	int count = scandir(folder, &names, NULL, alphasort);
	if (count < 0)
		return error_set(error, ERROR_INPUT, folder, ERROR_NO_OFFSET, "cannot read the folder");
	for (int i = 0; i < count; i++) {
		int length = snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
		if (fine && !is_other(names[i]->d_name) && length < PATH_BYTES && !is_folder(path))
			fine = add_path(list, path);
		free(names[i]);
	}
	free(names);
	return fine || compare_out_of_memory(error);
}

static bool add_matching(struct path_list *list, const char *pattern, struct error *error)
{
	glob_t found;
	bool fine = true;
	int failed = glob(pattern, 0, NULL, &found);
	if (failed)
		return error_set(error, ERROR_INPUT, pattern, ERROR_NO_OFFSET, "there is no such file");
	for (size_t i = 0; fine && i < found.gl_pathc; i++)
		fine = add_path(list, found.gl_pathv[i]);
	globfree(&found);
	return fine || compare_out_of_memory(error);
}

static bool add_argument(struct path_list *list, const char *path, struct error *error)
{
	if (is_folder(path))
		return add_folder(list, path, error);
	if (!exists(path))
		return add_matching(list, path, error);
	return add_path(list, path) || compare_out_of_memory(error);
}

/* ---- reading the files of one arm -------------------------------------------------------------------- */

struct arm_files {
	struct ycsb_file *files;
	size_t count;
};

static bool read_output(struct compare *compare, const char *path, const struct ycsb_options *options,
			struct arm_files *read, struct error *error)
{
	struct ycsb_file *grown = realloc(read->files, (read->count + 1) * sizeof *grown);
	if (!grown)
		return compare_out_of_memory(error);
	read->files = grown;
	if (!ycsb_read(path, options, &grown[read->count], error))
		return compare_leave_out(compare, error);
	compare->inputs_left_out |= grown[read->count].unread_lines > 0;
	read->count++;
	return true;
}

static bool read_path(struct compare *compare, size_t arm, const char *path,
		      const struct compare_request *request, struct arm_files *read, struct error *error)
{
	if (!summary_is(path))
		return read_output(compare, path, &request->ycsb, read, error);
	return summary_read(compare, path, request->columns, &arm, error) ||
	       compare_leave_out(compare, error);
}

static bool take_file(struct compare *compare, size_t arm, const struct arm_files *read, size_t file,
		      struct error *error)
{
	json_t *manifest = manifest_beside(read->files[file].path, error);
	if (error->code && !compare_leave_out(compare, error))
		return false;
	const struct run_origin origin = {.manifest = manifest};
	bool fine = compare_take_runs(compare, arm, read->files, read->count, file, &origin, error);
	json_decref(manifest);
	return fine;
}

static bool take_all(struct compare *compare, size_t arm, struct arm_files *read, struct error *error)
{
	bool fine = true;
	if (read->count > 0)
		ycsb_pair_files(read->files, &read->count);
	for (size_t i = 0; fine && i < read->count; i++)
		fine = take_file(compare, arm, read, i, error);
	return fine;
}

/* All files of one arm together: status lines and summary may be in two, and the load is audited against. */
static bool read_arm(struct compare *compare, size_t arm, const struct path_list *paths,
		     const struct compare_request *request, struct error *error)
{
	struct arm_files read = {0};
	bool fine = true;
	for (size_t i = 0; fine && i < paths->count; i++)
		fine = read_path(compare, arm, paths->paths[i], request, &read, error);
	fine = fine && take_all(compare, arm, &read, error);
	for (size_t i = 0; i < read.count; i++)
		ycsb_file_free(&read.files[i]);
	free(read.files);
	return fine;
}

/* ---- arguments --------------------------------------------------------------------------------------- */

static bool split_arm(struct compare *compare, const char *argument, size_t *arm, const char **path,
		      struct error *error)
{
	char label[COMPARE_LABEL_BYTES + 1];
	const char *equals = strchr(argument, '=');
	if (!equals || equals[1] == 0)
		return error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET,
				 "--arm takes LABEL=FILE..., not '%s'", argument);
	snprintf(label, sizeof label, "%.*s", (int)(equals - argument), argument);
	*path = equals + 1;
	return compare_arm(compare, label, arm, error);
}

/* The files of `arm` among all arguments; a campaign is read at once. */
static bool gather_arm(struct compare *compare, const struct compare_request *request, size_t wanted,
		       struct path_list *paths, struct error *error)
{
	for (size_t i = 0; i < request->arms.count; i++) {
		size_t arm = 0;
		const char *path = "";
		if (!split_arm(compare, request->arms.items[i], &arm, &path, error))
			return false;
		if (arm != wanted)
			continue;
		bool fine = campaign_is(path) ? campaign_read_arm(compare, path, arm, &request->ycsb, error)
					      : add_argument(paths, path, error);
		if (!fine && !compare_leave_out(compare, error))
			return false;
	}
	return true;
}

static bool name_arms(struct compare *compare, const struct compare_request *request, struct error *error)
{
	size_t arm = 0;
	const char *path = "";
	if (request->base && !compare_arm(compare, request->base, &arm, error))
		return false;
	for (size_t i = 0; i < request->arms.count; i++)
		if (!split_arm(compare, request->arms.items[i], &arm, &path, error))
			return false;
	return true;
}

static bool read_operand(struct compare *compare, const struct compare_request *request, const char *path,
			 struct error *error)
{
	if (campaign_is(path))
		return campaign_read(compare, path, &request->ycsb, error);
	if (is_folder(path))
		return error_set(error, ERROR_USAGE, path, ERROR_NO_OFFSET,
				 "no campaign: it holds no campaign.json (a folder of files is an arm: --arm "
				 "LABEL=%s)",
				 path);
	if (!summary_is(path))
		return error_set(error, ERROR_USAGE, path, ERROR_NO_OFFSET,
				 "neither a campaign nor a summary; name its arm: --arm LABEL=%s", path);
	return summary_read(compare, path, request->columns, NULL, error);
}

static bool has_runs(const struct compare *compare, size_t arm)
{
	for (size_t i = 0; i < compare->run_count; i++)
		if (compare->runs[i].arm == arm)
			return true;
	return false;
}

static bool check_arms(const struct compare *compare, const struct compare_request *request,
		       struct error *error)
{
	if (compare->arm_count < 2)
		return error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET,
				 "a comparison takes two arms or more: --arm LABEL=FILE... for each, or a "
				 "campaign");
	if (request->base && !has_runs(compare, 0))
		return error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET,
				 "--base '%s' names no arm that has runs; there is '%s'", request->base,
				 compare->arms[1].label);
	for (size_t i = 0; i < compare->arm_count; i++)
		if (!has_runs(compare, i))
			return error_set(error, ERROR_INPUT, NULL, ERROR_NO_OFFSET, "arm '%s' has no run",
					 compare->arms[i].label);
	return true;
}

bool compare_read(const struct compare_request *request, struct compare *compare, struct error *error)
{
	if (!name_arms(compare, request, error))
		return false;
	size_t named = compare->arm_count;
	for (size_t arm = 0; arm < named; arm++) {
		struct path_list paths = {0};
		bool fine = gather_arm(compare, request, arm, &paths, error) &&
			    read_arm(compare, arm, &paths, request, error);
		free_paths(&paths);
		if (!fine)
			return false;
	}
	for (size_t i = 0; i < request->operands.count; i++)
		if (!read_operand(compare, request, request->operands.items[i], error))
			return false;
	return check_arms(compare, request, error) && compare_choose_runs(compare, error);
}
