# shellcheck shell=bash disable=SC2154,SC2034
# aarch64: entry points whose first instructions depend on where they are.

entries() { # GUEST SKIPPED...: all entries but these are patched, and every call counted
	local mode name=$1 skipped
	shift
	[ -x "$guests/$name" ] || skip "for aarch64 only"
	silent=0
	guest "$name"
	complete
	skipped=$(printf '%s\n' "$@" | sort | paste -sd,)
	for mode in sample full; do
		one_message "$mode" "$((24 - $#)) of its 24 entry points" "$1"
		fact "$mode" '.malloc_source == "patched" and (.patched | length) == 24'
		fact "$mode" "[.patched[] | select(.state != \"patched\") | .name] | sort | join(\",\") == \"$skipped\""
		fact "$mode" '.patched[] | select(.name == "_ZnwmRKSt9nothrow_t") | .reason == "a branch leads back into its first bytes"'
	done
}

case_entries() { entries entries _ZnwmRKSt9nothrow_t; }
case_entries_fixed() { entries entries-fixed _ZnwmRKSt9nothrow_t; }
case_entries_guarded() {
	local mode
	entries entries-guarded free_aligned_sized _ZnwmRKSt9nothrow_t
	grep -q 'pages are guarded' plain.out || skip "this processor or kernel does not guard pages (BTI)"
	for mode in sample full; do
		fact "$mode" '.patched[] | select(.name == "free_aligned_sized") | .reason == "it is shorter than a jump"'
	done
}
