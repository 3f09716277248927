#!/bin/bash
# SPDX-License-Identifier: MIT
# A recording made on some number of CPUs is replayed on others.
# TIME_LIMIT=600
. tests/replay/replay.bash

# across PROGRAM RECORDED REPLAYED…: one boot with 4 CPUs.
across() {
    local program=$1 recorded=$2 commands cpus
    shift 2
    commands="cpus $recorded; record $program; "
    for cpus; do
        commands+="cpus $cpus; replay; "
    done
    kernel_check "replay-across-$recorded-${program%% *}" "$program: recorded on $recorded CPUs" \
        RUN="${commands}poweroff" CPUS=4 TIMEOUT=120
    log_check "$program: it was recorded on $recorded" "^@record .* cpus=$recorded "
    if [ "$(replay_results)" = "${program%% *} $# $#" ]; then
        tap_pass "$program: recorded on $recorded CPUs, replayed on each of: $*"
    else
        tap_fail "$program: recorded on $recorded CPUs, replayed on each of: $*" \
            "program, replays, matches: $(replay_results)" "$(replay_divergence)" \
            "$(kernel_explain)"
    fi
}

for program in "racey 4 200" "counter 6 400" "mutex 4 100" "producer-consumer 4 30" \
    "threads 12 1"; do
    across "$program" 4 1 2 3 4
    across "$program" 1 4 2 1
done
tap_done
