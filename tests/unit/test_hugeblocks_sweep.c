#include <criterion/criterion.h>
#include <stdlib.h>

#include "analyzer/hugeblocks_sweep.h"

#define KIB UINT64_C(1024)

static uint64_t random_state;

/* Marsaglia, "Xorshift RNGs", 2003. */
static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t holes_of(const struct sweep_result *result, enum backing backing)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < HOLE_CLASSES; i++)
		sum += result->hole_bytes[i][backing];
	return sum;
}

/* The invariant of the header, and that classes and owners tell the same. */
static void assert_adds_up(const struct sweep_result *result)
{
	for (enum backing backing = BACKING_SMALL; backing < BACKINGS; backing++) {
		uint64_t resident_bytes = 0;
		double live_bytes = 0, by_class = 0;
		for (unsigned i = 0; i < OWNER_KINDS; i++) {
			resident_bytes += result->owners[i][backing].resident_bytes;
			live_bytes += result->owners[i][backing].live_bytes.value;
		}
		for (unsigned i = 0; i < SIZE_CLASSES; i++)
			by_class += result->live_bytes[i][backing].value;
		cr_assert_eq((uint64_t)live_bytes + holes_of(result, backing), resident_bytes);
		cr_assert_eq((uint64_t)live_bytes, (uint64_t)by_class);
	}
}

/* ---- a known layout ------------------------------------------------------------------------------------ */

#define HEAP 0x100000u

Test(hugeblocks_sweep, holes_go_to_the_class_that_covers_most_of_their_page)
{
	const struct sweep_stretch stretches[] = {
		{HEAP, HEAP + 32 * KIB, OWNER_TCMALLOC_NORMAL, BACKING_HUGE},
		{HEAP + 32 * KIB, HEAP + 48 * KIB, OWNER_TCMALLOC_NORMAL, BACKING_SMALL},
	};
	const struct sweep_block blocks[] = {
		{HEAP, HEAP + 100, 0},			 /* first page: 2 of up to 128 bytes */
		{HEAP + 128, HEAP + 228, 0},		 /* */
		{HEAP + 8 * KIB, HEAP + 20 * KIB, 0},	 /* a page and a half of one block */
		{HEAP + 28 * KIB, HEAP + 36 * KIB, 0},	 /* over the end of the huge pages */
		{HEAP + 47 * KIB, HEAP + 80 * KIB, 0},	 /* ends where nothing is resident */
		{HEAP + 200 * KIB, HEAP + 300 * KIB, 0}, /* elsewhere */
	};
	struct sweep_result result;
	sweep_run(blocks, 6, stretches, 2, 0, 4096, &result);
	assert_adds_up(&result);
	const struct sweep_owner *owner = result.owners[OWNER_TCMALLOC_NORMAL];
	cr_expect_eq(owner[BACKING_HUGE].resident_bytes, 32 * KIB);
	cr_expect_eq(owner[BACKING_HUGE].live_bytes.value, 200 + 16 * KIB);
	cr_expect_eq(owner[BACKING_SMALL].live_bytes.value, 5 * KIB);
	cr_expect_eq(result.hole_bytes[size_class_of(100)][BACKING_HUGE], 8 * KIB - 200);
	/* pages at 16 and 24 KiB: half of the first is the 12 KiB block's, half of the second the 8 KiB
	 * block's */
	cr_expect_eq(result.hole_bytes[size_class_of(12 * KIB)][BACKING_HUGE], 4 * KIB);
	cr_expect_eq(result.hole_bytes[size_class_of(8 * KIB)][BACKING_HUGE], 4 * KIB);
	cr_expect_eq(result.hole_bytes[size_class_of(8 * KIB)][BACKING_SMALL], 4 * KIB);
	cr_expect_eq(result.hole_bytes[size_class_of(33 * KIB)][BACKING_SMALL], 7 * KIB);
	cr_expect_eq(result.hole_bytes[HOLE_FREE_PAGE][BACKING_HUGE], 0);
}

