#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <gsl/gsl_errno.h>

#include "analyzer/command.h"
#include "analyzer/compare_config.h"
#include "analyzer/compare_inputs.h"
#include "analyzer/compare_inside.h"
#include "analyzer/compare_json.h"
#include "analyzer/compare_knee.h"
#include "analyzer/compare_plot.h"
#include "analyzer/compare_rows.h"
#include "analyzer/compare_series.h"
#include "analyzer/compare_text.h"

struct compare_command {
	struct compare_request request;
	struct string_list prices, series, ftdc;
	const char *center, *metrics, *treatment, *fail_if;
	bool exclude_first, trim_warmup, paired, no_traces;
	double equivalence_percent;
	double offset_s; /* NaN: not given */
	bool json, csv, markdown;
	const char *output_path, *plot_prefix, *report_folder;
	double fail_percent; /* NaN: not asked */
};

static bool usage_error(struct error *error, const char *text, const char *given)
{
	return error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET, "%s, not '%s'", text, given);
}

/* ---- options ----------------------------------------------------------------------------------------- */

/* "--arm=LABEL=FILE" of a label and a file; NULL where memory is short. */
static char *arm_option(const char *label, size_t label_bytes, const char *file)
{
	char *text;
	return asprintf(&text, "--arm=%.*s=%s", (int)label_bytes, label, file) < 0 ? NULL : text;
}

/* What stands for argv[*i], which `label` is that of the arm before it (NULL: none). */
static char *spread_one(int argc, char **argv, int *i, const char *label)
{
	const char *argument = argv[*i];
	bool option = argument[0] == '-' && argument[1] != 0;
	if (strcmp(argument, "--arm") == 0 && *i + 1 < argc) {
		const char *given = argv[++*i];
		size_t length = strcspn(given, "=");
		return arm_option(given, length, given[length] ? given + length + 1 : "");
	}
	if (!option && label)
		return arm_option(label, strcspn(label, "="), argument);
	return argv[*i];
}

/*
 * Operands behind --arm LABEL=FILE are further files of that arm, so that a shell may spell them out. They
 * become options of their own; the new strings live as long as the process. NULL where memory is short.
 */
static char **spread_arms(int argc, char **argv, int *out_argc)
{
	char **out = calloc((size_t)argc + 1, sizeof *out);
	const char *label = NULL;
	*out_argc = 0;
	for (int i = 0; out && i < argc; i++) {
		char *spread = spread_one(argc, argv, &i, label);
		if (!spread) {
			free(out);
			return NULL;
		}
		if (strncmp(spread, "--arm=", 6) == 0)
			label = spread + 6;
		else if (spread[0] == '-' && spread[1] != 0)
			label = NULL;
		out[(*out_argc)++] = spread;
	}
	return out;
}

static bool take_center(struct compare_command *command, struct compare_settings *settings,
			struct error *error)
{
	for (enum compare_center c = 0; command->center && c < CENTERS; c++) {
		settings->center = c;
		if (strcmp(command->center, compare_center_names[c]) == 0)
			return true;
	}
	if (command->center)
		return usage_error(error, "--center takes median, mean or second-best", command->center);
	settings->center = CENTER_MEDIAN;
	return true;
}

static bool take_metrics(const struct compare_command *command, struct compare_settings *settings,
			 struct error *error)
{
	const char *names = command->metrics ? command->metrics : "throughput,mean,p95,p99";
	settings->metrics[METRIC_PER_JOULE] = command->series.count > 0;
	while (*names) {
		size_t length = strcspn(names, ","), m = 0;
		while (m < METRICS && (strlen(metric_infos[m].given) != length ||
				       strncmp(metric_infos[m].given, names, length) != 0))
			m++;
		if (m == METRICS)
			return usage_error(
				error,
				"--metrics takes throughput, mean, p50, p95, p99, p99.9, runtime, joule, "
				"joined by commas",
				names);
		settings->metrics[m] = true;
		names += length + (names[length] == ',');
	}
	return true;
}

