#!/usr/bin/env bats
# The heap over time: when blocks were there, and who grew between two moments.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

record() { # COMMAND...
    kelvin record --heap -o r.kelvin -- "$@"
    exits 0
}

# A load in the first second, a cache that grows in the second one.
@test "kelvin heap --time: who grew between two times" {
    cat >steps.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *volatile kept;
__attribute__((noinline)) static void part_load(void) { kept = memset(malloc(3000000), 1, 3000000); }
__attribute__((noinline)) static void part_cache(void) { kept = memset(malloc(50000), 1, 50000); }
int main(void)
{
    part_load();
    usleep(1000000);
    for (int i = 0; i < 20; i++) {
        part_cache();
        usleep(20000);
    }
    usleep(600000);
    return 0;
}
END
    cc -O1 -g -o steps steps.c
    record ./steps
    kelvin heap --time 0.5.. --format json r.kelvin
    exits 0
    [ "$(jq '.live_at_range_start, .live_at_range_end' <<<"$output" | xargs)" = "3000000 4000000" ] || fail "$output"
    [ "$(jq '.places[] | select(.function == "part_cache") | .range_growth, .live_at_range_start' <<<"$output" | xargs)" = "1000000 0" ]
    [ "$(jq '.places[] | select(.function == "part_load") | .range_growth' <<<"$output")" = 0 ]
    # What is never freed is there until the end.
    [ "$(jq '.live[-1][1]' <<<"$output")" = 4000000 ] || fail "$output"
    kelvin heap --time ..500ms r.kelvin
    exits 0
    [[ $output == *"In ..500ms the heap went from 0 B to 2.86 MiB."* ]] || fail "$output"
    # Nothing ran in this part, so there is neither a sample nor a block in it: nobody grew.
    kelvin heap --time 0.3..0.8 r.kelvin
    exits 0
    [[ $output == *"In 0.3..0.8 the heap went from 2.86 MiB to 2.86 MiB."* ]] || fail "$output"
    kelvin heap --time 50..60 r.kelvin
    exits 1
    [[ $stderr == *"nothing was recorded in the time range"* ]] || fail "$stderr"
    kelvin heap --time nonsense r.kelvin
    [[ $stderr == *"not a time range"* ]] || fail "$stderr"
}

# A thread reads the clock once for many allocations that come close together. One that comes after a sleep has its own time.
@test "kelvin heap --time: a block that comes a while after many others is not counted before it was there" {
    cat >late.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static void *volatile kept;
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
__attribute__((noinline)) static void part_early(int n)
{
    for (int i = 0; i < n; i++)
        kept = malloc(16);
}
__attribute__((noinline)) static void part_late(void) { kept = malloc(100000); }
int main(void)
{
    double at[6], start = now();
    for (int i = 0; i < 6; i++) {
        part_early(300 + i);
        usleep(400000);
        at[i] = now() - start;
        part_late();
    }
    for (int i = 0; i < 6; i++)
        printf("%.3f\n", at[i]);
    return 0;
}
END
    cc -O1 -o late late.c
    record ./late
    local times=$output time n=0
    # The recording began before the program looked at its clock: by the recording's time blocks come later, never earlier.
    for time in $times; do
        kelvin heap --format json --time "..$(awk -v t="$time" 'BEGIN { print t - 0.2 }')" r.kelvin
        exits 0
        [ "$(jq '.live_at_range_end / 100000 | floor' <<<"$output")" -le "$n" ] || fail "block $n, of $time s: $output"
        n=$((n + 1))
    done
    [ "$n" = 6 ]
    kelvin heap --format json --time 0.. r.kelvin
    [ "$(jq '.live_at_range_end / 100000 | floor' <<<"$output")" = 6 ]
}
