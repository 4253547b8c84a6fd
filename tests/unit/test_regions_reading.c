/* Readings of the mappings: what they add to the region calls, and where the calls know better. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/unit/support_regions.h"

#define MIB				   (UINT64_C(1) << 20)
#define GIB				   (UINT64_C(1) << 30)
#define PAGE				   UINT64_C(4096)
#define SOMEWHERE			   UINT64_C(0x7f1000000000)
#define ARENA				   UINT64_C(0x7f2004000000) /* a multiple of 64 MiB */
#define RW				   (MAPPING_READ | MAPPING_WRITE)
#define ALL				   0, UINT64_MAX

#define cr_owner_at(world, address, owner) cr_expect_str_eq(support_owner_at(world, address), owner)

/* ---- names, files and places -------------------------------------------------------------------------- */

#define LIBRARY UINT64_C(0x7f3000000000)

static void write_named(struct support_trace *trace)
{
	support_module(trace, LIBRARY, LIBRARY + 3 * PAGE + 100, LIBRARY, "/lib/libx.so", NULL, 0);
	support_reading(
		trace, 0, ALL,
		(struct support_mapping[]){
			{0x400000, 0x402000, MAPPING_READ | MAPPING_EXEC, 11, "/usr/bin/guest"},
			{0x500000, 0x600000, RW, 0, "[heap]"},
			{LIBRARY, LIBRARY + 2 * PAGE, MAPPING_READ | MAPPING_EXEC, 12, "/usr/lib/libx.so"},
			{LIBRARY + 2 * PAGE, LIBRARY + 7 * PAGE, RW, 0, ""},
			{LIBRARY + MIB, LIBRARY + MIB + PAGE, MAPPING_READ, 13, "/data/file"},
			{LIBRARY + 2 * MIB, LIBRARY + 2 * MIB + PAGE, MAPPING_READ | MAPPING_EXEC, 14,
			 "/opt/plugin.so"},
			{LIBRARY + 3 * MIB, LIBRARY + 3 * MIB + PAGE, RW | MAPPING_OWN, 0, ""},
			{LIBRARY + 4 * MIB, LIBRARY + 4 * MIB + PAGE, RW, 0, "[anon:tcmalloc_region_COLD]"},
			{LIBRARY + 5 * MIB, LIBRARY + 5 * MIB + PAGE, RW, 0,
			 "[anon: glibc: pthread stack: 7]"},
			{LIBRARY + 6 * MIB, LIBRARY + 6 * MIB + PAGE, RW, 0, ""},
			{0x7ffffff00000, 0x7ffffff21000, RW, 0, "[stack]"},
			{0x7ffffff30000, 0x7ffffff32000, MAPPING_READ, 0, "[vdso]"},
			{0xffffffffff600000, 0xffffffffff601000, MAPPING_EXEC, 0, "[vsyscall]"},
			{0}});
}

Test(regions_reading, names_files_and_places_tell_owners)
{
	struct support_regions *world = support_regions_open(write_named);
	support_until(world, UINT64_MAX);
	cr_owner_at(world, 0x400000, "program");
	cr_owner_at(world, 0x500000, "ptmalloc-heap");
	cr_owner_at(world, LIBRARY, "library");
	cr_owner_at(world, LIBRARY + 3 * PAGE, "library"); /* its zero-initialised data */
	cr_owner_at(world, LIBRARY + 4 * PAGE, "other");   /* listed as one with it */
	cr_owner_at(world, LIBRARY + MIB, "file");
	cr_owner_at(world, LIBRARY + 2 * MIB, "library");
	cr_owner_at(world, LIBRARY + 3 * MIB, "mtrace");
	cr_owner_at(world, LIBRARY + 4 * MIB, "tcmalloc-cold");
	cr_owner_at(world, LIBRARY + 5 * MIB, "thread-stack");
	cr_owner_at(world, LIBRARY + 6 * MIB, "other");
	cr_owner_at(world, 0x7ffffff00000, "thread-stack");
	cr_owner_at(world, 0x7ffffff30000, "other");
	cr_owner_at(world, 0xffffffffff600000, "nothing");
	const struct region_totals *totals = regions_totals(world->regions);
	cr_expect_eq(totals->bytes[REGION_COMMITTED],
		     2 * PAGE + MIB + 7 * PAGE + 5 * PAGE + 0x21000 + 0x2000); /* without the shim's */
	support_regions_close(world);
}

