#include <criterion/criterion.h>

#include <pthread.h>
#include <string.h>

#include "bench/keyspace.h"

Test(keyspace, key_names)
{
	char key[KEY_BYTES];
	struct key_naming hashed = {.hashed = true, .padding = 1}, ordered = {.hashed = false, .padding = 1},
			  padded = {.hashed = false, .padding = KEY_PADDING_MOST};

	cr_expect_eq(key_name(key, 0, &hashed), 23);
	cr_expect_str_eq(key, "user6284781860667377211");
	cr_expect_eq(key_name(key, 0, &ordered), 5);
	cr_expect_str_eq(key, "user0");
	key_name(key, 9007, &ordered);
	cr_expect_str_eq(key, "user9007");
	cr_expect_eq(key_name(key, 12, &padded), KEY_BYTES - 1);
	cr_expect_eq(strspn(key + 4, "0"), KEY_PADDING_MOST - 2);
	cr_expect_str_eq(key + KEY_BYTES - 3, "12");
}

Test(keyspace, the_limit_waits_for_the_lowest)
{
	struct keyspace keyspace;

	keyspace_init(&keyspace, 10);
	cr_expect_eq(keyspace_limit(&keyspace), 10);
	for (uint64_t number = 10; number < 15; number++)
		cr_expect_eq(keyspace_take(&keyspace), number);
	keyspace_acknowledge(&keyspace, 12);
	keyspace_acknowledge(&keyspace, 11);
	cr_expect_eq(keyspace_limit(&keyspace), 10);
	keyspace_acknowledge(&keyspace, 10);
	cr_expect_eq(keyspace_limit(&keyspace), 13);
	keyspace_acknowledge(&keyspace, 14);
	cr_expect_eq(keyspace_limit(&keyspace), 13);
	keyspace_acknowledge(&keyspace, 13);
	cr_expect_eq(keyspace_limit(&keyspace), 15);
	keyspace_destroy(&keyspace);
}

static void *take_one(void *keyspace)
{
	return (void *)(uintptr_t)keyspace_take(keyspace);
}

Test(keyspace, a_full_window_holds_the_next_back_until_the_lowest_is_there, .timeout = 30)
{
	struct keyspace keyspace;
	pthread_t thread;
	void *number;

	keyspace_init(&keyspace, 0);
	for (uint64_t i = 0; i < KEYSPACE_WINDOW; i++)
		cr_assert_eq(keyspace_take(&keyspace), i);
	for (uint64_t i = 1; i < KEYSPACE_WINDOW; i++)
		keyspace_acknowledge(&keyspace, i);
	cr_expect_eq(keyspace_limit(&keyspace), 0);
	pthread_create(&thread, NULL, take_one, &keyspace);
	keyspace_acknowledge(&keyspace, 0);
	pthread_join(thread, &number);
	cr_expect_eq((uintptr_t)number, KEYSPACE_WINDOW);
	cr_expect_eq(keyspace_limit(&keyspace), KEYSPACE_WINDOW);
	keyspace_destroy(&keyspace);
}

enum { EACH = 30000, WRITERS = 3 };

static void *take_many(void *argument)
{
	struct keyspace *keyspace = argument;

	for (int i = 0; i < EACH; i++) {
		uint64_t first = keyspace_take(keyspace), second = keyspace_take(keyspace);

		keyspace_acknowledge(keyspace, second);
		keyspace_acknowledge(keyspace, first);
	}
	return NULL;
}

Test(keyspace, threads_lose_no_number)
{
	struct keyspace keyspace;
	pthread_t threads[WRITERS];

	keyspace_init(&keyspace, 5);
	for (int i = 0; i < WRITERS; i++)
		pthread_create(&threads[i], NULL, take_many, &keyspace);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	cr_expect_eq(keyspace_limit(&keyspace), 5 + 2 * EACH * WRITERS);
	cr_expect_eq(keyspace_take(&keyspace), 5 + 2 * EACH * WRITERS);
	keyspace_destroy(&keyspace);
}
