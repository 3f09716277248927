#!/bin/bash
# SPDX-License-Identifier: MIT
# tools/klines: the kernel's line table says what addr2line says of the same image, and what is
# refused.
. tests/lib.sh
WORK=build/tests/klines
rm -rf $WORK
mkdir -p $WORK

# The table as text: `address file:line` a row; file "" where no code is.
table_text() {
    perl -e '
        local $/; open my $f, "<:raw", $ARGV[0]; my $table = <$f>;
        my ($rows, $files, @names) = unpack "V2 V*", $table;
        my $strings = 4 * (3 + $files);
        my @file = map { unpack "x" . ($strings + $names[$_]) . " Z*", $table } 0 .. $files - 1;
        my @bytes = unpack "x" . ($strings + $names[$files]) . " C*", $table;
        sub leb {
            my ($v, $s, $b) = (0, 0);
            do { $b = shift @bytes; $v |= ($b & 127) << $s; $s += 7 } while $b & 128;
            $v
        }
        my ($at, $line, $now) = (0, 0, 0);
        for (1 .. $rows) {
            $at += leb; my $word = leb; my $z = $word >> 1;
            $line += $z & 1 ? -(($z >> 1) + 1) : $z >> 1;
            $now = leb if $word & 1;
            printf "0x%x %s:%d\n", 0xffffffff80000000 + $at, $file[$now], $line;
        }
        print "rest ", scalar(@bytes), "\n" if @bytes;
    ' "$1"
}

# Every 97th row with code, as addr2line sees it and as the table has it.
compare() {
    table_text "$1" | awk '$2 !~ /^:/ && NR % 97 == 0' >$WORK/ours
    cut -d ' ' -f 1 $WORK/ours | addr2line -e "$2" | sed 's/ (discriminator.*//' |
        sed -E "s,^$PWD/,,; s,^.*//,,; s,^(\\./)+,," >$WORK/theirs
    diff <(cut -d ' ' -f 2 $WORK/ours) $WORK/theirs
}

tap_check "the kernel is built" make kernel
tap_check "the table ends where its rows do" sh -c '! grep -q rest' \
    <<<"$(table_text build/obj/klines.bin | tail -n 1)"
tap_check "as addr2line says" compare build/obj/klines.bin build/kernel.elf
tap_check "that were many rows" test "$(wc -l <$WORK/ours)" -gt 100
tap_check "assembly has lines, too" grep -q ' arch/x86/entry.asm:' \
    <(table_text build/obj/klines.bin)

tap_check "an image without line information is refused" \
    sh -c "strip -o $WORK/stripped.elf build/kernel.elf &&
        ! build/tools/klines $WORK/stripped.elf $WORK/x.bin"
head -c 300000 build/kernel.elf >$WORK/short.elf
tap_check "a cut image is refused" sh -c "! build/tools/klines $WORK/short.elf $WORK/x.bin"
tap_check "a file that is no image is refused" sh -c "! build/tools/klines Makefile $WORK/x.bin"
tap_done
