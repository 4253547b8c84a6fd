/* What holds a lock, and which calls work with it. */
#include <criterion/criterion.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyzer/locks_names.h"
#include "tests/unit/support_locks.h"

#define SECOND UINT64_C(1000000000)

static const struct support_options full = {.full = true, .extra_keys = "locks=1\nlocks_every=1\n"};
static const uint64_t frames[] = {0x1111, 0x2222};

static struct lock_record used(uint64_t address, uint64_t opened, uint64_t calls)
{
	return (struct lock_record){.address = address,
				    .opened = opened,
				    .thread = 1,
				    .kind = LOCK_MUTEX,
				    .acquired = calls,
				    .released = calls};
}

static const struct lock_row *only_row(const struct locks *locks)
{
	size_t count;
	const struct lock_row *rows = locks_rows(locks, &count);
	cr_assert_eq(count, 1, "%zu rows", count);
	return rows;
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

/* Three locks at one offset in blocks of one stack, the last in a block that is freed before the reading; the
 * address of the first belongs to another stack's block by then. */
static void write_blocks(const char *path, const struct support_options *options)
{
	struct support_trace *writer = support_open(path, options);
	support_stack(writer, 1, 7, frames, 2);
	support_stack(writer, 1, 8, frames, 1);
	for (uint64_t i = 0; i < 3; i++)
		support_malloc(writer, 1, 1000 + i, 0x10000 + 0x1000 * i, 200, 7);
	support_free_block(writer, 1, 9000, 0x10000);
	support_malloc(writer, 1, 9100, 0x10000, 300, 8);
	support_free_block(writer, 1, 9200, 0x12000);
	struct lock_record records[3];
	for (uint64_t i = 0; i < 3; i++)
		records[i] = used(0x10000 + 0x1000 * i + 40, 2000 + i, 10 + i);
	support_snapshot(writer, SECOND, NULL);
	support_locks(writer, SECOND, records, 3, 0);
	support_end(writer, 2 * SECOND);
}

Test(locks_places, locks_of_one_stack_and_offset_are_one_row)
{
	const char *path = support_path("blocks.mtr");
	write_blocks(path, &full);
	struct support_locks_read read = support_locks_open(path, false);
	const struct lock_row *row = only_row(read.locks);
	cr_assert(row->place.kind == PLACE_BLOCK && row->place.key == 7 && row->place.offset == 40);
	cr_assert(row->locks == 3 && row->sums.acquired == 33 && row->threads == 1);
	support_locks_close(&read);
	read = support_locks_open(path, true);
	size_t count;
	const struct lock_row *rows = locks_rows(read.locks, &count);
	cr_assert_eq(count, 3);
	cr_assert(rows[2].address == 0x12028 && rows[2].locks == 1 && rows[2].sums.acquired == 12);
	support_locks_close(&read);
}

Test(locks_places, a_lock_far_inside_of_a_large_block_is_found)
{
	const char *path = support_path("large.mtr");
	struct support_trace *writer = support_open(path, &full);
	support_stack(writer, 1, 9, frames, 2);
	support_malloc(writer, 1, 1000, 0x100000, 1 << 20, 9);
	support_malloc(writer, 1, 1001, 0xff000, 64, 0);
	struct lock_record record = used(0x100000 + 700000, 2000, 5);
	support_locks(writer, SECOND, &record, 1, 0);
	support_end(writer, SECOND);
	struct support_locks_read read = support_locks_open(path, false);
	const struct lock_row *row = only_row(read.locks);
	cr_assert(row->place.kind == PLACE_BLOCK && row->place.key == 9 && row->place.offset == 700000);
	support_locks_close(&read);
}

/* The address behind a block's end is not in it. */
Test(locks_places, a_lock_in_no_block_goes_by_its_address)
{
	const char *path = support_path("outside.mtr");
	struct support_trace *writer = support_open(path, &full);
	support_malloc(writer, 1, 1000, 0x10000, 64, 0);
	struct lock_record record = used(0x10040, 2000, 5);
	support_locks(writer, SECOND, &record, 1, 0);
	support_end(writer, SECOND);
	struct support_locks_read read = support_locks_open(path, false);
	const struct lock_row *row = only_row(read.locks);
	cr_assert(row->place.kind == PLACE_ADDRESS && row->place.offset == 0x10040);
	struct locks_view view = {.locks = read.locks, .symbols = symbols_create(read.trace, NULL)};
	char *name = lock_row_name(&view, row);
	cr_assert_str_eq(name, "0x10040");
	free(name);
	symbols_free(view.symbols);
	support_locks_close(&read);
}

/* ---- regions and stacks -------------------------------------------------------------------------------- */

static void map(struct support_trace *writer, uint64_t time, uint64_t address, uint64_t bytes)
{
	support_event(writer, &(struct trace_event){.kind = EVENT_MMAP,
						    .thread = 1,
						    .time = SUPPORT_START_TIME + time,
						    .end_time = SUPPORT_START_TIME + time,
						    .address = address,
						    .size_bytes = bytes,
						    .result = (int64_t)address,
						    .args = {PROT_READ | PROT_WRITE,
							     MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX}});
}

Test(locks_places, a_lock_on_a_stack_goes_by_its_thread)
{
	const char *path = support_path("stack.mtr");
	struct support_trace *writer = support_open(path, &full);
	support_thread(writer, 2, "worker");
	support_event(writer, &(struct trace_event){.kind = EVENT_THREAD_START,
						    .thread = 2,
						    .time = SUPPORT_START_TIME + 200,
						    .end_time = SUPPORT_START_TIME + 200,
						    .address = 0x700f000});
	struct lock_record records[2] = {used(0x7004000, 2000, 5), used(0x7008000, 2100, 6)};
	support_locks(writer, SECOND, records, 2, 0);
	support_end(writer, SECOND);
	struct support_locks_read read = support_locks_open(path, false);
	const struct lock_row *row = only_row(read.locks);
	cr_assert(row->place.kind == PLACE_STACK && row->place.key == 2 && row->locks == 2);
	struct locks_view view = {.locks = read.locks, .symbols = symbols_create(read.trace, NULL)};
	char *name = lock_row_name(&view, row);
	cr_assert_str_eq(name, "stack of thread 2 (worker)");
	free(name);
	symbols_free(view.symbols);
	support_locks_close(&read);
}

Test(locks_places, a_lock_in_a_mapping_goes_by_its_owner)
{
	const char *path = support_path("region.mtr");
	struct support_trace *writer = support_open(path, &full);
	map(writer, 100, 0x7000000, 0x10000);
	struct lock_record record = used(0x7004000, 2000, 5);
	support_locks(writer, SECOND, &record, 1, 0);
	support_end(writer, SECOND);
	struct support_locks_read read = support_locks_open(path, false);
	const struct lock_row *row = only_row(read.locks);
	size_t count;
	cr_assert(row->place.kind == PLACE_REGION && row->place.offset == 0x7004000);
	cr_assert(row->place.key < (regions_owners(read.regions, &count), count));
	support_locks_close(&read);
}

/* ---- modules ------------------------------------------------------------------------------------------- */

struct {
	int other[4];
	pthread_mutex_t lock;
} lock_named_for_this_test = {.other = {1}};

static int first_module(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uint64_t *)bias = info->dlpi_addr;
	return 1;
}

