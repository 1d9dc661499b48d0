#!/usr/bin/env bats
# The page of `kelvin view`: served and as one file, its answers next to those of the terminal, and in a browser.
load ../lib/helpers
load ../lib/view

teardown() {
    [ -z "${SERVER:-}" ] || kill "$SERVER" 2>/dev/null || true
    remove_open_folders
}

# Start `kelvin view ARG...`; $ADDRESS is what it prints.
serve() { # ARG...
    "$KELVIN" view --no-open "$@" >address.txt 2>server.txt 3>&- &
    SERVER=$!
    wait_until 20 has_bytes address.txt 20
    ADDRESS=$(<address.txt)
}

get() { # PATH CURL-OPTION...
    curl -s -o body -w '%{http_code}' "${@:2}" "${ADDRESS%/*/}$1"
}

profile() {
    cp "$ROOT/examples/clang.perf.txt.gz" .
}

# A few seconds of two threads, at known places and times.
timed() {
    python3 - >timed.json <<'END'
import json
frames = [{"name": n, "file": f"src/{n}.c", "line": 10 + i} for i, n in enumerate(["main", "parse", "read", "write", "idle"])]
stacks = [[0, 1, 2], [0, 1], [0, 3], [0, 1, 2, 2]]
def thread(name, shift):
    samples = [stacks[(i // 50 + shift + (i % 7 == 0)) % 4] for i in range(1000)]
    return {"type": "sampled", "name": name, "unit": "nanoseconds", "startValue": 0, "endValue": 2000000000,
            "samples": samples, "weights": [2000000] * 1000}
print(json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": frames},
                  "profiles": [thread("worker-a", 0), thread("worker-b", 1)], "name": "timed"}))
END
}

# Names made of markup in every field that takes one.
hostile() {
    python3 - >hostile.json <<'END'
import json
bad = "</script><img src=x onerror=document.title='pwned'>"
frames = [{"name": bad + str(i), "file": bad, "line": 1} for i in range(4)]
print(json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": frames}, "name": bad,
                  "profiles": [{"type": "sampled", "name": bad, "unit": "nanoseconds", "startValue": 0, "endValue": 40000000,
                                "samples": [[0, 1], [0, 2], [0, 3], [0]] * 10, "weights": [1000000] * 40}]}))
END
    cp hostile.json "<img src=x onerror=document.title='pwned'>.json"
}

# The same in what a program names itself: threads, scopes, counters, events, locks, its file, its source.
hostile_program() {
    local bad="<img src=x onerror=document.title='pwned'>"
    cat >bad.c <<'END'
#include <kelvin.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define BAD "</script><img src=x onerror=document.title='pwned'>"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long sink;
#line 1 "<img src=x onerror=document.title='pwned'>.c"
__attribute__((noinline)) static void spin(int n) { for (int i = 0; i < n * 1000; i++) sink += (unsigned long)i; }
static void *work(void *a)
{
    kelvin_thread_name("<img src=x onerror=alert(1)>");
    for (int i = 0; i < 40; i++) {
        KELVIN_SCOPE(BAD " scope", BAD " key", BAD " value");
        KELVIN_COUNT(BAD " count", 1);
        KELVIN_GAUGE(BAD " gauge", i);
        KELVIN_EVENT(BAD " event");
        pthread_mutex_lock(&m);
        spin(2000);
        free(memset(malloc(100000), 1, 100000));
        pthread_mutex_unlock(&m);
        usleep(100);
    }
    return a;
}
int main(void)
{
    pthread_t t[2];
    kelvin_lock_name(&m, BAD " lock");
    for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, work, 0);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
}
END
    gcc -O1 -g -pthread -I"$ROOT/include" bad.c -o "$bad"
    "$KELVIN" record -q --waits --locks --heap -o bad.kelvin -- "./$bad" "$bad" || skip "cannot record waits here"
}

@test "view in a browser: names made of markup in threads, scopes, counters, locks and files do nothing" {
    need_page
    hostile_program
    kelvin view bad.kelvin --arguments -o page.html
    exits 0
    in_page hostileprogram "file://$PWD/page.html"
    kelvin view bad.kelvin bad.kelvin -o page.html
    in_page hostileprogram "file://$PWD/page.html"
}

@test "view: what is missing or too much is said" {
    need_page
    kelvin view
    exits 1
    complains "no profile is given"
    kelvin view a b c
    exits 1
    complains "one profile, or two to compare"
    kelvin view nosuch.kelvin
    exits 1
    complains "nosuch.kelvin"
    kelvin record --view --rotate 1 -- true
    complains "--view" "--rotate"
}

