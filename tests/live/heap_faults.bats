#!/usr/bin/env bats
# The heap of programs and recorders that end badly, and programs that cannot be recorded.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers
load ../lib/heap

setup_file() {
    build_targets
}

@test "a program that is killed leaves what it held" {
    kelvin record --heap -o r.kelvin -- "$TARGET/heap_odd" killed
    exits 137
    [ "$(sum leaked 'main.*;block ')" = 1000000 ]
}

@test "a program that crashes leaves what it held" {
    cat >crash.c <<'END'
#include <stdlib.h>
__attribute__((noinline)) static void part_held(void)
{
    for (int i = 0; i < 500; i++)
        *(char *volatile *)malloc(1000) = NULL;
}
int main(void)
{
    part_held();
    *(volatile int *)8 = 1;
    return 0;
}
END
    cc -O1 -g -fno-builtin -o crash crash.c
    kelvin record --heap -o r.kelvin -- ./crash
    exits 139
    [ "$(sum leaked part_held)" = 500000 ]
    [ "$(sum allocations part_held)" = 500 ]
}

@test "a recorder that is killed: the program goes on, and kelvin heap claims no peak" {
    "$KELVIN" record -q --heap -o r.kelvin -- "$TARGET/heap" cache 60 >own.txt 2>/dev/null &
    local recorder=$!
    wait_until 20 bash -c '"$0" fold --value allocated r.kelvin.part | grep -q part_' "$KELVIN"
    kill -9 "$recorder"
    wait "$recorder" || true
    kelvin heap r.kelvin.part
    exits 0
    [[ $output == *"The recording was cut off: its peak and what was never freed are not known."* ]] || fail "$output"
    [[ $output != *"Peak 0"* && $output != *"Never freed"* && $output != *"exact:"* ]] || fail "$output"
    kelvin heap --format json r.kelvin.part
    [ "$(jq '.cut_off, has("peak"), has("leaked")' <<<"$output" | xargs)" = "true false false" ] || fail "$output"
    wait_until 20 grep -q '^leaked' own.txt
}

@test "a recorder that is killed and that the program cannot see: the program goes on" {
    unshare --pid --fork true 2>/dev/null || skip "cannot make a namespace of process numbers"
    "$KELVIN" record -q --heap -o r.kelvin -- unshare --pid --fork "$TARGET/heap" plain 3000000 >own.txt 2>/dev/null &
    local recorder=$!
    wait_until 20 bash -c '"$0" fold --value allocated r.kelvin.part | grep -q part_' "$KELVIN"
    kill -9 "$recorder"
    wait "$recorder" || true
    [ ! -s own.txt ] || skip "the program was faster than its recorder could be killed"
    wait_until 60 grep -q '^leaked' own.txt
}

@test "the recorder stops for a second: threads wait, and nothing is lost" {
    "$KELVIN" record --heap -o r.kelvin -- "$TARGET/heap" plain 1000000 >own.txt 2>err.txt &
    local recorder=$!
    wait_until 20 test -e r.kelvin.part
    sleep 0.1
    kill -STOP "$recorder"
    sleep 1
    kill -CONT "$recorder"
    wait "$recorder"
    grep -q 'times\? for the recorder to catch up' err.txt || fail "$(cat err.txt)"
    output=$(cat own.txt)
    agrees
}

@test "a full disk: the program goes on, and the recorder says why there is no recording" {
    [ "$(id -u)" = 0 ] || skip "needs root, to mount a small disk"
    mkdir small
    mount -t tmpfs -o size=4k tmpfs small || skip "no right to mount"
    kelvin record --heap -o small/r.kelvin -- "$TARGET/heap" plain 20000
    umount small
    exits 125
    [[ $stderr == *"No space left"* ]] || fail "$stderr"
    [ "$(told allocations)" -gt 20000 ] || fail "$output"
}

@test "a double free is counted, named and passed on unchanged" {
    cat >twice.c <<'END'
#include <stdlib.h>
int main(void)
{
    char *volatile p = malloc(100), *volatile kept = malloc(300);
    free(p);
    free(p);
    return kept == NULL;
}
END
    cc -O0 -w twice.c -o twice
    kelvin record --heap -o r.kelvin -- ./twice
    exits 134
    [[ $stderr == *"free(): double free detected"* ]] || fail "$stderr"
    [[ $stderr == *"1 free was of a block whose allocation was not seen"* ]] || fail "$stderr"
    [ "$(sum leaked ';main ')" = 300 ] || fail "$(sum leaked)"
    kelvin heap r.kelvin
    [[ $output == *"whose allocation was not seen: 1."* ]] || fail "$output"
    kelvin heap --format json r.kelvin
    grep -Eq '"unknown_frees": ?1\b' <<<"$output" || fail "$output"
}

