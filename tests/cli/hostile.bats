# What somebody else wrote into a file does nothing but be shown.
# shellcheck disable=SC2154  # run sets output, status, stderr

load ../lib/helpers

# ESC, C1 CSI, a mark that turns the direction, BEL, DEL: in every text of every format.
EVIL=$'\e[31mred\xc2\x9b1mx\xe2\x80\xaelli\a\x7f'

# Nothing in FILE... that a terminal would act on, and something of the name.
is_plain() { # FILE...
    local file
    for file in "$@"; do
        python3 - "$file" <<'PY' || return 1
import re, sys
text = open(sys.argv[1], 'rb').read().decode('utf-8', 'strict')
bad = re.search('[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]', text)
if bad:
    sys.exit(f'{sys.argv[1]}: {text[max(0, bad.start() - 40):bad.end() + 20]!r}')
PY
    done
}

write_speedscope() { # FILE
    python3 - "$1" "$EVIL" <<'PY'
import json, sys
evil = sys.argv[2]
frames = [{"name": n, "file": evil + ".c", "line": 3} for n in ("main" + evil, "work" + evil)]
profile = {"type": "sampled", "name": evil, "unit": "seconds", "startValue": 0, "endValue": 300,
           "samples": [[0, 1]] * 300, "weights": [1] * 300}
json.dump({"$schema": "https://www.speedscope.app/file-format-schema.json", "exporter": evil, "name": evil,
           "shared": {"frames": frames}, "profiles": [profile]}, open(sys.argv[1], "w"))
PY
}

@test "control characters and direction marks in a profile reach no terminal and no page" {
    write_speedscope evil.json
    printf 'main%s;work%s 300\n%s\n' "$EVIL" "$EVIL" "no count $EVIL" >evil.folded
    for file in evil.json evil.folded; do
        for how in "info" "info --json" "report" "report --format md" "report --format json" "report --format html" \
            "report -f work" "fold" "flame" "convert --to speedscope" "convert --to json" "simd" "annotate work" \
            "diff $file" "report --event nosuch" "report --focus nosuch"; do
            # shellcheck disable=SC2086
            "$KELVIN" $how "$file" >out 2>err || true
            is_plain out err || fail "kelvin $how $file"
        done
        "$KELVIN" report "$file" 2>/dev/null | grep -q 'work?\[31mred' || fail "$file: the name is gone"
    done
}

@test "bytes that terminals of old encodings obey reach none, other old bytes stay" {
    printf 'main;\x9b31mred;caf\xe9 \xc3\x89t\xc3\xa9\t\x9c 300\n' >old.folded
    [ "$("$KELVIN" fold old.folded | od -An -c | tr -d ' \n')" = "$(printf 'main;?31mred;caf\xe9 \xc3\x89t\xc3\xa9\t? 300\n' | od -An -c | tr -d ' \n')" ] ||
        fail "$("$KELVIN" fold old.folded | od -c)"
}

@test "messages that quote a file's name or an option show no control characters" {
    for how in "report" "info" "flame -o /nosuch/x" "nosuch" "bench" "check no"; do
        # shellcheck disable=SC2086
        "$KELVIN" $how "no$EVIL" >out 2>err && fail "$how succeeded"
        is_plain out err || fail "kelvin $how"
        grep -q '^kelvin: ' err || fail "$how: no message: $(cat err)"
    done
}

@test "the name of a benchmark shows no control characters in any format" {
    for format in text md json csv html; do
        "$KELVIN" bench -q --runs 3 --name "it$EVIL" true --format "$format" >out 2>err || fail "$(cat err)"
        is_plain out err || fail "$format"
        grep -q 'it' out || fail "$format: the name is gone"
    done
}

@test "rules with control characters are quoted without them" {
    printf 'main 300\n' >p.folded
    printf 'total %s < 5%%\n%s\n' "$EVIL" "$EVIL" >rules
    "$KELVIN" check p.folded rules >out 2>err && fail "such rules were taken"
    is_plain out err
    grep -q 'rules' err || fail "$(cat err)"
}

# User CPU time of a command in milliseconds, which other processes hardly change.
cpu_ms() { # COMMAND...
    local TIMEFORMAT=%U
    { time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print int($1 * 1000) + 1 }'
}

@test "a deep stack costs JSON no more than a few times what the text costs" {
    python3 -c "print(';'.join('f%d' % i for i in range(60000)), 300)" >deep.folded
    local text json
    text=$(cpu_ms "$KELVIN" report deep.folded)
    json=$(cpu_ms timeout 300 "$KELVIN" report --format json deep.folded)
    [ "$json" -lt $((text * 8 + 500)) ] || fail "text $text ms, JSON $json ms"
}

