#!/bin/bash
# SPDX-License-Identifier: MIT
# The oracle (docs/oracle.md): QEMU itself sees every instruction of recordings and replays, with
# what it loads and stores, and finds no difference; and it does find those that there are.
# TIME_LIMIT=600
. tests/lib.sh

COMPARE=build/tools/oracle/compare
FILE=build/tests/oracle.bin

if ! output=$(make -s image $COMPARE 2>&1); then
    tap_fail "plugin and comparer are built" "$output"
    tap_done
fi

# watch NAME STEP SETTING…: a run with the oracle; its console in KERNEL_LOG.
watch() {
    local name=$1 step=$2
    shift 2
    rm -f $FILE
    kernel_run "oracle-$name" ACCEL=pmu PMU=oracle=$FILE,oracle-step="$step" TIMEOUT=150 "$@"
}

# compare STATUS REGEX ARGUMENT…: that is how the comparer ends, and one of its lines.
compare() {
    local wanted=$1 regex=$2 status=0
    shift 2
    $COMPARE $FILE "$@" >build/tests/oracle.out 2>&1 || status=$?
    cat build/tests/oracle.out
    [ $status -eq "$wanted" ] && grep -Eq -- "$regex" build/tests/oracle.out
}

# commands REPLAYS: records and replays each program on standard input.
commands() {
    local line log=0
    while IFS= read -r line; do
        log=$((log + 1))
        printf 'record %s; replay %s; delete %s; ' "$line" "$1" $log
    done
    echo poweroff
}

# A QEMU that the plugin cannot work with says so before the kernel starts.
if ! watch probe 1 RUN=poweroff && grep -q '^qemu-pmu: error' build/tests/oracle-probe.qemu; then
    tap_skip "the oracle" "$(grep '^qemu-pmu: error' build/tests/oracle-probe.qemu)"
    tap_done
fi
tap_check "a run without a replay is nothing to compare" compare 2 'no replay in this file'

for cpus in 2 4; do
    watch "demos-$cpus" 1 CPUS=$cpus RUN="$(commands 2 <<'END'
counter 4 200
racey 4 100
racey 4 60 unaligned
mutex 4 60
producer-consumer 4 20
dekker 80
pingpong 50
straddle 2 60
rep 4 1
tsc 4 30
falseshare 4 150
private
sort 4 150
crash 4 80
END
)"
    tap_check "$cpus CPUs: 28 replays of 14 demos, each instruction the same" \
        compare 0 '^@oracle recordings=14 replays=28 equal=28 step=1$'
    watch "programs-$cpus" 1000 CPUS=$cpus TCG=one-insn-per-tb=on RUN="$(commands 2 <<'END'
tf
syscalls
threads 8 1
mapper 2 4
spin 2 2
fpu 2 2
hostile 1 60
faults gp_load thread
faults bp thread
tf int3
END
)"
    tap_check "$cpus CPUs: 20 replays of 10 test programs, by hashes of 1000 instructions" \
        compare 0 '^@oracle recordings=10 replays=20 equal=20 step=1000$'
done

# Single-stepped instructions are the same ones, though the kernel carries some of them out.
watch sources 1 APPEND=jitter=200 RUN="source step; record racey 3 40; source pmc; replay 2; \
source step; replay; source pmc; record tf; source step; replay; record rep 3 1; source pmc; \
replay; poweroff"
tap_check "recorded by one tick source, replayed by the other: each instruction the same" \
    compare 0 '^@oracle recordings=3 replays=5 equal=5 step=1$'

watch self 1 RUN="run middle 4 60; replay 2; poweroff"
tap_check "a program that starts and stops its recording itself" \
    compare 0 '^@oracle recordings=1 replays=2 equal=2 step=1$'

# And now what differs.
watch races 1 RUN="record racey 4 200; record racey 4 200; poweroff"
tap_check "two recordings of a race differ; the instruction is named, with its function" \
    compare 1 'RIP 0x[0-9a-f]+ \([a-z_]+ at ' --program build/user/racey --runs 1 2
tap_check "the first one of each thread that differs" \
    compare 1 '^  thread 3: instruction [0-9]+ is the first one that differs$' --runs 1 2

watch edited 1 RUN="record racey 4 200; edit 1 changed-program; replay 2 1; poweroff"
tap_check "a replay with two bytes of the program changed differs, by an instruction" \
    compare 1 '^  thread [0-9]+: (instruction [0-9]+ is the first|equal up to instruction [0-9]+,)'
tap_check "and is counted as one that does" \
    compare 1 '^@oracle recordings=1 replays=1 equal=0 step=1$'

truncate -s -8 $FILE
tap_check "a file that is cut off is refused" compare 2 'is cut off'
echo "not one of them, but long enough for a header" >$FILE
tap_check "another file is refused" compare 2 'is no file of the oracle'
rm -f $FILE
tap_done
