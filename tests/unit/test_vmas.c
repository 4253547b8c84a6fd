/* Mappings of the kernel: read, predicted, and why they are not eligible. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "analyzer/vmas.h"
#include "tests/unit/support_pages.h"

#define PAGE SUPPORT_PAGE_BYTES
#define HUGE SUPPORT_HUGE_BYTES
#define BASE UINT64_C(0x7f0000000000)

static struct support_picture picture;
static struct thpstate *settings;
static struct vmas *vmas;
static struct regionmap regions;
static struct vma *list;
static size_t count;

static void open_world(void (*write)(struct support_trace *trace))
{
	struct error error = {0};
	picture = support_picture_keys("pmd_size_bytes=2097152\n", write);
	support_picture_until(&picture, UINT64_MAX);
	settings = thpstate_open(picture.trace);
	cr_assert(thpstate_until(settings, UINT64_MAX, &error));
	vmas = vmas_open(PAGE);
	vmas_read(vmas);
}

static void add_region(uint64_t start, uint64_t end, uint64_t file, enum region_state state)
{
	struct region region = {.start = start, .end = end, .file = file, .state = (uint8_t)state};
	cr_assert(regionmap_put(&regions, &region));
}

static void list_all(void)
{
	free(list);
	cr_assert(vmas_list(vmas, &regions, picture.pages, settings, &list, &count));
}

static void close_world(void)
{
	free(list);
	list = NULL;
	regionmap_clear(&regions);
	vmas_close(vmas);
	thpstate_close(settings);
	support_picture_close(&picture);
}

static void call(uint8_t kind, uint64_t address, uint64_t bytes, uint64_t argument, uint32_t stack_id)
{
	struct trace_event event = {.kind = kind,
				    .address = address,
				    .size_bytes = bytes,
				    .args = {argument},
				    .stack_id = stack_id};
	cr_assert(vmas_event(vmas, &event));
}

static void vma_is(size_t index, uint64_t start, uint64_t end, bool eligible, enum huge_cause cause)
{
	cr_assert_lt(index, count);
	cr_expect_eq(list[index].start, start);
	cr_expect_eq(list[index].end, end);
	cr_expect_eq(list[index].eligible, eligible);
	cr_expect_eq(list[index].cause, cause, "%s, not %s", huge_cause_id(list[index].cause),
		     huge_cause_id(cause));
}

/* ---- read --------------------------------------------------------------------------------------------- */

static void write_smaps(struct support_trace *trace)
{
	support_settings(trace, 10, true, "thp.enabled=madvise\nprocess.thp_disable=0\n");
	support_smaps(trace, 20,
		      (struct smaps_record[]){
			      {.start = BASE + PAGE,
			       .end = BASE + 3 * HUGE,
			       .flags = SMAPS_ELIGIBLE | SMAPS_HUGEPAGE},
			      {.start = BASE + 3 * HUGE, .end = BASE + 5 * HUGE, .flags = SMAPS_NO_HUGEPAGE},
			      {.start = BASE + 5 * HUGE, .end = BASE + 7 * HUGE},
			      {.start = BASE + 7 * HUGE, .end = BASE + 9 * HUGE, .flags = SMAPS_FILE},
			      {.start = BASE + 9 * HUGE, .end = BASE + 10 * HUGE, .flags = SMAPS_ELIGIBLE},
			      {.start = BASE + 10 * HUGE,
			       .end = BASE + 12 * HUGE,
			       .flags = SMAPS_FILE | SMAPS_ELIGIBLE},
			      {.start = BASE + 12 * HUGE, .end = BASE + 14 * HUGE, .flags = SMAPS_HUGETLB},
			      {.start = BASE + 14 * HUGE + PAGE,
			       .end = BASE + 15 * HUGE + PAGE,
			       .flags = SMAPS_HUGEPAGE | SMAPS_ELIGIBLE},
			      {.start = BASE + 16 * HUGE, .end = BASE + 17 * HUGE, .flags = SMAPS_HUGEPAGE},
			      {0}});
}

