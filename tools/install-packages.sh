#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what a make target needs and this machine lacks.
#
#   tools/install-packages.sh build|iso|run|debug|lint|format|test
#
# Looks first: a machine that has everything sees no apt call and needs no root. Installs on
# Debian 12 and 13 only; elsewhere it names what is missing and stops. Debian 12's own QEMU is too
# old for this project, so there the backports suite is added, copied from the machine's own apt
# source. Environment:
#   QEMU      the emulator to use instead of qemu-system-x86_64; never installed
#   APT_DIR   where apt's source lists lie (default /etc/apt); tests point it elsewhere
#   OS_RELEASE  default /etc/os-release
set -eu

APT_DIR=${APT_DIR:-/etc/apt}
OS_RELEASE=${OS_RELEASE:-/etc/os-release}
QEMU=${QEMU:-}
QEMU_MINIMUM=9.2
NASM_MINIMUM=2.14
GCC_MINIMUM=10
BACKPORTS_NAME=skeleton-crew-backports

say() { printf 'install-packages: %s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }

# --- what is there -------------------------------------------------------------------------------

# version_reached HAVE MINIMUM: dotted numbers.
version_reached() {
    awk -v have="$1" -v want="$2" 'BEGIN {
        n = split(want, w, "."); split(have, h, ".")
        for (i = 1; i <= n; i++) {
            if (h[i] + 0 > w[i] + 0) exit 0
            if (h[i] + 0 < w[i] + 0) exit 1
        }
        exit 0
    }'
}

has() { command -v "$1" >/dev/null 2>&1; }

# has_version COMMAND MINIMUM ARGUMENT…: the first dotted number it prints is at least MINIMUM.
has_version() {
    has "$1" || return 1
    command=$1 minimum=$2
    shift 2
    found=$("$command" "$@" 2>/dev/null | grep -Eo '[0-9]+(\.[0-9]+)+' | head -n 1) || true
    [ -n "$found" ] && version_reached "$found" "$minimum"
}

has_libc_headers() {
    has gcc && printf '#include <stdio.h>\n' | gcc -E -x c - >/dev/null 2>&1
}

has_grub_modules() {
    has grub-mkrescue && [ -f /usr/lib/grub/i386-pc/multiboot2.mod ]
}

# libFuzzer's runtime, which Debian packs apart from clang.
has_fuzzer() {
    has clang || return 1
    for library in "$(clang -print-resource-dir)"/lib/*/libclang_rt.fuzzer*.a; do
        [ ! -f "$library" ] || return 0
    done
    return 1
}

# The package that has it: of the clang that is here, or that the system would install.
fuzzer_package() {
    if has clang; then
        echo "libclang-rt-$(clang -dumpversion | sed 's/\..*//')-dev"
    elif [ "$(system_codename)" = bookworm ]; then
        echo libclang-rt-14-dev
    else
        echo libclang-rt-19-dev
    fi
}

# --- what each target needs ----------------------------------------------------------------------

MISSING=

# need WHAT PACKAGE TEST…: notes WHAT (a name without blanks) and its package when TEST fails.
need() {
    what=$1 package=$2
    shift 2
    "$@" || MISSING="$MISSING $what:$package"
}

need_build() {
    need make make has make
    need "gcc>=$GCC_MINIMUM" gcc has_version gcc "$GCC_MINIMUM" -dumpfullversion
    need libc-headers libc6-dev has_libc_headers
    need ld binutils has ld
    need objcopy binutils has objcopy
    need "nasm>=$NASM_MINIMUM" nasm has_version nasm "$NASM_MINIMUM" -v
}

need_qemu() {
    if [ -n "$QEMU" ]; then
        has "$QEMU" || die "QEMU=$QEMU: no such program"
        has_version "$QEMU" "$QEMU_MINIMUM" --version ||
            die "QEMU=$QEMU is older than $QEMU_MINIMUM"
    else
        need "qemu>=$QEMU_MINIMUM" qemu-system-x86 \
            has_version qemu-system-x86_64 "$QEMU_MINIMUM" --version
    fi
}

need_iso() {
    need grub-mkrescue grub-common has grub-mkrescue
    need grub-i386-pc grub-pc-bin has_grub_modules
    need xorriso xorriso has xorriso
    need mformat mtools has mformat
}

need_lint() {
    need clang-format clang-format has clang-format
    need cppcheck cppcheck has cppcheck
    need git git has git
}

find_missing() {
    MISSING=
    case $1 in
    build) need_build ;;
    run) need_build && need_qemu ;;
    iso) need_build && need_iso ;;
    debug) need_build && need_qemu && need gdb gdb has gdb ;;
    format) need clang-format clang-format has clang-format && need git git has git ;;
    lint) need_build && need_lint ;;
    test)
        need_build && need_qemu && need_iso && need_lint
        need clang clang has clang
        # Elsewhere tests/fuzz.sh does without.
        [ -z "$(system_codename)" ] || need fuzzer-runtime "$(fuzzer_package)" has_fuzzer
        need spin spin has spin
        need babeltrace2 babeltrace2 has babeltrace2
        need prove perl has prove
        ;;
    *) die "unknown target '$1': build, iso, run, debug, lint, format or test" ;;
    esac
}

# MISSING is a list of words: split on purpose.
# shellcheck disable=SC2086
missing_names() { printf '%s\n' $MISSING | sed 's/:[^:]*$//' | paste -sd' ' -; }
# shellcheck disable=SC2086
missing_packages() { printf '%s\n' $MISSING | sed 's/.*://' | sort -u | paste -sd' ' -; }

# --- the backports suite of Debian 12 ------------------------------------------------------------

