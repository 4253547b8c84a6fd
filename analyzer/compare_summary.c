#include "analyzer/compare_summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/csv.h"
#include "analyzer/join.h"

#define NO_COLUMN SIZE_MAX

/* Columns other than those of metrics. */
enum column {
	COLUMN_ARM,
	COLUMN_FILE,
	COLUMN_RUN,
	COLUMN_CLIENT,
	COLUMN_REPETITION,
	COLUMN_WORKLOAD,
	COLUMN_PHASE,
	COLUMN_THREADS,
	COLUMN_BLOCK,
	COLUMN_OPERATION,
	COLUMN_OPERATIONS,
	COLUMN_ERROR_RATE,
	COLUMN_VALID,
	COLUMNS,
};

static const char *const column_names[COLUMNS] = {
	"arm",	   "file",  "run",	 "client",     "repetition", "workload", "phase",
	"threads", "block", "operation", "operations", "error_rate", "valid",
};

/* What tells the rows of one run from those of others. */
static const enum column identity[] = {COLUMN_FILE,	COLUMN_RUN,   COLUMN_CLIENT,  COLUMN_REPETITION,
				       COLUMN_WORKLOAD, COLUMN_PHASE, COLUMN_THREADS, COLUMN_BLOCK};

struct table {
	struct compare *compare;
	const char *path;
	const size_t *arm;
	struct csv csv;
	size_t columns[COLUMNS]; /* in the file; NO_COLUMN */
	size_t values[METRICS];
	double factors[METRICS]; /* of what stands there to the metric's unit */
	char **identities;	 /* of the runs from first_run on */
	size_t first_run;
};

/* ---- header ------------------------------------------------------------------------------------------ */

static bool has_ending(const char *path, const char *ending)
{
	size_t length = strlen(path), wanted = strlen(ending);
	return length > wanted && strcasecmp(path + length - wanted, ending) == 0;
}

bool summary_is(const char *path)
{
	char line[256] = "";
	if (!has_ending(path, ".csv") && !has_ending(path, ".tsv"))
		return false;
	FILE *file = fopen(path, "r");
	if (!file)
		return false;
	bool read = fgets(line, sizeof line, file) != NULL;
	fclose(file);
	/* go-ycsb's measurementtype=csv: a row an operation. */
	return !read || strncmp(line, "operation,timestamp", 19) != 0;
}

static size_t find_field(const struct csv *csv, const char *name, size_t length)
{
	for (size_t i = 0; i < csv->field_count; i++)
		if (strlen(csv->fields[i]) == length && strncmp(csv->fields[i], name, length) == 0)
			return i;
	return NO_COLUMN;
}

/* The metric that `key` names, in its own unit or in ms or s. */
static enum compare_metric metric_of(const char *key, size_t length, double *factor)
{
	static const struct {
		const char *unit;
		double factor;
	} units[] = {{"_us", 1}, {"_ms", 1e3}, {"_s", 1e6}};
	for (enum compare_metric m = 0; m < METRICS; m++) {
		const char *name = metric_infos[m].name;
		size_t stem = strlen(name) - (metric_infos[m].latency ? 3 : 0);
		*factor = 1;
		if (length == strlen(name) && strncmp(key, name, length) == 0)
			return m;
		for (size_t u = 0; metric_infos[m].latency && u < 3; u++) {
			*factor = units[u].factor;
			if (length == stem + strlen(units[u].unit) && strncmp(key, name, stem) == 0 &&
			    strncmp(key + stem, units[u].unit, length - stem) == 0)
				return m;
		}
	}
	return METRICS;
}

/* Makes `key` stand for the field; false where there is no such key. */
static bool set_column(struct table *table, const char *key, size_t length, size_t field)
{
	double factor;
	enum compare_metric metric = metric_of(key, length, &factor);
	if (metric != METRICS) {
		table->values[metric] = field;
		table->factors[metric] = factor;
		return true;
	}
	for (size_t i = 0; i < COLUMNS; i++) {
		if (strlen(column_names[i]) != length || strncmp(column_names[i], key, length) != 0)
			continue;
		table->columns[i] = field;
		return true;
	}
	return false;
}

static bool take_mapping(struct table *table, const char *pair, size_t length, struct error *error)
{
	const char *equals = memchr(pair, '=', length);
	if (!equals || equals == pair)
		return error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET,
				 "--columns takes KEY=COLUMN,..., not '%.*s'", (int)length, pair);
	size_t key = (size_t)(equals - pair), field = find_field(&table->csv, equals + 1, length - key - 1);
	if (field == NO_COLUMN)
		return error_set(error, ERROR_INPUT, table->path, 0, "there is no column '%.*s'",
				 (int)(length - key - 1), equals + 1);
	if (!set_column(table, pair, key, field))
		return error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET,
				 "--columns: '%.*s' is nothing that is compared; the keys are in "
				 "docs/compare.md",
				 (int)key, pair);
	return true;
}

