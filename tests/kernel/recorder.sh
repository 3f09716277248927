#!/bin/bash
# SPDX-License-Identifier: MIT
# The recorder's commands: registering it, limits, and what must be refused by name.
# TIME_LIMIT=300
. tests/lib.sh

kernel_check recorder-off "with the recorder off and on again, programs run" \
    RUN="recorder off; run middle; run syscalls; try recorder off; try record counter 2 20; \
recorder on; try recorder on; run middle; recorder; record counter 2 20; replay; poweroff"
for call in start_rec rec_owner stop_rec; do
    log_check "off: $call gives ENOSYS" "^middle: $call not accepted, error -38$"
    log_check "on: $call is accepted" "^middle: $call accepted, returned [0-9]+$"
done
log_check "off: the other calls are what they were" '^syscalls: ok$'
log_check "off: a second time is refused" '^try: recorder: ERR_NO_RECORDER'
log_check "off: recording is refused" '^try: record: ERR_NO_RECORDER'
log_check "on: a second time is refused" '^try: recorder: ERR_BUSY'
log_check "on: programs can be recorded and replayed" '^@replay prog=counter .* match=yes '

# A recording that grows too large is given up, and the program does not notice.
for cpus in 1 4; do
    kernel_check "recorder-limit-$cpus" "$cpus CPUs: a recording beyond its limit is given up" \
        CPUS=$cpus APPEND=log_limit_mib=1 TIMEOUT=120 \
        RUN="try record tsc 4 8000; record counter 3 50; replay 2; logs; poweroff"
    log_check "$cpus CPUs: it says so" '^tsc: recording given up: the recording reached its'
    log_check "$cpus CPUs: by name" '^try: record: ERR_LOG_FULL'
    log_check "$cpus CPUs: the program went on to its end" '^tsc: signature 0x'
    log_check "$cpus CPUs: the next one is recorded and replayed" \
        '^@replay prog=counter .* n=2 .* match=yes '
done
# 0 is a limit, too: what a program records of itself is given up at once.
kernel_check recorder-limit-0 "a limit of 0" APPEND=log_limit_mib=0 \
    RUN="try record counter; run middle; run counter; poweroff"
log_check "a limit of 0: the program runs all the same" '^middle: signature 0x'

kernel_check recorder-words "wrong words are refused" \
    RUN="try replay; try log; try edit 1 cut; record counter 2 20; try replay 0; try replay x; \
try replay 1 2 3; try replay 7 1; try log 7; try log x; try delete 7; try delete; try delete 1 2; \
try record; try record no-such; try recorder maybe; try edit 1; try edit 1 nothing; \
try edit 9 cut; logs; log 1; delete 1; try replay; try delete 1; poweroff"
log_check "there is no log before the first" '^try: replay: ERR_NOT_FOUND'
log_check "a log lists its events" '^  [0-9]+ promote page 0x[0-9a-f]+ (read|write)'
tap_check "nothing succeeded that should not" \
    test "$(grep -c '^try: .*: succeeded' "$KERNEL_LOG")" = 0

# Memory comes back when recordings are deleted.
kernel_check recorder-memory "recordings are deleted" \
    RUN="record racey 4 100; delete 1; mem; record racey 4 100; replay; delete 2; mem; \
record racey 4 100; replay; delete 3; mem; poweroff"
mapfile -t heap < <(sed -n 's/^@mem .* heap=\([0-9]*\)$/\1/p' "$KERNEL_LOG")
tap_check "and leave nothing in the heap (${heap[*]})" \
    test "${#heap[@]}/${heap[0]:-}/${heap[0]:-}" = "3/${heap[1]:-}/${heap[2]:-}"
tap_done
