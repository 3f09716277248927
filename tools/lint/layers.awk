# SPDX-License-Identifier: MIT
# Checks the direction of dependencies between the layers: who includes what, and who may know
# registers and ports. Reads source files, prints `file:line: what is wrong`, fails if anything is.
#
#   awk -f tools/lint/layers.awk FILE…      from the repository's root

BEGIN {
    # What arch/x86 and boot may use of the kernel: declarations without a way back up.
    base = "abi|err|hash|marker|panic|printf|spinlock|string|upcalls|wait"

    may["boot"] = "^(boot/|arch/x86/|kernel/(" base ")\\.h$)"
    may["arch/x86"] = "^(arch/x86/|boot/boot_info\\.h$|kernel/(" base ")\\.h$)"
    may["kernel"] = "^(arch/x86/|kernel/|mm/|boot/boot_info\\.h$)"
    may["mm"] = "^(arch/x86/|kernel/|mm/|boot/boot_info\\.h$)"
    may["replay"] = "^(arch/x86/|kernel/|mm/|replay/)"
    may["user"] = "^(user/|kernel/abi\\.h$)"
    may["tools"] = "^(tools/|kernel/(abi|err|hash)\\.h$" \
        "|replay/(log_format|store|store_format)\\.h$)"
    may["tests"] = "."

    also["replay/log_module.c"] = "^boot/boot_info\\.h$" # recordings as modules
    also["kernel/main.c"] = "^replay/"     # the boot order starts every layer
    also["tools/qemu-pmu/pmu_classify.c"] = "^arch/x86/insn\\.h$" # one table of instructions
    # crewlog reads recordings with the kernel's own code.
    also_below["tools/crewlog/"] = "^(replay/(log_(check|codec|file)|event_text)\\.h" \
        "|kernel/names\\.h)$"
    also["tools/gen_asm.c"] = "^arch/x86/" # writes the C constants that assembly needs

    # Generated into build/gen/, which NASM searches.
    generated = "^(asm_offsets|vectors)\\.inc$"

    # Instructions of the machine belong to arch/x86 and boot; a user program has its own.
    machine = "(^|[^A-Za-z0-9_])(__asm__|asm|rdmsr|wrmsr|(io_)?(in|out)(8|16|32|b|w|l)" \
        "|msr_(read|write)[a-z0-9_]*|io_(read|write)[a-z0-9_]*) *(volatile|goto)? *\\("
}

function complain(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    wrong = 1
}

function layer_of(path) {
    if (path ~ /^arch\/x86\//) return "arch/x86"
    return substr(path, 1, index(path, "/") - 1)
}

function allowed_below(path,    directory) {
    for (directory in also_below)
        if (index(FILENAME, directory) == 1 && path ~ also_below[directory]) return 1
    return 0
}

FNR == 1 {
    sub(/^\.\//, "", FILENAME)
    layer = layer_of(FILENAME)
    if (!(layer in may)) complain("no layer is known for this file")
}

# The path in quotes of #include "…" or %include "…".
/^[ \t]*[#%][ \t]*include[ \t]*"/ {
    split($0, parts, "\"")
    path = parts[2]
    if (path ~ generated && layer ~ /^(arch\/x86|boot)$/) next
    if (path !~ /\//) complain("include of \"" path "\": write the path from the repository's root")
    else if (path !~ may[layer] && !(FILENAME in also && path ~ also[FILENAME]) &&
        !allowed_below(path))
        complain(layer "/ must not include \"" path "\"")
}

# string.c: the C library's functions, by the string instructions and nothing else.
FILENAME ~ /\.[ch]$/ && FILENAME != "kernel/string.c" && layer ~ /^(kernel|mm|replay)$/ &&
    $0 !~ /^ *(\/?\*|\/\/)/ && $0 ~ machine {
    complain("machine instructions belong to arch/x86/")
}

END { exit wrong }
