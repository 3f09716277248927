#!/usr/bin/perl
# SPDX-License-Identifier: MIT
#
# An independent reader of recordings, written from docs/log-format.md alone (without a look at
# the C sources); it changes when that page does. Its output is compared with that of `crewlog dump
# --json` (tests/replay/reader.sh): what the two read differently, the page does not say well
# enough, or one of them is wrong.
#
#   perl tests/tools/read_log.pl [--content] FILE
#
# prints a JSON object a line, as docs describe `dump --json`, and stops at the first offence.
# Exit status: 0 the recording is complete, 1 it is not (cut, stopped, bad), 2 no such file.
# --content also checks the section "Rules of what is in it" (`crewlog verify`'s), at the end.

use strict;
use warnings;
use File::Temp ();

my $MAX64 = ~0;
my $LOW32 = 0xffffffff;
my $HEAD = 32;
my $PAGE_SIZE = 4096;
my $MAGIC = 0x31574353;
my $TOP = 1 << 47;    # user addresses are below

my @CHUNK = qw(? header vma thread page begin stream end pad);

# Structures as [name, form, template of unpack]. Forms: N number, X hex, T text, W words,
# B bytes.
my %FIELDS = (
    header => [
        [magic => 'T', 'a8'], [version => 'N', 'L<'], [page_size => 'N', 'L<'],
        [kernel => 'T', 'a32'], [program => 'T', 'a32'], [program_bytes => 'N', 'Q<'],
        [program_hash => 'B', 'a32'], [argument_count => 'N', 'L<'], [pid => 'N', 'L<'],
        [arguments => 'W', 'a256'], [warnings => 'T', 'a160'], [random => 'B', 'a16'],
        [next_index => 'N', 'L<'], [unit => 'N', 'L<'], [source => 'T', 'a8'],
        [source_model => 'T', 'a48'], [source_skid => 'N', 'L<'],
        [source_cost_syscall => 'N', 'L<'], [source_cost_fault => 'N', 'L<'],
        [source_cost_interrupt => 'N', 'L<'], [cpus => 'N', 'L<'], [cpu_vendor => 'T', 'a16'],
        [cpu_brand => 'T', 'a52'], [cpu_signature => 'X', 'L<'], [guards => 'X', 'L<'],
        [fpu_components => 'X', 'Q<'], [fpu_bytes => 'N', 'L<'], [mxcsr_mask => 'X', 'L<'],
        [output_bytes => 'N', 'Q<'], [output_state => 'B', 'a64'],
        [output_count => 'B', 'a16'], [output_block => 'B', 'a128'],
        [output_used => 'N', 'L<'], [output_digest_size => 'N', 'L<'],
    ],
    vma => [
        [start => 'X', 'Q<'], [end => 'X', 'Q<'], [prot => 'N', 'L<'], [reserved => 'N', 'L<'],
    ],
    thread => [
        [index => 'N', 'L<'], [fpu_bytes => 'N', 'L<'],
        (map { [$_ => 'X', 'Q<'] } qw(r15 r14 r13 r12 r11 r10 r9 r8 rbp rdi rsi rdx rcx rbx rax
            rip cs rflags rsp ss fs_base clear_child_tid)),
        (map { [$_ => 'X', 'S<'] } qw(ds es fs gs)),
    ],
    page => [[address => 'X', 'Q<']],
    begin => [[vmas => 'N', 'L<'], [threads => 'N', 'L<'], [pages => 'N', 'Q<']],
    stream => [[first_event => 'N', 'Q<'], [events => 'N', 'L<'], [reserved => 'N', 'L<']],
    end => [
        [complete => 'N', 'L<'], [slots => 'N', 'L<'], [reason => 'T', 'a64'],
        [hash => 'B', 'a16'], [output_hash => 'B', 'a16'], [elapsed_ns => 'N', 'Q<'],
        [ended => 'N', 'L<'], [killed => 'N', 'L<'], [exit_status => 'N', 'L<'],
        [reserved => 'N', 'L<'], [end_reason => 'T', 'a192'],
    ],
    pad => [],
);
# Sizes as the page gives them: a slip in the tables above would show at once.
my %SIZE = (header => 960, vma => 24, thread => 192, page => 8, begin => 16, stream => 16,
    end => 320, pad => 0);
