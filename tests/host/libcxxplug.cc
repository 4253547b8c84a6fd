// A C++ library for a C program that opens it with RTLD_LOCAL: see cdl.c.
#include "tests/host/guest.h"

#include <map>
#include <new>
#include <stdexcept>
#include <string>

static int handler_calls;
static std::string *global = new std::string(300, 'g');

extern "C" int cxxplug_work(int rounds)
{
	std::map<int, std::string> words;
	for (int i = 0; i < rounds; i++)
		words[i % 50] = std::string(static_cast<std::size_t>(20 + i % 100), 'm');
	void *aligned = ::operator new(1000, std::align_val_t(512));
	bool is_aligned = reinterpret_cast<std::uintptr_t>(aligned) % 512 == 0;
	::operator delete(aligned, std::align_val_t(512));
	return is_aligned && global->size() == 300 ? static_cast<int>(words.size()) : -1;
}

extern "C" int cxxplug_without_memory()
{
	volatile std::size_t huge = PTRDIFF_MAX / 2;
	handler_calls = 0;
	std::set_new_handler([] {
		if (++handler_calls == 2)
			std::set_new_handler(nullptr);
	});
	if (::operator new(huge, std::nothrow))
		return -1;
	try {
		::operator delete(::operator new(huge));
	} catch (const std::bad_alloc &) {
		return handler_calls;
	}
	return -2;
}

extern "C" int cxxplug_throw(int depth)
{
	std::string held(100, 'h');
	try {
		if (depth > 0)
			return cxxplug_throw(depth - 1);
		throw std::runtime_error(held);
	} catch (const std::runtime_error &e) {
		return static_cast<int>(std::strlen(e.what()));
	}
}
