/*
 * What a report is made of. cmd_report.c fills it in; report_{text,html,csv,plot,json}.c each write one form
 * of it into the report's directory.
 */
#ifndef MTRACE_REPORT_H
#define MTRACE_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzer/align.h"
#include "analyzer/error.h"
#include "analyzer/findings.h"
#include "analyzer/ftdc_summary.h"
#include "analyzer/model.h"
#include "analyzer/ycsb.h"

/* A figure that was drawn: plots/<name>.png, plots/<name>.svg, and the script plots/<name>.gp that drew both.
 */
struct figure_file {
	char name[40];
	char caption[160];
};

/* A server's own data. */
struct report_server {
	const char *path;
	json_t *summary; /* as `ftdc --json` has it */
	bool overlaps;	 /* has samples in the time of the traces */
	bool damaged;
	enum ftdc_per_cpu per_cpu; /* of its newest sample */
};

#define REPORT_FIGURES_MAX 256

/* Paths from the command line. */
struct input_list {
	const char *const *paths;
	size_t count;
};

struct report {
	const char *directory;
	/* Traces, the client's files, diagnostic data: no output may overwrite one. */
	struct input_list inputs[3];
	struct report_server *servers;
	size_t server_count;
	bool inputs_left_out; /* one or more could not be read; findings name them */
	struct model model;
	struct ycsb_file *files;
	size_t file_count;
	struct ycsb_options ycsb_options;
	struct alignment alignment;
	struct aligned aligned;
	struct finding_list findings;
	struct report_percpu *percpu;	    /* report_percpu.h; by stage */
	double *lock_atomics_per_operation; /* by stage: of the client's; NaN where not known */
	struct figure_file *figures;	    /* in the order of the report */
	size_t figure_count;
	char plots_missing[256]; /* why there are none; empty where there are */
};

#define REPORT_PATH_BYTES 4096

/* directory/name, for output_open(). False with `error` set where it is too long, or is an input. */
bool report_path(const struct report *report, const char *name, char path[REPORT_PATH_BYTES],
		 struct error *error);

/*
 * The pooled rows of the correlations that have numbers, best supported first: indices into
 * aligned.results.rows go into `order` (room for all rows). Returns their number.
 */
size_t report_pooled_order(const struct report *report, size_t *order);

/* "Lags tried: up to 4 s either way.": what the correlations that have numbers looked at. Returns `out`. */
const char *report_lags_text(const struct report *report, char *out, size_t bytes);

/* "rss_bytes"; "rss_bytes [2]" where there are several processes, whose labels begin so. Returns `out`. */
const char *report_series_label(const struct report *report, const struct correlate_result *row, char *out,
				size_t bytes);

/* How the numbers came about: one paragraph, for the end of text and page. */
extern const char report_method[];

/* Seconds since the start of the report's first trace. */
static inline double report_seconds(const struct report *report, int64_t unix_ns)
{
	return (double)(unix_ns - report->model.start_ns) / 1e9;
}

#endif
