#include "analyzer/align_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/span.h"

/* Rows that are longer than the status intervals by less than this are taken for equally long. */
#define GRID_SLACK 1.25

/* ---- segments ---------------------------------------------------------------------------------------- */

/* `count` clients from `first` on ran together. */
struct group {
	const struct client *first;
	size_t count;
	int64_t start_ns, end_ns; /* while all of them ran */
};

static bool client_joins(const struct group *group, const struct client *client)
{
	for (size_t i = 0; i < group->count; i++)
		if (group->first[i].file == client->file &&
		    strcmp(group->first[i].source->client, client->source->client) == 0)
			return false; /* one client's runs follow each other */
	int64_t common = span_overlap_ns(group->start_ns, group->end_ns, client->start_ns, client->end_ns);
	int64_t group_ns = group->end_ns - group->start_ns, client_ns = client->end_ns - client->start_ns;
	return 2 * common > (group_ns < client_ns ? group_ns : client_ns);
}

static struct group group_from(const struct client_list *clients, size_t first)
{
	const struct client *client = &clients->items[first];
	struct group group = {client, 1, client->start_ns, client->end_ns};
	for (size_t i = first + 1; i < clients->count && client_joins(&group, &clients->items[i]); i++) {
		client = &clients->items[i];
		group.count++;
		group.start_ns = client->start_ns > group.start_ns ? client->start_ns : group.start_ns;
		group.end_ns = client->end_ns < group.end_ns ? client->end_ns : group.end_ns;
	}
	return group;
}

static const struct client *group_slowest(const struct group *group)
{
	const struct client *slowest = group->first;
	for (size_t i = 1; i < group->count; i++)
		if (group->first[i].source->usual_interval_s > slowest->source->usual_interval_s)
			slowest = &group->first[i];
	return slowest;
}

static const struct timeline *slowest_timeline(const struct model *model, const struct group *group)
{
	const struct timeline *slowest = NULL;
	for (size_t i = 0; i < model->timeline_count; i++) {
		const struct timeline *timeline = &model->timelines[i];
		if (timeline->row_count && timeline->rows[0].start_ns < group->end_ns &&
		    timeline->rows[timeline->row_count - 1].end_ns > group->start_ns &&
		    (!slowest || timeline->usual_interval_s > slowest->usual_interval_s))
			slowest = timeline;
	}
	return slowest;
}

/* From the first to the last row that lies within the group's time; empty where there is none. */
static struct grid_interval rows_within(const struct model *model, const struct group *group)
{
	struct grid_interval within = {INT64_MAX, INT64_MIN};
	for (size_t t = 0; t < model->timeline_count; t++) {
		for (size_t i = 0; i < model->timelines[t].row_count; i++) {
			const struct model_row *row = &model->timelines[t].rows[i];
			if (row->start_ns < group->start_ns || row->end_ns > group->end_ns)
				continue;
			within.start_ns = row->start_ns < within.start_ns ? row->start_ns : within.start_ns;
			within.end_ns = row->end_ns > within.end_ns ? row->end_ns : within.end_ns;
		}
	}
	return within;
}

/* Adds an interval that lies within the group's rows and after the last one. */
static void grid_add(struct segment *segment, struct grid_interval within, int64_t start_ns, int64_t end_ns)
{
	if (segment->count && start_ns < segment->grid[segment->count - 1].end_ns)
		start_ns = segment->grid[segment->count - 1].end_ns;
	if (end_ns <= start_ns || start_ns < within.start_ns || end_ns > within.end_ns)
		return;
	segment->grid[segment->count++] = (struct grid_interval){start_ns, end_ns};
}

