#!/usr/bin/env bash
# scripts/test_glibc.sh [--arms [--built]] [--limit-s SECONDS]     (make test-glibc, make test-glibc-arms)
#
# The embedded workload under a glibc that was built for it, started by scripts/testrun.sh, with and without the shim.
# Without options: this machine's architecture. With --arms: the variants lse, nolse and outline for Arm, cross-compiled and
# run under emulation where this is no Arm machine; their census, that they offer the same symbols, and what a CPU
# without LSE makes of them. Times under emulation say nothing about speed, and none are taken.
#
# What was built is kept outside of the checkout, in GLIBC_DIR (default ~/.cache/mtrace/glibc), and used again.
# --built: build nothing, take what is in GLIBC_DIR and build/; a variant that is not there is skipped.
# --limit-s: a build that takes longer is broken off, to be continued by the next run, and the tests that need it are skipped.
#
# The last line is "glibc: N passed, N failed, N skipped". Exit status: 0 nothing failed; 1 something did; 2 wrong usage.
set -uo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

arms=0
built=0
limit_s=0
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help) usage && exit 0 ;;
	--arms) arms=1 && shift ;;
	--built) built=1 && shift ;;
	--limit-s) whole_number --limit-s "${2:-}" && limit_s=$2 && shift 2 ;;
	*) wrong_usage "unknown option: $1" ;;
	esac
done

export GLIBC_DIR=${GLIBC_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/mtrace/glibc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
skipped=0
sysroot=build/arm64/sysroot
emulation=()

pass() { say "ok   $1" && passed=$((passed + 1)); }
skip() { say "skip $1: $2" && skipped=$((skipped + 1)); }
fail() {
	say "FAIL $1: $2"
	failed=$((failed + 1))
	return 1
}

# build VARIANT: false where there is no result, which was said.
build() {
	local status=0
	if [ $built = 1 ]; then
		[ ! -e "$GLIBC_DIR/$1/MANIFEST.json" ] || return 0
		skip "$1" "it is not built (make test-glibc-arms)"
		return 1
	fi
	timeout --kill-after=10 "$limit_s" glibc-build/build.sh "$1" >"$work/build.log" 2>&1 || status=$?
	case $status in
	0) say "$(tail -n 1 "$work/build.log")" ;;
	124) skip "$1" "its build takes longer than $limit_s s here; it goes on where it stopped when this is run again" && return 1 ;;
	*) fail "$1" "$(tail -n 1 "$work/build.log")" ;;
	esac
}

# ---- the workload ------------------------------------------------------------------------------------------------

# workload DIR OUTPUT OPTION...: loads and runs it under DIR's glibc; its exit status.
workload() {
	local dir=$1 output=$2
	shift 2
	scripts/testrun.sh --glibc "$dir" "${emulation[@]}" "$@" "$ycsb" both "$engine" -threads 2 -p recordcount=500 \
		-p operationcount=500 -p "$engine.dir=$work/store" -p "$engine.cache=16M" -p maxscanlength=20 \
		>"$output" 2>&1 </dev/null
	local status=$?
	rm -rf "$work/store"
	return $status
}

# What the client says it did, without times: operations, and how they ended.
outcome() { grep -E ', (Operations|Return=)' "$1" | sort; }

# works NAME DIR [OPTION...]: the workload runs, and does all that was asked for.
works() {
	local name=$1 dir=$2 status=0 operations
	shift 2
	workload "$dir" "$work/$name.txt" "$@" || status=$?
	[ $status = 0 ] || { fail "$name" "exit status $status: $(tail -n 1 "$work/$name.txt")" || return 1; }
	operations=$(awk -F ', ' '/Return=OK/ { sum += $3 } END { print sum + 0 }' "$work/$name.txt")
	[ "$operations" = 1000 ] || { fail "$name" "$operations operations instead of 1000 were done" || return 1; }
	! grep -q 'Return=ERROR' "$work/$name.txt" || fail "$name" "operations failed"
}

plain() { # NAME DIR
	works "$@" && pass "$1"
}

