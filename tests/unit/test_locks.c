/* Sums of locks: what is counted, once, and for whom. */
#include <criterion/criterion.h>
#include <math.h>

#include "analyzer/locks_exposure.h"
#include "analyzer/locks_names.h"
#include "tests/unit/support_locks.h"

#define SECOND UINT64_C(1000000000)

static const struct support_options full = {.full = true, .extra_keys = "locks=1\nlocks_every=1\n"};

static struct lock_record mutex(uint64_t address, uint32_t thread, uint64_t opened, uint64_t calls)
{
	return (struct lock_record){.address = address,
				    .opened = opened,
				    .thread = thread,
				    .kind = LOCK_MUTEX,
				    .acquired = calls,
				    .released = calls};
}

static const struct lock_row *row_of(const struct locks *locks, uint64_t address)
{
	size_t count;
	const struct lock_row *rows = locks_rows(locks, &count);
	for (size_t i = 0; i < count; i++)
		if (rows[i].address == address)
			return &rows[i];
	return NULL;
}

/* Every sum of rows and of threads is that of the totals. */
static void check(const struct locks *locks)
{
	size_t count;
	uint64_t operations = 0, wait = 0, readings = 0;
	const struct lock_row *rows = locks_rows(locks, &count);
	for (size_t i = 0; i < count; i++) {
		operations += lock_operations(&rows[i].sums);
		wait += rows[i].sums.wait;
	}
	cr_assert_eq(operations, lock_operations(locks_totals(locks, 0)));
	cr_assert_eq(wait, locks_totals(locks, 0)->wait);
	const struct lock_thread *threads = locks_threads(locks, &count);
	for (size_t i = 0; i < count; i++) {
		const struct lock_sums sums = lock_thread_sums(&threads[i]);
		operations -= lock_operations(&sums);
	}
	cr_assert_eq(operations, 0);
	const struct lock_reading *reading = locks_readings(locks, &count);
	for (size_t i = 0; i < count; i++)
		readings += reading[i].operations;
	cr_assert_eq(readings, lock_operations(locks_totals(locks, 0)));
}

Test(locks, the_latest_record_of_an_entry_counts_and_entries_add_up)
{
	const char *path = support_path("latest.mtr");
	struct support_trace *writer = support_open(path, &full);
	struct lock_record records[2] = {mutex(0x5000, 1, 10, 100), mutex(0x5000, 2, 20, 7)};
	support_locks(writer, SECOND, records, 2, 0);
	support_snapshot(writer, SECOND, NULL);
	records[0].acquired = 250;
	records[0].contended = 3;
	records[0].wait = 600;
	records[0].waits[2] = 3;
	records[0].flags = LOCK_CLOSED;
	support_locks(writer, 2 * SECOND, records, 2, 0); /* the second one is told again, unchanged */
	records[0] = mutex(0x5000, 1, 2 * SECOND, 5);	  /* opened again */
	support_locks(writer, 3 * SECOND, records, 1, LOCKS_WHOLE);
	support_end(writer, 3 * SECOND);
	struct support_locks_read read = support_locks_open(path, false);
	const struct lock_row *row = row_of(read.locks, 0x5000);
	size_t count;
	cr_assert(row && row->sums.acquired == 250 + 7 + 5 && row->sums.released == 100 + 7 + 5);
	cr_assert(row->sums.contended == 3 && row->sums.wait == 600 && row->sums.waits[2] == 3);
	cr_assert(row->threads == 2 && row->threads_waited == 1 && row->locks == 1);
	cr_assert_float_eq(locks_elapsed_s(read.locks), 3, 1e-9);
	const struct lock_reading *readings = locks_readings(read.locks, &count);
	cr_assert_eq(count, 3);
	cr_assert(readings[0].operations == 214 && readings[1].operations == 150 &&
		  readings[2].operations == 10);
	cr_assert(readings[1].contended == 3 && readings[1].wait == 600);
	check(read.locks);
	support_locks_close(&read);
}

