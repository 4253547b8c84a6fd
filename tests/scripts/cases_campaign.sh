# shellcheck shell=bash disable=SC2154
# Cases of scripts/campaign.sh; sourced by run.sh. Runs of one second on few documents: what is measured means nothing.

# campaign ARG...: with its own note of what is changed, so that a campaign on this machine is left alone.
campaign() { CAMPAIGN_STATE=$work/state scripts/campaign.sh "$@"; }

short=(--threads 1 --repetitions 2 --seconds 1 --records 500 --pause 0)
no_arenas=(--axis "env:MALLOC_ARENA_MAX=unset,1" "${short[@]}")

# manifest RUN FILTER
manifest() { jq -c "$2" "$work/c/runs/000$1/manifest.json"; }

# orders ARMS LEVELS REPETITIONS: arms of each block and level, in their order, one a line.
orders() {
	expect 0 campaign --axis "env:X=$1" --threads "$2" --repetitions "$3" --plan
	awk '$1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ && !/warm-up/ { if ($2 FS $4 != key) { if (key) print line; key = $2 FS $4; line = "" } line = line $3 }
		END { print line }' "$work/output"
}

case_campaign_order() {
	[ "$(orders a,b 1 4 | xargs)" = "ab ba ab ba" ] || fail "two arms: $(orders a,b 1 4 | xargs)"
	[ "$(orders a,b 1,2 2 | xargs)" = "ab ba ab ba" ] || fail "two levels: $(orders a,b 1,2 2 | xargs)"
	local arms
	for arms in a,b,c a,b,c,d a,b,c,d,e; do
		# Over all rows each arm follows each other arm equally often, and stands at each place equally often.
		orders $arms 1 $((${#arms} + 1)) | awk '
			{ k = length($0); for (i = 1; i <= k; i++) { place[i substr($0, i, 1)]++; if (i > 1) after[substr($0, i - 1, 2)]++ } }
			END {
				for (p in place) { places++; if (place[p] != NR / k) exit 1 }
				for (a in after) { pairs++; if (after[a] != NR / k) exit 1 }
				exit !(places == k * k && pairs == k * (k - 1))
			}' || fail "$arms: $(orders $arms 1 $((${#arms} + 1)) | xargs)"
	done
}

case_campaign_usage() {
	expect 2 campaign
	expect 2 campaign --axis thp=always
	expect_text 'two arms or more'
	expect 2 campaign --axis weather=good,bad
	expect 2 campaign --axis env:X=a,a
	expect_text 'the same label'
	expect 2 campaign --axis env:X=a,b --threads 0
	expect 2 campaign --axis env:X=a,b --threads 2,2
	expect 2 campaign --axis env:X=a,b --threads 2,
	expect 2 campaign --axis env:X=a,b --seconds 1s
	expect 2 campaign --axis env:X=a,b --axis env:Y=a,b
	expect 2 campaign --axis env:X=a,b --labels one
	expect 2 campaign --axis env:X=a,b --mongod /bin/true
	expect 2 campaign --axis env:X=a,b --ycsb /bin/true
	expect 1 campaign --axis thp=always,sometimes -o "$work/c"
	expect_text 'expected always, madvise, never or recommended'
	expect 1 campaign --axis preload=none,libnowhere.so -o "$work/c"
	expect_text 'no such library'
	say "no library" >"$work/library.so"
	expect 1 campaign --axis preload="none,$work/library.so" -o "$work/c"
	expect_text 'cannot be preloaded'
	cp "$work/library.so" "$work/a library.so"
	expect 1 campaign --axis preload="none,$work/a library.so" -o "$work/c"
	expect_text 'no path with a space'
	expect 1 campaign --axis cpus=0,999 -o "$work/c"
	expect 1 campaign --axis percpu-cache=1M,2M -o "$work/c"
	expect_text 'needs --mongod'
	expect 1 campaign --axis setup=a,b -o "$work/c"
	expect_text 'needs --setup'
	expect 1 campaign --axis glibc=system,/nowhere -o "$work/c"
	expect_text 'glibc=/nowhere: a folder of make glibc'
	mkdir "$work/full" && : >"$work/full/file"
	expect 1 campaign "${no_arenas[@]}" -o "$work/full"
	expect_text 'holds no campaign'
	expect 1 campaign --resume "$work/none"
	[ ! -e "$work/c" ] || fail "a folder was left behind"
	expect 0 campaign --help
}

# The folder, what the arms differ in, and going on with it.
case_campaign_folder() {
	expect 0 campaign "${no_arenas[@]}" -o "$work/c"
	expect_text '6/6'
	[ "$(find "$work/c/runs" -mindepth 1 -maxdepth 1 | wc -l)" = 6 ] || fail "$(ls "$work/c/runs")"
	jq -se 'map(.state == "done" and .records_counted == 500 and .exit_status == 0 and .trace.complete) | all' \
		"$work"/c/runs/*/manifest.json >/dev/null || fail "$(manifest 1 .)"
	[ "$(jq -sc 'map([.arm, .block, .position, .warmup])' "$work"/c/runs/*/manifest.json)" = \
		'[["unset",1,1,true],["unset",1,2,false],["1",1,3,false],["1",2,1,true],["1",2,2,false],["unset",2,3,false]]' ] || fail "not the plan"
	[ "$(manifest 3 .settings.environment.MALLOC_ARENA_MAX)" = '"1"' ] || fail "$(manifest 3 .settings.environment)"
	# Arms differ in the treatment and in nothing else.
	[ "$(jq -sc '[.[].settings | del(.environment.MALLOC_ARENA_MAX)] | unique | length' "$work"/c/runs/*/manifest.json)" = 1 ] ||
		fail "settings differ beyond the treatment"
	expect 0 build/mtrace-analyze ycsb --json "$work/c/runs/0002/ycsb.txt"
	jq -e '.files[0].runs[0] | .complete and .throughput_ops_s > 0' "$work/output" >/dev/null || fail "no result in ycsb.txt"
	grep -q 'MALLOC_ARENA_MAX=1 ' "$work/c/runs/0003/command" || fail "$(cat "$work/c/runs/0003/command")"
	[ ! -e "$work/c/data" ] && [ ! -e "$work/state/owner" ] || fail "something was left behind"

	expect 1 campaign "${no_arenas[@]}" --records 501 -o "$work/c"
	expect_text 'records: 500 there, 501 asked for'
	# A run of the second block is missing: its warm-up comes again, and nothing else.
	rm -r "$work/c/runs/0005"
	local before=("$work"/c/runs/000[1236]/manifest.json) sums
	sums=$(cat "${before[@]}" | sha256sum)
	expect 0 campaign "${no_arenas[@]}" -o "$work/c"
	expect_text '1 of 6 runs left'
	[ "$(ls "$work/c/failed")" = 0004-1 ] || fail "not the warm-up: $(ls "$work/c/failed")"
	[ "$(manifest 5 .state)" = '"done"' ] && [ "$(cat "${before[@]}" | sha256sum)" = "$sums" ] || fail "other runs were touched"
	[ "$(manifest 4 .resumed)" = true ] || fail "$(manifest 4 .resumed)"
	expect 0 campaign --resume "$work/c"
	expect_text 'all 6 runs'
}

# Locks are recorded on demand; what the manifest says of them is no setting.
case_campaign_locks() {
	expect 2 campaign "${no_arenas[@]}" --locks --trace off -o "$work/c"
	expect_text 'nothing is traced'
	expect 0 campaign "${no_arenas[@]}" --repetitions 1 --warmup 0 --locks -o "$work/c"
	grep -q 'MTRACE_LOCKS=1 ' "$work/c/runs/0001/command" || fail "$(cat "$work/c/runs/0001/command")"
	jq -se 'map(.lock_exposure | .atomic_ops_per_s > 0 and .per_operation > 0 and .operations > 0 and .waiters_for_locks >= 0) | all' \
		"$work"/c/runs/*/manifest.json >/dev/null || fail "$(manifest 1 .lock_exposure)"
	[ "$(manifest 1 .settings.lock_exposure)" = null ] || fail "it would count as a difference between runs"
	expect 0 build/mtrace-analyze compare --json "$work/c"
	jq -e '.runs[0].inside.lock_atomics > 0' "$work/output" >/dev/null || fail "$(jq -c '.runs[0].inside' "$work/output")"
}

# glibc_facts FOLDER FILTER: as the manifest has them.
glibc_facts() {
	# shellcheck source-path=SCRIPTDIR/../../scripts source=campaign_machine.sh
	(. scripts/campaign_machine.sh && analyzer=build/mtrace-analyze && glibc_json "$1" | jq -c "$2")
}

case_campaign_census() {
	local library
	library=$(find /usr/aarch64-linux-gnu/lib build/arm64/sysroot -name libc.so.6 -print -quit 2>/dev/null)
	[ -n "$library" ] || skip "no AArch64 libc is at hand"
	mkdir "$work/arm"
	ln -s "$(realpath "$library")" "$work/arm/libc.so.6"
	[ "$(glibc_facts "$work/arm" '.lse_census | .lse > 0 and .exclusive > 0')" = true ] || fail "$(glibc_facts "$work/arm" .)"
	[ "$(glibc_facts "$work/arm" .lse)" != null ] || fail "no verdict"
	[ "$(uname -m)" != x86_64 ] || [ "$(glibc_facts '' '[.lse, .lse_census]')" = '[null,null]' ] || fail "$(glibc_facts '' .)"
}

# Each arm of a setting has data of its own, made under it.
case_campaign_config() {
	build/ycsb-embedded --help | grep -q 'wiredtiger (' || skip "this build has no WiredTiger"
	ldconfig -p | grep libwiredtiger_snappy >/dev/null || skip "libwiredtiger_snappy.so is not installed"
	expect 0 campaign --axis config:block_compressor=none,snappy "${short[@]}" --warmup 0 --trace off --config cache=64M \
		--config eviction_target=70 --engine wiredtiger --keep-data -o "$work/c"
	grep -aq 'block_compressor=snappy' "$work/c/data/loaded-1/WiredTiger.wt" || fail "arm snappy was not loaded with it"
	! grep -aq 'block_compressor=snappy' "$work/c/data/loaded-0/WiredTiger.wt" || fail "arm none was"
	grep -q 'wiredtiger.cache=64M .*wiredtiger.config=.*eviction_target=70.*snappy' "$work/c/runs/0002/command" || fail "$(cat "$work/c/runs/0002/command")"
	[ "$(manifest 2 .settings.workload.config)" = '{"cache":"64M","eviction_target":"70","block_compressor":"snappy"}' ] ||
		fail "$(manifest 2 .settings.workload.config)"
}

# The system's own C library, in a folder as `make glibc` leaves it.
case_campaign_glibc() {
	local loader name folder=$work/glibc
	loader=$(readelf -l build/ycsb-embedded | sed -n 's/.*interpreter: \(.*\)]/\1/p')
	mkdir "$folder"
	for name in "$loader" $(ldd build/ycsb-embedded | awk '$1 == "libc.so.6" || $1 == "libm.so.6" { print $3 }'); do cp -L "$name" "$folder/"; done
	sed "s/@LOADER@/${loader##*/}/; s/@HAS_ARGV0@/yes/" glibc-build/testrun.in >"$folder/testrun.sh"
	chmod +x "$folder/testrun.sh"
	expect 0 campaign --axis "glibc=system,$folder" --labels system,own "${short[@]}" --repetitions 1 --warmup 0 -o "$work/c"
	[ "$(manifest 2 '[.state, .settings.glibc.folder, .trace.complete]')" = "[\"done\",\"$folder\",true]" ] || fail "$(manifest 2 .)"
	[ "$(manifest 1 .settings.glibc.version)" = "$(manifest 2 .settings.glibc.version)" ] || fail "$(manifest 2 .settings.glibc)"
	build/mtrace-analyze info --json "$work/c/runs/0002/trace.mtr" >"$work/info"
	jq -e --arg folder "$folder" '.modules | any(.path | startswith($folder))' "$work/info" >/dev/null || fail "the other C library was not used"
}

case_campaign_failing_runs() {
	expect 1 campaign "${no_arenas[@]}" --run-p readproportion=most -o "$work/c"
	expect_text 'once more'
	expect_text 'three runs failed'
	[ "$(manifest 1 .state)" = '"failed"' ] || fail "$(manifest 1 .state)"
	[[ $(manifest 1 .reason) == *"exit status 2"*readproportion* ]] || fail "$(manifest 1 .reason)"
	[ -e "$work/c/failed/0001-1/manifest.json" ] || fail "the first try is gone"
	expect 1 campaign --axis config:no_such_setting=1,2 "${short[@]}" -o "$work/d"
	expect_text 'loading failed'
}

# A user's own commands, and that they are told the arm.
case_campaign_setup() {
	# shellcheck disable=SC2016 # for the command itself
	expect 0 campaign --axis setup=one,two --setup 'echo "$MTRACE_ARM" >>'"$work/arms" --teardown "echo end >>$work/arms" \
		"${short[@]}" --warmup 0 --trace off -o "$work/c"
	[ "$(xargs <"$work/arms")" = "one one two two one end" ] || fail "$(xargs <"$work/arms")"
	[ ! -e "$work/c/runs/0001/trace.mtr" ] && [ "$(manifest 1 .trace)" = null ] || fail "a trace where none was asked for"
	expect 1 campaign --axis setup=one,two --setup false "${short[@]}" -o "$work/d"
	expect_text 'failed for arm one'
}
