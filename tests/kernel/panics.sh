#!/bin/bash
# SPDX-License-Identifier: MIT
# Mistakes that must end in a panic which names them: each in a run of its own.
# TIME_LIMIT=900
. tests/lib.sh

# dies NAME COMMAND REGEX KERNEL: the last line of the log is an @panic line with such a message.
dies() {
    local name=$1 command=$2 regex=$3 last
    kernel_run "panic-$name" RUN="$command; poweroff" KERNEL="$4" TIMEOUT=60
    last=$(grep -v '^$' "$KERNEL_LOG" | tail -n 1)
    if [ $KERNEL_STATUS -eq 2 ] && [[ $last =~ ^@panic\ cpu= ]] && [[ $last =~ $regex ]]; then
        tap_pass "$name is a panic that says so"
    else
        tap_fail "$name is a panic that says so" "no last line matches: $regex" "$(kernel_explain)"
    fi
}

tap_check "the kernel with its suites builds" make TESTS=1 O=build/test kernel
tap_check "and with debugging checks" make TESTS=1 DEBUG=1 O=build/test-debug kernel

while IFS='|' read -r kind regex; do
    dies "$kind" "die $kind" "$regex" build/test/kernel32.elf
done <<'END'
frame-double-free|msg="free of frame 0x[0-9a-f]+, order 0: .*\(double free\)
frame-wrong-order|msg="free of frame 0x[0-9a-f]+, order 1: its state is 0x82, expected 0x81
frame-not-ours|msg="free of frame 0x[0-9a-f]+, order 0: its state is 0x0
heap-double-free|msg="double free of 0x[0-9a-f]+ \(128 bytes\)
heap-double-free-large|msg="(double )?free of 0x[0-9a-f]+
heap-inside|msg="free of 0x[0-9a-f]+, which is no object of its slab
heap-not-ours|msg="free of 0x[0-9a-f]+, which was never handed out
lock-rank|msg="lock order: .*'die, high'.*'die, low'
lock-equal-rank|msg="lock order: .*'die, low'.*'die, other'
lock-twice|msg="lock 'die, low': taken twice by CPU [0-9]
lock-not-held|msg="lock 'die, low': released by CPU [0-9]+, but nobody holds it
lock-not-initialised|msg="lock at 0x[0-9a-f]+: rank 0, never initialised
lock-kept|msg="command 'die' returned with 1 spinlocks held, expected none
sleep-with-lock|msg="assertion failed: .*spin_locks_held
mutex-not-owner|msg="mutex die is unlocked by a thread that does not hold it
mutex-twice|msg="assertion failed: !mutex_held
write-text|vector=#PF .*where=write_text.*msg="page fault.* 0xffffffff80[0-9a-f]+ \(kernel text\)
write-rodata|vector=#PF .*where=write_rodata.*".* 0xffffffff8[0-9a-f]+ \(kernel read-only data\)
execute-data|vector=#PF .*rip=(0x[0-9a-f]+) .*msg=".* 0xffffffff8[0-9a-f]+ \(kernel data\)
execute-heap|vector=#PF .*rip=(0x[0-9a-f]+) .*msg="page fault.* 0xffff80[0-9a-f]+ \(direct map\)
breakpoint|vector=#BP .*where=breakpoint.*msg="breakpoint in the kernel
probed-copy|where=target_bad_load msg="page fault in the kernel: address 0x8
probed-step|where=target_bad_load msg="page fault in the kernel: address 0x8
execute-stack|vector=#PF .*rip=(0x[0-9a-f]+) .*msg="page fault.* 0xffffc0[0-9a-f]+ \(kernel stack\)
END

# What only debugging checks find.
dies heap-use-after-free "die heap-use-after-free" \
    'msg="freed object 0x[0-9a-f]+ was written to: byte 20 is 0x1' build/test-debug/kernel32.elf
dies frame-use-after-free "die frame-use-after-free" \
    'msg="free frame 0x[0-9a-f]+ was written to: word 250 is 0x' build/test-debug/kernel32.elf

# The shell's own ways to die.
dies null "panic null" \
    'vector=#PF .*where=crash_null.*msg="page fault .*address 0x10 \(NULL page\)' \
    build/test/kernel32.elf
dies gp "panic gp" 'vector=#GP .*where=crash_gp' build/test/kernel32.elf
dies ud "panic ud" 'vector=#UD .*where=crash_ud' build/test/kernel32.elf
dies stack "panic stack" 'vector=#DF .*where=use_up_stack.*msg="double fault' \
    build/test/kernel32.elf
log_check "stack: the report knows the guard page" \
    '^vector: 8 #DF, .*last page fault at 0xffffc0[0-9a-f]+: kernel stack guard page\)'
dies lock "panic lock" "msg=\"lock order: .*'panic test, high'" build/test/kernel32.elf
dies assert "panic assert" 'msg="assertion failed: sink == 5' build/test/kernel32.elf
dies text "panic some words" 'msg="some words"$' build/test/kernel32.elf
tap_done
