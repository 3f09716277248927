#!/bin/bash
# SPDX-License-Identifier: MIT
# Markers: the table in the image against its disassembly, the shell's commands, the bench's table,
# and a storm of switching. What hits tell is in the kernel's suite `marker`.
#
#   TOGGLES=n   of the storm (400)
# TIME_LIMIT=600
. tests/lib.sh

TOGGLES=${TOGGLES:-400}
TEST_IMAGE=build/test/kernel.elf

# The words of .markers from one symbol to the next, as hexadecimal numbers, one a line.
words_between() {
    local image=$1 from to
    from=$(awk -v name="$2" '$3 == name { print $1 }' <<<"$SYMBOLS")
    to=$(awk -v name="$3" '$3 == name { print $1 }' <<<"$SYMBOLS")
    objdump -s -j .markers --start-address="0x$from" --stop-address="0x$to" "$image" |
        perl -ne 'next unless /^ [0-9a-f]+ ((?:[0-9a-f]+ ){1,4})/; $hex .= $1 =~ s/ //gr;
            END { print unpack("H*", pack("Q>", $_)), "\n" for unpack "Q<*", pack "H*", $hex }'
}

# One line a place: address, target, kind, length.
places() {
    words_between "$1" marker_places_start marker_places_end | paste -d ' ' - - - - - |
        perl -ane 'my ($length, $kind) = (hex($F[4]) & 255, hex($F[4]) >> 8 & 255);
            print "$F[0] $F[1] $kind $length\n"'
}