Test(regions_reading, the_heap_is_the_allocators)
{
	struct support_regions *world =
		support_regions_open_keys("allocator_statistics=gperftools\n", write_named);
	support_until(world, UINT64_MAX);
	cr_owner_at(world, 0x500000, "gperftools");
	support_regions_close(world);
}

/* ---- calls and readings together ---------------------------------------------------------------------- */

/* Inside one mapping of the list lies what a call mapped, with others on both sides. */
static void write_around(struct support_trace *trace)
{
	support_reading(trace, 50, ALL,
			(struct support_mapping[]){{SOMEWHERE, SOMEWHERE + 9 * PAGE, RW, 0, ""}, {0}});
}

Test(regions_reading, a_reading_fills_in_around_what_calls_know)
{
	struct support_regions *world = support_regions_open(write_around);
	support_mmap(world, 10, SOMEWHERE + 3 * PAGE, 3 * PAGE, PROT_READ | PROT_WRITE, 0);
	support_madvise(world, 20, SOMEWHERE + 4 * PAGE, PAGE, MADV_DONTNEED, 0);
	support_mmap(world, 30, SOMEWHERE + MIB, PAGE, PROT_READ, 0);
	cr_owner_at(world, SOMEWHERE, "nothing");
	support_until(world, 60);
	cr_owner_at(world, SOMEWHERE, "other");
	cr_owner_at(world, SOMEWHERE + 8 * PAGE, "other");
	cr_owner_at(world, SOMEWHERE + MIB, "nothing"); /* unmapped where no hook saw it */
	support_owner_is(world, "mmap:(no stack)", 0, 2 * PAGE, PAGE);
	support_owner_is(world, "other", 0, 6 * PAGE, 0);
	support_regions_close(world);
}

/* An event that the reading has seen already comes again and changes nothing; one behind it counts. */
Test(regions_reading, events_during_a_reading_count_from_its_start)
{
	struct support_regions *world = support_regions_open(write_around);
	support_mmap(world, 51, SOMEWHERE, 9 * PAGE, PROT_READ | PROT_WRITE, 0);
	support_owner_is(world, "mmap:(no stack)", 0, 9 * PAGE, 0);
	support_munmap(world, 52, SOMEWHERE, 4 * PAGE);
	support_owner_is(world, "mmap:(no stack)", 0, 5 * PAGE, 0);
	support_regions_close(world);
}

static void write_changes(struct support_trace *trace)
{
	static const struct support_mapping none[] = {{0}};
	support_reading(trace, 0, ALL,
			(struct support_mapping[]){{SOMEWHERE, SOMEWHERE + 8 * PAGE, RW, 0, ""},
						   {SOMEWHERE + MIB, SOMEWHERE + MIB + PAGE, RW, 0, ""},
						   {0}});
	support_reading(trace, 100, SOMEWHERE, SOMEWHERE + 8 * PAGE,
			(struct support_mapping[]){{SOMEWHERE, SOMEWHERE + 4 * PAGE, RW, 0, ""},
						   {SOMEWHERE + 4 * PAGE, SOMEWHERE + 6 * PAGE, 0, 0, ""},
						   {0}});
	support_reading(trace, 200, SOMEWHERE + 2 * PAGE, SOMEWHERE + 3 * PAGE, none);
	support_reading(
		trace, 300, SOMEWHERE, SOMEWHERE + PAGE,
		(struct support_mapping[]){{SOMEWHERE, SOMEWHERE + PAGE, MAPPING_READ, 5, "/a/file"}, {0}});
}

