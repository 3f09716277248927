#!/bin/bash
# SPDX-License-Identifier: MIT
# Measures recording and replay: times, log, transfers, and QEMU's own record and replay beside it.
#
#   tools/bench/bench.sh        as `make bench` calls it, which builds what it needs
#
# Settings come from the environment:
#   BENCH=full     or quick (below 3 minutes), tiny (for a test of this script)
#   ONLY=regex     only workloads that match it, of those of the mode (tools/bench/workloads.txt)
#   ROUNDS, VCPUS  how often, and on how many vCPUs ("1 2 4"); the mode has defaults
#   EMULATOR_ROUNDS  how often under QEMU's own record and replay
#   BENCH_DIR      where bench.csv, bench.svg and bench.txt go (default build), logs below bench/
#   KERNEL, PROGRAMS, PMU_PLUGIN, QEMU, MEM    as for run-qemu.sh
#
# A missed target is said, and is no failure. Exit status: 0, or 1 when a run failed.
set -euo pipefail
cd "$(dirname "$0")/../.."

BENCH=${BENCH:-full}
BENCH_DIR=${BENCH_DIR:-build}
QEMU=${QEMU:-qemu-system-x86_64}
export KERNEL=${KERNEL:-build/kernel32.elf}
export PROGRAMS=${PROGRAMS:-build/user/programs.tar}
export MEM=${MEM:-1G}
export QEMU
unset RUN APPEND CPUS CPU MACHINE ACCEL PMU TCG TIMEOUT # those of a `make run` are not ours

STAMP=build/tools/bench/stamp
TOOLS=tools/bench
LOG_DIR=$BENCH_DIR/bench
CSV=$BENCH_DIR/bench.csv
LIMIT=300 # seconds for one QEMU
EXIT_OK=33
FAILED=0

say() { printf 'bench: %s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }

# Defaults of the modes: rounds, numbers of vCPUs, rounds under QEMU's own record and replay for the
# workloads of the targets and for the others (0: none).
set_mode() {
    case $BENCH in
    full) ROUNDS=${ROUNDS:-5} VCPUS=${VCPUS:-1 2 4} TARGET_ROUNDS=3 OTHER_ROUNDS=1 ;;
    quick) ROUNDS=${ROUNDS:-3} VCPUS=${VCPUS:-1 2} TARGET_ROUNDS=2 OTHER_ROUNDS=0 ;;
    tiny) ROUNDS=${ROUNDS:-1} VCPUS=${VCPUS:-2} TARGET_ROUNDS=1 OTHER_ROUNDS=0 ;;
    *) die "BENCH=$BENCH: there are full, quick and tiny" ;;
    esac
    [[ $ROUNDS =~ ^[1-9][0-9]*$ ]] || die "ROUNDS=$ROUNDS is not a number of rounds"
    [[ $VCPUS =~ ^[1-9][0-9]*(\ [1-9][0-9]*)*$ ]] || die "VCPUS=$VCPUS are not numbers of vCPUs"
    TARGET_ROUNDS=${EMULATOR_ROUNDS:-$TARGET_ROUNDS} OTHER_ROUNDS=${EMULATOR_ROUNDS:-$OTHER_ROUNDS}
    [[ $TARGET_ROUNDS$OTHER_ROUNDS =~ ^[0-9]+$ ]] ||
        die "EMULATOR_ROUNDS=$EMULATOR_ROUNDS is not a number of rounds"
    mapfile -t WORKLOADS < <(sed -n "s/^$BENCH: //p" $TOOLS/workloads.txt | grep -E -- "${ONLY:-.}")
    [ ${#WORKLOADS[@]} -gt 0 ] || die "no workload of $BENCH matches ONLY='${ONLY:-}'"
}

check_files() {
    local file
    for file in "$KERNEL" "$PROGRAMS" "${PMU_PLUGIN:-build/tools/qemu-pmu.so}" $STAMP; do
        [ -r "$file" ] || die "$file: not there; \`make bench\` builds it"
    done
    command -v "$QEMU" >/dev/null || die "$QEMU: not found"
}

failed() {
    say "FAILED: $*"
    FAILED=1
}

log_name() {
    printf '%s/%s-%s.log' "$LOG_DIR" "${1// /-}" "$2"
}

# add_rows WORKLOAD VCPUS LOG
add_rows() {
    awk -v workload="$1" -v vcpus="$2" -f $TOOLS/figures.awk "$3" >>"$CSV" ||
        failed "$1 on $2 vCPUs; log: $3"
}

# --- our own record and replay, in one boot -------------------------------------------------------

measure_workload() {
    local workload=$1 vcpus=$2 log
    log=$(log_name "$workload" "$vcpus")
    say "$workload, $vcpus vCPUs"
    if RUN="bench $ROUNDS $workload; bench instructions $workload; poweroff" CPUS=$vcpus \
        ACCEL=pmu TIMEOUT=$LIMIT ./run-qemu.sh </dev/null >"$log" 2>"$log.qemu"; then
        add_rows "$workload" "$vcpus" "$log"
    else
        failed "$workload on $vcpus vCPUs: run-qemu.sh's status $?; log: $log"
    fi
}

# --- QEMU's own: one vCPU, a process for each run -------------------------------------------------

# stamped LOG ARGUMENT…: runs the workload natively without the plugin; true when it ran to its end.
# QEMU's count of instructions does not bear x2APIC ("Bad icount read", QEMU 10). Status 0: a replay
# that found the end of its log before the exit device.
stamped() {
    local log=$1 status=0
    shift
    { timeout -k 10 $LIMIT "$QEMU" -machine q35 -cpu max,-x2apic -smp 1 -m "$MEM" -nodefaults \
        -no-user-config -vga std -display none -no-reboot -serial stdio -monitor none \
        -device isa-debug-exit,iobase=0x501,iosize=1 -kernel "$KERNEL" -initrd "$PROGRAMS" \
        -append "$WORDS" "$@" </dev/null 2>"$log.qemu" || echo "$?" >"$log.status"; } |
        $STAMP >"$log"
    [ ! -e "$log.status" ] || status=$(cat "$log.status")
    rm -f "$log.status"
    if [ "$status" -ne $EXIT_OK ] && [ "$status" -ne 0 ]; then
        echo "status $status" >>"$log.qemu"
        return 1
    fi
    grep -q '@end status=ok' "$log"
}

# The line for figures.awk out of a stamped log.
emulator_line() {
    awk -v mode="$1" '
        $2 == "begins" { begun = $1 }
        $2 == "@native" { ended = $1 }
        END { printf "@emulator mode=%s ns=%.0f process_ns=%.0f\n", mode, ended - begun, $1 }' "$2"
}

# One round. The replay is one only if the guest's clock says the same as in the recording.
emulator_round() {
    local base=$1 mode
    local -a arguments
    for mode in plain qemu-record qemu-replay; do
        case $mode in
        plain) arguments=(-accel tcg) ;;
        *) arguments=(-icount "shift=auto,rr=${mode#qemu-},rrfile=$base.rr") ;;
        esac
        stamped "$base.$mode" "${arguments[@]}" || return 1
        emulator_line $mode "$base.$mode" >>"$base"
    done
    rm -f "$base.rr"
    [ "$(grep -o '@native.*' "$base.qemu-record")" = "$(grep -o '@native.*' "$base.qemu-replay")" ]
}

