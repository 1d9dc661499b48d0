#!/usr/bin/env bats
# C++, other allocators, and the archive for static programs: every block, whoever hands it out.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers
load ../lib/heap

setup_file() {
    build_targets
}

@test "C++: containers, aligned new and exceptions" {
    kelvin record --heap -o r.kelvin -- "$TARGET/heap_cxx" 50
    exits 0
    [ "$(sum allocations 'part_(vector|map|aligned)')" = "$(told allocations)" ]
    [ "$(sum allocated 'part_(vector|map|aligned)')" = "$(told allocated)" ]
    [ "$(sum freed 'part_(vector|map|aligned)')" = "$(told freed)" ]
    [ "$(sum leaked 'part_')" = 0 ]
    [ "$(sum allocations 'part_thrown')" = 50 ]
}

@test "another allocator, preloaded or linked, is the one that works" {
    local found=
    for lib in /usr/lib/*/libjemalloc.so.2 /usr/lib/*/libtcmalloc_minimal.so.4 /usr/lib/*/libmimalloc.so.2; do
        [ -e "$lib" ] || continue
        found=1
        run --separate-stderr env LD_PRELOAD="$lib" "$KELVIN" record --heap -o r.kelvin -- "$TARGET/heap" threads 5000
        exits 0
        agrees
        run --separate-stderr env LD_PRELOAD="$lib" "$KELVIN" record --heap -o r.kelvin -- "$TARGET/heap" plain 2000
        exits 0
        agrees
    done
    [ "$found" ] || skip "no other allocator is installed here"
}

@test "an allocator with a new and delete of its own, which do not call malloc" {
    local found=
    for lib in /usr/lib/*/libjemalloc.so.2 /usr/lib/*/libtcmalloc_minimal.so.4 /usr/lib/*/libmimalloc.so.2; do
        [ -e "$lib" ] || continue
        found=1
        run --separate-stderr env LD_PRELOAD="$lib" "$KELVIN" record --heap -o r.kelvin -- "$TARGET/heap_cxx" 50
        exits 0
        cxx_agrees
    done
    [ "$found" ] || skip "no other allocator is installed here"
}

@test "a library whose new and delete call malloc and free counts each block once" {
    cat >own.cc <<'END'
#include <cstdlib>
#include <new>
void *operator new(std::size_t n)
{
    if (void *p = std::malloc(n))
        return p;
    throw std::bad_alloc();
}
void operator delete(void *p) noexcept { std::free(p); }
void operator delete(void *p, std::size_t) noexcept { std::free(p); }
END
    c++ -shared -fPIC -o libown.so own.cc
    run --separate-stderr env LD_PRELOAD="$PWD/libown.so" "$KELVIN" record --heap -o r.kelvin -- "$TARGET/heap_cxx" 50
    exits 0
    cxx_agrees
    [[ $("$KELVIN" heap r.kelvin) != *"allocation was not seen"* ]]
}

# The C++ library's delete of a size calls the delete that the library has; it must not be skipped.
@test "a library with one delete of its own gets the blocks of all deletes" {
    cat >own.cc <<'END'
#include <cstdio>
#include <cstdlib>
static int calls;
void operator delete(void *p) noexcept { calls++; std::free(p); }
int deletes() { return calls; }
END
    cat >main.cc <<'END'
#include <cstdio>
int deletes();
struct one { int of[10]; };
int main()
{
    for (int i = 0; i < 100; i++) {
        one *volatile p = new one, *volatile all = new one[3];
        delete p;
        delete[] all;
    }
    std::printf("deletes %d\n", deletes());
}
END
    c++ -shared -fPIC -o libown.so own.cc
    c++ -O1 -g -o main main.cc -L. -lown -Wl,-rpath,"$PWD"
    record ./main
    [ "$(told deletes)" = 200 ] || fail "$output"
    [ "$(sum frees ';main;')" = 200 ] || fail "$(sum frees)"
    [ "$(sum leaked ';main;operator new')" = 0 ]
}