@test "folded stacks deeper than the limit are left out and counted" {
    python3 -c "
print('a;b 5')
print(';'.join('f' for i in range(100001)), 300)
print(';'.join('g' for i in range(100000)), 2)" >deep.folded
    kelvin fold deep.folded
    exits 0
    complains "line 2" "more than 100000 frames"
    [ "$(wc -l <<<"$output")" = 2 ]
    kelvin fold --strict deep.folded
    exits 3
}

@test "pipes in the place of files that nobody named are not waited for" {
    write_speedscope a.json
    mkfifo a.syms.json
    run timeout "$(patience 20)" "$KELVIN" info a.json
    [ "$status" = 0 ] || fail "$status: $output"
    mkdir folder
    mkfifo folder/data
    run timeout "$(patience 20)" "$KELVIN" info folder
    [ "$status" = 1 ] || fail "$status: $output"
    [[ $output == *"'folder/data': it is not a regular file"* ]] || fail "$output"
}

# A chain of N functions, each sampled once.
write_chain() { # FILE N [NAMES]
    python3 - "$1" "$2" "${3:-10}" <<'PY'
import json, sys
n, names = map(int, sys.argv[2:])
nodes = [{"id": i, "callFrame": {"functionName": "f%d" % (i % names), "url": "", "lineNumber": 0},
          "children": [i + 1] if i < n else []} for i in range(1, n + 1)]
json.dump({"nodes": nodes, "startTime": 0, "endTime": n, "samples": list(range(1, n + 1)), "timeDeltas": [1] * n},
          open(sys.argv[1], "w"))
PY
}

@test "a few megabytes of deep stacks do not become gigabytes" {
    write_chain deep.cpuprofile 40000
    ulimit -f 200000
    for how in "fold" "convert --to folded" "convert --to pprof" "convert --to speedscope"; do
        # shellcheck disable=SC2086
        kelvin $how deep.cpuprofile -o out
        exits 1
        complains "GiB" "times as large as the profile" "kelvin, firefox"
        no_file out
    done
    # Twelve thousand functions: numbers of six digits, and each column repeats them.
    write_chain names.cpuprofile 12000 12000
    kelvin convert --to speedscope names.cpuprofile -o out
    exits 1
    complains "times as large as the profile" "kelvin, firefox"
    no_file out
    kelvin convert deep.cpuprofile -o deep.kelvin
    exits 0
    [ "$(info deep.kelvin samples)" = 40000 ] || fail "$(info deep.kelvin samples)"
    # Where it is not much, depth is no matter.
    write_chain fair.cpuprofile 2000
    kelvin fold fair.cpuprofile
    exits 0
    [ "$(wc -l <<<"$output")" -ge 1999 ]
}

@test "a pipe that nobody reads does not hold an output for good" {
    echo 'main;work 300' >x.folded
    mkfifo pipe
    local pids=() how
    for how in "flame" "fold" "convert --to pprof" "report --format html"; do
        # shellcheck disable=SC2086
        timeout "$(patience 30)" "$KELVIN" $how x.folded -o pipe 2>"said.${how%% *}" &
        pids+=($!)
    done
    for how in "${pids[@]}"; do
        status=0
        wait "$how" || status=$?
        [ "$status" = 1 ] || fail "$status: $(cat said.*)"
    done
    [ "$(grep -c "^kelvin: cannot write 'pipe': it is a pipe that nobody reads" said.*)" = "$(printf '%s:1\n' said.*)" ] ||
        fail "$(cat said.*)"
    [ -p pipe ]
}

