#!/bin/bash
# SPDX-License-Identifier: MIT
# A replay of a recording with one thing changed must say where it left it, and never hang. The
# unchanged recording still replays afterwards.
# TIME_LIMIT=600
. tests/replay/replay.bash

# What is changed (edit.h), and what the replay may find (replay.md). A wrong page may be one that
# the thread holds: a promotion that is not the first event of its point needs no fault.
edits() {
    cat <<'END'
wrong-page unexpected-fault|end-state|extra-event
wrong-tick unexpected-fault|overshot|stuck
missing-event unexpected-fault
extra-event extra-event|unexpected-fault
wrong-value wrong-value
wrong-dependency stuck
changed-program [a-z-]+
cut extra-event|unexpected-[a-z-]+
END
}

# diverges SOURCE CPUS PROGRAM: all edits of one recording, in one boot.
diverges() {
    local name="$1-$2-${3%% *}" commands="source $1; record $3; " edit kinds log=1 found
    while read -r edit kinds; do
        log=$((log + 1))
        commands+="edit 1 $edit; try replay $log 1; "
    done < <(edits)
    kernel_check "diverge-$name" "$name: every changed recording is noticed" CPUS="$2" \
        RUN="${commands}replay 1 1; recorder off; recorder on; poweroff" TIMEOUT=150
    log=1
    while read -r edit kinds; do
        log=$((log + 1))
        found=$(sed -nE "s/^@diverged log=$log thread=[0-9]+ event=[0-9]+ kind=([a-z-]+) .*/\1/p" \
            "$KERNEL_LOG")
        if [[ $found =~ ^($kinds)$ ]]; then
            tap_pass "$name: $edit: $found"
        else
            tap_fail "$name: $edit: one of $kinds" "found: ${found:-nothing}" \
                "$(grep "log=$log " "$KERNEL_LOG")" "$(kernel_explain)"
        fi
    done < <(edits)
    tap_check "$name: each is reported once" test \
        "$(grep -c '^@diverged ' "$KERNEL_LOG")" -eq "$(edits | wc -l)"
    log_check "$name: the unchanged one still matches" '^@replay .* log=1 .* match=yes '
}

# A source that this machine does not have is not tested.
has_source() {
    kernel_run "source-$1" RUN="source $1; poweroff" && return
    tap_skip "source $1" "$(sed -n 's/^source .* cannot be used: //p' "$KERNEL_LOG")"
    return 1
}

for source in step pmc; do
    has_source $source || continue
    for cpus in 1 4; do
        diverges $source $cpus "racey 4 80"
        diverges $source $cpus "mutex 4 40"
        diverges $source $cpus "syscalls"
    done
done

# A damaged log in the file's own sense cannot be made by `edit`: tests/host/test_stream.c does.
tap_done
