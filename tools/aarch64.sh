#!/bin/bash
# Kelvin for AArch64 by the cross compiler, and what of it can be tried without such a machine. Prints TAP.
#
# Usage: B=build VERSION=0.1.0 tools/aarch64.sh. Needs the native build in $B. Libraries come from Debian's arm64 packages, unpacked
# below $B/aarch64/sysroot: nothing is installed, and no right of root is needed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
native=${B:-build}
to=$native/aarch64
root=$PWD/$to/sysroot
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0 failed=0

verdict() { # CODE NAME [LOG]
    n=$((n + 1))
    if [ "$1" = 0 ]; then
        echo "ok $n aarch64: $2"
    else
        echo "not ok $n aarch64: $2"
        failed=1
        [ -z "${3:-}" ] || tail -n 12 "$3" | sed 's/^/# /'
    fi
}

skip() { # REASON
    echo "1..1"
    echo "ok 1 aarch64 # SKIP $1"
    exit 0
}

private_apt() { # WORD...
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::State=$PWD/$to/apt" -o "Dir::Cache=$PWD/$to/apt" \
        -o "Dir::State::status=$PWD/$to/apt/status" -o "APT::Sandbox::User=$(id -un)" "$@"
}

packages() {
    mkdir -p "$to/apt/lists/partial" "$to/apt/archives/partial" && : >"$to/apt/status"
    private_apt update && private_apt -y --no-install-recommends --download-only install libc6-dev libzstd-dev zlib1g-dev \
        libxxhash-dev libelf-dev libdw-dev liblzma-dev libbz2-dev libiberty-dev libcapstone-dev libsqlite3-dev libinih-dev \
        libcmocka-dev libjansson-dev
}

# Links of development packages name files from the root on. Below another root they lead nowhere, and the linker would take the
# static library beside them.
relink() {
    local link
    find "$root" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
        ln -sfrT "$root$(readlink "$link")" "$link" && rm -f "$to/kelvin"
    done
}

sysroot() {
    local deb
    [ ! -f "$root/.whole" ] || return 0
    packages >"$tmp/apt" 2>&1 || { tail -n 3 "$tmp/apt" >&2 && return 1; }
    mkdir -p "$root"
    for deb in "$to"/apt/archives/*.deb; do
        dpkg-deb -x "$deb" "$root" || return 1
    done
    touch "$root/.whole"
}

# The page is the same bytes for every machine.
compile() {
    mkdir -p "$to/gen" && cp -p "$native/gen/kelvin_wasm.h" "$to/gen/" || return 1
    make -s "-j$(nproc)" WASM_READY= B="$to" CC="aarch64-linux-gnu-gcc --sysroot=$root" LD=aarch64-linux-gnu-ld AR=aarch64-linux-gnu-ar \
        OBJCOPY=aarch64-linux-gnu-objcopy all "${tests[@]/#/$to/tests/unit/}"
}

emulated() { # PROGRAM WORD...
    KELVIN_EMULATED=1 timeout 300 qemu-aarch64 -L "$root" "$@"
}

package() {
    ARCH=arm64 NATIVE=$native B=$to VERSION=${VERSION:-0.1.0} tools/deb.sh
}

# The emulated kernel cannot start programs of its machine: a script without "#!" starts the emulator, which passes LD_PRELOAD on.
timer_engine() {
    aarch64-linux-gnu-gcc --sysroot="$root" -O2 -g -fomit-frame-pointer tests/target/aarch64_spin.c -o "$tmp/spin" || return 1
    echo "exec qemu-aarch64 -L '$root' '$tmp/spin'" >"$tmp/start" && chmod +x "$tmp/start"
    emulated "$to/kelvin" record -q --engine timer -o "$tmp/spin.kelvin" -- "$tmp/start" >"$tmp/out" 2>&1 || return 1
    "$native/kelvin" fold "$tmp/spin.kelvin" >"$tmp/folded" 2>&1
    grep -q 'main;spin_middle;spin_leaf' "$tmp/folded" || return 1
}

# Unwinding, code and file formats. Others start programs of their own, which the emulator cannot.
tests=(test_unwind_arch test_unwind_walk test_unwind_numbers test_unwind_cfi test_unwind_index test_unwind_hostile test_recording
    test_perfdata test_perfdata_events test_column test_cursor test_simd)

for tool in aarch64-linux-gnu-gcc qemu-aarch64 apt-get dpkg-deb; do
    command -v "$tool" >/dev/null || skip "no $tool (tools/setup.sh aarch64)"
done
sysroot || skip "Debian's packages for arm64 cannot be had"
relink
compile >"$tmp/make" 2>&1
verdict $? "the program, its libraries and unit tests are built" "$tmp/make"
[ "$failed" = 0 ] || exit 1
for t in "${tests[@]}"; do
    emulated "$to/tests/unit/$t" >"$tmp/$t" 2>&1
    verdict $? "$t" "$tmp/$t"
done
printf '#!/bin/sh\nexec qemu-aarch64 -L "%s" "%s/kelvin" "$@"\n' "$root" "$PWD/$to" >"$tmp/kelvin" && chmod +x "$tmp/kelvin"
KELVIN=$tmp/kelvin tools/golden.sh >"$tmp/golden" 2>&1
grep -A 8 '^not ok' "$tmp/golden" >"$tmp/golden.bad"
[ ! -s "$tmp/golden.bad" ] && grep -q '^ok' "$tmp/golden"
verdict $? "golden files ($(grep -c '^ok' "$tmp/golden"))" "$tmp/golden.bad"
timer_engine
verdict $? "the timer engine records whole stacks" "$tmp/folded"
# A library that is linked in by mistake is found here, too. Who builds it is no matter, so that the package proper comes last.
if command -v lintian >/dev/null; then
    DEBFULLNAME="A Packager" DEBEMAIL=packager@kelvin.invalid package >"$tmp/deb" 2>&1
    lintian --allow-root --fail-on error,warning "$to"/kelvin_*_arm64.deb >"$tmp/lintian" 2>&1 && [ ! -s "$tmp/lintian" ]
    verdict $? "lintian finds nothing in the package" "$tmp/lintian"
fi
package >"$tmp/deb" 2>&1 && [ "$(dpkg-deb -f "$to"/kelvin_*_arm64.deb Architecture)" = arm64 ]
verdict $? "a package: $(tail -n 1 "$tmp/deb")" "$tmp/deb"
echo "1..$n"
exit $failed
