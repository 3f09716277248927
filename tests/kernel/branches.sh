#!/bin/bash
# SPDX-License-Identifier: MIT
# Emulated last branch records (tools/qemu-pmu): each form's registers, and what is recorded in both
# rings, through faults, interrupts, NMIs and #DB, against a witness that watches every
# instruction.
# TIME_LIMIT=300
. tests/lib.sh

TRACE=build/tests/branches.txt

if ! output=$(make -s TESTS=1 O=build/test image 2>&1); then
    tap_fail "plugin and kernel with its suites are built" "$output"
    tap_done
fi

# branches FORM RECORDS SETTING…
branches() {
    local form=$1 depth=$2
    shift 2
    rm -f $TRACE
    kernel_check "branches-$form" "lbr=$form ($*): the suite passes" ACCEL=pmu \
        KERNEL=build/test/kernel32.elf PMU=lbr="$form",lbr-trace=$TRACE TIMEOUT=60 \
        RUN="selftest branches; poweroff" "$@"
    log_check "lbr=$form: $depth records" "^ok .* the records are those .*: $depth\$"
    tap_check "lbr=$form: they are the branches that were taken" \
        awk -f tests/kernel/branches.awk $TRACE
}

# A QEMU that the plugin cannot work with says so before the kernel starts.
if ! kernel_run branches-probe ACCEL=pmu RUN=poweroff &&
    grep -q '^qemu-pmu: error' build/tests/branches-probe.qemu; then
    tap_skip "last branch records" "$(grep '^qemu-pmu: error' build/tests/branches-probe.qemu)"
    tap_done
fi
branches 4 4 CPUS=1
branches 8 8 CPUS=2
branches 16 16 CPUS=2 TCG=one-insn-per-tb=on
branches arch 32 CPUS=4
branches 32 32 CPUS=4

# The comparison would notice: a record of another place, one too few, one too many.
notices() {
    awk "$1" $TRACE >build/tests/branches-wrong.txt
    ! awk -f tests/kernel/branches.awk build/tests/branches-wrong.txt
}
tap_check "a wrong source is noticed" \
    notices '$1 == "record" && ++n == 777 { sub(/.$/, $2 ~ /0$/ ? "1" : "0", $2) } { print }'
tap_check "a wrong target is noticed" \
    notices '$1 == "record" && ++n == 777 { sub(/.$/, $3 ~ /0$/ ? "1" : "0", $3) } { print }'
tap_check "a missing record is noticed" notices '$1 == "record" && ++n == 777 { next } { print }'
tap_check "an additional one is noticed" \
    notices '$1 == "record" && ++n == 777 { print } { print }'

kernel_check branches-none "lbr=none: there are none" ACCEL=pmu PMU=lbr=none TIMEOUT=60 \
    KERNEL=build/test/kernel32.elf RUN="selftest branches; poweroff"
log_check "lbr=none: and the suite says so" '# SKIP this CPU has none'
rm -f $TRACE build/tests/branches-wrong.txt
tap_done