static bool segment_grid(struct segment *segment, const struct group *group, const struct model *model)
{
	const struct client *client = group_slowest(group);
	const struct timeline *timeline = slowest_timeline(model, group);
	double client_s = client->source->usual_interval_s;
	segment->on_rows = timeline && timeline->usual_interval_s > GRID_SLACK * client_s;
	segment->interval_s = segment->on_rows ? timeline->usual_interval_s : client_s;
	size_t room = segment->on_rows ? timeline->row_count : client->source->interval_count;
	struct grid_interval within = rows_within(model, group);
	segment->grid = calloc(room, sizeof *segment->grid);
	if (!segment->grid)
		return false;
	for (size_t i = 0; i < room; i++) {
		if (segment->on_rows) {
			const struct model_row *row = &timeline->rows[i];
			if (!row->brief)
				grid_add(segment, within, row->start_ns, row->end_ns);
		} else {
			const struct ycsb_interval *interval = &client->source->intervals[i];
			if (!interval->partial)
				grid_add(segment, within, interval->start_ns, interval->end_ns);
		}
	}
	return true;
}

enum client_value { CLIENT_OPS, CLIENT_MEAN, CLIENT_P99 };

static double client_value(const struct ycsb_interval *interval, enum client_value which)
{
	if (which == CLIENT_OPS)
		return interval->ops_s;
	return which == CLIENT_MEAN ? interval->mean_us : interval->p99_worst_us;
}

/* One client's values on the grid; its spans never overlap, whatever its clock did. */
static bool client_on_grid(const struct client *client, enum client_value which,
			   const struct segment *segment, double *values)
{
	const struct ycsb_run *run = client->source;
	struct span *spans = malloc(run->interval_count * sizeof *spans);
	if (!spans)
		return false;
	struct span_list list = {spans, 0, 0};
	int64_t last_ns = INT64_MIN;
	for (size_t i = 0; i < run->interval_count; i++) {
		const struct ycsb_interval *interval = &run->intervals[i];
		int64_t start_ns = interval->start_ns > last_ns ? interval->start_ns : last_ns;
		if (interval->end_ns <= start_ns)
			continue;
		spans[list.count++] =
			(struct span){start_ns, interval->end_ns, client_value(interval, which)};
		last_ns = interval->end_ns;
	}
	for (size_t i = 0; i < segment->count; i++)
		values[i] = span_mean(&list, segment->grid[i].start_ns, segment->grid[i].end_ns);
	free(spans);
	return true;
}

/* Throughput adds up, mean latency is weighted by it, the worst p99 stays the worst. */
static bool segment_add_client(struct segment *segment, const struct client *client, double *room)
{
	double *ops = room, *mean = room + segment->count, *p99 = room + 2 * segment->count;
	if (!client_on_grid(client, CLIENT_OPS, segment, ops) ||
	    !client_on_grid(client, CLIENT_MEAN, segment, mean) ||
	    !client_on_grid(client, CLIENT_P99, segment, p99))
		return false;
	for (size_t i = 0; i < segment->count; i++) {
		double before = segment->throughput[i];
		segment->throughput[i] += ops[i];
		if (before == 0)
			segment->latency_mean_us[i] = mean[i];
		else if (ops[i] > 0)
			segment->latency_mean_us[i] +=
				(mean[i] - segment->latency_mean_us[i]) * ops[i] / (before + ops[i]);
		if (isnan(p99[i]) || p99[i] > segment->latency_p99_us[i])
			segment->latency_p99_us[i] = p99[i];
	}
	return true;
}

static bool segment_fill(struct segment *segment, const struct group *group)
{
	size_t count = segment->count;
	double *room = malloc((count + 1) * 3 * sizeof *room);
	segment->throughput = calloc(count + 1, sizeof *segment->throughput);
	segment->latency_mean_us = calloc(count + 1, sizeof *segment->latency_mean_us);
	segment->latency_p99_us = calloc(count + 1, sizeof *segment->latency_p99_us);
	bool fine = room && segment->throughput && segment->latency_mean_us && segment->latency_p99_us;
	for (size_t i = 0; fine && i < group->count; i++)
		fine = segment_add_client(segment, &group->first[i], room);
	free(room);
	return fine;
}

