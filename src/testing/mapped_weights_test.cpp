// testing/mapped_weights_test.cpp - weights of a mapped file, whose pages kernels give back while they pack, give the
// bits of weights in memory, also to a second reader.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/text.h"
#include "model/save.h"
#include "runtime/session.h"
#include "testing/environment.h"
#include "testing/random_tensor.h"
#include "testing/tolerance.h"

namespace sardonyx::testing {
namespace {

using runtime::RunOptions;
using runtime::Session;

struct Weight {
  std::string name;
  DType dtype;
  Shape shape;
};

// The graph reads x and the weights, which it declares as inputs, and makes y and z.
void ExpectTheBitsOfWeightsInMemory(const std::string& graph, const std::vector<Weight>& weights, const Shape& x) {
  SCOPED_TRACE(graph);
  RandomTensors random;
  Model model = ParseModel(R"(<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]> )" + graph);
  for (const Weight& weight : weights) {
    const ValueId id = *model.graph.Find(weight.name);
    model.graph.value(id).is_input = false;
    std::erase(model.graph.inputs, id);
    auto initializer = std::make_shared<Initializer>();
    initializer->tensor = random.Uniform(weight.dtype, weight.shape, -0.125, 0.125);
    model.graph.SetInitializer(id, std::move(initializer));
  }
  const auto folder = std::filesystem::temp_directory_path() / "sardonyx_mapped_weights_test";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "model.onnx").string();
  model::SaveFile(model, path, {.external_data_file = "model.data", .external_data_min_bytes = 1024});
  {
    const auto mapped = Session::FromFile(TestEnvironment(), path, {});
    const auto in_memory = Session::FromModel(TestEnvironment(), std::make_shared<Model>(std::move(model)), {});
    const Tensor input = random.Uniform(DType::kFloat, x);
    const auto run = [&](Session& session) { return session.Run(RunOptions(), {{"x", input}}, {"y", "z"}); };
    const std::vector<Value> got = run(*mapped), want = run(*in_memory);
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(SameBits(got[i].tensor(), want[i].tensor())) << "output " << i;
  }
  std::filesystem::remove_all(folder);
}

TEST(MappedWeights, RecurrentLayersReleaseADirectionAtATime) {
  for (const auto& [op, gates] : {std::pair("LSTM", std::int64_t{4}), std::pair("GRU", std::int64_t{3})}) {
    const std::string rows = std::to_string(gates * 40), layer = std::string(op) + "<hidden_size = 40, direction = ";
    ExpectTheBitsOfWeightsInMemory(
        "g (float[s,b,64] x, float[2," + rows + ",64] w, float[2," + rows + ",40] r) => (float[s,d,b,40] y, " +
            "float[s,d,b,40] z) { y = " + layer + "\"bidirectional\">(x, w, r) v = Neg(x) z = " + layer +
            "\"bidirectional\">(v, w, r) }",
        {{"w", DType::kFloat, Shape{2, gates * 40, 64}}, {"r", DType::kFloat, Shape{2, gates * 40, 40}}},
        Shape{5, 2, 64});
  }
}

// Large enough to be packed in several pieces.
TEST(MappedWeights, ProductsReleaseAPieceAtATime) {
  for (const auto& [type, dtype, cast] :
       {std::tuple("float", DType::kFloat, ""), std::tuple("float16", DType::kFloat16, "c = Cast<to = 1>(w) ")}) {
    const std::string weight = dtype == DType::kFloat ? "w" : "c";
    ExpectTheBitsOfWeightsInMemory(
        std::string("g (float[n,1024] x, ") + type + "[2150,1024] w) => (float[n,2150] y, float[n,2150] z) { " + cast +
            "y = Gemm<transB = 1>(x, " + weight + ") v = Neg(x) z = Gemm<transB = 1>(v, " + weight + ") }",
        {{"w", dtype, Shape{2150, 1024}}}, Shape{3, 1024});
  }
}

}  // namespace
}  // namespace sardonyx::testing
