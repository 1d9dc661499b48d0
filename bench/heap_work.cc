// What heap profilers are measured with: heap_work MODE ROUNDS.
//
//     deep     C: blocks that are allocated and freed below fifteen calls, and nothing else
//     use      the same, and each block is filled and read
//     churn    C++: maps, strings and vectors that come and go
//     threads  four threads that only allocate and free
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

static void *volatile sink;
static bool uses_blocks;
static volatile unsigned long sum;

// What a program might do with a block: write all of it, then make a number of it.
__attribute__((noinline)) static void use(void *block, size_t n)
{
    unsigned char *p = static_cast<unsigned char *>(block);
    unsigned long hash = 5381;
    for (size_t i = 0; i < n; i++)
        p[i] = static_cast<unsigned char>(i * 31 + n);
    for (size_t i = 0; i < n; i++)
        hash = hash * 33 ^ p[i];
    sum = sum + hash;
}

__attribute__((noinline)) static long deep(int depth, long n)
{
    if (depth == 0) {
        void *kept[16];
        for (int i = 0; i < 16; i++) {
            size_t size = static_cast<size_t>(16 + (n + i * 37) % 400);
            kept[i] = malloc(size);
            sink = kept[i];
            if (uses_blocks)
                use(kept[i], size);
        }
        for (void *p : kept)
            free(p);
        return n;
    }
    long r = deep(depth - 1, n + 1);
    __asm__ volatile("" : "+r"(r));
    return r;
}

__attribute__((noinline)) static void churn(long rounds)
{
    for (long i = 0; i < rounds; i++) {
        std::map<int, std::string> m;
        std::vector<std::string> v;
        for (int k = 0; k < 50; k++) {
            m[k * 7919 % 101] = std::string(static_cast<size_t>(20 + k % 30), 'x');
            v.push_back(m.begin()->second);
        }
        sink = &m;
    }
}

__attribute__((noinline)) static void only_allocate(long rounds)
{
    void *kept[64] = {};
    for (long i = 0; i < rounds; i++) {
        free(kept[i % 64]);
        kept[i % 64] = malloc(static_cast<size_t>(16 + i % 300));
    }
    for (void *p : kept)
        free(p);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "deep";
    long rounds = argc > 2 ? atol(argv[2]) : 100000;
    uses_blocks = strcmp(mode, "use") == 0;
    if (uses_blocks || strcmp(mode, "deep") == 0)
        for (long i = 0; i < rounds; i++)
            deep(15, i);
    else if (strcmp(mode, "churn") == 0)
        churn(rounds);
    else if (strcmp(mode, "threads") == 0) {
        std::vector<std::thread> all;
        for (int t = 0; t < 4; t++)
            all.emplace_back(only_allocate, rounds);
        for (auto &t : all)
            t.join();
    }
    return 0;
}