static bool take_fail_if(struct compare_command *command, struct error *error)
{
	char *end;
	command->fail_percent = NAN;
	if (!command->fail_if)
		return true;
	if (strncmp(command->fail_if, "slower:", 7) != 0)
		return usage_error(error, "--fail-if takes slower:PERCENT", command->fail_if);
	command->fail_percent = strtod(command->fail_if + 7, &end);
	if (end == command->fail_if + 7 || *end ||
	    !(command->fail_percent >= 0 && command->fail_percent < 100))
		return usage_error(error, "--fail-if takes slower:PERCENT, from 0 to below 100",
				   command->fail_if);
	return true;
}

static bool take_options(struct compare_command *command, struct compare *compare, struct error *error)
{
	struct compare_settings *settings = &compare->settings;
	settings->exclude_first = command->exclude_first;
	settings->trim_warmup = command->trim_warmup;
	settings->paired = command->paired;
	settings->equivalence = command->equivalence_percent / 100;
	settings->treatment = command->treatment;
	if (!(settings->equivalence > 0 && settings->equivalence < 1))
		return error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET,
				 "--equivalence takes a percentage above 0 and below 100");
	if (!isnan(command->offset_s)) {
		command->request.ycsb.have_offset = true;
		command->request.ycsb.offset_s = (int64_t)command->offset_s;
	}
	if (command->json + command->csv + command->markdown > 1)
		return error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET,
				 "one of --json, --csv and --markdown, please (--report DIR writes all)");
	return take_center(command, settings, error) && take_metrics(command, settings, error) &&
	       take_fail_if(command, error) &&
	       (!command->plot_prefix || compare_plot_prefix(command->plot_prefix, error));
}

/* LABEL=USD, of an arm that is there. */
static bool take_price(struct compare *compare, const char *argument, struct error *error)
{
	const char *equals = strrchr(argument, '=');
	char *end = NULL;
	double usd = equals ? strtod(equals + 1, &end) : NAN;
	size_t length = equals ? (size_t)(equals - argument) : 0;
	if (!equals || end == equals + 1 || *end || !(usd > 0) || !isfinite(usd))
		return usage_error(error, "--price takes LABEL=USD_PER_HOUR", argument);
	for (size_t i = 0; i < compare->arm_count; i++)
		if (strlen(compare->arms[i].label) == length &&
		    strncmp(compare->arms[i].label, argument, length) == 0) {
			compare->arms[i].usd_per_hour = usd;
			return true;
		}
	return usage_error(error, "--price names no arm", argument);
}

static bool take_prices(struct compare *compare, const struct string_list *prices, struct error *error)
{
	for (size_t i = 0; i < prices->count; i++)
		if (!take_price(compare, prices->items[i], error))
			return false;
	for (size_t i = 0; prices->count > 0 && i < compare->arm_count; i++)
		if (isnan(compare->arms[i].usd_per_hour))
			return error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET,
					 "arm '%s' has no --price, and others have", compare->arms[i].label);
	return true;
}

/* ---- output ------------------------------------------------------------------------------------------ */

enum form { FORM_TEXT, FORM_MARKDOWN, FORM_CSV, FORM_JSON };

static bool write_form(const char *path, enum form form, const struct compare *compare, struct error *error)
{
	FILE *file = output_open(path, error);
	bool good = true;
	if (!file)
		return false;
	if (form == FORM_JSON) {
		json_t *object = compare_object(compare);
		good = json_write(file, object, error);
		json_decref(object);
	} else if (form == FORM_CSV) {
		compare_write_csv(file, compare);
	} else {
		good = compare_print(file, form == FORM_MARKDOWN, compare) || compare_out_of_memory(error);
	}
	return output_close(file, path, error) && good;
}

static bool write_report(const char *folder, const struct compare *compare, struct error *error)
{
	static const struct {
		enum form form;
		const char *name;
	} files[] = {{FORM_TEXT, "compare.txt"},
		     {FORM_MARKDOWN, "compare.md"},
		     {FORM_CSV, "compare.csv"},
		     {FORM_JSON, "compare.json"}};
	char path[4096 + 16];
	if (strlen(folder) >= 4000)
		return usage_error(error, "--report takes a shorter path", folder);
	if (mkdir(folder, 0777) && errno != EEXIST)
		return error_set(error, ERROR_INTERNAL, folder, ERROR_NO_OFFSET, "cannot make the folder: %s",
				 strerror(errno));
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, files[i].name);
		if (!write_form(path, files[i].form, compare, error))
			return false;
	}
	snprintf(path, sizeof path, "%s/compare", folder);
	return compare_plot(path, compare, error);
}