Test(regions_reading, changes_touch_nothing_outside_their_ranges)
{
	struct support_regions *world = support_regions_open(write_changes);
	support_until(world, 50);
	support_owner_is(world, "other", 0, 9 * PAGE, 0);
	support_until(world, 150);
	support_owner_is(world, "other", 2 * PAGE, 5 * PAGE, 0);
	support_until(world, 250);
	support_owner_is(world, "other", 2 * PAGE, 4 * PAGE, 0);
	cr_owner_at(world, SOMEWHERE + 2 * PAGE, "nothing");
	support_until(world, UINT64_MAX);
	cr_owner_at(world, SOMEWHERE, "file");
	cr_owner_at(world, SOMEWHERE + MIB, "other");
	support_regions_close(world);
}

/* The loader maps a file over memory of ours without a hook: it is the file's then. A file that a call mapped
 * stays its mapper's. */
static void write_files(struct support_trace *trace)
{
	support_reading(
		trace, 50, ALL,
		(struct support_mapping[]){
			{SOMEWHERE, SOMEWHERE + PAGE, MAPPING_READ | MAPPING_EXEC, 5, "/a/b.so"},
			{SOMEWHERE + PAGE, SOMEWHERE + 2 * PAGE, RW | MAPPING_SHARED, 6, "/data/x.wt"},
			{SOMEWHERE + 2 * PAGE, SOMEWHERE + 3 * PAGE, RW | MAPPING_SHARED, 7,
			 "/dev/zero (deleted)"},
			{0}});
	support_reading(trace, 100, SOMEWHERE + PAGE, SOMEWHERE + 2 * PAGE,
			(struct support_mapping[]){
				{SOMEWHERE + PAGE, SOMEWHERE + 2 * PAGE, RW, 8, "/data/other"}, {0}});
}

Test(regions_reading, another_file_means_another_owner)
{
	struct support_regions *world = support_regions_open(write_files);
	support_mmap(world, 10, SOMEWHERE, PAGE, PROT_READ | PROT_WRITE, 0);
	support_mmap_from(world, 11, SOMEWHERE + PAGE, PAGE, MAP_SHARED, 0);
	support_call(world, &(struct trace_event){.kind = EVENT_MMAP,
						  .time = 12,
						  .address = SOMEWHERE + 2 * PAGE,
						  .size_bytes = PAGE,
						  .args = {PROT_READ, MAP_SHARED | MAP_ANONYMOUS}});
	support_until(world, 60);
	cr_owner_at(world, SOMEWHERE, "library");
	cr_owner_at(world, SOMEWHERE + PAGE, "file");
	cr_owner_at(world, SOMEWHERE + 2 * PAGE, "mmap:(no stack)");
	support_until(world, UINT64_MAX);
	cr_owner_at(world, SOMEWHERE + PAGE, "file");
	cr_expect_neq(support_region_at(world, SOMEWHERE + PAGE)->file, REGION_FILE_UNKNOWN);
	support_regions_close(world);
}

/* ---- ptmalloc ----------------------------------------------------------------------------------------- */

#define USED (132 * 1024)

static void write_arena(struct support_trace *trace)
{
	/* The rest of the first heap and the guard of a stack behind it are one mapping. */
	support_reading(trace, 0, ALL,
			(struct support_mapping[]){{ARENA, ARENA + USED, RW, 0, ""},
						   {ARENA + USED, ARENA + 64 * MIB + PAGE, 0, 0, ""},
						   {ARENA + 64 * MIB + PAGE, ARENA + 72 * MIB, RW, 0, ""},
						   {0}});
	support_reading(trace, 100, ARENA, ARENA + 64 * MIB + PAGE,
			(struct support_mapping[]){{ARENA, ARENA + 10 * MIB, RW, 0, ""},
						   {ARENA + 10 * MIB, ARENA + 64 * MIB + PAGE, 0, 0, ""},
						   {0}});
}

static void start_thread(struct support_regions *world, uint64_t time, uint64_t stack)
{
	support_call(world,
		     &(struct trace_event){.kind = EVENT_THREAD_START, .time = time, .address = stack});
}

