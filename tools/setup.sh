#!/bin/bash
# Install what is missing, and only that. Usage: tools/setup.sh [GROUP...]; see the groups below.
#
# Debian 12 package names. "package=command" is satisfied by the command, whoever installed it.
set -euo pipefail
cd "$(dirname "$0")/.." || exit

clang_major() {
    { clang -dumpversion 2>/dev/null || echo 14; } | cut -d. -f1
}

declare -A groups=(
    # The program.
    [build]="gcc=gcc make=make libc6-dev libzstd-dev zlib1g-dev libxxhash-dev
        libelf-dev libdw-dev liblzma-dev libbz2-dev libiberty-dev libcapstone-dev libsqlite3-dev libinih-dev"
    # The page of `kelvin view`: a part of the program compiled to WebAssembly. Without it the rest works.
    [page]="clang=clang lld-$(clang_major) wasi-libc libclang-rt-$(clang_major)-dev-wasm32"
    # `make check`. With libc6-dbg the C library has names.
    [test]="libcmocka-dev libjansson-dev bats=bats clang=clang g++=g++
        binutils=readelf libc6-dbg python3=python3 jq=jq libxml2-utils=xmllint pkgconf=pkg-config
        groff-base=groff zstd=zstd gzip=gzip xz-utils=xz bzip2=bzip2 procps=pgrep"
    # The build with sanitizers, and the fuzzers.
    [sanitize]="clang=clang libclang-rt-$(clang_major)-dev"
    # `make check-all`: tools that a few tests use. Without them those are skipped, each with its reason.
    [more]="chromium=chromium nodejs=node golang-go=go rustc=rustc valgrind=valgrind linux-perf=perf
        gcc-aarch64-linux-gnu=aarch64-linux-gnu-gcc libc6-dev-arm64-cross lld=ld.lld mold=mold zsh=zsh fish=fish
        musl-tools=musl-gcc luajit=luajit heaptrack=heaptrack libjemalloc2 libgoogle-perftools4
        prometheus=prometheus python3-prometheus-client curl=curl"
    # `make lint`.
    [lint]="clang-format=clang-format clang-tidy=clang-tidy shellcheck=shellcheck git=git"
    # `make deb`, and what its test looks at the package with.
    [deb]="dpkg-dev=dpkg-shlibdeps"
    [lintian]="lintian=lintian"
    # `make aarch64`. The libraries are unpacked, not installed.
    [aarch64]="gcc-aarch64-linux-gnu=aarch64-linux-gnu-gcc qemu-user=qemu-aarch64 dpkg-dev=dpkg-shlibdeps"
    # `tools/fresh.sh`.
    [fresh]="debootstrap=debootstrap"
    # `make bench`.
    [bench]="perl=perl python3=python3 hyperfine=hyperfine valgrind=valgrind time=/usr/bin/time git=git
        ca-certificates"
)

# 0 when ITEM, a "package" or "package=command", is there already.
have() {
    if [[ $1 == *=* ]]; then
        command -v "${1#*=}" >/dev/null
    else
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
    fi
}

look() { # ITEM...
    local item
    for item in "$@"; do
        have "$item" || missing+=("${item%%=*}")
    done
}

# Read apt's status lines ("dlstatus:3:41.2:Retrieving ...") and show how far it is: at a terminal in one line that is
# written over, elsewhere every quarter.
progress() {
    local what at percent last=-1 steps=25 end='\n'
    if [ -t 2 ]; then
        steps=1 end=''
    fi
    while IFS=: read -r what at percent _; do
        percent=${percent%.*}
        case $what:$percent in
        dlstatus:[0-9]*) at=downloading ;;
        pmstatus:[0-9]*) at=installing ;;
        *) continue ;;
        esac
        if [ "$at$((percent / steps))" != "$last" ]; then
            last=$at$((percent / steps))
            [ -z "$end" ] && printf '\r' >&2
            # shellcheck disable=SC2059
            printf "setup: %-11s %3d %%$end" "$at" "$percent" >&2
        fi
    done
    [ -n "$end" ] || printf '\r%30s\r' '' >&2
}

# What apt is about to do, in its own words: "Need to get 60 MB of archives."
size() { # COMMAND...
    LC_ALL=C "$@" --assume-no 2>/dev/null | sed -n 's/^Need to get \(.*\) of archives.*/\1 to download/p
        s/^After this operation, \(.*\) of additional.*/, \1 on disk/p' | tr -d '\n'
}

install_missing() {
    local root=() line=(apt-get install --no-install-recommends "${missing[@]}") log
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "setup: missing: ${missing[*]}" >&2
            echo "setup: run as root: apt-get update && ${line[*]}" >&2
            return 1
        fi
        root=(sudo)
    fi
    # A package list that cannot be reached need not matter: the install will show.
    "${root[@]}" apt-get update -qq || true
    echo "setup: installing ${missing[*]} ($(size "${root[@]}" "${line[@]}"))"
    log=$(mktemp)
    if ! "${root[@]}" env DEBIAN_FRONTEND=noninteractive "${line[@]}" -y -o APT::Status-Fd=1 2>"$log" |
        tee -a "$log" | progress; then
        grep -vE '^(dl|pm)status:' "$log" | tail -n 20 >&2
        rm -f "$log"
        echo "setup: apt could not install the packages. The command was: ${line[*]}" >&2
        return 1
    fi
    rm -f "$log"
    echo "setup: installed"
}

# The npm packages of the browser tests and of those with a collector. Without them these are skipped, and nothing else needs them.
browser_packages() {
    tools/get-npm.py tests/browser ||
        echo "setup: the npm registry cannot be reached: the browser tests will be skipped" >&2
}

missing=()
[ $# -gt 0 ] || set -- build test
for group in "$@"; do
    if [ -z "${groups[$group]:-}" ]; then
        echo "setup: no group '$group'; there are: ${!groups[*]}" >&2
        exit 1
    fi
    # shellcheck disable=SC2086
    look ${groups[$group]}
done
if [ ${#missing[@]} -gt 0 ]; then
    install_missing
else
    echo "setup: nothing is missing ($*)"
fi
if [[ " $* " == *" more "* ]]; then
    browser_packages
fi