my %TEMPLATE = map { $_ => join ' ', map { $_->[2] } @{ $FIELDS{$_} } } keys %FIELDS;
for my $kind (keys %FIELDS) {
    my @zero = map { $_->[2] =~ /^a/ ? '' : 0 } @{ $FIELDS{$kind} };
    length(pack $TEMPLATE{$kind}, @zero) == $SIZE{$kind} or die "size of $kind";
}

# Events: name, then which of the fields P(age) R(ights) A B D(eps) follow the point.
my @EVENT = (undef, [promote => 'PRD'], [demote => 'PR'], [syscall => 'A'], [result => 'A'],
    [order => 'AD'], [access => 'PR'], [refused => 'PRD'], [value => 'AB'], [owner => 'AB'],
    [stop => ''], [exit => 'A'], [fatal => 'ABD'], [revoke => 'PD']);

# An offence: unwinds to read_chunks. Its words become the verdict's text; the place is the
# chunk's, unless it is given.
sub refuse {
    my ($text, $place) = @_;
    die { text => $text, place => $place };
}

# ---- Arithmetic --------------------------------------------------------------------------------

# a + b modulo 2^64. Perl's + would turn to floating point; halves cannot overflow.
sub add64 {
    my ($a, $b) = @_;
    my $low = ($a & $LOW32) + ($b & $LOW32);
    my $high = ($a >> 32) + ($b >> 32) + ($low >> 32);
    return (($high & $LOW32) << 32) | ($low & $LOW32);
}

# The difference that a zigzag number stands for, as 64-bit two's complement.
sub zigzag {
    my ($z) = @_;
    return $z & 1 ? ~($z >> 1) : $z >> 1;
}

my @CRC_TABLE = map {
    my $c = $_;
    $c = $c & 1 ? ($c >> 1) ^ 0x82f63b78 : $c >> 1 for 1 .. 8;
    $c;
} 0 .. 255;

sub crc32c {
    my ($bytes) = @_;
    my $crc = $LOW32;
    $crc = $CRC_TABLE[($crc ^ $_) & 0xff] ^ ($crc >> 8) for unpack 'C*', $bytes;
    return $crc ^ $LOW32;
}

# ---- JSON --------------------------------------------------------------------------------------

