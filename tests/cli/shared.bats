# Files that another user put where everybody may write: nothing is run, followed, waited for or believed.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

OTHER=65534

# A folder like /tmp, and in it one of our own, which is the current one.
setup() {
    cd "$BATS_TEST_TMPDIR" || return
    [ "$(id -u)" = 0 ] || skip "needs root, to make files of others"
    mkdir -m 1777 shared
    mkdir shared/mine
    cd shared/mine || return
    printf 'main;work 300\nmain;rest 100\n' >p.folded
}

# What a suite of somebody else would do.
plant_suite() { # FOLDER
    printf '[workload w]\ncommand = touch %s/pwned\n[build]\ncommand = touch %s/pwned\n' "$PWD" "$PWD" >"$1/kelvin.conf"
    chown $OTHER "$1/kelvin.conf"
}

@test "a suite file of another user, here or above, is not run" {
    plant_suite ..
    kelvin run
    exits 1
    complains "kelvin.conf' belongs to another user" "--conf"
    cd ..
    kelvin run
    exits 1
    complains "belongs to another user"
    [ ! -e mine/pwned ] || fail "its commands ran"
    kelvin run --explain --conf kelvin.conf
    exits 0
}

@test "a suite file of the one whose folder this is counts, also above" {
    mkdir -p project/below
    plant_suite project
    chown -R $OTHER project
    cd project/below
    kelvin run --explain
    exits 0
    [[ $output == *"/pwned"* ]] || fail "$output"
}

@test "a store that another user put there is not used, nor the program that it keeps" {
    cd ..
    cp "$(command -v sleep)" prog
    mkdir -p .kelvin
    "$KELVIN" bench -q --runs 3 --save main --store .kelvin/history.db "$PWD/prog 0" >/dev/null
    chown -R $OTHER .kelvin
    kelvin bench -q --runs 3 --against main "$PWD/prog 0"
    exits 1
    complains "another user put the store" "--store"
    kelvin bench --baselines
    exits 1
    complains "another user put the store"
    # One that marks a folder above as the project does not bring its store along.
    mkdir .git
    chown $OTHER .git
    cd mine
    kelvin bench --baselines
    [[ $stderr != *shared/.kelvin* ]] || fail "$stderr"
}

# Every way to write a file: one that leads elsewhere is refused, and so is a pipe, without waiting for a reader.
@test "links and pipes of another user are refused by every option that writes" {
    local how
    echo precious >victim
    ln -s mine/victim ../link
    mkfifo ../pipe
    chown -h $OTHER ../link ../pipe
    printf 'total work <= 99%%\n' >rules
    for how in "report p.folded" "flame p.folded" "fold p.folded" "convert p.folded --to json" "convert p.folded --to kelvin" \
        "diff p.folded p.folded" "view p.folded" "check p.folded rules" "bench -q --runs 3 true" "init --force"; do
        for to in link pipe; do
            # shellcheck disable=SC2086
            run --separate-stderr timeout "$(patience 30)" "$KELVIN" $how -o ../$to
            exits 1
            [[ $stderr == *"another user put"* ]] || fail "$how -o ../$to: $stderr"
        done
    done
    for to in link pipe; do
        run --separate-stderr timeout "$(patience 30)" "$KELVIN" bench -q --runs 3 --output-of "../$to" "echo new"
        exits 1
        [[ $stderr == *"another user put"* ]] || fail "bench --output-of ../$to: $stderr"
        run --separate-stderr timeout "$(patience 30)" "$KELVIN" bench --export main "../$to"
        [ "$status" = 1 ] || fail "bench --export ../$to: $status"
    done
    [ "$(cat victim)" = precious ]
    no_litter ..
}

@test "a folder to rotate in that another user leads to, owns or marked is refused" {
    need_record -a -d 1
    mkdir ours ../theirs ../open
    "$KELVIN" record -a --rotate 1s -d 1 -q ours
    local before
    before=$(ls -lA ours)
    ln -s mine/ours ../link
    mkfifo ../pipe
    chmod 1777 ../open
    touch ../open/kelvin-recordings ../open/20261117T075512.123Z.kelvin
    chown -h -R $OTHER ../link ../theirs ../open/kelvin-recordings
    for to in link link/ theirs open pipe; do
        run --separate-stderr timeout "$(patience 30)" "$KELVIN" record -a --rotate 1s --keep 1s --max-size 1K -d 1 -q "../$to"
        [ "$status" = 125 ] || fail "$to: exit code $status: $stderr"
        [[ $stderr == *"another user"* || $to == open || $to == pipe ]] || fail "$to: $stderr"
    done
    [ "$(ls -lA ours)" = "$before" ] || fail "$(ls -lA ours)"
    [ -e ../open/20261117T075512.123Z.kelvin ] || fail "a file there was removed"
}

