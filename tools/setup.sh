#!/bin/bash
# Install what is missing, and only that. Usage: tools/setup.sh [build] [test] [bench]
#
# Debian 12 package names. "package=command" is satisfied by the command, whoever installed it.
set -euo pipefail
cd "$(dirname "$0")/.." || exit

clang_major() {
    { clang -dumpversion 2>/dev/null || echo 14; } | cut -d. -f1
}

build=(gcc=gcc make=make libc6-dev libzstd-dev zlib1g-dev libxxhash-dev
    libelf-dev libdw-dev liblzma-dev libbz2-dev libiberty-dev libcapstone-dev libsqlite3-dev libinih-dev)
test=(libcmocka-dev libjansson-dev bats=bats libxml2-utils=xmllint
    clang=clang "libclang-rt-$(clang_major)-dev" clang-format=clang-format clang-tidy=clang-tidy
    "g++=g++" lld=ld.lld mold=mold binutils=readelf gcc-aarch64-linux-gnu=aarch64-linux-gnu-gcc libc6-dev-arm64-cross
    shellcheck=shellcheck pkgconf=pkg-config groff-base=groff zstd=zstd gzip=gzip xz-utils=xz bzip2=bzip2
    python3=python3 chromium=chromium golang-go=go nodejs=node npm=npm)
bench=(perl=perl python3=python3 hyperfine=hyperfine valgrind=valgrind time=/usr/bin/time git=git ca-certificates)

missing=()

# 0 when ITEM, a "package" or "package=command", is there already.
have() {
    if [[ $1 == *=* ]]; then
        command -v "${1#*=}" >/dev/null
    else
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
    fi
}

look() {
    local item
    for item in "$@"; do
        have "$item" || missing+=("${item%%=*}")
    done
}

install_missing() {
    local root=()
    local line="apt-get install -y --no-install-recommends ${missing[*]}"
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "setup: missing: ${missing[*]}; as root run: apt-get update && $line" >&2
            return 1
        fi
        root=(sudo)
    fi
    echo "setup: installing ${missing[*]}"
    # One list that cannot be reached need not matter: the install tells.
    "${root[@]}" apt-get update -qq || true
    local log
    log=$(mktemp)
    # shellcheck disable=SC2086
    if ! "${root[@]}" env DEBIAN_FRONTEND=noninteractive $line >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        echo "setup: apt could not install them; the line was: $line" >&2
        return 1
    fi
    rm -f "$log"
    echo "setup: installed ${missing[*]}"
}

# What the browser tests use. Without it they are skipped and say so; nothing else needs it.
node_modules() {
    local here=tests/browser
    [ -f $here/package.json ] || return 0
    [ $here/node_modules/.package-lock.json -nt $here/package.json ] && return 0
    echo "setup: npm install in $here"
    if ! (cd $here && npm install --no-audit --no-fund --silent) || ! [ -d $here/node_modules ]; then
        echo "setup: npm could not be reached; the browser tests will be skipped" >&2
        return 0
    fi
    touch $here/node_modules/.package-lock.json
}

[ $# -gt 0 ] || set -- build test
for group in "$@"; do
    case $group in
    build) look "${build[@]}" ;;
    test) look "${test[@]}" ;;
    bench) look "${bench[@]}" ;;
    *) echo "setup: no group '$group'; there are build, test and bench" >&2; exit 1 ;;
    esac
done
if [ ${#missing[@]} -gt 0 ]; then
    install_missing
else
    echo "setup: nothing missing ($*)"
fi
if [[ " $* " == *" test "* ]]; then
    node_modules
fi
