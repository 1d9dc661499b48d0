#!/bin/bash
# A Debian package of what is built in $B: build/kelvin_VERSION-1_ARCH.deb. `apt install ./FILE` installs it.
#
# Usage: B=build VERSION=0.1.0 tools/deb.sh. The package's maintainer is who builds it: DEBFULLNAME and DEBEMAIL, else what git
# knows. ARCH=arm64 packages a build of the cross compiler: pages and dependencies are then those of the native build, NATIVE
# (default: build), since libraries of the other machine are not installed here. Made by hand rather than by debhelper, which would bring a hundred packages to build one without scripts or services.
set -euo pipefail
cd "$(dirname "$0")/.." || exit
B=${B:-build}
version=${VERSION:?}-1
arch=${ARCH:-$(dpkg --print-architecture)}
triplet=$(dpkg-architecture -a"$arch" -qDEB_HOST_MULTIARCH 2>/dev/null)
strip=$([ "$arch" = "$(dpkg --print-architecture)" ] && echo strip || echo "$triplet-strip")
# What is linked with what is asked of a program for this machine.
linked=$([ "$strip" = strip ] && echo "$B" || echo "${NATIVE:-build}")
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
root=$top/root
doc=$root/usr/share/doc/kelvin
maintainer="${DEBFULLNAME:-$(git config user.name || id -un)} <${DEBEMAIL:-$(git config user.email || echo "$(id -un)@$(hostname)")}>"
# The same commit gives the same bytes.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

put() { # FILE
    install -D -m 644 /dev/stdin "$1"
}

files() {
    DESTDIR=$root PREFIX=/usr LIBDIR=/usr/lib/$triplet KELVIN=$linked/kelvin B=$B tools/install.sh install >/dev/null
    "$strip" --strip-unneeded --remove-section=.comment --remove-section=.note "$root/usr/bin/kelvin" "$root"/usr/lib/kelvin/*.so
    "$strip" --strip-debug --remove-section=.comment --remove-section=.note --enable-deterministic-archives \
        "$root"/usr/lib/*/libkelvin_bench.a
    find "$root/usr/share/man" -name '*.1' -exec gzip -9n {} +
}

# Debian's own pages: the licence as `copyright`, and two changelogs.
debian_pages() {
    put "$doc/copyright" <LICENSE
    rm "$doc/LICENSE"
    gzip -9n <"$doc/CHANGES" | put "$doc/changelog.gz"
    rm "$doc/CHANGES"
    printf 'kelvin (%s) unstable; urgency=medium\n\n  * Built from %s.\n\n -- %s  %s\n' "$version" \
        "$(git describe --always --dirty 2>/dev/null || echo source)" "$maintainer" \
        "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n | put "$doc/changelog.Debian.gz"
    # No upload to Debian, so there is no request to package it that could be closed.
    echo 'kelvin: initial-upload-closes-no-bugs' | put "$root/usr/share/lintian/overrides/kelvin"
}

# What the program is linked with, as "libc6 (>= 2.34), libdw1 (>= 0.126), ..."
depends() {
    local part files=()
    mkdir -p "$top/debian"
    for part in kelvin libkelvin-agent.so libkelvin-heap.so libkelvin-locks.so libkelvin-scopes.so; do
        files+=(-e "$(realpath "$linked/$part")")
    done
    printf 'Source: kelvin\n\nPackage: kelvin\nArchitecture: any\n' >"$top/debian/control"
    (cd "$top" && dpkg-shlibdeps -O "${files[@]}" 2>/dev/null) |
        sed 's/^shlibs:Depends=//'
}

control() {
    cat <<END
Package: kelvin
Version: $version
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $(du -sk "$root" | cut -f1)
Depends: $(depends)
Suggests: libdebuginfod1, valgrind
Section: devel
Priority: optional
Description: profile native programs, benchmark them, and gate on the result
 Kelvin shows where the time of a native program goes, whether it changed, and
 how far the numbers can be trusted. It records with whole call stacks, without
 frame pointers or root, reports and draws what it recorded, compares runs,
 and benchmarks commands and functions until there is a verdict.
 .
 This package has the program, its man pages and completion, and the library
 for benchmarks in C and C++ programs (kelvin_bench.h).
END
}

files
debian_pages
mkdir -p "$root/DEBIAN"
control >"$root/DEBIAN/control"
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
find "$root" -type d -exec chmod 755 {} +
dpkg-deb --root-owner-group --build "$root" "$B/kelvin_${version}_$arch.deb" >/dev/null
[ -n "${DEBEMAIL:-$(git config user.email)}" ] || echo "its maintainer is $maintainer: DEBFULLNAME and DEBEMAIL name another"
ls -sh "$B/kelvin_${version}_$arch.deb"
