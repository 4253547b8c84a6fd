#!/usr/bin/env bash
# scripts/campaign.sh --axis NAME=A,B[,C...] [OPTION...]
# scripts/campaign.sh --resume DIR
# scripts/campaign.sh --restore
#
# Runs a workload in arms that differ in one thing, interleaved and repeated, and leaves a folder that
# `mtrace-analyze compare` evaluates (docs/campaign.md). Broken off by Ctrl-C or a signal, it puts back what it changed;
# killed outright, the next start does (or --restore alone). The same command, or --resume DIR, goes on where it stopped.
#
#   --axis thp=always,never          huge page settings (also madvise, recommended; root), by scripts/thp.sh
#   --axis glibc=DIR,DIR|system      C library that the program runs on (scripts/testrun.sh)
#   --axis preload=none,jemalloc     allocator: tcmalloc, tcmalloc_minimal, jemalloc, mimalloc, a library's path, none
#   --axis percpu-cache=16M,default  bytes a CPU in the allocator of mongod 8.0 and newer
#   --axis cpus=0-3,4-7              CPUs that the program may use; 0+2 is a list of two
#   --axis env:VAR=A,B               a variable of its environment; unset takes it out
#   --axis config:KEY=A,B            a setting of the engine (cache, block_compressor, or in its own words) or a long option
#                                    of mongod (setParameter.NAME too); each arm loads data of its own
#   --axis setup=A,B                 your own: --setup COMMAND before each run, the arm in MTRACE_ARM; --teardown COMMAND at
#                                    the end
#   In a value, "\," is a comma. --labels A,B names the arms; --treatment KEY,... adds settings in which they may differ.
#
#   --threads 4,8,16   levels (number of CPUs)      --repetitions 6    runs of an arm at a level, one a block
#   --seconds 60       of a run                     --records 100000   documents
#   --warmup 1         warm-up runs a block         --pause 2          seconds before a run
#   --drop-caches      page cache emptied before each run (root)
#   --workload FILE    properties of YCSB's core workload (its workload A)
#   --load-threads N   (number of CPUs)             --load-p K=V, --run-p K=V   properties of one phase (repeatable)
#   --config KEY=V     as config: above, for all arms (repeatable)
#   --trace sample     sample, full or off          -o, --output DIR   the campaign's folder (campaign-NAME)
#   --locks            traces record locks: what of a run goes through the atomic instructions of glibc
#   --keep-data        data that was loaded stays in the folder at the end
#   --plan             says what would be run, and how long it would take, and does nothing
#
#   Workload: ycsb-embedded (--engine wiredtiger|rocksdb), or YCSB against a server:
#   --mongod PATH      started for each run on a copy of the loaded data, under the arm and the tracer; --mongod-arg ARG
#   --mongodb-url URL  a server that already runs, with its data; axes thp and setup
#   --ycsb PATH        bin/ycsb.sh of YCSB or a go-ycsb binary (--ycsb-kind java|go); --binding mongodb
#   --no-load          --mongodb-url: the data is there
#
# Exit status: 0 all runs are there; 1 some failed, or it could not go on; 2 wrong usage; 130, 143: ended by a signal.
set -euo pipefail
start_dir=$PWD
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

