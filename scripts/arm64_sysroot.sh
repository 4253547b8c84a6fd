#!/usr/bin/env bash
# scripts/arm64_sysroot.sh [FOLDER]
#
# Lays the distribution's arm64 headers and libraries, as the cross compiler and the emulator need them, into FOLDER
# (default build/arm64/sysroot). The system's own packages and apt's own state stay as they are: apt works in a root of
# its own below FOLDER.apt, packages are unpacked and not installed, so their scripts never run.
#
# A folder that is complete and was made from the same list of packages is left as it is.
#
# Exit status: 0 the sysroot is there; 1 it could not be made.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

case ${1:-} in
-h | --help) usage && exit 0 ;;
-*) wrong_usage "unknown option: $1" ;;
esac
sysroot=${1:-build/arm64/sysroot}

# As in scripts/deps.sh: the first alternative that there is; what begins with "?" may be missing.
packages=(
	libc6-dev
	libzstd-dev
	liburcu-dev
	libunwind-dev
	libxxhash-dev
	libjansson-dev
	libdw-dev
	libelf-dev
	libgsl-dev
	libbson-dev
	zlib1g-dev
	librocksdb-dev
	'libstdc++6'
	'?libatomic1'
	'?libcriterion-dev'
	'?libgoogle-perftools-dev'
	'?libjemalloc2'
	'?libjemalloc-dev'
	'?libmimalloc-dev'
)

choose() {
	local name
	chosen=()
	for name in "${packages[@]}"; do
		if exists "${name#\?}"; then
			chosen+=("${name#\?}")
		elif [ "$name" = "${name#\?}" ]; then
			die "apt has no arm64 package $name"
		else
			say "sysroot: left out, not available here: ${name#\?}"
		fi
	done
}

# An absolute link would lead out of the sysroot, to the build machine's library of that name or to nothing.
relink() {
	local link target up
	find "$unfinished" -type l -lname '/*' -printf '%P\n' | while read -r link; do
		target=$(readlink "$unfinished/$link")
		up=$(dirname "$link" | sed 's,[^/]\+,..,g')
		ln -sfn "$up$target" "$unfinished/$link"
	done
}

mkdir -p "$(dirname "$sysroot")"
sysroot=$(realpath "$sysroot")
apt_root=$sysroot.apt
unfinished=$sysroot.unfinished
wanted=$(printf '%s\n' "${packages[@]}")
[ "$(cat "$sysroot/.packages" 2>/dev/null)" != "$wanted" ] || exit 0

# shellcheck source-path=SCRIPTDIR source=arm64_apt.sh
. scripts/arm64_apt.sh
rm -rf "$sysroot" "$unfinished"
say "sysroot: asking apt for arm64 packages"
prepare_apt
choose
download "${chosen[@]}"
unpack "$unfinished" --exclude='./usr/share/*' --exclude='./usr/bin/*' --exclude='./etc/*'
relink
printf '%s\n' "$wanted" >"$unfinished/.packages"
mv "$unfinished" "$sysroot"
rm -rf "$apt_root"
say "sysroot: $sysroot, $(du -sm "$sysroot" | cut -f1) MB"
