# shellcheck shell=bash
# Measuring in pairs; sourced by scripts/bench.sh and bench/peers.sh.
#
# arm      one way to run the same program: untraced, under the shim in a mode, under a peer
# base     the arm that another is compared with; it runs in the same round
# round    each arm once, right after each other; the order changes from round to round, so that a drift of the
#          machine meets all of them. ycsb runs its base a second time in each round (arm "again"): the mean of the
#          two is what the others are compared with, and the ratio of the two shows the noise
#
# A figure of an arm is compared within its round, and the median over the rounds is what is reported, with the least
# and the greatest beside it. Lost events are summed over the rounds; bytes on disk are per event, where each call is
# one (full mode). Every single figure goes to results.tsv: part, workload, arm, round, metric, value.
#
# The script that sources this exits with bench_failed, which is 1 after a run that failed.

# shellcheck source-path=SCRIPTDIR/../scripts source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/common.sh"

out=${BENCH_DIR:-build/bench}
seconds=${BENCH_SECONDS:-60}
rounds=${BENCH_ROUNDS:-5}
threads=${BENCH_THREADS:-$(nproc)}
whole_number BENCH_SECONDS "$seconds"
whole_number BENCH_ROUNDS "$rounds"
whole_number BENCH_THREADS "$threads"
shim=$root/build/libmtrace.so
mkdir -p "$out"
out=$(cd "$out" && pwd)
tsv=$out/results.tsv
# shellcheck disable=SC2034
bench_failed=0

record() {
	local IFS=$'\t'
	printf '%s\n' "$*" >>"$tsv"
}

complain() {
	# shellcheck disable=SC2034
	bench_failed=1
	warn "$@"
}

conditions() {
	local cpu thp defrag
	cpu=$(lscpu 2>/dev/null | sed -n 's/^Model name: *//p' | head -n 1)
	thp=$(cat /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null || say unknown)
	defrag=$(cat /sys/kernel/mm/transparent_hugepage/defrag 2>/dev/null || say unknown)
	cat <<TEXT
date       $(date -u +%Y-%m-%dT%H:%MZ), commit $(git describe --always --dirty 2>/dev/null || say unknown)
machine    ${cpu:-unknown CPU}, $(uname -m), $(nproc) CPUs, $(awk '/^MemTotal/ { printf "%.1f GiB", $2 / 1048576 }' /proc/meminfo)
kernel     $(uname -r), $(getconf GNU_LIBC_VERSION), clock $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource 2>/dev/null || say unknown)
THP        enabled $thp, defrag $defrag
load       $(cut -d ' ' -f 1-3 /proc/loadavg) before the start
files      $out ($(df --output=fstype "$out" | tail -n 1))
settings   $rounds rounds of $seconds s, $threads threads
TEXT
	awk -v cpus="$(nproc)" '{ exit !($1 > 0.3 * cpus) }' /proc/loadavg &&
		warn "this machine is not idle; the figures will not hold"
	return 0
}

# Sets `prefix`, the command in front of the program; a trace goes to $out/trace.mtr.
prefix=()
arm_prefix() {
	local traced=(env "LD_PRELOAD=$shim" "MTRACE_OUT=$out/trace.mtr")
	local profile=prof:true,lg_prof_sample:19,prof_final:false
	case $1 in
	untraced | again) prefix=(env) ;;
	sample) prefix=("${traced[@]}" MTRACE_MODE=sample) ;;
	full) prefix=("${traced[@]}" MTRACE_MODE=full MTRACE_STACK_DEPTH=0) ;;
	locks) prefix=("${traced[@]}" MTRACE_MODE=sample MTRACE_LOCKS=1) ;;
	full-stacks) prefix=("${traced[@]}" MTRACE_MODE=full) ;;
	heaptrack) prefix=(heaptrack --raw -o "$out/peer-heaptrack") ;;
	jemalloc) prefix=(env LD_PRELOAD=libjemalloc.so.2) ;;
	jemalloc-profile) prefix=(env LD_PRELOAD=libjemalloc.so.2 "MALLOC_CONF=$profile") ;;
	tcmalloc) prefix=(env LD_PRELOAD=libtcmalloc.so.4 TCMALLOC_SAMPLE_PARAMETER=0) ;;
	tcmalloc-sampling) prefix=(env LD_PRELOAD=libtcmalloc.so.4 TCMALLOC_SAMPLE_PARAMETER=524288) ;;
	*) die "no arm is called $1" ;;
	esac
}

