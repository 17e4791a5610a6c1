// runtime/thread_pool_test.cpp - loops cover their range once, from many threads at once, and pass errors on.
#include "runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <ctime>
#include <latch>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace sardonyx::runtime {
namespace {

TEST(ThreadPool, CoversEveryIndexOnceInRangesOfTheGrain) {
  ThreadPool pool;
  for (const std::int64_t count : {0, 1, 7, 64, 1000}) {
    for (const std::int64_t grain : {1, 3, 64, 5000}) {
      std::vector<std::atomic<int>> hits(static_cast<std::size_t>(count));
      pool.For(3, count, grain, [&](std::int64_t begin, std::int64_t end) {
        EXPECT_EQ(begin % grain, 0);
        for (std::int64_t i = begin; i < end; ++i) hits[static_cast<std::size_t>(i)].fetch_add(1);
      });
      for (const auto& hit : hits) EXPECT_EQ(hit.load(), 1) << "count " << count << " grain " << grain;
    }
  }
}

TEST(ThreadPool, ThreadsBeginWithTheSameShareInEveryLoop) {
  ThreadPool pool;
  std::map<std::thread::id, std::int64_t> first_share;
  for (int round = 0; round < 20; ++round) {
    std::mutex mutex;
    std::map<std::thread::id, std::int64_t> begins;
    std::latch all_there(4);  // so that nobody takes from a share whose owner is late
    pool.For(4, 64, 1, [&](std::int64_t begin, std::int64_t) {
      {
        const std::scoped_lock lock(mutex);
        if (!begins.emplace(std::this_thread::get_id(), begin).second) return;
      }
      all_there.arrive_and_wait();
    });
    std::set<std::int64_t> places;
    for (const auto& [thread, begin] : begins) places.insert(begin);
    EXPECT_EQ(places, (std::set<std::int64_t>{0, 16, 32, 48}));
    EXPECT_EQ(begins[std::this_thread::get_id()], 0);
    if (round == 0) first_share = begins;
    EXPECT_EQ(begins, first_share) << "round " << round;
  }
}

TEST(ThreadPool, TakesWhatAnotherThreadHasNotBegun) {
  ThreadPool pool;
  std::atomic<int> left = 64;
  std::atomic<bool> waits = false;
  // One thread waits in its first piece until all others are done: more than half of its share goes to other threads.
  pool.For(4, 64, 1, [&](std::int64_t begin, std::int64_t end) {
    const int mine = static_cast<int>(end - begin);
    if (!waits.exchange(true)) {
      while (left.load() > mine) std::this_thread::yield();
    }
    left -= mine;
  });
  EXPECT_EQ(left.load(), 0);
}

TEST(ThreadPool, CarriesTheFirstErrorToTheCallerAndGoesOn) {
  ThreadPool pool;
  for (int round = 0; round < 20; ++round) {
    EXPECT_THROW(pool.For(4, 100, 1,
                          [](std::int64_t begin, std::int64_t end) {
                            if (begin <= 33 && 33 < end) throw std::runtime_error("bad index");
                          }),
                 std::runtime_error);
    std::atomic<std::int64_t> sum = 0;
    pool.For(4, 100, 1, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
    EXPECT_EQ(sum.load(), 100);
  }
}

TEST(ThreadPool, RunsNestedLoopsSeriallyWithoutDeadlock) {
  ThreadPool pool;
  std::atomic<int> total = 0;
  pool.For(4, 16, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      pool.For(4, 16, 1, [&](std::int64_t b, std::int64_t e) { total += static_cast<int>(e - b); });
  });
  EXPECT_EQ(total.load(), 256);
}

TEST(ThreadPool, ServesManyCallersAtOnce) {
  ThreadPool pool({.machine_cores = 64});
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int c = 0; c < 6; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        pool.BeginRun();
        std::atomic<std::int64_t> sum = 0;
        pool.For(3, 50, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) sum += i;
        });
        if (sum.load() != 49 * 50 / 2) ++wrong;
        pool.EndRun();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

// How many threads take part in a loop of pieces that each take a while, with so many runs under way. The pieces wait
// for `expected` threads, for as long as a busy machine may need to start them.
std::size_t ThreadsOfALoop(ThreadPool& pool, int runs, std::size_t expected = 1) {
  std::mutex mutex;
  std::condition_variable joined;
  std::set<std::thread::id> seen;
  for (int i = 0; i < runs; ++i) pool.BeginRun();
  pool.For(4, 64, 1, [&](std::int64_t, std::int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::unique_lock lock(mutex);
    if (seen.insert(std::this_thread::get_id()).second) joined.notify_all();
    joined.wait_for(lock, std::chrono::seconds(1), [&] { return seen.size() >= expected; });
  });
  for (int i = 0; i < runs; ++i) pool.EndRun();
  return seen.size();
}

TEST(ThreadPool, RunsAtOnceShareTheCores) {
  ThreadPool pool({.machine_cores = 4});
  EXPECT_GT(ThreadsOfALoop(pool, 1, 2), 1u) << "one run alone has helpers";
  EXPECT_LE(ThreadsOfALoop(pool, 2), 3u) << "two runs on four cores: two helpers at most for this one";
  EXPECT_EQ(ThreadsOfALoop(pool, 4), 1u);
  EXPECT_EQ(ThreadsOfALoop(pool, 9), 1u);
  ThreadPool small({.machine_cores = 1});
  EXPECT_GT(ThreadsOfALoop(small, 1, 2), 1u) << "a number is obeyed above the cores";
}

TEST(ThreadPool, ParksWhenIdle) {
  ThreadPool pool;
  pool.For(4, 100, 1, [](std::int64_t, std::int64_t) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  // Three spinning workers would burn at least one core's 200 ms; parked ones none. The bound leaves room for a slow
  // machine.
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.05);
}

}  // namespace
}  // namespace sardonyx::runtime
