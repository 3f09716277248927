#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Checks a trace in Chrome's format: valid JSON, slices that nest, flows that begin and end in a
# slice and go forward. Prints what is wrong and fails, or one line of numbers.
#
#   perl tests/tools/check_trace.pl TRACE.json
use strict;
use warnings;
use JSON::PP;

sub wrong { print "@_\n"; exit 1 }

my $text = do { local (@ARGV, $/) = @ARGV; <> };
my @events = @{ decode_json($text)->{traceEvents} };
my (%slices, %named, %starts, $instants, $flows, $slices);

for my $event (@events) {
    my $thread = "$event->{pid} $event->{tid}";
    my $phase = $event->{ph};
    $named{$thread} = 1 if $phase eq 'M' && $event->{name} eq 'thread_name';
    length $event->{name} or wrong 'an event without a name';
    next if $phase eq 'M';
    $event->{ts} =~ /^\d+(\.\d+)?$/ or wrong "what time is $event->{ts}?";
    $named{$thread} or wrong "a thread without a name: $thread";
    if ($phase eq 'X') {
        $event->{dur} > 0 or wrong 'a slice that lasts not at all';
        push @{ $slices{$thread} }, [$event->{ts}, $event->{ts} + $event->{dur}];
        $slices++;
    }
    if ($phase eq 'i') { $event->{s} eq 't' or wrong 'an instant of no thread'; $instants++ }
    if ($phase eq 's') { $starts{ $event->{id} } = $event; }
}

for my $list (values %slices) {
    my @open;
    for my $slice (sort { $a->[0] <=> $b->[0] || $b->[1] <=> $a->[1] } @$list) {
        pop @open while @open && $open[-1][1] <= $slice->[0];
        @open && $slice->[1] > $open[-1][1] and wrong "slices cross at $slice->[0]";
        push @open, $slice;
    }
}

sub in_slice {
    my ($event) = @_;
    my ($list, $at) = ($slices{"$event->{pid} $event->{tid}"}, $event->{ts});
    return grep { $_->[0] <= $at && $at <= $_->[1] } @$list;
}

for my $event (grep { $_->{ph} eq 'f' } @events) {
    my $start = delete $starts{ $event->{id} } or wrong 'a flow without a start';
    $start->{name} eq $event->{name} && $start->{cat} eq $event->{cat} or wrong 'another flow';
    $start->{ts} < $event->{ts} or wrong 'a flow that goes back';
    in_slice($start) && in_slice($event) or wrong 'a flow outside of slices';
    $flows++;
}
wrong 'a flow without an end' if %starts;
printf "%d slices, %d instants, %d flows\n", $slices // 0, $instants // 0, $flows // 0;
