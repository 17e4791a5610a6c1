// tests/fuzz/noisy_run.cpp - disturbs values by roundings and by what exceptions leave open; see noisy_run.h.
#include "fuzz/noisy_run.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/error.h"
#include "fuzz/oracle_exceptions.h"
#include "ops/evaluate.h"
#include "ops/schema/schema.h"

namespace sardonyx::fuzz {
namespace {

bool IsHalf(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

template <typename T>
constexpr float kLargest = std::numeric_limits<float>::max();
template <>
constexpr float kLargest<Half> = 65504.0F;
template <>
constexpr float kLargest<BFloat16> = 3.3895314e38F;

// A rounding of the type and a little more. What is added for the sake of the largest element, with which this one may
// have been summed, is too small to change a sign.
template <typename T>
void Disturb(Tensor& tensor, double relative, std::mt19937& random) {
  double largest = 0;
  for (const T x : tensor.span<T>())
    if (std::isfinite(static_cast<float>(x))) largest = std::max<double>(largest, std::abs(static_cast<float>(x)));
  for (T& x : tensor.span<T>()) {
    const auto number = static_cast<double>(static_cast<float>(x)), size = std::abs(number);
    const double unit = (static_cast<double>(random() % 2001) - 1000) / 1000;
    if (!std::isfinite(number) || number == 0) continue;
    const double moved = number + unit * relative * (size + std::min(0.2 * largest, 200 * size));
    x = T(static_cast<float>(std::clamp<double>(moved, -kLargest<T>, kLargest<T>)));
  }
}

// Calls visit with the elements of a tensor of floats; the others are left alone.
template <typename Visit>
void VisitFloats(Tensor& tensor, const Visit& visit) {
  VisitDType<float, Half, BFloat16>(tensor.dtype(), [&]<typename T>() { visit(tensor.span<T>()); });
}

bool IsFloats(const Value& value) {
  return value.is_tensor() && (value.tensor().dtype() == DType::kFloat || IsHalf(value.tensor().dtype()));
}

// Biases of integer products are rounded to steps of both scales' product, as ONNX Runtime does it: half a step.
void DisturbBias(const Graph& graph, const Node& node, std::vector<Value>& arguments,
                 const std::function<Value(ValueId)>& get, std::mt19937& random) {
  const bool has_bias = (node.op_type == "Conv" || node.op_type == "Gemm") && node.domain.empty() &&
                        node.inputs.size() > 2 && node.inputs[2] != kNoValue;
  double step = 1;
  for (const std::size_t i : {0U, 1U}) {
    const NodeId maker = has_bias ? graph.value(node.inputs[i]).producer : kNoNode;
    if (maker == kNoNode || graph.node(maker).op_type != "DequantizeLinear") return;
    const Tensor scales = get(graph.node(maker).inputs[1]).tensor();
    const auto all = scales.span<float>();
    step *= all.empty() ? 0 : static_cast<double>(*std::max_element(all.begin(), all.end()));
  }
  Tensor bias = arguments[2].tensor().Clone();
  for (float& x : bias.span<float>())
    x += static_cast<float>(step * (static_cast<double>(random() % 1001) / 1000 - 0.5));
  arguments[2] = std::move(bias);
}

// Whether `node` looks for NaN in probabilities whose scores had NaN or infinity, not just masked keys. Fused attention
// leaves such rows NaN that a guard makes zeros (docs/optimizer.md).
bool GuardsOverflow(const Graph& graph, const Node& node, const std::function<Value(ValueId)>& get) {
  if (node.op_type != "IsNaN") return false;
  const NodeId maker = graph.value(node.inputs[0]).producer;
  if (maker == kNoNode || graph.node(maker).op_type != "Softmax") return false;
  const Tensor scores = get(graph.node(maker).inputs[0]).tensor();
  const auto overflowed = [](auto x) { return !(static_cast<float>(x) < HUGE_VALF); };
  if (scores.dtype() == DType::kFloat) return std::ranges::any_of(scores.span<float>(), overflowed);
  return scores.dtype() == DType::kFloat16 && std::ranges::any_of(scores.span<Half>(), overflowed);
}

bool DecidesShapes(const Graph& graph, ValueId id) {
  const auto& readers = graph.value(id).consumers;
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    const Node& node = graph.node(reader);
    return (node.op_type == "Resize" && node.inputs[0] != id) || node.op_type == "Range";
  });
}

// Constants of floats as values of the run: of constants, kernels would take the contents in the graph, without noise.
Graph WithoutConstants(const Graph& graph) {
  Graph copy = graph;
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const Tensor* constant = graph.value(id).constant();
    if (constant != nullptr && IsFloats(*constant) && !DecidesShapes(graph, id)) copy.values[id].initializer = nullptr;
  }
  return copy;
}

