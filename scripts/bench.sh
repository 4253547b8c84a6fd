#!/usr/bin/env bash
# scripts/bench.sh [PART...]
#
# What tracing costs, measured in pairs on this machine (method: bench/pairs.sh). Parts, all but peers by default:
#   mallocbench  nanoseconds added to a malloc/free pair, 1 thread and BENCH_THREADS
#   locks        nanoseconds added to an uncontended lock/unlock pair, with MTRACE_LOCKS=0 ("sample") and 1 ("locks")
#   ycsb         throughput of ycsb-embedded, all data in cache and with a cache a quarter of it; lost events and
#                bytes an event on disk
#   patched      the same of build/host/standin, which carries its allocator inside as mongod does: its entries are patched
#   decode       events that mtrace-analyze decodes a second
#   pages        the looks at the pages of a large process, beside other ways to read them (bench/pages.sh)
#   peers        ycsb under other tracers and profilers that are installed (bench/peers.sh)
#
# Environment: BENCH_SECONDS=60 of each ycsb run, BENCH_ROUNDS=5, BENCH_THREADS (default: number of CPUs),
# BENCH_ARMS="sample full" (also full-stacks; "full" is without stacks), BENCH_DIR=build/bench for databases (400 MB),
# traces (up to a few GB while a run lasts) and results.tsv, which holds every single figure. On a machine whose disk
# is shared, a folder in memory (/dev/shm/bench) makes the smaller noise.
#
# By default it takes about 90 minutes, on a machine that should do nothing else. Exit status: 0 measured; 1 a run failed; 2 wrong usage.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

parts=("$@")
if [ $# = 0 ]; then
	parts=(mallocbench ycsb decode)
	[ ! -x build/lockbench ] || parts+=(locks)
	[ ! -x build/pagesbench ] || parts+=(pages)
	[ ! -x build/host/standin ] || parts+=(patched)
fi
for part in "${parts[@]}"; do
	case $part in
	mallocbench | locks | ycsb | patched | decode | pages | peers) ;;
	-h | --help) usage && exit 0 ;;
	*) wrong_usage "no part is called $part" ;;
	esac
done
for program in libmtrace.so mtrace-analyze ycsb-embedded mallocbench; do
	[ -e "build/$program" ] || die "build/$program is not there: run make"
done
command -v jq >/dev/null || die "jq is missing: scripts/deps.sh --test installs it"
# shellcheck source-path=SCRIPTDIR/../bench source=pairs.sh
. bench/pairs.sh
read -r -a arms <<<"${BENCH_ARMS:-sample full}"
for arm in "${arms[@]}"; do arm_prefix "$arm"; done
[[ " ${parts[*]} " != *" locks "* ]] || [ -x build/lockbench ] || die "build/lockbench is not there: make bench builds it"

# timed COMMAND...: seconds it took, on standard output; its own output is thrown away.
timed() {
	local start=${EPOCHREALTIME/./} end
	"$@" >/dev/null || return 1
	end=${EPOCHREALTIME/./}
	awk -v us=$((end - start)) 'BEGIN { printf "%.3f\n", us / 1000000 }'
}

# Every command here reads and decodes each event of a full trace; the file is in the page cache.
decode_part() {
	local command events took
	ycsb_workload in-cache
	template_database
	remove_traces
	arm_prefix full
	ycsb_embedded 300 run "$out/database" -p maxexecutiontime=15 || die "no trace to decode: $(tail -n 1 "$out/run.err")"
	rm -rf "$out/database"
	events=$(build/mtrace-analyze info --json "$out/trace.mtr" | jq .events)
	say "decode: $events events, $(stat -c %s "$out/trace.mtr") bytes"
	for command in info sites "export --format csv"; do
		# shellcheck disable=SC2086 # a command and its options
		if ! took=$(timed build/mtrace-analyze $command "$out/trace.mtr"); then
			complain "decode: mtrace-analyze $command failed"
			continue
		fi
		record decode "$command" analyzer 1 events_s "$(awk -v n="$events" -v t="$took" 'BEGIN { printf "%.0f", n / t }')"
		awk -v c="$command" -v n="$events" -v t="$took" 'BEGIN { printf "%-22s %6.2f s  %6.2f million events/s\n", c, t, n / t / 1e6 }'
	done
	remove_traces
}

patched_part() {
	[ -x build/host/standin ] || die "build/host/standin is not there: make host builds it where libwiredtiger.a and libtcmalloc_minimal.a are installed"
	program=build/host/standin ycsb_name=patched
	ycsb_part untraced "${arms[@]}" again
	program=build/ycsb-embedded ycsb_name=ycsb
}

: >"$tsv"
conditions | tee "$out/conditions.txt"
say
for part in "${parts[@]}"; do
	case $part in
	mallocbench) mallocbench_part untraced "${arms[@]}" ;;
	locks) locks_part untraced sample locks ;;
	ycsb) ycsb_part untraced "${arms[@]}" again ;;
	patched) patched_part ;;
	decode) decode_part ;;
	pages) bench/pages.sh || bench_failed=1 ;;
	peers) bench/peers.sh || bench_failed=1 ;;
	esac
	say
done
for part in "${parts[@]}"; do
	case $part in
	locks) table locks ns_per_pair difference && say ;;
	mallocbench) table mallocbench ns_per_pair difference && say ;;
	ycsb | patched) table "$part" ops_s ratio && say ;;
	esac
done
say "every figure: $tsv"
exit "$bench_failed"
