#!/bin/bash
# The first hour of a new user: a bare Debian root with git, make and ca-certificates, a clean clone of what is committed
# here, and the README's two commands in it. Ends with the closing line of the tests.
#
# Usage: tools/fresh.sh [COMMAND...]       default: 'make demo' 'make check'
#
#   FRESH_SUITE=bookworm    the Debian release
#   FRESH_SCRATCH=/var/tmp  where the root is made: about 1 GB, 5 GB for check-all; gone afterwards
#   FRESH_CACHE=FOLDER      keeps the bare root and downloaded packages for next time; empty: keeps nothing
#   FRESH_KEEP=1            leaves the root there, to look around in
#
# Exit codes: those of the commands; 77 when no such root can be made here, with the reason.
#
# All happens in a mount and a process namespace of its own. Mounts and processes vanish with it, however it ends. Without root
# it is a user namespace too, which needs newuidmap (Debian package uidmap) and a range in /etc/subuid. The clone lies in /root,
# which nobody else may enter: as closed as people's home folders are.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
PATH=$PATH:/usr/sbin:/sbin
release=${FRESH_SUITE:-bookworm}
scratch=${FRESH_SCRATCH:-/var/tmp}
cache=${FRESH_CACHE-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kelvin-fresh}

cannot() { # WHY
    echo "fresh: $1" >&2
    exit 77
}

# --- outside ---

# What this machine's apt uses for Debian RELEASE, a line for each: "URI SUITE COMPONENT".
debian_sources() {
    # shellcheck disable=SC2016  # apt's own variables
    apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
        sed -n "s/^Debian \(.* $release\(-updates\|-security\)\? .*\)/\1/p" | sort -u
}

# Starts a command in a namespace in which we are root. When unshare is killed, all in it are.
namespace=(unshare --mount --propagation private --pid --fork --kill-child)
[ "$(id -u)" = 0 ] || namespace+=(--user --map-root-user --map-auto)

check_needs() {
    command -v debootstrap >/dev/null || tools/setup.sh fresh || true
    command -v debootstrap >/dev/null || cannot "debootstrap is missing: apt-get install debootstrap"
    if ! "${namespace[@]}" true 2>"$top/why"; then
        cannot "no namespaces here ($(tail -n 1 "$top/why")): run as root, or install uidmap and give yourself a range in /etc/subuid"
    fi
    [ -n "$(debian_sources)" ] || [ "$(id -u)" != 0 ] || apt-get update -qq
}

# One at a time uses the cache: apt locks its folder of packages. Others do without.
open_cache() {
    [ -n "$cache" ] || return 0
    if ! mkdir -p "$cache/debs/partial" 2>/dev/null || ! exec {lock}>"$cache/lock" || ! flock -n "$lock"; then
        echo "fresh: $cache is in use or cannot be written: nothing is cached" >&2
        cache=
    fi
    export FRESH_CACHE=$cache
}

clean_up() {
    trap '' INT TERM
    [ -z "${inside:-}" ] || kill -KILL "$inside" 2>/dev/null
    if [ -n "${FRESH_KEEP:-}" ]; then
        echo "fresh: the root is in $top/root"
    else
        # In the namespace, whose users the files belong to.
        "${namespace[@]}" rm -rf "$top/root"
        rm -rf "$top"
    fi
}

