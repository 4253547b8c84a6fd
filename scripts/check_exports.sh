#!/usr/bin/env bash
# scripts/check_exports.sh [LIBRARY [EXPORTS_MAP]]
#
# The shared object exports exactly the names that shim/exports.map lists as global: one more would take a symbol
# away from the guest, one less would leave calls unseen. Prints the differences. Exit status 0 or 1.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
library=${1:-build/libmtrace.so}
map=${2:-shim/exports.map}
[ -e "$library" ] || die "$library is not there: build it with make"

# Names between "global:" and "local:", comments removed.
listed() {
	sed -e 's|#.*||' -e 's|/\*.*\*/||' "$map" | tr '\n\t' '  ' |
		sed -e 's/.*global://' -e 's/local:.*//' | tr -s '; ' '\n' | sed '/^$/d' | sort
}

exported() {
	nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort
}

! listed | grep -q '[*?[]' || die "$map: patterns cannot be checked, list each name"
[ -n "$(listed)" ] || die "$map: lists no global name"
differences=$(comm -3 <(listed) <(exported) | awk -F '\t' '
	$1 != "" { print $1 ": listed but not exported" }
	$2 != "" { print $2 ": exported but not listed" }')
[ -n "$differences" ] || exit 0
say "$differences"
exit 1
