/* Transparent huge pages. */
#include <inttypes.h>
#include <string.h>

#include "analyzer/doctor_check.h"
#include "analyzer/format.h"

#define THP "/sys/kernel/mm/transparent_hugepage"
/* TCMalloc packs for 2 MiB on all machines (its kHugePageShift is 21). */
#define TCMALLOC_HUGE_BYTES (INT64_C(2) << 20)

static bool has_thp(struct judge *judge)
{
	if (judge_lacks(judge, FACT_THP_SUPPORT))
		return false;
	if (fact_number(judge->facts, FACT_THP_SUPPORT, 0))
		return true;
	judge_found(judge, "a kernel without transparent huge pages");
	return false;
}

/* One file that should hold one word. False where there is nothing to judge. */
static void want_word(struct judge *judge, enum fact_id id, const char *word, const char *file,
		      enum doctor_state otherwise)
{
	if (!has_thp(judge) || judge_lacks(judge, id))
		return;
	judge_found(judge, "%s (%s)", fact_text(judge->facts, id), fact_from(judge->facts, id));
	judge_wanted(judge, "%s", word);
	if (fact_is(judge->facts, id, word))
		return;
	judge_state(judge, otherwise);
	judge_fix(judge, "echo %s >" THP "/%s", word, file);
}

/* The same with a number. */
static void want_number(struct judge *judge, enum fact_id id, int64_t number, const char *file)
{
	if (!has_thp(judge) || judge_lacks(judge, id))
		return;
	judge_found(judge, "%" PRId64 " (%s)", fact_number(judge->facts, id, 0), fact_from(judge->facts, id));
	judge_wanted(judge, "%" PRId64, number);
	if (fact_number(judge->facts, id, 0) == number)
		return;
	judge_state(judge, DOCTOR_WARN);
	judge_fix(judge, "echo %" PRId64 " >" THP "/%s", number, file);
}

static void check_support(struct judge *judge)
{
	if (judge_lacks(judge, FACT_THP_SUPPORT))
		return;
	bool there = fact_number(judge->facts, FACT_THP_SUPPORT, 0);
	judge_found(judge, "a kernel %s transparent huge pages (%s)", there ? "with" : "without",
		    fact_from(judge->facts, FACT_THP_SUPPORT));
	if (judge->profile != PROFILE_GOOGLE)
		return;
	judge_wanted(judge, "a kernel with them");
	if (there)
		return;
	judge_state(judge, DOCTOR_BAD);
	judge_advice(
		judge,
		"boot a kernel built with CONFIG_TRANSPARENT_HUGEPAGE=y; those of the distributions are");
}

/* gperftools asks for nothing by madvise: there "madvise" is as good as "never". */
static void check_enabled(struct judge *judge)
{
	if (judge->profile == PROFILE_GOOGLE) {
		want_word(judge, FACT_THP_ENABLED, "always", "enabled", DOCTOR_BAD);
	} else if (judge->profile == PROFILE_LEGACY) {
		want_word(judge, FACT_THP_ENABLED, "never", "enabled", DOCTOR_BAD);
		judge->finding->source = SOURCE_THP_OFF;
		judge->finding->why =
			"MongoDB 7.0 and older, and gperftools, lose memory and time to huge pages";
		if (fact_is(judge->facts, FACT_THP_ENABLED, "madvise"))
			judge->finding->state = DOCTOR_OK;
		/* Allowed on the machine, and switched off for this process. */
		if (judge->finding->state == DOCTOR_BAD &&
		    fact_number(judge->facts, FACT_THP_ALLOWED, 1) == 0)
			judge->finding->state = DOCTOR_OK;
	} else if (has_thp(judge) && !judge_lacks(judge, FACT_THP_ENABLED)) {
		judge_found(judge, "%s (%s)", fact_text(judge->facts, FACT_THP_ENABLED),
			    fact_from(judge->facts, FACT_THP_ENABLED));
		judge->finding->why = "MongoDB recommends nothing for this allocator";
	}
}

