#!/usr/bin/env bash
# bench/pages.sh
#
# What it costs to know which pages are huge (bench/pagesbench.c): a process with BENCH_MAPPINGS=4000 mappings of
# BENCH_GIB=16 GiB together, BENCH_RESIDENT=50 percent of them touched, half of those on huge pages where the kernel
# gives them. It takes the time of an mmap each millisecond while nobody reads (untraced), libmtrace.so runs in it with
# and without MTRACE_PAGES, a thread reads smaps once a second, or pagemap and kpageflags page by page once a second.
#
# Environment otherwise as scripts/bench.sh. Exit status: 0 measured; 1 a run failed.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=pairs.sh
. "$(dirname "$0")/pairs.sh"

gib=${BENCH_GIB:-16} mappings=${BENCH_MAPPINGS:-4000} resident=${BENCH_RESIDENT:-50}
whole_number BENCH_GIB "$gib"
whole_number BENCH_MAPPINGS "$mappings"
whole_number BENCH_RESIDENT "$resident"
needed_kib=$((gib * 1048576 * resident / 100))
free_kib=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
[ "$needed_kib" -lt "$((free_kib * 9 / 10))" ] ||
	die "BENCH_GIB=$gib with BENCH_RESIDENT=$resident needs $((needed_kib / 1024)) MiB, $((free_kib / 1024)) are free"
[ "$mappings" -lt "$(($(cat /proc/sys/vm/max_map_count) / 2 - 200))" ] ||
	die "BENCH_MAPPINGS=$mappings is more than vm.max_map_count allows with a gap after each"

run_arm() { # ARM ROUND
	local reader=none name value
	local -a under=(env)
	case $1 in
	shim) under=(env "LD_PRELOAD=$shim" "MTRACE_OUT=$out/trace.mtr") ;;
	shim-without) under=(env "LD_PRELOAD=$shim" "MTRACE_OUT=$out/trace.mtr" MTRACE_PAGES=off) ;;
	smaps | pages) reader=$1 ;;
	esac
	"${under[@]}" build/pagesbench "$gib" "$mappings" "$resident" "$seconds" "$reader" >"$out/run.out" ||
		complain "pages: $1 failed in round $2"
	while read -r name value; do
		record pages "$gib-gib" "$1" "$2" "$name" "$value"
	done <"$out/run.out"
	if [ "$1" = shim ]; then
		value=$(build/mtrace-analyze hugepages --json "$out/trace.mtr" | jq '[.snapshots[1:][].age_s] | max // empty') ||
			complain "pages: the trace of round $2 cannot be read"
		[ -z "$value" ] || record pages "$gib-gib" shim "$2" oldest_look_s "$value"
	fi
	rm -f "$out"/trace.mtr*
}

[ ! -e "$tsv" ] || sed -i "/^pages\t/d" "$tsv" # of a run before
arms=(untraced shim-without shim smaps pages)
if [ ! -r /proc/kpageflags ]; then
	say "pages: no page by page reading: /proc/kpageflags needs root"
	arms=(untraced shim-without shim smaps)
fi
for ((round = 1; round <= rounds; round++)); do
	for ((i = 0; i < ${#arms[@]}; i++)); do
		run_arm "${arms[(i + round) % ${#arms[@]}]}" "$round"
	done
done

say "$gib GiB, $mappings mappings, $resident% touched; medians of $rounds rounds of $seconds s, the longest mmap of all"
awk -F '\t' -v arms="${arms[*]}" '
	$1 == "pages" { n = ++count[$3, $5]; value[$3, $5, n] = $6 }
	function median(arm, name, n, i, j, t, v) {
		n = count[arm, name]
		for (i = 1; i <= n; i++) v[i] = value[arm, name, i]
		for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j] < v[j - 1]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
		return n ? (n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2) : -1
	}
	function greatest(arm, name, i, most) {
		for (i = 1; i <= count[arm, name]; i++) if (value[arm, name, i] > most) most = value[arm, name, i]
		return most + 0
	}
	END {
		printf "%-14s %10s %12s %16s %12s %12s %14s\n", "reader", "% of a CPU", "ms a reading", "mmap median us", "99% us", "longest us", "oldest look s"
		n = split(arms, arm, " ")
		for (a = 1; a <= n; a++) {
			ms = median(arm[a], "read_ms")
			printf "%-14s %10.2f %12s %16.1f %12.1f %12.1f %14s\n", arm[a], median(arm[a], "cpu_percent"),
				ms < 0 ? "" : sprintf("%.1f", ms), median(arm[a], "mmap_median_us"), median(arm[a], "mmap_p99_us"), greatest(arm[a], "mmap_max_us"),
				arm[a] == "shim" ? sprintf("%.1f", greatest(arm[a], "oldest_look_s")) : ""
		}
	}' "$tsv"
exit "$bench_failed"
