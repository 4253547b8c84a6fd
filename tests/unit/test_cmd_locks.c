/* The locks command from end to end. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <jansson.h>
#include <string.h>

#include "analyzer/command.h"
#include "tests/unit/support_locks.h"

#define SECOND UINT64_C(1000000000)

static char trace_path[256], json_path[256];

static void start(void)
{
	cr_redirect_stdout();
	cr_redirect_stderr();
	snprintf(trace_path, sizeof trace_path, "%s", support_path("locks.mtr"));
	snprintf(json_path, sizeof json_path, "%s", support_path("locks.json"));
}

TestSuite(cmd_locks, .init = start);

static const struct support_options full = {.full = true, .extra_keys = "locks=1\nlocks_every=1\n"};

/* Two locks: one that a thread waited for, one that only works. Returns where its block of locks is. */
static uint64_t write_trace(void)
{
	struct support_trace *writer = support_open(trace_path, &full);
	struct lock_record records[2] = {{.address = 0x5000,
					  .opened = 10,
					  .thread = 1,
					  .kind = LOCK_MUTEX,
					  .acquired = 1000,
					  .released = 1000,
					  .contended = 100,
					  .failed = 24,
					  .wait = SECOND / 2,
					  .wait_longest = 9000000,
					  .held = 1000,
					  .hold = 100000,
					  .hold_longest = 700},
					 {.address = 0x6000,
					  .opened = 10,
					  .thread = 2,
					  .kind = LOCK_RWLOCK,
					  .acquired = 3000,
					  .shared = 2500,
					  .released = 3000}};
	records[0].waits[8] = 100;
	records[0].holds[0] = 1000;
	support_stack(writer, 1, 7, (const uint64_t[]){0x1111, 0x2222}, 2);
	support_lock_event(writer, EVENT_LOCK_WAIT, 1, 5000, 250, LOCK_MUTEX, 1, 7);
	support_lock_event(writer, EVENT_LOCK_HOLD, 1, 6000, 100, LOCK_MUTEX, 1, 7);
	support_thread(writer, 2, "reader");
	uint64_t offset = support_locks(writer, 2 * SECOND, records, 2, LOCKS_WHOLE);
	support_end(writer, 2 * SECOND);
	return offset;
}

static json_t *run_json(const char *option)
{
	char *argv[] = {"locks", "--json", "-o", json_path, trace_path, (char *)option, NULL};
	json_error_t wrong;
	cr_assert_eq(cmd_locks(option ? 6 : 5, argv), 0);
	json_t *object = json_load_file(json_path, 0, &wrong);
	cr_assert(object, "%s", wrong.text);
	return object;
}

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	cr_assert(json_is_number(value), "%s", key);
	return json_number_value(value);
}

Test(cmd_locks, json_has_the_promised_fields)
{
	write_trace();
	json_t *object = run_json(NULL);
	cr_assert_eq(number(object, "operations"), 1000 + 1000 + 24 + 6000);
	cr_assert_eq(number(object, "contended"), 100);
	cr_assert_eq(number(object, "wait_ns"), 500000000);
	const json_t *lock = json_array_get(json_object_get(object, "locks"), 0);
	cr_assert_str_eq(json_string_value(json_object_get(lock, "kind")), "mutex");
	cr_assert_str_eq(json_string_value(json_object_get(lock, "name")), "0x5000");
	cr_assert_eq(number(lock, "operations"), 2024);
	cr_assert_float_eq(number(lock, "operations_per_s"), 1012, 1e-9);
	cr_assert_float_eq(number(lock, "contended_share"), 100.0 / 1024, 1e-12);
	cr_assert_eq(number(lock, "failed"), 24);
	cr_assert_float_eq(number(lock, "waiters"), 0.25, 1e-12);
	cr_assert_eq(number(lock, "wait_mean_ns"), 5000000);
	const json_t *half = json_object_get(lock, "wait_p50_ns");
	cr_assert_eq(json_integer_value(json_array_get(half, 0)), 64 << 14);
	cr_assert_eq(json_integer_value(json_array_get(half, 1)), 64 << 16);
	cr_assert_eq(number(lock, "hold_mean_ns"), 100);
	cr_assert_float_eq(number(lock, "held_share"), 1000 * 100e-9 / 2, 1e-12);
	const json_t *other = json_array_get(json_object_get(object, "locks"), 1);
	cr_assert_eq(number(other, "shared"), 2500);
	cr_assert(json_is_null(json_object_get(other, "hold_mean_ns")), "nothing was measured");
	cr_assert(json_is_null(json_object_get(other, "wait_p99_ns")), "nobody waited");
	const json_t *site = json_array_get(json_object_get(object, "sites"), 0);
	cr_assert(number(site, "operations") == 1 && number(site, "contended") == 1 &&
		  number(site, "wait_ns") == 250);
	cr_assert(json_is_false(json_object_get(site, "estimated")));
	cr_assert_eq(json_array_size(json_object_get(site, "stack")), 2);
	const json_t *thread = json_array_get(json_object_get(object, "threads"), 1);
	cr_assert_str_eq(json_string_value(json_object_get(thread, "name")), "thread 2 (reader)");
	const json_t *exposure = json_object_get(object, "exposure");
	cr_assert_float_eq(number(exposure, "atomic_ops_per_s"), (1000 + 1000 + 24 + 200 + 6000 + 500) / 2.0,
			   1e-9);
	cr_assert(json_is_null(json_object_get(exposure, "per_operation")));
	json_decref(object);
}