measure_emulator() {
    local workload=$1 rounds=$2 log round
    log=$(log_name "$workload" emulator)
    WORDS=$(RUN="echo begins; run $workload; poweroff" ./run-qemu.sh --print-words </dev/null)
    : >"$log"
    for ((round = 1; round <= rounds; round++)); do
        say "$workload under QEMU's own record and replay, round $round"
        if ! emulator_round "$log"; then
            failed "$workload under QEMU's own record and replay; logs: $log.*"
            return
        fi
    done
    add_rows "$workload" 1 "$log"
}

measure_all() {
    local workload vcpus rounds
    for workload in "${WORKLOADS[@]}"; do
        for vcpus in $VCPUS; do
            measure_workload "$workload" "$vcpus"
        done
        case $workload in
        private* | sort*) rounds=$TARGET_ROUNDS ;;
        *) rounds=$OTHER_ROUNDS ;;
        esac
        [ "$rounds" -eq 0 ] || measure_emulator "$workload" "$rounds"
    done
}

conditions() {
    printf '%s, %s sizes, %s rounds; %s; host: %s, %s CPUs, load average %s before, %s after\n' \
        "$(date +%F)" "$BENCH" "$ROUNDS" "$("$QEMU" --version | head -n 1)" \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
        "$LOAD_BEFORE" "$(cut -d' ' -f1-3 /proc/loadavg)"
}

set_mode
check_files
rm -rf "$LOG_DIR"
mkdir -p "$LOG_DIR"
LOAD_BEFORE=$(cut -d' ' -f1-3 /proc/loadavg)
awk -v header=1 -f $TOOLS/figures.awk >"$CSV"
measure_all
{
    conditions
    awk -f $TOOLS/report.awk "$CSV"
} | tee "$BENCH_DIR/bench.txt"
awk -v conditions="$(head -n 1 "$BENCH_DIR/bench.txt")" -f $TOOLS/plot.awk "$CSV" \
    >"$BENCH_DIR/bench.svg"
say "figures: $CSV, plot: $BENCH_DIR/bench.svg, this text: $BENCH_DIR/bench.txt"
exit $FAILED
