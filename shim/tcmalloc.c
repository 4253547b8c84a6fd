#include "shim/tcmalloc.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "shim/clock.h"
#include "shim/raw.h"
#include "shim/tcmalloc_text.h"
#include "shim/tracefile.h"

/* google/tcmalloc itself tries up to 2 MiB for its text; a longer one is cut off. */
#define TEXT_BYTES   (2u << 20)
#define RECORD_BYTES (512u << 10)

/* tcmalloc/malloc_extension.h and gperftools/malloc_extension_c.h, as C sees them. */
static struct {
	bool (*google_property)(const char *name, size_t name_bytes, size_t *value);
	bool (*per_cpu_active)(void);
	int32_t (*max_per_cpu_bytes)(void);
	size_t (*text)(char *buffer, size_t bytes);
	int (*gperftools_property)(const char *name, size_t *value);
} ask;

static const char *const google_properties[] = {
	"generic.virtual_memory_used",
	"generic.physical_memory_used",
	"generic.current_allocated_bytes",
	"generic.peak_memory_usage",
	"generic.heap_size",
	"tcmalloc.cpu_free",
	"tcmalloc.thread_cache_free",
	"tcmalloc.thread_cache_count",
	"tcmalloc.current_total_thread_cache_bytes",
	"tcmalloc.max_total_thread_cache_bytes",
	"tcmalloc.central_cache_free",
	"tcmalloc.transfer_cache_free",
	"tcmalloc.sharded_transfer_cache_free",
	"tcmalloc.pageheap_free_bytes",
	"tcmalloc.pageheap_unmapped_bytes",
	"tcmalloc.external_fragmentation_bytes",
	"tcmalloc.metadata_bytes",
	"tcmalloc.local_bytes",
	"tcmalloc.required_bytes",
	NULL,
};

static const char *const gperftools_properties[] = {
	"generic.current_allocated_bytes",	  "generic.heap_size",
	"generic.total_physical_bytes",		  "tcmalloc.thread_cache_free_bytes",
	"tcmalloc.impl.thread_cache_count",	  "tcmalloc.current_total_thread_cache_bytes",
	"tcmalloc.max_total_thread_cache_bytes",  "tcmalloc.central_cache_free_bytes",
	"tcmalloc.transfer_cache_free_bytes",	  "tcmalloc.pageheap_free_bytes",
	"tcmalloc.pageheap_unmapped_bytes",	  "tcmalloc.pageheap_committed_bytes",
	"tcmalloc.pageheap_scavenge_count",	  "tcmalloc.pageheap_commit_count",
	"tcmalloc.pageheap_total_commit_bytes",	  "tcmalloc.pageheap_decommit_count",
	"tcmalloc.pageheap_total_decommit_bytes", "tcmalloc.pageheap_reserve_count",
	"tcmalloc.pageheap_total_reserve_bytes",  "tcmalloc.aggressive_memory_decommit",
	"tcmalloc.spinlock_total_delay_ns",	  NULL,
};

/* What was asked last, when, and what that took. */
struct reading {
	bool done;
	uint64_t taken_ns, cost_ns;
};

#define VALUES_MAX 32u

static struct {
	enum allocator_kind kind;
	bool called; /* the first call is behind us */
	_Atomic uint32_t inside, held;
	struct reading values, per_cpu;
	size_t property[VALUES_MAX];
	bool property_known[VALUES_MAX];
	int active;		   /* per-CPU caches: 0, 1; -1: not known */
	int64_t max_per_cpu_bytes; /* -1: not known */
	char *buffer;		   /* TEXT_BYTES, then RECORD_BYTES */
	struct tcmalloc_text *text;
} state;

/* ---- finding them ------------------------------------------------------------------------------------- */

