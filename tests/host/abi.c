/* The allocator's interface at its edges: what comes back, what errno holds after it, what the block holds.
 */
#include "tests/host/guest.h"

#include <malloc.h>

static volatile size_t huge = PTRDIFF_MAX;
static volatile size_t half = SIZE_MAX / 2;
static volatile size_t zero = 0;
static volatile size_t odd_alignment = 48;
static unsigned long failures;

/* `p` is what the call gave; errno was 77 before it. */
static void *report(const char *name, void *p)
{
	int left = errno;
	say("%s: %s, errno %d", name, p ? "a block" : "null", left);
	failures += !p;
	errno = 77;
	return p;
}

static void give_back(void *p)
{
	errno = 77;
	free(p);
	check(errno == 77);
}

static bool is_aligned(const void *p, size_t alignment)
{
	return (uintptr_t)p % alignment == 0;
}

static void try_sizes(void)
{
	free(malloc(1)); /* the first call of an allocator may leave anything in errno */
	errno = 77;
	give_back(report("malloc 0", malloc(zero)));
	give_back(report("calloc 0", calloc(zero, 10)));
	give_back(report("malloc 1 MiB", malloc(1 << 20)));
	report("malloc too much", malloc(huge));
	report("malloc most", malloc(SIZE_MAX - zero));
	report("calloc overflow", calloc(half, 3));
	report("calloc too much", calloc(1, huge));
	report("reallocarray overflow", reallocarray(NULL, half, 3));
	give_back(report("reallocarray", reallocarray(NULL, 10, 30)));
	give_back(NULL);
}

static void try_realloc(void)
{
	char *p = report("realloc of null", realloc(NULL, 100));
	char *volatile held = p; /* a compiler takes the block for gone after any realloc */
	tag_block(p, 100, 5);
	report("realloc too much", realloc(p, huge));
	check(tag_holds(held, 100, 5));
	report("reallocarray too much", reallocarray(held, half, 3));
	check(tag_holds(held, 100, 5));
	p = report("realloc larger", realloc(held, 300000));
	check(*p == 5);
	p = report("realloc smaller", realloc(p, 10));
	check(*p == 5);
	void *nothing = report("realloc 0", realloc(p, zero));
	if (nothing)
		free(nothing);
	nothing = report("realloc null 0", realloc(NULL, zero));
	give_back(nothing);
}

static void try_alignment(void)
{
	unsigned aligned = 0; /* mimalloc 2.0.9 gives some that are not */
	for (size_t alignment = sizeof(void *); alignment <= 1 << 16; alignment *= 2) {
		void *p = NULL;
		check(posix_memalign(&p, alignment, 100) == 0 && is_aligned(p, alignment));
		give_back(p);
		p = aligned_alloc(alignment, alignment * 2);
		aligned += p && is_aligned(p, alignment);
		p = realloc(p, 5000);
		check(p);
		give_back(p);
		p = memalign(alignment, 33);
		aligned += p && is_aligned(p, alignment);
		give_back(p);
	}
	say("%u aligned blocks", aligned);
	void *untouched = &failures, *p = untouched;
	errno = 77;
	say("posix_memalign 3: %d, errno %d", posix_memalign(&p, 3, 10), errno);
	say("posix_memalign 0: %d, errno %d", posix_memalign(&p, zero, 10), errno);
	say("posix_memalign 4: %d, errno %d", posix_memalign(&p, 4, 10), errno);
	say("posix_memalign too much: %d, errno %d", posix_memalign(&p, 64, huge), errno);
	say("the pointer is %s", p == untouched ? "untouched" : "changed");
	errno = 77;
	report("aligned_alloc too much", aligned_alloc(64, huge));
	report("memalign too much", memalign(64, huge));
	give_back(report("aligned_alloc odd size", aligned_alloc(64, 65)));
	give_back(report("memalign 48", memalign(odd_alignment, 100)));
	p = report("valloc", valloc(10));
	check(is_aligned(p, 4096));
	give_back(p);
}

static void try_pvalloc(void)
{
	void *p = report("pvalloc", pvalloc(10));
	check(is_aligned(p, 4096) && malloc_usable_size(p) >= 4096);
	give_back(p);
}

static void try_contents(void)
{
	for (size_t bytes = 1; bytes < 200000; bytes = bytes * 3 / 2 + 1) {
		unsigned char *p = malloc(bytes);
		require(p);
		memset(p, 0xff, bytes);
		free(p);
		p = calloc(1, bytes);
		require(p);
		size_t dirty = 0;
		for (size_t i = 0; i < bytes; i++)
			dirty += p[i] != 0;
		check(dirty == 0);
		check(malloc_usable_size(p) >= bytes);
		memset(p, 0x77, malloc_usable_size(p));
		free(p);
	}
	check(malloc_usable_size(NULL) == 0);
}

static void try_libc_callers(void)
{
	char *line = NULL, *text = NULL;
	size_t bytes = 0;
	FILE *file = fopen("/proc/self/comm", "r");
	require(file);
	check(getline(&line, &bytes, file) > 0);
	fclose(file);
	free(line);
	check(asprintf(&text, "%0500d", 7) == 500);
	free(text);
	text = realpath("/proc/self/..", NULL);
	check(text && strcmp(text, "/proc") == 0);
	free(text);
	text = strndup("abcdef", 3);
	check(text && strcmp(text, "abc") == 0);
	free(text);
	char *stream_text = NULL;
	FILE *stream = open_memstream(&stream_text, &bytes);
	require(stream);
	for (int i = 0; i < 1000; i++)
		fputs("0123456789", stream);
	fclose(stream);
	check(bytes == 10000);
	free(stream_text);
	setenv("GUEST_VARIABLE", "set", 1);
	check(strcmp(getenv("GUEST_VARIABLE"), "set") == 0);
}

int main(int argc, char **argv)
{
	try_sizes();
	try_realloc();
	try_alignment();
	if (argc > 1 && strcmp(argv[1], "pvalloc") == 0) /* jemalloc leaves it to glibc, and free to itself */
		try_pvalloc();
	try_contents();
	try_libc_callers();
	guest_count("failed", 1, failures + 8);
	guest_count("null_frees", 1, 16);
	return 0;
}
