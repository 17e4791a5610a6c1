// runtime/session_limits_test.cpp - loads and runs that would take too much memory or time fail with an error.
#include "runtime/session_limits.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "model/save.h"
#include "testing/environment.h"

namespace sardonyx::runtime {
namespace {

using testing::TestEnvironment;

std::unique_ptr<Session> SessionOf(const std::string& text, const std::map<std::string, std::string>& config) {
  auto model = std::make_shared<Model>(ParseModel(text));
  SessionOptions options;
  options.config = config;
  options.intra_op_threads = 1;
  return Session::FromModel(TestEnvironment(), std::move(model), std::move(options));
}

template <typename F>
std::string ErrorOf(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + ": " + error.what();
  }
  return "";
}

// What is filled has the size that the caller says.
constexpr const char* kFill = R"(<ir_version: 10, opset_import: ["" : 21]>
g (int64[1] n) => (float[m] y) { y = ConstantOfShape(n) })";
// Counts as long as the caller says.
constexpr const char* kCount = R"(<ir_version: 10, opset_import: ["" : 21]>
g (int64 n, float[2] x) => (float[2] y) {
  y = Loop(n, "", x) <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] z) {
    d = Identity(c)
    z = Add(a, a)
  }>
})";

std::string RunFill(Session& session, std::int64_t elements, const RunOptions& run = {}) {
  return ErrorOf([&] { session.Run(run, {{"n", Tensor::Of<std::int64_t>({elements}, Shape{1})}}, {"y"}); });
}

std::string RunCount(Session& session, std::int64_t trips, const RunOptions& run = {}) {
  return ErrorOf([&] {
    session.Run(run, {{"n", Tensor::Scalar<std::int64_t>(trips)}, {"x", Tensor::Of<float>({1, 1}, Shape{2})}}, {"y"});
  });
}

TEST(SessionLimits, TheMemoryOfARunIsBounded) {
  const auto session = SessionOf(kFill, {{"sardonyx.max_run_memory", "100000"}});
  EXPECT_EQ(RunFill(*session, 1000), "");
  const std::string error = RunFill(*session, 100000);
  EXPECT_EQ(error.substr(0, 2), "1:") << error;
  EXPECT_NE(error.find("expected at most 100000 bytes (sardonyx.max_run_memory)"), std::string::npos) << error;
  EXPECT_NE(error.find("400000 more requested"), std::string::npos) << error;
  EXPECT_NE(RunFill(*session, std::int64_t{1} << 50), "") << "a size that no machine has";
  EXPECT_EQ(RunFill(*session, 1000), "") << "the session is as before";
}

TEST(SessionLimits, MemoryKeptFromAnEarlierRunCounts) {
  const auto session = SessionOf(kFill, {});
  EXPECT_EQ(RunFill(*session, 100000), "");
  RunOptions run;
  run.config["sardonyx.max_run_memory"] = "100000";
  for (int i = 0; i < 3; ++i) EXPECT_NE(RunFill(*session, 100000, run), "");
}

// Two values of a run live at once; those that grow have more room than they need, but only where it may be had.
constexpr const char* kGrow = R"(<ir_version: 10, opset_import: ["" : 21]>
g (float[n,256] x, float[256,256] w) => (float y) <int64[2] all = {0, 1}> {
  a = MatMul(x, w)
  b = MatMul(a, w)
  c = MatMul(b, w)
  y = ReduceSum<keepdims = 0>(c, all)
})";

