#!/bin/bash
# SPDX-License-Identifier: MIT
# Records a program, replays it, and compares instruction for instruction: `make oracle` calls it.
#
#   PROG="racey 4 200"   the program and its arguments
#   N=20                 how many replays
#   STEP=1               compare every so many instructions of a thread; the file has 16 bytes for
#                        each of them, and only 1 names the very instruction
#   SOURCE=pmc|step      what counts ticks, else what the kernel finds
#   CPUS, MEM, QEMU, …   as for run-qemu.sh
#
# Exit status: 0 all replays equal, 1 one differs, 2 it could not be done.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2

PROG=${PROG:-racey 4 200}
N=${N:-20}
STEP=${STEP:-1}
SOURCE=${SOURCE:-}

die() { printf 'oracle: error: %s\n' "$*" >&2; exit 2; }

[[ $N =~ ^[1-9][0-9]*$ ]] || die "N=$N is not a number of replays"
[[ $STEP =~ ^[1-9][0-9]*$ ]] || die "STEP=$STEP is not a number of instructions"
[[ ${ACCEL:-pmu} = pmu ]] || die "ACCEL=$ACCEL: only the plugin (ACCEL=pmu) sees instructions"
elf=build/user/${PROG%% *}
[ -r "$elf" ] || die "$elf: no such program"

mkdir -p build/oracle
file=build/oracle/${PROG%% *}.oracle
console=build/oracle/${PROG%% *}.console
ACCEL=pmu PMU="${PMU:+$PMU,}oracle=$file,oracle-step=$STEP" \
    RUN="${SOURCE:+source $SOURCE; }record $PROG; replay $N; poweroff" \
    ./run-qemu.sh </dev/null | tr -d '\r' | tee "$console"
status=${PIPESTATUS[0]}

# A replay that the kernel itself finds wrong is compared all the same.
[ "$status" -le 1 ] || die "the run failed (run-qemu.sh's status $status): see $console"
build/tools/oracle/compare "$file" --program "$elf"
result=$?
[ $result -ne 0 ] || [ "$status" -eq 0 ] || die "the runs are equal, but the kernel says otherwise"
exit $result
