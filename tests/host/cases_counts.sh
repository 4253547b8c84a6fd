# shellcheck shell=bash disable=SC2154,SC2034
# Counts and sizes: what the trace says against what the guest knows.

# The difference between the guest with and without its calls is exact, whatever libc allocates at start and end; what
# libc does by itself must be little (each thread's table of thread-local storage, dlerror's messages).
exact_counts() { # GUEST SOURCE
	local mode field wanted empty reference
	untraced plain "$guests/$1"
	untraced plain-empty "$guests/$1" empty
	reference=$(sed -n 's/^live_bytes //p' plain.out)
	for mode in sample full; do
		rm -f "$mode".mtr* "$mode-empty".mtr*
		traced "$mode" "$mode" "$guests/$1"
		traced "$mode-empty" "$mode" "$guests/$1" empty
		same "$mode"
		same "$mode-empty" plain-empty
		info "$mode"
		info "$mode-empty"
		fact "$mode" ".lost == 0 and .complete == true and .malloc_source == \"$2\""
		fact "$mode-empty" '.allocs <= 8 and .frees <= 8 and .reallocs == 0'
		while read -r field wanted; do
			empty=$(jq ".$field" "$mode-empty.json")
			fact "$mode" ".$field - $empty == $wanted"
		done <<-END
			allocs 1000000
			frees 1000000
			reallocs 250000
		END
	done
	empty=$(jq .live_bytes_end full-empty.json)
	fact full ".live_bytes_end - $empty == $reference"
	fact full ".live_bytes_peak >= .live_bytes_end"
	fact sample ".live_bytes_peak_low <= .live_bytes_peak and .live_bytes_peak <= .live_bytes_peak_high"
}

case_counted() {
	local mode
	exact_counts counted interposed
	for mode in sample full; do
		fact "$mode-empty" '.mmaps == 0 and .munmaps == 0'
		fact "$mode" '.mmaps == 100 and .munmaps == 50 and .madvises == 10 and .mprotects == 5'
	done
}

case_counted_without_stacks() {
	settings=(MTRACE_STACK_DEPTH=0 MTRACE_SAMPLE_BYTES=4K)
	guest counted
	complete
}

# Every sample, a stack each: the dense end of sample mode.
case_counted_sampled_densely() {
	settings=(MTRACE_SAMPLE_BYTES=1)
	guest churn 20000
	complete
}

case_cxx_counts() {
	guest cxxcount
	complete
}

case_interface() {
	guest abi pvalloc
	complete
}

case_usable_size() {
	guest usable
	complete
}

case_region_calls() {
	needs_native 'no madvise ever fails'
	guest vmcalls
	complete
}

case_process_state() {
	guest state
	complete
}

case_own_malloc() {
	local mode
	silent=0
	guest ownmalloc
	for mode in sample full; do
		[ "$(grep -c '^mtrace:' "$mode.err")" = 1 ] || fail "$mode: not one line that says what is not seen: $(cat "$mode.err")"
		info "$mode"
		counts "$mode"
		fact "$mode" '.malloc_source != "interposed" and (.malloc_source_reason | length) > 0'
	done
}

# ---- an allocator preloaded behind the shim -----------------------------------------------------------------------

find_library() { # NAME
	local folder
	for folder in /usr/lib/*-linux-gnu /usr/lib64 /usr/lib; do
		[ ! -e "$folder/$1" ] || { echo "$folder/$1" && return; }
	done
}

behind() { # LIBRARY
	preload=$(find_library "$1")
	[ -n "$preload" ] || skip "$1 is not installed"
	guest abi
	complete
	guest usable
	guest cxxcount
	complete
	[ "$1" = libmimalloc.so.2 ] || guest cxx # mimalloc 2.0.9 ends a program that asks new for too much
	guest counted
	complete
	local mode
	for mode in sample full; do
		fact "$mode" '.malloc_source == "interposed"'
	done
	guest dlloop
	guest threads wide
	complete lossy
	guest exits thread-exit
}

case_behind_tcmalloc() { behind libtcmalloc_minimal.so.4; }
case_behind_jemalloc() { behind libjemalloc.so.2; }
case_behind_mimalloc() { behind libmimalloc.so.2; }

# The other order: the allocator's functions come first and the shim must merely do no harm.
case_before_the_shim() {
	needs_no_launcher
	local library
	library=$(find_library libtcmalloc_minimal.so.4)
	[ -n "$library" ] || skip "libtcmalloc_minimal.so.4 is not installed"
	run plain env LD_PRELOAD="$library" "$guests/abi"
	run full env LD_PRELOAD="$library $shim" MTRACE_OUT="$PWD/full.mtr" MTRACE_MODE=full "$guests/abi"
	same full
	info full
}
