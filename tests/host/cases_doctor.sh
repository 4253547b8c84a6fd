# shellcheck shell=bash disable=SC2154,SC2034
# doctor on live processes: what it finds is what is there, and the commands that it prints mend it. The guest is a
# program that looks like a mongod 8 and registers rseq as that does (rseqowner.c).

# A pipe that nobody writes to keeps the guests waiting; they end with the case.
hold() {
	mkfifo hold
	exec 9<>hold
	owners=()
	# The first process of a PID namespace takes no other signal.
	trap '[ ${#owners[@]} = 0 ] || kill -KILL "${owners[@]}" 2>/dev/null' EXIT
}

# owner LABEL COMMAND...: COMMAND is run with a file to leave its process id in, and waited for; $owner is that id.
owner() {
	local label=$1
	shift
	rm -f "$PWD/$label.pid"
	"$@" "$PWD/$label.pid" <&9 >"$label.out" 2>&1 &
	owner_ready "$label"
}

owner_ready() { # LABEL
	local tries=0
	until [ -s "$1.pid" ]; do
		[ $((tries += 1)) -lt 200 ] || fail "$1 did not start: $(tail -n 2 "$1.out")"
		sleep 0.05
	done
	owner=$(cat "$1.pid")
	owners+=("$owner")
}

# doctor LABEL [OPTION...]: about $owner, into LABEL.json.
doctor() {
	local label=$1 status=0
	shift
	"$analyze" doctor --pid "$owner" --json "$@" >"$label.json" 2>"$label.err" || status=$?
	[ "$status" -le 1 ] || fail "$label: doctor ends with $status: $(tail -n 1 "$label.err")"
	local wrong
	wrong=$(jq '.warn + .bad' "$label.json")
	[ "$((wrong > 0))" = "$status" ] || fail "$label: exit status $status with $wrong findings"
}

field() { # LABEL ID FIELD
	jq -r --arg id "$2" --arg field "$3" '.findings[] | select(.id == $id) | .[$field] // ""' "$1.json"
}

finding() { # LABEL ID STATE [TEXT IN FOUND]
	[ "$(field "$1" "$2" state)" = "$3" ] ||
		fail "$1: $2 is $(field "$1" "$2" state), not $3: $(field "$1" "$2" found)"
	[[ $(field "$1" "$2" found) == *"${4:-}"* ]] || fail "$1: $2 has not found '$4': $(field "$1" "$2" found)"
}

# fixed LABEL ID: ends $owner, runs what is printed as it is printed, from elsewhere; $owner is what it starts.
fixed() {
	local fix
	fix=$(field "$1" "$2" fix)
	[ -n "$fix" ] || fail "$1: $2 has no command"
	kill "$owner"
	rm -f "$1.pid"
	(cd / && exec sh -c "$fix") <&9 >>"$1.out" 2>&1 &
	owner_ready "$1"
}

needs_rseq() {
	[ "$("$analyze" doctor --json | jq -r '.findings[] | select(.id == "kernel-rseq").state')" = ok ] ||
		skip "this kernel has no rseq"
	readelf -sW "$(ldconfig -p | sed -n 's/.*libc\.so\.6 .*=> //p' | head -n 1)" | grep -q _thread_db_sizeof_pthread ||
		skip "this C library is older than 2.34"
}

# ---- rseq --------------------------------------------------------------------------------------------------------

case_doctor_rseq_of_glibc() {
	needs_native "doctor reads the memory of a process, and that of an emulator is the emulator's"
	needs_rseq
	hold
	owner lost "$guests/rseqowner"
	doctor lost
	[ "$(jq -r .allocator lost.json)" = tcmalloc-google ] || fail "allocator $(jq -r .allocator lost.json)"
	finding lost rseq-owner bad "of 4 threads 4 have glibc's area registered, 0 the program's own"
	finding lost per-cpu-caches bad
	finding lost per-cpu-capacity ok "not in use"
	fixed lost rseq-owner
	doctor mended
	finding mended rseq-owner ok "of 4 threads 0 have glibc's area registered, 4 the program's own"
	finding mended per-cpu-caches ok "in use"
}