@test "view: the page is served to who knows the address, and to nobody else" {
    need_page
    command -v curl >/dev/null || skip "needs curl"
    timed
    serve timed.json
    [[ $ADDRESS =~ ^http://127\.0\.0\.1:[0-9]+/[0-9a-f]{32}/$ ]] || fail "printed: $ADDRESS"
    local token
    token=$(basename "$ADDRESS")
    [ "$(get "/$token/")" = 200 ]
    grep -q 'view.js' body
    [ "$(get "/$token/view.js")" = 200 ]
    [ "$(get "/$token/data0.gz")" = 200 ]
    gzip -dc <body >data.kelvin
    kelvin info data.kelvin
    exits 0
    [ "$(get "/$token/data1.gz")" = 404 ]
    [ "$(get "/")" = 404 ]
    [ "$(get "/view.js")" = 404 ]
    [ "$(get "/${token//[0-9]/0}/view.js")" = 404 ]
    [ "$(get "/$token/../../etc/passwd" --path-as-is)" = 404 ]
    [ "$(get "/$token/" -H 'Host: evil.example')" = 403 ]
    [ "$(get "/$token/" -H 'Origin: http://evil.example')" = 403 ]
    [ "$(get "/$token/" -0 -H 'Host:')" = 400 ]
    [ "$(get "/$token/" -X POST -d x=y)" = 405 ]
    # Whatever is answered, and be it no.
    local path
    for path in "" view.js data0.gz core.wasm.gz still.html nosuch; do
        curl -sI "$ADDRESS$path" | tr -d '\r' >head.txt
        diff - <(grep -E '^(Content-Security|Referrer|Cross-Origin|X-Content|Cache)' head.txt | sort) <<'END'
Cache-Control: no-store
Content-Security-Policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
Cross-Origin-Resource-Policy: same-origin
Referrer-Policy: no-referrer
X-Content-Type-Options: nosniff
END
        run ! grep -i '^Access-Control' head.txt
    done
}

@test "view: the token cannot be guessed, and each server has its own" {
    need_page
    timed
    local n
    for n in 1 2; do
        serve timed.json
        basename "$ADDRESS" >"token$n"
        # Of sixteen random bytes, fewer than ten different ones are seen once in 10^9 times.
        [ "$(fold -w 2 "token$n" | sort -u | wc -l)" -ge 10 ] || fail "token $(<"token$n")"
        kill "$SERVER"
        SERVER=
    done
    paste <(fold -w 2 token1) <(fold -w 2 token2) >both
    [ "$(awk '$1 == $2' both | wc -l)" -le 4 ] || fail "$(<both)"
}

# A program in place of the browser's that does not end before it has the page.
browser() {
    mkdir -p bin
    cat >bin/xdg-open <<'END'
#!/bin/sh
printf '%s\n' "$*" >opened.txt
curl -s -m 20 -L -o page.txt -w '%{http_code} %{url_effective}' "$1" >got.part
mv got.part got.txt
exec sleep 20
END
    chmod +x bin/xdg-open
    DISPLAY=:99 PATH=$PWD/bin:$PATH "$KELVIN" view "$@" >address.txt 2>server.txt 3>&- &
    SERVER=$!
    wait_until 30 has_bytes got.txt 20
    ADDRESS=$(<address.txt)
}

@test "view: a browser that stays is served, and its arguments do not give the token away" {
    need_page
    command -v curl >/dev/null || skip "needs curl"
    timed
    browser timed.json
    [ "$(<got.txt)" = "200 $ADDRESS" ] || fail "got $(<got.txt)"
    grep -q 'view.js' page.txt
    local token
    token=$(basename "$ADDRESS")
    run ! grep "$token" opened.txt
    # Nobody else gets anywhere with what can be seen of the browser.
    [ "$(curl -s -o body -w '%{http_code}' "$(<opened.txt)x")" = 404 ]
    [ "$(id -u)" -eq 0 ] || return 0
    [ "$(setpriv --reuid=65534 --clear-groups curl -s -o - -w '%{http_code}' "$(<opened.txt)")" = 403 ]
    [ "$(curl -s -o body -w '%{http_code}' "$(<opened.txt)")" = 303 ]
    [ "$(curl -s -o body -w '%{http_code}' -H 'Host: evil.example' "$(<opened.txt)")" = 403 ]
    kill -INT "$SERVER"
    wait "$SERVER"
    SERVER=
}

@test "view: record --view shows a recording whose name begins like an option" {
    need_page
    # shellcheck disable=SC2016  # for the shell that is recorded
    DISPLAY='' WAYLAND_DISPLAY='' "$KELVIN" record -q -o -x.kelvin --view -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done' \
        >address.txt 2>server.txt 3>&- &
    SERVER=$!
    wait_until 20 has_bytes address.txt 20 || fail "$(<server.txt)"
    kill -INT "$SERVER"
    wait "$SERVER"
    SERVER=
}

@test "view: Ctrl-C ends it, with success" {
    need_page
    timed
    serve timed.json
    kill -INT "$SERVER"
    local code=0
    wait "$SERVER" || code=$?
    SERVER=
    [ "$code" -eq 0 ] || fail "exit code $code"
}

@test "view: one file is the same for the same input, hides arguments, and is small without data" {
    need_page
    timed
    kelvin view timed.json -o a.html
    exits 0
    kelvin view timed.json -o b.html
    cmp a.html b.html
    # Its scripts are named by their hashes: nothing in it can be guessed and used by a name.
    run ! grep -q 'nonce' a.html
    python3 - <<'END'
import base64, hashlib, re
page = open("a.html").read()
policy = re.search(r"script-src([^;]*);", page)[1]
scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
assert len(scripts) == 2 and "unsafe-inline" not in policy, policy
for s in scripts:
    assert "'sha256-%s'" % base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() in policy
END
    sed 's/sha256-[^'"'"']*/HASH/g' a.html | grep -o '<meta http-equiv="Content-Security-Policy"[^>]*>' >policy
    diff policy - <<'END'
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'HASH' 'HASH' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'">
END
    gzip -9c a.html | wc -c >size
    [ "$(<size)" -lt 400000 ] || fail "$(<size) bytes packed"
    "$KELVIN" record -q -o true.kelvin -- /bin/true secret-argument || true
    [ ! -f true.kelvin ] || kelvin view true.kelvin -o c.html
    [ ! -f c.html ] || ! grep -q secret-argument c.html
}

@test "view: WebAssembly and the terminal give the same answers, to the last digit" {
    need_page
    command -v node >/dev/null || skip "needs node ('make check-all' installs it)"
    timed
    profile
    local file
    for file in timed.json clang.perf.txt.gz; do
        kelvin view "$file" -o page.html
        same() { # QUESTION-MEMBERS PATH TERMINAL-FILTER ARG...
            node "$ROOT/tests/browser/core.mjs" page.html "{\"ask\":$1}" | jq -S "$2" >page.json
            "$KELVIN" "${@:4}" 2>/dev/null | jq -S "$3" >terminal.json
            [ -s terminal.json ]
            node "$ROOT/tests/browser/same.mjs" page.json terminal.json || fail "$file $1 differs"
        }
        same '"report"' .report . report "$file" --format json
        same '"about"' '.info|del(.meta.source)' 'del(.meta.source)' info "$file" --json
        same '"list","by":"module","sort":"self","top":15' '[.rows[]|select(.self_weight>0)]' .modules report "$file" --by module --format json
        same '"report","focus":["[Pp]arse"]' .report . report "$file" --focus '[Pp]arse' --format json
        same '"report","hide":["^main$"],"merge-recursion":true' .report . report "$file" --hide '^main$' --merge-recursion --format json
    done
    kelvin view timed.json -o page.html
    same '"report","time":"0.5..1.25","thread":["worker-a"]' .report . report timed.json --time 0.5..1.25 --thread worker-a --format json
    same '"report","subtree":"main;parse"' .report . report timed.json --subtree 'main;parse' --format json
    same '"report","collapse-recursion":["^read$"]' .report . report timed.json --collapse-recursion '^read$' --format json
    same '"list","by":"file","sort":"self","top":15' '[.rows[]|select(.self_weight>0)]' .files report timed.json --by file --format json
    same '"calls","function":"parse"' .function .function report timed.json --callers parse --format json
}

@test "view: modules are collapsed as the terminal does" {
    need_page
    command -v node >/dev/null || skip "needs node ('make check-all' installs it)"
    profile
    kelvin view clang.perf.txt.gz -o page.html
    node "$ROOT/tests/browser/core.mjs" page.html '{"ask":"report","collapse-module":["libLLVM"]}' | jq -S .report >page.json
    "$KELVIN" report clang.perf.txt.gz --collapse-module libLLVM --format json 2>/dev/null | jq -S . >terminal.json
    node "$ROOT/tests/browser/same.mjs" page.json terminal.json
    grep -qF '"[libLLVM-14.so.1]"' page.json
}

@test "view: source and instructions are those of kelvin annotate, and only of the project" {
    need_page
    command -v node >/dev/null || skip "needs node ('make check-all' installs it)"
    [ "$(uname -m)" = x86_64 ] || skip "annotate knows x86-64 only"
    recorded_program
    kelvin view hot.kelvin -o page.html
    exits 0
    code() { # QUESTION-MEMBERS ARG...
        node "$ROOT/tests/browser/core.mjs" page.html "{\"ask\":\"code\",\"function\":\"hash\"$1}" | jq -S .code >page.json
        "$KELVIN" annotate hot.kelvin hash --format json "${@:2}" 2>/dev/null | jq -S . >terminal.json
        [ "$(jq '.blocks | length' terminal.json)" -gt 0 ]
        node "$ROOT/tests/browser/same.mjs" page.json terminal.json
    }
    # The source in it is for others only if its owner says so.
    [ "$(stat -c %a page.html)" = 600 ]
    chmod 644 page.html
    kelvin view hot.kelvin -o page.html
    [ "$(stat -c %a page.html)" = 644 ]
    (umask 022 && echo 'main;only 1' >one.folded && "$KELVIN" view one.folded -o one.html)
    [ "$(stat -c %a one.html)" = 644 ]
    code ''
    jq -e '[.parts[].rows[] | select(.text | contains("h = mix"))] | length > 0' page.json
    code ',"time":"10%..60%"' --time 10%..60%
    # Elsewhere the source stays out, unless it is asked for.
    mv project elsewhere
    mkdir -p project/other
    rm elsewhere/kelvin.conf
    mv elsewhere/hot project/other/hot
    touch project/kelvin.conf
    cd project
    kelvin view ../hot.kelvin --symbols other -o ../page.html
    cd ..
    node "$ROOT/tests/browser/core.mjs" page.html '{"ask":"code","function":"hash"}' >page.json
    run ! grep -q 'h = mix' page.json
}

@test "view: source that came along is shown where the program is gone, and is not in reports" {
    need_page
    command -v node >/dev/null || skip "needs node ('make check-all' installs it)"
    recorded_program
    (cd project && "$KELVIN" record -q --pack-source -o ../packed.kelvin -- ./hot >/dev/null)
    mv project gone
    kelvin view packed.kelvin -o page.html
    exits 0
    code() { # FILTER
        node "$ROOT/tests/browser/core.mjs" page.html '{"ask":"code","function":"hash"}' | jq -S "$1"
    }
    [ "$(code '.code.blocks | length')" = 0 ]
    [ "$(code '[.code.parts[].rows[] | select(.text | contains("h = mix"))] | length')" = 1 ]
    [ "$(code '[.code.parts[].rows[] | select(.total > 0)] | length')" -gt 0 ]
    "$KELVIN" annotate packed.kelvin hash --format json 2>/dev/null | jq -S . >terminal.json
    code .code >page.json
    node "$ROOT/tests/browser/same.mjs" page.json terminal.json
    kelvin report packed.kelvin -o report.html
    exits 0
    python3 - <<'END'
import base64, gzip, re
page = gzip.decompress(base64.b64decode(re.search(r'id="explore">([^<]*)', open("report.html").read())[1])).decode()
data = gzip.decompress(base64.b64decode(re.search(r'id="data0">([^<]*)', page)[1]))
assert b"hash" in data and b"h = mix" not in data
END
    in_page packed "file://$PWD/page.html"
}

@test "view: source of another project, whose library the program loads, is neither packed nor shown" {
    need_page
    command -v node >/dev/null || skip "needs node ('make check-all' installs it)"
    mkdir -p other/.git user/.git
    echo 'double secret(int n) { double x = 0; for (int i = 1; i < n; i++) x += 1.0 / i; return x; } /* SECRET */' >other/secret.c
    gcc -O1 -g -shared -fPIC -o other/libsecret.so "$PWD/other/secret.c"
    echo 'double secret(int); int main(void) { return secret(200000000) < 0; } /* MINE */' >user/u.c
    cd user
    gcc -O1 -g -o u "$PWD/u.c" -L../other -lsecret -Wl,-rpath,"$PWD/../other"
    "$KELVIN" record -q --pack-source -o packed.kelvin -- ./u || skip "cannot record here"
    kelvin view packed.kelvin -o packed.html
    exits 0
    kelvin record -q -o plain.kelvin -- ./u
    kelvin view plain.kelvin -o plain.html
    local file
    for file in packed plain; do
        node "$ROOT/tests/browser/core.mjs" $file.html '{"ask":"code","function":"secret"}' >code.json
        run ! grep SECRET code.json
        # The library's own folder may be asked for.
        kelvin view $file.kelvin --source ../other -o asked.html
        node "$ROOT/tests/browser/core.mjs" asked.html '{"ask":"code","function":"secret"}' >code.json
        grep -q SECRET code.json
    done
}

@test "view: a recording that names a program which is not there makes no project of its folder" {
    need_page
    command -v node >/dev/null || skip "needs node ('make check-all' installs it)"
    [ "$(uname -m)" = x86_64 ] || skip "annotate knows x86-64 only"
    mkdir -p private given/.git
    printf 'SECRET %d\n' {1..9} >private/letter.txt
    printf '#line 1 "%s"\n%s\n' "$PWD/private/letter.txt" \
        'double leak(int n) { double x = 0; for (int i = 1; i < n; i++) x += 1.0 / i; return x; }' >given/leak.c
    gcc -O1 -g -shared -fPIC -o given/libleak.so given/leak.c
    echo 'double leak(int); int main(void) { return leak(200000000) < 0; }' >given/u.c
    gcc -O1 -g -o private/u given/u.c -Lgiven -lleak -Wl,-rpath,"$PWD/given"
    "$KELVIN" record -q -o given/u.kelvin -- private/u || skip "cannot record here"
    cd given
    shown() {
        kelvin view u.kelvin "$@" -o page.html
        exits 0
        node "$ROOT/tests/browser/core.mjs" page.html '{"ask":"code","function":"leak"}' >code.json
        grep -q SECRET code.json
    }
    shown
    # Another program in its place is not what ran, and neither is none.
    cp /bin/true ../private/u
    run ! shown
    rm ../private/u
    run ! shown
    grep -q 'outside of the project' code.json
    shown --source ../private
}

@test "view: links out of the project's folder lead to no source" {
    need_page
    command -v node >/dev/null || skip "needs node ('make check-all' installs it)"
    [ "$(uname -m)" = x86_64 ] || skip "annotate knows x86-64 only"
    mkdir -p private project/.git
    printf 'SECRET %d\n' {1..9} >private/letter.c
    ln -s ../private/letter.c project/link.c
    ln -s ../private project/folder
    mkfifo project/pipe.c
    ln -s /dev/zero project/zero.c
    cd project
    local file
    for file in link.c folder/letter.c ../private/letter.c pipe.c zero.c; do
        printf '#line 1 "%s"\n%s\n' "$PWD/$file" \
            'int main(void) { double x = 0; for (int i = 1; i < 60000000; i++) x += 1.0 / i; return x < 0; }' >u.c
        gcc -O1 -g -o u u.c
        "$KELVIN" record -q --pack-source -o u.kelvin -- ./u || skip "cannot record here"
        kelvin view u.kelvin -o page.html
        exits 0
        node "$ROOT/tests/browser/core.mjs" page.html '{"ask":"code","function":"main"}' >code.json
        grep -q '"line"' code.json
        run ! grep -q SECRET code.json
        run ! grep -q SECRET u.kelvin
    done
}

@test "view: of more functions than a page holds, the hottest have their source" {
    need_page
    command -v node >/dev/null || skip "needs node ('make check-all' installs it)"
    [ "$(uname -m)" = x86_64 ] || skip "annotate knows x86-64 only"
    python3 - >wide.c <<'END'
for i in range(150):
    print(f"__attribute__((noinline)) double f{i:03d}(int n) {{ double x = 0; for (int i = 1; i < n; i++) x += {i + 1}.0 / i; return x; }}")
print("int main(void) { double x = 0;" + "".join(f" x += f{i:03d}({30000000 if i % 50 == 7 else 2000000});" for i in range(150)) + " return x < 0; }")
END
    mkdir .git
    gcc -O1 -g -o wide "$PWD/wide.c"
    "$KELVIN" record -q -o wide.kelvin -- ./wide || skip "cannot record here"
    kelvin view wide.kelvin -o page.html
    exits 0
    [ "$("$KELVIN" report wide.kelvin --by function --top 1000 --format json | jq '[.functions[] | select(.self_weight > 0)] | length')" -gt 90 ] ||
        skip "this machine is too fast for so many functions to be seen"
    local n
    for n in f007 f057 f107; do
        node "$ROOT/tests/browser/core.mjs" page.html "{\"ask\":\"code\",\"function\":\"$n\"}" | jq -e '.code.parts | length > 0' || fail "$n is not in the page"
    done
}

@test "view: what the command line selects is what the page starts with" {
    need_page
    timed
    kelvin view timed.json --value samples --time 10%..90% --thread 'worker-a' --thread 'w.*-b|x&y=1+2#%41' --process '.' --focus 'r.ad|a&b+c d' \
        --ignore '^idle;?$' --hide 'é|"x"' --collapse-recursion '^read$' --subtree main --merge-recursion -o page.html
    python3 - <<'END'
import re, html, urllib.parse
got = urllib.parse.parse_qsl(html.unescape(re.search(r'data-start="([^"]*)"', open("page.html").read())[1]), strict_parsing=True)
want = [("value", "samples"), ("time", "10%..90%"), ("thread", "worker-a"), ("thread", "w.*-b|x&y=1+2#%41"), ("process", "."), ("focus", "r.ad|a&b+c d"), ("ignore", "^idle;?$"),
        ("hide", 'é|"x"'), ("collapse-recursion", "^read$"), ("subtree", "main"), ("merge-recursion", "1")]
assert sorted(got) == sorted(want), got
END
    kelvin view "$ROOT/tests/golden/views/input/scopes.kelvin" --event scopes --where kind=odd --scope layer -o page.html
    grep -q 'data-start="event=scopes&amp;where=kind%3Dodd&amp;scope=layer"' page.html
}

@test "view in a browser: transforms, undo and redo, and what they are as a command" {
    need_page
    timed
    kelvin view timed.json -o page.html
    in_page transforms "file://$PWD/page.html" "$KELVIN"
}

@test "view in a browser: source and instructions side by side" {
    need_page
    [ "$(uname -m)" = x86_64 ] || skip "annotate knows x86-64 only"
    recorded_program
    kelvin view hot.kelvin -o page.html
    in_page source "file://$PWD/page.html"
    serve hot.kelvin
    in_page source "$ADDRESS"
    in_page sourcefirst "file://$PWD/page.html"
}

@test "view in a browser: names have room on a telephone, searches are marked, a chart counts as the timeline does" {
    need_page
    timed
    kelvin view timed.json -o page.html
    in_page telephone "file://$PWD/page.html"
    in_page found "file://$PWD/page.html"
    in_page clock "file://$PWD/page.html"
    in_page grip "file://$PWD/page.html"
}

@test "view in a browser: states that are sums over a thread's life are not shown as moments" {
    need_page
    "$KELVIN" record -q --waits -o many.kelvin -- "$ROOT/build/tests/target/waits" pipe 60000 0 >/dev/null || skip "cannot record waits here"
    "$KELVIN" info many.kelvin | grep -q 'waits_stacks *yes' || skip "stacks of waits are not to be had here"
    kelvin view many.kelvin -o page.html
    node "$ROOT/tests/browser/core.mjs" page.html '{"ask":"lanes","bins":10}' | jq -e '[.states[].summed] | any'
    in_page summed "file://$PWD/page.html"
}

@test "view in a browser: waits for locks and for signals are told apart" {
    need_page
    "$KELVIN" record -q --locks -o convoy.kelvin -- "$ROOT/build/tests/target/locks" convoy >/dev/null || skip "cannot record here"
    "$KELVIN" locks convoy.kelvin | grep -q '99 waits for 1 lock' || skip "the machine was too busy for a convoy"
    kelvin view convoy.kelvin -o page.html
    in_page locks "file://$PWD/page.html"
}

@test "view: heap, locks, scopes and comparisons are those of the commands" {
    need_page
    command -v node >/dev/null || skip "needs node ('make check-all' installs it)"
    local target=$ROOT/build/tests/target
    "$KELVIN" record -q --heap -o heap.kelvin -- "$target/heap" plain >/dev/null || skip "cannot record here"
    "$KELVIN" view heap.kelvin -o page.html
    node "$ROOT/tests/browser/core.mjs" page.html '{"ask":"heap"}' | jq -S '.heap|del(.source,.places)' >page.json
    "$KELVIN" heap heap.kelvin --format json | jq -S 'del(.source,.places)' >terminal.json
    node "$ROOT/tests/browser/same.mjs" page.json terminal.json
    "$KELVIN" record -q -o scopes.kelvin -- "$target/scopes" 200 3 >/dev/null
    "$KELVIN" view scopes.kelvin -o page.html
    node "$ROOT/tests/browser/core.mjs" page.html '{"ask":"scopes"}' | jq -S .scopes.tree >page.json
    "$KELVIN" scopes scopes.kelvin --format json | jq -S .tree >terminal.json
    node "$ROOT/tests/browser/same.mjs" page.json terminal.json
    "$KELVIN" view scopes.kelvin scopes.kelvin -o page.html
    node "$ROOT/tests/browser/core.mjs" page.html '{"ask":"compare","same_arguments":true}' | jq -S '.diff|del(.before,.after)' >page.json
    "$KELVIN" diff scopes.kelvin scopes.kelvin --format json | jq -S 'del(.before,.after)' >terminal.json
    node "$ROOT/tests/browser/same.mjs" page.json terminal.json
    "$KELVIN" record -q -o scopes2.kelvin -- "$target/scopes" 300 3 >/dev/null
    "$KELVIN" record -q --heap -o heap2.kelvin -- "$target/heap" plain 2 >/dev/null
    "$KELVIN" view scopes.kelvin scopes2.kelvin -o page.html
    node "$ROOT/tests/browser/core.mjs" page.html '{"ask":"compare","by":"scope"}' | jq -S .scopes >page.json
    "$KELVIN" diff scopes.kelvin scopes2.kelvin --scopes --top 50 --format json | jq -S . >terminal.json
    node "$ROOT/tests/browser/same.mjs" page.json terminal.json
    in_page compareby "file://$PWD/page.html" scope "$KELVIN" scopes.kelvin scopes2.kelvin
    "$KELVIN" view heap.kelvin heap2.kelvin -o page.html
    node "$ROOT/tests/browser/core.mjs" page.html '{"ask":"compare","by":"line"}' | jq -S '.diff|del(.before,.after)' >page.json
    "$KELVIN" diff heap.kelvin heap2.kelvin --by line --format json | jq -S 'del(.before,.after)' >terminal.json
    node "$ROOT/tests/browser/same.mjs" page.json terminal.json
    node "$ROOT/tests/browser/core.mjs" page.html '{"ask":"compare","by":"place"}' | jq -S '.diff|del(.before,.after)' >page.json
    "$KELVIN" diff heap.kelvin heap2.kelvin --by place --value allocated --format json | jq -S 'del(.before,.after)' >terminal.json
    node "$ROOT/tests/browser/same.mjs" page.json terminal.json
    in_page compareby "file://$PWD/page.html" place "$KELVIN" heap.kelvin heap2.kelvin
    "$KELVIN" view scopes.kelvin heap.kelvin -o page.html
    node "$ROOT/tests/browser/core.mjs" page.html '{"ask":"compare","by":"place"}' | jq -e '.error | contains("no heap")'
    # Another rate: refused with the reason, by whatever it is compared.
    "$KELVIN" record -q -F 499 -o slow.kelvin -- "$target/scopes" 300 3 >/dev/null
    "$KELVIN" view scopes.kelvin slow.kelvin -o page.html
    for by in function line; do
        node "$ROOT/tests/browser/core.mjs" page.html "{\"ask\":\"compare\",\"by\":\"$by\"}" | jq -e '.refused | contains("rate differs")'
    done
    in_page refused "file://$PWD/page.html"
}

# Threads that wait for a lock, a pipe and a clock, with page faults.
waiting_program() {
    cat >mt.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int fds[2];
static volatile unsigned long sink;
__attribute__((noinline)) static void spin(int n) { for (int i = 0; i < n * 1000; i++) sink += (unsigned long)i; }
static void *locker(void *a) { for (int i = 0; i < 25; i++) { pthread_mutex_lock(&m); spin(3000); pthread_mutex_unlock(&m); usleep(100); } return a; }
static void *reader(void *a) { char b; while (read(fds[0], &b, 1) == 1) spin(300); return a; }
int main(void)
{
    pthread_t t[3];
    if (pipe(fds)) return 1;
    pthread_create(t, 0, locker, 0);
    pthread_create(t + 1, 0, locker, 0);
    pthread_create(t + 2, 0, reader, 0);
    for (int i = 0; i < 15; i++) {
        usleep(5000);
        free(memset(malloc(1 << 20), 1, 1 << 20));
        if (write(fds[1], "x", 1) != 1) return 1;
    }
    close(fds[1]);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
}
END
    gcc -O1 -g mt.c -o mt -lpthread
    "$KELVIN" record -q --waits -e cpu-clock,page-faults -o waits.kelvin -- ./mt || skip "cannot record waits here"
}

@test "view: bands of the timeline add up to what report --waits shows, by state and reason" {
    need_page
    command -v node >/dev/null || skip "needs node ('make check-all' installs it)"
    waiting_program
    kelvin view waits.kelvin -o page.html
    node "$ROOT/tests/browser/core.mjs" page.html '{"ask":"lanes","bins":300}' >page.json
    "$KELVIN" report waits.kelvin --waits --format json >terminal.json
    python3 - <<'END'
import json
page, terminal = json.load(open("page.json")), json.load(open("terminal.json"))
near = lambda a, b: abs(a - b) <= 0.001 * max(a, b) + 1e6
for state in ("running", "runnable", "blocked"):
    total = sum(sum(s[state]) for s in page["states"])
    shown = terminal[state + "_ns"]
    assert near(total, shown), (state, total, shown)
for r in terminal["reasons"]:
    if r["reason"] == "runnable": continue
    total = sum(sum(s["reasons"].get(r["reason"], [])) for s in page["states"])
    assert near(total, r["ns"]), (r, total)
END
    in_page bands "file://$PWD/page.html"
}

in_page() { # CASE ADDRESS ARG...
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "what the page does in a browser is the same with every build"
    need_browser
    node "$ROOT/tests/browser/view.mjs" "$@"
}

@test "view in a browser: a right click or the menu key opens what can be done with a frame, row or lane" {
    need_page
    timed
    kelvin view timed.json -o page.html
    in_page menu "file://$PWD/page.html"
}

@test "view in a browser: threads of a process stand together below its name" {
    need_page
    awk 'BEGIN { for (i = 0; i < 300; i++) {
        printf "busy 10/%d %.3f: 1000000 cpu-clock:\n\t1 work (/bin/busy)\n\t2 main (/bin/busy)\n\n", 10 + i % 2, i / 100
        if (i % 3 == 0) printf "calm 20/20 %.3f: 1000000 cpu-clock:\n\t1 rest (/bin/calm)\n\n", i / 100 + 0.001
    } }' >two.txt
    kelvin view two.txt -o page.html
    exits 0
    in_page processes "file://$PWD/page.html"
}

@test "view in a browser: of 200,000 functions only what is in sight has rows, and keys reach all" {
    need_page
    awk 'BEGIN { for (i = 0; i < 200000; i++) printf "main;function_%07d %d\n", i, 1 + i % 5 }' >many.folded
    kelvin view many.folded -o page.html
    in_page many "file://$PWD/page.html" 200000
}

@test "view: events are as many as the commands count" {
    need_page
    command -v node >/dev/null || skip "needs node ('make check-all' installs it)"
    hostile_program
    kelvin view bad.kelvin -o page.html
    exits 0
    events() { node "$ROOT/tests/browser/core.mjs" page.html "{\"ask\":\"events\",\"top\":0}" | jq "[.kinds[]|select(.event==\"$1\").n]|add"; }
    [ "$(events scope)" = "$("$KELVIN" scopes bad.kelvin --format json | jq .spans)" ]
    [ "$(events mark)" = 80 ]
    # A lock that waited is in both; a wait for a condition is none here.
    [ "$(events 'lock wait')" = "$("$KELVIN" locks bad.kelvin --format json | jq '[.locks[].waits]|add')" ]
    in_page events "file://$PWD/page.html" ' scope'
}

@test "view in a browser: heap follows the range, locks say that they do not" {
    need_page
    command -v node >/dev/null || skip "needs node ('make check-all' installs it)"
    hostile_program
    "$KELVIN" record -q --locks --heap -o story.kelvin -- "./<img src=x onerror=document.title='pwned'>" || skip "cannot record here"
    kelvin view story.kelvin -o page.html
    node "$ROOT/tests/browser/core.mjs" page.html '{"ask":"heap","time":"20%..60%"}' | jq -S '.heap|del(.source,.places)' >page.json
    "$KELVIN" heap story.kelvin --time 20%..60% --format json | jq -S 'del(.source,.places)' >terminal.json
    grep -q live_at_range_end terminal.json
    node "$ROOT/tests/browser/same.mjs" page.json terminal.json
    in_page follows "file://$PWD/page.html"
}

@test "view: a page without the arguments does not call them the same" {
    need_page
    command -v node >/dev/null || skip "needs node ('make check-all' installs it)"
    local n
    for n in 1 2; do
        "$KELVIN" record -q -o "$n.kelvin" -- "$ROOT/build/tests/target/scopes" "${n}00" 3 >/dev/null || skip "cannot record here"
    done
    kelvin view 1.kelvin 2.kelvin -o page.html
    node "$ROOT/tests/browser/core.mjs" page.html '{"ask":"compare"}' >page.json
    run ! grep "same arguments" page.json
    # Of as many arguments each: the page was told whether they differ, not what they are.
    jq -e '.arguments_hidden and (.diff.arguments | not)' page.json
    in_page arguments "file://$PWD/page.html" differ
    kelvin view 1.kelvin 1.kelvin -o page.html
    in_page arguments "file://$PWD/page.html" same
    # Two runs of one command: the page is as careful with them as the terminal.
    "$KELVIN" record -q -o again.kelvin -- "$ROOT/build/tests/target/scopes" 100 3 >/dev/null
    kelvin view 1.kelvin again.kelvin -o page.html
    node "$ROOT/tests/browser/core.mjs" page.html '{"ask":"compare","same_arguments":true}' | jq -r .diff.why >page.txt
    "$KELVIN" diff 1.kelvin again.kelvin --format json | jq -r .why >terminal.txt
    diff page.txt terminal.txt
    in_page verdict "file://$PWD/page.html" "$(cat terminal.txt)"
    # In a recording that hides them itself, nobody knows.
    "$KELVIN" record -q --hide-arguments -o hidden.kelvin -- "$ROOT/build/tests/target/scopes" 100 3 >/dev/null
    kelvin view hidden.kelvin hidden.kelvin -o page.html
    in_page arguments "file://$PWD/page.html" unknown
}

@test "view in a browser: every pane, light and dark, wide and narrow" {
    need_page
    timed
    kelvin view timed.json -o page.html
    in_page panes "file://$PWD/page.html"
}

@test "view in a browser: a selection is followed by all panes, kept in the address, undone by Back" {
    need_page
    timed
    serve timed.json
    in_page selection "$ADDRESS"
}

@test "view in a browser: the keyboard does everything" {
    need_page
    timed
    kelvin view timed.json -o page.html
    in_page keyboard "file://$PWD/page.html"
}

@test "view in a browser: names for screen readers, white paper, copies of picture, table and link" {
    need_page
    timed
    kelvin view timed.json -o page.html
    in_page names "file://$PWD/page.html"
}

@test "view in a browser: what is copied as a command shows the same in the terminal" {
    need_page
    timed
    kelvin view timed.json -o page.html
    in_page command "file://$PWD/page.html" "$KELVIN"
}

@test "view in a browser: two files are compared, unlike ones are refused with the reason" {
    need_page
    timed
    sed 's/"parse"/"parse2"/' timed.json >other.json
    kelvin view timed.json other.json -o page.html
    in_page compare "file://$PWD/page.html"
}

@test "view in a browser: the colours of a comparison follow the cost, not the share" {
    need_page
    # Of 10,000 samples before and 300 after: parse 9,000 to 50, emit 1,000 to 150 (10 to 50 %), extra 0 to 100. One run per side proves
    # changes beyond a factor of 3.
    local side
    for side in before after; do
        python3 - $side >$side.json <<'END'
import json, sys
counts = {"before": {"parse": 9000, "emit": 1000}, "after": {"parse": 50, "emit": 150, "extra": 100}}[sys.argv[1]]
names = ["main", "parse", "emit", "extra"]
samples = [[0, names.index(n)] for i in range(max(counts.values())) for n in counts if i < counts[n]]
print(json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": n} for n in names]}, "name": "app",
                  "profiles": [{"type": "sampled", "name": "app", "unit": "nanoseconds", "startValue": 0, "endValue": len(samples) * 1000000,
                                "samples": samples, "weights": [1000000] * len(samples)}]}))
END
    done
    kelvin view before.json after.json -o page.html
    in_page costs "file://$PWD/page.html"
}

