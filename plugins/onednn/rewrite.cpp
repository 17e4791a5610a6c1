// plugins/onednn/rewrite.cpp - functions that exporters write as several nodes, as one.
#include "rewrite.h"

#include <algorithm>
#include <cmath>

namespace sardonyx_onednn {
namespace {

class Rewriter {
 public:
  explicit Rewriter(Graph& graph) : graph_(graph), dead_(graph.nodes.size(), false) {}

  void Run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto index = static_cast<int>(i);
      if (dead_[i] || !node(index).domain.empty()) continue;
      const std::string& op = node(index).op_type;
      if (op == "Erf") Gelu(index);
      if (op == "Sigmoid") Swish(index);
      if (op == "Sub") LayerNormalization(index);
    }
    std::vector<Node> kept;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (!dead_[i]) kept.push_back(std::move(graph_.nodes[i]));
    graph_.nodes = std::move(kept);
    graph_.Index();
  }

 private:
  Node& node(int index) { return graph_.nodes[static_cast<std::size_t>(index)]; }
  bool IsOp(int index, std::string_view op) {
    return index >= 0 && !dead_[static_cast<std::size_t>(index)] && node(index).op_type == op &&
           node(index).domain.empty();
  }
  int Maker(int value) const { return value < 0 ? -1 : graph_.producer[static_cast<std::size_t>(value)]; }
  const std::vector<int>& Readers(int value) const { return graph_.consumers[static_cast<std::size_t>(value)]; }
  bool IsInner(int value, std::size_t readers = 1) const {
    return !graph_.is_output[static_cast<std::size_t>(value)] && Readers(value).size() == readers;
  }
  // The only reader of a value that nobody else sees, if it is this operator; else -1.
  int Next(int value, std::string_view op) {
    return IsInner(value) && IsOp(Readers(value)[0], op) ? Readers(value)[0] : -1;
  }
  // The other input of a node with two.
  int Other(int index, int value) { return node(index).inputs[node(index).inputs[0] == value ? 1 : 0]; }
  std::optional<float> Number(int value) const {
    const Constant* constant = graph_.ConstantOf(value);
    if (constant == nullptr || constant->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || constant->count() != 1)
      return std::nullopt;
    return static_cast<float>(constant->Numbers()[0]);
  }
  bool IsNumber(int value, double wanted) const {
    const std::optional<float> found = Number(value);
    return found && std::abs(*found - wanted) <= 1e-6 * std::abs(wanted);
  }

  // The node at `last` becomes the function of these inputs; the others go.
  void Replace(const std::vector<int>& nodes, int last, const std::string& op, int since, std::vector<int> inputs) {
    Node& result = node(last);
    std::vector<const OrtNode*> sources;
    for (const int each : nodes) {
      sources.insert(sources.end(), node(each).sources.begin(), node(each).sources.end());
      if (each != last) dead_[static_cast<std::size_t>(each)] = true;
    }
    result.sources = std::move(sources);
    result.op_type = op;
    result.since = since;
    result.inputs = std::move(inputs);
    result.attributes.clear();
  }

  // x * 0.5 * (1 + Erf(x / sqrt(2))), the factors in any order.
  void Gelu(int erf) {
    const int before = Maker(node(erf).inputs[0]);
    const bool divided = IsOp(before, "Div") && IsNumber(node(before).inputs[1], std::sqrt(2.0));
    const bool scaled = IsOp(before, "Mul") && (IsNumber(node(before).inputs[0], std::sqrt(0.5)) ||
                                                IsNumber(node(before).inputs[1], std::sqrt(0.5)));
    if ((!divided && !scaled) || !IsInner(node(erf).inputs[0])) return;
    const int x =
        divided || IsNumber(node(before).inputs[1], std::sqrt(0.5)) ? node(before).inputs[0] : node(before).inputs[1];
    const int sum = Next(node(erf).outputs[0], "Add");
    if (sum < 0 || !IsNumber(Other(sum, node(erf).outputs[0]), 1)) return;
    const int first = Next(node(sum).outputs[0], "Mul");
    if (first < 0) return;
    const int factor = Other(first, node(sum).outputs[0]);
    if (factor == x) {  // x * (1 + erf), then half of it
      const int half = Next(node(first).outputs[0], "Mul");
      if (half >= 0 && IsNumber(Other(half, node(first).outputs[0]), 0.5))
        Replace({before, erf, sum, first, half}, half, "Gelu", 20, {x});
      return;
    }
    if (IsNumber(factor, 0.5)) {  // half of (1 + erf), then times x
      const int product = Next(node(first).outputs[0], "Mul");
      if (product >= 0 && Other(product, node(first).outputs[0]) == x)
        Replace({before, erf, sum, first, product}, product, "Gelu", 20, {x});
      return;
    }
    const int half = Maker(factor);  // half of x times (1 + erf)
    if (IsOp(half, "Mul") && IsInner(factor) &&
        ((node(half).inputs[0] == x && IsNumber(node(half).inputs[1], 0.5)) ||
         (node(half).inputs[1] == x && IsNumber(node(half).inputs[0], 0.5))))
      Replace({before, erf, sum, half, first}, first, "Gelu", 20, {x});
  }

