#!/bin/bash
# SPDX-License-Identifier: MIT
# TAP: spin proves the claims of docs/model at several sizes, and finds each rule to be needed.
#
#   tests/model.sh                    about a minute on two cores, at most 1.5 GB for each search
#   MODEL_SIZE=large tests/model.sh   larger sizes as well: some ten minutes, 4 GB for each search
#   JOBS=n                            searches at once (2)
#   MODEL_BUILD=dir                   instead of build/model
#
# A rule's line runs the model twice with the same flags: as it is, which must find no error, and
# with the rule taken out, which must fail in the way the line says. Builds in build/model/ only;
# each search leaves its generated program, output and trail in a directory there.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

MODELS=$PWD/docs/model
BUILD=${MODEL_BUILD:-$PWD/build/model}
CC=${CC:-cc}
JOBS=${JOBS:-2}
SECONDS_EACH=600

# How a search is to end:
#   holds       no claim is violated and no state is a deadlock
#   progresses  there is no non-progress cycle
#   claim N     the claim of that number is violated, all others being switched off
#   deadlock    a deadlock, all claims being switched off
#   livelock    a non-progress cycle that even fair scheduling does not leave

# Two lines each: threads x pages x instructions and what is special; optimisation (small searches
# are done before an optimiser is) and flags. Flags may begin with the file, if not crew.pml.
SIZES='2 x 2 x 2, the first instruction of each thread on one or two pages
    -O2 -DPROGRAM=1 -DFAULT_BOUND=4
2 x 2 x 3, one page each: room for slack; such an instruction faults once
    -O2 -DNACCESS=3 -DMAXEV=8 -DEXPIRY=0 -DFAULT_BOUND=1
2 x 1 x 3
    -O2 -DNPAGES=1 -DNACCESS=3 -DMAXEV=14 -DFAULT_BOUND=4
3 x 1 x 1, copies within the page too
    -O2 -DNTHREADS=3 -DNPAGES=1 -DNACCESS=1 -DPROGRAM=2 -DMAXEV=10 -DFAULT_BOUND=6
3 x 1 x 2, holds end by progress only: one fault an instruction
    -O2 -DNTHREADS=3 -DNPAGES=1 -DMAXEV=8 -DEXPIRY=0 -DFAULT_BOUND=1
3 x 2 x 2, two readers of what the third writes
    -O2 -DNTHREADS=3 -DPROGRAM=14 -DMAXEV=10 -DFAULT_BOUND=4
2 x 2 x 1, step by step, with late kicks and spurious faults
    -O2 -DNACCESS=1 -DPROGRAM=2 -DFINE -DSTRAY=1 -DFAULT_BOUND=5
2 x 2 x 1, the owner of the token respects holds
    -O0 -DNACCESS=1 -DPROGRAM=2 -DTOKEN_BREAKS_HOLDS=0 -DFAULT_BOUND=4
3 x 2 x 1
    -O0 -DNTHREADS=3 -DNACCESS=1 -DMAXEV=8 -DFAULT_BOUND=4
2 x 2 x 2, replay stops at each point exactly
    -O0 -DSLACK=0 -DFAULT_BOUND=4
patching: 2 CPUs that keep what they have fetched, 2 bytes, on and off
    -O2 patch.pml -DBATCHES=2
patching: 2 CPUs that translate, 3 bytes, on and off
    -O2 patch.pml -DTRANSLATOR -DBYTES=3 -DBATCHES=2'

SIZES_LIVE='2 x 2 x 2, the first instruction of each thread on one or two pages
    -O2 -DPROGRAM=1 -DMAXEV=1
3 x 1 x 1, copies within the page too
    -O2 -DNTHREADS=3 -DNPAGES=1 -DNACCESS=1 -DPROGRAM=2 -DMAXEV=1
2 x 2 x 1, one page each: progress needs no token
    -O0 -DNACCESS=1 -DEXPIRY=1 -DNO_TOKEN -DMAXEV=1'

LARGE='2 x 2 x 2, each instruction on one or two pages
    -O2 -DPROGRAM=2 -DMAXEV=16 -DFAULT_BOUND=4
2 x 2 x 3, one page each, holds expire at any time
    -O2 -DNACCESS=3 -DMAXEV=14 -DFAULT_BOUND=4