# Bytes as a JSON string, in ASCII: whatever the reader's locale, each byte comes back.
sub json_text {
    my ($bytes) = @_;
    $bytes =~ s/(["\\])/\\$1/g;
    $bytes =~ s/([^\x20-\x7e])/sprintf '\\u%04x', ord $1/ge;
    return "\"$bytes\"";
}

sub before_zero {
    my ($bytes) = @_;
    my $end = index $bytes, "\0";
    return $end < 0 ? $bytes : substr $bytes, 0, $end;
}

sub json_words {
    my ($bytes, $count) = @_;
    my @words;
    for (my $at = 0; @words < $count && $at < length $bytes;) {
        my $end = index $bytes, "\0", $at;
        last if $end < 0;
        push @words, json_text(substr $bytes, $at, $end - $at);
        $at = $end + 1;
    }
    return '[' . join(',', @words) . ']';
}

sub json_hex { return sprintf '"0x%x"', $_[0] }

sub json_field {
    my ($form, $value, $all) = @_;
    return "$value" if $form eq 'N';
    return json_hex($value) if $form eq 'X';
    return json_text(before_zero($value)) if $form eq 'T';
    return json_words($value, $all->{argument_count}) if $form eq 'W';
    return '"' . unpack('H*', $value) . '"';
}

# The line of a chunk; `more` is what its kind has behind the fields of its structure.
sub json_chunk {
    my ($c, $more) = @_;
    my @members = ("\"record\":\"$c->{name}\"", "\"offset\":$c->{offset}", "\"slot\":$c->{slot}",
        "\"length\":$c->{length}", '"crc":' . json_hex($c->{crc}),
        '"file_id":' . json_hex($c->{file_id}), "\"sequence\":$c->{sequence}");
    for my $field (@{ $FIELDS{ $c->{name} } }) {
        my ($name, $form) = @$field;
        push @members, "\"$name\":" . json_field($form, $c->{f}{$name}, $c->{f});
    }
    push @members, $more if defined $more;
    return '{' . join(',', @members) . '}';
}

sub json_event {
    my ($e) = @_;
    my $line = "{\"record\":\"event\",\"offset\":$e->{offset},\"slot\":$e->{slot},"
        . "\"number\":$e->{number},\"kind\":\"$e->{name}\",\"ticks\":$e->{ticks},"
        . sprintf '"rip":"0x%x","rcx":"0x%x","check":"0x%x"', @$e{qw(rip rcx check)};
    # The number of the page times its size: `crewlog dump` shows addresses.
    $line .= ',"page":' . json_hex($e->{page} << 12) if exists $e->{page};
    for my $name (qw(rights a b)) {
        $line .= ",\"$name\":$e->{$name}" if exists $e->{$name};
    }
    if (exists $e->{deps}) {
        my @deps = map { "{\"slot\":$_->[0],\"event\":$_->[1]}" } @{ $e->{deps} };
        $line .= ',"deps":[' . join(',', @deps) . ']';
    }
    return "$line}";
}

# ---- Events ------------------------------------------------------------------------------------

# A reader of coded events: the bytes, where it is, and the "last" values, which are 0 at the
# start of a block.
sub new_coder {
    my ($bytes, $offset, $slot, $number) = @_;
    return { bytes => [unpack 'C*', $bytes], at => 0, base => $offset, slot => $slot,
        next => $number, ticks => 0, rip => 0, rcx => 0, check => 0, page => 0 };
}

sub take_u8 {
    my ($in) = @_;
    refuse('event is cut off') if $in->{at} >= @{ $in->{bytes} };
    return $in->{bytes}[ $in->{at}++ ];
}

sub take_u32 {
    my ($in) = @_;
    my $value = 0;
    $value |= take_u8($in) << $_ for 0, 8, 16, 24;
    return $value;
}

# The busiest function, so it does not call take_u8.
sub take_varint {
    my ($in) = @_;
    my ($bytes, $at) = @$in{qw(bytes at)};
    my ($value, $shift) = (0, 0);
    while (1) {
        my $byte = $bytes->[$at++] // refuse('event is cut off');
        # The tenth byte has room for one bit and for no more bytes behind it.
        refuse('number of more than 64 bits') if $shift == 63 && $byte > 1;
        $value |= ($byte & 0x7f) << $shift;
        refuse('number longer than it need be') if $shift && $byte == 0;
        last if $byte < 0x80;
        $shift += 7;
    }
    $in->{at} = $at;
    return $value;
}

sub take_point {
    my ($in) = @_;
    my $more = take_varint($in);
    refuse('tick count beyond 64 bits') if $more > $MAX64 - $in->{ticks};
    $in->{ticks} += $more;
    $in->{rip} = add64($in->{rip}, zigzag(take_varint($in)));
    $in->{rcx} = add64($in->{rcx}, zigzag(take_varint($in)));
    $in->{check} = take_u32($in);
    return;
}

sub take_page {
    my ($in) = @_;
    $in->{page} = add64($in->{page}, zigzag(take_varint($in)));
    refuse('page number out of range') if $in->{page} >> 52;
    return $in->{page};
}

sub take_rights {
    my ($in) = @_;
    my $rights = take_u8($in);
    # None, read or write, and execute added to these: 3 and 7 name nothing.
    refuse('unknown rights') if $rights > 6 || ($rights & 3) == 3;
    return $rights;
}

sub take_deps {
    my ($in) = @_;
    my $count = take_varint($in);
    refuse('too many dependencies') if $count > 64;
    my @deps;
    for (1 .. $count) {
        my $slot = take_varint($in);
        my $event = take_varint($in);
        refuse('dependency out of range') if $slot > 63 || $event == 0;
        push @deps, [$slot, $event];
    }
    return \@deps;
}

my %TAKE = (P => [page => \&take_page], R => [rights => \&take_rights],
    A => [a => \&take_varint], B => [b => \&take_varint], D => [deps => \&take_deps]);

my @FIELDS_OF = map { [map { $TAKE{$_} } split //, $_ ? $_->[1] : ''] } @EVENT;

# The next event. An offence in it has its first byte's place.
sub next_event {
    my ($in) = @_;
    my $place = $in->{base} + $in->{at};
    my $e = eval { take_event($in) };
    return $e if $e;
    die $@ unless ref $@;
    return refuse("$@->{text} (event $in->{next} of slot $in->{slot})", $place);
}

sub take_event {
    my ($in) = @_;
    my %e = (offset => $in->{base} + $in->{at}, slot => $in->{slot}, number => $in->{next});
    my $kind = take_u8($in);
    my $known = $EVENT[$kind & 0x7f] or refuse('unknown kind of event');
    take_point($in) unless $kind & 0x80;
    $e{name} = $known->[0];
    @e{qw(ticks rip rcx check)} = @$in{qw(ticks rip rcx check)};
    $e{ $_->[0] } = $_->[1]->($in) for @{ $FIELDS_OF[$kind & 0x7f] };
    $in->{next}++;
    return \%e;
}

# ---- Chunks ------------------------------------------------------------------------------------

sub all_zero { return $_[0] !~ /[^\0]/ }

# The head of the chunk at `offset`, or undef where the file ends before it does.
sub read_head {
    my ($file, $offset) = @_;
    return if length($$file) - $offset < $HEAD;
    my %c = (offset => $offset);
    @c{qw(magic kind slot length crc file_id sequence)} =
        unpack 'L< S< S< L< L< Q< Q<', substr $$file, $offset, $HEAD;
    return \%c;
}

# What is looked at before it is known whether all of the chunk is there.
sub check_head {
    my ($s, $c) = @_;
    refuse('magic of the chunk is wrong') if $c->{magic} != $MAGIC;
    refuse('chunk is longer than 8192 bytes') if $c->{length} > 8160;
    $s->{file_id} = $c->{file_id} unless defined $s->{file_id};
    refuse('chunk of another file') if $c->{file_id} != $s->{file_id};
    refuse('sequence is wrong') if $c->{sequence} != $s->{sequence};
    return;
}

sub check_kind {
    my ($c) = @_;
    refuse('unknown kind of chunk') if $c->{kind} < 1 || $c->{kind} > 8;
    $c->{name} = $CHUNK[$c->{kind}];
    my $slotted = $c->{name} eq 'thread' || $c->{name} eq 'stream';
    refuse('slot out of range') if $c->{slot} > ($slotted ? 63 : 0);
    return;
}

# Everything that concerns the bytes of the chunk and not their meaning.
sub check_bytes {
    my ($c, $whole) = @_;
    $c->{payload} = substr $whole, $HEAD, $c->{length};
    refuse('bytes behind the payload') unless all_zero(substr $whole, $HEAD + $c->{length});
    substr $whole, 12, 4, "\0\0\0\0";
    refuse('checksum is wrong') if crc32c($whole) != $c->{crc};
    return;
}

sub check_length {
    my ($s, $c) = @_;
    my ($name, $length) = @$c{qw(name length)};
    my $size = $SIZE{$name};
    if ($name eq 'stream') {
        refuse('length of a stream block') if $length < 17 || $length > 4064;
    } elsif ($name eq 'end') {
        # Of its slots: at least their number must be there before it can be compared.
        refuse('length of the end') if $length < $size;
    } elsif ($name ne 'pad') {
        $size += $s->{fpu_bytes} if $name eq 'thread';
        $size += $PAGE_SIZE if $name eq 'page';
        refuse("length of a $name") if $length != $size;
    }
    return;
}

# Which kinds may come when: before HEADER, in the checkpoint, after BEGIN, after END.
sub check_order {
    my ($s, $c) = @_;
    my %may = (first => 'header', checkpoint => 'vma thread page begin pad',
        streams => 'stream end pad', end => 'pad');
    my $found = grep { $_ eq $c->{name} } split / /, $may{ $s->{phase} };
    refuse("$c->{name} is out of order") unless $found;
    return;
}

# Rules that every structure keeps: reserved fields are 0, texts end within their fields.
sub check_fields {
    my ($c) = @_;
    for my $field (@{ $FIELDS{ $c->{name} } }) {
        my ($name, $form) = @$field;
        my $value = $c->{f}{$name};
        refuse("$name is not 0") if $name =~ /^reserved/ && $value != 0;
        refuse("$name has no end") if $form eq 'T' && $name ne 'magic' && $value !~ /\0/;
    }
    return;
}

# ---- What the kinds of chunk are checked for, and their lines ----------------------------------

sub on_header {
    my ($s, $c) = @_;
    my $f = $c->{f};
    refuse('not a recording') if $f->{magic} ne 'SKELCREW';
    refuse('version is not 2') if $f->{version} != 2;
    refuse('page size is not 4096') if $f->{page_size} != $PAGE_SIZE;
    refuse('arguments have no end') if substr($f->{arguments}, -1) ne "\0";
    refuse('unknown unit') if $f->{unit} > 1;
    refuse('fewer arguments than it says')
        if $f->{arguments} =~ tr/\0// < $f->{argument_count};
    refuse('hash of no program')
        if $f->{program_bytes} == 0 && !all_zero($f->{program_hash});
    refuse('size of FPU areas') if $f->{fpu_bytes} < 512 || $f->{fpu_bytes} > 4096;
    refuse('output_used out of range') if $f->{output_used} > 128;
    refuse('output_digest_size is not 16') if $f->{output_digest_size} != 16;
    $s->{fpu_bytes} = $f->{fpu_bytes};
    $s->{phase} = 'checkpoint';
    push @{ $s->{lines} }, json_chunk($c);
    return;
}

sub on_vma {
    my ($s, $c) = @_;
    my ($start, $end) = @{ $c->{f} }{qw(start end)};
    refuse('mapping is not of whole pages') if ($start | $end) & ($PAGE_SIZE - 1);
    refuse('mapping is out of range') if $start >= $end || $end > $TOP;
    refuse('unknown prot') if $c->{f}{prot} > 7;
    refuse('mappings do not ascend') if @{ $s->{vmas} } && $start < $s->{vmas}[-1][1];
    push @{ $s->{vmas} }, [$start, $end];
    push @{ $s->{lines} }, json_chunk($c);
    return;
}

sub on_thread {
    my ($s, $c) = @_;
    refuse('slots of threads are not in order') if $c->{slot} != $s->{threads};
    refuse('size of the FPU area differs') if $c->{f}{fpu_bytes} != $s->{fpu_bytes};
    $s->{threads}++;
    my $fpu = unpack 'H*', substr $c->{payload}, $SIZE{thread};
    push @{ $s->{lines} }, json_chunk($c, "\"fpu\":\"$fpu\"");
    return;
}

sub on_page {
    my ($s, $c) = @_;
    my $address = $c->{f}{address};
    refuse('address of a page') if $address & ($PAGE_SIZE - 1) || $address >= $TOP;
    refuse('pages do not ascend') if @{ $s->{pages} } && $address <= $s->{pages}[-1];
    my $bytes = substr $c->{payload}, $SIZE{page};
    refuse('a page of zeroes') if all_zero($bytes);
    push @{ $s->{pages} }, $address;
    # One b2sum hashes all pages at the end; until then the line waits without its hash.
    push @{ $s->{lines} }, json_chunk($c, '"blake2b":"?"');
    push @{ $s->{unhashed} }, [$#{ $s->{lines} }, $bytes];
    return;
}

sub on_begin {
    my ($s, $c) = @_;
    my $f = $c->{f};
    refuse('number of mappings') if $f->{vmas} != @{ $s->{vmas} };
    refuse('number of threads') if $f->{threads} != $s->{threads} || $s->{threads} == 0;
    refuse('number of pages') if $f->{pages} != @{ $s->{pages} };
    $s->{phase} = 'streams';
    push @{ $s->{lines} }, json_chunk($c);
    return;
}

# The block's line comes before its events, so before a damaged one is met.
sub on_stream {
    my ($s, $c) = @_;
    my ($slot, $f) = @$c{qw(slot f)};
    my $count = $f->{events};
    refuse('number of events in a block') if $count < 1 || $count > 4048;
    my $before = $s->{events}[$slot] // 0;
    refuse('blocks of a thread have a gap') if $f->{first_event} != $before + 1;
    push @{ $s->{lines} }, json_chunk($c);
    my $coded = substr $c->{payload}, $SIZE{stream};
    my $in = new_coder($coded, $c->{offset} + $HEAD + $SIZE{stream}, $slot, $before + 1);
    for (1 .. $count) {
        my $e = next_event($in);
        push @{ $s->{lines} }, json_event($e);
        push @{ $s->{stream}[$slot] }, $e if $s->{content};
    }
    refuse('bytes behind the events of a block', $in->{base} + $in->{at})
        if $in->{at} != length $coded;
    $s->{events}[$slot] = $before + $count;
    return;
}

sub on_end {
    my ($s, $c) = @_;
    my $f = $c->{f};
    my $slots = $f->{slots};
    refuse('number of slots') if $slots > 64 || $slots < $s->{threads};
    refuse('length of the end') if $c->{length} != $SIZE{end} + 16 * $slots;
    refuse('a flag of the end') if grep { $f->{$_} > 1 } qw(complete ended killed);
    refuse('complete, but for a reason not, or the other way round')
        if $f->{complete} == (before_zero($f->{reason}) ne '');
    refuse('of a process that did not end') if !$f->{ended} && ($f->{killed} || $f->{exit_status});
    refuse('what killed a process that was not killed')
        if !$f->{killed} && before_zero($f->{end_reason}) ne '';
    refuse('streams of more threads than slots') if @{ $s->{events} } > $slots;
    my @numbers = unpack 'Q<*', substr $c->{payload}, $SIZE{end};
    my @threads;
    for my $slot (0 .. $slots - 1) {
        my ($ticks, $events) = @numbers[2 * $slot, 2 * $slot + 1];
        refuse("number of events of slot $slot") if $events != ($s->{events}[$slot] // 0);
        push @threads, "{\"ticks\":$ticks,\"events\":$events}";
        push @{ $s->{end_ticks} }, $ticks;
    }
    $s->{phase} = 'end';
    $s->{end} = $f;
    push @{ $s->{lines} }, json_chunk($c, '"threads":[' . join(',', @threads) . ']');
    return;
}

sub on_pad {
    my ($s, $c) = @_;
    refuse('pad holds something') unless all_zero($c->{payload});
    push @{ $s->{lines} }, json_chunk($c);
    return;
}

my %ON = (header => \&on_header, vma => \&on_vma, thread => \&on_thread, page => \&on_page,
    begin => \&on_begin, stream => \&on_stream, end => \&on_end, pad => \&on_pad);

# ---- What is in it (--content) -----------------------------------------------------------------

sub refuse_at {
    my ($e, $text) = @_;
    refuse("event $e->{number} of slot $e->{slot} ($e->{name}): $text");
}

sub check_rights {
    my ($e) = @_;
    my ($name, $rights) = @$e{qw(name rights)};
    refuse_at($e, 'page is not below 2^47') if exists $e->{page} && $e->{page} >> 35;
    return unless defined $rights;
    refuse_at($e, 'execute right') if $rights & 4 && $name ne 'promote';
    refuse_at($e, 'demoted to write') if $name eq 'demote' && $rights == 2;
    refuse_at($e, 'no right') if $name ne 'demote' && ($rights & 3) == 0;
    return;
}

sub check_deps {
    my ($s, $e) = @_;
    my %seen;
    for my $dep (@{ $e->{deps} // [] }) {
        my ($slot, $number) = @$dep;
        refuse_at($e, 'depends on its own thread') if $slot == $e->{slot};
        refuse_at($e, 'depends on a thread twice') if $seen{$slot}++;
        refuse_at($e, 'depends on an event that is not there')
            if $s->{complete} && $number > ($s->{events}[$slot] // 0);
    }
    return;
}

# A thread's stream: ticks, system calls, and how it ends. Threads begin in user mode: those of
# the checkpoint by what the page says of their registers, others as the samples show.
sub check_stream {
    my ($s, $slot) = @_;
    my ($ticks, $in_call, $over) = (0, 0, 0);
    my %inside = map { $_ => 1 } qw(result order owner revoke exit);
    my %last = map { $_ => 1 } qw(stop exit fatal);
    for my $e (@{ $s->{stream}[$slot] // [] }) {
        my $name = $e->{name};
        refuse_at($e, 'behind the end of the thread') if $over;
        refuse_at($e, 'ticks fall') if $e->{ticks} < $ticks;
        refuse_at($e, 'unknown object') if $name eq 'order' && $e->{a} > 18;
        refuse_at($e, 'unknown kind of value')
            if $name eq 'value' && ($e->{a} < 1 || $e->{a} > 4);
        refuse_at($e, 'within a system call') if $name eq 'syscall' && $in_call;
        refuse_at($e, 'outside of a system call') if $inside{$name} && !$in_call;
        check_rights($e);
        check_deps($s, $e);
        $in_call = $name eq 'syscall' ? 1 : $name eq 'result' ? 0 : $in_call;
        $over = $last{$name};
        $ticks = $e->{ticks};
    }
    return unless $s->{complete};
    refuse("the stream of slot $slot has no end") unless $over;
    refuse("ticks of slot $slot fall at END") if $s->{end_ticks}[$slot] < $ticks;
    return;
}

# Only `clone` (56) makes threads: at most one a call, and one for each that returned a tid.
sub check_threads {
    my ($s) = @_;
    my ($least, $most) = ($s->{threads}, $s->{threads});
    for my $stream (@{ $s->{stream} }) {
        my $call = 0;
        for my $e (@{ $stream // [] }) {
            $call = $e->{a} if $e->{name} eq 'syscall';
            $most++ if $e->{name} eq 'syscall' && $call == 56;
            next unless $e->{name} eq 'result' && $call == 56;
            $least++ if $e->{a} > 0 && $e->{a} < 1 << 63 && $e->{a} != 56;
        }
    }
    my $slots = $s->{end}{slots};
    refuse("$least to $most threads came, END has $slots") if $slots < $least || $slots > $most;
    return;
}

sub check_mapped {
    my ($s) = @_;
    my @vmas = @{ $s->{vmas} };
    for my $address (@{ $s->{pages} }) {
        shift @vmas while @vmas && $vmas[0][1] <= $address;
        refuse(sprintf 'page 0x%x is outside of all mappings', $address)
            unless @vmas && $vmas[0][0] <= $address;
    }
    return;
}

sub may_write { return ($_[0] & 2) != 0 }

# Other views when one gains rights: a view of an ended thread gives way without an event.
sub make_way {
    my ($v, $e) = @_;
    my $holders = $v->{holders}{ $e->{page} };
    for my $slot (keys %$holders) {
        next if $slot == $e->{slot};
        next unless may_write($e->{rights}) || may_write($holders->{$slot});
        refuse_at($e, "slot $slot holds the page too") unless $v->{over}[$slot];
        delete $holders->{$slot};
    }
    return;
}

# Carries out one event on the views. Execute is no right of theirs.
sub step_views {
    my ($v, $e) = @_;
    my ($name, $page, $slot) = @$e{qw(name page slot)};
    $v->{over}[$slot] = 1 if $name =~ /^(?:stop|exit|fatal)$/;
    return unless defined $page;
    my $holders = $v->{holders}{$page} //= {};
    my $held = $holders->{$slot} // 0;
    my $rights = ($e->{rights} // 0) & 3;
    if ($name eq 'promote') {
        refuse_at($e, 'holds that already') if $held >= $rights;
        make_way($v, $e);
        $holders->{$slot} = $rights;
    } elsif ($name eq 'demote') {
        refuse_at($e, 'loses what it has not')
            unless $e->{rights} ? may_write($held) : $held;
        delete $holders->{$slot};
        $holders->{$slot} = $e->{rights} if $e->{rights};
    } elsif ($name eq 'access') {
        refuse_at($e, 'accesses what it has not')
            unless may_write($e->{rights}) ? may_write($held) : $held;
    } elsif ($name eq 'revoke') {
        my @others = grep { $_ != $slot && !$v->{over}[$_] } keys %$holders;
        refuse_at($e, "slot $others[0] holds the page still") if @others;
        %$holders = ();
    }
    return;
}

# Runs all threads, each as far as what its events depend on has happened. Where none can go on
# and some have not ended, they wait for each other.
sub check_views {
    my ($s) = @_;
    my @done = (0) x $s->{end}{slots};
    my %views = (holders => {}, over => []);
    my ($moved, $left) = (1, 0);
    $left += $_ // 0 for @{ $s->{events} };
    while ($left && $moved) {
        $moved = 0;
        for my $slot (0 .. $#done) {
            my $stream = $s->{stream}[$slot] // [];
            while (my $e = $stream->[ $done[$slot] ]) {
                last if grep { $done[$_->[0]] < $_->[1] } @{ $e->{deps} // [] };
                step_views(\%views, $e);
                $done[$slot]++;
                $moved++;
            }
        }
        $left -= $moved;
    }
    refuse('events wait for each other') if $left;
    return;
}

sub check_content {
    my ($s) = @_;
    $s->{complete} = $s->{end} && $s->{end}{complete};
    check_mapped($s);
    check_stream($s, $_) for 0 .. ($s->{end} ? $s->{end}{slots} : @{ $s->{stream} }) - 1;
    return unless $s->{complete};
    check_threads($s);
    check_views($s);
    return;
}

# The verdict, made worse where the content breaks a rule.
sub judge_content {
    my ($s, $verdict) = @_;
    return $verdict if $verdict->{verdict} eq 'bad';
    return $verdict if eval { check_content($s); 1 };
    die $@ unless ref $@;
    return verdict(bad => $verdict->{place}, "content: $@->{text}");
}

# ---- The file ----------------------------------------------------------------------------------

# Reads the chunk at `offset`; returns where the next begins, or nothing where the file is cut.
sub read_chunk {
    my ($s, $file, $offset) = @_;
    my $c = read_head($file, $offset) or return;
    check_head($s, $c);
    my $size = ($HEAD + $c->{length} + 7) & ~7;
    return if length($$file) - $offset < $size;
    check_bytes($c, substr $$file, $offset, $size);
    check_kind($c);
    check_order($s, $c);
    check_length($s, $c);
    my @names = map { $_->[0] } @{ $FIELDS{ $c->{name} } };
    @{ $c->{f} }{@names} = unpack $TEMPLATE{ $c->{name} }, $c->{payload} if @names;
    check_fields($c);
    $ON{ $c->{name} }->($s, $c);
    $s->{sequence}++;
    return $offset + $size;
}

sub verdict {
    my ($verdict, $place, $text) = @_;
    return { verdict => $verdict, place => $place, text => $text };
}

sub read_chunks {
    my ($s, $file) = @_;
    my $offset = 0;
    while ($offset < length $$file) {
        my $next = eval { read_chunk($s, $file, $offset) };
        if (my $why = $@) {
            die $why unless ref $why;    # an error of this program
            return verdict(bad => $why->{place} // $offset, $why->{text});
        }
        return verdict(cut => $offset, 'the file ends within a chunk') unless $next;
        $offset = $next;
    }
    return verdict(cut => $offset, 'the file ends before END') unless $s->{end};
    return verdict(complete => $offset, 'all there') if $s->{end}{complete};
    return verdict(stopped => $offset, before_zero($s->{end}{reason}));
}

sub write_file {
    my ($path, $bytes) = @_;
    open my $out, '>:raw', $path or die "$path: $!\n";
    print {$out} $bytes;
    close $out or die "$path: $!\n";
    return;
}

# Puts the hashes of the pages into their lines. The names are short and few thousand at a time:
# a command's arguments have room for no more than some 100000.
sub hash_pages {
    my ($s) = @_;
    my @waiting = @{ $s->{unhashed} };
    while (my @batch = splice @waiting, 0, 20000) {
        my $dir = File::Temp->newdir;
        write_file("$dir/$_", $batch[$_][1]) for 0 .. $#batch;
        open my $sums, '-|', 'b2sum', '-l', '256', map { "$dir/$_" } 0 .. $#batch
            or die "b2sum: $!\n";
        my @sums = <$sums>;
        close $sums and @sums == @batch or die "b2sum failed\n";
        for my $i (0 .. $#batch) {
            my ($sum) = $sums[$i] =~ /^([0-9a-f]{64}) / or die "b2sum: $sums[$i]";
            $s->{lines}[ $batch[$i][0] ] =~ s/"blake2b":"\?"/"blake2b":"$sum"/;
        }
    }
    return;
}

sub slurp {
    my ($path) = @_;
    open my $in, '<:raw', $path or do { print STDERR "$path: $!\n"; exit 2 };
    local $/;
    my $bytes = <$in>;
    close $in;
    return \($bytes // '');
}

sub main {
    my $content = @ARGV && $ARGV[0] eq '--content' && shift @ARGV;
    if (@ARGV != 1) {
        print STDERR "usage: read_log.pl [--content] FILE\n";
        exit 2;
    }
    my %s = (phase => 'first', sequence => 0, threads => 0, vmas => [], pages => [],
        content => $content, events => [], stream => [], lines => [], unhashed => []);
    my $file = slurp($ARGV[0]);
    my $verdict = read_chunks(\%s, $file);
    $verdict = judge_content(\%s, $verdict) if $content;
    my $complete = $verdict->{verdict} eq 'complete';
    hash_pages(\%s);
    print "$_\n" for @{ $s{lines} };
    print "{\"record\":\"verdict\",\"verdict\":\"$verdict->{verdict}\",",
        "\"offset\":$verdict->{place},\"complete\":", $complete ? 'true' : 'false',
        ',"text":', json_text($verdict->{text}), "}\n";
    exit($complete ? 0 : 1);
}

main() unless caller;
1;
