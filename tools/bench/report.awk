# SPDX-License-Identifier: MIT
# Prints bench.csv as tables, and which targets were reached.
#
#   awk -f tools/bench/report.awk build/bench.csv

BEGIN { FS = "," }

NR == 1 {
    for (i = 1; i <= NF; i++)
        name[i] = $i
    next
}
{
    for (i = 1; i <= NF; i++)
        value[$1, $2, $3, name[i]] = $i
    if (!($1 in known)) {
        known[$1] = 1
        workload[++workloads] = $1
    }
    if ($2 == "native" && !($3 in vcpus_known)) {
        vcpus_known[$3] = 1
        vcpus[++vcpus_count] = $3
    }
}

function get(w, mode, v, what) { return value[w, mode, v, what] }

function has(w, mode, v) { return get(w, mode, v, "runs") != "" }

function spread(w, mode, v, ratio) {
    if (get(w, mode, v, ratio) == "")
        return "-"
    return sprintf("%.2f (%.2f-%.2f) %.2f", get(w, mode, v, ratio), get(w, mode, v, ratio "_min"),
        get(w, mode, v, ratio "_max"), get(w, mode, v, ratio "_least"))
}

function seconds(w, mode, v) { return get(w, mode, v, "median_ns") / 1e9 }

function per(a, b, format) { return b > 0 ? sprintf(format, a / b) : "-" }

function print_times(v,    i, w) {
    printf "\n%d vCPU%s: native time, and ratios: median of the rounds (least-most), then that of" \
        " the least times\n", v, v == 1 ? "" : "s"
    printf "%-24s %9s  %-24s %-24s %-24s %-24s\n", "", "native s", "counted/native",
        "record/native", "record/counted", "replay/record"
    for (i = 1; i <= workloads; i++) {
        w = workload[i]
        if (has(w, "native", v))
            printf "%-24s %9.3f  %-24s %-24s %-24s %-24s\n", w, seconds(w, "native", v),
                spread(w, "counted", v, "ratio_native"), spread(w, "record", v, "ratio_native"),
                spread(w, "record", v, "ratio_counted"), spread(w, "replay", v, "ratio_record")
    }
}

function print_log(v,    i, w, events) {
    printf "\n%d vCPU%s: a recording (means), a replay of it\n", v, v == 1 ? "" : "s"
    printf "%-24s %8s %7s %9s %9s %9s %8s %8s %9s %9s\n", "", "events", "B/event", "B/1000 in",
        "faults/s", "transf./s", "exact", "slack", "steps", "in/transf"
    for (i = 1; i <= workloads; i++) {
        w = workload[i]
        if (!has(w, "record", v))
            continue
        events = get(w, "record", v, "events")
        printf "%-24s %8.0f %7s %9s %9d %9d %8.0f %8.0f %9.0f %9s\n", w, events,
            per(get(w, "record", v, "bytes"), events, "%.1f"),
            get(w, "record", v, "bytes_per_1000_instructions"),
            get(w, "record", v, "promotions_per_s"), get(w, "record", v, "demotions_per_s"),
            get(w, "replay", v, "exact"), get(w, "replay", v, "slack"),
            get(w, "replay", v, "steps"), get(w, "record", v, "transfer_instructions")
    }
}

function emulator_times(w, mode) {
    return sprintf("%.2f s, %s", seconds(w, mode, 1), spread(w, mode, 1, "ratio_native"))
}

