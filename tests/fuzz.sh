#!/bin/bash
# SPDX-License-Identifier: MIT
# Fuzzes what reads recordings' files, by clang's libFuzzer, with sanitizers, for a short time.
#
#   FUZZ_SECONDS=600 tests/fuzz.sh      longer
#
# Starts from tests/fuzz/corpus; what it finds on top stays in build/fuzz/. An input that fails lies
# there as well: build/fuzz/fuzz_log FILE runs it again. (tests/host/test_fuzz_corpus.c reads the
# corpus without clang.)
. tests/lib.sh

SECONDS_TO_RUN=${FUZZ_SECONDS:-20}
CLANG=${CLANG:-clang}
OUT=build/fuzz
FILES=(tests/fuzz/fuzz_log.c tests/host/log_maker{,_threads}.c tools/crewlog/{log,tool,file}.c
    replay/{log_file,log_check,log_codec,event_text,point}.c kernel/{hash,format,names}.c
    arch/x86/vectors.c)
mkdir -p $OUT/corpus

# Whether this clang has the fuzzer's runtime, which Debian packs apart (libclang-rt-N-dev).
fuzzer_works() {
    printf '%s\n' '#include <stddef.h>' \
        'int LLVMFuzzerTestOneInput(const unsigned char *d, size_t n) { return !d && n; }' |
        "$CLANG" -fsanitize=fuzzer,address,undefined -x c -o $OUT/probe - 2>$OUT/probe.txt
}

build_fuzzer() {
    "$CLANG" -std=gnu17 -O1 -g -I. -fsanitize=fuzzer,address,undefined \
        -fno-sanitize-recover=all -Wall -Wextra -Werror -o $OUT/fuzz_log "${FILES[@]}"
}

run_fuzzer() {
    $OUT/fuzz_log -max_total_time="$SECONDS_TO_RUN" -timeout=60 -rss_limit_mb=1024 -max_len=65536 \
        -artifact_prefix=$OUT/ -print_final_stats=1 $OUT/corpus tests/fuzz/corpus \
        >$OUT/fuzz_log.txt 2>&1 || { tail -n 40 $OUT/fuzz_log.txt; return 1; }
}

# The runs it made, from its statistics.
enough_runs() {
    local runs
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' $OUT/fuzz_log.txt)
    echo "runs: ${runs:-none}"
    [ "${runs:-0}" -gt 1000 ]
}

if ! command -v "$CLANG" >/dev/null; then
    tap_skip "the reader of recordings is fuzzed" "no $CLANG here"
elif ! fuzzer_works; then
    tap_skip "the reader of recordings is fuzzed" \
        "$CLANG has no fuzzer runtime (libclang-rt-*-dev): $(head -n 1 $OUT/probe.txt)"
else
    tap_check "the fuzzer is built" build_fuzzer
    tap_check "nothing is found in $SECONDS_TO_RUN seconds" run_fuzzer
    tap_check "more than 1000 inputs were tried" enough_runs
fi
tap_done
