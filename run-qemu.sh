#!/bin/bash
# SPDX-License-Identifier: MIT
# Boots the kernel in QEMU and says how the run ended.
#
#   ./run-qemu.sh [--iso [FILE]] [--gdb] [--display] [--print-words]
#
#   --iso          boots an image of `make iso` by GRUB (its kernel command line was fixed there)
#   --gdb          waits at the first instruction for gdb at port 1234
#   --display      also opens a window with the text screen and the keyboard
#   --print-words  prints the kernel command line that the settings give, and ends
#
# Settings come from the environment; `make run` passes its variables on:
#   RUN      shell commands to run instead of the tour: RUN="cpus; mem; poweroff"
#   APPEND   more words for the kernel command line
#   CPUS=2   MEM=256M   MACHINE=q35   CPU=max   QEMU=qemu-system-x86_64
#   ACCEL    kvm, pmu (TCG with tools/qemu-pmu) or step (TCG without a PMU: single-stepping)
#   TCG      more options for QEMU's TCG: with one-insn-per-tb=on interrupts come anywhere
#   PMU      options for the plugin: skid=random, broken=zero … (tools/qemu-pmu/README.md)
#   DISK     raw image for the recordings; a file that does not exist is made, sparse, DISK_SIZE=1G
#            large. Without it there is no disk (make run: build/recordings.img)
#   DISK_DEVICE    modern, transitional (default) or legacy: the virtio interfaces it offers
#   DISK_READONLY  1: the kernel cannot write to it
#   LOGS     files of recordings, parted by blanks, that the boot loader hands over (`load`)
#   TIMEOUT  seconds that a run without a terminal may last (default 900)
#   KERNEL, PROGRAMS   other images than those in build/
#   EXPORT   directory for the files that the kernel sends to the second serial port (default
#            build): `trace save` makes build/trace/
#
# Exit status: 0 all commands succeeded, 1 one failed, 2 the kernel panicked, 3 QEMU ended in
# another way, 4 a file that the kernel sent is not whole, 124 the time was up.
set -euo pipefail
cd "$(dirname "$0")"

MODE=kernel
ISO=build/skeleton-crew.iso
EXTRA=()
INTERACTIVE=
DISPLAY_NAME=none
RUN=${RUN:-}
QEMU=${QEMU:-qemu-system-x86_64}
CPUS=${CPUS:-2}
KERNEL=${KERNEL:-build/kernel32.elf}
PROGRAMS=${PROGRAMS:-build/user/programs.tar}
TIMEOUT=${TIMEOUT:-900}
PMU_PLUGIN=${PMU_PLUGIN:-build/tools/qemu-pmu.so}
DISK=${DISK:-}
DISK_SIZE=${DISK_SIZE:-1G}
DISK_READONLY=${DISK_READONLY:-}
LOGS=${LOGS:-}
EXPORT=${EXPORT:-build}
RECEIVE=build/tools/receive

say() { printf 'run-qemu: %s\n' "$*" >&2; }
die() { say "error: $*"; exit 3; }

# The words for the kernel: the tour, or RUN; then the shell where somebody can type, else the end.
kernel_words() {
    local words=tour
    if [ -n "$RUN" ]; then
        words=${RUN//\\/\\\\}
        words="run=\"${words//\"/\\\"}\"" # kernel/cmdline.c knows \\ and \"
    fi
    words="$words${APPEND:+ $APPEND}"
    if [ -n "$INTERACTIVE" ]; then
        words="$words shell"
    else
        words="$words poweroff-at-end"
    fi
    [ ${#words} -lt 1000 ] || die "the kernel command line is longer than 1000 characters"
    printf '%s\n' "$words"
}

parse_arguments() {
    while [ $# -gt 0 ]; do
        case $1 in
        --iso)
            MODE=iso
            if [ $# -gt 1 ] && [ "${2#-}" = "$2" ]; then
                ISO=$2
                shift
            fi
            ;;
        --gdb) EXTRA+=(-s -S) ;;
        --display) DISPLAY_NAME=default ;;
        --print-words) MODE=words ;;
        *) die "unknown argument '$1'" ;;
        esac
        shift
    done
}

