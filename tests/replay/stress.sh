#!/bin/bash
# SPDX-License-Identifier: MIT
# Recording with random delays in its paths, without a time for which pages are kept, with very
# long ones, and with many more threads than CPUs.
# TIME_LIMIT=900
. tests/replay/replay.bash

races() {
    cat <<'END'
counter 4 400
racey 4 150
racey 3 80 unaligned
mutex 4 100
producer-consumer 4 20
dekker 100
pingpong 80
straddle 2 100
rep 3 1
falseshare 4 200
crash 3 200
mapper 2 4
END
}

for cpus in 2 4; do
    replay_programs "jitter-$cpus" 3 CPUS=$cpus APPEND=jitter=200 < <(races)
    replay_programs "no-hold-$cpus" 3 CPUS=$cpus APPEND=hold_us=0 < <(races)
done
replay_programs jitter-step 2 CPUS=4 APPEND="jitter=200 source=step" < <(races)
replay_programs no-hold-step 2 CPUS=4 APPEND="hold_us=0 source=step" < <(races)
replay_programs no-hold-jitter 2 CPUS=4 APPEND="hold_us=0 jitter=2000" < <(races)
replay_programs long-hold 2 CPUS=4 APPEND=hold_us=3000 < <(races)

for cpus in 1 4; do
    replay_programs "crowd-$cpus" 2 CPUS=$cpus <<'END'
racey 24 20
counter 40 40
mutex 32 6
producer-consumer 16 8
threads 24 1
yield 12 20
END
done
tap_done
