#!/bin/bash
# SPDX-License-Identifier: MIT
# crewlog timeline: the page is well-formed, self-contained and keeps its rules; a browser, where
# there is one, draws 100 000 events as few elements.
. tests/lib.sh

OUT=build/tests/timeline
CREWLOG=build/tools/crewlog
MAKE_LOG=build/tests/make_log
BROWSER=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
rm -rf $OUT
mkdir -p $OUT

check_page() {
    perl tests/tools/check_timeline.pl "$1"
}

# page NAME STATUS SETTING…: a made recording's page; crewlog must end with that status.
page() {
    local name=$1 expected=$2 status=0
    shift 2
    $MAKE_LOG "$@" "$OUT/$name.rec"
    $CREWLOG timeline "$OUT/$name.rec" -o "$OUT/$name.html" 2>"$OUT/$name.txt" || status=$?
    [ $status -eq "$expected" ] || { echo "status $status"; cat "$OUT/$name.txt"; return 1; }
}

# checked NAME WHAT STATUS SETTING…
checked() {
    local name=$1 what=$2
    shift 2
    tap_check "$what: a page is written" page "$name" "$@"
    tap_check "$what: it is well-formed, self-contained and right" check_page "$OUT/$name.html"
}

checked small "four threads" 0 events=400 threads=4 pages=12
checked one "one thread" 0 events=50 threads=1 pages=1
checked many "64 threads" 0 events=3000 threads=64 pages=300
checked cut "a file that was cut" 1 events=3000 threads=5 bytes=60000
checked stopped "a recorder that gave up" 1 events=300 threads=3 end=stopped
checked hostile "names of a hostile file without events" 1 events=0 threads=2 end=cut \
    'program=</script><img src=x>&"\'
checked large "100000 events" 0 events=100000 threads=6 pages=64

# shellcheck disable=SC2016
tap_check "a page without -o goes to standard output" \
    sh -c '"$1" timeline "$2" | cmp - "$3"' - $CREWLOG $OUT/small.rec $OUT/small.html
tap_check "a cut file's page says so" grep -q '"complete":false,"verdict":"cut at' $OUT/cut.html

# browse NAME FRAGMENT WHAT: what the page drew, as its body's attributes.
browse() {
    timeout 100 "$BROWSER" --headless --no-sandbox --disable-gpu --virtual-time-budget=20000 \
        --user-data-dir="$OUT/browser" --dump-dom "file://$PWD/$OUT/$1.html#$2" \
        2>"$OUT/browser.txt" >"$OUT/$1.dom"
    grep -o '<body [^>]*>' "$OUT/$1.dom" | head -n 1
}

# drawn NAME FRAGMENT: something was drawn, of less than 3000 elements.
drawn() {
    local body elements
    body=$(browse "$1" "$2")
    elements=$(sed -n 's/.*data-elements="\([0-9]*\)".*/\1/p' <<<"$body")
    echo "body: $body"
    [ "${elements:-0}" -gt 10 ] && [ "$elements" -lt 3000 ]
}

if [ -z "$BROWSER" ]; then
    tap_skip "a browser draws the pages" "no chromium here"
else
    tap_check "a browser draws 100000 events" drawn large ""
    tap_check "it says how many are in view" grep -q '>100,0[0-9]* events and ' $OUT/large.dom
    tap_check "it draws what the address says: 64 threads, a part, dark" \
        drawn many "zoom=20,60&theme=dark"
    tap_check "it is dark" grep -q '<html [^>]*data-theme="dark"' $OUT/many.dom
    tap_check "it draws a selected event, by ticks, and pages that were searched" \
        drawn small "axis=ticks&event=1:20&page=0x404"
    tap_check "it tells what is known of the event" grep -q 'thread 1, event 20: ' $OUT/small.dom
    tap_check "a search leaves its pages" grep -q 'pages 1–1 of 1' $OUT/small.dom
    tap_check "names of a hostile file without events stay text" drawn hostile ""
    tap_check "they are in the title" grep -q '&lt;/script&gt;&lt;img src=x&gt;&amp;' \
        $OUT/hostile.dom
fi
tap_done
