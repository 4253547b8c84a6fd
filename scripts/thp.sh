#!/usr/bin/env bash
# scripts/thp.sh [--root DIR] show [--json]
# scripts/thp.sh [--root DIR] set always|madvise|never|recommended [--mongodb VERSION]
# scripts/thp.sh [--root DIR] save FILE
# scripts/thp.sh [--root DIR] restore FILE
#
# The kernel's settings of transparent huge pages (and vm.overcommit_memory, which MongoDB's allocator wants beside
# them), for the whole machine, until it is started again:
#   show     what is in force
#   set      always, madvise or never for anonymous memory; never includes the sizes below a whole huge page (mTHP),
#            always lets whole huge pages follow. recommended is what MongoDB 8 and newer ask for: enabled always,
#            defrag defer+madvise, khugepaged/max_ptes_none 0, overcommit_memory 1; with --mongodb 7 (or older):
#            enabled and defrag never. Says what it changed and how to put it back. All or nothing.
#   save     writes every setting that can be changed to FILE
#   restore  puts them back as in FILE: all that can be put back, and names the others
#
# --root DIR (or THP_ROOT=DIR) looks at DIR/sys and DIR/proc: a host's, mounted into a container. Changes need root.
#
# Exit status: 0 done; 1 a setting is missing or cannot be changed (which, and why, is said); 2 wrong usage.
set -euo pipefail
start_dir=$PWD
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

fs_root=${THP_ROOT:-}
header="# mtrace: settings of transparent huge pages, version 1"

# ---- what there is -----------------------------------------------------------------------------------------------

# look NAME: sets `path` of a setting, `now`, the value in force, and `offered`, all values where it is a choice: its
# file holds them, and the one in force in brackets. A name is a file below transparent_hugepage/, or overcommit_memory.
# Without starting a program, since a campaign looks at all settings twice a run.
look() {
	local line=
	path=$thp_dir/$1 now='' offered=''
	[ "$1" != overcommit_memory ] || path=$fs_root/proc/sys/vm/overcommit_memory
	{ read -r line <"$path"; } 2>/dev/null || [ -n "$line" ] || return 0
	now=$line
	if [[ $line == *\[*\]* ]]; then
		now=${line#*\[} now=${now%%\]*} offered=${line//[][]/}
	fi
}

# Names of all settings that can be changed: files with a bit to write them. Figures and counters have none.
settings() {
	local mode file
	while read -r mode file; do
		if [ -f "$file" ] && ((0$mode & 0222)); then printf '%s\n' "${file#"$thp_dir"/}"; fi
	done < <(stat -c '%a %n' "$thp_dir"/{enabled,defrag} "$thp_dir"/{,khugepaged/,hugepages-*/}* 2>/dev/null) |
		awk '!seen[$0]++'
	[ ! -f "$fs_root/proc/sys/vm/overcommit_memory" ] || say overcommit_memory
}

# kernel_option NAME: what the kernel's own configuration says of it, as a sentence.
kernel_option() {
	local file line
	for file in "$fs_root/proc/config.gz" "$fs_root/boot/config-$(uname -r)" "$fs_root/lib/modules/$(uname -r)/config"; do
		[ -r "$file" ] || continue
		line=$(zcat -f "$file" | grep -E "^(# )?$1[= ]" || say "$1 is not mentioned")
		say "${file#"$fs_root"} says: ${line#\# }"
		return
	done
	say "the kernel's configuration cannot be read here; it needs $1=y"
}

# Why there is nothing to look at; empty where there is.
why_missing() {
	[ -e "$thp_dir/enabled" ] && return
	if [ ! -d "$fs_root/sys/kernel" ]; then
		say "$fs_root/sys is not mounted (mount -t sysfs sysfs $fs_root/sys; in a container: the host's)"
	else
		say "this kernel has no transparent huge pages: $thp_dir/enabled is not there; $(kernel_option CONFIG_TRANSPARENT_HUGEPAGE)"
	fi
}

# ---- changes -----------------------------------------------------------------------------------------------------

# "setting value" a line: what is to be in force, by `want`; `present` leaves out what is as it should be.
wanted=()
want() { wanted+=("$1 $2"); }

# cannot NAME VALUE: true, and why in `reason`, where it cannot be set. Looks at it.
cannot() {
	look "$1"
	if [ "$now" = "$2" ]; then
		return 1
	elif [ ! -e "$path" ]; then
		reason="$path is not there: $(why_absent "$1")"
	elif [ -n "$offered" ] && [[ " $offered " != *" $2 "* ]]; then
		reason="this kernel does not offer $2, but: $offered"
	elif [ "$EUID" -ne 0 ] && [ ! -w "$path" ]; then
		reason="$path cannot be written by user $(id -un); as root: sudo $script ..."
	elif ! { : >>"$path"; } 2>/dev/null; then
		reason="$path cannot be written: $(why_read_only "$path")"
	else
		return 1
	fi
}

why_absent() {
	case $1 in
	overcommit_memory) say "/proc is not mounted, or its sys/ is hidden from this container" ;;
	hugepages-*) say "sizes of their own come with Linux 6.8" ;;
	shrink_underused) say "it comes with Linux 6.12" ;;
	shmem_enabled) kernel_option CONFIG_SHMEM ;;
	*) kernel_option CONFIG_TRANSPARENT_HUGEPAGE ;;
	esac
}

