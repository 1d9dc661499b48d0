#!/bin/bash
# Put the program, its man pages, completion and pages in place, or take them away again.
# Usage: B=build DESTDIR= PREFIX=/usr/local tools/install.sh install|uninstall
set -euo pipefail
cd "$(dirname "$0")/.." || exit
root=${DESTDIR:-}${PREFIX:-/usr/local}
man=$root/share/man/man1
completion=$root/share/bash-completion/completions
doc=$root/share/doc/kelvin
lib=$root/lib/kelvin
kelvin=${B:-build}/kelvin

commands() {
    "$kelvin" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

# What standard input says becomes FILE, readable by all.
put() { # FILE
    install -m 644 /dev/stdin "$1"
}

case ${1:-} in
install)
    mkdir -p "$root/bin" "$lib" "$man" "$completion" "$doc"
    install -m 755 "$kelvin" "$root/bin/kelvin"
    install -m 644 "${B:-build}/libkelvin-agent.so" "$lib"
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
    rm -rf "$doc" "$lib"
    echo "removed kelvin from $root"
    ;;
*)
    echo "install or uninstall?" >&2
    exit 1
    ;;
esac
