#!/bin/bash
# SPDX-License-Identifier: MIT
# tools/bench with tiny sizes: its table of figures is complete, and what it draws is an SVG file.
# TIME_LIMIT=300
. tests/lib.sh
DIR=build/tests/bench
CSV=$DIR/bench.csv

# Each row has as many fields as the header, and the modes that its workload must have are there,
# with times, ratios in order, and what belongs to a recording and a replay.
check_csv() {
    awk -F, '
        function wrong(what) { print "line " NR ": " what ": " $0; failed = 1 }
        function missing(what) { print "missing: " what; failed = 1 }
        NR == 1 {
            fields = NF
            for (i = 1; i <= NF; i++) number[$i] = i
            next
        }
        function get(name) { return $number[name] }
        NF != fields { wrong("not " fields " fields") }
        { rows[get("workload"), get("mode"), get("vcpus")]++ }
        get("runs") !~ /^[1-9][0-9]*$/ { wrong("runs") }
        get("min_ns") + 0 <= 0 || get("min_ns") + 0 > get("median_ns") + 0 ||
            get("median_ns") + 0 > get("max_ns") + 0 { wrong("times") }
        get("ratio_native") !~ /^[0-9]+\.[0-9]+$/ ||
            get("ratio_native_min") + 0 > get("ratio_native_max") + 0 { wrong("ratios") }
        get("mode") == "record" && (get("events") + 0 <= 0 || get("bytes") + 0 <= 0 ||
            get("demotions") == "" || get("user_instructions") + 0 <= 0) { wrong("recording") }
        get("mode") == "replay" && (get("ratio_record") == "" || get("steps") == "") {
            wrong("replay")
        }
        END {
            split("private 4 20;sort 4 4000;pingpong 20", workloads, ";")
            for (w in workloads)
                if (rows[workloads[w], "native", 2] != 1 || rows[workloads[w], "counted", 2] != 1 ||
                    rows[workloads[w], "record", 2] != 1 || rows[workloads[w], "replay", 2] != 1)
                    missing("one row each of native, counted, record, replay: " workloads[w])
            if (rows["private 4 20", "qemu-record", 1] != 1 ||
                rows["private 4 20", "qemu-replay", 1] != 1)
                missing("QEMU itself, for private")
            exit failed
        }' "$CSV"
}

# Every element is closed, none is left open, and numbers are numbers.
check_svg() {
    head -n 1 "$DIR/bench.svg" | grep -q '^<svg xmlns=' &&
        tail -n 1 "$DIR/bench.svg" | grep -qx '</svg>' &&
        ! sed -e '1d;$d' "$DIR/bench.svg" |
            grep -vE '^<(rect|line) [^<>]*/>$|^<text [^<>]*>[^<>]*</text>$' &&
        ! grep -iE '"-?(nan|inf)' "$DIR/bench.svg"
}

tap_check "the kernel, the programs and the tools are built" make image build/tools/bench/stamp
rm -rf $DIR
tap_check "tiny sizes are measured, every run succeeds" \
    env BENCH=tiny BENCH_DIR=$DIR QEMU="${QEMU:-qemu-system-x86_64}" tools/bench/bench.sh
tap_check "bench.csv is complete and well formed" check_csv
tap_check "bench.svg is well formed" check_svg
tap_check "the text says of each target whether it was reached" \
    test "$(grep -cE '^  (reached|MISSED|not measured) ' $DIR/bench.txt)" -eq 11

fails() {
    ! env "$@" BENCH_DIR=$DIR/refused tools/bench/bench.sh
}
tap_check "an unknown mode is refused" fails BENCH=huge
tap_check "a pattern that fits no workload is refused" fails BENCH=tiny ONLY=nonsense
tap_check "a kernel that is not there is refused" fails BENCH=tiny KERNEL=$DIR/none.elf
tap_check "a run that fails fails the bench" fails BENCH=tiny ONLY=pingpong PROGRAMS=/dev/null
tap_done