# The trace is whole, of this program, and of this glibc.
traced() { # NAME DIR
	local name=$1 dir=$2 trace=$work/$1.mtr wrong
	works "$name" "$dir" --trace "$trace" --mode full || return 0
	wrong=$(build/mtrace-analyze info --json "$trace" | jq -r --arg libc "$dir/libc.so.6" --arg exe "$(realpath "$ycsb")" '
		if .complete | not then "the trace is not complete" elif .lost != 0 then "\(.lost) events lost"
		elif .exe != $exe then "the program is called \(.exe)" elif .allocs < 1000 then "only \(.allocs) allocations"
		elif any(.modules[]; .path == $libc) | not then "its libc is \([.modules[].path | select(test("libc.so"))])"
		else empty end') || wrong="the trace cannot be read"
	[ -z "$wrong" ] || { fail "$name" "$wrong" || return 0; }
	[ "$(outcome "$work/$name.txt")" = "$(outcome "$work/${name/traced/plain}.txt")" ] ||
		{ fail "$name" "did something else than without the shim" || return 0; }
	pass "$name"
}

engines() { "${emulator[@]}" "$ycsb" --help | sed -n 's/^Engines of this build[^:]*: \(.*\)/\1/p' | tr -d ',.()' | grep -oE 'wiredtiger|rocksdb'; }

# ---- this machine ------------------------------------------------------------------------------------------------

native() {
	local dir
	ycsb=build/ycsb-embedded
	emulator=()
	scripts/deps.sh --glibc >"$work/deps.log" 2>&1 || { skip native "$(tail -n 1 "$work/deps.log")" && return 0; }
	build native || return 0
	dir=$GLIBC_DIR/native-$(uname -m)
	pass native_build
	for engine in $(engines); do
		plain "native_${engine}_plain" "$dir"
		traced "native_${engine}_traced" "$dir"
	done
}

# ---- the arms ----------------------------------------------------------------------------------------------------

# What the libraries offer. (What they ask for may differ: a helper's start-up code asks for __getauxval.)
symbols() { # DIR
	local library
	for library in "$1"/*.so.*; do
		nm -D --defined-only --with-symbol-versions "$library" | cut -c 18- | sed "s,^,$(basename "$library") ,"
	done | sort
}

counts() { # ARM: of libc.so.6
	jq -r '.census[] | select(.file == "libc.so.6") | "LSE \(.lse), exclusive \(.exclusive), calls \(.outline_calls): \(.verdict)"' \
		"$GLIBC_DIR/$1/MANIFEST.json"
}

same_symbols() { # ARM
	symbols "$GLIBC_DIR/lse" >"$work/lse.symbols"
	symbols "$GLIBC_DIR/$1" >"$work/$1.symbols"
	[ -s "$work/lse.symbols" ] && diff "$work/lse.symbols" "$work/$1.symbols" >"$work/difference" ||
		{ fail "$1_symbols" "$(grep -c '^[<>]' "$work/difference") differ from lse: $(sed -n '/^[<>]/{p;q}' "$work/difference")" || return 0; }
	pass "$1_symbols"
}

# On a CPU without LSE: an Armv8.0 as the emulator has it, or this one.
without_lse() { # ARM
	local status=0 name=$1_on_armv8.0
	[ ${#emulator[@]} = 0 ] || export QEMU_CPU=cortex-a57
	if [ "$1" != lse ]; then
		plain "$name" "$GLIBC_DIR/$1"
	else
		workload "$GLIBC_DIR/lse" "$work/$name.txt" || status=$?
		if [ $status != 132 ]; then
			fail "$name" "exit status $status instead of 132 (SIGILL)"
		elif ! grep -q 'LSE instructions, which this CPU does not have' "$work/$name.txt"; then
			fail "$name" "died of SIGILL, and the launcher did not say why"
		else
			pass "$name"
		fi
	fi
	unset QEMU_CPU
}

cpu_has_lse() { [ ${#emulator[@]} -gt 0 ] || grep -qw atomics /proc/cpuinfo; }

run_arm() { # ARM
	if cpu_has_lse || [ "$1" != lse ]; then
		plain "$1_plain" "$GLIBC_DIR/$1"
		traced "$1_traced" "$GLIBC_DIR/$1"
	fi
	if [ ${#emulator[@]} -gt 0 ] || { [ "$1" = lse ] && ! cpu_has_lse; }; then
		without_lse "$1"
	fi
}

arms() {
	local arm
	engine=rocksdb
	ycsb=build/ycsb-embedded
	emulator=()
	[ $built = 1 ] || scripts/deps.sh --glibc >"$work/deps.log" 2>&1 || { skip arms "$(tail -n 1 "$work/deps.log")" && return 0; }
	if [ "$(uname -m)" != aarch64 ]; then
		scripts/deps.sh --arm64 >"$work/deps.log" 2>&1 || { skip arms "$(tail -n 1 "$work/deps.log")" && return 0; }
		make --no-print-directory arm64 >"$work/arm64.log" 2>&1 || { fail arms "make arm64: $(tail -n 1 "$work/arm64.log")" || return 0; }
		ycsb=build/arm64/ycsb-embedded
		emulator=(qemu-aarch64-static -L "$(realpath $sysroot)")
		emulation=(--emulator "${emulator[*]}")
	fi
	for arm in lse nolse outline; do
		build "$arm" || continue
		if [ $built = 0 ]; then
			pass "${arm}_build"
			say "     libc.so.6: $(counts "$arm")"
			[ ! -d "$GLIBC_DIR/lse" ] || same_symbols "$arm"
		fi
		run_arm "$arm"
	done
}

if [ $arms = 1 ]; then arms; else native; fi
summary="glibc: $passed passed, $failed failed"
[ $skipped = 0 ] || summary+=", $skipped skipped"
say "$summary"
[ $failed = 0 ]
