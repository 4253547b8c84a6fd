#include "shim/own.h"

#include <stdatomic.h>

#define RANGES_MAX 64u

/* Free where `bytes` is 0. `bytes` is set last and cleared first. */
static struct {
	_Atomic uint64_t start;
	_Atomic uint64_t bytes;
} ranges[RANGES_MAX];
static _Atomic unsigned ranges_end;

static bool take_place(unsigned place, const void *start, size_t bytes)
{
	uint64_t free_start = 0;
	if (!atomic_compare_exchange_strong(&ranges[place].start, &free_start, (uintptr_t)start))
		return false;
	/* Release: whoever sees the length sees the start. */
	atomic_store_explicit(&ranges[place].bytes, bytes, memory_order_release);
	return true;
}

void own_note(const void *start, size_t bytes)
{
	unsigned place = 0;
	while (place < RANGES_MAX && !take_place(place, start, bytes))
		place++;
	unsigned end = atomic_load(&ranges_end);
	while (place < RANGES_MAX && end <= place &&
	       !atomic_compare_exchange_weak(&ranges_end, &end, place + 1))
		;
}

void own_forget(const void *start)
{
	for (unsigned i = 0; i < atomic_load(&ranges_end); i++) {
		if (atomic_load(&ranges[i].start) != (uintptr_t)start)
			continue;
		atomic_store(&ranges[i].bytes, 0);
		atomic_store(&ranges[i].start, 0);
		return;
	}
}

bool own_at(uint64_t address, uint64_t end, uint64_t *until)
{
	bool own = false;
	*until = end;
	for (unsigned i = 0; i < atomic_load(&ranges_end); i++) {
		uint64_t bytes = atomic_load_explicit(&ranges[i].bytes, memory_order_acquire);
		uint64_t first = atomic_load_explicit(&ranges[i].start, memory_order_relaxed);
		uint64_t last = first + ((bytes + 4095) & ~UINT64_C(4095));
		bool inside = bytes && address >= first && address < last;
		uint64_t border = inside ? last : first;
		own |= inside;
		if (bytes && border > address && border < *until)
			*until = border;
	}
	return own;
}