Test(locks_places, a_lock_in_a_module_goes_by_its_symbol)
{
	const char *path = support_path("module.mtr");
	char exe[512] = "";
	uint64_t bias, address = (uint64_t)(uintptr_t)&lock_named_for_this_test.lock;
	cr_assert_gt(readlink("/proc/self/exe", exe, sizeof exe - 1), 0);
	dl_iterate_phdr(first_module, &bias);
	struct support_trace *writer = support_open(path, &full);
	support_module(writer, address & ~UINT64_C(0xffff), (address & ~UINT64_C(0xffff)) + 0x20000, bias,
		       exe, NULL, 0);
	struct lock_record record = used(address, 2000, 5);
	support_locks(writer, SECOND, &record, 1, 0);
	support_end(writer, SECOND);
	struct support_locks_read read = support_locks_open(path, false);
	const struct lock_row *row = only_row(read.locks);
	cr_assert(row->place.kind == PLACE_MODULE && row->place.offset == address - bias);
	struct locks_view view = {.locks = read.locks, .symbols = symbols_create(read.trace, NULL)};
	char *name = lock_row_name(&view, row);
	cr_assert_str_eq(name, "lock_named_for_this_test+0x10 in test_locks_places");
	free(name);
	symbols_free(view.symbols);
	support_locks_close(&read);
}

/* ---- calls --------------------------------------------------------------------------------------------- */

Test(locks_places, sites_are_estimated_from_the_calls_that_were_chosen)
{
	const char *path = support_path("sites.mtr");
	const struct support_options options = {.full = true, .extra_keys = "locks=1\nlocks_every=100\n"};
	struct support_trace *writer = support_open(path, &options);
	struct lock_record record = used(0x5000, 10, 10000);
	support_stack(writer, 1, 7, frames, 2);
	for (uint64_t i = 0; i < 100; i++)
		support_lock_event(writer, EVENT_LOCK_HOLD, 1, 1000 + 10 * i, 5, LOCK_MUTEX, 100, 7);
	for (uint64_t i = 0; i < 4; i++)
		support_lock_event(writer, EVENT_LOCK_WAIT, 1, 5000 + 1000 * i, 250, LOCK_MUTEX, 1, 7);
	support_lock_event(writer, EVENT_LOCK_WAIT, 1, 20000, 400, LOCK_COND, 1, 7);
	support_lock_event(writer, EVENT_LOCK_WAIT, 1, 30000, 400, LOCK_SEM, 1, 7);
	support_locks(writer, SECOND, &record, 1, 0);
	support_end(writer, SECOND);
	struct support_locks_read read = support_locks_open(path, false);
	size_t count;
	const struct lock_site *sites = locks_sites(read.locks, &count);
	cr_assert_eq(count, 3);
	cr_assert(sites[0].kind == LOCK_MUTEX && sites[0].samples == 104);
	struct lock_calls calls = lock_site_operations(&sites[0]);
	cr_assert(calls.known && calls.value.value == 10000);
	/* A standard deviation is 100 x sqrt(0.99 x 100). */
	cr_assert(estimate_low(&calls.value) > 7900 && estimate_low(&calls.value) < 8300);
	cr_assert(estimate_high(&calls.value) > 11900 && estimate_high(&calls.value) < 12500);
	cr_assert(sites[0].contended.value == 4 && sites[0].contended.variance == 0);
	cr_assert_float_eq(sites[0].wait.value, 1000, 1e-9);
	const struct lock_site *unseen = &sites[2];
	cr_assert(unseen->acquired.value == 0 && estimate_high(&unseen->acquired) > 300,
		  "none of 100 was chosen");
	calls = lock_site_operations(&sites[1]);
	cr_assert(calls.known && calls.value.value == 1, "who waits for a condition had to wait");
	cr_assert_not(lock_site_operations(&sites[2]).known, "a semaphore's free tokens leave no event");
	support_locks_close(&read);
}
