# shellcheck shell=bash disable=SC2034,SC2154
# What is run: the embedded workload, or a YCSB client against a mongod; sourced by campaign.sh.
#
# kind    embedded  ycsb-embedded: storage engine and client in one process, which is measured and traced
#         mongod    a mongod started for each run on a copy of the loaded data, and traced; a client beside it
#         url       a server that already runs; only the client is started, and nothing is traced
# client  java or go (mongod and url)

# The operations of YCSB's workload A, for a campaign that names no file.
core_workload() {
	cat <<'TEXT'
# YCSB's workload A: half of the operations read a document, half of them update a field.
readproportion=0.5
updateproportion=0.5
scanproportion=0
insertproportion=0
requestdistribution=zipfian
readallfields=true
TEXT
}

# client_kind PATH: what a YCSB client is: a program of its own is go-ycsb, a script starts Java's.
client_kind() {
	[ -x "$1" ] && [ -f "$1" ] || die "--ycsb $1: no program (bin/ycsb.sh of YCSB, or a go-ycsb binary)"
	case ${opt[client]} in
	java | go) return ;;
	'') ;;
	*) die "--ycsb-kind ${opt[client]}: expected java or go" ;;
	esac
	if [ "$(head -c 4 "$1")" = $'\x7fELF' ]; then opt[client]=go; else opt[client]=java; fi
}

workload_check() {
	case ${opt[kind]} in
	embedded)
		[ -x "$(program ycsb-embedded)" ] || die "ycsb-embedded is not there: run make"
		engines=$("$(program ycsb-embedded)" --help | sed -n 's/^Engines of this build[^:]*: //p')
		[ -n "${opt[engine]}" ] || opt[engine]=${engines%% *}
		[[ " $engines" == *" ${opt[engine]} ("* ]] || die "--engine ${opt[engine]}: this build of ycsb-embedded has: ${engines:-none}"
		;;
	*)
		client_kind "${opt[ycsb]}"
		[ -x "$(program mongo-facts)" ] ||
			die "mongo-facts is not there: it counts a server's documents, and is built where libmongoc is (libmongoc-dev; scripts/deps.sh)"
		[ "${opt[kind]}" = url ] || [ -x "${opt[mongod]}" ] || die "--mongod ${opt[mongod]}: no program"
		;;
	esac
}

measured_program() { if [ "${opt[kind]}" = mongod ]; then say "${opt[mongod]}"; else program ycsb-embedded; fi }

# Version of what is measured; null in the manifest where it does not say.
program_version() {
	case ${opt[kind]} in
	embedded) sed -n "s/.*\b${opt[engine]} (\([^)]*\)).*/\1/p" <<<" $engines" ;;
	mongod) timeout 30 "${opt[mongod]}" --version 2>/dev/null </dev/null | sed -n 's/^db version v//p' ;;
	esac
}

# ---- settings of engine and server -------------------------------------------------------------------------------

# config_check KEY VALUE: a setting that cannot be passed on.
config_check() {
	[[ $1 =~ ^[A-Za-z][A-Za-z0-9_.]*$ ]] || die "config:$1: not the name of a setting"
	[[ -n $2 && $2 != *[[:cntrl:]]* ]] || die "config:$1: an empty value, or one with control characters"
	[ "${opt[kind]}" != url ] || die "config:$1: a server that already runs (--mongodb-url) is started with its own settings"
	[ "${opt[kind]}:$1" != embedded:block_compressor ] || compressor "$2" >/dev/null
}

# The extension that holds a compressor, as WiredTiger's configuration names it; nothing for none.
compressor() {
	[ "${opt[engine]}" = wiredtiger ] || die "config:block_compressor: a setting of WiredTiger; for RocksDB: config:compression"
	[ "$1" != none ] || return 0
	local library
	library=$(library_path "libwiredtiger_$1.so") || die "config:block_compressor=$1: libwiredtiger_$1.so is not installed"
	say "extensions=[$library]"
}

# embedded_settings PAIR...: options of ycsb-embedded, in settings[]. `cache` and WiredTiger's block_compressor are
# known by these names; everything else is in the engine's own words.
embedded_settings() {
	local pair key value separator=, words='' extension
	[ "${opt[engine]}" = wiredtiger ] || separator=';'
	settings=()
	for pair in "$@"; do
		key=${pair%%=*} value=${pair#*=}
		case $key in
		cache) settings+=(-p "${opt[engine]}.cache=$value") ;;
		block_compressor)
			extension=$(compressor "$value") || exit 1
			words+=${extension:+$separator$extension}
			settings+=(-p "wiredtiger.table=block_compressor=$value")
			;;
		*) words+=$separator$pair ;;
		esac
	done
	[ -z "$words" ] || settings+=(-p "${opt[engine]}.config=${words#"$separator"}")
}

