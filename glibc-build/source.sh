# shellcheck shell=bash
# The source that is built: the distribution's, which has its corrections in it, or an archive of the user's; sourced by
# build.sh.
# shellcheck disable=SC2154,SC2034 # set and used by those who source this

package_folder=/usr/src/glibc

# Sets `tarball`, `version`, `source_name`, `source_sha256` and `source` (its folder).
find_source() {
	if [ -n "${GLIBC_TARBALL:-}" ]; then
		[ -n "${GLIBC_SHA256:-}" ] || die "GLIBC_TARBALL needs GLIBC_SHA256, its checksum from where glibc is published"
		tarball=$GLIBC_TARBALL
		[ -f "$tarball" ] || die "GLIBC_TARBALL=$tarball: there is no such file"
	else
		find_package
	fi
	source_sha256=$(sha256sum "$tarball" | cut -d ' ' -f 1)
	[ "${GLIBC_SHA256:-$source_sha256}" = "$source_sha256" ] ||
		die "$tarball has the checksum $source_sha256, not GLIBC_SHA256=$GLIBC_SHA256: it is damaged, or another file"
	source_name=${tarball##*/}
	[[ $source_name =~ ^glibc-([0-9]+\.[0-9]+(\.[0-9]+)?)\.tar(\.(xz|gz|bz2|zst))?$ ]] ||
		die "$tarball: expected a name like glibc-2.36.tar.xz"
	version=${BASH_REMATCH[1]}
	[ "${GLIBC_VERSION:-$version}" = "$version" ] || die "$tarball is version $version, not GLIBC_VERSION=$GLIBC_VERSION"
	source=$glibc_dir/source-$version-${source_sha256:0:12}
}

find_package() {
	local found
	found=$(find "$package_folder" -maxdepth 1 -name "glibc-${GLIBC_VERSION:-*}.tar.*" 2>/dev/null | sort -V | tail -n 1)
	if [ -z "$found" ]; then
		[ -z "${GLIBC_VERSION:-}" ] || [ ! -e "$package_folder" ] ||
			die "the package glibc-source has no version $GLIBC_VERSION; give its archive as GLIBC_TARBALL= and GLIBC_SHA256="
		die "no source in $package_folder: scripts/deps.sh --glibc installs glibc-source, or give GLIBC_TARBALL= and GLIBC_SHA256="
	fi
	tarball=$found
	[ -z "$(dpkg --verify glibc-source 2>/dev/null)" ] || die "files of the package glibc-source were changed; reinstall it"
}

# The unpacked source is shared by the variants, whose builds may wait here for each other, and no longer.
unpack_source() {
	exec 8>"$source.lock"
	flock 8
	[ -e "$source/.complete" ] || unpack_once
	exec 8>&-
}

unpack_once() {
	rm -rf "$source" "$source.unpacking"
	mkdir "$source.unpacking"
	logged "unpack $source_name" tar -x -f "$tarball" -C "$source.unpacking" --strip-components=1 --no-same-owner
	: >"$source.unpacking/.complete"
	mv "$source.unpacking" "$source"
}

# program_runs: false where GLIBC_PROGRAM or a library of its needs a newer version than the one to be built.
program_runs() {
	local needs
	[ -n "${GLIBC_PROGRAM:-}" ] || return 0
	needs=$(scripts/glibc_needs.sh "$GLIBC_PROGRAM" "$version") || die "$needs"
}
