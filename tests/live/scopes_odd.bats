#!/usr/bin/env bats
# Scopes of programs that go wrong: counted and told, and the rest stays right.
# shellcheck disable=SC2154,SC2016  # kelvin sets output, status, stderr
load ../lib/helpers

INCLUDE=$BATS_TEST_DIRNAME/../../include

# Record a program whose text is standard input; it may end as it likes.
record_c() { # [ARGUMENT...]
    cat >app.c
    cc -O1 -pthread -I"$INCLUDE" app.c -o app
    kelvin record -q --engine none -o r.kelvin -- ./app "$@"
}

# An expression of jq on what `kelvin scopes` says as JSON.
scopes() { # EXPRESSION [OPTION...]
    "$KELVIN" scopes --format json "${@:2}" r.kelvin | jq -r "$1"
}

@test "spans across threads that never end, or end twice, are counted" {
    record_c <<'END'
#include <kelvin.h>
int main(void)
{
    for (int i = 0; i < 3; i++)
        kelvin_begin("never");
    kelvin_span s = kelvin_begin("twice");
    kelvin_end(s);
    kelvin_end(s);
    kelvin_end(0);
    return 0;
}
END
    exits 0
    [ "$(scopes '[.flat[] | "\(.scope) \(.calls)"] | join(",")')" = "twice 1" ]
    [ "$(scopes .note)" = "3 scopes never ended, 1 end without a beginning" ]
}

@test "scopes open when a program execs, ends by _exit or is killed are counted, in all threads" {
    cat >text <<'END'
#include <kelvin.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
static pthread_barrier_t gate;
static void *work(void *x)
{
    KELVIN_SCOPE("worker");
    KELVIN_SCOPE("waits");
    pthread_barrier_wait(&gate);
    pause();
    return x;
}
int main(int argc, char **argv)
{
    pthread_t t;
    pthread_barrier_init(&gate, 0, 2);
    { KELVIN_SCOPE("whole"); }
    KELVIN_SCOPE("open");
    pthread_create(&t, 0, work, 0);
    pthread_barrier_wait(&gate);
    if (argc > 1 && !strcmp(argv[1], "exec")) execl("/bin/true", "true", (char *)0);
    if (argc > 1 && !strcmp(argv[1], "kill")) kill(getpid(), SIGKILL);
    if (argc > 1 && !strcmp(argv[1], "exit")) exit(0);
    _exit(0);
}
END
    local how
    for how in exec kill exit _exit; do
        record_c $how <text
        [ "$(scopes '[.flat[] | "\(.scope) \(.calls)"] | join(",")')" = "whole 1" ]
        [ "$(scopes .note)" = "3 scopes never ended" ] || fail "$how: $(scopes .note)"
    done
}

@test "a thread that ends in a scope is counted once" {
    record_c <<'END'
#include <kelvin.h>
#include <pthread.h>
static void *work(void *x) { { KELVIN_SCOPE("whole"); } static struct kelvin_site site = {"left", 0}; struct kelvin_scope s = {0};
    if (kelvin_get_()) kelvin_get_()->begin(&s, &site);
    return x; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, work, 0);
    pthread_join(t, 0);
    KELVIN_SCOPE("main");
    return 0;
}
END
    exits 0
    [ "$(scopes .note)" = "1 scope never ended" ]
    [ "$(scopes '[.flat[] | "\(.scope) \(.calls)"] | sort | join(",")')" = "main 1,whole 1" ]
}

@test "too many names: the scopes around the rest keep their attributes and their self time" {
    record_c <<'END'
#include <kelvin.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    char name[32];
    for (int i = 0; i < 5000; i++) {
        KELVIN_SCOPE("request", "id", i % 2);
        { KELVIN_SCOPE("known"); }
        snprintf(name, sizeof name, "url %d", i);
        KELVIN_SCOPE_NAMED(name);
        if (i >= 4900)
            usleep(1000);
    }
    return 0;
}
END
    exits 0
    [ "$(scopes '.spans + .lost')" = 15000 ]
    [ "$(scopes '[.groups[] | "\(.value) \(.calls)"] | join(",")' --by id)" = "0 2500,1 2500" ]
    # Every sleep is in one of the rest: the self time of what is around them has none of it.
    jq -n --argjson rest "$(scopes '.flat[] | select(.scope == "[more scopes]") | .self_ns')" \
        --argjson total "$(scopes '.flat[] | select(.scope == "request") | .total_ns')" \
        --argjson self "$(scopes '.flat[] | select(.scope == "request") | .self_ns')" \
        -e '$rest >= 100e6 and $self + $rest <= $total'
}

