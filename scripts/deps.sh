#!/usr/bin/env bash
# scripts/deps.sh [--runtime] [--build] [--test] [--lint] [--arm64] [--glibc] [--dry-run]
#
# Installs what mtrace needs from the distribution (Debian 12 or newer, Ubuntu), and only what is missing. Without a
# group it takes the first four:
#   --runtime  what the finished programs use        --test  Criterion and the allocators that tests preload
#   --build    compilers, make and libraries         --lint  clang-tidy, cppcheck and their kind
#   --arm64    cross compiler and emulator for `make arm64` and `make test-arm64`
#   --glibc    source and tools for `make glibc` (its variants for Arm need --arm64 too)
# --dry-run says what would be installed and changes nothing (exit status 1 if something needed is missing).
#
# Root, or sudo, is needed only when something is missing. MTRACE_SKIP_DEPS=1 makes it do nothing: for systems
# without apt, where the packages were installed by hand.
#
# Exit status: 0 everything needed is there; 1 something needed is missing and could not be installed; 2 wrong usage.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

# group, need or want (a want that the release or the architecture does not have is left out), packages of which
# one is enough (names differ between releases), purpose.
packages() {
	cat <<'TABLE'
runtime need gnuplot-nox|gnuplot-qt|gnuplot-x11         plots of the report
runtime need libunwind8|libunwind8t64                   stacks recorded in the guest
runtime need jq                                         campaigns
runtime want libzydis4.1|libzydis4.0|libzydis3.2        instruction decoder, for programs with their own malloc
build   need gcc                                        C compiler
build   need g++                                        C++ guests of the tests
build   need libc6-dev                                  headers of the C library
build   need make                                       build
build   need binutils                                   linker, checks of the shared object
build   want ccache                                     faster rebuilds
build   need libzstd-dev                                compressed blocks of the trace
build   need liburcu-dev                                lock-free hand-over to the writer
build   need libunwind-dev                              stacks
build   need libzydis-dev                               patching of entry points (x86-64)
build   need libxxhash-dev                              checksums of the trace
build   need libjansson-dev                             JSON output
build   need libdw-dev                                  symbols and lines
build   need libelf-dev                                 ELF files, build-ids
build   need libgsl-dev                                 statistics
build   need libbson-dev                                BSON of mongod's diagnostic data
build   need zlib1g-dev                                 its compression
build   need pkgconf|pkg-config                         where libbson is
build   want libwiredtiger-dev                          embedded workload on MongoDB's engine
build   need librocksdb-dev                             embedded workload on RocksDB
build   want libmongoc-dev                              documents of a MongoDB server counted (campaigns)
test    need libcriterion-dev                           unit tests
test    need jq                                         tests read JSON
test    need util-linux                                 namespaces for tests (unshare)
test    want libtcmalloc-minimal4|libtcmalloc-minimal4t64|libgoogle-perftools-dev  allocator behind the shim
test    want libjemalloc2                               allocator behind the shim
test    want libmimalloc2.0|libmimalloc2.0t64|libmimalloc3|libmimalloc-dev  allocator behind the shim
test    want libgoogle-perftools-dev                    allocator inside a program (archive)
test    want libjemalloc-dev                            allocator inside a program (archive)
test    want libmimalloc-dev                            allocator inside a program (archive, where there is one)
lint    need clang                                      second compiler
lint    need clang-tidy                                 static analysis
lint    need clang-format                               layout of the sources
lint    need cppcheck                                   static analysis
lint    need jq                                         list of compile commands
lint    want libclang-rt-dev|libclang-rt-19-dev|libclang-rt-18-dev|libclang-rt-14-dev  sanitizers and libFuzzer for make fuzz
lint    want shellcheck                                 the scripts themselves
arm64   need gcc-aarch64-linux-gnu                      cross compiler
arm64   need g++-aarch64-linux-gnu                      C++ guests of the tests
arm64   need qemu-user-static                           runs arm64 programs
arm64   need util-linux                                 a namespace for them (unshare)
arm64   want qemu-system-arm                            virtual arm64 machine
arm64   want cpio                                       what it boots
arm64   want binutils-aarch64-linux-gnu                 disassembler beside which atomics are counted
glibc   need glibc-source                               its source
glibc   need gcc                                        C compiler
glibc   need libc6-dev                                  kernel headers
glibc   need binutils                                   linker, readelf
glibc   need make                                       build
glibc   need xz-utils                                   unpacks the source
glibc   need bison                                      parsers in its build
glibc   need gawk                                       scripts of its build
glibc   need python3                                    scripts of its build
glibc   need jq                                         manifest
TABLE
}

# Rows of the chosen groups, and those of them of which nothing is installed: "strength names purpose".
rows=()
missing=()
# Sets of package names, read through first_of.
# shellcheck disable=SC2034
declare -A installed available
# Command in front of apt-get; empty for root.
as_root=()

choose_rows() {
	local group strength names purpose seen=" "
	while read -r group strength names purpose; do
		[[ " $* " == *" $group "* && $seen != *" $names "* ]] || continue
		rows+=("$strength $names $purpose")
		seen+="$names "
	done < <(packages)
}