@test "a free of a foreign pointer is counted, named and passed on unchanged" {
    cat >foreign.c <<'END'
#include <stdlib.h>
int main(void)
{
    static char own[64];
    char *volatile p = own + 16, *volatile kept = malloc(300);
    free(p);
    return kept == NULL;
}
END
    cc -O0 -w foreign.c -o foreign
    run --separate-stderr ./foreign
    exits 134
    local bare=$stderr
    kelvin record --heap -o r.kelvin -- ./foreign
    exits 134
    [[ $bare == *"free(): invalid pointer"* && $stderr == *"free(): invalid pointer"* ]] || fail "$stderr"
    [[ $stderr == *"1 free was of a block whose allocation was not seen"* ]] || fail "$stderr"
    [ "$(sum leaked ';main ')" = 300 ] || fail "$(sum leaked)"
}

@test "a program with a malloc of its own is said to be one" {
    cat >own.c <<'END'
#include <stddef.h>
#include <string.h>
static char pool[1 << 20];
static size_t used;
void *malloc(size_t n) { void *p = pool + used; used += (n + 15) & ~(size_t)15; return used <= sizeof pool ? p : NULL; }
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *p, size_t n) { void *q = malloc(n); if (q && p) memcpy(q, p, n); return q; }
int main(void) { char *volatile p = malloc(100); return p == NULL; }
END
    cc -O0 -fno-builtin own.c -o own
    kelvin record --heap -o r.kelvin -- ./own
    exits 0
    [[ $stderr == *"a malloc of its own that kelvin cannot see"* ]] || fail "$stderr"
    kelvin record --heap -o r.kelvin -- env -i "$PWD/own"
    exits 0
    kelvin record --heap -o r.kelvin -- "$TARGET/heap" plain 10
    exits 0
    [[ $stderr != *"malloc of its own"* ]] || fail "$stderr"
}

@test "a static program is refused with a reason" {
    echo 'int main(void) { return 0; }' >s.c
    cc -static -o s s.c || skip "no static libc here"
    kelvin record --heap -o r.kelvin -- ./s
    exits 125
    complains "static program" "libkelvin-heap.a"
    no_file r.kelvin
}

# With the setuid bit the environment is somebody else's, and so is the memory that it names.
@test "a setuid program that the archive is linked into maps no memory that its caller names" {
    [ "$(id -u)" = 0 ] || skip "needs root, to set the bit"
    local folder b=${KELVIN%/*}
    cat >s.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
    char line[500], *p = malloc(100);
    FILE *f = fopen("/proc/self/maps", "r");
    int n = 0;
    while (f && fgets(line, sizeof line, f))
        n += strstr(line, "memfd:channel") != NULL;
    printf("%d\n", f ? n : -1);
    free(p);
    return 0;
}
END
    cat >start.c <<'END'
#include "wire/channel.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct channel head = {CHANNEL_MAGIC, 12288, 1, 4096, getpid(), CHANNEL_HEAP};
    char where[100];
    struct stat st;
    int fd = memfd_create("channel", MFD_ALLOW_SEALING);
    if (argc < 2 || ftruncate(fd, 12288) != 0 || pwrite(fd, &head, sizeof head, 0) < 0 || fstat(fd, &st) != 0)
        return 1;
    snprintf(where, sizeof where, "%d %d %lu", (int)getpid(), fd, (unsigned long)st.st_ino);
    setenv("KELVIN_CHANNEL", where, 1);
    execv(argv[1], argv + 1);
    return 1;
}
END
    cc -D_GNU_SOURCE -I "$BATS_TEST_DIRNAME/../../src" -o start start.c
    cc -O2 -static -o s s.c -L "$b" "@$b/kelvin-heap.link" || skip "no static libc here"
    folder=$(open_folder s start)
    run_as_nobody "$folder/start" "$folder/s"
    exits 0
    [ "$output" -ge 1 ] || fail "the memory is not mapped without the bit either: '$output' $stderr"
    chmod u+s "$folder/s"
    run_as_nobody "$folder/start" "$folder/s"
    exits 0
    prints 0
}

@test "a setuid program is refused with a reason" {
    [ "$(id -u)" = 0 ] || skip "needs root to make one"
    cp /bin/true ./other
    chown nobody other
    chmod u+s other
    kelvin record --heap -o r.kelvin -- ./other
    [ "$status" != 0 ] || fail "$stderr"
    [[ $stderr == *setuid*"its allocations cannot be recorded"* ]] || fail "$stderr"
    [[ $stderr != *"timer engine"* ]] || fail "$stderr"
}

@test "a program for another machine is refused with a reason" {
    printf '\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x03\0\x01\0\0\0%0100d' 0 >small
    chmod +x small
    kelvin record --heap -o r.kelvin -- ./small
    exits 125
    complains "32-bit"
    [[ $stderr != *libkelvin-heap.a* ]]
    no_file r.kelvin
}

@test "options that make no sense are refused" {
    kelvin record --heap=everything -- true
    exits 125
    complains "--heap=sampled" "everything"
    kelvin record --heap -p $$
    exits 125
    complains "running process"
    kelvin record --heap --rotate 5 -- true
    exits 125
    complains "--rotate"
}

@test "a limit on addresses is named, with the way to raise it" {
    run --separate-stderr bash -c 'ulimit -v 3000000; exec "$@"' - "$KELVIN" record --heap -o r.kelvin -- "$TARGET/heap" plain 10
    exits 125
    complains "GiB of addresses" "ulimit -v unlimited"
    [ ! -e r.kelvin ]
}
