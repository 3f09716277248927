#!/bin/bash
# SPDX-License-Identifier: MIT
# Every exception that a program can raise ends that program, in any of its threads, and nothing
# else. The program `faults` lists the kinds and the exceptions that belong to them.
# TIME_LIMIT=300
. tests/lib.sh

kernel_check faults-list "the kinds are listed" RUN="run faults; poweroff"
mapfile -t kinds < <(sed -nE 's/^([a-z_]+) +(#[A-Z]+) .*/\1 \2/p' "$KERNEL_LOG" |
    grep -Ev '^(ac|xm) ')
tap_check "there are many (${#kinds[@]})" test ${#kinds[@]} -ge 40

# What QEMU's TCG does instead of what a CPU does: no reason for a looser check elsewhere.
declare -A tcg_raises=([ss_push]='#GP' [ss_load]='#GP')

# The exceptions of the programs that died, in order, as the reports name them.
reported() {
    sed -nE 's/^vector: [0-9]+ (#[A-Z]+), .*/\1/p' "$KERNEL_LOG"
}

# raise NAME CPUS WHERE KIND…: one boot; WHERE is empty or "thread".
raise() {
    local name=$1 cpus=$2 where=$3 commands='' kind i
    local -a seen
    shift 3
    for kind; do
        commands+="try run faults ${kind% *}${where:+ $where}; "
    done
    kernel_check "faults-$name" "$name: all of them are survived" CPUS="$cpus" TIMEOUT=100 \
        RUN="${commands}run counter; poweroff"
    mapfile -t seen < <(reported)
    i=0
    for kind; do
        if [ "${seen[i]:-}" = "${kind#* }" ]; then
            tap_pass "$name: ${kind% *} ends by ${kind#* }"
        elif [ "${seen[i]:-}" = "${tcg_raises[${kind% *}]:-none}" ]; then
            tap_skip "$name: ${kind% *} ends by ${kind#* }" "TCG raises ${seen[i]}"
        else
            tap_fail "$name: ${kind% *} ends by ${kind#* }" "got: ${seen[i]:-nothing}" \
                "$(kernel_explain)"
        fi
        i=$((i + 1))
    done
    tap_check "$name: each is reported once" test ${#seen[@]} -eq $#
    log_check "$name: another program still runs" '^counter: signature'
}

for cpus in 1 4; do
    for where in '' thread; do
        half=$((${#kinds[@]} / 2))
        raise "$cpus-cpus${where:+-$where}-a" $cpus "$where" "${kinds[@]:0:half}"
        raise "$cpus-cpus${where:+-$where}-b" $cpus "$where" "${kinds[@]:half}"
    done
done

# What the emulator may not have, and what is the kernel's choice.
kernel_run faults-xm RUN="run faults xm; poweroff"
tap_check "xm: survived" test "$(kernel_end)" != crashed
if log_has '^faults: xm .* did not end the process$'; then
    tap_skip "xm: ends by #XM" "TCG has no unmasked SSE exceptions"
else
    log_check "xm: ends by #XM" '^vector: [0-9]+ #XM'
fi
kernel_run faults-ac RUN="run faults ac; poweroff"
tap_check "ac: survived" test "$(kernel_end)" != crashed
log_check "ac: ends by #AC, or is not armed" '^vector: [0-9]+ #AC|^faults: ac not armed$'
tap_done
