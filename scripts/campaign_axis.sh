# shellcheck shell=bash disable=SC2034,SC2154
# The treatment: what an arm sets, on the machine or for the program; sourced by campaign.sh.
#
# A new axis is a name in axis_read, a check in axis_check, and what it sets in axis_program (for the program that is
# measured) or axis_machine (for the machine, before each run).

# Set by axis_program for an arm.
arm_env=()     # NAME=VALUE
arm_unset=()   # NAME
arm_preload='' # a library
arm_glibc=''   # a folder, or system; empty where the axis is another
arm_cpus=''    # a list
arm_config=()  # KEY=VALUE

# split_values TEXT: into values[], at commas; "\," is a comma inside of one.
split_values() {
	mapfile -t values < <(printf '%s\n' "$1" | sed 's/\\,/\x01/g' | tr ',\001' '\n,')
}

# axis_read NAME=VALUES LABELS: sets axis, values[], labels[] and treatment[]: what the axis sets, and what follows from
# it (another C library may take rseq, another variable may switch caches off).
axis_read() {
	[[ $1 == *=* ]] || wrong_usage "--axis $1: expected NAME=A,B"
	local name=${1%%=*}
	split_values "${1#*=}"
	[ ${#values[@]} -ge 2 ] || wrong_usage "--axis $1: two arms or more are compared, and only ${#values[@]} is there"
	[ ${#values[@]} -le 20 ] || wrong_usage "--axis $1: more than 20 arms"
	opt[axis]=$name
	case $name in
	thp) treatment=(thp) ;;
	glibc) treatment=(glibc allocator rseq_owner) ;;
	preload) treatment=(environment.LD_PRELOAD allocator rseq_owner) ;;
	percpu-cache) treatment=(environment.MONGO_TCMALLOC_PER_CPU_CACHE_SIZE_BYTES allocator) ;;
	cpus) treatment=(cpus) ;;
	env:?*) treatment=("environment.${name#env:}" allocator rseq_owner) ;;
	config:?*) treatment=("workload.config.${name#config:}" workload.server_options) ;;
	setup) treatment=() ;;
	*) wrong_usage "--axis $name: expected thp, glibc, preload, percpu-cache, cpus, env:VAR, config:KEY or setup" ;;
	esac
	labels=("${values[@]}")
	if [ -n "$2" ]; then
		mapfile -t labels < <(printf '%s\n' "${2//,/$'\n'}")
		[ ${#labels[@]} = ${#values[@]} ] || wrong_usage "--labels $2: ${#labels[@]} labels for ${#values[@]} arms"
	fi
	distinct "${labels[@]}" || wrong_usage "--axis $1: two arms have the same label"
}

distinct() { [ "$(printf '%s\n' "$@" | sort | uniq -d | wc -l)" = 0 ]; }

# ---- checks before anything is begun ------------------------------------------------------------------------------

axis_check() {
	local value index
	for index in "${!values[@]}"; do
		value=${values[$index]}
		[[ -n $value && ! $value =~ [[:cntrl:]] ]] || die "--axis ${opt[axis]}: an arm is empty, or holds control characters"
		[[ -n ${labels[$index]} && ! ${labels[$index]} =~ [[:cntrl:]] ]] || die "a label is empty, or holds control characters"
		case ${opt[axis]} in
		thp) [[ $value =~ ^(always|madvise|never|recommended)$ ]] || die "thp=$value: expected always, madvise, never or recommended" ;;
		glibc) check_glibc "$value" ;;
		preload) [ "$value" = none ] || check_preload "$value" ;;
		percpu-cache) check_percpu_cache "$value" ;;
		cpus) taskset -c "${value//+/,}" true 2>/dev/null || die "cpus=$value: CPUs that this machine, or this process, does not have (0-3, or 0+2+4-5; commas part the arms)" ;;
		env:*) [[ ${opt[axis]#env:} =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]] || die "--axis ${opt[axis]}: not the name of a variable" ;;
		config:*) config_check "${opt[axis]#config:}" "$value" ;;
		esac
	done
	case ${opt[axis]} in
	thp) check_thp ;;
	setup) [ -n "${opt[setup]}" ] || die "--axis setup needs --setup COMMAND, which is given the arm as MTRACE_ARM" ;;
	esac
	case ${opt[kind]}:${opt[axis]} in
	url:thp | url:setup | *:thp | *:setup) ;;
	url:*) die "--axis ${opt[axis]} starts the server anew in each arm; a server that already runs (--mongodb-url) can be asked by thp and setup" ;;
	esac
}

check_thp() {
	local now
	[ "${opt[kind]}" != url ] || is_local "${opt[mongodb_url]}" ||
		die "--axis thp changes the settings of this machine, and the server of ${opt[mongodb_url]##*@} is on another: start the campaign there"
	now=$("$here/thp.sh" show --json 2>/dev/null | jq -r '.settings.enabled // empty') || true
	[ -n "$now" ] || { "$here/thp.sh" show >/dev/null && exit 1; }
	[ -w "${THP_ROOT:-}/sys/kernel/mm/transparent_hugepage/enabled" ] ||
		die "--axis thp changes the machine's settings: as root, where /sys can be written (scripts/thp.sh)"
}