check_settings() {
    [[ $CPUS =~ ^[1-9][0-9]*$ ]] || die "CPUS=$CPUS is not a number of CPUs"
    [[ $TIMEOUT =~ ^[1-9][0-9]*$ ]] || die "TIMEOUT=$TIMEOUT is not a number of seconds"
    command -v "$QEMU" >/dev/null || die "$QEMU: not found (make run installs it on Debian)"
    local file
    if [ $MODE = iso ]; then
        [ -r "$ISO" ] || die "$ISO: not there; build it with: make iso"
    else
        for file in "$KERNEL" "$PROGRAMS"; do
            [ -r "$file" ] || die "$file: not there; build it with: make image"
        done
        for file in $LOGS; do
            [ -r "$file" ] || die "LOGS: $file: not there"
            [[ $file != *,* ]] || die "LOGS: $file: QEMU parts the files by commas"
        done
    fi
}

# QEMU locks bytes of its images; another one would refuse with words of its own.
disk_locked() {
    [ -r /proc/locks ] && grep -q ":$(stat -L -c %i "$DISK") " /proc/locks
}

check_disk() {
    if [ ! -e "$DISK" ]; then
        [ -z "$DISK_READONLY" ] || die "DISK=$DISK is not there, and DISK_READONLY is set"
        truncate -s "$DISK_SIZE" "$DISK" ||
            die "DISK=$DISK cannot be made with DISK_SIZE=$DISK_SIZE"
        say "disk: made $DISK, $DISK_SIZE, sparse"
    fi
    [ -f "$DISK" ] || die "DISK=$DISK is not a regular file"
    [ -s "$DISK" ] || die "DISK=$DISK is empty; remove it to have one made of DISK_SIZE=$DISK_SIZE"
    [ $(($(stat -L -c %s "$DISK") % 512)) = 0 ] ||
        die "DISK=$DISK is not a disk image: its size is not a multiple of 512"
    [ -r "$DISK" ] || die "DISK=$DISK cannot be read"
    [ -n "$DISK_READONLY" ] || [ -w "$DISK" ] ||
        die "DISK=$DISK cannot be written (DISK_READONLY=1 would do without)"
    ! disk_locked || die "DISK=$DISK is in use: another QEMU has it open"
}

# Adds the disk to EXTRA.
attach_disk() {
    local device=virtio-blk-pci
    [ -n "$DISK" ] || return 0
    case ${DISK_DEVICE:-transitional} in
    modern) device+=,disable-legacy=on,disable-modern=off ;;
    transitional) device+=,disable-legacy=off,disable-modern=off ;;
    legacy) device+=,disable-legacy=off,disable-modern=on ;;
    *) die "DISK_DEVICE=$DISK_DEVICE: modern, transitional or legacy" ;;
    esac
    check_disk
    EXTRA+=(-drive "if=none,id=disk,format=raw,file=${DISK//,/,,}${DISK_READONLY:+,readonly=on}"
        -device "$device,drive=disk")
}

kvm_usable() {
    [ -c /dev/kvm ] && (exec 3<>/dev/kvm) 2>/dev/null
}

# The kernel's perf driver shows the host's counters there; without it KVM has none to pass on.
host_pmu() {
    [ -e /sys/bus/event_source/devices/cpu ]
}

# Sets ACCELERATOR, CPU and EXTRA, and says what was chosen and why.
choose_accelerator() {
    local choice=${ACCEL:-} why=ACCEL
    if [ -z "$choice" ]; then
        if kvm_usable && host_pmu; then
            choice=kvm why="/dev/kvm and a PMU are there"
        elif [ -r "$PMU_PLUGIN" ]; then
            choice=pmu why="no KVM with a PMU here, so the plugin gives the guest one"
        else
            choice=step why="no KVM with a PMU here, and $PMU_PLUGIN is not there"
        fi
    fi
    case $choice in
    kvm)
        kvm_usable || die "ACCEL=kvm, but /dev/kvm cannot be opened"
        ACCELERATOR=kvm CPU=${CPU:-host,pmu=on}
        ;;
    pmu)
        [ -r "$PMU_PLUGIN" ] || die "ACCEL=pmu, but $PMU_PLUGIN is not there (make image)"
        ACCELERATOR=tcg,thread=multi${TCG:+,$TCG} CPU=${CPU:-max}
        # Only Intel CPUs have the architectural PMU that the plugin emulates.
        [[ $CPU == *vendor=* ]] || CPU=$CPU,vendor=GenuineIntel
        EXTRA+=(-plugin "$PMU_PLUGIN${PMU:+,$PMU}")
        ;;
    step | tcg) ACCELERATOR=tcg,thread=multi${TCG:+,$TCG} CPU=${CPU:-max} ;;
    *) die "ACCEL=$choice: kvm, pmu (TCG with our PMU plugin) or step (TCG without a PMU)" ;;
    esac
    say "accelerator: $choice ($why)"
}

