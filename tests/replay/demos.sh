#!/bin/bash
# SPDX-License-Identifier: MIT
# Every demo is recorded and replayed three times: on 1, 2 and 4 CPUs with the tick source that the
# machine has, and by single steps.
# TIME_LIMIT=900
. tests/replay/replay.bash

demos() {
    cat <<'END'
counter 4 800
racey 4 300
racey 4 150 unaligned
mutex 4 200
producer-consumer 4 50
dekker 200
pingpong 120
straddle 2 200
rep 4 1
tsc 4 60
falseshare 4 500
private 4 7
sort 4 300
crash 4 300
middle 4 200
END
}

for cpus in 1 2 4; do
    replay_programs "demos-$cpus" 3 CPUS=$cpus < <(demos)
done
replay_programs demos-step 3 CPUS=3 APPEND=source=step < <(demos)
tap_done
