# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# For test scripts: TAP, and booting the kernel with a command line, a time limit and a log.
#
#   . tests/lib.sh                      from the repository's root, which is where scripts run
#   kernel_run NAME SETTING=value…      boots with run-qemu.sh (RUN, CPUS, MEM, MACHINE, CPU, …)
#   kernel_check NAME "what" SETTING…   the same as a test point: all commands succeeded
#   log_check "what" REGEX              a test point: the last run's log has such a line
#   tap_skip_all REASON                 instead of all: why nothing can be tested here
#   tap_done                            last of all: the plan
#
# A run ends in a line `@end status=ok` or `@end status=failed`; without it the kernel has crashed,
# whatever else it said. Logs stay in build/tests/NAME.log.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
mkdir -p build/tests

TAP_COUNT=0
TAP_FAILED=0
KERNEL_LOG=      # the console's text of the last run, without carriage returns
KERNEL_STATUS=   # run-qemu.sh's exit status
KERNEL_COMMAND=  # what repeats the last run
KERNEL_OPTIONS=() # arguments for run-qemu.sh, like --iso FILE

# --- TAP ----------------------------------------------------------------------------------------

tap_pass() {
    TAP_COUNT=$((TAP_COUNT + 1))
    echo "ok $TAP_COUNT - $1"
}

# tap_fail WHAT [LINE…]: the lines explain.
tap_fail() {
    TAP_COUNT=$((TAP_COUNT + 1))
    TAP_FAILED=$((TAP_FAILED + 1))
    echo "not ok $TAP_COUNT - $1"
    shift
    [ $# -eq 0 ] || printf '%s\n' "$@" | tap_comment
}

tap_skip() {
    TAP_COUNT=$((TAP_COUNT + 1))
    echo "ok $TAP_COUNT - $1 # SKIP $2"
}

# tap_skip_all REASON: nothing here can be tested; ends the script.
tap_skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

# Makes standard input a comment; on standard error, where prove lets it through.
tap_comment() {
    sed 's/^/# /' >&2
}

# tap_check WHAT COMMAND…: passes when the command succeeds; its output explains a failure.
tap_check() {
    local what=$1 output
    shift
    if output=$("$@" 2>&1); then
        tap_pass "$what"
    else
        tap_fail "$what" "command: $*" "$output"
    fi
}

tap_done() {
    echo "1..$TAP_COUNT"
    [ $TAP_FAILED -eq 0 ]
    exit
}

# --- the kernel in QEMU -------------------------------------------------------------------------

# kernel_run NAME SETTING=value…: true when the run ended in `@end status=ok`.
kernel_run() {
    local name=$1
    shift
    KERNEL_LOG=build/tests/$name.log
    KERNEL_COMMAND="env ${*@Q} ./run-qemu.sh ${KERNEL_OPTIONS[*]} </dev/null"
    KERNEL_STATUS=0
    env TIMEOUT=120 "$@" ./run-qemu.sh "${KERNEL_OPTIONS[@]}" </dev/null \
        >"$KERNEL_LOG.raw" 2>"build/tests/$name.qemu" || KERNEL_STATUS=$?
    tr -d '\r' <"$KERNEL_LOG.raw" >"$KERNEL_LOG"
    rm -f "$KERNEL_LOG.raw"
    [ $KERNEL_STATUS -eq 0 ] && [ "$(kernel_end)" = ok ]
}

# ok, failed, or crashed: what the log's last line says.
kernel_end() {
    local last
    last=$(grep -v '^$' "$KERNEL_LOG" | tail -n 1)
    case $last in
    '@end status=ok' | '@end status=ok '*) echo ok ;;
    '@end status=failed' | '@end status=failed '*) echo failed ;;
    *) echo crashed ;;
    esac
}

# How the last run went, for a failed test point.
kernel_explain() {
    echo "run: $(kernel_end), run-qemu.sh's status $KERNEL_STATUS; log: $KERNEL_LOG"
    echo "repeat: $KERNEL_COMMAND"
    grep -v '^run-qemu: \(command\|accelerator\):' "${KERNEL_LOG%.log}.qemu"
    echo "last lines of the log:"
    tail -n 20 "$KERNEL_LOG"
}

kernel_check() {
    local what=$2 name=$1
    shift 2
    if kernel_run "$name" "$@"; then
        tap_pass "$what"
    else
        tap_fail "$what" "$(kernel_explain)"
        return 1
    fi
}

# pmu_or_skip_all NAME COMMANDS: goes on when a kernel with the emulated PMU boots. Only what the
# plugin or QEMU itself calls unsupported is a reason to skip; anything else is a failure.
pmu_or_skip_all() {
    local plugin=${PMU_PLUGIN:-build/tools/qemu-pmu.so} reason
    local unsupported="plugin interface is version|does not export|in this QEMU"
    [ -r "$plugin" ] || tap_skip_all "$plugin is not there"
    if ! kernel_run "$1" ACCEL=pmu RUN="$2" TIMEOUT=60; then
        unsupported+="|-plugin: invalid option"
        reason=$(grep -Em 1 -- "$unsupported" "build/tests/$1.qemu") && tap_skip_all "$reason"
    fi
}

log_has() {
    grep -Eq -- "$1" "$KERNEL_LOG"
}

log_check() {
    if log_has "$2"; then
        tap_pass "$1"
    else
        tap_fail "$1" "no line matches: $2" "$(kernel_explain)"
        return 1
    fi
}

# qemu_with DRIVE [DEVICE]: a QEMU with another drive, and more words for its device, in place of
# faulty hardware.
qemu_with() {
    cat >build/tests/qemu-disk <<END
#!/bin/bash
for word; do
    [[ \$word != if=none,id=disk,* ]] || word=$1
    [[ \$word != virtio-blk-pci,* ]] || word+=${2:-}
    words+=("\$word")
done
exec ${QEMU:-qemu-system-x86_64} "\${words[@]}"
END
    chmod +x build/tests/qemu-disk
}