static bool write_all(const struct compare_command *command, const struct compare *compare,
		      struct error *error)
{
	enum form form = command->json	     ? FORM_JSON
			 : command->csv	     ? FORM_CSV
			 : command->markdown ? FORM_MARKDOWN
					     : FORM_TEXT;
	return write_form(command->output_path, form, compare, error) &&
	       (!command->plot_prefix || compare_plot(command->plot_prefix, compare, error)) &&
	       (!command->report_folder || write_report(command->report_folder, compare, error));
}

/* ---- --fail-if --------------------------------------------------------------------------------------- */

static bool is_slower(const struct ratio *ratio, enum verdict verdict, enum compare_metric metric,
		      double percent)
{
	double change = metric_infos[metric].lower_is_better ? ratio->ratio - 1 : 1 - ratio->ratio;
	return verdict == VERDICT_SLOWER && 100 * change > percent;
}

/* Shown to be slower, and by more than the percentage as measured. */
static bool fails(const struct compare *compare, double percent)
{
	for (size_t i = 0; !isnan(percent) && i < compare->row_count; i++) {
		const struct compare_row *row = &compare->rows[i];
		if (is_slower(&row->ratio, row->verdict, row->metric, percent))
			return true;
	}
	for (size_t i = 0; !isnan(percent) && i < compare->overall_count; i++) {
		const struct compare_overall *overall = &compare->overall[i];
		if (is_slower(&overall->ratio, overall->verdict, overall->metric, percent))
			return true;
	}
	return false;
}

/* ---- all of it --------------------------------------------------------------------------------------- */

static bool evaluate(const struct compare_command *command, struct compare *compare, struct error *error)
{
	for (size_t i = 0; i < command->series.count; i++)
		if (!compare_add_series(compare, command->series.items[i], error))
			return false;
	if (!take_prices(compare, &command->prices, error) || !compare_apply_series(compare, error) ||
	    !compare_config(compare, error))
		return false;
	if (!command->no_traces && !compare_read_traces(compare, error))
		return false;
	if (!compare_read_ftdc(compare, command->ftdc.items, command->ftdc.count, error))
		return false;
	if ((!command->no_traces || command->ftdc.count) && !compare_inside(compare, error))
		return false;
	return compare_rows(compare, error) && compare_verdicts(compare, error) &&
	       compare_knees(compare, error) && compare_prices(compare, error);
}

/* No output may take the place of an input. */
static bool spare_inputs(const struct compare_command *command, struct error *error)
{
	const struct compare_request *request = &command->request;
	size_t count = request->arms.count + request->operands.count + command->series.count, n = 0;
	const char **inputs = calloc(count + 1, sizeof *inputs);
	if (!inputs)
		return compare_out_of_memory(error);
	for (size_t i = 0; i < request->operands.count; i++)
		inputs[n++] = request->operands.items[i];
	for (size_t i = 0; i < request->arms.count; i++)
		if (strchr(request->arms.items[i], '='))
			inputs[n++] = strchr(request->arms.items[i], '=') + 1;
	for (size_t i = 0; i < command->series.count; i++)
		if (strchr(command->series.items[i], '='))
			inputs[n++] = strchr(command->series.items[i], '=') + 1;
	bool spared = output_spares(command->output_path, inputs, n, error);
	free(inputs);
	return spared;
}

static int run(struct compare_command *command)
{
	struct error error = {0};
	struct compare *compare = calloc(1, sizeof *compare);
	int status = ERROR_NONE;
	if (!compare)
		return compare_out_of_memory(&error) ? 0 : error_print(&error);
	gsl_set_error_handler_off(); /* its functions then return NaN */
	if (!take_options(command, compare, &error) || !spare_inputs(command, &error) ||
	    !compare_read(&command->request, compare, &error) || !evaluate(command, compare, &error) ||
	    !write_all(command, compare, &error))
		status = error_print(&error);
	else if (compare->inputs_left_out)
		status = ERROR_INPUT;
	else if (fails(compare, command->fail_percent))
		status = ERROR_NEGATIVE;
	compare_free(compare);
	free(compare);
	return status;
}