is_traced() { [ "$1" = sample ] || [ "$1" = locks ] || [ "$1" = full ] || [ "$1" = full-stacks ]; }

remove_traces() { rm -f "$out"/trace.mtr* "$out"/peer-*; }

# record_trace PART WORKLOAD ARM ROUND: what the trace of a run says about itself.
record_trace() {
	local facts
	is_traced "$3" || return 0
	if ! facts=$(build/mtrace-analyze info --json "$out/trace.mtr"); then
		complain "$1 $2, $3: no readable trace"
		return 0
	fi
	while read -r metric value; do
		record "$@" "$metric" "$value"
	done < <(jq -r '"events \(.events)", "lost \(.lost)", "trace_bytes \(.trace_bytes)"' <<<"$facts")
}

# rotated ROUND ARM...: the arms in this round's order, one a line.
rotated() {
	local shift=$((($1 - 1) % ($# - 1)))
	shift
	printf '%s\n' "${@:shift+1}" "${@:1:shift}"
}

# ---- parts -------------------------------------------------------------------------------------------------------

# mallocbench_part ARM...
mallocbench_part() {
	local round arm line
	for ((round = 1; round <= rounds; round++)); do
		while read -r arm; do
			arm_prefix "$arm"
			remove_traces
			printf 'mallocbench  round %d  %s\n' "$round" "$arm"
			if ! timeout 600 "${prefix[@]}" build/mallocbench -threads "$threads" --json \
				>"$out/run.out" 2>"$out/run.err" </dev/null; then
				complain "mallocbench, $arm: ended badly: $(tail -n 1 "$out/run.err")"
				continue
			fi
			while read -r line; do
				record mallocbench "${line% *} threads" "$arm" "$round" ns_per_pair "${line#* }"
			done < <(grep -o '{"pairs.*' "$out/run.out" |
				jq -r --argjson n "$threads" '.results[] | select(.threads == 1 or .threads == $n) | "\(.threads) \(.ns_per_pair)"')
			record_trace mallocbench "1 to $threads threads" "$arm" "$round"
		done < <(rotated "$round" "$@")
	done
	remove_traces
}

# locks_part ARM...: an uncontended pair, with one lock and with more than a thread's table has room for.
locks_part() {
	local round arm locks line
	for locks in 1 1000; do
		for ((round = 1; round <= rounds; round++)); do
			while read -r arm; do
				arm_prefix "$arm"
				remove_traces
				printf 'locks        round %d  %s, %d locks\n' "$round" "$arm" "$locks"
				if ! timeout 600 "${prefix[@]}" build/lockbench -locks "$locks" --json \
					>"$out/run.out" 2>"$out/run.err" </dev/null; then
					complain "lockbench, $arm: ended badly: $(tail -n 1 "$out/run.err")"
					continue
				fi
				while read -r line; do
					record locks "${line% *} of $locks" "$arm" "$round" ns_per_pair "${line#* }"
				done < <(grep -o '{"locks.*' "$out/run.out" | jq -r '.results[] | "\(.kind) \(.ns_per_pair)"')
			done < <(rotated "$round" "$@")
		done
	done
	remove_traces
}

# Workloads of the embedded engine: documents, cache.
ycsb_workload() {
	case $1 in
	in-cache) workload_records=100000 workload_cache=1G ;;
	quarter-cache) workload_records=200000 workload_cache=60M ;;
	*) die "no workload is called $1" ;;
	esac
}

# What runs the workload, and under which name its figures are recorded.
program=build/ycsb-embedded ycsb_name=ycsb
engine=$(build/ycsb-embedded --help | sed -n 's/^Engines of this build.*: \([a-z]*\) .*/\1/p')

# ycsb_embedded LIMIT_S PHASE FOLDER [ARG...]: behind `prefix`; ended where it hangs. Output in $out/run.out and .err.
ycsb_embedded() {
	timeout "$1" "${prefix[@]}" "$program" "$2" "$engine" -threads "$threads" \
		-p "recordcount=$workload_records" -p "$engine.dir=$3" -p "$engine.cache=$workload_cache" \
		-p maxscanlength=50 "${@:4}" >"$out/run.out" 2>"$out/run.err" </dev/null
}

