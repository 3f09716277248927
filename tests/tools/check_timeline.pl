#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Checks a page of `crewlog timeline`: well-formed HTML that refers to nothing outside, and data
# that keep their own rules. Prints what is wrong and fails, or one line of numbers.
#
#   perl tests/tools/check_timeline.pl PAGE.html
use strict;
use warnings;
use JSON::PP;

my $page = do { local (@ARGV, $/) = @ARGV; <> };
my %single = map { $_ => 1 } qw(meta input br hr img link);

sub wrong { print "@_\n"; exit 1 }

# --- the page ---

$page =~ /^<!DOCTYPE html>\n/ or wrong 'no document type';
wrong "refers to $1" if $page =~ m{((?:https?:)?//(?:www\.)?[a-z0-9-]+\.[a-z]+)}i;
wrong "loads $1" if $page =~ /<[^>]*\b((?:src|href)\s*=[^>]*)>/i;
wrong 'style that loads' if $page =~ /\@import|\burl\((?!#)/;
my ($json) = $page =~ m{<script type="application/json" id="data">\n(.*?)</script>}s
    or wrong 'no data';

my @open;
(my $bare = $page) =~ s{(<(script|style)\b[^>]*>).*?(</\2>)}{$1$3}gs;
$bare =~ s/<!DOCTYPE html>//;
while ($bare =~ /([^<]*)(?:<(\/?)([a-z][a-z0-9]*)((?:\s+[a-z-]+(?:="[^"<>]*")?)*)\s*(\/?)>)?/gc) {
    my ($text, $end, $name, $closed) = ($1, $2, $3, $5);
    wrong "a stray > in: $text" if $text =~ />/;
    last if !defined $name;
    next if $closed || $single{$name};
    push @open, $name if !$end;
    (pop(@open) // '') eq $name or wrong "</$name> ends nothing" if $end;
}
pos($bare) == length($bare) or wrong 'no tag: ' . substr($bare, pos($bare), 60);
wrong "not closed: @open" if @open;

# --- the data ---

my $data = decode_json($json);
my @threads = @{ $data->{threads} };
my $events = 0;
for my $thread (@threads) {
    my $count = @{ $thread->{k} };
    $events += $count;
    for my $column (qw(x t r c p g)) {
        @{ $thread->{$column} } == $count or wrong "column $column has another length";
    }
    my $sum = 0;
    $thread->{at} = [map { $sum += $_ } @{ $thread->{x} }];
    my $first = 1;
    for my $step (@{ $thread->{x} }) {
        wrong 'positions of a thread do not ascend' if !$first && $step < 1;
        $first = 0;
    }
    $_ < @{ $data->{places} } or wrong 'a place that there is not' for @{ $thread->{r} };
    $_ < @{ $data->{pages} }  or wrong 'a page that there is not'  for @{ $thread->{p} };
}
$events + $data->{left_out} == $data->{events} or wrong "$events events of $data->{events}";

my $deps = 0;
for my $thread (@threads) {
    for my $list (@{ $thread->{d} }) {
        my ($index, @others) = @$list;
        while (my ($slot, $other) = splice @others, 0, 2) {
            $deps++;
            $threads[$slot]{at}[$other] < $thread->{at}[$index]
                or wrong 'an event stands before what it depends on';
        }
    }
}
my @transfers = @{ $data->{transfers} };
my $transfers = @transfers / 5;
my %kind;
@kind{ @{ $data->{kinds} } } = 0 .. $#{ $data->{kinds} };
while (my ($from_slot, $from, $to_slot, $to, $with_data) = splice @transfers, 0, 5) {
    my ($left, $right) = @threads[$from_slot, $to_slot];
    wrong 'a transfer to the thread itself' if $from_slot == $to_slot;
    $left->{p}[$from] == $right->{p}[$to] or wrong 'a transfer between pages';
    $left->{at}[$from] < $right->{at}[$to] or wrong 'a transfer back in order';
    my $kind = $right->{k}[$to];
    $kind == $kind{promote} || $kind == $kind{revoke} or wrong 'a transfer to another kind';
}
print "$events events, $deps dependencies, $transfers transfers\n";