void tcmalloc_find(void)
{
	*(void **)&ask.google_property = dlsym(RTLD_DEFAULT, "MallocExtension_Internal_GetNumericProperty");
	*(void **)&ask.per_cpu_active = dlsym(RTLD_DEFAULT, "MallocExtension_Internal_GetPerCpuCachesActive");
	*(void **)&ask.max_per_cpu_bytes =
		dlsym(RTLD_DEFAULT, "MallocExtension_Internal_GetMaxPerCpuCacheSize");
	*(void **)&ask.text = dlsym(RTLD_DEFAULT, "TCMalloc_Internal_GetStats");
	*(void **)&ask.gperftools_property = dlsym(RTLD_DEFAULT, "MallocExtension_GetNumericProperty");
	bool google = ask.google_property || ask.per_cpu_active || ask.max_per_cpu_bytes || ask.text;
	state.kind = google		       ? ALLOCATOR_GOOGLE
		     : ask.gperftools_property ? ALLOCATOR_GPERFTOOLS
					       : (enum allocator_kind)0;
	state.called = false;
	state.values = state.per_cpu = (struct reading){0};
	state.active = -1;
	state.max_per_cpu_bytes = -1;
}

const char *tcmalloc_name(void)
{
	return state.kind == ALLOCATOR_GOOGLE	    ? "google-tcmalloc"
	       : state.kind == ALLOCATOR_GPERFTOOLS ? "gperftools"
						    : "none";
}

/* ---- in and out ---------------------------------------------------------------------------------------- */

/* Sequentially consistent: either the fork sees us inside, or we see that it holds. */
static bool enter(void)
{
	atomic_store(&state.inside, 1);
	if (!atomic_load(&state.held))
		return true;
	atomic_store(&state.inside, 0);
	raw_futex_wake(&state.inside);
	return false;
}

static void leave(void)
{
	atomic_store(&state.inside, 0);
	if (atomic_load(&state.held))
		raw_futex_wake(&state.inside);
}

#define HOLD_WAIT_NS UINT64_C(100000000)

void tcmalloc_hold(void)
{
	atomic_fetch_add(&state.held, 1);
	if (!atomic_load(&state.inside))
		return;
	uint64_t now_ns = clock_monotonic_ns(), deadline_ns = now_ns + HOLD_WAIT_NS;
	for (; atomic_load(&state.inside) && now_ns < deadline_ns; now_ns = clock_monotonic_ns())
		raw_futex_wait(&state.inside, 1, deadline_ns - now_ns);
}

void tcmalloc_release(void)
{
	atomic_fetch_sub(&state.held, 1);
}

void tcmalloc_after_fork(void)
{
	atomic_store(&state.held, 0);
	atomic_store(&state.inside, 0);
}

/* ---- asking -------------------------------------------------------------------------------------------- */

static const char *const *properties(void)
{
	return state.kind == ALLOCATOR_GOOGLE ? google_properties : gperftools_properties;
}

static bool property(const char *name, size_t *value)
{
	if (state.kind == ALLOCATOR_GOOGLE)
		return ask.google_property && ask.google_property(name, strlen(name), value);
	return ask.gperftools_property(name, value) != 0;
}

static void ask_values(void)
{
	const char *const *names = properties();
	for (unsigned i = 0; names[i]; i++)
		state.property_known[i] = property(names[i], &state.property[i]);
	if (ask.per_cpu_active)
		state.active = ask.per_cpu_active();
	if (ask.max_per_cpu_bytes)
		state.max_per_cpu_bytes = ask.max_per_cpu_bytes();
}

static void ask_text(void)
{
	size_t bytes = ask.text(state.buffer, TEXT_BYTES);
	tcmalloc_text_read(state.text, state.buffer, bytes < TEXT_BYTES ? bytes : TEXT_BYTES - 1);
}

static bool is_due(const struct reading *reading, uint64_t now_ns, uint64_t interval_ms)
{
	return !reading->done || clock_cost_allows(now_ns, interval_ms, reading->taken_ns, reading->cost_ns);
}

static void take(struct reading *reading, void (*asking)(void), uint64_t now_ns, uint64_t interval_ms)
{
	if (!is_due(reading, now_ns, interval_ms) || !enter())
		return;
	uint64_t start_ns = clock_thread_cpu_ns();
	asking();
	leave();
	*reading = (struct reading){true, now_ns, clock_thread_cpu_ns() - start_ns};
}

/* ---- the record ---------------------------------------------------------------------------------------- */

struct output {
	char *text;
	size_t used;
};

#define LINE_BYTES_MAX 160u

