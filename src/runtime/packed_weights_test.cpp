// runtime/packed_weights_test.cpp - sessions with one container pack equal weights once; others stay apart.
#include "runtime/sharing/packed_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ir/text.h"
#include "model/save.h"
#include "runtime/program.h"
#include "runtime/session.h"
#include "testing/environment.h"
#include "testing/random_tensor.h"
#include "testing/tolerance.h"

namespace sardonyx::runtime {
namespace {

using ::sardonyx::testing::RandomTensors;
using ::sardonyx::testing::SameBits;

std::unique_ptr<Session> Open(const std::string& text, std::shared_ptr<PackedWeights> packed, int threads = 1) {
  const std::string bytes = model::SaveBytes(ParseModel(text));
  SessionOptions options;
  options.packed_weights = std::move(packed);
  options.intra_op_threads = threads;
  return Session::FromBytes(testing::TestEnvironment(), std::as_bytes(std::span(bytes)), nullptr, std::move(options));
}

const void* StateOf(const Session& session) {
  const Program& program = session.program();
  for (std::size_t i = 0; i < program.steps().size(); ++i)
    if (program.graph().node(program.steps()[i].node).op_type.find("MatMul") != std::string::npos)
      return program.kernels()[i].prepared.state.get();
  ADD_FAILURE() << "no MatMul in " << session.ProgramText();
  return nullptr;
}

std::string Product(int first, const std::string& after = "y = MatMul(x, w)") {
  std::string weight = std::to_string(first);
  for (int i = 1; i < 64 * 64; ++i) weight += ", " + std::to_string(i % 7 - 3);
  return R"(<ir_version: 10, opset_import: ["" : 21]> product (float[N,64] x) => (float[N,64] y)
<float[64,64] w = {)" +
         weight + "}> { " + after + " }";
}

Tensor Compute(Session& session, const Tensor& x) { return session.Run(RunOptions(), {{"x", x}}, {"y"})[0].tensor(); }

TEST(PackedWeights, OutliveTheSessionThatPackedThem) {
  const auto packed = std::make_shared<PackedWeights>();
  const Tensor x = RandomTensors(1).Uniform(DType::kFloat, Shape{3, 64});
  auto first = Open(Product(1), packed);
  const Tensor y = Compute(*first, x);
  const void* const state = StateOf(*first);
  ASSERT_EQ(packed->size(), 1u);
  first.reset();
  const auto second = Open(Product(1), packed);
  EXPECT_EQ(StateOf(*second), state);
  EXPECT_EQ(packed->size(), 1u);
  EXPECT_TRUE(SameBits(Compute(*second, x), y));
}

TEST(PackedWeights, ServeAnotherModelWithTheSameWeight) {
  const auto packed = std::make_shared<PackedWeights>();
  const auto first = Open(Product(1), packed);
  const auto second = Open(Product(1, "p = MatMul(x, w) y = Sin(p)"), packed);
  EXPECT_EQ(StateOf(*second), StateOf(*first));
  const Tensor x = RandomTensors(2).Uniform(DType::kFloat, Shape{5, 64});
  EXPECT_TRUE(SameBits(Compute(*second, x), Compute(*Open(Product(1, "p = MatMul(x, w) y = Sin(p)"), nullptr), x)));
}

TEST(PackedWeights, DoNotServeOtherContentsOrOtherContainers) {
  const auto packed = std::make_shared<PackedWeights>();
  const auto first = Open(Product(1), packed), other = Open(Product(2), packed);
  EXPECT_NE(StateOf(*other), StateOf(*first));
  EXPECT_EQ(packed->size(), 2u);
  const auto apart = Open(Product(1), std::make_shared<PackedWeights>());
  EXPECT_NE(StateOf(*apart), StateOf(*first));
  const Tensor x = RandomTensors(3).Uniform(DType::kFloat, Shape{2, 64});
  EXPECT_TRUE(SameBits(Compute(*other, x), Compute(*Open(Product(2), nullptr), x)));
  EXPECT_FALSE(SameBits(Compute(*other, x), Compute(*first, x)));
}

TEST(PackedWeights, DigestsDifferInEveryByteAndInLength) {
  std::vector<std::byte> bytes(100);
  std::vector<std::array<std::uint64_t, 2>> seen = {DigestOf(bytes)};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = std::byte{1};
    seen.push_back(DigestOf(bytes));
    bytes[i] = std::byte{0};
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) seen.push_back(DigestOf(std::span(bytes).first(size)));
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(DigestOf(bytes), DigestOf(bytes));
}

}  // namespace
}  // namespace sardonyx::runtime