// A copy with `change` applied to each element of floats.
template <typename Change>
Value Changed(const Value& value, const Change& change) {
  if (!IsFloats(value)) return value;
  Tensor tensor = value.tensor().Clone();
  VisitFloats(tensor, [&]<typename T>(std::span<T> all) {
    for (T& x : all) x = T(change(static_cast<float>(x)));
  });
  return tensor;
}

// The size of the largest finite element; 0 if there is none.
double LargestNumber(const Value& value) {
  double largest = 0;
  Changed(value, [&](float x) {
    if (std::isfinite(x)) largest = std::max(largest, static_cast<double>(std::abs(x)));
    return x;
  });
  return largest;
}

// The node's results with other arguments; nothing if it does not take them.
std::vector<Value> Evaluated(const Graph& graph, const Node& node, const ops::Registry& registry,
                             const std::vector<Value>& arguments) {
  try {
    return ops::EvaluateNode(graph, node, registry, arguments);
  } catch (const Error&) {
    return {};
  }
}

// Chains of float16 in a run with noise.
struct HalfChains {
  bool all_wide = false;      // every node is computed in float
  bool end_infinite = false;  // what was too large for float16 is infinite again where a chain ends
  bool saturated = false;     // the largest number of float16 stands for a larger one
};

// One node in a run with noise.
class NoisyNode {
 public:
  NoisyNode(const Graph& graph, const Node& node, const ops::Registry& registry, const std::vector<Value>& arguments,
            std::mt19937& random, HalfChains& chains)
      : graph_(graph), node_(node), registry_(registry), arguments_(arguments), random_(random), chains_(chains) {}

  std::vector<Value> Results() {
    std::vector<Value> results = ops::EvaluateNode(graph_, node_, registry_, arguments_);
    const OracleException* row = node_.domain.empty() ? FindException(node_.op_type) : nullptr;
    if (row != nullptr && row->cause == Cause::kSum) {
      LeaveOverflowOpen(results[0]);
      if (node_.op_type == "Conv") {
        SpreadOverTiles(results[0]);
        MultiplyPadding(results[0]);
      }
      LeaveZeroSignsOpen(results[0]);
    }
    if (row != nullptr && row->cause == Cause::kTail) LeaveTailOpen(results[0]);
    if (IsFloats(results[0]) && IsHalf(results[0].tensor().dtype())) WidenHalf(results[0]);
    if (node_.op_type == "Cast" && IsFloats(arguments_[0]) && IsHalf(arguments_[0].tensor().dtype()))
      EndHalf(results[0]);
    if (random_() % 2 == 0) {
      if (node_.op_type == "Pow" || node_.op_type == "Mul") WidenSquares(results[0]);
      const auto multiplies = [&](std::string_view op_type) {
        return node_.op_type == "Mul" && ComesFrom(node_, op_type, 4);
      };
      if (node_.op_type == "Gelu" || multiplies("Erf")) TakeLimit(results[0]);
      if (multiplies("Clip") || multiplies("Erf") || multiplies("Tanh")) WidenProducts(results[0]);
      if (node_.op_type == "Where") AddMask(results[0]);
      if (node_.op_type == "Softmax") EmptyRows(results[0]);
      if (node_.op_type == "Div" || node_.op_type == "Reciprocal") WidenQuotients(results[0]);
    }
    if (node_.op_type == "Add" && AddsZeros()) LeaveZeroSignsOpen(results[0]);
    if (node_.op_type == "Equal") LeaveEqualityOpen(results[0]);
    return results;
  }

 private:
  template <typename Change>
  void ChangeEach(Value& result, const Change& change) {
    Tensor tensor = result.tensor().Clone();
    VisitFloats(tensor, [&]<typename T>(std::span<T> all) {
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = T(change(i, static_cast<float>(all[i]), kLargest<T>));
    });
    result = std::move(tensor);
  }

  void LeaveZeroSignsOpen(Value& result) {
    if (!IsFloats(result)) return;
    ChangeEach(result, [&](std::size_t, float x, float) { return x == 0 && random_() % 2 == 0 ? -x : x; });
  }

