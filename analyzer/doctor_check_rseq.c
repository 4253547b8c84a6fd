/* Restartable sequences: the kernel's, who has them in the process, and TCMalloc's caches that need them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/doctor_check.h"
#include "analyzer/format.h"

#define TUNABLE "glibc.pthread.rseq"

/* ---- kernel releases ----------------------------------------------------------------------------------- */

/* google/tcmalloc#292, SERVER-121912: broken by 6.19, mended in 7.0.14. */
static bool breaks_tcmalloc(const struct facts *facts)
{
	int64_t release = judge_release(fact_text(facts, FACT_KERNEL));
	return release >= 6019000 && release <= 7000013;
}

static void check_kernel(struct judge *judge)
{
	if (judge_lacks(judge, FACT_KERNEL))
		return;
	int64_t release = judge_release(fact_text(judge->facts, FACT_KERNEL));
	judge_found(judge, "%s", fact_text(judge->facts, FACT_KERNEL));
	judge_wanted(judge, "4.18 or newer");
	if (release >= 4018000)
		return;
	judge_state(judge, release < 0 ? DOCTOR_UNKNOWN : DOCTOR_BAD);
	judge_advice(judge, "boot a newer kernel");
}

/* ---- who has rseq -------------------------------------------------------------------------------------- */

/* 1: glibc has it in this process; 0: it has not; -1: not known. */
static int glibc_owns(const struct facts *facts)
{
	if (fact_known(facts, FACT_RSEQ_OWNER))
		return fact_is(facts, FACT_RSEQ_OWNER, "glibc");
	if (fact_known(facts, FACT_LIBC_RSEQ) && !fact_number(facts, FACT_LIBC_RSEQ, 1))
		return 0;
	if (!fact_known(facts, FACT_LIBC_RSEQ) || !fact_known(facts, FACT_TUNABLE_RSEQ))
		return -1;
	return fact_number(facts, FACT_TUNABLE_RSEQ, 1) != 0;
}

/* What GLIBC_TUNABLES holds now, with another value for rseq. */
static void tunables_with(const struct facts *facts, int value, char *text, size_t bytes)
{
	const char *now = fact_text(facts, FACT_TUNABLES);
	size_t used = 0;
	text[0] = '\0';
	for (const char *at = now; *at; at += strcspn(at, ":"), at += *at == ':') {
		const size_t length = strcspn(at, ":");
		if (length && strncmp(at, TUNABLE "=", strlen(TUNABLE "=")) != 0 && used + length + 1 < bytes)
			used += (size_t)snprintf(text + used, bytes - used, "%.*s:", (int)length, at);
	}
	snprintf(text + used, bytes - used, TUNABLE "=%d", value);
}

static void fix_tunable(struct judge *judge, int value)
{
	char text[1024];
	tunables_with(judge->facts, value, text, sizeof text);
	judge_fix_environment(judge, "GLIBC_TUNABLES", text);
}

static void check_range(struct judge *judge)
{
	if (judge_lacks(judge, FACT_KERNEL))
		return;
	const char *release = fact_text(judge->facts, FACT_KERNEL);
	judge_wanted(judge, "not 6.19.0 to 7.0.13");
	judge_found(judge, "%s", release);
	if (!breaks_tcmalloc(judge->facts))
		return;
	if (glibc_owns(judge->facts) == 1) {
		judge_found(judge, "%s, and glibc has rseq: TCMalloc keeps away from it", release);
		return;
	}
	judge_state(judge, DOCTOR_BAD);
	fix_tunable(judge, 1);
	if (!judge->finding->advice)
		judge_advice(
			judge,
			"this trades per-CPU caches for caches per thread; boot 7.0.14 or newer, or 6.18 or "
			"older, to have both. A distribution's 7.0.0-N may have the repair: its changelog "
			"tells");
}

static void check_kernel_rseq(struct judge *judge)
{
	if (judge_lacks(judge, FACT_KERNEL_RSEQ))
		return;
	bool there = fact_number(judge->facts, FACT_KERNEL_RSEQ, 0);
	judge_found(judge, "the kernel %s rseq (%s)", there ? "has" : "has no",
		    fact_from(judge->facts, FACT_KERNEL_RSEQ));
	judge_wanted(judge, "a kernel with rseq");
	if (there)
		return;
	judge_state(judge, DOCTOR_BAD);
	judge_advice(judge, "boot a kernel built with CONFIG_RSEQ=y; those of the distributions are");
}

