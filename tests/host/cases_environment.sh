# shellcheck shell=bash disable=SC2154,SC2034
# Surroundings: disks, limits, descriptors, settings, containers, daemons.

messages() { # LABEL: how many lines of the shim's own
	grep -c '^mtrace:' "$1.err"
}

one_message() { # LABEL TEXT...: exactly one line, and each text is in it
	local label=$1 text
	shift
	[ "$(messages "$label")" = 1 ] || fail "$label: $(messages "$label") messages instead of one: $(grep -m3 '^mtrace:' "$label.err" | tr '\n' ' ')"
	for text in "$@"; do
		grep '^mtrace:' "$label.err" | grep -qF -- "$text" ||
			fail "$label: the message does not name '$text': $(grep '^mtrace:' "$label.err")"
	done
}

at_most_one_message() { # LABEL
	[ "$(messages "$1")" -le 1 ] || fail "$1: $(messages "$1") messages: $(grep -m3 '^mtrace:' "$1.err" | tr '\n' ' ')"
}

# As much as there is of a trace can be read; where there is none, one line says why.
trace_or_message() { # LABEL [TRACE]
	local trace=${2:-$PWD/$1.mtr}
	at_most_one_message "$1"
	if [ -e "$trace" ]; then
		info "$1" "$trace" "0 3"
	elif [ "$(messages "$1")" = 0 ]; then
		fail "$1: neither a trace nor a message"
	fi
}

no_trace() { # PREFIX
	[ -z "$(find . -name "$1*.mtr*")" ] || fail "there is a trace: $(find . -name "$1*.mtr*" | tr '\n' ' ')"
}

# ---- disks and limits -----------------------------------------------------------------------------------------------