without_apt() {
	local row strength names purpose
	say "deps: this system has no apt. mtrace needs, under whatever names your system has them:"
	for row in "${rows[@]}"; do
		read -r strength names purpose <<<"$row"
		[ "$strength" = need ] || purpose+=" (optional)"
		printf '  %-20s %s\n' "${names%%|*}" "$purpose"
	done
	say "Once they are there, set MTRACE_SKIP_DEPS=1 and start again."
}

read_installed() {
	local name architecture status native
	native=$(dpkg --print-architecture)
	installed=()
	while read -r name architecture status; do
		[ "$status" = installed ] || continue
		# shellcheck disable=SC2034 # read through first_of
		[ "$architecture" != "$native" ] && [ "$architecture" != all ] || installed[$name]=1
	done < <(dpkg-query -W -f '${Package} ${Architecture} ${db:Status-Status}\n')
}

# first_of SET A|B|C: prints the first alternative that is in the set; false where none is.
first_of() {
	local -n set=$1
	local name
	for name in ${2//|/ }; do
		[ -z "${set[$name]:-}" ] || { say "$name" && return 0; }
	done
	return 1
}

find_missing() {
	local row strength names purpose
	read_installed
	missing=()
	for row in "${rows[@]}"; do
		read -r strength names purpose <<<"$row"
		first_of installed "$names" >/dev/null || missing+=("$row")
	done
}

needed_is_missing() {
	local row
	for row in "${missing[@]}"; do
		[ "${row%% *}" != need ] || return 0
	done
	return 1
}

# Which of the missing packages apt could install, going by its lists.
read_available() {
	local names=() row strength list purpose name='' first second rest
	for row in "${missing[@]}"; do
		read -r strength list purpose <<<"$row"
		# shellcheck disable=SC2206 # split at the bars on purpose
		names+=(${list//|/ })
	done
	available=()
	while read -r first second rest; do
		if [ -z "$second" ]; then
			name=${first%:}
		elif [ "$first" = Candidate: ] && [ "$second" != "(none)" ]; then
			available[$name]=1
		fi
	done < <(apt-cache policy "${names[@]}" 2>/dev/null)
}

apt() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
		apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# Splits what is missing into `needs` and `wants`, saying for each what it is for.
needs=()
wants=()
plan() {
	local row strength names purpose name
	for row in "${missing[@]}"; do
		read -r strength names purpose <<<"$row"
		if ! name=$(first_of available "$names"); then
			[ "$strength" = want ] && say "deps: left out, not available here: ${names%%|*} ($purpose)"
			[ "$strength" = need ] && warn "apt does not know ${names%%|*} ($purpose)"
			continue
		fi
		printf 'deps: missing: %-24s %s\n' "$name" "$purpose"
		[ "$strength" = need ] && needs+=("$name") || wants+=("$name")
	done
}

install_plan() {
	[ $((${#needs[@]} + ${#wants[@]})) -gt 0 ] || return 0
	say "deps: apt-get install ${needs[*]} ${wants[*]}"
	apt install --no-install-recommends "${needs[@]}" "${wants[@]}" && return 0
	warn "not all of it could be installed; trying without what is optional"
	[ ${#needs[@]} -eq 0 ] || apt install --no-install-recommends "${needs[@]}" || true
}

report_rest() {
	local row strength names purpose
	needed_is_missing || return 0
	for row in "${missing[@]}"; do
		read -r strength names purpose <<<"$row"
		[ "$strength" = want ] || warn "still missing: ${names%%|*} ($purpose)"
	done
	return 1
}

main() {
	local groups=() argument dry_run=0
	for argument in "$@"; do
		case $argument in
		--runtime | --build | --test | --lint | --arm64 | --glibc) groups+=("${argument#--}") ;;
		--dry-run) dry_run=1 ;;
		-h | --help) usage && exit 0 ;;
		*) wrong_usage "unknown option $argument" ;;
		esac
	done
	[ ${#groups[@]} -gt 0 ] || groups=(runtime build test lint)
	if [ "${MTRACE_SKIP_DEPS:-0}" = 1 ]; then
		say "deps: not checked (MTRACE_SKIP_DEPS=1)"
		return 0
	fi
	choose_rows "${groups[@]}"
	if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
		without_apt >&2
		return 1
	fi

	find_missing
	[ ${#missing[@]} -eq 0 ] || read_available
	# Optional packages that apt has never heard of are no reason to ask for new lists at each start.
	if [ ${#missing[@]} -eq 0 ] || { ! needed_is_missing && [ ${#available[@]} -eq 0 ]; }; then
		say "deps: nothing needed is missing (${groups[*]})"
		return 0
	fi
	if [ "$dry_run" = 1 ]; then
		plan
		if needed_is_missing; then return 1; fi
		return 0
	fi
	if [ "$(id -u)" -ne 0 ]; then
		as_root=(sudo)
		if ! command -v sudo >/dev/null; then
			plan
			needed_is_missing || return 0
			die "this is not root and there is no sudo; as root, run: $script ${groups[*]/#/--}"
		fi
	fi
	say "deps: something is missing, asking apt for its current lists"
	apt update || warn "apt-get update failed; going on with the lists that are here"
	read_available
	plan
	install_plan
	find_missing
	report_rest
	say "deps: ready (${groups[*]})"
}

main "$@"
