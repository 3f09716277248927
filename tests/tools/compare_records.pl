#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Whether two outputs of recordings' readers (JSON, an object a line) say the same: every value of
# every record, numbers by all their digits. Only a verdict's text is each reader's own.
#
#   perl tests/tools/compare_records.pl FILE FILE
#
# Prints the first line that differs, and in what; else how many records and values are the same,
# and the verdict.
# Exit status: 0 the same, 1 they differ or are not JSON. (JSON::PP would not do: it does not tell
# a long number from a text.)
use strict;
use warnings;

sub fail {
    print "@_\n";
    exit 1;
}

my %ESCAPE = ('"' => '"', '\\' => '\\', '/' => '/', b => "\b", f => "\f", n => "\n", r => "\r",
    t => "\t");

sub unescape {
    my ($text) = @_;
    $text =~ s/\\(?:u([0-9a-fA-F]{4})|(.))/defined $1 ? chr hex $1 : $ESCAPE{$2}/ge;
    return $text;
}

my $STRING = qr/"((?:[^"\\\x00-\x1f]|\\(?:["\\\/bfnrt]|u[0-9a-fA-F]{4}))*)"/;

# Puts what stands at pos into %$out, by its path: `.deps[0].slot` is `number 3`.
sub parse {
    my ($line, $path, $out) = @_;
    if ($$line =~ /\G\{/gc) {
        parse_object($line, $path, $out);
    } elsif ($$line =~ /\G\[/gc) {
        parse_list($line, $path, $out);
    } elsif ($$line =~ /\G$STRING/gc) {
        $out->{$path} = 'text ' . unescape($1);
    } elsif ($$line =~ /\G(0|[1-9][0-9]*)/gc) {
        $out->{$path} = "number $1";
    } elsif ($$line =~ /\G(true|false)/gc) {
        $out->{$path} = $1;
    } else {
        die 'no value at column ' . pos_of($line) . "\n";
    }
    return;
}

sub pos_of { return (pos(${ $_[0] }) // 0) + 1 }

sub parse_object {
    my ($line, $path, $out) = @_;
    my %seen;
    return if $$line =~ /\G\}/gc;
    while (1) {
        $$line =~ /\G$STRING:/gc or die 'no name at column ' . pos_of($line) . "\n";
        my $name = unescape($1);
        die "$name twice\n" if $seen{$name}++;
        parse($line, "$path.$name", $out);
        last if $$line =~ /\G\}/gc;
        $$line =~ /\G,/gc or die 'no comma at column ' . pos_of($line) . "\n";
    }
    return;
}

sub parse_list {
    my ($line, $path, $out) = @_;
    my $count = 0;
    unless ($$line =~ /\G\]/gc) {
        while (1) {
            parse($line, "$path\[$count]", $out);
            $count++;
            last if $$line =~ /\G\]/gc;
            $$line =~ /\G,/gc or die 'no comma at column ' . pos_of($line) . "\n";
        }
    }
    $out->{$path} = "list of $count";
    return;
}

# The next line's values; undef at the end.
sub next_record {
    my ($file, $name) = @_;
    my $line = <$file>;
    return unless defined $line;
    $line =~ s/\n\z// or fail("$name:$.: the line has no end");
    my %values;
    eval { parse(\$line, '', \%values); 1 } or fail("$name:$.: $@");
    fail("$name:$.: more behind the object") if (pos($line) // 0) != length $line;
    delete $values{'.text'} if ($values{'.record'} // '') eq 'text verdict';
    return \%values;
}

sub compare {
    my ($number, $left, $right) = @_;
    my %all = (%$left, %$right);
    for my $path (sort keys %all) {
        my ($one, $other) = map { $_->{$path} // 'nothing' } $left, $right;
        my $record = $left->{'.record'} // '?';
        fail("line $number ($record): $path is $one, and $other") if $one ne $other;
    }
    return scalar keys %all;
}

my ($records, $values, $verdict) = (0, 0, '');
@ARGV == 2 or fail('usage: compare_records.pl FILE FILE');
my @files = map { open my $file, '<:raw', $_ or fail("$_: $!"); $file } @ARGV;
while (1) {
    my ($left, $right) = map { next_record($files[$_], $ARGV[$_]) } 0, 1;
    last unless $left || $right;
    fail("$ARGV[$left ? 1 : 0] ends before line ", $records + 1) unless $left && $right;
    $verdict = $left->{'.verdict'} // $verdict;
    $values += compare(++$records, $left, $right);
}
fail('no verdict') unless $verdict =~ s/^text //;
print "$records records, $values values, $verdict\n";
