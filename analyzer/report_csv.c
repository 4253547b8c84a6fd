#include "analyzer/report_csv.h"

#include <inttypes.h>
#include <math.h>

#include "analyzer/escape.h"
#include "analyzer/format.h"
#include "analyzer/hugeblocks_output.h"

/* Opens directory/name, lets `write` fill it, closes it. */
static bool write_table(const struct report *report, const char *name,
			void (*write)(FILE *file, const struct report *report), struct error *error)
{
	char path[REPORT_PATH_BYTES];
	if (!report_path(report, name, path, error))
		return false;
	FILE *file = output_open(path, error);
	if (!file)
		return false;
	write(file, report);
	return output_close(file, path, error);
}

static void put_value(FILE *file, double value)
{
	if (isfinite(value))
		fprintf(file, ",%.10g", value);
	else
		fputc(',', file);
}

/* ",t_s,time_utc,interval_s" */
static void put_time(FILE *file, const struct report *report, int64_t start_ns, int64_t end_ns)
{
	char utc[FORMAT_TEXT_BYTES];
	fprintf(file, ",%.6f,%s,%.6f", report_seconds(report, end_ns), format_utc(utc, end_ns),
		(double)(end_ns - start_ns) / 1e9);
}

/* Traces and servers have no series in common but the client's. */
static bool has_column(enum series_id id, bool server)
{
	return series_infos[id].from_ycsb || series_from_server(id) == server;
}

static void write_rows(FILE *file, const struct report *report, bool server)
{
	fputs("trace,t_s,time_utc,interval_s", file);
	for (size_t i = 0; i < SERIES_COUNT; i++)
		if (has_column((enum series_id)i, server))
			fprintf(file, ",%s", series_infos[i].name);
	fputc('\n', file);
	for (size_t t = 0; t < report->model.timeline_count; t++) {
		const struct timeline *timeline = &report->model.timelines[t];
		for (size_t r = 0; r < timeline->row_count && timeline->server == server; r++) {
			const struct model_row *row = &timeline->rows[r];
			fprintf(file, "%zu", t + 1);
			put_time(file, report, row->start_ns, row->end_ns);
			for (size_t i = 0; i < SERIES_COUNT; i++)
				if (has_column((enum series_id)i, server))
					put_value(file, row->values[i]);
			fputc('\n', file);
		}
	}
}

static void write_series(FILE *file, const struct report *report)
{
	write_rows(file, report, false);
}

static void write_servers(FILE *file, const struct report *report)
{
	write_rows(file, report, true);
}

static void write_aligned(FILE *file, const struct report *report)
{
	const struct aligned *aligned = &report->aligned;
	fprintf(file, "segment,t_s,time_utc,interval_s,%s,%s,%s", series_infos[SERIES_THROUGHPUT].name,
		series_infos[SERIES_LATENCY_MEAN].name, series_infos[SERIES_LATENCY_P99].name);
	for (size_t i = 0; i < aligned->series_count; i++) {
		const struct aligned_series *series = &aligned->series[i];
		fprintf(file, ",%s", series_infos[series->series].name);
		if (series->timeline > 0)
			fprintf(file, ".%zu", series->timeline + 1);
	}
	fputc('\n', file);
	for (size_t s = 0; s < report->alignment.segment_count; s++) {
		const struct segment *segment = &report->alignment.segments[s];
		for (size_t i = 0; i < segment->count; i++) {
			escape_csv(file, segment->name);
			put_time(file, report, segment->grid[i].start_ns, segment->grid[i].end_ns);
			put_value(file, segment->throughput[i]);
			put_value(file, segment->latency_mean_us[i]);
			put_value(file, segment->latency_p99_us[i]);
			for (size_t j = 0; j < aligned->series_count; j++) {
				const double *values = aligned->series[j].values[s];
				put_value(file, values ? values[i] : NAN);
			}
			fputc('\n', file);
		}
	}
}

static void write_correlations(FILE *file, const struct report *report)
{
	const struct aligned *aligned = &report->aligned;
	fputs("trace,series,segment,verdict,spearman,pearson,lag_s,n_effective,p,p_adjusted,spearman_lag0,"
	      "pearson_lag0,"
	      "intervals,lags_tried,segments,lag_max_s\n",
	      file);
	for (size_t i = 0; i < aligned->results.count; i++) {
		const struct correlate_result *row = &aligned->results.rows[i];
		fprintf(file, "%zu,%s,", aligned->series[row->series_index].timeline + 1, row->series);
		escape_csv(file, row->segment ? row->segment : "pooled");
		fputc(',', file);
		escape_csv(file, correlate_verdict_text(row->verdict));
		const double values[] = {row->spearman,	     row->pearson,     row->lag_s,
					 row->n_effective,   row->p,	       row->p_adjusted,
					 row->spearman_lag0, row->pearson_lag0};
		for (size_t v = 0; v < sizeof values / sizeof *values; v++)
			put_value(file, values[v]);
		fprintf(file, ",%zu,%zu,%zu", row->count, row->lags_tried, row->segments);
		put_value(file, row->lag_max_s);
		fputc('\n', file);
	}
}

