# shellcheck shell=bash disable=SC2154,SC2034,SC2016
# What the allocator says of itself, and who owns rseq.

# The report of LABEL's trace, into the folder LABEL.report; LABEL.findings are the ids of its findings.
report() { # LABEL
	timeout "$limit_s" "$analyze" report --json "$PWD/$1.mtr" -o "$PWD/$1.report" >"$1.report.json" 2>"$1.report.err" ||
		fail "$1: mtrace-analyze report ends with $?: $(head -n 2 "$1.report.err" | tr '\n' ' ')"
	jq -r '.findings[].id' "$1.report.json" >"$1.findings"
}

has_finding() { # LABEL ID
	grep -qx "$2" "$1.findings" || fail "$1: no finding $2 (found: $(tr '\n' ' ' <"$1.findings"))"
}

has_no_finding() { # LABEL ID
	! grep -qx "$2" "$1.findings" || fail "$1: finding $2: $(jq -r ".findings[] | select(.id == \"$2\") | .text" "$1.report.json")"
}

# Something that must be true of a series that a report has.
series() { # LABEL NAME JQ-EXPRESSION
	jq -e --arg name "$2" ".series[] | select(.name == \$name) | $3" "$1.report.json" >/dev/null ||
		fail "$1: series $2: not so: $3 (found: $(jq -c --arg name "$2" '.series[] | select(.name == $name)' "$1.report.json"))"
}

statistics() { # GUEST SCENARIO
	local mode
	settings=(MTRACE_INTERVAL_MS=250)
	guest "$1" "$2"
	complete
	for mode in sample full; do
		report "$mode"
	done
}

case_allocator_healthy() {
	statistics tcstats healthy
	local mode
	for mode in sample full; do
		fact "$mode" '.allocator.kind == "google-tcmalloc" and .allocator.per_cpu_caches_active == true'
		fact "$mode" '.allocator.max_per_cpu_cache_bytes == 1572864 and .allocator.values["tcmalloc.cpu_free"] == 123456'
		fact "$mode" '.allocator.values | has("tcmalloc.local_bytes") | not'
		fact "$mode" '.allocator.cpus | length == 3 and .[1].unallocated_bytes == 501 and .[1].reclaims == 7'
		series "$mode" tcmalloc_cpu_free_bytes '.points >= 3 and .min == 123456 and .max == 123456'
		series "$mode" tcmalloc_underflows_per_s '.points >= 2 and .max > 0'
		series "$mode" tcmalloc_metadata_bytes '.points == 0 and .mean == null'
		has_no_finding "$mode" capacity-zero
		has_no_finding "$mode" per-thread-caches
	done
}

case_allocator_capacity_zero() {
	statistics tcstats zero
	local mode
	for mode in sample full; do
		fact "$mode" '.allocator.per_cpu_caches_active == true and .allocator.max_per_cpu_cache_bytes == 0'
		has_finding "$mode" capacity-zero
		has_no_finding "$mode" per-thread-caches
	done
}

# A limit that was set later says nothing of the capacity: the misses do.
case_allocator_misses() {
	statistics tcstats misses
	local mode
	for mode in sample full; do
		fact "$mode" '.allocator.max_per_cpu_cache_bytes == 1572864'
		has_finding "$mode" capacity-zero
	done
}

case_allocator_falls_back() {
	statistics tcstats fallback
	local mode
	for mode in sample full; do
		fact "$mode" '.allocator.per_cpu_caches_active == false and .allocator.values["tcmalloc.thread_cache_count"] == 31'
		has_finding "$mode" per-thread-caches
		has_no_finding "$mode" capacity-zero
	done
}

case_allocator_some_functions_missing() {
	statistics tcstats-part zero
	local mode
	for mode in sample full; do
		fact "$mode" '.allocator.kind == "google-tcmalloc" and .allocator.values["tcmalloc.cpu_free"] == null'
		has_finding "$mode" capacity-zero
	done
}