# Paths are the caller's; this script has gone to the repository's root.
from_start() { case $1 in /*) say "$1" ;; *) say "$start_dir/$1" ;; esac }

# The scripts that belong to this one, and programs: as built here, or as `make install` places them.
here=${script%/*}
program() {
	local place
	for place in "$root/build" "$here/../../bin" "$here/../../lib/mtrace"; do
		[ ! -e "$place/$1" ] || { realpath "$place/$1" && return; }
	done
	say "$root/build/$1"
}

work=$(mktemp -d)
declare -A opt=([axis]='' [threads]='' [repetitions]=6 [seconds]=60 [records]=100000 [warmup]=1 [pause]=2 [drop_caches]=0
	[workload]='' [workload_name]=core [load_threads]='' [trace]=sample [engine]='' [kind]=embedded [client]='' [mongod]=''
	[mongodb_url]='' [ycsb]='' [binding]=mongodb [no_load]=0 [keep_data]=0 [locks]=0 [setup]='' [teardown]='')
labels=() values=() treatment=() levels=() run_p=() load_p=() config=() server_args=()
assignments=() server_assignments=() server_words=()
folder='' request='' resume='' restore_only=0 plan_only=0 axis_text='' labels_text='' treatment_text=''
shim=$(program libmtrace.so)
analyzer=$(program mtrace-analyze)
resumed=false
export LC_ALL=C

# shellcheck source-path=SCRIPTDIR source=campaign_state.sh
. "$here/campaign_state.sh"
# shellcheck source-path=SCRIPTDIR source=campaign_plan.sh
. "$here/campaign_plan.sh"
# shellcheck source-path=SCRIPTDIR source=campaign_axis.sh
. "$here/campaign_axis.sh"
# shellcheck source-path=SCRIPTDIR source=campaign_machine.sh
. "$here/campaign_machine.sh"
# shellcheck source-path=SCRIPTDIR source=campaign_workload.sh
. "$here/campaign_workload.sh"
# shellcheck source-path=SCRIPTDIR source=campaign_server.sh
. "$here/campaign_server.sh"
# shellcheck source-path=SCRIPTDIR source=campaign_progress.sh
. "$here/campaign_progress.sh"
# shellcheck source-path=SCRIPTDIR source=campaign_run.sh
. "$here/campaign_run.sh"

# ---- options -----------------------------------------------------------------------------------------------------

read_options() {
	local name value
	while [ $# -gt 0 ]; do
		name=$1
		shift
		case $name in
		-h | --help) usage && exit 0 ;;
		--restore) restore_only=1 && continue ;;
		--plan) plan_only=1 && continue ;;
		--drop-caches | --keep-data | --no-load | --locks) name=${name#--} && opt[${name//-/_}]=1 && continue ;;
		esac
		if [[ $name == --*=* ]]; then
			value=${name#*=} name=${name%%=*}
		else
			[[ $name == -* ]] || wrong_usage "$name: every argument belongs to an option"
			[ $# -ge 1 ] || wrong_usage "$name: expected a value after it"
			value=$1
			shift
		fi
		read_option "$name" "$value"
	done
}

read_option() {
	case $1 in
	--axis) [ -z "$axis_text" ] && axis_text=$2 || wrong_usage "--axis: one thing is varied at a time" ;;
	--labels) labels_text=$2 ;;
	--treatment) treatment_text=$2 ;;
	--resume) resume=$2 ;;
	-o | --output) folder=$(from_start "$2") ;;
	--threads | --repetitions | --seconds | --records | --warmup | --pause | --load-threads | --trace | --engine | --binding | --setup | --teardown)
		name=${1#--}
		opt[${name//-/_}]=$2
		;;
	--workload) opt[workload]=$(from_start "$2") ;;
	--load-p | --run-p | --config) pair_option "$1" "$2" ;;
	--mongod-arg) server_args+=("$2") ;;
	--mongod) opt[mongod]=$(from_start "$2") && opt[kind]=mongod ;;
	--mongodb-url) opt[mongodb_url]=$2 && opt[kind]=url ;;
	--ycsb) opt[ycsb]=$(from_start "$2") ;;
	--ycsb-kind) opt[client]=$2 ;;
	*) wrong_usage "unknown option $1" ;;
	esac
}

pair_option() {
	[[ $2 == ?*=* && $2 != *[[:cntrl:]]* ]] || wrong_usage "$1 $2: expected NAME=VALUE"
	case $1 in
	--load-p) load_p+=("$2") ;;
	--run-p) run_p+=("$2") ;;
	--config) config+=("$2") ;;
	esac
}

# count_option NAME LOWEST: a whole number, or wrong usage.
count_option() {
	local option=--${1//_/-}
	[[ ${opt[$1]} =~ ^(0|[1-9][0-9]{0,8})$ ]] && [ "${opt[$1]}" -ge "$2" ] ||
		wrong_usage "$option ${opt[$1]}: expected a whole number, at least $2"
}

check_options() {
	local name
	[ -n "$axis_text" ] || wrong_usage "expected --axis NAME=A,B (or --resume DIR, or --restore)"
	for name in repetitions seconds records; do count_option "$name" 1; done
	for name in warmup pause; do count_option "$name" 0; done
	[ -n "${opt[threads]}" ] || opt[threads]=$(nproc)
	[ -n "${opt[load_threads]}" ] || opt[load_threads]=$(nproc)
	count_option load_threads 1
	IFS=, read -ra levels <<<"${opt[threads]}"
	[[ ${opt[threads]} =~ ^[1-9][0-9]{0,4}(,[1-9][0-9]{0,4})*$ ]] ||
		wrong_usage "--threads ${opt[threads]}: expected numbers above 0 with commas between them"
	distinct "${levels[@]}" || wrong_usage "--threads ${opt[threads]}: a level stands there twice"
	[[ ${opt[trace]} =~ ^(sample|full|off)$ ]] || wrong_usage "--trace ${opt[trace]}: expected sample, full or off"
	[ "${opt[locks]}" = 0 ] || { [ "${opt[trace]}" != off ] && [ "${opt[kind]}" != url ]; } ||
		wrong_usage "--locks: nothing is traced with --trace off or --mongodb-url"
	axis_read "$axis_text" "$labels_text"
	[ -z "$treatment_text" ] || mapfile -t -O "${#treatment[@]}" treatment < <(printf '%s\n' "${treatment_text//,/$'\n'}")
	check_workload_options
	[ -n "$folder" ] || folder=$start_dir/campaign-${opt[axis]//[^A-Za-z0-9]/-}
}

check_workload_options() {
	[ -z "${opt[mongod]}" ] || [ -z "${opt[mongodb_url]}" ] || wrong_usage "--mongod starts a server, --mongodb-url names one: give one of them"
	case ${opt[kind]} in
	embedded)
		[ -z "${opt[ycsb]}${opt[client]}" ] && [ ${#server_args[@]} = 0 ] ||
			wrong_usage "--ycsb, --ycsb-kind and --mongod-arg go with --mongod or --mongodb-url"
		;;
	*)
		[ -n "${opt[ycsb]}" ] || wrong_usage "--${opt[kind]/url/mongodb-url} needs --ycsb PATH: the client"
		[ -z "${opt[engine]}" ] || wrong_usage "--engine is of the embedded workload"
		;;
	esac
	[ "${opt[kind]}" = url ] || [ "${opt[no_load]}" = 0 ] || wrong_usage "--no-load goes with --mongodb-url"
	[ "${opt[kind]}" != url ] || [ ${#config[@]} = 0 ] || wrong_usage "--config: the server of --mongodb-url has its own settings"
	[ -z "${opt[workload]}" ] || [ -r "${opt[workload]}" ] || die "--workload ${opt[workload]}: cannot be read"
	[ -z "${opt[workload]}" ] || opt[workload_name]=$(basename "${opt[workload]}")
}

check_programs() {
	local name
	for name in jq flock; do
		command -v "$name" >/dev/null || die "$name is missing: scripts/deps.sh --runtime installs it"
	done
	[ -x "$analyzer" ] || die "$analyzer is not there: run make"
	[ "${opt[trace]}" = off ] || [ "${opt[kind]}" = url ] || [ -e "$shim" ] || die "$shim is not there: run make"
	[[ $folder != *[[:cntrl:]]* ]] || die "the folder's name holds control characters"
	workload_check
	axis_check
	for name in "${config[@]}"; do config_check "${name%%=*}" "${name#*=}"; done
	[ "${opt[drop_caches]}" = 0 ] || [ -w /proc/sys/vm/drop_caches ] || die "--drop-caches needs root"
}

# ---- the campaign ------------------------------------------------------------------------------------------------

# open_folder: a new campaign, or the one that is there.
open_folder() {
	request=$(request_json "$1")
	if [ -e "$folder/campaign.json" ]; then
		campaign_same "$request"
	else
		[ ! -e "$folder" ] || [ -z "$(ls -A "$folder" 2>/dev/null)" ] || die "$folder is there and holds no campaign; take another folder (-o)"
		mkdir -p "$folder" || die "$folder cannot be made"
		cp "$1" "$folder/workload.properties"
		campaign_write "$request"
	fi
}

# The measured program's identity, for the manifests.
identify() {
	measured=$([ "${opt[kind]}" = url ] || measured_program)
	measured_build_id=$([ -z "$measured" ] || build_id "$measured") || true
	measured_version=$(program_version) || true
	allowed_cpus=$(sed -n 's/^Cpus_allowed_list:[[:blank:]]*//p' /proc/self/status)
	mtrace_version=$(git describe --always --dirty 2>/dev/null || "$analyzer" --version | head -n 1)
	machine=$(machine_json)
}

