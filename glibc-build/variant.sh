# shellcheck shell=bash
# Which compiler and which flags make a variant; sourced by build.sh, with `variant` set.
# shellcheck disable=SC2154,SC2034 # set and used by those who source this

# Sets `machine` (as uname -m says it), `triplet`, `compiler`, `flags` and `configure_line`.
find_compiler() {
	local here
	here=$(uname -m)
	machine=aarch64
	[ "$variant" != native ] || machine=$here
	compiler=gcc
	[ "$machine" = "$here" ] || compiler=$machine-linux-gnu-gcc
	command -v "$compiler" >/dev/null || die "$compiler is missing: scripts/deps.sh --glibc installs it"
	triplet=$("$compiler" -dumpmachine)
	flags=$(variant_flags)
	configure_line=(--host="$triplet" --prefix=/usr --libdir="$(system_libdir)" --disable-werror --enable-kernel=4.18
		--disable-crypt --disable-build-nscd --disable-timezone-tools --disable-profile --without-selinux --without-gd)
	[ "$machine" = "$here" ] || configure_line+=(--build="$(gcc -dumpmachine)")
}

# The arms for aarch64 differ in how atomics are made, and in nothing else: tuning for a processor is another question.
variant_flags() {
	case $variant in
	lse) say "-O2 -march=armv8-a+lse -mno-outline-atomics" ;;
	nolse) say "-O2 -march=armv8-a -mno-outline-atomics" ;;
	outline) say "-O2 -march=armv8-a -moutline-atomics" ;;
	native) say "-O2" ;;
	esac
}

# Where the system that the programs run on has its libraries: Debian's folder of the architecture, or lib64.
multiarch() { "$compiler" -print-multiarch; }
system_libdir() {
	local folder
	folder=$(multiarch)
	[ -n "$folder" ] && say "/usr/lib/$folder" || say /usr/lib64
}

# For configparms: the rest of the system's places, which configure has no options for.
system_folders() {
	local libdir
	libdir=$(system_libdir)
	printf 'slibdir = %s\ncomplocaledir = /usr/lib/locale\n' "${libdir#/usr}"
}

# The name of a result: what native is depends on the machine.
result_name() {
	[ "$variant" != native ] && say "$variant" || say "native-$machine"
}

# Whatever changes the result: two results with the same key are the same.
build_key() {
	{
		say "$recipe" "$variant" "$machine" "$source_name" "$source_sha256" "$flags" "${configure_line[@]}" "${parts[@]}"
		"$compiler" --version | head -n 1
		"$compiler" -Wa,--version -c -x assembler /dev/null -o /dev/null | head -n 1
	} | sha256sum | cut -d ' ' -f 1
}