Test(locks, kinds_and_threads_are_told_apart)
{
	const char *path = support_path("kinds.mtr");
	struct support_trace *writer = support_open(path, &full);
	struct lock_record records[] = {mutex(0x5000, 1, 10, 4), mutex(0x5000, 1, 10, 9), mutex(0, 3, 1, 6),
					mutex(0, UINT32_MAX, 1, 8), mutex(0x6000, UINT32_MAX, 1, 2)};
	records[1].kind = LOCK_RWLOCK;
	records[1].shared = 5;
	records[2].kind = LOCK_ATOMIC;
	records[2].released = 0;
	support_locks(writer, SECOND, records, 5, 0);
	support_end(writer, SECOND);
	struct support_locks_read read = support_locks_open(path, false);
	size_t count;
	locks_rows(read.locks, &count);
	cr_assert_eq(count, 5);
	cr_assert_eq(locks_totals(read.locks, LOCK_MUTEX)->acquired, 4 + 8 + 2);
	cr_assert_eq(locks_totals(read.locks, LOCK_RWLOCK)->shared, 5);
	cr_assert_eq(locks_totals(read.locks, LOCK_ATOMIC)->acquired, 6);
	const struct lock_row *shared = row_of(read.locks, 0x6000);
	cr_assert(shared->threads == 0 && shared->other_threads);
	locks_threads(read.locks, &count);
	cr_assert_eq(count, 3);
	check(read.locks);
	support_locks_close(&read);
}

/* 50,000 entries that give way to each other, told in blocks of 1000. */
Test(locks, closed_entries_are_forgotten_and_stay_counted)
{
	const char *path = support_path("closed.mtr");
	struct support_trace *writer = support_open(path, &full);
	struct lock_record records[1000];
	for (uint64_t block = 0; block < 50; block++) {
		for (uint64_t i = 0; i < 1000; i++) {
			records[i] = mutex(0x10000 + 64 * (i % 100), 1, 1000 * block + i, 3);
			records[i].flags = i % 500 ? LOCK_CLOSED : 0;
		}
		support_locks(writer, (block + 1) * SECOND, records, 1000, 0);
	}
	for (uint64_t i = 0; i < 100; i++) { /* those that are open yet */
		records[i] = mutex(0x10000, 1, 500 * i, 4);
		records[i].flags = LOCK_CLOSED;
	}
	support_locks(writer, 51 * SECOND, records, 100, 0);
	support_end(writer, 51 * SECOND);
	struct support_locks_read read = support_locks_open(path, false);
	cr_assert_eq(locks_totals(read.locks, 0)->acquired, 150000 + 100);
	cr_assert_eq(row_of(read.locks, 0x10000)->sums.acquired, 10 * 50 * 3 + 100);
	check(read.locks);
	support_locks_close(&read);
}

Test(locks, sums_that_shrink_are_no_growth)
{
	const char *path = support_path("shrink.mtr");
	struct support_trace *writer = support_open(path, &full);
	struct lock_record record = mutex(0x5000, 1, 10, 100);
	support_locks(writer, SECOND, &record, 1, 0);
	record.acquired = 50;
	support_locks(writer, 2 * SECOND, &record, 1, 0);
	support_end(writer, 2 * SECOND);
	struct support_locks_read read = support_locks_open(path, false);
	cr_assert_eq(locks_totals(read.locks, 0)->acquired, 100);
	check(read.locks);
	support_locks_close(&read);
}

/* ---- what cannot be read ------------------------------------------------------------------------------- */

Test(locks, damaged_blocks_are_passed_over_and_unknown_kinds_left_out)
{
	const char *path = support_path("damage.mtr");
	struct support_trace *writer = support_open(path, &full);
	struct lock_record records[2] = {mutex(0x5000, 1, 10, 100), mutex(0x5000, 2, 20, 7)};
	struct locks_header header = {
		.time = SUPPORT_START_TIME, .end_time = SUPPORT_START_TIME, .records = 1};
	support_block(writer, BLOCK_LOCKS, &header, sizeof header); /* its record is missing */
	header.records = UINT32_MAX;
	support_block(writer, BLOCK_LOCKS, &header, sizeof header);
	header.records = 0;
	header.end_time = header.time - 1;
	support_block(writer, BLOCK_LOCKS, &header, sizeof header);
	support_block(writer, BLOCK_LOCKS, &header, sizeof header - 1);
	records[1].kind = 200;
	support_locks(writer, SECOND, records, 2, 0);
	support_end(writer, SECOND);
	struct support_locks_read read = support_locks_open(path, false);
	cr_assert_eq(trace_damage_count(read.trace), 4);
	cr_assert_eq(locks_totals(read.locks, 0)->acquired, 100);
	check(read.locks);
	support_locks_close(&read);
}

