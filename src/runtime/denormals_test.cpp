// runtime/denormals_test.cpp - denormal numbers are zeros if the session wants it, on every thread and only in runs.
#include <gtest/gtest.h>

#include "base/float_control.h"
#include "ir/text.h"
#include "runtime/session.h"
#include "runtime/thread_pool.h"
#include "testing/environment.h"
#include "testing/tolerance.h"

namespace sardonyx::runtime {
namespace {

constexpr float kDenormal = 1e-39f;
constexpr std::int64_t kCount = 1 << 18;  // enough for several threads

std::unique_ptr<Session> Open(const char* zero, int threads, bool global = false) {
  SessionOptions options;
  options.intra_op_threads = threads;
  options.use_environment_pool = global;
  if (zero != nullptr) options.config["session.set_denormal_as_zero"] = zero;
  return Session::FromModel(testing::TestEnvironment(), std::make_shared<Model>(ParseModel(R"(
      <ir_version: 10, opset_import: ["" : 21]>
      g (float[N] x, float s) => (float[N] y) { y = Mul(x, s) })")),
                            std::move(options));
}

// How many of the products are zeros.
std::int64_t Zeros(Session& session) {
  Tensor x(DType::kFloat, Shape{kCount});
  for (float& value : x.span<float>()) value = kDenormal;
  const Value y = session.Run(RunOptions(), {{"x", x}, {"s", Tensor::Scalar(0.5f)}}, {"y"})[0];
  std::int64_t zeros = 0;
  for (const float value : y.tensor().span<float>()) zeros += value == 0 ? 1 : 0;
  return zeros;
}

TEST(Denormals, AreZerosOnAllThreadsOfASessionThatWantsIt) {
  if (WithoutDenormals(0) == 0) GTEST_SKIP() << "no control register here";
  const std::uint64_t before = FloatControl();
  for (const int threads : {1, 3}) {
    EXPECT_EQ(Zeros(*Open("1", threads)), kCount);
    EXPECT_EQ(FloatControl(), before) << "the caller's register is as it was";
    EXPECT_EQ(Zeros(*Open(nullptr, threads)), 0) << "workers have forgotten the session before";
    EXPECT_EQ(Zeros(*Open("0", threads)), 0);
  }
}

TEST(Denormals, TheRegisterComesBackAfterAnError) {
  const std::uint64_t before = FloatControl();
  const auto session = Open("1", 2);
  EXPECT_THROW(
      session->Run(RunOptions(),
                   {{"x", Tensor::Of<float>({1, 2}, Shape{2})}, {"s", Tensor::Of<float>({1, 2, 3}, Shape{3})}}, {"y"}),
      Error);
  EXPECT_EQ(FloatControl(), before);
}

TEST(Denormals, AnythingButZeroAndOneIsAnError) {
  try {
    Open("yes", 1);
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("set_denormal_as_zero': expected 0 or 1, found 'yes'"), std::string::npos)
        << error.what();
  }
}

TEST(Denormals, WorkersComputeAsTheCallerDoes) {
  if (WithoutDenormals(0) == 0) GTEST_SKIP() << "no control register here";
  ThreadPool pool;
  const auto differing = [&] {
    const std::uint64_t own = FloatControl();
    std::atomic<int> count = 0;
    for (int round = 0; round < 20; ++round)
      pool.For(3, 3000, 1, [&](std::int64_t, std::int64_t) { count += FloatControl() == own ? 0 : 1; });
    return count.load();
  };
  EXPECT_EQ(differing(), 0);
  {
    const FloatControlScope scope(WithoutDenormals(FloatControl()));
    EXPECT_EQ(differing(), 0);
  }
  EXPECT_EQ(differing(), 0);
}

}  // namespace
}  // namespace sardonyx::runtime