  void LeaveTailOpen(Value& result) {
    if (!IsFloats(result)) return;
    constexpr float kSmall = 1e-30F, kSmallest = 1e-38F;  // Half rounds these to zero, which has no tail then
    const std::size_t common = random_() % 6;
    ChangeEach(result, [&](std::size_t, float x, float) {
      const float choices[] = {x, 0, kSmallest};
      const std::size_t choice = common < std::size(choices) ? common : random_() % std::size(choices);
      return std::abs(x) < kSmall ? std::copysign(choices[choice], x) : x;
    });
  }

  // Where the sum of the sizes of finite terms is infinite, the order decides about the sum of the terms.
  void LeaveOverflowOpen(Value& result) {
    constexpr float kFar = 1e9F;  // below its square divided by 4096 elements nothing overflows
    const bool product = node_.op_type == "ReduceProd";
    bool far = product;
    std::vector<Value> sizes;
    for (const Value& argument : arguments_) {
      sizes.push_back(Changed(argument, [&](float x) {
        const float size = std::isfinite(x) ? std::abs(x) : 0;
        far |= size > kFar;
        return product ? std::max(size, 1.0F) : size;
      }));
    }
    if (!far || !IsFloats(result)) return;
    // A factor in front or behind may be applied to the terms instead, or to the sum.
    const bool has_factor =
        ComesFrom(node_, "Mul", 3) || ComesFrom(node_, "Div", 3) || ComesFrom(node_, "Softmax", 3) || HasFactorBehind();
    const float most = (has_factor ? 1e-3F : 1) * std::numeric_limits<float>::max();
    const std::vector<Value> sums = Evaluated(graph_, node_, registry_, sizes);
    if (sums.empty()) return;
    std::vector<bool> open;
    Changed(sums[0], [&](float x) {
      open.push_back(!(x <= most));
      return x;
    });
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const std::size_t common = random_() % 16;  // what meets many elements needs that all of them are numbers, say
    ChangeEach(result, [&](std::size_t i, float x, float largest) {
      // Numbers of several sizes: a factor behind the sum may make the largest infinite again.
      const float choices[] = {x, largest, -largest, 1, -1, kInfinity, -kInfinity, std::nanf("")};
      const std::size_t choice = common < std::size(choices) ? common : random_() % std::size(choices);
      return open[i] ? choices[choice] : x;
    });
  }

  // Winograd's algorithm, for kernels of 3 x 3 with stride 1, carries an infinity, NaN, an overflow, and the rounding
  // of a large number over its tiles.
  void SpreadOverTiles(Value& result) {
    constexpr float kFar = 1e34F;
    constexpr std::int64_t kTile = 6;
    const Tensor &image = arguments_[0].tensor(), &weights = arguments_[1].tensor();
    const auto* strides = std::get_if<std::vector<std::int64_t>>(node_.FindAttribute("strides"));
    const bool has_tiles = weights.shape().rank() == 4 && weights.shape()[2] == 3 && weights.shape()[3] == 3 &&
                           (strides == nullptr || *strides == std::vector<std::int64_t>{1, 1});
    if (!has_tiles || !IsFloats(result)) return;
    struct Pixel {
      std::int64_t n, y, x;
      bool operator<(const Pixel& other) const { return std::tie(n, y, x) < std::tie(other.n, other.y, other.x); }
    };
    const auto pixel = [](const Shape& shape, std::size_t i) {
      const auto at = static_cast<std::int64_t>(i);
      return Pixel{at / (shape[1] * shape[2] * shape[3]), at / shape[3] % shape[2], at % shape[3]};
    };
    std::set<Pixel> far;
    std::size_t at = 0;
    Changed(arguments_[0], [&](float x) {
      if (!(std::abs(x) < kFar)) far.insert(pixel(image.shape(), at));
      ++at;
      return x;
    });
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const Shape shape = result.tensor().shape();
    const double largest = LargestNumber(arguments_[0]) * LargestNumber(arguments_[1]);
    const std::size_t common = random_() % 10;
    ChangeEach(result, [&](std::size_t i, float x, float most) {
      const double unit = (static_cast<double>(random_() % 2001) - 1000) / 1000;
      if (std::isfinite(x))
        x = static_cast<float>(std::clamp<double>(static_cast<double>(x) + unit * 1e-6 * largest, -most, most));
      const Pixel here = pixel(shape, i);
      const bool is_near = std::ranges::any_of(far, [&](const Pixel& other) {
        return other.n == here.n && std::abs(other.y - here.y) <= kTile && std::abs(other.x - here.x) <= kTile;
      });
      const float choices[] = {x, 1, std::nanf(""), kInfinity, -kInfinity};
      const std::size_t choice = common < std::size(choices) ? common : random_() % std::size(choices);
      return is_near ? choices[choice] : x;
    });
  }

