#!/bin/bash
# SPDX-License-Identifier: MIT
# Static checks of the whole tree, as TAP.
#
#   tools/lint/lint.sh [DIRECTORY]      default: the repository that this file is in
# TIME_LIMIT=900
set -uo pipefail
tools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$tools/../..}" || exit 1

# The versions that the tree is kept clean for, those of Debian 12. Others lay out a few things
# differently, or warn of other things.
FORMAT_VERSION=14
CPPCHECK_VERSION=2.10
POINT=0
FAILED=0

# point WHAT STATUS OUTPUT
point() {
    POINT=$((POINT + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $POINT - $1"
    else
        FAILED=1
        echo "not ok $POINT - $1"
        printf '%s\n' "$3" | sed 's/^/# /' >&2
    fi
}

skip() {
    POINT=$((POINT + 1))
    echo "ok $POINT - $1 # SKIP $2"
}

# check WHAT COMMAND…
check() {
    local what=$1 output status=0
    shift
    output=$("$@" 2>&1) || status=$?
    point "$what" $status "$output"
}

# All files that belong to the repository, those that are not committed yet included.
list_files() {
    if [ -e .git ]; then
        git ls-files --cached --others --exclude-standard
    else
        find . -path ./build -prune -o -type f -print | sed 's,^\./,,'
    fi | while IFS= read -r file; do [ -f "$file" ] && printf '%s\n' "$file"; done | sort
}

# check_with_version TOOL VERSION COMMAND…: a check only if that version of the tool is here.
check_with_version() {
    local tool=$1 wanted=$2 found
    shift 2
    found=$("$tool" --version | grep -Eo '[0-9]+(\.[0-9]+)*' | head -n 1)
    case $found. in
    "$wanted".*) check "$tool" "$@" ;;
    *) skip "$tool" "the tree is kept clean for version $wanted, this is $found" ;;
    esac
}

run_cppcheck() {
    mkdir -p build/cppcheck
    cppcheck --quiet --enable=warning,portability,performance --error-exitcode=1 --inline-suppr \
        --library="$tools/cppcheck.xml" \
        --suppressions-list="$tools/cppcheck.txt" --std=c11 --platform=unix64 \
        -D__x86_64__ -D__CPPCHECK__ -I. \
        --cppcheck-build-dir=build/cppcheck -j2 \
        --template='{file}:{line}: {severity}: {message} [{id}]' "${C_SOURCES[@]}"
}

run_shellcheck() {
    local script found=0
    for script in "${SCRIPTS[@]}"; do
        shellcheck -x -S warning "$script" || found=1
    done
    return $found
}

mapfile -t FILES < <(list_files)
mapfile -t C_FILES < <(printf '%s\n' "${FILES[@]}" | grep '\.[ch]$')
mapfile -t C_SOURCES < <(printf '%s\n' "${FILES[@]}" | grep '\.c$')
mapfile -t LAYERED < <(printf '%s\n' "${FILES[@]}" | grep -E '\.(c|h|asm|inc)$')
mapfile -t SCRIPTS < <(printf '%s\n' "${FILES[@]}" | grep -E '\.sh$')
mapfile -t TEXTS < <(printf '%s\n' "${FILES[@]}" | xargs -d '\n' grep -Il '')

check_with_version clang-format $FORMAT_VERSION \
    clang-format --dry-run -Werror "${C_FILES[@]}"
check "layers" awk -f "$tools/layers.awk" "${LAYERED[@]}"
check "text: licence, width, tabs, paths, lengths" perl "$tools/text.pl" "${TEXTS[@]}"
check_with_version cppcheck $CPPCHECK_VERSION run_cppcheck
if command -v shellcheck >/dev/null; then
    check "shell scripts" run_shellcheck
else
    skip "shell scripts" "no shellcheck here"
fi
echo "1..$POINT"
exit $FAILED
