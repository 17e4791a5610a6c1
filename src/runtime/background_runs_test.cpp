// runtime/background_runs_test.cpp - runs on a pool's workers: how many threads, who waits, cancelled runs.
#include "runtime/background_runs.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "ir/text.h"
#include "testing/environment.h"

namespace sardonyx::runtime {
namespace {

std::unique_ptr<Session> Make(int threads, const char* config = nullptr) {
  SessionOptions options;
  options.intra_op_threads = threads;
  if (config != nullptr) options.config[config] = "0";
  auto model = std::make_shared<Model>(ParseModel(R"(<ir_version: 10, opset_import: ["" : 21]>
square (float[N,N] x) => (float[N,N] y) { a = MatMul(x, x) b = Relu(a) y = MatMul(b, x) })"));
  return Session::FromModel(testing::TestEnvironment(), std::move(model), std::move(options));
}

float FirstOf(Session& session, const RunOptions& options = {}) {
  Tensor x(DType::kFloat, Shape{64, 64});
  for (int i = 0; i < 64 * 64; ++i) x.data<float>()[i] = 1;
  return session.Run(options, {{"x", Value(x)}}, {"y"})[0].tensor().data<float>()[0];
}

class BackgroundRunsTest : public ::testing::TestWithParam<int> {};

TEST_P(BackgroundRunsTest, ManyAtOnceShareTheWorkersAndClosingWaitsForAll) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> right = 0;
  {
    const auto session = Make(GetParam(), "session.intra_op.allow_spinning");  // a pool of its own
    for (int i = 0; i < 40; ++i) {
      session->RunInBackground([&] {
        right += FirstOf(*session) == 64 * 64;
        const std::scoped_lock lock(mutex);
        threads.insert(std::this_thread::get_id());
      });
    }
    EXPECT_EQ(FirstOf(*session), 64 * 64) << "the caller's own runs go on";
    session->FinishBackground();
    EXPECT_EQ(right, 40);
  }
  EXPECT_LE(threads.size(), static_cast<std::size_t>(std::max(1, GetParam() - 1)));
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

INSTANTIATE_TEST_SUITE_P(Threads, BackgroundRunsTest, ::testing::Values(1, 2, 4));

TEST(BackgroundRuns, ARunMayStartAnotherOne) {
  const auto session = Make(1);
  std::atomic<int> right = 0;
  session->RunInBackground([&] {
    EXPECT_TRUE(BackgroundRuns::InsideOne());
    session->RunInBackground([&] { right += FirstOf(*session) == 64 * 64; });
  });
  session->FinishBackground();
  EXPECT_EQ(right, 1);
  EXPECT_FALSE(BackgroundRuns::InsideOne());
}

TEST(BackgroundRuns, OneThatWaitsForItsTurnIsCancelled) {
  const auto session = Make(2, "session.intra_op.allow_spinning");  // a pool of its own, of one worker
  RunOptions options;
  std::atomic<bool> go = false;
  std::string error;
  session->RunInBackground([&] { go.wait(false); });
  session->RunInBackground([&] {
    try {
      FirstOf(*session, options);
    } catch (const Error& failure) {
      error = failure.what();
    }
  });
  options.terminate = true;
  go = true;
  go.notify_all();
  session->FinishBackground();
  EXPECT_NE(error.find("terminated"), std::string::npos) << error;
}

TEST(BackgroundRuns, WhatARunHoldsIsGoneWhenItIsOver) {
  const auto session = Make(2);
  auto held = std::make_shared<int>(1);
  session->RunInBackground([held] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
  session->FinishBackground();
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace sardonyx::runtime
