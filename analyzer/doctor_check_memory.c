/* The process's memory limits, its cache, its address space, its instructions. */
#include <inttypes.h>
#include <string.h>

#include "analyzer/doctor_check.h"
#include "analyzer/format.h"

#define GIB		(INT64_C(1) << 30)
#define MIB		(INT64_C(1) << 20)
#define CACHE_MIN_BYTES (256 * MIB)
#define CACHE_BAD_SHARE                                                                                      \
	0.8 /* of what the process may use; the rest is connections, and what is not in the cache */
#define ROUNDING	      1.01
#define TCMALLOC_ADDRESS_BITS 48

/* ---- limits -------------------------------------------------------------------------------------------- */

static const char *limit_text(char *text, int64_t bytes)
{
	return bytes == INT64_MAX ? "none" : format_bytes(text, (double)bytes);
}

static void check_limit(struct judge *judge)
{
	const struct facts *facts = judge->facts;
	char limit[FORMAT_TEXT_BYTES], high[FORMAT_TEXT_BYTES];
	if (judge_lacks(judge, FACT_CGROUP_LIMIT_BYTES))
		return;
	int64_t kills = fact_number(facts, FACT_CGROUP_OOM_KILLS, 0),
		bytes = fact_number(facts, FACT_CGROUP_LIMIT_BYTES, INT64_MAX),
		soft = fact_number(facts, FACT_CGROUP_HIGH_BYTES, INT64_MAX);
	judge_found(judge,
		    "cgroup v%" PRId64 ", limit %s, memory.high %s, processes killed for memory: %" PRId64,
		    fact_number(facts, FACT_CGROUP_VERSION, 0), limit_text(limit, bytes),
		    limit_text(high, soft), kills);
	judge_wanted(judge, "memory.high none, nothing killed");
	if (soft < bytes) {
		judge_state(judge, DOCTOR_WARN);
		judge_advice(judge,
			     "raise memory.high to the limit: above it the kernel holds the process up "
			     "at each allocation");
	} else if (kills > 0) {
		judge_state(judge, DOCTOR_WARN);
		judge_advice(judge, "give the cgroup more memory, or WiredTiger a smaller cache");
	}
}

/* ---- WiredTiger's cache -------------------------------------------------------------------------------- */

static int64_t usable_bytes(const struct facts *facts)
{
	int64_t memory = fact_number(facts, FACT_MEMORY_BYTES, INT64_MAX);
	int64_t limit = fact_number(facts, FACT_CGROUP_LIMIT_BYTES, INT64_MAX);
	return limit < memory ? limit : memory;
}

/* Manual, storage.wiredTiger.engineConfig.cacheSizeGB: the larger of 50% of (RAM - 1 GB), and 256 MB. */
static int64_t default_cache(int64_t usable)
{
	int64_t half = (usable - GIB) / 2;
	return half > CACHE_MIN_BYTES ? half : CACHE_MIN_BYTES;
}

static void check_cache(struct judge *judge)
{
	const struct facts *facts = judge->facts;
	char cache[FORMAT_TEXT_BYTES], usable_text[FORMAT_TEXT_BYTES], wanted[FORMAT_TEXT_BYTES];
	if (judge_lacks(judge, FACT_CACHE_BYTES) || judge_lacks(judge, FACT_MEMORY_BYTES))
		return;
	int64_t bytes = fact_number(facts, FACT_CACHE_BYTES, 0), usable = usable_bytes(facts);
	int64_t by_default = default_cache(usable);
	judge_wanted(judge, "%s or less, mongod's default", format_bytes(wanted, (double)by_default));
	format_bytes(usable_text, (double)usable);
	if (bytes == 0) {
		judge_found(judge, "not set: mongod's default of %s of memory", usable_text);
		return;
	}
	judge_found(judge, "%s of %s that the process may use (%s)", format_bytes(cache, (double)bytes),
		    usable_text, fact_from(facts, FACT_CACHE_BYTES));
	if ((double)bytes <= (double)by_default * ROUNDING)
		return;
	judge_state(judge, (double)bytes > (double)usable * CACHE_BAD_SHARE ? DOCTOR_BAD : DOCTOR_WARN);
	judge_fix(judge,
		  "mongosh --quiet --eval 'db.adminCommand({setParameter: 1, wiredTigerEngineRuntimeConfig: "
		  "\"cache_size=%" PRId64 "M\"})'",
		  by_default / MIB);
	judge_advice(judge,
		     "to keep it: storage.wiredTiger.engineConfig.cacheSizeGB: %.2f in its configuration",
		     (double)by_default / (double)GIB);
}

