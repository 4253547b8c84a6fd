#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/allocstats.h"
#include "analyzer/command.h"
#include "analyzer/doctor_files.h"
#include "analyzer/doctor_sources.h"
#include "analyzer/replay.h"
#include "analyzer/rseq.h"
#include "analyzer/thpstate.h"

static bool visit(void *context, const struct merge_item *item, struct error *error)
{
	if (item->event && !rseq_watch_event(context, item->event))
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	return true;
}

/* ---- process block ------------------------------------------------------------------------------------- */

static void put_key(struct facts *facts, enum fact_id id, const struct trace *trace, const char *key)
{
	const char *value = trace_key(trace, key);
	if (value && *value)
		facts_text(facts, id, value, key);
	else
		facts_unknown(facts, id, "the trace has no %s", key);
}

/* The kernel's file, as it was: "always [madvise] never". */
static void put_choice(struct facts *facts, enum fact_id id, const struct trace *trace, const char *key)
{
	const char *value = trace_key(trace, key);
	char text[128];
	snprintf(text, sizeof text, "%s", value ? value : "");
	const char *chosen = files_chosen(text);
	if (chosen)
		facts_text(facts, id, chosen, key);
	else
		facts_unknown(facts, id, "the trace has no %s", key);
}

static void put_number(struct facts *facts, enum fact_id id, const struct trace *trace, const char *key)
{
	uint64_t value;
	if (trace_key_number(trace, key, &value) && value <= INT64_MAX)
		facts_number(facts, id, (int64_t)value, key);
	else
		facts_unknown(facts, id, "the trace has no %s", key);
}

static void put_allocator(struct facts *facts, const struct trace *trace)
{
	const char *kind = trace_key(trace, "allocator_statistics");
	if (kind && !strcmp(kind, "google-tcmalloc"))
		facts_text(facts, FACT_ALLOCATOR, "tcmalloc-google", "allocator_statistics");
	else if (kind && !strcmp(kind, "gperftools"))
		facts_text(facts, FACT_ALLOCATOR, "gperftools", "allocator_statistics");
	else if (trace_key(trace, "patch_module"))
		facts_text(facts, FACT_ALLOCATOR, "other", "patch_module");
	else
		facts_unknown(facts, FACT_ALLOCATOR,
			      "the traced process exports no statistics to tell it by");
}

static void put_keys(struct facts *facts, const struct trace *trace)
{
	put_key(facts, FACT_KERNEL, trace, "kernel");
	put_key(facts, FACT_ARCH, trace, "arch");
	put_key(facts, FACT_EXE, trace, "exe");
	put_number(facts, FACT_PID, trace, "pid");
	put_number(facts, FACT_PAGE_BYTES, trace, "page_size");
	put_number(facts, FACT_THP_PMD_BYTES, trace, "pmd_size_bytes");
	put_choice(facts, FACT_THP_ENABLED, trace, "thp_enabled");
	put_choice(facts, FACT_THP_DEFRAG, trace, "thp_defrag");
	if (fact_known(facts, FACT_THP_ENABLED))
		facts_number(facts, FACT_THP_SUPPORT, 1, "thp_enabled");
	facts_unknown(facts, FACT_THP_SUPPORT, "the trace has no thp_enabled");
	facts_number(facts, FACT_SHIM_LOADED, 1, "it was traced");
}

/* ---- settings as they were at the end ------------------------------------------------------------------ */

static void put_setting(struct facts *facts, enum fact_id id, const struct thpstate *state, const char *name)
{
	const char *value = thpstate_value(state, name);
	int64_t number;
	if (value && files_parse_number(value, &number))
		facts_number(facts, id, number, name);
	else
		facts_unknown(facts, id, "the trace has no %s", name);
}

/* Choices, here, as the one word that was chosen. */
static void put_word(struct facts *facts, enum fact_id id, const struct thpstate *state, const char *name)
{
	const char *value = thpstate_value(state, name);
	if (value && *value)
		facts_text(facts, id, value, name);
}

static void put_size(struct facts *facts, const struct thpstate *state)
{
	char name[64];
	snprintf(name, sizeof name, "thp.hugepages-%" PRId64 "kB.enabled",
		 fact_number(facts, FACT_THP_PMD_BYTES, 0) / 1024);
	put_word(facts, FACT_THP_PMD_ENABLED, state, name);
	facts_unknown(facts, FACT_THP_PMD_ENABLED, "the trace has no %s", name);
}

