# shellcheck shell=bash disable=SC2154,SC2034
# The layout of mongod: a storage engine and its allocator in one executable.

standin() { # MODE COMMAND ARG...
	local mode=$1
	shift
	run "$mode" env HOOK_COUNTS="$PWD/$mode.hooks" LD_PRELOAD="$guests/libhookcount.so $shim" MTRACE_OUT="$PWD/$mode.mtr" \
		MTRACE_MODE="$mode" "${settings[@]}" "$guests/standin" "$@"
}

# What the allocator's own hooks report of the same run: a realloc is a block given and a block taken there.
case_standin() {
	local mode reallocs_of_blocks
	[ -x "$guests/standin" ] || skip "libwiredtiger.a and libtcmalloc_minimal.a are not both installed"
	settings=(MTRACE_STACK_DEPTH=0)
	for mode in sample full; do
		rm -rf db && mkdir db
		standin "$mode" both wiredtiger -threads 2 -p recordcount=20000 -p operationcount=50000 -p maxscanlength=20 \
			-p wiredtiger.dir=db -p wiredtiger.cache=30M
		[ "$(cat "$mode.status")" = 0 ] || fail "$mode: ends with $(cat "$mode.status"): $(tail -n 1 "$mode.err")"
		! grep -q '^mtrace:' "$mode.err" || fail "$mode: unexpected message: $(grep -m1 '^mtrace:' "$mode.err")"
		[ -s "$mode.hooks" ] || fail "$mode: the allocator's hooks reported nothing"
		info "$mode"
		fact "$mode" '.complete and .lost == 0 and .malloc_source == "patched"'
		fact "$mode" "([.patched[] | select(.state == \"skipped\")] | length) == 0"
		fact "$mode" ".allocs + .reallocs == $(jq .taken "$mode.hooks")"
	done
	reallocs_of_blocks=$(timeout "$limit_s" "$analyze" export --format ndjson full.mtr | grep '"kind":"realloc"' | grep -c old_address)
	fact full ".frees + $reallocs_of_blocks == $(jq .given full.hooks)"
}