/* Room for one more line; the record never fills up while what is written is bounded as it is. */
static char *room(struct output *out)
{
	return out->used + LINE_BYTES_MAX <= RECORD_BYTES ? out->text + out->used : NULL;
}

static void put(struct output *out, const char *name, uint64_t value)
{
	char *at = room(out);
	if (at)
		out->used +=
			(size_t)snprintf(at, LINE_BYTES_MAX, "%s=%llu\n", name, (unsigned long long)value);
}

static void put_values(struct output *out)
{
	const char *const *names = properties();
	for (unsigned i = 0; names[i]; i++)
		if (state.property_known[i])
			put(out, names[i], state.property[i]);
	if (state.active >= 0)
		put(out, "per_cpu_caches_active", (uint64_t)state.active);
	if (state.max_per_cpu_bytes >= 0)
		put(out, "max_per_cpu_cache_bytes", (uint64_t)state.max_per_cpu_bytes);
}

static int put_field(char *at, uint64_t value, char end)
{
	return value == TCMALLOC_UNKNOWN
		       ? snprintf(at, LINE_BYTES_MAX, "-%c", end)
		       : snprintf(at, LINE_BYTES_MAX, "%llu%c", (unsigned long long)value, end);
}

static void put_cpu(struct output *out, unsigned number, const struct tcmalloc_cpu *cpu)
{
	const uint64_t fields[] = {cpu->used_bytes, cpu->unallocated_bytes, cpu->underflows, cpu->overflows,
				   cpu->reclaims};
	char *at = room(out);
	bool known = false;
	for (unsigned i = 0; i < 5; i++)
		known |= fields[i] != TCMALLOC_UNKNOWN;
	if (!at || !known)
		return;
	int used = snprintf(at, LINE_BYTES_MAX, "cpu=%u ", number);
	for (unsigned i = 0; i < 5; i++)
		used += put_field(at + used, fields[i], i < 4 ? ' ' : '\n');
	out->used += (size_t)used;
}

static void put_per_cpu(struct output *out)
{
	if (state.text->per_cpu_limit_bytes != TCMALLOC_UNKNOWN)
		put(out, "per_cpu_limit_bytes", state.text->per_cpu_limit_bytes);
	for (unsigned i = 0; i < state.text->cpus; i++)
		put_cpu(out, i, &state.text->cpu[i]);
}

static uint64_t age_ns(const struct reading *reading, uint64_t now_ns)
{
	return reading->done ? now_ns - reading->taken_ns : SNAPSHOT_UNKNOWN;
}

static void append(uint64_t now_ns, uint64_t watermark)
{
	struct output out = {state.buffer + TEXT_BYTES, sizeof(struct allocator_record)};
	struct allocator_record record = {.mark = clock_mark(), .kind = state.kind};
	record.mark.watermark = watermark;
	record.values_age_ns = age_ns(&state.values, now_ns);
	record.per_cpu_age_ns = age_ns(&state.per_cpu, now_ns);
	memcpy(out.text, &record, sizeof record);
	if (state.values.done)
		put_values(&out);
	if (state.per_cpu.done)
		put_per_cpu(&out);
	tracefile_append(BLOCK_ALLOCATOR, out.text, out.used,
			 (struct block_times){record.mark.time, record.mark.time}, 1);
}

/* Of the shim's own, once; pages that are not needed are never touched. */
static bool have_buffer(void)
{
	if (!state.buffer) {
		state.buffer = raw_reserve(TEXT_BYTES + RECORD_BYTES + sizeof *state.text);
		state.text = (void *)(state.buffer ? state.buffer + TEXT_BYTES + RECORD_BYTES : NULL);
	}
	return state.buffer != NULL;
}

/*
 * The first call comes while the guest is still being set up. By the second one the allocator has at least
 * served the creation of this thread, so it has set itself up.
 */
void tcmalloc_write(uint64_t interval_ms, uint64_t watermark)
{
	if (!state.kind || !state.called) {
		state.called = true;
		return;
	}
	if (!have_buffer())
		return;
	uint64_t now_ns = clock_monotonic_ns();
	take(&state.values, ask_values, now_ns, interval_ms);
	if (ask.text)
		take(&state.per_cpu, ask_text, now_ns, interval_ms);
	append(now_ns, watermark);
}
