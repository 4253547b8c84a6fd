/* Opening, filling and closing the runs of a stream. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/ycsb_parse.h"

void *ycsb_grow(struct ycsb_parser *parser, void *array, size_t count, size_t size)
{
	/* Powers of two: an array of `count` elements is full exactly where count is one. */
	bool full = (count & (count - 1)) == 0;
	char *room = full ? realloc(array, (count ? 2 * count : 1) * size) : array;
	if (!room) {
		parser->out_of_memory = true;
		return NULL;
	}
	memset(room + count * size, 0, size);
	return room;
}

/* ---- operations -------------------------------------------------------------------------------------- */

void ycsb_operation_init(struct ycsb_operation *operation, struct text name)
{
	*operation = (struct ycsb_operation){
		.count = YCSB_UNKNOWN, .ops_s = NAN, .mean_us = NAN, .min_us = NAN, .max_us = NAN};
	text_copy(name, operation->name, sizeof operation->name);
}

void ycsb_operation_free(struct ycsb_operation *operation)
{
	free(operation->percentiles);
	free(operation->returns);
	free(operation->buckets);
	operation->percentiles = NULL;
	operation->returns = NULL;
	operation->buckets = NULL;
	operation->percentile_count = operation->return_count = operation->bucket_count = 0;
}

struct ycsb_operation *ycsb_operation_find(struct ycsb_run *run, struct text name)
{
	char cut[YCSB_NAME_BYTES];
	text_copy(name, cut, sizeof cut);
	return (struct ycsb_operation *)ycsb_find_operation(run, cut);
}

struct ycsb_operation *ycsb_operation_add(struct ycsb_parser *parser, struct ycsb_run *run, struct text name)
{
	if (run->operation_kinds >= YCSB_KINDS_MAX)
		return NULL;
	struct ycsb_operation *grown =
		ycsb_grow(parser, run->operations, run->operation_kinds, sizeof *run->operations);
	if (!grown)
		return NULL;
	run->operations = grown;
	struct ycsb_operation *operation = &grown[run->operation_kinds++];
	ycsb_operation_init(operation, name);
	return operation;
}

void ycsb_operation_percentile(struct ycsb_parser *parser, struct ycsb_operation *operation,
			       double percentile, double us)
{
	if (operation->percentile_count >= YCSB_ENTRIES_MAX)
		return;
	struct ycsb_percentile *grown = ycsb_grow(parser, operation->percentiles, operation->percentile_count,
						  sizeof *operation->percentiles);
	if (!grown)
		return;
	operation->percentiles = grown;
	grown[operation->percentile_count++] = (struct ycsb_percentile){percentile, us};
}

void ycsb_operation_return(struct ycsb_parser *parser, struct ycsb_operation *operation, struct text name,
			   uint64_t count)
{
	if (operation->return_count >= YCSB_ENTRIES_MAX)
		return;
	struct ycsb_return *grown =
		ycsb_grow(parser, operation->returns, operation->return_count, sizeof *operation->returns);
	if (!grown)
		return;
	operation->returns = grown;
	text_copy(name, grown[operation->return_count].name, sizeof grown->name);
	grown[operation->return_count++].count = count;
}

/* ---- what a command line says ------------------------------------------------------------------------ */

void ycsb_run_property(struct ycsb_run *run, struct text name, struct text value)
{
	uint64_t number;
	if (!text_count(value, &number))
		return;
	if (text_equals(name, "threadcount"))
		run->threads_asked = number;
	else if (text_equals(name, "recordcount"))
		run->record_count = number;
	else if (text_equals(name, "operationcount"))
		run->operation_count = number;
	else if (text_equals(name, "insertcount"))
		run->insert_count = number;
	else if (text_equals(name, "target"))
		run->target_ops_s = number > 0 ? (double)number : NAN;
	else if (text_equals(name, "maxexecutiontime"))
		run->most_s = number > 0 ? (double)number : NAN;
	else if (text_starts(name, "thread") || text_starts(name, "treadc"))
		run->threads_misnamed = number;
}

static void assignment(struct ycsb_run *run, struct text text)
{
	struct text name;
	if (text_take_field(&text, '=', &name))
		ycsb_run_property(run, name, text);
}

void ycsb_run_arguments(struct ycsb_run *run, struct text arguments)
{
	struct text word, previous = {0};
	/* Without -load or -t the workload's own dotransactions decides, and that is true. */
	run->phase = YCSB_PHASE_RUN;
	while (text_take_field(&arguments, ' ', &word)) {
		if (text_equals(word, "-load"))
			run->phase = YCSB_PHASE_LOAD;
		else if (text_equals(previous, "-threads"))
			ycsb_run_property(run, text_of("threadcount"), word);
		else if (text_equals(previous, "-target"))
			ycsb_run_property(run, text_of("target"), word);
		else if (text_equals(previous, "-p"))
			assignment(run, word);
		previous = word;
	}
}

