# shellcheck shell=bash disable=SC2154,SC2034
# Programs that carry their own allocator: their entries are patched, or it is said why not.

need_guest() { # PATH WHY-NOT
	[ -x "$guests/$1" ] || skip "$2"
}

# `malloc_source` in both modes.
source_is() { # SOURCE
	local mode
	for mode in sample full; do
		fact "$mode" ".malloc_source == \"$1\""
	done
}

# Every name that was found is patched, or another name of one that is.
all_patched() {
	local mode
	for mode in sample full; do
		fact "$mode" '(.patched | length) > 0 and all(.patched[]; .state == "patched" or .state == "alias")'
	done
}

# ---- the distribution's static allocators ---------------------------------------------------------------------------

usual_ends='return exit _exit _Exit quick_exit thread-exit thread-_exit pthread_exit threads-idle'

every_end() { # GUEST
	local how status mode
	for how in $usual_ends; do
		guest "$1" "$how"
		complete
	done
	guest "$1" syscall
	readable
	while read -r how status; do
		expected_status=$status
		guest "$1" "$how"
		readable
		for mode in sample full; do
			fact "$mode" '.complete == false and .lost == 0'
		done
	done <<-END
		abort 134
		segv 139
		kill 137
		term 143
	END
	unset expected_status
}

with_static() { # ALLOCATOR KIND
	local folder=static/$1-$2
	need_guest "$folder/counted" "the distribution has no static $1 here"
	settings=(MTRACE_RING_MIB=256) # a busy machine may keep the writer waiting: nothing is to be lost here
	exact_counts "$folder/counted" patched
	all_patched
	guest "$folder/cxxcount"
	complete
	guest "$folder/abi"
	complete
	[ "$1" = mimalloc ] || guest "$folder/cxx" # mimalloc ends a program that asks new for too much
	guest "$folder/threads" wide
	complete lossy
	guest "$folder/vmcalls"
	complete
	source_is patched
	if [ "$1" = tcmalloc ] || [ "$2" = exported ]; then
		every_end "$folder/exits"
	else
		guest "$folder/exits" _exit
		complete
	fi
}

case_static_tcmalloc_exported() { with_static tcmalloc exported; }
case_static_tcmalloc_pie() { with_static tcmalloc pie; }
case_static_tcmalloc_fixed() { with_static tcmalloc fixed; }
case_static_jemalloc_exported() { with_static jemalloc exported; }
case_static_jemalloc_pie() { with_static jemalloc pie; }
case_static_jemalloc_fixed() { with_static jemalloc fixed; }
case_static_mimalloc_exported() { with_static mimalloc exported; }
case_static_mimalloc_pie() { with_static mimalloc pie; }
case_static_mimalloc_fixed() { with_static mimalloc fixed; }

# ---- entry points written in assembler ------------------------------------------------------------------------------

# All of them recorded, exactly, with their callers; and what was displaced has run.
entry() { # VARIANT
	need_guest "patch/$1" "there is no such entry point for this processor"
	guest "patch/$1"
	complete
	source_is patched
	all_patched
	timeout "$limit_s" "$analyze" sites --json full.mtr >sites.json || fail "mtrace-analyze sites ends with $?"
	fact sites 'any(.sites[]; .allocs >= 500 and .stack[0] == "use_functions" and .stack[1] == "main")'
}

case_entry_endbr() { entry endbr; }
case_entry_relative_load() { entry load; }
case_entry_relative_address() { entry lea; }
case_entry_relative_store() { entry store; }
case_entry_branch() { entry branch; }
case_entry_branch_near() { entry branch_near; }
case_entry_jump() { entry jump; }
case_entry_call() { entry call; }
case_entry_call_through_memory() { entry call_memory; }
case_entry_tail_jumps() { entry tail; }
case_entry_alias() {
	entry alias
	fact full '[.patched[] | select(.name == "_ZdlPv")] | length == 1 and .[0].state == "alias" and .[0].reason == "free"'
}