# Prints a command so that a shell reads it back; plain words without quotes.
quote_command() {
    local word plain='^[A-Za-z0-9_./=,:+-]+$'
    for word; do
        if [[ $word =~ $plain ]]; then
            printf '%s ' "$word"
        else
            printf '%s ' "${word@Q}"
        fi
    done
}

build_command() {
    # shellcheck disable=SC2054 # the commas are QEMU's
    COMMAND=("$QEMU" -machine "${MACHINE:-q35}" -accel "$ACCELERATOR" -cpu "$CPU"
        -smp "$CPUS" -m "${MEM:-256M}" -nodefaults -no-user-config -vga std
        -display "$DISPLAY_NAME" -no-reboot -device isa-debug-exit,iobase=0x501,iosize=1)
    if [ -n "$INTERACTIVE" ]; then
        COMMAND+=(-serial mon:stdio)
    else
        COMMAND+=(-serial stdio -monitor none)
    fi
    # The second serial port: what the kernel sends as files, of this run alone.
    mkdir -p "$EXPORT"
    CAPTURE=$(mktemp "$EXPORT/sent.XXXXXX")
    trap 'rm -f "$CAPTURE"' EXIT
    COMMAND+=(-serial "file:$CAPTURE")
    if [ $MODE = iso ]; then
        COMMAND+=(-cdrom "$ISO" -boot d)
    else
        local words
        words=$(kernel_words)
        local modules=$PROGRAMS file
        for file in $LOGS; do
            modules+=",$file"
        done
        COMMAND+=(-kernel "$KERNEL" -initrd "$modules" -append "$words")
    fi
    COMMAND+=("${EXTRA[@]}")
    say "command: $(quote_command "${COMMAND[@]}")"
}

run_command() {
    STATUS=0
    if [ -n "$INTERACTIVE" ]; then
        say "Ctrl-A x ends QEMU, Ctrl-A c switches to its monitor; Ctrl-C goes to the kernel"
        "${COMMAND[@]}" || STATUS=$?
    else
        # In the background, since bash runs traps only between commands: who ends us ends QEMU.
        timeout --foreground -k 10 "$TIMEOUT" "${COMMAND[@]}" </dev/null &
        local child=$!
        trap 'kill $child 2>/dev/null; exit 3' INT TERM HUP
        wait $child || STATUS=$?
    fi
}

# Makes files of what was sent. A trace consists of one file a CPU: none may stay of another run.
receive_files() {
    local output
    grep -aq '^@file begin ' "$CAPTURE" || return 0
    if grep -aq '^@file begin name=trace/' "$CAPTURE"; then
        rm -rf "${EXPORT:?}/trace"
    fi
    if output=$("$RECEIVE" "$CAPTURE" "$EXPORT" 2>&1); then
        say "received in $EXPORT/: ${output//$'\n'/; }"
    else
        say "$output"
        say "error: a file that the kernel sent is not whole; the text is kept in $CAPTURE"
        trap - EXIT
        [ $STATUS -ne 33 ] || exit 4
    fi
}

# isa-debug-exit turns the kernel's code c into (c << 1) | 1.
explain_status() {
    case $STATUS in
    33) exit 0 ;;
    35) say "a command failed, see above" && exit 1 ;;
    125) say "the kernel panicked, see above" && exit 2 ;;
    124 | 137) say "stopped: not finished after TIMEOUT=$TIMEOUT seconds" && exit 124 ;;
    0)
        if [ -n "$INTERACTIVE" ]; then
            exit 0 # the user ended QEMU
        fi
        say "QEMU ended without the kernel's exit code: the machine was reset or powered off"
        ;;
    *) say "QEMU ended with status $STATUS" ;;
    esac
    exit 3
}

[ -t 0 ] && INTERACTIVE=yes
parse_arguments "$@"
if [ $MODE = words ]; then
    kernel_words
    exit
fi
check_settings
choose_accelerator
attach_disk
build_command
run_command
receive_files
explain_status
