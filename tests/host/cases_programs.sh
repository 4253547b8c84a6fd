# shellcheck shell=bash disable=SC2154,SC2034,SC2016
# Kinds of programs: loading, threads, signals, stacks, new processes, C++, libraries.

case_early_lazy() { guest early && complete; }
case_early_now() { guest earlynow && complete; }
case_early_bind_now_setting() {
	settings=(LD_BIND_NOW=1)
	guest early
	complete
}

case_dlsym_allocates() { guest dlsymalloc && complete; }

case_threads_churn() { guest threads churn && complete lossy; }
case_threads_wide() { guest threads wide && complete lossy; }
# Little room for rings: events are lost and counted, and the guest does not notice.
case_threads_little_ring() {
	local mode
	settings=(MTRACE_RING_MIB=1)
	guest threads wide
	for mode in sample full; do
		info "$mode"
		fact "$mode" '.complete == true and .lost >= 0 and .allocs + .lost >= 25600'
	done
}

case_signals_masked() { guest signals masked && complete; }
case_signals_altstack() {
	settings=(MTRACE_SAMPLE_BYTES=1)
	guest signals altstack
	complete
}
case_signals_regions() { guest signals regions && complete lossy; }
case_signals_jump() { guest signals jump && complete; }
case_signals_in_malloc() {
	settings=(MTRACE_SAMPLE_BYTES=256)
	guest sigsafe nested
	complete lossy
}
case_signals_leave_malloc() {
	settings=(MTRACE_SAMPLE_BYTES=256)
	guest sigsafe jump
	complete lossy
}

case_longjmp() { guest jumps longjmp && complete; }
case_contexts() {
	settings=(MTRACE_SAMPLE_BYTES=64)
	guest jumps contexts
	complete
}
case_deep_stack() { guest jumps deep && complete; }
case_tiny_stack() { guest jumps tiny && complete; }

case_fork() { guest forks fork && complete; }
case_fork_threaded() { guest forks threaded && complete; }
case_fork_exec() { needs_no_launcher && guest forks fork-exec && complete; }
case_vfork_exec() { needs_no_launcher && guest forks vfork-exec && complete; }
case_vfork_exit() { guest forks vfork-exit && complete; }
case_spawn() { needs_native "$no_spawn_error" && guest forks spawn && complete; }
case_system() { needs_native "$no_shell" && guest forks system && complete; }
case_popen() { needs_native "$no_shell" && guest forks popen && complete; }
case_raw_clone() { needs_native "$no_wipe" && guest forks rawclone && complete; }
case_clone_vm() { needs_native 'processes share no memory' && guest forks clone-vm && complete; }
case_exec_fails() { needs_no_launcher && guest forks execfail && complete; }

# Refused by the kernel when the trace was ended already: it goes on, and what other threads did meanwhile is lost.
case_exec_fails_late() { guest forks exec-late && complete lossy; }
case_exec_fails_late_and_is_killed() {
	local mode
	expected_status=137
	guest forks exec-late-killed
	for mode in sample full; do
		info "$mode"
		fact "$mode" '.complete == false and .lost_by_cause.disk == 0'
		counts "$mode"
	done
}

# One process, two programs, two traces; the first is readable, the second is whole.
two_programs() { # MODE-OF-FORKS
	needs_no_launcher
	local mode
	guest forks "$1"
	for mode in sample full; do
		info "$mode"
		fact "$mode" '.allocs >= 100 and .allocs < 1000'
		info "$mode-second" "$PWD/$mode.mtr.2"
		fact "$mode-second" '.complete == true and .allocs >= 20000 and .allocs < 21000'
	done
}
case_exec() { two_programs exec; }
case_exec_from_thread() { two_programs exec-thread; }
# Without the environment the second program is not traced, and the first trace is there.
case_exec_bare() {
	needs_no_launcher
	guest forks exec-bare
	readable
	[ ! -e full.mtr.2 ] || fail "a program without LD_PRELOAD has a trace"
}

case_cxx() { guest cxx throwing && complete; }
case_cxx_replaced_new() { guest cxxreplaced && complete; }
case_cxx_library_in_c() { guest cdl && complete; }

case_dlopen_loop() { guest dlloop && complete; }
case_dlopen_namespace() { guest dlloop namespace && complete; }

# Programs as they come; what they print must not change.
case_usual_programs() {
	compare sh -c 'for i in 1 2 3; do echo $i | sed s/1/one/; done; exit 4'
	compare bash -c 'x=$(echo a | cat); echo "$x" $((6 * 7)); cat <<<"here"; (exit 5)'
	compare sort -r "$here/guest.h"
	compare awk 'BEGIN { for (i = 0; i < 20000; i++) a[i] = i "x"; print length(a) }'
	compare find "$here" -name 'guest.h'
	[ -z "$(command -v perl)" ] || compare perl -e 'my %h; $h{$_} = "v$_" for 1..20000; print scalar(keys %h), "\n"'
	[ -z "$(command -v python3)" ] || compare python3 -c 'print(sum(len(str(i)) for i in range(100000)))'
}
