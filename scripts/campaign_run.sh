# shellcheck shell=bash disable=SC2034,SC2154
# One run of the plan, from its preparation to its folder; sourced by campaign.sh.

# ---- processes ---------------------------------------------------------------------------------------------------

group='' # the newest group of processes
# Waits without starting a program: nothing ever comes through this pipe.
mkfifo "$work/tick"
exec 8<>"$work/tick"
tick() { read -rt 0.5 -u 8 _ || true; }

# start_group OUTPUT COMMAND...: in a group of its own, which a Ctrl-C at the terminal does not reach.
start_group() {
	local output=$1
	shift
	set -m
	"${tether[@]}" env "CAMPAIGN_MARK=$mark" "$@" >"$output" 2>&1 </dev/null 8>&- 9>&- &
	group=$!
	set +m
}

# end_group GROUP LIMIT_S: asks it to end, and makes it after the limit.
end_group() {
	local ticks
	kill -TERM "-$1" 2>/dev/null || return 0
	for ((ticks = 0; ticks < 2 * $2; ticks++)); do
		kill -0 "-$1" 2>/dev/null || return 0
		tick
	done
	kill -KILL "-$1" 2>/dev/null || true
}

client='' # the workload's process, while it runs

# What the manifest of a run, or of a load, is made of.
reason='' counted=null client_status=null facts=null readings=null run_plan=null run_trace=''

# client_wait LIMIT_S [SECONDS]: until it ends, or asked to by one signal after SECONDS (go-ycsb does not look at the
# time, and a second signal makes it lose its table). Sets client_status; false where it was still there at the limit.
client_wait() {
	local started=$SECONDS asked=0
	while kill -0 "$client" 2>/dev/null; do
		if [ $((SECONDS - started)) -ge "$1" ]; then
			end_group "$client" 20
			client=''
			return 1
		fi
		if [ -n "${2:-}" ] && [ "$asked" = 0 ] && [ $((SECONDS - started)) -ge "$2" ]; then
			kill -INT "$client" 2>/dev/null || true
			asked=1
		fi
		progress_tick "$((SECONDS - started))"
		tick
	done
	client_status=0
	wait "$client" || client_status=$?
	client=''
}

end_everything() {
	[ -z "$client" ] || end_group "$client" 20
	client=''
	server_end
}

# ---- the load phase ----------------------------------------------------------------------------------------------

# load_data INDEX: for each arm that has data of its own, once; left beside in loads/ what it printed.
load_data() {
	local index=$1 to=$folder/loads/$1 started
	[ ! -e "$to/manifest.json" ] || [ ! -e "$data/loaded-$index" ] || return 0
	say "campaign: loading ${opt[records]} documents ($(load_name "$index"))"
	rm -rf "$to" "$folder/running" "$data/loaded-$index" "$data/loading"
	mkdir -p "$folder/running" "$data/loading" "$folder/loads"
	axis_machine "$index" || die "the settings of arm ${labels[$index]} cannot be made"
	axis_program "$index"
	started=$(now_ms)
	load_into "$data/loading" || die "loading failed, see $folder/running/ycsb.txt: $reason"
	manifest_write "$started" "$(now_ms)" null "done" >"$folder/running/manifest.json"
	[ ! -e "$data/loading" ] || mv "$data/loading" "$data/loaded-$index"
	mv "$folder/running" "$to"
}

load_name() { case ${opt[axis]} in config:*) say "arm ${labels[$1]}" ;; *) say "for all arms" ;; esac }

# load_into DATABASE
load_into() {
	case ${opt[kind]} in
	embedded) embedded_command load "${opt[load_threads]}" "$1" && guarded '' ;;
	mongod)
		server_start "$1" "$folder/running/server.txt" '' || return 1
		client_command load "${opt[load_threads]}" "$server_url"
		;;
	esac
	command_line "${words[@]}" >"$folder/running/command"
	start_group "$folder/running/ycsb.txt" "${words[@]}"
	client=$group
	client_wait $((3600 + opt[records] / 100)) || { reason="still running after $((3600 + opt[records] / 100)) s" && return 1; }
	reason="exit status $client_status: $(tail -n 1 "$folder/running/ycsb.txt")"
	[ "$client_status" = 0 ] && check_count
	local counted=$?
	server_end
	return "$counted"
}

# check_count: that the store holds what the plan says.
check_count() {
	counted=$(count_records "${server_url:-$data/$([ -e "$data/loading" ] && say loading || say run)}" 2>"$work/count.err") ||
		{ reason="the documents cannot be counted: $(tail -n 1 "$work/count.err")" && counted=null && return 1; }
	[ "$counted" = "${opt[records]}" ] && return
	reason="there are $counted documents instead of ${opt[records]}"
	return 1
}

command_line() { printf '%q ' "$@" && printf '\n'; }

