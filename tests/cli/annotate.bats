#!/usr/bin/env bats
# A function's source and instructions with their heat.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    [ "$(uname -m)" = x86_64 ] || skip "x86-64 only"
    need_record -- true
    compile -O2
    "$KELVIN" record -q --min-samples 0 --allow-partial -o app.kelvin -- ./app >/dev/null
}

compile() { # FLAGS...
    cat >app.c <<'SOURCE'
static inline __attribute__((always_inline)) double grow(double x)
{
    return x * 1.0000001 + 0.5;
}
__attribute__((noinline)) double churn(long n)
{
    double s = 0; /* for a while
   and on */
    while (n--)
        s = grow(s);
    return s;
}
int main(void)
{
    return churn(60000000) == 1;
}
SOURCE
    gcc "$@" -g app.c -o app
}

@test "annotate shows source, blocks, heat and inlined code" {
    kelvin annotate app.kelvin churn --width 140
    exits 0
    [[ $output =~ "Hottest: block "[0-9]+" at "[0-9a-f]+", "[0-9.]+"% of the function in "[0-9]+" instructions, a loop" ]]
    # Few samples, or nearly all of them on one line, have a lopsided interval.
    local interval='(±[0-9.]+|\([0-9.]+-[0-9.]+\))'
    [[ $output =~ [0-9.]+%\ $interval\ i\ +3\ +return ]] || [[ $output =~ [0-9.]+%\ $interval\ .\ +9\ +while ]] || fail "$output"
    [[ $output == *"inlined functions included"*"'i' marks inlined code."* ]]
    [[ $output =~ mulsd\ xmm[0-9].*scalar\ +i.*grow: ]]
    # The first block listed is the hottest, and holds nearly all.
    [ "$(grep -m1 '^block' <<<"$output" | grep -c 'a loop, 9[0-9]\|a loop, 100')" = 1 ]
}

@test "annotate begins with the hottest lines, the function's own source and leaves out cold code" {
    kelvin annotate app.kelvin churn
    exits 0
    [ "$(grep -n 'hottest lines' <<<"$output" | cut -d: -f1)" -lt "$(grep -n ', .*app.c$' <<<"$output" | head -1 | cut -d: -f1)" ]
    [[ $(grep -m1 ', .*/app.c$' <<<"$output") == *"churn, "* ]]
    [[ $output =~ "grow, inlined, " ]]
    [[ $output == *"never seen running, left out"* ]]
    local shown
    shown=$(grep -c '^block' <<<"$output")
    kelvin annotate app.kelvin churn --all
    [ "$(grep -c '^block' <<<"$output")" -gt "$shown" ]
    [[ $output != *"left out"* ]]
}

# All of its time may be at instructions of what was inlined there.
@test "a line that calls what is inlined has its total" {
    kelvin annotate app.kelvin churn --format json
    exits 0
    local inner call
    inner=$(jq '[.parts[] | select(.inlined) | .rows[] | select(.line == 3)][0].total' <<<"$output")
    call=$(jq '[.parts[] | select(.inlined | not) | .rows[] | select(.line == 10)][0] | [.self, .total]' -c <<<"$output")
    [ "$inner" -gt 0 ] || fail "$output"
    [[ $call == "[0,$inner]" || $(jq ".[1] >= $inner" <<<"$call") == true ]] || fail "call $call, inlined $inner"
    kelvin annotate app.kelvin churn
    [[ $output =~ [0-9]%\ [^%]*\ 10\ +s\ =\ grow ]] || fail "$output"
}

@test "no sentence is wider than the terminal, and a jump keeps its target" {
    kelvin annotate app.kelvin churn --width 80
    exits 0
    [ "$(head -n 8 <<<"$output" | awk 'length > 80')" = "" ] || fail "$output"
    [[ $output =~ j[a-z]+" 0x"[0-9a-f]+" → block "[0-9]+ ]] || fail "$output"
}