int cmd_compare(int argc, char **argv)
{
	struct compare_command command = {.offset_s = NAN, .equivalence_percent = 2};
	const struct command_option rows[] = {
		{"arm", 0, OPTION_LIST, &command.request.arms, "LABEL=FILE...",
		 "an arm and its files, folder, or CAMPAIGN:ARM; the first is the base"},
		{"base", 0, OPTION_STRING, &command.request.base, "LABEL",
		 "the base (default: the first arm)"},
		{"columns", 0, OPTION_STRING, &command.request.columns, "KEY=COLUMN,...",
		 "columns of summary CSVs that have other names"},
		{"center", 0, OPTION_STRING, &command.center, "WHICH", "median (default), mean, second-best"},
		{"metrics", 0, OPTION_STRING, &command.metrics, "NAME,...",
		 "throughput, mean, p50, p95, p99, p99.9, runtime (default: throughput,mean,p95,p99)"},
		{"exclude-first", 0, OPTION_FLAG, &command.exclude_first, NULL,
		 "leave out the first run of each arm at each level"},
		{"trim-warmup", 0, OPTION_FLAG, &command.trim_warmup, NULL,
		 "throughput behind the warm-up, found by change point on the status lines"},
		{"paired", 0, OPTION_FLAG, &command.paired, NULL,
		 "pair runs without blocks in the order of their time"},
		{"equivalence", 0, OPTION_SECONDS, &command.equivalence_percent, "PERCENT",
		 "what counts as no difference (default 2)"},
		{"treatment", 0, OPTION_STRING, &command.treatment, "KEY,...",
		 "settings that are meant to differ (default: what the campaign says)"},
		{"price", 0, OPTION_LIST, &command.prices, "LABEL=USD_PER_HOUR", "price of an arm's machine"},
		{"series", 0, OPTION_LIST, &command.series, "NAME=CSV",
		 "power, energy or any series beside the runs; the name's ending is its unit"},
		{"ftdc", 0, OPTION_LIST, &command.ftdc, "DIR",
		 "diagnostic.data of the server of all runs, or of members of its replica set (repeatable)"},
		{"no-traces", 0, OPTION_FLAG, &command.no_traces, NULL, "do not read the runs' traces"},
		{"fail-if", 0, OPTION_STRING, &command.fail_if, "slower:PERCENT",
		 "exit with 1 where an arm is shown to be slower by more"},
		{"json", 0, OPTION_FLAG, &command.json, NULL, "one JSON object"},
		{"csv", 0, OPTION_FLAG, &command.csv, NULL, "the rows as CSV"},
		{"markdown", 0, OPTION_FLAG, &command.markdown, NULL, "Markdown"},
		{"output", 'o', OPTION_STRING, &command.output_path, "FILE",
		 "write there instead of standard output"},
		{"plot", 0, OPTION_STRING, &command.plot_prefix, "PREFIX",
		 "write PREFIX.png and .svg: throughput and p95 latency against threads"},
		{"report", 0, OPTION_STRING, &command.report_folder, "DIR",
		 "write text, Markdown, CSV, JSON and plots there, too"},
		{"ycsb-offset", 0, OPTION_SECONDS, &command.offset_s, "S",
		 "seconds east of UTC of the client's clock (default: this machine's zone)"},
		{0},
	};
	const struct command_usage usage = {
		.name = "compare",
		.operands = "[CAMPAIGN | SUMMARY.csv]...",
		.purpose = "Two or more arms over repeated runs: ratios with intervals, what they support, "
			   "and what such a campaign\n"
			   "can show at all. Either a campaign's folder, or --arm LABEL=FILE... for each arm "
			   "(docs/compare.md).",
		.options = rows,
		.operands_min = 0,
		.operands_max = -1,
	};
	int status, count;
	char **spread = spread_arms(argc, argv, &count);
	if (!spread)
		return ERROR_INTERNAL;
	int first = command_parse(&usage, count, spread, &status);
	if (first >= 0) {
		command.request.operands =
			(struct string_list){(const char **)spread + first, (size_t)(count - first)};
		status = run(&command);
	}
	string_list_free(&command.request.arms);
	string_list_free(&command.prices);
	string_list_free(&command.series);
	string_list_free(&command.ftdc);
	return status;
}
