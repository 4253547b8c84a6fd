#!/usr/bin/env bash
# scripts/test.sh [--arm64] [--filter GLOB]
#
# The test command: installs what is missing (scripts/deps.sh), builds, and runs the unit tests, the host tests, the
# other tests/*/run.sh and `make lint`. The last line sums them up, "N passed, N failed" (and what was skipped).
#
# --filter GLOB runs only the unit tests tests/unit/test_GLOB.c and the host cases called GLOB, without lint.
# --arm64 adds the same for aarch64: cross-built, under emulation and in a virtual machine (scripts/test_arm64.sh); skipped
# where its packages cannot be installed. Not with --filter, and not on an Arm machine, where all this is native.
# Logs lie in build/test-logs/. Each step has a time limit, and all together 40 minutes, with --arm64 60.
#
# Exit status: 0 all passed; 1 something failed, or nothing was run; 2 wrong usage.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

filter=
arm64=0
while [ $# -gt 0 ]; do
	case $#:$1 in
	*:-h | *:--help) usage && exit 0 ;;
	*:--arm64) arm64=1 && shift ;;
	[2-9]:--filter) filter=$2 && shift 2 ;;
	*) wrong_usage "wrong arguments: $*" ;;
	esac
done

deadline_s=$((SECONDS + 2400 + 1200 * arm64))
logs=build/test-logs
passed=0
failed=0
skipped=0
# On a terminal the steps stay in its foreground: sudo asks there, and an interrupt reaches them.
foreground=()
[ ! -t 0 ] || foreground=(--foreground)

finish() {
	local summary="$passed passed, $failed failed"
	[ "$skipped" = 0 ] || summary+=", $skipped skipped"
	say
	say "$summary"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ] && exit 0
	exit 1
}

# step NAME LIMIT_S COMMAND...: runs it with its output on the screen and in a log; returns its status.
step() {
	local name=$1 limit_s=$2 left_s=$((deadline_s - SECONDS)) status
	shift 2
	[ "$limit_s" -le "$left_s" ] || limit_s=$((left_s > 1 ? left_s : 1))
	mkdir -p "$(dirname "$logs/$name")"
	say
	say "==== $name"
	set +e
	timeout "${foreground[@]}" --kill-after=10 "$limit_s" "$@" 2>&1 | tee "$logs/$name.log"
	status=${PIPESTATUS[0]}
	set -e
	case $status in
	124 | 137) warn "$name: ended at its limit of $limit_s s" ;;
	esac
	return "$status"
}

# build_step NAME LIMIT_S COMMAND...: what the tests cannot do without.
build_step() {
	step "$@" && return 0
	failed=$((failed + 1))
	warn "$1 failed; nothing was tested"
	finish
}

count() {
	passed=$((passed + $1))
	failed=$((failed + $2))
	skipped=$((skipped + $3))
}

# counted STATUS P F S: adds counts that a step printed; one that printed none, or that ended badly without saying of
# what, counts as a failure.
counted() {
	if [ "$1" != 0 ] && [ "$3" = 0 ]; then
		count "$2" 1 "$4"
	elif [ $(($2 + $3 + $4)) = 0 ]; then
		count 0 1 0
	else
		count "$2" "$3" "$4"
	fi
}

# Criterion's closing line: "Synthesis: Tested: 7 | Passing: 7 | Failing: 0 | Crashing: 0".
criterion_step() {
	local name=$1 status=0 numbers
	step "unit/$name" 300 "build/tests/unit/$name" || status=$?
	numbers=$(sed -n 's/.*Synthesis: Tested: .*Passing: \([0-9]*\) .*Failing: \([0-9]*\) .*Crashing: \([0-9]*\).*/\1 \2 \3/p' \
		"$logs/unit/$name.log" | tail -n 1)
	# shellcheck disable=SC2086 # three numbers
	set -- ${numbers:-0 0 0}
	counted "$status" "$1" $(($2 + $3)) 0
}

# A step whose last line is "name: N passed, N failed[, N skipped]"; 77 where what it needs is not here.
summed_step() {
	local name=$1 status=0 numbers
	step "$@" || status=$?
	[ "$status" != 77 ] || { count 0 0 1 && return; }
	numbers=$(sed -n 's/^\([a-z0-9_-]*: \)\?\([0-9]\+\) passed, \([0-9]\+\) failed\(, \([0-9]\+\) skipped\)\?.*$/\2 \3 \5/p' \
		"$logs/$name.log" | tail -n 1)
	# shellcheck disable=SC2086 # two or three numbers
	set -- ${numbers:-0 0 0}
	counted "$status" "$1" "$2" "${3:-0}"
}

unit_tests() {
	local source name
	for source in tests/unit/test_*.c tests/unit/arch/"$(uname -m)"/test_*.c; do
		name=$(basename "$source" .c)
		# shellcheck disable=SC2053 # a pattern on purpose
		[[ -e $source && $name == test_${filter:-*} ]] || continue
		criterion_step "$name"
	done
}

host_tests() {
	local arguments=(--jobs "$(nproc)")
	if [ -n "$filter" ]; then
		[ -n "$(tests/host/run.sh --filter "$filter" --list)" ] || return 0
		arguments+=(--filter "$filter")
	fi
	summed_step host 1500 tests/host/run.sh "${arguments[@]}"
}

other_tests() {
	local runner name
	for runner in tests/*/run.sh; do
		name=$(basename "$(dirname "$runner")")
		[ "$name" = host ] || [ ! -x "$runner" ] || summed_step "$name" 900 "$runner"
	done
}

mkdir -p "$logs"
build_step deps 900 scripts/deps.sh
build_step build 900 make -j"$(nproc)" all tests
unit_tests
[ ! -x tests/host/run.sh ] || host_tests
if [ -z "$filter" ]; then
	other_tests
	[ "$arm64" = 0 ] || [ "$(uname -m)" = aarch64 ] || summed_step arm64 1200 scripts/test_arm64.sh --short
	summed_step lint 900 make --no-print-directory lint
fi
finish