@test "more counters than are kept: said in so many words" {
    record_c <<'END'
#include <kelvin.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    const char *at = getenv("KELVIN_SCOPES");
    char name[32];
    for (int i = 0; i < 3; i++)
        at = strchr(at, ' ') + 1;
    void (*count)(const char *, int64_t) = (void (*)(const char *, int64_t))dlsym(dlopen(at, RTLD_NOW), "kelvin_count");
    KELVIN_SCOPE("whole");
    for (int i = 0; i < 1100; i++) {
        snprintf(name, sizeof name, "counter %d", i);
        count(name, 1);
    }
    return 0;
}
END
    exits 0
    [ "$(scopes '.counters | length')" = 1024 ]
    [ "$(scopes .note)" = "76 counts left out: too many counters" ]
}

@test "names and texts that are NULL or empty do no harm" {
    record_c <<'END'
#include <kelvin.h>
#include <dlfcn.h>
#include <string.h>
int main(void)
{
    const char *at = getenv("KELVIN_SCOPES");
    for (int i = 0; i < 3; i++)
        at = strchr(at, ' ') + 1;
    void *library = dlopen(at, RTLD_NOW);
    int (*push)(const char *) = (int (*)(const char *))dlsym(library, "kelvin_push");
    void (*pop)(void) = (void (*)(void))dlsym(library, "kelvin_pop");
    void (*gauge)(const char *, int64_t) = (void (*)(const char *, int64_t))dlsym(library, "kelvin_gauge");
    kelvin_end(kelvin_begin(NULL));
    push(NULL);
    pop();
    gauge(NULL, 3);
    kelvin_thread_name(NULL);
    kelvin_trace_take(NULL);
    { KELVIN_SCOPE_NAMED(NULL); }
    { KELVIN_SCOPE(""); }
    KELVIN_SCOPE("text", "key", (const char *)NULL, "", "");
    return 0;
}
END
    exits 0
    [ "$(scopes '[.flat[] | "\(.scope) \(.calls)"] | sort | join(",")')" = "[no name] 4,text 1" ]
    [ "$(scopes .note)" = null ]
}

@test "a full ring: counts, events, and names that find no room are lost and counted as spans are" {
    record_c <<'END'
#include <kelvin.h>
#include <signal.h>
#include <unistd.h>
static void many(void)
{
    for (int i = 0; i < 300000; i++) {
        KELVIN_SCOPE("tiny");
    }
}
int main(void)
{
    { KELVIN_SCOPE("first"); }
    kill(getppid(), SIGSTOP); /* the recorder */
    many();
    for (int i = 0; i < 5; i++)
        KELVIN_COUNT("late count", 1);
    for (int i = 0; i < 7; i++)
        KELVIN_GAUGE("late gauge", 1);
    for (int i = 0; i < 11; i++)
        KELVIN_EVENT("late event");
    for (int i = 0; i < 13; i++)
        kelvin_end(kelvin_begin("late span"));
    for (int i = 0; i < 17; i++) {
        KELVIN_SCOPE("late scope");
    }
    kill(getppid(), SIGCONT);
    return 0;
}
END
    exits 0
    [ "$(scopes '.flat | length')" = 2 ]
    [ "$(scopes '.spans + .lost')" = $((300001 + 5 + 7 + 11 + 13 + 17)) ]
    [[ $(scopes .note) == *" records lost for want of room" ]] || fail "$(scopes .note)"
}

@test "a clock that steps back in a span: the span is left out and counted, others are as ever" {
    record_c <<'END'
#include <kelvin.h>
static struct kelvin_site site = {"stepped", 0};
int main(void)
{
    KELVIN_SCOPE("outer");
    struct kelvin_scope s = {0};
    if (kelvin_get_()) {
        kelvin_get_()->begin(&s, &site);
        s.start += UINT64_C(1) << 40; /* it began minutes later than it ends */
        kelvin_get_()->end(&s);
    }
    { KELVIN_SCOPE("inner"); }
    return 0;
}
END
    exits 0
    [ "$(scopes '[.flat[] | "\(.scope) \(.calls)"] | sort | join(",")')" = "inner 1,outer 1" ]
    [ "$(scopes .note)" = "1 record made no sense" ]
    [ "$(scopes '.flat[] | select(.scope == "outer") | .self_ns <= .total_ns')" = true ]
}