if [ "${1:-}" != --inside ]; then
    [ $# -gt 0 ] || set -- 'make demo' 'make check'
    [ -z "$(git status --porcelain --untracked-files=no)" ] || echo "fresh: what is not committed is left out" >&2
    top=$(mktemp -d "$scratch/kelvin-fresh.XXXXXX") || cannot "cannot write in $scratch; set FRESH_SCRATCH"
    chmod 755 "$top"
    trap clean_up EXIT
    trap 'exit 130' INT TERM
    check_needs
    open_cache
    mkdir -p "$top/root"
    debian_sources >"$top/sources"
    git clone -q --no-hardlinks . "$top/clone" || cannot "git cannot clone this folder"
    # Not in the foreground, where unshare would keep Ctrl-C from us.
    "${namespace[@]}" "$PWD/tools/fresh.sh" --inside "$top" "$@" </dev/null &
    inside=$!
    wait "$inside"
    exit
fi

# --- inside: we are root, and process 1 ---

top=$2 root=$2/root
shift 2

# The bare root, from the cache when that is not older than a week.
make_root() {
    local tar=${cache:+$cache/$release-$(dpkg --print-architecture).tar} mirror
    if [ -n "$(find "$tar" -mtime -7 2>/dev/null)" ]; then
        tar -xf "$tar" -C "$root" && return
    fi
    mirror=$(awk -v suite="$release" '$2 == suite { print $1; exit }' "$top/sources")
    echo "fresh: debootstrap of $release"
    # "lxc" tells debootstrap that device files cannot be made, only mounted.
    if ! container=lxc debootstrap --variant=minbase --include=git,make,ca-certificates "$release" "$root" \
        ${mirror:+"$mirror"} >"$top/debootstrap.log" 2>&1; then
        tail -n 5 "$top/debootstrap.log" >&2
        cannot "debootstrap failed"
    fi
    rm -f "$root"/var/cache/apt/archives/*.deb
    # debootstrap may have mounted devices: only what is in the root itself.
    [ -z "$tar" ] || { tar -C "$root" --exclude='./dev/*' --exclude='./proc/*' --exclude='./sys/*' -cf "$tar.part" . &&
        mv "$tar.part" "$tar"; }
}

# The network and the package sources of this machine, whatever they are.
carry_settings() {
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    [ ! -s "$top/sources" ] || sed 's/^/deb /' "$top/sources" >"$root/etc/apt/sources.list"
    apt-config dump | grep -E '^Acquire::(Check-Valid|https?::(Proxy|CaInfo|Verify))' >"$root/etc/apt/apt.conf.d/90carried"
    echo 'Acquire::Retries "3"; APT::Keep-Downloaded-Packages "1";' >>"$root/etc/apt/apt.conf.d/90carried"
    cp -a /etc/apt/auth.conf* "$root/etc/apt/" 2>/dev/null
    cp -aL /etc/apt/trusted.gpg.d/. "$root/etc/apt/trusted.gpg.d/" 2>/dev/null
    if [ -s /etc/ssl/certs/ca-certificates.crt ]; then
        cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
    fi
    grep -hE '^(registry|cafile) *=' "${HOME:-/root}/.npmrc" /etc/npmrc 2>/dev/null >"$root/root/.npmrc"
    return 0
}

mount_all() {
    mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" ||
        cannot "cannot mount /proc, /sys and /dev in the root"
    [ -z "$cache" ] || mount --bind "$cache/debs" "$root/var/cache/apt/archives"
}

# Only what a login would have, proxies, and how strict the compiler is to be.
in_root() { # COMMAND
    local name pass=()
    for name in http_proxy https_proxy ftp_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY npm_config_registry FUZZ_SECONDS WERROR; do
        [ -z "${!name:-}" ] || pass+=("$name=${!name}")
    done
    env -i "${pass[@]}" HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 TERM=dumb \
        chroot "$root" bash -c 'cd /root/kelvin && exec $0' "$1"
}

packages() {
    grep -c '^Status: install ok installed' "$root/var/lib/dpkg/status"
}

# What the root holds, without the clone and what is mounted there.
megabytes() {
    du -smx --exclude="$root/root" --exclude="$root/var/cache/apt" "$root" | cut -f1
}

# Run a COMMAND and note what it took, for the end.
timed() { # COMMAND
    local start=$SECONDS code
    printf '\nfresh: $ %s\n' "$1"
    in_root "$1" 2>&1 | tee "$top/said"
    code=${PIPESTATUS[0]}
    printf 'fresh: %-16s %s in %d:%02d min; %d packages and %d MB more than the bare root\n' "$1" \
        "$([ "$code" = 0 ] && echo passed || echo "FAILED ($code)")" $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60)) \
        $(($(packages) - bare_packages)) $(($(megabytes) - bare_megabytes)) >>"$top/times"
    grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$top/said" >>"$top/counts"
    return "$code"
}

make_root
carry_settings
mount_all
mv "$top/clone" "$root/root/kelvin"
chmod 700 "$root/root"
bare_packages=$(packages) bare_megabytes=$(megabytes)
echo "fresh: a bare root of $bare_packages packages, $bare_megabytes MB"
failed=0
for command in "$@"; do
    timed "$command" || failed=1
done
echo
cat "$top/times"
tail -n 1 "$top/counts" 2>/dev/null
exit $failed
