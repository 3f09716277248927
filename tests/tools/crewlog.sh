#!/bin/bash
# SPDX-License-Identifier: MIT
# crewlog on made recordings: what it says of good ones, and that cut, damaged, foreign, hostile and
# huge files get an error by name. (tests/replay/crewlog.sh has real recordings.)
# TIME_LIMIT=300
. tests/lib.sh
WORK=build/tests/crewlog-files
CREWLOG=build/tools/crewlog
CHECKED=build/tests/crewlog # with sanitizers
MAKE_LOG=build/tests/make_log
export ASAN_OPTIONS=detect_leaks=0
rm -rf $WORK
mkdir -p $WORK

# made NAME [SETTING=value…]: a recording $WORK/NAME
made() {
    local name=$1
    shift
    $MAKE_LOG "$@" "$WORK/$name"
}

# gives WHAT STATUS REGEX COMMAND…: a test point: the exit status, and a line of the output
gives() {
    local what=$1 wanted=$2 regex=$3 output status=0
    shift 3
    output=$("$@" 2>&1 </dev/null) || status=$?
    if [ $status -eq "$wanted" ] && grep -Eq -- "$regex" <<<"$output"; then
        tap_pass "$what"
    else
        tap_fail "$what" "command: $*" "status $status, expected $wanted, and: $regex" \
            "$(head -n 20 <<<"$output")"
    fi
}

tap_check "it builds" make build/tools/crewlog build/tests/crewlog build/tests/make_log

# --- use ------------------------------------------------------------------------------------------

made good.rec
gives "help" 0 '^usage: crewlog' $CREWLOG help
gives "no command" 2 '^usage' $CREWLOG
gives "an unknown command" 2 'crewlog: `dmup` is not a command' $CREWLOG dmup
gives "an unknown option" 2 'info has no option `--json`' $CREWLOG info --json $WORK/good.rec
gives "an option without its value" 2 'elf needs a value' $CREWLOG dump --elf
gives "a thread that is no number" 2 'not a number from 0 to 63' \
    $CREWLOG dump --thread 0x1 $WORK/good.rec
gives "a thread that is not there" 2 'has no thread 9' $CREWLOG dump --thread 9 $WORK/good.rec
gives "no file" 2 'verify needs 1 file' $CREWLOG verify
gives "a file too many" 2 'one file too many' $CREWLOG verify a b
gives "a missing file" 2 'No such file' $CREWLOG info $WORK/missing
gives "a full disk" 2 'standard output: No space' \
    bash -c "$CREWLOG dump $WORK/good.rec >/dev/full"

# --- foreign files --------------------------------------------------------------------------------

: >$WORK/empty
mkfifo $WORK/fifo
head -c 5000 /dev/urandom >$WORK/random
gzip -c Makefile >$WORK/gzip
head -c 700 $WORK/good.rec >$WORK/short.rec
gives "an empty file" 2 'not a recording; it is empty' $CREWLOG info $WORK/empty
gives "an ELF file" 2 'it is an ELF file' $CREWLOG info $CREWLOG
gives "a compressed file" 2 'compressed by gzip' $CREWLOG stats $WORK/gzip
gives "random bytes" 2 'not a recording' $CREWLOG verify $WORK/random
gives "a text" 2 'not a recording' $CREWLOG dump Makefile
gives "a directory" 2 'not a regular file' $CREWLOG info $WORK
gives "a pipe, without waiting" 2 'not a regular file' $CREWLOG info $WORK/fifo
gives "less than a header" 2 'not a whole header' $CREWLOG info $WORK/short.rec
gives "a name on what is no disk" 2 'not a disk of recordings' $CREWLOG info Makefile:x
gives "extract, of what is no disk" 2 'not a disk of recordings' $CREWLOG extract Makefile

# --- good recordings ------------------------------------------------------------------------------

made stopped.rec end=stopped
made cut.rec end=cut
gives "info: a complete one" 0 '^complete$' $CREWLOG info $WORK/good.rec
gives "info: one that was stopped" 1 '^stopped: the disk is full' $CREWLOG info $WORK/stopped.rec
gives "info: one that was cut" 1 '^cut at offset [0-9]+' $CREWLOG info $WORK/cut.rec
gives "verify: a complete one" 0 'every rule is kept: complete' $CREWLOG verify $WORK/good.rec
gives "verify: one that was stopped" 1 'every rule is kept: stopped' \
    $CREWLOG verify $WORK/stopped.rec
gives "verify: one that was cut" 1 'every rule is kept: cut' $CREWLOG verify $WORK/cut.rec

