# SPDX-License-Identifier: MIT
# Makes rows of bench.csv out of what one workload printed.
#
#   awk -v header=1 -f tools/bench/figures.awk                          the line of names
#   awk -v workload="sort 4 800" -v vcpus=2 -f tools/bench/figures.awk LOG
#
# LOG has either the lines of the kernel's `bench` command, or lines `@emulator mode=… ns=…
# process_ns=…` of bench.sh. Ratios are of runs of the same round, which were done one after the
# other; then their median, minimum and maximum. ratio_…_least is that of the two least times, which
# a busy host disturbs less. Counts are means over the runs. Fails when a run is missing.

BEGIN {
    TRANSFERS_MIN = 500 # with fewer, beginning and end of the recording count too much
    names = "workload,mode,vcpus,runs,median_ns,min_ns,max_ns," \
        "ratio_native,ratio_native_min,ratio_native_max,ratio_native_least," \
        "ratio_counted,ratio_counted_min,ratio_counted_max,ratio_counted_least," \
        "ratio_record,ratio_record_min,ratio_record_max,ratio_record_least," \
        "process_median_ns,ticks,events,bytes,promotions,demotions," \
        "promotions_per_s,demotions_per_s,user_instructions,kernel_instructions," \
        "bytes_per_1000_instructions,transfer_instructions,exact,slack,steps"
    columns = split(names, column, ",")
    if (header) {
        print names
        exit
    }
}

{ sub(/\r$/, "") }

function field(name,    i) {
    for (i = 2; i <= NF; i++)
        if (index($i, name "=") == 1)
            return substr($i, length(name) + 2)
    return ""
}

function keep(mode, ns) {
    if (!(mode in runs))
        modes[++mode_count] = mode
    times[mode, ++runs[mode]] = ns + 0
}

function add(mode, name) { sum[mode, name] += field(name) }

/^@bench / { mode = field("mode") }

# `bench instructions` comes after all rounds; its runs are slow and not for timing.
/^@native / {
    if (mode == "native" || mode == "counted")
        keep(mode, field("ns"))
    mode = ""
}
/^@record / {
    record_bytes = field("bytes")
    if (mode == "record") {
        keep(mode, field("ns"))
        add(mode, "ticks"); add(mode, "events"); add(mode, "bytes")
    }
}
/^@events / {
    record_demotions = field("demote")
    if (mode == "record") {
        add(mode, "promote"); add(mode, "demote")
    }
}
/^@replay / && mode == "replay" {
    if (field("match") != "yes")
        bad = "a replay did not match"
    keep(mode, field("ns"))
    add(mode, "exact"); add(mode, "slack"); add(mode, "steps")
}
/^@instructions / {
    user[field("mode")] = field("user")
    kernel[field("mode")] = field("kernel")
    mode = ""
}
/^@emulator / {
    keep(field("mode"), field("ns"))
    process[field("mode"), runs[field("mode")]] = field("process_ns") + 0
}

# --- statistics ---

# sorted[1..n], ascending
function sort_values(n,    i, j, value) {
    for (i = 2; i <= n; i++) {
        value = sorted[i]
        for (j = i - 1; j >= 1 && sorted[j] > value; j--)
            sorted[j + 1] = sorted[j]
        sorted[j + 1] = value
    }
}

function median(n) { return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2 }

function put(name, format, value) { row[name] = sprintf(format, value) }

function put_spread(prefix, format, n, median_name) {
    sort_values(n)
    put(median_name, format, median(n))
    put(prefix "min" suffix, format, sorted[1])
    put(prefix "max" suffix, format, sorted[n])
}

function put_times(mode,    i) {
    for (i = 1; i <= runs[mode]; i++)
        sorted[i] = times[mode, i]
    suffix = "_ns"
    put_spread("", "%.0f", runs[mode], "median_ns")
    if (!((mode, 1) in process))
        return
    for (i = 1; i <= runs[mode]; i++)
        sorted[i] = process[mode, i]
    sort_values(runs[mode])
    put("process_median_ns", "%.0f", median(runs[mode]))
}

function least_time(mode,    i, least) {
    least = times[mode, 1]
    for (i = 2; i <= runs[mode]; i++)
        if (times[mode, i] < least)
            least = times[mode, i]
    return least
}

function put_ratio(mode, base, name,    i) {
    if (!(base in runs))
        return
    if (runs[base] != runs[mode]) {
        bad = "not as many runs of " mode " as of " base
        return
    }
    for (i = 1; i <= runs[mode]; i++)
        sorted[i] = times[mode, i] / times[base, i]
    suffix = ""
    put_spread(name "_", "%.3f", runs[mode], name)
    put(name "_least", "%.3f", least_time(mode) / least_time(base))
}

function put_mean(mode, name, from) { put(name, "%.0f", sum[mode, from] / runs[mode]) }

function put_record(    i, seconds) {
    for (i = 1; i <= runs["record"]; i++)
        seconds += times["record", i] / 1e9
    put_mean("record", "ticks", "ticks")
    put_mean("record", "events", "events")
    put_mean("record", "bytes", "bytes")
    put_mean("record", "promotions", "promote")
    put_mean("record", "demotions", "demote")
    put("promotions_per_s", "%.0f", sum["record", "promote"] / seconds)
    put("demotions_per_s", "%.0f", sum["record", "demote"] / seconds)
    if (user["record"] > 0)
        put("bytes_per_1000_instructions", "%.4f", record_bytes * 1000 / user["record"])
    if (record_demotions >= TRANSFERS_MIN && ("record" in kernel))
        put("transfer_instructions", "%.0f",
            (kernel["record"] - kernel["native"]) / record_demotions)
}

function put_replay() {
    put("exact", "%.1f", sum["replay", "exact"] / runs["replay"])
    put("slack", "%.1f", sum["replay", "slack"] / runs["replay"])
    put("steps", "%.1f", sum["replay", "steps"] / runs["replay"])
}

function print_row(    i, line) {
    for (i = 1; i <= columns; i++)
        line = line (i > 1 ? "," : "") row[column[i]]
    print line
}

function print_mode(mode) {
    split("", row)
    row["workload"] = workload
    row["mode"] = mode
    row["vcpus"] = vcpus
    row["runs"] = runs[mode]
    put_times(mode)
    put_ratio(mode, "plain" in runs ? "plain" : "native", "ratio_native")
    put_ratio(mode, "counted", "ratio_counted")
    if (mode == "replay" || mode == "qemu-replay")
        put_ratio(mode, mode == "replay" ? "record" : "qemu-record", "ratio_record")
    if (mode == "record")
        put_record()
    if (mode == "replay")
        put_replay()
    if (mode in user) {
        row["user_instructions"] = user[mode]
        row["kernel_instructions"] = kernel[mode]
    }
    print_row()
}

END {
    if (header)
        exit
    if (!mode_count)
        bad = "no run was measured"
    for (m = 1; m <= mode_count && !bad; m++)
        print_mode(modes[m])
    if (bad) {
        print "bench: " workload " on " vcpus " vCPUs: " bad >"/dev/stderr"
        exit 1
    }
}