Test(hugeblocks_sweep, pages_without_a_block_are_free)
{
	const struct sweep_stretch stretch = {HEAP, HEAP + 1000 * KIB, OWNER_GPERFTOOLS, BACKING_HUGE};
	const struct sweep_block block = {HEAP + 500 * KIB, HEAP + 500 * KIB + 10, 0};
	struct sweep_result result;
	sweep_run(&block, 1, &stretch, 1, 0, 4096, &result);
	assert_adds_up(&result);
	cr_expect_eq(result.hole_bytes[0][BACKING_HUGE], 8 * KIB - 10);
	cr_expect_eq(result.hole_bytes[HOLE_FREE_PAGE][BACKING_HUGE], 992 * KIB);
	sweep_run(NULL, 0, &stretch, 1, 0, 4096, &result);
	cr_expect_eq(result.hole_bytes[HOLE_FREE_PAGE][BACKING_HUGE], 1000 * KIB);
}

Test(hugeblocks_sweep, ptmalloc_pages_are_the_kernels)
{
	const struct sweep_stretch stretch = {HEAP, HEAP + 64 * KIB, OWNER_PTMALLOC_HEAP, BACKING_SMALL};
	const struct sweep_block block = {HEAP + 16, HEAP + 116, 0};
	struct sweep_result result;
	sweep_run(&block, 1, &stretch, 1, 0, 4096, &result);
	cr_expect_eq(result.hole_bytes[size_class_of(100)][BACKING_SMALL], 4 * KIB - 100);
	sweep_run(&block, 1, &stretch, 1, 0, 65536, &result);
	cr_expect_eq(result.hole_bytes[size_class_of(100)][BACKING_SMALL], 64 * KIB - 100);
}

Test(hugeblocks_sweep, rounding_is_that_of_glibc)
{
	uint64_t bytes;
	const struct {
		uint64_t size_bytes, chunk_bytes;
	} heap[] = {{0, 32}, {1, 32}, {24, 32}, {25, 48}, {40, 48}, {41, 64}, {1000, 1008}, {1001, 1024}};
	for (size_t i = 0; i < sizeof heap / sizeof *heap; i++) {
		cr_assert(allocator_rounding_bytes(OWNER_PTMALLOC_ARENA, heap[i].size_bytes, 4096, &bytes));
		cr_expect_eq(bytes, heap[i].chunk_bytes - heap[i].size_bytes, "%lu", heap[i].size_bytes);
	}
	cr_assert(allocator_rounding_bytes(OWNER_PTMALLOC_MMAP, 200000, 4096, &bytes));
	cr_expect_eq(bytes, 49 * 4096 - 200000);
	cr_expect_not(allocator_rounding_bytes(OWNER_TCMALLOC_NORMAL, 100, 4096, &bytes));
	cr_expect_not(allocator_rounding_bytes(OWNER_PTMALLOC_HEAP, UINT64_MAX, 4096, &bytes));
}

/* ---- against a reference, byte by byte ----------------------------------------------------------------- */

enum { SPACE = 1 << 18, BLOCKS_MAX = 3000 };

struct reference {
	int owner[SPACE / 4096]; /* OWNER_KINDS: nothing resident */
	enum backing backing[SPACE / 4096];
	uint16_t covered[SPACE]; /* class plus 1 */
};

static size_t make_stretches(struct reference *reference, struct sweep_stretch *stretches)
{
	static const enum owner_kind kinds[] = {OWNER_TCMALLOC_NORMAL, OWNER_PTMALLOC_ARENA,
						OWNER_GPERFTOOLS};
	size_t count = 0;
	for (unsigned page = 0; page < SPACE / 4096; page++) {
		unsigned draw = (unsigned)(random_next() % 8);
		enum owner_kind kind = kinds[page / 2 * 8192 / (SPACE / 3 + 1)];
		reference->owner[page] = draw < 2 ? OWNER_KINDS : (int)kind;
		reference->backing[page] = draw < 5 ? BACKING_SMALL : BACKING_HUGE;
		if (draw >= 2)
			stretches[count++] =
				(struct sweep_stretch){HEAP + page * 4096u, HEAP + (page + 1) * 4096u, kind,
						       reference->backing[page]};
	}
	return count;
}