  // Weights that are NaN or infinite: a kernel leaves the pixels of the padding out, or multiplies their zeros.
  void MultiplyPadding(Value& result) {
    const auto* pads = std::get_if<std::vector<std::int64_t>>(node_.FindAttribute("pads"));
    const bool has_pads = pads != nullptr && std::ranges::any_of(*pads, [](std::int64_t pad) { return pad != 0; });
    bool special = false;
    std::vector<Value> arguments = arguments_;
    arguments[1] = Changed(arguments_[1], [&](float x) {
      special |= !std::isfinite(x);
      return std::isfinite(x) ? x : 0;
    });
    if (!has_pads || !special || random_() % 2 == 0) return;
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const unsigned turn = random_() % 4;
    ReplaceWhere(result, arguments, [&](float x, float other, float) {
      const float left_out[] = {other, kInfinity, -kInfinity};
      return turn == 3 ? std::nanf("") : std::isnan(x) ? left_out[turn] : x;
    });
  }

  // Infinities of float16 and bfloat16 that are numbers if the node computes in float.
  void WidenHalf(Value& result) {
    const unsigned turn = chains_.all_wide ? 2 : random_() % 4;
    if (turn == 0) return;
    std::vector<Value> wide;
    for (const Value& argument : arguments_) {
      if (!IsFloats(argument)) {
        wide.push_back(argument);
        continue;
      }
      Tensor tensor(DType::kFloat, argument.tensor().shape());
      std::size_t at = 0;
      Changed(argument, [&](float x) { return tensor.span<float>()[at++] = x; });
      wide.emplace_back(std::move(tensor));
    }
    const std::vector<Value> results =
        node_.op_type == "Cast" ? std::vector<Value>{wide[0]} : Evaluated(graph_, node_, registry_, wide);
    if (results.empty() || !IsFloats(results[0])) return;
    const Tensor& numbers = results[0].tensor();
    if (numbers.dtype() != DType::kFloat || numbers.count() != result.tensor().count()) return;
    // What was too large for float16 is infinite again where the chain ends, and so may be what was computed from it.
    const bool ends = turn == 1;
    const float kept = chains_.saturated ? 0.01F : 0.9F;
    const float smallest = result.tensor().dtype() == DType::kFloat16 ? 6e-8F : 1e-38F;
    ChangeEach(result, [&](std::size_t i, float x, float largest) {
      const float number = numbers.span<float>()[i];
      if (ends) return std::abs(x) > kept * largest ? std::copysign(std::numeric_limits<float>::infinity(), x) : x;
      if (std::isinf(x) && std::isfinite(number)) {
        chains_.saturated = true;
        return std::copysign(largest, x);
      }
      return x == 0 && number != 0 ? std::copysign(smallest, x) : x;
    });
  }

  void EndHalf(Value& result) {
    if (!chains_.saturated || !chains_.end_infinite || !IsFloats(result)) return;
    const float kept =
        arguments_[0].tensor().dtype() == DType::kFloat16 ? 0.01F * kLargest<Half> : 0.01F * kLargest<BFloat16>;
    const bool all = random_() % 2 == 0;
    ChangeEach(result, [&](std::size_t, float x, float) {
      const bool ends = std::abs(x) > kept && (all || random_() % 2 == 0);
      return ends ? std::copysign(std::numeric_limits<float>::infinity(), x) : x;
    });
  }

  // Squares of numbers that are infinite: normalizations may sum them in a wider type.
  void WidenSquares(Value& result) {
    const bool is_square = node_.op_type == "Pow" || node_.inputs[0] == node_.inputs[1];
    if (!is_square || !IsFloats(result) || result.tensor().count() != arguments_[0].tensor().count()) return;
    std::vector<bool> finite;
    Changed(arguments_[0], [&](float x) {
      finite.push_back(std::isfinite(x) && x != 0);
      return x;
    });
    ChangeEach(result, [&](std::size_t i, float x, float largest) {
      return std::isinf(x) && finite[i] ? std::copysign(largest, x) : x;
    });
  }

