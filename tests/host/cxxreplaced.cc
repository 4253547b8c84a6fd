// A program that replaces operator new and delete, as the language allows: its own must be the ones that run.
#include "tests/host/guest.h"

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <vector>

static std::atomic<unsigned long> news, deletes;

void *operator new(std::size_t bytes)
{
	news++;
	void *p = std::malloc(bytes + 16);
	if (!p)
		throw std::bad_alloc();
	*static_cast<std::size_t *>(p) = bytes;
	return static_cast<char *>(p) + 16;
}

void operator delete(void *p) noexcept
{
	if (!p)
		return;
	deletes++;
	std::free(static_cast<char *>(p) - 16);
}

void operator delete(void *p, std::size_t bytes) noexcept
{
	if (p)
		check(*reinterpret_cast<std::size_t *>(static_cast<char *>(p) - 16) == bytes);
	::operator delete(p);
}

int main()
{
	unsigned long before = news;
	{
		std::vector<std::string> words;
		for (int i = 0; i < 1000; i++)
			words.push_back(std::string(100, 'w')); // made inside libstdc++ too
		std::unique_ptr<int[]> numbers(new int[100]);
	}
	unsigned long made = news - before;
	check(made > 1000);
	check(made == deletes);
	say("own operator new called %lu times", made);
	return 0;
}
