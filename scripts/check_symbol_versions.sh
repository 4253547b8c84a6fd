#!/usr/bin/env bash
# scripts/check_symbol_versions.sh [LIBRARY]
#
# libmtrace.so must load wherever mongod 8 runs, RHEL 8 (glibc 2.28) being the oldest: no symbol version newer than
# that, no library that such a host may lack, nothing undefined that the guest could define by chance, no relocations
# in its code and no executable stack. Prints what is wrong, a line each. Exit status 0 or 1.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
library=${1:-build/libmtrace.so}
newest=2.28
[ -e "$library" ] || die "$library is not there: build it with make"

wrong=0
complain() {
	wrong=1
	say "$@"
}

newer_than() { [ "$1" != "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | tail -n 1)" = "$1" ]; }

needed_libraries() {
	local name
	while read -r name; do
		case $name in
		libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | ld-linux*.so.*) ;;
		*) complain "needs $name, which a host may lack" ;;
		esac
	done < <(readelf -dW "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
}

# Versions asked for as a whole (they hold what no symbol names, too: GLIBC_ABI_DT_RELR).
needed_versions() {
	local version
	while read -r version; do
		case $version in
		GLIBC_[0-9]*)
			if newer_than "${version#GLIBC_}" "$newest"; then
				complain "needs $version: $(symbols_of "$version")"
			fi
			;;
		*) complain "needs version $version" ;;
		esac
	done < <(readelf -VW "$library" | awk '/^Version needs/ { on = 1 } on && /Name: / { sub(/.*Name: /, ""); print $1 }' | sort -u)
}

symbols_of() { nm -D --undefined-only "$library" | awk -v v="@$1" 'index($2, v) { sub(/@.*/, "", $2); print $2 }' | tr '\n' ' '; }

# The linker's own weak references apart, an undefined symbol without a version binds to whatever the guest has.
unversioned() {
	local name
	while read -r name; do
		case $name in
		*@* | _ITM_registerTMCloneTable | _ITM_deregisterTMCloneTable | __gmon_start__) ;;
		*) complain "undefined without a version: $name" ;;
		esac
	done < <(nm -D --undefined-only "$library" | awk '{ print $2 }')
}

loading() {
	! readelf -dW "$library" | grep -q TEXTREL || complain "has relocations in its code"
	readelf -lW "$library" | awk '$1 == "GNU_STACK" && /RWE/ { bad = 1 } END { exit bad }' || complain "asks for an executable stack"
}

needed_libraries
needed_versions
unversioned
loading
exit "$wrong"
