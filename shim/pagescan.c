#include "shim/pagescan.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "shim/raw.h"
#include "shim/smallfile.h"

/* ---- ioctl(PAGEMAP_SCAN): linux/fs.h since 6.7, Documentation/admin-guide/mm/pagemap.rst ------------------
 */

#define SCAN_PRESENT (1u << 3)
#define SCAN_SWAPPED (1u << 4)
#define SCAN_ZERO    (1u << 5)
#define SCAN_HUGE    (1u << 6)

struct scan_region {
	uint64_t start, end, categories;
};

struct scan_argument {
	uint64_t size, flags, start, end, walk_end, regions, regions_length, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
_Static_assert(sizeof(struct scan_argument) == 96, "the kernel's struct pm_scan_arg");

#define SCAN_IOCTL ((long)(3u << 30 | (unsigned)sizeof(struct scan_argument) << 16 | 'f' << 8 | 16u))

/*
 * The kernel collects regions in a buffer of 512 and goes on when it is full; where it then comes to the end,
 * walk_end stays at the place where the buffer was full (seen on Linux 6.18). So no more are asked for at
 * once.
 *
 * Bounds on one look. Small pages cost 3 ns each, so that SCAN_PAGES of them take 200 us; of page tables
 * that are there but empty, SCAN_BYTES take about as long. Where not even tables are, a look takes no time:
 * then the next one may go farther, up to what would take about 1 ms if there were tables after all.
 */
#define SCAN_REGIONS   512u
#define SCAN_PAGES     65536u
#define SCAN_BYTES     (UINT64_C(256) << 20)
#define SCAN_BYTES_MAX (UINT64_C(1) << 30)

/* ---- kpageflags: linux/kernel-page-flags.h ----------------------------------------------------------------
 */

#define PAGEMAP_PRESENT	   (UINT64_C(1) << 63)
#define PAGEMAP_SWAPPED	   (UINT64_C(1) << 62)
#define PAGEMAP_FRAME_MASK ((UINT64_C(1) << 55) - 1)
#define FLAG_COMPOUND_HEAD (UINT64_C(1) << 15)
#define FLAG_COMPOUND_TAIL (UINT64_C(1) << 16)
#define FLAG_THP	   (UINT64_C(1) << 22)
#define FLAG_ZERO_PAGE	   (UINT64_C(1) << 24)

#define WINDOW_PAGES	   512u /* read at once */
#define NO_FRAME	   UINT64_MAX

static struct {
	int pagemap, flags;
	uint32_t source;
	uint64_t page_bytes, huge_bytes;
	uint64_t scan_bytes; /* the next look may go so far */
	struct scan_region regions[SCAN_REGIONS];
	uint64_t entries[WINDOW_PAGES]; /* of pagemap */
	uint64_t frame_flags[WINDOW_PAGES];
	uint64_t window; /* frame of the first of frame_flags; NO_FRAME: none is read */
	uint64_t folio;	 /* first frame of the aligned block that was last judged, and the verdict */
	bool folio_is_huge;
} scan = {.pagemap = -1, .flags = -1};

static long scan_ioctl(struct scan_argument *argument)
{
	argument->size = sizeof *argument;
	argument->regions = (uintptr_t)scan.regions;
	argument->regions_length = SCAN_REGIONS;
	argument->max_pages = SCAN_PAGES;
	argument->category_anyof_mask = SCAN_PRESENT | SCAN_SWAPPED;
	/* Not what is of a file: for that the kernel goes to the descriptor of each page, which makes a look
	 * five times as long. */
	argument->return_mask = SCAN_PRESENT | SCAN_SWAPPED | SCAN_ZERO | SCAN_HUGE;
	return raw3(SYS_ioctl, scan.pagemap, SCAN_IOCTL, (long)argument);
}

static bool kernel_scans(void)
{
	struct scan_argument argument = {0};
	return !raw_failed(scan_ioctl(&argument));
}

/* Without CAP_SYS_ADMIN the kernel shows every frame as 0. */
static bool frames_are_seen(void)
{
	uint64_t entry = 0;
	uintptr_t address = (uintptr_t)&scan;
	raw4(SYS_pread64, scan.pagemap, (long)&entry, sizeof entry, (long)(address / scan.page_bytes * 8));
	return entry & PAGEMAP_PRESENT && entry & PAGEMAP_FRAME_MASK;
}

void pagescan_open(enum pages_wanted wanted)
{
	scan.page_bytes = getauxval(AT_PAGESZ);
	scan.huge_bytes = smallfile_number("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", 0);
	scan.scan_bytes = SCAN_BYTES;
	scan.source = 0;
	if (wanted == PAGES_WANT_OFF || wanted == PAGES_WANT_SMAPS)
		return;
	scan.pagemap = raw_open("/proc/self/pagemap", O_RDONLY, 0);
	if (scan.pagemap < 0)
		return;
	if (wanted != PAGES_WANT_KPAGEFLAGS && kernel_scans()) {
		scan.source = PAGES_FROM_SCAN;
	} else if (wanted != PAGES_WANT_SCAN && frames_are_seen()) {
		scan.flags = raw_open("/proc/kpageflags", O_RDONLY, 0);
		scan.source = scan.flags >= 0 ? PAGES_FROM_KPAGEFLAGS : 0;
	}
}

void pagescan_fds(int fds[PAGESCAN_FDS])
{
	fds[0] = scan.pagemap;
	fds[1] = scan.flags;
}

void pagescan_close(void)
{
	raw_close(scan.pagemap);
	raw_close(scan.flags);
	scan.pagemap = scan.flags = -1;
	scan.source = 0;
}

uint32_t pagescan_source(void)
{
	return scan.source;
}

uint64_t pagescan_page_bytes(void)
{
	return scan.page_bytes;
}

uint64_t pagescan_huge_bytes(void)
{
	return scan.huge_bytes;
}

/* ---- by PAGEMAP_SCAN --------------------------------------------------------------------------------------
 */

static uint32_t flags_of_scan(uint64_t categories)
{
	return (categories & SCAN_PRESENT ? PAGE_PRESENT : 0) |
	       (categories & SCAN_SWAPPED ? PAGE_SWAPPED : 0) | (categories & SCAN_HUGE ? PAGE_HUGE : 0) |
	       (categories & SCAN_ZERO ? PAGE_ZERO : 0);
}

static uint64_t look_by_scan(uint64_t start, uint64_t end, void (*visit)(const struct pages_run *run))
{
	if (end - start > scan.scan_bytes)
		end = start + scan.scan_bytes;
	struct scan_argument argument = {.start = start, .end = end};
	long count = scan_ioctl(&argument);
	if (raw_failed(count))
		return start;
	for (long i = 0; i < count; i++) {
		const struct scan_region *region = &scan.regions[i];
		uint64_t pages = (region->end - region->start) / scan.page_bytes;
		visit(&(struct pages_run){region->start, (uint32_t)pages, flags_of_scan(region->categories)});
	}
	bool empty = count == 0 && argument.walk_end >= end;
	scan.scan_bytes = empty && scan.scan_bytes < SCAN_BYTES_MAX ? 2 * scan.scan_bytes : SCAN_BYTES;
	uint64_t seen_to = count ? scan.regions[count - 1].end : start;
	return argument.walk_end > seen_to ? argument.walk_end : seen_to;
}

/* ---- by kpageflags ----------------------------------------------------------------------------------------
 */

/* Flags of one frame; neighbours come with it, since frames of neighbouring pages often are neighbours. */
static uint64_t flags_of_frame(uint64_t frame)
{
	if (scan.window == NO_FRAME || frame - scan.window >= WINDOW_PAGES) {
		scan.window = frame - frame % WINDOW_PAGES;
		memset(scan.frame_flags, 0, sizeof scan.frame_flags);
		raw4(SYS_pread64, scan.flags, (long)scan.frame_flags, sizeof scan.frame_flags,
		     (long)(scan.window * 8));
	}
	return scan.frame_flags[frame - scan.window];
}

/* The aligned block of frames around this one has one head, its first, and tails up to its end. */
static bool block_is_huge(uint64_t frame)
{
	uint64_t count = scan.huge_bytes / scan.page_bytes;
	uint64_t first = frame - frame % count;
	uint64_t head = flags_of_frame(first);
	if (!(head & FLAG_THP) || !(head & (FLAG_COMPOUND_HEAD | FLAG_COMPOUND_TAIL)))
		return false;
	for (uint64_t i = 1; i < count; i++)
		if (!(flags_of_frame(first + i) & FLAG_COMPOUND_TAIL))
			return false;
	return true;
}

static bool frame_is_huge(uint64_t frame)
{
	uint64_t count = scan.huge_bytes / scan.page_bytes;
	if (count < 2 || !(flags_of_frame(frame) & FLAG_THP))
		return false;
	if (frame - frame % count != scan.folio) {
		scan.folio = frame - frame % count;
		scan.folio_is_huge = block_is_huge(frame);
	}
	return scan.folio_is_huge;
}

static uint32_t flags_of_entry(uint64_t entry)
{
	if (entry & PAGEMAP_SWAPPED)
		return PAGE_SWAPPED;
	if (!(entry & PAGEMAP_PRESENT))
		return 0;
	uint64_t frame = entry & PAGEMAP_FRAME_MASK;
	if (flags_of_frame(frame) & FLAG_ZERO_PAGE)
		return PAGE_PRESENT | PAGE_ZERO;
	return PAGE_PRESENT | (frame_is_huge(frame) ? PAGE_FOLIO : 0);
}

static uint64_t look_by_flags(uint64_t start, uint64_t end, void (*visit)(const struct pages_run *run))
{
	uint64_t wanted = (end - start) / scan.page_bytes;
	size_t bytes = (wanted < WINDOW_PAGES ? wanted : WINDOW_PAGES) * sizeof *scan.entries;
	long got = raw4(SYS_pread64, scan.pagemap, (long)scan.entries, (long)bytes,
			(long)(start / scan.page_bytes * 8));
	size_t count = got > 0 ? (size_t)got / sizeof *scan.entries : 0;
	struct pages_run run = {0};
	scan.window = scan.folio = NO_FRAME; /* frames have new owners since the last look */
	for (size_t i = 0; i < count; i++) {
		uint32_t flags = flags_of_entry(scan.entries[i]);
		if (run.pages && run.flags == flags) {
			run.pages++;
			continue;
		}
		if (run.flags)
			visit(&run);
		run = (struct pages_run){start + i * scan.page_bytes, 1, flags};
	}
	if (run.flags)
		visit(&run);
	return start + count * scan.page_bytes;
}

uint64_t pagescan_look(uint64_t start, uint64_t end, void (*visit)(const struct pages_run *run))
{
	switch (scan.source) {
	case PAGES_FROM_SCAN:
		return look_by_scan(start, end, visit);
	case PAGES_FROM_KPAGEFLAGS:
		return look_by_flags(start, end, visit);
	default:
		return start;
	}
}
