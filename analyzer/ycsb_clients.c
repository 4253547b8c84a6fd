#include "analyzer/ycsb_clients.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/ycsb_audit.h"
#include "analyzer/ycsb_parse.h"

#define UNEVEN_SHARE 0.05 /* of the run time, by which clients may differ */

/* ---- operations -------------------------------------------------------------------------------------- */

static uint64_t sum_known(uint64_t a, uint64_t b)
{
	return a == YCSB_UNKNOWN || b == YCSB_UNKNOWN ? YCSB_UNKNOWN : a + b;
}

static double weighted(double a, double weight_a, double b, double weight_b)
{
	if (!(weight_a > 0) || !(weight_b > 0))
		return weight_a > 0 ? a : b;
	return (a * weight_a + b * weight_b) / (weight_a + weight_b);
}

static double count_of(const struct ycsb_operation *operation)
{
	return operation->count == YCSB_UNKNOWN ? 0 : (double)operation->count;
}

static void add_returns(struct ycsb_parser *parser, struct ycsb_operation *sum,
			const struct ycsb_operation *more)
{
	for (size_t i = 0; i < more->return_count; i++) {
		const struct ycsb_return *other = &more->returns[i];
		size_t r = 0;
		while (r < sum->return_count && strcmp(sum->returns[r].name, other->name) != 0)
			r++;
		if (r < sum->return_count)
			sum->returns[r].count += other->count;
		else
			ycsb_operation_return(parser, sum, text_of(other->name), other->count);
	}
}

static bool is_histogram(const struct ycsb_operation *operation)
{
	return operation->bucket_kind == YCSB_BUCKETS_MS || operation->bucket_kind == YCSB_BUCKETS_US;
}

static void no_histogram(struct ycsb_operation *operation)
{
	free(operation->buckets);
	operation->buckets = NULL;
	operation->bucket_count = 0;
	operation->bucket_kind = YCSB_BUCKETS_NONE;
	operation->over_us = 0;
	operation->over_count = 0;
}

/* Two ascending lists into one. The room is a power of two, as ycsb_grow() wants it. */
static struct ycsb_bucket *merge_buckets(const struct ycsb_operation *a, const struct ycsb_operation *b,
					 size_t *count)
{
	size_t room = 1, i = 0, j = 0;
	while (room < a->bucket_count + b->bucket_count)
		room *= 2;
	struct ycsb_bucket *merged = malloc(room * sizeof *merged);
	*count = 0;
	while (merged && (i < a->bucket_count || j < b->bucket_count)) {
		bool from_a =
			j == b->bucket_count || (i < a->bucket_count && a->buckets[i].at <= b->buckets[j].at);
		struct ycsb_bucket next = from_a ? a->buckets[i++] : b->buckets[j++];
		if (*count > 0 && merged[*count - 1].at == next.at)
			merged[*count - 1].value += next.value;
		else
			merged[(*count)++] = next;
	}
	return merged;
}

static void add_histogram(struct ycsb_parser *parser, struct ycsb_operation *sum,
			  const struct ycsb_operation *more)
{
	size_t count;
	if (!is_histogram(sum) || sum->bucket_kind != more->bucket_kind || sum->over_us != more->over_us) {
		no_histogram(sum);
		return;
	}
	struct ycsb_bucket *merged = merge_buckets(sum, more, &count);
	if (!merged) {
		parser->out_of_memory = true;
		return;
	}
	free(sum->buckets);
	sum->buckets = merged;
	sum->bucket_count = count;
	sum->over_count += more->over_count;
}

/* The first client's operation, to which the others are added. */
static struct ycsb_operation *first_operation(struct ycsb_parser *parser, struct ycsb_run *run,
					      const struct ycsb_operation *one)
{
	size_t count;
	struct ycsb_operation *sum = ycsb_operation_add(parser, run, text_of(one->name));
	if (!sum)
		return NULL;
	sum->count = one->count;
	sum->mean_us = one->mean_us;
	sum->min_us = one->min_us;
	sum->max_us = one->max_us;
	sum->resolution_us = one->resolution_us;
	sum->bucket_kind = one->bucket_kind;
	sum->over_us = one->over_us;
	sum->over_count = one->over_count;
	sum->buckets = merge_buckets(one, sum, &count);
	sum->bucket_count = count;
	parser->out_of_memory |= !sum->buckets;
	add_returns(parser, sum, one);
	return sum;
}