case_doctor_rseq_of_the_program() {
	needs_native "doctor reads the memory of a process, and that of an emulator is the emulator's"
	needs_rseq
	hold
	owner own env GLIBC_TUNABLES=glibc.pthread.rseq=0 "$guests/rseqowner"
	doctor own
	finding own rseq-owner ok "4 the program's own"
	finding own shim-load ok "dynamic program, C library: glibc"
	# Another C library may be asked for by its loader.
	owner loader env GLIBC_TUNABLES=glibc.pthread.rseq=0 "$(readelf -lW "$guests/rseqowner" |
		sed -n 's/.*program interpreter: \(.*\)\]/\1/p')" "$guests/rseqowner"
	doctor loader
	[ "$(jq -r .allocator loader.json)" = tcmalloc-google ] || fail "below its loader: $(jq -r .allocator loader.json)"
	finding loader rseq-owner ok "4 the program's own"
	# Under the shim nothing is different.
	owner shim env GLIBC_TUNABLES=glibc.pthread.rseq=0 LD_PRELOAD="$shim" MTRACE_OUT="$PWD/shim.mtr" "$guests/rseqowner"
	doctor shim
	finding shim rseq-owner ok "the program's own"
	finding shim shim-load ok "libmtrace.so is in it"
	kill "$owner"
	local tries=0
	while [ -e "/proc/$owner" ] && [ $((tries += 1)) -lt 100 ]; do sleep 0.05; done
	"$analyze" doctor --trace shim.mtr --json >trace.json
	[ "$(field trace rseq-owner state)" = ok ] || fail "its trace: $(field trace rseq-owner found)"
}

# Nothing but /proc, nothing for writing, no signal, no ptrace.
case_doctor_leaves_the_process_alone() {
	command -v strace >/dev/null || skip "no strace"
	hold
	owner alone "$guests/rseqowner"
	strace -f -o calls -e trace=open,openat,openat2,ptrace,kill,tgkill,process_vm_readv,process_vm_writev,write,pwrite64 \
		"$analyze" doctor --pid "$owner" --json >alone.json || [ $? = 1 ] || skip "strace does not work here"
	! grep -E '^[0-9]+ +(ptrace|kill|tgkill|process_vm)' calls || fail "$(grep -m1 -E 'ptrace|kill|process_vm' calls)"
	! grep -E 'O_(WRONLY|RDWR)' calls || fail "$(grep -m1 -E 'O_(WRONLY|RDWR)' calls)"
	grep -q "proc/$owner/mem" calls || fail "it has not looked at the memory"
}

case_doctor_without_privilege() {
	need_root
	hold
	owner other "$guests/rseqowner"
	install -m 755 "$analyze" analyze
	analyze=$PWD/analyze
	setpriv --reuid=65534 --regid=65534 --clear-groups "$analyze" doctor --pid "$owner" --json >other.json
	finding other rseq-owner unknown "run doctor as root, or as the user of the process"
	finding other per-cpu-capacity unknown "run doctor as root"
	finding other thp-process ok
	finding other thp-support ok
}

# ---- huge pages and settings of the machine ----------------------------------------------------------------------

case_doctor_thp_off_by_prctl() {
	needs_native "prctl of an emulator"
	grep -q THP_enabled /proc/self/status || skip "this kernel does not tell (it needs 5.0)"
	hold
	# The wrapper's setting outlives its exec.
	owner wrapped "$guests/rseqowner" thp-off exec "$guests/rseqowner"
	doctor wrapped
	finding wrapped thp-process bad "switched off"
	fixed wrapped thp-process
	doctor mended
	finding mended thp-process ok "allowed"
}

# Each setting is put wrong, found, and mended by the printed command; all of them as they were afterwards.
fixable='transparent_hugepage/enabled:never:thp-enabled transparent_hugepage/defrag:always:thp-defrag
transparent_hugepage/khugepaged/max_ptes_none:511:thp-max-ptes-none transparent_hugepage/khugepaged/defrag:0:thp-khugepaged
transparent_hugepage/use_zero_page:0:thp-zero-page transparent_hugepage/shrink_underused:1:thp-shrinker
transparent_hugepage/hugepages-2048kB/enabled:never:thp-by-size overcommit_memory:2:overcommit max_map_count:65530:max-map-count'