3 x 2 x 1, each instruction on one or two pages
    -O2 -DNTHREADS=3 -DNACCESS=1 -DPROGRAM=2 -DMAXEV=10 -DFAULT_BOUND=6
2 x 2 x 2, the first instruction on one or two pages, step by step
    -O2 -DPROGRAM=1 -DFINE -DFAULT_BOUND=4
patching: 2 CPUs, 2 bytes, on and off, the last step twice
    -O2 patch.pml -DBATCHES=2 -DREPEAT
patching: 2 CPUs, 3 bytes, on
    -O2 patch.pml -DBYTES=3'

# Three lines each: the rule taken out and how the model then fails; what goes wrong; flags.
RULES='NO_HOLD livelock
    without a hold window a page is swapped for ever
    -DPROGRAM=10 -DNPAGES=1 -DNACCESS=1 -DEXPIRY=0 -DNO_TOKEN -DMAXEV=1
NO_HOLD claim 2
    without a hold window an instruction on one page faults again, token or not
    -DPROGRAM=10 -DNPAGES=1 -DNACCESS=1 -DEXPIRY=0 -DFAULT_BOUND=1
THREAD_HOLD deadlock
    a hold on the thread as a whole deadlocks against a posted kick
    -DPROGRAM=12 -DEXPIRY=0
HOLD_UNDER_LOCK deadlock
    waiting for a hold under the page lock deadlocks against an upgrade
    -DPROGRAM=13 -DEXPIRY=0
HOLD_PER_VICTIM claim 3
    a wait between the first DEMOTE and the PROMOTE loses a dependency
    -DNTHREADS=3 -DNPAGES=1 -DNACCESS=1 -DPROGRAM=15
NO_EXPIRY deadlock
    a hold that only progress ends deadlocks on instructions on two pages
    -DPROGRAM=11 -DNACCESS=1 -DTOKEN_BREAKS_HOLDS=0
NO_TOKEN livelock
    without the token equal windows swap two pages for ever
    -DPROGRAM=11 -DNACCESS=1 -DEXPIRY=1 -DMAXEV=1
TOKEN_UNDER_LOCK deadlock
    waiting for the token under a page lock deadlocks
    -DPROGRAM=11 -DNACCESS=1
NO_KICK claim 1
    a victim edited in user mode keeps its right in the TLB
    -DNPAGES=1
NO_FLUSH claim 1
    without the flush on the way back a stale TLB entry is used
    -DNPAGES=1
NO_WAIT claim 3
    a replay that waits for no dependency reads other values
    -DNPAGES=1 -DNACCESS=1
NO_LAST_WRITE claim 3
    a read that does not depend on the last write reads too early
    -DNTHREADS=3 -DPROGRAM=14 -DMAXEV=10 -DFAULT_BOUND=4
EXPECT_FAULT claim 4
    expecting the recorded fault after a DEMOTE at the same point diverges
    -DPROGRAM=2 -DNACCESS=1
PAST_Q claim 3
    a thread let run past Q uses a right it had lost
    -DPROGRAM=1 -DFAULT_BOUND=4
NO_INT3 claim 1
    patching: bytes stored one after the other are executed half done
    patch.pml
NO_SYNC1 claim 1
    patching: a CPU that has fetched the old first byte goes on in the new tail
    patch.pml
NO_SYNC2 claim 1
    patching: a CPU that has fetched the old tail goes on there from the new first byte
    patch.pml
NO_SYNC3 claim 2
    patching: a CPU that has fetched the int3 meets it when the batch is over
    patch.pml
EARLY_END claim 2
    patching: the same, with the synchronisation behind the end
    patch.pml
LATE_BATCH claim 2
    patching: a CPU meets the int3 before the batch can be found
    patch.pml
NO_SERIALISE claim 3
    patching: interrupts that do not serialise leave the old instruction
    patch.pml
NO_REPEAT claim 2
    patching: a CPU that has translated the int3 keeps it when it is stored over once
    patch.pml -DTRANSLATOR -DBYTES=3 -DBATCHES=2
NO_SYNC3 claim 2
    patching: the second store comes while a CPU still translates the int3
    patch.pml -DTRANSLATOR -DBYTES=3 -DBATCHES=2
NO_SYNC4 claim 2
    patching: a CPU that still runs the translation meets the int3 when the batch is over
    patch.pml -DTRANSLATOR -DBYTES=3 -DBATCHES=2'

