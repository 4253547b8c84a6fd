# shellcheck shell=bash disable=SC2154
# Cases of campaigns that are broken off; sourced by run.sh. The first three change settings in a folder of ours, the
# last one those of the machine.

thp_campaign=(--axis "thp=always,never" "${short[@]}" --repetitions 1 --seconds 2 -o)

# start_campaign RUNS: in the background, until that many runs have ended and the workload of another one is at work.
start_campaign() {
	local tries
	set -m
	env --default-signal CAMPAIGN_STATE="$work/state" scripts/campaign.sh "${thp_campaign[@]}" "$work/c" >"$work/started" 2>&1 </dev/null &
	campaign_pid=$!
	set +m
	for ((tries = 0; tries < 600; tries++)); do
		if [ -e "$work/c/runs/000$1" ] && [ -s "$work/c/running/ycsb.txt" ]; then
			mark=$(sed -n 's/^mark //p' "$work/state/owner")
			[ -z "$(workers "$mark")" ] || return 0
		fi
		kill -0 "$campaign_pid" 2>/dev/null || break
		sleep 0.1
	done
	fail "it did not come to run $1: $(cat "$work/started")"
}

# workers: processes of the campaign that hold its mark.
workers() { grep -lzx "CAMPAIGN_MARK=$1" /proc/[0-9]*/environ 2>/dev/null || true; }

# broken_off_by SIGNAL STATUS: everything is as before, and the folder says where to go on.
broken_off_by() {
	local status=0
	start_campaign 1
	[ "$(setting enabled)" = always ] || fail "the arm is not in force: $(setting enabled)"
	kill "-$1" "$campaign_pid"
	wait "$campaign_pid" || status=$?
	[ "$status" = "$2" ] || fail "exit status $status after SIG$1: $(cat "$work/started")"
	is_set enabled madvise hugepages-64kB/enabled always
	[ -z "$(workers "$mark")" ] || fail "the workload is still there after SIG$1"
	grep -q -- '--resume' "$work/started" || fail "no word on how to go on: $(cat "$work/started")"
	[ ! -e "$work/state/thp.saved" ] || fail "the note was left behind"
}

case_campaign_signals() {
	make_settings "$work/host"
	export THP_ROOT=$work/host
	broken_off_by INT 130
	broken_off_by TERM 143
	expect 0 campaign --resume "$work/c"
	is_set enabled madvise hugepages-64kB/enabled always
	[ "$(jq -s 'map(select(.state == "done")) | length' "$work"/c/runs/*/manifest.json)" = 3 ] || fail "$(ls "$work/c/runs")"
	[ "$(manifest 3 .settings.thp.enabled)$(manifest 2 .settings.thp.enabled)" = '"never""always"' ] || fail "$(manifest 3 .settings.thp)"
	[ "$(manifest 3 '.settings.thp["hugepages-64kB/enabled"]')" = '"never"' ] || fail "never left sizes of their own on"
}

# kill_campaign: SIGKILL, and what it leaves.
kill_campaign() {
	local tries
	start_campaign 2
	kill -KILL "$campaign_pid"
	wait "$campaign_pid" 2>/dev/null || true
	[ -s "$work/state/thp.saved" ] || fail "nothing was noted before the settings were changed"
	# The workload is told by the kernel that its parent is gone.
	for ((tries = 0; tries < 100 && $(workers "$mark" | wc -l) > 0; tries++)); do sleep 0.1; done
	[ -z "$(workers "$mark")" ] || fail "the workload outlived the campaign"
}

case_campaign_killed() {
	make_settings "$work/host"
	export THP_ROOT=$work/host
	kill_campaign
	[ "$(setting enabled)" != madvise ] || fail "nothing was changed, so nothing is tried"
	expect 0 campaign --restore
	expect_text 'putting back the huge page settings'
	is_set enabled madvise hugepages-64kB/enabled always
	# Any campaign that starts does the same, and this one goes on.
	rm -r "$work/c/runs/0002"
	kill_campaign
	expect 0 campaign "${thp_campaign[@]}" "$work/c"
	expect_text 'putting back the huge page settings'
	is_set enabled madvise hugepages-64kB/enabled always
	[ "$(find "$work/c/runs" -mindepth 1 -maxdepth 1 | wc -l)" = 3 ] || fail "$(ls "$work/c/runs")"
	# A process that nobody told of its parent's death is found by its mark.
	env CAMPAIGN_MARK=left-behind sleep 300 &
	printf 'mark left-behind\nboot %s\nfolder x\n' "$(cat /proc/sys/kernel/random/boot_id)" >"$work/state/owner"
	expect 0 campaign --restore
	! kill -0 $! 2>/dev/null || [ "$(awk '{ print $3 }' "/proc/$!/stat")" = Z ] || fail "a process that was left behind is still there"
	# Settings are those of a machine that was started since: not ours to put back.
	cp "$work/host/sys/kernel/mm/transparent_hugepage/enabled" "$work/enabled"
	CAMPAIGN_STATE=$work/state bash -c 'printf "boot another\nfolder x\n" >"$CAMPAIGN_STATE/owner"'
	{ say "# mtrace: settings of transparent huge pages, version 1" && say "enabled never"; } >"$work/state/thp.saved"
	expect 0 campaign --restore
	cmp "$work/enabled" "$work/host/sys/kernel/mm/transparent_hugepage/enabled" || fail "settings of another start of the machine were put back"
}

case_campaign_one_at_a_time() {
	make_settings "$work/host"
	export THP_ROOT=$work/host
	start_campaign 1
	expect 1 campaign "${no_arenas[@]}" -o "$work/other"
	expect_text "another campaign is running here: $work/c"
	kill -TERM "$campaign_pid"
	wait "$campaign_pid" || true
}

case_campaign_changed_settings() {
	make_settings "$work/host"
	export THP_ROOT=$work/host
	start_campaign 1
	say 300 >"$work/host/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none"
	wait "$campaign_pid" || fail "$(cat "$work/started")"
	grep -q 'failed: somebody changed the huge page settings' "$work/started" || fail "$(cat "$work/started")"
	[ "$(cat "$work/c/failed/0002-1/manifest.json" | jq -r .state)" = failed ] || fail "counted as a measurement"
	[ "$(setting khugepaged/max_ptes_none)" = 511 ] || fail "not put back"
}

# On the machine's own settings: killed, and put back by the next start.
case_campaign_live() {
	local enabled=/sys/kernel/mm/transparent_hugepage/enabled before
	[ "$(id -u)" = 0 ] || skip "needs root"
	[ -e "$enabled" ] || skip "no transparent huge pages: $(scripts/thp.sh show 2>&1)"
	(: >>"$enabled") 2>/dev/null || skip "$enabled is read-only here"
	exec {lock}>/tmp/thp.lock
	flock -w 120 "$lock" || skip "/tmp/thp.lock is held"
	scripts/thp.sh save "$work/saved" || fail "no settings saved"
	trap 'scripts/thp.sh restore "$work/saved"' EXIT
	before=$(scripts/thp.sh show --json)
	kill_campaign
	[ "$(scripts/thp.sh show --json)" != "$before" ] || fail "nothing was changed, so nothing is tried"
	expect 0 campaign "${thp_campaign[@]}" "$work/c"
	[ "$(scripts/thp.sh show --json)" = "$before" ] || fail "not as before: $(scripts/thp.sh show --json)"
	[ "$(manifest 3 .settings.thp.enabled)$(manifest 2 .settings.thp.enabled)" = '"never""always"' ] || fail "$(manifest 3 .settings.thp)"
}
