#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds the kernel in every supported way: gcc, clang, and both with debugging checks.
# TIME_LIMIT=900
. "$(dirname "$0")/lib.sh"

if ! output=$(make image 2>&1); then
    tap_fail "gcc builds kernel and programs" "$output"
    echo "Bail out! there is no kernel to test"
    exit 1
fi
tap_pass "gcc builds kernel and programs"
tap_check "clang builds the kernel" make CC=clang O=build/clang kernel
tap_check "gcc builds the kernel with DEBUG=1" make DEBUG=1 O=build/debug kernel
tap_check "clang builds the kernel with DEBUG=1" make CC=clang DEBUG=1 O=build/clang-debug kernel

# A second make has nothing to do: all that was built is also known to be.
if output=$(make image 2>&1) && ! grep -Eq '^  (CC|NASM|LD|HOST) ' <<<"$output"; then
    tap_pass "a second make builds nothing"
else
    tap_fail "a second make builds nothing" "$output"
fi
tap_done
