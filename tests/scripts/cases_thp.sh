# shellcheck shell=bash disable=SC2154
# Cases of scripts/thp.sh; sourced by run.sh.

# Settings below $1 as a kernel with whole huge pages and two sizes of its own shows them.
make_settings() {
	local dir=$1/sys/kernel/mm/transparent_hugepage
	mkdir -p "$dir"/{khugepaged,hugepages-64kB/stats,hugepages-2048kB} "$1/proc/sys/vm" "$1/boot"
	say 'always [madvise] never' >"$dir/enabled"
	say 'always defer defer+madvise [madvise] never' >"$dir/defrag"
	say 2097152 >"$dir/hpage_pmd_size"
	say 511 >"$dir/khugepaged/max_ptes_none"
	say 77 >"$dir/khugepaged/pages_collapsed"
	say '[always] inherit madvise never' >"$dir/hugepages-64kB/enabled"
	say 5 >"$dir/hugepages-64kB/stats/split"
	say 'always inherit madvise [never]' >"$dir/hugepages-2048kB/enabled"
	say 0 >"$1/proc/sys/vm/overcommit_memory"
	chmod 444 "$dir/hpage_pmd_size" "$dir/khugepaged/pages_collapsed" "$dir/hugepages-64kB/stats/split"
}

# A plain file does not move brackets as the kernel does: a choice becomes the word that was written. So a setting
# of several words becomes one word; what is in force is the same to see.
setting() { sed 's/.*\[\(.*\)\].*/\1/' "$work/host/sys/kernel/mm/transparent_hugepage/$1"; }

thp() { scripts/thp.sh --root "$work/host" "$@"; }

