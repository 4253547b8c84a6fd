#!/usr/bin/env bash
# Host tests: each guest runs without the shim and with it, in both modes, and must print and end the same.
#
# usage: tests/host/run.sh [--filter GLOB] [--shim PATH] [--analyze PATH] [--guests DIR] [--launcher COMMAND] [--jobs N] [--slower N] [--keep] [--list]
#
# Guests and shim may be of another processor than this machine, where its kernel can start them or COMMAND, put before
# each guest, does: an emulator that hands the environment on; then limits and pauses are four times as long, or as --slower
# says. Cases that this cannot do are skipped, with the reason.
#
# A case is a function case_NAME in one of the files cases_*.sh; it runs in a folder of its own. Needs bash, coreutils,
# util-linux and jq. Exit status: 0 all passed, 1 something failed, 2 wrong usage or nothing to test with.
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
filter='*' shim=$root/build/libmtrace.so analyze=$root/build/mtrace-analyze guests=$root/build/host
jobs=2 keep=0 list=0 launcher='' slower=''
limit_s=60 # no guest takes longer, the slowest machine included

usage() {
	sed -n '4s/^# //p' "${BASH_SOURCE[0]}" >&2
	exit 2
}

while [ $# -gt 0 ]; do
	case $1 in
	--keep) keep=1 ;;
	--list) list=1 ;;
	--filter | --shim | --analyze | --guests | --launcher | --jobs | --slower)
		[ $# -ge 2 ] || usage
		declare "${1#--}=$2"
		shift
		;;
	*) usage ;;
	esac
	shift
done

# ---- what cases are made of --------------------------------------------------------------------------------------

fail() {
	echo "$*" >reason
	exit 1
}

skip() {
	echo "$*" >reason
	exit 77
}

# Runs a command under a time limit; LABEL.out, LABEL.err and LABEL.status are what it printed and how it ended. Ends
# when nobody holds the output any more: what has detached itself is waited for.
run() { # LABEL COMMAND...
	local label=$1
	shift
	rm -f "$label.counts"
	GUEST_COUNTS=$PWD/$label.counts timeout -k 5 "$limit_s" "$@" 2>"$label.err" </dev/null |
		timeout -k 5 $((limit_s + 10)) cat >"$label.out"
	echo "${PIPESTATUS[0]}" >"$label.status"
	case $(cat "$label.status") in
	124 | 137) [ "${expected_status:-}" = 137 ] || fail "$label: still running after $limit_s s, or killed" ;;
	esac
}

# Guests of another processor: foreign=1. Under a launcher the guest is its argument.
elf_machine() { # FILE
	od -An -tu2 -j 18 -N 2 "$1" | tr -d ' '
}

# The emulator runs this processor's programs untraced, and their loader complains about the foreign shim.
needs_native() { # WHAT
	[ "$foreign" = 0 ] || skip "under emulation: $1"
}

# What emulators do not do. A child of a fork that comes to no hook looks like its parent.
# shellcheck disable=SC2034 # used by the cases
no_wipe='memory is not wiped at a fork (MADV_WIPEONFORK)' \
	no_spawn_error='posix_spawn does not report what its child could not execute' \
	no_shell='the shell is of this machine, and its loader complains about the shim'

