#!/usr/bin/env bash
# scripts/glibc_needs.sh PROGRAM [VERSION]
#
# The newest version of glibc that PROGRAM needs, or one of its libraries, as this system has them. With VERSION: whether
# that version is enough; each file that needs a newer one is named. Libraries of a program for another machine are not
# looked at. Nothing of the program is run.
#
# Exit status: 0 printed, or enough; 1 not enough; 2 wrong usage; 3 PROGRAM cannot be read.
set -euo pipefail
started_in=$PWD
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
cd "$started_in"

case $#:${1:-} in
1:-h | 1:--help) usage && exit 0 ;;
1:-* | 2:-*) wrong_usage "unknown option: $1" ;;
1:* | 2:*) ;;
*) wrong_usage "wrong arguments: $*" ;;
esac
program=$1
version=${2:-}
[[ -z $version || $version =~ ^[0-9]+(\.[0-9]+)+$ ]] || wrong_usage "'$version' is no version"
interpreter=$(readelf -lW "$program" 2>/dev/null | sed -n 's/.*program interpreter: \(.*\)\]/\1/p') || true
readelf -h "$program" >/dev/null 2>&1 || { warn "$program is no ELF file that can be read" && exit 3; }

# The versions that a file asks of glibc's libraries, the newest last.
needed_of() { # FILE
	readelf -VW "$1" 2>/dev/null | sed -n 's/.*Name: GLIBC_\([0-9][0-9.]*\) .*/\1/p' | sort -uV | tail -n 1
}

# The program and its libraries, glibc's own left out: those come with the version.
files() {
	say "$program"
	[ -x "$interpreter" ] || return 0
	"$interpreter" --list "$program" 2>/dev/null | sed -n 's/^\t\(.* => \)\?\([^ ]*\/[^ ]*\) (0x.*/\2/p' |
		grep -vE '/(ld-linux[^/]*|lib(c|m|pthread|dl|rt|util|resolv|anl|mvec|nsl|thread_db|BrokenLocale|nss_[a-z]*))\.so[.0-9]*$' || true
}

newest=0
enough=0
while read -r file; do
	needed=$(needed_of "$file")
	[ -n "$needed" ] || continue
	newest=$(printf '%s\n' "$newest" "$needed" | sort -V | tail -n 1)
	if [ -n "$version" ] && [ "$(printf '%s\n' "$version" "$needed" | sort -V | tail -n 1)" != "$version" ]; then
		say "$file needs glibc $needed"
		enough=1
	fi
done < <(files)
[ -n "$version" ] || say "$newest"
exit $enough