@test "every byte in a name: all formats are valid, and traces bring it back" {
    record_c <<'END'
#include <kelvin.h>
int main(void)
{
    for (int i = 1; i < 256; i++) {
        char name[8] = {'a', (char)i, 'b', 0};
        KELVIN_SCOPE_NAMED(name);
        KELVIN_SCOPE("inside", "text", name);
    }
    return 0;
}
END
    exits 0
    [ "$(scopes '.flat | length')" -ge 129 ] # what is no UTF-8 may look alike
    [ "$(scopes '[.flat[].calls] | add')" = 510 ]
    "$KELVIN" scopes --top 1000 --by text r.kelvin >text.txt
    [ "$(grep -cP '[\x00-\x08\x0b-\x1f\x7f]' text.txt)" = 0 ]
    "$KELVIN" scopes --top 1000 --format md r.kelvin >text.md
    [ "$(grep -cP '[\x00-\x08\x0b-\x1f\x7f]' text.md)" = 0 ]
    "$KELVIN" scopes --top 1000 --format csv r.kelvin | python3 -c '
import csv, sys
rows = list(csv.reader(sys.stdin))
assert len(set(map(len, rows))) == 1, set(map(len, rows))'
    local to
    for to in trace.json pftrace; do
        kelvin convert r.kelvin --event scopes -o "x.$to"
        exits 0
        [ "$("$KELVIN" scopes --format json "x.$to" | jq '[.flat[].calls] | add')" = 510 ]
    done
    kelvin convert r.kelvin -o x.otlp.json
    exits 0
    [ "$(jq '[.resourceSpans[].scopeSpans[].spans[]] | length' x.otlp.json)" = 510 ]
}

@test "traces through pushed scopes: the ids are those that were given" {
    record_c <<'END'
#include <kelvin.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    const char *at = getenv("KELVIN_SCOPES");
    char given[KELVIN_TRACEPARENT];
    for (int i = 0; i < 3; i++)
        at = strchr(at, ' ') + 1;
    void *library = dlopen(at, RTLD_NOW);
    int (*push)(const char *) = (int (*)(const char *))dlsym(library, "kelvin_push");
    void (*pop)(void) = (void (*)(void))dlsym(library, "kelvin_pop");
    push("outer");
    push("inner");
    kelvin_trace_give(given);
    puts(given);
    pop();
    pop();
    return 0;
}
END
    exits 0
    [ "$(scopes '.slowest as $s | [($s[] | select(.scope == "outer") | .attributes.trace_id),
        ($s[] | select(.scope == "inner") | .attributes.span_id)] | "00-\(.[0])-\(.[1])-01"')" = "$output" ]
}

@test "scopes that a longjmp left are counted when the one around them ends, too" {
    record_c <<'END'
#include <kelvin.h>
#include <setjmp.h>
static jmp_buf back;
static __attribute__((noinline)) void leap(int n)
{
    KELVIN_SCOPE("left");
    if (n)
        leap(n - 1);
    else
        longjmp(back, 1);
}
int main(void)
{
    for (int i = 0; i < 5; i++) {
        KELVIN_SCOPE("around");
        if (!setjmp(back))
            leap(1);
    }
    return 0;
}
END
    exits 0
    [ "$(scopes '[.flat[] | "\(.scope) \(.calls)"] | join(",")')" = "around 5" ]
    [ "$(scopes .note)" = "10 scopes never ended" ]
}

@test "attributes of a scope that was left stay with it" {
    record_c <<'END'
#include <kelvin.h>
#include <setjmp.h>
static jmp_buf back;
static __attribute__((noinline)) void leap(void) { KELVIN_SCOPE("left", "of", "left", "n", 7); longjmp(back, 1); }
int main(void)
{
    KELVIN_SCOPE("around", "of", "around");
    if (!setjmp(back))
        leap();
    { KELVIN_SCOPE("plain"); }
    { KELVIN_SCOPE("next", "of", "next"); }
    return 0;
}
END
    exits 0
    [ "$(scopes '[.groups[] | "\(.scope) \(.value)"] | sort | join(",")' --by of)" = "around around,next next" ] || fail "$(scopes .groups --by of)"
    kelvin scopes --by n r.kelvin
    [[ $stderr == *"no scope that is selected has an attribute 'n'"* ]] || fail "$output $stderr"
}