static bool take_header(struct table *table, const char *mapping, struct error *error)
{
	for (size_t i = 0; i < COLUMNS; i++)
		table->columns[i] = NO_COLUMN;
	for (size_t i = 0; i < METRICS; i++)
		table->values[i] = NO_COLUMN;
	for (size_t i = 0; i < table->csv.field_count; i++)
		set_column(table, table->csv.fields[i], strlen(table->csv.fields[i]), i);
	while (mapping && *mapping) {
		size_t length = strcspn(mapping, ",");
		if (!take_mapping(table, mapping, length, error))
			return false;
		mapping += length + (mapping[length] == ',');
	}
	for (size_t i = 0; i < METRICS; i++)
		if (table->values[i] != NO_COLUMN)
			return table->arm || table->columns[COLUMN_ARM] != NO_COLUMN ||
			       error_set(error, ERROR_INPUT, table->path, 0,
					 "no column 'arm' says which arm a row is of: --columns "
					 "arm=COLUMN, or --arm LABEL=%s",
					 table->path);
	return error_set(error, ERROR_INPUT, table->path, 0,
			 "no column holds anything to compare (throughput_ops_s, mean_us, ...): name them "
			 "with --columns");
}

/* ---- fields ------------------------------------------------------------------------------------------ */

static const char *field_of(const struct table *table, size_t column)
{
	return column < table->csv.field_count ? table->csv.fields[column] : "";
}

static const char *text_of(const struct table *table, enum column column)
{
	return field_of(table, table->columns[column]);
}

/* NaN where the field is empty or not there. */
static bool number_of(const struct table *table, size_t column, double *value, struct error *error)
{
	const char *text = field_of(table, column);
	char *end;
	*value = NAN;
	if (*text == 0)
		return true;
	errno = 0;
	*value = strtod(text, &end);
	while (*end == ' ')
		end++;
	bool number = end != text && *end == 0 && isfinite(*value);
	if (number && *value >= 0)
		return true;
	return error_set(
		error, ERROR_INPUT, table->path, table->csv.offset_bytes,
		number ? "line %llu: '%.40s' is below 0; leave the field empty where nothing is known"
		       : "line %llu: '%.40s' is no number",
		(unsigned long long)table->csv.line, text);
}

static bool count_of(const struct table *table, enum column column, uint64_t *value, struct error *error)
{
	double number;
	if (!number_of(table, table->columns[column], &number, error))
		return false;
	if (isnan(number))
		return true;
	if (number != floor(number) || number >= 1e15)
		return error_set(error, ERROR_INPUT, table->path, table->csv.offset_bytes,
				 "line %llu: '%.40s' is no whole number", (unsigned long long)table->csv.line,
				 text_of(table, column));
	*value = (uint64_t)number;
	return true;
}

/* ---- rows -------------------------------------------------------------------------------------------- */

static char *identity_of(const struct table *table, size_t arm)
{
	char *text;
	if (asprintf(&text, "%zu", arm) < 0)
		return NULL;
	for (size_t i = 0; i < sizeof identity / sizeof *identity; i++)
		if (!join(&text, "\x1f", text_of(table, identity[i])))
			return NULL;
	return text;
}

static const char *operation_of(const struct table *table)
{
	const char *name = text_of(table, COLUMN_OPERATION);
	return *name ? name : COMPARE_OVERALL;
}

static bool has_operation(const struct compare_run *run, const char *operation)
{
	for (size_t i = 0; i < run->value_count; i++)
		if (strcmp(run->values[i].operation, operation) == 0)
			return true;
	return false;
}

/* The run that this row belongs to; NULL where it begins a new one. */
static struct compare_run *find_run(const struct table *table, const char *wanted)
{
	for (size_t i = table->compare->run_count; i-- > table->first_run;)
		if (strcmp(table->identities[i - table->first_run], wanted) == 0 &&
		    !has_operation(&table->compare->runs[i], operation_of(table)))
			return &table->compare->runs[i];
	return NULL;
}

static bool fill_run(const struct table *table, struct compare_run *run, struct error *error)
{
	if (asprintf(&run->source, "%s, line %llu", table->path, (unsigned long long)table->csv.line) < 0)
		run->source = NULL;
	run->workload = strdup(text_of(table, COLUMN_WORKLOAD));
	run->settings = json_object();
	if (!run->source || !run->workload || !run->settings)
		return compare_out_of_memory(error);
	run->use = strcmp(text_of(table, COLUMN_PHASE), "load") == 0 ? RUN_LOAD : RUN_USED;
	return count_of(table, COLUMN_THREADS, &run->threads, error) &&
	       count_of(table, COLUMN_BLOCK, &run->block, error);
}

