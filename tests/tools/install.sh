#!/bin/bash
# SPDX-License-Identifier: MIT
# tools/install-packages.sh: what it finds missing, and the backports suite that it derives.
. tests/lib.sh
QEMU_GIVEN=${QEMU:-}
unset QEMU
SCRIPT=$PWD/tools/install-packages.sh
WORK=build/tests/install
rm -rf $WORK
mkdir -p $WORK

# sources NAME: an empty apt directory in APT_DIR.
sources() {
    export APT_DIR=$WORK/$1
    mkdir -p "$APT_DIR/sources.list.d"
    ADDED=$APT_DIR/sources.list.d/skeleton-crew-backports
}

add_backports() {
    "$SCRIPT" --add-backports bookworm
}

# expect_file WHAT FILE: it has the text of standard input.
expect_file() {
    local difference
    if difference=$(diff - "$2" 2>&1); then
        tap_pass "$1"
    else
        tap_fail "$1" "$difference"
    fi
}

sources deb822
cat >"$APT_DIR/sources.list.d/a.sources" <<'END'
Types: deb
URIs: http://security.example/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/security.gpg

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm

# a remark
Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Architectures: amd64
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
 -----END PGP PUBLIC KEY BLOCK-----
END
tap_check "deb822: backports are added" add_backports
expect_file "deb822: URI, key and options are kept" "$ADDED.sources" <<'END'
Types: deb
URIs: http://mirror.example/debian
Architectures: amd64
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
 -----END PGP PUBLIC KEY BLOCK-----
Suites: bookworm-backports
Components: main
END
cp "$ADDED.sources" $WORK/before
tap_check "deb822: a second time changes nothing" add_backports
expect_file "deb822: still the same entry" "$ADDED.sources" <$WORK/before

sources oneline
cat >"$APT_DIR/sources.list" <<'END'
# deb http://remark.example/debian bookworm main
deb cdrom:[Debian 12]/ bookworm main
deb-src http://source.example/debian bookworm main
deb http://security.example/debian-security bookworm-security main
deb [arch=amd64 signed-by=/etc/keys/debian.gpg] http://mirror.example bookworm main contrib
deb http://second.example/debian bookworm main
END
tap_check "one-line: backports are added" add_backports
expect_file "one-line: URI, key and options are kept" "$ADDED.list" <<'END'
deb [arch=amd64 signed-by=/etc/keys/debian.gpg] http://mirror.example bookworm-backports main
END

sources configured
echo 'deb http://mirror.example/debian bookworm main' >"$APT_DIR/sources.list"
echo 'deb http://other.example/debian bookworm-backports main' >"$APT_DIR/sources.list.d/b.list"
tap_check "backports that are there already suffice" add_backports
tap_check "nothing was added" test ! -e "$ADDED.list" -a ! -e "$ADDED.sources"

sources stable
echo 'deb http://mirror.example/debian oldstable main' >"$APT_DIR/sources.list"
tap_check "a source that says oldstable serves as well" add_backports
expect_file "its backports go by the code name" "$ADDED.list" <<'END'
deb http://mirror.example/debian bookworm-backports main
END

sources none
if output=$(add_backports 2>&1); then
    tap_fail "no source at all is an error" "$output"
elif [[ $output == *"no apt source of bookworm found"* ]]; then
    tap_pass "no source at all is an error"
else
    tap_fail "no source at all is an error that says so" "$output"
fi

# A machine without anything: only a shell and the tools that the script itself calls.
mkdir -p $WORK/bin
for tool in sh awk grep head sed sort paste id env; do
    ln -s "$(command -v $tool)" $WORK/bin/$tool
done
printf 'ID=fancyos\nVERSION_ID="1"\n' >$WORK/os-release

if output=$(PATH=$WORK/bin OS_RELEASE=$WORK/os-release "$SCRIPT" run 2>&1); then
    tap_fail "another system is an error" "$output"
elif [[ $output == *"gcc"*"qemu>="*"Debian 12 and 13 only"*"qemu-system-x86"* ]]; then
    tap_pass "another system is an error that names what is missing"
else
    tap_fail "another system is an error that names what is missing" "$output"
fi

# With QEMU 7.2 in the PATH the version counts, not the presence.
printf '#!/bin/sh\necho "QEMU emulator version 7.2.17 (Debian)"\n' >$WORK/bin/qemu-system-x86_64
chmod +x $WORK/bin/qemu-system-x86_64
output=$(PATH=$WORK/bin OS_RELEASE=$WORK/os-release "$SCRIPT" run 2>&1)
tap_check "QEMU 7.2 is too old" grep -q 'qemu>=' <<<"$output"
output=$(QEMU=$WORK/bin/qemu-system-x86_64 "$SCRIPT" run 2>&1)
tap_check "QEMU=path of an old one is refused" grep -q 'is older than' <<<"$output"
sed -i 's/7.2.17/10.0.2/' $WORK/bin/qemu-system-x86_64
output=$(PATH=$WORK/bin OS_RELEASE=$WORK/os-release "$SCRIPT" run 2>&1)
tap_check "QEMU 10.0 is not missing" test "${output#*qemu>=}" = "$output"

tap_check "an unknown target is refused" sh -c "! '$SCRIPT' nonsense"
tap_check "this machine has what the tests need, and no root was needed to see it" \
    env QEMU="$QEMU_GIVEN" APT_DIR=/nonexistent "$SCRIPT" test
tap_done
