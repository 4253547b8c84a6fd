#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "bench/record.h"

static struct field_view view(const char *name, const char *value)
{
	return (struct field_view){.name = name,
				   .value = value,
				   .name_bytes = (uint32_t)strlen(name),
				   .value_bytes = (uint32_t)strlen(value)};
}

static void expect_field(const struct record *record, uint32_t index, const char *name, const char *value)
{
	const struct field *field;

	cr_assert_lt(index, record->count);
	field = record->fields[index];
	cr_assert_eq(field->name_bytes, strlen(name));
	cr_assert_eq(field->value_bytes, strlen(value));
	cr_expect(!memcmp(field->bytes, name, field->name_bytes));
	cr_expect(!memcmp(field->bytes + field->name_bytes, value, field->value_bytes));
}

static char *three_fields(size_t *bytes)
{
	struct field_view fields[] = {view("field0", "alpha"), view("field1", ""), view("field2", "gamma!")};

	return record_encode(fields, 3, bytes);
}

Test(record, bytes_of_the_stored_form)
{
	static const unsigned char expected[] = {21, 0, 0, 0, 1, 0,   0,   0,	2,   0,	 0,
						 0,  3, 0, 0, 0, 'a', 'b', 'x', 'y', 'z'};
	struct field_view field = view("ab", "xyz");
	size_t bytes;
	void *document = record_encode(&field, 1, &bytes);

	cr_assert_eq(bytes, sizeof expected);
	cr_expect_arr_eq(document, expected, sizeof expected);
	free(document);
}

Test(record, round_trip)
{
	const char *reason = "";
	size_t bytes;
	char *document = three_fields(&bytes);
	struct record *record = record_decode(document, bytes, NULL, &reason);

	cr_assert_not_null(record, "%s", reason);
	memset(document, 0, bytes); /* the copy is the client's own */
	cr_expect_eq(record->count, 3);
	expect_field(record, 0, "field0", "alpha");
	expect_field(record, 1, "field1", "");
	expect_field(record, 2, "field2", "gamma!");
	record_free(record);
	free(document);
}

Test(record, one_field_only)
{
	const char *reason = "";
	size_t bytes;
	char *document = three_fields(&bytes);
	struct record *record = record_decode(document, bytes, "field2", &reason);
	struct record *none = record_decode(document, bytes, "field", &reason);

	cr_assert_not_null(record);
	cr_expect_eq(record->count, 1);
	expect_field(record, 0, "field2", "gamma!");
	cr_assert_not_null(none);
	cr_expect_eq(none->count, 0);
	record_free(record);
	record_free(none);
	free(document);
}

/* Nothing of a malformed document may be accepted; a block of exactly the size lets the sanitizers watch. */
static void expect_refused(const char *data, size_t bytes, const char *what)
{
	const char *reason = NULL;
	char *copy = malloc(bytes ? bytes : 1);

	memcpy(copy, data, bytes);
	cr_expect_null(record_decode(copy, bytes, NULL, &reason), "%s was decoded", what);
	cr_expect_not_null(reason);
	cr_expect_not(record_check(copy, bytes, &reason), "%s passed", what);
	free(copy);
}

Test(record, every_wrong_length_is_refused)
{
	size_t bytes;
	char *document = three_fields(&bytes);

	for (size_t cut = 0; cut < bytes; cut++)
		expect_refused(document, cut, "a cut document");
	/* Total, number of fields, name and value lengths of the first field: each a little and far off. */
	for (size_t at = 0; at < 16; at++) {
		char saved = document[at];

		document[at] = (char)(saved + 1);
		expect_refused(document, bytes, "a length one off");
		document[at] = (char)(saved ^ 0x80);
		expect_refused(document, bytes, "a length far off");
		document[at] = saved;
	}
	document[4] = 2; /* a field less: bytes remain */
	expect_refused(document, bytes, "a document with bytes after its last field");
	free(document);
}

Test(record, cut_document_with_a_matching_total_is_refused)
{
	size_t bytes;
	char *document = three_fields(&bytes);

	for (size_t cut = 8; cut < bytes; cut++) {
		document[0] = (char)cut;
		expect_refused(document, cut, "a shortened document");
	}
	free(document);
}

Test(record, change_replaces_and_appends)
{
	struct field_view changes[] = {view("field1", "longer than before"), view("new", "n"),
				       view("field0", "")};
	const char *reason = "";
	size_t bytes, new_bytes;
	char *document = three_fields(&bytes);
	char *changed = record_change(document, bytes, changes, 3, &new_bytes, &reason);
	struct record *record;

	cr_assert_not_null(changed, "%s", reason);
	record = record_decode(changed, new_bytes, NULL, &reason);
	cr_assert_not_null(record, "%s", reason);
	cr_expect_eq(record->count, 4);
	expect_field(record, 0, "field0", "");
	expect_field(record, 1, "field1", "longer than before");
	expect_field(record, 2, "field2", "gamma!");
	expect_field(record, 3, "new", "n");
	record_free(record);
	free(changed);
	document[0]++;
	cr_expect_null(record_change(document, bytes, changes, 3, &new_bytes, &reason));
	free(document);
}

Test(record, no_fields)
{
	const char *reason = "";
	size_t bytes;
	void *document = record_encode(NULL, 0, &bytes);
	struct record *record = record_decode(document, bytes, NULL, &reason);

	cr_assert_not_null(record);
	cr_expect_eq(record->count, 0);
	record_free(record);
	free(document);
}