static bool put_settings(struct facts *facts, struct trace *trace, struct error *error)
{
	struct thpstate *state = thpstate_open(trace);
	bool good = state && thpstate_until(state, UINT64_MAX, error);
	if (!state)
		return error_set(error, ERROR_INTERNAL, NULL, ERROR_NO_OFFSET, "out of memory");
	put_word(facts, FACT_THP_ENABLED, state, "thp.enabled");
	put_word(facts, FACT_THP_DEFRAG, state, "thp.defrag");
	put_setting(facts, FACT_THP_PMD_BYTES, state, "thp.hpage_pmd_size");
	put_setting(facts, FACT_THP_ZERO_PAGE, state, "thp.use_zero_page");
	put_setting(facts, FACT_THP_SHRINKER, state, "thp.shrink_underused");
	put_setting(facts, FACT_THP_MAX_PTES_NONE, state, "thp.khugepaged.max_ptes_none");
	put_setting(facts, FACT_THP_PAGES_TO_SCAN, state, "thp.khugepaged.pages_to_scan");
	put_setting(facts, FACT_THP_COLLAPSE_DEFRAG, state, "thp.khugepaged.defrag");
	put_setting(facts, FACT_OVERCOMMIT, state, "vm.overcommit_memory");
	put_size(facts, state);
	if (thpstate_value(state, "process.thp_disable"))
		facts_number(facts, FACT_THP_ALLOWED, !thpstate_disabled(state), "process.thp_disable");
	facts_unknown(facts, FACT_THP_ALLOWED, "the trace has no process.thp_disable");
	thpstate_close(state);
	return good;
}

/* ---- what the allocator and the kernel said ------------------------------------------------------------ */

static void put_statistics(struct facts *facts, const struct trace *trace)
{
	const struct allocstats *stats = trace_allocator(trace);
	uint64_t limit = stats->kind ? allocstats_limit_bytes(stats) : ALLOCSTATS_UNKNOWN;
	uint64_t held = stats->kind ? allocstats_value(stats, "tcmalloc.cpu_free") : ALLOCSTATS_UNKNOWN;
	int active = stats->kind ? allocstats_active(stats) : -1;
	if (active >= 0)
		facts_number(facts, FACT_PER_CPU_ACTIVE, active, "the allocator's statistics");
	if (limit <= INT64_MAX)
		facts_number(facts, FACT_PER_CPU_MAX_BYTES, (int64_t)limit, "the allocator's statistics");
	if (held <= INT64_MAX)
		facts_number(facts, FACT_PER_CPU_FREE_BYTES, (int64_t)held, "the allocator's statistics");
	facts_unknown(facts, FACT_PER_CPU_ACTIVE, "the trace has no statistics of the allocator");
	facts_unknown(facts, FACT_PER_CPU_MAX_BYTES, "the trace has no statistics of the allocator");
}

static void put_rseq(struct facts *facts, const struct trace *trace, const struct rseq_watch *watch)
{
	struct rseq_verdict verdict = rseq_judge(trace, watch);
	if (verdict.owner)
		facts_text(facts, FACT_RSEQ_OWNER, verdict.owner, "the trace");
	facts_text(facts, FACT_RSEQ_THREADS, verdict.text, "the trace");
	facts_unknown(facts, FACT_RSEQ_OWNER, "the trace does not say");
}

bool doctor_trace(const char *path, struct facts *facts, bool *damaged, struct error *error)
{
	struct rseq_watch watch = {0};
	struct replay replay = {.trace = trace_open(path, error)};
	if (!replay.trace)
		return false;
	bool good = replay_run(&replay, visit, &watch, error);
	good = put_settings(facts, replay.trace, error) && good;
	put_keys(facts, replay.trace);
	put_allocator(facts, replay.trace);
	put_statistics(facts, replay.trace);
	put_rseq(facts, replay.trace, &watch);
	*damaged |= command_finish(replay.trace) != ERROR_NONE;
	replay_free(&replay);
	rseq_watch_free(&watch);
	trace_close(replay.trace);
	return good;
}
