# shellcheck shell=bash disable=SC2154,SC2034
# The state of pages in a trace against what the guest read itself in smaps, pagemap and kpageflags.

pages_guest() { # LABEL MODE SOURCE [ARG...]
	local label=$1 mode=$2 source=$3
	shift 3
	exec 8>/tmp/thp.lock # shared: who changes the settings holds it alone
	flock -s -w 120 8 || skip "/tmp/thp.lock is held"
	settings=(MTRACE_INTERVAL_MS=100 MTRACE_PAGES="$source")
	traced "$label" "$mode" "$guests/pages" "$@"
	same "$label"
	[ -s "$label.counts.pages" ] || fail "$label: the guest has written nothing of its pages"
	timeout "$limit_s" "$analyze" hugepages --json --runs "$label.runs" -o "$label.json" "$label.mtr" 2>"$label.hugepages.err" ||
		fail "$label: hugepages ends with $?: $(head -n 1 "$label.hugepages.err")"
}

needs_huge_pages() { # LABEL
	[ "$(awk '$1 == "area" && ($2 == "fault" || $2 == "broken") { print $6 }' "$1.counts.pages")" != 0 ] ||
		skip "the kernel gives no huge pages here"
}

# The analyzer's runs in each of the guest's areas, in the guest's form. State words of SOURCE: a scan cannot see that
# small pages belong to a huge folio, and kpageflags not how a folio is mapped.
runs_in_areas() { # LABEL
	local word name start end at from to state file
	while read -r word name start end _; do
		[ "$word" = area ] || continue
		at=$start
		while IFS=, read -r from to _ state file; do
			[ "$from" != start ] || continue
			from=$((from)) to=$((to))
			[ "$to" -gt "$start" ] && [ "$from" -lt "$end" ] || continue
			[ "$from" -ge "$start" ] || from=$start
			[ "$to" -le "$end" ] || to=$end
			[ "$from" -le "$at" ] || printf '%s %s %s none\n' "$name" "$at" "$from"
			printf '%s %s %s %s\n' "$name" "$from" "$to" "$state"
			at=$to
		done <"$1.runs"
		[ "$at" -ge "$end" ] || printf '%s %s %s none\n' "$name" "$at" "$end"
	done <"$1.counts.pages"
}

# Lines `name start end state` that follow each other in one state become one.
joined() {
	awk '{
		if ($1 == name && $4 == state && $2 == end) { end = $3; next }
		if (name != "") print name, start, end, state
		name = $1; start = $2; end = $3; state = $4
	} END { print name, start, end, state }'
}

# `present`: without privilege the guest does not see what kind of page it is.
runs_equal() { # LABEL SED-SCRIPT-FOR-THE-GUEST'S-STATES
	sed -n 's/^run //p' "$1.counts.pages" | sed "$2" | joined >"$1.wanted"
	runs_in_areas "$1" | joined >"$1.found"
	cmp -s "$1.wanted" "$1.found" ||
		fail "$1: runs differ: $(diff "$1.wanted" "$1.found" | grep -m 4 '^[<>]' | tr '\n' ' ')"
}

# Sums by area, of the guest's smaps.
sums_equal() { # LABEL
	local word name rss huge
	while read -r word name _ _ rss huge _; do
		[ "$word" = area ] || continue
		[ "$(awk -v n="$name" '$1 == n && $4 == "huge" { s += $3 - $2 } END { printf "%d", s }' "$1.found")" = "$huge" ] ||
			fail "$1: $name has $huge bytes on huge pages, which is not found"
		[ "$(awk -v n="$name" '$1 == n && $4 != "none" && $4 != "zero" { s += $3 - $2 } END { printf "%d", s }' "$1.found")" = "$rss" ] ||
			fail "$1: $name has $rss resident bytes, which is not found"
	done <"$1.counts.pages"
}

# Other memory of the process has no huge pages where only MADV_HUGEPAGE gives them.
total_equal() { # LABEL
	local wanted
	grep -q '\[always\]' /sys/kernel/mm/transparent_hugepage/enabled && return
	wanted=$(awk '$1 == "area" { s += $6 } END { printf "%d", s }' "$1.counts.pages")
	fact "$1" ".snapshots[-1].huge_bytes == $wanted"
}

