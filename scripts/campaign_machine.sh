# shellcheck shell=bash disable=SC2034,SC2154
# Facts of the machine for the manifest of a run; sourced by campaign.sh. What cannot be known is null.

# word FILE: the first line, as a JSON string or number; null where it cannot be read.
word() {
	local line
	if [ ! -r "$1" ] || ! read -r line <"$1" 2>/dev/null || [ -z "$line" ]; then
		say null
	elif [[ $line =~ ^(0|[1-9][0-9]*)$ ]]; then
		say "$line"
	else
		jq -n --arg line "$line" '$line'
	fi
}

# An Arm core says its maker's and its own number; the names are Arm's (main ID register, technical reference manuals).
core_names='{"0x41": {"0xd03": "Cortex-A53", "0xd04": "Cortex-A35", "0xd05": "Cortex-A55", "0xd07": "Cortex-A57",
	"0xd08": "Cortex-A72", "0xd09": "Cortex-A73", "0xd0a": "Cortex-A75", "0xd0b": "Cortex-A76", "0xd0c": "Neoverse-N1",
	"0xd0d": "Cortex-A77", "0xd40": "Neoverse-V1", "0xd41": "Cortex-A78", "0xd44": "Cortex-X1", "0xd46": "Cortex-A510",
	"0xd47": "Cortex-A710", "0xd48": "Cortex-X2", "0xd49": "Neoverse-N2", "0xd4a": "Neoverse-E1", "0xd4f": "Neoverse-V2",
	"0xd80": "Cortex-A520", "0xd84": "Neoverse-V3", "0xd8e": "Neoverse-N3"}}'