/* ---- AArch64 ------------------------------------------------------------------------------------------- */

static void check_address_space(struct judge *judge)
{
	if (judge_lacks(judge, FACT_ADDRESS_BITS))
		return;
	int64_t bits = fact_number(judge->facts, FACT_ADDRESS_BITS, 0);
	judge_found(judge, "%" PRId64 " bits of address space (%s)", bits,
		    fact_from(judge->facts, FACT_ADDRESS_BITS));
	judge_wanted(judge, "48 bits");
	if (bits >= TCMALLOC_ADDRESS_BITS)
		return;
	judge_state(judge, DOCTOR_BAD);
	judge_advice(
		judge,
		"boot a kernel built with CONFIG_ARM64_VA_BITS_48=y; those of some single-board computers "
		"have 39");
}

static void check_atomics(struct judge *judge)
{
	const struct facts *facts = judge->facts;
	if (judge_lacks(judge, FACT_CPU_LSE) || judge_lacks(judge, FACT_LIBC_ATOMICS))
		return;
	bool has_lse = fact_number(facts, FACT_CPU_LSE, 0);
	judge_found(judge,
		    "the processor has %s; its C library: %s (%" PRId64 " LSE, %" PRId64
		    " exclusive instructions)",
		    has_lse ? "LSE" : "no LSE", fact_text(facts, FACT_LIBC_ATOMICS),
		    fact_number(facts, FACT_LIBC_LSE_COUNT, 0),
		    fact_number(facts, FACT_LIBC_EXCLUSIVE_COUNT, 0));
	judge_wanted(judge, has_lse ? "inline-lse or outline" : "outline or no-lse");
	if (has_lse && fact_is(facts, FACT_LIBC_ATOMICS, "no-lse")) {
		judge_state(judge, DOCTOR_WARN);
		judge_advice(
			judge,
			"use a C library built with -moutline-atomics, as the distributions do, or -march="
			"armv8.1-a and newer");
	} else if (!has_lse && fact_is(facts, FACT_LIBC_ATOMICS, "inline-lse")) {
		judge_state(judge, DOCTOR_BAD);
		judge_advice(judge,
			     "this C library dies of its first atomic operation on this processor: use the "
			     "distribution's");
	}
}

const struct doctor_check doctor_checks_memory[] = {
	{"cgroup-memory", APPLIES_LIVE, check_limit,
	 "mongod sizes its cache by the limit, and the kernel kills it above",
	 "https://docs.kernel.org/admin-guide/cgroup-v2.html"},
	{"cache-size", APPLIES_PROCESS, check_cache,
	 "what does not fit beside the cache (connections, sorts, index builds, the allocator's own) is "
	 "taken from the "
	 "file cache first, and ends in a kill",
	 SOURCE_PRODUCTION},
	{"address-space", APPLIES_GOOGLE | APPLIES_AARCH64, check_address_space,
	 "TCMalloc keeps marks in bits 42 to 44 of its addresses: with fewer bits it cannot start",
	 "https://docs.kernel.org/arch/arm64/memory.html"},
	{"lse", APPLIES_PROCESS | APPLIES_AARCH64, check_atomics,
	 "locks taken by exclusive pairs collapse under contention on processors that have LSE",
	 "https://learn.arm.com/learning-paths/servers-and-cloud-computing/lse/"},
	{0},
};
