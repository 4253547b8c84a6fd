# shellcheck shell=bash disable=SC2154
# Cases of glibc-build/: what it refuses before it builds, and results that are not what they are called. The builds
# themselves take minutes: make test-glibc.

# counted MACHINE LSE EXCLUSIVE CALLS FUNCTION: a census of one library, whose exclusive pairs are in FUNCTION.
counted() {
	printf '{"files": [{"file": "/x/libc.so.6", "machine": "%s", "lse": %s, "exclusive": %s, "outline_calls": %s,
		"functions": [{"name": "%s", "address": "0x10", "exclusive": %s}]}]}\n' "$1" "$2" "$3" "$4" "$5" "$3" >"$work/census.json"
}

# judged VARIANT TEXT: what is wrong with a result of that name; empty: nothing.
judged() {
	local said
	said=$(jq -r --arg variant "$1" --argjson handwritten '["by_hand"]' -f glibc-build/census.jq "$work/census.json")
	if [ -z "$2" ]; then
		[ -z "$said" ] || fail "$1 refused: $said"
	else
		[[ $said == *"$2"* ]] || fail "$1: expected '$2', said: $said"
	fi
}

case_glibc_census() {
	command -v jq >/dev/null || skip "there is no jq here"
	counted aarch64 900 0 0 any
	judged lse ''
	judged nolse '900 LSE instructions'
	judged outline 'no calls of outlined helpers'
	counted aarch64 0 900 0 any
	judged nolse ''
	judged lse 'no LSE instructions'
	judged lse 'exclusive pairs in libc.so.6 any'
	counted aarch64 900 4 0 by_hand
	judged lse ''
	judged nolse '900 LSE'
	counted aarch64 22 44 900 __aarch64_cas4_acq
	judged outline ''
	judged lse '900 calls of outlined helpers'
	judged nolse '900 calls of outlined helpers'
	counted aarch64 0 0 0 any
	judged nolse 'no exclusive pairs'
	counted x86-64 null null null any
	judged native ''
	judged lse 'is for x86-64'
}

glibc_build() { expect "$1" env GLIBC_DIR="$work/glibc" "${@:2}"; }

case_glibc_refuses() {
	glibc_build 2 glibc-build/build.sh
	expect_text 'which variant?'
	glibc_build 2 glibc-build/build.sh fastest
	expect_text "no variant 'fastest'"
	glibc_build 0 glibc-build/build.sh --help
	glibc_build 1 GLIBC_JOBS=many glibc-build/build.sh native
	expect_text 'GLIBC_JOBS=many'
	mkdir -p "$work/glibc-2.36" && tar -C "$work" -cJf "$work/glibc-2.36.tar.xz" glibc-2.36
	glibc_build 1 GLIBC_TARBALL="$work/glibc-2.36.tar.xz" glibc-build/build.sh native
	expect_text 'needs GLIBC_SHA256'
	glibc_build 1 GLIBC_TARBALL="$work/glibc-2.36.tar.xz" GLIBC_SHA256=0123 glibc-build/build.sh native
	expect_text 'not GLIBC_SHA256=0123'
	local sum
	sum=$(sha256sum "$work/glibc-2.36.tar.xz" | cut -d ' ' -f 1)
	glibc_build 1 GLIBC_TARBALL="$work/nothing.tar.xz" GLIBC_SHA256="$sum" glibc-build/build.sh native
	expect_text 'there is no such file'
	glibc_build 1 GLIBC_TARBALL="$work/glibc-2.36.tar.xz" GLIBC_SHA256="$sum" GLIBC_VERSION=2.39 glibc-build/build.sh native
	expect_text 'is version 2.36, not GLIBC_VERSION=2.39'
	cp "$work/glibc-2.36.tar.xz" "$work/source.tar.xz"
	glibc_build 1 GLIBC_TARBALL="$work/source.tar.xz" GLIBC_SHA256="$sum" glibc-build/build.sh native
	expect_text 'expected a name like glibc-2.36.tar.xz'
	# An archive without a configure in it fails where it is used, and says where the log is.
	glibc_build 1 GLIBC_TARBALL="$work/glibc-2.36.tar.xz" GLIBC_SHA256="$sum" glibc-build/build.sh native
	expect_text "the whole log: $work/glibc/native-$(uname -m).log"
	[ ! -e "$work/glibc/native-$(uname -m)" ] || fail "there is a result"
}

# A program that needs a newer glibc than the one to be built.
case_glibc_refuses_for_program() {
	make_newer "$work/libneeds.so"
	local sum
	mkdir -p "$work/glibc-2.36" && tar -C "$work" -cJf "$work/glibc-2.36.tar.xz" glibc-2.36
	sum=$(sha256sum "$work/glibc-2.36.tar.xz" | cut -d ' ' -f 1)
	glibc_build 1 GLIBC_TARBALL="$work/glibc-2.36.tar.xz" GLIBC_SHA256="$sum" GLIBC_PROGRAM="$work/libneeds.so" glibc-build/build.sh native
	expect_text "$work/libneeds.so needs glibc 2.99"
}