function print_emulator(    i, j, w) {
    print "\nQEMU's own record and replay (it takes one vCPU only): the program, as seen from the" \
        " host; the\nratio is to plain, the same without icount. Then the whole process. Ours:" \
        " the ratio is to native."
    for (i = 1; i <= workloads; i++) {
        w = workload[i]
        if (!has(w, "plain", 1))
            continue
        printf "%s\n", w
        printf "    plain %.2f s; QEMU's record %s; replay %s\n", seconds(w, "plain", 1),
            emulator_times(w, "qemu-record"), emulator_times(w, "qemu-replay")
        printf "    process: plain %.2f s, record %.2f s, replay %.2f s\n",
            get(w, "plain", 1, "process_median_ns") / 1e9,
            get(w, "qemu-record", 1, "process_median_ns") / 1e9,
            get(w, "qemu-replay", 1, "process_median_ns") / 1e9
        for (j = 1; j <= vcpus_count; j++)
            if (has(w, "record", vcpus[j]))
                printf "    ours, %d vCPUs: native %.2f s; record %.2f s, %s; replay %.2f s, %s\n",
                    vcpus[j], seconds(w, "native", vcpus[j]), seconds(w, "record", vcpus[j]),
                    spread(w, "record", vcpus[j], "ratio_native"), seconds(w, "replay", vcpus[j]),
                    spread(w, "replay", vcpus[j], "ratio_native")
    }
}

# --- targets ---

function target(text, number, limit, least,    met) {
    if (number == "" || number == "-") {
        printf "  not measured  %s\n", text
        return
    }
    met = least ? number + 0 >= limit : number + 0 <= limit
    printf "  %-13s %s: %s\n", met ? "reached" : "MISSED", text, number
}

function find(program,    i) {
    for (i = 1; i <= workloads; i++)
        if (workload[i] == program || index(workload[i], program " ") == 1)
            return workload[i]
    return ""
}

function emulator_factor(w, mode) {
    if (!has(w, mode, 2) || !has(w, "qemu-" mode, 1))
        return ""
    return sprintf("%.2f (least times: %.2f)", seconds(w, "qemu-" mode, 1) / seconds(w, mode, 2),
        get(w, "qemu-" mode, 1, "min_ns") / get(w, mode, 2, "min_ns"))
}

function ratio(w, mode, name) {
    if (get(w, mode, 2, name) == "")
        return ""
    return sprintf("%.3f (least times: %.3f)", get(w, mode, 2, name),
        get(w, mode, 2, name "_least"))
}

function print_log_targets(    i, w, steps, demotions, bytes, events, own, worst, worst_w) {
    for (i = 1; i <= workloads; i++) {
        w = workload[i]
        bytes += get(w, "record", 2, "bytes")
        events += get(w, "record", 2, "events")
        steps += get(w, "replay", 2, "steps")
        demotions += get(w, "record", 2, "demotions")
        own = per(get(w, "replay", 2, "steps"), get(w, "record", 2, "demotions"), "%.3f")
        if (own != "-" && (worst_w == "" || own + 0 > worst)) {
            worst = own + 0
            worst_w = w
        }
    }
    target("steps per demotion, all workloads, <= 0.1", per(steps, demotions, "%.3f"), 0.1)
    if (worst_w != "")
        target("steps per demotion, worst workload (" worst_w "), <= 0.1",
            sprintf("%.3f", worst), 0.1)
    target("log bytes per event, all workloads, <= 16", per(bytes, events, "%.1f"), 16)
}

function print_targets(    names, i, w) {
    print "\nTargets, 2 vCPUs"
    target("private recorded / counted <= 1.05", ratio(find("private"), "record", "ratio_counted"),
        1.05)
    target("sort recorded / counted <= 1.5", ratio(find("sort"), "record", "ratio_counted"), 1.5)
    split("private sort", names, " ")
    for (i = 1; i <= 2; i++) {
        w = find(names[i])
        target(names[i] " replayed / recorded <= 1.2", ratio(w, "replay", "ratio_record"), 1.2)
        target(names[i] " recorded so many times as fast as by QEMU, >= 3",
            emulator_factor(w, "record"), 3, 1)
        target(names[i] " replayed so many times as fast as by QEMU, >= 10",
            emulator_factor(w, "replay"), 10, 1)
    }
    print_log_targets()
}

END {
    for (v = 1; v <= vcpus_count; v++)
        print_times(vcpus[v])
    for (v = 1; v <= vcpus_count; v++)
        print_log(vcpus[v])
    print_emulator()
    print_targets()
}