static size_t make_blocks(struct reference *reference, struct sweep_block *blocks)
{
	size_t count = 0;
	for (uint64_t at = random_next() % 64; at < SPACE && count < BLOCKS_MAX; at += random_next() % 5000) {
		uint64_t size = random_next() % 100 < 5	   ? random_next() % 30000
				: random_next() % 100 < 50 ? random_next() % 2000
							   : random_next() % 100;
		size = at + size > SPACE ? SPACE - at : size;
		blocks[count++] = (struct sweep_block){HEAP + at, HEAP + at + size, 0};
		for (uint64_t i = at; i < at + size; i++)
			reference->covered[i] = (uint16_t)(1 + size_class_of(size));
		at += size;
	}
	return count;
}

static unsigned reference_class(const struct reference *reference, uint64_t page, uint64_t bytes)
{
	uint64_t cover[SIZE_CLASSES] = {0}, most = 0;
	unsigned best = HOLE_FREE_PAGE;
	for (uint64_t i = page; i < page + bytes && i < SPACE; i++)
		if (reference->covered[i] && reference->owner[i / 4096] != OWNER_KINDS)
			cover[reference->covered[i] - 1]++;
	for (unsigned i = 0; i < SIZE_CLASSES; i++) {
		if (cover[i] > most) {
			most = cover[i];
			best = i;
		}
	}
	return best;
}

static void reference_holes(const struct reference *reference, uint64_t holes[HOLE_CLASSES][BACKINGS])
{
	for (uint64_t i = 0; i < SPACE; i++) {
		int owner = reference->owner[i / 4096];
		if (owner == OWNER_KINDS || reference->covered[i])
			continue;
		uint64_t bytes = owner == OWNER_PTMALLOC_ARENA ? 4096 : 8192;
		/* HEAP is a multiple of both */
		holes[reference_class(reference, i / bytes * bytes, bytes)][reference->backing[i / 4096]]++;
	}
}

Test(hugeblocks_sweep, agrees_with_counting_bytes, .timeout = 60)
{
	struct sweep_stretch stretches[SPACE / 4096];
	struct sweep_block *blocks = calloc(BLOCKS_MAX, sizeof *blocks);
	struct reference *reference = malloc(sizeof *reference);
	struct sweep_result result;
	random_state = 7;
	for (unsigned round = 0; round < 4; round++) {
		uint64_t holes[HOLE_CLASSES][BACKINGS] = {0};
		*reference = (struct reference){0};
		size_t stretch_count = make_stretches(reference, stretches);
		size_t block_count = make_blocks(reference, blocks);
		sweep_run(blocks, block_count, stretches, stretch_count, 0, 4096, &result);
		assert_adds_up(&result);
		reference_holes(reference, holes);
		for (unsigned i = 0; i < HOLE_CLASSES; i++)
			for (unsigned backing = 0; backing < BACKINGS; backing++)
				cr_assert_eq(result.hole_bytes[i][backing], holes[i][backing],
					     "round %u, class %u: %lu, not %lu", round, i,
					     result.hole_bytes[i][backing], holes[i][backing]);
	}
	free(reference);
	free(blocks);
}

/* Frees that were lost leave blocks behind, over which others are born: no byte counts twice. */
Test(hugeblocks_sweep, blocks_that_overlap_count_once)
{
	const struct sweep_stretch stretches[] = {
		{HEAP, HEAP + 16 * KIB, OWNER_PTMALLOC_HEAP, BACKING_HUGE},
		{HEAP + 16 * KIB, HEAP + 24 * KIB, OWNER_PTMALLOC_HEAP, BACKING_SMALL},
	};
	const struct sweep_block blocks[] = {
		{HEAP + 1 * KIB, HEAP + 20 * KIB, 0},  {HEAP + 2 * KIB, HEAP + 3 * KIB, 0},
		{HEAP + 4 * KIB, HEAP + 4 * KIB, 0},   {HEAP + 17 * KIB, HEAP + 18 * KIB, 0},
		{HEAP + 19 * KIB, HEAP + 22 * KIB, 0},
	};
	struct sweep_result result;
	sweep_run(blocks, 5, stretches, 2, 0, 4096, &result);
	assert_adds_up(&result);
	cr_expect_eq(result.owners[OWNER_PTMALLOC_HEAP][BACKING_HUGE].live_bytes.value, 15 * KIB);
	cr_expect_eq(result.owners[OWNER_PTMALLOC_HEAP][BACKING_SMALL].live_bytes.value, 6 * KIB);
}

