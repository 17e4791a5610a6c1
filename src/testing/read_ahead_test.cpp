// testing/read_ahead_test.cpp - each kernel with weights knows those of its successor, and workers that bring them into
// their caches change nothing.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ir/text.h"
#include "runtime/program.h"
#include "runtime/session.h"
#include "testing/environment.h"
#include "testing/random_tensor.h"
#include "testing/tolerance.h"

namespace sardonyx::testing {
namespace {

using runtime::Kernel;
using runtime::Program;
using runtime::RunOptions;
using runtime::Session;
using runtime::SessionOptions;

constexpr std::int64_t kWidth = 128;

// Products in a row, in both branches of an If, in a Loop, and one whose weights are few.
std::unique_ptr<Session> Open(int threads, int branches = 1) {
  std::string weights;
  for (const char* name : {"a", "b", "c", "d", "e"}) weights += std::string(", float[128,128] ") + name;
  Model model = ParseModel(R"(<ir_version: 10, opset_import: ["" : 21]>
g (float[n,128] x, bool left, int64 trips)" +
                           weights +
                           R"(, float[128,2] few) => (float[n,128] y, float[n,2] z) {
  p = MatMul(x, a)
  q = Tanh(p)
  z = MatMul(q, few)
  r = MatMul(q, b)
  s = If<then_branch = t () => (float[n,128] u) { m = MatMul(r, c) u = Tanh(m) },
         else_branch = o () => (float[n,128] v) { k = MatMul(r, d) v = Sin(k) }>(left)
  y = Loop<body = step (int64 i, bool go, float[n,128] in) => (bool more, float[n,128] out) {
    more = Identity(go)
    h = MatMul(in, e)
    out = Tanh(h)
  }>(trips, , s)
})");
  RandomTensors random(3);
  for (const char* name : {"a", "b", "c", "d", "e", "few"}) {
    const ValueId id = *model.graph.Find(name);
    model.graph.value(id).is_input = false;
    std::erase(model.graph.inputs, id);
    auto initializer = std::make_shared<Initializer>();
    initializer->tensor =
        random.Uniform(DType::kFloat, Shape{kWidth, name == std::string("few") ? 2 : kWidth}, -0.2, 0.2);
    model.graph.SetInitializer(id, std::move(initializer));
  }
  SessionOptions options;
  options.intra_op_threads = threads;
  if (branches > 1) options.execution_mode = runtime::ExecutionMode::kParallel;
  options.inter_op_threads = branches;
  return Session::FromModel(TestEnvironment(), std::make_shared<Model>(std::move(model)), std::move(options));
}

std::vector<const Kernel*> WithWeights(const Program& program) {
  std::vector<const Kernel*> kernels;
  for (const Kernel& kernel : program.kernels())
    if (kernel.weights.defined()) kernels.push_back(&kernel);
  return kernels;
}

void ExpectAhead(const Kernel& kernel, const Kernel& next) {
  EXPECT_EQ(static_cast<const void*>(kernel.ahead.data()), next.weights.raw());
  EXPECT_EQ(kernel.ahead.size(), next.weights.byte_size());
}

TEST(ReadAhead, AKernelKnowsTheWeightsOfTheNextOneThatHasMany) {
  const auto session = Open(2);
  const std::vector<const Kernel*> kernels = WithWeights(session->program());
  ASSERT_EQ(kernels.size(), 2u);
  for (const Kernel* kernel : kernels) EXPECT_GE(kernel->weights.byte_size(), std::size_t{kWidth * kWidth * 4});
  ExpectAhead(*kernels[0], *kernels[1]);
  ExpectAhead(*kernels[1], *kernels[0]);  // of the next run
  int bodies = 0;
  for (const Kernel& kernel : session->program().kernels()) {
    for (const auto& body : kernel.bodies) {
      const std::vector<const Kernel*> inner = WithWeights(*body);
      ASSERT_EQ(inner.size(), 1u);
      ExpectAhead(*inner[0], *inner[0]);  // of the next iteration
      ++bodies;
    }
  }
  EXPECT_EQ(bodies, 3);
}

TEST(ReadAhead, SessionsOfTheSameModelKnowTheWeightsThatTheyShare) {
  const auto first = Open(2);
  const auto second = Open(2);
  const std::vector<const Kernel*> kernels = WithWeights(first->program()), others = WithWeights(second->program());
  ASSERT_EQ(kernels.size(), others.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) EXPECT_EQ(kernels[i]->ahead.data(), others[i]->ahead.data());
}

struct Case {
  std::vector<std::pair<std::string, Value>> inputs;
  std::vector<Value> outputs;
};

TEST(ReadAhead, RunsOfSeveralSessionsAtOnceHaveTheBitsOfOneThread) {
  RandomTensors random;
  std::vector<Case> cases;
  const auto alone = Open(1);
  for (int i = 0; i < 24; ++i) {
    Case& one = cases.emplace_back();
    Tensor left(DType::kBool, Shape{}), trips(DType::kInt64, Shape{});
    *left.data<bool>() = i % 2 == 0;
    *trips.data<std::int64_t>() = random.Integer(0, 4);
    one.inputs = {{"x", random.Uniform(DType::kFloat, Shape{i % 3 == 0 ? 1 : random.Integer(0, 20), kWidth})},
                  {"left", left},
                  {"trips", trips}};
    one.outputs = alone->Run(RunOptions(), one.inputs, {"y", "z"});
  }
  const auto run = [&cases](Session& session, std::size_t first) {
    for (std::size_t i = 0; i < 5 * cases.size(); ++i) {
      const Case& one = cases[(first + i) % cases.size()];
      const std::vector<Value> got = session.Run(RunOptions(), one.inputs, {"y", "z"});
      for (std::size_t k = 0; k < got.size(); ++k)
        ASSERT_TRUE(SameBits(got[k].tensor(), one.outputs[k].tensor())) << "case " << i << " output " << k;
    }
  };
  const auto three = Open(3), branches = Open(2, 3);
  run(*three, 0);
  run(*branches, 0);
  std::vector<std::thread> callers;
  for (std::size_t i = 0; i < 4; ++i)
    callers.emplace_back([&, i] {
      const auto own = Open(2);  // its weights go while others run
      run(i % 2 == 0 ? *three : *branches, i);
      run(*own, i);
    });
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace sardonyx::testing
