// runtime/profile/pool_rate_test.cpp - which threads wait for which. No test depends on how long anything takes.
#include "runtime/profile/pool_rate.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

namespace sardonyx::runtime {
namespace {

constexpr double kForever = 600;  // seconds
constexpr int kTries = 5;

// A pool whose second thread is late for every loop: by then the caller would be done with pieces that do not wait.
class OneIsLate final : public Parallel {
 public:
  void For(std::int64_t count, std::int64_t /*grain*/, Body body) override {
    std::atomic<std::int64_t> next = 0;
    const auto work = [&] {
      for (std::int64_t i = next++; i < count; i = next++) body(i, i + 1);
    };
    std::thread late([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      work();
    });
    work();
    late.join();
  }
  int ThreadCount() const override { return 2; }
};

// A pool whose other threads never come.
class CallerOnly final : public Parallel {
 public:
  void For(std::int64_t count, std::int64_t /*grain*/, Body body) override {
    for (std::int64_t i = 0; i < count; ++i) body(i, i + 1);
  }
  int ThreadCount() const override { return 2; }
};

TEST(PoolRate, ThreadsThatSleepAreWaitedFor) {
  OneIsLate pool;
  PoolRate threads(pool, 2, kForever);
  std::array<std::thread::id, 2> of;
  for (int i = 0; i < kTries; ++i) {
    threads.Rate(1, [&](int piece) { of[static_cast<std::size_t>(piece)] = std::this_thread::get_id(); });
    EXPECT_NE(of[0], of[1]);
  }
}

TEST(PoolRate, ThreadsThatDoNotComeAreNotWaitedForLong) {
  CallerOnly pool;
  int done = 0;
  EXPECT_GT(PoolRate(pool, 2, 1e-4).Rate(kTries, [&](int) { ++done; }), 0);
  EXPECT_EQ(done, 2 * kTries);
}

}  // namespace
}  // namespace sardonyx::runtime