Test(vmas, what_was_read_is_taken_as_it_is)
{
	open_world(write_smaps);
	add_region(BASE + PAGE, BASE + 7 * HUGE, REGION_FILE_NONE, REGION_COMMITTED);
	add_region(BASE + 7 * HUGE, BASE + 9 * HUGE, 77, REGION_COMMITTED);
	add_region(BASE + 9 * HUGE, BASE + 10 * HUGE, REGION_FILE_NONE, REGION_COMMITTED);
	add_region(BASE + 10 * HUGE, BASE + 12 * HUGE, 78, REGION_COMMITTED);
	add_region(BASE + 12 * HUGE, BASE + 14 * HUGE, 79, REGION_COMMITTED);
	add_region(BASE + 14 * HUGE + PAGE, BASE + 15 * HUGE + PAGE, REGION_FILE_NONE, REGION_COMMITTED);
	add_region(BASE + 16 * HUGE, BASE + 17 * HUGE, REGION_FILE_NONE, REGION_COMMITTED);
	list_all();
	cr_assert_eq(count, 9);
	vma_is(0, BASE + PAGE, BASE + 3 * HUGE, true, CAUSE_OTHER);
	cr_expect_eq(list[0].inner_start, BASE + HUGE);
	cr_expect_eq(list[0].inner_end, BASE + 3 * HUGE);
	cr_expect_not(list[0].predicted);
	vma_is(1, BASE + 3 * HUGE, BASE + 5 * HUGE, false, CAUSE_MADVISE);
	vma_is(2, BASE + 5 * HUGE, BASE + 7 * HUGE, false, CAUSE_SETTINGS);
	vma_is(3, BASE + 7 * HUGE, BASE + 9 * HUGE, false, CAUSE_FILE);
	/* Eligible for smaller folios alone: huge ones need advice here. */
	vma_is(4, BASE + 9 * HUGE, BASE + 10 * HUGE, false, CAUSE_SETTINGS);
	cr_expect(list[5].eligible); /* a file: the setting of anonymous memory does not matter */
	cr_expect(list[6].hugetlb);
	vma_is(7, BASE + 14 * HUGE + PAGE, BASE + 15 * HUGE + PAGE, false, CAUSE_TOO_SMALL);
	vma_is(8, BASE + 16 * HUGE, BASE + 17 * HUGE, false, CAUSE_OTHER);
	close_world();
}

/* A piece of a mapping keeps the inner part of the whole. */
Test(vmas, a_region_inside_a_mapping_has_its_inner_part)
{
	open_world(write_smaps);
	add_region(BASE + HUGE + PAGE, BASE + HUGE + 3 * PAGE, REGION_FILE_NONE, REGION_COMMITTED);
	list_all();
	cr_assert_eq(count, 1);
	cr_expect(list[0].eligible);
	cr_expect_eq(list[0].inner_start, BASE + HUGE);
	close_world();
}

/* ---- predicted ---------------------------------------------------------------------------------------- */

static void write_always(struct support_trace *trace)
{
	support_settings(trace, 10, true, "thp.enabled=always\n");
	support_smaps(trace, 20,
		      (struct smaps_record[]){
			      {.start = BASE, .end = BASE + 2 * HUGE, .flags = SMAPS_ELIGIBLE}, {0}});
}

Test(vmas, what_has_changed_since_is_predicted)
{
	open_world(write_always);
	add_region(BASE, BASE + 2 * HUGE, REGION_FILE_NONE, REGION_COMMITTED);
	list_all();
	cr_expect_not(list[0].predicted);
	call(EVENT_MMAP, BASE + 2 * HUGE, 2 * HUGE, PROT_READ, 5);
	add_region(BASE + 2 * HUGE, BASE + 4 * HUGE, REGION_FILE_NONE, REGION_COMMITTED);
	list_all();
	cr_assert_eq(count, 1); /* the kernel joins them */
	vma_is(0, BASE, BASE + 4 * HUGE, true, CAUSE_OTHER);
	cr_expect(list[0].predicted);
	vmas_read(vmas); /* the same old records: then the newer part is in none of them */
	list_all();
	cr_expect(list[0].predicted);
	close_world();
}

