#!/usr/bin/env bats
# What holds for every command: usage, messages, exit codes, hostile inputs, whole output files.

# shellcheck disable=SC2154  # kelvin and run set output, status, stderr
load ../lib/helpers

teardown() {
    if mountpoint -q "$BATS_TEST_TMPDIR/disk" 2>/dev/null; then
        umount "$BATS_TEST_TMPDIR/disk"
    fi
}

commands() {
    "$KELVIN" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

# COUNT stacks, all different.
many() { # COUNT
    seq 1 "$1" | sed 's/.*/main;some_function_&;leaf &/'
}

# Run the rest as somebody without rights, who can reach the test's folder and a copy of kelvin.
as_nobody() {
    [ "$(id -u)" = 0 ] || skip "needs root to become somebody else"
    chmod 755 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$BATS_TEST_TMPDIR"
    install -m 755 "$KELVIN" program
    run --separate-stderr setpriv --reuid 65534 --clear-groups "$PWD/program" "$@"
}

small() {
    printf 'main;parse;read 3\nmain;draw 2\n' >small.folded
}

# --- usage ---

@test "kelvin without a word tells what it can do" {
    kelvin
    exits 0
    [[ $output == *"Usage: kelvin COMMAND"* ]]
    [[ $output == *"Exit codes:"* ]]
}

@test "--help, -h and help print the same" {
    kelvin --help
    exits 0
    local long=$output
    kelvin -h
    prints "$long"
    kelvin help
    prints "$long"
}

@test "help shows how an option takes its value, in columns, without blanks at the end" {
    local command
    kelvin help record
    [[ $output == *"--heap[=sampled"* && $output == *"--functions[=REGEX]"* && $output == *"--rate HZ"* ]] || fail "$output"
    for command in record top init doctor bench; do
        kelvin help $command
        ! grep ' $' <<<"$output" || fail "$command"
    done
    kelvin help suite
    keys=$output
    kelvin help kelvin.conf
    [ "$output" = "$keys" ] || fail "$output"
    kelvin help formats
    [ "$(sed -n 's/^  \([^ ]* *\).*/\1/p' <<<"$output" | awk '{ print length }' | sort -u | wc -l)" = 1 ] || fail "$output"
}

@test "info has columns, however long a name is" {
    kelvin info "$ROOT/tests/golden/views/input/waits-sync.kelvin"
    exits 0
    # of the lines before the first empty one: where the second column begins
    [ "$(sed '/^$/Q' <<<"$output" | sed -E 's/^([^ ]+ +).*/\1/' | awk '{ print length }' | sort -u | wc -l)" = 1 ] || fail "$output"
}

@test "a limit is a number that can be typed" {
    kelvin record -F 0 -- true
    exits 125
    complains "from 1 to 1000000"
}

@test "a slip in the name of a profile: did you mean" {
    small
    mkdir d
    cp small.folded d
    touch smol.folded s1al.folded smalxx.folded
    kelvin report smal.folded
    exits 1
    complains "cannot open 'smal.folded': there is no such file; did you mean 'small.folded'?"
    kelvin report d/smalll.folded
    exits 1
    complains "did you mean 'd/small.folded'?"
    kelvin report elsewhere.kelvin
    exits 1
    complains "cannot open 'elsewhere.kelvin': No such file or directory"
}

@test "a core dump is called by its name" {
    printf '\177ELF\002\001\001\000\000\000\000\000\000\000\000\000\004\000' >core
    kelvin report core
    exits 5
    complains "core: a core dump, not a profile"
}

@test "--version is one line with the version, then what it was built with" {
    kelvin --version
    exits 0
    [[ ${lines[0]} =~ ^kelvin\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
    [[ ${lines[1]} == "built with "[gc]*" for "* ]] || fail "$output"
    local library
    for library in glibc elfutils capstone sqlite zstd zlib xxhash; do
        [[ ${lines[2]} =~ \ $library\ [0-9]+\.[0-9] ]] || fail "no $library: $output"
    done
    [[ ${lines[3]} == "features: "* ]] || fail "$output"
    [ -z "${KELVIN_SANITIZED:-}" ] || [[ ${lines[3]} == *sanitized* ]] || fail "$output"
}

@test "every command has the same help by both ways" {
    local command
    for command in $(commands); do
        kelvin "$command" --help
        exits 0
        local told=$output
        [[ $told == "kelvin $command - "* ]] || fail "$told"
        kelvin help "$command"
        prints "$told"
    done
}

@test "help that could not be written is an error" {
    run --separate-stderr bash -c '"$0" help formats >/dev/full' "$KELVIN"
    exits 1
    complains "cannot write"
}

@test "a mistyped command is met with the one that was meant" {
    kelvin flod x
    exits 1
    complains "no command 'flod'" "did you mean 'fold'?"
    kelvin zzzzzz
    exits 1
    complains "no command 'zzzzzz'" "kelvin help"
}

@test "a mistyped option is met with the one that was meant" {
    small
    kelvin fold small.folded --kernal
    exits 1
    complains "--kernal" "--kernel"
    kelvin fold small.folded --qqqqqqqq
    exits 1
    complains "--qqqqqqqq"
}

@test "an option without its value is named" {
    kelvin fold small.folded --output
    exits 1
    complains "--output" "FILE"
}

@test "no profile and two profiles are wrong usage" {
    small
    kelvin fold
    exits 1
    complains "no profile is given"
    kelvin fold small.folded small.folded
    exits 1
    complains "one profile at a time"
}

@test "help on something unknown" {
    kelvin help nonsense
    exits 1
    complains "nonsense" "kelvin help"
}

# --- inputs that cannot be read ---

@test "a file that is not there" {
    kelvin fold nowhere.txt
    exits 1
    complains "nowhere.txt" "No such file"
}

@test "a folder as input" {
    mkdir folder
    kelvin fold folder
    exits 1
    complains "'folder' is a folder, but neither"
}

@test "a file that may not be read" {
    small
    chmod 600 small.folded
    as_nobody fold small.folded
    exits 1
    complains "small.folded" "Permission denied"
}

@test "an empty file and an empty pipe" {
    : >empty
    kelvin fold empty
    exits 5
    complains "empty"
    run --separate-stderr "$KELVIN" fold - </dev/null
    exits 5
    complains "standard input is empty"
}

@test "text that is no profile" {
    printf 'Dear reader,\nthis is a letter.\n' >letter.txt
    kelvin fold letter.txt
    exits 5
    complains "letter.txt" "not a profile" "kelvin help formats"
}

@test "rubbish bytes" {
    head -c 100000 "$KELVIN" >rubbish
    kelvin fold rubbish
    exits 5
    complains "rubbish"
}

@test "only newlines" {
    printf '\n\n\n' >blank
    kelvin fold blank
    exits 5
    complains "blank"
}

@test "an unknown --from" {
    small
    kelvin fold small.folded --from teleprinter
    exits 1
    complains "teleprinter" "kelvin help formats"
}

@test "the wrong --from tells what is wrong and where" {
    small
    kelvin convert small.folded --from pprof --to folded
    exits 5
    complains "small.folded"
}

# --- packed inputs ---

@test "gzip and zstd are undone, from files and pipes" {
    small
    local want=$'main;draw 2\nmain;parse;read 3'
    gzip -k small.folded
    zstd -q small.folded
    cp small.folded.gz misnamed.txt
    for file in small.folded small.folded.gz small.folded.zst misnamed.txt; do
        kelvin fold "$file"
        exits 0
        prints "$want"
        run --separate-stderr "$KELVIN" fold - <"$file"
        exits 0
        prints "$want"
    done
}

@test "gzip members one after the other are one input" {
    printf 'a;b 1\n' | gzip >two.gz
    printf 'a;c 2\n' | gzip >>two.gz
    kelvin fold two.gz
    exits 0
    prints $'a;b 1\na;c 2'
}

@test "a gzip file cut anywhere is an error and leaves no output" {
    many 3000 | gzip >whole.gz
    local size at
    size=$(stat -c %s whole.gz)
    for at in 3 11 100 $((size / 2)) $((size - 1)); do
        head -c "$at" whole.gz >cut.gz
        kelvin fold cut.gz -o out
        exits 5
        complains "cut.gz"
        no_file out
    done
}

@test "a gzip file with a wrong checksum is an error" {
    many 300 | gzip >bad.gz
    printf '\377\377\377\377' | dd of=bad.gz bs=1 seek=$(($(stat -c %s bad.gz) - 8)) conv=notrunc status=none
    kelvin fold bad.gz -o out
    exits 5
    complains "bad.gz"
    no_file out
}

@test "a zstd file cut in the middle is an error" {
    many 3000 | zstd -q >whole.zst
    head -c $(($(stat -c %s whole.zst) / 2)) whole.zst >cut.zst
    kelvin fold cut.zst -o out
    exits 5
    complains "cut.zst"
    no_file out
}

# --- lines that make no sense ---

@test "bad lines are counted and the first is shown" {
    printf 'main;a 1\nrubbish\nmain;b 2\nmore rubbish x\n' >mixed
    kelvin fold mixed
    exits 0
    prints $'main;a 1\nmain;b 2'
    complains "skipped 2" "line 2" "rubbish"
}

@test "--strict makes the first bad line an error" {
    printf 'main;a 1\nrubbish\n' >mixed
    kelvin fold mixed --strict -o out
    exits 3
    complains "line 2"
    no_file out
}

@test "zero, negative, huge and senseless counts" {
    local count
    for count in 0 -3 99999999999999999999999 12abc 1e5 nan inf 0x10; do
        printf 'main;good 1\nmain;bad %s\n' "$count" >counts
        kelvin fold counts
        exits 0
        prints 'main;good 1'
        complains "line 2"
    done
}

@test "a sum past 2^63 is an error, not a wrong number" {
    printf 'a 9000000000000000000\nb 9000000000000000000\n' >sum
    kelvin fold sum -o out
    exits 5
    complains "line 2"
    no_file out
}

@test "fractions add up exactly" {
    for _ in 1 2 3 4 5 6 7 8 9 10; do echo 'a;b 0.1'; done >tenths
    kelvin fold tenths
    prints 'a;b 1'
}

@test "names that are not UTF-8 pass through" {
    printf 'main;caf\351;x 1\n' >latin1
    "$KELVIN" fold latin1 >out
    printf 'main;caf\351;x 1\n' | cmp - out
}

@test "names full of markup" {
    local name='<b>&amp;"q"'\''a'
    printf 'main;%s 1\n' "$name" >markup
    kelvin fold markup
    prints "main;$name 1"
}

@test "a line of 10 MB" {
    local long
    long=$(head -c 60000 /dev/zero | tr '\0' x) # a single name may have 64 KiB
    { printf main; printf ";$long%s" {1..170}; echo ' 7'; } >long
    "$KELVIN" fold long >out
    cmp long out
}

@test "a line of 100 MB is refused in one sentence" {
    { head -c 100000000 /dev/zero | tr '\0' x; echo ' 7'; } >long
    kelvin fold long --from folded
    exits 5
    complains "long" "line 1"
}

@test "a stack 10,000 deep" {
    { seq -f 'f%g' -s ';' 1 10000 | tr -d '\n'; echo ' 1'; } >deep
    "$KELVIN" fold deep >out
    cmp deep out
}

# --- output files ---

@test "an output file is made with the permissions the umask leaves" {
    small
    (umask 027 && "$KELVIN" fold small.folded -o out)
    [ "$(stat -c %a out)" = 640 ]
    no_litter .
}

@test "a file that is replaced keeps its permissions" {
    small
    echo old >out && chmod 604 out
    kelvin fold small.folded -o out
    exits 0
    [ "$(stat -c %a out)" = 604 ]
}

@test "a failed run leaves the old output alone" {
    echo old >out
    echo nonsense >bad
    kelvin fold bad -o out
    exits 5
    [ "$(cat out)" = old ]
    no_litter .
}

@test "a symbolic link stays one and its target is replaced" {
    small
    mkdir there
    echo old >there/real
    ln -s there/real link
    kelvin fold small.folded -o link
    exits 0
    [ -L link ]
    [ "$(head -n 1 there/real)" = 'main;draw 2' ]
    no_litter there
}

@test "an output folder that is not there" {
    small
    kelvin fold small.folded -o nowhere/out
    exits 1
    complains "nowhere/out" "No such file"
}

@test "a folder as output" {
    small
    mkdir folder
    kelvin fold small.folded -o folder
    exits 1
    complains "folder" "directory"
}

@test "an output folder that may not be written" {
    small
    mkdir locked && echo old >locked/out
    chmod 644 small.folded && chmod 755 locked
    as_nobody fold small.folded -o locked/out
    exits 1
    complains "locked/out" "Permission denied"
    [ "$(cat locked/out)" = old ]
}

@test "a full disk leaves the old file whole and no litter" {
    mkdir disk
    mount -t tmpfs -o size=64k none disk 2>/dev/null || skip "needs the right to mount a small disk"
    many 20000 >big.folded
    echo old >disk/out
    kelvin fold big.folded -o disk/out
    exits 1
    complains "disk/out" "No space left"
    [ "$(cat disk/out)" = old ]
    no_litter disk
    [ "$(find disk -type f | wc -l)" = 1 ]
}

@test "a full device is told" {
    small
    run --separate-stderr bash -c '"$0" fold small.folded >/dev/full' "$KELVIN"
    exits 1
    complains "cannot write standard output; it may be cut short" "No space left"
}

@test "a reader that goes away ends it quietly" {
    many 50000 >big.folded
    run --separate-stderr bash -c 'set -o pipefail; "$0" fold big.folded | head -n 1' "$KELVIN"
    exits 141
    [ "${#lines[@]}" = 1 ]
    [ -z "$stderr" ] || fail "$stderr"
}

@test "output to a named pipe is written through" {
    small
    mkfifo pipe
    cat pipe >got &
    kelvin fold small.folded -o pipe
    wait
    exits 0
    [ -p pipe ]
    [ "$(wc -l <got)" = 2 ]
}

@test "killed while it works it leaves nothing behind" {
    many 200000 >big.folded
    echo old >out
    timeout -s KILL 0.05 "$KELVIN" fold big.folded -o out || true
    [ "$(head -n 1 out)" = old ] || [ "$(wc -l <out)" = 200000 ]
    no_litter .
}

# --- everywhere ---

@test "the same input gives the same bytes in any order" {
    many 500 >a.folded
    shuf --random-source=<(yes) a.folded >b.folded
    for command in fold flame; do
        "$KELVIN" $command - <a.folded >a.out
        "$KELVIN" $command - <b.folded >b.out
        cmp a.out b.out
    done
}

@test "install puts all in place and uninstall leaves nothing" {
    cd "$ROOT"
    DESTDIR=$BATS_TEST_TMPDIR/root PREFIX=/usr B=$(dirname "$KELVIN") tools/install.sh install
    cd "$BATS_TEST_TMPDIR/root"
    run --separate-stderr usr/bin/kelvin --version
    exits 0
    local command
    for command in $(commands); do
        [ -s "usr/share/man/man1/kelvin-$command.1" ] || fail "no man page of $command"
    done
    bash -n usr/share/bash-completion/completions/kelvin
    [ -s usr/share/zsh/vendor-completions/_kelvin ]
    [ -s usr/share/fish/vendor_completions.d/kelvin.fish ]
    [ "$(find . -type f -newer usr/bin/kelvin -perm /111 | wc -l)" = 0 ]
    cd "$ROOT"
    DESTDIR=$BATS_TEST_TMPDIR/root PREFIX=/usr tools/install.sh uninstall
    [ -z "$(find "$BATS_TEST_TMPDIR/root" -type f)" ]
}

@test "help fits into 80 columns" {
    local topic
    for topic in $(commands) formats suite; do
        # but for examples, which are to be copied, and the summary
        "$KELVIN" help "$topic" | sed '1d; /^Examples:/,$d' | LC_ALL=C.UTF-8 grep -E '.{81}' && fail "help $topic"
    done
    true
}

@test "install says so where PATH lacks the folder" {
    cd "$ROOT"
    export B=${KELVIN%/*} PREFIX=$BATS_TEST_TMPDIR/own
    run tools/install.sh install
    [[ ${lines[-1]} == *"PATH lacks its folder: export PATH=\"$PREFIX/bin:"* ]] || fail "$output"
    PATH=$PREFIX/bin:$PATH run tools/install.sh install
    [[ ${lines[-1]} == *"/own/bin/kelvin; try: kelvin help" ]] || fail "$output"
}

@test "a man page breaks no word: what is copied from it works" {
    command -v man >/dev/null || skip "man is not installed"
    kelvin help formats --as man # is text, which a pager of man pages would spoil
    exits 1
    complains "'formats' has no man page"
    "$KELVIN" help --as man record >record.1
    MANWIDTH=80 man -l record.1 >seen
    ! grep -E '‐$|­$' seen || fail "broken words"
    "$KELVIN" help --as man check | MANWIDTH=80 man -l - | grep -E '^ +samples >= 200 .*# also: lost, unfinished, unnamed <= 1%$' ||
        fail "the lines of an example are joined or broken"
    [ "$(grep -c 'kernel.perf_event_paranoid' seen)" = "$(grep -o 'kernel.perf_event_paranoid' record.1 | wc -l)" ]
}

@test "man pages and --help have the same options" {
    local command
    for command in $(commands); do
        diff <("$KELVIN" "$command" --help | sed -n '/^Options:/,/^Examples:/p' | grep -oE '^  (-[a-zA-Z], )?--[a-z-]+' | tr -d ' ') \
            <("$KELVIN" help --as man "$command" | grep -A1 '^\.TP' | sed -n 's/\\-/-/g; s/^\.B //p' |
                grep -oE '^(-[a-zA-Z], )?--[a-z-]+' | tr -d ' ') || fail "$command"
    done
    "$KELVIN" help --as man fold | grep -qF 'h, \-\-help'
}

@test "install without rights tells what to do, and begins nothing" {
    [ "$(id -u)" = 0 ] || skip "needs root to become somebody else"
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "the same script"
    # In a copy: the clone may lie in a closed home.
    local folder
    folder=$(open_folder)
    mkdir -p "$folder/tools" && install -m 755 "$ROOT/tools/install.sh" "$folder/tools"
    mkdir -p "$folder/locked/usr" && chmod -R a+rX "$folder"
    B=$folder PREFIX=$folder/locked/usr run_as_nobody "$folder/tools/install.sh" install
    remove_open_folders
    exits 1
    [[ $stderr == *"no right to write in $folder/locked/usr"*"sudo make install"*"PREFIX="* ]] || fail "$stderr"
}

@test "warnings as errors need no other objects: demo, check and install share theirs" {
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "seen with the plain build"
    local build
    build=$(realpath --relative-to="$ROOT" "$(dirname "$KELVIN")")
    # A copy: the build under test must stay as it is.
    cp -a "$(dirname "$KELVIN")/.flags" flags
    grep -q -- " -I$build/gen " flags || skip "not a build of this folder's own"
    run env -u MAKEFLAGS -u MAKELEVEL make -C "$ROOT" --no-print-directory B="$build" WERROR=1 "$build/.flags"
    exits 0
    cmp flags "$ROOT/$build/.flags"
}

# --- shells ---

@test "completion offers commands, options and choices" {
    source <("$KELVIN" help --as bash)
    COMP_WORDS=(kelvin fo) COMP_CWORD=1
    _kelvin
    [ "${COMPREPLY[*]}" = fold ]
    COMP_WORDS=(kelvin fold --ker) COMP_CWORD=2
    _kelvin
    [ "${COMPREPLY[*]}" = --kernel ]
    COMP_WORDS=(kelvin help --as m) COMP_CWORD=3
    _kelvin
    [ "${COMPREPLY[*]}" = man ]
    COMP_WORDS=(kelvin help --as "=" m) COMP_CWORD=4 # as readline cuts --as=m
    _kelvin
    [ "${COMPREPLY[*]}" = man ]
    COMP_WORDS=(kelvin convert -t pp) COMP_CWORD=3
    _kelvin
    [ "${COMPREPLY[*]}" = pprof ]
    COMP_WORDS=(kelvin help form) COMP_CWORD=2
    _kelvin
    [ "${COMPREPLY[*]}" = formats ]
    COMP_WORDS=(kelvin record -- setpri) COMP_CWORD=3
    _kelvin
    [ "${COMPREPLY[0]}" = setpriv ]
    COMP_WORDS=(kelvin report --value "") COMP_CWORD=3
    touch here.txt
    _kelvin
    [ "${COMPREPLY[*]}" = here.txt ]
}

# What zsh would offer at the end of LINE, a word a line: compadd is the one way to offer something.
zsh_offers() { # LINE
    "$KELVIN" help --as zsh >_kelvin
    rm -f offered
    cat >type.zsh <<'END'
zmodload zsh/zpty
zpty -b shell zsh -f -i
zpty -w shell 'PROMPT=; autoload -Uz compinit; compinit -D -u; source ./_kelvin'
zpty -w shell 'compadd () { builtin compadd "$@"; local -a got; builtin compadd -O got "$@"; print -rl -- $got >>offered }'
zpty -w shell 'touch ready'
repeat 600; do [[ -e ready ]] && break; sleep 0.1; done
zpty -w -n shell "$1"$'\t'
repeat 600; do [[ -s offered ]] && break; sleep 0.1; done
sleep 0.2
zpty -d shell
END
    rm -f ready
    zsh -f type.zsh "$1"
    [ -f offered ] && cat offered
}

@test "completion for zsh offers commands, options and choices" {
    command -v zsh >/dev/null || skip "needs zsh ('make check-all' installs it)"
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "seen with the plain build, same text"
    zsh_offers "kelvin " >got
    diff <(commands | sort) <(sort -u got) || fail "$(cat got)"
    zsh_offers "kelvin fold --ker" >got
    grep -qx -- --kernel got || fail "$(cat got)"
    [ "$(zsh_offers "kelvin help --as " | xargs)" = "text man bash zsh fish" ]
    touch here.txt
    zsh_offers "kelvin fold -o he" >got
    grep -q here.txt got || fail "$(cat got)"
    zsh_offers "kelvin fold --symbols he" >got
    grep -q here.txt got || fail "$(cat got)"
    zsh_offers "kelvin convert --to pp" >got
    grep -qx pprof got || fail "$(cat got)"
    zsh_offers "kelvin record --heap setpri" >got # --heap does not swallow the command
    grep -qx setpriv got || fail "$(cat got)"
}

@test "completion for fish offers commands, options, choices and files" {
    command -v fish >/dev/null || skip "needs fish ('make check-all' installs it)"
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "seen with the plain build, same text"
    "$KELVIN" help --as fish >kelvin.fish
    touch here.txt
    export HOME=$PWD
    offers() { fish --no-config -c "source kelvin.fish; complete -C '$1'" | cut -f1 | xargs; }
    [ "$(offers 'kelvin ')" = "$(commands | sort | xargs)" ] || fail "$(offers 'kelvin ')"
    [ "$(offers 'kelvin fold --ker')" = --kernel ]
    [ "$(offers 'kelvin help --as ')" = "bash fish man text zsh" ]
    [ "$(offers 'kelvin fold --output he')" = here.txt ]
    [ "$(offers 'kelvin fold he')" = here.txt ]
    [ "$(offers 'kelvin fold --symbols he')" = here.txt ]
    [ "$(offers 'kelvin convert --to pp')" = pprof ]
    [ "$(offers 'kelvin record --heap he')" = here.txt ]
    [ "$(offers 'kelvin record -o x -- setpri')" = setpriv ]
}

# --- packages ---

@test "the Debian package has everything, and lintian finds nothing" {
    command -v lintian >/dev/null || skip "needs lintian ('make check-all' installs it)"
    command -v dpkg-shlibdeps >/dev/null || skip "needs dpkg-dev ('make check-all' installs it)"
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "nobody packages the checked build"
    local part
    mkdir out && cp "$KELVIN" "$(dirname "$KELVIN")"/{libkelvin*,kelvin-heap.link} out
    DEBFULLNAME="A Packager" DEBEMAIL=packager@kelvin.invalid B=$PWD/out VERSION=0.1.0 "$ROOT/tools/deb.sh"
    dpkg-deb --fsys-tarfile out/*.deb | tar -t >list
    for part in bin/kelvin lib/kelvin/libkelvin-agent.so include/kelvin_bench.h 'lib/.*/libkelvin_bench.a' \
        'lib/.*/pkgconfig/kelvin.pc' share/man/man1/kelvin-record.1.gz share/bash-completion/completions/kelvin \
        share/zsh/vendor-completions/_kelvin share/fish/vendor_completions.d/kelvin.fish; do
        grep -qx "./usr/$part" list || fail "no $part in the package"
    done
    dpkg-deb -f out/*.deb Depends | grep -q 'libdw1 (>= .*libsqlite3-0 (>= ' || fail "$(dpkg-deb -f out/*.deb Depends)"
    run lintian --allow-root --fail-on error,warning out/*.deb
    [ "$status" = 0 ] && [ -z "$output" ] || fail "$output"
}

@test "the static build runs in an empty folder that is its root" {
    [ "$(id -u)" = 0 ] || skip "needs root for chroot"
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "there is one static build"
    [ -f "/usr/lib/$(gcc -print-multiarch)/liblzma.a" ] && [ -f "/usr/lib/$(gcc -print-multiarch)/libbz2.a" ] ||
        skip "needs liblzma-dev and libbz2-dev ('make check-all' installs them)"
    local build
    # As the program itself was built: another name of the folder would be another set of flags.
    build=$(realpath --relative-to="$ROOT" "$(dirname "$KELVIN")")
    env -u MAKEFLAGS -u MAKELEVEL make -s -C "$ROOT" B="$build" "$build/static/kelvin"
    mkdir root root/out
    cp "$ROOT/$build/static/kelvin" root
    small
    cp small.folded root
    gcc -O2 -static -pthread -o root/split "$ROOT/tests/target/split.c"
    run --separate-stderr chroot root /kelvin --version
    exits 0
    [[ $output == *", static"* ]] || fail "$output"
    run --separate-stderr chroot root /kelvin flame /small.folded -o /out/small.svg
    exits 0
    "$KELVIN" flame small.folded -o here.svg
    cmp here.svg root/out/small.svg
    # Without /proc, and so without names; but it records where it may.
    run --separate-stderr chroot root /kelvin record --min-samples 1 -o /out/split.kelvin -- /split 0.2
    [ "$status" != 0 ] || chroot root /kelvin info /out/split.kelvin | grep -q 'whole stacks\|samples' || fail "$stderr"
}

@test "prose with a number at the end of a line is not a profile" {
    printf 'Some words; and more.\nThey end here.\n\nIn the year 2026\nall is well; or so\n' >words.md
    kelvin flame words.md -o out.svg
    exits 5
    complains words.md "not a profile"
    no_file out.svg
}

@test "a wrong option before the command is called an option" {
    kelvin --vesion
    exits 1
    complains "no option '--vesion'; did you mean '--version'?"
    kelvin --zzzzzz
    exits 1
    complains "no option '--zzzzzz'; there are --help and --version"
}

@test "flame does not call its SVG a picture of another kind or a page" {
    echo "main;work 7" >a.folded
    for end in png pdf html; do
        kelvin flame a.folded -o "b.$end"
        exits 1
        complains "flame draws SVG" "'b.svg'"
        [ ! -e "b.$end" ]
    done
}

@test "record names what it cannot run or write to, and help lists its exit codes" {
    kelvin record -o - -- true
    exits 125
    complains "cannot go to standard output"
    [ ! -e ./- ]
    kelvin record -- .
    exits 126
    complains ".: is a folder"
    kelvin record -- ./
    complains "./: is a folder"
    [[ $stderr != *"did you mean"* ]]
    kelvin help
    for code in 125 126 127; do
        grep -q "^  $code  *[a-z']" <<<"$output"
    done
}

@test "a list of values that is too long for one sentence ends where a name does" {
    for i in 1 2 3 4 5 6 7 8 9; do
        printf 'app 1 1.%d: 1 a-rather-long-name-of-an-event-%d:\n\t401000 main (/app)\n\n' $i $i
    done >many.txt
    kelvin fold many.txt --value nosuch
    exits 1
    complains "no value 'nosuch' in this profile; it has: samples, a-rather-long"
    [[ $stderr =~ "event-"[0-9]([ ][a-z0-9-]+)?", ..."$ ]] || fail "$stderr"
}

# Who changes a line that is in the list of faults changes the list, or nobody asks for that fault any more.
@test "each fault that a test must notice is still in a line of the code" {
    run env PYTHONDONTWRITEBYTECODE=1 "$ROOT/tools/mutate.py" --faults --list
    [ "$status" = 0 ] || fail "$output"
}
