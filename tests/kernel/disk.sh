#!/bin/bash
# SPDX-License-Identifier: MIT
# The disk: the suite inside the kernel (tests/kernel/suite_disk.c) on kinds of virtio devices, and
# what it leaves in the image; disks that are read-only, tiny, missing, foreign, failing, dead; and
# what run-qemu.sh says of images that cannot be used.
# TIME_LIMIT=300
. tests/lib.sh

IMAGE=build/tests/disk.img
SECTORS=8192

# image SECTORS [filled]: marked as one that may be overwritten; filled as the suite fills it.
image() {
    perl -e 'my ($file, $sectors, $filled) = @ARGV;
        open my $out, ">:raw", $file or die;
        print $out pack("a512", "crew test disk: may be overwritten");
        for my $s (1 .. $sectors - 1) {
            print $out $filled ? pack("Q<*", map { $s * 1000003 + $_ } 0 .. 63) : "\0" x 512;
        }' "$IMAGE" "$1" "${2:-}"
}

# suite NAME SETTING…: the suite passes, all its points.
suite() {
    local name=$1
    shift
    kernel_check "disk-$name" "$name: the suite passes" RUN="selftest disk; disk; poweroff" \
        KERNEL=build/test/kernel32.elf DISK="$IMAGE" TIMEOUT=60 "$@" || return
    log_check "$name: with points, none failed" '^@selftest suites=1 points=[1-9][0-9]* failed=0'
}

# The image, written by the kernel, is what the host expects.
written() {
    tap_check "$1: the image holds what was written" cmp "$IMAGE" build/tests/disk-expected.img
}

# refused NAME WHAT SETTING…: run-qemu.sh says WHAT and starts nothing.
refused() {
    local name=$1 what=$2
    shift 2
    kernel_run "disk-refused" RUN=poweroff "$@"
    if [ $KERNEL_STATUS -eq 3 ] && grep -q "$what" build/tests/disk-refused.qemu; then
        tap_pass "$name: refused"
    else
        tap_fail "$name: refused" "$(kernel_explain)"
    fi
}

tap_check "the kernel with its suites builds" make TESTS=1 O=build/test kernel
image $SECTORS filled
cp "$IMAGE" build/tests/disk-expected.img

# Machine, interface, CPUs.
while read -r machine device cpus; do
    image $SECTORS
    suite "$machine-$device-$cpus" MACHINE="$machine" DISK_DEVICE="$device" CPUS="$cpus"
    written "$machine-$device-$cpus"
done <<'END'
q35 modern 4
q35 transitional 1
q35 legacy 1
pc modern 1
pc transitional 4
pc legacy 4
END

image $SECTORS filled
suite read-only DISK_READONLY=1
log_check "read-only: the kernel knows" '^@disk .*read_only=1 .*writes=0 '
written read-only
image 1
suite tiny
log_check "tiny: a disk of one sector" '^@disk sectors=1 '
rm -f "$IMAGE"
suite new DISK_SIZE=3M
tap_check "new: made as large as asked for" test "$(stat -c %s "$IMAGE")" = $((3 << 20))
log_check "new: the suite does not overwrite it" 'SKIP its first sector does not say'
suite none DISK= RUN="selftest disk; try disk; poweroff"
log_check "none: and why" 'no disk: no virtio-blk device'

# The store: only what is blank or explicitly given away is formatted.
echo "somebody else's" >"$IMAGE.text"
truncate -s 4M "$IMAGE.text"
cp "$IMAGE.text" "$IMAGE.copy"
kernel_check disk-foreign "format: needs its confirmation" DISK="$IMAGE.text" \
    RUN="try disk format; try disk format yes; disk; poweroff"
tap_check "format: nothing was written without it" cmp "$IMAGE.text" "$IMAGE.copy"
kernel_check disk-format "format: with it, done" DISK="$IMAGE.text" \
    RUN="disk format erase; poweroff"
tap_check "format: the superblock is there" grep -q '^crewdisk' <(head -c 8 "$IMAGE.text")
kernel_check disk-format-read-only "format: not on a read-only disk" DISK="$IMAGE.text" \
    DISK_READONLY=1 RUN="try disk format erase; poweroff"
log_check "format: which is named" ERR_READ_ONLY

# Faulty hardware.
image $SECTORS filled
printf '[inject-error]\nevent = "read_aio"\nsector = "5000"\nerrno = "5"\n' >build/tests/disk.conf
qemu_with "if=none,id=disk,format=raw,file=blkdebug:build/tests/disk.conf:$IMAGE" \
    ,werror=report,rerror=report
kernel_run disk-failing DISK="$IMAGE" QEMU=build/tests/qemu-disk KERNEL=build/test/kernel32.elf \
    RUN="selftest disk; poweroff" TIMEOUT=60
tap_check "failing: the run has an end" test "$(kernel_end)" = failed
log_check "failing: reported as what it is" '^#.* got 18446744073709550585'
qemu_with "if=none,id=disk,format=raw,file=$IMAGE" \
    ,logical_block_size=4096,physical_block_size=4096
kernel_check disk-4k "4 KiB blocks: refused by name" DISK="$IMAGE" QEMU=build/tests/qemu-disk \
    RUN="try disk; poweroff"
log_check "4 KiB blocks: and which it is" 'disk: not used: its blocks are not of 512 bytes'

printf 'crew test disk: stops answering' | dd of="$IMAGE" conv=notrunc status=none
qemu_with "if=none,id=disk,format=raw,file=$IMAGE,throttling.bps-read=600"
suite dead QEMU=build/tests/qemu-disk RUN="selftest disk; try disk; poweroff"
log_check "dead: said on the console" 'disk: given up: a request was not finished in time'

# Images that cannot be used.
if [ -r /proc/locks ]; then
    exec 9<"$IMAGE"
    flock 9
    refused "an image in use" 'in use: another QEMU' DISK="$IMAGE"
    exec 9<&-
else
    tap_skip "an image in use: refused" "the host does not show its locks"
fi
: >"$IMAGE"
refused "an empty file" 'is empty' DISK="$IMAGE"
refused "a directory" 'not a regular file' DISK=build/tests
echo odd >"$IMAGE"
refused "a file of odd size" 'not a multiple of 512' DISK="$IMAGE"
refused "a place that is not there" 'cannot be made' DISK=build/tests/no-such-directory/disk.img
refused "an unknown interface" 'modern, transitional or legacy' DISK="$IMAGE" DISK_DEVICE=scsi
rm -f "$IMAGE" "$IMAGE.text" "$IMAGE.copy" build/tests/disk-expected.img
tap_done
