// testing/half_weights_test.cpp - sessions read large weights of float16 as they are: results keep their bits, and no
// model takes the memory of its weights in float.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cpu_info.h"
#include "ir/text.h"
#include "model/save.h"
#include "ops/operands.h"
#include "runtime/program.h"
#include "runtime/session.h"
#include "tensor/dropped_bytes.h"
#include "testing/environment.h"
#include "testing/pass_test.h"
#include "testing/random_tensor.h"
#include "testing/tolerance.h"

namespace sardonyx::testing {
namespace {

using runtime::RunOptions;
using runtime::Session;
using runtime::SessionOptions;

using Constants = std::map<std::string, Tensor>;

// A model whose inputs of these names are constants.
Model ModelOf(const std::string& graph, const Constants& constants) {
  Model model = ParseModel(R"(<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]> )" + graph);
  for (const auto& [name, tensor] : constants) {
    const ValueId id = *model.graph.Find(name);
    model.graph.value(id).is_input = false;
    std::erase(model.graph.inputs, id);
    auto initializer = std::make_shared<Initializer>();
    initializer->tensor = tensor;
    model.graph.SetInitializer(id, std::move(initializer));
  }
  return model;
}

std::unique_ptr<Session> Open(Model model, SessionOptions options = {}) {
  options.intra_op_threads = 2;
  return Session::FromModel(TestEnvironment(), std::make_shared<Model>(std::move(model)), std::move(options));
}

std::vector<Value> Run(Session& session, const Tensor& x) { return session.Run(RunOptions(), {{"x", x}}, {"y", "z"}); }

void ExpectSameBits(Session& got, Session& want, const Tensor& x) {
  const std::vector<Value> a = Run(got, x), b = Run(want, x);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(SameBits(a[i].tensor(), b[i].tensor())) << "output " << i;
}

Tensor Converted(const Tensor& tensor, DType to) {
  Serial serial;
  Tensor converted(to, tensor.shape());
  ops::Convert(tensor.dtype(), tensor.raw(), to, converted.raw(), tensor.count(), serial);
  return converted;
}

Constants Floats(const Constants& halves) {
  Constants floats;
  for (const auto& [name, tensor] : halves) floats[name] = Converted(tensor, DType::kFloat);
  return floats;
}

// Both weights have two readers. `half` is the type of the weights, `to` and `from` convert the other values.
std::string Network(const std::string& type, const std::string& first, const std::string& last) {
  return "g (float16[n,64] x, " + type + "[64,512] u, " + type +
         "[512,64] v) => (float16[n,64] y, float16[n,512] z) {" + first +
         R"( a = MatMul(w, u) b = Relu(a) c = Gemm(b, v) d = Add(c, w) e = MatMul(d, u) f = Tanh(e) p = MatMul(f, v) )" +
         last + "}";
}
std::string HalfNetwork() { return Network("float16", "w = Abs(x)", "y = Neg(p) z = Neg(e)"); }
std::string FloatNetwork() {
  return Network("float", "h = Cast<to = 1>(x) w = Abs(h)",
                 "q = Neg(p) r = Neg(e) y = Cast<to = 10>(q) z = Cast<to = 10>(r)");
}
Constants NetworkWeights(RandomTensors& random) {
  return {{"u", random.Uniform(DType::kFloat16, Shape{64, 512})},
          {"v", random.Uniform(DType::kFloat16, Shape{512, 64}, -0.25, 0.25)}};
}

// Inputs of nodes that are constants of this type.
int CountConstants(const Graph& graph, DType dtype) {
  int count = 0;
  for (const NodeId id : graph.order)
    for (const ValueId input : graph.node(id).inputs)
      count += input != kNoValue && graph.value(input).constant() != nullptr && graph.value(input).type.dtype == dtype;
  return count;
}

std::string NamesOf(const Session& session) { return Operators(session.program().graph()); }

TEST(HalfWeights, ProductsKeepTheirBits) {
  RandomTensors random;
  const Constants weights = NetworkWeights(random);
  const auto half = Open(ModelOf(HalfNetwork(), weights)), wide = Open(ModelOf(FloatNetwork(), Floats(weights)));
  EXPECT_EQ(CountConstants(half->program().graph(), DType::kFloat16), 4) << NamesOf(*half);
  for (const std::int64_t rows : {1, 3, 40})
    ExpectSameBits(*half, *wide, random.Uniform(DType::kFloat16, Shape{rows, 64}));
}

TEST(HalfWeights, APackedWeightIsGoneWhenItsLastReaderHasIt) {
  RandomTensors random;
  const auto session = Open(ModelOf(HalfNetwork(), NetworkWeights(random)));
  const Graph& graph = session->program().graph();
  for (const char* name : {"u", "v"}) EXPECT_FALSE(HasData(*graph.value(*graph.Find(name)).constant())) << name;
}

TEST(HalfWeights, AnotherReaderGetsFloats) {
  RandomTensors random;
  const Constants weights = {{"u", random.Uniform(DType::kFloat16, Shape{512, 64})}};
  const auto network = [](const std::string& type, const std::string& first, const std::string& last) {
    return "g (float16[n,512] x, " + type + "[512,64] u) => (float16[n,64] y, float16[512,64] z) {" + first +
           " b = MatMul(w, u) c = Neg(b) d = Sin(u) e = Neg(d) " + last + "}";
  };
  const auto half = Open(ModelOf(network("float16", "w = Abs(x)", "y = Neg(c) z = Neg(e)"), weights));
  const auto wide = Open(ModelOf(network("float", "h = Cast<to = 1>(x) w = Abs(h)",
                                         "q = Neg(c) r = Neg(e) y = Cast<to = 10>(q) z = Cast<to = 10>(r)"),
                                 Floats(weights)));
  ExpectSameBits(*half, *wide, random.Uniform(DType::kFloat16, Shape{3, 512}));
}

TEST(HalfWeights, EmbeddingsAndAttentionKeepTheirBits) {
  RandomTensors random;
  const auto network = [](const std::string& type, const std::string& last) {
    return "g (int32[b,s] x, " + type + "[700,64] words, " + type + "[512,64] places, " + type + "[64] scale, " + type +
           "[64] shift, " + type + "[64,1536] u, " + type + "[1536] c) => (float16[b,s,512] y, float16[b,s,64] z) {" +
           R"( e, m = com.microsoft.EmbedLayerNormalization(x, "", words, places, "", scale, shift)
               a = com.microsoft.Attention<num_heads = 8>(e, u, c) )" +
           last + "}";
  };
  const Constants weights = {{"words", random.Uniform(DType::kFloat16, Shape{700, 64})},
                             {"places", random.Uniform(DType::kFloat16, Shape{512, 64})},
                             {"scale", random.Uniform(DType::kFloat16, Shape{64})},
                             {"shift", random.Uniform(DType::kFloat16, Shape{64})},
                             {"u", random.Uniform(DType::kFloat16, Shape{64, 1536})},
                             {"c", random.Uniform(DType::kFloat16, Shape{1536})}};
  const auto half = Open(ModelOf(network("float16", "y = Neg(a) z = Neg(e)"), weights));
  const auto wide = Open(
      ModelOf(network("float", "q = Neg(a) r = Neg(e) y = Cast<to = 10>(q) z = Cast<to = 10>(r)"), Floats(weights)));
  EXPECT_EQ(CountConstants(half->program().graph(), DType::kFloat16), 3) << NamesOf(*half);
  Tensor ids(DType::kInt32, Shape{2, 5});
  for (std::int32_t i = 0; i < 10; ++i) ids.data<std::int32_t>()[i] = i * 69;
  ExpectSameBits(*half, *wide, ids);
}

TEST(HalfWeights, FilesOfAllKindsGiveTheSame) {
  RandomTensors random;
  const Constants weights = NetworkWeights(random);
  const Model model = ModelOf(HalfNetwork(), weights);
  const auto want = Open(model);
  const auto folder = std::filesystem::temp_directory_path() / "sardonyx_half_weights_test";
  std::filesystem::create_directories(folder);
  const std::string external = (folder / "external.onnx").string(), optimized = (folder / "optimized.onnx").string();
  model::SaveFile(model, external, {.external_data_file = "external.data", .external_data_min_bytes = 1024});
  SessionOptions saves;
  saves.optimized_model_path = optimized;
  const auto mapped = Session::FromFile(TestEnvironment(), external, saves);
  const auto saved = Session::FromFile(TestEnvironment(), optimized, {});
  std::string bytes;
  SessionOptions compiles;
  compiles.compiled_sink = [&](std::string_view part) { bytes += part; };
  const auto compiling = Open(model, compiles);
  const auto compiled = Session::FromBytes(TestEnvironment(), std::as_bytes(std::span(bytes)), nullptr, {});
  for (Session* session : {mapped.get(), saved.get(), compiling.get(), compiled.get()}) {
    EXPECT_EQ(CountConstants(session->program().graph(), DType::kFloat16), 4) << NamesOf(*session);
    for (const std::int64_t rows : {1, 5})
      ExpectSameBits(*session, *want, random.Uniform(DType::kFloat16, Shape{rows, 64}));
  }
  std::filesystem::remove_all(folder);
}

// Eight weights of 128 KiB are packed as they are: that and one more of them is enough.
TEST(HalfWeights, NoModelTakesTheMemoryOfItsWeightsInFloat) {
  const char* const isa = std::getenv("SDX_MAX_ISA");
  if (!Cpu().avx2 || (isa != nullptr && std::string_view(isa) == "baseline"))
    GTEST_SKIP() << "a CPU that does not convert float16 packs floats";
  RandomTensors random;
  std::string graph = "g (float16[n,256] x0";
  Constants weights;
  for (int i = 0; i < 8; ++i) {
    const std::string name = "w" + std::to_string(i);
    graph += ", float16[256,256] " + name;
    weights[name] = random.Uniform(DType::kFloat16, Shape{256, 256});
  }
  graph += ") => (float16[n,256] x8) {\n";
  for (int i = 0; i < 8; ++i)
    graph += "x" + std::to_string(i + 1) + " = MatMul(x" + std::to_string(i) + ", w" + std::to_string(i) + ")\n";
  graph += "}";
  SessionOptions options;
  options.config["sardonyx.max_load_memory"] = std::to_string(9 * 256 * 256 * 2);
  EXPECT_NO_THROW(Open(ModelOf(graph, weights), options));
}

}  // namespace
}  // namespace sardonyx::testing