@test "C++ that a C program loads finds its own library's new" {
    cat >plugin.cc <<'END'
#include <new>
#include <stdexcept>
#include <string>
#include <vector>
extern "C" __attribute__((visibility("default"))) int part_plugin(int n)
{
    std::vector<std::string *> all;
    all.reserve(static_cast<std::size_t>(n));
    for (int i = 0; i < n; i++)
        all.push_back(new std::string(100, 'x'));
    for (std::string *s : all)
        delete s;
    try {
        volatile std::size_t huge = ~std::size_t{0} >> 2;
        delete[] new char[huge];
    } catch (const std::bad_alloc &) {
        return n;
    }
    return -1;
}
END
    cat >host.c <<'END'
#include <dlfcn.h>
int main(void)
{
    void *lib = dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL);
    int (*call)(int) = lib ? (int (*)(int))dlsym(lib, "part_plugin") : 0;
    return call && call(1000) == 1000 ? 0 : 1;
}
END
    c++ -shared -fPIC -g -o plugin.so plugin.cc
    cc -g -o host host.c -ldl
    record ./host
    [ "$(sum allocations "part_plugin.*(operator new|exception)")" = 2002 ] # a vector, two for each string, an exception
    [ "$(sum leaked "part_plugin.*operator new")" = 0 ]
}

# The first delete is a sized one, which the C++ library's jumps from to another: that one's caller seems to be the agent.
@test "C++ plugins that come and go in a C program: the first delete finds the library's, and keeps it" {
    cat >plug.cc <<'END'
#include <string>
#include <vector>
static std::vector<std::string> kept;
extern "C" void part_work(int n)
{
    for (int i = 0; i < n; i++)
        kept.emplace_back(100, 'x');
}
END
    cat >host.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    for (int i = 0; i < 20; i++) {
        void *lib = dlopen(i % 2 ? "./one.so" : "./two.so", RTLD_NOW);
        ((void (*)(int))dlsym(lib, "part_work"))(100);
        dlclose(lib);
    }
    puts("done");
    return 0;
}
END
    c++ -O1 -g -shared -fPIC -o one.so plug.cc
    cp one.so two.so
    cc -O1 -g -o host host.c -ldl
    local how
    for how in --heap --heap=sampled:1000; do
        kelvin record --engine none $how -o r.kelvin -- ./host
        exits 0
        [[ $output == "done" && $stderr != *"not recorded"* && $stderr != *"allocation was not seen"* ]] || fail "$output $stderr"
    done
    kelvin record --heap -o r.kelvin -- ./host
    exits 0
    [ "$(sum allocations 'part_work.*operator new')" -ge 2000 ] # strings, and the steps of vectors: how many depends on what stays loaded
    [ "$(sum leaked 'part_work.*operator new')" = 0 ]
}

@test "a static program that the archive is linked into: every block" {
    echo 'int main(void) { return 0; }' >s.c
    cc -static -o s s.c || skip "no static libc here"
    local b=${KELVIN%/*}
    cc -O2 -g -static -pthread -o heap "${BATS_TEST_DIRNAME}/../target/heap.c" -L "$b" "@$b/kelvin-heap.link"
    c++ -O2 -g -static -pthread -o cxx "${BATS_TEST_DIRNAME}/../target/heap_cxx.cc" -L "$b" "@$b/kelvin-heap.link"
    cc -O2 -g -static -o maps "${BATS_TEST_DIRNAME}/../target/heap_maps.c" -L "$b" "@$b/kelvin-heap.link"
    ./heap plain 100 # without a recorder
    record ./heap plain 2000
    agrees
    record ./heap threads 2000
    agrees
    record ./cxx 50
    cxx_agrees
    kelvin record --heap=mmap -o r.kelvin -- ./maps
    exits 0
    [ "$(sum allocated 'part_.*map ')" = "$(told allocated)" ]
    [ "$(sum leaked 'part_.*map ')" = "$(told leaked)" ]
}

@test "an allocator's own maps are no maps of the program" {
    local lib=
    for lib in /usr/lib/*/libjemalloc.so.2; do
        [ -e "$lib" ] || skip "jemalloc is not installed here"
        run --separate-stderr env LD_PRELOAD="$lib" "$KELVIN" record --heap=mmap -o r.kelvin -- "$TARGET/heap" plain 2000
        exits 0
        agrees
        [ "$(sum allocations 'mmap|mremap')" = 0 ]
    done
}
