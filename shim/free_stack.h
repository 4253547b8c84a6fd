/*
 * A lock-free stack of small integers: many takers, many givers (Treiber 1986). The head carries a tag that
 * changes with every operation, so that a taker who slept through a take and a give of the same item cannot
 * corrupt the chain. `next` may be read for an item that somebody else just took: it is an array that always
 * exists, and the tag then makes the exchange fail.
 */
#ifndef MTRACE_FREE_STACK_H
#define MTRACE_FREE_STACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct free_stack {
	_Atomic uint64_t head;	 /* tag << 32 | item + 1; low half 0: empty */
	_Atomic uint32_t *next;	 /* item -> item below it + 1 */
	_Atomic uint32_t length; /* close to the truth, for watermarks only */
};

static inline void free_stack_give(struct free_stack *stack, uint32_t item)
{
	uint64_t head = atomic_load_explicit(&stack->head, memory_order_relaxed);
	uint64_t wanted;
	do {
		atomic_store_explicit(&stack->next[item], (uint32_t)head, memory_order_relaxed);
		wanted = ((head >> 32) + 1) << 32 | (item + 1);
		/* Release: whoever takes the item sees what was done with it before. */
	} while (!atomic_compare_exchange_weak_explicit(&stack->head, &head, wanted, memory_order_release,
							memory_order_relaxed));
	atomic_fetch_add_explicit(&stack->length, 1, memory_order_relaxed);
}

static inline bool free_stack_take(struct free_stack *stack, uint32_t *item)
{
	uint64_t head = atomic_load_explicit(&stack->head, memory_order_acquire);
	uint64_t wanted;
	do {
		if ((uint32_t)head == 0)
			return false;
		uint32_t below = atomic_load_explicit(&stack->next[(uint32_t)head - 1], memory_order_relaxed);
		wanted = ((head >> 32) + 1) << 32 | below;
	} while (!atomic_compare_exchange_weak_explicit(&stack->head, &head, wanted, memory_order_acquire,
							memory_order_acquire));
	atomic_fetch_sub_explicit(&stack->length, 1, memory_order_relaxed);
	*item = (uint32_t)head - 1;
	return true;
}

#endif
