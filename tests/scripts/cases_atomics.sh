# shellcheck shell=bash disable=SC2154
# `mtrace-analyze atomics` beside the disassembler of binutils, word by word; sourced by run.sh.

arm64_tool() { command -v "aarch64-linux-gnu-$1" || skip "there is no aarch64-linux-gnu-$1 here"; }

# What objdump disassembles as an atomic instruction: address, word, name.
objdump_atomics() { # FILE
	local names='(cas|casp|swp)(a|l|al)?[bh]?|(ld|st)(add|clr|eor|set|smax|smin|umax|umin)(a|l|al)?[bh]?'
	names+='|lda?x[rp][bh]?|stl?x[rp][bh]?'
	aarch64-linux-gnu-objdump -d "$1" | sed -nE "s/^ *([0-9a-f]+):\t([0-9a-f]{8}) *\t($names)(\t.*)?$/\1 \2 \3/p"
}

our_atomics() { # FILE
	build/mtrace-analyze atomics --instructions --json "$1" |
		jq -r '.files[0].instructions // [] | .[] | "\(.address[2:]) \(.word) \(.mnemonic)"'
}

agrees() { # FILE
	objdump_atomics "$1" >"$work/theirs"
	our_atomics "$1" >"$work/ours"
	diff "$work/theirs" "$work/ours" >"$work/difference" || fail "$1: $(head -n 4 "$work/difference" | tr '\n' ' ')"
	say "$(basename "$1"): $(wc -l <"$work/ours") instructions, the same"
}

# The distribution's arm64 libraries, where the sysroot of `make arm64` or the cross compiler's packages hold them.
arm64_library() { # GLOB
	find build/arm64/sysroot/usr/lib/aarch64-linux-gnu /usr/aarch64-linux-gnu/lib -name "$1" 2>/dev/null | head -n 1
}

case_atomics_of_libraries() {
	arm64_tool objdump >/dev/null
	local glob file found=0
	for glob in libc.so.6 'libstdc++.so.6' 'librocksdb.so.*.*'; do
		file=$(arm64_library "$glob")
		[ -n "$file" ] || continue
		agrees "$file"
		[ -s "$work/ours" ] || fail "$file: no atomics were found"
		found=$((found + 1))
	done
	[ ! -e build/arm64/libmtrace.so ] || agrees build/arm64/libmtrace.so
	[ "$found" -gt 0 ] || skip "there are no arm64 libraries here (make arm64 brings them)"
}

# The compiler's three ways, as object, shared object, stripped one and both kinds of archive.
case_atomics_of_flags() {
	local gcc verdict flags file
	gcc=$(arm64_tool gcc)
	cat >"$work/a.c" <<'SOURCE'
#include <stdatomic.h>
atomic_int x;
atomic_long y;
int add(void) { return atomic_fetch_add(&x, 1); }
long change(long e) { return atomic_compare_exchange_strong(&y, &e, 5) ? e : atomic_exchange(&y, 3); }
SOURCE
	while read -r verdict flags; do
		# shellcheck disable=SC2086 # several flags
		"$gcc" -O2 $flags -c -o "$work/a.o" "$work/a.c" || skip "the cross compiler does not know $flags"
		# shellcheck disable=SC2086
		"$gcc" -O2 $flags -shared -fPIC -nostdlib -o "$work/a.so" "$work/a.c" -lgcc
		aarch64-linux-gnu-strip -o "$work/stripped.so" "$work/a.so"
		rm -f "$work"/*.a
		aarch64-linux-gnu-ar rc "$work/a.a" "$work/a.o"
		aarch64-linux-gnu-ar rcT "$work/thin.a" "$work/a.o"
		for file in a.o a.so stripped.so a.a thin.a; do
			[ "$(build/mtrace-analyze atomics --json "$work/$file" | jq -r '.files[0].verdict')" = "$verdict" ] ||
				fail "$file of $flags: $(build/mtrace-analyze atomics "$work/$file" | head -n 1)"
		done
		agrees "$work/a.so"
	done <<'TABLE'
inline-lse -march=armv8-a+lse -mno-outline-atomics
no-lse -march=armv8-a -mno-outline-atomics
outline -march=armv8-a -moutline-atomics
TABLE
}
