#!/bin/bash
# SPDX-License-Identifier: MIT
# Dynamic probes: what the code of their own path calls, each instruction of the built kernel, the
# command `probe`. The suites `probes` and `probe-load` run with all others (selftest.sh).
# TIME_LIMIT=300
. tests/lib.sh

symbol() {
    awk -v name="$1" '$3 == name { print $1; exit }' build/kernel.sym
}

# Calls and jumps out of the code that no probe is set in, as "from to". What a hit runs through
# must stay inside: an int3 outside could be a probe's.
calls_out() {
    objdump -d --no-show-raw-insn --start-address="0x$1" --stop-address="0x$2" build/kernel.elf |
        awk -v start="$1" -v end="$2" '
            /^[0-9a-f]+ <.*>:$/ { from = substr($2, 2, length($2) - 3) }
            $2 ~ /^(call|j)/ && $3 ~ /^ffffffff/ && ($3 < start || $3 >= end) {
                gsub(/[<>]|\+.*/, "", $4); print from, $4 }' | sort -u
}

# Not run through by a hit: whole objects are kept free of probes; trap_dispatch() is left before
# when a step ends; nobody waits for a lock in a hit.
other='trap_dispatch|context_enter_user|spin_lock|spin_lock_irq|wait_for_owner|remove_held'
other="$other|insn_probe_classify|insn_scan|text_map_sweep"

tap_check "the kernel builds" make image
start=$(symbol noprobe_start)
end=$(symbol noprobe_end)
calls=$(calls_out "$start" "$end" | grep -v ' panic_at$' | grep -Ev "^($other) ")
if [ -n "$start" ] && [ -n "$end" ] && [ -z "$calls" ]; then
    tap_pass "a hit runs through code without probes only"
else
    tap_fail "a hit runs through code without probes only" "$calls"
fi
tap_check "what may call elsewhere does so after a hit" \
    test "$(calls_out "$start" "$end" | grep -c '^trap_dispatch ')" -gt 0

tap_check "the test of all instructions builds" make build/tests/host/test_insn_probe_text
tap_check "each instruction of the kernel keeps its meaning when it is copied" \
    build/tests/host/test_insn_probe_text build/kernel.elf

# The first STI of the kernel that is not on the path of probes.
sti=$(objdump -d --no-show-raw-insn --start-address="0x$end" build/kernel.elf |
    awk '$2 == "sti" { sub(":", "", $1); print $1; exit }')
kernel_check probe "probes by the shell" RUN="probe types; probe add sys_clone; \
probe add sys_clone print; probe add sys_exit count step; probe add sys_futex count int3; \
run racey 4 20; probe list; probe remove sys_clone print; probe list; \
try probe add sys_clone; try probe add 0x$sti; try probe add trap_breakpoint; \
try probe add sys_clone+1000000; try probe add nowhere; try probe add sys_clone count sideways; \
try probe add sys_clone nothing; try probe remove sys_getpid; try probe add; \
probe remove sys_clone; \
probe remove sys_exit; probe remove sys_futex; probe list; poweroff"
log_check "the types are listed" '^  print +priority -100 .*\(not in NMI\)$'
log_check "three clones of a program of 4 threads: counted" \
    '^    count +priority 100 +hits 3 misses 0'
tap_check "and printed" \
    test "$(grep -c '^probe sys_clone at sys_clone: rdi 0x' "$KERNEL_LOG")" = 3
log_check "a jump" '^  sys_clone +jump '
log_check "a step" '^  sys_exit +stepped '
log_check "three places" '^@probes dynamic=3'
log_check "none in the end" '^@probes dynamic=0'
log_check "a second one of a kind is refused" '^try: probe: ERR_BUSY'
log_check "STI is refused" "^probe: 0x$sti: STI holds interrupts off"
log_check "the path of probes is refused" \
    '^probe: trap_breakpoint: on the path of probes themselves'
log_check "another address is refused" '^probe: sys_clone.1000000: outside of the kernel'
log_check "an unknown symbol is refused" '^try: probe: ERR_NO_SYMBOL'
log_check "unknown words are refused" '^try: probe: ERR_USAGE'
log_check "an unknown type is refused, and what is not there is not removed" \
    '^try: probe: ERR_NO_PROBE'
tap_done
