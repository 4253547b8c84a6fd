#!/usr/bin/env bash
# scripts/test_arm64_vm.sh [--short] [--filter GLOB]     (make test-arm64-vm)
#
# The cross-build on real arm64 kernels: boots the distribution's in qemu-system-aarch64, without a disk or a network, and
# runs there host tests and the workload under each glibc that is in GLIBC_DIR. What qemu-user imitates (rseq, huge pages,
# page faults, signals, instruction sets) is a kernel's own there. Three machines, one after the other:
#
#   lse     -cpu max: LSE, guarded pages                       the distribution's kernel
#   nolse   -cpu cortex-a57: Armv8.0, no LSE                   the distribution's kernel
#   scan    -cpu max                                           a newer kernel, which has PAGEMAP_SCAN
#
# --short leaves out what qemu-user shows as well: for a run among other tests. --filter GLOB runs only the host cases
# called GLOB, and no workload. Consoles lie in build/arm64/vm/NAME.log. Nothing here is a measure of speed.
#
# A machine that does not come to its end in time has failed. The last line is "N passed, N failed, N skipped".
# Exit status: 0 nothing failed; 1 something did; 2 wrong usage; 77 the packages cannot be installed here.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

short=0
filter=
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help) usage && exit 0 ;;
	--short) short=1 && shift ;;
	--filter) [ $# -gt 1 ] || wrong_usage "--filter needs a value" && filter=$2 && shift 2 ;;
	*) wrong_usage "unknown option: $1" ;;
	esac
done

folder=build/arm64/vm
passed=0
failed=0
skipped=0
# What depends on the kernel or the processor, and what everything else rests on. Kernels cut a command line at 2,048.
kernel_cases='pages_*|blocks_on_huge_pages|rseq_*|doctor_rseq_*|locks_*|entries*|text_*|signals_*'
more_cases='counted*|cxx*|entry_*|static_tcmalloc_*|threads_*|thread_before_*|fork*|deep_stack|no_huge_pages_of_its_own|region*'
limit_s=900

# Pointers signed as the emulator likes it: the architecture's own algorithm is slow to emulate.
max=max,pauth-impdef=on

# boot NAME CPU KERNEL CASES ARMS: its console goes to the screen and to NAME.log.
boot() {
	local name=$1 cpu=$2 kernel=$3 cases=$4 arms=$5
	say "-- $name: $cpu, $(cat "$folder/$kernel.name")"
	timeout --kill-after=10 $limit_s qemu-system-aarch64 -M virt -cpu "$cpu" -smp 2 -m 2G -nic none -nographic -no-reboot \
		-kernel "$folder/$kernel" -initrd "$folder/initramfs.gz" \
		-append "console=ttyAMA0 quiet panic=-1 MTRACE_CASES=$cases MTRACE_ARMS=$arms" </dev/null 2>&1 |
		sed -u 's,\r,,g' | tee "$folder/$name.log" | grep --line-buffered -E '^(ok|skip|FAIL|vm:) ' || true
}

# The machine's own lines, added up. One that does not say that it has come to its end has failed, whatever it said before.
collect() { # NAME
	local log=$folder/$1.log
	passed=$((passed + $(grep -c '^ok ' "$log" || true)))
	failed=$((failed + $(grep -c '^FAIL ' "$log" || true)))
	skipped=$((skipped + $(grep -c '^skip ' "$log" || true)))
	if ! grep -q '^vm: end [01]$' "$log"; then
		say "FAIL $1: the machine did not come to its end within $limit_s s: $(tail -n 1 "$log")"
	elif ! grep -qE '^(ok|skip|FAIL) ' "$log" || { grep -q '^vm: end 1' "$log" && ! grep -q '^FAIL ' "$log"; }; then
		say "FAIL $1: the machine's tests did not run; see $log"
	else
		return 0
	fi
	failed=$((failed + 1))
}

# The processor must be the one that the tests are meant for.
expect_lse() { # NAME with|without
	grep -q "^vm: .* $2 LSE$" "$folder/$1.log" && return
	say "FAIL $1: the processor is not one $2 LSE"
	failed=$((failed + 1))
}

machine() { # NAME CPU KERNEL CASES ARMS with|without
	boot "$@"
	collect "$1"
	expect_lse "$1" "$6"
}

scripts/deps.sh --arm64 || { warn "skipped: no cross compiler and emulator here" && exit 77; }
for program in qemu-system-aarch64 cpio; do
	command -v $program >/dev/null || { warn "skipped: no $program here" && exit 77; }
done
make --no-print-directory -j"$(nproc)" arm64 >build/arm64.log 2>&1 ||
	{ tail -n 20 build/arm64.log && die "the cross-build failed; see build/arm64.log"; }
scripts/arm64_initramfs.sh "$folder"

arms=1
cases="@($kernel_cases|$more_cases)"
[ $short = 0 ] || cases="@($kernel_cases|counted)"
[ -z "$filter" ] || { cases=$filter && arms=0; }

machine lse $max linux "$cases" $arms with
machine nolse cortex-a57 linux "$cases" $arms without
if [ -e $folder/linux-scan ]; then
	machine scan $max linux-scan "${filter:-@(pages_*|blocks_on_huge_pages|rseq_*|locks_*)}" 0 with
else
	say "skip scan: the distribution has no kernel with PAGEMAP_SCAN"
	skipped=$((skipped + 1))
fi
say "arm64-vm: $passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