static void check_defrag(struct judge *judge)
{
	want_word(judge, FACT_THP_DEFRAG, "defer+madvise", "defrag", DOCTOR_WARN);
}

static void check_max_ptes_none(struct judge *judge)
{
	want_number(judge, FACT_THP_MAX_PTES_NONE, 0, "khugepaged/max_ptes_none");
}

static void check_khugepaged(struct judge *judge)
{
	if (!has_thp(judge) || judge_lacks(judge, FACT_THP_PAGES_TO_SCAN) ||
	    judge_lacks(judge, FACT_THP_COLLAPSE_DEFRAG))
		return;
	int64_t pages = fact_number(judge->facts, FACT_THP_PAGES_TO_SCAN, 0);
	int64_t defrag = fact_number(judge->facts, FACT_THP_COLLAPSE_DEFRAG, 0);
	judge_found(judge, "pages_to_scan %" PRId64 ", defrag %" PRId64, pages, defrag);
	judge_wanted(judge, "pages_to_scan above 0, defrag 1");
	if (pages > 0 && defrag != 0)
		return;
	judge_state(judge, DOCTOR_WARN);
	judge_fix(judge, "%s%s%s", pages > 0 ? "" : "echo 4096 >" THP "/khugepaged/pages_to_scan",
		  pages <= 0 && defrag == 0 ? " && " : "", defrag ? "" : "echo 1 >" THP "/khugepaged/defrag");
}

static void advise_parent(struct judge *judge)
{
	const char *unit = fact_text(judge->facts, FACT_UNIT);
	bool inherited = fact_number(judge->facts, FACT_THP_PARENT, 1) == 0;
	if (*unit)
		judge_advice(judge,
			     "unit %s starts it through something that calls prctl(PR_SET_THP_DISABLE); "
			     "`systemctl cat %s` shows what",
			     unit, unit);
	else
		judge_advice(judge,
			     "%s calls prctl(PR_SET_THP_DISABLE), which children inherit and keep over exec: "
			     "stop it, and start it from a shell of which `grep THP_enabled /proc/$$/status` "
			     "says 1",
			     inherited ? "its parent process or one above it"
				       : "the program, or what executed it,");
	judge_fix_command(judge, NULL, NULL, "");
}

static void check_process(struct judge *judge)
{
	if (judge_lacks(judge, FACT_THP_ALLOWED))
		return;
	bool allowed = fact_number(judge->facts, FACT_THP_ALLOWED, 1);
	judge_found(judge, "huge pages are %s for this process (%s)", allowed ? "allowed" : "switched off",
		    fact_from(judge->facts, FACT_THP_ALLOWED));
	if (judge->profile != PROFILE_GOOGLE)
		return;
	judge_wanted(judge, "allowed");
	if (allowed)
		return;
	judge_state(judge, DOCTOR_BAD);
	advise_parent(judge);
}

static void check_size(struct judge *judge)
{
	char text[FORMAT_TEXT_BYTES];
	if (!has_thp(judge) || judge_lacks(judge, FACT_THP_PMD_BYTES))
		return;
	int64_t bytes = fact_number(judge->facts, FACT_THP_PMD_BYTES, 0);
	judge_found(judge, "a huge page has %s", format_bytes(text, (double)bytes));
	judge_wanted(judge, "2.0 MiB");
	if (bytes == TCMALLOC_HUGE_BYTES)
		return;
	judge_state(judge, DOCTOR_WARN);
	judge_advice(judge,
		     "boot a kernel with pages of 4 KiB (`getconf PAGESIZE`); distributions for AArch64 "
		     "that ship one of 64 KiB have both");
}

