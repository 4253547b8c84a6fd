/* The command on traces of known contents: every field of the object, the text, and what it says of damage.
 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>
#include <sys/mman.h>

#include "analyzer/command.h"
#include "tests/unit/support_coverage.h"

#define PAGE  SUPPORT_PAGE_BYTES
#define HUGE  SUPPORT_HUGE_BYTES
#define AT(n) SUPPORT_AT(n)
#define SMALL PAGE_PRESENT
#define LARGE (PAGE_PRESENT | PAGE_HUGE)
#define MS    UINT64_C(1000000)

/* One of two huge pages is broken by stack 6 at 1.1 s. */
static void write_broken(struct support_trace *trace)
{
	const uint64_t frames[] = {0x401010, 0x401020};
	const struct snapshot first = {.minor_faults = 100, .major_faults = 1},
			      second = {.minor_faults = 150, .major_faults = 4};
	support_stack(trace, 0, 6, frames, 2);
	support_settings(trace, 10 * MS, true,
			 "thp.enabled=always\nthp.defrag=defer\nvmstat.thp_fault_alloc=100\n");
	support_map_call(trace, 20 * MS, AT(0), 4 * HUGE, 5);
	support_look(trace, &support_machine, 900 * MS, AT(0), AT(4),
		     (struct page_run[]){{AT(0), AT(2), LARGE}, {0}});
	support_snapshot(trace, 1000 * MS, &first);
	support_event(trace, &(struct trace_event){.kind = EVENT_MADVISE,
						   .time = SUPPORT_START_TIME + 1100 * MS,
						   .end_time = SUPPORT_START_TIME + 1100 * MS,
						   .address = AT(1) + 8 * PAGE,
						   .size_bytes = PAGE,
						   .args = {MADV_DONTNEED},
						   .stack_id = 6});
	support_look(trace, &support_machine, 1900 * MS, AT(0), AT(4),
		     (struct page_run[]){{AT(0), AT(1), LARGE},
					 {AT(1), AT(1) + 8 * PAGE, SMALL},
					 {AT(1) + 9 * PAGE, AT(2), SMALL},
					 {0}});
	support_settings(trace, 1950 * MS, false, "thp.enabled=never\nvmstat.thp_fault_alloc=103\n");
	support_snapshot(trace, 2000 * MS, &second);
}

static void write_nothing(struct support_trace *trace)
{
	support_snapshot(trace, 1000 * MS, NULL);
}

static void write_damaged(struct support_trace *trace)
{
	write_broken(trace);
	support_block(trace, BLOCK_PAGES, "too short", 9);
}

static int run(const char *path, const char *option, char **output)
{
	const char *out = support_path("hugepages.out");
	char *argv[] = {
		"hugepages", (char *)(uintptr_t)path, "-o", (char *)(uintptr_t)out, (char *)(uintptr_t)option,
		NULL};
	size_t bytes;
	int status = cmd_hugepages(option ? 5 : 4, argv);
	char *text = (char *)support_read_file(out, &bytes);
	*output = strndup(text, bytes);
	free(text);
	return status;
}

static json_t *run_json(const char *path, int status)
{
	char *text;
	cr_expect_eq(run(path, "--json", &text), status);
	json_t *object = json_loads(text, 0, NULL);
	cr_assert(object, "%s", text);
	free(text);
	return object;
}

static json_int_t number(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);
	cr_assert(json_is_integer(value), "%s is no integer", key);
	return json_integer_value(value);
}

static json_t *item(json_t *object, const char *key, size_t index)
{
	json_t *value = json_array_get(json_object_get(object, key), index);
	cr_assert(value, "%s[%zu] is not there", key, index);
	return value;
}

Test(cmd_hugepages, json_has_moments_causes_and_breakers)
{
	json_t *object = run_json(support_coverage_trace(NULL, write_broken), 0);
	cr_expect_str_eq(json_string_value(json_object_get(object, "source")), "scan");
	cr_expect_eq(number(object, "huge_page_bytes"), HUGE);
	json_t *first = item(object, "snapshots", 0), *second = item(object, "snapshots", 1);
	cr_expect_float_eq(json_real_value(json_object_get(first, "t_s")), 1.0, 1e-6);
	cr_expect_eq(number(first, "huge_bytes"), 2 * HUGE);
	cr_expect_eq(number(second, "huge_bytes"), HUGE);
	cr_expect_eq(number(second, "resident_bytes"), 2 * HUGE - PAGE);
	cr_expect(json_is_null(json_object_get(first, "folio_mapped_by_page_bytes")));
	json_t *causes = json_object_get(object, "causes");
	cr_expect_eq(json_object_size(causes), CAUSE_COUNT);
	cr_expect_eq(number(causes, "settings"), HUGE - PAGE, "nothing is eligible once it is 'never'");
	cr_expect_eq(number(json_object_get(second, "causes"), "settings"), HUGE - PAGE);
	json_t *breaker = item(object, "breakers", 0);
	cr_expect_str_eq(json_string_value(json_object_get(breaker, "call")), "madvise(MADV_DONTNEED)");
	cr_expect_eq(number(breaker, "calls"), 1);
	cr_expect_eq(number(breaker, "huge_bytes_lost"), HUGE);
	cr_expect_eq(number(breaker, "never_came_back"), 1);
	cr_expect(json_is_null(json_object_get(breaker, "came_back_median_s")));
	cr_expect_eq(json_array_size(json_object_get(breaker, "stack")), 2);
	json_t *region = item(object, "regions", 0);
	cr_expect_eq(number(region, "start"), AT(0));
	cr_expect_eq(number(region, "end"), AT(4));
	json_decref(object);
}

