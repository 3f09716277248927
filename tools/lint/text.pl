#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Checks what every source file must have: licence line, width, no tabs, no path of one machine,
# bounded length of files and functions. Prints `file:line: what is wrong`, fails if anything is.
#
#   perl tools/lint/text.pl FILE…      from the repository's root
#
# tools/lint/long.txt lists the files and functions that may be longer, each with its reason.
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));

my $WIDTH          = 100;
my $FILE_LINES     = 400;
my $FUNCTION_LINES = 60;
my $SOURCE         = qr/\.(?:c|h|asm|inc|sh|pl|awk|mk|ld|cfg|pml)$|(?:^|\/)(?:Makefile|run)$/;
my $LONG_LIST      = 'tools/lint/long.txt';

my $wrong = 0;
my %may_be_long;    # "file" or "file:function"

sub complain {
    my ($file, $line, $text) = @_;
    print "$file:$line: $text\n";
    $wrong = 1;
}

sub read_lines {
    my ($file) = @_;
    open my $handle, '<', $file or die "$file: $!\n";
    my @lines = <$handle>;
    close $handle;
    chomp @lines;
    return @lines;
}

sub check_licence {
    my ($file, @lines) = @_;
    my $licence = $file =~ m{^tools/qemu-pmu/} ? 'GPL-2\.0-or-later' : 'MIT';
    my $line = ($lines[0] // '') =~ /^#!/ || ($lines[0] // '') =~ /^# shellcheck / ? 1 : 0;
    return if ($lines[$line] // '') =~ /SPDX-License-Identifier: $licence\b/;
    complain($file, $line + 1, "no line `SPDX-License-Identifier: $licence`" =~ tr/\\//dr);
}

sub check_lines {
    my ($file, @lines) = @_;
    my $source = $file =~ $SOURCE;
    for my $i (0 .. $#lines) {
        my $text = $lines[$i];
        complain($file, $i + 1, 'blanks at the end of the line') if $source && $text =~ /\s$/;
        complain($file, $i + 1, 'a tab') if $file =~ /\.[ch]$/ && $text =~ /\t/;
        complain($file, $i + 1, 'longer than ' . $WIDTH . ' columns')
            if $source && length($text) > $WIDTH;
        complain($file, $i + 1, 'an absolute path of one machine')
            if $text =~ m#(?<![\w.~*)}/-])/(?:home|work|root)/#;
    }
}

sub check_file_length {
    my ($file, @lines) = @_;
    return if @lines <= $FILE_LINES || $file !~ /\.(?:c|h|asm|inc|sh)$/ || $may_be_long{$file};
    complain($file, scalar @lines, "more than $FILE_LINES lines, and not in $LONG_LIST");
}

# In this house's style a function's braces stand in column 0, and its name is the last word before
# the parameters.
sub check_functions {
    my ($file, @lines) = @_;
    return if $file !~ /\.c$/;
    my ($name, $start) = ('?', 0);
    for my $i (0 .. $#lines) {
        $name = $1 if $lines[$i] =~ /^[A-Za-z_].*?\b(\w+)\(/;
        $start = $i if $lines[$i] eq '{';
        next if $lines[$i] ne '}' || !$start;
        my $length = $i - $start - 1;
        complain($file, $start + 1, "$name has $length lines, more than $FUNCTION_LINES")
            if $length > $FUNCTION_LINES && !$may_be_long{"$file:$name"};
        $start = 0;
    }
}

if (-e $LONG_LIST) {
    for my $line (grep { !/^#/ && /\S/ } read_lines($LONG_LIST)) {
        my ($what, $reason) = split ' ', $line, 2;
        complain($LONG_LIST, 0, "$what has no reason") unless $reason;
        complain($LONG_LIST, 0, "$what does not exist") unless -e ($what =~ s/:.*//r);
        $may_be_long{$what} = 1;
    }
}
for my $file (@ARGV) {
    my @lines = read_lines($file);
    check_licence($file, @lines) if $file =~ $SOURCE;
    check_lines($file, @lines);
    check_file_length($file, @lines);
    check_functions($file, @lines);
}
exit $wrong;