/* What is left of a mapping ends where the part that went began; of smaps it keeps what it is. */
Test(vmas, what_is_left_of_a_mapping_has_edges_of_its_own)
{
	open_world(write_always);
	add_region(BASE, BASE + HUGE + PAGE, REGION_FILE_UNKNOWN, REGION_COMMITTED);
	add_region(BASE + HUGE + 2 * PAGE, BASE + 2 * HUGE, REGION_FILE_UNKNOWN, REGION_COMMITTED);
	call(EVENT_MUNMAP, BASE + HUGE + PAGE, PAGE, 0, 5);
	list_all();
	cr_assert_eq(count, 2);
	vma_is(0, BASE, BASE + HUGE + PAGE, true, CAUSE_OTHER);
	cr_expect_eq(list[0].inner_end, BASE + HUGE);
	cr_expect(list[0].predicted);
	vma_is(1, BASE + HUGE + 2 * PAGE, BASE + 2 * HUGE, false, CAUSE_TOO_SMALL);
	close_world();
}

Test(vmas, advice_access_and_files_part_mappings)
{
	open_world(write_always);
	add_region(BASE + 8 * HUGE, BASE + 12 * HUGE, REGION_FILE_NONE, REGION_COMMITTED);
	add_region(BASE + 12 * HUGE, BASE + 14 * HUGE, REGION_FILE_NONE, REGION_RESERVED);
	add_region(BASE + 14 * HUGE, BASE + 16 * HUGE, REGION_FILE_UNKNOWN, REGION_COMMITTED);
	call(EVENT_MMAP, BASE + 8 * HUGE, 6 * HUGE, PROT_READ, 5);
	call(EVENT_MADVISE, BASE + 9 * HUGE, HUGE, MADV_NOHUGEPAGE, 6);
	list_all();
	cr_assert_eq(count, 5);
	vma_is(0, BASE + 8 * HUGE, BASE + 9 * HUGE, true, CAUSE_OTHER);
	vma_is(1, BASE + 9 * HUGE, BASE + 10 * HUGE, false, CAUSE_MADVISE);
	vma_is(2, BASE + 10 * HUGE, BASE + 12 * HUGE, true, CAUSE_OTHER);
	vma_is(3, BASE + 12 * HUGE, BASE + 14 * HUGE, true, CAUSE_OTHER);
	vma_is(4, BASE + 14 * HUGE, BASE + 16 * HUGE, false, CAUSE_FILE);
	/* Another process's advice, and a mapping anew, which forgets ours. */
	struct trace_event other = {.kind = EVENT_MADVISE,
				    .address = BASE + 8 * HUGE,
				    .size_bytes = HUGE,
				    .args = {MADV_NOHUGEPAGE, 99}};
	cr_assert(vmas_event(vmas, &other));
	call(EVENT_MMAP, BASE + 9 * HUGE, HUGE, PROT_READ, 7);
	list_all();
	vma_is(0, BASE + 8 * HUGE, BASE + 12 * HUGE, true, CAUSE_OTHER);
	close_world();
}

/* Memory of before the trace has any access: calls tell. What is given the same access again is one again. */
Test(vmas, what_may_be_done_parts_mappings)
{
	open_world(write_always);
	add_region(BASE + 8 * HUGE, BASE + 12 * HUGE, REGION_FILE_NONE, REGION_COMMITTED);
	call(EVENT_MMAP, BASE + 10 * HUGE, 2 * HUGE, PROT_READ | PROT_WRITE, 5);
	call(EVENT_MADVISE, BASE + 10 * HUGE, HUGE, MADV_HUGEPAGE, 5);
	call(EVENT_MPROTECT, BASE + 10 * HUGE + PAGE, PAGE, PROT_READ, 6);
	list_all();
	cr_assert_eq(count, 5);
	vma_is(0, BASE + 8 * HUGE, BASE + 10 * HUGE, true, CAUSE_OTHER);
	vma_is(1, BASE + 10 * HUGE, BASE + 10 * HUGE + PAGE, false, CAUSE_TOO_SMALL);
	vma_is(2, BASE + 10 * HUGE + PAGE, BASE + 10 * HUGE + 2 * PAGE, false, CAUSE_TOO_SMALL);
	uint64_t end;
	cr_expect_eq(vmas_site(vmas, BASE + 10 * HUGE + PAGE, &end), 5);
	call(EVENT_MPROTECT, BASE + 10 * HUGE + PAGE, PAGE, PROT_READ | PROT_WRITE, 6);
	call(EVENT_MADVISE, BASE + 11 * HUGE, HUGE, MADV_HUGEPAGE, 5);
	list_all();
	cr_assert_eq(count, 2);
	vma_is(1, BASE + 10 * HUGE, BASE + 12 * HUGE, true, CAUSE_OTHER);
	close_world();
}

