#!/usr/bin/env bats
# pprof with the real thing: files that a Go program wrote, and `go tool pprof` on files we wrote.

load ../lib/helpers

need_go() {
    command -v go >/dev/null || skip "go is not installed (Debian: golang-go)"
    export GO111MODULE=off GOFLAGS='' GOCACHE=$BATS_FILE_TMPDIR/cache HOME=$BATS_FILE_TMPDIR
}

# cpu.pb.gz and heap.pb.gz of a small Go program, made once for all tests here.
go_profiles() {
    need_go
    local at=$BATS_FILE_TMPDIR
    if [ ! -f "$at/heap.pb.gz" ]; then
        cat >"$at/spin.go" <<'GO'
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"time"
)

var keep [][]byte

//go:noinline
func burn(until time.Time) (n uint64) {
	for time.Now().Before(until) {
		for i := uint64(0); i < 100000; i++ {
			n = n*31 + i
		}
	}
	return n
}

//go:noinline
func grow() {
	for i := 0; i < 4096; i++ {
		keep = append(keep, make([]byte, 4096))
	}
}

func main() {
	cpu, _ := os.Create(os.Args[1])
	pprof.StartCPUProfile(cpu)
	n := burn(time.Now().Add(time.Second))
	pprof.StopCPUProfile()
	cpu.Close()
	grow()
	runtime.GC()
	heap, _ := os.Create(os.Args[2])
	pprof.WriteHeapProfile(heap)
	heap.Close()
	if n == 0 || len(keep) == 0 {
		os.Exit(1)
	}
}
GO
        go build -o "$at/spin" "$at/spin.go"
        "$at/spin" "$at/cpu.pb.gz" "$at/heap.pb.gz"
    fi
    cp "$at/cpu.pb.gz" "$at/heap.pb.gz" .
}

# What `go tool pprof` says of FILE, every sample with its values: the judge of "the same".
traces() { # FILE
    go tool pprof -raw "$1" 2>/dev/null | awk '
        /^[A-Z][a-z]+$|^[A-Z][a-z]+:$/ { part = $1; next }
        part == "Samples:" && /^ *[0-9]+ .*: / { split($0, half, ": "); values[++n] = half[1]; ids[n] = half[2] }
        part == "Locations" && /^ *[0-9]+: / { id = $1 + 0; $1 = ""; sub(/M=[0-9]+/, "") }
        part == "Locations" { name[id] = name[id] " " $0 }
        END {
            for (i = 1; i <= n; i++) {
                k = split(ids[i], id_of, " ")
                stack = ""
                for (j = 1; j <= k; j++) stack = stack ";" name[id_of[j]]
                v = split(values[i], value, " ")
                for (j = 1; j <= v; j++) sum[stack " #" j] += value[j]
            }
            for (s in sum) printf "%d%s\n", sum[s], s
        }' | sort
}

# Function, self and total of FILE in base units: "main.burn 250000000 270000000".
top() { # FILE [OPTION...]
    local file=$1
    shift
    go tool pprof -top -unit=minimum -nodecount=1000000 -nodefraction=0 "$@" "$file" 2>/dev/null |
        awk 'go { print $6, $1, $4 } /flat%/ { go = 1 }' | sort
}

@test "a CPU profile of a Go program is read" {
    go_profiles
    kelvin fold cpu.pb.gz
    exits 0
    [[ $output == *"runtime.main;main.main;main.burn"* ]] || fail "no main.burn in: $output"
    kelvin info cpu.pb.gz
    [[ $output == *"in-process timer"* ]] || fail "kind not told: $output"
}

@test "a heap profile of a Go program is read, all four values" {
    go_profiles
    kelvin fold heap.pb.gz
    exits 0
    [[ $output == *"main.main;main.grow "* ]] || fail "no main.grow in: $output"
    for value in alloc_objects alloc_space inuse_objects inuse_space; do
        kelvin fold heap.pb.gz --value $value
        exits 0
        [[ $output == *"main.grow "* ]] || fail "no main.grow in $value: $output"
    done
}

@test "the sum of what is folded is the total that go tool pprof shows" {
    go_profiles
    kelvin fold heap.pb.gz
    exits 0
    ours=$(awk '{ n += $NF } END { print n }' <<<"$output")
    theirs=$(go tool pprof -top -unit=b -nodecount=100000 heap.pb.gz 2>/dev/null |
        sed -n 's/.* of \([0-9]*\)B total$/\1/p')
    [ "$ours" = "$theirs" ] || fail "$ours bytes here, $theirs there"
}

@test "go tool pprof shows the same before and after kelvin convert" {
    go_profiles
    for name in cpu heap; do
        kelvin convert $name.pb.gz --to pprof -o out.pb.gz
        exits 0
        [ -n "$(top $name.pb.gz)" ] || fail "go tool pprof prints nothing"
        [ "$(top $name.pb.gz)" = "$(top out.pb.gz)" ] || fail "$name: $(diff <(top $name.pb.gz) <(top out.pb.gz))"
        [ -n "$(traces out.pb.gz)" ] || fail "no samples listed"
        [ "$(traces $name.pb.gz)" = "$(traces out.pb.gz)" ] ||
            fail "$name: $(diff <(traces $name.pb.gz) <(traces out.pb.gz))"
    done
}

@test "go tool pprof shows the totals of folded stacks" {
    need_go
    printf 'main;parse;read 20\nmain;parse 5\nmain;write 7\n' >in.folded
    kelvin convert in.folded --to pprof -o out.pb.gz
    exits 0
    [ "$(top out.pb.gz)" = "main 0 32
parse 5 25
read 20 20
write 7 7" ] || fail "$(top out.pb.gz)"
}

@test "fractions are written as whole numbers in a smaller unit" {
    need_go
    printf 'a;b 1.25\na 2\n' >in.folded
    kelvin convert in.folded --to pprof -o out.pb.gz
    exits 0
    run go tool pprof -raw out.pb.gz
    [[ $output == *"counts//100"* ]] || fail "unit is not told: $output"
    kelvin fold out.pb.gz
    prints "a 2
a;b 1.25"
}

@test "there and back gives the same file" {
    for input in "$ROOT"/tests/golden/pprof/{mixed,heap,names}.pb "$ROOT"/tests/golden/pprof/go-cpu.pb.gz; do
        kelvin convert "$input" --to pprof -o one.pb.gz
        exits 0
        kelvin convert one.pb.gz --to pprof -o two.pb.gz
        exits 0
        cmp one.pb.gz two.pb.gz
    done
}

@test "flaws are counted, and --strict makes them an error" {
    kelvin fold "$ROOT/tests/golden/pprof/flaws.pb"
    exits 0
    complains "skipped 13" "byte "
    kelvin fold --strict "$ROOT/tests/golden/pprof/flaws.pb" -o out.folded
    exits 3
    complains "byte " "--strict"
    no_file out.folded
}

@test "a cut file is an error that says where, and writes nothing" {
    head -c 400 "$ROOT/tests/golden/pprof/mixed.pb" >cut.pb
    kelvin convert cut.pb --to pprof -o out.pb.gz
    exits 5
    complains "cut.pb" "byte "
    no_file out.pb.gz
}