@test "where nothing is known to be inlined, nothing is said of it" {
    strip -g app
    "$KELVIN" record -q --min-samples 0 --allow-partial -o plain.kelvin -- ./app >/dev/null
    kelvin annotate plain.kelvin churn
    exits 0
    [[ $output == *"% of the profile; "* && $output != *inlined* ]] || fail "$output"
}

@test "a line that only calls has its total, the call its target's name" {
    kelvin annotate app.kelvin main --width 200
    exits 0
    # self is empty, total is all of it
    grep -Eq '^ +(9[0-9]\.[0-9]|100\.0)% (±[0-9.]+|\([0-9.]+-100\.0\)) [.] +15 +return churn' <<<"$output" || fail "$output"
    grep -Eq '^ +(9[0-9]\.[0-9]|100\.0)% (±[0-9.]+|\([0-9.]+-100\.0\)) +[0-9a-f]+ +call 0x[0-9a-f]+ .*→ churn' <<<"$output" || fail "$output"
    [[ $output =~ "Self "[0-9.]+"%, total "(9[0-9]|100)[.0-9]+"% of the profile" ]] || fail "$output"
    kelvin annotate app.kelvin churn --width 200
    grep -Eq ' jn?[a-z]+ 0x[0-9a-f]+ .*→ block [0-9]+' <<<"$output" || fail "$output"
}

@test "blocks come hottest first, or in the order of the code" {
    local blocks
    kelvin annotate app.kelvin churn --all --order address
    exits 0
    blocks=$(grep -o '^block [0-9]*' <<<"$output")
    [ "$blocks" = "$(sort -k2n <<<"$blocks")" ] || fail "$blocks"
    kelvin annotate app.kelvin churn --all
    [ "$blocks" != "$(grep -o '^block [0-9]*' <<<"$output")" ] || fail "the same order"
}

@test "annotate writes a whole HTML page" {
    kelvin annotate app.kelvin churn -o churn.html
    exits 0
    grep -q '<span class=c>/\* for a while' churn.html
    grep -q '<span class=c>   and on \*/</span>' churn.html
    grep -q 'prefers-color-scheme:dark' churn.html
    grep -q '<span class=w>while</span>' churn.html
    grep -q '</html>' churn.html
}

@test "annotate offers near names, lists ambiguous ones and follows inlined ones" {
    kelvin annotate app.kelvin chrun
    exits 1
    [[ $stderr == *"did you mean 'churn'"* ]]
    kelvin annotate app.kelvin grow
    exits 0
    [[ $stderr == *"'grow' is inlined into 'churn', which is shown"* ]]
    kelvin annotate app.kelvin libc_start
    exits 1
    [[ $stderr =~ "'libc_start' matches "[0-9]+" functions: ".*"@".*". Name one of them" ]]
    kelvin annotate app.kelvin churn@app
    exits 0
    kelvin annotate app.kelvin '[app]' # as reports call code of which no function is known
    exits 1
    complains "stands for code of which no function is known"
}

@test "annotate refuses a file that has changed unless forced" {
    compile -O1
    kelvin annotate app.kelvin churn
    exits 5
    [[ $stderr == *"has changed since"*"--force"* ]]
    kelvin annotate app.kelvin churn --force
    [[ $output == *"build-id was not checked"* ]]
    rm app
    kelvin annotate app.kelvin churn
    exits 1
    [[ $stderr == *"is not here"* ]]
}

@test "annotate says when the source is missing or newer" {
    touch -d '+1 hour' app.c
    kelvin annotate app.kelvin churn
    [[ $output == *"app.c: newer than the program"* ]]
    rm app.c
    kelvin annotate app.kelvin churn
    exits 0
    [[ $output == *"app.c: not here; lines are shown by number"* ]]
}

