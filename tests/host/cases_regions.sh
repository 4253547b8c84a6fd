# shellcheck shell=bash disable=SC2154,SC2034
# The regions at the end of a trace against /proc/self/maps as the guest saw it, and who owns them.

# JSON array of {start, end, reserved} from the guest's list: what the process may not touch is reserved.
listed_maps() { # FILE
	local range prot rest
	while read -r range prot rest; do
		[[ $range == ffffffffff* ]] ||
			printf '%d %d %s\n' "0x${range%-*}" "0x${range#*-}" "$([[ $prot == ---* ]] && echo true || echo false)"
	done <"$1" | jq -Rn '[inputs | split(" ") | {start: (.[0] | tonumber), end: (.[1] | tonumber), reserved: (.[2] == "true")}]'
}

# Both sides without the shim's memory: ranges, joined, and the reserved bytes in each region of the analyzer's.
regions_equal() { # LABEL
	jq -e -n --slurpfile report "$1.report/report.json" --slurpfile maps "$1.maps.json" '
		def joined: sort_by(.start) | reduce .[] as $r ([];
			if length > 0 and .[-1].end == $r.start then .[-1].end = $r.end else . + [{start: $r.start, end: $r.end}] end);
		def minus($holes): reduce $holes[] as $h (.; map(
			if .end <= $h.start or .start >= $h.end then .
			else . as $m | ({start: $m.start, end: $h.start}, {start: $h.end, end: $m.end}) + {reserved: $m.reserved} | select(.start < .end) end));
		def overlap($a): [.end, $a.end] as $e | [.start, $a.start] as $s | ([($e | min) - ($s | max), 0] | max);
		($report[0].regions | map(select(.owner == "mtrace"))) as $own |
		($report[0].regions | map(select(.owner != "mtrace"))) as $regions |
		($maps[0] | minus($own)) as $truth |
		($regions | joined) as $found | ($truth | joined) as $wanted |
		if $found != $wanted then "ranges differ: missing \($wanted - $found), too many \($found - $wanted)" | halt_error(1)
		else $regions | map(. as $r | ([$truth[] | select(.reserved) | overlap($r)] | add // 0) as $none |
				select(.reserved_bytes != $none or .reserved_bytes + .committed_bytes + .released_bytes != .end - .start) |
				"\(.start) \(.owner): reserved \(.reserved_bytes), is \($none)") |
			if length > 0 then "\(.)" | halt_error(1) else true end
		end' >/dev/null 2>"$1.differences" || fail "$1: $(cut -c 1-300 "$1.differences")"
}

owners_equal() { # LABEL
	local address owner state found
	while read -r address owner state; do
		found=$(jq -r --argjson a "$address" '[.regions[] | select(.start <= $a and $a < .end)] |
			if length == 1 then .[0] | "\(.owner) \(.reserved_bytes) \(.committed_bytes) \(.released_bytes)" else "in \(length) regions" end' \
			"$1.report/report.json")
		[ "${found%% *}" = "$owner" ] || fail "$1: $(printf %#x "$address") is $owner's, and found: $found"
		[ "$(jq --argjson a "$address" --arg s "${state}_bytes" '.regions[] | select(.start <= $a and $a < .end) | .[$s] > 0' \
			"$1.report/report.json")" = true ] || fail "$1: $(printf %#x "$address") of $owner is $state, and found: $found"
	done <"$1.counts.owners"
}

regions_hold() { # LABEL
	timeout "$limit_s" "$analyze" report -o "$1.report" "$1.mtr" >/dev/null 2>"$1.report.err" ||
		fail "$1: report ends with $?: $(head -n 1 "$1.report.err")"
	listed_maps "$1.counts.maps" >"$1.maps.json"
	regions_equal "$1"
	owners_equal "$1"
}

case_regions_at_the_end() {
	local mode
	guest regions
	for mode in sample full; do
		info "$mode"
		fact "$mode" '.complete == true and .lost == 0'
		regions_hold "$mode"
		# Four reservations of 1 GiB, 6 MiB of each committed, 1 MiB of that released.
		fact "$mode" '.regions["tcmalloc-normal"].reserved_bytes == 2 * (1024 - 6) * 1048576'
		fact "$mode" '.regions["tcmalloc-normal"].committed_bytes == 2 * 5 * 1048576'
		fact "$mode" '.regions["tcmalloc-normal"].released_bytes == 2 * 1048576'
		fact "$mode" '.regions["tcmalloc-normal"].committed_bytes_peak == 11 * 1048576'
		fact "$mode" '.regions.wiredtiger.committed_bytes == 3 * 1048576'
	done
}

# The end of a flight recorder's file tells all of it, whatever was overwritten.
case_regions_in_a_flight_recorder() {
	settings=(MTRACE_MAX_MIB=1)
	guest regions
	regions_hold full
}

# Changes between two readings: the guest maps and unmaps for some intervals.
case_regions_over_intervals() {
	settings=(MTRACE_INTERVAL_MS=10)
	guest regions linger
	regions_hold full
	jq -e '[.series[] | select(.name == "committed_ptmalloc_arena_bytes")][0] | .points > 1 and .max > 0' full.report/report.json \
		>/dev/null || fail "no series of the arenas"
}
