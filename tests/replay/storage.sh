#!/bin/bash
# SPDX-License-Identifier: MIT
# Recordings that outlive their boot: on the disk, cut by a power failure or a full disk, over the
# serial line, as modules of the boot loader, on other kinds of CPUs.
# TIME_LIMIT=600
. tests/replay/replay.bash

DISK_IMAGE=build/tests/storage.img
SENT=build/tests/sent
rm -rf "$SENT"

# results WHAT N EXPECTED: the last run's log has N lines `@replay … match=EXPECTED`, and no others.
results() {
    local what=$1 all good
    all=$(grep -c '^@replay ' "$KERNEL_LOG")
    good=$(grep -c "^@replay .* match=$3 " "$KERNEL_LOG")
    if [ "$all $good" = "$2 $2" ]; then
        tap_pass "$what"
    else
        tap_fail "$what" "replays $all, match=$3 $good, expected $2" "$(replay_divergence)" \
            "$(kernel_explain)"
    fi
}

# field NAME: its different values in the log's @replay lines.
field() {
    sed -n "s/^@replay .* $1=\([^ ]*\).*/\1/p" "$KERNEL_LOG" | sort -u
}

# --- saved, loaded on other machines ---

rm -f "$DISK_IMAGE"
kernel_check storage-save "recorded and saved" CPUS=2 DISK=$DISK_IMAGE \
    RUN="record racey 4 300; save; record counter 3 60; save 2; record middle; logs; poweroff"
log_check "the file is told" '^@record prog=racey .* file=racey\.1$'
log_check "it is saved" '^log 1 is saved as racey\.1$'
log_check "a program that records itself in the middle is there" '^  middle\.1 .* not saved$'

kernel_check storage-load "loaded by another boot, one CPU, single-stepped" CPUS=1 ACCEL=step \
    DISK=$DISK_IMAGE RUN="load racey.1; replay 2; replay counter.1 2; poweroff"
results "all replays match" 4 yes
kernel_check storage-newest "load takes the newest; four CPUs" CPUS=4 DISK=$DISK_IMAGE \
    RUN="load; replay 2; replay racey.1 2; delete racey.1; logs; poweroff"
results "all replays match" 4 yes
log_check "the newest was the last one" '^log 1: middle\.1 '
if log_has '^  racey\.1 '; then
    tap_fail "a deleted file is gone" "$(kernel_explain)"
else
    tap_pass "a deleted file is gone"
fi

# --- cut ---

# power_cut BYTES: the machine loses its power when that much has gone to the disk.
power_cut() {
    local pid waited=0
    rm -f "$DISK_IMAGE"
    RUN="record hostile 3 1000000" CPUS=2 DISK=$DISK_IMAGE TIMEOUT=100 \
        ./run-qemu.sh </dev/null >build/tests/storage-cut.log 2>&1 &
    pid=$!
    until [ "$(stat -c %b "$DISK_IMAGE" 2>/dev/null || echo 0)" -gt $((($1 + 200000) / 512)) ]; do
        sleep 0.1
        waited=$((waited + 1))
        [ $waited -lt 900 ] || break
    done
    kill $pid 2>/dev/null
    wait $pid
}

for bytes in 20000 100000; do
    power_cut $bytes
    kernel_check storage-cut-$bytes "after a power cut at $bytes bytes the recording is there" \
        CPUS=1 DISK=$DISK_IMAGE RUN="load; replay 2; logs; poweroff"
    log_check "it was found open" '^disk: hostile\.1 was not closed: [1-9][0-9]* bytes'
    log_check "it says that it is incomplete" '^log 1: hostile\.1 .*INCOMPLETE: cut'
    results "it is replayed as far as it goes" 2 partial
    hash=$(field hash) events=$(field events)
    kernel_run storage-cut-again CPUS=2 DISK=$DISK_IMAGE RUN="load; replay 1; poweroff"
    results "on two CPUs, too" 1 partial
    # How many events that is depends on which threads' blocks had gone to the disk.
    tap_check "both end in the same state, behind $events events" \
        test "$(field hash) $(field events)" = "$hash $events"
done

rm -f "$DISK_IMAGE"
kernel_check storage-full "a full disk ends a recording, and the program does not notice" CPUS=2 \
    DISK=$DISK_IMAGE DISK_SIZE=3M \
    RUN="try record hostile 3 25000; replay 1; record racey 4 200; replay 1; logs; poweroff"
log_check "it says why" '^hostile: recording given up: the disk is full$'
log_check "the program ends well" '^hostile: ok$'
log_check "what is there is replayed" '^@replay prog=hostile .* match=partial '
log_check "what was not saved makes room" '^disk: hostile\.1 was not saved and makes room'
log_check "for the next one" '^@replay prog=racey .* match=yes '

# --- a disk that fails, files that go ---

# failing SECTOR: QEMU with a disk on which that one cannot be written.
failing() {
    printf '[inject-error]\nevent = "write_aio"\nsector = "%s"\nerrno = "5"\n' "$1" \
        >build/tests/storage.conf
    rm -f "$DISK_IMAGE"
    qemu_with "if=none,id=disk,format=raw,file=blkdebug:build/tests/storage.conf:$DISK_IMAGE" \
        ,werror=report,rerror=report
}

