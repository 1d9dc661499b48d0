#!/bin/bash
# Put the program, its libraries and headers, man pages, completion and pages in place, or take them away again.
# Usage: B=build DESTDIR= PREFIX=/usr/local tools/install.sh install|uninstall
set -euo pipefail
cd "$(dirname "$0")/.." || exit
root=${DESTDIR:-}${PREFIX:-/usr/local}
man=$root/share/man/man1
completion=$root/share/bash-completion/completions
doc=$root/share/doc/kelvin
lib=$root/lib/kelvin
include=$root/include
kelvin=${B:-build}/kelvin

commands() {
    "$kelvin" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

# What standard input says becomes FILE, readable by all.
put() { # FILE
    install -m 644 /dev/stdin "$1"
}

# For `cc my.c $(pkg-config --cflags --libs kelvin)`.
pkg_config() {
    cat <<EOF
prefix=${PREFIX:-/usr/local}
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: kelvin
Description: Benchmarks in C and C++ programs (kelvin_bench.h)
Version: $("$kelvin" --version | sed 's/.* //')
Libs: -L\${libdir} -lkelvin_bench -lm -pthread
Cflags: -I\${includedir} -pthread
EOF
}

case ${1:-} in
install)
    mkdir -p "$root/bin" "$lib" "$root/lib/pkgconfig" "$include" "$man" "$completion" "$doc"
    install -m 755 "$kelvin" "$root/bin/kelvin"
    install -m 644 "${B:-build}/libkelvin-agent.so" "${B:-build}/libkelvin-heap.so" "$lib"
    install -m 644 "${B:-build}/libkelvin_bench.a" "$root/lib"
    install -m 644 include/kelvin_*.h "$include"
    pkg_config | put "$root/lib/pkgconfig/kelvin.pc"
    "$kelvin" help --as man | put "$man/kelvin.1"
    for command in $(commands); do
        "$kelvin" help "$command" --as man | put "$man/kelvin-$command.1"
    done
    "$kelvin" help --as bash | put "$completion/kelvin"
    install -m 644 README.md CHANGES LICENSE doc/*.md "$doc"
    echo "installed $root/bin/kelvin; try: kelvin help"
    ;;
uninstall)
    rm -f "$root/bin/kelvin" "$man/kelvin.1" "$man"/kelvin-*.1 "$completion/kelvin"
    rm -f "$root/lib/libkelvin_bench.a" "$include"/kelvin_{bench,equal}.h "$root/lib/pkgconfig/kelvin.pc"
    rm -rf "$doc" "$lib"
    echo "removed kelvin from $root"
    ;;
*)
    echo "install or uninstall?" >&2
    exit 1
    ;;
esac
