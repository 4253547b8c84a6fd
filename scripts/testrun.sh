#!/usr/bin/env bash
# scripts/testrun.sh [--glibc DIR] [--trace PATH] [--mode MODE] [--] PROGRAM [ARG...]
#
# Runs a dynamically linked program under another glibc, under the shim, or under both. The program takes the place of
# this script: process id, argv[0], environment, signals and exit status are its own.
#
#   --glibc DIR      DIR as `make glibc` makes it (build/glibc/nolse), or a build folder of glibc itself
#   --trace PATH     preload the shim, which writes PATH (MTRACE_OUT, with its %p and the like)
#   --mode MODE      preload the shim: sample or full (MTRACE_MODE)
#   --shim FILE      the shim; default: build/libmtrace.so, for a program of Arm on another machine that of build/arm64
#   --emulator CMD   for a program of another machine, e.g. 'qemu-aarch64-static -L build/arm64/sysroot'
#   --check          say why PROGRAM would not run, or nothing, and run nothing
#
# PROGRAM without a slash is looked for in PATH. Its other libraries are the system's (LD_LIBRARY_PATH holds). Programs
# that it starts run under the system's glibc. `ps -C PROGRAM` finds it, though /proc/PID/exe is the loader.
#
# Exit status: the program's; 126 where it cannot be run (one line says why); 127 where there is no such program;
# 2 wrong usage.
set -euo pipefail
started_in=$PWD
locale_before=${LC_ALL-}
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
cd "$started_in"

glibc=
shim=
emulator=()
traced=0
check_only=0

refuse() {
	warn "$@"
	exit 126
}

read_options() {
	while [ $# -gt 0 ]; do
		case $1 in
		--glibc | --trace | --mode | --shim | --emulator) [ $# -gt 1 ] || wrong_usage "$1 needs a value" ;;
		esac
		case $1 in
		-h | --help) usage && exit 0 ;;
		--glibc) glibc=$2 && shift 2 ;;
		--trace) traced=1 && export MTRACE_OUT=$2 && shift 2 ;;
		--mode) traced=1 && export MTRACE_MODE=$2 && shift 2 ;;
		--shim) traced=1 && shim=$2 && shift 2 ;;
		--emulator) read -ra emulator <<<"$2" && shift 2 ;;
		--check) check_only=1 && shift ;;
		--) shift && break ;;
		-*) wrong_usage "unknown option: $1" ;;
		*) break ;;
		esac
	done
	[ $# -gt 0 ] || wrong_usage "no program"
	name=$1
	arguments=("${@:2}")
}

# ---- the program -------------------------------------------------------------------------------------------------

find_program() {
	program=$name
	[[ $name == */* ]] || program=$(type -P -- "$name") || { warn "$name: not found in PATH" && exit 127; }
	[ -f "$program" ] || { warn "$program: there is no such program" && exit 127; }
	[ -x "$program" ] || refuse "$program: may not be executed"
	program=$(realpath -s "$program")
}

# Machines as uname -m names them.
machine_of() { # FILE
	{ readelf -hW "$1" 2>/dev/null || true; } | sed -n 's/^ *Machine: *//p' | sed 's/.*X86-64.*/x86_64/; s/^AArch64$/aarch64/'
}

check_program() {
	command -v readelf >/dev/null || refuse "readelf is missing (package binutils)"
	machine=$(machine_of "$program")
	if [ -z "$machine" ]; then
		[ "$(head -c 2 "$program" | tr -d '\0')" != '#!' ] ||
			refuse "$program is a script; name its interpreter: $(head -n 1 "$program" | cut -c 3- | xargs) $program"
		refuse "$program is no ELF file"
	fi
	readelf -lW "$program" 2>/dev/null | grep -q 'INTERP' ||
		refuse "$program is linked statically: it holds its own C library, and neither another one nor the shim can come in"
}

# ---- glibc -------------------------------------------------------------------------------------------------------

# Sets loader and library_path.
find_glibc() {
	local part
	[ -d "$glibc" ] || refuse "--glibc $glibc: there is no such folder"
	glibc=$(realpath "$glibc")
	loader=$(find "$glibc" -maxdepth 1 -name 'ld*-*.so.*' ! -type d | head -n 1)
	library_path=$glibc
	if [ -z "$loader" ] && [ -e "$glibc/elf/ld.so" ]; then
		loader=$glibc/elf/ld.so
		# A build folder has its libraries where they were made.
		for part in math elf dlfcn nss nis rt resolv mathvec nptl nptl_db login malloc; do
			[ ! -d "$glibc/$part" ] || library_path+=:$glibc/$part
		done
	fi
	[ -n "$loader" ] || refuse "--glibc $glibc: neither a result of make glibc nor a build folder of glibc (no loader in it)"
	[ "$(machine_of "$loader")" = "$machine" ] ||
		refuse "$program is for $machine, the glibc in $glibc for $(machine_of "$loader")"
}

# run_loader ARG...: the loader itself, with the library path.
run_loader() { "${emulator[@]}" "$loader" --library-path "$library_path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@"; }

check_loader() {
	local status=0
	"${emulator[@]}" "$loader" --verify "$program" >/dev/null 2>&1 </dev/null || status=$?
	case $status in
	132) explain_sigill ;;
	126 | 127)
		refuse "$glibc is for $machine, this is $(uname -m): run it there, or give an emulator (--emulator 'qemu-$machine-static -L SYSROOT')"
		;;
	esac
}