  void Swish(int sigmoid) {
    const int x = node(sigmoid).inputs[0];
    const int product = Next(node(sigmoid).outputs[0], "Mul");
    if (product >= 0 && Other(product, node(sigmoid).outputs[0]) == x)
      Replace({sigmoid, product}, product, "Swish", 24, {x});
  }

  // True for the mean along the last axis, with the axis kept.
  bool IsMean(int index) {
    if (!IsOp(index, "ReduceMean") || node(index).Int("keepdims", 1) != 1) return false;
    const Value& input = graph_.at(node(index).inputs[0]);
    Dims axes = node(index).Ints("axes", {});
    if (const Constant* constant = graph_.ConstantOf(node(index).Input(1)))
      for (const double axis : constant->Numbers()) axes.push_back(static_cast<std::int64_t>(axis));
    return axes.size() == 1 && input.has_shape &&
           (axes[0] == -1 || axes[0] + 1 == static_cast<std::int64_t>(input.dims.size()));
  }

  // A vector as long as the last axis of `like`.
  bool IsVector(int value, int like) const {
    const Constant* constant = graph_.ConstantOf(value);
    const Value& input = graph_.at(like);
    return constant != nullptr && constant->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT && constant->dims.size() == 1 &&
           input.has_shape && !input.dims.empty() && input.dims.back() == constant->dims[0];
  }

  // (x - mean) / Sqrt(mean of its square + epsilon) * scale + shift.
  void LayerNormalization(int sub) {
    const int x = node(sub).inputs[0], mean = Maker(node(sub).inputs[1]);
    if (!IsMean(mean) || node(mean).inputs[0] != x || !IsInner(node(sub).inputs[1])) return;
    const int centered = node(sub).outputs[0];
    if (!IsInner(centered, 2)) return;
    int square = Readers(centered)[0], quotient = Readers(centered)[1];
    if (!IsOp(square, "Pow")) std::swap(square, quotient);
    if (!IsOp(square, "Pow") || !IsOp(quotient, "Div") || node(quotient).inputs[0] != centered) return;
    if (node(square).inputs[0] != centered || !IsNumber(node(square).inputs[1], 2)) return;
    const int variance = Next(node(square).outputs[0], "ReduceMean");
    if (variance < 0 || !IsMean(variance)) return;
    const int sum = Next(node(variance).outputs[0], "Add");
    if (sum < 0) return;
    const std::optional<float> epsilon = Number(Other(sum, node(variance).outputs[0]));
    const int root = Next(node(sum).outputs[0], "Sqrt");
    if (!epsilon || root < 0 || Next(node(root).outputs[0], "Div") != quotient) return;
    const int product = Next(node(quotient).outputs[0], "Mul");
    if (product < 0) return;
    const int scale = Other(product, node(quotient).outputs[0]);
    const int last = Next(node(product).outputs[0], "Add");
    if (last < 0) return;
    const int shift = Other(last, node(product).outputs[0]);
    if (!IsVector(scale, x) || !IsVector(shift, x)) return;
    Replace({mean, sub, square, variance, sum, root, quotient, product, last}, last, "LayerNormalization", 17,
            {x, scale, shift});
    node(last).attributes["epsilon"].floats = {*epsilon};
  }

  Graph& graph_;
  std::vector<bool> dead_;
};

}  // namespace

void Rewrite(Graph& graph) { Rewriter(graph).Run(); }

}  // namespace sardonyx_onednn
