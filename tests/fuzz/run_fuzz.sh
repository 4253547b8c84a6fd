#!/usr/bin/env bash
# tests/fuzz/run_fuzz.sh [TARGET...]          (by `make fuzz`, which builds the targets first)
#
# Runs each fuzz target for FUZZ_SECONDS (default 60) on as many processes as there are CPUs, its inputs kept in
# build/fuzz/corpus/TARGET between runs; they start from the files of tests/fuzz/seeds/TARGET where there are some.
# An input that crashes a target is left in build/fuzz/ and named.
#
# Exit status: 0 nothing found; 1 a target crashed; 2 wrong usage.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR/../../scripts source=common.sh
. "$(dirname "$0")/../../scripts/common.sh"

case ${1:-} in
-h | --help) usage && exit 0 ;;
esac
seconds=${FUZZ_SECONDS:-60}
whole_number FUZZ_SECONDS "$seconds"
cd build/fuzz 2>/dev/null || die "build/fuzz is not there: run make fuzz"
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(find . -maxdepth 1 -name 'fuzz_*' -type f -perm -u+x -printf '%f\n' | sort)
[ ${#targets[@]} -gt 0 ] || die "no fuzz target in build/fuzz: run make fuzz"

failed=0
for target in "${targets[@]}"; do
	[ -x "$target" ] || wrong_usage "no fuzz target is called $target"
	mkdir -p "corpus/$target"
	seeds=()
	[ ! -d "$root/tests/fuzz/seeds/$target" ] || seeds=("$root/tests/fuzz/seeds/$target")
	say "fuzz: $target, $seconds s"
	if ./"$target" -max_total_time="$seconds" -fork="$(nproc)" -ignore_crashes=0 -timeout=10 -max_len=65536 \
		-artifact_prefix="$target-" -print_final_stats=1 "corpus/$target" "${seeds[@]}" >"$target.log" 2>&1; then
		say "fuzz: $target: nothing found, $(find "corpus/$target" -type f | wc -l) inputs"
	else
		failed=1
		tail -n 30 "$target.log"
		say "fuzz: $target: FAILED, see build/fuzz/$target.log; inputs: $(find . -maxdepth 1 -name "$target-*" | tr '\n' ' ')"
	fi
done
exit "$failed"