# is_set NAME VALUE...
is_set() {
	while [ $# -gt 0 ]; do
		[ "$(setting "$1")" = "$2" ] || fail "$1 is $(setting "$1") instead of $2"
		shift 2
	done
}

case_thp_set() {
	make_settings "$work/host"
	expect 0 thp set always
	expect_text 'enabled: madvise -> always'
	expect_text "echo madvise >$work/host/sys/kernel/mm/transparent_hugepage/enabled"
	is_set enabled always hugepages-2048kB/enabled inherit hugepages-64kB/enabled always defrag madvise
	expect 0 thp set always
	expect_text 'nothing to change'

	make_settings "$work/host"
	expect 0 thp set never
	is_set enabled never hugepages-64kB/enabled never hugepages-2048kB/enabled never

	make_settings "$work/host"
	expect 0 thp set recommended
	is_set enabled always defrag defer+madvise khugepaged/max_ptes_none 0
	[ "$(cat "$work/host/proc/sys/vm/overcommit_memory")" = 1 ] || fail "overcommit_memory stayed"
	make_settings "$work/host"
	expect 0 thp set recommended --mongodb 7.0.14
	is_set enabled never defrag never khugepaged/max_ptes_none 511
}

case_thp_nothing_by_halves() {
	make_settings "$work/host"
	say 'always defer [madvise] never' >"$work/host/sys/kernel/mm/transparent_hugepage/defrag"
	expect 1 thp set recommended
	expect_text 'defrag: this kernel does not offer defer+madvise, but: always defer madvise never'
	is_set enabled madvise

	make_settings "$work/host"
	rm "$work/host/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none"
	expect 1 thp set recommended
	expect_text 'max_ptes_none is not there'
	is_set enabled madvise

	# A file that takes 1 and says 00000001: what was written before it comes back.
	make_settings "$work/host"
	ln -sf /proc/self/coredump_filter "$work/host/proc/sys/vm/overcommit_memory"
	expect 1 thp set recommended
	expect_text 'overcommit_memory: 1 was written, and 00000001 is in force'
	expect_text 'nothing was changed'
	is_set enabled madvise defrag madvise khugepaged/max_ptes_none 511
}

case_thp_what_is_missing() {
	mkdir -p "$work/host/sys/kernel/mm" "$work/host/boot"
	say '# CONFIG_TRANSPARENT_HUGEPAGE is not set' >"$work/host/boot/config-$(uname -r)"
	expect 1 thp set always
	expect_text 'this kernel has no transparent huge pages'
	expect_text "/boot/config-$(uname -r) says: CONFIG_TRANSPARENT_HUGEPAGE is not set"
	expect 1 thp show --json
	head -n 2 "$work/output" | jq -e '.available == false and .settings == {}' >/dev/null || fail "$(cat "$work/output")"
	rm -r "$work/host"/{sys,boot}
	mkdir "$work/host/sys"
	expect 1 thp show
	expect_text 'is not mounted'
	expect 1 thp --root /nowhere show
	expect_text '--root /nowhere: is no folder'
}

case_thp_read_only() {
	[ "$(id -u)" = 0 ] || skip "needs root, to mount"
	make_settings "$work/host"
	cat >"$work/read_only.sh" <<'SCRIPT'
mount -t tmpfs none "$1/sys" && mkdir -p "$1/sys/kernel/mm" && cp -a "$2" "$1/sys/kernel/mm/" &&
	mount -o remount,ro "$1/sys" && exec scripts/thp.sh --root "$1" set always
SCRIPT
	mv "$work/host/sys/kernel/mm/transparent_hugepage" "$work/transparent_hugepage"
	unshare -m true 2>/dev/null || skip "no mount namespace can be made here"
	expect 1 unshare -m bash "$work/read_only.sh" "$work/host" "$work/transparent_hugepage"
	expect_text 'mounted read-only, as in a container'
	expect_text 'nothing was changed'
}

case_thp_save_restore() {
	make_settings "$work/host"
	expect 0 thp save "$work/saved"
	grep -qx 'khugepaged/max_ptes_none 511' "$work/saved" || fail "$(cat "$work/saved")"
	! grep -q 'pages_collapsed\|hpage_pmd_size\|split' "$work/saved" || fail "a figure was saved as a setting"
	expect 0 thp set recommended
	expect 0 thp set never
	expect 0 thp restore "$work/saved"
	expect_text 'enabled: never -> madvise'
	is_set enabled madvise defrag madvise khugepaged/max_ptes_none 511 hugepages-64kB/enabled always \
		hugepages-2048kB/enabled never
	# What is gone is named, and does not keep the rest from being put back.
	thp set always >/dev/null
	rm "$work/host/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none"
	expect 1 thp restore "$work/saved"
	expect_text 'max_ptes_none is not there'
	is_set enabled madvise
}

case_thp_restore_refuses() {
	local line
	make_settings "$work/host"
	thp save "$work/saved"
	for line in '../../../../etc/passwd x' '/etc/passwd x' 'enabled' 'enabled always never' "enabled \$(id)"; do
		{ cat "$work/saved" && say "$line"; } >"$work/bad"
		thp set always >/dev/null
		expect 1 thp restore "$work/bad"
		expect_text 'not a setting and its value'
		is_set enabled always
	done
	say 'enabled never' >"$work/bad"
	expect 1 thp restore "$work/bad"
	expect_text 'no file of'
	expect 1 thp restore "$work/none"
	expect 1 thp save "$work/none/saved"
	expect_text "$work/none/saved: cannot be written"
	[ "$(wc -l <"$work/output")" = 1 ] || fail "more is said than that: $(cat "$work/output")"
}

case_thp_usage() {
	expect 2 scripts/thp.sh
	expect 2 scripts/thp.sh set
	expect 2 scripts/thp.sh set sometimes
	expect 2 scripts/thp.sh set always --mongodb 8
	expect 2 scripts/thp.sh set recommended --mongodb x
	expect 2 scripts/thp.sh restore
	expect 2 scripts/thp.sh --fast show
	expect 0 scripts/thp.sh --help
}

# The machine's own settings, changed and put back; one at a time.
case_thp_live() {
	local dir=/sys/kernel/mm/transparent_hugepage
	[ "$(id -u)" = 0 ] || skip "needs root"
	[ -e "$dir/enabled" ] || skip "no transparent huge pages: $(scripts/thp.sh show 2>&1)"
	(: >>"$dir/enabled") 2>/dev/null || skip "$dir is read-only here"
	exec {lock}>/tmp/thp.lock
	flock -w 120 "$lock" || skip "/tmp/thp.lock is held"
	scripts/thp.sh save "$work/saved" || fail "no settings saved"
	trap 'scripts/thp.sh restore "$work/saved"' EXIT
	scripts/thp.sh show --json >"$work/before"
	local value
	for value in always never recommended madvise; do
		expect 0 scripts/thp.sh set "$value"
		[ "$value" = recommended ] || grep -q "\[$value\]" "$dir/enabled" || fail "$value: $(cat "$dir/enabled")"
	done
	expect 0 scripts/thp.sh restore "$work/saved"
	scripts/thp.sh show --json >"$work/after"
	cmp "$work/before" "$work/after" || fail "not as before"
}