# In a mount namespace of its own: a file system of SIZE, of which FILL bytes are taken, holds the trace.
on_small_disk() { # LABEL MODE SIZE FILL COMMAND...
	needs_no_launcher
	local label=$1 mode=$2 size=$3 fill=$4
	shift 4
	mkdir -p disk
	# shellcheck disable=SC2016
	run "$label" unshare -m sh -c '
		mount -t tmpfs -o size="$1" tmpfs disk || exit 90
		head -c "$2" /dev/zero >disk/filling 2>/dev/null
		shim=$3 mode=$4 copy=$5
		shift 5
		env LD_PRELOAD="$shim" MTRACE_OUT="$PWD/disk/t.mtr" MTRACE_MODE="$mode" "$@"
		status=$?
		rm -f disk/filling
		mkdir "$copy" && cp disk/* "$copy" 2>/dev/null
		exit $status' sh "$size" "$fill" "$shim" "$mode" "$label.disk" "$@"
}

case_full_disk() {
	need_namespaces -m
	local size fill label
	untraced plain "$guests/churn" 1500000
	while read -r label size fill; do
		on_small_disk "$label" full "$size" "$fill" "$guests/churn" 1500000
		same "$label"
		trace_or_message "$label" "$PWD/$label.disk/t.mtr"
	done <<-END
		full-from-start 1m 1m
		full-at-start 1m 900k
		full-soon 3m 0
	END
}

# What is lost when the disk is full is told to the last call, in a trace that says that it is complete as in one that does
# not. Which of the last blocks still find room differs from run to run.
case_full_disk_counters() {
	need_namespaces -m
	local i
	untraced plain "$guests/churn" 1500000
	for i in {1..8}; do
		on_small_disk full full 8m 6m "$guests/churn" 1500000
		same full
		[ -e full.disk/t.mtr ] || fail "there is no trace although 2 MiB were free"
		info full "$PWD/full.disk/t.mtr" "0 3"
		fact full '.allocs >= 1500000 and .events >= 3000000 and .lost > 0'
		rm -r full.disk
	done
}

case_full_disk_sample() {
	need_namespaces -m
	untraced plain "$guests/churn" 300000
	on_small_disk sample sample 200k 200k "$guests/churn" 300000
	same sample
	trace_or_message sample "$PWD/sample.disk/t.mtr"
}

case_file_size_limit() {
	local mode how bytes
	for bytes in 16384 524288; do
		for how in default handler; do
			before=(prlimit "--fsize=$bytes")
			untraced plain "$guests/fsize" "$how" own
			for mode in sample full; do
				traced "$mode" "$mode" "$guests/fsize" "$how" own
				same "$mode"
				trace_or_message "$mode"
				rm -f "$mode".mtr*
			done
		done
	done
}

# refused TEXT...: both modes run untraced, and one line names the path and each text.
refused() {
	local mode
	untraced plain "$guests/churn" 20000
	for mode in sample full; do
		traced "$mode" "$mode" "$guests/churn" 20000
		same "$mode"
		one_message "$mode" "uid $(id -u) " "$mode.mtr" "$@"
		no_trace "$mode"
	done
}

# One descriptor is left: the loader needs it, the trace and its rings two.
case_no_descriptors() {
	before=(prlimit --nofile=4)
	refused 'too many open files' 'ulimit -n'
}

# The recorder would leave too little to the guest: it does not start. With smaller rings it does.
case_little_address_space() {
	local limit
	for limit in 100000000 330000000; do
		before=(prlimit "--as=$limit")
		refused 'address space' 'ulimit -v' MTRACE_RING_MIB=8
	done
	settings=(MTRACE_RING_MIB=8)
	guest churn 20000
	readable
}

case_no_file_size() {
	before=(prlimit --fsize=0)
	untraced plain true
	traced full full true
	[ "$(cat plain.status)" = "$(cat full.status)" ] || fail "ends with $(cat full.status), without the shim $(cat plain.status)"
}

case_no_space_at_all() {
	need_namespaces -m
	untraced plain "$guests/churn" 20000
	on_small_disk full full 64k 65536 "$guests/churn" 20000
	same full
	one_message full 'no space' MTRACE_OUT MTRACE_RING_MIB
}

# What a shell's "ulimit -v 400000" gives: enough for the guest and the recorder.
case_moderate_address_space() {
	before=(prlimit --as=409600000)
	guest churn 20000
	complete
}

# A guest that locks all it has: the recorder has mapped little enough to be locked too.
case_locked_memory() {
	guest locked
	! grep -q 'cannot lock' plain.out || skip "no memory can be locked here"
	complete
}

# Where huge pages are always on, the shim's sparse tables would take them from the guest, and slow it down. No smaller
# mapping than a huge page can get one.
case_no_huge_pages_of_its_own() {
	local mode
	needs_native "what an emulator maps is its own"
	[ -d /sys/kernel/mm/transparent_hugepage ] || skip "the kernel has no huge pages"
	for mode in sample full; do
		traced "$mode" "$mode" cat /proc/self/smaps
		awk '/^[0-9a-f]+-/ { mapping = $0; writable = $2 ~ /w/ && !/\[stack\]/ }
			/^Size:/ { large = $2 >= 2048 }
			/^VmFlags:/ && writable && large { n++; if (!/ nh( |$)/) print mapping } END { if (n < 4) print "too few mappings: " n + 0 }' \
			"$mode.out" >"$mode.eligible"
		[ ! -s "$mode.eligible" ] || fail "$mode: could get huge pages: $(head -n 3 "$mode.eligible" | tr '\n' ';')"
	done
}

case_seccomp() {
	local mode
	guest sealed
	for mode in sample full; do
		info "$mode" "$PWD/$mode.mtr" "0 3"
		fact "$mode" '.allocs + .lost >= 60000'
	done
}

# Nothing of the recorder's may call the kernel in a thread for which that is death.
case_seccomp_strict() {
	local how
	for how in prctl syscall; do
		guest strict "$how"
		! grep -q 'no strict mode' plain.out || skip "no strict seccomp here"
		[ "$(cat plain.status)" = 5 ] || fail "already without the shim: ends with $(cat plain.status)"
		readable
		rm -f ./*.mtr*
	done
}

# ---- where the trace goes ---------------------------------------------------------------------------------------------

case_unwritable_folder() {
	local mode
	untraced plain "$guests/churn" 20000
	settings=(MTRACE_OUT=/nonexistent/folder/t.mtr)
	for mode in sample full; do
		traced "$mode" "$mode" "$guests/churn" 20000
		same "$mode"
		one_message "$mode" "$(id -u)" /nonexistent/folder/t.mtr 'no such folder' MTRACE_OUT=
	done
}

case_unwritable_for_this_user() {
	need_root
	mkdir -m 700 closed
	before=(setpriv --reuid=65534 --clear-groups)
	settings=(MTRACE_OUT="$PWD/closed/t.mtr")
	untraced plain "$guests/churn" 20000
	traced full full "$guests/churn" 20000
	same full
	one_message full 65534 "$PWD/closed/t.mtr" 'permission denied' MTRACE_OUT=
}

case_out_is_a_folder() {
	untraced plain "$guests/churn" 20000
	mkdir folder
	settings=(MTRACE_OUT="$PWD/folder/")
	traced full full "$guests/churn" 20000
	same full
	[ -n "$(ls folder)" ] || trace_or_message full
}

case_started_twice() {
	local n
	untraced plain "$guests/churn" 20000
	for n in 1 2 3; do
		traced full full "$guests/churn" 20000
		same full
	done
	info full "$PWD/full.mtr"
	fact full '.complete == true and .allocs >= 20002'
	info full.2 "$PWD/full.mtr.2"
	fact full.2 '.complete == true and .allocs >= 20002'
	info full.3 "$PWD/full.mtr.3"
	fact full.3 '.complete == true and .allocs >= 20002'
}

# At the same moment: each gets a file of its own, and no event of another's.
case_started_at_once() {
	needs_no_launcher
	local n pids=() pid trace
	for n in 1 2 3 4; do
		env LD_PRELOAD="$shim" MTRACE_OUT="$PWD/t.mtr" MTRACE_MODE=full "$guests/churn" 20000 >"out.$n" 2>&1 &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || fail "a guest ends with $?"
	done
	for trace in t.mtr t.mtr.2 t.mtr.3 t.mtr.4; do
		info "$trace" "$PWD/$trace"
		fact "$trace" '.complete == true and .allocs >= 20002 and .allocs <= 20066'
	done
	[ "$(find . -name 't.mtr*' -not -name '*.json' -not -name '*.err' | wc -l)" = 4 ] ||
		fail "more than the four traces: $(find . -name 't.mtr*' | tr '\n' ' ')"
}

# A file that is there is not touched, whatever it is.
case_never_overwritten() {
	untraced plain "$guests/churn" 20000
	echo 'not a trace' >full.mtr
	traced full full "$guests/churn" 20000
	same full
	[ "$(cat full.mtr)" = 'not a trace' ] || fail "the file was overwritten"
	info full "$PWD/full.mtr.2"
}

case_path_patterns() {
	local host made
	host=$(uname -n)
	settings=(MTRACE_OUT=p.%e.%h.%p.%t.mtr)
	traced full full "$guests/churn" 1000
	made=$(find . -name 'p.*.mtr')
	[[ $made =~ ^\./p\.churn\.$host\.[0-9]+\.[0-9TZ:.+-]+\.mtr$ ]] || fail "p.%e.%h.%p.%t.mtr became ${made:-nothing}"
	info full "$made"
	fact full ".pid == $(echo "$made" | sed "s/^\.\/p\.churn\.$host\.\([0-9]*\)\..*/\1/")"
	settings=(-u MTRACE_OUT)
	run default env -u MTRACE_OUT LD_PRELOAD="$shim" "$guests/churn" 1000
	made=$(find . -name 'mtrace.*.mtr')
	[[ $made =~ ^\./mtrace\.$host\.[0-9]+\.mtr$ ]] || fail "without MTRACE_OUT the trace is ${made:-nowhere}"
	info default "$made"
	fact default '.mode == "sample"'
}

