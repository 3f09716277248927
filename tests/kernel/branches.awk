# SPDX-License-Identifier: MIT
# Compares the plugin's last branch records with what was executed (its option lbr-trace; the
# format stands in tools/qemu-pmu/pmu_lbr_trace.c). Prints what differs and a line of numbers.
#
# A step from A to P is one of: a branch, or the fault of A itself: the record A -> P; an interrupt
# after A: N -> P, N being what follows A; an interrupt after the branch A -> T: that record and
# T -> P (N can be T, if A is of the kind that goes anywhere). An interrupt's record begins where
# its handler's stack says. So each step fixes its records, and nothing may be left over or missing.

# Formats without LBR_INFO keep a flag in the uppermost bit of FROM.
function address(text) { return substr(text, 3) }

function complain(what,    i) {
    if (++differing > 3) return
    printf "snapshot %d, CPU %s: %s at record %d, step %d\n", snapshots, cpu, what, r, s
    for (i = (r > 2 ? r - 2 : 0); i < r + 3 && i < records; i++)
        print "  record " i ": " from[i] " -> " to[i]
    for (i = (s > 2 ? s - 2 : 0); i < s + 3 && i < steps; i++)
        print "  step " i ": " a[i] " (" n[i] ") -> " p[i] ", stack " w1[i] " " w2[i] " " k[i]
}

function compare() {
    snapshots++
    for (r = s = 0; r < records && s < steps; s++) {
        if (from[r] == a[s] && to[r] == p[s]) {
            r++
            continue
        }
        if (to[r] != p[s] || (from[r] != w1[s] && from[r] != w2[s])) {
            complain("no record of the step")
            return
        }
        interrupts++
        if (from[r] == n[s] && k[s] != "anywhere") {
            r++
        } else if (r + 1 == records || (from[r + 1] == a[s] && to[r + 1] == from[r])) {
            r += 2
        } else {
            complain("the interrupt is not preceded by its branch")
            return
        }
    }
    if (r < records && kind == "some") complain("steps are missing")
    compared += r
}

$1 == "records" { cpu = $2; records = 0 }
$1 == "record" { from[records] = address($2); to[records++] = address($3) }
$1 == "steps" { kind = $3; wanted = $2; steps = 0 }
$1 == "step" {
    a[steps] = address($2); n[steps] = address($3); p[steps] = address($4)
    w1[steps] = address($5); w2[steps] = address($6); k[steps++] = $7
}
($1 == "steps" || $1 == "step") && steps == wanted { compare() }

END {
    printf "@branches snapshots=%d records=%d interrupts=%d differing=%d\n", snapshots, compared, \
        interrupts, differing
    exit differing || !compared
}
