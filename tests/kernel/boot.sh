#!/bin/bash
# SPDX-License-Identifier: MIT
# Boots on every kind of machine that is supported, and finds all its CPUs and its memory.
# TIME_LIMIT=1800
. tests/lib.sh

memory_mib() {
    case $1 in
    *G) echo $((${1%G} * 1024)) ;;
    *M) echo "${1%M}" ;;
    esac
}

host_memory_mib() {
    awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo
}

# The kernel's own count of usable memory: at least seven eighths of what there is. The first MiB,
# the kernel and the programs are the rest.
check_memory() {
    local total wanted
    total=$(sed -n 's/^@mem total=\([0-9]*\) .*/\1/p' "$KERNEL_LOG")
    wanted=$(($(memory_mib "$2") * 1024 * 1024 / 8 * 7))
    if [ "${total:-0}" -ge $wanted ]; then
        tap_pass "$1: has $2"
    else
        tap_fail "$1: has $2" "usable: ${total:-not said} bytes" "$(kernel_explain)"
    fi
}

# boots NAME CPUS MEM SETTING…: three points.
boots() {
    local name=$1 cpus=$2 memory=$3
    shift 3
    if [ "$(memory_mib "$memory")" -gt "$(host_memory_mib)" ]; then
        tap_skip "$name: boots" "the host has less than $memory free"
        return
    fi
    kernel_check "boot-$name" "$name: boots and runs commands" \
        RUN="cpus; mem; poweroff" CPUS="$cpus" MEM="$memory" "$@" || return
    log_check "$name: has $cpus CPUs" "^@cpus n=$cpus "
    check_memory "$name" "$memory"
}

boots_from_iso() {
    local name=$1 menu=$2 iso=build/tests/boot-$1.iso
    shift 2
    tap_check "$name: the image is made" \
        env RUN="cpus; mem; poweroff" MENU="$menu" tools/make-iso.sh "$iso"
    KERNEL_OPTIONS=(--iso "$iso")
    boots "$name" 2 256M "$@"
    KERNEL_OPTIONS=()
    rm -f "$iso"
}

for machine in q35 pc; do
    for cpus in 1 2 4 16; do
        boots $machine-$cpus-cpus $cpus 256M MACHINE=$machine
    done
    for memory in 32M 6G 16G; do
        boots $machine-$memory 2 $memory MACHINE=$machine
    done
    boots $machine-qemu64 2 256M MACHINE=$machine CPU=qemu64
    boots_from_iso $machine-grub-multiboot2 0 MACHINE=$machine
    boots_from_iso $machine-grub-multiboot1 1 MACHINE=$machine
done

# What the other compiler makes, and both with their checks on (built by tests/build.sh).
for build in clang debug clang-debug; do
    boots $build 2 256M KERNEL=build/$build/kernel32.elf
done

# The other ends of a run.
kernel_run boot-failing RUN="help; no-such-command; poweroff"
tap_check "help: its lines fit the screen" \
    awk '/^  / { lines++ }
        /^  / && length > 79 { print; wide++ }
        END { exit lines < 40 || wide > 0 }' "$KERNEL_LOG"
tap_check "a command that fails ends the run as failed" test "$(kernel_end)" = failed
tap_check "and run-qemu.sh says so by its status" test $KERNEL_STATUS -eq 1
kernel_run boot-panic RUN="panic gp; poweroff"
tap_check "a panic is not the end of a run" test "$(kernel_end)" = crashed
log_check "a panic's last line names vector and place" '^@panic .*vector=#GP .*where=crash_gp'
tap_check "and run-qemu.sh says so by its status" test $KERNEL_STATUS -eq 2
kernel_run boot-reset RUN="reboot"
tap_check "a reset is not the end of a run either" test $KERNEL_STATUS -eq 3
printf '#!/bin/sh\nexec sleep 60\n' >build/tests/qemu-that-hangs
chmod +x build/tests/qemu-that-hangs
kernel_run boot-late TIMEOUT=1 QEMU=build/tests/qemu-that-hangs
tap_check "a run that takes too long is stopped" test $KERNEL_STATUS -eq 124
tap_done