@test "view in a browser: names made of markup do nothing" {
    need_page
    hostile
    local file
    for file in hostile.json "<img src=x onerror=document.title='pwned'>.json"; do
        kelvin view "$file" -o page.html
        in_page hostile "file://$PWD/page.html"
        serve "$file"
        in_page hostile "$ADDRESS"
        kill "$SERVER"
        SERVER=
    done
}

@test "view in a browser: characters that hide, turn text or command a terminal are shown as ?, and copied as numbers" {
    need_page
    python3 - >hidden.json <<'END'
import json
bad = "\u202eb\x1b[31m\x03\u200b'\\\n\u2066"
frames = [{"name": bad + str(i), "file": bad, "line": 1} for i in range(4)]
print(json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": frames}, "name": bad,
                  "profiles": [{"type": "sampled", "name": bad, "unit": "nanoseconds", "startValue": 0, "endValue": 40000000,
                                "samples": [[0, 1], [0, 2], [0, 3], [0]] * 10, "weights": [1000000] * 40}]}))
END
    cp hidden.json ./$'-\u202e\x1b.json'
    kelvin view -o page.html -- $'-\u202e\x1b.json'
    exits 0
    in_page hidden "file://$PWD/page.html"
}

@test "view in a browser: odd profiles: one sample, no times, deep stacks, a cut file" {
    need_page
    echo 'main;only 1' >one.folded
    awk 'BEGIN { for (i = 0; i < 100000; i++) printf "f%d;", i; print "end 5"; print "f0;x 3" }' >deep.folded
    "$KELVIN" convert "$ROOT/examples/clang.perf.txt.gz" -o whole.kelvin
    head -c -10 whole.kelvin >cut.kelvin
    local file
    # Neither lines nor addresses; addresses without names.
    gzip -dc "$ROOT/examples/clang.perf.txt.gz" | sed -E 's/^\s+[0-9a-f]+ ([^ ]+) \(.*\)$/\t1234 \1 ([unknown])/' >bare.perf.txt
    gzip -dc "$ROOT/examples/clang.perf.txt.gz" | sed -E 's/^(\s+[0-9a-f]+) [^ ]+ (\(.*\))$/\1 [unknown] \2/' >unnamed.perf.txt
    for file in one.folded deep.folded cut.kelvin bare.perf.txt unnamed.perf.txt; do
        kelvin view "$file" -o page.html
        exits 0
        in_page odd "file://$PWD/page.html" "$file"
    done
}