Test(regions_reading, arenas_and_stacks_are_told_apart)
{
	struct support_regions *world = support_regions_open(write_arena);
	start_thread(world, 10, ARENA + 71 * MIB);
	support_owner_is(world, "ptmalloc-arena", 64 * MIB - USED, USED, 0);
	support_owner_is(world, "thread-stack", PAGE, 8 * MIB - PAGE, 0);
	support_owner_is(world, "other", 0, 0, 0);
	support_peak_is(world, "other", REGION_COMMITTED, 8 * MIB - PAGE); /* until the thread was seen */
	support_until(world, UINT64_MAX);
	support_owner_is(world, "ptmalloc-arena", 54 * MIB, 10 * MIB, 0);
	support_owner_is(world, "thread-stack", PAGE, 8 * MIB - PAGE, 0);
	support_regions_close(world);
}

/* Reserved memory in use from some other place on, or none of it in use, is no arena. */
static void write_no_arena(struct support_trace *trace)
{
	support_reading(trace, 0, ALL,
			(struct support_mapping[]){{ARENA + PAGE, ARENA + USED, RW, 0, ""},
						   {ARENA + USED, ARENA + 64 * MIB, 0, 0, ""},
						   {ARENA + 128 * MIB, ARENA + 192 * MIB, 0, 0, ""},
						   {ARENA + 256 * MIB, ARENA + 257 * MIB, RW, 0, ""},
						   {ARENA + 257 * MIB, ARENA + 319 * MIB, 0, 0, ""},
						   {0}});
}

Test(regions_reading, not_every_reservation_is_an_arena)
{
	struct support_regions *world = support_regions_open(write_no_arena);
	support_until(world, UINT64_MAX);
	cr_assert_null(support_owner(world, "ptmalloc-arena"));
	support_regions_close(world);
}

/* A stack that appears with a reading after its thread did; a large block with a mapping of its own. */
static void write_later(struct support_trace *trace)
{
	support_reading(trace, 0, ALL, (struct support_mapping[]){{0x400000, 0x401000, RW, 0, ""}, {0}});
	support_reading(trace, 100, SOMEWHERE, SOMEWHERE + GIB,
			(struct support_mapping[]){{SOMEWHERE, SOMEWHERE + PAGE, 0, 0, ""},
						   {SOMEWHERE + PAGE, SOMEWHERE + 8 * MIB, RW, 0, ""},
						   {SOMEWHERE + 16 * MIB, SOMEWHERE + 17 * MIB, RW, 0, ""},
						   {SOMEWHERE + 32 * MIB, SOMEWHERE + 33 * MIB, RW, 0, ""},
						   {SOMEWHERE + 48 * MIB, SOMEWHERE + 49 * MIB, RW, 0, ""},
						   {0}});
}

Test(regions_reading, what_was_seen_before_the_reading_explains_it)
{
	struct support_regions *world = support_regions_open(write_later);
	start_thread(world, 10, SOMEWHERE + 8 * MIB - 100);
	support_call(world, &(struct trace_event){.kind = EVENT_MALLOC,
						  .time = 20,
						  .address = SOMEWHERE + 16 * MIB + 16,
						  .size_bytes = MIB - 100});
	support_call(world, &(struct trace_event){.kind = EVENT_MALLOC, /* another allocator's */
						  .time = 21,
						  .address = SOMEWHERE + 32 * MIB + 64,
						  .size_bytes = MIB - 100});
	/* Blocks that are gone explain nothing: one freed, one whose place a stack has since. */
	support_call(world, &(struct trace_event){.kind = EVENT_MALLOC,
						  .time = 5,
						  .address = SOMEWHERE + 48 * MIB + 16,
						  .size_bytes = MIB});
	support_call(world, &(struct trace_event){
				    .kind = EVENT_FREE, .time = 6, .address = SOMEWHERE + 48 * MIB + 16});
	support_call(world, &(struct trace_event){.kind = EVENT_MALLOC,
						  .time = 7,
						  .address = SOMEWHERE + 4 * MIB + 16,
						  .size_bytes = MIB});
	start_thread(world, 30, SOMEWHERE + 8 * MIB - 200);
	support_until(world, UINT64_MAX);
	support_owner_is(world, "thread-stack", PAGE, 8 * MIB - PAGE, 0);
	cr_owner_at(world, SOMEWHERE + 16 * MIB, "ptmalloc-mmap");
	cr_owner_at(world, SOMEWHERE + 48 * MIB, "other");
	cr_owner_at(world, SOMEWHERE + 32 * MIB, "other");
	support_call(world, &(struct trace_event){
				    .kind = EVENT_FREE, .time = 150, .address = SOMEWHERE + 16 * MIB + 16});
	cr_owner_at(world, SOMEWHERE + 16 * MIB, "nothing");		   /* libc unmaps it at once */
	support_peak_is(world, "other", REGION_COMMITTED, 2 * MIB + PAGE); /* no passing guess counts */
	support_regions_close(world);
}

