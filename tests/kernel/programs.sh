#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs, not recorded: the test programs check themselves, and nothing of them is left behind.
# TIME_LIMIT=600
. tests/lib.sh

# Program, arguments, and the line that it must print.
programs() {
    cat <<'END'
tf||tf: ok
syscalls||syscalls: ok
threads||threads: ok
yield||yield: ok
mapper|4 25|mapper: ok
spin||spin: ok
fpu||fpu: ok
hostile|1 700|hostile: ok
hostile|2 700 6|hostile: ok
hostile|3 400 4 recorder|hostile: ok
hostile|4 400 2 recorder|hostile: ok
END
}

# Runs all of them in one boot and looks for each one's line, which comes before its @native line.
run_programs() {
    local cpus=$1 commands='' program arguments line text
    while IFS='|' read -r program arguments line; do
        commands+="run $program${arguments:+ $arguments}; "
    done < <(programs)
    kernel_check "programs-$cpus" "$cpus CPUs: all programs end well" \
        RUN="${commands}mem; poweroff" CPUS="$cpus" TIMEOUT=200
    text=$(<"$KERNEL_LOG")
    while IFS='|' read -r program arguments line; do
        if [[ $text == *"$line"*"@native prog=$program "* ]]; then
            tap_pass "$cpus CPUs: $program${arguments:+ $arguments}: $line"
            text=${text#*"@native prog=$program "}
        else
            tap_fail "$cpus CPUs: $program${arguments:+ $arguments}: $line" "$(kernel_explain)"
        fi
    done < <(programs)
}

demos="counter racey mutex producer-consumer dekker pingpong straddle rep tsc falseshare"
demos+=" private sort"

run_demos() {
    local cpus=$1 demo commands=''
    for demo in $demos; do
        commands+="run $demo; "
    done
    kernel_check "demos-$cpus" "$cpus CPUs: all demos end well" \
        RUN="${commands}try run crash; poweroff" CPUS="$cpus" TIMEOUT=120
    for demo in $demos; do
        log_check "$cpus CPUs: $demo prints a signature" "^$demo: signature 0x[0-9a-f]{16}$"
    done
    log_check "$cpus CPUs: crash dies of its wild pointer" \
        '^crash: killed: .*0x5eadbeef0008|^crash: killed: .*0x5eadbeef0000'
}

# More threads than CPUs, and by far; and programs that are not there.
run_odd() {
    kernel_check "programs-odd" "many threads on one CPU, and commands that must fail" CPUS=1 \
        TIMEOUT=200 RUN="run racey 40 50; run mutex 60 5; run yield 50 20; run threads 200 1; \
try run no-such-program; try run; try run counter 0; try run hostile x; poweroff"
    log_check "a program that there is not" '^try: run: ERR_NOT_FOUND'
    log_check "no program at all" '^try: run: ERR_USAGE'
    log_check "a program that refuses its arguments" '^try: run: ERR_FAILED'
}

for cpus in 1 2 4; do
    run_programs $cpus
    run_demos $cpus
done
run_odd
tap_done
