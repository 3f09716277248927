#!/bin/bash
# SPDX-License-Identifier: MIT
# The flight recorder from end to end: events are written in the kernel, sent over the second serial
# port, received and checked, and read by babeltrace2, which must have nothing to complain about and
# give back every field.
# TIME_LIMIT=600
. tests/lib.sh

TEST_KERNEL=build/test/kernel32.elf

# trace_run NAME "what" SETTING…: a run whose trace goes to build/tests/NAME/trace.
trace_run() {
    local name=$1 what=$2
    shift 2
    rm -rf "build/tests/$name"
    kernel_check "$name" "$what" EXPORT="build/tests/$name" "$@"
}

# read_trace NAME: babeltrace2's text is $TRACE, times as counts of the TSC.
read_trace() {
    TRACE=build/tests/$1/events
    tap_check "$1: babeltrace2 reads it" babeltrace2 --clock-cycles --no-delta \
        "build/tests/$1/trace" --output="$TRACE"
    babeltrace2 --clock-cycles --no-delta "build/tests/$1/trace" 2>"$TRACE.stderr" >/dev/null
    tap_check "$1: and has nothing to complain about" test ! -s "$TRACE.stderr"
}

# How many events there are of a name.
count_events() {
    grep -c "^\[[0-9]*\] $1: " "$TRACE"
}

