#!/bin/bash
# SPDX-License-Identifier: MIT
# tools/ksyms: the table that it writes for a small image, and what it refuses.
. tests/lib.sh
WORK=build/tests/ksyms
KSYMS=$WORK/ksyms
rm -rf $WORK
mkdir -p $WORK

# image NAME TEXT_ADDRESS: an image of three functions and a variable, linked there.
image() {
    cat >$WORK/image.asm <<'END'
global outer, alias, value
section .text
inner:  nop
.loop:  jmp .loop
alias:
outer:  ret
section .data
value:  dd 1
END
    nasm -f elf64 -o $WORK/image.o $WORK/image.asm &&
        ld -nostdlib -z noexecstack -e outer -Ttext="$2" -o "$WORK/$1" $WORK/image.o
}

# The table as text: `offset name` a line.
table_text() {
    perl -e '
        local $/; open my $f, "<:raw", $ARGV[0]; my $table = <$f>;
        my $count = unpack "V", $table;
        my @offsets = unpack "x4 V$count", $table;
        my @names = unpack sprintf("x%d V$count", 4 + 4 * $count), $table;
        my $strings = substr $table, 4 + 8 * $count;
        printf "%x %s\n", $offsets[$_], unpack("x$names[$_] Z*", $strings) for 0 .. $count - 1;
    ' "$1"
}

tap_check "it builds" make build/tools/ksyms
cp build/tools/ksyms $KSYMS
tap_check "a test image links" image high.elf 0xffffffff80100000
tap_check "its table is written" $KSYMS $WORK/high.elf $WORK/high.bin
table=$(table_text $WORK/high.bin)
tap_check "offsets ascend" env LC_ALL=C sort -c <(awk '{ printf "%12s\n", $1 }' <<<"$table")
tap_check "a local function is there" grep -qx '100000 inner' <<<"$table"
tap_check "a variable is there" grep -q ' value$' <<<"$table"
tap_check "both names of one address are there" test "$(grep -c '^100003 ' <<<"$table")" = 2
tap_check "a label within a function is not" sh -c '! grep -q loop' <<<"$table"

tap_check "an image is the same as itself" $KSYMS --same $WORK/high.elf $WORK/high.elf
image moved.elf 0xffffffff80200000
tap_check "a moved image is not the same" sh -c "! $KSYMS --same $WORK/high.elf $WORK/moved.elf"
image low.elf 0x100000
tap_check "an image without kernel symbols is refused" sh -c "! $KSYMS $WORK/low.elf $WORK/x.bin"
head -c 200 $WORK/high.elf >$WORK/short.elf
tap_check "a cut image is refused" sh -c "! $KSYMS $WORK/short.elf $WORK/x.bin"
tap_check "a file that is no image is refused" sh -c "! $KSYMS Makefile $WORK/x.bin"
tap_check "a missing file is refused" sh -c "! $KSYMS $WORK/missing $WORK/x.bin"
tap_done