# A program of N symbols that share the end of one long name, all at one address or each at its own.
many_symbols() { # FILE N NAME-BYTES same|apart
    python3 - "$@" <<'PY'
import struct
import sys
path, n, length, how = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
base, names = 0x400000, b"\0" + b"A" * length + b"\0"
text, at = b"\x90" * n, 0x1000
symbols = b"\0" * 24 + b"".join(
    struct.pack("<IBBHQQ", 1 + i % (length // 2), 0x12, 0, 1, base + at + (i if how == "apart" else 0), 16) for i in range(n))
sections = b"\0.text\0.symtab\0.strtab\0.shstrtab\0.note\0"
note = struct.pack("<III", 4, 20, 3) + b"GNU\0" + b"\xab" * 20
parts, offset = [], at
for part in (text, note + b"\0" * 4, symbols, names, sections):
    parts.append((offset, part))
    offset += len(part)
def section(name, kind, flags, where, i, link=0, info=0, size=0):
    return struct.pack("<IIQQQQIIQQ", name, kind, flags, where, parts[i][0], len(parts[i][1]) - 4 * (i == 1), link, info, 4, size)
headers = b"\0" * 64 + section(1, 1, 6, base + at, 0) + section(7, 2, 0, 0, 2, 3, 1, 24) + section(15, 3, 0, 0, 3) + section(23, 3, 0, 0, 4) + section(33, 7, 2, 0, 1)
load = struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, at + len(text), at + len(text), 4096)
head = b"\x7fELF\2\1\1" + b"\0" * 9 + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, base + at, 64, offset, 0, 64, 56, 1, 64, 6, 4)
with open(path, "wb") as f:
    f.write((head + load).ljust(at, b"\0") + b"".join(part for _, part in parts) + headers)
PY
}

# A profile as samply saves it, with an address in FILE.
nameless() { # FILE
    cat <<JSON
{"meta": {"preprocessedProfileVersion": 49, "interval": 1, "startTime": 0, "symbolicated": false, "product": "app"},
 "libs": [{"name": "app", "path": "$1", "debugName": "app", "debugPath": "$1", "breakpadId": "X", "codeId": "$(printf 'ab%.0s' {1..20})"}],
 "threads": [{"name": "app", "pid": "1", "tid": 1, "samples": {"length": 1, "stack": [0], "time": [0]},
  "stackTable": {"length": 1, "prefix": [null], "frame": [0]}, "frameTable": {"length": 1, "address": [4104], "func": [0], "line": [null]},
  "funcTable": {"length": 1, "name": [0], "resource": [0]}, "resourceTable": {"length": 1, "lib": [0], "name": [1], "type": [1]},
  "stringArray": ["0x1008", "app"]}]}
JSON
}

# Seconds of CPU time that kelvin takes, and megabytes.
cost() { # OPTION...
    python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss // 1024)' "$KELVIN" "$@"
}

@test "many symbols that share one long name cost no more than a few times what short names cost" {
    # 3 times in the plain build; 17 with sanitizers, which look at each byte of a name.
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "the sanitizers' own time grows with the names"
    local how
    for how in same apart; do
        many_symbols long 200000 100000 $how
        many_symbols short 200000 10 $how
        nameless "$PWD/long" >long.json
        nameless "$PWD/short" >short.json
        kelvin fold short.json
        [ "${output:0:8}" = "app;AAAA" ] || fail "has no name: $output $stderr"
        for use in "simd long" "fold long.json"; do
            # shellcheck disable=SC2086
            awk -v how="$how $use" '{ if ($1 > 15 * ($3 > 0.03 ? $3 : 0.03) || $2 > $4 + 300) { print how ": " $0; exit 1 } }' \
                <<<"$(cost $use) $(cost ${use//long/short})" || fail "too much"
        done
    done
}

# FILE with a section of debug information that says, and is right, that it unpacks to MB megabytes of nothing.
pack_bomb() { # FROM FILE SECTION MB
    python3 - "$@" <<'PY'
import struct, subprocess, sys, zlib
src, to, section, mb = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
old = section.startswith(".z")
zipper = zlib.compressobj(9)
packed = b"".join(zipper.compress(b"\0" * (1 << 20)) for _ in range(mb)) + zipper.flush()
with open("bomb", "wb") as f:
    f.write((b"ZLIB" + struct.pack(">Q", mb << 20) if old else struct.pack("<IIQQ", 1, 0, mb << 20, 1)) + packed)
subprocess.check_call(["objcopy", "--remove-section", section.replace(".z", "."), "--add-section", section + "=bomb", src, to])
image = bytearray(open(to, "rb").read())
at, = struct.unpack_from("<Q", image, 40)
n, strings = struct.unpack_from("<HH", image, 60)
strings, = struct.unpack_from("<Q", image, at + 64 * strings + 24)
for i in range(n):
    name = strings + struct.unpack_from("<I", image, at + 64 * i)[0]
    if image[name:image.index(0, name)].decode() == section and not old:
        image[at + 64 * i + 9] |= 8 # SHF_COMPRESSED
open(to, "wb").write(image)
PY
}

@test "a small section of debug information does not become gigabytes" {
    local file section
    printf 'volatile int n;\nvoid work(void)\n{\nfor (;;)\nn = n * 7 + 3;\n}\nvoid _start(void) { work(); }\n' >w.c
    gcc -g -O1 -nostdlib -static -Wl,--build-id=0x"$(printf 'ab%.0s' {1..20})" -o w w.c 2>/dev/null || skip "gcc cannot link this"
    nameless "$PWD/w" >w.json
    before=$(cost fold w.json)
    for section in .debug_info .debug_line .debug_str .zdebug_info; do
        pack_bomb w w$section $section 500
        nameless "$PWD/w$section" >w.json
        awk -v section="$section" '{ if ($2 > $4 + 250) { print section ": " $0; exit 1 } }' <<<"$(cost fold w.json) $before" || fail "too much"
    done
    # What is packed as usual is read, in the old form too.
    for section in zlib zlib-gnu; do
        objcopy --compress-debug-sections=$section w w.packed
        nameless "$PWD/w.packed" >w.json
        "$KELVIN" convert w.json --to json | grep -q 'w\.c' || fail "$section: no lines"
    done
}

@test "a long name that is met at a hundred thousand places costs no more than a short one" {
    local n
    for n in 10 300000; do
        python3 - $n >names.$n.heap <<'PY'
import sys
print("heap profile: 1: 8 [1: 8] @ heap/1048576")
for i in range(20):
    print("1: 8 [1: 8] @" + " 0x11" * 5000)
    if i == 0:
        print("#\t0x11\t" + "A" * int(sys.argv[1]) + "+0x1\t\tmain.go:4")
PY
        [ "$("$KELVIN" report names.$n.heap | grep -o A | head -10 | wc -l)" = 10 ] || fail "no name"
    done
    awk '{ if ($1 > 4 * $3 + 1) { print; exit 1 } }' <<<"$(cost info names.300000.heap) $(cost info names.10.heap)" || fail "too much"
}

# 20,000 functions whose names lie in one text of 400,000 letters, each a byte further: FILE of KIND go, plt or dwarf, and FILE.json with
# an address in each.
names_in_names() { # KIND FILE
    python3 - "$@" <<'PY' && if [ "$1" = dwarf ]; then
import json, random, struct, sys
kind, path, n, length = sys.argv[1], sys.argv[2], 20000, 400000
random.seed(1)
letters = "".join(random.choice("abcdefgh") for i in range(length))
names, text, base, at = b"\0" + letters.encode() + b"\0", b"\x90" * 16 * n, 0x400000, 0x1000
if kind == "dwarf":
    with open(path + ".s", "w") as f:
        f.write(f""".text
.globl _start
_start: start: .fill {16 * n},1,0x90
end: .section .debug_abbrev,"",@progbits
.uleb128 1,17; .byte 1; .uleb128 17,1,18,7,16,23,3,14,19,5; .byte 0,0
.uleb128 2,46; .byte 0; .uleb128 17,1,18,11,110,14; .byte 0,0,0
.section .debug_info,"",@progbits
.long 2f-1f
1: .value 4; .long .debug_abbrev; .byte 8; .uleb128 1; .quad start, end - start; .long 0, str; .value 33
""")
        f.writelines(f".uleb128 2; .quad start+{16 * i}; .byte 16; .long str+{i}\n" for i in range(n))
        f.write(f""".byte 0
2: .section .debug_str,"",@progbits
str: .asciz "{letters}"
.section .debug_line,"",@progbits
.long 4f-3f
3: .value 4; .long 6f-5f
5: .byte 1,1,1,251,14,13,0,1,1,1,1,0,0,0,1,0,0,1; .asciz "/{letters}"; .byte 0
""")
        f.writelines(f'.asciz "f{i}"; .uleb128 1,0,0\n' for i in range(n))
        f.write(".byte 0\n6: .byte 0,9,2; .quad start\n")
        f.writelines(f".byte 4; .uleb128 {i + 1}; .byte 3,1,1,2,16\n" for i in range(n))
        f.write(".byte 0,1,1\n4:\n")
elif kind == "go":
    rest = 8 * n + 4
    table = b"".join(struct.pack("<II", 16 * i, rest + 8 * i) for i in range(n)) + struct.pack("<I", 16 * n)
    table += b"".join(struct.pack("<II", 0, 1 + i) for i in range(n))
    head = struct.pack("<IHBB8Q", 0xfffffff1, 0, 1, 8, n, 0, base + at, 72 + len(table), 0, 0, 0, 72)
    sections = [(".text", 1, 6, text, 0, 0), (".gopclntab", 1, 2, head + table + names, 0, 0)]
else:
    stubs = b"".join(b"\x68" + struct.pack("<i", i) + b"\x90" * 11 for i in range(n))
    slots = b"".join(struct.pack("<QQq", 0x700000 + 8 * i, 1 + i << 32 | 7, 0) for i in range(n))
    symbols = b"\0" * 24 + b"".join(struct.pack("<IBBHQQ", 1 + i, 18, 0, 0, 0, 0) for i in range(n))
    sections = [(".plt", 1, 6, stubs, 0, 16), (".rela.plt", 4, 0, slots, 3, 24), (".dynsym", 11, 0, symbols, 4, 24), (".dynstr", 3, 0, names, 0, 0)]
if kind != "dwarf":
    sections.append((".note", 7, 2, struct.pack("<III", 4, 20, 3) + b"GNU\0" + b"\xab" * 20, 0, 0))
    titles = "\0".join([""] + [s[0] for s in sections] + [".shstrtab", ""]).encode()
    sections.append((".shstrtab", 3, 0, titles, 0, 0))
    headers, data = b"\0" * 64, b""
    for i, (name, what, flags, part, link, size) in enumerate(sections):
        headers += struct.pack("<IIQQQQIIQQ", titles.index(name.encode() + b"\0"), what, flags, 0 if i else base + at, at + len(data), len(part), link, 0, 1, size)
        data += part
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, at + len(text), at + len(text), 4096)
    head = b"\x7fELF\2\1\1" + b"\0" * 9 + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, base + at, 64, at + len(data), 0, 64, 56, 1, 64, len(sections) + 1, len(sections))
    open(path, "wb").write((head + load).ljust(at, b"\0") + data + headers)
