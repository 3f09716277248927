#!/bin/bash
# SPDX-License-Identifier: MIT
# Boots the kernel stopped at its first instruction and attaches gdb. QEMU's console goes to
# build/debug.log; the settings are those of run-qemu.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

gdb_command=(gdb -q -ex 'set architecture i386:x86-64' -ex 'target remote :1234'
    build/kernel.elf)
if [ ! -t 0 ]; then
    echo "debug: error: needs a terminal. By hand: ./run-qemu.sh --gdb, and in another" \
        "terminal: ${gdb_command[*]@Q}" >&2
    exit 1
fi

TIMEOUT=86400 ./run-qemu.sh --gdb </dev/null >build/debug.log 2>&1 &
qemu=$!
trap 'kill $qemu 2>/dev/null || true' EXIT
for _ in 1 2 3 4 5 6 7 8 9 10; do
    (exec 3<>/dev/tcp/127.0.0.1/1234) 2>/dev/null && break
    sleep 0.2
done
kill -0 $qemu 2>/dev/null || {
    cat build/debug.log >&2
    exit 1
}
echo "debug: the kernel's console: tail -f build/debug.log; for example: hbreak kernel_main"
"${gdb_command[@]}"
