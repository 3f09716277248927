#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs one test program with a time limit and keeps its TAP; prove calls it for each program.
#
# A script can ask for another limit than 300 seconds by a line `# TIME_LIMIT=seconds`.
set -uo pipefail
program=$1
name=${program//\//-}
limit=300
case $program in
*.sh) limit=$(sed -n 's/^# TIME_LIMIT=//p' "$program" | grep -E '^[0-9]+$' || echo $limit) ;;
esac
case $program in
/*) command=$program ;;
*) command=./$program ;;
esac

mkdir -p build/tests
tap=build/tests/$name.tap
errors=build/tests/$name.stderr
timeout -k 10 "$limit" "$command" </dev/null >"$tap" 2>"$errors" &
child=$!
trap 'kill $child 2>/dev/null; exit 1' INT TERM HUP
status=0
wait $child || status=$?
if [ $status -eq 124 ] || [ $status -eq 137 ]; then
    echo "# $program: stopped after its time limit of $limit seconds" >>"$errors"
fi
cat "$tap"
cat "$errors" >&2
echo "# exit $status" >>"$tap"
exit $status
