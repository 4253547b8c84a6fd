# shellcheck shell=bash
# What every script here shares; sourced, never run. Leaves the shell in the repository's root, with `root` set to it
# and `script` to the path of the script that runs.

# shellcheck disable=SC2034 # used by those who source this
script=$(realpath "$0")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
# Texts of other programs are read by these scripts.
export LC_ALL=C

say() { printf '%s\n' "$*"; }
warn() { printf '%s: %s\n' "${script##*/}" "$*" >&2; }
die() {
	warn "$@"
	exit 1
}

# The comment at the head of a script is its manual.
usage() { awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$script"; }

wrong_usage() {
	warn "$@"
	warn "$script --help tells more"
	exit 2
}

# whole_number NAME VALUE: ends the script unless VALUE is a whole number above 0.
whole_number() {
	[[ $2 =~ ^[1-9][0-9]{0,8}$ ]] || die "$1=$2: expected a whole number above 0"
}