  // Quotients of numbers that are infinite: behind a product they may not be computed.
  void WidenQuotients(Value& result) {
    constexpr float kSmall = 1e-30F;
    std::vector<Value> arguments = arguments_;
    arguments.back() = Changed(arguments.back(),
                               [](float x) { return x != 0 && std::abs(x) < kSmall ? std::copysign(kSmall, x) : x; });
    ReplaceWhere(result, arguments, [](float x, float other, float largest) {
      return std::isinf(x) && std::isfinite(other) ? std::copysign(largest, x) : x;
    });
  }

  // What GELU is at -infinity: zero, where infinity times zero is NaN.
  void TakeLimit(Value& result) {
    std::vector<Value> arguments;
    for (const Value& argument : arguments_)
      arguments.push_back(Changed(argument, [](float x) { return std::isinf(x) ? 0 : x; }));
    ReplaceWhere(result, arguments,
                 [](float x, float other, float) { return std::isnan(x) && other == 0 ? other : x; });
  }

  // Products of numbers that are infinite, where HardSwish divides by 6 and GELU by 2 first.
  void WidenProducts(Value& result) {
    std::vector<Value> arguments;
    for (const Value& argument : arguments_)
      arguments.push_back(Changed(argument, [](float x) { return std::isfinite(x) ? x / 64 : x; }));
    ReplaceWhere(result, arguments, [](float x, float other, float largest) {
      return std::isinf(x) && std::isfinite(other) ? std::copysign(largest, x) : x;
    });
  }

  // A mask that replaces scores, or zeros that replace the probabilities of masked ones: fused attention only adds the
  // mask, which leaves NaN and infinities.
  void AddMask(Value& result) {
    constexpr float kMask = -9900, kHidden = 1e20F;  // attention_scores.cpp, attention_mask.cpp
    for (const std::size_t i : {1U, 2U}) {
      if (!IsFloats(arguments_[i]) || arguments_[i].tensor().count() != 1) continue;
      float mask = 0;
      Changed(arguments_[i], [&](float x) { return mask = x; });
      const bool zeroes = mask == 0 && ComesFrom(node_, "Softmax", 2);
      if (!zeroes && !(mask <= kMask)) continue;
      // What is chosen where the node chooses the mask.
      ReplaceWhere(result, {arguments_[0], arguments_[2], arguments_[1]}, [&](float x, float other, float) {
        const bool remains = zeroes ? std::isnan(other) : !(std::abs(other) < kHidden);
        return x == mask && remains ? other + mask : x;
      });
    }
  }

  // Rows of scores that are -infinity throughout: fused attention takes those for rows without keys.
  void EmptyRows(Value& result) {
    if (!IsFloats(result) || result.tensor().shape().rank() == 0) return;
    const auto width = static_cast<std::size_t>(result.tensor().shape().back());
    std::vector<float> scores;
    Changed(arguments_[0], [&](float x) {
      scores.push_back(x);
      return x;
    });
    ChangeEach(result, [&](std::size_t i, float x, float) {
      const auto row = scores.begin() + static_cast<std::ptrdiff_t>(i / width * width);
      const bool is_empty = std::all_of(row, row + static_cast<std::ptrdiff_t>(width),
                                        [](float score) { return score == -std::numeric_limits<float>::infinity(); });
      return is_empty ? 0 : x;
    });
  }

  // Elements by the node's result with other arguments: replaced(element, other, largest of the type).
  template <typename Replaced>
  void ReplaceWhere(Value& result, const std::vector<Value>& arguments, const Replaced& replaced) {
    if (!IsFloats(result)) return;
    const std::vector<Value> results = Evaluated(graph_, node_, registry_, arguments);
    if (results.empty()) return;
    std::vector<float> others;
    Changed(results[0], [&](float x) {
      others.push_back(x);
      return x;
    });
    ChangeEach(result, [&](std::size_t i, float x, float largest) { return replaced(x, others[i], largest); });
  }

  // x + 0, which becomes x.
  bool AddsZeros() const {
    return std::ranges::any_of(arguments_, [](const Value& argument) {
      bool zeros = true;
      Changed(argument, [&](float x) {
        zeros &= x == 0;
        return x;
      });
      return zeros;
    });
  }

  bool HasFactorBehind() const {
    return std::ranges::any_of(graph_.value(node_.outputs[0]).consumers, [&](NodeId id) {
      const std::string& reader = graph_.node(id).op_type;
      return reader == "Mul" || reader == "Div" || reader == "BatchNormalization" || reader == "Transpose";
    });
  }

