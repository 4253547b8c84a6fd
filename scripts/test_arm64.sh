#!/usr/bin/env bash
# scripts/test_arm64.sh [--short] [--filter GLOB]     (make test-arm64)
#
# The aarch64 build where there is no Arm machine: installs what is missing (scripts/deps.sh --arm64), cross-builds into
# build/arm64, and runs the unit tests and the host tests on it under qemu-user, the latter with this machine's analyzer, then what
# needs a kernel of its own in a virtual machine (scripts/test_arm64_vm.sh). On an Arm machine scripts/test.sh
# does the same without emulation. An emulator's times say nothing about speed, and none are taken.
#
# --short is for a run among other tests: unit tests of the shim's modules, host tests of what differs by processor, and the
# virtual machines with fewer cases. --filter GLOB runs only the host cases called GLOB, under qemu-user.
# Logs lie in build/arm64/logs. The last line is "arm64: N passed, N failed, N skipped".
#
# Exit status: 0 all passed; 1 something failed; 2 wrong usage; 77 the packages cannot be installed here.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

filter=
short=0
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help) usage && exit 0 ;;
	--short) short=1 && shift ;;
	--filter) [ $# -gt 1 ] || wrong_usage "--filter needs a value" && filter=$2 && shift 2 ;;
	*) wrong_usage "wrong arguments: $*" ;;
	esac
done

sysroot=build/arm64/sysroot
logs=build/arm64/logs
passed=0
failed=0
skipped=0
# An emulated processor is 5 to 20 times slower, and its machine may have other things to do.
unit_limit_s=600

count() { # PASSED FAILED SKIPPED
	passed=$((passed + $1))
	failed=$((failed + $2))
	skipped=$((skipped + $3))
}

build() {
	scripts/deps.sh --arm64 || { warn "skipped: no cross compiler and emulator here" && exit 77; }
	make --no-print-directory -j"$(nproc)" arm64 build/mtrace-analyze >build/arm64.log 2>&1 ||
		{ tail -n 20 build/arm64.log && die "the cross-build failed; see build/arm64.log"; }
	scripts/check_exports.sh build/arm64/libmtrace.so
	scripts/check_symbol_versions.sh build/arm64/libmtrace.so
}

# ---- unit tests --------------------------------------------------------------------------------------------------

unit_test() { # PROGRAM
	local name=${1##*/} status=0 numbers
	timeout --kill-after=10 $unit_limit_s scripts/arm64_namespace.sh $sysroot "$1" -j1 >"$logs/$name.log" 2>&1 || status=$?
	numbers=$(sed -n 's/.*Synthesis: Tested: .*Passing: \([0-9]*\) .*Failing: \([0-9]*\) .*Crashing: \([0-9]*\).*/\1 \2 \3/p' \
		"$logs/$name.log" | tail -n 1)
	# shellcheck disable=SC2086 # three numbers
	set -- ${numbers:-0 0 0}
	if [ "$status" = 0 ] && [ "$1" -gt 0 ]; then
		say "ok $name ($1)"
		count "$1" 0 0
	else
		say "FAIL $name: exit status $status, $1 passed, $(($2 + $3)) failed; see $logs/$name.log"
		count "$1" $(($2 + $3 > 0 ? $2 + $3 : 1)) 0
	fi
}

unit_tests() {
	local program
	if ! ls $sysroot/usr/lib/*/libcriterion.so >/dev/null 2>&1; then
		say "skip unit: the distribution has no Criterion for arm64" && count 0 0 1 && return
	elif ! scripts/arm64_namespace.sh $sysroot true; then
		say "skip unit: the tests start themselves again, which needs such a namespace" && count 0 0 1 && return
	fi
	unit_programs
	make --no-print-directory -j"$(nproc)" arm64-unit UNIT_TARGETS="${programs[*]}" >build/arm64-unit.log 2>&1 ||
		{ tail -n 20 build/arm64-unit.log && die "the unit tests do not build; see build/arm64-unit.log"; }
	for program in "${programs[@]}"; do
		unit_test "$program"
	done
}

unit_programs() { # sets `programs`
	local name source
	programs=()
	for source in tests/unit/test_*.c tests/unit/arch/aarch64/test_*.c; do
		name=$(basename "$source" .c)
		[ -e "$source" ] || continue
		if [ $short = 0 ] || of_the_shim "${name#test_}"; then
			programs+=("build/arm64/tests/unit/$name")
		fi
	done
}

# Whether it tests a module of the shim, as tests/module.mk has them.
of_the_shim() { # NAME
	[[ " $(sed -n 's/^UNIT_SHIM_TESTS *:= *//p' tests/module.mk) " == *" $1 "* ]]
}

# ---- host tests, virtual machine ---------------------------------------------------------------------------------

# summed NAME COMMAND...: adds up what its last line says.
summed() {
	local name=$1 status=0 numbers
	shift
	"$@" 2>&1 | tee "$logs/$name.log" || status=$?
	numbers=$(sed -n 's/^[a-z0-9-]*: \([0-9]\+\) passed, \([0-9]\+\) failed, \([0-9]\+\) skipped$/\1 \2 \3/p' "$logs/$name.log" | tail -n 1)
	# shellcheck disable=SC2086 # three numbers
	set -- ${numbers:-0 0 0}
	if [ $status = 77 ]; then
		count 0 0 1
	elif [ $(($1 + $2 + $3)) = 0 ] || { [ $status != 0 ] && [ "$2" = 0 ]; }; then
		count "$1" 1 "$3"
	else
		count "$@"
	fi
}

host_tests() { # GLOB
	local runner=(tests/host/run.sh --shim build/arm64/libmtrace.so --guests build/arm64/host --jobs "$(nproc)" --filter "$1")
	if scripts/arm64_namespace.sh "$sysroot" true; then
		summed host scripts/arm64_namespace.sh "$sysroot" "${runner[@]}"
	else
		say "going on without: guests that start programs are skipped"
		summed host "${runner[@]}" --launcher "qemu-aarch64-static -L $(realpath $sysroot)"
	fi
}

build
mkdir -p $logs
if [ -n "$filter" ]; then
	host_tests "$filter"
elif [ $short = 1 ]; then
	unit_tests
	host_tests '@(counted*|entry_*|entries*|cxx*|static_*_exported|threads_*|fork*|end_*)'
	summed vm scripts/test_arm64_vm.sh --short
else
	unit_tests
	host_tests '*'
	summed vm scripts/test_arm64_vm.sh
fi
say "arm64: $passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
