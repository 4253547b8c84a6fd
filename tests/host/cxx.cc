// C++ allocation: every operator new and delete, and what they do when there is no memory.
#include "tests/host/guest.h"

#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

// More than any allocator gives, and yet no size that the compiler may refuse.
volatile std::size_t huge_bytes = PTRDIFF_MAX / 2;
int handler_calls;
bool handlers_may_throw; // through nothrow forms too, as libstdc++ lets them; other allocators end the
			 // program

std::new_handler const no_handler = nullptr;

void give_up_at_third_call()
{
	if (++handler_calls == 3)
		std::set_new_handler(no_handler);
}

void throw_at_second_call()
{
	if (++handler_calls == 2)
		throw std::runtime_error("from the handler");
}

bool is_aligned(const void *p, std::size_t alignment)
{
	return reinterpret_cast<std::uintptr_t>(p) % alignment == 0;
}

void use(void *p, std::size_t bytes)
{
	require(p);
	std::memset(p, 0x5a, bytes);
}

void try_plain_forms()
{
	for (std::size_t bytes = 0; bytes < 3000; bytes += 97) {
		void *p = ::operator new(bytes);
		use(p, bytes);
		::operator delete(p);
		p = ::operator new[](bytes);
		use(p, bytes);
		::operator delete[](p);
		p = ::operator new(bytes, std::nothrow);
		use(p, bytes);
		::operator delete(p, std::nothrow);
		p = ::operator new[](bytes, std::nothrow);
		use(p, bytes);
		::operator delete[](p, std::nothrow);
		p = ::operator new(bytes);
		::operator delete(p, bytes);
		p = ::operator new[](bytes);
		::operator delete[](p, bytes);
	}
	::operator delete(nullptr);
	::operator delete[](nullptr);
	::operator delete(nullptr, std::size_t(8));
}

void try_aligned_forms()
{
	for (std::size_t alignment = 16; alignment <= 8192; alignment *= 2) {
		auto const a = std::align_val_t(alignment);
		void *p[6] = {::operator new(100, a),
			      ::operator new[](100, a),
			      ::operator new(100, a, std::nothrow),
			      ::operator new[](100, a, std::nothrow),
			      ::operator new(100, a),
			      ::operator new[](100, a)};
		for (void *block : p) {
			check(is_aligned(block, alignment));
			use(block, 100);
		}
		::operator delete(p[0], a);
		::operator delete[](p[1], a);
		::operator delete(p[2], a, std::nothrow);
		::operator delete[](p[3], a, std::nothrow);
		::operator delete(p[4], std::size_t(100), a);
		::operator delete[](p[5], std::size_t(100), a);
	}
}

template <typename Form> const char *outcome_of(Form form)
{
	handler_calls = 0;
	try {
		return form() ? "a block" : "null";
	} catch (const std::bad_alloc &) {
		return "bad_alloc";
	} catch (const std::runtime_error &) {
		return "runtime_error";
	}
}

template <typename Form> void try_without_memory(const char *name, Form form)
{
	std::set_new_handler(nullptr);
	const char *outcome = outcome_of(form);
	say("%s: %s", name, outcome);
	std::set_new_handler(give_up_at_third_call);
	outcome = outcome_of(form);
	say("%s with a handler: %s after %d calls", name, outcome, handler_calls);
	std::set_new_handler(nullptr);
	if (!handlers_may_throw)
		return;
	std::set_new_handler(throw_at_second_call);
	outcome = outcome_of(form);
	say("%s with a handler that throws: %s after %d calls", name, outcome, handler_calls);
	check(std::get_new_handler() == throw_at_second_call);
	std::set_new_handler(nullptr);
}

void try_all_without_memory()
{
	auto const a = std::align_val_t(64);
	try_without_memory("new", [] { return ::operator new(huge_bytes); });
	try_without_memory("new[]", [] { return ::operator new[](huge_bytes); });
	try_without_memory("nothrow new", [] { return ::operator new(huge_bytes, std::nothrow); });
	try_without_memory("nothrow new[]", [] { return ::operator new[](huge_bytes, std::nothrow); });
	try_without_memory("aligned new", [=] { return ::operator new(huge_bytes, a); });
	try_without_memory("aligned new[]", [=] { return ::operator new[](huge_bytes, a); });
	try_without_memory("aligned nothrow new",
			   [=] { return ::operator new(huge_bytes, a, std::nothrow); });
	try_without_memory("vector", [] { return new std::vector<char>(huge_bytes); });
}

__attribute__((noinline)) int throw_from(int depth)
{
	std::string held(100 + static_cast<std::size_t>(depth), 'x'); // freed while the stack unwinds
	if (depth == 0)
		throw std::out_of_range(held);
	return throw_from(depth - 1) + static_cast<int>(held.size());
}

void try_exceptions()
{
	int caught = 0;
	for (int i = 0; i < 3000; i++) {
		try {
			throw_from(i % 20);
		} catch (const std::out_of_range &e) {
			caught += std::strlen(e.what()) == 100;
		}
	}
	say("caught %d", caught);
	std::thread other([] {
		try {
			throw_from(5);
		} catch (...) {
			std::exception_ptr held = std::current_exception();
			check(held);
		}
	});
	other.join();
}

void try_objects()
{
	struct alignas(256) wide {
		char room[256];
	};
	for (int i = 0; i < 100; i++) {
		auto one = std::make_unique<wide>();
		auto many = std::make_unique<wide[]>(3);
		check(is_aligned(one.get(), 256) && is_aligned(many.get(), 256));
		std::vector<std::string> words;
		for (int j = 0; j < 50; j++)
			words.push_back(std::string(40, static_cast<char>('a' + j % 26)));
		check(words[49][0] == 'a' + 49 % 26);
	}
}

struct before_main {
	std::string held = std::string(500, 'b');
	~before_main()
	{
		say("static object: %zu bytes", held.size());
	}
} before_main_object;

} // namespace

int main(int argc, char **argv)
{
	handlers_may_throw = argc > 1 && std::strcmp(argv[1], "throwing") == 0;
	try_plain_forms();
	try_aligned_forms();
	try_all_without_memory();
	try_exceptions();
	try_objects();
	say("done");
	return 0;
}
