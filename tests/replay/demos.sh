#!/bin/bash
# SPDX-License-Identifier: MIT
# Every demo is recorded and replayed three times, on 1, 2 and 4 CPUs: with the tick source that the
# machine has, and by single steps.
# TIME_LIMIT=900
. tests/replay/replay.bash

demos() {
    cat <<'END'
counter 4 1200
racey 4 500
racey 4 250 unaligned
mutex
producer-consumer 4 60
dekker 300
pingpong 200
straddle
rep 4 2
tsc 4 80
falseshare 4 800
private
sort 4 400
crash 4 500
middle 4 200
END
}

for cpus in 1 2 4; do
    replay_programs "demos-$cpus" 3 CPUS=$cpus < <(demos)
done
for cpus in 1 2 4; do
    replay_programs "demos-step-$cpus" 3 CPUS=$cpus APPEND=source=step < <(demos)
done
tap_done