static void found_owner(struct judge *judge, int owns)
{
	const struct facts *facts = judge->facts;
	const char *threads = fact_text(facts, FACT_RSEQ_THREADS);
	if (!fact_known(facts, FACT_RSEQ_OWNER))
		judge_found(judge,
			    owns ? "glibc registers rseq, and GLIBC_TUNABLES of the process lets it"
			    : fact_known(facts, FACT_LIBC_RSEQ) && !fact_number(facts, FACT_LIBC_RSEQ, 1)
				    ? "the C library does not use rseq"
				    : "GLIBC_TUNABLES of the process keeps glibc from rseq");
	else if (*threads)
		judge_found(judge, "%s", threads);
	else
		judge_found(judge, "%s (%s)", owns ? "glibc has rseq" : "glibc leaves rseq to the program",
			    fact_from(facts, FACT_RSEQ_OWNER));
}

/* Of a machine alone only half of it can be known. */
static void check_machine_owner(struct judge *judge)
{
	if (judge_lacks(judge, FACT_LIBC_RSEQ))
		return;
	if (!fact_number(judge->facts, FACT_LIBC_RSEQ, 1)) {
		judge_found(judge, "the C library does not use rseq (%s)",
			    fact_from(judge->facts, FACT_LIBC_RSEQ));
		return;
	}
	judge->finding->state = DOCTOR_UNKNOWN;
	judge_found(judge, "the C library registers rseq in each process that does not forbid it (%s)",
		    fact_from(judge->facts, FACT_LIBC_RSEQ));
	judge_advice(judge,
		     "mongod needs GLIBC_TUNABLES=" TUNABLE "=0 in its environment; --pid looks at one");
}

static void check_owner(struct judge *judge)
{
	int owns = glibc_owns(judge->facts);
	bool broken = breaks_tcmalloc(judge->facts);
	judge_wanted(judge, broken ? "on this kernel: glibc's" : "the program's");
	if (!judge->doctor->process) {
		check_machine_owner(judge);
		return;
	}
	if (owns < 0) {
		judge_lacks(judge, FACT_RSEQ_OWNER);
		return;
	}
	found_owner(judge, owns);
	if (!owns || broken)
		return;
	judge_state(judge, DOCTOR_BAD);
	fix_tunable(judge, 0);
}

/* ---- caches per CPU ------------------------------------------------------------------------------------ */

static void check_caches(struct judge *judge)
{
	if (judge_lacks(judge, FACT_PER_CPU_ACTIVE))
		return;
	bool active = fact_number(judge->facts, FACT_PER_CPU_ACTIVE, 0);
	judge_found(judge, "caches per CPU are %s (%s)",
		    active ? "in use" : "not in use: caches per thread instead",
		    fact_from(judge->facts, FACT_PER_CPU_ACTIVE));
	judge_wanted(judge, "in use");
	if (active)
		return;
	judge_state(judge, breaks_tcmalloc(judge->facts) ? DOCTOR_WARN : DOCTOR_BAD);
	if (breaks_tcmalloc(judge->facts))
		judge_advice(judge, "on this kernel that is the lesser evil (kernel-range)");
	else if (glibc_owns(judge->facts) == 1)
		judge_advice(judge, "glibc has rseq: rseq-owner says what to do");
	else
		judge_advice(judge,
			     "the kernel refused rseq to the first thread that asked: a kernel without it "
			     "(kernel-rseq), or a seccomp filter");
}

/* What mongod's TCMalloc will have made of the limit that it saw: 4.3 and 4.4 of SERVER-119885's description.
 */
