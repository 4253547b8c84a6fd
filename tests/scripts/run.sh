#!/usr/bin/env bash
# tests/scripts/run.sh [CASE]...
#
# Tests of the scripts: what each of them must refuse, made small in a folder of its own, and what it must let pass.
# A case is a function case_NAME, here or in cases_*.sh. The last line sums up: "scripts: N passed, N failed", and
# what was skipped.
set -uo pipefail
# shellcheck source-path=SCRIPTDIR/../../scripts source=common.sh
. "$(dirname "$0")/../../scripts/common.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	say "$@"
	exit 1
}

# Ends a case that cannot be tried on this machine.
skip() {
	say "$@"
	exit 77
}

# expect STATUS COMMAND...: its output goes to $work/output.
expect() {
	local wanted=$1 status=0
	shift
	"$@" >"$work/output" 2>&1 </dev/null || status=$?
	[ "$status" = "$wanted" ] || fail "exit status $status instead of $wanted: $*: $(tail -n 3 "$work/output")"
}

expect_text() { grep -qF -- "$1" "$work/output" || fail "not said: $1; but: $(head -n 5 "$work/output")"; }

# ---- rule of the folders -----------------------------------------------------------------------------------------

# A small tree that keeps the rules.
make_tree() {
	tree=$work/tree
	rm -rf "$tree"
	mkdir -p "$tree"/{trace,shim/arch/x86_64,shim/arch/aarch64,analyzer,bench}
	: >"$tree/trace/event.h"
	: >"$tree/shim/arch/x86_64/arch.h"
	: >"$tree/shim/arch/aarch64/arch.h"
	printf '#include "trace/event.h"\n#include "arch.h"\n' >"$tree/shim/ring.h"
	printf '#include "shim/ring.h"\n#include <stdio.h>\n' >"$tree/shim/ring.c"
	printf '#include "trace/event.h"\n' >"$tree/analyzer/reader.c"
	: >"$tree/bench/mallocbench.c"
}

includes() { expect "$1" scripts/check_includes.sh "$tree"; }

# break_rule FILE TEXT MESSAGE: TEXT added to FILE of a good tree is found.
break_rule() {
	make_tree
	printf '%s\n' "$2" >>"$tree/$1"
	includes 1
	expect_text "$3"
}

case_includes() {
	make_tree
	includes 0
	break_rule trace/event.h '#include "shim/ring.h"' 'trace/ must not include "shim/ring.h"'
	break_rule shim/ring.c '#include "analyzer/reader.h"' 'shim/ must not include'
	break_rule analyzer/reader.c '#  include "shim/ring.h"' 'analyzer/ must not include'
	break_rule bench/mallocbench.c '#include "trace/event.h"' 'bench/ must not include'
	break_rule shim/ring.c '#include "ring.h"' 'named without its folder'
	break_rule analyzer/ring.c '' 'more than once: ring.c'
	break_rule shim/ring.c '#ifdef __x86_64__' 'shim/ring.c:3: depends on the processor'
	break_rule shim/arch/x86_64/more.h '' 'hold different files'
	make_tree
	printf '#include "trace/event.h"\n' >"$tree/trace/layout.h"
	printf '#include "trace/layout.h"\n' >"$tree/trace/event.h"
	includes 1
	expect_text 'in a circle'
}

# ---- shared object -----------------------------------------------------------------------------------------------

# library SOURCE [FLAG...]: $work/lib.so of it.
library() {
	printf '%s\n' "$1" >"$work/lib.c"
	gcc -w -shared -fPIC -o "$work/lib.so" "$work/lib.c" "${@:2}" || fail "cannot build $1"
}

case_exports() {
	printf '{\nglobal:\n\t# two names\n\tmalloc; free;\nlocal:\n\t*;\n};\n' >"$work/map"
	library 'void malloc(void) {} void free(void) {}'
	expect 0 scripts/check_exports.sh "$work/lib.so" "$work/map"
	library 'void malloc(void) {} void free(void) {} void helper(void) {}'
	expect 1 scripts/check_exports.sh "$work/lib.so" "$work/map"
	expect_text 'helper: exported but not listed'
	library 'void malloc(void) {}'
	expect 1 scripts/check_exports.sh "$work/lib.so" "$work/map"
	expect_text 'free: listed but not exported'
}