case_pages_by_scan() {
	local mode
	untraced plain "$guests/pages"
	for mode in sample full; do
		pages_guest "$mode" "$mode" scan
		needs_huge_pages "$mode"
		jq -e '.snapshots | length > 0' "$mode.json" >/dev/null || skip "the kernel has no PAGEMAP_SCAN"
		runs_equal "$mode" 's/folio$/small/'
		sums_equal "$mode"
		total_equal "$mode"
	done
}

# The frames say which pages belong to huge folios; with smaps beside them, which of those are mapped whole.
case_pages_by_kpageflags() {
	[ -r /proc/kpageflags ] && [ "$(id -u)" = 0 ] || skip "only root sees frame numbers"
	untraced plain "$guests/pages"
	pages_guest flags sample kpageflags
	needs_huge_pages flags
	runs_equal flags 's/xx/xx/'
	total_equal flags
	fact flags ".snapshots[-1].folio_mapped_by_page_bytes == $(awk '$1 == "run" && $5 == "folio" { s += $4 - $3 } END { printf "%d", s }' flags.counts.pages)"
}

case_pages_by_smaps() {
	untraced plain "$guests/pages"
	pages_guest smaps sample smaps
	needs_huge_pages smaps
	total_equal smaps
	[ "$(wc -l <smaps.runs)" = 1 ] || fail "sums by mapping give no runs"
}

# Without the looks there is no figure, and not a zero.
case_pages_off() {
	untraced plain "$guests/pages"
	pages_guest off sample off
	fact off '(.snapshots | length) == 0 and .bloat_bytes == null'
}

# Looks take no more than 1/200 of a CPU, which on a slow one may leave some pages out between two of the guest's pauses.
quick_looks() { # LABEL HUGE-PAGE-BYTES
	[ "$slower" = 1 ] || jq -e --argjson huge "$2" --argjson slower "$slower" '.snapshots |
		(map(.huge_bytes) | max >= 5 * $huge) and (map(.age_s) | max < 0.4 * $slower)' "$1.json" >/dev/null ||
		skip "looks are too slow here: they take no more than 1/200 of a CPU, and come later than the guest goes on"
}

# Of three huge pages that are broken one comes back, one with a hole cannot, and one may, if khugepaged passes by. A fourth
# is given back whole, which breaks nothing.
case_pages_broken() {
	local mode huge
	huge=$(cat /sys/kernel/mm/transparent_hugepage/hpage_pmd_size 2>/dev/null) || skip "the kernel gives no huge pages here"
	untraced plain "$guests/pages" break
	for mode in sample full; do
		pages_guest "$mode" "$mode" auto break
		[ "$(awk '$1 == "built" { print $2 }' "$mode.counts.pages")" = $((5 * huge)) ] ||
			skip "the kernel did not give five huge pages"
		jq -e '.source == "scan"' "$mode.json" >/dev/null || skip "the kernel has no PAGEMAP_SCAN"
		quick_looks "$mode" "$huge"
		jq -e --argjson huge "$huge" '
			def of($f): [.breakers[] | select(.stack[0] == $f)];
			def sum($list; $field): $list | map(.[$field]) | add // 0;
			(.breakers | map(.stack[0]) | unique) == ["give_back_a_part", "unmap_a_part"] and
			(of("give_back_a_part") as $a | sum($a; "calls") == 2 and sum($a; "huge_bytes_lost") == 2 * $huge and
				sum($a; "came_back") >= 1 and sum($a; "came_back") + sum($a; "never_came_back") == 2) and
			(of("unmap_a_part") as $u | sum($u; "calls") == 1 and sum($u; "huge_bytes_lost") == $huge and sum($u; "never_came_back") == 1)' \
			"$mode.json" >/dev/null || fail "$mode: breakers are not as they were: $(jq -c '[.breakers[] | [.stack[0], .calls, .huge_bytes_lost, .came_back]]' "$mode.json")"
	done
}

# A forked child's trace has its own looks from the start.
case_pages_of_a_child() {
	local trace
	settings=(MTRACE_CHILDREN=1 MTRACE_INTERVAL_MS=50)
	untraced plain "$guests/pages" fork
	traced sample sample "$guests/pages" fork
	same sample
	for trace in sample.mtr sample.mtr.2; do
		[ -e "$trace" ] || fail "no trace $trace"
		timeout "$limit_s" "$analyze" hugepages --json "$trace" >"$trace.json" || fail "hugepages ends with $? on $trace"
		jq -e '[.snapshots[].resident_bytes] | max > 32000000' "$trace.json" >/dev/null ||
			fail "$trace: the 32 MiB that both hold are not resident"
	done
}