# All source lists that apt reads, one a line.
source_lists() {
    for file in "$APT_DIR"/sources.list "$APT_DIR"/sources.list.d/*.list \
        "$APT_DIR"/sources.list.d/*.sources; do
        [ -f "$file" ] && printf '%s\n' "$file"
    done
    return 0
}

# derive_oneline SUITE NEW <list: the first `deb` line of SUITE, for suite NEW, component main.
derive_oneline() {
    awk -v suite="$1" -v new="$2" '
        $1 == "deb" {
            at = 2                          # skip [option=value …], which may contain blanks
            if ($2 ~ /^\[/) { while (at <= NF && $at !~ /\]$/) at++; at++ }
            if ($at ~ /^cdrom:/ || $(at + 1) != suite) next
            line = "deb"
            for (i = 2; i <= at; i++) line = line " " $i
            print line " " new " main"
            exit
        }'
}

# derive_deb822 SUITE NEW <sources: the first enabled stanza of SUITE with its fields (URIs,
# Signed-By and whatever else it says), for suite NEW, component main.
derive_deb822() {
    awk -v suite="$1" -v new="$2" '
        function finish(    i, n, words, deb, ours, off) {
            n = split(value["types"], words, /[ \t\n]+/)
            for (i = 1; i <= n; i++) if (words[i] == "deb") deb = 1
            n = split(value["suites"], words, /[ \t\n]+/)
            for (i = 1; i <= n; i++) if (words[i] == suite) ours = 1
            off = tolower(value["enabled"]) ~ /no|false|off|without|disable|^[ \t]*0/
            if (deb && ours && !off && value["uris"] !~ /cdrom:/) {
                printf "Types: deb\n%sSuites: %s\nComponents: main\n", kept, new
                done = 1
                exit
            }
            split("", value)
            kept = field = ""
        }
        /^#/ { next }
        /^[ \t]*$/ { finish(); next }
        /^[ \t]/ { value[field] = value[field] "\n" $0; keep($0); next }
        {
            field = tolower(substr($0, 1, index($0, ":") - 1))
            value[field] = substr($0, index($0, ":") + 1)
            keep($0)
        }
        function keep(line) {
            if (field !~ /^(types|suites|components|enabled)$/) kept = kept line "\n"
        }
        END { if (!done) finish() }'
}

# has_suite SUITE: some enabled entry offers it.
has_suite() {
    for list in $(source_lists); do
        case $list in
        *.sources) found=$(derive_deb822 "$1" "$1" <"$list") ;;
        *) found=$(derive_oneline "$1" "$1" <"$list") ;;
        esac
        [ -z "$found" ] || return 0
    done
    return 1
}

# add_backports CODENAME: derives the suite from the machine's own entry of CODENAME.
add_backports() {
    has_suite "$1-backports" && return 0
    for suite in "$1" stable oldstable; do
        for list in $(source_lists); do
            case $list in
            *.sources) derive=derive_deb822 suffix=sources ;;
            *) derive=derive_oneline suffix=list ;;
            esac
            entry=$($derive "$suite" "$1-backports" <"$list")
            [ -n "$entry" ] || continue
            say "adding $1-backports, derived from $list, as $BACKPORTS_NAME.$suffix"
            printf '%s\n' "$entry" |
                as_root tee "$APT_DIR/sources.list.d/$BACKPORTS_NAME.$suffix" >/dev/null
            return 0
        done
    done
    die "no apt source of $1 found in $APT_DIR to derive $1-backports from;" \
        "install QEMU $QEMU_MINIMUM or newer yourself (QEMU=path names it)"
}

# --- installing ----------------------------------------------------------------------------------

as_root() {
    if [ "$(id -u)" -eq 0 ] || [ -w "$APT_DIR/sources.list.d" ]; then
        "$@"
    else
        sudo "$@"
    fi
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 "$@" ||
        die "apt-get $* failed (missing: $(missing_names))"
}

# install_missing CODENAME
install_missing() {
    packages=$(missing_packages)
    say "missing: $(missing_names); installing with apt: $packages"
    suite=
    case "$1 $packages " in
    bookworm*\ qemu-system-x86\ *)
        add_backports "$1"
        suite=$1-backports
        ;;
    esac
    apt update
    for package in $packages; do
        [ "$package" = qemu-system-x86 ] || set -- "$@" "$package"
    done
    shift
    [ $# -eq 0 ] || apt install -y --no-install-recommends "$@"
    case " $packages " in
    *\ qemu-system-x86\ *)
        apt install -y --no-install-recommends ${suite:+-t "$suite"} qemu-system-x86
        ;;
    esac
}

system_codename() {
    [ -r "$OS_RELEASE" ] || return 0
    (
        # shellcheck disable=SC1090
        . "$OS_RELEASE"
        case "${ID:-} ${VERSION_ID:-}" in
        "debian 12") echo bookworm ;;
        "debian 13") echo trixie ;;
        esac
    )
}

main() {
    find_missing "$1"
    [ -n "$MISSING" ] || return 0

    codename=$(system_codename)
    if [ -z "$codename" ]; then
        die "missing: $(missing_names). This script installs on Debian 12 and 13 only;" \
            "install them yourself (Debian calls the packages: $(missing_packages))"
    fi
    if [ "$(id -u)" -ne 0 ] && ! has sudo; then
        die "missing: $(missing_names). Installing needs root, and there is no sudo;" \
            "run this once as root: $0 $1"
    fi
    install_missing "$codename"
    find_missing "$1"
    [ -z "$MISSING" ] || die "still missing after installing: $(missing_names)"
}

case ${1:-} in
'') die "usage: tools/install-packages.sh build|iso|run|debug|lint|format|test" ;;
--add-backports) add_backports "${2:?codename}" ;;
*) main "$1" ;;
esac