needs_no_launcher() {
	[ ${#launch[@]} = 0 ] || skip "guests cannot start each other, nor be started by other programs, under a launcher"
}

launched() { # COMMAND...: sets `command`
	command=("$@")
	[[ $1 == "$guests/"* ]] || needs_native "it traces programs of this machine"
	[[ $1 != "$guests/"* ]] || command=("${launch[@]}" "$@")
}

# The command under the shim. `preload` names objects that come after it, `settings` more of the environment, and
# `before` a command that runs the whole, itself untraced.
preload='' settings=() before=()
traced() { # LABEL MODE COMMAND...
	local label=$1 mode=$2
	shift 2
	launched "$@"
	run "$label" "${before[@]}" env LD_PRELOAD="$shim${preload:+ $preload}" MTRACE_OUT="$PWD/$label.mtr" MTRACE_MODE="$mode" \
		"${settings[@]}" "${command[@]}"
}

untraced() { # LABEL COMMAND...
	local label=$1
	shift
	launched "$@"
	run "$label" "${before[@]}" env ${preload:+LD_PRELOAD="$preload"} "${command[@]}"
	if grep -q '^check failed' "$label.out"; then
		fail "already without the shim: $(grep -m1 '^check failed' "$label.out")"
	fi
	[ "$(cat "$label.status")" -lt 128 ] || [ "$(cat "$label.status")" = "${expected_status:-}" ] ||
		fail "already without the shim: ends with $(cat "$label.status")"
}

# What the guest printed and how it ended, against the run without the shim.
same() { # LABEL [REFERENCE]
	local label=$1 reference=${2:-plain}
	grep -v '^mtrace:' "$label.err" >"$label.err.guest"
	cmp -s "$reference.status" "$label.status" ||
		fail "$label: exit status $(cat "$label.status"), without the shim $(cat "$reference.status")$(said "$label")"
	cmp -s "$reference.out" "$label.out" ||
		fail "$label: output differs: $(diff "$reference.out" "$label.out" | sed -n 2,3p | tr '\n' ' ')"
	cmp -s "$reference.err" "$label.err.guest" ||
		fail "$label: error output differs: $(diff "$reference.err" "$label.err.guest" | sed -n 2,3p | tr '\n' ' ')"
}

said() { # LABEL
	[ ! -s "$1.err" ] || printf ' (%s)' "$(tail -n 2 "$1.err" | tr '\n' ' ')"
}

# Without the shim, then in both modes: everything the same, and the shim silent unless the case has set silent=0.
silent=1
compare() { # COMMAND...
	untraced plain "$@"
	local mode
	for mode in sample full; do
		rm -f "$mode".mtr*
		traced "$mode" "$mode" "$@"
		same "$mode"
		[ "$silent" = 0 ] || ! grep -q '^mtrace:' "$mode.err" || fail "$mode: unexpected message: $(grep -m1 '^mtrace:' "$mode.err")"
	done
}

guest() { # NAME [ARG...]
	local name=$1
	shift
	compare "$guests/$name" "$@"
}

# `info --json` of a trace into LABEL.json; STATUSES is what it may end with.
info() { # LABEL [TRACE [STATUSES]]
	local label=$1 trace=${2:-$PWD/$1.mtr} statuses=${3:-0} status
	[ -e "$trace" ] || fail "$label: no trace $(basename "$trace")"
	timeout "$limit_s" "$analyze" info --json "$trace" >"$label.json" 2>"$label.info.err"
	status=$?
	case " $statuses " in
	*" $status "*) ;;
	*) fail "$label: mtrace-analyze info ends with $status: $(head -n 2 "$label.info.err" | tr '\n' ' ')" ;;
	esac
	jq -e type "$label.json" >/dev/null 2>&1 || fail "$label: mtrace-analyze info printed no JSON"
}

# Something that must be true of LABEL.json.
fact() { # LABEL JQ-EXPRESSION
	jq -e "$2" "$1.json" >/dev/null 2>&1 || fail "$1: not so: $2 (found: $(found "$1" "$2"))"
}

found() { # LABEL JQ-EXPRESSION: the fields that the expression names
	local fields
	fields=$(grep -o '\.[a-z_]*[a-z]' <<<"$2" | sort -u | sed 's/^\.\(.*\)/"\1 \\(.\1)"/' | paste -sd,)
	jq -r "[$fields] | join(\", \")" "$1.json" 2>/dev/null
}

# What the guest counted itself, against the trace.
counts() { # LABEL
	local field least most
	[ -s "$1.counts" ] || return 0
	while read -r field least most; do
		fact "$1" ".$field >= $least and .$field <= $most"
	done <"$1.counts"
}

