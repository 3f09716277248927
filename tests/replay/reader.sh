#!/bin/bash
# SPDX-License-Identifier: MIT
# A second reader of recordings, written from docs/log-format.md alone (tests/tools/read_log.pl),
# says the same as `crewlog dump --json`: of every field of every record, and of how it ends.
# TIME_LIMIT=300
. tests/lib.sh

WORK=build/tests/reader
CREWLOG=build/tools/crewlog
MAKE_LOG=build/tests/make_log
rm -rf $WORK
mkdir -p $WORK

# readers FILE: both outputs, as $WORK/crewlog and $WORK/reader; false when the exit statuses tell
# that they disagree.
readers() {
    local by_crewlog=0 by_reader=0
    $CREWLOG dump --json "$1" >$WORK/crewlog 2>$WORK/crewlog.txt || by_crewlog=$?
    perl tests/tools/read_log.pl "$1" >$WORK/reader 2>$WORK/reader.txt || by_reader=$?
    if [ $by_crewlog -eq 2 ] && [ ! -s $WORK/crewlog ]; then # no header: the other has a verdict
        [ "$(grep -c . $WORK/reader)" -eq 1 ] && [ $by_reader -eq 1 ] &&
            grep -Eq '"verdict":"(cut|bad)","offset":0,' $WORK/reader && return
    elif [ $by_crewlog -eq $by_reader ] && [ $by_reader -le 1 ]; then
        return
    fi
    echo "exit status of crewlog: $by_crewlog, of the other reader: $by_reader"
    tail -n 3 $WORK/crewlog $WORK/crewlog.txt $WORK/reader $WORK/reader.txt
    return 1
}

# agree VERDICT FILE…: VERDICT is a regular expression.
agree() {
    local verdict=$1 file said
    shift
    for file in "$@"; do
        readers "$file" || { echo "$file"; return 1; }
        [ -s $WORK/crewlog ] || continue
        said=$(perl tests/tools/compare_records.pl $WORK/crewlog $WORK/reader) &&
            [[ $said =~ ,\ ($verdict)$ ]] || { echo "$file: $said"; return 1; }
    done
}

# --- recordings of the kernel ---

PROGRAMS=("racey 3 150" "falseshare 3 150" "hostile 3 60" "middle" "fpu" "tsc 2 20"
    "protector 2 6" "mapper 2 3" "crash 2" "syscalls")
commands=
for ((i = 0; i < ${#PROGRAMS[@]}; i++)); do
    commands+="record ${PROGRAMS[i]}; send; "
done
stopped=$WORK/sent/tsc-$((i + 1)).crew
commands+="try record tsc 4 5000; send; " # which has no room
kernel_check reader "programs of many kinds are recorded and sent" CPUS=2 EXPORT=$WORK/sent \
    APPEND=log_limit_mib=1 RUN="${commands}poweroff"
for ((i = 0; i < ${#PROGRAMS[@]}; i++)); do
    file=$WORK/sent/${PROGRAMS[i]%% *}-$((i + 1)).crew
    tap_check "${PROGRAMS[i]}: both read the same" agree complete "$file"
    tap_check "${PROGRAMS[i]}: its events keep the rules as the page tells them" \
        perl tests/tools/read_log.pl --content "$file"
done

tap_check "given up, too long for memory: both read the same" agree stopped "$stopped"

kernel_check reader-disk "one is streamed to a disk" CPUS=2 DISK=$WORK/disk.img DISK_SIZE=64M \
    RUN="record hostile 3 300; save; poweroff"
tap_check "it is taken from there" $CREWLOG extract $WORK/disk.img hostile.1 -o $WORK/streamed.crew
tap_check "streamed: both read the same" agree complete $WORK/streamed.crew
# The slots of its blocks, in order, as runs: some come again.
mixed() {
    sed -n 's/^{"record":"stream","offset":[0-9]*,"slot":\([0-9]*\),.*/\1/p' $WORK/crewlog |
        uniq | tee $WORK/slots | sort | uniq -d | grep . || { paste -s $WORK/slots; return 1; }
}
tap_check "streamed: blocks of its threads are mixed" mixed

# --- made ones ---

made() {
    local name=$1
    shift
    $MAKE_LOG "$@" "$WORK/$name"
}
made complete seed=11 threads=9 pages=20 events=1500 pads=1
made stopped seed=12 threads=3 events=800 end=stopped
made open seed=13 threads=5 events=800 end=cut pads=1
made text seed=14 events=10 program="$(printf 'a"b\\c\x01\xff</é')"
tap_check "a made one, with padding" agree complete $WORK/complete
tap_check "one whose recorder gave up" agree stopped $WORK/stopped
tap_check "one without END" agree cut $WORK/open
tap_check "any bytes in a text" agree complete $WORK/text

# --- cut and damaged ---

made small seed=15 threads=3 pages=2 events=120 pads=1
size=$(stat -c %s $WORK/small)
cuts() {
    local bytes
    for bytes in 0 1 31 32 991 992 993 $((size / 5)) $((size / 3)) $((size / 2)) $((size - 1000)) \
        $((size - 300)) $((size - 9)) $((size - 1)); do
        head -c "$bytes" $WORK/small >$WORK/short
        agree cut $WORK/short || return 1
    done
}
tap_check "cut copies" cuts
followed_by() {
    { cat $WORK/small; head -c "$2" /dev/zero; } >$WORK/longer
    agree "$1" $WORK/longer
}
tap_check "a part of a chunk behind the end" followed_by cut 24
tap_check "something else behind the end" followed_by bad 64
flipped() {
    local place
    for place in 100 1100 3000 5000 8000 $((size - 500)) $((size - 20)); do
        cp $WORK/small $WORK/flipped
        printf 'X' | dd of=$WORK/flipped bs=1 seek="$place" conv=notrunc status=none
        agree bad $WORK/flipped || return 1
    done
}
tap_check "a changed byte in the file" flipped
damaged() {
    local seed
    : >$WORK/verdicts
    for ((seed = 1; seed <= 40; seed++)); do
        made damaged seed=$seed threads=3 pages=2 events=60 damage=$seed
        agree 'complete|stopped|bad' $WORK/damaged || return 1
        cat $WORK/crewlog >>$WORK/verdicts
    done
    [ "$(grep -c '"verdict":"bad"' $WORK/verdicts)" -ge 12 ] # else nothing was compared
}
tap_check "files with changed bytes and right checksums" damaged
tap_check "the fuzzer's corpus" agree 'complete|stopped|cut|bad' tests/fuzz/corpus/*

# --- the comparison itself ---

# One digit of a record's last number (or of its last hash) becomes another one.
change_noticed() {
    local record=$1
    perl -pe 'BEGIN { $record = shift }
        if (!$done && /"record":"$record"/) {
            $done = s/(.*(?<!text":")[:",][0-9a-f]*)([0-9])/$1 . ($2 + 1) % 10/e;
        }' "$record" $WORK/crewlog >$WORK/changed
    [ "$(cmp -l $WORK/crewlog $WORK/changed | grep -c .)" -eq 1 ] || return 1
    ! perl tests/tools/compare_records.pl $WORK/changed $WORK/reader
}
tap_check "unchanged outputs are the same" agree complete $WORK/complete
for record in header vma thread page begin stream event end pad verdict; do
    tap_check "a changed digit of a record is noticed: $record" change_noticed $record
done
lost() {
    sed 77d $WORK/crewlog >$WORK/changed
    ! perl tests/tools/compare_records.pl $WORK/changed $WORK/reader
}
tap_check "so is a lost record" lost
tap_done