case_symbol_versions() {
	library '#include <stdlib.h>
void *f(void) { return malloc(1); }'
	expect 0 scripts/check_symbol_versions.sh "$work/lib.so"
	library '#define _GNU_SOURCE
#include <unistd.h>
int f(void) { return gettid(); }'
	expect 1 scripts/check_symbol_versions.sh "$work/lib.so"
	expect_text 'needs GLIBC_2.30: gettid'
	library 'int foreign(void); int f(void) { return foreign(); }'
	expect 1 scripts/check_symbol_versions.sh "$work/lib.so"
	expect_text 'undefined without a version: foreign'
	library 'int f;' -Wl,--no-as-needed -lzstd
	expect 1 scripts/check_symbol_versions.sh "$work/lib.so"
	expect_text 'needs libzstd.so.1'
	library 'int f;' -Wl,-z,execstack
	expect 1 scripts/check_symbol_versions.sh "$work/lib.so"
	expect_text 'executable stack'
}

# ---- the test command --------------------------------------------------------------------------------------------

# A repository in which everything passes; its tests are scripts.
make_repository() {
	repository=$work/repository
	rm -rf "$repository"
	mkdir -p "$repository"/{scripts,tests/unit,tests/host,build/tests/unit}
	cp scripts/common.sh scripts/deps.sh scripts/test.sh "$repository/scripts/"
	printf 'all tests:\nlint:\n\t@echo "lint: 4 passed, 0 failed, 1 skipped"\n' >"$repository/Makefile"
	unit_program one 'echo "[====] Synthesis: Tested: 3 | Passing: 3 | Failing: 0 | Crashing: 0 "'
	# Asked which cases a filter selects, it names none.
	printf '#!/bin/sh\n[ "$3" = --list ] || echo "host: 5 passed, 0 failed, 2 skipped"\n' >"$repository/tests/host/run.sh"
	chmod +x "$repository/tests/host/run.sh"
}

unit_program() {
	: >"$repository/tests/unit/test_$1.c"
	printf '#!/bin/sh\n%s\n' "$2" >"$repository/build/tests/unit/test_$1"
	chmod +x "$repository/build/tests/unit/test_$1"
}

# summary STATUS LINE: what scripts/test.sh of that repository ends with.
summary() {
	expect "$1" env MTRACE_SKIP_DEPS=1 "$repository/scripts/test.sh" "${@:3}"
	[ "$(tail -n 1 "$work/output")" = "$2" ] || fail "ends with: $(tail -n 1 "$work/output"); expected: $2"
}

case_test_command() {
	make_repository
	summary 0 '12 passed, 0 failed, 3 skipped'
	summary 0 '3 passed, 0 failed' --filter one
	unit_program two 'echo "[====] Synthesis: Tested: 3 | Passing: 1 | Failing: 1 | Crashing: 1 "; exit 1'
	summary 1 '13 passed, 2 failed, 3 skipped'
	unit_program two 'kill -SEGV $$'
	summary 1 '12 passed, 1 failed, 3 skipped'
	unit_program two 'exit 0'
	summary 1 '12 passed, 1 failed, 3 skipped'
	make_repository
	printf '#!/bin/sh\nexit 2\n' >"$repository/tests/host/run.sh"
	summary 1 '7 passed, 1 failed, 1 skipped'
	make_repository
	printf 'all tests lint:\n\tfalse\n' >"$repository/Makefile"
	summary 1 '0 passed, 1 failed'
	make_repository
	summary 1 '0 passed, 0 failed' --filter nothing_is_called_so
}

case_wrong_usage() {
	local script
	for script in deps.sh test.sh demo.sh lint.sh bench.sh install.sh testrun.sh glibc_needs.sh; do
		expect 2 "scripts/$script" --no-such-option
		expect 0 "scripts/$script" --help
		expect_text "scripts/$script"
	done
	expect 1 env DEMO_RECORDS=many scripts/demo.sh
	expect_text 'DEMO_RECORDS=many: expected a whole number'
}