@test "what replaces a file of another user is not for everybody to write, and a recording not to read" {
    umask 022
    touch ../a.svg ../a.kelvin
    chmod 666 ../a.svg ../a.kelvin
    chown $OTHER ../a.svg ../a.kelvin
    "$KELVIN" flame p.folded -o ../a.svg
    "$KELVIN" convert p.folded -o ../a.kelvin
    "$KELVIN" convert p.folded -o ../b.kelvin
    [ "$(stat -c '%a %u' ../a.svg)" = "644 0" ] || fail "$(stat -c '%a %u' ../a.svg)"
    [ "$(stat -c '%a %u' ../a.kelvin)" = "600 0" ] || fail "$(stat -c '%a %u' ../a.kelvin)"
    [ "$(stat -c %a ../b.kelvin)" = 600 ] || fail "$(stat -c %a ../b.kelvin)"
}

# A suite in a folder that everybody may write to, which records.
plant_none() {
    # shellcheck disable=SC2016
    printf '[workload small]\ncommand = i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done\nshell = yes\n' >kelvin.conf
    printf 'collect = cpu\nmin-samples = 1\n' >>kelvin.conf
}

@test "an archive, baselines or variants that another user put there get no recordings and provide no programs" {
    need_record -- true
    local what
    cd ..
    plant_none
    for what in .kelvin .kelvin/archive .kelvin/baselines .kelvin/variants; do
        rm -rf .kelvin perf victim
        mkdir victim
        [ $what = .kelvin ] || mkdir -m 1777 .kelvin
        ln -s "$PWD/victim" $what
        chown -h $OTHER $what
        run --separate-stderr timeout "$(patience 60)" "$KELVIN" run -q --save main
        exits 1
        [[ $stderr == *"another user put '$what'"*history.store* ]] || fail "$what: $stderr"
        [ ! -e perf ] || fail "$what: published"
        [ -z "$(ls -A victim)" ] || fail "$what: $(find victim)"
    done
    # Nor is a recording of theirs taken for ours, or a pipe there waited for.
    rm -rf .kelvin
    mkdir -p .kelvin/archive/20991117T181003Z-none
    cp mine/p.folded .kelvin/archive/20991117T181003Z-none/small.kelvin
    chown -R $OTHER .kelvin
    for what in "report @last" "report @last:small" "history --flame -o x.html"; do
        # shellcheck disable=SC2086
        run --separate-stderr timeout "$(patience 30)" "$KELVIN" $what
        exits 1
        [[ $stderr == *"another user put '"*.kelvin\'* ]] || fail "$what: $stderr"
    done
    chown -R 0 .kelvin
    kelvin report @last
    exits 0
    rm .kelvin/archive/*/small.kelvin
    mkfifo .kelvin/archive/20991117T181003Z-none/small.kelvin
    run --separate-stderr timeout "$(patience 30)" "$KELVIN" report @last
    exits 1
    complains "has no recordings"
}

@test "recordings in the archive and in baselines are as private as those that they are copies of" {
    need_record -- true
    umask 022
    plant_none
    "$KELVIN" run -q --save main
    for file in perf/small.kelvin .kelvin/archive/*/small.kelvin .kelvin/baselines/main/small.kelvin; do
        [ "$(stat -c %a "$file")" = 600 ] || fail "$file: $(stat -c %a "$file")"
    done
}

# sudo and su may keep HOME and XDG_CACHE_HOME.
@test "nothing is written to a cache folder of another user, nor to where it leads" {
    need_record -- true
    local how
    mkdir ../victim ../home
    for how in link folder parent shared; do
        rm -rf ../home/.cache
        case $how in
        link) mkdir ../home/.cache && ln -s "$(realpath ../victim)" ../home/.cache/kelvin ;;
        folder) mkdir -p ../home/.cache/kelvin ;;
        parent) mkdir -m 777 ../home/.cache ;;
        shared) chmod 1777 ../home && ln -s "$(realpath ../victim)" ../home/.cache ;;
        esac
        [ $how = parent ] || chown -h -R $OTHER ../home/.cache
        HOME=$(realpath ../home) "$KELVIN" record -q -o x.kelvin -- python3 -c 'sum(range(10**6))'
        [ -z "$(ls -A ../victim)" ] || fail "$how: $(ls -A ../victim)"
        [ -z "$(find ../home -user 0 -path '*kelvin*')" ] || fail "$how: $(find ../home)"
    done
    # One's own is used.
    rm -rf ../home/.cache
    chmod 755 ../home
    HOME=$(realpath ../home) "$KELVIN" record -q -o x.kelvin -- python3 -c 'sum(range(10**6))'
    [ -n "$(find ../home/.cache/kelvin -type f)" ] || fail "no cache: $(find ../home)"
}
