#!/usr/bin/env bash
# tests/glibc/run.sh
#
# The workload under a self-built glibc, as part of scripts/test.sh: built once, outside of the checkout, and used again. Where
# the build takes more than seven minutes it is broken off and its tests are skipped; the next run goes on with it.
exec "$(dirname "$0")/../../scripts/test_glibc.sh" --limit-s 420
