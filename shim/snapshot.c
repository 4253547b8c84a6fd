#include "shim/snapshot.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shim/clock.h"
#include "shim/hugepages.h"
#include "shim/raw.h"
#include "shim/ring.h"
#include "shim/text.h"
#include "shim/tracefile.h"

static struct {
	int statm, rollup;
	uint64_t anon_huge_bytes, anon_huge_ns, rollup_cost_ns; /* of the last reading */
	bool rollup_read;
} state = {.statm = -1, .rollup = -1};

void snapshot_start(void)
{
	state.statm = raw_open("/proc/self/statm", O_RDONLY, 0);
	state.rollup = raw_open("/proc/self/smaps_rollup", O_RDONLY, 0);
	state.rollup_read = false;
	state.rollup_cost_ns = 0;
}

void snapshot_fds(int fds[SNAPSHOT_FDS])
{
	fds[0] = state.statm;
	fds[1] = state.rollup;
}

void snapshot_close(void)
{
	raw_close(state.statm);
	raw_close(state.rollup);
	state.statm = state.rollup = -1;
}

static long read_text(int fd, char *text, size_t bytes)
{
	long length = fd < 0 ? -1 : raw4(SYS_pread64, fd, (long)text, (long)bytes - 1, 0);
	text[length > 0 ? length : 0] = '\0';
	return length;
}

static uint64_t number_at(const char *text)
{
	while (*text == ' ' || *text == '\t')
		text++;
	return text_number(&text, 10);
}

static uint64_t page_bytes(void)
{
	static uint64_t bytes;
	if (!bytes)
		bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	return bytes;
}

static uint64_t resident_bytes(void)
{
	char text[128];
	if (read_text(state.statm, text, sizeof text) <= 0)
		return SNAPSHOT_UNKNOWN;
	const char *second = strchr(text, ' ');
	return second ? number_at(second) * page_bytes() : SNAPSHOT_UNKNOWN;
}

static void read_rollup(uint64_t now_ns)
{
	char text[2048];
	const char *line;
	uint64_t start_ns = clock_thread_cpu_ns();
	if (read_text(state.rollup, text, sizeof text) <= 0 || !(line = strstr(text, "AnonHugePages:")))
		return;
	state.anon_huge_bytes = number_at(line + strlen("AnonHugePages:")) * 1024;
	state.anon_huge_ns = now_ns;
	state.rollup_cost_ns = clock_thread_cpu_ns() - start_ns;
	state.rollup_read = true;
}

static void take_huge(struct snapshot *snapshot, uint64_t interval_ms)
{
	/* Reading smaps_rollup walks all page tables under the mmap lock. */
	uint64_t now_ns = clock_monotonic_ns();
	if (hugepages_anon(now_ns, &snapshot->anon_huge_bytes, &snapshot->anon_huge_age_ns))
		return;
	if (!state.rollup_read ||
	    clock_cost_allows(now_ns, interval_ms, state.anon_huge_ns, state.rollup_cost_ns))
		read_rollup(now_ns);
	snapshot->anon_huge_bytes = state.rollup_read ? state.anon_huge_bytes : SNAPSHOT_UNKNOWN;
	snapshot->anon_huge_age_ns = state.rollup_read ? now_ns - state.anon_huge_ns : 0;
	if (state.anon_huge_ns == now_ns)
		snapshot->anon_huge_age_ns = 0;
}

static uint64_t microseconds(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000u + (uint64_t)time.tv_usec;
}

static void take_usage(struct snapshot *snapshot)
{
	struct rusage usage = {0}, own = {0};
	raw2(SYS_getrusage, RUSAGE_SELF, (long)&usage);
	raw2(SYS_getrusage, RUSAGE_THREAD, (long)&own);
	snapshot->user_cpu_us = microseconds(usage.ru_utime);
	snapshot->system_cpu_us = microseconds(usage.ru_stime);
	snapshot->minor_faults = (uint64_t)usage.ru_minflt;
	snapshot->major_faults = (uint64_t)usage.ru_majflt;
	snapshot->voluntary_switches = (uint64_t)usage.ru_nvcsw;
	snapshot->involuntary_switches = (uint64_t)usage.ru_nivcsw;
	snapshot->writer_cpu_us = microseconds(own.ru_utime) + microseconds(own.ru_stime);
}

static void take_counters(struct snapshot *snapshot)
{
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		snapshot->counters[i] = rings_total((enum counter)i);
	for (uint32_t index = 0; index < rings_slots_end(); index++)
		snapshot->threads_live +=
			atomic_load_explicit(&rings_slot(index)->state, memory_order_relaxed) == SLOT_LIVE;
}

void snapshot_take(struct snapshot *snapshot, uint64_t interval_ms)
{
	*snapshot = (struct snapshot){.mark = clock_mark()};
	snapshot->rss_bytes = resident_bytes();
	take_huge(snapshot, interval_ms);
	take_usage(snapshot);
	snapshot->stored_bytes = tracefile_stored_bytes();
	snapshot->raw_bytes = tracefile_raw_bytes();
	snapshot->ring_bytes = rings_bytes();
	take_counters(snapshot);
}