# One of them left alone, with the reason in the trace and in one line; the rest recorded.
entry_skipped() { # VARIANT FUNCTION REASON [NOT-RECORDED]
	local mode
	need_guest "patch/$1" "there is no such entry point for this processor"
	silent=0
	guest "patch/$1" ${4:+"$4"}
	complete
	source_is patched
	for mode in sample full; do
		one_message "$mode" "not $2 ($3)"
		fact "$mode" "[.patched[] | select(.state == \"skipped\")] | length == 1 and .[0].name == \"$2\" and .[0].reason == \"$3\""
	done
}

case_entry_branch_back() {
	entry_skipped branch_back malloc "a branch leads back into its first bytes" malloc
	fact full '.allocs < 1100'
}
case_entry_short_free() {
	entry_skipped short_free free "it is shorter than a jump" free
	fact full '.frees < 100'
}
case_entry_short_malloc() {
	entry_skipped short_malloc malloc "it is shorter than a jump" malloc
	fact full '.allocs < 1100'
}
case_entry_without_size() { entry_skipped sizeless cfree "the symbol table does not say how long it is"; }
# Deletes with a size go on into the plain ones, and are recorded there.
case_entry_fall_through() { entry_skipped fall_through _ZdlPvm "another function begins in its first bytes"; }

case_entry_exceptions() {
	need_guest patch/throwing "there is no such entry point for this processor"
	guest patch/throwing
	complete
	source_is patched
	all_patched
}

# ---- text that is not as it was mapped ------------------------------------------------------------------------------

# Text on anonymous memory, in huge pages where the kernel gives them.
case_text_moved() {
	need_guest patch/moved "there is no such entry point for this processor"
	guest patch/moved
	complete
	source_is patched
	all_patched
}

need_refusal() { # OF
	"$guests/patchrefuse" "$1" true
	[ "$?" = 0 ] || skip "this kernel cannot refuse it (PR_SET_MDWE is in 6.3 and later; seccomp filters)"
	before=("$guests/patchrefuse" "$1")
	silent=0
}

# Code that may not be changed: one line, nothing else.
text_protected() { # OF REASON
	local mode
	need_guest patch/lea "there is no such entry point for this processor"
	need_refusal "$1"
	guest patch/lea nothing
	for mode in sample full; do
		info "$mode"
		fact "$mode" '.complete == true and .malloc_source == "blind" and .allocs == 0 and (.patched | length) > 0 and all(.patched[]; .state != "patched")'
		one_message "$mode" blind "$2"
	done
}

case_text_never_executable() { text_protected gain "does not let memory that was written become executable"; }
case_text_never_writable() { text_protected write "does not let code become writable"; }

# gperftools has hooks for that. They see calloc and operator new as malloc, a realloc as a free and an allocation.
case_text_protected_hooks() {
	local mode
	need_guest static/tcmalloc-exported/cxxcount "the distribution has no static tcmalloc here"
	need_refusal gain
	guest static/tcmalloc-exported/cxxcount
	for mode in sample full; do
		info "$mode"
		fact "$mode" '.malloc_source == "hooked" and .lost == 0 and .complete == true and .allocs >= 20000 and .allocs <= 20016 and .frees >= 20000 and .frees <= 20016'
	done
	guest static/tcmalloc-exported/exits return
	readable
	guest static/tcmalloc-exported/threads wide
	readable
}

# ---- which allocator, and whose calls -------------------------------------------------------------------------------

# In .symtab only: the program uses its own, and libc libc's. A static function of such a name is none of it.
case_allocator_hidden() {
	local mode
	guest patch/hidden libc
	complete
	source_is patched
	all_patched
	for mode in sample full; do
		fact "$mode" 'any(.patched[]; .name == "malloc") and all(.patched[]; .name != "cfree")'
	done
}

case_allocator_prefixed() {
	local mode
	guest patch/prefixed libc
	complete
	source_is patched
	all_patched
	for mode in sample full; do
		fact "$mode" 'all(.patched[]; .name | startswith("je_"))'
	done
}