many_seeds() {
    local seed
    for seed in {1..8}; do
        made seed.rec seed=$seed threads=$((seed * 8)) pages=20 events=4000 pads=$((seed % 2))
        $CREWLOG verify $WORK/seed.rec || return 1
    done
}
tap_check "verify: many recordings" many_seeds

# --- dump -----------------------------------------------------------------------------------------

# Every line is JSON; the numbers of records are those of the header's names and of `info`.
json_is_whole() {
    $CREWLOG dump --json $WORK/good.rec | perl -MJSON::PP -e '
        my (%records, $header, $events);
        while (<STDIN>) {
            my $record = decode_json($_);
            $records{$record->{record}}++;
            $header = $record if $record->{record} eq "header";
            $events += $record->{events} if $record->{record} eq "stream";
        }
        die "$records{event} events, blocks say $events\n" if $records{event} != $events;
        for my $one (qw(header begin end verdict)) {
            die "$one: not one\n" if ($records{$one} // 0) != 1;
        }
        open my $file, "<", "replay/log_format.h" or die;
        my ($text) = join("", <$file>) =~ /define LOG_HEADER_FIELDS(.*?)\n\n/s;
        my @names = $text =~ /\bF\(\w+, (\w+),/g;
        die "no fields\n" if @names < 30;
        for (@names) { die "no field $_\n" if !exists $header->{$_} }'
}
tap_check "dump --json is JSON and has all fields of the header" json_is_whole

# What bytes a text can have, JSON must show.
json_of_any_text() {
    made text.rec program="$(printf 'a"b\\c\x01\xff</é')"
    $CREWLOG dump --json $WORK/text.rec |
        perl -MJSON::PP -ne '
            my $record = decode_json($_);
            $record->{record} ne "header" or
                $record->{program} eq "a\"b\\c\x01\xff</\xc3\xa9" or die $_'
}
tap_check "dump --json: any bytes in a text" json_of_any_text

text_and_json_agree() {
    local text json
    text=$($CREWLOG dump $WORK/good.rec | grep -c '^  [0-9]* .* @ ticks')
    json=$($CREWLOG dump --json $WORK/good.rec | grep -c '"record":"event"')
    echo "$text events as text, $json as JSON"
    [ "$text" -gt 900 ] && [ "$text" = "$json" ]
}
tap_check "dump: as many events as text as in JSON" text_and_json_agree
gives "dump --thread: the others are left out" 1 '^0$' bash -c \
    "$CREWLOG dump --json --thread 1 $WORK/good.rec | grep -c '\"slot\":[02-9].*\"number\"'"

# --- programs -------------------------------------------------------------------------------------

tap_check "a program is here" make programs
ELF=build/user/falseshare
read -r _ TEXT _ < <(nm $ELF | awk '/ falseshare_work$/ { print $3, "0x" $1 }')
made elf.rec text="$TEXT" size=89
gives "another program is refused" 2 'is not the program that was recorded' \
    $CREWLOG dump --elf $ELF $WORK/elf.rec
gives "another program, by force" 0 'in falseshare_work\+0x[0-9a-f]+ falseshare.c:[0-9]+$' \
    $CREWLOG dump --force --elf $ELF $WORK/elf.rec
gives "without addr2line there are names" 0 'in falseshare_work\+0x[0-9a-f]+$' \
    env PATH=$WORK $CREWLOG dump --force --elf $ELF $WORK/elf.rec
gives "and it says so" 0 'addr2line: .*no source lines' \
    env PATH=$WORK $CREWLOG stats --force --elf $ELF $WORK/elf.rec
printf '#!/bin/sh\nexec sleep 0\n' >$WORK/addr2line
chmod +x $WORK/addr2line
gives "an addr2line that ends" 0 'addr2line gives no answer' \
    env PATH="$WORK:$PATH" $CREWLOG stats --force --elf $ELF $WORK/elf.rec
rm $WORK/addr2line
gives "a program that is none" 2 'not an ELF64 file' \
    $CREWLOG stats --force --elf Makefile $WORK/elf.rec

hostile_programs() {
    local size place
    for size in 64 65 200 4096 20000 50000; do
        head -c $size $ELF >$WORK/hostile
        $CHECKED stats --force --elf $WORK/hostile $WORK/elf.rec >$WORK/out 2>&1
        ! grep -E 'Sanitizer|runtime error' $WORK/out || return 1
    done
    # The file header and the section headers, byte by byte.
    local sections
    sections=$(readelf -h $ELF | sed -n 's/.*Start of section headers: *\([0-9]*\).*/\1/p')
    for place in 40 41 46 47 58 60 62 $(seq $((sections + 64)) 37 $((sections + 800))); do
        cp $ELF $WORK/hostile
        printf '\377\377\377' | dd of=$WORK/hostile bs=1 seek="$place" conv=notrunc status=none
        PATH=$WORK $CHECKED stats --force --elf $WORK/hostile $WORK/elf.rec >$WORK/out 2>&1
        ! grep -E 'Sanitizer|runtime error' $WORK/out || return 1
    done
}
tap_check "cut and damaged programs do no harm" hostile_programs

# --- stats, diff ----------------------------------------------------------------------------------

gives "stats: tables" 0 '^  0x404000 ' $CREWLOG stats $WORK/good.rec
stats_json() {
    $CREWLOG stats --json --force --elf $ELF $WORK/elf.rec |
        perl -MJSON::PP -ne '$seen{decode_json($_)->{record}}++;
            END { for (qw(summary page code pair object)) { die "no $_\n" if !$seen{$_} } }'
}
tap_check "stats --json is JSON with all tables" stats_json
stats_is_narrow() {
    local width
    width=$($CREWLOG stats --force --elf $ELF $WORK/elf.rec | wc -L)
    echo "$width columns"
    [ "$width" -le 100 ]
}
tap_check "stats: at most 100 columns" stats_is_narrow

made other.rec seed=7
gives "diff: the same" 0 'no difference' $CREWLOG diff $WORK/good.rec $WORK/good.rec
gives "diff: as far as a cut one goes" 1 'no difference.*as far as both' \
    $CREWLOG diff $WORK/cut.rec $WORK/good.rec
gives "diff: others" 1 'then the order differs' $CREWLOG diff --force $WORK/good.rec $WORK/other.rec

# --- damage ---------------------------------------------------------------------------------------

made small.rec threads=2 pages=2 events=60
SIZE=$(stat -c %s $WORK/small.rec)

every_cut() {
    local size status
    for ((size = 0; size < SIZE; size += 211)); do
        head -c $size $WORK/small.rec >$WORK/cut-here
        status=0
        $CREWLOG verify $WORK/cut-here >$WORK/out 2>&1 || status=$?
        if [ $status -eq 0 ] || [ $status -gt 2 ] || [ ! -s $WORK/out ]; then
            echo "cut at $size: status $status"
            return 1
        fi
    done
}
tap_check "a recording cut anywhere is not taken for whole" every_cut

flipped_bits() {
    perl -e '
        my ($tool, $work, $count) = @ARGV;
        local $/;
        open my $in, "<:raw", "$work/small.rec" or die; my $bytes = <$in>;
        srand 1;
        for my $round (1 .. $count) {
            my $copy = $bytes;
            my $bit = int(rand(8 * length $bytes));
            vec($copy, $bit, 1) ^= 1;
            open my $out, ">:raw", "$work/flipped"; print $out $copy; close $out;
            my $text = qx($tool verify $work/flipped 2>&1);
            my $status = $?;
            die "bit $bit: status $status: $text" if $status != 256 && $status != 512;
            die "bit $bit: $text" if $text !~ /offset \d+: /;
        }' $CREWLOG $WORK 200
}
tap_check "200 flipped bits are all found, and named by offset" flipped_bits

# Checksums are right here: what is in the chunks must do no harm either.
damaged_inside() {
    local seed command
    for seed in {1..12}; do
        made damaged.rec threads=3 pages=3 events=300 damage="$seed"
        for command in info dump "dump --json" verify stats "stats --json" "diff $WORK/good.rec"; do
            # shellcheck disable=SC2086
            $CHECKED $command $WORK/damaged.rec >$WORK/out 2>&1
            if [ $? -gt 2 ] || grep -E 'Sanitizer|runtime error' $WORK/out; then
                echo "crewlog $command, damage=$seed"
                return 1
            fi
        done
    done
}
tap_check "damage behind right checksums does no harm" damaged_inside

# --- huge -----------------------------------------------------------------------------------------

cp $WORK/good.rec $WORK/sparse.rec
truncate -s 6G $WORK/sparse.rec
gives "6 GiB of nothing behind a recording" 1 'offset [0-9]+: no chunk begins here' \
    $CREWLOG verify $WORK/sparse.rec
rm $WORK/sparse.rec
made long.rec events=2000000 threads=8
little_memory() (
    ulimit -d 65536
    $CREWLOG verify $WORK/long.rec && $CREWLOG stats $WORK/long.rec >$WORK/out &&
        $CREWLOG dump $WORK/long.rec >/dev/null
)
tap_check "2 million events with 64 MiB of memory" little_memory
rm $WORK/long.rec
tap_done