@test "annotate explains a profile without addresses" {
    echo 'main;a 3' >plain.folded
    kelvin annotate plain.folded a
    exits 5
    [[ $stderr == *"has no addresses"* ]]
}

@test "report names a hot scalar loop, and keeps silent once the program is gone" {
    kelvin report app.kelvin --width 300
    exits 0
    [[ $output == *"scalar-loop: loops of churn ("*", scalar SSE)"* ]]
    rm app
    kelvin report app.kelvin
    exits 0
    [[ $output != *scalar-loop* && -z $stderr ]]
}

@test "a page holds no file from outside of the project, whatever debug information names" {
    mkdir -p home/.ssh home/project
    export HOME=$PWD/home
    for i in {1..30}; do echo "PRIVATE KEY LINE $i"; done >home/.ssh/id_rsa
    cd home/project
    cat >evil.c <<SOURCE
#line 5 "$HOME/.ssh/id_rsa"
__attribute__((noinline)) double churn(long n)
{
    double s = 0;
    while (n--)
        s = s * 0.5 + 1;
    return s;
}
int main(void)
{
    return churn(200000000) == 1;
}
SOURCE
    gcc -O1 -g evil.c -o evil
    "$KELVIN" record -q -o evil.kelvin -- ./evil || skip "nothing can be recorded here"
    kelvin annotate evil.kelvin churn -o evil.html
    exits 0
    grep -q 'outside of the project' evil.html || fail "does not say why"
    if grep -q 'PRIVATE KEY' evil.html; then fail "the page has the file"; fi
    # Neither through a link, nor from the home folder as the current one.
    ln -s "$HOME/.ssh/id_rsa" link.c
    sed -i '1s/.*/#line 5 "link.c"/' evil.c
    gcc -O1 -g evil.c -o evil
    "$KELVIN" record -q -o evil.kelvin -- ./evil
    cd ..
    touch .git
    kelvin annotate project/evil.kelvin churn -o evil.html
    exits 0
    if grep -q 'PRIVATE KEY' evil.html; then fail "the page has the file behind a link"; fi
    # Whoever asks for it gets it.
    kelvin annotate project/evil.kelvin churn --source .ssh -o evil.html
    grep -q 'PRIVATE KEY' evil.html
}

@test "annotate shows what an inlined function is inlined into, and finds it by part of its name" {
    kelvin annotate app.kelvin grow
    exits 0
    [[ $stderr == *"'grow' is inlined into 'churn', which is shown"* ]]
    [[ $output == "churn (app)"* ]]
    kelvin annotate app.kelvin gro
    exits 0
    [[ $stderr == *"'grow' is inlined into 'churn', which is shown"* ]]
}

@test "annotate finds a C++ function by the short name that reports show" {
    cat >names.cpp <<'SOURCE'
#include <map>
#include <string>
struct table { std::map<std::string, double> m; };
template <class T, class U> struct work {
    __attribute__((noinline)) static double churn(U n)
    {
        volatile double s = 0;
        while (n--)
            s = s * 1.0000001 + 0.5;
        return s;
    }
};
int main() { return work<std::map<std::string, double>, long>::churn(60000000) == 1; }
SOURCE
    g++ -O2 -g names.cpp -o names
    "$KELVIN" record -q --min-samples 0 --allow-partial -o names.kelvin -- ./names >/dev/null
    kelvin report names.kelvin --width 80
    exits 0
    [[ $output == *"work<..>::churn"* ]]
    run ! grep -q ' $' <<<"$output"
    kelvin report names.kelvin --callers 'work<..>::churn'
    exits 0
    kelvin annotate names.kelvin 'work<..>::churn'
    exits 0
    [[ $output == "work<std::map<"* ]]
}

