#!/bin/bash
# SPDX-License-Identifier: MIT
# A recording made with one tick source replays with the other: each is the other's witness. Also
# with interrupts that come late, and with all branches as ticks.
# TIME_LIMIT=900
. tests/replay/replay.bash

# cross PROGRAM RECORDED-WITH REPLAYED-WITH SETTING…: recorded once, replayed with both.
cross() {
    local program=$1 recorded=$2 replayed=$3
    shift 3
    kernel_check "sources-$recorded-${program%% *}" "$program: $recorded, then $replayed ${*}" \
        RUN="source $recorded; record $program; replay 2; source $replayed; replay 2; poweroff" \
        CPUS=2 TIMEOUT=120 "$@"
    tap_check "$program: recorded with $recorded, replayed twice with $replayed" \
        test "$(grep -c "^@replay .* source=$replayed match=yes " "$KERNEL_LOG")" -eq 2
}

if ! kernel_run sources-probe RUN="source pmc; poweroff"; then
    tap_skip_all "$(sed -n 's/^source pmc cannot be used: //p' "$KERNEL_LOG")"
fi

while IFS= read -r program; do
    cross "$program" pmc step
    cross "$program" step pmc
done <<'END'
counter 4 400
racey 4 150
racey 3 80 unaligned
mutex 4 100
producer-consumer 4 20
dekker 100
straddle 2 100
rep 3 1
tsc 4 40
falseshare 4 200
private
sort 4 400
tf
syscalls
mapper 2 4
protector 3 10
hostile 3 150
END

cross "racey 4 150" pmc step PMU=skid=random
cross "racey 4 150" pmc step APPEND=ticks=all
cross "rep 3 1" pmc step APPEND=ticks=all
cross "mutex 4 100" step pmc PMU=skid=100
tap_done
