/* Whether libmtrace.so can be loaded into the process, and what it would see. shim/ says why. */
#include <inttypes.h>
#include <string.h>

#include "analyzer/doctor_check.h"

/* linux/capability.h: CAP_SYS_ADMIN. */
#define CAPABILITY_ADMIN     (INT64_C(1) << 21)
#define PAGEMAP_SCAN_RELEASE INT64_C(6007000)
#define SOURCE_MTRACE	     "README.md, \"Tracing a program\" and \"Known limits\""

static void check_load(struct judge *judge)
{
	const struct facts *facts = judge->facts;
	if (judge_lacks(judge, FACT_STATIC) || judge_lacks(judge, FACT_LIBC))
		return;
	bool is_static = fact_number(facts, FACT_STATIC, 0), glibc = fact_is(facts, FACT_LIBC, "glibc");
	judge_wanted(judge, "a program with a dynamic loader, of glibc");
	judge_found(judge, "%s%s, C library: %s",
		    fact_number(facts, FACT_SHIM_LOADED, 0) ? "libmtrace.so is in it; " : "",
		    is_static ? "static program" : "dynamic program", fact_text(facts, FACT_LIBC));
	if (!is_static && glibc)
		return;
	judge_state(judge, DOCTOR_BAD);
	judge_advice(judge, "%s",
		     is_static ? "a static program takes no preload: link it dynamically"
			       : "libmtrace.so needs glibc 2.28 or newer");
}

static void check_secure(struct judge *judge)
{
	if (judge_lacks(judge, FACT_SECURE))
		return;
	bool secure = fact_number(judge->facts, FACT_SECURE, 0);
	judge_found(judge, "%s",
		    secure ? "started with more rights than its user has (AT_SECURE)" : "not secure");
	judge_wanted(judge, "not started with rights of its own");
	if (!secure)
		return;
	judge_state(judge, DOCTOR_BAD);
	judge_advice(judge, "the loader ignores LD_PRELOAD there: start it as the user whose rights it takes "
			    "(setuid), or give these to the service instead of the file (setcap)");
}

/* Filters are found out by the calls that fail; those of container engines let all pass that the shim makes.
 */
static void check_seccomp(struct judge *judge)
{
	static const char *const modes[] = {"no seccomp", "strict seccomp", "seccomp filters"};
	if (judge_lacks(judge, FACT_SECCOMP))
		return;
	int64_t mode = fact_number(judge->facts, FACT_SECCOMP, 0);
	judge_found(judge, "%s", mode >= 0 && mode <= 2 ? modes[mode] : "an unknown mode");
	judge_wanted(judge, "not strict");
	if (mode != 1)
		return;
	judge_state(judge, DOCTOR_BAD);
	judge_advice(judge,
		     "in strict mode a thread may read, write and exit: nothing can be recorded there");
}

static void check_malloc(struct judge *judge)
{
	if (judge_lacks(judge, FACT_OWN_MALLOC))
		return;
	bool own = fact_number(judge->facts, FACT_OWN_MALLOC, 0);
	judge_found(judge,
		    own ? "the program defines malloc itself (allocator: %s): its entry points are patched"
			: "malloc comes from a library (allocator: %s): the calls are interposed",
		    fact_text(judge->facts, FACT_ALLOCATOR));
}

/* "6.7" and newer have PAGEMAP_SCAN; before, only /proc/kpageflags knows, and wants CAP_SYS_ADMIN. */
static void check_pages(struct judge *judge)
{
	if (judge_lacks(judge, FACT_KERNEL) || judge_lacks(judge, FACT_CAPABILITIES))
		return;
	bool scan = judge_release(fact_text(judge->facts, FACT_KERNEL)) >= PAGEMAP_SCAN_RELEASE;
	bool admin = fact_number(judge->facts, FACT_CAPABILITIES, 0) & CAPABILITY_ADMIN;
	judge_found(judge, "kernel %s, %s CAP_SYS_ADMIN", fact_text(judge->facts, FACT_KERNEL),
		    admin ? "with" : "without");
	judge_wanted(judge, "Linux 6.7 or newer, or CAP_SYS_ADMIN");
	if (scan || admin)
		return;
	judge_state(judge, DOCTOR_WARN);
	judge_advice(judge, "without either a trace knows huge pages by mapping, not by address");
}

const struct doctor_check doctor_checks_shim[] = {
	{"shim-load", APPLIES_LIVE, check_load, "libmtrace.so is loaded by glibc's dynamic loader",
	 SOURCE_MTRACE},
	{"shim-secure", APPLIES_LIVE, check_secure, "the loader takes no LD_PRELOAD for such a process",
	 SOURCE_MTRACE},
	{"shim-seccomp", APPLIES_LIVE, check_seccomp, "a call that a filter kills for would end the process",
	 SOURCE_MTRACE},
	{"shim-malloc", APPLIES_LIVE, check_malloc,
	 "a malloc inside the program is out of reach of interposing, and has to be patched", SOURCE_MTRACE},
	{"shim-pages", APPLIES_LIVE, check_pages, "which addresses are on huge pages is asked of the kernel",
	 "https://docs.kernel.org/admin-guide/mm/pagemap.html"},
	{0},
};