# ---- a run -------------------------------------------------------------------------------------------------------

# run_prepare: settings, data and server of the arm. What fails here, fails before anything is measured.
run_prepare() {
	axis_machine "$run_arm" || { reason="the settings of arm ${labels[$run_arm]} cannot be made" && return 1; }
	axis_program "$run_arm"
	[ "${opt[kind]}" = url ] || fresh_data "$run_arm"
	case ${opt[kind]} in
	url) server_url=${opt[mongodb_url]} ;;
	mongod) server_start "$data/run" "$folder/running/server.txt" "$run_trace" || return 1 ;;
	esac
	check_count || die "run $run_number refuses to start: $reason (are other clients at work, or was it loaded with other properties?)"
	if [ "${opt[drop_caches]}" = 1 ]; then
		sync
		say 1 >/proc/sys/vm/drop_caches || die "--drop-caches: /proc/sys/vm/drop_caches cannot be written"
	fi
	local waited
	for ((waited = 0; waited < 2 * opt[pause]; waited++)); do tick; done
}

run_words() {
	if [ "${opt[kind]}" = embedded ]; then
		embedded_command run "$run_threads" "$data/run"
		guarded "$run_trace"
	else
		client_command run "$run_threads" "$server_url"
	fi
}

# run_measure: false, with `reason`, where what came out is no measurement.
run_measure() {
	local limit=$((opt[seconds] * 2 + 120)) by_signal=''
	[ "${opt[kind]}" = embedded ] || [ "${opt[client]}" = java ] || by_signal=${opt[seconds]}
	start_group "$folder/running/ycsb.txt" "${words[@]}"
	client=$group
	client_wait "$limit" "$by_signal" || { client_status=null reason="still running after $limit s" && return 1; }
	[ "$client_status" = 0 ] || { reason="exit status $client_status: $(tail -n 1 "$folder/running/ycsb.txt")" && return 1; }
	throughput=$("$analyzer" ycsb --json "$folder/running/ycsb.txt" 9>&- 2>/dev/null |
		jq -r '[.files[].runs[] | select(.complete)] | if length == 1 then .[0].throughput_ops_s // empty else empty end') || true
	[ -n "$throughput" ] || { reason="its output holds no result, see ycsb.txt" && return 1; }
	[ -z "$arm_preload" ] || ! grep -qsF "object '$arm_preload' from LD_PRELOAD cannot be preloaded" "$folder"/running/{ycsb,server}.txt ||
		{ reason="the loader took no notice of $arm_preload, see ycsb.txt or server.txt" && return 1; }
}