/* ---- sample mode --------------------------------------------------------------------------------------- */

/* The interval holds the truth in about 95 of 100 samples, and the mean of the estimates is near it. */
Test(hugeblocks_sweep, estimates_from_samples_hold_the_truth)
{
	enum { ALL = 20000, ROUNDS = 200 };
	const uint64_t sample_bytes = 64 * KIB, size_bytes = 1000, step = 2000;
	const struct sweep_stretch stretch = {HEAP, HEAP + ALL * step / 2, OWNER_TCMALLOC_NORMAL,
					      BACKING_HUGE};
	const double truth = ALL / 2 * (double)size_bytes, resident = (double)(stretch.end - stretch.start);
	struct sweep_block *blocks = calloc(ALL, sizeof *blocks);
	double sum = 0;
	unsigned held = 0;
	random_state = 99;
	for (unsigned round = 0; round < ROUNDS; round++) {
		size_t count = 0;
		struct sweep_result result;
		double p = sample_probability(size_bytes, sample_bytes);
		for (uint64_t i = 0; i < ALL; i++)
			if ((double)(random_next() >> 11) * 0x1p-53 < p)
				blocks[count++] = (struct sweep_block){HEAP + i * step,
								       HEAP + i * step + size_bytes, 0};
		sweep_run(blocks, count, &stretch, 1, sample_bytes, 4096, &result);
		const struct estimate *live = &result.owners[OWNER_TCMALLOC_NORMAL][BACKING_HUGE].live_bytes;
		struct interval bloat = estimate_remainder(resident, live);
		cr_assert_leq(bloat.low, bloat.value);
		cr_assert_leq(bloat.value, bloat.high);
		held += bloat.low <= resident - truth && resident - truth <= bloat.high;
		sum += live->value;
		cr_assert_eq(holes_of(&result, BACKING_HUGE), 0);
	}
	cr_expect_geq(held, ROUNDS * 90 / 100, "%u of %u", held, ROUNDS);
	cr_expect_lt(held, ROUNDS);
	cr_expect_float_eq(sum / ROUNDS, truth, 0.03 * truth);
	free(blocks);
}

/* ---- parts --------------------------------------------------------------------------------------------- */

Test(hugeblocks_sweep, sorts_few_and_many)
{
	enum { MANY = 50000 };
	struct sweep_block *blocks = calloc(MANY, sizeof *blocks), *spare = calloc(MANY, sizeof *spare);
	random_state = 3;
	for (size_t count = 0; count <= MANY; count = count * 9 + 1) {
		uint64_t sum = 0, sorted_sum = 0;
		for (size_t i = 0; i < count; i++) {
			blocks[i].start = random_next() >> (i % 3 ? 17 : 0);
			blocks[i].site = (uint32_t)blocks[i].start;
			sum += blocks[i].start;
		}
		sweep_sort(blocks, spare, count);
		for (size_t i = 0; i < count; i++) {
			cr_assert(i == 0 || blocks[i - 1].start <= blocks[i].start);
			cr_assert_eq(blocks[i].site, (uint32_t)blocks[i].start);
			sorted_sum += blocks[i].start;
		}
		cr_assert_eq(sum, sorted_sum);
	}
	free(spare);
	free(blocks);
}

Test(hugeblocks_sweep, overlaps)
{
	const struct sweep_range ranges[] = {{100, 200}, {200, 300}, {400, 500}};
	size_t cursor = 0;
	cr_expect_eq(sweep_overlap_bytes(ranges, 3, &cursor, 0, 100), 0);
	cr_expect_eq(sweep_overlap_bytes(ranges, 3, &cursor, 50, 1000), 300);
	cr_expect_eq(sweep_overlap_bytes(ranges, 3, &cursor, 150, 450), 200);
	cr_expect_eq(sweep_overlap_bytes(ranges, 3, &cursor, 150, 150), 0);
	cr_expect_eq(sweep_overlap_bytes(ranges, 3, &cursor, 300, 401), 1);
	cr_expect_eq(sweep_overlap_bytes(ranges, 3, &cursor, 500, 900), 0);
	cr_expect_eq(sweep_overlap_bytes(NULL, 0, &cursor, 0, 900), 0);
}
