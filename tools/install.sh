#!/bin/bash
# Put the program, its libraries and headers, man pages, completion and pages in place, or take them away again.
# `make deb` calls it too and adds Debian's own pages: debhelper would bring a hundred packages for one without scripts or services.
# Usage: B=build DESTDIR= PREFIX=/usr/local LIBDIR=PREFIX/lib tools/install.sh install|uninstall
set -euo pipefail
cd "$(dirname "$0")/.." || exit
prefix=${PREFIX:-/usr/local}
root=${DESTDIR:-}$prefix
libdir=${LIBDIR:-$prefix/lib}
archive=${DESTDIR:-}$libdir
man=$root/share/man/man1
bash=$root/share/bash-completion/completions/kelvin
# Where Debian's zsh looks: below /usr/local in site-functions, for packages in vendor-completions.
zsh=$root/share/zsh/$([ "$prefix" = /usr ] && echo vendor-completions || echo site-functions)/_kelvin
fish=$root/share/fish/vendor_completions.d/kelvin.fish
doc=$root/share/doc/kelvin
# The program looks for its agent in ../lib/kelvin.
agent=$root/lib/kelvin
include=$root/include
# The program whose help becomes the pages: another one where the machine cannot run what it installs (tools/aarch64.sh).
kelvin=${KELVIN:-${B:-build}/kelvin}

commands() {
    "$kelvin" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

# What standard input says becomes FILE, readable by all.
put() { # FILE
    install -D -m 644 /dev/stdin "$1"
}

# For `cc my.c $(pkg-config --cflags --libs kelvin)`.
pkg_config() {
    cat <<END
prefix=$prefix
libdir=$libdir
includedir=\${prefix}/include

Name: kelvin
Description: Scopes and benchmarks in C and C++ programs (kelvin.h, kelvin_bench.h)
Version: $("$kelvin" --version | sed 's/^kelvin //; q')
Libs: -L\${libdir} -lkelvin_bench -lm -pthread
Cflags: -I\${includedir} -pthread
END
}

# Say what to do before half of it is in place.
check_rights() {
    local folder=$root
    while [ ! -e "$folder" ]; do
        folder=$(dirname "$folder")
    done
    [ -w "$folder" ] && return
    echo "install: no right to write in $folder. Run 'sudo make $1', or use a folder of your own:" >&2
    echo "install:     make $1 PREFIX=\$HOME/.local" >&2
    exit 1
}

install_all() {
    local command
    install -D -m 755 "${B:-build}/kelvin" "$root/bin/kelvin"
    install -D -m 644 -t "$agent" "${B:-build}/libkelvin-agent.so" "${B:-build}/libkelvin-heap.so" "${B:-build}/libkelvin-locks.so" "${B:-build}/libkelvin-scopes.so" \
        "${B:-build}/libkelvin-heap.a" "${B:-build}/kelvin-heap.link"
    install -D -m 644 -t "$archive" "${B:-build}/libkelvin_bench.a"
    install -D -m 644 -t "$include" include/kelvin.h include/kelvin_*.h
    pkg_config | put "$archive/pkgconfig/kelvin.pc"
    "$kelvin" help --as man | put "$man/kelvin.1"
    for command in $(commands); do
        "$kelvin" help "$command" --as man | put "$man/kelvin-$command.1"
    done
    "$kelvin" help --as bash | put "$bash"
    "$kelvin" help --as zsh | put "$zsh"
    "$kelvin" help --as fish | put "$fish"
    install -D -m 644 -t "$doc" README.md CHANGES LICENSE doc/*.md
}

uninstall_all() {
    local header
    rm -f "$root/bin/kelvin" "$man/kelvin.1" "$man"/kelvin-*.1 "$bash" "$zsh" "$fish"
    for header in include/kelvin.h include/kelvin_*.h; do
        rm -f "$root/$header"
    done
    rm -f "$archive/libkelvin_bench.a" "$archive/pkgconfig/kelvin.pc"
    rm -rf "$doc" "$agent"
}

case ${1:-} in
install)
    check_rights install
    install_all
    case ${DESTDIR:+:$prefix/bin}:$PATH: in
    *":$prefix/bin:"*) echo "installed $root/bin/kelvin; try: kelvin help" ;;
    *) echo "installed $root/bin/kelvin; PATH lacks its folder: export PATH=\"$root/bin:\$PATH\"" ;;
    esac
    ;;
uninstall)
    check_rights uninstall
    uninstall_all
    echo "removed kelvin from $root"
    ;;
*)
    echo "install or uninstall?" >&2
    exit 1
    ;;
esac
