#include "analyzer/hugecause.h"

static const struct {
	const char *id;
	const char *text;
} causes[CAUSE_COUNT] = {
	[CAUSE_FILE] = {"file", "files and shared memory; shmem_enabled is for the latter"},
	[CAUSE_TOO_SMALL] = {"too-small", "mapping smaller than a huge page"},
	[CAUSE_EDGE] = {"unaligned-edge", "edge of a mapping, outside whole huge pages"},
	[CAUSE_PRCTL] = {"prctl", "PR_SET_THP_DISABLE, by the process or who started it"},
	[CAUSE_MADVISE] = {"madvise-nohugepage", "MADV_NOHUGEPAGE"},
	[CAUSE_SETTINGS] = {"settings", "the machine's settings; scripts/thp.sh changes them"},
	[CAUSE_OTHER] = {"not-eligible", "not eligible for another reason"},
	[CAUSE_BROKEN] = {"broken", "was on a huge page that is gone"},
	[CAUSE_FALLBACK] = {"fallback", "fault while the machine was short of huge pages; see defrag"},
	[CAUSE_WAITING] = {"waiting-for-collapse", "small so far, khugepaged may collapse it"},
	[CAUSE_UNKNOWN] = {"unknown", "eligible, but only sums are known"},
	[CAUSE_NOT_FAULTED] = {"not-faulted", "eligible and not there"},
};

const char *huge_cause_id(enum huge_cause cause)
{
	return causes[cause].id;
}

const char *huge_cause_text(enum huge_cause cause)
{
	return causes[cause].text;
}
