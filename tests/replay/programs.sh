#!/bin/bash
# SPDX-License-Identifier: MIT
# The test programs, which use every system call and every way to end, are recorded and replayed;
# and so are the recordings that programs make of themselves.
# TIME_LIMIT=900
. tests/replay/replay.bash

for cpus in 1 2 4; do
    replay_programs "programs-$cpus" 2 CPUS=$cpus <<'END'
tf
syscalls
threads 16 1
yield 6 60
mapper 3 6
spin 3 3
fpu 4 4
hostile 1 200
hostile 2 150 5
hostile 3 150 2
faults pf_write thread
faults pf_text_write
faults gp_load thread
faults ud
faults de thread
faults stack_overflow
faults bp thread
tf int3
tf icebp
tf settf
END
done

# A program that starts and stops its own recording, with its threads under way.
for cpus in 1 2 4; do
    kernel_check "replay-self-$cpus" "$cpus CPUs: recordings that programs make of themselves" \
        CPUS=$cpus TIMEOUT=120 RUN="run middle 4 100; replay 2; run middle 1 50; replay; \
run middle 16 20; replay 2; run hostile 5 150 3 recorder; replay 2; \
run hostile 6 150 4 recorder; replay 2; poweroff"
    tap_check "$cpus CPUs: all nine replays of them match" \
        test "$(grep -c '^@replay .* match=yes ' "$KERNEL_LOG")" -eq 9
done
tap_done
