# shellcheck shell=bash disable=SC2154,SC2034
# Ways to end, the recorder with a bound, and traces of the killed.

case_end_return() { guest exits return && complete; }
case_end_exit() { guest exits exit && complete; }
case_end_underscore_exit() { guest exits _exit && complete; }
case_end_Exit() { guest exits _Exit && complete; }
case_end_quick_exit() { guest exits quick_exit && complete; }
case_end_thread_exit() { guest exits thread-exit && complete; }
case_end_thread_underscore_exit() { guest exits thread-_exit && complete; }
case_end_main_thread_first() { guest exits pthread_exit && complete; }

# Again and again: who comes second must not end the process before the trace is whole.
case_end_exits_at_once() {
	local round
	for round in 1 2 3 4 5 6 7 8; do
		rm -f ./*.mtr*
		guest exitrace
		complete
	done
}
case_end_threads_idle() { guest exits threads-idle && complete; }
case_end_system_call() { guest exits syscall && readable; }

ends_by_signal() { # HOW STATUS
	local mode
	expected_status=$2
	guest exits "$1"
	[ "$(cat plain.status)" = "$2" ] || fail "the guest ends with $(cat plain.status) instead of $2"
	readable
	for mode in sample full; do
		fact "$mode" '.complete == false and .lost == 0'
	done
}
case_end_abort() { ends_by_signal abort 134; }
case_end_segv() { ends_by_signal segv 139; }
case_end_sigkill() { ends_by_signal kill 137; }
case_end_sigterm() { ends_by_signal term 143; }

number_at() { # FILE INDEX: a 64-bit number
	od -An -tu8 -j $(($2 * 8)) -N 8 "$1" | tr -d ' '
}

# Each call is counted by the guest right after it: the trace holds all that and at most one call a thread more, and
# the few blocks of libc for its threads and of dlsym.
killed_in_mid_run() {
	local mode field index counted slack
	expected_status=137
	for mode in sample full; do
		traced "$mode" "$mode" "$guests/killed" "$PWD/$mode.counters" 400000
		[ "$(cat "$mode.status")" = 137 ] || fail "$mode: ends with $(cat "$mode.status")$(said "$mode")"
		info "$mode"
		fact "$mode" '.complete == false and .lost == 0'
		index=0
		for field in allocs frees mmaps; do
			counted=$(number_at "$mode.counters" "$index")
			[ "$counted" -gt 0 ] || fail "$mode: the guest counted no $field"
			slack=16
			[ "$field" != mmaps ] || slack=3
			fact "$mode" ".$field >= $counted and .$field <= $counted + $slack"
			index=$((index + 1))
		done
	done
}
case_killed_in_mid_run() { killed_in_mid_run; }

# Killed again and again, early and late.
case_killed_at_any_time() {
	local total mode=full counted
	expected_status=137
	for total in 1 100 3000 20000 50000 90000; do
		traced "$mode" "$mode" "$guests/killed" "$PWD/$mode.counters" "$total"
		[ "$(cat "$mode.status")" = 137 ] || fail "ends with $(cat "$mode.status")$(said "$mode")"
		info "$mode"
		counted=$(number_at "$mode.counters" 0)
		fact "$mode" ".complete == false and .allocs + .lost >= $counted and .allocs <= $counted + 16"
		rm -f "$mode".mtr*
	done
}

# ---- flight recorder ----------------------------------------------------------------------------------------------

bound_bytes=$((2 << 20))

has_block_of() { # TRACE BYTES
	timeout "$limit_s" "$analyze" export --format ndjson "$1" 2>/dev/null | grep -q "[:, ]$2[,} ]"
}

newest_only() { # LABEL
	local bytes
	bytes=$(stat -c %s "$1.mtr")
	[ "$bytes" -le "$bound_bytes" ] || fail "$1: the trace has $bytes bytes, more than MTRACE_MAX_MIB=2"
	[ "$bytes" -gt $((bound_bytes / 4)) ] || fail "$1: the trace has $bytes bytes only: nothing was to be given up"
	has_block_of "$1.mtr" 123457 || fail "$1: the newest block (123457 bytes) is not there"
	! has_block_of "$1.mtr" 123459 || fail "$1: the oldest block (123459 bytes) is still there"
}

case_recorder_bound() {
	settings=(MTRACE_MAX_MIB=2)
	untraced plain "$guests/churn" 4000000
	traced full full "$guests/churn" 4000000
	same full
	info full
	fact full '.complete == true'
	newest_only full
}

case_recorder_killed() {
	settings=(MTRACE_MAX_MIB=2)
	expected_status=137
	traced full full "$guests/churn" 4000000 kill
	[ "$(cat full.status)" = 137 ] || fail "ends with $(cat full.status)$(said full)"
	info full
	fact full '.complete == false'
	newest_only full
}

# Wrapping many times and killed in the middle of it, at several moments: the block that was being written over is
# damaged and may be called so, all others are there.
case_recorder_killed_while_wrapping() {
	local total
	settings=(MTRACE_MAX_MIB=1)
	expected_status=137
	for total in 600000 750000 900000; do
		traced full full "$guests/killed" "$PWD/counters" "$total"
		info full "$PWD/full.mtr" "0 3"
		fact full '.complete == false and .events > 10000'
		[ "$(stat -c %s full.mtr)" -le $((1 << 20)) ] || fail "more than 1 MiB: $(stat -c %s full.mtr)"
		rm -f full.mtr*
	done
}

# While the guest still runs, trace and rings are read as they are.
case_read_while_running() {
	needs_no_launcher
	local pid tries=0
	env LD_PRELOAD="$shim" MTRACE_OUT="$PWD/full.mtr" MTRACE_MODE=full \
		"$guests/churn" 200000 hold "$PWD/go" >full.out 2>full.err &
	pid=$!
	until [ -s full.out ]; do
		sleep 0.1
		tries=$((tries + 1))
		[ "$tries" -lt 300 ] || { kill "$pid" && fail "the guest does not get on"; }
	done
	info live "$PWD/full.mtr"
	touch go
	wait "$pid" || fail "the guest ends with $?"
	fact live '.complete == false and .allocs >= 200001 and .allocs <= 200065'
	info full
	fact full '.complete == true and .allocs >= 200002 and .allocs <= 200066'
}
