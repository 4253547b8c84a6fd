#!/usr/bin/env bash
# scripts/test_arm64.sh [--filter GLOB]
#
# The aarch64 build under emulation: installs what is missing (scripts/deps.sh --arm64), cross-builds into build/arm64, and
# runs the host tests on it, with this machine's analyzer. On an Arm machine scripts/test.sh does the same without
# emulation. An emulator's times say nothing about speed, and none are taken.
#
# --filter GLOB runs only the host cases called GLOB. The last line is "N passed, N failed, N skipped".
#
# Exit status: 0 all passed; 1 something failed; 2 wrong usage; 77 the packages cannot be installed here.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

filter='*'
case $#:${1:-} in
0:) ;;
1:-h | 1:--help) usage && exit 0 ;;
2:--filter) filter=$2 ;;
*) wrong_usage "wrong arguments: $*" ;;
esac

sysroot=build/arm64/sysroot
scripts/deps.sh --arm64 || { warn "skipped: no cross compiler and emulator here" && exit 77; }
make --no-print-directory -j"$(nproc)" arm64 build/mtrace-analyze >build/arm64.log 2>&1 ||
	{ tail -n 20 build/arm64.log && die "the cross-build failed; see build/arm64.log"; }
scripts/check_exports.sh build/arm64/libmtrace.so
scripts/check_symbol_versions.sh build/arm64/libmtrace.so

runner=(tests/host/run.sh --shim build/arm64/libmtrace.so --guests build/arm64/host --jobs "$(nproc)" --filter "$filter")
if scripts/arm64_namespace.sh "$sysroot" true; then
	exec scripts/arm64_namespace.sh "$sysroot" "${runner[@]}"
fi
say "going on without: guests that start programs are skipped"
exec "${runner[@]}" --launcher "qemu-aarch64-static -L $(realpath $sysroot)"