load_phase() {
	local index
	case ${opt[kind]}:${opt[axis]} in
	url:*) [ "${opt[no_load]}" = 1 ] || [ -e "$folder/loads/0/manifest.json" ] || load_url ;;
	*:config:*) for index in "${!labels[@]}"; do load_data "$index"; done ;;
	*) load_data 0 ;;
	esac
}

# Into the server that runs; what it held before is not touched.
load_url() {
	say "campaign: loading ${opt[records]} documents into ${opt[mongodb_url]}"
	rm -rf "$folder/running" && mkdir -p "$folder/running" "$folder/loads"
	local started
	started=$(now_ms)
	server_url=${opt[mongodb_url]}
	client_command load "${opt[load_threads]}" "$server_url"
	load_into '' || die "loading failed, see $folder/running/ycsb.txt: $reason"
	manifest_write "$started" "$(now_ms)" null "done" >"$folder/running/manifest.json"
	mv "$folder/running" "$folder/loads/0"
}

# One line a run: "number block position arm-index threads warmup done".
plan_with_state() {
	local number
	for number in $(find "$folder/runs" -mindepth 2 -maxdepth 2 -name manifest.json 2>/dev/null | sort); do
		jq -r 'select(.state == "done") | .run' "$number" 2>/dev/null || true
	done | jq -n '[inputs]' >"$work/done"
	jq -r --slurpfile finished "$work/done" '.arms as $arms | .plan[]
		| . as $run | [.run, .block, ($arms | index($run.arm)), .threads, .warmup, ($finished[0] | index($run.run) != null)] | join(" ")' \
		"$folder/campaign.json"
}

