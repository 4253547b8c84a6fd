/*
 * Which record numbers exist, and what their keys are called.
 *
 * In the run phase inserts take one number after another, and a number may be read only when it and all
 * before it have been inserted: YCSB's acknowledged counter.
 */
#ifndef MTRACE_BENCH_KEYSPACE_H
#define MTRACE_BENCH_KEYSPACE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* "user", up to 64 digits with padding, and the NUL. */
enum { KEY_PADDING_MOST = 64, KEY_BYTES = 4 + KEY_PADDING_MOST + 1 };

struct key_naming {
	bool hashed;	  /* insertorder=hashed: the number goes through fnv_hash() first */
	unsigned padding; /* zeropadding: at least that many digits */
};

/* Writes the key of record `number` as YCSB names it: "user" and the decimal digits. Returns its length. */
unsigned key_name(char key[KEY_BYTES], uint64_t number, const struct key_naming *naming);

/* A number that was taken and not acknowledged holds `limit` back; at most this many may lie beyond it. */
enum { KEYSPACE_WINDOW = 1 << 16 };

/*
 * Any thread may call any function. keyspace_limit() is one acquire load, paired with the release store of
 * the acknowledgement that moved it: records below the returned limit are in the store.
 */
struct keyspace {
	_Atomic uint64_t limit; /* every number below has been acknowledged */
	uint64_t next;		/* the next number to hand out; limit <= next <= limit + KEYSPACE_WINDOW */
	pthread_mutex_t lock;	/* of next and early */
	pthread_cond_t moved;	/* limit has grown */
	unsigned char *early;	/* by number modulo KEYSPACE_WINDOW: acknowledged before one below it was */
};

/* Numbers below `first` exist already. */
void keyspace_init(struct keyspace *keyspace, uint64_t first);
void keyspace_destroy(struct keyspace *keyspace);

/* Takes a number to insert; waits where the window is full. Each must be acknowledged, even failed. */
uint64_t keyspace_take(struct keyspace *keyspace);
void keyspace_acknowledge(struct keyspace *keyspace, uint64_t number);

static inline uint64_t keyspace_limit(const struct keyspace *keyspace)
{
	return atomic_load_explicit(&keyspace->limit, memory_order_acquire);
}

#endif