case_folder_and_root_change() {
	need_root
	local mode
	mkdir -m 755 jail
	untraced plain "$guests/jail" "$PWD/jail"
	for mode in sample full; do
		settings=(MTRACE_OUT="$mode.mtr")
		traced "$mode" "$mode" "$guests/jail" "$PWD/jail"
		same "$mode"
		at_most_one_message "$mode"
		info "$mode"
		fact "$mode" '.complete == true and .allocs + .lost >= 80000'
		[ -z "$(ls jail)" ] || fail "$mode: something was made in the jail: $(ls jail)"
	done
}

case_user_change() {
	need_root
	local mode
	mkdir -m 755 jail
	untraced plain "$guests/jail" "$PWD/jail" drop
	for mode in sample full; do
		traced "$mode" "$mode" "$guests/jail" "$PWD/jail" drop
		same "$mode"
		info "$mode"
		fact "$mode" '.complete == true and .allocs + .lost >= 80000'
		# The new user may not remove the rings file; what it held is given back.
		[ "$(stat -c %b "$mode.mtr.rings" 2>/dev/null || echo 0)" = 0 ] ||
			fail "$mode: the rings file still takes $(stat -c %b "$mode.mtr.rings") blocks"
	done
}

# ---- settings -----------------------------------------------------------------------------------------------------------