# ---- dependencies ------------------------------------------------------------------------------------------------

case_deps_without_apt() {
	local tool
	mkdir "$work/bin"
	for tool in bash env dirname realpath awk cat id; do
		ln -s "$(command -v "$tool")" "$work/bin/$tool"
	done
	expect 1 env PATH="$work/bin" scripts/deps.sh --build
	expect_text 'no apt'
	expect_text 'libzstd-dev          compressed blocks of the trace'
	expect_text '(optional)'
	expect 0 env PATH="$work/bin" MTRACE_SKIP_DEPS=1 scripts/deps.sh
}

# Installed and known packages, as a pretended apt says.
case_deps_plan() {
	mkdir "$work/bin"
	printf '#!/bin/sh\necho amd64\n' >"$work/bin/dpkg"
	cat >"$work/bin/dpkg-query" <<'SCRIPT'
#!/bin/sh
printf 'gcc amd64 installed\nlibzstd-dev i386 installed\nmake amd64 config-files\n'
SCRIPT
	cat >"$work/bin/apt-cache" <<'SCRIPT'
#!/bin/sh
shift
for name; do
	[ "$name" = libwiredtiger-dev ] || printf '%s:\n  Installed: (none)\n  Candidate: 1.0\n  Version table:\n' "$name"
done
SCRIPT
	ln -s /bin/false "$work/bin/apt-get"
	chmod +x "$work/bin"/*
	expect 1 env PATH="$work/bin:$PATH" scripts/deps.sh --build --dry-run
	expect_text 'missing: libzstd-dev'
	expect_text 'missing: make'
	expect_text 'left out, not available here: libwiredtiger-dev'
	! grep -q 'missing: gcc' "$work/output" || fail "gcc is there and was called missing"
}

# ---- the rest ----------------------------------------------------------------------------------------------------

case_install() {
	expect 0 make --no-print-directory install PREFIX=/opt/mtrace DESTDIR="$work/root"
	local file
	for file in bin/mtrace-analyze lib/mtrace/libmtrace.so share/doc/mtrace/LICENSE; do
		[ -s "$work/root/opt/mtrace/$file" ] || fail "not installed: $file"
	done
	expect 0 "$work/root/opt/mtrace/bin/mtrace-analyze" --help
	expect 0 "$work/root/opt/mtrace/share/mtrace/testrun.sh" --mode off -- /bin/true
	expect 0 env LD_PRELOAD="$work/root/opt/mtrace/lib/mtrace/libmtrace.so" MTRACE_MODE=off /bin/true
	[ ! -s "$work/output" ] || fail "the installed shim says: $(cat "$work/output")"
	expect 0 env CAMPAIGN_STATE="$work/state" "$work/root/opt/mtrace/share/mtrace/campaign.sh" --axis env:X=1,2 --threads 1 \
		--repetitions 1 --warmup 0 --seconds 1 --records 500 --pause 0 -o "$work/c"
	jq -e '.state == "done" and .trace.complete' "$work/c/runs/0002/manifest.json" >/dev/null || fail "the installed campaign failed"
	expect 0 make --no-print-directory uninstall PREFIX=/opt/mtrace DESTDIR="$work/root"
	[ -z "$(find "$work/root" -type f)" ] || fail "left behind: $(find "$work/root" -type f)"
}

# Medians of ratios within rounds: 90/100, 60/50, 80/100 -> 0.9; of counts 3 lost, 60/40 bytes an event.
case_bench_table() {
	{
		printf 'ycsb\tw\tuntraced\t1\tops_s\t100\nycsb\tw\tfull\t1\tops_s\t90\nycsb\tw\tfull\t1\tlost\t3\n'
		printf 'ycsb\tw\tfull\t1\tevents\t40\nycsb\tw\tfull\t1\ttrace_bytes\t60\n'
		printf 'ycsb\tw\tfull\t2\tops_s\t60\nycsb\tw\tuntraced\t2\tops_s\t50\n'
		printf 'ycsb\tw\tuntraced\t3\tops_s\t100\nycsb\tw\tfull\t3\tops_s\t80\n'
		printf 'ycsb\tw\tfull\t4\tops_s\t1\n' # its base failed
	} >"$work/results.tsv"
	expect 0 env BENCH_DIR="$work" bash -c '. bench/pairs.sh; table ycsb ops_s ratio'
	grep -qE '^w +full +70\.0 +0\.900 +0\.800\.\.1\.200 +3 +1\.50$' "$work/output" || fail "$(cat "$work/output")"
	grep -qE '^w +untraced +100\.0 *$' "$work/output" || fail "$(cat "$work/output")"
	expect 1 env BENCH_DIR="$work" BENCH_ROUNDS=0 bash -c '. bench/pairs.sh'
	expect_text 'BENCH_ROUNDS=0: expected a whole number'
}

# ---- memory of the analyzer --------------------------------------------------------------------------------------

make_peak_kib() {
	cat >"$work/peak_kib.c" <<'SOURCE'
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
/* Runs a program with its output thrown away; prints the most memory it had. */
int main(int argc, char **argv)
{
	struct rusage usage;
	int status;
	pid_t child = argc > 1 ? fork() : -1;
	if (child == 0) {
		dup2(open("/dev/null", O_WRONLY), 1);
		execv(argv[1], argv + 1);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0)
		return 1;
	printf("%ld\n", usage.ru_maxrss);
	return 0;
}
SOURCE
	gcc -D_GNU_SOURCE -o "$work/peak_kib" "$work/peak_kib.c" || fail "cannot build peak_kib"
}