/* ---- TCMalloc that was there before the shim ---------------------------------------------------------- */

#define NORMAL (UINT64_C(4) << 42 | 5 * GIB)
#define COLD   (UINT64_C(2) << 42 | 3 * GIB)

static void write_tagged(struct support_trace *trace)
{
	support_reading(trace, 0, ALL,
			(struct support_mapping[]){{COLD - MIB, COLD, RW, 0, ""},
						   {COLD, COLD + GIB - 2 * MIB, 0, 0, ""},
						   {COLD + GIB - 2 * MIB, COLD + GIB, RW, 0, ""},
						   {COLD + 9 * GIB, COLD + 9 * GIB + MIB, RW, 0, ""},
						   {NORMAL, NORMAL + GIB - 2 * MIB, 0, 0, ""},
						   {NORMAL + GIB - 2 * MIB, NORMAL + GIB, RW, 0, ""},
						   {0}});
}

Test(regions_reading, tags_tell_tcmalloc_without_a_call)
{
	struct support_regions *world = support_regions_open(write_tagged);
	support_until(world, UINT64_MAX);
	support_owner_is(world, "tcmalloc-normal", GIB - 2 * MIB, 2 * MIB, 0);
	support_owner_is(world, "tcmalloc-cold", GIB - 2 * MIB, 2 * MIB, 0);
	cr_owner_at(world, COLD - PAGE, "other"); /* not a whole block of it */
	cr_owner_at(world, COLD + 9 * GIB, "other");
	support_regions_close(world);
}

/* ---- damage ------------------------------------------------------------------------------------------- */

static void write_damaged(struct support_trace *trace)
{
	struct {
		struct maps_header header;
		struct maps_range range;
		struct mapping_record mapping;
		char names[8];
	} payload = {.header = {.ranges = 1, .mappings = 1, .names_bytes = 8},
		     .range = {SOMEWHERE, SOMEWHERE + GIB},
		     .mapping = {.start = SOMEWHERE, .end = SOMEWHERE + PAGE, .flags = RW}},
	  bad;
	bad = payload;
	bad.header.ranges = UINT32_MAX;
	support_block(trace, BLOCK_MAPS, &bad, sizeof bad);
	bad = payload;
	bad.mapping.end = SOMEWHERE;
	support_block(trace, BLOCK_MAPS, &bad, sizeof bad);
	bad = payload;
	bad.mapping.name = 8;
	support_block(trace, BLOCK_MAPS, &bad, sizeof bad);
	bad = payload;
	bad.names[7] = 'x';
	support_block(trace, BLOCK_MAPS, &bad, sizeof bad);
	bad = payload;
	bad.range.end = SOMEWHERE;
	support_block(trace, BLOCK_MAPS, &bad, sizeof bad);
	bad = payload;
	bad.header.names_bytes = 0;
	support_block(trace, BLOCK_MAPS, &bad, sizeof bad);
	support_block(trace, BLOCK_MAPS, &bad, 12);
	support_block(trace, BLOCK_MAPS, &payload, sizeof payload);
}

Test(regions_reading, damaged_readings_are_passed_over_and_said)
{
	struct support_regions *world = support_regions_open(write_damaged);
	support_until(world, UINT64_MAX);
	cr_expect_eq(trace_damage_count(world->trace), 7);
	support_owner_is(world, "other", 0, PAGE, 0);
	support_regions_close(world);
}
