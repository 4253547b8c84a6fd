/* go-ycsb: blocks of rows, each counted from the start, become points of the series and at last the summary.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/ycsb_parse.h"

#define READ_MODIFY_WRITE "READ_MODIFY_WRITE"
#define MOST_S		  1e9 /* beyond this a time is a slip of the pen */

/* ---- what a block says ------------------------------------------------------------------------------- */

static bool ends_in_error(const char *name)
{
	size_t length = strlen(name);
	return length > 6 && strcmp(name + length - 6, "_ERROR") == 0;
}

const struct ycsb_operation *ycsb_go_block_find(const struct ycsb_stream *stream, const char *name)
{
	for (size_t i = 0; i < stream->block_count; i++)
		if (strcmp(stream->block[i].name, name) == 0)
			return &stream->block[i];
	return NULL;
}

/* Operations as the client was asked for: TOTAL holds the parts of a READ_MODIFY_WRITE and the whole as well.
 */
static uint64_t block_operations(const struct ycsb_stream *stream)
{
	const struct ycsb_operation *total = ycsb_go_block_find(stream, "TOTAL");
	const struct ycsb_operation *rmw = ycsb_go_block_find(stream, READ_MODIFY_WRITE);
	uint64_t sum = 0;
	for (size_t i = 0; i < stream->block_count; i++)
		if (!ends_in_error(stream->block[i].name) && &stream->block[i] != rmw)
			sum += stream->block[i].count;
	if (!total)
		return sum;
	uint64_t twice = rmw ? rmw->count : 0;
	return total->count > twice ? total->count - twice : 0;
}

/* The row that was counted longest: its clock started with the run. */
static size_t leading_row(const struct ycsb_stream *stream)
{
	size_t leading = 0;
	for (size_t i = 0; i < stream->block_count; i++) {
		if (strcmp(stream->block[i].name, "TOTAL") == 0)
			return i;
		if (stream->block[i].count > stream->block[leading].count)
			leading = i;
	}
	return leading;
}

/* Takes(s) has one decimal. The rate has one too, but of a large number: count over rate is the finer time.
 */
static double block_takes_s(const struct ycsb_stream *stream)
{
	size_t leading = leading_row(stream);
	const struct ycsb_operation *row = &stream->block[leading];
	double printed = stream->block_takes_s[leading];
	double finer = (double)row->count / row->ops_s;
	return row->ops_s >= 10 && fabs(finer - printed) < 0.06 ? finer : printed;
}

static void clear_block(struct ycsb_stream *stream)
{
	for (size_t i = 0; i < stream->block_count; i++)
		ycsb_operation_free(&stream->block[i]);
	stream->block_count = 0;
}

/* Everything counts from the first operation on, so the series starts there with nothing done. */
static void block_reading(struct ycsb_parser *parser, struct ycsb_stream *stream)
{
	struct ycsb_reading start = {0};
	struct ycsb_reading reading = {.elapsed_s = block_takes_s(stream),
				       .operations = block_operations(stream)};
	if (!(reading.elapsed_s >= 0 && reading.elapsed_s < MOST_S))
		return;
	reading.printed_s = (int64_t)reading.elapsed_s;
	if (!stream->has_series)
		ycsb_series_add(parser, stream, &start);
	/* A finer time may run ahead of a coarser one by a hair. */
	if (reading.elapsed_s > stream->last.elapsed_s)
		ycsb_series_add(parser, stream, &reading);
}

void ycsb_go_block_end(struct ycsb_parser *parser, struct ycsb_stream *stream)
{
	struct ycsb_run *run = &stream->run;
	if (stream->block_count == 0)
		return;
	block_reading(parser, stream);
	for (size_t i = 0; i < run->operation_kinds; i++)
		ycsb_operation_free(&run->operations[i]);
	free(run->operations);
	run->operations = stream->block;
	run->operation_kinds = stream->block_count;
	double takes_s = block_takes_s(stream);
	run->throughput_ops_s = takes_s > 0 ? (double)block_operations(stream) / takes_s : NAN;
	stream->block = NULL;
	free(stream->block_takes_s);
	stream->block_takes_s = NULL;
	stream->block_count = 0;
}

bool ycsb_go_block_add(struct ycsb_parser *parser, struct ycsb_stream *stream)
{
	if (stream->block_count >= YCSB_KINDS_MAX)
		return false;
	struct ycsb_operation *block =
		ycsb_grow(parser, stream->block, stream->block_count, sizeof *stream->block);
	if (!block)
		return false;
	stream->block = block;
	double *takes = ycsb_grow(parser, stream->block_takes_s, stream->block_count, sizeof *takes);
	if (!takes)
		return false;
	stream->block_takes_s = takes;
	stream->block[stream->block_count] = stream->go_row;
	stream->block_takes_s[stream->block_count++] = stream->go_row_takes_s;
	return true;
}

/* ---- close ------------------------------------------------------------------------------------------- */

static double failed_share(const struct ycsb_run *run)
{
	double failed = 0, all = 0;
	for (size_t i = 0; i < run->operation_kinds; i++) {
		const struct ycsb_operation *operation = &run->operations[i];
		if (strcmp(operation->name, "TOTAL") == 0 || strcmp(operation->name, READ_MODIFY_WRITE) == 0)
			continue;
		all += (double)operation->count;
		if (ends_in_error(operation->name))
			failed += (double)operation->count;
	}
	return all > 0 ? failed / all : NAN;
}

void ycsb_go_close(struct ycsb_parser *parser, struct ycsb_stream *stream)
{
	struct ycsb_run *run = &stream->run;
	if (run->format < YCSB_GO_TEXT || run->format > YCSB_GO_CSV) {
		clear_block(stream);
		return;
	}
	if (run->format != YCSB_GO_CSV) {
		bool has_final = stream->block_count > 0, finished = stream->go_state == GO_FINISHED;
		ycsb_go_block_end(parser, stream);
		run->complete = finished && has_final;
		if (finished && !has_final)
			run->flags |= YCSB_FLAG_LOST_TABLE;
	}
	run->error_rate = failed_share(run);
}
