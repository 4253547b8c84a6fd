#!/usr/bin/env bash
# glibc-build/build.sh VARIANT        (make glibc VARIANT=...)
#
# Builds a glibc of one's own, to run programs under it (scripts/testrun.sh):
#   lse      aarch64, atomics as LSE instructions only       nolse   aarch64, as exclusive pairs only
#   outline  aarch64, as helper calls that choose at run time (what distributions ship)
#   native   this machine's architecture, the compiler's defaults
# The three for aarch64 differ in that one flag; on another machine they are cross-compiled.
#
# GLIBC_VERSION   which version; default: the one that the package glibc-source has
# GLIBC_TARBALL   a source archive (glibc-VERSION.tar.*) instead of the package's, with its checksum in
# GLIBC_SHA256    (needed with GLIBC_TARBALL; checked wherever it is given)
# GLIBC_DIR       where the results go; default build/glibc
# GLIBC_JOBS      compilers at a time; default: one a processor
# GLIBC_PROGRAM   a program that is to run under it: refused at once where it needs a newer version
#
# Result: GLIBC_DIR/VARIANT (for native: VARIANT-ARCHITECTURE) with the loader, the libraries, testrun.sh and MANIFEST.json. It
# appears when it is complete. What was begun is continued; a result that was made in the same way is left as it is.
# The log lies beside it (.log). A result whose code contradicts its name is refused.
#
# Exit status: 0 the result is there; 1 it could not be built; 2 wrong usage.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR/../scripts source=common.sh
. "$(dirname "$0")/../scripts/common.sh"
# shellcheck source-path=SCRIPTDIR source=variant.sh
. glibc-build/variant.sh
# shellcheck source-path=SCRIPTDIR source=source.sh
. glibc-build/source.sh
# shellcheck source-path=SCRIPTDIR source=result.sh
. glibc-build/result.sh

# Folders with libraries that a program may need besides libc and the loader. Left out: libcrypt (the system's own goes on),
# static libraries, iconv's modules, locales and daemons, which the libraries find where the system has them.
parts=(nptl nptl_db math mathvec rt resolv nss hesiod nis login malloc dlfcn)
# Only what goes into shared objects is compiled, which is half of it.
shared_only=(object-suffixes=.os)
# Another number makes another key: to be raised when these scripts change what comes out.
recipe=1

case $#:${1:-} in
1:-h | 1:--help) usage && exit 0 ;;
1:lse | 1:nolse | 1:outline | 1:native) variant=$1 ;;
0:) wrong_usage "which variant? make glibc VARIANT=lse|nolse|outline|native" ;;
*) wrong_usage "there is no variant '$*'" ;;
esac

glibc_dir=${GLIBC_DIR:-build/glibc}
jobs=${GLIBC_JOBS:-$(nproc)}
whole_number GLIBC_JOBS "$jobs"
mkdir -p "$glibc_dir"
glibc_dir=$(realpath "$glibc_dir")

# logged NAME COMMAND...: its output goes into the log; the end of it is shown where it fails.
logged() {
	local name=$1 started=$SECONDS
	shift
	say "glibc: $name"
	printf '==== %s\n' "$*" >>"$log"
	"$@" >>"$log" 2>&1 </dev/null || {
		tail -n 15 "$log" >&2
		die "$name failed; the whole log: $log"
	}
	say "glibc: $name: $((SECONDS - started)) s"
}

configure_glibc() {
	[ ! -e "$work/configured" ] || return 0
	rm -rf "$work/objects"
	mkdir -p "$work/objects"
	system_folders >"$work/objects/configparms"
	logged configure env -C "$work/objects" CFLAGS="$flags" CXXFLAGS="$flags" CC="$compiler" CXX= \
		"$source/configure" "${configure_line[@]}"
	: >"$work/configured"
}

# Quiet, and the same on every system: no settings of the user's make.
make_glibc() { env -u MAKEFLAGS -u MAKEOVERRIDES -u MFLAGS make -j"$jobs" -C "$work/objects" "${shared_only[@]}" "$@"; }

build_glibc() {
	[ ! -e "$work/built" ] || return 0
	logged "make libc" make_glibc lib
	logged "make the other libraries" make_glibc "${parts[@]/%//others}"
	: >"$work/built"
}

main() {
	local key result work log
	find_compiler
	find_source
	program_runs
	key=$(build_key)
	result=$glibc_dir/$(result_name)
	work=$result.work
	log=$result.log
	exec 9>"$result.lock"
	flock -n 9 || die "another build of $result is running"
	if result_is_current "$result" "$key"; then
		say "glibc: $result is there already"
		return 0
	fi
	[ "$(cat "$work/key" 2>/dev/null)" = "$key" ] || rm -rf "$work"
	mkdir -p "$work"
	printf '%s\n' "$key" >"$work/key"
	unpack_source
	configure_glibc
	build_glibc
	logged "collect" collect_result "$work/result"
	take_census "$work/result"
	check_census
	write_manifest "$work/result" "$key"
	rm -rf "$result"
	mv "$work/result" "$result"
	rm -rf "$work"
	say "glibc: $result"
}

# The shell reads a script as it runs it: what follows is read whole.
{
	main
	exit
}