static struct compare_run *add_run(struct table *table, size_t arm, char *wanted, struct error *error)
{
	size_t index = table->compare->run_count - table->first_run;
	char **grown = realloc(table->identities, (index + 1) * sizeof *grown);
	struct compare_run *run = grown ? compare_add_run(table->compare, arm) : NULL;
	if (grown)
		table->identities = grown;
	if (!run) {
		free(wanted);
		compare_out_of_memory(error);
		return NULL;
	}
	table->identities[index] = wanted;
	return fill_run(table, run, error) ? run : NULL;
}

static bool take_overall(const struct table *table, struct compare_run *run, struct error *error)
{
	double valid;
	if (!number_of(table, table->columns[COLUMN_OPERATIONS], &run->operations, error) ||
	    !number_of(table, table->columns[COLUMN_ERROR_RATE], &run->error_rate, error) ||
	    !number_of(table, table->columns[COLUMN_VALID], &valid, error))
		return false;
	run->mean_us = run_value(run, COMPARE_OVERALL, METRIC_MEAN, NULL);
	if (valid == 0 && run->use == RUN_USED) {
		run->use = RUN_INVALID;
		return run_add_finding(run, "not-valid", YCSB_INVALID,
				       "its table says that it is not valid") ||
		       compare_out_of_memory(error);
	}
	return true;
}

static bool take_values(const struct table *table, struct compare_run *run, struct error *error)
{
	const char *operation = operation_of(table);
	bool overall = strcmp(operation, COMPARE_OVERALL) == 0;
	for (enum compare_metric m = 0; m < METRICS; m++) {
		double value;
		if (!number_of(table, table->values[m], &value, error))
			return false;
		/* Only of all operations together it is more than the workload's mix. */
		if ((m == METRIC_THROUGHPUT || m == METRIC_RUNTIME) && !overall)
			continue;
		if (!run_add_value(run, operation, m, value * table->factors[m], 0))
			return compare_out_of_memory(error);
	}
	return !overall || take_overall(table, run, error);
}

static bool is_failed(const char *operation)
{
	enum ycsb_operation_class class = ycsb_classify(operation);
	return class == YCSB_OP_FAILED || class == YCSB_OP_NONE;
}

static bool take_row(struct table *table, struct error *error)
{
	size_t arm = table->arm ? *table->arm : 0;
	const char *operation = operation_of(table);
	if (strcmp(operation, COMPARE_OVERALL) != 0 && is_failed(operation))
		return true;
	if (!table->arm && !compare_arm(table->compare, text_of(table, COLUMN_ARM), &arm, error))
		return false;
	char *wanted = identity_of(table, arm);
	if (!wanted)
		return compare_out_of_memory(error);
	struct compare_run *run = find_run(table, wanted);
	if (run)
		free(wanted);
	else
		run = add_run(table, arm, wanted, error);
	return run && take_values(table, run, error);
}

static bool read_table(struct table *table, const char *columns, struct error *error)
{
	bool out_of_memory;
	if (!csv_next(&table->csv, &out_of_memory))
		return out_of_memory ? compare_out_of_memory(error)
				     : error_set(error, ERROR_INPUT, table->path, 0, "the file is empty");
	if (!take_header(table, columns, error))
		return false;
	while (csv_next(&table->csv, &out_of_memory))
		if (!take_row(table, error))
			return false;
	if (table->csv.cut_off)
		return error_set(error, ERROR_INPUT, table->path, table->csv.offset_bytes,
				 "line %llu: the file ends within quotes that open there",
				 (unsigned long long)table->csv.line);
	return !out_of_memory || compare_out_of_memory(error);
}

bool summary_read(struct compare *compare, const char *path, const char *columns, const size_t *arm,
		  struct error *error)
{
	struct table table = {.compare = compare, .path = path, .arm = arm, .first_run = compare->run_count};
	table.csv.file = fopen(path, "r");
	if (!table.csv.file)
		return error_set(error, ERROR_INPUT, path, ERROR_NO_OFFSET, "cannot open: %s",
				 strerror(errno));
	bool fine = read_table(&table, columns, error);
	for (size_t i = table.first_run; i < compare->run_count; i++)
		free(table.identities[i - table.first_run]);
	free(table.identities);
	csv_free(&table.csv);
	fclose(table.csv.file);
	return fine;
}
