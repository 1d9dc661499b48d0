// A C++ program that counts its own allocations: containers with an allocator that counts, plain
// new and delete, aligned and sized. Prints lines as heap.c does.
#include <cstdio>
#include <list>
#include <map>
#include <new>
#include <string>
#include <vector>

static long allocations, allocated, frees, freed;

template <class T> struct counting {
    using value_type = T;
    counting() = default;
    template <class U> counting(const counting<U> &)
    {
    }
    T *allocate(std::size_t n)
    {
        allocations++;
        allocated += static_cast<long>(n * sizeof(T));
        return static_cast<T *>(::operator new(n * sizeof(T)));
    }
    void deallocate(T *p, std::size_t n)
    {
        frees++;
        freed += static_cast<long>(n * sizeof(T));
        ::operator delete(p, n * sizeof(T));
    }
    bool operator==(const counting &) const
    {
        return true;
    }
    bool operator!=(const counting &) const
    {
        return false;
    }
};

struct alignas(128) wide {
    char bytes[128];
};

__attribute__((noinline)) static void part_vector(int n)
{
    std::vector<int, counting<int>> v;
    for (int i = 0; i < n; i++)
        v.push_back(i);
}

__attribute__((noinline)) static void part_map(int n)
{
    std::map<int, int, std::less<int>, counting<std::pair<const int, int>>> m;
    for (int i = 0; i < n; i++)
        m[i * 7919 % 1000] = i;
}

__attribute__((noinline)) static void part_aligned(int n)
{
    for (int i = 0; i < n; i++) {
        wide *w = new wide;
        __asm__ volatile("" : : "r"(w) : "memory");
        allocations++, frees++;
        allocated += sizeof(wide), freed += sizeof(wide);
        delete w;
    }
}

// Thrown away and caught: the runtime allocates the exception itself.
__attribute__((noinline)) static void part_thrown(int n)
{
    for (int i = 0; i < n; i++) {
        try {
            throw i;
        } catch (int) {
        }
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? std::atoi(argv[1]) : 100;
    static char out[4096];
    setvbuf(stdout, out, _IOFBF, sizeof out);
    for (int i = 0; i < rounds; i++) {
        part_vector(1000);
        part_map(500);
        part_aligned(10);
        part_thrown(1);
    }
    std::printf("allocations %ld\nallocated %ld\nfrees %ld\nfreed %ld\nleaked %ld\n", allocations,
                allocated, frees, freed, allocated - freed);
}