# The names alone are no allocator.
case_allocator_namesakes() {
	local mode
	guest patch/namesakes libc
	for mode in sample full; do
		info "$mode"
		fact "$mode" '.malloc_source == "interposed" and .patched == []'
	done
}

# A library that keeps its calls to itself; everybody else's come to us, and go on to it.
case_allocator_of_library() {
	local mode
	guest patch/symbolic
	complete
	all_patched
	for mode in sample full; do
		fact "$mode" 'all(.patched[]; .module | endswith("/libsymbolic.so"))'
	done
}

# libstdc++ is inside: operators are in .symtab, and not exported.
case_allocator_alone() {
	local allocator found=
	for allocator in tcmalloc jemalloc; do
		[ -x "$guests/static/$allocator-alone/cxxcount" ] || continue
		found=1
		guest "static/$allocator-alone/cxxcount"
		complete
		source_is patched
		all_patched
		guest "static/$allocator-alone/cxx"
		complete
	done
	[ -n "$found" ] || skip "the distribution has no static allocator here"
}

# Blocks of before are freed later.
case_allocator_before_patching() {
	guest patch/before
	complete
	source_is patched
	fact full '.live_bytes_end >= 0 and .patched_at_s >= 0'
	fact sample '.live_bytes_end >= 0'
}

case_patch_off() {
	local mode
	silent=0
	settings=(MTRACE_PATCH=off)
	guest patch/before nothing
	for mode in sample full; do
		info "$mode"
		fact "$mode" '.malloc_source == "blind" and .allocs == 0 and .patched_at_s == null'
		one_message "$mode" blind "MTRACE_PATCH is off"
	done
}

# Calls of the libraries are seen all the same.
case_patch_off_beside() {
	local mode
	silent=0
	settings=(MTRACE_PATCH=off)
	guest patch/hidden libc nothing
	for mode in sample full; do
		info "$mode"
		fact "$mode" '.malloc_source == "interposed" and .allocs >= 500 and .allocs <= 516'
		one_message "$mode" "partly blind" "MTRACE_PATCH is off"
	done
}

# The hook of pthread_create comes before the constructor, and before the thread.
case_thread_before_constructor() {
	guest patch/threaded
	complete
	source_is patched
}

# A thread that was started past every hook may stand in what would be changed.
case_thread_before_patching() {
	local mode
	silent=0
	settings=(EARLY_THREAD=libc)
	guest patch/threaded nothing
	for mode in sample full; do
		info "$mode"
		fact "$mode" '.malloc_source == "blind" and .allocs == 0'
		one_message "$mode" blind "another thread runs already"
	done
}

# ---- an explicit loader ---------------------------------------------------------------------------------------------

loader_of() { # PROGRAM
	readelf -lW "$1" | sed -n 's/.*Requesting program interpreter: \(.*\)\]/\1/p'
}

case_explicit_loader() {
	local label loader
	loader=$(loader_of "$guests/patch/before")
	[ -x "$loader" ] || skip "there is no loader $loader"
	"$loader" --preload "" /bin/true 2>/dev/null || skip "this loader does not know --preload"
	untraced plain "$guests/patch/before"
	run preload env MTRACE_OUT="$PWD/preload.%e.mtr" MTRACE_MODE=full "$loader" --preload "$shim" "$guests/patch/before"
	run variable env LD_PRELOAD="$shim" MTRACE_OUT="$PWD/variable.%e.mtr" MTRACE_MODE=full "$loader" "$guests/patch/before"
	for label in preload variable; do
		same "$label"
		info "$label" "$PWD/$label.before.mtr"
		counts "$label"
		fact "$label" '.complete == true and .malloc_source == "patched" and (.exe | endswith("/patch/before"))'
		[ "$(grep -c '^mtrace:' "$label.err")" = 0 ] || fail "$label: unexpected message: $(cat "$label.err")"
	done
}

# The compiler has seen the allocator and its callers together.
case_allocator_in_one_file() {
	local mode
	silent=0
	guest patchonefile
	for mode in sample full; do
		info "$mode"
		counts "$mode"
		fact "$mode" '.malloc_source == "patched"'
	done
}
