# shellcheck shell=bash disable=SC2154,SC2034
# Locks: what the trace says of single locks against what the guest knows (lockguest.h).

# Without the shim, with it and MTRACE_LOCKS=1 in both modes: the same output, and the facts.
recorded() { # GUEST [ARG...]
	local name=$1 mode
	shift
	untraced plain "$guests/$name" "$@"
	settings+=(MTRACE_LOCKS=1)
	for mode in sample full; do
		rm -f "$mode".mtr* "$mode".counts*
		traced "$mode" "$mode" "$guests/$name" "$@"
		same "$mode"
		facts_hold "$mode"
	done
}

locks() { # LABEL
	timeout "$limit_s" "$analyze" locks --json --each "$1.mtr" >"$1.json" 2>"$1.locks.err" ||
		fail "$1: mtrace-analyze locks ends with $?: $(head -n 2 "$1.locks.err" | tr '\n' ' ')"
}

# The sums over the calls of one kind that had no place in the thread's own table belong to "sem+shared".
facts_hold() { # LABEL
	local kind address wanted found
	locks "$1"
	[ -s "$1.counts.locks" ] || fail "$1: the guest knows of no lock"
	while read -r kind address wanted; do
		found=$(jq -r --arg kind "${kind%+shared}" --argjson address "$address" --argjson shared "$([[ $kind == *+shared ]] && echo true || echo false)" '
			[.locks[] | select(.kind == $kind and (($address == 0) or .address == $address or ($shared and .address == null)))] |
			[map(.acquired), map(.released), map(.shared), map(.contended), map(.failed)] | map(add // 0 | tostring) | join(" ")' "$1.json")
		agree "$wanted" "$found" || fail "$1: $kind $address: acquired, released, shared, contended, failed are $found, not $wanted"
	done <"$1.counts.locks"
}

# Field by field; -1: anything.
agree() { # WANTED FOUND
	local -a wanted found
	local i
	read -ra wanted <<<"$1"
	read -ra found <<<"$2"
	for i in "${!wanted[@]}"; do
		[ "${wanted[i]}" = -1 ] || [ "${wanted[i]}" = "${found[i]}" ] || return 1
	done
}

case_locks_counts() {
	recorded locks
	fact full '.operations == .acquired + .released + .failed'
	fact full '[.locks[].waits[].calls] | add >= 20'
}

case_locks_hazards() {
	needs_native 'robust mutexes do not learn that their owner died'
	recorded lockhazards
}

case_locks_cxx() { recorded lockcxx; }

case_locks_libatomic() {
	[ -x "$guests/lockatomic" ] || skip "libatomic is not installed"
	untraced plain "$guests/lockatomic"
	[ "$(cat plain.status)" != 127 ] || skip "libatomic is not installed"
	recorded lockatomic
	settings=()
	recorded lockatomic late
}

case_locks_ends() {
	local way
	for way in exit _exit quick_exit exec thread; do
		rm -f ./*.mtr*
		settings=()
		recorded locks "$way"
	done
}

# More locks than a thread's table has room for, and more threads than live at a time: nothing is lost.
case_locks_many() {
	recorded lockmany
	settings=(MTRACE_INTERVAL_MS=10)
	recorded lockmany
	fact full '[.locks[] | select(.address == null)] | length == 1'
}

# Stacks and hold times of what was chosen by chance: as many as the mean says, give or take what chance does.
case_locks_chosen() {
	recorded lockmany 1
	fact full '.locks_every as $every | ([.locks[].held] | add) as $held | (.acquired / $every) as $mean | ($held - $mean) * ($held - $mean) < 36 * $mean'
}

# Not asked for: no records, and the hooks only pass calls on.
case_locks_off() {
	local name
	for name in locks lockcxx; do
		guest "$name"
		complete
		for mode in sample full; do
			timeout "$limit_s" "$analyze" locks "$mode.mtr" >off.out 2>off.err
			[ $? = 1 ] || fail "$mode: records of locks that nobody asked for"
		done
	done
}

# A child that is traced as well counts its own calls only.
case_locks_children() {
	needs_native "$no_wipe"
	local child
	settings=(MTRACE_CHILDREN=1 MTRACE_OUT="$PWD/family.%p.mtr" MTRACE_LOCKS=1)
	untraced plain "$guests/lockhazards"
	traced full full "$guests/lockhazards"
	same full
	child=$(find . -name 'family.*.mtr' | wc -l)
	[ "$child" = 2 ] || fail "not a trace each of parent and child: $child"
	for child in family.*.mtr; do
		"$analyze" locks --json "$child" >"$child.json" || fail "$child: no records of locks"
	done
	jq -s -e 'map(.operations) | min < 20 and max > 1000' family.*.json >/dev/null ||
		fail "the child's calls are not told from its parent's: $(jq -s -c 'map(.operations)' family.*.json)"
}

case_locks_behind_jemalloc() {
	preload=$(find_library libjemalloc.so.2)
	[ -n "$preload" ] || skip "libjemalloc.so.2 is not installed"
	needs_native 'robust mutexes do not learn that their owner died'
	recorded lockhazards
	fact full '[.locks[] | select(.kind == "mutex")] | length > 8'
}
