#!/bin/bash
# SPDX-License-Identifier: MIT
# Branch history at exceptions: that the reports name where a crash came from, for each form of
# branch records and without any, and that off costs nothing. The suite `lbr` has the storm.
# TIME_LIMIT=600
. tests/lib.sh

pmu_or_skip_all lbr-probe "lbr info; poweroff"

# history N: the report's first N records, the newest first.
history() {
    grep -A "$1" '^branch history of ' "$KERNEL_LOG" | tail -n +2 | grep -E '^ +[0-9]+  0x'
}

backtrace_has() {
    sed -n '/^backtrace:/,/^[^ ]/p' "$KERNEL_LOG" | grep -Eq -- "$1"
}

# crashes NAME KIND SETTING…: ends in a panic.
crashes() {
    local name=$1 kind=$2
    shift 2
    kernel_run "lbr-$name" ACCEL=pmu TIMEOUT=60 RUN="lbr on; crash $kind" "$@"
    if [ $KERNEL_STATUS -ne 2 ]; then
        tap_fail "$name: crash $kind is a panic" "$(kernel_explain)"
        return 1
    fi
    tap_pass "$name: crash $kind is a panic"
}

# --- the case in the field: a call through a pointer that was overwritten ---

line=$(grep -n 'device.handle(' kernel/shell_panic.c | cut -d : -f 1)
for form in 4 16 32 arch; do
    crashes "$form" jump PMU="lbr=$form"
    tap_check "$form: the newest record is the call that went wrong, by function and line" \
        grep -Eq "^ +0 .* crash_jump\+0x[0-9a-f]+ kernel/shell_panic.c:$line -> .* crash_victim" \
        <(history 1)
    tap_check "$form: the backtrace does not name its function" \
        test -z "$(backtrace_has crash_jump && echo named)"
done

crashes ret ret
tap_check "ret: the newest record is the return that went wrong" \
    grep -Eq '^ +0 .* smash_return[^ ]*\+0x[0-9a-f]+ .*-> 0x000000005bad0000' <(history 1)
tap_check "ret: the backtrace does not name its function" \
    test -z "$(backtrace_has smash_return && echo named)"
crashes stack stack
tap_check "stack: of a double fault, on its own stack: the recursion" \
    test "$(history 10 | grep -Ec 'use_up_stack\+.*-> .* use_up_stack')" = 10
crashes null null
tap_check "null: the function that it was called from" grep -q 'crash_by_kind+' <(history 2)
crashes gp gp
tap_check "gp: the same" grep -q 'crash_by_kind+' <(history 2)
crashes assert assert
tap_check "a panic without an exception has what was recorded up to it" \
    grep -Eq '^ +0 .* crash_assert\+.*-> .* panic_at' <(history 1)

# --- in ring 3 ---

# The filter keeps out what an interrupt between branch and fault would record; its return remains.
kernel_check lbr-user "programs crash with LBR on" ACCEL=pmu \
    RUN="lbr filter user; lbr on; try run faults jump_middle; try run faults ret_smashed; \
try run faults stack_overflow; try run faults pf_null; try run faults gp_load; \
try run faults db; try run faults db_step; try run faults bp; \
try run faults pf_kernel_exec thread; run counter; poweroff"
tap_check "each report has a history" test "$(grep -c '^branch history of ' "$KERNEL_LOG")" = 9
newest=$(grep -A 2 '^branch history of ' "$KERNEL_LOG" | grep -E '^ +[01]  0x')
tap_check "a call into the middle of a function: it is among the newest records" \
    grep -Eq ' raise_jump_middle\+0x[0-9a-f]+ -> .* victim.middle' <<<"$newest"
tap_check "a smashed return address: so is that return" \
    grep -Eq ' raise_ret_smashed\+0x[0-9a-f]+ -> 0x000000005bad0000' <<<"$newest"
tap_check "a recursion without end: so is the recursion" \
    grep -Eq ' raise_stack_overflow\+.*-> .* raise_stack_overflow' <<<"$newest"
tap_check "a null pointer: who called" \
    grep -Eq '[a-z_]+\+0x[0-9a-f]+ -> .* raise_pf_null\+0x0' <<<"$newest"
tap_check "a noncanonical pointer: who called" \
    grep -Eq '[a-z_]+\+0x[0-9a-f]+ -> .* raise_gp_load\+0x0' <<<"$newest"
log_check "after a debug exception, which ends recording, it goes on" '^counter: signature'

