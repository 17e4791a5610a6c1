// optimizer/every_activation_test.cpp - every row of the table of activations is fused behind products and convolutions
// and into groups of elementwise nodes, and is saved. A new row needs no line here if its operator has the name of the
// row.
#include <algorithm>
#include <map>

#include "ops/activation.h"
#include "ops/channels_last.h"
#include "ops/own_domain.h"
#include "testing/pass_test.h"
#include "testing/random_tensor.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::GraphOf;
using ::sardonyx::testing::Operators;
using ::sardonyx::testing::RandomTensors;
using ::sardonyx::testing::RunPipeline;

// How an author writes the activation of m.
std::string Written(std::string_view name) {
  const std::map<std::string_view, std::string> otherwise = {
      {"Clip", "Clip(m, low, high)"},
      {"Gelu", "Gelu(m)"},
      {"GeluTanh", "Gelu<approximate = \"tanh\">(m)"},
      {"QuickGelu", "com.microsoft.QuickGelu(m)"},
      {"Silu", "Swish(m)"},
  };
  const auto found = otherwise.find(name);
  return found != otherwise.end() ? found->second : std::string(name) + "(m)";
}

struct Place {
  Shape x;
  std::string y, weights;  // shapes
  std::string nodes;       // make m from x and w
  std::string wanted;      // the operator that is left
  Level level = Level::kExtended;
};

const std::vector<Place> kProducts = {
    {Shape{3, 6}, "3,37", "6,37", "m = MatMul(x, w)", "FusedMatMul"},
    {Shape{2, 3, 6}, "2,3,37", "6,37", "m = MatMul(x, w)", "FusedMatMul"},
    {Shape{5, 6}, "5,33", "6,33", "m = Gemm(x, w)", "FusedGemm"},
};
const std::vector<Place> kConvs = {
    {Shape{1, 6, 5, 7}, "1,9,5,7", "9,6,1,1", "m = Conv(x, w)", "FusedConv"},
    {Shape{1, 32, 14, 14}, "1,32,12,12", "32,32,3,3", "m = Conv(x, w)", "FusedConv"},  // Winograd's algorithm
    {Shape{1, 19, 9, 9}, "1,19,7,7", "19,1,3,3", "m = Conv<group = 19>(x, w)", "FusedConv"},
    {Shape{1, 2, 9}, "1,3,8", "3,2,2", "m = Conv(x, w)", "FusedConv"},
    {Shape{1, 32, 14, 14}, "1,32,12,12", "32,32,3,3", "c = Conv<pads = [1, 1, 1, 1]>(x, w) m = Conv(c, w)", "FusedConv",
     Level::kLayout},
};

// The graph as the author wrote it, and as it is left.
struct Graphs {
  Graph plain, fused;
};
Graphs Optimized(const Place& place, std::string_view activation, const ops::Registry& registry) {
  const std::string dims = ToText(Dims(place.x));
  const std::string text = "g (float" + dims + " x) => (float[" + place.y + "] y) <int64[" +
                           std::to_string(1 + std::count(place.weights.begin(), place.weights.end(), ',')) + "] s = {" +
                           place.weights + "}, float low = {-0.25}, float high = {0.75}> {" +
                           "w = ConstantOfShape<value = float {0.03125}>(s) " + place.nodes +
                           " y = " + Written(activation) + " }";
  Graphs graphs{GraphOf(text, registry), GraphOf(text, registry)};
  OptimizeOptions off, options;
  off.level = Level::kDisable;
  options.level = place.level;
  RunPipeline(graphs.plain, registry, off);
  RunPipeline(graphs.fused, registry, options);
  return graphs;
}

// The node that has the activation, or nullptr. Fails unless both graphs compute the same.
const Node* Fused(const Place& place, std::string_view activation, Graphs& graphs, const ops::Registry& registry) {
  RandomTensors random;
  ExpectSameValues(graphs.fused, graphs.plain, registry, {random.Uniform(DType::kFloat, place.x, -2, 2)});
  for (const NodeId id : graphs.fused.order) {
    const Node& node = graphs.fused.node(id);
    const AttributeValue* value = node.FindAttribute("activation");
    if (value == nullptr) continue;
    EXPECT_EQ(std::get<std::string>(*value), activation);
    EXPECT_EQ(node.op_type, place.wanted);
    return &node;
  }
  return nullptr;
}

TEST(EveryActivation, IsFusedIntoEveryProduct) {
  const ops::Registry registry;
  for (const ops::ActivationDef& row : ops::Activations())
    for (const Place& place : kProducts) {
      SCOPED_TRACE(place.nodes + " " + std::string(row.name));
      Graphs graphs = Optimized(place, row.name, registry);
      EXPECT_NE(Fused(place, row.name, graphs, registry), nullptr) << Operators(graphs.fused);
      EXPECT_EQ(graphs.fused.order.size(), 1u) << Operators(graphs.fused);
    }
}

TEST(EveryActivation, IsFusedIntoEveryConvolutionThatTakesIt) {
  const ops::Registry registry;
  for (const ops::ActivationDef& row : ops::Activations())
    for (const Place& place : kConvs) {
      SCOPED_TRACE(place.nodes + " " + std::string(row.name));
      Graphs graphs = Optimized(place, row.name, registry);
      const Node* node = Fused(place, row.name, graphs, registry);
      EXPECT_EQ(node != nullptr, row.in_convs) << Operators(graphs.fused);
      if (place.level == Level::kLayout && node != nullptr) {
        EXPECT_EQ(node->domain, ops::kChannelsLastDomain);
      }
    }
}

TEST(EveryActivation, IsAStepOfAnElementwiseGroup) {
  const ops::Registry registry;
  const Place place = {Shape{2, 300}, "2,300", "1", "a = Mul(x, x) m = Sub(a, x)", "FusedElementwise"};
  for (const ops::ActivationDef& row : ops::Activations()) {
    SCOPED_TRACE(row.name);
    const Graphs graphs = Optimized(place, row.name, registry);
    EXPECT_EQ(Operators(graphs.fused), place.wanted);
    RandomTensors random;
    ExpectSameValues(graphs.fused, graphs.plain, registry, {random.Uniform(DType::kFloat, place.x, -2, 2)});
  }
}

// In com.microsoft what ONNX Runtime's operator has, else in our own domain; loading brings it back.
TEST(EveryActivation, IsSavedWhereTheTableSays) {
  const ops::Registry registry;
  for (const ops::ActivationDef& row : ops::Activations())
    for (const Place& place : {kProducts[2], kConvs[0]}) {
      const bool is_conv = place.wanted == "FusedConv";
      if (is_conv && !row.in_convs) continue;
      SCOPED_TRACE(place.nodes + " " + std::string(row.name));
      Graphs graphs = Optimized(place, row.name, registry);
      ops::ToOwnDomain(graphs.fused);
      Node& node = graphs.fused.node(graphs.fused.order.back());
      EXPECT_EQ(node.domain, (is_conv ? row.conv_of_ort : row.gemm_of_ort) ? "com.microsoft" : ops::kOwnDomain);
      ops::FromOwnDomain(node);
      EXPECT_NE(Fused(place, row.name, graphs, registry), nullptr);
    }
}

}  // namespace
}  // namespace sardonyx::optimizer
