/* The rows as CSV. */
#include <math.h>

#include "analyzer/compare_json.h"
#include "analyzer/escape.h"

static void put_real(FILE *file, double value)
{
	fputc(',', file);
	if (isfinite(value))
		fprintf(file, "%.10g", value);
}

static void put_side(FILE *file, const struct compare *compare, const struct compare_side *side)
{
	fputc(',', file);
	escape_csv(file, compare->arms[side->arm].label);
	fprintf(file, ",%zu", side->n);
	put_real(file, side->center);
	put_real(file, side->min);
	put_real(file, side->max);
	put_real(file, side->error_rate);
	put_real(file, side->threads_busy);
}

static void put_row(FILE *file, const struct compare *compare, const struct compare_row *row)
{
	escape_csv(file, row->workload);
	fputc(',', file);
	if (row->threads != YCSB_UNKNOWN)
		fprintf(file, "%llu", (unsigned long long)row->threads);
	fputc(',', file);
	escape_csv(file, row->operation);
	fprintf(file, ",%s", metric_infos[row->metric].name);
	put_side(file, compare, &row->base);
	put_side(file, compare, &row->arm);
	put_real(file, row->ratio.ratio);
	put_real(file, row->ratio.low);
	put_real(file, row->ratio.high);
	put_real(file, row->center_ratio);
	put_real(file, row->ratio.p);
	put_real(file, row->p_adjusted);
	const char *method = ratio_method_name(row->ratio.method);
	fprintf(file, ",%s,%s,", method ? method : "", verdict_name(row->verdict));
	for (size_t i = 0; i < row->flag_count; i++)
		fprintf(file, "%s%s", i ? " " : "", row->flags[i]);
	put_real(file, 100 * row->reach.detectable);
	for (size_t i = 0; i < COMPARE_EFFECTS; i++) {
		fputc(',', file);
		if (row->reach.runs[i])
			fprintf(file, "%zu", row->reach.runs[i]);
	}
	fputc(',', file);
	escape_csv(file, row->text);
	fputc('\n', file);
}

void compare_write_csv(FILE *file, const struct compare *compare)
{
	fputs("workload,threads,operation,metric,base,base_n,base_center,base_min,base_max,base_error_rate,"
	      "base_threads_busy,arm,arm_n,arm_center,arm_min,arm_max,arm_error_rate,arm_threads_busy,ratio,"
	      "ratio_low,ratio_high,center_ratio,p,p_adjusted,method,verdict,flags,detectable_percent,"
	      "runs_needed_1_percent,runs_needed_2_percent,runs_needed_5_percent,text\n",
	      file);
	for (size_t i = 0; i < compare->row_count; i++)
		put_row(file, compare, &compare->rows[i]);
}