/* ---- runs -------------------------------------------------------------------------------------------- */

void ycsb_run_free(struct ycsb_run *run)
{
	for (size_t i = 0; i < run->operation_kinds; i++)
		ycsb_operation_free(&run->operations[i]);
	free(run->operations);
	free(run->intervals);
}

static void reset_stream(struct ycsb_stream *stream)
{
	struct ycsb_stream fresh = {.json = stream->json, .rows = stream->rows, .hdr = stream->hdr};
	memcpy(fresh.client, stream->client, sizeof fresh.client);
	/* The block keeps its room, a table its headings, and a row half read (JSON) goes on. */
	fresh.block = stream->block;
	fresh.block_takes_s = stream->block_takes_s;
	memcpy(fresh.columns, stream->columns, sizeof fresh.columns);
	fresh.column_count = stream->column_count;
	fresh.go_row = stream->go_row;
	fresh.go_row_takes_s = stream->go_row_takes_s;
	fresh.go_row_open = stream->go_row_open;
	fresh.go_row_bad = stream->go_row_bad;
	free(stream->arguments);
	*stream = fresh;
}

void ycsb_run_begin(struct ycsb_parser *parser, struct ycsb_stream *stream, enum ycsb_format format)
{
	ycsb_run_close(parser, stream);
	stream->open = true;
	stream->run = (struct ycsb_run){
		.format = format,
		.throughput_ops_s = NAN,
		.runtime_ms = NAN,
		.threads_asked = YCSB_UNKNOWN,
		.threads_ended = YCSB_UNKNOWN,
		.record_count = YCSB_UNKNOWN,
		.operation_count = YCSB_UNKNOWN,
		.insert_count = YCSB_UNKNOWN,
		.threads_misnamed = YCSB_UNKNOWN,
		.target_ops_s = NAN,
		.most_s = NAN,
		.error_rate = NAN,
		.usual_interval_s = NAN,
		.last_operations = YCSB_UNKNOWN,
		.last_printed_s = NAN,
		.first_line = parser->line.number,
		.offset_bytes = parser->line.offset_bytes,
	};
	memcpy(stream->run.client, stream->client, sizeof stream->run.client);
}

void ycsb_run_need(struct ycsb_parser *parser, struct ycsb_stream *stream, enum ycsb_format format)
{
	if (!stream->open)
		ycsb_run_begin(parser, stream, format);
	if (stream->run.format == YCSB_FORMAT_NONE)
		stream->run.format = format;
}

static void hand_over(struct ycsb_parser *parser, struct ycsb_stream *stream)
{
	struct ycsb_file *file = parser->file;
	file->runs_dropped += file->run_count >= YCSB_RUNS_MAX;
	struct ycsb_run *grown = file->run_count < YCSB_RUNS_MAX
					 ? ycsb_grow(parser, file->runs, file->run_count, sizeof *grown)
					 : NULL;
	if (!grown) {
		ycsb_run_free(&stream->run);
		return;
	}
	file->runs = grown;
	grown[file->run_count++] = stream->run;
	if (file->format == YCSB_FORMAT_NONE)
		file->format = stream->run.format;
}

static void judge(struct ycsb_run *run)
{
	if (!run->complete)
		run->flags |= YCSB_FLAG_NO_SUMMARY;
	if (run->runtime_ms < 0)
		run->flags |= YCSB_FLAG_NEGATIVE_TIME;
	if (run->error_rate > 0.001)
		run->flags |= YCSB_FLAG_ERRORS;
	if (run->error_rate > 0.01)
		run->flags |= YCSB_FLAG_ERRORS_INVALID;
}

/* Whole milliseconds throughout mean that the tool rounded to them. */
static void mark_resolution(struct ycsb_operation *operation)
{
	bool any = false;
	for (size_t i = 0; i < operation->percentile_count; i++) {
		double us = operation->percentiles[i].us;
		if (fmod(us, 1000) != 0)
			return;
		any = any || us > 0;
	}
	if (any)
		operation->resolution_us = 1000;
}

void ycsb_run_close(struct ycsb_parser *parser, struct ycsb_stream *stream)
{
	struct ycsb_run *run = &stream->run;
	if (!stream->open)
		return;
	ycsb_hdr_close(parser, stream);
	ycsb_rows_close(parser, stream);
	ycsb_go_close(parser, stream);
	ycsb_java_close(stream);
	ycsb_series_close(stream);
	for (size_t i = 0; i < run->operation_kinds; i++) {
		mark_resolution(&run->operations[i]);
		ycsb_buckets_close(parser, &run->operations[i]);
	}
	judge(run);
	hand_over(parser, stream);
	reset_stream(stream);
}
