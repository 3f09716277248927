#!/bin/bash
# SPDX-License-Identifier: MIT
# That there is something to record: native runs of a race differ, those of one thread do not, and
# neither do replays. And logs of the other unit of ticks.
# TIME_LIMIT=300
. tests/replay/replay.bash

RUNS=8

# distinct PATTERN: how many different hashes the lines have.
distinct() {
    sed -nE "s/^$1 .* hash=([0-9a-f]{32}) .*/\1/p" "$KERNEL_LOG" | sort -u | wc -l
}

repeat() {
    local i
    for ((i = 0; i < $2; i++)); do
        printf '%s; ' "$1"
    done
}

for cpus in 2 4; do
    for program in "counter 4 6000" "racey 4 3000"; do
        kernel_check "race-${program%% *}-$cpus" "$cpus CPUs: $program runs $RUNS times" \
            CPUS=$cpus RUN="$(repeat "run $program" $RUNS)poweroff"
        found=$(distinct "@native prog=${program%% *}")
        tap_check "$cpus CPUs: $program gives $found different results in $RUNS runs" \
            test "$found" -gt 1
    done
    kernel_check "race-none-$cpus" "$cpus CPUs: one thread" CPUS=$cpus \
        RUN="$(repeat "run racey 1 500" 4)$(repeat "record racey 1 200" 3)poweroff"
    tap_check "$cpus CPUs: its native results are the same" \
        test "$(distinct '@native prog=racey')" -eq 1
    kernel_check "race-replays-$cpus" "$cpus CPUs: recordings differ, replays do not" CPUS=$cpus \
        RUN="record racey 4 300; record racey 4 300; record racey 4 300; replay 1 4; poweroff"
    tap_check "$cpus CPUs: three recordings of a race have different end states" \
        test "$(distinct '@record prog=racey')" -gt 1
    tap_check "$cpus CPUs: four replays of one have the same" \
        test "$(distinct '@replay prog=racey')" -eq 1
done

# The unit `all` counts loops without a conditional branch, too.
for cpus in 1 4; do
    replay_programs "all-$cpus" 2 CPUS=$cpus APPEND=ticks=all <<'END'
counter 4 300
racey 4 150
mutex 4 60
rep 3 1
spin 3 2
syscalls
crash 3 200
END
done
tap_done