static void add_operation(struct ycsb_parser *parser, struct ycsb_run *run, const struct ycsb_operation *more)
{
	struct ycsb_operation *sum = ycsb_operation_find(run, text_of(more->name));
	if (!sum) {
		first_operation(parser, run, more);
		return;
	}
	sum->mean_us = weighted(sum->mean_us, count_of(sum), more->mean_us, count_of(more));
	sum->min_us = fmin(sum->min_us, more->min_us);
	sum->max_us = fmax(sum->max_us, more->max_us);
	sum->resolution_us = fmax(sum->resolution_us, more->resolution_us);
	sum->count = sum_known(sum->count, more->count);
	add_returns(parser, sum, more);
	add_histogram(parser, sum, more);
}

static void add_percentiles(struct ycsb_parser *parser, struct ycsb_operation *operation)
{
	static const double wanted[] = {50, 90, 95, 99, 99.9, 99.99};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		double us = ycsb_bucket_percentile_us(operation, wanted[i]);
		if (!isnan(us))
			ycsb_operation_percentile(parser, operation, wanted[i], us);
	}
}

/* ---- runs -------------------------------------------------------------------------------------------- */

/* Operations with an outcome, as the share of errors counts them. */
static double outcomes(const struct ycsb_run *run)
{
	double sum = 0;
	for (size_t i = 0; i < run->operation_kinds; i++) {
		enum ycsb_operation_class class = ycsb_classify(run->operations[i].name);
		if (class == YCSB_OP_DONE || class == YCSB_OP_FAILED)
			sum += count_of(&run->operations[i]);
	}
	return sum;
}

static uint64_t same_or_unknown(uint64_t a, uint64_t b)
{
	return a == b ? a : YCSB_UNKNOWN;
}

static void begin(struct ycsb_run *sum, const struct ycsb_run *one)
{
	*sum = *one;
	sum->clients = 1;
	sum->client[0] = 0;
	sum->operations = NULL;
	sum->operation_kinds = 0;
	sum->intervals = NULL;
	sum->interval_count = 0;
	sum->usual_interval_s = sum->last_printed_s = NAN;
	sum->clock_text[0] = 0;
}

static void add_run(struct ycsb_run *sum, const struct ycsb_run *more, double sum_outcomes)
{
	double shorter_ms = fmin(sum->runtime_ms, more->runtime_ms);
	sum->error_rate = weighted(sum->error_rate, isnan(sum->error_rate) ? 0 : sum_outcomes,
				   more->error_rate, isnan(more->error_rate) ? 0 : outcomes(more));
	sum->clients++;
	sum->throughput_ops_s += more->throughput_ops_s;
	sum->runtime_ms = fmax(sum->runtime_ms, more->runtime_ms);
	if (shorter_ms < (1 - UNEVEN_SHARE) * sum->runtime_ms)
		sum->flags |= YCSB_FLAG_UNEVEN;
	sum->threads_asked = sum_known(sum->threads_asked, more->threads_asked);
	sum->threads_ended = sum_known(sum->threads_ended, more->threads_ended);
	sum->operation_count = sum_known(sum->operation_count, more->operation_count);
	sum->insert_count = sum_known(sum->insert_count, more->insert_count);
	sum->last_operations = sum_known(sum->last_operations, more->last_operations);
	sum->record_count = same_or_unknown(sum->record_count, more->record_count);
	sum->target_ops_s += more->target_ops_s;
	sum->most_s = fmin(sum->most_s, more->most_s);
	sum->complete &= more->complete;
	sum->flags |= more->flags;
	if (sum->phase != more->phase)
		sum->phase = YCSB_PHASE_UNKNOWN;
}

/* Shares of errors are judged anew: clients may make up for each other. */
static void judge(struct ycsb_run *sum)
{
	sum->flags &= ~(unsigned)(YCSB_FLAG_ERRORS | YCSB_FLAG_ERRORS_INVALID);
	if (sum->error_rate > 0.001)
		sum->flags |= YCSB_FLAG_ERRORS;
	if (sum->error_rate > 0.01)
		sum->flags |= YCSB_FLAG_ERRORS_INVALID;
}

static void put_together(struct ycsb_parser *parser, const struct ycsb_run *const *runs, size_t count,
			 struct ycsb_run *sum)
{
	begin(sum, runs[0]);
	double sum_outcomes = 0;
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			add_run(sum, runs[i], sum_outcomes);
		sum_outcomes += outcomes(runs[i]);
		for (size_t o = 0; o < runs[i]->operation_kinds; o++)
			add_operation(parser, sum, &runs[i]->operations[o]);
	}
	judge(sum);
	for (size_t o = 0; o < sum->operation_kinds; o++)
		add_percentiles(parser, &sum->operations[o]);
}

