#include "shim/process_block.h"

#include <gnu/libc-version.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "shim/clock.h"
#include "shim/config.h"
#include "shim/locks.h"
#include "shim/patch.h"
#include "shim/raw.h"
#include "shim/registry.h"
#include "shim/smallfile.h"
#include "shim/source.h"
#include "shim/tcmalloc.h"
#include "shim/cputopology.h"
#include "shim/tracefile.h"
#include "shim/unwind.h"

#define SHIM_VERSION "1"

static char text[31 << 10];
static size_t used;

static void put_byte(char byte)
{
	if (used < sizeof text)
		text[used++] = byte;
}

static void put_escaped(const char *value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		if (value[i] == '\n' || value[i] == '\\')
			put_byte('\\');
		put_byte(value[i] == '\n' ? 'n' : value[i]);
	}
}

static void put_bytes(const char *key, const char *value, size_t bytes)
{
	put_escaped(key, strlen(key));
	put_byte('=');
	put_escaped(value, bytes);
	put_byte('\n');
}

static void put_text(const char *key, const char *value)
{
	put_bytes(key, value, strlen(value));
}

static void put_number(const char *key, long long value)
{
	char number[32];
	snprintf(number, sizeof number, "%lld", value);
	put_text(key, number);
}

/* Where the file is absent (another kernel, a container without /sys), the key is left out: unknown. */
static void put_file(const char *key, const char *path)
{
	char content[256];
	if (smallfile_read(path, content, sizeof content) <= 0)
		return;
	content[strcspn(content, "\n")] = '\0';
	put_text(key, content);
}

static void put_arguments(void)
{
	char arguments[4096];
	long length = smallfile_read("/proc/self/cmdline", arguments, sizeof arguments);
	for (long i = 0; i + 1 < length; i++)
		if (arguments[i] == '\0')
			arguments[i] = ' ';
	if (length > 0)
		put_bytes("argv", arguments, (size_t)length - 1);
}

static void put_machine(void)
{
	struct utsname machine;
	raw1(SYS_uname, (long)&machine);
	put_text("host", machine.nodename);
	put_text("kernel", machine.release);
	put_text("arch", ARCH_NAME);
	put_number("page_size", sysconf(_SC_PAGESIZE));
	put_number("cpus", sysconf(_SC_NPROCESSORS_ONLN));
	put_text("glibc_version", gnu_get_libc_version());
	put_file("pmd_size_bytes", "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
	put_file("thp_enabled", "/sys/kernel/mm/transparent_hugepage/enabled");
	put_file("thp_defrag", "/sys/kernel/mm/transparent_hugepage/defrag");
}

/* Seconds east of UTC: for status lines that carry local time. */
static long utc_offset_s(time_t now)
{
	struct tm local;
	return localtime_r(&now, &local) ? local.tm_gmtoff : 0;
}

static void put_clock(void)
{
	struct clock_mark mark = clock_mark();
	put_number("tick_hz", (long long)shim_clock.tick_hz);
	put_number("time_shift", shim_clock.shift);
	put_number("start_time", (long long)mark.time);
	put_number("start_realtime_ns", (long long)mark.realtime_ns);
	put_number("start_monotonic_ns", (long long)mark.monotonic_ns);
	put_number("utc_offset_s", utc_offset_s((time_t)(mark.realtime_ns / 1000000000u)));
}

/* An entry point a line: its name, and whether a jump of ours stands there. */
static void put_patches(void)
{
	const struct patch_entry *entry;
	char line[512];
	if (patch_module())
		put_text("patch_module", patch_module());
	if (patch_time())
		put_number("patch_time", (long long)patch_time());
	for (unsigned i = 0; (entry = patch_entry(i)); i++) {
		const char *state = entry->alias ? "alias" : entry->skipped ? "skipped" : "patched";
		const char *detail = entry->alias ? entry->alias : entry->skipped ? entry->skipped : "";
		snprintf(line, sizeof line, "%s\t%s\t%s", entry->name, state, detail);
		put_text("patch", line);
	}
}

static void put_settings(void)
{
	put_text("mode", config.mode == MODE_FULL ? "full" : "sample");
	put_number("sample_bytes", (long long)config.sample_bytes);
	put_number("stack_depth", config.stack_depth);
	put_number("interval_ms", (long long)config.interval_ms);
	put_number("ring_mib", (long long)config.ring_mib);
	put_number("max_mib", (long long)config.max_mib);
	put_number("locks", config.locks);
	if (config.locks)
		put_number("locks_every", LOCKS_EVERY);
	put_text("unwinder", unwind_name());
	put_text("malloc_source", source_name());
	put_text("malloc_source_reason", source_reason());
	put_text("allocator_statistics", tcmalloc_name());
	put_text("rseq_owner", registry_glibc_owns_rseq() ? "glibc" : "none");
}

void process_block_write(void)
{
	used = 0;
	put_text("version_shim", SHIM_VERSION);
	put_number("pid", raw_pid());
	put_number("ppid", raw0(SYS_getppid));
	put_number("uid", raw0(SYS_getuid));
	put_text("exe", config_exe_path());
	put_arguments();
	put_machine();
	put_settings();
	put_clock();
	put_patches();
	cputopology_write(put_text); /* last: where the block is full, these are what is cut off */
	tracefile_write_process(text, used);
}
