#!/usr/bin/env bats
# What the page of `kelvin view` shows in a browser, cell by cell, next to what the terminal and the page's core say.
load ../lib/helpers
load ../lib/view

# Frames that are hot, called only, and seen three times, in two threads: more than a page of a table has.
many() {
    python3 - >many.json <<'END'
import json
names = ["main", "parse", "read", "write", "rare", "walk"] + [f"f{i:03d}" for i in range(120)]
frames = [{"name": n, "file": f"src/{n}.c", "line": 10 + i} for i, n in enumerate(names)]
def thread(name, shift):
    samples = []
    for i in range(2000):
        k = (i // 40 + shift + (i % 7 == 0)) % 5
        samples.append([[0, 1, 2], [0, 1], [0, 3], [0, 1, 2, 2], [0, 5, 6 + i % 120]][k])
    for i in range(3):
        samples[100 + 300 * i] = [0, 3, 4]
    return {"type": "sampled", "name": name, "unit": "nanoseconds", "startValue": 0, "endValue": 4000000000,
            "samples": samples, "weights": [2000000 if i % 3 else 1000000 for i in range(2000)]}
print(json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": frames},
                  "profiles": [thread("worker-a", 0), thread("worker-b", 1)], "name": "many"}))
END
}

figures() { # CASE PAGE ARG...
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "what the page does in a browser is the same with every build"
    need_browser
    node "$ROOT/tests/browser/figures.mjs" "$1" "$PWD/$2" "$KELVIN" "${@:3}"
}

@test "view: words and numbers of the page are written as the terminal writes them" {
    figures words none
}

@test "view in a browser: each cell, bar and whisker of functions, callers and call tree is what it says" {
    need_page
    many
    kelvin view many.json -o page.html
    figures functions page.html many.json
    figures callers page.html many.json
    figures tree page.html
}

@test "view in a browser: frames are where and as wide as they should be, and their cards true" {
    need_page
    many
    kelvin view many.json -o page.html
    figures flame page.html
}

@test "view in a browser: each crumb selects, stands in address and command, and goes alone" {
    need_page
    many
    kelvin view many.json -o page.html
    figures crumbs page.html many.json
}

@test "view in a browser: each cell of a comparison is that of kelvin diff, and colours are for what is proven" {
    need_page
    local side
    for side in before after; do
        python3 - $side >$side.json <<'END'
import json, sys
counts = {"before": {"parse": 9000, "emit": 1000, "same": 500}, "after": {"parse": 50, "emit": 150, "extra": 100, "same": 480}}[sys.argv[1]]
names = ["main", "parse", "emit", "extra", "same"]
samples = [[0, names.index(n)] for i in range(max(counts.values())) for n in counts if i < counts[n]]
print(json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": n} for n in names]}, "name": "app",
                  "profiles": [{"type": "sampled", "name": "app", "unit": "nanoseconds", "startValue": 0, "endValue": len(samples) * 1000000,
                                "samples": samples, "weights": [1000000] * len(samples)}]}))
END
    done
    many
    local pair
    for pair in "before after" "after before" "many many"; do
        kelvin view "${pair% *}.json" "${pair#* }.json" -o page.html
        figures compare page.html "${pair% *}.json" "${pair#* }.json"
    done
}

# Threads that wait for a lock and a pipe, inside of scopes, and allocate.
busy_program() {
    cat >busy.c <<'END'
#include <kelvin.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int fds[2];
static volatile unsigned long sink;
static void *kept[100];
__attribute__((noinline)) static void spin(int n) { for (int i = 0; i < n * 1000; i++) sink += (unsigned long)i; }
__attribute__((noinline)) static void keep(int i) { kept[i % 100] = memset(malloc((size_t)(3000 + i)), 1, 3000); }
__attribute__((noinline)) static void drop(void) { free(memset(malloc(100000), 1, 100000)); }
static void *locker(void *a)
{
    for (int i = 0; i < 25; i++) {
        KELVIN_SCOPE("turn");
        pthread_mutex_lock(&m);
        { KELVIN_SCOPE("work"); spin(3000); }
        pthread_mutex_unlock(&m);
        keep(i);
        drop();
        usleep(100);
    }
    return a;
}
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
    gcc -O1 -g -pthread -I"$ROOT/include" busy.c -o busy
    "$KELVIN" record -q --waits --locks --heap -e cpu-clock,page-faults -o busy.kelvin -- ./busy || skip "cannot record waits here"
}

@test "view in a browser: each column of heap, locks, scopes, waits and About has what its title says" {
    need_page
    busy_program
    kelvin view busy.kelvin -o page.html
    figures stories page.html busy.kelvin
    figures locks page.html busy.kelvin
    figures stacks page.html busy.kelvin
    figures about page.html busy.kelvin
    # Locks of each kind: who keeps others out, and who is only waited for.
    cp "$ROOT/tests/golden/views/input/kinds.kelvin" .
    kelvin view kinds.kelvin -o page.html
    figures locks page.html kinds.kelvin
}

@test "view in a browser: lanes are as high as threads were busy, bands and cards show what they did" {
    need_page
    busy_program
    kelvin view busy.kelvin -o page.html
    figures lanes page.html
}

@test "view in a browser: self and total stand in their columns of the source, and a line lights its own file" {
    need_page
    [ "$(uname -m)" = x86_64 ] || skip "annotate knows x86-64 only"
    recorded_program
    kelvin view hot.kelvin -o page.html
    figures source page.html
}
