# shellcheck shell=bash disable=SC2154,SC2034
# Live blocks on resident memory, against a guest that knows its blocks and asks the kernel for its pages.

blocks_guest() { # LABEL
	settings=(MTRACE_INTERVAL_MS=100 MTRACE_PAGES=scan MTRACE_SAMPLE_BYTES=16K)
	traced "$1" "$1" "$guests/blocks"
	same "$1"
	! grep -qx none "$1.counts.blocks" || skip "the kernel has no PAGEMAP_SCAN"
	[ "$(awk '$1 == "heap" { print $3 }' "$1.counts.blocks")" != 0 ] || skip "the kernel gives no huge pages here"
	for what in sites hugepages; do
		timeout "$limit_s" "$analyze" "$what" --json "$1.mtr" >"$1.$what.json" || fail "$1: $what ends with $?"
	done
}

sites_equal() { # LABEL
	local word name live huge found
	while read -r word name _ live huge; do
		[ "$word" = site ] || continue
		found=$(jq -r --arg name "$name" '[.sites[] | select(.stack[0] == $name)] |
			"\(map(.live_bytes) | add) \(map(.huge_bytes) | add)"' "$1.sites.json")
		[ "$found" = "$live $huge" ] || fail "$1: $name has $live live bytes, $huge on huge pages, and found: $found"
	done <"$1.counts.blocks"
}

# Of the heap: what is resident and huge exactly. Other blocks than the guest's are a few that libc holds.
heap_holds() { # LABEL
	local resident huge covered
	read -r _ resident huge covered < <(grep '^heap ' "$1.counts.blocks")
	jq -e --argjson resident "$resident" --argjson huge "$huge" --argjson covered "$covered" '
		.allocator.moments[-1] as $last | .allocator.looks[-1].owners[] | select(.owner == "ptmalloc-heap") |
		.resident_bytes == $resident and .huge_bytes == $huge and $last.resident_bytes >= $resident and
		(if .live_bytes_low then .unused_bytes_low <= .unused_bytes and .unused_bytes <= .unused_bytes_high
		else .live_bytes >= $covered and .live_bytes < $covered + 100000 and .unused_bytes == $resident - .live_bytes end)' \
		"$1.hugepages.json" >/dev/null ||
		fail "$1: of the heap $resident bytes are resident, $huge of them huge, $covered covered, and found: $(jq -c \
			'.allocator.looks[-1].owners[] | [.owner, .resident_bytes, .huge_bytes, .live_bytes, .unused_bytes]' "$1.hugepages.json" | tr '\n' ' ')"
}

# By size class everything comes back: unused and live bytes are what is resident.
classes_add_up() { # LABEL
	jq -e '.allocator | .size_classes as $classes |
		([$classes[].unused_bytes] | add) + ([$classes[].live_bytes] | add) == .resident_bytes and
		([$classes[].bloat_bytes] | add) + ([$classes[].live_huge_bytes] | add) == .huge_bytes' "$1.hugepages.json" >/dev/null ||
		fail "$1: the size classes do not add up to what is resident"
}

case_blocks_on_huge_pages() {
	local mode
	untraced plain "$guests/blocks"
	for mode in full sample; do
		blocks_guest "$mode"
		heap_holds "$mode"
	done
	sites_equal full
	classes_add_up full
	jq -e 'all(.sites[]; .huge_bytes_low <= .huge_bytes and .huge_bytes <= .huge_bytes_high)' sample.sites.json >/dev/null ||
		fail "sample: an estimate lies outside its interval"
}
