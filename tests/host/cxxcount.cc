// operator new that calls malloc inside libstdc++ is one allocation, not two; so are deletes, sized and
// aligned.
#include "tests/host/guest.h"

#include <new>

enum { TIMES = 5000 };

int main()
{
	auto const a = std::align_val_t(128);
	for (int i = 0; i < TIMES; i++) {
		std::size_t bytes = std::size_t(1 + i % 900);
		::operator delete(::operator new(bytes));
		::operator delete[](::operator new[](bytes), bytes);
		::operator delete(::operator new(bytes, a), a);
		::operator delete(::operator new(bytes, std::nothrow), std::nothrow);
	}
	::operator delete(nullptr);
	// libstdc++ takes its reserve for exceptions at start
	guest_count("allocs", 4 * TIMES, 4 * TIMES + 16);
	guest_count("frees", 4 * TIMES, 4 * TIMES + 16);
	guest_count("null_frees", 1, 16);
	say("done");
	return 0;
}
