#!/bin/bash
# SPDX-License-Identifier: MIT
# Timelines, traces and core files of real recordings, also of one that began in the middle.
# TIME_LIMIT=300
. tests/lib.sh
CREWLOG=build/tools/crewlog
OUT=build/tests/pictures
DISK_IMAGE=$OUT/disk.img
PROGRAMS=(racey middle)
COMMANDS=("record racey" "run middle 4 60") # which records itself, with all threads running
rm -rf $OUT
mkdir -p $OUT

commands=
for command in "${COMMANDS[@]}"; do
    commands+="$command; save; "
done
kernel_check pictures "two programs are recorded and saved" \
    DISK=$DISK_IMAGE DISK_SIZE=64M RUN="${commands}poweroff"
mapfile -t NAMES < <(sed -n 's/^log [0-9]* is saved as //p' "$KERNEL_LOG")

timeline() {
    $CREWLOG timeline --elf "$2" "$DISK_IMAGE:$1" -o "$OUT/$1.html" &&
        perl tests/tools/check_timeline.pl "$OUT/$1.html"
}

trace() {
    $CREWLOG export --chrome "$DISK_IMAGE:$1" -o "$OUT/$1.json" &&
        perl tests/tools/check_trace.pl "$OUT/$1.json"
}

# The first thread goes on at the RIP that the recording says, in a function of the program; gdb
# finds all threads of the checkpoint, and their auxiliary vector.
debugged() {
    local name=$1 program=$2 rip threads
    $CREWLOG export --core "$DISK_IMAGE:$name" -o "$OUT/$name.core" || return 1
    $CREWLOG dump --json "$DISK_IMAGE:$name" | grep '"record":"thread"' >"$OUT/$name.threads"
    rip=$(sed -n '1s/.*"rip":"\([^"]*\)".*/\1/p' "$OUT/$name.threads")
    gdb -nx -batch "$program" "$OUT/$name.core" -ex 'info threads' -ex 'x/i $pc' \
        -ex 'info auxv' >"$OUT/$name.gdb" 2>&1
    cat "$OUT/$name.gdb"
    threads=$(grep -Ec '^[* ] [0-9]+ +LWP' "$OUT/$name.gdb")
    echo "RIP $rip, $threads threads"
    grep -Eq "^=> $rip <[a-z_0-9]+" "$OUT/$name.gdb" &&
        [ "$threads" -eq "$(wc -l <"$OUT/$name.threads")" ] &&
        grep -q '^25 .*AT_RANDOM' "$OUT/$name.gdb"
}

thread_count() {
    $CREWLOG dump --json "$DISK_IMAGE:$1" | grep -c '"record":"thread"'
}
tap_check "the second begins with several threads" test "$(thread_count "${NAMES[1]:-none}")" -gt 1

for ((i = 0; i < ${#PROGRAMS[@]}; i++)); do
    name=${NAMES[i]:-none} elf=build/user/${PROGRAMS[i]}
    tap_check "$name: a timeline" timeline "$name" "$elf"
    tap_check "$name: source lines are in it" grep -q '"[a-z]*\.c:[0-9]*"\]' "$OUT/$name.html"
    tap_check "$name: a trace" trace "$name"
    if command -v gdb >/dev/null; then
        tap_check "$name: a core file that gdb opens with the program" debugged "$name" "$elf"
    else
        tap_skip "$name: a core file that gdb opens with the program" "no gdb here"
    fi
done
tap_done
