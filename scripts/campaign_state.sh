# shellcheck shell=bash disable=SC2034,SC2154
# What a campaign holds and changes outside of its folder, and that it is put back; sourced by campaign.sh.
#
# All of it lies in one folder for the machine (or, without root, for the user), in memory like the kernel's settings
# themselves: the lock (one campaign at a time, since two would measure each other), who holds it, and the huge page
# settings as they were. They are written before anything is changed and removed after it was put back, so whatever
# still lies there when a campaign starts was left by one that was killed.

# Every process that a campaign starts for a run carries this in its environment; by it they are found again.
mark=$(cat /proc/sys/kernel/random/uuid)
state=${CAMPAIGN_STATE:-}
if [ -z "$state" ]; then
	if [ "$(id -u)" = 0 ]; then state=/run/mtrace; else state=${XDG_RUNTIME_DIR:-/tmp}/mtrace-$(id -u); fi
fi
# A child of this script gets its death as a signal to end.
tether=()
! setpriv --pdeathsig TERM true 2>/dev/null || tether=(setpriv --pdeathsig TERM)

# File descriptor 9 is the lock. What is started for long closes it; scripts/thp.sh keeps it, so that one which outlives a
# killed campaign is waited for.
state_open() {
	(umask 077 && mkdir -p "$state") && [ -O "$state" ] && [ ! -L "$state" ] ||
		die "$state: cannot be made, or belongs to somebody else; CAMPAIGN_STATE=DIR names another folder"
	exec 9>>"$state/lock"
	flock -w 5 9 || die "another campaign is running here: $(state_owner folder || say unknown), process $(state_owner pid || say unknown)"
	state_recover
	printf '%s\n' "mark $mark" "pid $$" "boot $(cat /proc/sys/kernel/random/boot_id)" "folder $1" >"$state/owner"
}

# state_owner WHAT: of the campaign that holds the lock, or held it last.
state_owner() { [ -e "$state/owner" ] && sed -n "s/^$1 //p" "$state/owner"; }

# What a killed campaign left: processes, then settings. Neither outlives a start of the machine.
state_recover() {
	local folder
	if [ -e "$state/owner" ] && [ "$(state_owner boot)" = "$(cat /proc/sys/kernel/random/boot_id)" ]; then
		folder=$(state_owner folder)
		end_marked "$(state_owner mark)"
		if [ -e "$state/thp.saved" ]; then
			say "campaign: putting back the huge page settings that a campaign changed and did not put back ($folder)"
			state_put_back || die "left as it is: $here/thp.sh restore $state/thp.saved puts it back, then remove that file"
		fi
	fi
	rm -f "$state/owner" "$state/thp.saved"
}

state_save_thp() {
	[ -e "$state/thp.saved" ] || "$here/thp.sh" save "$state/thp.saved" || exit 1
}

state_put_back() {
	[ -e "$state/thp.saved" ] || return 0
	"$here/thp.sh" restore "$state/thp.saved" >/dev/null && rm -f "$state/thp.saved"
}

state_close() {
	state_put_back || warn "$here/thp.sh restore $state/thp.saved puts the huge page settings back; the next campaign tries again"
	[ -e "$state/thp.saved" ] || rm -f "$state/owner"
}

# marked MARK: the processes that carry it.
marked() {
	local file
	for file in /proc/[0-9]*/environ; do
		if grep -qzx "CAMPAIGN_MARK=$1" "$file" 2>/dev/null; then
			file=${file#/proc/}
			say "${file%/environ}"
		fi
	done
}

# end_marked MARK: asks them to end, and after 20 s makes them.
end_marked() {
	local pids tries
	[ -n "$1" ] || return 0
	for ((tries = 0; tries < 40; tries++)); do
		mapfile -t pids < <(marked "$1")
		[ ${#pids[@]} -gt 0 ] || return 0
		[ "$tries" -gt 0 ] || kill -TERM "${pids[@]}" 2>/dev/null || true
		sleep 0.5
	done
	kill -KILL "${pids[@]}" 2>/dev/null || true
}
