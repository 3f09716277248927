#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes an image that boots the kernel by GRUB, from a CD, a USB stick or in QEMU.
#
#   tools/make-iso.sh OUTPUT.iso
#
# RUN and APPEND choose the kernel command line as for run-qemu.sh. An image without RUN is for a
# person at the machine: it ends in the shell. MENU=0|1 is the entry that boots (0 multiboot 2,
# 1 multiboot 1). KERNEL64, KERNEL and PROGRAMS name other files than those in build/. LOGS: files
# of recordings, parted by blanks, that GRUB hands to the kernel (`load`).
set -euo pipefail
output=$(realpath -m "${1:?usage: tools/make-iso.sh OUTPUT.iso}")
cd "$(dirname "$0")/.."

# A kernel command line as words for GRUB's own parser, each in single quotes: run="a; b" becomes
# 'run=a; b'. GRUB hands a word with blanks to the kernel in double quotes, "run=a; b", with
# backslashes before quotes and backslashes: kernel/cmdline.c reads both forms alike.
quote_for_grub() {
    awk -v quote="'" '
    {
        for (i = 1; i <= length($0); i++) {
            c = substr($0, i, 1)
            if (c == "\\") { i++; word = word substr($0, i, 1) }
            else if (c == "\"") inside = !inside
            else if (c == " " && !inside) flush()
            else if (c == quote) word = word quote "\\" quote quote
            else word = word c
        }
        flush()
        print line
    }
    function flush() {
        if (word != "") line = line (line == "" ? "" : " ") quote word quote
        word = ""
    }'
}

if [ -n "${RUN:-}" ]; then
    words=$(./run-qemu.sh --print-words </dev/null)
else
    words="tour${APPEND:+ $APPEND} shell"
fi
tree=$output.tree
rm -rf "$tree"
mkdir -p "$tree/boot/grub"
objcopy --strip-debug "${KERNEL64:-build/kernel.elf}" "$tree/boot/kernel.elf"
cp "${KERNEL:-build/kernel32.elf}" "$tree/boot/kernel32.elf"
cp "${PROGRAMS:-build/user/programs.tar}" "$tree/boot/programs.tar"
modules=
for file in ${LOGS:-}; do
    cp "$file" "$tree/boot/"
    name=$(basename "$file")
    modules+="    @MODULE@ /boot/$name $name"$'\n'
done
quoted=$(printf '%s\n' "$words" | quote_for_grub)
while IFS= read -r line; do
    line=${line//@MENU@/${MENU:-0}}
    case $line in
    *@LOGS@*)
        word=module2
        [[ $line == *multiboot1* ]] && word=module
        printf '%s' "${modules//@MODULE@/$word}"
        ;;
    *) printf '%s\n' "${line//@WORDS@/$quoted}" ;;
    esac
done <boot/grub.cfg >"$tree/boot/grub/grub.cfg"

# Only the BIOS platform: the kernel uses the text screen, which UEFI machines do not have.
grub-mkrescue -d /usr/lib/grub/i386-pc -o "$output" "$tree" >"$output.log" 2>&1 || {
    cat "$output.log" >&2
    echo "make-iso: error: grub-mkrescue failed" >&2
    exit 1
}
rm -rf "$tree"
echo "  ISO   $1"