# Processors as /proc/cpuinfo tells them, those of one model and top speed together; features are the ones of all.
cpus_json() {
	local cpu
	for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
		[ ! -r "$cpu/cpufreq/cpuinfo_max_freq" ] || say "max ${cpu##*/cpu} $(cat "$cpu/cpufreq/cpuinfo_max_freq")"
	done >"$work/max_khz"
	jq -nR --argjson names "$core_names" --rawfile max "$work/max_khz" '
		def ranges: sort | reduce .[] as $n ([]; if length > 0 and .[-1][1] == $n - 1 then .[-1][1] = $n else . + [[$n, $n]] end)
			| map(if .[0] == .[1] then "\(.[0])" else "\(.[0])-\(.[1])" end) | join(",");
		([$max | scan("max ([0-9]+) ([0-9]+)")] | map({key: .[0], value: (.[1] | tonumber)}) | from_entries) as $khz
		| [inputs | capture("^(?<key>[^\t:]+?)[ \t]*:[ \t]*(?<value>.*)$")]
		| reduce .[] as $line ([]; if $line.key == "processor" then . + [{processor: $line.value}]
			elif length > 0 then .[-1][$line.key] = $line.value else . end)
		| {cpu_types: (map({cpu: .processor | tonumber, max_khz: $khz[.processor],
				model: (.["model name"] // $names[.["CPU implementer"] // ""][.["CPU part"] // ""]
					// (if .["CPU part"] then "\(.["CPU implementer"])/\(.["CPU part"])" else null end))})
				| group_by([.model, .max_khz]) | map({model: .[0].model, max_khz: .[0].max_khz, cpus: map(.cpu) | ranges})
				| sort_by(.cpus)),
			cpu_features: (map((.flags // .Features // "") | [splits(" +")] - [""]) | if length == 0 then []
				else reduce .[1:][] as $more (.[0]; . - (. - $more)) end | sort)}' /proc/cpuinfo
}

# The parts of settings that stay as they are while a campaign runs.
machine_json() {
	local cpu=/sys/devices/system/cpu boost no_turbo
	boost=$(word $cpu/cpufreq/boost)
	no_turbo=$(word $cpu/intel_pstate/no_turbo)
	[ "$no_turbo" = null ] || boost=$((1 - no_turbo))
	cpus_json | jq --arg host "$(uname -n)" --arg kernel "$(uname -r)" --arg build "$(uname -v)" --arg arch "$(uname -m)" \
		--argjson page "$(getconf PAGE_SIZE)" --argjson online "$(word $cpu/online)" --argjson boost "$boost" \
		--argjson memory "$(awk '/^MemTotal:/ { printf "%.0f", $2 * 1024 }' /proc/meminfo)" \
		--argjson smt "$(word $cpu/smt/active)" --argjson nodes "$(word /sys/devices/system/node/online)" \
		--argjson clock "$(word /sys/devices/system/clocksource/clocksource0/current_clocksource)" \
		--argjson governor "$(cat $cpu/cpu*/cpufreq/scaling_governor 2>/dev/null | sort -u | jq -nR '[inputs] | if length == 0 then null else join(",") end')" \
		--argjson virtual "$(if grep -qw hypervisor /proc/cpuinfo; then say true; else say null; fi)" '
		{host: $host, kernel: $kernel, kernel_version: $build, arch: $arch, memory_bytes: $memory, page_size_bytes: $page,
			cpus_online: ($online | if . == null then null else tostring end), cpu_types, cpu_features, governor: $governor,
			boost: $boost, smt: $smt, numa_nodes: ($nodes | if . == null then null else tostring end), clocksource: $clock,
			virtual: $virtual}'
}

# The kernel moves min_free_kbytes by itself when huge pages are switched: it belongs to them.
thp_json() {
	"$here/thp.sh" show --json 9>&- 2>/dev/null |
		jq --argjson free "$(word /proc/sys/vm/min_free_kbytes)" '.settings + {min_free_kbytes: $free}' || say null
}

vm_json() {
	local name
	for name in swappiness zone_reclaim_mode max_map_count dirty_ratio dirty_background_ratio; do
		say "\"$name\": $(word "/proc/sys/vm/$name")"
	done | jq -nR '[inputs] | "{" + join(",") + "}" | fromjson'
}

# What changes by itself, before a run.
readings_json() {
	local khz
	khz=$({ cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq 2>/dev/null || true; } | jq -n '[inputs] | if length == 0 then null else . end')
	jq -n --argjson load "$(cut -d ' ' -f 1 /proc/loadavg)" --argjson khz "$khz" \
		--argjson memory "$(awk '/^MemAvailable:/ { printf "%.0f", $2 * 1024 }' /proc/meminfo)" \
		'{load_average_1min: $load, memory_available_bytes: $memory, cpu_khz: $khz}'
}

vmstat_copy() { grep -E '^(thp_|pgfault|pgmajfault)' /proc/vmstat >"$1"; }

# vmstat_growth BEFORE AFTER
vmstat_growth() {
	awk 'NR == FNR { before[$1] = $2; next } $1 in before { printf "%s \"%s\": %.0f", n++ ? "," : "{", $1, $2 - before[$1] }
		END { print n ? "}" : "{}" }' "$1" "$2"
}

# Names of variables that memory depends on.
memory_variables='^(LD_PRELOAD|GLIBC_TUNABLES|(MALLOC|MONGO|TCMALLOC|MTRACE|MIMALLOC)_.*|JE_MALLOC_CONF)$'

# environment_json ASSIGNMENTS UNSET: names of two arrays; what the program finds in its environment.
environment_json() {
	local -n given=$1 taken=$2
	local -A seen=()
	local name assignment own=''
	[[ ${opt[axis]} != env:* ]] || own=${opt[axis]#env:}
	while read -r name; do
		[[ ! $name =~ $memory_variables && $name != "$own" ]] || seen[$name]=${!name}
	done < <(compgen -e)
	for name in "${taken[@]}"; do unset "seen[$name]"; done
	for assignment in "${given[@]}"; do
		name=${assignment%%=*}
		[[ ! $name =~ $memory_variables && $name != "$own" ]] || seen[$name]=${assignment#*=}
	done
	unset "seen[MTRACE_OUT]"
	local pairs=()
	for name in "${!seen[@]}"; do pairs+=("$name=${seen[$name]}"); done
	pairs_json "${pairs[@]}"
}

build_id() { readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p' | head -n 1; }

# glibc_library FOLDER: the C library in a folder, or the system's (empty).
glibc_library() {
	if [ -n "$1" ]; then
		find "$1" -name libc.so.6 -print -quit
	else
		ldd "$(command -v jq)" 2>/dev/null | sed -n 's/.*libc\.so\.6 => \([^ ]*\) .*/\1/p'
	fi
}

# glibc_json FOLDER: its version and, of an Arm one, how it does atomic operations, with the numbers of instructions
# (mtrace-analyze atomics). Looked at once for each folder.
glibc_json() {
	local library version census known=$work/glibc-${1//[^A-Za-z0-9.-]/_}
	if [ ! -e "$known" ]; then
		library=$(glibc_library "$1") || true
		version=$([ -z "$library" ] || grep -aom1 'GNU C Library [^,]* version [0-9.]*[0-9]' "$library" | sed 's/.* //') || true
		census=$([ -z "$library" ] || "$analyzer" atomics --json "$library" 2>/dev/null | jq -c '.files[0] | select(.machine == "aarch64")') || true
		jq -n --arg version "$version" --arg folder "$1" --argjson census "${census:-null}" '
			def known: if . == "" then null else . end;
			{version: ($version | known), folder: ($folder | known), lse: $census.verdict,
				lse_census: ($census | if . == null then null else {lse, exclusive, outline_calls} end)}' >"$known"
	fi
	cat "$known"
}