# run_one NUMBER ARM THREADS WARMUP: tried twice, since one failure can be chance.
run_one() {
	local started
	run_number=$1 run_arm=$2 run_threads=$3
	run_plan=$(jq -c --argjson run "$1" '.plan[] | select(.run == $run)' "$folder/campaign.json")
	run_text="$(printf '%*d/%d' "${#runs_all}" "$1" "$runs_all")  ${labels[$2]}, $3 thread$([ "$3" = 1 ] || say s)$([ "$4" = false ] || say ', warm-up')"
	started=$(now_ms)
	run_try || { progress_line "failed: $reason; once more" && run_try; } || { progress_line "failed: $reason" && return 1; }
	runs_timed=$((runs_timed + 1)) ms_timed=$((ms_timed + $(now_ms) - started)) runs_left=$((runs_left - 1))
	progress_line "$(printf '%.0f' "$throughput") ops/s  about $(time_left) left"
	resumed=false
}

# A block that was broken off begins with its warm-up again: what went before has cooled down.
run_plan_rows() {
	local rows row number block arm threads warmup is_done failures=0 first_open=''
	mapfile -t rows < <(plan_with_state)
	runs_all=${#rows[@]} failed_runs=0
	for row in "${rows[@]}"; do
		[[ $row == *true ]] || { runs_left=$((runs_left + 1)) && first_open=${first_open:-$(cut -d ' ' -f 2 <<<"$row")}; }
	done
	[ "$runs_left" -gt 0 ] || { say "campaign: all $runs_all runs of $folder are there" && return; }
	[ "$runs_left" = "$runs_all" ] || resumed=true
	[ "$resumed" = false ] || say "campaign: going on with $folder, $runs_left of $runs_all runs left"
	load_phase
	for row in "${rows[@]}"; do
		read -r number block arm threads warmup is_done <<<"$row"
		[ "$is_done" = false ] || [ "$resumed:$warmup:$block" = "true:true:$first_open" ] || continue
		[ "$is_done" = false ] || runs_left=$((runs_left + 1))
		if run_one "$number" "$arm" "$threads" "$warmup"; then
			failures=0
		else
			runs_left=$((runs_left - 1)) failures=$((failures + 1)) failed_runs=$((failed_runs + 1))
			[ "$failures" -lt 3 ] || die "three runs failed one after another, the last: $reason"
		fi
	done
}

evaluate() {
	if "$analyzer" compare --help >/dev/null 2>&1; then
		say
		"$analyzer" compare "$folder" --report "$folder/report" || warn "mtrace-analyze compare $folder ended with status $?"
	fi
}

# On every way out but SIGKILL.
clean_up() {
	local status=$?
	trap '' INT TERM HUP
	# A trap that comes while bash 5.2 reads a substitution is a syntax error to it.
	[ "$restoring:$status" != 1:2 ] || status=143
	set +e
	end_everything
	if [ "$restoring" = 1 ]; then
		axis_undo
		state_close
		[ "$status" -lt 128 ] || say "campaign: broken off; go on with: $script --resume $folder"
	fi
	rm -rf "$work"
	exit "$status"
}

main() {
	read_options "$@"
	trap clean_up EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	if [ "$restore_only" = 1 ]; then
		[ $# = 1 ] || wrong_usage "--restore stands alone"
		state_open ''
		state_close
		return
	fi
	if [ -n "$resume" ]; then
		[ $(($# - plan_only)) = 2 ] || [[ "$*" == --resume=* ]] || wrong_usage "--resume DIR stands alone: the folder knows its options"
		folder=$(from_start "$resume")
		campaign_read
	else
		check_options
	fi
	[ "$plan_only" = 0 ] || { print_plan && return; }
	folder=$(realpath -m "$folder")
	check_programs
	core_workload >"$work/workload.properties"
	[ -z "${opt[workload]}" ] || cp "${opt[workload]}" "$work/workload.properties"
	[ ! -e "$folder/workload.properties" ] || [ -z "$resume" ] || cp "$folder/workload.properties" "$work/workload.properties"
	state_open "$folder"
	restoring=1
	open_folder "$work/workload.properties"
	data=$folder/data
	mkdir -p "$data"
	identify
	run_plan_rows
	[ "${opt[keep_data]}" = 1 ] || rm -rf "$data"
	evaluate
	[ "${failed_runs:-0}" = 0 ] || die "$failed_runs runs failed; $script --resume $folder tries them again"
}

restoring=0
main "$@"
