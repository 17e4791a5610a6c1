// testing/quantized_graph.h - what the tests of the quantization passes share: running a pass on a graph's text,
// comparing values before and after in quanta, and listing the operators that are left.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "ops/upgrade.h"
#include "optimizer/passes/passes.h"
#include "optimizer/pipeline.h"
#include "optimizer/rules/rewrite.h"
#include "testing/prepared_graph.h"

namespace sardonyx::testing {

// Random floats for every input of a graph, in its static shapes, from -range to range.
inline std::vector<Value> RandomInputs(const Graph& graph, float range) {
  std::vector<Value> inputs;
  std::uint32_t state = 12345;
  for (const ValueId id : graph.inputs) {
    const Type& type = graph.value(id).type;
    Tensor tensor(type.dtype, type.StaticShape());
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      state = state * 1664525 + 1013904223;
      const float unit = static_cast<float>(state >> 8) / static_cast<float>(1 << 24);
      if (type.dtype == DType::kFloat) tensor.data<float>()[i] = (2 * unit - 1) * range;
      if (type.dtype == DType::kInt64) tensor.data<std::int64_t>()[i] = static_cast<std::int64_t>(unit * 3);
      if (type.dtype == DType::kBool) tensor.data<bool>()[i] = unit < 0.5f;
      if (type.dtype == DType::kUInt8 || type.dtype == DType::kInt8)
        static_cast<std::uint8_t*>(tensor.raw())[i] = static_cast<std::uint8_t>(state >> 24);
    }
    inputs.emplace_back(std::move(tensor));
  }
  return inputs;
}

// The largest difference of the outputs of two graphs; integers count as numbers.
inline double LargestDifference(const Graph& a, const Graph& b, const ops::Registry& registry,
                                const std::vector<Value>& inputs) {
  const std::vector<Value> x = ops::EvaluateGraph(a, registry, inputs), y = ops::EvaluateGraph(b, registry, inputs);
  double largest = x.size() == y.size() ? 0 : HUGE_VAL;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    const Tensor &p = x[i].tensor(), &q = y[i].tensor();
    if (p.dtype() != q.dtype() || p.shape() != q.shape()) return HUGE_VAL;
    VisitDType<float, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int64_t>(
        p.dtype(), [&]<typename T>() {
          for (std::int64_t k = 0; k < p.count(); ++k) {
            const double difference =
                std::abs(static_cast<double>(p.data<T>()[k]) - static_cast<double>(q.data<T>()[k]));
            if (!(difference <= largest)) largest = difference;
          }
        });
  }
  return largest;
}

// The graph of `text` after the passes; its values may move by `quantum` (0: not at all).
struct PassedGraph {
  const ops::Registry registry;
  Graph graph;

  PassedGraph(std::string_view text, std::initializer_list<const optimizer::Pass*> passes, double quantum = 0,
              std::int64_t opset = 21, float range = 3) {
    Model model;
    model.graph = ParseGraph(text);
    model.graph.opset_imports = {{"", opset}, {"com.microsoft", 1}, {"ai.sardonyx", 1}};
    ops::ResolveVersions(model.graph, registry, model);
    ops::Infer(model.graph, registry);
    ops::Upgrade(model.graph, registry);
    graph = std::move(model.graph);
    const Graph before = graph;
    optimizer::PassContext context{registry};
    for (const optimizer::Pass* pass : passes) optimizer::RunVerified(*pass, graph, context);
    ops::Infer(graph, registry);
    optimizer::RunVerified(optimizer::kEliminateDeadNodes, graph, context);
    EXPECT_LE(LargestDifference(before, graph, registry, RandomInputs(before, range)), quantum * 1.0001) << Text();
  }
  std::string Text() const { return ToText(graph); }
  // "QuantizeLinear QLinearConv DequantizeLinear", in order.
  std::string Operators() const {
    std::string names;
    for (const NodeId id : graph.order) names += (names.empty() ? "" : " ") + graph.node(id).op_type;
    return names;
  }
};

}  // namespace sardonyx::testing
