/*
 * locks_cxx.cc - a queue between two threads, by std::mutex and std::condition_variable, and a
 * std::shared_mutex and a std::timed_mutex that are waited for. Allocates all the time, so that the
 * heap is recorded as well. Prints "NAME CALLS NANOSECONDS".
 */
#include "../../include/kelvin.h"
#include "asleep.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using timer = std::chrono::steady_clock;

static long long since(timer::time_point start)
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(timer::now() - start).count();
}

class queue
{
  public:
    void push(std::string s)
    {
        std::lock_guard<std::mutex> held(mutex);
        items.push_back(std::make_unique<std::string>(std::move(s)));
        filled.notify_one();
    }
    std::string pop()
    {
        std::unique_lock<std::mutex> held(mutex);
        filled.wait(held, [this] { return !items.empty(); });
        std::string s = std::move(*items.front());
        items.pop_front();
        return s;
    }

  private:
    std::mutex mutex;
    std::condition_variable filled;
    std::deque<std::unique_ptr<std::string>> items;
};

namespace app
{
queue letters;
std::shared_mutex settings;
std::timed_mutex slow;
} // namespace app

static std::atomic<int> reader_tid;

__attribute__((noinline)) void read_settings()
{
    KELVIN_SCOPE("read settings");
    auto start = timer::now();
    reader_tid = gettid();
    std::shared_lock<std::shared_mutex> held(app::settings);
    std::printf("app::settings 1 %lld\n", since(start));
}

__attribute__((noinline)) void try_slow()
{
    auto start = timer::now();
    bool got = app::slow.try_lock_for(10ms);
    std::printf("app::slow 1 %lld\n", since(start));
    if (got)
        std::printf("app::slow was free\n");
}

int main()
{
    std::thread reader([] {
        for (int i = 0; i < 200; i++)
            app::letters.pop();
    });
    for (int i = 0; i < 200; i++) {
        app::letters.push(std::string(100, 'x'));
        if (i % 20 == 0)
            std::this_thread::sleep_for(1ms);
    }
    reader.join();
    {
        std::unique_lock<std::shared_mutex> held(app::settings);
        std::unique_lock<std::timed_mutex> too(app::slow);
        std::thread second([] {
            try_slow();
            read_settings();
        });
        while (!reader_tid)
            std::this_thread::sleep_for(1ms);
        wait_until_asleep(reader_tid);
        too.unlock();
        held.unlock();
        second.join();
    }
}