static void predict_capacity(struct judge *judge)
{
	const struct facts *facts = judge->facts;
	int64_t setting = fact_number(facts, FACT_PER_CPU_SETTING, 0);
	if (setting > 0) {
		judge_found(judge, "set to %" PRId64 " bytes by MONGO_TCMALLOC_PER_CPU_CACHE_SIZE_BYTES",
			    setting);
		return;
	}
	if (judge_lacks(judge, FACT_PER_CPU_SETTING) || judge_lacks(judge, FACT_VIEW_LIMIT))
		return;
	if (!fact_is(facts, FACT_VIEW_LIMIT, "max")) {
		judge_found(judge, "a memory limit that TCMalloc can read (%s%s)",
			    *fact_text(facts, FACT_VIEW_LIMIT) ? fact_text(facts, FACT_VIEW_LIMIT)
							       : fact_from(facts, FACT_VIEW_LIMIT),
			    *fact_text(facts, FACT_VIEW_LIMIT) ? " bytes" : "");
		return;
	}
	judge_found(judge,
		    "/sys/fs/cgroup/memory.max says \"max\" inside, which TCMalloc takes for a limit of 0: a "
		    "capacity of 0 is to be expected");
	judge_state(judge, DOCTOR_BAD);
}

static void judge_capacity(struct judge *judge)
{
	const struct facts *facts = judge->facts;
	char text[FORMAT_TEXT_BYTES];
	int64_t limit = fact_number(facts, FACT_PER_CPU_MAX_BYTES, -1);
	int64_t held = fact_number(facts, FACT_PER_CPU_FREE_BYTES, -1);
	judge_found(judge, "limit of one CPU's cache: %" PRId64 " bytes (%s)%s%s", limit,
		    fact_from(facts, FACT_PER_CPU_MAX_BYTES), held >= 0 ? "; in all caches together: " : "",
		    held >= 0 ? format_bytes(text, (double)held) : "");
	if (limit == 0)
		judge_state(judge, DOCTOR_BAD);
	else if (held == 0)
		judge_state(judge, DOCTOR_WARN);
}

static void check_capacity(struct judge *judge)
{
	judge_wanted(judge, "above 0, and something in them");
	if (fact_number(judge->facts, FACT_PER_CPU_ACTIVE, 1) == 0) {
		judge_found(judge, "the caches are not in use");
		return;
	}
	if (fact_known(judge->facts, FACT_PER_CPU_MAX_BYTES))
		judge_capacity(judge);
	else if (judge->doctor->machine)
		predict_capacity(judge);
	else
		judge_lacks(judge, FACT_PER_CPU_MAX_BYTES);
	if (judge->finding->state != DOCTOR_BAD)
		return;
	judge_fix_environment(judge, "MONGO_TCMALLOC_PER_CPU_CACHE_SIZE_BYTES", "16777216");
	if (!judge->finding->advice)
		judge_advice(judge, "a memory limit for its container does it too");
}

const struct doctor_check doctor_checks_rseq[] = {
	{"kernel-version", APPLIES_GOOGLE, check_kernel, "per-CPU caches need rseq, which is younger",
	 SOURCE_TCMALLOC},
	{"kernel-range", APPLIES_GOOGLE, check_range,
	 "Linux 6.19 to 7.0.13 do not keep a promise that TCMalloc relies on: malloc can return one block "
	 "twice, "
	 "mongod crashes, and newer ones refuse to start (log id 12257600)",
	 "https://jira.mongodb.org/browse/SERVER-121912"},
	{"kernel-rseq", APPLIES_GOOGLE, check_kernel_rseq, "per-CPU caches need it", SOURCE_TCMALLOC},
	{"rseq-owner", APPLIES_GOOGLE, check_owner,
	 "a thread has one rseq area: where glibc has it, TCMalloc falls back to caches per thread, 32 MiB "
	 "for all "
	 "threads together",
	 SOURCE_TCMALLOC},
	{"per-cpu-caches", APPLIES_GOOGLE | APPLIES_PROCESS, check_caches,
	 "they are what MongoDB 8.0 changed its allocator for", SOURCE_TCMALLOC},
	{"per-cpu-capacity", APPLIES_GOOGLE | APPLIES_PROCESS, check_capacity,
	 "with a capacity of 0 each allocation and each free takes the lock of the transfer cache; in the "
	 "published measurement throughput was 36% to 60% higher without that. Seen in 8.2.3 and 8.2.10; no "
	 "log "
	 "line, no warning",
	 "https://jira.mongodb.org/browse/SERVER-119885"},
	{0},
};