why_read_only() {
	local options
	options=$(findmnt -n -o OPTIONS --target "$1" 2>/dev/null || true)
	case ",$options," in
	*,ro,*) say "its file system is mounted read-only, as in a container: change it on the host, or start the container with --privileged" ;;
	*) say "refused by the kernel (a container without the privilege, or a security module): change it on the host" ;;
	esac
}

# write_value NAME VALUE: false, with the reason on standard error, where the kernel does not take it.
write_value() {
	look "$1"
	if ! { printf '%s\n' "$2" >"$path"; } 2>/dev/null; then
		warn "$1: the kernel did not take $2 ($path)"
		return 1
	fi
	look "$1"
	[ "$now" = "$2" ] && return
	warn "$1: $2 was written, and $now is in force ($path)"
	return 1
}

# What was changed so far, newest first: "setting value-before".
changed=()

roll_back() {
	local entry outcome="nothing was changed"
	for entry in "${changed[@]}"; do
		write_value "${entry% *}" "${entry#* }" || outcome="not all of it could be undone: ${entry% *} stays changed"
	done
	die "$outcome"
}

# Writes everything in `wanted` that is not in force yet, or nothing. Short, so that no signal may come in between.
apply_all() {
	local entry name before refused=0
	for entry in "${wanted[@]}"; do
		if cannot "${entry% *}" "${entry#* }"; then
			warn "${entry% *}: $reason"
			refused=1
		fi
	done
	[ "$refused" = 0 ] || die "nothing was changed"
	trap '' INT TERM HUP
	for entry in "${wanted[@]}"; do
		name=${entry% *}
		look "$name"
		before=$now
		[ "$before" != "${entry#* }" ] || continue
		write_value "$name" "${entry#* }" || roll_back
		changed=("$name $before" "${changed[@]}")
	done
	trap - INT TERM HUP
}