static void segment_threads(struct segment *segment, const struct group *group)
{
	segment->threads = 0;
	for (size_t i = 0; i < group->count; i++) {
		uint64_t threads = ycsb_threads(group->first[i].source);
		if (threads == YCSB_UNKNOWN || segment->threads == YCSB_UNKNOWN)
			segment->threads = YCSB_UNKNOWN;
		else
			segment->threads += threads;
	}
}

static void segment_name(struct segment *segment, const struct group *group, const struct alignment *earlier)
{
	const char *phase = ycsb_phase_name(group->first->source->phase);
	char *at = segment->name, *end = segment->name + sizeof segment->name;
	at += snprintf(at, (size_t)(end - at), "%s", phase ? phase : "client");
	if (segment->threads != YCSB_UNKNOWN)
		at += snprintf(at, (size_t)(end - at), ", %llu thread%s",
			       (unsigned long long)segment->threads, segment->threads == 1 ? "" : "s");
	if (group->count > 1)
		at += snprintf(at, (size_t)(end - at), ", %zu clients", group->count);
	size_t length = (size_t)(at - segment->name);
	unsigned namesakes = 1;
	for (size_t i = 0; i < earlier->segment_count; i++) {
		const char *other = earlier->segments[i].name;
		if (strncmp(other, segment->name, length) == 0 &&
		    (other[length] == 0 || other[length + 1] == '#'))
			namesakes++;
	}
	if (namesakes > 1)
		snprintf(at, (size_t)(end - at), " #%u", namesakes);
}

static void segment_free(struct segment *segment)
{
	free(segment->grid);
	free(segment->throughput);
	free(segment->latency_mean_us);
	free(segment->latency_p99_us);
}

/* A group that gives no point is set aside. */
static bool segment_add(struct alignment *alignment, const struct group *group, const struct model *model)
{
	struct segment *segment = &alignment->segments[alignment->segment_count];
	*segment = (struct segment){
		.run_start_ns = group->start_ns, .run_end_ns = group->end_ns, .clients = group->count};
	if (!segment_grid(segment, group, model) || !segment_fill(segment, group)) {
		segment_free(segment);
		return false;
	}
	if (segment->count == 0) {
		for (size_t i = 0; i < group->count; i++)
			clients_set_aside(alignment, group->first[i].file, group->first[i].run,
					  UNPLACED_TOO_SHORT);
		segment_free(segment);
		return true;
	}
	segment->start_ns = segment->grid[0].start_ns;
	segment->end_ns = segment->grid[segment->count - 1].end_ns;
	segment_threads(segment, group);
	segment_name(segment, group, alignment);
	alignment->segment_count++;
	return true;
}

static bool segments_make(struct alignment *alignment, const struct client_list *clients,
			  const struct model *model)
{
	alignment->segments = calloc(clients->count + 1, sizeof *alignment->segments);
	if (!alignment->segments)
		return false;
	for (size_t i = 0; i < clients->count;) {
		struct group group = group_from(clients, i);
		if (!segment_add(alignment, &group, model))
			return false;
		i += group.count;
	}
	return true;
}

/* ---- all of it --------------------------------------------------------------------------------------- */

bool align(const struct ycsb_file *files, size_t file_count, struct model *model, struct alignment *out)
{
	struct client_list clients = {0};
	*out = (struct alignment){0};
	bool fine = clients_find(files, file_count, out, &clients);
	if (fine) {
		clients_range(&clients, out);
		struct client_list all = clients;
		clients_keep_overlapping(&clients, model, out);
		if (clients.count == 0)
			clients_hint(model, &all, out);
		fine = segments_make(out, &clients, model) && align_rows(out, model);
	}
	free(clients.items);
	if (!fine)
		alignment_free(out);
	return fine;
}

void alignment_free(struct alignment *alignment)
{
	for (size_t i = 0; i < alignment->segment_count; i++)
		segment_free(&alignment->segments[i]);
	free(alignment->segments);
	free(alignment->unplaced);
	*alignment = (struct alignment){0};
}
