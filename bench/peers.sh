#!/usr/bin/env bash
# bench/peers.sh
#
# The workloads of `scripts/bench.sh ycsb` under other tools, those that are installed, each against what it is an
# addition to: heaptrack (every allocation, with stacks, raw data only) against the bare program, jemalloc's and
# gperftools' sampling at 512 KiB against the same allocator without. Same environment and method as scripts/bench.sh.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=pairs.sh
. "$(dirname "$0")/pairs.sh"

loads() { [ -z "$(LD_PRELOAD=$1 /bin/true 2>&1)" ]; }

arms=(untraced)
if command -v heaptrack >/dev/null; then arms+=(heaptrack); else say "peers: heaptrack is not installed"; fi
if loads libjemalloc.so.2; then arms+=(jemalloc jemalloc-profile); else say "peers: libjemalloc.so.2 is not installed"; fi
if loads libtcmalloc.so.4; then arms+=(tcmalloc tcmalloc-sampling); else say "peers: libtcmalloc.so.4 is not installed"; fi

tsv=$out/peers.tsv
: >"$tsv"
ycsb_part "${arms[@]}"
say
table ycsb ops_s ratio
say "every figure: $tsv"
exit "$bench_failed"
