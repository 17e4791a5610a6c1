// runtime/packing_test.cpp - constant weights of every operator that packs them are packed on the session's threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "ir/text.h"
#include "runtime/build.h"
#include "runtime/program.h"
#include "tensor/dropped_bytes.h"
#include "testing/environment.h"

namespace sardonyx::runtime {
namespace {

// Takes the pieces from the last to the first, and counts them.
class Backwards final : public Parallel {
 public:
  void For(std::int64_t count, std::int64_t grain, Body body) override {
    for (std::int64_t end = count; end > 0; end -= std::min(end, grain), ++pieces) body(std::max(end - grain, {}), end);
  }
  int ThreadCount() const override { return 3; }
  int pieces = 0;
};

TEST(Packing, TakesTheThreadsThatItIsGiven) {
  constexpr std::string_view kByte = "w = ConstantOfShape<value = uint8 {3}>(s)";
  constexpr std::string_view kFloat = "w = ConstantOfShape<value = float {0.5}>(s)";
  constexpr std::string_view kHalf = "h = ConstantOfShape<value = float {0.5}>(s) w = Cast<to = 10>(h)";
  struct Row {
    std::string_view shape, weights, input, node;
  };
  const Row rows[] = {
      {"128, 128", kFloat, "float[n,128]", "y = MatMul(x, w)"},
      {"128, 128", kHalf, "float16[n,128]", "y = MatMul(x, w)"},
      {"128, 128", kFloat, "float[n,128]", "y = Gemm(x, w)"},
      {"128, 128", kByte, "uint8[n,128]", "y = MatMulInteger(x, w)"},
      {"64, 64, 3, 3", kFloat, "float[n,64,8,8]", "y = Conv(x, w)"},
      {"64, 64, 3, 3", kFloat, "float[n,64,8,8]", "y = ConvTranspose(x, w)"},
      {"64, 64, 3, 3", kByte, "uint8[n,64,8,8]", "y = QLinearConv(x, one, zero, w, one, zero, one, zero)"},
      {"1, 256, 64", kFloat, "float[n,b,64]", "y = LSTM<hidden_size = 64>(x, w, w)"},
      {"128, 4, 16", kByte, "float[n,128]",
       "scales = ConstantOfShape<value = float {0.5}>(t) "
       "y = com.microsoft.MatMulNBits<K = 128, N = 128, block_size = 32, bits = 4>(x, w, scales)"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.node);
    const std::int64_t rank = 1 + std::count(row.shape.begin(), row.shape.end(), ',');
    std::string text = "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]> g (";
    text.append(row.input).append(" x) => (y) <int64[").append(std::to_string(rank)).append("] s = {");
    text.append(row.shape).append("}, int64[1] t = {512}, float one = {1.0}, uint8 zero = {0}> { ");
    text.append(row.weights).append(" ").append(row.node).append(" }");
    const auto& environment = testing::TestEnvironment();
    auto set = std::make_shared<providers::ProviderSet>(MakeProviders(*environment, {}, Logger()));
    Graph graph = BuildGraph(*environment, ParseModel(text), {}, *set, Logger());
    Backwards parallel;
    const Program program(std::move(graph), environment->registry(), set, parallel);
    int gone = 0;
    for (const planner::SlotInfo& slot : program.slots())
      gone += slot.constant != nullptr && !HasData(*slot.constant) ? 1 : 0;
    EXPECT_GT(gone, 0) << "nothing was packed";
    EXPECT_GT(parallel.pieces, 0);
  }
}

}  // namespace
}  // namespace sardonyx::runtime
