// base/limits_test.cpp - exceeding a scope's time or memory ends in an Error that states the limit.
#include "base/limits.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace sardonyx {
namespace {

template <typename F>
std::string ErrorOf(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + ": " + error.what();
  }
  return "";
}

constexpr Limits kSmall = {.work = "the test", .max_memory = 100, .memory_option = "test.memory"};

TEST(Limits, MemoryIsRefusedBeforeItIsTaken) {
  ChargeMemory(std::size_t{1} << 60);  // no scope, no limit
  LimitScope scope(kSmall, 40);
  ChargeMemory(60);
  EXPECT_EQ(ErrorOf([] { ChargeMemory(1); }),
            "1: the test needs too much memory: expected at most 100 bytes (test.memory), found 100 in use and 1 more "
            "requested");
  ReturnMemory(30);
  ChargeMemory(30);
  EXPECT_NE(ErrorOf([] { ChargeMemory(SIZE_MAX); }), "");
}

TEST(Limits, TheOuterScopeGoesOnToHold) {
  LimitScope outer(kSmall);
  {
    LimitScope inner({.work = "the inner", .max_memory = 1000});
    ChargeMemory(90);
    EXPECT_NE(ErrorOf([] { ChargeMemory(20); }).find("the test needs"), std::string::npos);
  }
  EXPECT_NE(ErrorOf([] { ChargeMemory(20); }), "") << "what the inner scope charged is still in use";
  EXPECT_EQ(ErrorOf([] { ChargeMemory(10); }), "");
}

TEST(Limits, TimeEndsAtTheNextCheck) {
  CheckTime();
  LimitScope scope({.work = "the test", .timeout_ms = 5, .time_option = "test.ms", .timeout_code = Code::kNotFound});
  EXPECT_EQ(ErrorOf([] { CheckTime(); }), "");
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(ErrorOf([] { CheckTime(); }),
            "14: the test was stopped: expected it to take at most 5 ms (test.ms), found it unfinished");
  std::thread([] { EXPECT_EQ(ErrorOf([] { CheckTime(); }), "") << "another thread has no limit"; }).join();
}

}  // namespace
}  // namespace sardonyx
