#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* What happens to the stack between an operation's look at the head and its exchange, once. */
static _Thread_local void (*between)(void);

static void run_between(void)
{
	void (*action)(void) = between;
	between = NULL;
	if (action)
		action();
}

#undef atomic_compare_exchange_weak_explicit
#define atomic_compare_exchange_weak_explicit(object, expected, desired, success, failure)                   \
	(run_between(), atomic_compare_exchange_strong_explicit(object, expected, desired, success, failure))

#include "shim/free_stack.h"

#define ITEMS 16u

static _Atomic uint32_t below[ITEMS];
static struct free_stack stack;

/* 0 at the bottom. */
static void fill(uint32_t items)
{
	stack = (struct free_stack){.next = below};
	for (uint32_t i = 0; i < items; i++)
		free_stack_give(&stack, i);
}

static uint32_t take(void)
{
	uint32_t item = UINT32_MAX;
	cr_assert(free_stack_take(&stack, &item));
	return item;
}

static void assert_empty(void)
{
	uint32_t item = 77;
	cr_assert_not(free_stack_take(&stack, &item));
	cr_assert_eq(item, 77);
}

Test(free_stack, gives_back_each_item_once)
{
	fill(3);
	cr_assert_eq(atomic_load(&stack.length), 3);
	cr_assert_eq(take(), 2);
	cr_assert_eq(take(), 1);
	cr_assert_eq(take(), 0);
	assert_empty();
	cr_assert_eq(atomic_load(&stack.length), 0);
	free_stack_give(&stack, 1);
	cr_assert_eq(take(), 1);
	assert_empty();
}

/* The taker saw 2 above 1. When it goes on, 2 is on top again, but 1 is in use. */
static void take_two_give_first(void)
{
	cr_assert_eq(take(), 2);
	cr_assert_eq(take(), 1);
	free_stack_give(&stack, 2);
}

Test(free_stack, taker_that_slept_through_takes_and_a_give)
{
	fill(3);
	between = take_two_give_first;
	cr_assert_eq(take(), 2);
	cr_assert_eq(take(), 0, "item 1 is held by somebody else");
	assert_empty();
}

/* The giver of 2 saw 1 on top. When it goes on, 0 is there. */
static void turn_around(void)
{
	cr_assert_eq(take(), 1);
	cr_assert_eq(take(), 0);
	free_stack_give(&stack, 1);
	free_stack_give(&stack, 0);
}

Test(free_stack, giver_that_slept_through_changes)
{
	fill(2);
	between = turn_around;
	free_stack_give(&stack, 2);
	cr_assert_eq(take(), 2);
	cr_assert_eq(take(), 0);
	cr_assert_eq(take(), 1);
	assert_empty();
}

static void take_the_only_one(void)
{
	cr_assert_eq(take(), 0);
}

Test(free_stack, taker_that_comes_too_late)
{
	fill(1);
	between = take_the_only_one;
	assert_empty();
}

/* The tag is 32 bits wide and must not spill into the item when it wraps. */
Test(free_stack, tag_wraps)
{
	fill(2);
	atomic_fetch_or(&stack.head, UINT64_C(0xffffffff) << 32);
	cr_assert_eq(take(), 1);
	cr_assert_eq(take(), 0);
	assert_empty();
	atomic_fetch_or(&stack.head, UINT64_C(0xffffffff) << 32);
	free_stack_give(&stack, 3);
	cr_assert_eq(take(), 3);
	assert_empty();
}

/* ---- several threads
 * ---------------------------------------------------------------------------------------------- */

#define THREADS 4u
#define ROUNDS	100000u
#define HELD	3u

static _Atomic uint32_t holders[ITEMS];
static uint32_t content[ITEMS]; /* not atomic: handed on with the item */
static _Atomic uint32_t held_twice;

static void hold(uint32_t item)
{
	if (atomic_fetch_add_explicit(&holders[item], 1, memory_order_relaxed) != 0)
		atomic_fetch_add(&held_twice, 1);
	content[item]++;
}

static void give_up(uint32_t item)
{
	atomic_fetch_sub_explicit(&holders[item], 1, memory_order_relaxed);
	free_stack_give(&stack, item);
}

/* Takes several, gives back the first one first: that is how a top comes back above another item. */
static void *take_and_give(void *taken_total)
{
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t items[HELD], count = 0;
		while (count < HELD && free_stack_take(&stack, &items[count]))
			hold(items[count++]);
		if (round % 64 == 0)
			sched_yield();
		for (uint32_t i = 0; i < count; i++)
			give_up(items[i]);
		*(uint64_t *)taken_total += count;
	}
	return NULL;
}

Test(free_stack, no_item_is_held_twice)
{
	pthread_t threads[THREADS];
	uint64_t taken[THREADS] = {0}, taken_total = 0, content_total = 0;
	fill(ITEMS);
	for (unsigned i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, take_and_give, &taken[i]), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		taken_total += taken[i];
	}
	cr_assert_eq(atomic_load(&held_twice), 0);
	cr_assert_eq(atomic_load(&stack.length), ITEMS);
	for (unsigned i = 0; i < ITEMS; i++)
		hold(take());
	assert_empty();
	cr_assert_eq(atomic_load(&held_twice), 0);
	for (unsigned i = 0; i < ITEMS; i++)
		content_total += content[i];
	cr_assert_eq(content_total, taken_total + ITEMS, "an item was handed on without its content");
}
