// runtime/program_test.cpp - plans of one program made by several threads.
#include "runtime/program.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "ir/text.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "ops/tensor_ref.h"
#include "runtime/session.h"
#include "testing/environment.h"

namespace sardonyx::runtime {
namespace {

// Where threads wait for each other while they plan.
class Meeting {
 public:
  void Open(int wanted) {
    const std::scoped_lock lock(mutex_);
    wanted_ = wanted, arrived_ = 0, all_came_ = true;
  }
  // Returns when all have come, or after a time in which they would have, had nobody kept them.
  void Wait() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    all_came_ = changed_.wait_for(lock, std::chrono::seconds(20), [&] { return arrived_ >= wanted_; }) && all_came_;
  }
  int arrived() {
    const std::scoped_lock lock(mutex_);
    return arrived_;
  }
  bool all_came() {
    const std::scoped_lock lock(mutex_);
    return all_came_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int wanted_ = 0, arrived_ = 0;
  bool all_came_ = true;
};

Meeting& TheMeeting() {
  static Meeting meeting;
  return meeting;
}

// An operator whose inference with numbers, as a plan asks for it, waits for that of another thread.
void InferTogether(ops::InferContext& c) {
  c.SetOutputType(0, c.InputType(0));
  if (c.InputType(0).HasStaticShape()) TheMeeting().Wait();
}
void RunCopy(ops::KernelContext& c) { std::copy_n(c.Input(0).As<float>(), c.Input(0).count, c.Output(0).As<float>()); }
ops::Prepared PrepareCopy(ops::PrepareContext& /*c*/) { return {RunCopy, nullptr}; }
constexpr ops::OpDef kTogether = {
    .domain = "test", .name = "Together", .since = {1}, .infer = InferTogether, .prepare = PrepareCopy};

std::unique_ptr<Session> OpenMeetingModel() {
  const std::shared_ptr<Environment> environment = testing::EnvironmentWith({});
  const_cast<ops::Registry&>(environment->registry()).AddFirst({&kTogether, 1});
  auto model = std::make_shared<Model>(ParseModel(R"(<ir_version: 10, opset_import: ["" : 21, "test" : 1]>
g (float[n] x) => (float[n] y) { y = test.Together(x) })"));
  return Session::FromModel(environment, std::move(model), {});
}

TEST(Program, TwoCallersWithNewShapesPlanAtTheSameTime) {
  const auto session = OpenMeetingModel();
  TheMeeting().Open(2);
  const auto run = [&](std::int64_t n) {
    const std::vector<Value> outputs = session->Run({}, {{"x", Tensor(DType::kFloat, Shape{n})}}, {"y"});
    EXPECT_EQ(outputs[0].tensor().shape(), (Shape{n}));
  };
  std::thread other([&] { run(3); });
  run(5);
  other.join();
  EXPECT_TRUE(TheMeeting().all_came()) << "one thread planned while the other waited for the program";
  EXPECT_EQ(TheMeeting().arrived(), 2);
  run(3), run(5);  // both plans are there
  EXPECT_EQ(TheMeeting().arrived(), 2);
}

TEST(Program, OfTwoPlansForTheSameShapesOneStays) {
  const auto session = OpenMeetingModel();
  TheMeeting().Open(2);
  const Tensor x(DType::kFloat, Shape{4});
  const auto find = [&] {
    return session->program().FindPlan(std::vector<planner::InputFact>{{ops::RefOf(x), Type(), Value()}});
  };
  std::shared_ptr<const planner::Plan> theirs;
  std::thread other([&] { theirs = find(); });
  const auto ours = find();
  other.join();
  EXPECT_TRUE(TheMeeting().all_came());
  EXPECT_EQ(ours, theirs);
  EXPECT_EQ(find(), ours);
  EXPECT_EQ(TheMeeting().arrived(), 2);
}

// Two threads step through lengths of their own, many more than plans are kept: plans go, and come again in the memory
// of others, while the other thread's runs use theirs.
TEST(Program, PlansThatLeaveTheirMemoryToOthersServeNoRunAnyMore) {
  auto model = std::make_shared<Model>(ParseModel(R"(<ir_version: 10, opset_import: ["" : 21]>
g (float[1,1,4] x, float[1,past,4] cache) => (float[1,total,4] grown, float[1,1,total] scores, int64[3] size) {
  grown = Concat<axis = 1>(cache, x)
  turned = Transpose<perm = [0,2,1]>(grown)
  scores = MatMul(x, turned)
  size = Shape(grown)
})"));
  const auto session = Session::FromModel(testing::EnvironmentWith({}), std::move(model), {});
  const auto walk = [&](std::int64_t first, std::int64_t step) {
    const auto filled = [](std::int64_t rows, float number) {
      Tensor t(DType::kFloat, Shape{1, rows, 4});
      std::fill_n(t.data<float>(), t.count(), number);
      return t;
    };
    for (std::int64_t i = 0; i < 400; ++i) {
      const std::int64_t past = first + i * step % 61;
      const std::vector<Value> outputs =
          session->Run({}, {{"x", filled(1, 2)}, {"cache", filled(past, 3)}}, {"grown", "scores", "size"});
      ASSERT_EQ(outputs[0].tensor().shape(), (Shape{1, past + 1, 4}));
      ASSERT_EQ(outputs[1].tensor().shape(), (Shape{1, 1, past + 1}));
      ASSERT_EQ(outputs[2].tensor().data<std::int64_t>()[1], past + 1);
      for (std::int64_t k = 0; k <= past; ++k)
        ASSERT_EQ(outputs[1].tensor().data<float>()[k], k == past ? 16.0f : 24.0f) << past;
    }
  };
  std::thread other([&] { walk(1, 7); });
  walk(3, 1);
  other.join();
}

}  // namespace
}  // namespace sardonyx::runtime
