#include "analyzer/doctor_facts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void facts_free(struct facts *facts)
{
	for (size_t i = 0; i < FACT_COUNT; i++) {
		free(facts->items[i].text);
		free(facts->items[i].from);
	}
	*facts = (struct facts){0};
}

static char *copy(struct facts *facts, const char *text)
{
	char *copied = strdup(text);
	facts->no_memory |= !copied;
	return copied;
}

/* NULL where the fact is known already. */
static struct fact *fresh(struct facts *facts, enum fact_id id, const char *from)
{
	struct fact *fact = &facts->items[id];
	if (fact->known)
		return NULL;
	free(fact->text);
	*fact = (struct fact){.known = true, .from = copy(facts, from)};
	return fact;
}

void facts_number(struct facts *facts, enum fact_id id, int64_t number, const char *from)
{
	struct fact *fact = fresh(facts, id, from);
	if (fact)
		fact->number = number;
}

void facts_text(struct facts *facts, enum fact_id id, const char *text, const char *from)
{
	struct fact *fact = fresh(facts, id, from);
	if (fact)
		fact->text = copy(facts, text);
}

void facts_unknown(struct facts *facts, enum fact_id id, const char *format, ...)
{
	struct fact *fact = &facts->items[id];
	va_list args;
	if (fact->known || fact->text)
		return;
	va_start(args, format);
	if (vasprintf(&fact->text, format, args) < 0) {
		fact->text = NULL;
		facts->no_memory = true;
	}
	va_end(args);
}

bool fact_known(const struct facts *facts, enum fact_id id)
{
	return facts->items[id].known;
}

int64_t fact_number(const struct facts *facts, enum fact_id id, int64_t otherwise)
{
	return facts->items[id].known ? facts->items[id].number : otherwise;
}

const char *fact_text(const struct facts *facts, enum fact_id id)
{
	const struct fact *fact = &facts->items[id];
	return fact->known && fact->text ? fact->text : "";
}

bool fact_is(const struct facts *facts, enum fact_id id, const char *text)
{
	return fact_known(facts, id) && strcmp(fact_text(facts, id), text) == 0;
}

const char *fact_from(const struct facts *facts, enum fact_id id)
{
	const struct fact *fact = &facts->items[id];
	return fact->known && fact->from ? fact->from : "";
}

const char *fact_reason(const struct facts *facts, enum fact_id id)
{
	const struct fact *fact = &facts->items[id];
	return !fact->known && fact->text ? fact->text : "nothing here says so";
}