  // Whether an operator of the type lies at most so many nodes in front.
  bool ComesFrom(const Node& node, std::string_view op_type, int most) const {
    return node.op_type == op_type || (most > 0 && std::ranges::any_of(node.inputs, [&](ValueId id) {
                                         const NodeId maker = id == kNoValue ? kNoNode : graph_.value(id).producer;
                                         return maker != kNoNode && ComesFrom(graph_.node(maker), op_type, most - 1);
                                       }));
  }

  // Numbers that roundings make equal, or keep from it, are met by no noise.
  void LeaveEqualityOpen(Value& result) {
    if (random_() % 4 != 0) return;
    Node node = node_;
    node.op_type = "Sub";
    const ops::OpSchema* schema = ops::FindSchema("", "Sub", static_cast<int>(graph_.OpsetVersion("")));
    node.since_version = schema->since_version;
    const std::vector<Value> differences = Evaluated(graph_, node, registry_, arguments_);
    if (differences.empty() || !IsFloats(differences[0])) return;
    const double largest = std::max(LargestNumber(arguments_[0]), LargestNumber(arguments_[1]));
    const auto truths = result.tensor().span<bool>();
    std::size_t at = 0;
    Changed(differences[0], [&](float difference) {
      if (std::abs(static_cast<double>(difference)) <= 1e-3 * largest) truths[at] = random_() % 2 == 0;
      ++at;
      return difference;
    });
  }

  const Graph& graph_;
  const Node& node_;
  const ops::Registry& registry_;
  const std::vector<Value>& arguments_;
  std::mt19937& random_;
  HalfChains& chains_;
};

}  // namespace

Tensor Disturbed(const Tensor& tensor, std::mt19937& random) {
  if (!IsFloats(tensor)) return tensor;
  const double relative = tensor.dtype() == DType::kFloat ? 1e-6 : tensor.dtype() == DType::kFloat16 ? 1e-3 : 8e-3;
  Tensor disturbed = tensor.Clone();
  VisitFloats(disturbed, [&]<typename T>(std::span<T>) { Disturb<T>(disturbed, relative, random); });
  return disturbed;
}

std::vector<Value> RunWithNoise(const RandomGraph& made, const ops::Registry& registry, unsigned seed) {
  std::mt19937 random(seed);
  // What hangs on one rounding may need that no other one destroys an exact zero: later runs disturb fewer values.
  const unsigned one_in = seed <= 4 ? 1 : seed % 3 == 0 ? 1 : seed % 3 == 1 ? 4 : 16;
  const auto disturbed = [&](const Value& value) {
    return value.is_tensor() && random() % one_in == 0 ? Value(Disturbed(value.tensor(), random)) : value;
  };
  const Graph& exact = made.model->graph;
  const Graph graph = WithoutConstants(exact);
  HalfChains chains = {.all_wide = random() % 2 == 0, .end_infinite = random() % 2 == 0};
  std::unordered_map<ValueId, Value> values;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Value& input = made.inputs[i].second;
    values[graph.inputs[i]] = DecidesShapes(graph, graph.inputs[i]) ? input : disturbed(input);
  }
  const auto get = [&](ValueId id) -> Value {
    if (id == kNoValue) return {};
    const auto found = values.find(id);
    if (found != values.end()) return found->second;
    const Tensor* constant = exact.value(id).constant();
    if (constant == nullptr) return {};
    return values[id] = DecidesShapes(graph, id) ? Value(*constant) : disturbed(Value(*constant));
  };
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    std::vector<Value> arguments;
    for (const ValueId input : node.inputs) arguments.push_back(get(input));
    const bool is_exact = random() % one_in != 0;
    if (!is_exact) DisturbBias(graph, node, arguments, get, random);
    const std::vector<Value> results = is_exact ? ops::EvaluateNode(graph, node, registry, arguments)
                                                : NoisyNode(graph, node, registry, arguments, random, chains).Results();
    for (std::size_t i = 0; i < results.size(); ++i) values[node.outputs[i]] = disturbed(results[i]);
    if (GuardsOverflow(graph, node, get) && random() % 4 == 0)
      for (bool& x : values[node.outputs[0]].tensor().span<bool>()) x = false;
  }
  std::vector<Value> outputs;
  for (const ValueId id : graph.outputs) outputs.push_back(get(id));
  return outputs;
}

}  // namespace sardonyx::fuzz
