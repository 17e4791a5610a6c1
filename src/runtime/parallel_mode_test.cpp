// runtime/parallel_mode_test.cpp - independent branches that run at once: the same bits, no shared memory, errors,
// nesting.
#include <gtest/gtest.h>

#include <atomic>
#include <random>

#include "ir/text.h"
#include "runtime/program.h"
#include "runtime/session.h"
#include "testing/environment.h"
#include "testing/random_tensor.h"
#include "testing/tolerance.h"

namespace sardonyx::runtime {
namespace {

using ::sardonyx::testing::RandomTensors;
using ::sardonyx::testing::SameBits;

std::unique_ptr<Session> Make(const std::string& graph, ExecutionMode mode, int branches = 4) {
  SessionOptions options;
  options.intra_op_threads = 2;
  options.inter_op_threads = branches;
  options.execution_mode = mode;
  options.optimization_level = OptimizationLevel::kDisable;
  auto model = std::make_shared<Model>(ParseModel("<ir_version: 10, opset_import: [\"\": 21]>\n" + graph));
  return Session::FromModel(testing::TestEnvironment(), std::move(model), std::move(options));
}

// Up to `count` values of [256, 256] made of one another at random; all that nobody reads are outputs.
std::string RandomGraph(std::mt19937& random, int count, std::vector<std::string>* outputs) {
  static const char* const one[] = {"Relu",    "Tanh",    "Neg", "Sigmoid", "Transpose<perm = [1, 0]>",
                                    "Flatten", "Identity"};
  static const char* const two[] = {"Add", "Sub", "Max", "MatMul"};
  std::string body;
  std::vector<bool> read(static_cast<std::size_t>(count) + 1, false);
  const auto pick = [&](int below) {
    const int value = static_cast<int>(random() % static_cast<unsigned>(below));
    read[static_cast<std::size_t>(value)] = true;
    return "v" + std::to_string(value);
  };
  for (int i = 1; i <= count; ++i) {
    body += "  v" + std::to_string(i) + " = ";
    const std::string first = pick(random() % 3 == 0 ? std::min(i, 2) : i);
    if (random() % 2 == 0) {
      body += std::string(one[random() % 7]) + "(" + first + ")\n";
    } else {
      body += std::string(two[random() % 4]) + "(" + first + ", " + pick(i) + ")\n";
    }
  }
  std::string heads;
  for (int i = 1; i <= count; ++i) {
    if (read[static_cast<std::size_t>(i)]) continue;
    outputs->push_back("v" + std::to_string(i));
    heads += (heads.empty() ? "float[M,M] " : ", float[M,M] ") + outputs->back();
  }
  return "g (float[M,M] v0) => (" + heads + ") {\n" + body + "}";
}

TEST(ParallelMode, RandomGraphsGiveTheBitsOfSequentialMode) {
  std::mt19937 random(5);
  RandomTensors tensors(9);
  for (int round = 0; round < 12; ++round) {
    std::vector<std::string> outputs;
    const std::string graph = RandomGraph(random, 30, &outputs);
    const auto parallel = Make(graph, ExecutionMode::kParallel), sequential = Make(graph, ExecutionMode::kSequential);
    for (const std::int64_t m : {256, 200}) {
      const Tensor x = tensors.Uniform(DType::kFloat, Shape{m, m});
      const auto want = sequential->Run(RunOptions(), {{"v0", x}}, outputs);
      for (int again = 0; again < 3; ++again) {
        const auto got = parallel->Run(RunOptions(), {{"v0", x}}, outputs);
        for (std::size_t k = 0; k < outputs.size(); ++k)
          ASSERT_TRUE(SameBits(got[k].tensor(), want[k].tensor())) << outputs[k] << " of round " << round << "\n"
                                                                   << graph;
      }
    }
  }
}

TEST(ParallelMode, ABodyOfABranchMayBranchItself) {
  const std::string graph = R"(g (float[M,M] x, bool c) => (float[M,M] y) {
    a = Tanh(x)
    b = If<then_branch = t () => (float[M,M] o) { p = MatMul(x, x) q = Exp(x) o = Add(p, q) },
           else_branch = e () => (float[M,M] o) { o = Neg(x) }>(c)
    y = Add(a, b)
  })";
  const Tensor x = RandomTensors(4).Uniform(DType::kFloat, Shape{300, 300});
  for (const bool condition : {true, false}) {
    const auto run = [&](ExecutionMode mode) {
      return Make(graph, mode)->Run(RunOptions(), {{"x", x}, {"c", Tensor::Scalar(condition)}}, {"y"})[0];
    };
    EXPECT_TRUE(SameBits(run(ExecutionMode::kParallel).tensor(), run(ExecutionMode::kSequential).tensor()));
  }
}

TEST(ParallelMode, AnErrorOfOneBranchIsTheRunsErrorAndTheNextRunWorks) {
  const auto session = Make(R"(g (float[M,M] x, int64[K] i) => (float[M,M] y, float[K,M] z) {
    z = Gather(x, i)
    p = Tanh(x)
    y = MatMul(p, x)
  })",
                            ExecutionMode::kParallel);
  const Tensor x = RandomTensors(4).Uniform(DType::kFloat, Shape{256, 256});
  for (int round = 0; round < 5; ++round) {
    try {
      session->Run(RunOptions(), {{"x", x}, {"i", Tensor::Of<std::int64_t>({700}, Shape{1})}}, {"y", "z"});
      ADD_FAILURE() << "expected an error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("[Gather]"), std::string::npos) << error.what();
    }
    const auto found =
        session->Run(RunOptions(), {{"x", x}, {"i", Tensor::Of<std::int64_t>({7}, Shape{1})}}, {"y", "z"});
    EXPECT_EQ(found[1].tensor().data<float>()[0], x.data<float>()[7 * 256]);
  }
}

}  // namespace
}  // namespace sardonyx::runtime