Test(locks, a_trace_without_records_knows_nothing)
{
	const char *path = support_path("none.mtr");
	struct support_trace *writer = support_open(path, &full);
	support_malloc(writer, 1, 10, 0x5000, 10, 0);
	support_end(writer, SECOND);
	struct support_locks_read read = support_locks_open(path, false);
	cr_assert_not(locks_known(read.locks));
	cr_assert_eq(locks_elapsed_s(read.locks), 0);
	support_locks_close(&read);
}

/* A flight recorder whose first blocks are gone: what came before what is left does not count. */
Test(locks, a_wrapped_recorder_counts_what_is_left_of_the_time)
{
	const char *path = support_path("wrapped.mtr");
	const struct support_options options = {.full = true, .region_bytes = 65536};
	struct support_trace *writer = support_open(path, &options);
	struct lock_record record = mutex(0x5000, 1, 10, 0);
	for (uint64_t second = 1; second <= 300;
	     second++) { /* 368 bytes of records a second, and snapshots */
		record.acquired = record.released = 1000 * second;
		support_locks(writer, second * SECOND, &record, 1, LOCKS_WHOLE);
		support_snapshot(writer, second * SECOND, NULL);
	}
	support_end(writer, 300 * SECOND);
	support_tell_first_times(path);
	struct support_locks_read read = support_locks_open(path, false);
	double seconds = locks_elapsed_s(read.locks);
	cr_assert(seconds > 10 && seconds < 200, "%f", seconds);
	cr_assert_float_eq((double)locks_totals(read.locks, 0)->acquired, 1000 * seconds, 1e-6);
	check(read.locks);
	support_locks_close(&read);
}

/* ---- histograms, exposure ------------------------------------------------------------------------------ */

Test(locks, quantiles_are_buckets)
{
	uint64_t buckets[LOCK_BUCKETS] = {0}, low, high;
	cr_assert_eq(lock_quantile(buckets, 0.5), LOCK_BUCKETS);
	buckets[1] = 50;
	buckets[3] = 49;
	buckets[15] = 1;
	cr_assert_eq(lock_quantile(buckets, 0.5), 1);
	cr_assert_eq(lock_quantile(buckets, 0.51), 3);
	cr_assert_eq(lock_quantile(buckets, 0.99), 3);
	cr_assert_eq(lock_quantile(buckets, 1), 15);
	lock_bucket_ns(0, &low, &high);
	cr_assert(low == 0 && high == 64);
	lock_bucket_ns(3, &low, &high);
	cr_assert(low == 64 * 16 && high == 64 * 64);
	lock_bucket_ns(15, &low, &high);
	cr_assert(low == UINT64_C(64) << 28 && high == UINT64_MAX);
}

Test(locks, exposure_counts_instructions_and_bounds_the_gain)
{
	const char *path = support_path("exposure.mtr");
	struct support_trace *writer = support_open(path, &full);
	struct lock_record records[2] = {mutex(0x5000, 1, 10, 1000000), mutex(0x6000, 1, 10, 2000000)};
	records[1].kind = LOCK_SPIN;
	records[0].contended = 10;
	const struct snapshot busy = {.user_cpu_us = 3000000, .system_cpu_us = 1000000};
	support_locks(writer, 2 * SECOND, records, 2, 0);
	support_snapshot(writer, 2 * SECOND, &busy);
	support_mark(writer, 2 * SECOND);
	support_kill(writer);
	struct support_locks_read read = support_locks_open(path, false);
	struct lock_exposure exposure = lock_exposure(read.locks, locks_cpus(read.locks));
	cr_assert_float_eq(exposure.cpus, 2, 1e-9);
	cr_assert_float_eq(exposure.atomics, 2000000 + 20 + 2000000, 1e-6);
	cr_assert_float_eq(exposure.atomics_per_s, 2000010, 1e-6);
	cr_assert_float_eq(exposure.hottest_per_s, 1000010, 1e-6);
	/* Both shares are 10 ns x 1,000,0xx: about 1%, and 1 / (1 - 0.01) - 1. */
	cr_assert_float_eq(lock_gain_percent(&exposure, 10), 1.0101, 1e-3);
	cr_assert(isinf(lock_gain_percent(&exposure, 1000)));
	exposure.cpus = NAN;
	cr_assert_float_eq(lock_gain_percent(&exposure, 10), 1.0101, 1e-3, "the hottest lock alone");
	support_locks_close(&read);
}