case_bad_values() {
	local variable value default
	untraced plain "$guests/churn" 1000
	while read -r variable value default; do
		settings=("$variable=$value")
		traced full full "$guests/churn" 1000
		same full
		one_message full "$variable" "$value" "$default"
		rm -f full.mtr*
	done <<-END
		MTRACE_MODE fulll sample
		MTRACE_SAMPLE_BYTES 12X 512K
		MTRACE_SAMPLE_BYTES -5 512K
		MTRACE_SAMPLE_BYTES 99999999999999999999G 512K
		MTRACE_MAX_MIB -1 0
		MTRACE_MAX_MIB 2x 0
		MTRACE_INTERVAL_MS abc 1000
		MTRACE_STACK_DEPTH 1e9 32
		MTRACE_STACK_DEPTH -3 32
		MTRACE_LOCKS maybe 0
		MTRACE_PATCH perhaps auto
		MTRACE_CHILDREN 2 0
		MTRACE_RING_MIB none 64
	END
}

case_all_values_good() {
	settings=(MTRACE_SAMPLE_BYTES=64K MTRACE_MAX_MIB=16 MTRACE_INTERVAL_MS=100 MTRACE_STACK_DEPTH=8 MTRACE_LOCKS=0
		MTRACE_PATCH=off MTRACE_CHILDREN=0 'MTRACE_EXE=c*' MTRACE_RING_MIB=32)
	guest churn 20000
	complete
}

case_mode_off() {
	untraced plain "$guests/state"
	traced off off "$guests/state"
	same off
	[ "$(messages off)" = 0 ] || fail "a message although nothing was asked for: $(cat off.err)"
	no_trace off
}

case_program_glob() {
	settings=('MTRACE_EXE=chu*')
	guest churn 20000
	complete
	rm -f ./*.mtr
	settings=('MTRACE_EXE=mongo[ds]')
	guest churn 20000
	no_trace sample
	no_trace full
}

# The shell and what it starts are silent; the program that the shell becomes is not.
case_program_glob_in_chain() {
	settings=('MTRACE_EXE=churn')
	# shellcheck disable=SC2016
	compare sh -c '/bin/true; exec "$0" 20000' "$guests/churn"
	complete
}
