#!/usr/bin/env bash
# scripts/demo.sh
#
# The main job, end to end, on this machine: installs what is missing, builds, loads documents into the embedded
# storage engine, runs a YCSB mix on it under libmtrace.so with a cache smaller than the data, and explains its
# throughput from the trace. Everything is left in demo-out/ (one that is there already is moved aside):
#   demo.mtr        the trace                     report/index.html    the report; open it in a browser
#   ycsb-run.txt    what the workload printed     report/report.json   the same for machines
#
# Environment: DEMO_SECONDS=40 of the traced run, DEMO_RECORDS=200000 documents of 1 KB (the cache takes 300 bytes
# for each, at least 10 MB), DEMO_THREADS (default: number of CPUs), DEMO_ENGINE=wiredtiger|rocksdb.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

case $#:${1:-} in
0:) ;;
1:-h | 1:--help) usage && exit 0 ;;
*) wrong_usage "takes no arguments" ;;
esac

seconds=${DEMO_SECONDS:-40}
records=${DEMO_RECORDS:-200000}
threads=${DEMO_THREADS:-$(nproc)}
engine=${DEMO_ENGINE:-}
whole_number DEMO_SECONDS "$seconds"
whole_number DEMO_RECORDS "$records"
whole_number DEMO_THREADS "$threads"
out=demo-out

set_aside() {
	local number=1
	[ -e "$out" ] || return 0
	while [ -e "$out.$number" ]; do number=$((number + 1)); done
	mv "$out" "$out.$number"
	say "demo: the earlier $out is now $out.$number"
}

# The first engine of this build: WiredTiger where the distribution has it.
default_engine() { build/ycsb-embedded --help | sed -n 's/^Engines of this build.*: \([a-z]*\) .*/\1/p'; }

workload() {
	local phase=$1
	shift
	local cache_mib=$((records * 300 / 1048576))
	build/ycsb-embedded "$phase" "$engine" -threads "$threads" \
		-p "recordcount=$records" -p "$engine.dir=$out/database" \
		-p "$engine.cache=$((cache_mib > 10 ? cache_mib : 10))M" -p maxscanlength=50 "$@"
}

how_with_mongod() {
	command -v mongod >/dev/null || return 0
	cat <<TEXT

A mongod is installed ($(command -v mongod)). The same with it and YCSB:
  MTRACE_OUT=mongod.mtr MTRACE_EXE=mongod LD_PRELOAD=$root/build/libmtrace.so mongod --dbpath DIR
  bin/ycsb run mongodb -s -p status.interval=1 -P workloads/workloada > ycsb.txt 2>&1
  (stop mongod)
  $root/build/mtrace-analyze report mongod.mtr --ycsb ycsb.txt -o mongod-report
TEXT
}

scripts/deps.sh --runtime --build
say "demo: building"
make -j"$(nproc)" all
[ -n "$engine" ] || engine=$(default_engine)
[ -n "$engine" ] || die "this build of ycsb-embedded has no storage engine; scripts/deps.sh --build installs one"

set_aside
mkdir -p "$out/database"
say "demo: loading $records documents into $engine"
workload load >"$out/ycsb-load.txt" 2>&1 || die "loading failed, see $out/ycsb-load.txt"

say "demo: running for $seconds s with $threads threads under libmtrace.so (mode sample)"
MTRACE_OUT="$out/demo.mtr" MTRACE_MODE=sample LD_PRELOAD="$root/build/libmtrace.so" \
	workload run -s -p status.interval=1 -p "maxexecutiontime=$seconds" 2>&1 |
	tee "$out/ycsb-run.txt" | sed -u 's/current ops\/sec;.*/ops\/s/' # the file has the latencies of each line, too
rm -rf "$out/database"

say
say "demo: analyzing"
build/mtrace-analyze report "$out/demo.mtr" --ycsb "$out/ycsb-run.txt" -o "$out/report"
say
say "demo: open $root/$out/report/index.html in a browser; the trace is $out/demo.mtr,"
say "      questions to it: build/mtrace-analyze info|sites|hugepages|percpu|export $out/demo.mtr (--help)"
how_with_mongod
