#!/usr/bin/env bash
# scripts/check_includes.sh [ROOT]
#
# The rule of the folders: trace/ includes only trace/, shim/ and analyzer/ only themselves and trace/, bench/ only
# itself. Headers are named by their folder, file names are unique, headers include each other in no circle, both
# folders of shim/arch/ hold the same names, and what depends on the processor stays inside them.
#
# ROOT is the tree to check (for tests; by default this one). Prints what is wrong, a line each. Exit status 0 or 1.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
cd "${1:-$root}"

wrong=0
complain() {
	wrong=1
	say "$@"
}

# Lines "file<TAB>included" of every quoted include.
includes() {
	grep -rE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$@" |
		sed 's/^\([^:]*\):[^"]*"\([^"]*\)".*/\1\t\2/' | sort
}

# shim/arch/<arch>/ is on the include path of shim/, so its headers are named bare.
folder_rule() {
	local folder=$1 allowed=" $2 " file included
	while IFS=$'\t' read -r file included; do
		[ "$folder" = shim ] && [ -e "shim/arch/x86_64/$included" ] && continue
		[[ $included == */* ]] || { complain "$file: \"$included\" is named without its folder" && continue; }
		[[ $allowed == *" ${included%%/*} "* ]] || complain "$file: $folder/ must not include \"$included\""
	done < <(includes "$folder")
}

unique_names() {
	local double
	while read -r double; do
		complain "file name used more than once: $double ($(find trace shim analyzer bench -name "$double" | tr '\n' ' '))"
	done < <(find trace shim analyzer bench -name '*.[chS]' -not -path 'shim/arch/*' -printf '%f\n' | sort | uniq -d)
}

no_circles() {
	local circle
	circle=$(includes trace shim analyzer bench | awk -F '\t' '$1 ~ /\.h$/ { print $1, $2 }' | tsort 2>&1 >/dev/null || true)
	[ -z "$circle" ] || complain "headers include each other in a circle:" "$(tr '\n' ' ' <<<"$circle")"
}

arch_folders() {
	local here there line
	here=$(cd shim/arch/x86_64 && ls)
	there=$(cd shim/arch/aarch64 && ls)
	[ "$here" = "$there" ] || complain "shim/arch/x86_64 and shim/arch/aarch64 hold different files"
	while read -r line; do
		complain "$line: depends on the processor outside of shim/arch/"
	done < <(grep -rnE '__(aarch64|arm64|x86_64|amd64|i386)__' trace shim analyzer bench --include='*.[ch]' --exclude-dir=arch | cut -d: -f1,2)
}

folder_rule trace "trace"
folder_rule shim "shim trace"
folder_rule analyzer "analyzer trace"
folder_rule bench "bench"
unique_names
no_circles
arch_folders
exit "$wrong"
