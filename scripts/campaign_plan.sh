# shellcheck shell=bash disable=SC2034,SC2154
# The plan of a campaign and its file; sourced by campaign.sh. The layout is described in docs/campaign.md.

# plan_rows ARMS LEVELS REPETITIONS WARMUPS: "run block position arm level repetition warmup" a line; arms and levels
# are counted from 0.
#
# A block is one repetition: all levels, each with all arms right after each other. The arms of a level stand in an
# order of a Williams design (E. J. Williams, 1949), which with two arms is AB and BA and with more lets each arm
# stand equally often at each place and after each other arm, over as many rows as there are arms (twice as many for
# an odd number). Levels take turns at its rows and run backwards in every second block, which with two arms makes
# ABBA out of any two blocks. The warm-up of a block is of the arm and level that come first in it.
plan_rows() {
	awk -v arms="$1" -v levels="$2" -v repetitions="$3" -v warmups="$4" '
		# 0, 1, arms - 1, 2, arms - 2, ...: with as many steps between neighbours as can be
		function zigzag(i) { return i % 2 ? (i + 1) / 2 : i ? arms - i / 2 : 0 }
		function place(row, i) {
			if (arms % 2 == 0) return (zigzag(i) + row) % arms
			return (zigzag(row % 2 ? arms - 1 - i : i) + int(row / 2)) % arms
		}
		function put(arm, level, warmup) { print ++run, block, ++position, arm, level, block, warmup }
		BEGIN {
			rows = arms % 2 ? 2 * arms : arms
			for (block = 1; block <= repetitions; block++) {
				position = 0
				for (l = 0; l < levels; l++) {
					level = block % 2 ? l : levels - 1 - l
					row = (block - 1 + level) % rows
					for (w = 0; l == 0 && w < warmups; w++) put(place(row, 0), level, "true")
					for (i = 0; i < arms; i++) put(place(row, i), level, "false")
				}
			}
		}'
}

# plan_json: the plan, as it stands in campaign.json; reads labels[], levels[], repetitions and warmups.
plan_json() {
	plan_rows "${#labels[@]}" "${#levels[@]}" "${opt[repetitions]}" "${opt[warmup]}" |
		jq -nR --argjson arms "$(json_list "${labels[@]}")" --argjson levels "$(json_numbers "${levels[@]}")" '
			[inputs | split(" ") | {run: .[0] | tonumber, block: .[1] | tonumber, position: .[2] | tonumber,
				arm: $arms[.[3] | tonumber], threads: $levels[.[4] | tonumber], repetition: .[5] | tonumber,
				warmup: (.[6] == "true")}]'
}

json_list() { jq -n '$ARGS.positional' --args -- "$@"; }
json_numbers() { local IFS=, && say "[$*]"; }

# properties_json FILE: the names and values of a properties file, without its comments.
properties_json() {
	sed -n 's/^[[:blank:]]*\([^#![:blank:]=:][^=:[:blank:]]*\)[[:blank:]]*[=:][[:blank:]]*\(.*[^[:blank:]]\)[[:blank:]]*$/\1=\2/p' "$1" |
		jq -nR '[inputs | capture("^(?<key>[^=]*)=(?<value>.*)$")] | from_entries'
}

# pairs_json NAME=VALUE...: as an object.
pairs_json() { json_list "$@" | jq '[.[] | capture("^(?<key>[^=]*)=(?<value>(.|\n)*)$")] | from_entries'; }