Test(vmas, a_setting_that_changed_makes_readings_old)
{
	open_world(write_smaps);
	add_region(BASE + PAGE, BASE + 3 * HUGE, REGION_FILE_NONE, REGION_COMMITTED);
	vmas_settings_changed(vmas);
	list_all();
	cr_expect(list[0].predicted);
	cr_expect(list[0].eligible); /* by the advice that smaps has read */
	cr_expect_eq(list[0].inner_start, BASE + HUGE);
	close_world();
}

static void write_disabled(struct support_trace *trace)
{
	support_settings(trace, 10, true, "thp.enabled=always\nprocess.thp_disable=1\n");
}

static void write_nothing(struct support_trace *trace)
{
	(void)trace;
}

Test(vmas, the_process_and_the_kernel_can_say_no)
{
	open_world(write_disabled);
	add_region(BASE, BASE + 2 * HUGE, REGION_FILE_NONE, REGION_COMMITTED);
	add_region(BASE + 3 * HUGE + PAGE, BASE + 4 * HUGE, REGION_FILE_NONE, REGION_COMMITTED);
	list_all();
	vma_is(0, BASE, BASE + 2 * HUGE, false, CAUSE_PRCTL);
	vma_is(1, BASE + 3 * HUGE + PAGE, BASE + 4 * HUGE, false, CAUSE_TOO_SMALL);
	close_world();
	open_world(write_nothing); /* no settings: a kernel without huge pages, or a shim without looks */
	add_region(BASE, BASE + 2 * HUGE, REGION_FILE_NONE, REGION_COMMITTED);
	list_all();
	vma_is(0, BASE, BASE + 2 * HUGE, false, CAUSE_SETTINGS);
	close_world();
}

/* ---- who mapped it ------------------------------------------------------------------------------------ */

static void site_is(uint64_t address, uint32_t stack_id, uint64_t until)
{
	uint64_t end;
	cr_expect_eq(vmas_site(vmas, address, &end), stack_id);
	cr_expect_eq(end, until);
}

Test(vmas, memory_keeps_the_call_that_mapped_it)
{
	open_world(write_nothing);
	call(EVENT_MMAP, BASE, 4 * HUGE, PROT_READ, 5);
	call(EVENT_MPROTECT, BASE, HUGE, PROT_READ, 6);
	call(EVENT_MUNMAP, BASE + 3 * HUGE, HUGE, 0, 7);
	site_is(BASE, 5, BASE + 3 * HUGE);
	site_is(BASE + 3 * HUGE, 0, UINT64_MAX);
	site_is(BASE - HUGE, 0, BASE);
	struct trace_event move = {.kind = EVENT_MREMAP,
				   .old_address = BASE,
				   .address = BASE + 16 * HUGE,
				   .size_bytes = 4 * HUGE,
				   .args = {2 * HUGE, MREMAP_MAYMOVE},
				   .stack_id = 8};
	cr_assert(vmas_event(vmas, &move));
	site_is(BASE, 0, BASE + 2 * HUGE);
	site_is(BASE + 2 * HUGE, 5, BASE + 3 * HUGE);
	site_is(BASE + 16 * HUGE, 5, BASE + 20 * HUGE);
	struct trace_event grow = {
		.kind = EVENT_BRK, .address = 0x600000, .size_bytes = 0x100000, .stack_id = 9};
	cr_assert(vmas_event(vmas, &grow));
	site_is(0x500000, 9, 0x600000);
	grow.size_bytes = (uint64_t)-0x80000;
	grow.address = 0x580000;
	cr_assert(vmas_event(vmas, &grow));
	site_is(0x500000, 9, 0x580000);
	struct trace_event failed = {
		.kind = EVENT_MUNMAP, .address = BASE, .size_bytes = 64 * HUGE, .result = -22};
	cr_assert(vmas_event(vmas, &failed));
	site_is(BASE + 16 * HUGE, 5, BASE + 20 * HUGE);
	close_world();
}