@test "a rule for the short name of a function is about that one, not about a symbol that was never sampled" {
    # libstdc++ has a std::string::compare of its own: that of its old strings.
    cat >strings.cpp <<'SOURCE'
#include <string>
#include <thread>
static void work()
{
    std::string a(200000, 'x'), b = a;
    volatile long n = 0;
    for (int i = 0; i < 40000; i++)
        n = n + (a.compare(b) == 0);
}
int main() { std::thread(work).join(); }
SOURCE
    g++ -O2 -g -pthread strings.cpp -o strings
    "$KELVIN" record -q --min-samples 0 --allow-partial -o strings.kelvin -- ./strings >/dev/null
    echo 'total std::string::compare <= 50%' >short.rules
    kelvin check strings.kelvin short.rules
    exits 3
    [[ $output == *"FAILED"* ]]
}

@test "source that came along is shown where the files and the program are gone, and nothing else came" {
    mkdir -p project/.secret elsewhere
    touch project/kelvin.conf
    printf 'static inline __attribute__((always_inline)) double token(double x)\n{ return x * 1.000001 + 0.25; }\n' >elsewhere/outside.h
    printf 'static inline __attribute__((always_inline)) double hidden(double x)\n{ return x * 1.000002 + 0.75; }\n' >project/.secret/hidden.h
    sed -e 's|^int main|#include "../elsewhere/outside.h"\n#include ".secret/hidden.h"\n__attribute__((noinline)) double more(long n) { double s = 0; while (n--) s = hidden(token(s)); return s; }\nint main|' \
        -e 's|return churn(60000000)|return more(60000000) + churn(60000000)|' app.c >project/app.c
    gcc -O2 -g project/app.c -o project/app
    cd project
    "$KELVIN" record --min-samples 0 --pack-source -o ../packed.kelvin -- ./app 2>../said || skip "cannot record here"
    "$KELVIN" record -q --min-samples 0 --pack-source=../elsewhere -o ../asked.kelvin -- ./app
    cd ..
    grep -Eq 'source: 1 file packed \(.*\), [0-9]+ outside of the project left out' said || fail "$(cat said)"
    kelvin info packed.kelvin
    [[ $output == *"source files packed 1 ("* ]] || fail "$output"
    mv project gone
    rm elsewhere/outside.h
    kelvin annotate packed.kelvin churn
    exits 0
    [[ $output == *"the program that ran is not here"*"while (n--)"* && $output != *"instructions"$'\n'* ]] || fail "$output"
    grep -Eq '^ +[0-9.]+% .* i +3 +return x \* 1.0000001' <<<"$output" || grep -Eq '[0-9.]+% .*\. +9 +while' <<<"$output" || fail "$output"
    kelvin annotate packed.kelvin more
    exits 0
    [[ $output != *1.000001* && $output != *1.000002* ]] || fail "$output"
    kelvin annotate asked.kelvin more
    [[ $output == *1.000001* && $output != *1.000002* ]] || fail "$output"
    kelvin annotate packed.kelvin churn -o page.html
    exits 0
    grep -q 'while' page.html
    kelvin annotate packed.kelvin churn --format json
    jq -e '(.blocks | length) == 0 and ([.parts[].rows[] | select(.total > 0)] | length) > 0' <<<"$output"
    # A recording that is written again keeps them.
    kelvin convert packed.kelvin -o again.kelvin
    kelvin annotate again.kelvin churn
    [[ $output == *"while (n--)"* ]] || fail "$output"
    # What lay there when it was recorded counts, not what lies there now.
    mkdir project
    echo 'another file' >project/app.c
    kelvin annotate packed.kelvin churn
    [[ $output == *"while (n--)"* && $output != *"another file"* ]] || fail "$output"
}

@test "annotate says that a hidden function stays where it is inlined" {
    kelvin annotate app.kelvin churn --hide grow
    exits 0
    [[ $output == *"Selected: hide grow."*"Hidden functions that are inlined here are shown anyway"* ]] || fail "$output"
    kelvin annotate app.kelvin churn
    [[ $output != *"Hidden functions"* ]] || fail "$output"
}