# Two lines each: the number of a wrong claim, that this never happens; flags.
SEEN='11 a TLB still holds a right that the view has lost
    -DNACCESS=2
12 a thread is demoted at a point where it was promoted before
    -DNACCESS=2
13 a requester drops the page lock because of a hold
    -DNACCESS=2
14 the token is taken
    -DNACCESS=2
15 a spurious fault is served
    -DSTRAY=1
16 a replayed instruction runs while a DEMOTE is due
    -DPROGRAM=1
17 an implied dependency is not logged
    -DNTHREADS=3 -DPROGRAM=14 -DMAXEV=10
21 patching: a thread meets the int3
    patch.pml
22 patching: an NMI meets it in the handler of #BP
    patch.pml
23 patching: the old instruction runs where an int3 stands
    patch.pml
24 patching: a CPU with interrupts off keeps the patcher waiting
    patch.pml'

# --- One search ---------------------------------------------------------------------------------

# model_search NAME EXPECTED CC_FLAGS FLAGS…: leaves its output and how to repeat it in $BUILD/NAME.
model_search() {
    local dir=$BUILD/$1 expected=$2 generate=() compile=(-w -DSAFETY -DNOFAIR) run=()
    local model=crew.pml
    case $expected in
    claim*) generate=("-DONLY_CLAIM=${expected#claim }") ;;
    deadlock) generate=(-DONLY_CLAIM=0) ;;
    livelock) generate=(-DPROGRESS) compile=(-w -DNP) run=(-l -f) ;;
    progresses) generate=(-DPROGRESS) compile=(-w -DNP -DNOFAIR) run=(-l) ;;
    esac
    read -ra CC_FLAGS <<<"$3"
    shift 3
    if [[ ${1:-} == *.pml ]]; then
        model=$1
        shift
    fi
    rm -rf "$dir"
    mkdir -p "$dir" && cd "$dir" || return
    # The generated program is spin's code: its warnings say nothing about the model (-w).
    {
        echo "spin -a ${generate[*]} $* $MODELS/$model &&"
        echo "$CC ${CC_FLAGS[*]} ${compile[*]} -o pan pan.c &&"
        echo "exec timeout $SECONDS_EACH ./pan -m1000000 -w22 ${run[*]}"
    } >repeat.sh
    sh repeat.sh >output 2>&1
}

CUT_SHORT='DMEMLIM|not completed|too small'

# How a finished search ended, in the words above; anything else is an explanation.
model_verdict() {
    local output claim
    if ! output=$(cat "$BUILD/$1/output" 2>&1); then
        echo "no output"
        return
    fi
    claim=$(sed -n 's/^pan:1: assertion violated (*\([0-9]*\)\(!=\|>\).*/\1/p' <<<"$output")
    if [ -n "$claim" ]; then
        echo "claim $claim"
    elif grep -q '^pan:1: invalid end state' <<<"$output"; then
        echo deadlock
    elif grep -q '^pan:1: non-progress cycle' <<<"$output"; then
        echo livelock
    elif ! grep -q 'errors: 0$' <<<"$output" || grep -Eq "$CUT_SHORT" <<<"$output"; then
        echo "no result: $(grep -E -m 1 "^pan:1:|rror|$CUT_SHORT" <<<"$output")"
    elif grep -q '^[[:space:]]*non-progress cycles[[:space:]]*+' <<<"$output"; then
        echo progresses
    else
        echo holds
    fi
}

model_count() {
    awk '/ states, stored/ { states = $1 } / transitions \(/ { moves = $1 }
        /actual memory usage$/ { mb = $1 } /elapsed time/ { s = $4 }
        END { printf "%d states, %d transitions, %d MB, %.1f s", states, moves, mb, s }' \
        "$BUILD/$1/output" 2>&1
}

# model_is NAME EXPECTED
model_is() {
    [ "$(model_verdict "$1")" = "$2" ]
}

# model_explain NAME EXPECTED: for a failed test point.
model_explain() {
    echo "$1: expected: $2; found: $(model_verdict "$1")"
    echo "repeat: cd ${BUILD@Q}/$1 && sh repeat.sh"
    grep -E -m 5 "^pan|rror|$CUT_SHORT" "$BUILD/$1/output" 2>&1
}

# --- The tables ---------------------------------------------------------------------------------

