#include "shim/thp.h"

#include <dirent.h>
#include <string.h>

#include "shim/clock.h"
#include "shim/folder.h"
#include "shim/lines.h"
#include "shim/raw.h"
#include "shim/smallfile.h"
#include "shim/text.h"
#include "shim/tracefile.h"

#define FOLDER	    "/sys/kernel/mm/transparent_hugepage"
#define NAMES_MAX   2048u
#define LINES_BYTES (128u << 10)
#define NAME_BYTES  128u
#define PATH_BYTES  256u
#define VALUE_BYTES 128u
#define LEVEL	    1

#ifndef PR_GET_THP_DISABLE
#define PR_GET_THP_DISABLE 42
#endif

/* A name and what was last told of it. */
struct known {
	uint64_t name, value; /* hashes */
};

struct block {
	struct settings_header header;
	char lines[LINES_BYTES];
	struct known known[NAMES_MAX];
};

static struct {
	struct block *block;
	unsigned known_count;
	bool want_whole, read;
	uint64_t last_ns, cost_ns;
} state;

/* True where the value is not the one that was last told. Names come in the same order each time. */
static bool is_news(const char *name, const char *value)
{
	static unsigned next;
	struct known news = {text_hash(name), text_hash(value)}, *known = state.block->known;
	for (unsigned i = 0; i < state.known_count; i++, next++) {
		if (next >= state.known_count)
			next = 0;
		if (known[next].name != news.name)
			continue;
		bool changed = known[next].value != news.value;
		known[next++] = news;
		return changed;
	}
	if (state.known_count < NAMES_MAX)
		known[state.known_count++] = news;
	return true;
}

static void put(const char *name, const char *value)
{
	struct settings_header *header = &state.block->header;
	size_t name_length = strlen(name), value_length = strlen(value);
	if (header->bytes + name_length + value_length + 2 > LINES_BYTES || !is_news(name, value))
		return;
	char *at = state.block->lines + header->bytes;
	memcpy(at, name, name_length + 1);
	at[name_length] = '=';
	memcpy(at + name_length + 1, value, value_length + 1);
	at[name_length + 1 + value_length] = '\n';
	header->bytes += (uint32_t)(name_length + value_length + 2);
}

/* Of "always [madvise] never" the chosen word. */
static char *chosen(char *value)
{
	value[strcspn(value, "\n")] = '\0';
	char *open = strchr(value, '['), *close = open ? strchr(open, ']') : NULL;
	if (!close)
		return value;
	*close = '\0';
	return open + 1;
}

static void put_file(const char *name, const char *path)
{
	char value[VALUE_BYTES];
	if (smallfile_read(path, value, sizeof value) > 0)
		put(name, chosen(value));
}

/* ---- the kernel's folder of settings ------------------------------------------------------------------- */

struct place {
	char path[PATH_BYTES];
	char name[NAME_BYTES];
	unsigned depth;
};

static void visit_folder(const struct place *place);

static bool append(char *text, size_t bytes, char separator, const char *part)
{
	size_t length = strlen(text), more = strlen(part);
	if (length + 1 + more >= bytes)
		return false;
	text[length] = separator;
	memcpy(text + length + 1, part, more + 1);
	return true;
}

static void visit_entry(const char *name, uint8_t type, void *argument)
{
	struct place place = *(const struct place *)argument;
	if (name[0] == '.' || !append(place.path, sizeof place.path, '/', name) ||
	    !append(place.name, sizeof place.name, '.', name))
		return;
	if (type == DT_REG)
		put_file(place.name, place.path);
	else if (type == DT_DIR && place.depth++ < 3)
		visit_folder(&place);
}

static void visit_folder(const struct place *place)
{
	int folder = raw_open(place->path, O_RDONLY | O_DIRECTORY, 0);
	if (folder < 0)
		return;
	folder_visit(folder, visit_entry, (void *)(uintptr_t)place);
	raw_close(folder);
}

/* ---- the rest ------------------------------------------------------------------------------------------ */

static bool visit_vmstat(char *line, void *unused)
{
	(void)unused;
	static const char wanted[][16] = {"thp_", "pgfault ", "pgmajfault ", "compact_stall "};
	for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		char name[NAME_BYTES] = "vmstat", *space = strchr(line, ' ');
		if (!space || strncmp(line, wanted[i], strlen(wanted[i])) != 0)
			continue;
		*space = '\0';
		if (append(name, sizeof name, '.', line))
			put(name, space + 1);
		break;
	}
	return true;
}

static void put_process(void)
{
	long disabled = arch_syscall(SYS_prctl, PR_GET_THP_DISABLE, 0, 0, 0, 0, 0);
	if (!raw_failed(disabled))
		put("process.thp_disable", disabled ? "1" : "0");
}

void thp_take_now(void)
{
	uint64_t start_ns = clock_thread_cpu_ns();
	if (!state.block)
		state.block = raw_reserve(sizeof *state.block);
	if (!state.block)
		return;
	struct settings_header *header = &state.block->header;
	bool whole = !state.read || state.want_whole;
	*header = (struct settings_header){.time = clock_now(), .flags = whole ? SETTINGS_WHOLE : 0};
	if (whole)
		state.known_count = 0;
	visit_folder(&(struct place){.path = FOLDER, .name = "thp"});
	lines_visit("/proc/vmstat", visit_vmstat, NULL);
	put_file("vm.overcommit_memory", "/proc/sys/vm/overcommit_memory");
	put_process();
	if (header->bytes)
		tracefile_append(BLOCK_SETTINGS, state.block, sizeof *header + header->bytes,
				 (struct block_times){header->time, clock_now()}, LEVEL);
	state.read = true;
	state.want_whole = false;
	state.last_ns = clock_monotonic_ns();
	state.cost_ns = clock_thread_cpu_ns() - start_ns;
}

void thp_take(uint64_t interval_ms)
{
	if (!state.read || clock_cost_allows(clock_monotonic_ns(), interval_ms, state.last_ns, state.cost_ns))
		thp_take_now();
}

void thp_want_whole(void)
{
	state.want_whole = true;
}

void thp_forget(void)
{
	state.read = false;
}