# Both modes: one finished file, nothing lost, the guest's own counts. `complete lossy` where a guest may outrun the
# recorder: then losses are counted, and the guest's counts hold with them.
complete() { # [lossy]
	local mode
	for mode in sample full; do
		info "$mode"
		fact "$mode" ".complete == true and .mode == \"$mode\""
		[ "${1:-}" = lossy ] || fact "$mode" ".lost == 0"
		counts "$mode"
		[ "$(find . -name "$mode.mtr*" | wc -l)" = 1 ] ||
			fail "$mode: a finished trace is one file: $(find . -name "$mode.mtr*" | tr '\n' ' ')"
	done
}

# Both modes, where the end came suddenly: readable.
readable() {
	local mode
	for mode in sample full; do
		info "$mode"
		counts "$mode"
	done
}

# The traces with PREFIX in their name whose program is NAME, one a line.
traces_of() { # PREFIX NAME
	local trace
	for trace in "$1"*; do
		[ "$(timeout "$limit_s" "$analyze" info --json "$trace" 2>/dev/null |
			jq -r '.exe // "" | split("/") | last' 2>/dev/null)" != "$2" ] || echo "$trace"
	done
}

need_root() {
	[ "$(id -u)" = 0 ] || skip "needs root"
}

need_namespaces() { # UNSHARE-OPTION...
	need_root
	unshare "$@" true 2>/dev/null || skip "unshare $* is not permitted here"
}

# ---- the runner --------------------------------------------------------------------------------------------------

for file in "$here"/cases_*.sh; do
	# shellcheck source=/dev/null
	. "$file"
done
names=$(declare -F | sed -n 's/^declare -f case_//p')
selected=()
for name in $names; do
	# shellcheck disable=SC2053
	[[ $name == $filter ]] && selected+=("$name")
done
if [ "$list" = 1 ]; then
	printf '%s\n' "${selected[@]}"
	exit 0
fi

[ ${#selected[@]} -gt 0 ] || { echo "host: no case is called $filter (--list shows them)" >&2 && exit 2; }
[ -e "$shim" ] || { echo "host: no shim at $shim: build it with make, or name it with --shim" >&2 && exit 2; }
[ -x "$analyze" ] || { echo "host: no analyzer at $analyze: build it with make, or name it with --analyze" >&2 && exit 2; }
[ -x "$guests/counted" ] || { echo "host: no guests in $guests: build them with make host" >&2 && exit 2; }
command -v jq >/dev/null || { echo "host: jq is missing: scripts/deps.sh installs it" >&2 && exit 2; }
foreign=0
[ "$(elf_machine "$guests/counted")" = "$(elf_machine "$(readlink -f /proc/$$/exe)")" ] || foreign=1
[ -n "$slower" ] || slower=$((foreign ? 4 : 1))
limit_s=$((limit_s * slower))
export GUEST_SLOWER=$slower # pauses of guests in which the shim is to look
read -ra launch <<<"$launcher"
shim=$(realpath "$shim") analyze=$(realpath "$analyze") guests=$(realpath "$guests")

work=$(mktemp -d "${TMPDIR:-/tmp}/mtrace-host.XXXXXX")
chmod 755 "$work"
trap '[ "$keep" = 1 ] && echo "host: kept $work" || rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
ulimit -c 0

run_case() { # NAME
	mkdir "$work/$1" && cd "$work/$1" || exit 1
	local started=$SECONDS status
	(
		set +m
		"case_$1"
	) >log 2>&1
	status=$?
	[ "$status" = 0 ] || [ -s reason ] || echo "ends with $status: $(tail -n 1 log)" >reason
	case $status in
	0) echo "ok $1 ($((SECONDS - started)) s)" ;;
	77) echo "skip $1: $(cat reason)" ;;
	*) echo "FAIL $1: $(cat reason)" ;;
	esac
	echo "$status" >"$work/$1.result"
	[ "$keep" = 1 ] || rm -rf "${work:?}/$1"
}

running=0
for name in "${selected[@]}"; do
	if [ "$running" -ge "$jobs" ]; then
		wait -n
		running=$((running - 1))
	fi
	run_case "$name" &
	running=$((running + 1))
done
wait

passed=$(cat "$work"/*.result | grep -cx 0)
skipped=$(cat "$work"/*.result | grep -cx 77)
failed=$((${#selected[@]} - passed - skipped))
echo "host: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
