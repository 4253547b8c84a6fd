// Exceptions from operator new and new handlers, through entry points that are patched: one written in
// assembler (throwing_<arch>.S), whose displaced bytes hold the call that throws, and aligned ones made by
// the compiler.
#include <cstdlib>
#include <new>

#include "tests/host/guest.h"

extern "C" void *throwing_allocate(std::size_t bytes); // for the one written in assembler

namespace
{

enum { TIMES = 300, TOO_MUCH = 1 << 20, ARENA_BYTES = 8 << 20, UNIT = 64 };

alignas(UNIT) unsigned char arena[ARENA_BYTES];
std::size_t arena_used;
int destroyed;

void *take(std::size_t bytes)
{
	std::size_t room = (bytes + 2 * UNIT - 1) / UNIT * UNIT;
	if (bytes >= TOO_MUCH || arena_used + room > ARENA_BYTES)
		return nullptr;
	arena_used += room;
	return arena + arena_used - room;
}

struct counted {
	~counted()
	{
		destroyed++;
	}
};

__attribute__((noinline)) bool throws(std::size_t bytes)
{
	counted on_the_way;
	try {
		::operator delete(::operator new(bytes));
		return false;
	} catch (const std::bad_alloc &) {
		return true;
	}
}

__attribute__((noinline)) bool throws_aligned(std::size_t bytes)
{
	counted on_the_way;
	auto const a = std::align_val_t(UNIT);
	try {
		::operator delete(::operator new(bytes, a), a);
		return false;
	} catch (const std::bad_alloc &) {
		return true;
	}
}

} // namespace

extern "C" void *malloc(std::size_t bytes)
{
	return take(bytes);
}

extern "C" void *calloc(std::size_t count, std::size_t bytes)
{
	return take(count * bytes);
}

extern "C" void *realloc(void *block, std::size_t bytes)
{
	void *p = take(bytes);
	if (p && block)
		std::memcpy(p, block, bytes); // the arena is larger than anything in it
	return p;
}

extern "C" void free(void *)
{
	__asm__ volatile("nop; nop; nop; nop; nop; nop; nop");
}

extern "C" void *throwing_allocate(std::size_t bytes)
{
	void *p = take(bytes);
	if (!p)
		throw std::bad_alloc();
	return p;
}

__attribute__((noinline)) void *operator new(std::size_t bytes, std::align_val_t)
{
	return throwing_allocate(bytes);
}

__attribute__((noinline)) void operator delete(void *block) noexcept
{
	free(block);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void operator delete(void *block, std::size_t) noexcept
{
	free(block);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void operator delete(void *block, std::align_val_t) noexcept
{
	free(block);
	__asm__ volatile("" ::: "memory");
}

int main()
{
	int thrown = 0;
	for (int i = 0; i < TIMES; i++) {
		bool too_much = i % 3 == 0;
		thrown += throws(too_much ? TOO_MUCH : 10);
		thrown += throws_aligned(too_much ? TOO_MUCH : 10);
	}
	say("%d thrown, %d destroyed", thrown, destroyed);
	// An exception object is allocated within operator new, so part of one call, and freed outside.
	unsigned failures = 2 * TIMES / 3, successes = 2 * TIMES - failures;
	guest_count("failed", failures, failures);
	guest_count("allocs", successes, successes + 16);
	guest_count("frees", successes + failures, successes + failures + 16);
	return 0;
}
