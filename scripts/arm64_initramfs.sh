#!/usr/bin/env bash
# scripts/arm64_initramfs.sh [FOLDER]
#
# What a virtual arm64 machine boots, into FOLDER (default build/arm64/vm):
#   linux          the distribution's kernel for arm64
#   linux-scan     a newer one of it, with PAGEMAP_SCAN; left out where the distribution has none (one line says so)
#   linux*.name    the package of each
#   initramfs.gz   /init (tests/vm/init), bash and the programs that tests need, the cross-build's libraries, and in /mtrace
#                  what was built (shim, analyzer, workload, guests), the host tests, scripts, and the glibcs of GLIBC_DIR
#
# Kernels and programs are fetched once, by apt from the system's sources, and unpacked, never installed; the initramfs is
# made anew at each call. Needs the cross-build (make arm64) and cpio.
#
# Exit status: 0 all is there; 1 it could not be made; 2 wrong usage.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

case ${1:-} in
-h | --help) usage && exit 0 ;;
-*) wrong_usage "unknown option: $1" ;;
esac
folder=${1:-build/arm64/vm}
sysroot=build/arm64/sysroot
glibc_dir=${GLIBC_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/mtrace/glibc}
programs=(bash binutils coreutils diffutils findutils grep jq mawk mount sed util-linux)

# ---- what is fetched ---------------------------------------------------------------------------------------------

# kernel META-PACKAGE FILE: the kernel that the package stands for. Its dependencies, tools to install it, are not needed.
kernel() {
	local package
	package=$(private_apt apt-cache depends "$1" | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
	[ -n "$package" ] || return 1
	say "virtual machine: fetching $package"
	(cd "$apt_root" && private_apt apt-get download "$package" >>"$apt_root/log" 2>&1) ||
		die "$package could not be fetched; see $apt_root/log"
	dpkg-deb --fsys-tarfile "$apt_root/$package"_*.deb | tar -x --wildcards --to-stdout './boot/vmlinuz-*' >"$2.part"
	rm "$apt_root/$package"_*.deb
	mv "$2.part" "$2"
	say "$package" >"$2.name"
}

# The newest of the meta-packages linux-image-VERSION-arm64 (Debian's backports and security suites have them).
newer_kernel() {
	private_apt apt-cache pkgnames linux-image- | grep -E '^linux-image-[0-9]+\.[0-9]+-arm64$' | sort -V | tail -n 1
}

fetch() {
	local newer
	apt_root=$(realpath "$folder").apt
	# shellcheck source-path=SCRIPTDIR source=arm64_apt.sh
	. scripts/arm64_apt.sh
	rm -rf "$apt_root" "$folder/programs"
	say "virtual machine: asking apt for arm64 packages"
	prepare_apt
	kernel linux-image-arm64 "$folder/linux" || die "apt has no arm64 kernel linux-image-arm64"
	newer=$(newer_kernel)
	[ -z "$newer" ] || kernel "$newer" "$folder/linux-scan"
	[ -e "$folder/linux-scan" ] || say "virtual machine: apt has no second, newer kernel here"
	download "${programs[@]}"
	mkdir -p "$folder/programs"
	ln -s usr/bin "$folder/programs/bin"
	ln -s usr/sbin "$folder/programs/sbin"
	mkdir -p "$folder/programs/usr/bin" "$folder/programs/usr/sbin"
	unpack "$folder/programs" --exclude='./usr/share/*' --exclude='./usr/lib/*/gconv/*' --exclude='./etc/*'
	ln -sf bash "$folder/programs/usr/bin/sh"
	ln -sf mawk "$folder/programs/usr/bin/awk"
	rm -rf "$apt_root"
	say "${programs[*]}" >"$folder/fetched"
}

# ---- what is built -----------------------------------------------------------------------------------------------

libraries() { # from the sysroot, without archives
	local wanted=$tree/usr/lib/aarch64-linux-gnu
	mkdir -p "$wanted"
	find $sysroot/usr/lib/aarch64-linux-gnu -maxdepth 1 \( -name 'lib*.so*' -o -name 'ld-linux*' \) -exec cp -Pn {} "$wanted" \;
}

project() {
	local arm target=$tree/mtrace
	mkdir -p "$target/build" "$target/tests" "$target/glibc"
	cp build/arm64/{libmtrace.so,mtrace-analyze,ycsb-embedded} "$target/build"
	cp -r build/arm64/host "$target/build"
	find "$target/build/host" -name '*.o' -delete
	cp -r tests/host "$target/tests"
	cp -r scripts "$target"
	for arm in lse nolse outline; do
		[ ! -d "$glibc_dir/$arm" ] || cp -r "$glibc_dir/$arm" "$target/glibc"
	done
}

mkdir -p "$folder"
command -v cpio >/dev/null || die "cpio is missing"
[ -x build/arm64/host/counted ] || die "nothing in build/arm64: make arm64 builds it"
[ "$(cat "$folder/fetched" 2>/dev/null)" = "${programs[*]}" ] || fetch

tree=$folder/tree
rm -rf "$tree"
cp -r "$folder/programs" "$tree"
mkdir -p "$tree"/{dev,proc,sys,tmp,etc,root,run,var}
libraries
project
cp tests/vm/init "$tree/init"
say 'root:x:0:0:root:/root:/bin/bash' >"$tree/etc/passwd"
say 'nobody:x:65534:65534:nobody:/nonexistent:/bin/false' >>"$tree/etc/passwd"
(cd "$tree" && find . | cpio --quiet -o -H newc -R 0:0) | gzip -1 >"$folder/initramfs.gz.part"
mv "$folder/initramfs.gz.part" "$folder/initramfs.gz"
rm -rf "$tree"
say "virtual machine: $folder, initramfs of $(du -m "$folder/initramfs.gz" | cut -f1) MB"
