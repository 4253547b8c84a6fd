/* Settings and counters of the machine, block by block. */
#include <criterion/criterion.h>

#include "analyzer/thpstate.h"
#include "tests/unit/support_pages.h"

#define START SUPPORT_START_TIME
#define MIB   (UINT64_C(1) << 20)

static struct trace *trace;
static struct thpstate *state;

static void open_state(void (*write)(struct support_trace *trace))
{
	struct error error = {0};
	const char *path = support_path("settings.mtr");
	struct support_trace *made = support_open(path, &(struct support_options){.full = true});
	write(made);
	support_end(made, 1000);
	trace = trace_open(path, &error);
	cr_assert(trace);
	state = thpstate_open(trace);
	cr_assert(state);
}

static void until(uint64_t time)
{
	struct error error = {0};
	cr_assert(thpstate_until(state, time == UINT64_MAX ? time : START + time, &error));
}

static void close_state(void)
{
	thpstate_close(state);
	trace_close(trace);
}

static void write_changes(struct support_trace *made)
{
	support_settings(made, 10, true,
			 "thp.enabled=always\nprocess.thp_disable=0\nvmstat.thp_fault_alloc=100\n"
			 "vmstat.thp_fault_fallback=7\nthp.khugepaged.pages_collapsed=3\n");
	support_settings(made, 20, false, "thp.enabled=never\nvmstat.thp_fault_alloc=130\n");
	support_settings(made, 30, false, "vmstat.thp_fault_fallback=9\nthp.defrag=defer\n");
	support_settings(made, 40, false, "thp.enabled=always\nvmstat.thp_fault_alloc=nonsense\n");
	support_settings(made, 50, true, "thp.enabled=always\nprocess.thp_disable=1\n");
}

Test(thpstate, values_are_those_of_the_moment)
{
	open_state(write_changes);
	cr_expect_null(thpstate_value(state, "thp.enabled"));
	cr_expect_null(thpstate_enabled(state, 2 * MIB));
	cr_expect_eq(thpstate_due(state), START + 10);
	until(15);
	cr_expect_str_eq(thpstate_value(state, "thp.enabled"), "always");
	until(25);
	cr_expect_str_eq(thpstate_value(state, "thp.enabled"), "never");
	cr_expect_str_eq(thpstate_value(state, "vmstat.thp_fault_fallback"), "7");
	cr_expect_not(thpstate_disabled(state));
	until(UINT64_MAX);
	cr_expect_str_eq(thpstate_value(state, "thp.enabled"), "always");
	cr_expect_null(thpstate_value(state, "thp.defrag")); /* not in the last whole one */
	cr_expect(thpstate_disabled(state));
	const struct thp_value *value = thpstate_find(state, "thp.enabled");
	cr_expect_str_eq(value->first, "always");
	cr_expect_eq(value->first_time, START + 10);
	cr_expect_eq(value->time, START + 40);
	cr_expect_eq(thpstate_due(state), UINT64_MAX);
	close_state();
}

Test(thpstate, counters_rise_and_settings_change)
{
	uint64_t rise;
	size_t count;
	open_state(write_changes);
	until(35);
	cr_assert(thpstate_rise(state, "vmstat.thp_fault_alloc", &rise));
	cr_expect_eq(rise, 30);
	cr_assert(thpstate_rise(state, "thp.khugepaged.pages_collapsed", &rise));
	cr_expect_eq(rise, 0);
	cr_expect_not(thpstate_rise(state, "thp.enabled", &rise));
	cr_expect_not(thpstate_rise(state, "vmstat.thp_swpout", &rise));
	until(UINT64_MAX);
	cr_expect_not(thpstate_rise(state, "vmstat.thp_fault_alloc", &rise), "it is no number any more");
	const struct thp_change *changes = thpstate_changes(state, &count);
	cr_assert_eq(count, 4);
	cr_expect_eq(thpstate_changes_count(state), 4);
	size_t values;
	const struct thp_value *all = thpstate_values(state, &values);
	cr_expect_eq(values, 6);
	cr_expect_str_eq(all[changes[0].value].name, "thp.enabled");
	cr_expect_str_eq(changes[0].before, "always");
	cr_expect_str_eq(changes[0].after, "never");
	cr_expect_eq(changes[1].time, START + 40);
	cr_expect_str_eq(all[changes[2].value].name, "thp.defrag");
	cr_expect_null(changes[2].after);
	cr_expect_str_eq(all[changes[3].value].name, "process.thp_disable");
	close_state();
}

Test(thpstate, a_fallback_lies_between_two_readings)
{
	uint64_t after, until_time;
	open_state(write_changes);
	until(25);
	thpstate_fallback(state, &after, &until_time);
	cr_expect_eq(until_time, 0);
	until(UINT64_MAX);
	thpstate_fallback(state, &after, &until_time);
	cr_expect_eq(after, START + 20);
	cr_expect_eq(until_time, START + 30);
	close_state();
}

static void write_sizes(struct support_trace *made)
{
	support_settings(made, 10, true,
			 "thp.enabled=always\nthp.hugepages-2048kB.enabled=inherit\n"
			 "thp.hugepages-32768kB.enabled=madvise\n");
	support_settings(made, 20, false, "thp.hugepages-2048kB.enabled=never\n");
}

Test(thpstate, the_setting_of_the_size_decides_unless_it_inherits)
{
	open_state(write_sizes);
	until(10);
	cr_expect_str_eq(thpstate_enabled(state, 2 * MIB), "always");
	cr_expect_str_eq(thpstate_enabled(state, 32 * MIB), "madvise");
	cr_expect_str_eq(thpstate_enabled(state, 512 * MIB), "always");
	until(20);
	cr_expect_str_eq(thpstate_enabled(state, 2 * MIB), "never");
	close_state();
}
