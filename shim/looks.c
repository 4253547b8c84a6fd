#include "shim/looks.h"

#include "shim/config.h"
#include "shim/cpucount.h"
#include "shim/hugepages.h"
#include "shim/keyframe.h"
#include "shim/lockblock.h"
#include "shim/mapsnap.h"
#include "shim/modules.h"
#include "shim/pagescan.h"
#include "shim/smaps.h"
#include "shim/snapshot.h"
#include "shim/tcmalloc.h"
#include "shim/thp.h"
#include "shim/tracefile.h"
#include "shim/writer_files.h"

#define NS_PER_MS    UINT64_C(1000000)
#define WAIT_MOST_NS (100 * NS_PER_MS)

static struct {
	uint64_t next_ns;
	bool begun;
	uint32_t modules_written; /* generation */
} looks;

void looks_start(uint64_t now_ns)
{
	looks.next_ns = now_ns;
	looks.begun = false;
	looks.modules_written = 0;
}

static void write_modules_if_changed(void)
{
	if (modules_generation() == looks.modules_written)
		return;
	looks.modules_written = modules_generation();
	keyframe_write_modules();
}

/* The snapshot comes after the look at the pages, but does not wait longer than this for it. */
static uint64_t latest_snapshot_ns(void)
{
	uint64_t wait_ns = config.interval_ms * NS_PER_MS / 8;
	return looks.next_ns + (wait_ns < WAIT_MOST_NS ? wait_ns : WAIT_MOST_NS);
}

uint64_t looks_next_ns(void)
{
	uint64_t look_ns = looks.begun ? latest_snapshot_ns() : looks.next_ns;
	uint64_t pages_ns = hugepages_due_ns();
	return pages_ns < look_ns ? pages_ns : look_ns;
}

static void begin(void)
{
	modules_refresh_if_due();
	write_modules_if_changed();
	/* A guest whose table of descriptors we share must not see numbers go by: there the end has to do. */
	if (writer_files_table_is_ours()) {
		mapsnap_take(config.interval_ms);
		if (config.pages != PAGES_WANT_OFF)
			hugepages_take(config.interval_ms);
	}
	looks.begun = true;
}

static void end(uint64_t now_ns, uint64_t watermark)
{
	if (config.pages != PAGES_WANT_OFF && writer_files_table_is_ours()) {
		smaps_take(config.interval_ms, !pagescan_source());
		thp_take(config.interval_ms);
	}
	tcmalloc_write(config.interval_ms, watermark);
	lockblock_write();
	cpucount_write();
	looks_write_snapshot(watermark);
	looks.begun = false;
	looks.next_ns += config.interval_ms * NS_PER_MS;
	if (looks.next_ns <= now_ns)
		looks.next_ns = now_ns + config.interval_ms * NS_PER_MS;
}

bool looks_take(uint64_t now_ns, uint64_t watermark)
{
	if (!looks.begun && now_ns >= looks.next_ns)
		begin();
	if (now_ns >= hugepages_due_ns())
		hugepages_step();
	bool ready = looks.begun && (hugepages_due_ns() == UINT64_MAX || now_ns >= latest_snapshot_ns());
	if (ready)
		end(now_ns, watermark);
	return ready;
}

void looks_finish(void)
{
	modules_refresh();
	write_modules_if_changed();
	cpucount_want_whole();
	cpucount_write();
	mapsnap_take_whole();
	lockblock_want_whole();
	lockblock_write();
	if (config.pages == PAGES_WANT_OFF)
		return;
	bool closed = !pagescan_source();
	if (closed)
		pagescan_open(config.pages);
	if (config.max_mib)
		hugepages_want_whole();
	hugepages_finish();
	smaps_finish();
	thp_take_now();
	if (closed)
		pagescan_close();
}

bool looks_write_snapshot(uint64_t watermark)
{
	struct snapshot snapshot;
	snapshot_take(&snapshot, config.interval_ms);
	snapshot.mark.watermark = watermark;
	return tracefile_append(BLOCK_SNAPSHOT, &snapshot, sizeof snapshot,
				(struct block_times){snapshot.mark.time, snapshot.mark.time}, 1);
}

void looks_want_whole(void)
{
	mapsnap_want_whole();
	hugepages_want_whole();
	smaps_want();
	thp_want_whole();
	lockblock_want_whole();
	cpucount_want_whole();
}

void looks_forget(void)
{
	hugepages_forget();
	smaps_forget();
	thp_forget();
}