# The disassembly as `address bytes`, for those addresses that are read on standard input.
bytes_at() {
    objdump -d --insn-width=16 "$1" | perl -e 'open my $wanted, "<", shift; my %wanted;
        while (<$wanted>) { $wanted{(split)[0]} = 1 }
        while (<STDIN>) { next unless /^([0-9a-f]+):\t((?:[0-9a-f]{2} )+)/;
            print "$1 ", $2 =~ s/ //gr, "\n" if $wanted{$1} }' "$2"
}

no_section() {
    [ -s "$1" ] && ! objdump -h "$1" | grep -q ' \.markers  *0*[1-9a-f]'
}

# What stands at a place of each kind in the image: one instruction, as long as the table says.
# Register 0 to 7, or 8 to 15, for the immediate.
OFF_BYTES=(0f1f440000 '(b[89a-f]|41b[89a-f])00000000' 660f1f440000 0f1f440000 'e8........' 90)

check_places() {
    local image=$1 list=$BUILD/places shown=$BUILD/bytes wrong=0 address kind length bytes
    local -A at=()
    SYMBOLS=$(nm "$image")
    places "$image" >"$list"
    bytes_at "$image" "$list" >"$shown"
    while read -r address bytes; do
        at[$address]=$bytes
    done <"$shown"
    while read -r address _ kind length; do
        bytes=${at[$address]:-nothing}
        if ! [[ $bytes =~ ^${OFF_BYTES[kind]}$ ]] || [ ${#bytes} -ne $((2 * length)) ]; then
            echo "place at $address, kind $kind, length $length: the disassembly has $bytes"
            wrong=1
        fi
    done <"$list"
    echo "$(wc -l <"$list") places"
    [ $wrong -eq 0 ] && [ -s "$list" ]
}

# The code of a MARKER that is on is out of line: it is not what follows the NOP, and no code that
# runs while it is off falls or jumps into it. What comes before it does not go on into it.
check_cold() {
    local image=$1 list=$BUILD/places
    places "$image" | awk '$3 == 0' >"$list"
    objdump -d --no-show-raw-insn "$image" | perl -e 'open my $list, "<", shift; my (%cold, $bad);
        while (<$list>) { my @f = split; $cold{$f[1]} = $f[0] }
        my ($before, $nop) = ("ret", 0);
        while (<STDIN>) {
            next unless /^([0-9a-f]+):\t(\S+)\s*(\S*)/;
            my ($at, $name, $to) = ($1, $2, $3);
            if ($cold{$at} && $before !~ /^(ret|jmp|iretq|ud2)/) {
                print "$at, of $cold{$at}: $before falls into it\n"; $bad = 1 }
            if ($name =~ /^j/ && $cold{$to}) { print "$at: $name to $to\n"; $bad = 1 }
            $before = $name unless $name =~ /^(nop|data16|cs|xchg)/ && !$cold{$at};
        }
        exit $bad' "$list"
}

# Every name, its arguments' names, and where it is, can be read from the section.
check_names() {
    local image=$1 name
    SYMBOLS=$(nm "$image")
    words_between "$image" marker_sites_start marker_sites_end | awk 'NR % 16 == 1' |
        sort -u >"$BUILD/name-addresses"
    for name in bench_nop_jmp bench_immediate bench_frame_jump bench_call_stub bench_boot_call \
        bench_int3; do
        name_is_there "$image" $name || { echo "$name is not in .markers" && return 1; }
    done
}

# rodata's bytes at one of the addresses are the name.
name_is_there() {
    local offset
    offset=$(objdump -s -j .rodata "$1" | perl -ne 'if (/^ ([0-9a-f]+) ((?:[0-9a-f]+ ){1,4})/) {
            $start //= hex $1; $hex .= $2 =~ s/ //gr }
        END { my $i = index pack("H*", $hex), "\0'"$2"'\0";
            printf "%x\n", $start + $i + 1 if $i >= 0 }')
    [ -n "$offset" ] && grep -q "^$offset$" "$BUILD/name-addresses"
}

# marker_field KIND STATE LOOP FIELD: of the bench's table.
bench_field() {
    sed -n "s/^@marker-cost kind=$1 *state=$2 *loop=$3 .*$4=\([0-9.-]*\).*/\1/p" "$KERNEL_LOG"
}

hundredths() {
    awk -v n="$1" 'BEGIN { printf "%d", n * 100 + 0.5 }'
}

# more KIND LOOP: instructions a turn more than without a marker, while off, in hundredths.
more_instructions() {
    echo $(($(hundredths "$(bench_field "$1" off "$2" instructions)") - \
        $(hundredths "$(bench_field no-marker off "$2" instructions)")))
}

check_one_instruction() {
    local loop more
    for loop in empty copy; do
        more=$(more_instructions nop-jmp $loop)
        [ "$more" -eq 100 ] || { echo "$loop: $more/100 instructions" && return 1; }
    done
}

check_storm() {
    local line
    grep '^@storm' "$KERNEL_LOG"
    line=$(grep '^@storm toggles=' "$KERNEL_LOG") || return
    [[ $line =~ batches=([0-9]+)\ patches=([0-9]+)\ synchronisations=([0-9]+)\ emulated=([0-9]+) ]]
    [ "${BASH_REMATCH[1]}" -eq "$TOGGLES" ] && [ "${BASH_REMATCH[2]}" -eq $((24 * TOGGLES)) ] &&
        [ "${BASH_REMATCH[3]}" -eq $((4 * TOGGLES)) ] && [ "${BASH_REMATCH[4]}" -gt 0 ]
}

BUILD=build/tests/marker
mkdir -p $BUILD
tap_check "the kernel builds" make image
tap_check "and with its suites" make TESTS=1 O=build/test kernel
tap_check "and without any marker" make MARKERS=0 O=build/no-markers kernel
tap_check "where .markers is empty" no_section build/no-markers/kernel.elf
for image in build/kernel.elf $TEST_IMAGE; do
    tap_check "$image: at each place stands the one instruction of its kind" check_places $image
    tap_check "$image: the code of markers that are on is out of line" check_cold $image
done
tap_check "names can be read from the image" check_names build/kernel.elf
tap_check "readelf shows the section" bash -c 'readelf -x .markers build/kernel.elf | grep -q 0x'

if kernel_check marker-bench "the bench measures all kinds, and their hits add up" \
    RUN="marker bench; poweroff"; then
    if grep -q 'instructions are not counted' "$KERNEL_LOG"; then
        tap_skip "a marker that is off is one instruction" "no PMU that counts instructions"
    else
        tap_check "a marker that is off is one instruction" check_one_instruction
    fi
    log_check "its code: 5 bytes, 1 instruction, no register" \
        '^@marker-code kind=nop-jmp +loop=copy +hot_bytes=5 +hot_instructions=1 .*registers="none"'
fi

kernel_check marker-commands "markers are switched by name and listed" \
    RUN="marker on bench_nop_jmp count; markers bench_nop_jmp; marker off bench_nop_jmp; \
markers bench_nop_jmp; marker on bench_c* count; marker off bench_c* count; poweroff"
log_check "on: patched" '^bench_nop_jmp +on +\(patched\) 2 sites, 2 places'
log_check "with its probe" '^    count +priority'
log_check "off: a NOP" '^bench_nop_jmp +off +\(nop\)'
log_check "two places at once: four synchronisations" '^@marker patches=2 synchronisations=4$'
if kernel_run marker-unknown RUN="marker on no_such_*; poweroff"; then
    tap_fail "an unknown name is an error"
else
    log_check "an unknown name is an error" "^marker: no marker matches 'no_such_\*'"
fi

if kernel_check marker-storm "a storm on 4 CPUs: every pass hits or does not, and all add up" \
    KERNEL=build/test/kernel32.elf CPUS=4 TIMEOUT=240 RUN="storm $TOGGLES; poweroff"; then
    tap_check "each switch was one batch with four synchronisations, seen half done" check_storm
    log_check "NMIs ran through it, too" '^@storm context=nmi passes=[1-9][0-9]* hits=[1-9]'
fi
kernel_check marker-storm-busy "the same, with CPUs that never halt" \
    KERNEL=build/test/kernel32.elf CPUS=4 TIMEOUT=240 RUN="storm 20 busy; poweroff"
kernel_check marker-storm-tcg "the same, by QEMU's translator alone" \
    KERNEL=build/test/kernel32.elf CPUS=4 ACCEL=step TIMEOUT=240 RUN="storm $TOGGLES; poweroff"
tap_done