# Each event of the storm anew, from its CPU, its context and its number there; then how many there
# were. A context's numbers follow on each other, and no time goes back.
check_storm() {
    # shellcheck disable=SC2016 # awk's
    awk '
        function expected(cpu, context, number, thread,    index_of) {
            index_of = context == "thread" ? 0 : context == "call" ? 1 : 2
            return sprintf("test_flight: { cpu_id = %d }, { thread = %d }, { cpu = %d, " \
                "context = \"%s\", number = %d, negative = -%d, place = 0xFFFF8000%08X, " \
                "check = %.0f }", cpu, thread, cpu, context, number, number, number * 4096,
                number * 2654435761 + cpu * 1000 + index_of)
        }
        NR == FNR {
            if ($1 == "@flight-written") {
                for (i = 2; i <= NF; i++) { split($i, part, "="); value[part[1]] = part[2] }
                wanted[value["cpu"], "thread"] = value["thread"]
                wanted[value["cpu"], "call"] = value["call"]
                wanted[value["cpu"], "nmi"] = value["nmi"]
            }
            next
        }
        {
            time = substr($1, 2, 20)
            if (time < last_time) { print "time goes back: " $0; wrong++ }
            last_time = time
            cpu = $6
            match($0, /\{ thread = [0-9]+/)
            thread = substr($0, RSTART + 11, RLENGTH - 11)
            split($0, quoted, "\"")
            context = quoted[2]
            number = ++seen[cpu, context]
            if (substr($0, 24) != expected(cpu, context, number, thread)) {
                print "got " $0
                print "expected " expected(cpu, context, number, thread)
                if (++wrong > 5) exit
            }
        }
        END {
            for (key in wanted) {
                contexts++
                if (wanted[key] != seen[key]) {
                    split(key, part, SUBSEP)
                    print "CPU " part[1] ", " part[2] ": " seen[key] + 0 " of " wanted[key]
                    wrong++
                }
            }
            if (contexts != 3 * cpus) { print contexts + 0 " contexts of " cpus " CPUs"; wrong++ }
            exit wrong > 0
        }' cpus="$1" "$KERNEL_LOG" "$TRACE"
}

command -v babeltrace2 >/dev/null || tap_skip_all "no babeltrace2 here"
tap_check "the kernel with its suites builds" make TESTS=1 O=build/test kernel

# --- every field of every event ---

for cpus in 1 4; do
    trace_run "trace-storm-$cpus" "$cpus CPUs: a storm of events is recorded and sent" \
        CPUS=$cpus KERNEL=$TEST_KERNEL RUN="selftest flight; trace save; poweroff"
    read_trace "trace-storm-$cpus"
    tap_check "$cpus CPUs: every field of every event is as it was written" check_storm $cpus
done
tap_check "an event costs at most 150 instructions, or that cannot be counted here" \
    awk -F= '/^@flight-cost/ { n++; if ($3 > 150) bad++ } / # SKIP no performance counter/ { n = 3 }
        END { exit !(n == 3 && !bad) }' "$KERNEL_LOG"

# --- the kernel's own markers: the trace says what the log says ---

# The page that each event of each thread promoted or lost, from the listing of `log`, and from the
# trace: thread, number of the event, page.
pages_of_log() {
    awk '/^thread / { thread = $2 + 0 }
        / (promote|demote) page / { print thread, $1, $4 }' "$KERNEL_LOG" | sort
}
pages_of_trace() {
    local who='.*(thread|victim) = ([0-9]+), page = 0x([0-9A-F]+), .* event = ([1-9][0-9]*)'
    sed -En "s/.* crew_(promote|demote): ${who}[, ].*/\\3 \\5 \\4/p" "$TRACE" |
        awk '{ print $1, $2, "0x" tolower($3) }' | sort
}
same_pages() {
    [ -n "$(pages_of_log)" ] && diff <(pages_of_log) <(pages_of_trace)
}

# CPU, thread before, thread after.
check_switches() {
    local switch='sched_switch: \{ cpu_id = ([0-9]+) .* from = ([0-9]+), to = ([0-9]+)'
    sed -En "s/.* ${switch},.*/\\1 \\2 \\3/p" "$TRACE" | awk '
        $1 in running && running[$1] != $2 { print; wrong = 1 }
        { running[$1] = $3 }
        END { exit wrong || NR < 4 }'
}

trace_run trace-all "recorded and replayed while everything is traced" CPUS=2 \
    RUN="trace on *; record racey 2 60; replay; trace off; trace save; log; poweroff"
read_trace trace-all
tap_check "promotions and demotions in trace and log are the same" same_pages
events=$(sed -n 's/^@record .* events=\([0-9]*\) .*/\1/p' "$KERNEL_LOG")
tap_check "each event of the log once when recorded" test "$(count_events record_event)" = "$events"
tap_check "and once when replayed" test "$(count_events replay_event)" = "$events"
tap_check "each process starts and ends" \
    test "$(count_events process_start) $(count_events process_end)" = "2 2"
tap_check "each switch of threads takes up where the last one of its CPU left off" check_switches

# --- NMIs ---

if grep -q '^@flight-cost' build/tests/trace-storm-4.log; then
    trace_run trace-nmi "a storm of NMIs is traced" CPUS=2 \
        RUN="trace on nmi_*; pmu storm 8000; trace off; trace save; poweroff"
    read_trace trace-nmi
    log_check "none of the storm is lost" '^@storm cpus=2 interrupts=8000 lost=0 '
    tap_check "each NMI comes and goes" \
        test "$(count_events nmi_enter)" = "$(count_events nmi_exit)"
    tap_check "all of the storm's are there" \
        test "$(grep -c ' nmi_exit: .*claimed = 1 ' "$TRACE")" -ge 8000
else
    tap_skip "a storm of NMIs is traced" "no performance counter that can be used"
fi

# --- by way of the console; a ring that stops; a panic; wrong words ---

rm -rf build/tests/trace-console
kernel_check trace-console "sent to the console instead" CPUS=2 APPEND="export=console" \
    RUN="trace mode stop; trace on sched_*; run counter 2 20; trace save; poweroff"
mkdir -p build/tests/trace-console
tap_check "received from the log" build/tools/receive "$KERNEL_LOG" build/tests/trace-console
read_trace trace-console
tap_check "switches of threads are in it" test "$(count_events sched_switch)" -ge 2
sed '/^@data 720 /s/.$/!/' "$KERNEL_LOG" >build/tests/trace-console/damaged.log
tap_check "a line that was damaged is noticed" \
    grep -q 'damaged line' <(build/tools/receive build/tests/trace-console/damaged.log \
        build/tests/trace-console 2>&1)

kernel_run trace-panic CPUS=2 RUN="trace on sched_*; run counter 2 20; panic; poweroff"
tap_check "a panic ends as ever" test $KERNEL_STATUS -eq 2
log_check "and reports the last events of CPU 0" '^last events of CPU 0:$'
log_check "and of CPU 1" '^last events of CPU 1:$'
tap_check "at most 16 of each" \
    awk '/^last events of CPU/ { n = 0 }
        /^\[ *[0-9.]+\] cpu [01] thread [0-9]+ sched_/ { n++; all++ }
        n > 16 { bad = 1 }
        END { exit bad || all < 4 }' "$KERNEL_LOG"

kernel_check trace-words "wrong words are refused" \
    RUN="try trace; try trace up; try trace on; try trace on no_such_*; try trace off no_such_*; \
try trace dump x; try trace save x; try trace mode; try trace mode x; trace on sched_*; \
try trace mode stop; run counter 2 20; trace dump 3; trace status; trace off; poweroff"
tap_check "each of them" test "$(grep -c '^try: .*: ERR_' "$KERNEL_LOG")" = 10
log_check "a glob without a match, by name" '^trace: no marker.s name matches "no_such_\*"'
log_check "three events are shown" '^@trace events=[0-9]+ shown=3 lost=0$'
log_check "what is traced is said" '^@trace traced=[4-9] mode=overwrite$'
tap_done