@test "an event is in the scope around it" {
    record_c <<'END'
#include <kelvin.h>
int main(void)
{
    KELVIN_SCOPE("outer");
    { KELVIN_SCOPE("inner"); KELVIN_EVENT("tick"); KELVIN_EVENT("tick"); }
    KELVIN_EVENT("tock");
    return 0;
}
END
    exits 0
    [ "$("$KELVIN" fold --event events r.kelvin 2>/dev/null | sort | tr '\n' ,)" = "app;outer;inner;tick 2,app;outer;tock 1," ]
}

@test "spans across threads: those of each thread are its own, whoever ends them" {
    record_c <<'END'
#define _GNU_SOURCE
#include <kelvin.h>
#include <pthread.h>
enum { N = 1000, THREADS = 4 };
static kelvin_span open_spans[THREADS][N];
static void *work(void *x)
{
    static const char *const names[THREADS] = {"a", "b", "c", "d"};
    int i = (int)(intptr_t)x;
    kelvin_thread_name(names[i]);
    for (int k = 0; k < N; k++)
        open_spans[i][k] = kelvin_begin(names[i]);
    return x;
}
int main(void)
{
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], 0, work, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], 0);
    for (int k = 0; k < N; k++)
        for (int i = 0; i < THREADS; i++)
            kelvin_end(open_spans[i][k]);
    return 0;
}
END
    exits 0
    [ "$(scopes '[.groups[] | "\(.scope) \(.value) \(.calls)"] | join(",")' --by thread)" = "a a 1000,b b 1000,c c 1000,d d 1000" ]
    [ "$(scopes .note)" = null ]
}

@test "long names and texts are cut, and the fourth attribute is there" {
    record_c <<'END'
#include <kelvin.h>
#include <string.h>
int main(void)
{
    char name[2000], text[2000];
    memset(name, 'n', sizeof name);
    memset(text, 't', sizeof text);
    name[1999] = text[1999] = 0;
    KELVIN_SCOPE_NAMED(name);
    KELVIN_SCOPE("inside", "a", 1, "b", 2.5, "c", text, "d", -4L);
    return 0;
}
END
    exits 0
    [ "$(scopes '[.flat[].scope | length] | sort | join(",")')" = 6,512 ]
    [ "$(scopes '.slowest[] | select(.scope == "inside") | .attributes | "\(.a) \(.b) \(.c | length) \(.d)"')" = "1 2.5 256 -4" ]
    [ "$(scopes .note)" = null ]
}

@test "counters are of a process; a value of a gauge that comes late does not replace a newer one" {
    record_c <<'END'
#include <kelvin.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static void *late(void *x) { KELVIN_GAUGE("level", 1); return x; }
int main(void)
{
    pthread_t t;
    KELVIN_SCOPE("whole");
    if (fork() == 0) {
        for (int i = 0; i < 7; i++)
            KELVIN_COUNT("steps", 1);
        _exit(0);
    }
    wait(NULL);
    for (int i = 0; i < 5; i++)
        KELVIN_COUNT("steps", 2);
    KELVIN_COUNT("all", INT64_MAX);
    KELVIN_COUNT("all", 1); /* too much */
    KELVIN_COUNT("all", -2);
    pthread_create(&t, 0, late, 0);
    pthread_join(t, 0);
    KELVIN_GAUGE("level", 9); /* in a ring that is read before that of the thread */
    return 0;
}
END
    exits 0
    [ "$(scopes '[.counters[] | select(.name == "steps") | .last] | sort | join(",")')" = 7,10 ]
    [ "$(scopes '.counters[] | select(.name == "level") | .last')" = 9 ]
    [ "$(scopes '.counters[] | select(.name == "all") | .last == 9223372036854775805')" = true ]
    [ "$(scopes .note)" = "1 record made no sense" ]
}

@test "a pop ends what was pushed, not the scope of C inside of it" {
    record_c <<'END'
#include <kelvin.h>
#include <dlfcn.h>
#include <string.h>
int main(void)
{
    const char *at = getenv("KELVIN_SCOPES");
    for (int i = 0; i < 3; i++)
        at = strchr(at, ' ') + 1;
    void *library = dlopen(at, RTLD_NOW);
    int (*push)(const char *) = (int (*)(const char *))dlsym(library, "kelvin_push");
    void (*pop)(void) = (void (*)(void))dlsym(library, "kelvin_pop");
    push("pushed");
    {
        KELVIN_SCOPE("of C");
        pop();
    }
    return 0;
}
END
    exits 0
    [ "$(scopes '[.flat[] | "\(.scope) \(.calls)"] | join(",")')" = "pushed 1" ]
    [ "$(scopes .note)" = "1 scope never ended, 1 end without a beginning" ]
}
