/*
 * Two files of one client: its status lines (what went to stderr) in one, its summaries (stdout) in the
 * other. They are what one file with both would be; taken for two clients, the run would have no throughput
 * over time and the series no summary.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/ycsb_parse.h"

enum halves { HALVES_BOTH, HALVES_SERIES, HALVES_SUMMARIES };

/* HALVES_BOTH: anything else than halves of one client. */
static enum halves halves_in(const struct ycsb_file *file)
{
	size_t series = 0, summaries = 0;
	for (size_t i = 0; i < file->run_count; i++) {
		const struct ycsb_run *run = &file->runs[i];
		bool java = run->format == YCSB_JAVA_TEXT || run->format == YCSB_JAVA_JSON;
		if (!java || strcmp(run->client, file->runs[0].client) != 0)
			return HALVES_BOTH;
		series += ycsb_has_series(run);
		summaries += ycsb_has_summary(run);
	}
	if (series == file->run_count && summaries == 0)
		return HALVES_SERIES;
	return summaries == file->run_count && series == 0 ? HALVES_SUMMARIES : HALVES_BOTH;
}

/* One after the other, each with its like. */
static bool all_fit(const struct ycsb_file *series, const struct ycsb_file *summaries)
{
	if (series->run_count == 0 || series->run_count != summaries->run_count ||
	    strcmp(series->runs[0].client, summaries->runs[0].client) != 0)
		return false;
	for (size_t i = 0; i < series->run_count; i++)
		if (!ycsb_halves_fit(&series->runs[i], &summaries->runs[i]))
			return false;
	return true;
}

/* "a/load" of "a/load.err" */
static size_t stem_length(const char *path)
{
	const char *name = strrchr(path, '/');
	const char *dot = strrchr(name ? name : path, '.');
	return dot ? (size_t)(dot - path) : strlen(path);
}

static bool same_stem(const struct ycsb_file *a, const struct ycsb_file *b)
{
	size_t length = stem_length(a->path);
	return length == stem_length(b->path) && strncmp(a->path, b->path, length) == 0;
}

/* The one file of summaries for these status lines: of the same name but for its ending, else the only one
 * that fits. NULL: none, or several. */
static struct ycsb_file *mate_of(const struct ycsb_file *series, struct ycsb_file *files, size_t count)
{
	struct ycsb_file *only = NULL;
	size_t fitting = 0;
	for (size_t i = 0; i < count; i++) {
		if (halves_in(&files[i]) != HALVES_SUMMARIES || !all_fit(series, &files[i]))
			continue;
		if (same_stem(series, &files[i]))
			return &files[i];
		only = &files[i];
		fitting++;
	}
	return fitting == 1 ? only : NULL;
}

/* Whether other status lines would fit those summaries too. */
static bool is_disputed(const struct ycsb_file *series, const struct ycsb_file *summaries,
			const struct ycsb_file *files, size_t count)
{
	if (same_stem(series, summaries))
		return false;
	for (size_t i = 0; i < count; i++)
		if (&files[i] != series && halves_in(&files[i]) == HALVES_SERIES &&
		    all_fit(&files[i], summaries))
			return true;
	return false;
}

/* The runs stay in the file of the status lines, whose lines they begin at. */
static void merge_files(struct ycsb_file *series, struct ycsb_file *summaries)
{
	for (size_t i = 0; i < series->run_count; i++) {
		struct ycsb_run *summary = &summaries->runs[i];
		summary->first_line = UINT64_MAX;
		ycsb_join(summary, &series->runs[i]);
		series->runs[i] = *summary;
	}
	summaries->run_count = 0;
	series->lines += summaries->lines;
	series->unread_lines += summaries->unread_lines;
	if (series->unread.line == 0)
		series->unread = summaries->unread;
	ycsb_file_free(summaries);
}

void ycsb_pair_files(struct ycsb_file *files, size_t *count)
{
	for (size_t i = 0; i < *count; i++) {
		if (halves_in(&files[i]) != HALVES_SERIES)
			continue;
		struct ycsb_file *mate = mate_of(&files[i], files, *count);
		if (mate && !is_disputed(&files[i], mate, files, *count))
			merge_files(&files[i], mate);
	}
	size_t kept = 0;
	for (size_t i = 0; i < *count; i++)
		if (files[i].path)
			files[kept++] = files[i];
	*count = kept;
}