/* ---- groups ------------------------------------------------------------------------------------------ */

/* A run, and how many of the same client stand before it in its file. */
struct member {
	const struct ycsb_run *run;
	size_t turn;
};

struct members {
	struct member *items;
	size_t count;
	size_t turns; /* one more than the highest */
	const struct ycsb_run **group;
};

static size_t turn_of(struct members *members, size_t first, const struct ycsb_run *run)
{
	for (size_t i = members->count; i-- > first;)
		if (strcmp(members->items[i].run->client, run->client) == 0)
			return members->items[i].turn + 1;
	return 0;
}

static bool take_members(const struct ycsb_file *files, size_t count, struct members *members)
{
	size_t runs = 0;
	for (size_t f = 0; f < count; f++)
		runs += files[f].run_count;
	members->items = calloc(runs + 1, sizeof *members->items);
	members->group = calloc(runs + 1, sizeof *members->group);
	for (size_t f = 0; members->items && f < count; f++) {
		size_t first = members->count;
		for (size_t r = 0; r < files[f].run_count; r++) {
			const struct ycsb_run *run = &files[f].runs[r];
			size_t turn = turn_of(members, first, run);
			members->items[members->count++] = (struct member){run, turn};
			members->turns = turn + 1 > members->turns ? turn + 1 : members->turns;
		}
	}
	return members->items && members->group;
}

static size_t take_turn(struct members *members, size_t turn)
{
	size_t count = 0;
	for (size_t i = 0; i < members->count; i++)
		if (members->items[i].turn == turn)
			members->group[count++] = members->items[i].run;
	return count;
}

static bool overlap(const struct ycsb_run *a, const struct ycsb_run *b)
{
	if (a->interval_count == 0 || b->interval_count == 0 || a->intervals[0].start_ns == YCSB_NO_TIME ||
	    b->intervals[0].start_ns == YCSB_NO_TIME)
		return true;
	return a->intervals[0].start_ns < b->intervals[b->interval_count - 1].end_ns &&
	       b->intervals[0].start_ns < a->intervals[a->interval_count - 1].end_ns;
}

/* Services of one log may as well be a load and the run behind it. */
static bool ran_together(const struct ycsb_run *const *runs, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (runs[i]->phase != runs[0]->phase || !overlap(runs[0], runs[i]))
			return false;
	return true;
}

static bool add_group(struct ycsb_parser *parser, const struct ycsb_run *const *runs, size_t count,
		      struct ycsb_file *out)
{
	struct ycsb_run *grown = ycsb_grow(parser, out->runs, out->run_count, sizeof *grown);
	if (!grown)
		return false;
	out->runs = grown;
	put_together(parser, runs, count, &grown[out->run_count++]);
	return !parser->out_of_memory;
}

static bool add_groups(struct ycsb_parser *parser, const struct ycsb_file *files, size_t count, bool asked,
		       struct ycsb_file *out)
{
	struct members members = {0};
	bool good = take_members(files, count, &members);
	for (size_t turn = 0; good && turn < members.turns; turn++) {
		size_t group = take_turn(&members, turn);
		if (group >= 2 && (asked || ran_together(members.group, group)))
			good = add_group(parser, members.group, group, out);
	}
	free(members.items);
	free(members.group);
	return good;
}

/* Most files hold one client; nothing is to be put together then. */
static bool has_clients(const struct ycsb_file *file)
{
	for (size_t r = 1; r < file->run_count; r++)
		if (strcmp(file->runs[r].client, file->runs[0].client) != 0)
			return true;
	return false;
}

bool ycsb_clients(const struct ycsb_file *files, size_t count, bool all_files, struct ycsb_file *out,
		  struct error *error)
{
	struct ycsb_parser parser = {.file = out};
	*out = (struct ycsb_file){.path = strdup("clients together")};
	bool good = out->path != NULL;
	if (good && all_files)
		good = add_groups(&parser, files, count, true, out);
	for (size_t f = 0; good && !all_files && f < count; f++)
		if (has_clients(&files[f]))
			good = add_groups(&parser, &files[f], 1, false, out);
	if (out->run_count > 0)
		out->format = out->runs[0].format;
	if (!good)
		ycsb_file_free(out);
	return good || error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
}
