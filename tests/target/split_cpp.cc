/*
 * split_cpp.cc - split.c in the way of C++: templates, virtual calls, lambdas, exceptions.
 *
 * Usage: split_cpp SECONDS [DEPTH]
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

namespace
{

uint64_t cpu_ns()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return uint64_t(t.tv_sec) * 1000000000u + uint64_t(t.tv_nsec);
}

volatile uint64_t sink;

/* The share keeps the parts from being merged into one function. */
template <int Share> [[gnu::noinline]] void part()
{
    uint64_t x = sink + Share;
    for (int i = 0; i < 20000; i++)
        x = x * 6364136223846793005u + 1442695040888963407u + 2 * Share;
    sink = x;
}

struct Worker {
    uint64_t spent_ns = 0;
    virtual ~Worker() = default;
    virtual int share() const = 0;
    virtual void once() = 0;
};

template <int Share> struct PartWorker final : Worker {
    int share() const override
    {
        return Share;
    }
    void once() override
    {
        part<Share>();
    }
};

[[gnu::noinline]] int descend(int depth, const std::function<void()> &then)
{
    volatile char frame[48];
    frame[0] = char(depth);
    if (depth == 0)
        then();
    else
        descend(depth - 1, then);
    return frame[0];
}

void spend(Worker &w, uint64_t until_ns, int depth)
{
    if (w.spent_ns >= until_ns)
        return;
    try {
        descend(depth, [&] {
            while (w.spent_ns < until_ns) {
                uint64_t start = cpu_ns();
                w.once();
                w.spent_ns += cpu_ns() - start;
            }
            throw std::runtime_error("done");
        });
    } catch (const std::runtime_error &) {
        /* out of all the recursion at once */
    }
}

} // namespace

int main(int argc, char **argv)
{
    constexpr uint64_t slice_ns = 20000000;
    uint64_t total_ns = uint64_t((argc > 1 ? atof(argv[1]) : 1) * 1e9);
    int depth = argc > 2 ? atoi(argv[2]) : 5;
    std::vector<std::unique_ptr<Worker>> workers;
    workers.push_back(std::make_unique<PartWorker<60>>());
    workers.push_back(std::make_unique<PartWorker<30>>());
    workers.push_back(std::make_unique<PartWorker<10>>());
    for (uint64_t t = slice_ns; t <= total_ns; t += slice_ns)
        for (auto &w : workers)
            spend(*w, t * uint64_t(w->share()) / 100, depth);
    uint64_t sum = 0;
    for (auto &w : workers)
        sum += w->spent_ns;
    for (auto &w : workers)
        printf("part<%d> %.2f\n", w->share(), 100.0 * double(w->spent_ns) / double(sum));
}
