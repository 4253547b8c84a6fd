#!/usr/bin/env bash
# scripts/arm64_namespace.sh SYSROOT COMMAND [ARG...]
#
# Runs a command where arm64 programs start like others, those that they start themselves included: in a user and mount
# namespace of its own, in which qemu-aarch64-static is registered with binfmt_misc and SYSROOT's libraries lie in
# /usr/lib beside the system's. Outside of it nothing changes.
#
# Needs root, Linux 6.7 or newer (binfmt_misc in user namespaces), overlayfs, util-linux and qemu-user-static.
#
# Exit status: the command's; 125 where there can be no such namespace (one line says why).
set -euo pipefail

unable() {
	printf 'arm64_namespace.sh: %s\n' "$*" >&2
	exit 125
}

# An ELF file's first 20 bytes: 64 bits, little-endian, a program or shared object (bit 0 of its type is masked) for
# machine 183. P: the program keeps its own argv[0]; F: the emulator is opened now, so a chroot does not hide it.
pattern='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'

inside() { # FIFOS SYSROOT EMULATOR COMMAND...
	local fifos=$1 sysroot=$2 emulator=$3 formats=/proc/sys/fs/binfmt_misc ready
	shift 3
	echo "$BASHPID" >"$fifos/pid"
	read -r ready <"$fifos/ready"
	[ "$ready" = yes ] || unable "user ids cannot be mapped"
	mount -t binfmt_misc binfmt_misc $formats 2>/dev/null ||
		unable "this kernel has no binfmt_misc for namespaces (Linux 6.7 has)"
	printf '%s' ":mtrace-aarch64:M::$pattern:$mask:$emulator:PF" >$formats/register
	mount -t overlay overlay -o "lowerdir=$sysroot/usr/lib:/usr/lib" /usr/lib 2>/dev/null ||
		unable "this kernel mounts no overlayfs in namespaces"
	[ -e /lib/ld-linux-aarch64.so.1 ] || unable "/lib is not part of /usr here"
	exec "$@"
}

# All ids as they are: only who is root outside may ask for that, and only from outside.
map_ids() { # FIFOS
	local pid ready=yes
	read -r pid <"$1/pid"
	for map in uid_map gid_map; do
		echo '0 0 4294967295' >"/proc/$pid/$map" || ready=no
	done
	echo $ready >"$1/ready"
}

if [ "${1:-}" = --inside ]; then
	shift
	inside "$@"
fi
[ $# -ge 2 ] || unable "usage: arm64_namespace.sh SYSROOT COMMAND [ARG...]"
[ "$(id -u)" = 0 ] || unable "needs root"
emulator=$(command -v qemu-aarch64-static) || unable "qemu-aarch64-static is missing"
sysroot=$(realpath "$1")
shift
unshare --user --mount true 2>/dev/null || unable "user namespaces are not permitted here"

fifos=$(mktemp -d)
trap 'rm -rf "$fifos"' EXIT
mkfifo "$fifos/pid" "$fifos/ready"
map_ids "$fifos" 2>/dev/null &
status=0
unshare --user --mount bash "$(realpath "$0")" --inside "$fifos" "$sysroot" "$emulator" "$@" || status=$?
exit "$status"
