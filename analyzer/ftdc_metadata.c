#include <inttypes.h>
#include <string.h>

#include "analyzer/ftdc_internal.h"

/* Bounds on the parameters, which changes can make grow; MongoDB 8 has about 700 in 60 KB. */
#define FIELDS_MAX	     8192u
#define PARAMETERS_MAX_BYTES (4u << 20)

/* ---- changes ------------------------------------------------------------------------------------------- */

/* Documents of two levels: fields of fields. What is deeper is replaced as a whole. */
static bool within_bounds(const bson_t *document)
{
	bson_iter_t field, inner;
	uint32_t count = 0;
	if (document->len > PARAMETERS_MAX_BYTES || !bson_iter_init(&field, document))
		return false;
	while (bson_iter_next(&field)) {
		count++;
		if (BSON_ITER_HOLDS_DOCUMENT(&field) && bson_iter_recurse(&field, &inner))
			while (bson_iter_next(&inner))
				count++;
	}
	return count <= FIELDS_MAX && !field.err_off;
}

static bool inner_document(const bson_iter_t *field, bson_t *inner)
{
	uint32_t bytes;
	const uint8_t *at;
	if (!BSON_ITER_HOLDS_DOCUMENT(field))
		return false;
	bson_iter_document(field, &bytes, &at);
	return bson_init_static(inner, at, bytes);
}

/* The fields of `from` that `others` does not have. */
static void copy_others(bson_t *result, const bson_t *from, const bson_t *others)
{
	bson_iter_t field, other;
	if (!bson_iter_init(&field, from))
		return;
	while (bson_iter_next(&field))
		if (!bson_iter_init_find(&other, others, bson_iter_key(&field)))
			bson_append_iter(result, bson_iter_key(&field), -1, &field);
}

static void overlay_field(bson_t *result, const bson_t *old, const bson_iter_t *change)
{
	bson_iter_t field;
	bson_t old_inner, change_inner, inner;
	const char *key = bson_iter_key(change);
	if (inner_document(change, &change_inner) && bson_iter_init_find(&field, old, key) &&
	    inner_document(&field, &old_inner)) {
		bson_append_document_begin(result, key, -1, &inner);
		copy_others(&inner, &old_inner, &change_inner);
		bson_concat(&inner, &change_inner);
		bson_append_document_end(result, &inner);
	} else {
		bson_append_iter(result, key, -1, change);
	}
}

static void overlay(bson_t *result, const bson_t *old, const bson_t *changes)
{
	bson_iter_t change;
	copy_others(result, old, changes);
	if (!bson_iter_init(&change, changes))
		return;
	while (bson_iter_next(&change))
		overlay_field(result, old, &change);
}

/* ---- documents ----------------------------------------------------------------------------------------- */

static void replace(bson_t **kept, bson_t *by)
{
	bson_destroy(*kept);
	*kept = by;
}

static const char *read_parameters(struct ftdc_metadata *metadata, const bson_t *document, int32_t count)
{
	if (!within_bounds(document))
		return "server parameters that cannot be read, or more than this reader takes";
	if (count <= 0) {
		replace(&metadata->parameters, bson_copy(document));
		return NULL;
	}
	if (!metadata->parameters)
		return "changes to server parameters that were not read";
	bson_t *result = bson_new();
	overlay(result, metadata->parameters, document);
	bool good = within_bounds(result);
	if (good)
		replace(&metadata->parameters, result);
	else
		bson_destroy(result);
	return good ? NULL : "more server parameters than this reader takes";
}

const char *ftdc_metadata_read(struct ftdc_metadata *metadata, const struct ftdc_document *document)
{
	bson_t inner;
	if (!document->inner || !bson_init_static(&inner, document->inner, document->inner_bytes))
		return "a description without its document";
	if (document->type == FTDC_TYPE_PARAMETERS)
		return read_parameters(metadata, &inner, document->count);
	replace(&metadata->description, bson_copy(&inner));
	return NULL;
}

void ftdc_metadata_free(struct ftdc_metadata *metadata)
{
	replace(&metadata->description, NULL);
	replace(&metadata->parameters, NULL);
}

/* ---- asking -------------------------------------------------------------------------------------------- */

static bool find_in(const bson_t *document, const char *path, bson_iter_t *found)
{
	bson_iter_t field;
	return document && bson_iter_init(&field, document) && bson_iter_find_descendant(&field, path, found);
}

static bool find(const struct ftdc_metadata *metadata, const char *path, bson_iter_t *found)
{
	return find_in(metadata->description, path, found) || find_in(metadata->parameters, path, found);
}

bool ftdc_metadata_number(const struct ftdc_metadata *metadata, const char *path, int64_t *value)
{
	bson_iter_t found;
	if (!find(metadata, path, &found))
		return false;
	if (BSON_ITER_HOLDS_DOUBLE(&found)) {
		*value = ftdc_from_double(bson_iter_double(&found));
		return true;
	}
	*value = bson_iter_as_int64(&found);
	return BSON_ITER_HOLDS_INT(&found) || BSON_ITER_HOLDS_BOOL(&found);
}

bool ftdc_metadata_text(const struct ftdc_metadata *metadata, const char *path, char *text, size_t size)
{
	bson_iter_t found;
	int64_t number;
	if (!find(metadata, path, &found))
		return false;
	if (BSON_ITER_HOLDS_UTF8(&found))
		snprintf(text, size, "%s", bson_iter_utf8(&found, NULL));
	else if (BSON_ITER_HOLDS_BOOL(&found))
		snprintf(text, size, "%s", bson_iter_bool(&found) ? "true" : "false");
	else if (ftdc_metadata_number(metadata, path, &number))
		snprintf(text, size, "%" PRId64, number);
	else
		return false;
	return true;
}
