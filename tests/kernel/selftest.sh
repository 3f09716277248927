#!/bin/bash
# SPDX-License-Identifier: MIT
# The suites inside the kernel (tests/kernel/suite_*.c), on 1, 2 and 4 CPUs, and with debugging
# checks on 3. Each of their points is a point here.
# TIME_LIMIT=900
. tests/lib.sh

# The kernel's points become ours; what it printed below a failed one explains it.
forward_points() {
    local where=$1 line what='' notes=()
    while IFS= read -r line; do
        if [ -n "$what" ] && [[ $line == '#   '* ]]; then
            notes+=("${line#'#   '}")
            continue
        fi
        [ -z "$what" ] ||
            tap_fail "$what" "${notes[@]}" "log: $KERNEL_LOG" "repeat: $KERNEL_COMMAND"
        what=''
        notes=()
        case $line in
        'ok '*' # SKIP '*)
            tap_skip "$where: $(point_text "${line%% # SKIP *}")" "${line#* # SKIP }"
            ;;
        'ok '*) tap_pass "$where: $(point_text "$line")" ;;
        'not ok '*) what="$where: $(point_text "$line")" ;;
        esac
    done <"$KERNEL_LOG"
    [ -z "$what" ] || tap_fail "$what" "${notes[@]}"
}

point_text() {
    printf '%s' "${1#* - }"
}

# All points that the kernel planned are in the log.
check_plan() {
    local plan points
    plan=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$KERNEL_LOG")
    points=$(grep -Ec '^(not )?ok [0-9]+ - ' "$KERNEL_LOG")
    if [ -n "$plan" ] && [ "$plan" = "$points" ] && [ "$plan" -gt 0 ]; then
        tap_pass "$1: the kernel's plan of $plan points"
    else
        tap_fail "$1: the kernel's plan of ${plan:-no} points" "points: $points" "$(kernel_explain)"
    fi
}

# A recording that was cut has one end, however often it is replayed.
check_partial_ends() {
    local ends
    ends=$(sed -n 's/^@replay .* \(log=[0-9]*\) .*match=partial \(hash=[^ ]*\) .*events=/\1 \2 /p' \
        "$KERNEL_LOG" | sort -u)
    tap_check "$1: each cut recording ends in one state" \
        test -n "$ends" -a -z "$(cut -d' ' -f1 <<<"$ends" | uniq -d)"
}

# Lines of several threads come out whole: none is lost, torn or doubled.
check_lines() {
    local printed whole
    printed=$(sed -n 's/^# lines in all: \([0-9]*\)$/\1/p' "$KERNEL_LOG")
    whole=$(grep -E '^# line [0-9]+ [0-9]+ ([a-zA-Z])\1{59}$' "$KERNEL_LOG" | sort -u | wc -l)
    if [ -n "$printed" ] && [ "$whole" -ge "$printed" ] &&
        [ "$(grep -c '^# line ' "$KERNEL_LOG")" -ge "$printed" ] &&
        ! grep '# line ' "$KERNEL_LOG" | grep -Evq '^# line [0-9]+ [0-9]+ ([a-zA-Z])\1{59}$'; then
        tap_pass "$1: all $printed lines of the console suite came out whole"
    else
        tap_fail "$1: lines of the console suite came out whole" \
            "printed: ${printed:-not said}, whole: $whole" "$(kernel_explain)"
    fi
}

# selftest NAME CPUS KERNEL
selftest() {
    local name=$1
    kernel_run "selftest-$name" RUN="selftest; poweroff" CPUS="$2" KERNEL="$3" TIMEOUT=240
    forward_points "$name"
    check_plan "$name"
    check_lines "$name"
    check_partial_ends "$name"
    tap_check "$name: the run has an end" test "$(kernel_end)" != crashed
}

tap_check "the kernel with its suites builds" make TESTS=1 O=build/test kernel
tap_check "and with debugging checks" make TESTS=1 DEBUG=1 O=build/test-debug kernel
for cpus in 1 2 4; do
    selftest "$cpus-cpus" $cpus build/test/kernel32.elf
done
selftest debug 3 build/test-debug/kernel32.elf
tap_done