Test(cmd_hugepages, json_has_settings_counters_and_ways)
{
	json_t *object = run_json(support_coverage_trace(NULL, write_broken), 0);
	json_t *settings = json_object_get(object, "settings");
	cr_expect_str_eq(json_string_value(json_object_get(settings, "thp.enabled")), "always");
	json_t *change = item(object, "setting_changes", 0);
	cr_expect_str_eq(json_string_value(json_object_get(change, "after")), "never");
	cr_expect_eq(number(json_object_get(object, "host"), "vmstat.thp_fault_alloc"), 3);
	json_t *fault = json_object_get(json_object_get(object, "paths"), "fault");
	cr_expect_eq(number(fault, "huge_pages"), 2);
	json_t *site = item(object, "mapping_sites",
			    (size_t)number(item(item(object, "snapshots", 0), "sites", 0), "site"));
	cr_expect_eq(number(site, "stack_id"), 5);
	cr_expect_eq(number(site, "huge_bytes_peak"), 2 * HUGE);
	json_decref(object);
}

Test(cmd_hugepages, text_names_what_matters)
{
	static const char *const wanted[] = {
		"2.0 MiB, by scan",
		"mmap:(no stack)",
		"settings (the machine's settings; scripts/thp.sh changes them)",
		"age of the figures",
		"2.0 MiB in 1 huge page by 1 call of madvise(MADV_DONTNEED); none came back",
		"thp.enabled                  always, at the end never",
		"thp_fault_alloc              3"};
	char *text;
	cr_expect_eq(run(support_coverage_trace(NULL, write_broken), NULL, &text), 0);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		cr_expect_not_null(strstr(text, wanted[i]), "%s is not in\n%s", wanted[i], text);
	free(text);
}

Test(cmd_hugepages, nothing_known_is_null_and_said)
{
	char *text;
	const char *path = support_coverage_trace(NULL, write_nothing);
	json_t *object = run_json(path, 0);
	static const char *const unknown[] = {"source",	  "huge_page_bytes", "causes",	    "peak",
					      "breakers", "paths",	     "bloat_bytes", "check"};
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
		cr_expect(json_is_null(json_object_get(object, unknown[i])), "%s", unknown[i]);
	cr_expect_eq(json_array_size(json_object_get(object, "snapshots")), 0);
	json_decref(object);
	cr_expect_eq(run(path, NULL, &text), 0);
	cr_expect_not_null(strstr(text, "no look at pages in this trace"), "%s", text);
	free(text);
}

static void write_sums(struct support_trace *trace)
{
	support_reading(trace, 100 * MS, 0, UINT64_MAX, support_layout_maps);
	support_smaps(trace, 210 * MS, support_layout_smaps);
	support_snapshot(trace, 500 * MS, NULL);
}

/* Nothing but smaps: what it cannot tell is null. */
Test(cmd_hugepages, what_sums_cannot_tell_is_null)
{
	static const char *const unknown[] = {"huge_eligible_bytes", "eligible_reserved_bytes", "zero_bytes",
					      "eligible_swapped_bytes"};
	static const char *const causes[] = {"unaligned-edge", "broken", "fallback", "waiting-for-collapse",
					     "not-faulted"};
	json_t *object = run_json(support_coverage_trace("pmd_size_bytes=2097152\n", write_sums), 0);
	json_t *row = item(object, "snapshots", 0);
	cr_expect_str_eq(json_string_value(json_object_get(object, "source")), "smaps");
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
		cr_expect(json_is_null(json_object_get(row, unknown[i])), "%s", unknown[i]);
	for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
		cr_expect(json_is_null(json_object_get(json_object_get(row, "causes"), causes[i])), "%s",
			  causes[i]);
	cr_expect_eq(number(json_object_get(row, "causes"), "file"), 0);
	json_decref(object);
}

Test(cmd_hugepages, damage_is_passed_over_and_said)
{
	json_t *object = run_json(support_coverage_trace(NULL, write_damaged), ERROR_INPUT);
	cr_expect_eq(number(item(object, "breakers", 0), "huge_bytes_lost"), HUGE);
	json_decref(object);
}

Test(cmd_hugepages, the_trace_is_not_overwritten)
{
	const char *path = support_coverage_trace(NULL, write_nothing);
	char *argv[] = {"hugepages", (char *)(uintptr_t)path, "-o", (char *)(uintptr_t)path, NULL};
	cr_expect_eq(cmd_hugepages(4, argv), ERROR_USAGE);
	char *none[] = {"hugepages", NULL};
	cr_expect_eq(cmd_hugepages(1, none), ERROR_USAGE);
}