report_changes() {
	local entry
	[ ${#changed[@]} -gt 0 ] || { say "nothing to change" && return; }
	for entry in "${changed[@]}"; do
		look "${entry% *}"
		say "${entry% *}: ${entry#* } -> $now"
	done
	say "to put it back:"
	for entry in "${changed[@]}"; do
		look "${entry% *}"
		say "  echo ${entry#* } >$path"
	done
}

# Sizes of their own (mTHP) are stronger than the setting for all, unless they inherit it.
want_sizes() {
	local pmd_kib=0 size setting
	[ ! -r "$thp_dir/hpage_pmd_size" ] || pmd_kib=$(($(cat "$thp_dir/hpage_pmd_size") / 1024))
	for size in "$thp_dir"/hugepages-*kB; do
		setting=${size##*/}/enabled
		[ -e "$size/enabled" ] || continue
		look "$setting"
		if [ "$1" = never ]; then
			[ "$now" = inherit ] || want "$setting" never
		elif [ "$setting" = "hugepages-${pmd_kib}kB/enabled" ] && [ "$now" != "$1" ]; then
			want "$setting" inherit
		fi
	done
}

# MongoDB: manual/administration/tcmalloc-performance (8.0), tutorial/disable-transparent-huge-pages (7.0).
want_recommended() {
	if [ "$mongodb" -ge 8 ]; then
		want enabled always
		want_sizes always
		want defrag defer+madvise
		want khugepaged/max_ptes_none 0
		want overcommit_memory 1
	else
		want enabled never
		want_sizes never
		want defrag never
	fi
}

# ---- commands ----------------------------------------------------------------------------------------------------

show_text() {
	local name
	printf '%-32s %-14s %s\n' setting "in force" "of"
	while read -r name; do
		look "$name"
		printf '%-32s %-14s %s\n' "$name" "$now" "$offered"
	done < <(settings)
}

# Numbers as numbers. Names and values are the kernel's, without quotes or backslashes.
show_json() {
	local name value comma=''
	if [ -z "$missing" ]; then
		printf '{"available": true, "reason": null'
	else
		printf '{"available": false, "reason": "%s"' "${missing//[\"\\]/}"
	fi
	printf ', "settings": {'
	while read -r name; do
		look "$name"
		value=$now
		[[ $value =~ ^[0-9]+$ ]] || value="\"$value\""
		[ "$value" != '""' ] || value=null
		printf '%s\n  "%s": %s' "$comma" "$name" "$value"
		comma=,
	done < <(settings)
	printf '\n}}\n'
}

cmd_show() {
	if [ "$json" = 1 ]; then
		show_json
	elif [ -z "$missing" ]; then
		show_text
	fi
	[ -z "$missing" ] || die "$missing"
}

cmd_set() {
	[ -z "$missing" ] || die "nothing was changed: $missing"
	case $1 in
	recommended) want_recommended ;;
	*)
		want enabled "$1"
		want_sizes "$1"
		;;
	esac
	apply_all
	report_changes
}

# Written beside FILE and renamed: a save that was cut off cannot be taken for one.
cmd_save() {
	local name
	[ -z "$missing" ] || die "nothing was saved: $missing"
	{
		say "$header"
		say "# $(uname -n), Linux $(uname -r), $(date -u +%Y-%m-%dT%H:%M:%SZ)"
		while read -r name; do
			look "$name"
			[ -z "$now" ] || say "$name $now"
		done < <(settings)
	} 2>/dev/null >"$1.new" || { rm -f "$1.new" && die "$1: cannot be written"; }
	mv -f "$1.new" "$1"
}

# Fills `wanted` from FILE, which is believed only where every line is a setting's name and a value.
read_saved() {
	local line number=0 first
	[ -r "$1" ] || die "$1: cannot be read"
	IFS= read -r first <"$1" || first=
	[ "$first" = "$header" ] || die "$1: no file of $script save: its first line is not \"$header\""
	while IFS= read -r line; do
		number=$((number + 1))
		[[ $line != \#* ]] || continue
		[[ $line =~ ^([a-z0-9_]+|khugepaged/[a-z0-9_]+|hugepages-[0-9]+kB/[a-z0-9_]+)\ [a-z0-9_+-]+$ ]] ||
			die "$1:$number: not a setting and its value: $line"
		wanted+=("$line")
	done <"$1"
	[ ${#wanted[@]} -gt 0 ] || die "$1: holds no settings; nothing was changed"
}

cmd_restore() {
	local entry name value before left=0
	[ -z "$missing" ] || die "nothing was put back: $missing"
	read_saved "$1"
	trap '' INT TERM HUP
	for entry in "${wanted[@]}"; do
		name=${entry% *} value=${entry#* }
		if cannot "$name" "$value"; then
			warn "$name: $reason"
			left=1
			continue
		fi
		before=$now
		[ "$before" != "$value" ] || continue
		if write_value "$name" "$value"; then say "$name: $before -> $value"; else left=1; fi
	done
	[ "$left" = 0 ] || die "not everything could be put back"
}

# ---- command line ------------------------------------------------------------------------------------------------

words=()
json=0
mongodb=8
mongodb_given=0
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help) usage && exit 0 ;;
	--json) json=1 ;;
	--root | --mongodb)
		[ $# -ge 2 ] || wrong_usage "$1: expected a value after it"
		[ "$1" != --root ] || fs_root=$2
		[ "$1" != --mongodb ] || { mongodb=${2%%.*} && mongodb_given=1; }
		shift
		;;
	-*) wrong_usage "unknown option $1" ;;
	*) words+=("$1") ;;
	esac
	shift
done
[[ $mongodb =~ ^[1-9][0-9]?$ ]] || wrong_usage "--mongodb $mongodb: expected a version, such as 8.0"
# Paths are the caller's; this script has gone to the repository's root.
from_start() { case $1 in /*) say "$1" ;; *) say "$start_dir/$1" ;; esac }
if [ -n "$fs_root" ]; then
	fs_root=$(from_start "$fs_root")
	[ -d "$fs_root" ] || die "--root $fs_root: is no folder"
	fs_root=${fs_root%/}
fi
thp_dir=$fs_root/sys/kernel/mm/transparent_hugepage
missing=$(why_missing)

command=${words[0]:-}
case $command in
show) count=1 ;;
set | save | restore) count=2 ;;
'') wrong_usage "expected show, set, save or restore" ;;
*) wrong_usage "no command is called $command" ;;
esac
[ ${#words[@]} = "$count" ] || wrong_usage "$command: expected $((count - 1)) argument(s) after it"
[ "$json" = 0 ] || [ "$command" = show ] || wrong_usage "--json goes with show"
case $command:${words[1]:-} in
show:*) cmd_show ;;
set:recommended) cmd_set recommended ;;
set:always | set:madvise | set:never)
	[ "$mongodb_given" = 0 ] || wrong_usage "--mongodb goes with set recommended"
	cmd_set "${words[1]}"
	;;
set:*) wrong_usage "set ${words[1]}: expected always, madvise, never or recommended" ;;
save:*) cmd_save "$(from_start "${words[1]}")" ;;
restore:*) cmd_restore "$(from_start "${words[1]}")" ;;
esac