@test "view in a browser: a file that is dropped on the page is opened" {
    need_page
    timed
    profile
    kelvin view timed.json -o page.html
    "$KELVIN" convert clang.perf.txt.gz -o clang.kelvin
    in_page drop "file://$PWD/page.html" "$PWD/clang.kelvin"
}

@test "view in a browser: without scripts or WebAssembly picture and tables remain" {
    need_page
    timed
    kelvin view timed.json -o page.html
    in_page still "file://$PWD/page.html"
    serve timed.json
    in_page still "$ADDRESS"
}

@test "view in a browser: a table without rows says why, with the way back" {
    need_page
    timed
    kelvin view timed.json -o page.html
    in_page nothing "file://$PWD/page.html"
}

@test "view in a browser: a regular expression in a link cannot keep the page busy" {
    need_page
    python3 -c 'print("main;" + "a" * 30000 + "! 2\nmain;b 1")' >long.folded
    kelvin view long.folded -o page.html
    in_page evil "file://$PWD/page.html"
}

@test "view: regular expressions that would take minutes are refused or cheap, in the terminal too" {
    python3 -c 'print("main;" + "a" * 30000 + "! 2\nmain;b 1")' >long.folded
    kelvin report long.folded --focus '(a*)(a*)\1\2b'
    exits 1
    complains "refers back to a group"
    kelvin report long.folded --hide '(a{1,200}){1,200}b'
    exits 1
    complains "is too large"
    kelvin report long.folded --thread "$(printf '%060d' 0 | tr 0 '(')"
    exits 1
    complains "nests parentheses"
    run timeout "$(patience 20)" "$KELVIN" report long.folded --ignore '(a+)+$'
    # shellcheck disable=SC2154
    [ "$status" -ne 124 ]
}

