#include "analyzer/compare_series.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/array.h"
#include "analyzer/csv.h"
#include "analyzer/stats.h"

/* ---- what a name says -------------------------------------------------------------------------------- */

static const struct {
	const char *ending;
	enum series_meaning meaning;
	double factor;
} meanings[] = {
	{"_w", MEANS_POWER, 1},	   {"_mw", MEANS_POWER, 1e-3},	{"_uw", MEANS_POWER, 1e-6},
	{"_j", MEANS_ENERGY, 1},   {"_mj", MEANS_ENERGY, 1e-3}, {"_uj", MEANS_ENERGY, 1e-6},
	{"power", MEANS_POWER, 1}, {"energy", MEANS_ENERGY, 1}, {"_total", MEANS_COUNTER, 1},
};

static enum series_meaning meaning_of(const char *name, double *factor)
{
	size_t length = strlen(name);
	*factor = 1;
	for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
		size_t ending = strlen(meanings[i].ending);
		if (length < ending || strcasecmp(name + length - ending, meanings[i].ending) != 0)
			continue;
		*factor = meanings[i].factor;
		return meanings[i].meaning;
	}
	return MEANS_LEVEL;
}

/* ---- reading ----------------------------------------------------------------------------------------- */

struct columns {
	size_t time, value;
};

static bool is_number(const char *text, double *value)
{
	char *end;
	*value = strtod(text, &end);
	return end != text && *end == 0 && isfinite(*value);
}

/* False where the record is no header: its first field is a time. */
static bool take_header(const struct csv *csv, const char *name, struct columns *columns)
{
	int64_t time_ns;
	if (ycsb_parse_time(csv->fields[0], &time_ns))
		return false;
	for (size_t i = 0; i < csv->field_count; i++) {
		if (strcasecmp(csv->fields[i], "time") == 0)
			columns->time = i;
		if (strcasecmp(csv->fields[i], "value") == 0 || strcmp(csv->fields[i], name) == 0)
			columns->value = i;
	}
	return true;
}

static bool take_sample(struct compare_series *series, const struct csv *csv, const struct columns *columns,
			double factor, const char *path, struct error *error)
{
	struct series_sample sample;
	size_t needed = columns->time > columns->value ? columns->time : columns->value;
	if (csv->field_count <= needed || !ycsb_parse_time(csv->fields[columns->time], &sample.time_ns) ||
	    !is_number(csv->fields[columns->value], &sample.value))
		return error_set(error, ERROR_INPUT, path, csv->offset_bytes,
				 "line %llu: no time (seconds since 1970, or 2026-05-31T12:00:00Z) and value",
				 (unsigned long long)csv->line);
	if (!array_reserve(&series->samples, &series->capacity, series->count + 1, sizeof *series->samples))
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	sample.value *= factor;
	series->samples[series->count++] = sample;
	return true;
}

static int by_time(const void *left, const void *right)
{
	const struct series_sample *a = left, *b = right;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static bool read_samples(struct compare_series *series, struct csv *csv, double factor, const char *path,
			 struct error *error)
{
	struct columns columns = {0, 1};
	bool out_of_memory, first = true;
	while (csv_next(csv, &out_of_memory)) {
		bool header = first && take_header(csv, series->name, &columns);
		first = false;
		if (!header && !take_sample(series, csv, &columns, factor, path, error))
			return false;
	}
	if (out_of_memory)
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	if (series->count < 2)
		return error_set(error, ERROR_INPUT, path, 0, "fewer than two readings");
	qsort(series->samples, series->count, sizeof *series->samples, by_time);
	return true;
}

/* A new series of the argument's name; NULL, with `error` set. */
static struct compare_series *start_series(struct compare *compare, const char *argument, const char **path,
					   struct error *error)
{
	const char *equals = strchr(argument, '=');
	size_t length = equals ? (size_t)(equals - argument) : 0;
	if (length == 0 || length >= COMPARE_LABEL_BYTES || equals[1] == 0) {
		error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET,
			  "--series takes NAME=FILE.csv (the name at most %d bytes), not '%s'",
			  COMPARE_LABEL_BYTES - 1, argument);
		return NULL;
	}
	if (compare->series_count == COMPARE_SERIES_MAX) {
		error_set(error, ERROR_USAGE, NULL, ERROR_NO_OFFSET, "more than %d series",
			  COMPARE_SERIES_MAX);
		return NULL;
	}
	struct compare_series *series = &compare->series[compare->series_count++];
	*series = (struct compare_series){0};
	memcpy(series->name, argument, length);
	*path = equals + 1;
	return series;
}

bool compare_add_series(struct compare *compare, const char *argument, struct error *error)
{
	const char *path = "";
	struct csv csv = {0};
	double factor;
	struct compare_series *series = start_series(compare, argument, &path, error);
	if (!series)
		return false;
	series->meaning = meaning_of(series->name, &factor);
	csv.file = fopen(path, "r");
	if (!csv.file)
		return error_set(error, ERROR_INPUT, path, ERROR_NO_OFFSET, "cannot open: %s",
				 strerror(errno));
	bool fine = read_samples(series, &csv, factor, path, error);
	csv_free(&csv);
	fclose(csv.file);
	return fine;
}

/* ---- over a time ------------------------------------------------------------------------------------- */

