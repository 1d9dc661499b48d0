/*
 * deep_cxx.cc - the same in C++: lambdas, std::function, virtual calls, exceptions in flight.
 */
#include "capture.h"

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

static void (*at_the_end)();

/* No exceptions here: backtrace(3) crashes in a handler that interrupts one at the wrong place. */
static void work()
{
    std::map<std::string, std::vector<int>> m;
    for (int i = 0; i < 50; i++)
        m["key " + std::to_string(i % 10)].push_back(i);
}

struct node {
    virtual ~node() = default;
    virtual int go(int depth) = 0;
};

static int go(int depth);

struct by_function : node {
    int go(int depth) override
    {
        std::function<int(int)> f = [this, depth](int n) {
            return ::go(depth - n) + (this != nullptr);
        };
        return f(1);
    }
};

struct by_catch : node {
    int go(int depth) override
    {
        try {
            throw std::runtime_error("depth " + std::to_string(depth));
        } catch (const std::exception &e) {
            return ::go(depth - 1) + (int)std::string(e.what()).size();
        }
    }
};

__attribute__((noinline)) static int go(int depth)
{
    static by_function f;
    static by_catch c;
    static node *const nodes[] = {&f, &c};
    bool may_throw = at_the_end != work;
    if (depth <= 0) {
        at_the_end();
        return 1;
    }
    return nodes[may_throw && depth % 2]->go(depth) + 1;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 1;
    int depth = atoi(argv[2]);
    capture_open(argv[3]);
    if (strcmp(argv[1], "sampled") == 0) {
        at_the_end = work;
        capture_samples();
        while (capture_count < 60 && clock() < 2 * CLOCKS_PER_SEC)
            go(depth);
    } else {
        at_the_end = capture_here;
        go(depth);
    }
    capture_close(argv[3]);
    return 0;
}