/* The size's own setting wins over THP/enabled unless it is "inherit". */
static void check_by_size(struct judge *judge)
{
	const char *own = fact_text(judge->facts, FACT_THP_PMD_ENABLED);
	int64_t kib = fact_number(judge->facts, FACT_THP_PMD_BYTES, TCMALLOC_HUGE_BYTES) / 1024;
	if (!has_thp(judge) || judge_lacks(judge, FACT_THP_PMD_ENABLED))
		return;
	const char *smaller = fact_text(judge->facts, FACT_THP_SMALLER);
	if (fact_known(judge->facts, FACT_THP_SMALLER))
		judge_found(judge, "%" PRId64 " kB: %s; smaller sizes: %s", kib, own,
			    *smaller ? smaller : "all never");
	else
		judge_found(judge, "%" PRId64 " kB: %s (%s)", kib, own,
			    fact_from(judge->facts, FACT_THP_PMD_ENABLED));
	judge_wanted(judge, "%" PRId64 " kB: inherit or always", kib);
	if (!strcmp(own, "inherit") || !strcmp(own, "always"))
		return;
	judge_state(judge, DOCTOR_BAD);
	judge_fix(judge, "echo inherit >" THP "/hugepages-%" PRId64 "kB/enabled", kib);
}

static void check_zero_page(struct judge *judge)
{
	want_number(judge, FACT_THP_ZERO_PAGE, 1, "use_zero_page");
}

/* mm/huge_memory.c, thp_underused(): more zero-filled pages than max_ptes_none; never where that is all but
 * one. */
static void check_shrinker(struct judge *judge)
{
	if (!has_thp(judge) || judge_lacks(judge, FACT_THP_SHRINKER))
		return;
	int64_t on = fact_number(judge->facts, FACT_THP_SHRINKER, 0);
	int64_t pages = fact_number(judge->facts, FACT_THP_MAX_PTES_NONE, -1);
	judge_found(judge, "shrink_underused %" PRId64 "%s", on,
		    pages == 0	? ", with max_ptes_none 0"
		    : pages > 0 ? ", with max_ptes_none above 0"
				: "");
	judge_wanted(judge, "0 where max_ptes_none is 0");
	if (!on || pages != 0)
		return;
	judge_state(judge, DOCTOR_WARN);
	judge_fix(judge, "echo 0 >" THP "/shrink_underused");
}

const struct doctor_check doctor_checks_thp[] = {
	{"thp-support", APPLIES_ALWAYS, check_support,
	 "TCMalloc lays out its heap in huge pages; without them it gains nothing from that",
	 SOURCE_TCMALLOC},
	{"thp-enabled", APPLIES_ALWAYS, check_enabled,
	 "TCMalloc never asks for huge pages itself: with madvise or never its heap gets none",
	 SOURCE_TCMALLOC},
	{"thp-defrag", APPLIES_GOOGLE, check_defrag,
	 "a page fault must neither wait for compaction nor give up on huge pages", SOURCE_TCMALLOC},
	{"thp-max-ptes-none", APPLIES_GOOGLE, check_max_ptes_none,
	 "khugepaged would fill memory that TCMalloc has given back with zeros, and memory use grows",
	 SOURCE_TCMALLOC},
	{"thp-khugepaged", APPLIES_GOOGLE, check_khugepaged,
	 "khugepaged makes huge pages of what was touched in small ones; so it finds none, or no room",
	 SOURCE_TRANSHUGE},
	{"thp-process", APPLIES_PROCESS, check_process,
	 "a process that has switched them off gets none, whatever the machine is set to", SOURCE_TCMALLOC},
	{"thp-size", APPLIES_GOOGLE, check_size,
	 "TCMalloc packs for huge pages of 2 MiB; with others its spans and the kernel's do not match",
	 SOURCE_TRANSHUGE},
	{"thp-by-size", APPLIES_GOOGLE, check_by_size,
	 "the setting of a size wins over transparent_hugepage/enabled", SOURCE_TRANSHUGE},
	{"thp-zero-page", APPLIES_GOOGLE, check_zero_page,
	 "without it, reading memory that was never written takes a huge page of its own", SOURCE_TRANSHUGE},
	{"thp-shrinker", APPLIES_GOOGLE, check_shrinker,
	 "under memory pressure the kernel splits huge pages with more zero pages than max_ptes_none: with "
	 "0, "
	 "all that have one",
	 SOURCE_TRANSHUGE},
	{0},
};
