#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/array.h"
#include "analyzer/reader_internal.h"

static bool listed(const struct damage_list *list, const char *file, uint64_t offset_bytes)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].file == file && list->items[i].offset_bytes == offset_bytes)
			return true;
	return false;
}

void damage_add(struct trace *trace, const char *file, uint64_t offset_bytes, uint64_t bytes,
		const char *format, ...)
{
	struct damage_list *list = &trace->damage;
	if (listed(list, file, offset_bytes))
		return;
	list->total++;
	if (list->count == TRACE_DAMAGE_MAX ||
	    !array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
		return;
	struct trace_damage *damage = &list->items[list->count++];
	*damage = (struct trace_damage){.file = file, .offset_bytes = offset_bytes, .bytes = bytes};
	va_list args;
	va_start(args, format);
	vsnprintf(damage->text, sizeof damage->text, format, args);
	va_end(args);
}

void note_add(struct trace *trace, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	va_start(args, format);
	int length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		return;
	if (array_reserve(&trace->notes, &trace->notes_capacity, trace->notes_count + 1,
			  sizeof *trace->notes))
		trace->notes[trace->notes_count++] = text;
	else
		free(text);
}

void damage_free(struct trace *trace)
{
	free(trace->damage.items);
	for (size_t i = 0; i < trace->notes_count; i++)
		free(trace->notes[i]);
	free(trace->notes);
}

const struct trace_damage *trace_damage(const struct trace *trace, size_t *count)
{
	*count = trace->damage.count;
	return trace->damage.items;
}

uint64_t trace_damage_count(const struct trace *trace)
{
	return trace->damage.total;
}

const char *const *trace_notes(const struct trace *trace, size_t *count)
{
	*count = trace->notes_count;
	return (const char *const *)trace->notes;
}