# A database loaded once; every run gets a copy of it, written out before the clock starts, so that all runs begin
# with the same files, cold engine cache and warm page cache.
template_database() {
	local folder=$out/database-$engine-$workload_records
	if [ ! -e "$folder.loaded" ]; then
		rm -rf "$folder"
		mkdir "$folder"
		say "loading $workload_records documents into $engine"
		prefix=(env)
		ycsb_embedded 600 load "$folder" || die "loading failed: $(tail -n 1 "$out/run.err")"
		: >"$folder.loaded"
	fi
	rm -rf "$out/database"
	cp -r "$folder" "$out/database"
	sync
}

# ycsb_run WORKLOAD ARM ROUND
ycsb_run() {
	local throughput
	template_database
	remove_traces
	arm_prefix "$2"
	printf '%s %s  round %d  %-18s' "$ycsb_name" "$1" "$3" "$2"
	if ! ycsb_embedded $((seconds * 3 + 120)) run "$out/database" -p "maxexecutiontime=$seconds"; then
		say "failed"
		complain "$ycsb_name $1, $2: ended badly: $(tail -n 1 "$out/run.err")"
		return 0
	fi
	throughput=$(sed -n 's/.*\[OVERALL\], Throughput(ops\/sec), //p' "$out/run.out")
	say "$throughput ops/s"
	record "$ycsb_name" "$1" "$2" "$3" ops_s "$throughput"
	record_trace "$ycsb_name" "$1" "$2" "$3"
}

# ycsb_part ARM...
ycsb_part() {
	local workload round arm
	for workload in in-cache quarter-cache; do
		ycsb_workload "$workload"
		for ((round = 1; round <= rounds; round++)); do
			while read -r arm; do
				ycsb_run "$workload" "$arm" "$round"
			done < <(rotated "$round" "$@")
		done
	done
	rm -rf "$out/database"
	remove_traces
}

# ---- tables ------------------------------------------------------------------------------------------------------

# table PART METRIC ratio|difference: each arm against its base, within rounds.
table() {
	awk -F '\t' -v part="$1" -v metric="$2" -v how="$3" '
		function median(list, n, sorted, i, j, value) {
			for (i = 1; i <= n; i++) {
				value = list[i]
				for (j = i - 1; j > 0 && sorted[j] > value; j--) sorted[j + 1] = sorted[j]
				sorted[j + 1] = value
			}
			least = sorted[1]; most = sorted[n]
			return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
		}
		function base_of(arm) { return arm ~ /^jemalloc-/ ? "jemalloc" : arm ~ /^tcmalloc-/ ? "tcmalloc" : "untraced" }
		$1 != part { next }
		!(($2, $3) in known) { known[$2, $3] = 1; order[++rows] = $2 FS $3 }
		{ value[$2, $3, $4, $5] = $6; if ($4 > rounds) rounds = $4 }
		$5 == "lost" { lost[$2, $3] += $6; traced[$2, $3] = 1 }
		$5 == "events" { events[$2, $3] += $6 }
		$5 == "trace_bytes" { bytes[$2, $3] += $6 }
		END {
			printf "%-16s %-18s %12s  %-7s %-15s %10s %12s\n", part, "arm", metric, how == "ratio" ? "ratio" : "added", "least..most", "lost", "bytes/event"
			for (r = 1; r <= rows; r++) {
				split(order[r], key, FS); w = key[1]; arm = key[2]
				n = m = 0
				split("", own); split("", against)
				for (i = 1; i <= rounds; i++) {
					if (!((w, arm, i, metric) in value)) continue
					own[++n] = value[w, arm, i, metric]
					base = base_of(arm)
					if (arm == base || !((w, base, i, metric) in value)) continue
					b = value[w, base, i, metric]
					if (base == "untraced" && arm != "again" && ((w, "again", i, metric) in value))
						b = (b + value[w, "again", i, metric]) / 2
					against[++m] = how == "ratio" ? own[n] / b : own[n] - b
				}
				split("", sorted)
				if (n) line = sprintf("%-16s %-18s %12.1f", w, arm, median(own, n, sorted))
				else line = sprintf("%-16s %-18s %12s", w, arm, "")
				split("", sorted)
				if (m) { mid = median(against, m, sorted); line = line sprintf("  %-7.3f %-15s", mid, sprintf("%.3f..%.3f", least, most)) }
				else line = line sprintf("  %-7s %-15s", "", "")
				if ((w, arm) in traced) line = line sprintf(" %10d", lost[w, arm])
				if (arm ~ /^full/ && events[w, arm]) line = line sprintf(" %12.2f", bytes[w, arm] / events[w, arm])
				print line
			}
		}' "$tsv"
}
