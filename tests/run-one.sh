#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs one test program with a time limit and keeps its TAP; prove calls it for each program.
#
# A script can ask for another limit than 900 seconds by a line `# TIME_LIMIT=seconds`.
set -uo pipefail
program=$1
name=${program//\//-}
mkdir -p build/tests
tap=build/tests/$name.tap
errors=build/tests/$name.stderr
if [ ! -x "$program" ]; then
    printf '1..1\nnot ok 1 - %s is there and can be run\n# exit 1\n' "$program" | tee "$tap"
    exit 1
fi

limit=
case $program in
*.sh) limit=$(sed -n 's/^# TIME_LIMIT=\([0-9][0-9]*\)$/\1/p' "$program") ;;
esac
case $program in
/*) command=$program ;;
*) command=./$program ;;
esac

timeout -k 10 "${limit:-900}" "$command" </dev/null >"$tap" 2>"$errors" &
child=$!
trap 'kill $child 2>/dev/null; exit 1' INT TERM HUP
status=0
wait $child || status=$?
if [ $status -eq 124 ] || [ $status -eq 137 ]; then
    echo "# $program: stopped after its time limit of ${limit:-900} seconds" >>"$errors"
fi
cat "$tap"
cat "$errors" >&2
echo "# exit $status" >>"$tap"
exit $status
