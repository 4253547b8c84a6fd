# shellcheck shell=bash disable=SC2154
# arm64 packages without a trace in the system; sourced by scripts/arm64_*.sh, never run. The system's packages and apt's own
# state stay as they are: apt works in a root of its own, `apt_root`, which the caller sets before it sources this. Packages
# are unpacked and not installed, so their scripts never run.

# The system's sources and keys, an empty list of installed packages, another architecture.
private_apt() { # PROGRAM ARG...
	local program=$1
	shift
	"$program" -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User= \
		-o Dir::State="$apt_root/state" -o Dir::State::status="$apt_root/status" -o Dir::Cache="$apt_root/cache" \
		-o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts="$apt_root/none" \
		-o Acquire::Languages=none -o APT::Install-Recommends=false "$@" </dev/null
}

prepare_apt() {
	local program
	for program in apt-get dpkg-deb; do
		command -v $program >/dev/null || die "$program is missing: arm64 packages are Debian's or Ubuntu's"
	done
	mkdir -p "$apt_root"/{state/lists/partial,cache/archives/partial,none}
	: >"$apt_root/status"
	private_apt apt-get update >"$apt_root/log" 2>&1 ||
		die "apt cannot read arm64 package lists from this system's sources; see $apt_root/log"
}

exists() { # PACKAGE
	[[ $(private_apt apt-cache policy "$1" 2>/dev/null) == *'Candidate: '[!\(]* ]]
}

# With all that they depend on, into $apt_root/cache/archives.
download() { # PACKAGE...
	private_apt apt-get install -y --download-only "$@" >>"$apt_root/log" 2>&1 ||
		die "arm64 packages could not be fetched; see $apt_root/log"
}

# unpack FOLDER TAR-OPTION...: everything downloaded.
unpack() {
	local folder=$1 archive
	shift
	# A system whose /lib is part of /usr has the loader under either name; packages come with both spellings.
	mkdir -p "$folder/usr/lib"
	ln -s usr/lib "$folder/lib"
	for archive in "$apt_root"/cache/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$archive" | tar -x -C "$folder" --keep-directory-symlink --no-same-owner "$@"
	done
}
