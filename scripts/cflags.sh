#!/usr/bin/env bash
# scripts/cflags.sh
#
# Prints, for each C source of the repository that the build compiles, its path, a tab and the flags that matter to a
# compiler's front end, as a shell would read them. Asked of make itself (a dry run), so that no second list of flags
# exists. What only steers the making of code (most of -f and -m) is left out: not every compiler knows it.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

make --no-print-directory -nBk all tests 2>/dev/null | awk '
	{
		source = ""; flags = ""; began = 0
		for (i = 1; i <= NF; i++) {
			if ($i == "-c" || $i == "-MMD" || $i == "-MP" || $i == "-shared" || $i == "-rdynamic") { began = 1; continue }
			if ($i == "-o" || $i == "-MF" || $i == "-MT") { i++; continue }
			if ($i == "\\") continue # the command goes on in the next line
			if ($i ~ /^-[lL]|^-Wl,|^-(no-)?pie$|^-static/) continue
			if ($i ~ /^-[fm]/ && $i !~ /^-f(PIC|visibility|no-builtin)/) continue
			if (began && $i ~ /^(trace|shim|analyzer|bench|tests)\/.*\.c$/) { source = $i; continue }
			if ($i ~ /^-/) began = 1
			if (began && $i !~ /\.(o|a|so|S)$/) flags = flags " " $i
		}
		if (source != "" && !(source in seen)) { seen[source] = 1; print source "\t" substr(flags, 2) }
	}' | sort
