# shellcheck shell=bash disable=SC2154
# Cases of campaigns on a server; sourced by run.sh. No mongod and no YCSB is installed for the tests: the programs in
# standins/ speak the same protocol, take the same options and print the same lines.

make_standins() {
	local name flags
	[ -x build/mongo-facts ] || skip "mongo-facts was not built: libmongoc is not installed"
	read -ra flags < <(pkg-config --cflags --libs libmongoc-1.0 2>/dev/null || pkg-config --cflags --libs mongoc2)
	for name in mongod ycsb; do
		gcc -w -std=gnu17 -D_GNU_SOURCE -o "$work/$name" "tests/scripts/standins/$name.c" "${flags[@]}" || fail "cannot build the stand-in of $name"
	done
	# shellcheck disable=SC2016 # the script's own
	printf '#!/bin/sh\necho "java $*"\nexec "$(dirname "$0")/ycsb" --java "$@"\n' >"$work/ycsb.sh"
	chmod +x "$work/ycsb.sh"
}

on_server=("${short[@]}" --warmup 0)

case_campaign_mongod_java() {
	make_standins
	expect 0 campaign --axis config:setParameter.size=1,2 --mongod "$work/mongod" --ycsb "$work/ycsb.sh" "${on_server[@]}" \
		--config wiredTigerCacheSizeGB=1 --load-p mongodb.w=1 --run-p mongodb.w=majority -o "$work/c"
	grep -q -- '--setParameter size=2 ' "$work/c/runs/0002/command" || fail "$(cat "$work/c/runs/0002/command")"
	grep -q -- '-p mongodb.w=majority' "$work/c/runs/0002/command" || fail "$(cat "$work/c/runs/0002/command")"
	grep -q -- '-p mongodb.w=1' "$work/c/loads/1/command" || fail "$(cat "$work/c/loads/1/command")"
	[ "$(manifest 2 '.settings.workload | [.version, .server_options.wiredTigerCacheSizeGB]')" = '["0.0.1-standin","1"]' ] || fail "$(manifest 2 .settings.workload)"
	[ "$(manifest 2 '[.settings.allocator.per_cpu_caches_active, .settings.versions.client]')" = '[false,"0.17.0"]' ] || fail "$(manifest 2 .settings)"
	[ "$(manifest 2 '[.state, .records_counted, .trace.complete, .trace.mode]')" = '["done",500,true,"sample"]' ] || fail "$(manifest 2 .)"
	[[ $(build/mtrace-analyze info --json "$work/c/runs/0001/trace.mtr" | jq -r .exe) == */mongod ]] || fail "the trace is not the server's"
}

# go-ycsb is ended by one signal; a second one would cost its table.
case_campaign_mongod_go() {
	make_standins
	expect 0 campaign --axis percpu-cache=1M,default --mongod "$work/mongod" --ycsb "$work/ycsb" "${on_server[@]}" --trace off -o "$work/c"
	[ "$(manifest 1 '[.state, .exit_status]')" = '["done",0]' ] || fail "$(manifest 1 .)"
	grep -q '^TOTAL ' "$work/c/runs/0001/ycsb.txt" || fail "the table was lost"
	[ "$(manifest 1 .settings.environment.MONGO_TCMALLOC_PER_CPU_CACHE_SIZE_BYTES)" = '"1048576"' ] || fail "$(manifest 1 .settings.environment)"
	[ "$(manifest 1 .settings.environment.GLIBC_TUNABLES)" = '"glibc.pthread.rseq=0"' ] || fail "$(manifest 1 .settings.environment)"
	! pgrep -f "^$work/mongod " >/dev/null || fail "a server was left behind"
}

case_campaign_record_counts() {
	make_standins
	expect 1 campaign --axis env:X=1,2 --mongod "$work/mongod" --ycsb "$work/ycsb.sh" "${on_server[@]}" --mongod-arg --lose --mongod-arg 1 -o "$work/c"
	expect_text 'there are 499 documents instead of 500'
	[ ! -e "$work/c/runs" ] || fail "a run was made on the wrong data"
	expect 1 campaign --axis env:X=1,2 --mongod /bin/false --ycsb "$work/ycsb.sh" "${on_server[@]}" -o "$work/d"
	expect_text 'mongod did not come up'
}

# A server that is there already: its count is checked before each run.
case_campaign_mongodb_url() {
	make_standins
	local port=27399 url
	while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
	url=mongodb://127.0.0.1:$port/ycsb
	mkdir "$work/db"
	"$work/mongod" --dbpath "$work/db" --port "$port" >"$work/server.txt" 2>&1 &
	# shellcheck disable=SC2064 # now, since the process is known now
	trap "kill $!" EXIT
	expect 0 campaign --axis setup=a,b --setup true --mongodb-url "$url" --ycsb "$work/ycsb.sh" "${on_server[@]}" -o "$work/c"
	[ "$(manifest 1 '[.state, .trace, .settings.program.path]')" = '["done",null,null]' ] || fail "$(manifest 1 .)"
	say 7 >"$work/db/records"
	expect 1 campaign --axis setup=a,b --setup true --mongodb-url "$url" --ycsb "$work/ycsb.sh" --no-load "${on_server[@]}" -o "$work/d"
	expect_text 'run 1 refuses to start: there are 7 documents instead of 500'
	expect 1 campaign --axis thp=always,never --mongodb-url mongodb://u:p@db.example:27017/ycsb --ycsb "$work/ycsb.sh" -o "$work/e"
	expect_text 'the server of db.example:27017/ycsb is on another'
	expect 1 campaign --axis env:X=1,2 --mongodb-url "$url" --ycsb "$work/ycsb.sh" -o "$work/e"
	expect_text 'can be asked by thp and setup'
}
