# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# For the scripts of this directory: recording and replaying lists of programs.
#
#   replay_programs NAME REPLAYS SETTING… <<END    one program with its arguments a line
#
# All programs of a list are recorded and replayed in one boot, each a test point: recorded once,
# and every replay of it reached the same end state.
. tests/lib.sh

# `record PROGRAM; replay N; delete LOG` for each line on standard input.
replay_commands() {
    local replays=$1 line log=0
    while IFS= read -r line; do
        log=$((log + 1))
        printf 'record %s; replay %s; delete %s; ' "$line" "$replays" $log
    done
}

# What the log says of each recording, in order: program, replays, and how many of them match in
# their own words and by their hashes.
replay_results() {
    awk '
        function field(name,    i) {
            for (i = 1; i <= NF; i++)
                if (index($i, name "=") == 1) return substr($i, length(name) + 2)
            return ""
        }
        function flush_one() { if (program != "") print program, replays, good }
        /^@record / {
            flush_one()
            program = field("prog"); hash = field("hash"); number = field("log"); replays = good = 0
        }
        /^@replay / {
            replays++
            good += field("match") == "yes" && field("hash") == hash && field("log") == number &&
                field("prog") == program
        }
        END { flush_one() }' "$KERNEL_LOG"
}

replay_programs() {
    local name=$1 replays=$2 commands i=0 line
    local -a lines results
    shift 2
    mapfile -t lines
    commands=$(printf '%s\n' "${lines[@]}" | replay_commands "$replays")
    kernel_run "replay-$name" RUN="${commands}poweroff" TIMEOUT="${REPLAY_TIMEOUT:-240}" "$@"
    mapfile -t results < <(replay_results)
    for line in "${lines[@]}"; do
        if [ "${results[i]:-}" = "${line%% *} $replays $replays" ]; then
            tap_pass "$name: $line: all of $replays replays match"
        else
            tap_fail "$name: $line: all of $replays replays match" \
                "program, replays, matches: ${results[i]:-nothing}" "$(replay_divergence)" \
                "$(kernel_explain)"
        fi
        i=$((i + 1))
    done
    tap_check "$name: the run ends well" test "$(kernel_end)" = ok
}

# The reports of divergences in the log, which may be far above its end.
replay_divergence() {
    grep -aE -A3 'DIVERGED' "$KERNEL_LOG" | head -n 40
    grep -a '^@diverged' "$KERNEL_LOG"
}