static void write_sizes(FILE *file, const struct report *report)
{
	fputs("trace,up_to_bytes,allocs,alloc_bytes,estimated\n", file);
	for (size_t t = 0; t < report->model.timeline_count; t++) {
		const struct timeline *timeline = &report->model.timelines[t];
		for (unsigned i = 0; i < SIZE_CLASSES; i++) {
			if (!(timeline->classes.allocs[i] > 0))
				continue;
			fprintf(file, "%zu,", t + 1);
			if (i < SIZE_CLASSES - 1)
				fprintf(file, "%" PRIu64, size_class_upper_bytes(i));
			put_value(file, timeline->classes.allocs[i]);
			put_value(file, timeline->classes.alloc_bytes[i]);
			fprintf(file, ",%d\n", timeline->estimated);
		}
	}
}

static void write_sites(FILE *file, const struct report *report)
{
	fputs("trace,t_s,time_utc,interval_s,live_bytes,huge_bytes,site\n", file);
	for (size_t t = 0; t < report->model.timeline_count; t++) {
		const struct timeline *timeline = &report->model.timelines[t];
		for (size_t r = 0; r < timeline->row_count; r++) {
			const struct model_row *row = &timeline->rows[r];
			for (uint32_t i = 0; i < row->site_count; i++) {
				fprintf(file, "%zu", t + 1);
				put_time(file, report, row->start_ns, row->end_ns);
				put_value(file, row->sites[i].live_bytes);
				put_value(file, row->sites[i].huge_bytes);
				fputc(',', file);
				escape_csv(file, timeline->sites[row->sites[i].site]);
				fputc('\n', file);
			}
		}
	}
}

/* ---- memory of the allocator, by owner and by size class ---------------------------------------------- */

static void put_look(FILE *file, const struct report *report, const struct stage *stage,
		     const struct hugeblocks_look *look)
{
	char utc[FORMAT_TEXT_BYTES];
	int64_t at_ns = trace_realtime_ns(stage->trace, look->time);
	fprintf(file, "%zu,%.6f,%s,", stage->timeline + 1, report_seconds(report, at_ns),
		format_utc(utc, at_ns));
}

static void put_interval(FILE *file, const struct interval *interval, bool exact)
{
	put_value(file, interval->value);
	put_value(file, exact ? NAN : interval->low);
	put_value(file, exact ? NAN : interval->high);
}

static void write_owners(FILE *file, const struct report *report, const struct stage *stage,
			 const struct hugeblocks_look *look, bool exact)
{
	for (unsigned kind = 0; kind < OWNER_KINDS; kind++) {
		const struct hugeblocks_owner owner = hugeblocks_owner(look, (enum owner_kind)kind);
		if (!owner.resident_bytes)
			continue;
		put_look(file, report, stage, look);
		fprintf(file, "%s,", owner_kind_name((enum owner_kind)kind));
		put_value(file, (double)owner.resident_bytes);
		put_value(file, (double)owner.huge_bytes);
		put_value(file, fmin(owner.live_bytes.value, (double)owner.resident_bytes));
		put_interval(file, &owner.unused_bytes, exact);
		put_interval(file, &owner.bloat_bytes, exact);
		fputc('\n', file);
	}
}

/* Full mode: in sample mode holes have no class. */
static void write_classes(FILE *file, const struct report *report, const struct stage *stage,
			  const struct hugeblocks_look *look)
{
	for (unsigned i = 0; i < HOLE_CLASSES; i++) {
		const uint64_t *holes = look->sweep.hole_bytes[i];
		char name[HOLE_NAME_BYTES];
		if (!holes[BACKING_SMALL] && !holes[BACKING_HUGE])
			continue;
		put_look(file, report, stage, look);
		fputc(',', file);
		escape_csv(file, hole_class_name(i, name));
		fputs(",,", file);
		put_value(file, i < SIZE_CLASSES ? look->sweep.live_bytes[i][BACKING_SMALL].value +
							   look->sweep.live_bytes[i][BACKING_HUGE].value
						 : 0);
		put_value(file, (double)(holes[BACKING_SMALL] + holes[BACKING_HUGE]));
		fputs(",,", file);
		put_value(file, (double)holes[BACKING_HUGE]);
		fputs(",,\n", file);
	}
}

static void write_unused(FILE *file, const struct report *report)
{
	fputs("trace,t_s,time_utc,owner,size_class,resident_bytes,huge_bytes,live_bytes,unused_bytes,"
	      "unused_bytes_low,unused_bytes_high,bloat_bytes,bloat_bytes_low,bloat_bytes_high\n",
	      file);
	for (size_t i = 0; i < report->model.stage_count; i++) {
		const struct stage *stage = &report->model.stages[i];
		bool exact = hugeblocks_exact(stage->blocks);
		size_t count;
		const struct hugeblocks_look *looks = hugeblocks_kept(stage->blocks, &count);
		for (size_t j = 0; !stage->wrapped && j < count; j++) {
			write_owners(file, report, stage, &looks[j], exact);
			if (exact)
				write_classes(file, report, stage, &looks[j]);
		}
	}
}

bool report_csv_write(const struct report *report, struct error *error)
{
	if (report->server_count && !write_table(report, "server.csv", write_servers, error))
		return false;
	return write_table(report, "series.csv", write_series, error) &&
	       write_table(report, "aligned.csv", write_aligned, error) &&
	       write_table(report, "correlations.csv", write_correlations, error) &&
	       write_table(report, "sizes.csv", write_sizes, error) &&
	       write_table(report, "sites.csv", write_sites, error) &&
	       write_table(report, "unused.csv", write_unused, error);
}
