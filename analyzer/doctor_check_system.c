/* Memory settings of the kernel. */
#include <inttypes.h>
#include <string.h>

#include "analyzer/doctor_check.h"
#include "analyzer/format.h"

/* MongoDB takes connections up to 80% of its descriptors, and maps two areas a connection: a stack and its
 * guard (startup warning 5123300). */
#define CONNECTIONS_SHARE    0.8
#define CONNECTIONS_MAX	     1000000
#define AREAS_PER_CONNECTION 2
#define MAP_COUNT_MIN	     128000 /* of the operations checklist */

static void fix_sysctl(struct judge *judge, const char *name, int64_t value)
{
	judge_fix(judge, "echo %" PRId64 " >/proc/sys/vm/%s", value, name);
	judge_advice(judge, "to keep it: the line vm.%s=%" PRId64 " in a file in /etc/sysctl.d", name, value);
}

static void check_overcommit(struct judge *judge)
{
	if (judge_lacks(judge, FACT_OVERCOMMIT))
		return;
	int64_t mode = fact_number(judge->facts, FACT_OVERCOMMIT, 0);
	judge_found(judge, "%" PRId64 " (%s)", mode, fact_from(judge->facts, FACT_OVERCOMMIT));
	if (judge->profile != PROFILE_GOOGLE && mode != 2)
		return;
	judge_wanted(judge, "1");
	if (mode == 1)
		return;
	judge_state(judge, mode == 2 ? DOCTOR_BAD : DOCTOR_WARN);
	fix_sysctl(judge, "overcommit_memory", 1);
}

static void check_swappiness(struct judge *judge)
{
	char text[FORMAT_TEXT_BYTES];
	if (judge_lacks(judge, FACT_SWAPPINESS))
		return;
	int64_t swappiness = fact_number(judge->facts, FACT_SWAPPINESS, 0);
	int64_t swap = fact_number(judge->facts, FACT_SWAP_BYTES, -1);
	judge_found(judge, "%" PRId64 ", %s%s", swappiness, swap > 0 ? format_bytes(text, (double)swap) : "",
		    swap > 0	? " of swap"
		    : swap == 0 ? "no swap"
				: "swap not known");
	judge_wanted(judge, "0 or 1, or no swap");
	if (swap == 0 || swappiness <= 1)
		return;
	judge_state(judge, DOCTOR_WARN);
	fix_sysctl(judge, "swappiness", 1);
}

static void check_zone_reclaim(struct judge *judge)
{
	if (judge_lacks(judge, FACT_ZONE_RECLAIM))
		return;
	int64_t mode = fact_number(judge->facts, FACT_ZONE_RECLAIM, 0);
	judge_found(judge, "%" PRId64 " (%s)", mode, fact_from(judge->facts, FACT_ZONE_RECLAIM));
	judge_wanted(judge, "0");
	if (mode == 0)
		return;
	judge_state(judge, DOCTOR_WARN);
	fix_sysctl(judge, "zone_reclaim_mode", 0);
}

/* Without a process: as many as the checklist says. */
static int64_t areas_wanted(const struct facts *facts, int64_t *connections)
{
	int64_t files = fact_number(facts, FACT_OPEN_FILES, -1);
	*connections = -1;
	if (files < 0)
		return MAP_COUNT_MIN;
	*connections =
		files > CONNECTIONS_MAX * 2 ? CONNECTIONS_MAX : (int64_t)(CONNECTIONS_SHARE * (double)files);
	if (*connections > CONNECTIONS_MAX)
		*connections = CONNECTIONS_MAX;
	return *connections * AREAS_PER_CONNECTION;
}

static void check_map_count(struct judge *judge)
{
	int64_t connections;
	if (judge_lacks(judge, FACT_MAX_MAP_COUNT))
		return;
	int64_t found = fact_number(judge->facts, FACT_MAX_MAP_COUNT, 0),
		wanted = areas_wanted(judge->facts, &connections);
	judge_found(judge, "%" PRId64 " (%s)", found, fact_from(judge->facts, FACT_MAX_MAP_COUNT));
	if (connections >= 0)
		judge_wanted(judge, "at least %" PRId64 ", two for each of %" PRId64 " connections", wanted,
			     connections);
	else
		judge_wanted(judge, "at least %" PRId64, wanted);
	if (found >= wanted)
		return;
	judge_state(judge, DOCTOR_WARN);
	fix_sysctl(judge, "max_map_count", wanted);
}

/* Interleaving is a property of a process; of the machine alone there is nothing to say but that it matters.
 */
static void check_numa(struct judge *judge)
{
	const char *policy = fact_text(judge->facts, FACT_NUMA_POLICY);
	if (judge_lacks(judge, FACT_NUMA_NODES))
		return;
	int64_t nodes = fact_number(judge->facts, FACT_NUMA_NODES, 1);
	if (nodes == 1) {
		judge_found(judge, "one node");
		return;
	}
	judge_wanted(judge, "memory interleaved over the nodes");
	if (!fact_known(judge->facts, FACT_NUMA_POLICY)) {
		judge->finding->state = DOCTOR_UNKNOWN;
		judge_found(judge, "%" PRId64 " nodes; how a mongod spreads its memory is not known: %s",
			    nodes, fact_reason(judge->facts, FACT_NUMA_POLICY));
		judge_advice(judge, "start it with numactl --interleave=all, and check it with --pid");
		return;
	}
	judge_found(judge, "%" PRId64 " nodes, policy %s", nodes, policy);
	if (!strcmp(policy, "interleave"))
		return;
	judge_state(judge, DOCTOR_WARN);
	if (!judge_fix_command(judge, NULL, NULL, "numactl --interleave=all "))
		judge_advice(judge, "put numactl --interleave=all before mongod in what starts it");
}

const struct doctor_check doctor_checks_system[] = {
	{"overcommit", APPLIES_ALWAYS, check_overcommit,
	 "TCMalloc reserves address space by the GiB; a kernel that counts it refuses memory that is there",
	 SOURCE_TCMALLOC},
	{"swappiness", APPLIES_ALWAYS, check_swappiness,
	 "memory of the cache that was swapped out is read back in the middle of an operation",
	 SOURCE_PRODUCTION},
	{"zone-reclaim", APPLIES_ALWAYS, check_zone_reclaim,
	 "the kernel would rather drop the file cache of a node than use memory of another",
	 SOURCE_PRODUCTION},
	{"max-map-count", APPLIES_ALWAYS, check_map_count,
	 "a connection's thread that cannot map its stack is a connection refused", SOURCE_CHECKLIST},
	{"numa", APPLIES_ALWAYS, check_numa,
	 "memory of one node fills up while another is free, and most accesses are remote",
	 SOURCE_PRODUCTION},
	{0},
};
