#!/usr/bin/env bats
# record --listen: what Prometheus and other programs get to know while a program runs.
# shellcheck disable=SC2154,SC2016  # kelvin sets output, status, stderr
load ../lib/helpers

TARGET=${KELVIN%/*}/tests/target
INCLUDE=$BATS_TEST_DIRNAME/../../include
PROMETHEUS=$BATS_TEST_DIRNAME/../lib/prometheus.py

setup_file() {
    build_targets
}

teardown() {
    [ -z "${RECORDER:-}" ] || kill -9 "$RECORDER" 2>/dev/null || true
}

# A program that does what is known and then waits until its standard input ends.
waiting_program() {
    cat >server.c <<'PROGRAM'
#include <kelvin.h>
#include <stdio.h>
int main(void)
{
    for (int i = 0; i < 1000; i++) {
        KELVIN_SCOPE("request");
        KELVIN_SCOPE("odd \"\\\n\x1b\xff \xc3\xa9", "i", i);
        KELVIN_COUNT("tokens", 3);
        KELVIN_GAUGE("queue", -5);
    }
    while (getchar() != EOF)
        ;
    return 0;
}
PROGRAM
    cc -O1 -I"$INCLUDE" server.c -o server
}

has_address() {
    ADDRESS=$(sed -n 's,.*listening: http://\([^/]*\)/metrics.*,\1,p' record.err)
    [ -n "$ADDRESS" ]
}

# Record COMMAND in the background, with a pipe in its standard input that fd 7 holds open.
listen_to() { # COMMAND...
    mkfifo gate
    "$KELVIN" record --listen 0 -o r.kelvin -- "$@" <gate >record.out 2>record.err 3>&- 7>&- &
    RECORDER=$!
    exec 7>gate
    wait_until 30 has_address
}

end_of_recording() {
    exec 7>&-
    wait "$RECORDER"
    RECORDER=
}

all_are_there() {
    [ "$(metric kelvin_spans_total)" = 2000 ]
}

spans_came() {
    [ "$(metric kelvin_spans_total)" -gt 0 ]
}

# The value of a sample, by its name and an expression of jq on its labels.
metric() { # NAME [EXPRESSION]
    python3 "$PROMETHEUS" "http://$ADDRESS/metrics" >metrics.json
    jq -r ".samples[] | select(.name == \"$1\") | select(.labels | ${2:-true}) | .value" metrics.json
}

# Send what standard input has and print what comes back.
ask() {
    python3 -c '
import socket, sys
host, port = sys.argv[1].rsplit(":", 1)
with socket.create_connection((host, int(port)), timeout=60) as s:
    try:
        s.sendall(sys.stdin.buffer.read())
        while True:
            got = s.recv(65536)
            if not got:
                break
            sys.stdout.buffer.write(got)
    except ConnectionError:
        pass' "$ADDRESS"
}

@test "Prometheus gets what the program said, and kelvin scopes agrees with it" {
    waiting_program
    listen_to ./server
    wait_until 30 all_are_there
    [ "$(metric kelvin_scope_seconds_count '.scope == "request"')" = 1000 ]
    [ "$(metric kelvin_count_total '.name == "tokens"')" = 3000 ]
    [ "$(metric kelvin_value '.name == "queue"')" = -5 ]
    [ "$(metric kelvin_scope_records_lost_total)" = 0 ]
    [ "$(metric kelvin_scope_seconds_count '.scope != "request"')" = 1000 ]
    # A name with a quote, a backslash, control characters and a byte that is no UTF-8.
    jq -r '.samples[] | select(.name == "kelvin_scope_seconds_count") | .labels.scope' metrics.json |
        grep -Fqx 'odd "\\x0a\x1b\xff é'
    local p99 sum
    p99=$(metric kelvin_scope_latency_seconds '.scope == "request" and .quantile == "0.99"')
    sum=$(metric kelvin_scope_seconds_sum '.scope == "request"')
    if command -v promtool >/dev/null; then
        printf 'GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n' | ask | sed '1,/^\r$/d' | promtool check metrics
    fi
    printf 'GET /scopes HTTP/1.1\r\nHost: localhost\r\n\r\n' | ask | sed '1,/^\r$/d' >live.json
    printf 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n' | ask >page
    grep -Eq '^ +3000 +count +[0-9]+  tokens$' page
    grep -Eq '^ +-5 +gauge +[0-9]+  queue$' page
    grep -Eq '^ +1,000 .*  request$' page
    # Buckets count all that is below; self time is what is left of the total.
    jq -e '[.samples[] | select(.name == "kelvin_scope_seconds_bucket" and .labels.scope == "request") | .value]
        | length == 29 and . == sort and .[-1] == 1000' metrics.json
    local self inner
    self=$(metric kelvin_scope_self_seconds_total '.scope == "request"')
    inner=$(metric kelvin_scope_seconds_sum '.scope != "request"')
    end_of_recording
    "$KELVIN" scopes r.kelvin --format json | jq '.flat[] | select(.scope == "request")' >then.json
    # Seconds with nine digits are nanoseconds, but for how a double prints.
    jq -e --argjson p99 "$p99" --argjson sum "$sum" \
        --argjson self "$self" --argjson inner "$inner" '(.p99.ns - $p99 * 1e9 | fabs) < 1 and (.total_ns - $sum * 1e9 | fabs) < 1
        and (.self_ns - $self * 1e9 | fabs) < 1 and ($sum - $self - $inner | fabs) < 1e-5' then.json
    jq -e --slurpfile live live.json '. as $file | $live[0] | .spans == 2000 and .lost == 0
        and any(.scopes[]; .scope == "request" and .calls == 1000 and .p99_ns == $file.p99.ns and .self_ns == $file.self_ns
                           and .max_ns == $file.max_ns and .total_ns == $file.total_ns)
        and any(.counters[]; .name == "tokens" and .kind == "count" and .value == 3000)' then.json
}

@test "bad requests, slow and many clients: each gets its answer or none, and nothing is lost" {
    waiting_program
    listen_to ./server
    wait_until 30 all_are_there
    local word
    for word in 'GET /nosuch HTTP/1.1=404' 'POST /metrics HTTP/1.1=405' 'nonsense=400' \
        'GET /metrics HTTP/1.1=400' $'GET /metrics HTTP/1.1\r\nHost: evil.example=403'; do
        [[ $(printf '%s\r\n\r\n' "${word%=*}" | ask) == "HTTP/1.1 ${word##*=} "* ]]
    done
    [[ $(head -c 100000 /dev/zero | tr '\0' x | ask) == *" 431 "* ]]
    [[ $(printf 'HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n' | ask | tail -c 4 | od -An -tx1) == *"0d 0a 0d 0a" ]]
    # Forty that say half a request and wait, and ten that never read.
    python3 - "$ADDRESS" 3>&- 7>&- <<'END' &
import socket, sys, time
host, port = sys.argv[1].rsplit(":", 1)
held = [socket.create_connection((host, int(port)), timeout=60) for i in range(50)]
for i, s in enumerate(held):
    try:
        s.sendall(b"GET /metrics HTTP/1.1\r\n" + (b"Host: 127.0.0.1\r\n\r\n" if i % 5 == 0 else b"Host: 127"))
    except ConnectionError:
        pass
open("held", "w").close()
time.sleep(600)
END
    local holder=$!
    wait_until 30 test -e held
    [ "$(metric kelvin_spans_total)" = 2000 ]
    [ "$(metric kelvin_spans_total)" = 2000 ]
    # The end does not wait for them.
    end_of_recording
    kill "$holder"
    [ "$("$KELVIN" scopes r.kelvin --format json | jq '.spans + .lost')" = 2000 ]
}

@test "ended from outside, clients or not, and the port is free again" {
    listen_to "$TARGET/scopes" 100000000 4
    python3 -c '
import socket, sys, time
host, port = sys.argv[1].rsplit(":", 1)
s = socket.create_connection((host, int(port)))
open("held", "w").close()
time.sleep(600)' "$ADDRESS" 3>&- 7>&- &
    local holder=$!
    wait_until 30 test -e held
    wait_until 30 spans_came
    # A job in the background ignores Ctrl-C; SIGTERM is passed on to the command.
    kill -TERM "$RECORDER"
    wait "$RECORDER" || true
    RECORDER=
    [ "$("$KELVIN" scopes r.kelvin --format json | jq '.spans > 0')" = true ]
    kelvin record -q --listen "$ADDRESS" -o again.kelvin -- "$TARGET/scopes" 100 1
    exits 0
    kill "$holder"
}

@test "a port that is taken, and addresses that others can reach, cost no run" {
    waiting_program
    listen_to ./server
    kelvin record --listen "$ADDRESS" -o x.kelvin -- touch ran
    exits 125
    [[ $stderr == *"cannot listen on '$ADDRESS'"* ]]
    kelvin record --listen 0.0.0.0:0 -o x.kelvin -- touch ran
    exits 125
    [[ $stderr == *"can be reached from other machines: that needs a token"* ]]
    KELVIN_LISTEN_TOKEN=short kelvin record --listen 0.0.0.0:0 -o x.kelvin -- touch ran
    exits 125
    [[ $stderr == *"fewer than 16 characters"* ]]
    [ ! -e ran ]
    [ ! -e x.kelvin ]
    end_of_recording
}

@test "with a token each request must send it, and the command does not see it" {
    export KELVIN_LISTEN_TOKEN=0123456789abcdef
    listen_to sh -c 'env >env.txt; cat'
    wait_until 30 test -s env.txt
    [[ $(printf 'GET /metrics HTTP/1.1\r\n\r\n' | ask) == *" 401 "* ]]
    [[ $(printf 'GET /metrics HTTP/1.1\r\nAuthorization: Bearer %s\r\n\r\n' "$KELVIN_LISTEN_TOKEN" | ask) == *" 200 "* ]]
    [ "$(grep -c KELVIN_LISTEN env.txt)" = 0 ]
    end_of_recording
    [ "$(grep -ac "$KELVIN_LISTEN_TOKEN" r.kelvin)" = 0 ]
}

# A program with a thread that runs, one that sleeps in a scope and one that sleeps in none.
workers() {
    cat >workers.c <<'PROGRAM'
#include <kelvin.h>
#include <pthread.h>
#include <stdio.h>
static void *running(void *x)
{
    kelvin_thread_name("runs");
    for (;;) {
        KELVIN_SCOPE("spin", "index", 3, "odd \"key\"", "a\\b\xff");
        for (volatile int i = 0; i < 10000; i++)
            ;
    }
    return x;
}
static void *waiting(void *x)
{
    kelvin_thread_name("waits");
    KELVIN_SCOPE("outer");
    { KELVIN_SCOPE("first"); }
    for (;;)
        pause();
    return x;
}
static void *idle(void *x)
{
    kelvin_thread_name("idles");
    {
        KELVIN_SCOPE("work");
        kelvin_trace_take("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    }
    for (;;)
        pause();
    return x;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, running, NULL);
    pthread_create(&t, NULL, waiting, NULL);
    pthread_create(&t, NULL, idle, NULL);
    while (getchar() != EOF)
        ;
    return 0;
}
PROGRAM
    cc -O1 -pthread -I"$INCLUDE" workers.c -o workers
}

state_of() { # THREAD
    metric kelvin_thread_state ".thread == \"$1\"" >/dev/null
    jq -r ".samples[] | select(.name == \"kelvin_thread_state\" and .labels.thread == \"$1\" and .value == 1) | .labels.state" metrics.json
}

states_are_known() {
    [ "$(state_of waits)" = waiting ] && [ "$(state_of idles)" = idle ] && [ "$(state_of runs)" = running ]
}

@test "each thread runs, waits in a scope, or is idle" {
    workers
    listen_to ./workers
    wait_until 30 states_are_known
    [ "$(metric kelvin_thread_state '.thread == "idles" and .state == "waiting"')" = 0 ]
    sleep 0.5
    # Sleepers never ran while somebody looked, but for how they began.
    jq -n --argjson idle "$(metric kelvin_thread_state_seconds_total '.thread == "idles" and .state == "idle"')" \
        --argjson waiting "$(metric kelvin_thread_state_seconds_total '.thread == "idles" and .state == "waiting"')" \
        -e '$idle > 0 and $waiting == 0'
    printf 'GET / HTTP/1.0\r\nHost: localhost\r\n\r\n' | ask | grep -Eq ' +idle .* idles$'
    end_of_recording
}

is_another_program() {
    [ "$(metric kelvin_scope_seconds_count '.scope == "second"')" = 1 ]
}

@test "a program that runs another one in a scope has its threads once" {
    cat >again.c <<'PROGRAM'
#include <kelvin.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    { KELVIN_SCOPE("first"); }
    KELVIN_SCOPE("open");
    if (argc == 1)
        execl("/proc/self/exe", argv[0], "x", (char *)NULL);
    { KELVIN_SCOPE("second"); }
    while (getchar() != EOF)
        ;
    return 0;
}
PROGRAM
    cc -O1 -I"$INCLUDE" again.c -o again
    listen_to ./again
    wait_until 30 is_another_program
    sleep 0.5
    [ "$(metric kelvin_thread_state)" = "$(printf '%s\n' 0 1 0)" ]
    end_of_recording
    [ "$("$KELVIN" scopes r.kelvin --format json | jq -r .note)" = "1 scope never ended" ]
}

work_is_done() {
    [ "$(metric kelvin_scope_seconds_count '.scope == "work"')" = 1 ] &&
        [ "$(metric kelvin_scope_seconds_count '.scope == "spin"')" -gt 0 ]
}

@test "OpenMetrics for who asks for it: exemplars, and an end" {
    workers
    listen_to ./workers
    wait_until 30 work_is_done
    printf 'GET /metrics HTTP/1.0\r\nHost: localhost\r\nAccept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n\r\n' | ask >answer
    grep -q '^Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8' answer
    sed '1,/^\r$/d' answer >open.txt
    [ "$(tail -1 open.txt)" = "# EOF" ]
    grep -Eq '^kelvin_scope_seconds_bucket\{scope="spin",le="[0-9.e-]+"\} [0-9]+ # \{odd__key_="a\\\\b\\\\xff",index="3"\} 0\.[0-9]{9} [0-9]+\.[0-9]{3}$' open.txt
    grep -q '^kelvin_scope_seconds_bucket{scope="work",.* # {parent_span_id="00f067aa0ba902b7",trace_id="4bf92f3577b34da6a3ce929d0e0e4736"} ' open.txt
    grep -q '^# TYPE kelvin_spans counter' open.txt
    grep -q ',le="1.0"}' open.txt
    # The time of an exemplar is that of the clock on the wall.
    local now at
    now=$(date +%s)
    at=$(sed -n 's/.*# {.*} [0-9.]* \([0-9]*\)\..*/\1/p' open.txt | sort -n | tail -1)
    [ $((now - at)) -ge 0 ]
    [ $((now - at)) -le 3600 ]
    end_of_recording
    /usr/bin/python3 -c 'import prometheus_client' 2>/dev/null || skip "needs python3-prometheus-client ('make check-all' installs it)"
    /usr/bin/python3 - <<'END'
from prometheus_client.openmetrics.parser import text_string_to_metric_families
families = list(text_string_to_metric_families(open("open.txt").read()))
found = [s.exemplar for f in families for s in f.samples if s.exemplar]
assert any(e.labels.get("index") == "3" for e in found), found
END
}