# mongod_settings PAIR...: options of mongod, in settings[]: KEY is one of its long options, or setParameter.NAME.
mongod_settings() {
	local pair
	settings=()
	for pair in "$@"; do
		case $pair in
		setParameter.*) settings+=(--setParameter "${pair#setParameter.}") ;;
		*=true) settings+=("--${pair%=true}") ;;
		*=false) ;;
		*) settings+=("--${pair%%=*}" "${pair#*=}") ;;
		esac
	done
}

# ---- command lines -----------------------------------------------------------------------------------------------

# embedded_command PHASE THREADS DATABASE: in words[].
embedded_command() {
	local given=()
	[ "$1" != load ] || given=("${load_p[@]}")
	[ "$1" != run ] || given=("${run_p[@]}")
	embedded_settings "${config[@]}" "${arm_config[@]}"
	words=("$(program ycsb-embedded)" "$1" "${opt[engine]}" -threads "$2" -P "$folder/workload.properties"
		-p "recordcount=${opt[records]}" -p "${opt[engine]}.dir=$3" "${settings[@]}")
	[ "$1" != run ] || words+=(-s -p status.interval=1 -p "maxexecutiontime=${opt[seconds]}")
	properties_words "${given[@]}"
}

properties_words() {
	local pair
	for pair in "$@"; do words+=(-p "$pair"); done
}

# Both clients end a run by time, and count operations up to this many, which none reaches.
operations_most=2000000000

# client_command PHASE THREADS URL: in words[]. The record count is part of both phases: without it a run would fall
# back to its file's.
client_command() {
	local given=("${run_p[@]}") phase=$1
	[ "$1" = run ] || given=("${load_p[@]}")
	words=("${opt[ycsb]}" "$phase" "${opt[binding]}" -P "$folder/workload.properties" -p "recordcount=${opt[records]}" -p "mongodb.url=$3")
	if [ "${opt[client]}" = go ]; then
		words+=(-p "threadcount=$2" -p measurement.interval=1)
		[ "${opt[workload_name]}" != core ] || words+=(-p workload=core)
	else
		words+=(-s -threads "$2" -p status.interval=1)
		[ "${opt[workload_name]}" != core ] || words+=(-p workload=site.ycsb.workloads.CoreWorkload)
	fi
	[ "$phase" = load ] || words+=(-p "operationcount=$operations_most")
	[ "$phase:${opt[client]}" != run:java ] || words+=(-p "maxexecutiontime=${opt[seconds]}")
	properties_words "${given[@]}"
}

# guarded TRACE: words[] with the arm's settings around the program, which is traced into TRACE (none: empty).
guarded() {
	local front=() preload='' exe
	exe=$(basename "${words[0]}")
	[ -z "$arm_cpus" ] || front+=(taskset -c "$arm_cpus")
	assignments=("${arm_env[@]}")
	preload=$arm_preload${arm_preload:+${LD_PRELOAD:+:}}${LD_PRELOAD:-}
	if [ -n "$1" ] && [ -z "$arm_glibc" ]; then preload=$shim${preload:+:$preload}; fi
	[ -z "$preload" ] || assignments+=("LD_PRELOAD=$preload")
	[ -z "$1" ] || [ -n "$arm_glibc" ] || assignments+=("MTRACE_OUT=${1//%/%%}" "MTRACE_MODE=${opt[trace]}" "MTRACE_EXE=$exe")
	[ -z "$1" ] || [ "${opt[locks]}" = 0 ] || assignments+=(MTRACE_LOCKS=1)
	local name unset_words=()
	for name in "${arm_unset[@]}"; do unset_words+=(-u "$name"); done
	front+=(env "${unset_words[@]}" "${assignments[@]}")
	if [ -n "$arm_glibc" ]; then
		front+=("$here/testrun.sh")
		[ "$arm_glibc" = system ] || front+=(--glibc "$arm_glibc")
		[ -z "$1" ] || front+=(--trace "$1" --mode "${opt[trace]}")
		front+=(--)
	fi
	words=("${front[@]}" "${words[@]}")
}

# ---- data --------------------------------------------------------------------------------------------------------

# Settings of an engine are in its files: such an axis has data of its own for each arm.
template_of() { case ${opt[axis]} in config:*) say "$1" ;; *) say 0 ;; esac }

# fresh_data INDEX: a copy of what was loaded, on disk before the clock starts.
fresh_data() {
	rm -rf "$data/run"
	cp -r --reflink=auto "$data/loaded-$(template_of "$1")" "$data/run" || die "$data: no room for a copy of the data?"
	sync -f "$data/run"
}

# count_records URL: documents in the store that a run is about to work on; for the embedded one, URL is its folder.
count_records() {
	case ${opt[kind]} in
	embedded)
		embedded_settings "${config[@]}" "${arm_config[@]}"
		"$(program ycsb-embedded)" count "${opt[engine]}" -p "${opt[engine]}.dir=$1" "${settings[@]}" 9>&-
		;;
	*) "$(program mongo-facts)" --count "$1" 9>&- ;;
	esac
}