# What was asked for, as campaign.json holds it; time and plan come on top. The same command gives the same text.
request_json() {
	local options
	options=$(for name in "${!opt[@]}"; do printf '%s\n%s\n' "$name" "${opt[$name]}"; done |
		jq -nR '[inputs] | [range(0; length; 2) as $i | {key: .[$i], value: .[$i + 1]}] | from_entries')
	jq -S -n --argjson options "$options" --argjson arms "$(json_list "${labels[@]}")" \
		--argjson values "$(json_list "${values[@]}")" --argjson treatment "$(json_list "${treatment[@]}")" \
		--argjson threads "$(json_numbers "${levels[@]}")" --argjson properties "$(properties_json "$1")" \
		--argjson given "$(pairs_json "${run_p[@]}")" --argjson load_given "$(pairs_json "${load_p[@]}")" \
		--argjson config "$(pairs_json "${config[@]}")" --argjson server_args "$(json_list "${server_args[@]}")" '
		{campaign_version: 1, axis: $options.axis, arms: $arms, values: $values, treatment: $treatment,
			threads: $threads, repetitions: $options.repetitions | tonumber, seconds: $options.seconds | tonumber,
			records: $options.records | tonumber, warmup_runs: $options.warmup | tonumber,
			order: (if ($arms | length) == 2 then "ABBA" else "balanced" end),
			workload: {kind: $options.kind, engine: ($options.engine | select(. != "") // null),
				name: $options.workload_name, properties: ($properties + $given),
				load_properties: ($properties + $load_given), config: $config},
			options: ($options + {run_p: $given, load_p: $load_given, server_args: $server_args})}'
}

# campaign_write FILE: campaign.json of a new campaign, in one piece.
campaign_write() {
	local now
	now=$(now_ms)
	jq --argjson plan "$(plan_json)" --arg created "$(utc "$now")" --argjson ms "$now" \
		'. + {created: $created, created_unix_ms: $ms, plan: $plan}' <(say "$1") >"$folder/campaign.json.new"
	mv "$folder/campaign.json.new" "$folder/campaign.json"
}

# campaign_same REQUEST: ends the script unless the folder's campaign is the one that is asked for.
campaign_same() {
	local differ
	differ=$(jq -rn --slurpfile there "$folder/campaign.json" --argjson asked "$1" '
		($there[0] | del(.created, .created_unix_ms, .plan)) as $there
		| [$asked, $there | paths(scalars, length == 0?)] | unique
		| map(select(. as $p | ($asked | getpath($p)) != ($there | getpath($p))))
		| .[0:5][] | . as $p | "\(map(tostring) | join(".")): \($there | getpath($p)) there, \($asked | getpath($p)) asked for"') ||
		die "$folder/campaign.json cannot be read"
	[ -z "$differ" ] || die "$folder holds another campaign; go on with it by --resume $folder, or take another folder (-o)"$'\n'"$differ"
}

# campaign_read: the options of a campaign that goes on, from its file.
campaign_read() {
	local file=$folder/campaign.json name value
	[ -r "$file" ] || die "$file cannot be read: $folder is no campaign"
	[ "$(jq -r '.campaign_version' "$file" 2>/dev/null)" = 1 ] || die "$file: not of a campaign, or of another version of mtrace"
	while IFS= read -r -d '' name && IFS= read -r -d '' value; do
		opt[$name]=$value
	done < <(jq -j '.options | to_entries[] | select(.value | type == "string") | .key + "\u0000" + .value + "\u0000"' "$file")
	read_list labels '.arms[]' && read_list values '.values[]' && read_list treatment '.treatment[]'
	read_list levels '.threads[] | tostring'
	read_list run_p '.options.run_p | to_entries[] | "\(.key)=\(.value)"'
	read_list load_p '.options.load_p | to_entries[] | "\(.key)=\(.value)"'
	read_list config '.workload.config | to_entries[] | "\(.key)=\(.value)"'
	read_list server_args '.options.server_args[]'
}

# read_list NAME FILTER: an array from campaign.json.
read_list() { mapfile -d '' -t "$1" < <(jq -j "$2 + \"\\u0000\"" "$folder/campaign.json"); }

now_ms() { say $((${EPOCHREALTIME/./} / 1000)); }
utc() { date -u -d "@$(($1 / 1000))" +%Y-%m-%dT%H:%M:%SZ; }