p99_is_there() {
    [ "$("${ASK_PROMETHEUS[@]}" | jq -r '.data.result | length')" = 1 ]
}

@test "a real Prometheus scrapes it, and its p99 is that of kelvin scopes" {
    command -v prometheus >/dev/null || skip "needs prometheus ('make check-all' installs it)"
    command -v curl >/dev/null || skip "needs curl ('make check-all' installs it)"
    waiting_program
    listen_to ./server
    wait_until 30 all_are_there
    local port
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    cat >prometheus.yml <<END
global: {scrape_interval: 1s}
scrape_configs: [{job_name: kelvin, static_configs: [{targets: ["$ADDRESS"]}]}]
END
    prometheus --config.file=prometheus.yml --storage.tsdb.path=data --web.listen-address="127.0.0.1:$port" \
        --enable-feature=exemplar-storage >prometheus.log 2>&1 3>&- 7>&- &
    local server=$!
    ASK_PROMETHEUS=(curl -sG "http://127.0.0.1:$port/api/v1/query" --data-urlencode
        'query=kelvin_scope_latency_seconds{scope="request",quantile="0.99"}')
    wait_until 60 p99_is_there
    local p99
    p99=$("${ASK_PROMETHEUS[@]}" | jq -r '.data.result[0].value[1]')
    curl -sG "http://127.0.0.1:$port/api/v1/query_exemplars" --data-urlencode 'query=kelvin_scope_seconds_bucket' \
        --data-urlencode "start=$(($(date +%s) - 600))" --data-urlencode "end=$(date +%s)" >exemplars.json
    kill "$server"
    wait "$server" || true
    end_of_recording
    "$KELVIN" scopes r.kelvin --format json | jq -e --argjson p99 "$p99" \
        '.flat[] | select(.scope == "request") | (.p99.ns - $p99 * 1e9 | fabs) < 1'
    jq -e '[.data[].exemplars[] | select(.labels.i)] | length > 0' exemplars.json
}
