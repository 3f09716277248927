#!/bin/bash
# SPDX-License-Identifier: MIT
# The PMU that tools/qemu-pmu emulates: the self-test, storms of overflow NMIs, PMUs that must be
# refused, and the two other users of counters, profiler and watchdog.
# TIME_LIMIT=900
. tests/lib.sh

pmu_or_skip_all pmu-probe "pmu; poweroff"

# --- counting and overflowing ---

for cpus in 1 2 4; do
    kernel_check "pmu-storm-$cpus" "$cpus CPUs: self-test; 100000 overflows, none late or lost" \
        ACCEL=pmu CPUS=$cpus RUN="pmu; pmu test; pmu storm 100000; poweroff"
    log_check "$cpus CPUs: exact" '^conditional branches: exact; '
    log_check "$cpus CPUs: every one of them" \
        "^@storm cpus=$cpus interrupts=100000 lost=0 late_max=0 ok=yes\$"
    tap_check "$cpus CPUs: nobody is left with a counter" \
        test "$(grep -c '^  counter [0-9] *free ' "$KERNEL_LOG")" = 4
done

kernel_check pmu-skid "late interrupts: self-test, storm, recording" \
    ACCEL=pmu PMU=skid=random CPUS=4 \
    RUN="pmu test; pmu storm 100000; record racey 4 200; replay; poweroff"
log_check "they are late, within the bound, and none is lost" \
    '^@storm cpus=4 interrupts=10[0-9]{4} lost=0 late_max=(100|[1-9][0-9]?) ok=yes$'
log_check "recorded by the PMU" '^@record prog=racey .* source=pmc '
log_check "replayed by the PMU" '^@replay prog=racey .* source=pmc match=yes '

kernel_check pmu-words "wrong words are refused" ACCEL=pmu \
    RUN="try pmu storm; try pmu storm 0; try pmu storm x; try pmu tests; try prof; try prof stop; \
try prof report; try prof folded; try prof start 10; try prof start x; try watchdog; \
try watchdog maybe; poweroff"
tap_check "each of them" test "$(grep -c '^try: .*: ERR_' "$KERNEL_LOG")" = 12
log_check "a period too short, by name" '^prof start: the period must be from 10000 to '

# --- what must not be used ---

# refused NAME REASON SETTING…
refused() {
    local name=$1 reason=$2
    shift 2
    kernel_check "pmu-refused-$name" "$name: programs are recorded and replayed all the same" "$@" \
        RUN="record racey 4 50; replay; try pmu test; try pmu storm 100; try prof start; \
try watchdog on; try source pmc; poweroff"
    log_check "$name: by single-stepping" '^@record prog=racey .* source=step '
    log_check "$name: the replay, too" '^@replay prog=racey .* source=step match=yes '
    log_check "$name: the test says why" "^pmu test: the PMU is not used: $reason\$"
    log_check "$name: so does the storm" "^pmu storm: the PMU is not used: $reason\$"
    log_check "$name: the profiler" "^profiler: $reason\$"
    log_check "$name: the watchdog" "^watchdog: $reason\$"
    log_check "$name: and the recorder" "^source pmc cannot be used: $reason\$"
}

while IFS='|' read -r option reason; do
    refused "$option" "$reason" ACCEL=pmu PMU="$option"
done <<'END'
broken=zero|the counter never moves
broken=stuck|the counter never moves
broken=overcount|counts are off
broken=undercount|counts are off
broken=anymode|counts are off
broken=nonmi|overflows do not interrupt
broken=nostatus|overflows do not interrupt
broken=lostnmi|overflow interrupts get lost
skid=500|overflow interrupts come too late
END
refused "no PMU" ".*" ACCEL=step

# --- profiler ---

kernel_check prof "the profiler samples a program" ACCEL=pmu CPUS=2 \
    RUN="prof start 20000; try prof start; try pmu test; try pmu storm 100; run private 4 60; \
prof stop; prof report 3; prof folded; poweroff"
log_check "it counts cycles of both CPUs" \
    '^@profile samples=[0-9]{3,} dropped=0 cpus=2 period=20000 event="cycles" running=no$'
log_check "only one at a time" '^try: prof: ERR_BUSY'
tap_check "test and storm wait for their turn" \
    test "$(grep -c '^try: pmu: ERR_BUSY' "$KERNEL_LOG")" = 2
percent=' +[1-9][0-9]*\.[0-9]%'
tap_check "the program's hot function comes first, with most of the samples, on both CPUs" \
    grep -Eq "^ +[5-9][0-9]\.[0-9]%$percent$percent  user    private: private_work\$" \
    <(grep -A 1 '^ *total  CPU 0' "$KERNEL_LOG")
log_check "folded stacks: user code" '^private;private_work [0-9]+$'
log_check "folded stacks: the kernel's" \
    '^session;[^ ]*;run_session_\[k\];command_run_line_\[k\];[^ ]+_\[k\] [0-9]+$'
tap_check "folded stacks: each sample is there once" awk '
    /^@profile / { split($2, field, "="); if (reports++) exit sum != field[2]; next }
    reports { sum += $NF }' "$KERNEL_LOG"

kernel_check prof-record "the profiler beside a recording by the PMU" ACCEL=pmu CPUS=4 \
    RUN="prof start 20000; record racey 4 200; replay; prof stop; prof report; poweroff"
log_check "recorded" '^@record prog=racey .* source=pmc '
log_check "replayed" '^@replay prog=racey .* source=pmc match=yes '
log_check "sampled" '^@profile samples=[1-9][0-9]+ '

# --- watchdog ---

kernel_check watchdog "the watchdog leaves programs and recordings alone" ACCEL=pmu CPUS=2 \
    RUN="watchdog status; watchdog on; run private 4 200; record racey 4 100; replay; \
pmu storm 1000; watchdog status; watchdog off; pmu; poweroff"
log_check "it is not on by itself under emulation" '^  this PMU is emulated: '
log_check "it has watched" '^watchdog: on, counts cycles; [1-9][0-9]* overflows; '
log_check "the storm had its counters, which came back" '^@storm cpus=2 .* ok=yes$'
log_check "it was off at the end" '^  counter 0 +free '

# A lockup is found on whatever CPU the shell is.
kernel_run watchdog-lockup ACCEL=pmu CPUS=2 RUN="watchdog on; panic lockup; poweroff"
tap_check "a CPU that keeps interrupts off is a panic (status $KERNEL_STATUS)" \
    test $KERNEL_STATUS = 2
log_check "which says where" "^@panic cpu=([01]) .* where=crash_lockup\\+0x[0-9a-f]+ \
msg=\"hard lockup: CPU \\1 has taken no interrupt for .*, at 0x[0-9a-f]+ crash_lockup\\+0x"
# --- NMIs into the entry and exit paths ---

# With one instruction a block QEMU takes interrupts at every instruction, not only at jumps.
kernel_check pmu-sweep "NMIs walk over the way in and out of the kernel" \
    ACCEL=pmu CPUS=2 TCG=one-insn-per-tb=on RUN="sweep 20000; poweroff" TIMEOUT=120
log_check "nothing is damaged" '^@sweep cpus=2 interrupts=[0-9]{5,} .* damaged=0 ok=yes$'
log_check "most of these instructions were hit" '^@sweep .* places=([5-9][0-9]|[1-9][0-9]{2,}) '

tap_done
