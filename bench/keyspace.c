#include "bench/keyspace.h"

#include <stdlib.h>
#include <string.h>

#include "bench/failure.h"
#include "bench/generator.h"

unsigned key_name(char key[KEY_BYTES], uint64_t number, const struct key_naming *naming)
{
	char digits[KEY_PADDING_MOST];
	unsigned count = 0, length = 4;

	if (naming->hashed)
		number = fnv_hash(number);
	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (count < naming->padding)
		digits[count++] = '0';
	memcpy(key, "user", 4);
	while (count)
		key[length++] = digits[--count];
	key[length] = '\0';
	return length;
}

void keyspace_init(struct keyspace *keyspace, uint64_t first)
{
	atomic_init(&keyspace->limit, first);
	keyspace->next = first;
	keyspace->early = must_calloc(KEYSPACE_WINDOW, 1);
	pthread_mutex_init(&keyspace->lock, NULL);
	pthread_cond_init(&keyspace->moved, NULL);
}

void keyspace_destroy(struct keyspace *keyspace)
{
	free(keyspace->early);
	pthread_mutex_destroy(&keyspace->lock);
	pthread_cond_destroy(&keyspace->moved);
}

uint64_t keyspace_take(struct keyspace *keyspace)
{
	uint64_t number;

	pthread_mutex_lock(&keyspace->lock);
	while (keyspace->next - keyspace_limit(keyspace) >= KEYSPACE_WINDOW)
		pthread_cond_wait(&keyspace->moved, &keyspace->lock);
	number = keyspace->next++;
	pthread_mutex_unlock(&keyspace->lock);
	return number;
}

void keyspace_acknowledge(struct keyspace *keyspace, uint64_t number)
{
	uint64_t limit;

	pthread_mutex_lock(&keyspace->lock);
	keyspace->early[number % KEYSPACE_WINDOW] = 1;
	for (limit = keyspace_limit(keyspace); keyspace->early[limit % KEYSPACE_WINDOW]; limit++)
		keyspace->early[limit % KEYSPACE_WINDOW] = 0;
	atomic_store_explicit(&keyspace->limit, limit, memory_order_release);
	pthread_cond_broadcast(&keyspace->moved);
	pthread_mutex_unlock(&keyspace->lock);
}
