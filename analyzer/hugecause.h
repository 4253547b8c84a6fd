/*
 * Why memory is not on huge pages. Each byte that is resident and not on a huge page has one cause, and so
 * has each byte that could be on one and is not there at all:
 *
 *   resident - huge = the sum of all causes but CAUSE_NOT_FAULTED
 *   eligible = huge (in eligible memory) + waiting + fallback + broken + not-faulted + swapped (likewise)
 *            + reserved
 *
 * "Inner" is the part of a mapping that consists of whole huge pages at their natural places; the rest is its
 * edges. The first that applies counts, in the order of enum huge_cause.
 */
#ifndef MTRACE_HUGECAUSE_H
#define MTRACE_HUGECAUSE_H

/* Order and number of `causes` in every output; the ids are stable. */
enum huge_cause {
	CAUSE_FILE,	 /* file: of a file or shared memory that the kernel does not map by huge pages */
	CAUSE_TOO_SMALL, /* too-small: the mapping has no inner part */
	CAUSE_EDGE,	 /* unaligned-edge: outside the inner part */
	CAUSE_PRCTL,	 /* prctl: the process has turned huge pages off (PR_SET_THP_DISABLE) */
	CAUSE_MADVISE,	 /* madvise-nohugepage: MADV_NOHUGEPAGE */
	CAUSE_SETTINGS,	 /* settings: "never"; "madvise" without MADV_HUGEPAGE; a kernel without huge pages */
	CAUSE_OTHER,	 /* not-eligible: the kernel says no, for none of these reasons */
	CAUSE_BROKEN,	 /* broken: was on a huge page that is gone */
	CAUSE_FALLBACK,	 /* fallback: small when it was first seen, and since the look before that the
			    machine's  count of faults that found no huge page had risen. Other processes count
			    as well */
	CAUSE_WAITING, /* waiting-for-collapse: eligible and small, for none of these reasons: khugepaged has
			  not been there, or finds more of its pages missing than max_ptes_none allows */
	CAUSE_UNKNOWN, /* unknown: in an eligible mapping of which only the sum is known (smaps alone) */
	CAUSE_NOT_FAULTED, /* not-faulted: inner, eligible, and nothing there: never touched, or given back */
	CAUSE_COUNT,
};

/* "file", ..., "not-faulted". */
const char *huge_cause_id(enum huge_cause cause);

/* For people, a few words. */
const char *huge_cause_text(enum huge_cause cause);

#endif