# run_try: leaves the run in runs/, done or failed; false where it failed.
run_try() {
	local started ended thp_before thp_now state_word="done"
	reason='' counted=null client_status=null facts=null readings=null throughput=''
	rm -rf "$folder/running"
	mkdir "$folder/running" || exit 1
	run_trace=$folder/running/trace.mtr
	[ "${opt[trace]}" != off ] && [ "${opt[kind]}" != url ] || run_trace=''
	server_assignments=() server_words=() server_url=''
	started=$(now_ms)
	if run_prepare; then
		[ "${opt[kind]}" = embedded ] || facts=$(server_facts "$server_url")
		run_words
		[ ${#server_words[@]} = 0 ] || command_line "${server_words[@]}" >"$folder/running/command"
		command_line "${words[@]}" >>"$folder/running/command"
		readings=$(readings_json)
		thp_before=$(thp_json)
		vmstat_copy "$work/vmstat.before"
		started=$(now_ms)
		run_measure || state_word=failed
		ended=$(now_ms)
		vmstat_copy "$work/vmstat.after"
		thp_now=$(thp_json)
		if [ "$state_word" = "done" ] && [ "$thp_before" != "$thp_now" ]; then
			state_word=failed reason="somebody changed the huge page settings during the run"
		fi
	else
		state_word=failed
	fi
	server_end
	manifest_write "$started" "${ended:-$(now_ms)}" "${thp_now:-null}" "$state_word" >"$folder/running/manifest.json" ||
		die "run $run_number: its manifest cannot be written"
	rm -rf "$data/run"
	run_keep
	[ "$state_word" = "done" ]
}

# run_keep: the folder under its number; an earlier try steps aside.
run_keep() {
	local place
	place=$folder/runs/$(printf '%04d' "$run_number")
	set_aside "$place"
	mkdir -p "$folder/runs" && mv "$folder/running" "$place" && sync -f "$place" || die "$place cannot be written"
}

set_aside() {
	local number=1
	[ -e "$1" ] || return 0
	mkdir -p "$folder/failed"
	while [ -e "$folder/failed/${1##*/}-$number" ]; do number=$((number + 1)); done
	mv "$1" "$folder/failed/${1##*/}-$number"
}

# ---- manifest ----------------------------------------------------------------------------------------------------

# trace_json: facts of the trace, by the analyzer; null where there is none.
trace_json() {
	[ -n "$run_trace" ] && [ -e "$run_trace" ] || { say null && return; }
	"$analyzer" info --quick --json "$run_trace" 9>&- 2>/dev/null || say null
}

# locks_json TRACE_JSON: what of the run went through glibc's locks; null where they were not recorded.
locks_json() {
	[ "$(jq '.locks == true' <<<"$1")" = true ] || { say null && return; }
	"$analyzer" locks --json --top 1 --ycsb "$folder/running/ycsb.txt" "$run_trace" 9>&- 2>/dev/null |
		jq '{atomic_ops_per_s: .exposure.atomic_ops_per_s, per_operation: .exposure.per_operation, cpus_busy: .exposure.cpus_busy,
			operations_per_s, operations, contended_for_locks, waiters_for_locks}' || say null
}

# manifest_write STARTED_MS ENDED_MS THP_AFTER STATE: on standard output. A load has no run_number.
manifest_write() {
	local -a seen_assignments=("${assignments[@]}") seen_unset=("${arm_unset[@]}")
	local traced
	traced=$(trace_json)
	[ "${opt[kind]}" != mongod ] || seen_assignments=("${server_assignments[@]}")
	jq -n --argjson plan "$run_plan" --arg state "$4" --arg reason "$reason" --argjson status "$client_status" \
		--argjson started "$1" --argjson ended "$2" --arg started_utc "$(utc "$1")" --arg ended_utc "$(utc "$2")" \
		--argjson records "${opt[records]}" --argjson counted "$counted" --argjson thp_after "$3" \
		--argjson thp "${thp_before:-$(thp_json)}" --argjson machine "$machine" --argjson vm "$(vm_json)" \
		--slurpfile trace <(say "$traced") --slurpfile locks <(locks_json "$traced") --argjson readings "$readings" --argjson resumed "$resumed" \
		--argjson growth "$([ -e "$work/vmstat.after" ] && vmstat_growth "$work/vmstat.before" "$work/vmstat.after" || say null)" \
		--arg cpus "${arm_cpus:-$allowed_cpus}" --argjson glibc "$(glibc_json "${arm_glibc#system}")" \
		--arg library "$arm_preload" --argjson environment "$(environment_json seen_assignments seen_unset)" \
		--arg program "$measured" --arg build_id "$measured_build_id" --arg version "$measured_version" \
		--argjson config "$(pairs_json "${config[@]}" "${arm_config[@]}")" --argjson facts "$facts" \
		--argjson workload "$(jq '.workload | {kind, engine, name, properties}' <<<"$request")" --arg mtrace "$mtrace_version" \
		--arg client_version "$(client_version)" '
		def known: if . == "" then null else . end;
		($trace[0] // null) as $trace
		| ($plan // {run: null, block: null, position: null, arm: null, threads: null, repetition: null, warmup: null})
		+ {state: $state, reason: ($reason | if $state == "done" then null else known end), resumed: $resumed,
			exit_status: $status, started: $started_utc, ended: $ended_utc, started_unix_ms: $started, ended_unix_ms: $ended,
			records_expected: $records, records_counted: $counted,
			trace: ($trace | if . == null then null else {mode, complete, events, lost} end),
			settings: {machine: $machine, thp: $thp, vm: $vm, cpus: $cpus,
				glibc: $glibc,
				allocator: {kind: ($facts.allocator // $trace.allocator.kind), malloc_source: $trace.malloc_source, library: ($library | known),
					per_cpu_caches_active: (if $facts == null then $trace.allocator.per_cpu_caches_active
						else $facts.tcmalloc.usingPerCPUCaches end),
					max_per_cpu_cache_bytes: ($facts.tcmalloc.maxPerCPUCacheSizeBytes // $trace.allocator.max_per_cpu_cache_bytes)},
				rseq_owner: $trace.rseq.owner,
				program: {path: ($program | known), build_id: ($build_id | known), version: ($version | known)},
				workload: ($workload + {version: ($facts.version // ($version | known)), config: $config,
					server_options: ($facts.options | if . == null then null else del(.net.port, .storage.dbPath) end)}),
				environment: $environment,
				versions: {mtrace: ($mtrace | known), client: ($client_version | known)}},
			lock_exposure: $locks[0], thp_after: $thp_after, readings: ($readings | if . == null then null else . + {vmstat: $growth} end)}'
}

# Of Java's YCSB: it prints its version.
client_version() {
	[ ! -e "$folder/running/ycsb.txt" ] || sed -n '1,200s/^YCSB Client \([0-9][^ ]*\)$/\1/p' "$folder/running/ycsb.txt" | tail -n 1
}