kernel_check lbr-step "a recording that steps; each step ends recording of branches" \
    ACCEL=pmu CPUS=2 RUN="lbr on; source step; record counter 2 50; replay; lbr dump; poweroff"
log_check "it replays" '^@replay prog=counter .* match=yes'
log_check "debug exceptions were counted" '^CPU [01], #DB: [1-9][0-9]{2,}, of them 0 inside'

# --- filters ---

kernel_run lbr-filter ACCEL=pmu RUN="lbr filter calls; lbr on; crash jump" TIMEOUT=60
tap_check "filter calls: the call is there" grep -Eq ' crash_jump\+.*-> .* crash_victim' \
    <(history 1)
tap_check "filter calls: no jump is" test -z "$(history 32 | grep 'strcmp+.*-> .*strcmp+')"
kernel_run lbr-filter-ring ACCEL=pmu TIMEOUT=60 \
    RUN="lbr on; lbr filter user; run counter; crash jump"
tap_check "filter user: no record of the kernel" \
    test -z "$(history 32 | grep -- '-> 0xffffffff8')"

# --- without LBR ---

# absent NAME REASON SETTING…: by name, in `lbr info` and in the report.
absent() {
    local name=$1 reason=$2
    shift 2
    kernel_run "lbr-absent-$name" "$@" RUN="lbr info; try lbr on; try lbr dump; \
try lbr filter calls; crash jump" TIMEOUT=60
    log_check "$name: lbr info says why" "^LBR: $reason"
    log_check "$name: lbr on fails, and says why" "^lbr: $reason"
    log_check "$name: so does the report" "^no branch history: $reason"
}

absent none 'PERF_CAPABILITIES names no format' ACCEL=pmu PMU=lbr=none
absent tcg 'recording cannot be turned on' ACCEL=step
crashes off jump RUN="crash jump"
log_check "off: the report says so" '^no branch history: LBR is not in use'

# --- off costs nothing ---

bench() {
    sed -n "s/^@lbr-bench lbr=$1 instructions=//p" "$KERNEL_LOG" | sort -u
}

tap_check "a kernel without it builds" make LBR=0 O=build/nolbr kernel
for object in arch/x86/entry.o arch/x86/trap.o arch/x86/idt.o; do
    tap_check "$object is the same, byte for byte" \
        cmp "build/obj/$object" "build/nolbr/obj/$object"
done
kernel_check lbr-bench "instructions of a page fault" ACCEL=pmu CPUS=1 RUN="lbr bench; poweroff"
off=$(bench off) on=$(bench on)
kernel_check lbr-bench-none "and without it" ACCEL=pmu CPUS=1 RUN="lbr bench; poweroff" \
    KERNEL=build/nolbr/kernel32.elf
tap_check "off ($off), before and after, as without it ($(bench off)); on $on" \
    test "$off" = "$(bench off)" -a "$on" -gt "$off"
absent built 'this kernel was built without LBR' ACCEL=pmu KERNEL=build/nolbr/kernel32.elf

# --- the storm, with other forms than selftest.sh has, and NMIs into the stubs ---

tap_check "the kernel with its suites builds" make TESTS=1 O=build/test kernel
kernel_check lbr-storm-arch "architectural: a storm on 4 CPUs: all histories are consistent" \
    ACCEL=pmu CPUS=4 PMU=lbr=arch KERNEL=build/test/kernel32.elf RUN="selftest lbr; poweroff"
log_check "they were checked" '^#   .* histories with [1-9][0-9]{3,} records'

# With one instruction a block QEMU takes NMIs anywhere in a stub, not only before and behind it.
kernel_check lbr-storm-nmi "NMIs into the stubs: what is damaged is known" ACCEL=pmu CPUS=1 \
    TCG=one-insn-per-tb=on KERNEL=build/test/kernel32.elf RUN="selftest lbr; poweroff"
kernel_check lbr-sweep "NMIs walk over the ways in and out, each with its own history" \
    ACCEL=pmu CPUS=2 TCG=one-insn-per-tb=on RUN="lbr on; sweep 2000; lbr dump; poweroff"
log_check "no NMI was taken for one inside of another" \
    '^CPU 0, NMI: [1-9][0-9]{2,}, of them 0 inside'

kernel_check lbr-words "wrong words are refused" ACCEL=pmu \
    RUN="try lbr; try lbr maybe; try lbr filter; try lbr filter none; try lbr on now; try crash; \
try crash nothing; poweroff"
tap_check "each of them" test "$(grep -c '^try: .*: ERR_USAGE' "$KERNEL_LOG")" = 7
tap_done
