#include "analyzer/export.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyzer/eventname.h"
#include "analyzer/sites.h"
#include "analyzer/utf8.h"

static const char *kind_name(uint8_t kind, char *text, size_t bytes)
{
	const char *name = event_name(kind);
	if (name)
		return name;
	snprintf(text, bytes, "kind_%u", kind);
	return text;
}

static bool has_size(const struct trace_event *event)
{
	return event->size_bytes || event_is_allocation(event->kind) || event->kind == EVENT_REALLOC ||
	       event->kind == EVENT_FAILED;
}

static bool has_args(const struct trace_event *event)
{
	return event->kind >= EVENT_MMAP;
}

/* ---- csv ----------------------------------------------------------------------------------------------- */

void export_csv_head(FILE *file)
{
	fputs("t_s,unix_ns,duration_ns,thread,kernel_tid,thread_name,cpu,kind,address,old_address,size_bytes,"
	      "alignment_bytes,result,arg0,arg1,arg2,arg3,stack_id\n",
	      file);
}

/* RFC 4180: quotes where needed, quotes inside doubled. */
static void csv_text(FILE *file, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, file);
		return;
	}
	fputc('"', file);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', file);
		fputc(*text, file);
	}
	fputc('"', file);
}

static void csv_thread(FILE *file, const struct trace *trace, const struct trace_event *event)
{
	const struct trace_thread *thread = trace_thread(trace, event->thread);
	fprintf(file, "%" PRIu32 ",", event->thread);
	if (thread && thread->kernel_tid)
		fprintf(file, "%" PRIu32, thread->kernel_tid);
	fputc(',', file);
	if (thread) {
		char name[sizeof thread->name];
		memcpy(name, thread->name, sizeof name);
		utf8_repair(name);
		csv_text(file, name);
	}
	fputc(',', file);
	if (event->cpu != EVENT_CPU_UNKNOWN)
		fprintf(file, "%" PRIu32, event->cpu);
}

static void csv_number(FILE *file, bool present, const char *format, uint64_t value)
{
	fputc(',', file);
	if (!present)
		return;
	if (*format == 'x')
		fprintf(file, "0x%" PRIx64, value);
	else
		fprintf(file, "%" PRIu64, value);
}

void export_csv(FILE *file, const struct trace *trace, const struct trace_event *event)
{
	char text[16];
	fprintf(file, "%.9f,%" PRId64 ",%" PRIu64 ",", trace_seconds(trace, event->time),
		trace_realtime_ns(trace, event->time),
		trace_units_to_ns(trace, event->end_time - event->time));
	csv_thread(file, trace, event);
	fprintf(file, ",%s", kind_name(event->kind, text, sizeof text));
	csv_number(file, event->address != 0, "x", event->address);
	csv_number(file, event->old_address != 0, "x", event->old_address);
	csv_number(file, has_size(event), "u", event->size_bytes);
	csv_number(file, event->alignment_bytes != 0, "u", event->alignment_bytes);
	fputc(',', file);
	if (has_args(event))
		fprintf(file, "%" PRId64, event->result);
	for (unsigned i = 0; i < EVENT_ARGS_MAX; i++)
		csv_number(file, has_args(event), "u", event->args[i]);
	csv_number(file, event->stack_id != 0, "u", event->stack_id);
	fputs("\n", file);
}

/* ---- ndjson -------------------------------------------------------------------------------------------- */

static void json_field(FILE *file, bool present, const char *name, uint64_t value)
{
	if (present)
		fprintf(file, ",\"%s\":%" PRIu64, name, value);
}

void export_ndjson(FILE *file, const struct trace *trace, const struct trace_event *event)
{
	char text[16];
	const struct trace_thread *thread = trace_thread(trace, event->thread);
	fprintf(file, "{\"t_s\":%.9f,\"unix_ns\":%" PRId64 ",\"kind\":\"%s\",\"thread\":%" PRIu32,
		trace_seconds(trace, event->time), trace_realtime_ns(trace, event->time),
		kind_name(event->kind, text, sizeof text), event->thread);
	json_field(file, thread && thread->kernel_tid, "kernel_tid", thread ? thread->kernel_tid : 0);
	json_field(file, event->cpu != EVENT_CPU_UNKNOWN, "cpu", event->cpu);
	json_field(file, event->end_time > event->time, "duration_ns",
		   trace_units_to_ns(trace, event->end_time - event->time));
	json_field(file, event->address != 0, "address", event->address);
	json_field(file, event->old_address != 0, "old_address", event->old_address);
	json_field(file, has_size(event), "size_bytes", event->size_bytes);
	json_field(file, event->alignment_bytes != 0, "alignment_bytes", event->alignment_bytes);
	if (has_args(event))
		fprintf(file,
			",\"result\":%" PRId64 ",\"args\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
			event->result, event->args[0], event->args[1], event->args[2], event->args[3]);
	json_field(file, event->stack_id != 0, "stack_id", event->stack_id);
	fputs("}\n", file);
}

/* ---- folded -------------------------------------------------------------------------------------------- */

static double site_weight(const struct live_site *site, enum export_weight weight)
{
	switch (weight) {
	case EXPORT_WEIGHT_ALLOCS:
		return site->allocs.value + site->reallocs.value;
	case EXPORT_WEIGHT_LIVE:
		return site->live_bytes.value;
	default:
		return site->alloc_bytes.value + site->realloc_bytes.value;
	}
}

/* ';' separates frames, and line ends end the line: in names they become ':' and '?'. */
static void folded_name(FILE *file, const char *name)
{
	while (*name) {
		size_t length = utf8_sequence(name);
		if (*name == ';')
			fputc(':', file);
		else if (!length || (unsigned char)*name < 0x20 || *name == 0x7f)
			fputc('?', file);
		else
			fwrite(name, 1, length, file);
		name += length ? length : 1;
	}
}

bool export_folded(FILE *file, const struct replay *replay, struct symbols *symbols,
		   enum export_weight weight)
{
	size_t count;
	const struct live_site *sites = livemap_sites(replay->live, &count);
	for (size_t i = 0; i < count; i++) {
		struct symbol_stack names = {0};
		struct trace_stack stack;
		long long value = llround(site_weight(&sites[i], weight));
		if (value <= 0)
			continue;
		if (trace_stack(replay->trace, sites[i].stack_id, &stack) &&
		    !symbols_stack(symbols, &stack, &names))
			return false;
		if (!names.depth)
			fputs("[no stack]", file);
		for (size_t j = names.depth; j-- > 0;) {
			folded_name(file, names.frames[j]->name);
			if (j)
				fputc(';', file);
		}
		fprintf(file, " %lld\n", value);
		symbol_stack_free(&names);
	}
	return true;
}
