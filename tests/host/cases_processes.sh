# shellcheck shell=bash disable=SC2154,SC2034
# Processes: descriptors that are closed, daemons, chains of programs, children, process 1.

closes_descriptors() { # HOW
	local mode
	mkdir own
	guest closefds "$1" "$PWD/own"
	for mode in sample full; do
		info "$mode"
		counts "$mode"
		fact "$mode" '.lost == 0'
	done
}
case_close_all() { closes_descriptors loop; }
case_close_range() { closes_descriptors range; }
case_dup_over_all() { closes_descriptors dup; }

# As in a container. The writer has descriptors of its own all the same, or looks before it uses the guest's.
case_unshare_refused() {
	local pid tries=0
	needs_no_launcher
	needs_native "the guest is looked at from outside"
	"$guests/refused" unshare env LD_PRELOAD="$shim" MTRACE_OUT="$PWD/full.mtr" MTRACE_MODE=full \
		"$guests/churn" 20000 hold "$PWD/go" >full.out 2>full.err &
	pid=$!
	until [ -s full.out ]; do
		sleep 0.1
		tries=$((tries + 1))
		[ "$tries" -lt 300 ] || { kill "$pid" && fail "the guest does not get on"; }
	done
	ls -l "/proc/$pid/fd" >descriptors
	touch go
	wait "$pid" || fail "the guest ends with $?"
	! grep -q '\.mtr' descriptors || fail "the guest sees $(grep -m1 -o '[0-9]* -> .*' <(grep '\.mtr' descriptors))"
	info full
	fact full '.complete == true and .lost == 0'
}
case_unshare_refused_closing() {
	needs_no_launcher
	before=("$guests/refused" both env GUEST_TABLE_IS_SHARED=1)
	closes_descriptors loop
}

# What detached itself has a trace of its own, with all that it did from there on.
detaches() { # HOW
	local mode traces daemons trace
	for mode in plain sample full; do
		case $mode in
		plain) untraced plain "$guests/daemonize" "$1" ;;
		*) traced "$mode" "$mode" "$guests/daemonize" "$1" && same "$mode" ;;
		esac
	done
	grep -q 'has worked' plain.out || fail "the daemon did not work: $(cat plain.out)"
	for mode in sample full; do
		info "$mode"
		fact "$mode" '.allocs >= 300 and .allocs < 1000'
		daemons=0
		traces=$(traces_of "$mode.mtr." daemonize)
		for trace in $traces; do
			info "$mode-daemon" "$PWD/$trace"
			jq -e '.allocs >= 30000 and .allocs < 31000' "$mode-daemon.json" >/dev/null && daemons=$((daemons + 1))
		done
		[ "$daemons" = 1 ] || fail "$mode: $daemons traces hold the daemon's work; there are $(echo "$mode".mtr*)"
	done
}
case_daemon_call() { needs_native "$no_wipe" && detaches call; }
case_daemon_session() { detaches session; }
case_daemon_double_fork() { detaches double; }
case_daemon_closing() { detaches closing; }

# Entry point of a container: a shell that becomes a shell that becomes the program, which detaches itself.
case_chain_to_daemon() {
	local traces trace daemons=0
	# shellcheck disable=SC2016
	set -- sh -c 'ls / >/dev/null; exec bash -c "exec \"\$0\" double" "$0"' "$guests/daemonize"
	untraced plain "$@"
	traced full full "$@"
	same full
	traces=$(traces_of full.mtr daemonize)
	for trace in $traces; do
		info daemon "$PWD/$trace"
		jq -e '.complete == true and .allocs >= 30000' daemon.json >/dev/null && daemons=$((daemons + 1))
	done
	[ "$daemons" = 1 ] || fail "$daemons traces hold the daemon's work; there are $(echo full.mtr*)"
	[ -n "$(traces_of full.mtr bash)" ] || fail "bash, a program of the same process, has no trace"
	[ -z "$(traces_of full.mtr ls)" ] || fail "ls, a child, has a trace"
}

case_children_silent() {
	needs_no_launcher
	guest forks fork-exec
	complete
}

case_children_traced() {
	needs_no_launcher
	local traces
	settings=(MTRACE_CHILDREN=1)
	untraced plain "$guests/forks" fork-exec
	traced full full "$guests/forks" fork-exec
	same full
	traces=$(traces_of full.mtr forks | wc -l)
	[ "$traces" = 3 ] || fail "$traces traces instead of three (parent, child, and what the child executed): $(echo full.mtr*)"
	has_allocs 100 400 && has_allocs 20000 21000 && has_allocs 10 90
}

has_allocs() { # LEAST MOST: one of the traces of full.mtr
	local trace
	for trace in full.mtr full.mtr.*; do
		info one "$PWD/$trace"
		jq -e ".complete == true and .allocs >= $1 and .allocs <= $2" one.json >/dev/null && return
	done
	fail "no trace has $1 to $2 allocations"
}

case_children_spawned() {
	needs_native "$no_spawn_error"
	local traces
	settings=(MTRACE_CHILDREN=1)
	untraced plain "$guests/forks" spawn
	traced full full "$guests/forks" spawn
	same full
	traces=$(traces_of full.mtr forks | wc -l)
	[ "$traces" = 11 ] || fail "$traces traces of forks instead of eleven: $(echo full.mtr*)"
}

# As process 1, twice with the same process id and path: a container that starts again.
case_first_process() {
	need_namespaces -fp --mount-proc
	local n
	before=(unshare -fp --mount-proc)
	settings=(MTRACE_OUT=one.%p.mtr)
	untraced plain "$guests/churn" 20000
	for n in 1 2; do
		traced "first$n" full "$guests/churn" 20000
		same "first$n"
	done
	info first1 "$PWD/one.1.mtr"
	info first2 "$PWD/one.1.mtr.2"
	fact first1 '.complete == true and .pid == 1 and .allocs >= 20002'
	fact first2 '.complete == true and .pid == 1 and .allocs >= 20002'
}