failing 2048
kernel_check storage-failing "a disk that fails at once" CPUS=2 DISK=$DISK_IMAGE \
    QEMU=build/tests/qemu-disk RUN="record counter 2 40; replay 1; run middle; replay 1; poweroff"
log_check "it is told" '^disk: counter\.1: ERR_IO'
results "memory still has all of both recordings" 2 yes
failing 2400
kernel_check storage-failing-later "a disk that fails later, when memory has let go of events" \
    CPUS=2 DISK=$DISK_IMAGE QEMU=build/tests/qemu-disk APPEND=log_limit_mib=0 \
    RUN="try record hostile 3 3000; replay 1; poweroff"
log_check "it is said, and the recording is no success" '^try: record: ERR_LOG_FULL'
results "what the disk has is replayed" 1 partial

rm -f "$DISK_IMAGE"
kernel_check storage-stale "a file's name is used again" CPUS=2 DISK=$DISK_IMAGE DISK_SIZE=3M \
    RUN="try record hostile 3 25000; record racey 4 100; record hostile 1 10; delete 1; logs; \
replay hostile.1 1; poweroff"
log_check "deleting the recording whose file has gone does not delete the new one" \
    '^  hostile\.1 .* not saved$'
results "which can be replayed" 1 yes

# --- more events than memory may hold ---

rm -f "$DISK_IMAGE"
kernel_check storage-large "a recording larger than its share of memory" CPUS=2 MEM=64M \
    DISK=$DISK_IMAGE APPEND="log_limit_mib=1" RUN="record tsc 4 5000; replay 1; poweroff"
results "it is replayed from the disk" 1 yes
recorded=$(perl -e 'open my $image, "<:raw", shift; seek $image, 4096 + 128 + 72, 0;
    read $image, my $used, 8; print unpack "Q<", $used' "$DISK_IMAGE") # of the first entry
dd if="$DISK_IMAGE" bs=1M skip=1 status=none | head -c "$recorded" >build/tests/large.crew
tap_check "it is larger indeed" test \
    "$(sed -n 's/^@record .* bytes=\([0-9]*\).*/\1/p' "$KERNEL_LOG")" -gt 1300000

# --- without a disk ---

kernel_check storage-send "sent over the serial line" CPUS=2 EXPORT=$SENT \
    RUN="record racey 4 300; send; record sort 4 60; send 2; poweroff"
kernel_check storage-modules "brought back by the boot loader" CPUS=1 \
    LOGS="$SENT/racey-1.crew $SENT/sort-2.crew" \
    RUN="logs; load; replay 2; replay sort-2.crew 2; poweroff"
results "all replays match" 4 yes
for menu in 0 1; do
    tap_check "an image with a recording is made" env RUN="load; replay 1; poweroff" MENU=$menu \
        LOGS="$SENT/racey-1.crew" tools/make-iso.sh build/tests/storage.iso
    KERNEL_OPTIONS=(--iso build/tests/storage.iso)
    kernel_check storage-grub-$menu "brought back by GRUB, menu entry $menu" CPUS=2
    results "it matches" 1 yes
    KERNEL_OPTIONS=()
done
rm -f build/tests/storage.iso
rm -f "$DISK_IMAGE"
kernel_check storage-module-save "a module is saved, in another order than it has" CPUS=2 \
    LOGS=build/tests/large.crew DISK=$DISK_IMAGE RUN="load large.crew; save; replay 1; poweroff"
results "it is the same recording as before" 1 yes
rm -f build/tests/large.crew "$DISK_IMAGE"
head -c 9000 "$SENT/racey-1.crew" >"$SENT/short.crew"
kernel_run storage-short LOGS="$SENT/short.crew" RUN="load; poweroff"
log_check "one cut within its checkpoint is refused by name" \
    '^error: load: ERR_BAD_LOG|^load: the file ends within a chunk'
kernel_run storage-nothing RUN="load; poweroff"
log_check "without anything to load there is an error" '^error: load: ERR_NO_DISK'

# --- other CPUs ---

kernel_check storage-plain-cpu "recorded on a CPU without XSAVE" CPU=qemu64 ACCEL=step CPUS=2 \
    EXPORT=$SENT RUN="record racey 4 40; send; poweroff"
kernel_check storage-better-cpu "loaded on one with AVX" LOGS=$SENT/racey-1.crew \
    RUN="load; replay 1; poweroff"
results "it matches" 1 yes
kernel_run storage-avx EXPORT=$SENT RUN="record racey 4 20; send; poweroff"
kernel_run storage-no-avx CPU=qemu64 ACCEL=step LOGS=$SENT/racey-1.crew RUN="load; poweroff"
log_check "the other way round it is refused by name" \
    'recorded with vector registers that this CPU lacks'

# --- disks of others ---

head -c 4M /dev/urandom >"$DISK_IMAGE"
sum=$(cksum <"$DISK_IMAGE")
kernel_check storage-foreign "a disk with something else on it is left alone" DISK=$DISK_IMAGE \
    RUN="record counter; try load; poweroff"
tap_check "not a byte of it has changed" test "$(cksum <"$DISK_IMAGE")" = "$sum"
log_check "it says so" '^disk: not used: ERR_STORE_FOREIGN'
rm -f "$DISK_IMAGE"
tap_done