explain_sigill() { warn "$glibc uses LSE instructions, which this CPU does not have: SIGILL is what comes of it. Take nolse or outline."; }

# Bit 8 of AT_HWCAP is HWCAP_ATOMICS; glibc 2.33 and newer say what they see. Said, and then left to happen.
check_lse() {
	local hwcap
	[ "$machine" = aarch64 ] && [ -e "$glibc/MANIFEST.json" ] || return 0
	grep -q '"variant": "lse"' "$glibc/MANIFEST.json" || return 0
	hwcap=$("${emulator[@]}" "$loader" --list-diagnostics 2>/dev/null | sed -n 's/^dl_hwcap=//p') || true
	[ -z "$hwcap" ] || [ $((hwcap & 256)) != 0 ] || explain_sigill
}

# What the loader would complain about, in words that say who asks for what.
check_libraries() {
	local output status=0 line
	output=$(LD_PRELOAD=$shim run_loader --list "$program" 2>&1 </dev/null) || status=$?
	while read -r line; do
		if [[ $line =~ version\ .(GLIBC_[0-9A-Z_.]+).\ not\ found\ \(required\ by\ (.*)\) ]]; then
			explain_version "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
		elif [[ $line =~ ([^ ]+)\ =\>\ not\ found ]] || [[ $line =~ libraries:\ ([^:]+):\ cannot\ open ]]; then
			refuse "$program needs the library ${BASH_REMATCH[1]}, which is not there"
		fi
	done <<<"$output"
	[ "$status" = 0 ] || [ "$status" = 132 ] || refuse "$program does not load under $glibc: $(tail -n 1 <<<"$output")"
}

explain_version() { # VERSION FILE
	local version
	version=$(jq -r .version "$glibc/MANIFEST.json" 2>/dev/null) || version=
	[ "$(basename "$2")" != "$(basename "${shim:-none}")" ] ||
		refuse "the shim $2 needs $1, which the glibc ${version:+$version }in $glibc does not have: build it on an older system"
	refuse "$2 needs $1, which the glibc ${version:+$version }in $glibc does not have: build a newer one (make glibc GLIBC_VERSION=)"
}

# ---- shim --------------------------------------------------------------------------------------------------------

find_shim() {
	if [ -z "$shim" ]; then
		shim=$root/build/libmtrace.so
		# As `make install` lays it out: this script is in share/mtrace.
		[ -e "$shim" ] || [ ! -e "$root/../lib/mtrace/libmtrace.so" ] || shim=$root/../lib/mtrace/libmtrace.so
		[ "$machine" = "$(uname -m)" ] || [ "$machine" != aarch64 ] || shim=$root/build/arm64/libmtrace.so
	fi
	[ -e "$shim" ] || refuse "the shim $shim is not there: make builds it (make arm64 for Arm)"
	[ "$(machine_of "$shim")" = "$machine" ] || refuse "the shim $shim is for $(machine_of "$shim"), $program for $machine"
	shim=$(realpath "$shim")
}

# ---- start -------------------------------------------------------------------------------------------------------

# What common.sh set is not for the program.
restore_locale() {
	[ -n "$locale_before" ] && export LC_ALL=$locale_before || unset LC_ALL
}

# In glibc's form the folder's own testrun.sh starts it; a build folder's would change the program's locale.
start_under_glibc() {
	if [ "$library_path" = "$glibc" ] && [ ${#emulator[@]} = 0 ]; then
		TESTRUN_PRELOAD=${LD_PRELOAD-} TESTRUN_ARGV0=$name
		unset LD_PRELOAD
		export TESTRUN_PRELOAD TESTRUN_ARGV0
		exec "$glibc/testrun.sh" "$program" "${arguments[@]}"
	fi
	local options=(--library-path "$library_path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
	! "${emulator[@]}" "$loader" --help 2>/dev/null | grep -q -e --argv0 || options+=(--argv0 "$name")
	exec "${emulator[@]}" "$loader" "${options[@]}" "$program" "${arguments[@]}"
}

read_options "$@"
find_program
check_program
[ $traced = 0 ] || find_shim
if [ -n "$glibc" ]; then
	find_glibc
	check_loader
	check_lse
	check_libraries
elif [ "$machine" != "$(uname -m)" ] && [ ${#emulator[@]} = 0 ] && ! compgen -G "/proc/sys/fs/binfmt_misc/*$machine" >/dev/null; then
	refuse "$program is for $machine, this is $(uname -m): run it there, or give an emulator (--emulator)"
fi
[ $check_only = 0 ] || exit 0
[ $traced = 0 ] || export LD_PRELOAD=$shim${LD_PRELOAD:+:$LD_PRELOAD}
restore_locale
[ -z "$glibc" ] || start_under_glibc
[ ${#emulator[@]} = 0 ] || exec "${emulator[@]}" "$program" "${arguments[@]}"
exec -a "$name" "$program" "${arguments[@]}"