# next_record LINES: the next lines of a table, without their indentation, in F. False at its end.
next_record() {
    local line
    F=()
    while [ ${#F[@]} -lt "$1" ]; do
        read -r line || return 1
        F+=("$line")
    done
}

# model_start NAME EXPECTED CC_FLAGS FLAGS…: in the background, as soon as fewer than JOBS run; not
# at all if the same search has been started under another name.
declare -A STARTED=() SAME=()
model_start() {
    local key="$2 ${*:4}"
    if [ -n "${STARTED[$key]:-}" ]; then
        SAME[$1]=${STARTED[$key]}
        return
    fi
    STARTED[$key]=$1
    while [ "$(jobs -pr | wc -l)" -ge "$JOBS" ]; do
        wait -n
    done
    (model_search "$@") &
}

# What a rule's control must do: as its variant, but well.
model_opposite() {
    [ "$1" = livelock ] && echo progresses || echo holds
}

# sizes_start PREFIX EXPECTED TABLE: the searches are named PREFIX1, PREFIX2, ….
sizes_start() {
    local i=0 optimise flags
    # shellcheck disable=SC2086 # flags are words
    while next_record 2; do
        i=$((i + 1))
        read -r optimise flags <<<"${F[1]}"
        model_start "$1$i" "$2" "$optimise $KEEP" $flags
    done <<<"$3"
}

sizes_report() {
    local i=0
    while next_record 2; do
        i=$((i + 1))
        if model_is "$1$i" "$2"; then
            tap_pass "$2: ${F[0]}"
        else
            tap_fail "$2: ${F[0]}" "$(model_explain "$1$i" "$2")"
        fi
        echo "# $(model_count "$1$i")"
    done <<<"$3"
}

rules_start() {
    local i=0 rule fails
    # shellcheck disable=SC2086 # flags are words
    while next_record 3; do
        i=$((i + 1))
        read -r rule fails <<<"${F[0]}"
        model_start "without$i" "$fails" "-O0 $KEEP" ${F[2]} "-D$rule"
        model_start "with$i" "$(model_opposite "$fails")" "-O0 $KEEP" ${F[2]}
    done <<<"$RULES"
}

rules_report() {
    local i=0 rule fails with well
    while next_record 3; do
        i=$((i + 1))
        read -r rule fails <<<"${F[0]}"
        well=$(model_opposite "$fails")
        with=${SAME[with$i]:-with$i}
        if model_is "without$i" "$fails" && model_is "$with" "$well"; then
            tap_pass "$rule: $fails: ${F[1]}"
        else
            tap_fail "$rule: $fails: ${F[1]}" "$(model_explain "without$i" "$fails")" \
                "$(model_explain "$with" "$well")"
        fi
        echo "# with the rule: $(model_count "$with")"
        echo "# without it, to the first error: $(model_count "without$i")"
    done <<<"$RULES"
}

seen_start() {
    # shellcheck disable=SC2086 # flags are words
    while next_record 2; do
        model_start "seen${F[0]%% *}" "claim ${F[0]%% *}" "-O0 $KEEP" ${F[1]}
    done <<<"$SEEN"
}

seen_report() {
    local claim what
    while next_record 2; do
        read -r claim what <<<"${F[0]}"
        if model_is "seen$claim" "claim $claim"; then
            tap_pass "it happens that $what"
        else
            tap_fail "it happens that $what" "$(model_explain "seen$claim" "claim $claim")"
        fi
    done <<<"$SEEN"
}

# --- The test -----------------------------------------------------------------------------------

for tool in spin "$CC"; do
    if ! command -v "$tool" >/dev/null; then
        tap_skip_all "$tool not installed"
    fi
done

KEEP='-DCOLLAPSE -DMEMLIM=1500' # how states are kept: all, compressed
sizes_start size holds "$SIZES"
sizes_start live progresses "$SIZES_LIVE"
rules_start
seen_start
wait
sizes_report size holds "$SIZES"
sizes_report live progresses "$SIZES_LIVE"
rules_report
seen_report

if [ "${MODEL_SIZE:-}" = large ]; then
    SECONDS_EACH=3600
    KEEP='-DHC4 -DMEMLIM=4000' # a hash of each state, or they would not fit
    sizes_start large holds "$LARGE"
    wait
    sizes_report large holds "$LARGE"
fi
tap_done