@test "view in a browser: a link that asks for what is not there says so, and the page goes on" {
    need_page
    timed
    kelvin view timed.json -o page.html
    in_page link "file://$PWD/page.html"
}

@test "view in a browser: a link to the waits of a function that no sample has shows them" {
    need_page
    local recording=$ROOT/tests/golden/views/input/waits-pipe.kelvin
    kelvin report "$recording" --focus '^read$'
    exits 1
    kelvin view "$recording" -o page.html
    in_page waitslink "file://$PWD/page.html"
}

@test "view in a browser: each column of functions sorts by click and by keyboard" {
    need_page
    timed
    kelvin view timed.json -o page.html
    exits 0
    in_page sorting "file://$PWD/page.html"
}

@test "a report and a comparison in a browser: each column sorts by click and by keyboard" {
    need_page
    timed
    kelvin report timed.json -o report.html
    exits 0
    in_page reportsort "file://$PWD/report.html"
    sed 's/"weights": \[2000000, 2000000/"weights": [2000000, 90000000/' timed.json >later.json
    kelvin diff timed.json later.json --force -o diff.html
    in_page reportsort "file://$PWD/diff.html"
}

@test "view in a browser: a report opens the page that is packed in it" {
    need_page
    timed
    kelvin report timed.json --focus read -o report.html
    exits 0
    in_page explore "file://$PWD/report.html"
}

@test "view in a browser: ten tabs of one server, and a file that changes while it is viewed" {
    need_page
    timed
    serve timed.json
    in_page tabs "$ADDRESS"
    echo 'no profile any more' >timed.json
    in_page tabs "$ADDRESS"
    rm timed.json
    in_page selection "$ADDRESS"
}