case_allocator_gperftools() {
	statistics tcstats-gperftools healthy
	local mode
	for mode in sample full; do
		fact "$mode" '.allocator.kind == "gperftools" and .allocator.per_cpu_caches_active == null and .allocator.cpus == null'
		series "$mode" tcmalloc_thread_free_bytes '.max == 777'
		series "$mode" tcmalloc_lock_wait_ns_per_s '.points >= 2 and .max == 0'
		has_no_finding "$mode" per-thread-caches
	done
}

# A text that costs much is asked for rarely, and its age is said.
case_allocator_costly_text() {
	settings=(MTRACE_INTERVAL_MS=250)
	guest tcstats costly
	complete
	local mode
	for mode in sample full; do
		fact "$mode" '.allocator.per_cpu_age_s > 0.4 and .allocator.values_age_s == 0'
	done
}

case_allocator_fork_while_asked() {
	settings=(MTRACE_INTERVAL_MS=250)
	guest tcstats fork
	complete
}

case_allocator_none() {
	guest counted
	info full
	fact full '.allocator.kind == "none" and .allocator.values == null'
}

# ---- rseq ----------------------------------------------------------------------------------------------------------

glibc_leaves_rseq=(env GLIBC_TUNABLES=glibc.pthread.rseq=0)

# What the kernel answered without the shim decides what can be shown.
rseq_guest() { # MODE ERRNO-OF-MAIN
	guest rseqapp "$1"
	grep -qx "main: errno $2" plain.out || skip "here rseq ends otherwise: $(grep main: plain.out)"
	complete
}

# Whether events of SIZE bytes have a CPU number.
cpu_known() { # SIZE
	"$analyze" export --format ndjson full.mtr 2>/dev/null |
		jq -se "map(select(.kind == \"malloc\" and .size_bytes == $1)) | length == 50 and all(has(\"cpu\"))" >/dev/null
}

case_rseq_glibc() {
	rseq_guest threads 22
	local mode
	for mode in sample full; do
		fact "$mode" '.rseq | .owner == "glibc" and .since_s == 0 and .first_failure_errno == 22 and .per_cpu_caches_possible == false'
		report "$mode"
		has_finding "$mode" rseq-failed
	done
	cpu_known 1000 || fail "glibc's area is not used for CPU numbers"
}

case_rseq_application() {
	before=("${glibc_leaves_rseq[@]}")
	rseq_guest threads 0
	local mode
	for mode in sample full; do
		fact "$mode" '.rseq | .owner == "application" and .since_s > 0 and .first_failure_errno == null and .per_cpu_caches_possible == true'
		report "$mode"
		has_no_finding "$mode" rseq-failed
	done
	! cpu_known 1000 || fail "a CPU number from before there was an area"
	cpu_known 2000 || fail "the program's area is not used for CPU numbers"
	cpu_known 256 && fail "150 blocks of 256 bytes were expected"
	"$analyze" export --format ndjson full.mtr 2>/dev/null |
		jq -se 'map(select(.kind == "malloc" and .size_bytes == 256)) | length == 150 and all(has("cpu"))' >/dev/null ||
		fail "the areas of later threads are not used for CPU numbers"
}

case_rseq_first_registration_fails() {
	before=("${glibc_leaves_rseq[@]}")
	rseq_guest fail-first 0
	local mode
	for mode in sample full; do
		fact "$mode" '.rseq | .owner == "application" and .failures == 1 and .first_failure_errno == 22'
	done
}

case_rseq_unregistered() {
	before=("${glibc_leaves_rseq[@]}")
	rseq_guest unregister 0
	local mode
	for mode in sample full; do
		fact "$mode" '.rseq | .owner == "none" and .since_s == null and .registrations == 1'
	done
	cpu_known 2000 || fail "the program's area is not used for CPU numbers"
	! cpu_known 3000 || fail "a CPU number from an area that is unregistered"
}

# The counters alone: without the events it is known who, not since when.
case_rseq_quick() {
	before=("${glibc_leaves_rseq[@]}")
	rseq_guest threads 0
	"$analyze" info --quick --json full.mtr >quick.json
	fact quick '.rseq | .owner == "application" and .since_s == null'
}
