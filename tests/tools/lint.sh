#!/bin/bash
# SPDX-License-Identifier: MIT
# The lint itself: a clean little tree passes, and each kind of fault put into it is found.
. tests/lib.sh
LINT=$PWD/tools/lint/lint.sh
TREE=build/tests/lint-tree

# put FILE: writes standard input there, under a licence line if it is C.
put() {
    mkdir -p "$TREE/$(dirname "$1")"
    case $1 in
    *.[ch]) { echo '/* SPDX-License-Identifier: MIT */' && cat; } >"$TREE/$1" ;;
    *) cat >"$TREE/$1" ;;
    esac
}

clean_tree() {
    rm -rf $TREE
    mkdir -p $TREE
    cp .clang-format $TREE
    put kernel/err.h <<<'int err_value(void);'
    put kernel/main.c <<<'#include "kernel/err.h"'
    put arch/x86/cpu.h <<<'static inline void cpu_pause(void)
{
    __asm__ volatile("pause");
}'
    put arch/x86/cpu.c <<<'#include "arch/x86/cpu.h"
#include "kernel/err.h"'
}

# finds_with TOOL WHAT TEXT: finds, if the lint uses this version of the tool.
finds_with() {
    local output
    output=$("$LINT" $TREE 2>/dev/null)
    if grep -q "^ok .* $1 # SKIP" <<<"$output"; then
        clean_tree
        tap_skip "finds $2" "the lint does not use this version of $1"
    else
        finds "$2" "$3"
    fi
}

# finds WHAT TEXT: the lint of the tree as it is now fails and says TEXT; then the tree is cleaned.
finds() {
    local output
    if output=$("$LINT" $TREE 2>&1); then
        tap_fail "finds $1" "$output"
    elif [[ $output == *"$2"* ]]; then
        tap_pass "finds $1"
    else
        tap_fail "finds $1, and says '$2'" "$output"
    fi
    clean_tree
}

clean_tree
tap_check "a clean tree passes" "$LINT" $TREE

put kernel/bad.c <<<'#include "replay/crew.h"'
finds "kernel/ including replay/" 'kernel/bad.c:2: kernel/ must not include "replay/crew.h"'
put arch/x86/bad.c <<<'#include "kernel/sched.h"'
finds "arch/x86/ including more than kernel's base" 'must not include "kernel/sched.h"'
put user/bad.c <<<'#include "kernel/err.h"'
finds "user/ including more than the ABI" 'user/ must not include "kernel/err.h"'
put tools/bad.c <<<'#include "kernel/thread.h"'
finds "tools/ including the kernel" 'tools/ must not include "kernel/thread.h"'
put kernel/bad.c <<<'#include "err.h"'
finds "an include that is not from the root" "write the path from the repository's root"
put arch/x86/bad.asm <<<'; SPDX-License-Identifier: MIT
%include "replay/bad.inc"'
finds "the same in assembly" 'arch/x86/ must not include "replay/bad.inc"'
put mm/bad.c <<<'void bad(void)
{
    __asm__ volatile("hlt");
}'
finds "inline assembly above arch/x86/" 'mm/bad.c:4: machine instructions belong to arch/x86/'
put kernel/bad.c <<<'unsigned long bad(void)
{
    return msr_read(0x10);
}'
finds "an MSR read above arch/x86/" 'machine instructions belong to arch/x86/'
put elsewhere/bad.c <<<'int x;'
finds "a file of no layer" 'no layer is known for this file'

put kernel/bad.c <<<'int   bad;'
finds_with clang-format "wrong formatting" 'code should be clang-formatted'

put kernel/bad.h </dev/null
sed -i 1d $TREE/kernel/bad.h
echo 'int x;' >$TREE/kernel/bad.h
finds "a missing licence line" 'kernel/bad.h:1: no line `SPDX-License-Identifier: MIT`'
put kernel/bad.h <<<"/* $(printf 'x%.0s' {1..100}) */"
finds "a line that is too long" 'kernel/bad.h:2: longer than 100 columns'
put kernel/bad.h <<<"int	x;"
finds "a tab" 'kernel/bad.h:2: a tab'
put docs/bad.md <<<"see /""root/notes"
finds "a path of one machine" 'docs/bad.md:1: an absolute path of one machine'
put kernel/bad.h < <(printf '%s\n' '' 'extern int x;'{1..420})
finds "a long file" 'more than 400 lines'
put kernel/bad.c < <(printf 'void bad(void)\n{\n' && printf '    bad();%.0s\n' {1..61} && echo '}')
finds "a long function" 'bad has 61 lines, more than 60'
put tools/lint/long.txt <<<'kernel/main.c'
finds "an exception without a reason" 'kernel/main.c has no reason'

put kernel/bad.c <<<'int bad(void);
int bad(void)
{
    int table[2] = {1, 2};
    return table[2];
}'
finds_with cppcheck "what cppcheck finds" 'out of bounds'
tap_done
