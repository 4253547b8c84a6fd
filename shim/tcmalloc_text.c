#include "shim/tcmalloc_text.h"

#include <stdbool.h>
#include <string.h>

#define LIMIT_LINE "Bytes in per-CPU caches (per cpu limit: "

struct line {
	const char *start, *end;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool begins_with(struct line line, const char *text)
{
	size_t bytes = strlen(text);
	return (size_t)(line.end - line.start) >= bytes && !memcmp(line.start, text, bytes);
}

/* Behind `text`, where it stands first in the line; NULL: nowhere. */
static const char *behind(struct line line, const char *text)
{
	for (; line.start < line.end; line.start++)
		if (begins_with(line, text))
			return line.start + strlen(text);
	return NULL;
}

/* The digits at `at`. More than fit are no number. */
static uint64_t number_at(const char *at, const char *end)
{
	uint64_t number = 0;
	if (at == end || !is_digit(*at))
		return TCMALLOC_UNKNOWN;
	for (; at < end && is_digit(*at); at++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
			return TCMALLOC_UNKNOWN;
	return number;
}

/* The number that stands directly before `word`. */
static uint64_t number_before(struct line line, const char *word)
{
	const char *found = behind(line, word);
	if (!found)
		return TCMALLOC_UNKNOWN;
	const char *end = found - strlen(word), *start = end;
	while (start > line.start && is_digit(start[-1]))
		start--;
	return number_at(start, end);
}

/* "cpu   3: ..." is about a CPU; what follows the colon becomes *rest. */
static bool take_cpu(struct line line, uint64_t *cpu, struct line *rest)
{
	if (!begins_with(line, "cpu "))
		return false;
	const char *at = line.start + strlen("cpu ");
	while (at < line.end && *at == ' ')
		at++;
	*cpu = number_at(at, line.end);
	while (at < line.end && is_digit(*at))
		at++;
	*rest = (struct line){at, line.end};
	return *cpu < TCMALLOC_CPUS_MAX && begins_with(*rest, ":");
}

static struct tcmalloc_cpu *cpu_entry(struct tcmalloc_text *out, uint64_t cpu)
{
	static const struct tcmalloc_cpu unknown = {TCMALLOC_UNKNOWN, TCMALLOC_UNKNOWN, TCMALLOC_UNKNOWN,
						    TCMALLOC_UNKNOWN, TCMALLOC_UNKNOWN};
	while (out->cpus <= cpu)
		out->cpu[out->cpus++] = unknown;
	return &out->cpu[cpu];
}

static void read_line(struct tcmalloc_text *out, struct line line)
{
	struct line rest;
	uint64_t number;
	if (begins_with(line, LIMIT_LINE)) {
		out->per_cpu_limit_bytes = number_at(line.start + strlen(LIMIT_LINE), line.end);
	} else if (take_cpu(line, &number, &rest)) {
		if (behind(rest, " bytes unallocated")) {
			struct tcmalloc_cpu *cpu = cpu_entry(out, number);
			cpu->used_bytes = number_before(rest, " bytes (");
			cpu->unallocated_bytes = number_before(rest, " bytes unallocated");
		} else if (behind(rest, " underflows")) {
			struct tcmalloc_cpu *cpu = cpu_entry(out, number);
			cpu->underflows = number_before(rest, " underflows");
			cpu->overflows = number_before(rest, " overflows");
			cpu->reclaims =
				number_before(rest, behind(rest, " drains") ? " drains" : " reclaims");
		}
	}
}

void tcmalloc_text_read(struct tcmalloc_text *out, const char *text, size_t bytes)
{
	const char *end = text + bytes;
	out->per_cpu_limit_bytes = TCMALLOC_UNKNOWN;
	out->cpus = 0;
	for (const char *start = text, *at = text; at < end; at++) {
		if (*at != '\n')
			continue;
		read_line(out, (struct line){start, at});
		start = at + 1;
	}
}
