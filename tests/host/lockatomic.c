/*
 * Calls of libatomic, by this program itself or, as `lockatomic late`, by a library that brings it along when
 * it is opened: 16 bytes, an odd size, and the small ones that a library may call for.
 */
#include "tests/host/lockguest.h"

#include <dlfcn.h>

enum { TIMES = 1000 };

struct odd {
	char bytes[5];
};

#ifdef LATE
#define WIDE_FUNCTION __attribute__((visibility("default")))
long wide_calls(void);
#else
#define WIDE_FUNCTION static
#endif

/* Returns how many calls it made. Without -mcx16 compilers call libatomic for 16 bytes. */
WIDE_FUNCTION long wide_calls(void)
{
	static _Alignas(16) unsigned __int128 wide;
	static struct odd odd = {"abcd"}, wanted = {"efgh"};
	unsigned __int128 expected, step = ((unsigned __int128)1 << 64) + 1;
	for (int i = 0; i < TIMES; i++) {
		__atomic_fetch_add(&wide, step, __ATOMIC_SEQ_CST);
		expected = __atomic_load_n(&wide, __ATOMIC_ACQUIRE);
		check(expected == step * (unsigned)(i + 1));
		check(__atomic_compare_exchange_n(&wide, &expected, expected, false, __ATOMIC_SEQ_CST,
						  __ATOMIC_RELAXED));
	}
	expected = 1;
	check(!__atomic_compare_exchange_n(&wide, &expected, 7, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	check(expected == step * TIMES);
	check(__atomic_exchange_n(&wide, 5, __ATOMIC_SEQ_CST) == step * TIMES);
	check(__atomic_sub_fetch(&wide, 2, __ATOMIC_SEQ_CST) == 3);
	check(__atomic_fetch_nand(&wide, 1, __ATOMIC_SEQ_CST) == 3);
	__atomic_store_n(&wide, 0, __ATOMIC_RELEASE);

	struct odd old;
	__atomic_exchange(&odd, &wanted, &old, __ATOMIC_SEQ_CST);
	check(!memcmp(&old, "abcd", 5));
	__atomic_load(&odd, &old, __ATOMIC_ACQUIRE);
	check(!memcmp(&old, "efgh", 5));
	check(__atomic_compare_exchange(&odd, &old, &(struct odd){"ijkl"}, false, __ATOMIC_SEQ_CST,
					__ATOMIC_RELAXED));
	check(!memcmp(&odd, "ijkl", 5));
	__atomic_store(&odd, &wanted, __ATOMIC_RELEASE);
	return 3 * TIMES + 5 + 4;
}

#ifndef LATE
int main(int argc, char **argv)
{
	long (*calls)(void) = wide_calls;
	if (argc > 1 && !strcmp(argv[1], "late")) {
		char path[PATH_MAX + 32];
		ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
		require(n > 0);
		path[n] = '\0';
		strcpy(strrchr(path, '/') + 1, "liblateatomic.so");
		void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		require(library);
		calls = (long (*)(void))dlsym(library, "wide_calls");
		require(calls);
	}
	lock_fact("atomic", NULL, (struct lock_counts){calls(), 0, 0, 0, 0});
	say("done");
	return 0;
}
#endif
