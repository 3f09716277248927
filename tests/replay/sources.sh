#!/bin/bash
# SPDX-License-Identifier: MIT
# The two tick sources are each other's witness: what was recorded with one replays with the other.
# TIME_LIMIT=600
. tests/replay/replay.bash

programs=("counter 4 300" "racey 4 100" "racey 3 60 unaligned" "mutex 4 60" "rep 3 1"
    "producer-consumer 4 20" "crash 3 200" "syscalls" "tf" "spin 3 2" "hostile 4 100 3"
    "threads 8 1" "fpu 3 3" "tsc 4 40")

# witness CPUS FROM TO SETTING…
witness() {
    local cpus=$1 from=$2 to=$3 program log=0 commands=''
    local -a results
    shift 3
    for program in "${programs[@]}"; do
        log=$((log + 1))
        commands+="source $from; record $program; source $to; replay; delete $log; "
    done
    kernel_run "witness-$from-$to-$cpus" CPUS="$cpus" RUN="${commands}poweroff" TIMEOUT=150 "$@"
    mapfile -t results < <(replay_results)
    log=0
    for program in "${programs[@]}"; do
        if [ "${results[log]:-}" = "${program%% *} 1 1" ]; then
            tap_pass "$cpus CPUs: $program: recorded with $from, replayed with $to"
        else
            tap_fail "$cpus CPUs: $program: recorded with $from, replayed with $to" \
                "program, replays, matches: ${results[log]:-nothing}" "$(replay_divergence)" \
                "$(kernel_explain)"
        fi
        log=$((log + 1))
    done
    tap_check "$cpus CPUs: the sources were those" test \
        "$(grep -c "^@record .* source=$from " "$KERNEL_LOG")/$(grep -c \
            "^@replay .* source=$to " "$KERNEL_LOG")" = "${#programs[@]}/${#programs[@]}"
}

if kernel_run source-pmc RUN="source pmc; poweroff"; then
    for cpus in 1 4; do
        witness $cpus pmc step
        witness $cpus step pmc
    done
else
    tap_skip "both sources" "$(sed -n 's/^source .* cannot be used: //p' "$KERNEL_LOG")"
fi
tap_done
