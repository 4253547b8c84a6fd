#!/usr/bin/env bash
# scripts/lint.sh [CHECK...]
#
# What is checked without running anything; every warning is an error. Without arguments all of it:
#   format     clang-format                    includes  rule of the folders (check_includes.sh)
#   gcc clang  all sources with both compilers  exports   names of libmtrace.so (check_exports.sh)
#   tidy       clang-tidy (.clang-tidy)         versions  symbol versions and libraries (check_symbol_versions.sh)
#   cppcheck   cppcheck                         shell     shellcheck
# format, tidy and cppcheck are left out where the tools are of another release than Debian 12's, unless asked for.
# exports and versions look at build/libmtrace.so. The last line sums up: "lint: N passed, N failed".
#
# Exit status: 0 all passed; 1 something failed; 2 wrong usage.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

all_checks=(format includes exports versions shell gcc clang cppcheck tidy)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
jobs=$(nproc)
# Newer releases of clang know warnings that older ones do not, and put one of them into -Wextra.
clang_flags="-Wno-unknown-warning-option -Wno-enum-float-conversion"
# Where lines are broken and what is found differs from release to release: Debian 12's tools must be content.
declare -A made_for=([format]=14 [tidy]=14 [cppcheck]=2.10)
passed=0
failed=0
skipped=0

sources() { find trace shim analyzer bench tests -name '*.[ch]' | sort; }

# each_source FOLDERS COMMAND: runs "COMMAND" for each compiled source of these folders (an alternation), in parallel,
# with its path and flags in place of @FILE@ and @FLAGS@.
each_source() {
	local folders=$1 command=$2 file flags line
	[ -e "$work/cflags" ] || scripts/cflags.sh >"$work/cflags"
	[ -s "$work/cflags" ] || { say "no sources found by scripts/cflags.sh" && return 1; }
	while IFS=$'\t' read -r file flags; do
		[[ $file =~ ^($folders)/ ]] || continue
		line=${command//@FILE@/$file}
		printf '%s\0' "${line//@FLAGS@/$flags}"
	done <"$work/cflags" | xargs -0 -P "$jobs" -n 1 bash -c
}

# Names the files; `clang-format -i FILE` is the way out, so no need to see each place.
check_format() {
	local wrong
	wrong=$(sources | xargs clang-format --dry-run 2>&1 |
		sed -n 's/:[0-9]*:[0-9]*: .*clang-formatted.*//p' | sort -u)
	[ -n "$wrong" ] || return 0
	say "not formatted (clang-format -i FILE):" "$wrong"
	return 1
}
check_includes() { scripts/check_includes.sh; }
check_exports() { scripts/check_exports.sh; }
check_versions() { scripts/check_symbol_versions.sh; }
check_shell() {
	find scripts glibc-build bench tests .ci -type f \( -name '*.sh' -o -path '.ci/run' \) -print0 | sort -z | xargs -0 shellcheck -x -S warning
}

# gcc finds part of what it finds only while it optimizes; a compiled file is thrown away.
check_gcc() { each_source 'trace|shim|analyzer|bench|tests' "gcc @FLAGS@ -Werror -c -o /dev/null @FILE@"; }
check_clang() { each_source 'trace|shim|analyzer|bench|tests' "clang @FLAGS@ $clang_flags -Werror -fsyntax-only @FILE@"; }

# tidy_one FILE FLAG...: what passed once is remembered by its preprocessed text with comments, flags and settings.
# clang-tidy counts on standard error the warnings that it suppressed; that is no news.
tidy_one() {
	local file=$1 key
	shift
	# shellcheck disable=SC2086 # several flags
	set -- "$@" $clang_flags
	key=$({ clang-tidy --version && cat .clang-tidy "${file%/*}/.clang-tidy" 2>/dev/null; say "$*" && clang "$@" -E -C "$file"; } | sha256sum)
	key=build/lint/tidy-${key%% *}
	[ ! -e "$key" ] || return 0
	clang-tidy --quiet --warnings-as-errors='*' "$file" -- "$@" 2>"$work/tidy.$$" || { cat "$work/tidy.$$" && return 1; }
	mkdir -p build/lint && : >"$key"
}
export -f tidy_one say
export work clang_flags

check_tidy() { each_source 'trace|shim|analyzer|bench' "tidy_one @FILE@ @FLAGS@"; }

check_cppcheck() {
	cppcheck --quiet -j "$jobs" --std=c11 --language=c --enable=warning,performance,portability --inline-suppr \
		--error-exitcode=1 --max-configs=4 --suppressions-list=scripts/cppcheck.txt -I. "-Ishim/arch/$(uname -m)" -D_GNU_SOURCE -D__linux__ \
		trace shim analyzer bench
}

# run_check NAME: one line, and the check's output where it failed.
run_check() {
	local name=$1 started=$SECONDS
	if "check_$name" >"$work/$name.log" 2>&1; then
		say "ok   $name ($((SECONDS - started)) s)"
		passed=$((passed + 1))
	else
		sed -n '1,2000s/^/     /p' "$work/$name.log"
		say "FAIL $name ($((SECONDS - started)) s)"
		failed=$((failed + 1))
	fi
}

skip() {
	say "skip $1: $2"
	skipped=$((skipped + 1))
	return 1
}

tool_version() {
	case $1 in
	cppcheck) cppcheck --version | sed -n 's/^Cppcheck \([0-9.]*\).*/\1/p' ;;
	*) "clang-$1" --version | sed -n 's/.*version \([0-9]*\)\..*/\1/p' ;;
	esac
}

# False, with the reason, where this system's tools cannot make the check as one of all.
available() {
	local version
	case $1 in
	shell) command -v shellcheck >/dev/null || skip "$1" "shellcheck is not installed" ;;
	format | tidy | cppcheck)
		version=$(tool_version "$1")
		[ "$version" = "${made_for[$1]}" ] ||
			skip "$1" "made for version ${made_for[$1]}, this is $version (scripts/lint.sh $1 runs it all the same)"
		;;
	esac
}

checks=("$@")
[ $# -gt 0 ] || checks=("${all_checks[@]}")
for check in "${checks[@]}"; do
	case $check in
	-h | --help) usage && exit 0 ;;
	esac
	[[ " ${all_checks[*]} " == *" $check "* ]] || wrong_usage "no check is called $check"
done
for check in "${checks[@]}"; do
	if [ $# -gt 0 ] || available "$check"; then run_check "$check"; fi
done
summary="lint: $passed passed, $failed failed"
[ "$skipped" = 0 ] || summary+=", $skipped skipped"
say "$summary"
[ "$failed" = 0 ]
