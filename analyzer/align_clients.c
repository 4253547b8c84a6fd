#include <stdlib.h>

#include "analyzer/align_internal.h"
#include "analyzer/span.h"

static int client_by_start(const void *left, const void *right)
{
	const struct client *a = left, *b = right;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

void clients_set_aside(struct alignment *alignment, size_t file, size_t run, enum unplaced_reason reason)
{
	alignment->unplaced[alignment->unplaced_count++] = (struct unplaced){file, run, reason};
}

/* Whether a row meets the time, and not only a gap between stages. */
static bool meets_row(const struct model *model, int64_t start_ns, int64_t end_ns)
{
	for (size_t t = 0; t < model->timeline_count; t++)
		for (size_t i = 0; i < model->timelines[t].row_count; i++) {
			const struct model_row *row = &model->timelines[t].rows[i];
			if (span_overlap_ns(row->start_ns, row->end_ns, start_ns, end_ns) > 0)
				return true;
		}
	return false;
}

bool clients_find(const struct ycsb_file *files, size_t file_count, struct alignment *alignment,
		  struct client_list *clients)
{
	size_t runs = 0;
	for (size_t f = 0; f < file_count; f++)
		runs += files[f].run_count;
	clients->items = calloc(runs + 1, sizeof *clients->items);
	alignment->unplaced = calloc(runs + 1, sizeof *alignment->unplaced);
	if (!clients->items || !alignment->unplaced)
		return false;
	for (size_t f = 0; f < file_count; f++) {
		for (size_t r = 0; r < files[f].run_count; r++) {
			const struct ycsb_run *run = &files[f].runs[r];
			if (run->interval_count == 0)
				clients_set_aside(alignment, f, r, UNPLACED_NO_SERIES);
			else if (run->intervals[0].start_ns == YCSB_NO_TIME)
				clients_set_aside(alignment, f, r, UNPLACED_NO_CLOCK);
			else
				clients->items[clients->count++] =
					(struct client){f, r, run, run->intervals[0].start_ns,
							run->intervals[run->interval_count - 1].end_ns};
		}
	}
	qsort(clients->items, clients->count, sizeof *clients->items, client_by_start);
	return true;
}

void clients_range(const struct client_list *clients, struct alignment *alignment)
{
	for (size_t i = 0; i < clients->count; i++) {
		const struct client *client = &clients->items[i];
		if (i == 0 || client->start_ns < alignment->client_start_ns)
			alignment->client_start_ns = client->start_ns;
		if (i == 0 || client->end_ns > alignment->client_end_ns)
			alignment->client_end_ns = client->end_ns;
	}
}

void clients_keep_overlapping(struct client_list *clients, const struct model *model,
			      struct alignment *alignment)
{
	size_t kept = 0;
	for (size_t i = 0; i < clients->count; i++) {
		struct client *client = &clients->items[i];
		if (meets_row(model, client->start_ns, client->end_ns))
			clients->items[kept++] = *client;
		else
			clients_set_aside(alignment, client->file, client->run, UNPLACED_NO_OVERLAP);
	}
	clients->count = kept;
}

void clients_hint(const struct model *model, const struct client_list *clients, struct alignment *alignment)
{
	if (clients->count == 0 || clients->items[0].source->format != YCSB_JAVA_TEXT)
		return;
	int64_t shift_s = align_zone_shift_s(alignment->client_start_ns, alignment->client_end_ns,
					     model->start_ns, model->end_ns);
	alignment->have_hint = shift_s != 0;
	alignment->hint_offset_s = clients->items[0].source->zone_offset_s - shift_s;
}
