/* What locksums.c (the pass), locks_entries.c, locks_rows.c and locks_read.c share. */
#ifndef MTRACE_LOCKSUMS_INTERNAL_H
#define MTRACE_LOCKSUMS_INTERNAL_H

#include "analyzer/hashindex.h"
#include "analyzer/idmap.h"
#include "analyzer/locksums.h"
#include "analyzer/pairmap.h"

/* Where a lock is counted. */
struct lock_slot {
	uint32_t row;	 /* UINT32_MAX: memory is short */
	uint32_t member; /* its address; UINT32_MAX: none is recorded */
};

/* An entry that was told of: its newest record. */
struct lock_entry {
	struct lock_record last;
	struct lock_slot slot;
};

/* Entries by thread, address, kind and time of opening. Zero-initialize. */
struct lock_entries {
	struct lock_entry *items;
	size_t count, capacity;
	size_t closed; /* of them; they go when they are most of it */
	struct hashindex by_key;
};

/* The entry of a record, or NULL. Valid until one is added or taken. */
struct lock_entry *lock_entries_find(const struct lock_entries *entries, const struct lock_record *record);

/* Adds one of which nothing was counted before `last`. NULL when out of memory. */
struct lock_entry *lock_entries_add(struct lock_entries *entries, const struct lock_record *last,
				    struct lock_slot slot);

/* What an entry grew by; the record takes the place of its last one. Sums that shrink (damage) grow by 0. */
struct lock_sums lock_entries_take(struct lock_entries *entries, struct lock_entry *entry,
				   const struct lock_record *record);

/* Forgets closed ones, from time to time. False when out of memory. */
bool lock_entries_sweep(struct lock_entries *entries);
void lock_entries_free(struct lock_entries *entries);

void lock_sums_add(struct lock_sums *sums, const struct lock_sums *part);

/* Rows by kind and place; who used them. Zero-initialize. */
struct lock_rows {
	bool each;
	struct lock_row *items;
	size_t count, capacity;
	struct hashindex by_place;
	struct lock_member *members; /* addresses by row */
	size_t member_count, member_capacity;
	struct hashindex by_member;
	bool *use_waited; /* by index of uses */
	size_t use_count, use_capacity;
	struct pairmap uses; /* row and thread */
};

/* Where a lock is counted. */
struct lock_slot lock_rows_of(struct lock_rows *rows, const struct lock_place *place, unsigned kind,
			      uint64_t address);

/* Adds what a thread did, `atomics` (lock_atomics()) among it. False when out of memory. */
bool lock_rows_add(struct lock_rows *rows, struct lock_slot slot, uint32_t thread,
		   const struct lock_sums *part, double atomics);
void lock_rows_free(struct lock_rows *rows);

/* A record that opens an entry: to be placed when the events have come to that time. */
struct opening {
	uint64_t opened;
	size_t record; /* index into the block */
};

struct locks {
	struct trace *trace;
	struct locks_reader *reader;
	struct lockplaces *places;
	struct lock_entries entries;
	struct lock_rows rows;
	struct lock_thread *threads;
	size_t thread_count, thread_capacity;
	struct idmap threads_by_number;
	struct lock_site *sites;
	size_t site_count, site_capacity;
	struct pairmap sites_by_stack; /* stack id and kind */
	struct lock_reading *readings;
	size_t reading_count, reading_capacity;
	struct lock_sums totals[LOCK_KINDS];

	struct trace_locks block; /* being placed */
	bool loaded, begun;
	struct opening *openings; /* of it, by time */
	size_t opening_count, opening_capacity, opening_next;

	bool wrapped; /* a flight recorder that has lost its beginning */
	bool known;
	uint64_t start, end;
	uint64_t every;

	struct cpu_time {
		uint64_t time, cpu_us;
	} first_cpu, last_cpu; /* by snapshots; time 0: none */
};

#endif
