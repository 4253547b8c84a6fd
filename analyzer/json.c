#include "analyzer/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/utf8.h"

void json_put(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value ? value : json_null());
}

json_t *json_count(uint64_t value)
{
	return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
}

json_t *json_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

void json_put_count(json_t *object, const char *key, uint64_t value)
{
	json_put(object, key, json_count(value));
}

void json_put_signed(json_t *object, const char *key, int64_t value)
{
	json_put(object, key, json_integer(value));
}

void json_put_real(json_t *object, const char *key, double value)
{
	json_put(object, key, json_number(value));
}

void json_put_bool(json_t *object, const char *key, bool value)
{
	json_put(object, key, json_boolean(value));
}

void json_put_null(json_t *object, const char *key)
{
	json_put(object, key, json_null());
}

json_t *json_safe_string(const char *value)
{
	if (!value)
		return json_null();
	char *copy = strdup(value);
	if (!copy)
		return NULL;
	utf8_repair(copy);
	json_t *string = json_string(copy);
	free(copy);
	return string;
}

void json_put_string(json_t *object, const char *key, const char *value)
{
	json_put(object, key, json_safe_string(value));
}

static bool write_flags(FILE *file, const json_t *value, size_t flags, struct error *error)
{
	if (value && json_dumpf(value, file, flags | JSON_REAL_PRECISION(15)) == 0 &&
	    fputc('\n', file) != EOF)
		return true;
	return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "output cannot be written: %s",
			 strerror(errno));
}

json_t *json_damage(const char *file, uint64_t offset_bytes, uint64_t bytes, const char *text)
{
	json_t *item = json_object();
	json_put_string(item, "file", file);
	json_put_count(item, "offset", offset_bytes);
	json_put_count(item, "bytes", bytes);
	json_put_string(item, "text", text);
	return item;
}

bool json_write(FILE *file, const json_t *value, struct error *error)
{
	return write_flags(file, value, JSON_INDENT(2), error);
}

bool json_write_line(FILE *file, const json_t *value, struct error *error)
{
	return write_flags(file, value, JSON_COMPACT, error);
}