# full_trace FILE PAIRS: a full-mode trace, the same live blocks whatever the number of pairs.
full_trace() {
	env LD_PRELOAD="$PWD/build/libmtrace.so" MTRACE_MODE=full MTRACE_STACK_DEPTH=0 MTRACE_OUT="$1" \
		build/mallocbench -pairs "$2" -window 20000 -repeat 1 >"$work/output" 2>&1 ||
		fail "no trace: $(cat "$work/output")"
}

# peaks_alike COMMAND...: it takes for the long trace at most a tenth more than for the short one.
peaks_alike() {
	local once twice
	once=$("$work/peak_kib" build/mtrace-analyze "$@" "$work/once.mtr") || fail "$*: the short trace"
	twice=$("$work/peak_kib" build/mtrace-analyze "$@" "$work/twice.mtr") || fail "$*: the long trace"
	say "$*: $once KiB, for twice the length $twice KiB"
	[ $((twice * 10)) -le $((once * 11)) ] || fail "$*: $once KiB, for twice the length $twice KiB"
}

# Long enough that a second of a fast guest is behind it.
case_analyzer_memory() {
	make_peak_kib
	full_trace "$work/once.mtr" 1500000
	full_trace "$work/twice.mtr" 3000000
	peaks_alike info
	peaks_alike sites --json
	peaks_alike export --format folded
	peaks_alike export --format csv
}

# ---- the runner --------------------------------------------------------------------------------------------------

for part in tests/scripts/cases_*.sh; do
	# shellcheck source=/dev/null
	. "$part"
done

passed=0
failed=0
skipped=0
names=("$@")
[ $# -gt 0 ] || mapfile -t names < <(declare -F | sed -n 's/^declare -f case_//p')
for name in "${names[@]}"; do
	declare -F "case_$name" >/dev/null || wrong_usage "no case is called $name"
	status=0
	(work=$work/$name && mkdir "$work" && "case_$name") >"$work/$name.log" 2>&1 || status=$?
	case $status in
	0)
		say "ok $name"
		passed=$((passed + 1))
		;;
	77)
		say "skip $name: $(tail -n 1 "$work/$name.log")"
		skipped=$((skipped + 1))
		;;
	*)
		say "FAIL $name: $(tail -n 1 "$work/$name.log")"
		failed=$((failed + 1))
		;;
	esac
done
summary="scripts: $passed passed, $failed failed"
[ "$skipped" = 0 ] || summary+=", $skipped skipped"
say "$summary"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
