# shellcheck shell=bash disable=SC2154
# What a campaign says of itself while it runs; sourced by campaign.sh.

runs_timed=0 ms_timed=0 runs_left=0

# minutes MS: for people.
minutes() {
	local s=$((($1 + 500) / 1000))
	if [ "$s" -ge 3600 ]; then
		say "$((s / 3600)) h $((s % 3600 / 60)) min"
	elif [ "$s" -ge 60 ]; then
		say "$((s / 60)) min $((s % 60)) s"
	else
		say "$s s"
	fi
}

# time_left [MS]: what is left when the run under way has taken MS, by the runs so far; before the first, by their length.
time_left() {
	local left each=$((opt[seconds] * 1000 + opt[pause] * 1000 + 3000))
	[ "$runs_timed" = 0 ] || each=$((ms_timed / runs_timed))
	left=$((each * runs_left - ${1:-0}))
	minutes $((left > 0 ? left : 0))
}

# progress_tick SECONDS_SO_FAR
progress_tick() {
	[ -t 1 ] && [ -n "${run_text:-}" ] || return 0
	printf '\r\033[K%s  %d of %d s  about %s left' "$run_text" "$(($1 < opt[seconds] ? $1 : opt[seconds]))" "${opt[seconds]}" \
		"$(time_left $((1000 * $1)))"
}

progress_line() {
	[ ! -t 1 ] || printf '\r\033[K'
	say "$run_text  $1"
}

# What there is to be run, a line a run; the sum is of the runs alone.
print_plan() {
	local number block arm level warmup count=0
	printf '%5s %5s  %-20s %7s\n' run block arm threads
	while read -r number block _ arm level _ warmup; do
		printf '%5d %5d  %-20s %7d%s\n' "$number" "$block" "${labels[$arm]}" "${levels[$level]}" "$([ "$warmup" = false ] || say '  warm-up')"
		count=$((count + 1))
	done < <(plan_rows "${#labels[@]}" "${#levels[@]}" "${opt[repetitions]}" "${opt[warmup]}")
	say "$count runs, at least $(minutes $((count * (opt[seconds] + opt[pause]) * 1000))), and the load before them"
}