# is_local URL: whether all servers that it names are on this machine.
is_local() {
	local hosts host
	hosts=${1#*://} hosts=${hosts%%[/?]*}
	for host in $(tr ',' ' ' <<<"${hosts##*@}"); do
		case $host in
		localhost | localhost:* | 127.* | '[::1]'* | %2[Ff]* | "$(uname -n)" | "$(uname -n)":*) ;;
		*) return 1 ;;
		esac
	done
}

check_glibc() {
	local place
	place=$(glibc_folder "$1")
	[ "${opt[kind]}" != url ] || return 0
	[ "$place" = system ] || "$here/testrun.sh" --glibc "$place" --check "$(measured_program)" ||
		die "glibc=$1: a folder of make glibc (build/glibc/lse), or system"
}

check_percpu_cache() {
	[ "${opt[kind]}" = mongod ] || die "--axis percpu-cache sets the cache of a mongod (8.0 or newer), by its environment: it needs --mongod PATH"
	[ "$1" = default ] || [ -n "$(bytes_of "$1")" ] || die "percpu-cache=$1: expected a number of bytes above 0 (with K, M or G), or default"
}

# The loader drops a library that it cannot load, says so once, and goes on: both arms would be the same.
check_preload() {
	local library said
	library=$(library_path "$1") || die "preload=$1: no such library (a path, none, jemalloc, tcmalloc, tcmalloc_minimal, mimalloc)"
	[[ $library != *[\ :]* ]] || die "preload=$1: LD_PRELOAD takes no path with a space or a colon: $library"
	said=$(LD_PRELOAD=$library /bin/true 2>&1)
	[[ $said != *"$library"* ]] || die "preload=$1: $said"
}

glibc_folder() { if [ "$1" = system ]; then say system; else from_start "$1"; fi }

# bytes_of TEXT: 16M as 16777216; nothing where it is no size.
bytes_of() {
	[[ $1 =~ ^([1-9][0-9]{0,12})([KMG]?)$ ]] || return 0
	case ${BASH_REMATCH[2]} in
	K) say $((BASH_REMATCH[1] << 10)) ;;
	M) say $((BASH_REMATCH[1] << 20)) ;;
	G) say $((BASH_REMATCH[1] << 30)) ;;
	*) say "${BASH_REMATCH[1]}" ;;
	esac
}

# library_path NAME: an allocator by its usual name, or any library by its path or file name.
library_path() {
	local file name
	case $1 in
	*/*)
		file=$(from_start "$1")
		[ -f "$file" ] && say "$file"
		return
		;;
	esac
	for name in "lib$1.so" "$1"; do
		file=$(ldconfig -p 2>/dev/null || /sbin/ldconfig -p)
		file=$(awk -v name="$name" '$1 == name || index($1, name ".") == 1 { print $NF; exit }' <<<"$file")
		[ -z "$file" ] || { say "$file" && return; }
	done
	return 1
}

# ---- what an arm sets ---------------------------------------------------------------------------------------------

# axis_program INDEX
axis_program() {
	local value=${values[$1]}
	arm_env=() arm_unset=() arm_preload='' arm_glibc='' arm_cpus='' arm_config=()
	case ${opt[axis]} in
	glibc) arm_glibc=$(glibc_folder "$value") ;;
	preload) [ "$value" = none ] || arm_preload=$(library_path "$value") ;;
	percpu-cache) percpu_cache "$value" ;;
	cpus) arm_cpus=${value//+/,} ;;
	env:*) if [ "$value" = unset ]; then arm_unset=("${opt[axis]#env:}"); else arm_env=("${opt[axis]#env:}=$value"); fi ;;
	config:*) arm_config=("${opt[axis]#config:}=$value") ;;
	esac
}

# The caches need rseq, which glibc takes from 2.35 on unless it is told not to.
percpu_cache() {
	[[ ${GLIBC_TUNABLES:-} == *glibc.pthread.rseq=* ]] ||
		arm_env+=("GLIBC_TUNABLES=${GLIBC_TUNABLES:+$GLIBC_TUNABLES:}glibc.pthread.rseq=0")
	if [ "$1" = default ]; then
		arm_unset=(MONGO_TCMALLOC_PER_CPU_CACHE_SIZE_BYTES)
	else
		arm_env+=("MONGO_TCMALLOC_PER_CPU_CACHE_SIZE_BYTES=$(bytes_of "$1")")
	fi
}

# axis_machine INDEX: from the settings as they were found, so that no arm inherits from another.
axis_machine() {
	case ${opt[axis]} in
	thp)
		state_save_thp
		"$here/thp.sh" restore "$state/thp.saved" >/dev/null || return 1
		"$here/thp.sh" set "${values[$1]}" >/dev/null
		;;
	setup) own_command "${opt[setup]}" "${values[$1]}" ;;
	esac
}

# own_command COMMAND ARM: a command of the user's, in the folder that he started from.
own_command() {
	(cd "$start_dir" && MTRACE_ARM=$2 MTRACE_CAMPAIGN_DIR=$folder exec bash -c "$1") >>"$folder/setup.txt" 2>&1 9>&- </dev/null ||
		die "the command failed for arm $2, see $folder/setup.txt: $1"
}

axis_undo() {
	[ "${opt[axis]:-}" != setup ] || [ -z "${opt[teardown]:-}" ] || own_command "${opt[teardown]}" ''
}
