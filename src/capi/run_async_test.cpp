// capi/run_async_test.cpp - RunAsync: which threads it uses, who waits, and callbacks that throw or close their
// session.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "capi/env.h"
#include "capi/functions.h"
#include "capi/handles/value.h"
#include "capi/options.h"
#include "capi/session.h"
#include "ir/text.h"
#include "testing/environment.h"

namespace sardonyx::capi {
namespace {

OrtSession* Make(int threads, bool own_pool = false) {
  runtime::SessionOptions options;
  options.intra_op_threads = threads;
  if (own_pool) options.config["session.intra_op.allow_spinning"] = "0";
  auto model = std::make_shared<Model>(ParseModel(R"(<ir_version: 10, opset_import: ["" : 21]>
square (float[N,N] x) => (float[N,N] y) { a = MatMul(x, x) b = Relu(a) y = MatMul(b, x) })"));
  auto session = runtime::Session::FromModel(testing::TestEnvironment(), std::move(model), std::move(options));
  return std::make_unique<OrtSession>(std::move(session)).release();
}

// What the callbacks of one test are told.
struct Told {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::vector<std::string> errors;
  std::atomic<int> calls = 0;
  std::chrono::milliseconds linger{0};
  OrtSession* closes = nullptr;  // in the callback
  bool throws = false;

  static void Callback(void* self, OrtValue** outputs, size_t count, OrtStatusPtr status) {
    auto& told = *static_cast<Told*>(self);
    std::this_thread::sleep_for(told.linger);
    const bool throws = told.throws;  // the test may end as soon as the call is counted
    {
      const std::scoped_lock lock(told.mutex);
      told.threads.insert(std::this_thread::get_id());
      if (status != nullptr) told.errors.emplace_back(GetErrorMessage(status));
      ReleaseStatus(status);
      for (size_t i = 0; i < count; ++i) {
        ReleaseValue(outputs[i]);
        outputs[i] = nullptr;
      }
    }
    if (told.closes != nullptr) ReleaseSession(told.closes);
    if (++told.calls != 0) told.calls.notify_all();
    if (throws) throw std::runtime_error("the callback's own matter");
  }
};

OrtValue* Square(std::int64_t n) {
  Tensor x(DType::kFloat, Shape{n, n});
  for (std::int64_t i = 0; i < n * n; ++i) x.data<float>()[i] = 1;
  return NewHandle(Value(std::move(x)));
}

// One call on a value that the test keeps until the session is closed.
struct Call {
  explicit Call(std::int64_t n) : x(Square(n)) {}
  ~Call() { ReleaseValue(x); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  std::string Start(OrtSession* session, Told& told, const OrtRunOptions* options = nullptr) {
    const char *in = "x", *out = "y";
    const OrtStatusPtr status =
        RunAsync(session, options, &in, &x, 1, &out, 1, &y, &Told::Callback, static_cast<void*>(&told));
    std::string error = status != nullptr ? GetErrorMessage(status) : "";
    ReleaseStatus(status);
    return error;
  }

  OrtValue* x;
  OrtValue* y = nullptr;
};

TEST(RunAsync, ManyCallsUseTheSessionsWorkersOnly) {
  Told told;
  std::vector<std::unique_ptr<Call>> calls;
  OrtSession* session = Make(3, true);
  for (int i = 0; i < 30; ++i) {
    calls.push_back(std::make_unique<Call>(32));
    EXPECT_EQ(calls.back()->Start(session, told), "");
  }
  ReleaseSession(session);
  EXPECT_EQ(told.calls, 30);
  EXPECT_LE(told.threads.size(), 2u) << "three threads are the caller and two workers";
  EXPECT_TRUE(told.errors.empty());
}

TEST(RunAsync, ClosingTheSessionWaitsForTheRunAndItsCallback) {
  Told told;
  told.linger = std::chrono::milliseconds(50);
  Call call(64);
  OrtSession* session = Make(2);
  EXPECT_EQ(call.Start(session, told), "");
  ReleaseSession(session);
  EXPECT_EQ(told.calls, 1);
}

// ONNX Runtime refuses the call, for its pool has no thread then; here the pool gets one.
TEST(RunAsync, ASessionOfOneThreadDoesNotBlock) {
  Told told;
  Call call(32);
  OrtSession* session = Make(1, true);
  EXPECT_EQ(call.Start(session, told), "");
  told.calls.wait(0);
  ReleaseSession(session);
  EXPECT_EQ(told.threads.size(), 1u);
  EXPECT_FALSE(told.threads.contains(std::this_thread::get_id()));
}

TEST(RunAsync, ACallbackMayCloseItsSession) {
  for (const bool own_pool : {false, true}) {
    Told told;
    Call call(32);
    told.closes = Make(2, own_pool);
    EXPECT_EQ(call.Start(told.closes, told), "");
    told.calls.wait(0);
    EXPECT_EQ(told.calls, 1);
  }
}

TEST(RunAsync, WhatACallbackThrowsStaysThere) {
  Told told;
  told.throws = true;
  Call first(16), second(16);
  OrtSession* session = Make(2, true);
  EXPECT_EQ(first.Start(session, told), "");
  EXPECT_EQ(second.Start(session, told), "") << "the worker goes on";
  ReleaseSession(session);
  EXPECT_EQ(told.calls, 2);
}

TEST(RunAsync, TerminateEndsARunThatWaitsForItsTurn) {
  Told told, slow;
  slow.linger = std::chrono::milliseconds(50);
  OrtRunOptions options;
  Call first(16), second(16);
  OrtSession* session = Make(2, true);
  EXPECT_EQ(first.Start(session, slow), "");
  EXPECT_EQ(second.Start(session, told, &options), "");
  options.options.terminate = true;
  ReleaseSession(session);
  ASSERT_EQ(told.errors.size(), 1u);
  EXPECT_NE(told.errors[0].find("terminated"), std::string::npos) << told.errors[0];
}

}  // namespace
}  // namespace sardonyx::capi