N = list(range(n))
json.dump({"meta": {"preprocessedProfileVersion": 49, "interval": 1, "startTime": 0, "symbolicated": False, "product": "app"},
 "libs": [{"name": "app", "path": path, "debugName": "app", "debugPath": path, "breakpadId": "X", "codeId": "ab" * 20}],
 "threads": [{"name": "app", "pid": "1", "tid": 1, "samples": {"length": n, "stack": N, "time": N},
  "stackTable": {"length": n, "prefix": [None] * n, "frame": N},
  "frameTable": {"length": n, "address": [4096 + 16 * i for i in N], "func": N, "line": [None] * n},
  "funcTable": {"length": n, "name": N, "resource": [0] * n}, "resourceTable": {"length": 1, "lib": [0], "name": [n], "type": [1]},
  "stringArray": ["0x%x" % (4096 + 16 * i) for i in N] + ["app"]}]}, open(path + ".json", "w"))
PY
        as -o "$2.o" "$2.s" && ld --build-id=0x"$(printf 'ab%.0s' {1..20})" -o "$2" "$2.o"
    fi
}

@test "names that lie inside of each other do not become gigabytes" {
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "the sanitizers' own memory grows with the names"
    local kind
    ulimit -v 8000000
    for kind in go plt dwarf; do
        names_in_names $kind "$PWD/$kind" || skip "no assembler"
        kelvin report --format json $kind.json
        [[ $output == *'"name":"'[a-h][a-h][a-h]* ]] || fail "$kind: no names: $stderr"
        awk -v kind=$kind '{ if ($1 > 600) { print kind ": " $0 " MB"; exit 1 } }' <<<"$(cost info $kind.json | cut -d' ' -f2)" || fail "too much"
    done
}

@test "a name of megabytes that thousands of functions share costs no more than its length" {
    local n
    for n in 10 2000000; do
        python3 - $n >shared.$n.callgrind <<'PY'
import sys
print("version: 1\ncreator: callgrind\npositions: line\nevents: Ir\n\nfn=(0) " + "f" * int(sys.argv[1]) + "\n1 1")
for i in range(10000):
    print(f"fl=({i}) f{i}\nfn=(0)\n1 1")
PY
    done
    awk '{ if ($1 > 5 * $3 + 1) { print; exit 1 } }' <<<"$(cost report shared.2000000.callgrind) $(cost report shared.10.callgrind)" || fail "too much"
    # What differs at its end alone is two names.
    python3 -c "print('main 1'); print('g' * 100000 + 'a 3'); print('g' * 100000 + 'b 4')" >two.folded
    kelvin fold two.folded
    [ "$(wc -l <<<"$output")" = 3 ] || fail "$output"
    [ "${lines[0]:0:60000}" = "$(printf 'g%.0s' {1..60000})" ] || fail "another name"
}
