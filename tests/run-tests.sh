#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs every test and ends in the line `N passed, N failed` (with `, N skipped` if there are any).
#
#   tests/run-tests.sh [HOST_TEST…]     as `make test` calls it, with the host tests' programs
#   ONLY=regex tests/run-tests.sh …     only programs whose path matches
#
# Each program speaks TAP; prove reads it. What they printed stays in build/tests/.
set -euo pipefail
cd "$(dirname "$0")/.."

# The settings of a `make run` and of an outer make are not the tests'.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
unset RUN APPEND CPUS MEM MACHINE CPU ACCEL TIMEOUT KERNEL PROGRAMS LOGS EXPORT
unset DISK DISK_SIZE DISK_DEVICE DISK_READONLY

# In this order: what is quick and what the rest needs come first. build.sh bails out when there is
# no kernel to test.
programs=(tools/lint/lint.sh tests/tools/*.sh "$@" tests/build.sh tests/fuzz.sh tests/model.sh
    tests/kernel/*.sh tests/replay/*.sh)
selected=()
for program in "${programs[@]}"; do
    [[ $program =~ ${ONLY:-.} ]] && selected+=("$program")
done
if [ ${#selected[@]} -eq 0 ]; then
    echo "run-tests: error: no test matches ONLY='${ONLY:-}'" >&2
    exit 2
fi

mkdir -p build/tests
rm -f build/tests/*.tap build/tests/*.stderr
status=0
prove --exec tests/run-one.sh "${selected[@]}" || status=$?

# Counts test points. A program that prove must call broken though no point failed (it crashed, ran
# out of time, or printed another number of points than planned) counts as one failure.
awk -v status=$status '
    FNR == 1 { program_ends(); points = bad = 0; plan = -1; code = "none" }
    /^ok / { points++; if (/# *[Ss][Kk][Ii][Pp]/) skipped++; else passed++ }
    /^not ok / { points++; failed++; bad++ }
    /^1\.\.[0-9]+/ { plan = substr($1, 4) + 0; if (plan == 0) skipped++ }
    /^# exit / { code = $3 }
    function program_ends() {
        if (begun++ && !bad && (plan != points || code != 0)) failed++
    }
    END {
        program_ends()
        if (status != 0 && failed == 0) failed = 1
        printf "%d passed, %d failed%s\n", passed, failed, skipped ? ", " skipped " skipped" : ""
        exit failed > 0
    }' build/tests/*.tap
