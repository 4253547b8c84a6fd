#!/usr/bin/env bash
# scripts/install.sh install|uninstall        (by `make install PREFIX= DESTDIR=` and `make uninstall`)
#
# Puts below $DESTDIR$PREFIX (default /usr/local), and with `uninstall` removes again:
#   bin/mtrace-analyze         the analyzer; beside it what was built of ycsb-embedded and mongo-facts, for campaigns
#   lib/mtrace/libmtrace.so    the shim, and beside it the libraries that it opens at run time (libunwind; on x86-64
#                              Zydis), with what they need, so that the folder can be copied to a host or into a
#                              container without them
#   share/mtrace/              scripts for users, and the format of the trace
#   share/doc/mtrace/          README and licence
# Packages put nothing here: the libraries are copies of this system's, and need a C library no older than its own.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

prefix=${DESTDIR:-}${PREFIX:-/usr/local}
build=${BUILD:-build}
user_scripts=(common.sh testrun.sh glibc_needs.sh thp.sh campaign.sh campaign_state.sh campaign_plan.sh campaign_axis.sh
	campaign_machine.sh campaign_workload.sh campaign_server.sh campaign_progress.sh campaign_run.sh)
optional_programs=(ycsb-embedded mongo-facts)

# A library of the system and those that it needs, the C library's own apart: their paths, one a line.
library_paths() {
	local path
	path=$("${CC:-gcc}" -print-file-name="$1")
	[ -e "$path" ] || return 0
	say "$path"
	ldd "$path" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | grep -vE '/(libc|libm|libdl|libpthread|libgcc_s|ld-linux[^/]*)\.so' || true
}

# What the shim opens at run time, under the names that it asks for.
decoder=$(strings -a "$build/libmtrace.so" 2>/dev/null | grep -m1 -x 'libZydis\.so\.[0-9.]*' || true)

install_all() {
	local library name
	for name in libmtrace.so mtrace-analyze; do
		[ -e "$build/$name" ] || die "$build/$name is not there: run make"
	done
	install -d "$prefix/bin" "$prefix/lib/mtrace" "$prefix/share/mtrace" "$prefix/share/doc/mtrace"
	install -m 755 "$build/mtrace-analyze" "$prefix/bin/"
	install -m 755 "$build/libmtrace.so" "$prefix/lib/mtrace/"
	[ -n "$(library_paths libunwind.so.8)" ] || warn "no libunwind here to put beside the shim; it will use the host's, or libgcc's unwinder"
	[ -z "$decoder" ] || [ -n "$(library_paths "$decoder")" ] || warn "no $decoder here to put beside the shim; programs with their own malloc need it on the host"
	while read -r library; do
		# Under the name by which it is asked for, whatever the links of this system.
		install -m 644 "$(realpath "$library")" "$prefix/lib/mtrace/$(basename "$library")"
	done < <(library_paths libunwind.so.8; [ -z "$decoder" ] || library_paths "$decoder")
	for name in "${user_scripts[@]}"; do
		[ ! -e "scripts/$name" ] || install -m 755 "scripts/$name" "$prefix/share/mtrace/"
	done
	for name in "${optional_programs[@]}"; do
		[ ! -e "$build/$name" ] || install -m 755 "$build/$name" "$prefix/bin/"
	done
	install -m 644 trace/FORMAT.md "$prefix/share/mtrace/"
	install -m 644 README.md LICENSE "$prefix/share/doc/mtrace/"
	say "installed below $prefix; trace a program with LD_PRELOAD=${PREFIX:-/usr/local}/lib/mtrace/libmtrace.so"
}

# lib/mtrace, share/mtrace and share/doc/mtrace are ours alone.
uninstall_all() {
	rm -f "$prefix/bin/mtrace-analyze" "${optional_programs[@]/#/$prefix/bin/}"
	rm -rf "${prefix:?}/lib/mtrace" "${prefix:?}/share/mtrace" "${prefix:?}/share/doc/mtrace"
	say "removed from $prefix"
}

case $#:${1:-} in
1:install) install_all ;;
1:uninstall) uninstall_all ;;
1:-h | 1:--help) usage ;;
*) wrong_usage "wrong arguments: $*" ;;
esac
