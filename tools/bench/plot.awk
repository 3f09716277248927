# SPDX-License-Identifier: MIT
# Plots bench.csv: bars of the ratios to the native time, whiskers from the least to the most, one
# panel for each number of vCPUs, and one for QEMU's own record and replay.
#
#   awk -v conditions="text for the foot" -f tools/bench/plot.awk build/bench.csv >build/bench.svg

BEGIN {
    FS = ","
    left = 62; group = 74; bar = 16; panel = 250; plot_height = 150
    modes = split("counted record replay", mode, " ")
    emulator_modes = split("qemu-record qemu-replay record replay", emulator_mode, " ")
    colour["counted"] = "#9aa5b1"; colour["record"] = "#2f6db3"; colour["replay"] = "#3a9a5b"
    colour["qemu-record"] = "#d08a2e"; colour["qemu-replay"] = "#b5472f"
    low = 0.5; high = 2
}

NR == 1 {
    for (i = 1; i <= NF; i++)
        number[$i] = i
    next
}
{
    median[$1, $2, $3] = $number["ratio_native"]
    least[$1, $2, $3] = $number["ratio_native_min"]
    most[$1, $2, $3] = $number["ratio_native_max"]
    if (!($1 in known)) {
        known[$1] = 1
        workload[++workloads] = $1
    }
    if ($2 == "native" && !($3 in vcpus_known)) {
        vcpus_known[$3] = 1
        vcpus[++panels] = $3
    }
    if ($2 == "plain")
        emulated[++emulated_count] = $1
    while ($number["ratio_native_max"] > high)
        high *= 2
}

function y_of(ratio) {
    if (ratio < low)
        ratio = low
    return top + plot_height * (1 - log(ratio / low) / log(high / low))
}

function text(x, y, anchor, size, what) {
    gsub(/&/, "\\&amp;", what)
    gsub(/</, "\\&lt;", what)
    printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\">%s</text>\n", x, y,
        anchor, size, what
}

function line(x1, y1, x2, y2, stroke, width) {
    printf "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"" \
        " stroke-width=\"%.1f\"/>\n", x1, y1, x2, y2, stroke, width
}

function draw_axes(title, groups,    ratio) {
    text(left, top - 12, "start", 13, title)
    for (ratio = low; ratio <= high; ratio *= 2) {
        line(left, y_of(ratio), left + groups * group, y_of(ratio), ratio == 1 ? "#333" : "#ddd", 1)
        text(left - 6, y_of(ratio) + 4, "end", 10, ratio "")
    }
}

# A bar starts at ratio 1: below it is faster than native.
function draw_bar(x, key, fill,    y, base, label) {
    if (median[key] == "")
        return
    y = y_of(median[key])
    base = y_of(1)
    printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" fill=\"%s\"/>\n", x,
        y < base ? y : base, bar - 2, y < base ? base - y : y - base, fill
    line(x + bar / 2 - 1, y_of(least[key]), x + bar / 2 - 1, y_of(most[key]), "#111", 1)
    label = y_of(most[key]) < base ? y_of(most[key]) : base
    text(x + bar / 2 - 1, label - 3, "middle", 8, sprintf("%.2f", median[key]))
}

# The program, and below it its arguments.
function draw_label(x, w,    program) {
    program = w
    sub(/ .*/, "", program)
    text(x, top + plot_height + 13, "middle", 10, program)
    text(x, top + plot_height + 24, "middle", 8, substr(w, length(program) + 2))
}

function draw_panel(v,    i, m, x) {
    draw_axes(v == 1 ? "1 vCPU" : v " vCPUs", workloads)
    for (i = 1; i <= workloads; i++) {
        x = left + (i - 1) * group + (group - modes * bar) / 2
        for (m = 1; m <= modes; m++)
            draw_bar(x + (m - 1) * bar, workload[i] SUBSEP mode[m] SUBSEP v, colour[mode[m]])
        draw_label(left + (i - 0.5) * group, workload[i])
    }
}

function draw_emulator(    i, m, x) {
    draw_axes("1 vCPU: QEMU's own record and replay beside ours", emulated_count)
    for (i = 1; i <= emulated_count; i++) {
        x = left + (i - 1) * group + (group - emulator_modes * bar) / 2
        for (m = 1; m <= emulator_modes; m++)
            draw_bar(x + (m - 1) * bar, emulated[i] SUBSEP emulator_mode[m] SUBSEP 1,
                colour[emulator_mode[m]])
        draw_label(left + (i - 0.5) * group, emulated[i])
    }
}

function draw_legend(y,    m, x, names, count) {
    count = split("counted record replay qemu-record qemu-replay", names, " ")
    x = left
    for (m = 1; m <= count; m++) {
        printf "<rect x=\"%d\" y=\"%d\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", x, y - 9,
            colour[names[m]]
        text(x + 15, y, "start", 11, names[m])
        x += 100
    }
}

END {
    width = left + (workloads > 7 ? workloads : 7) * group + 20
    height = 70 + (panels + (emulated_count > 0)) * panel + 30
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\"" \
        " font-family=\"sans-serif\" fill=\"#222\">\n", width, height
    printf "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height
    text(left, 24, "start", 15,
        "Time as a ratio to the native run (log scale; median, least, most)")
    draw_legend(44)
    for (p = 1; p <= panels; p++) {
        top = 70 + (p - 1) * panel + 24
        draw_panel(vcpus[p])
    }
    if (emulated_count) {
        top = 70 + panels * panel + 24
        draw_emulator()
    }
    count = split(conditions, part, "; ")
    foot = part[1] "; " part[2]
    text(left, height - 24, "start", 9, foot)
    text(left, height - 12, "start", 9, count > 2 ? part[3] : "")
    print "</svg>"
}
