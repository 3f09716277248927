#!/bin/bash
# SPDX-License-Identifier: MIT
# crewlog on real recordings: the kernel writes them to a disk, crewlog reads them there.
# TIME_LIMIT=300
. tests/lib.sh
CREWLOG=build/tools/crewlog
WORK=build/tests/crewlog-real
DISK_IMAGE=$WORK/disk.img
PROGRAMS=("falseshare 2 400" "falseshare 2 400" "pingpong 20" "racey 3 300" "producer-consumer"
    "middle" "mapper" "crash null")
rm -rf $WORK
mkdir -p $WORK

commands=
for ((i = 0; i < ${#PROGRAMS[@]}; i++)); do
    commands+="record ${PROGRAMS[i]}; save; "
done
SHOWN=(1 4 6 8) # by `log`; the others are long
commands+=$(printf 'log %d; ' "${SHOWN[@]}")
# Damaged copies of pingpong, log 3, whose promotions all but a few are of one page: what breaks a
# rule, and what only a replay can find.
BROKEN=(wrong-page missing-event extra-event wrong-dependency cut)
UNBROKEN=(wrong-tick wrong-value)
log=${#PROGRAMS[@]}
for kind in "${BROKEN[@]}" "${UNBROKEN[@]}"; do
    log=$((log + 1))
    commands+="edit 3 $kind; save $log; "
done
kernel_run crewlog DISK=$DISK_IMAGE DISK_SIZE=256M APPEND=jitter=300 RUN="${commands}logs; poweroff"
tap_check "the disk lists as many recordings as the kernel saved" test \
    "$($CREWLOG info $DISK_IMAGE | grep -Ec '  (not )?complete, kept$')" = \
    "$(grep -c ' is saved as ' "$KERNEL_LOG")"
mapfile -t NAMES < <(sed -n 's/^log [0-9]* is saved as //p' "$KERNEL_LOG")
tap_check "each program and each damaged copy was saved" test ${#NAMES[@]} -eq $log

for ((i = 0; i < ${#PROGRAMS[@]}; i++)); do
    tap_check "${PROGRAMS[i]}: keeps every rule" $CREWLOG verify "$DISK_IMAGE:${NAMES[i]}"
done
offends() {
    local output
    output=$($CREWLOG verify "$DISK_IMAGE:$1")
    [ $? -eq 1 ] && grep -Eq ': offset [0-9]+: event [0-9]+ of thread [0-9]+: ' <<<"$output" || {
        echo "$output"
        return 1
    }
}
for kind in "${BROKEN[@]}"; do
    tap_check "verify: $kind is found, and where" offends "${NAMES[i]}"
    i=$((i + 1))
done
for kind in "${UNBROKEN[@]}"; do
    tap_check "verify: $kind breaks no rule" $CREWLOG verify "$DISK_IMAGE:${NAMES[i]}"
    i=$((i + 1))
done

# The kernel's `log` names its events in the same words, with symbols of its own.
kernel_events() {
    awk -v wanted="$1" '
        /^log [0-9]+: / { number = $2 + 0 }
        number == wanted && / @ ticks / { sub(/ in [^ ]*$/, ""); print }' "$KERNEL_LOG"
}
log_and_dump_agree() {
    local log
    for log in "${SHOWN[@]}"; do
        kernel_events "$log" >$WORK/by-kernel
        $CREWLOG dump "$DISK_IMAGE:${NAMES[log - 1]}" | grep ' @ ticks ' >$WORK/by-crewlog
        [ -s $WORK/by-kernel ] && diff $WORK/by-kernel $WORK/by-crewlog || return 1
    done
}
tap_check "dump says the same of each event as the kernel's log" log_and_dump_agree

# --- what users look at first ---------------------------------------------------------------------

SHARED=$DISK_IMAGE:${NAMES[0]}
ELF=build/user/falseshare
names_the_variables() {
    local page
    page=0x$(nm $ELF | awk '/ falseshare_left$/ { print substr($1, 11, 3) "000" }')
    # The page of the two variables is the first one, and they are the first in it.
    $CREWLOG stats --elf $ELF "$SHARED" | tee $WORK/stats |
        awk -v page="$page" '
            /^  0x/ { if (!first) first = $1 }
            /data: / && first && !named { named = $2 " " $3 }
            END { print first, named
                  exit !(first == page && named == "falseshare_right falseshare_left") }'
}
tap_check "stats: falseshare's two variables are named first" names_the_variables
tap_check "stats: so is the line that shares them" \
    grep -Eq '^  falseshare_work falseshare.c:[0-9]+ +[1-9]' $WORK/stats

differs() {
    $CREWLOG diff --elf $ELF "$SHARED" "$DISK_IMAGE:${NAMES[1]}" >$WORK/diff
    [ $? -eq 1 ] && grep -q 'then the order differs' $WORK/diff &&
        grep -Eq 'at ticks [0-9]+, .* [a-z_]+\.(c|h|asm):[0-9]+' $WORK/diff && return 0
    cat $WORK/diff
    return 1
}
tap_check "diff: two runs of falseshare differ, at a line" differs
tap_check "diff: a run does not differ from itself" $CREWLOG diff "$SHARED" "$SHARED"
refuses() {
    $CREWLOG diff "$SHARED" "$DISK_IMAGE:${NAMES[2]}"
    [ $? -eq 2 ]
}
tap_check "diff: another program is refused" refuses

# --- out of the disk ------------------------------------------------------------------------------

extracts() {
    $CREWLOG extract $DISK_IMAGE "${NAMES[0]}" -o $WORK/one.rec &&
        $CREWLOG verify $WORK/one.rec &&
        cmp <($CREWLOG dump --json $WORK/one.rec) <($CREWLOG dump --json "$SHARED") &&
        ! $CREWLOG extract $DISK_IMAGE "${NAMES[0]}" -o $WORK/one.rec # which is there
}
tap_check "extract: the same recording, and no file is overwritten" extracts
no_such_name() {
    $CREWLOG extract $DISK_IMAGE nothing.1 -o $WORK/nothing
    [ $? -eq 2 ] && [ ! -e $WORK/nothing ]
}
tap_check "extract: a name that is not there" no_such_name
one_copy_damaged() {
    printf 'damage' | dd of=$DISK_IMAGE bs=1 seek=$((8 * 512 + 200)) conv=notrunc status=none
    $CREWLOG info $DISK_IMAGE >$WORK/out 2>&1 && grep -q 'one of the two copies' $WORK/out &&
        $CREWLOG verify "$SHARED"
}
tap_check "a disk with one directory damaged is still read" one_copy_damaged
both_copies_damaged() {
    printf 'damage' | dd of=$DISK_IMAGE bs=1 seek=$((72 * 512 + 200)) conv=notrunc status=none
    $CREWLOG info $DISK_IMAGE >$WORK/out 2>&1
    [ $? -eq 2 ] && grep -q 'ERR_STORE_DAMAGED' $WORK/out
}
tap_check "a disk with both damaged is refused by name" both_copies_damaged
rm -f $DISK_IMAGE
tap_done
