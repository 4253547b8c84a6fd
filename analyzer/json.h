/*
 * Thin helpers over jansson: objects that keep the order in which fields were added, so that output is
 * stable, and unknown values as null, never as 0.
 */
#ifndef MTRACE_JSON_H
#define MTRACE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzer/error.h"

/* Each sets `key` in `object`. Memory that runs out shows in json_write(), which then fails. */
void json_put(json_t *object, const char *key, json_t *value); /* takes over `value`; NULL becomes null */
void json_put_count(json_t *object, const char *key, uint64_t value); /* beyond INT64_MAX: a real */
void json_put_signed(json_t *object, const char *key, int64_t value);
void json_put_real(json_t *object, const char *key, double value); /* NaN and infinity become null */
void json_put_bool(json_t *object, const char *key, bool value);
void json_put_null(json_t *object, const char *key);
/* Bytes that are not UTF-8 become '?'; NULL becomes null. */
void json_put_string(json_t *object, const char *key, const char *value);
json_t *json_safe_string(const char *value);
json_t *json_count(uint64_t value);
json_t *json_number(double value); /* NaN and infinity: null */
/* A damaged place of a file, as `damage[]` has it in every command's output. */
json_t *json_damage(const char *file, uint64_t offset_bytes, uint64_t bytes, const char *text);

/* Writes `value`, indented by two, and a newline. False with `error` set on failure. Does not take it over.
 */
bool json_write(FILE *file, const json_t *value, struct error *error);
/* The same on one line, for ndjson. */
bool json_write_line(FILE *file, const json_t *value, struct error *error);

#endif