setting_path() {
	case $1 in
	transparent_hugepage/*) echo "/sys/kernel/mm/$1" ;;
	*) echo "/proc/sys/vm/$1" ;;
	esac
}

setting_value() { # PATH: what can be written back
	local line
	line=$(cat "$1")
	[[ $line != *\[*\]* ]] || { line=${line#*\[} && line=${line%%\]*}; }
	echo "$line"
}

machine() { # LABEL: of the machine alone
	"$analyze" doctor --json >"$1.json" || [ $? = 1 ] || fail "$1: doctor ends with $?"
}

case_doctor_commands_for_the_machine() {
	need_root
	[ -w /sys/kernel/mm/transparent_hugepage/enabled ] || skip "the settings of huge pages cannot be changed here"
	local entry path value id restore=$PWD/restore
	exec 8>/tmp/thp.lock
	flock 8
	: >"$restore"
	for entry in $fixable; do
		path=$(setting_path "${entry%%:*}")
		[ ! -w "$path" ] || printf 'echo %s >%s\n' "$(setting_value "$path")" "$path" >>"$restore"
	done
	# shellcheck disable=SC2064 # the path as it is now: it is local
	trap "sh '$restore' 2>/dev/null" EXIT
	trap 'exit 1' INT TERM
	# max_ptes_none decides about the shrinker: as it should be, unless its own turn has come.
	for entry in $fixable; do
		path=$(setting_path "${entry%%:*}") value=${entry#*:} id=${entry##*:}
		[ -w "$path" ] || continue
		echo 0 >/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none
		echo "${value%%:*}" >"$path" || continue
		machine wrong
		case $(field wrong "$id" state) in
		warn | bad) ;;
		*) fail "$path is ${value%%:*}, and $id is $(field wrong "$id" state)" ;;
		esac
		sh -c "$(field wrong "$id" fix)" || fail "$id: its command fails: $(field wrong "$id" fix)"
		machine mended
		finding mended "$id" ok
	done
	sh "$restore"
	trap - EXIT
	while read -r _ value path; do
		[ "$(setting_value "${path#>}")" = "$value" ] || fail "${path#>} was not put back to $value"
	done <"$restore"
}

# ---- cgroups -----------------------------------------------------------------------------------------------------

# In a mount namespace in which /sys/fs/cgroup/memory.max says what a container with cgroup v2 says.
case_doctor_view_of_a_container() {
	needs_native "it reads the memory of a process"
	needs_rseq
	need_namespaces -m
	hold
	local limit
	for limit in max 536870912; do
		# shellcheck disable=SC2016
		owner "view-$limit" unshare -m sh -c 'mount -t tmpfs none /sys/fs/cgroup && echo "$1" >/sys/fs/cgroup/memory.max &&
			GLIBC_TUNABLES=glibc.pthread.rseq=0 exec "$2" "$3"' sh "$limit" "$guests/rseqowner"
		doctor "view-$limit"
	done
	finding view-max per-cpu-capacity bad "a capacity of 0"
	finding view-536870912 per-cpu-capacity ok "536870912 bytes"
	# The process that it starts goes on in the same container.
	owner=$(cat view-max.pid)
	local fix
	fix=$(field view-max per-cpu-capacity fix)
	rm view-max.pid
	nsenter -m -t "$owner" sh -c "$fix" <&9 >>view-max.out 2>&1 &
	owner_ready view-max
	doctor mended
	finding mended per-cpu-capacity ok "set to 16777216 bytes"
}

# A container as engines make one: PID and mount namespaces and a root folder of its own, seen from outside.
case_doctor_process_in_a_container() {
	needs_native "it reads the memory of a process"
	needs_rseq
	need_namespaces -mp --fork
	command -v pivot_root >/dev/null || skip "no pivot_root"
	hold
	local folder child tries=0
	mkdir -p root/{opt,proc,sys/fs/cgroup,run,etc}
	cp "$guests/rseqowner" root/opt
	: >root/run/.containerenv
	echo max >root/sys/fs/cgroup/memory.max
	for folder in /usr /lib /lib64; do
		if [ -L "$folder" ]; then cp -P "$folder" root/; elif [ -d "$folder" ]; then mkdir -p "root$folder"; fi
	done
	# shellcheck disable=SC2016
	unshare -mp --fork sh -c 'mount --bind root root && for folder in /usr /lib /lib64; do
			[ -L "$folder" ] || [ ! -d "$folder" ] || mount --rbind "$folder" "root$folder" || exit 90
		done
		mount -t proc proc root/proc && cd root && pivot_root . . && umount -l . && cd / &&
			GLIBC_TUNABLES=glibc.pthread.rseq=0 exec /opt/rseqowner /run/pid' \
		<&9 >inside.out 2>&1 &
	child=$!
	until [ -s root/run/pid ]; do
		[ $((tries += 1)) -lt 200 ] || fail "it did not start: $(tail -n 2 inside.out)"
		sleep 0.05
	done
	owner=$(tr -d ' ' <"/proc/$child/task/$child/children")
	owners+=("$owner" "$child")
	[ "$(cat root/run/pid)" = 1 ] || fail "inside it is process $(cat root/run/pid)"
	doctor inside
	[ "$(jq -r .container inside.json)" = true ] || fail "it is not taken for a container"
	[ "$(jq -r .exe inside.json)" = /opt/rseqowner ] || fail "its program is $(jq -r .exe inside.json)"
	finding inside rseq-owner ok "4 the program's own"
	finding inside per-cpu-capacity bad "a capacity of 0"
	[[ $(field inside per-cpu-capacity advice) == *"-e MONGO_TCMALLOC_PER_CPU_CACHE_SIZE_BYTES=16777216"* ]] ||
		fail "it is not said how to start the container again: $(field inside per-cpu-capacity advice)"
}

in_cgroup() { # LABEL FOLDER
	# shellcheck disable=SC2016
	owner "$1" sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" "$3"' sh "$2" "$guests/rseqowner"
	doctor "$1"
}

# cgroup_limits FOLDER FILE VERSION: with a limit and without.
cgroup_limits() {
	local folder=$1/mtrace-doctor.$$
	mkdir "$folder" 2>/dev/null || skip "no cgroup can be made in $1"
	hold
	trap 'kill "${owners[@]}" 2>/dev/null; sleep 0.2; rmdir "'"$folder"'"' EXIT
	in_cgroup free "$folder"
	finding free cgroup-memory ok "cgroup v$3, limit none"
	echo 268435456 >"$folder/$2"
	doctor limited
	finding limited cgroup-memory ok "cgroup v$3, limit 256.0 MiB"
}

case_doctor_cgroup_v2() {
	need_root
	local folder
	for folder in /sys/fs/cgroup /sys/fs/cgroup/unified; do
		grep -qw memory "$folder/cgroup.controllers" 2>/dev/null || continue
		grep -qw memory "$folder/cgroup.subtree_control" || echo +memory >"$folder/cgroup.subtree_control" 2>/dev/null ||
			continue
		cgroup_limits "$folder" memory.max 2
		return
	done
	skip "the memory controller of this machine is not in a cgroup v2"
}

case_doctor_cgroup_v1() {
	need_root
	[ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ] || skip "the memory controller of this machine is not in a cgroup v1"
	cgroup_limits /sys/fs/cgroup/memory memory.limit_in_bytes 1
}

# ---- the manual --------------------------------------------------------------------------------------------------

case_doctor_every_id_has_a_section() {
	hold
	owner any "$guests/rseqowner"
	doctor any
	local id
	{
		jq -r '.findings[].id' any.json
		printf '%s\n' address-space lse # AArch64
	} | sort -u >ids
	sed -n 's/^### //p' "$root/docs/doctor.md" | sort >sections
	id=$(comm -23 ids sections | head -n 1)
	[ -z "$id" ] || fail "docs/doctor.md has no section $id"
	id=$(comm -13 ids sections | head -n 1)
	[ -z "$id" ] || fail "docs/doctor.md has a section $id of no check"
}
