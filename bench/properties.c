#include "bench/properties.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct property {
	char *name;
	char *value;
	bool read;
};

struct properties {
	struct property *entries;
	size_t count;
};

struct properties *properties_new(void)
{
	return must_calloc(1, sizeof(struct properties));
}

void properties_free(struct properties *properties)
{
	if (!properties)
		return;
	for (size_t i = 0; i < properties->count; i++) {
		free(properties->entries[i].name);
		free(properties->entries[i].value);
	}
	free(properties->entries);
	free(properties);
}

static struct property *find(const struct properties *properties, const char *name)
{
	for (size_t i = 0; i < properties->count; i++)
		if (!strcmp(properties->entries[i].name, name))
			return &properties->entries[i];
	return NULL;
}

static struct property *append(struct properties *properties, const char *name)
{
	struct property *grown = must_calloc(properties->count + 1, sizeof *grown);

	if (properties->count)
		memcpy(grown, properties->entries, properties->count * sizeof *grown);
	free(properties->entries);
	properties->entries = grown;
	grown[properties->count].name = must_copy(name);
	return &grown[properties->count++];
}

void properties_set(struct properties *properties, const char *name, const char *value)
{
	struct property *property = find(properties, name);
	char *copy = must_copy(value);

	if (!property)
		property = append(properties, name);
	free(property->value);
	property->value = copy;
}

bool properties_set_argument(struct properties *properties, const char *argument, struct failure *failure)
{
	const char *equals = strchr(argument, '=');
	char *name;

	if (!equals || equals == argument)
		return failure_set(failure, EXIT_WRONG_USAGE, "-p %s: expected NAME=VALUE", argument);
	name = must_copy(argument);
	name[equals - argument] = '\0';
	properties_set(properties, name, equals + 1);
	free(name);
	return true;
}

void properties_merge(struct properties *into, const struct properties *from)
{
	for (size_t i = 0; i < from->count; i++)
		properties_set(into, from->entries[i].name, from->entries[i].value);
}

const char *properties_get(struct properties *properties, const char *name)
{
	struct property *property = find(properties, name);

	if (!property)
		return NULL;
	property->read = true;
	return property->value;
}

void properties_unread(const struct properties *properties, void (*visit)(void *context, const char *name),
		       void *context)
{
	for (size_t i = 0; i < properties->count; i++)
		if (!properties->entries[i].read)
			visit(context, properties->entries[i].name);
}

static const char *skip_space(const char *text)
{
	return text + strspn(text, " \t");
}

static bool at_end(const char *text)
{
	return *skip_space(text) == '\0';
}

/* Digits only: strtoull alone would take signs. */
static bool read_digits(const char *text, uint64_t *value, const char **end)
{
	char *rest;

	text = skip_space(text);
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &rest, 10);
	*end = rest;
	return !errno;
}

bool properties_count(struct properties *properties, const char *name, uint64_t fallback, uint64_t low,
		      uint64_t high, uint64_t *value, struct failure *failure)
{
	const char *text = properties_get(properties, name), *end;

	*value = fallback;
	if (!text || (read_digits(text, value, &end) && at_end(end) && *value >= low && *value <= high))
		return true;
	return failure_set(failure, EXIT_WRONG_USAGE,
			   "property %s=%s: expected a whole number from %" PRIu64 " to %" PRIu64, name, text,
			   low, high);
}

bool properties_real(struct properties *properties, const char *name, double fallback, double low,
		     double high, double *value, struct failure *failure)
{
	const char *text = properties_get(properties, name);
	char *end;

	*value = fallback;
	if (!text)
		return true;
	*value = strtod(text, &end);
	if (end != text && at_end(end) && isfinite(*value) && *value >= low && *value <= high)
		return true;
	return failure_set(failure, EXIT_WRONG_USAGE, "property %s=%s: expected a number from %g to %g", name,
			   text, low, high);
}

bool properties_flag(struct properties *properties, const char *name, bool fallback, bool *value,
		     struct failure *failure)
{
	const char *text = properties_get(properties, name);

	*value = fallback;
	if (!text)
		return true;
	*value = !strcasecmp(text, "true");
	if (*value || !strcasecmp(text, "false"))
		return true;
	return failure_set(failure, EXIT_WRONG_USAGE, "property %s=%s: expected true or false", name, text);
}

/* The power of 1024 of a suffix ("", K, KB, KiB, ...), or -1. */
static int suffix_shift(const char *text)
{
	static const char units[] = "KMG";
	const char *unit;
	char first = *text;

	if (first >= 'a' && first <= 'z')
		first = (char)(first - 'a' + 'A');
	if (!first)
		return 0;
	unit = strchr(units, first);
	if (!unit || !(!text[1] || !strcasecmp(text + 1, "b") || !strcasecmp(text + 1, "ib")))
		return -1;
	return (int)(unit - units + 1) * 10;
}

bool properties_bytes(struct properties *properties, const char *name, uint64_t fallback, uint64_t low,
		      uint64_t *value, struct failure *failure)
{
	const char *text = properties_get(properties, name), *end;
	int shift = -1;

	*value = fallback;
	if (!text)
		return true;
	if (read_digits(text, value, &end))
		shift = suffix_shift(skip_space(end));
	if (shift >= 0 && *value <= UINT64_MAX >> shift && *value << shift >= low) {
		*value <<= shift;
		return true;
	}
	return failure_set(failure, EXIT_WRONG_USAGE,
			   "property %s=%s: expected a size of at least %" PRIu64
			   " bytes, such as 512M or 1G (suffixes K, M, G)",
			   name, text, low);
}

static void join_names(char *out, size_t bytes, const char *const *names)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; names[i] && used < bytes; i++)
		used += (size_t)snprintf(out + used, bytes - used, "%s%s", i ? ", " : "", names[i]);
}

bool properties_choice(struct properties *properties, const char *name, unsigned fallback,
		       const char *const *names, unsigned *value, struct failure *failure)
{
	const char *text = properties_get(properties, name);
	char list[256];

	*value = fallback;
	if (!text)
		return true;
	for (*value = 0; names[*value]; ++*value)
		if (!strcmp(names[*value], text))
			return true;
	join_names(list, sizeof list, names);
	return failure_set(failure, EXIT_WRONG_USAGE, "property %s=%s: expected one of %s", name, text, list);
}
