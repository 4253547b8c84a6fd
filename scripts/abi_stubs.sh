#!/usr/bin/env bash
# Makes stub libraries to link against: abi_stubs.sh ARCH FOLDER CC < symbols.txt
# A line of symbols.txt is "LIBRARY SYMBOL [VERSION]"; without a version it is the oldest of the architecture's glibc.
# The dynamic loader is a library of one architecture, named in it.
set -euo pipefail

arch=$1 folder=$2 cc=$3
case $arch in
x86_64) base=GLIBC_2.2.5 ;;
aarch64) base=GLIBC_2.17 ;;
*) echo "abi_stubs.sh: no base version known for $arch" >&2; exit 2 ;;
esac

mkdir -p "$folder"
list=$folder/symbols
# On aarch64 everything older than its first glibc has that glibc's version.
awk -v base="$base" -v arch="$arch" '
	/^[^#]/ && NF >= 2 && (!/^ld-linux-/ || index($1, arch)) {
		version = NF > 2 ? $3 : base
		split(version, part, /[_.]/)
		if (arch == "aarch64" && part[2] == 2 && part[3] < 17) version = base
		print $1, $2, version
	}' > "$list"

for library in $(cut -d' ' -f1 "$list" | sort -u); do
	source=$folder/$library.c map=$folder/$library.map
	awk -v l="$library" '$1 == l { printf "void %s(void) {}\n", $2 }' "$list" > "$source"
	: > "$map"
	for version in $(awk -v l="$library" '$1 == l { print $3 }' "$list" | sort -u); do
		printf '%s {\nglobal:\n' "$version" >> "$map"
		awk -v l="$library" -v v="$version" '$1 == l && $3 == v { printf "\t%s;\n", $2 }' "$list" >> "$map"
		printf '};\n' >> "$map"
	done
	$cc -w -fno-builtin -shared -fPIC -nostdlib -Wl,-soname,"$library" -Wl,--version-script="$map" -o "$folder/$library" "$source"
done