Test(cmd_locks, a_trace_without_locks_is_answered_with_no)
{
	struct support_trace *writer = support_open(trace_path, &full);
	support_end(writer, SECOND);
	char *argv[] = {"locks", trace_path, NULL};
	cr_assert_eq(cmd_locks(2, argv), 1);
	fflush(stderr);
	char said[1024] = "";
	FILE *stream = cr_get_redirected_stderr();
	cr_assert_gt(fread(said, 1, sizeof said - 1, stream), 0);
	cr_assert(strstr(said, "MTRACE_LOCKS=1"), "%s", said);
}

Test(cmd_locks, damage_shows_in_the_status)
{
	size_t bytes;
	uint64_t offset = write_trace();
	uint8_t *data = support_read_file(trace_path, &bytes);
	data[offset + sizeof(struct block_header) + sizeof(struct locks_header)] ^= 1;
	support_write_file(trace_path, data, bytes);
	free(data);
	char *argv[] = {"locks", trace_path, NULL};
	cr_assert_eq(cmd_locks(2, argv), 3);
}

Test(cmd_locks, wrong_usage_is_refused)
{
	write_trace();
	char *zero[] = {"locks", "--atomic-ns", "0", trace_path, NULL};
	cr_assert_eq(cmd_locks(4, zero), 2);
	char *nothing[] = {"locks", NULL};
	cr_assert_eq(cmd_locks(1, nothing), 2);
	char *over[] = {"locks", "-o", trace_path, trace_path, NULL};
	cr_assert_eq(cmd_locks(4, over), 2);
}

/* A client without a clock: taken is the whole trace. 8724 instructions, 411.2 operations. */
Test(cmd_locks, instructions_are_given_for_each_operation_of_the_client)
{
	char client_path[256], option[300];
	write_trace();
	snprintf(client_path, sizeof client_path, "%s", support_path("client.txt"));
	FILE *file = fopen(client_path, "w");
	cr_assert(file);
	fputs("[OVERALL], RunTime(ms), 2000\n[OVERALL], Throughput(ops/sec), 205.6\n[READ], Operations, "
	      "411\n[READ], AverageLatency(us), 10\n",
	      file);
	fclose(file);
	snprintf(option, sizeof option, "--ycsb=%s", client_path);
	json_t *object = run_json(option);
	const json_t *exposure = json_object_get(object, "exposure");
	cr_assert_float_eq(number(exposure, "per_operation"), 8724 / 411.2, 1e-9);
	json_decref(object);
}

Test(cmd_locks, text_says_what_waits_and_what_is_not_seen)
{
	write_trace();
	char *argv[] = {"locks", "-o", json_path, trace_path, NULL};
	size_t bytes;
	cr_assert_eq(cmd_locks(4, argv), 0);
	char *text = (char *)support_read_file(json_path, &bytes);
	text[bytes - 1] = '\0';
	cr_assert(strstr(text, "#1  0x5000"), "%s", text);
	cr_assert(strstr(text, "100 had to wait for a lock, 0.25 threads at a time"), "%s", text);
	cr_assert(strstr(text, "0.25 waiters"), "%s", text);
	cr_assert(strstr(text, "half within 1.05 ms to 4.19 ms"), "%s", text);
	cr_assert(strstr(text, "Not seen:"), "%s", text);
	free(text);
}

/* 4362 instructions a second that take a millisecond less each. */
Test(cmd_locks, more_time_than_there_is_cannot_be_saved)
{
	write_trace();
	char *argv[] = {"locks", "--atomic-ns", "999999", "-o", json_path, trace_path, NULL};
	size_t bytes;
	cr_assert_eq(cmd_locks(6, argv), 0);
	char *text = (char *)support_read_file(json_path, &bytes);
	text[bytes - 1] = '\0';
	cr_assert(strstr(text, "cannot take 1e+06 ns less"), "%s", text);
	free(text);
	json_t *object = run_json("--atomic-ns=999999");
	const json_t *gain = json_array_get(json_object_get(json_object_get(object, "exposure"), "gain"), 0);
	cr_assert(json_is_null(json_object_get(gain, "at_most_percent")));
	json_decref(object);
}