TEST(SessionLimits, RoomForValuesThatGrowIsNoReasonToFail) {
  const auto run = [&](Session& session, std::int64_t rows) {
    Tensor x(DType::kFloat, Shape{rows, 256}), w(DType::kFloat, Shape{256, 256});
    std::fill_n(x.data<float>(), x.count(), 1.0f);
    std::fill_n(w.data<float>(), w.count(), 0.5f);
    return ErrorOf([&] { session.Run({}, {{"x", x}, {"w", w}}, {"y"}); });
  };
  // The least limit with which a session runs the largest size at once.
  constexpr std::int64_t kLast = 132;
  const auto fits = [&](std::int64_t limit) {
    return run(*SessionOf(kGrow, {{"sardonyx.max_run_memory", std::to_string(limit)}}), kLast).empty();
  };
  std::int64_t least = 0, enough = 1 << 22;
  ASSERT_TRUE(fits(enough));
  while (least + 1 < enough) (fits((least + enough) / 2) ? enough : least) = (least + enough) / 2;
  const auto session = SessionOf(kGrow, {{"sardonyx.max_run_memory", std::to_string(enough)}});
  for (std::int64_t rows = 100; rows <= kLast; ++rows) EXPECT_EQ(run(*session, rows), "") << rows;
  EXPECT_NE(run(*session, kLast + 1), "");
}

TEST(SessionLimits, TheTimeOfARunIsBounded) {
  const auto session = SessionOf(kCount, {{"sardonyx.run_timeout_ms", "50"}});
  EXPECT_EQ(RunCount(*session, 10), "");
  const auto start = std::chrono::steady_clock::now();
  const std::string error = RunCount(*session, std::int64_t{1} << 40);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(error.substr(0, 2), "1:") << error;
  EXPECT_NE(error.find("expected it to take at most 50 ms (sardonyx.run_timeout_ms)"), std::string::npos) << error;
  RunOptions longer;
  longer.config["sardonyx.run_timeout_ms"] = "0";
  EXPECT_EQ(RunCount(*session, 100, longer), "") << "a run may say otherwise";
}

TEST(SessionLimits, TheMemoryOfALoadIsBounded) {
  Model model = ParseModel(kFill);
  model.graph.AddOutput(model.graph.AddConstant("w", Tensor(DType::kDouble, Shape{10000})));
  const std::string bytes = model::SaveBytes(model);
  const auto load = [&](const std::string& limit) {
    SessionOptions options;
    options.config = {{"sardonyx.max_load_memory", limit}};
    return ErrorOf([&] { Session::FromBytes(TestEnvironment(), std::as_bytes(std::span(bytes)), nullptr, options); });
  };
  EXPECT_EQ(load("1000000"), "");
  EXPECT_EQ(load("0"), "");
  const std::string error = load("79999");
  EXPECT_EQ(error.substr(0, 2), "1:") << error;
  EXPECT_NE(error.find("loading the model needs too much memory: expected at most 79999 bytes "
                       "(sardonyx.max_load_memory), found 0 in use and 80000 more requested"),
            std::string::npos)
      << error;
}

TEST(SessionLimits, TheTimeOfALoadIsBounded) {
  // A thousand nodes take more than a millisecond, and each is a place where the time is looked at.
  std::string text = "<ir_version: 10, opset_import: [\"\" : 21]> g (float[2] x0) => (float[2] x20000) {\n";
  for (int i = 0; i < 20000; ++i) text += "x" + std::to_string(i + 1) + " = Sin(x" + std::to_string(i) + ")\n";
  text += "}";
  const std::string error = ErrorOf([&] { SessionOf(text, {{"sardonyx.load_timeout_ms", "1"}}); });
  EXPECT_NE(
      error.find("12: loading the model was stopped: expected it to take at most 1 ms (sardonyx.load_timeout_ms)"),
      std::string::npos)
      << error;
}

TEST(SessionLimits, AnEntryIsAWholeNumber) {
  for (const std::string value : {"", "ten", "-1", "1 GB", "99999999999999999999"}) {
    EXPECT_EQ(ErrorOf([&] {
                SessionOf(kFill, {{"sardonyx.max_run_memory", value}});
              }),
              "2: config entry 'sardonyx.max_run_memory': expected a whole number of 0 or more, found '" + value + "'");
  }
}

}  // namespace
}  // namespace sardonyx::runtime