static double seconds(int64_t from_ns, int64_t to_ns)
{
	return (double)(to_ns - from_ns) / 1e9;
}

static double usual_interval_s(const struct compare_series *series)
{
	double *lengths = malloc(series->count * sizeof *lengths);
	if (!lengths)
		return 0;
	for (size_t i = 0; i + 1 < series->count; i++)
		lengths[i] = seconds(series->samples[i].time_ns, series->samples[i + 1].time_ns);
	double median = stats_median(lengths, series->count - 1);
	free(lengths);
	return median;
}

/* The last reading at or before `time_ns`; the first one where there is none. */
static size_t reading_before(const struct compare_series *series, int64_t time_ns)
{
	size_t low = 0, high = series->count;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (series->samples[middle].time_ns <= time_ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static double value_at(const struct compare_series *series, size_t before, int64_t time_ns)
{
	const struct series_sample *a = &series->samples[before], *b = a + 1;
	if (before + 1 == series->count || b->time_ns == a->time_ns)
		return a->value;
	return a->value +
	       (b->value - a->value) * seconds(a->time_ns, time_ns) / seconds(a->time_ns, b->time_ns);
}

/* Area between the readings, by trapezoids; NaN where one is missing. */
static double area(const struct compare_series *series, int64_t start_ns, int64_t end_ns, double gap_s)
{
	double sum = 0;
	for (size_t i = reading_before(series, start_ns); i + 1 < series->count; i++) {
		int64_t from = series->samples[i].time_ns, to = series->samples[i + 1].time_ns;
		if (from >= end_ns)
			break;
		if (seconds(from, to) > gap_s)
			return NAN;
		from = from > start_ns ? from : start_ns;
		to = to < end_ns ? to : end_ns;
		sum += (value_at(series, i, from) + value_at(series, i, to)) / 2 * seconds(from, to);
	}
	return sum;
}

static double growth(const struct compare_series *series, int64_t start_ns, int64_t end_ns, double gap_s)
{
	const struct series_sample *samples = series->samples;
	size_t first = reading_before(series, start_ns), last = reading_before(series, end_ns);
	size_t steps = last + (end_ns > samples[last].time_ns ? 1 : 0); /* up to the reading that ends it */
	for (size_t i = first; i < steps && i + 1 < series->count; i++)
		if (samples[i + 1].value < samples[i].value ||
		    seconds(samples[i].time_ns, samples[i + 1].time_ns) > gap_s)
			return NAN;
	return value_at(series, last, end_ns) - value_at(series, first, start_ns);
}

double series_over(const struct compare_series *series, int64_t start_ns, int64_t end_ns)
{
	double length_s = seconds(start_ns, end_ns);
	double gap_s = fmax(SERIES_GAP_S, fmax(length_s / 10, 5 * usual_interval_s(series)));
	if (series->count < 2 || !(length_s > 0) || series->samples[0].time_ns > start_ns ||
	    series->samples[series->count - 1].time_ns < end_ns)
		return NAN;
	if (series->meaning == MEANS_ENERGY || series->meaning == MEANS_COUNTER)
		return growth(series, start_ns, end_ns, gap_s);
	double sum = area(series, start_ns, end_ns, gap_s);
	return series->meaning == MEANS_POWER ? sum : sum / length_s;
}

/* ---- runs -------------------------------------------------------------------------------------------- */

bool run_window(const struct compare_run *run, int64_t *start_ns, int64_t *end_ns)
{
	if (run->start_ns == YCSB_NO_TIME || run->end_ns == YCSB_NO_TIME)
		return false;
	*start_ns = run->start_ns + (int64_t)(run->trimmed_s * 1e9);
	*end_ns = run->end_ns;
	return *end_ns > *start_ns;
}

/* Operations over the whole window at the rate that the run is compared by. */
static bool add_per_joule(struct compare_run *run, double joules, double length_s)
{
	double operations = run_value(run, COMPARE_OVERALL, METRIC_THROUGHPUT, NULL) * length_s;
	return !(joules > 0) || isnan(operations) ||
	       run_add_value(run, COMPARE_OVERALL, METRIC_PER_JOULE, operations / joules, 0);
}

static bool apply(struct compare *compare, struct compare_series *series)
{
	bool energy = series->meaning == MEANS_POWER || series->meaning == MEANS_ENERGY;
	for (size_t i = 0; i < compare->run_count; i++) {
		struct compare_run *run = &compare->runs[i];
		int64_t start_ns, end_ns;
		if (run->use != RUN_USED || !run_window(run, &start_ns, &end_ns))
			continue;
		double over = series_over(series, start_ns, end_ns);
		series->runs_covered += isnan(over) ? 0 : 1;
		if (energy && isnan(run_value(run, COMPARE_OVERALL, METRIC_PER_JOULE, NULL)) &&
		    !add_per_joule(run, over, seconds(start_ns, end_ns)))
			return false;
	}
	return series->runs_covered > 0 ||
	       compare_remark(
		       compare, "series-elsewhere",
		       "series %s covers no run from start to end: either its times are of another day or "
		       "zone, or the runs have no clock",
		       series->name);
}

bool compare_apply_series(struct compare *compare, struct error *error)
{
	for (size_t i = 0; i < compare->series_count; i++)
		if (!apply(compare, &compare->series[i]))
			return compare_out_of_memory(error);
	return true;
}
