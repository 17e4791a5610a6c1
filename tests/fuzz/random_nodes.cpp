// tests/fuzz/random_nodes.cpp - single operators with attributes and constants that mostly fit.
#include "fuzz/random_nodes.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/error.h"

namespace sardonyx::fuzz {

void GraphGrower::AddSome() {
  using Family = void (GraphGrower::*)();
  constexpr Family kFamilies[] = {
      &GraphGrower::AddUnary,
      &GraphGrower::AddBinary,
      &GraphGrower::AddProduct,
      &GraphGrower::AddConv,
      &GraphGrower::AddPool,
      &GraphGrower::AddNorm,
      &GraphGrower::AddView,
      &GraphGrower::AddTranspose,
      &GraphGrower::AddJoin,
      &GraphGrower::AddSelection,
      &GraphGrower::AddReduction,
      &GraphGrower::AddComparison,
      &GraphGrower::AddCast,
      &GraphGrower::AddShapeArithmetic,
      &GraphGrower::AddQuantized,
      &GraphGrower::AddGelu,
      &GraphGrower::AddLayerNorm,
      &GraphGrower::AddAttention,
      &GraphGrower::AddGate,
      &GraphGrower::AddConvBlock,
      &GraphGrower::AddGroupNorm,
      &GraphGrower::AddBinary,
      &GraphGrower::AddTranspose,
      &GraphGrower::AddView,
      &GraphGrower::AddRulePattern,
      &GraphGrower::AddRulePattern,
      &GraphGrower::AddRulePattern,
      &GraphGrower::AddAttentionSnippet,
      &GraphGrower::AddAttentionSnippet,
      &GraphGrower::AddFloatSnippet,
      &GraphGrower::AddFloatSnippet,
      &GraphGrower::AddFloatSnippet,
      &GraphGrower::AddQuantizedSnippet,
      &GraphGrower::AddQuantizedSnippet,
  };
  (this->*kFamilies[bytes_.Below(std::size(kFamilies))])();
}

ValueId GraphGrower::NeedFloat(std::size_t least_rank) {
  const std::optional<ValueId> found = Take(DType::kFloat, least_rank);
  if (!found) Fail(Code::kInvalidGraph, "no such value");
  return *found;
}

// Another value, or a constant that broadcasts with `beside`.
ValueId GraphGrower::Operand(ValueId beside) {
  const Shape& shape = ShapeOf(beside);
  switch (bytes_.Below(6)) {
    case 0:
      return Scalar(static_cast<float>(Small(-8, 8)) / 4);
    case 1:
      return Constant(Floats(shape.empty() ? Shape{} : Shape{shape.back()}));
    case 2: {  // one number a channel
      Shape channels = shape;
      for (std::size_t i = 0; i < channels.rank(); ++i)
        if (i != 1) channels[i] = 1;
      return Constant(Floats(channels));
    }
    case 3:
      return Constant(Floats(shape));
    case 4:
      return beside;
    default:
      return NeedFloat();
  }
}

Ints64 GraphGrower::Axes(std::size_t rank) {
  Ints64 axes;
  const std::uint8_t chosen = bytes_.Byte();
  for (std::size_t i = 0; i < rank && i < 4; ++i)
    if ((chosen >> i & 1) != 0)
      axes.push_back(static_cast<std::int64_t>(i) - ((chosen & 16) != 0 ? static_cast<std::int64_t>(rank) : 0));
  if (axes.empty()) axes.push_back(-1);
  return axes;
}

void GraphGrower::AddUnary() {
  constexpr std::string_view kOps[] = {
      "Relu",       "Sigmoid",   "Tanh", "Erf",      "Exp",     "Neg",         "Abs",  "Softplus", "HardSwish",
      "Elu",        "LeakyRelu", "Gelu", "Identity", "Dropout", "HardSigmoid", "Mish", "Selu",     "Sqrt",
      "Reciprocal", "Softsign",  "Log",  "Sin",      "Cos",     "Swish",       "Clip", "Not"};
  const std::string_view op = kOps[bytes_.Below(std::size(kOps))];
  if (op == "Not") {
    const auto x = Take(DType::kBool);
    if (x) Add(op, {*x});
    return;
  }
  const ValueId x = NeedFloat();
  if (op == "Clip") {
    const std::int64_t low = Small(-4, 2);
    Add(op, {x, Scalar(static_cast<float>(low) / 2), Scalar(static_cast<float>(low + Small(0, 6)) / 2)});
    return;
  }
  Add(op, {x});
}

void GraphGrower::AddBinary() {
  constexpr std::string_view kOps[] = {"Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Sum", "Mean", "PRelu"};
  const std::string_view op = kOps[bytes_.Below(std::size(kOps))];
  const ValueId x = NeedFloat();
  if (op == "Pow") {
    constexpr float kExponents[] = {2.0F, 3.0F, 0.5F, 1.0F, -1.0F, 0.0F};
    Add(op, {x, Scalar(kExponents[bytes_.Below(std::size(kExponents))])});
    return;
  }
  const ValueId y = Operand(x);
  if (bytes_.Bool() || op == "PRelu") {
    Add(op, {x, y});
  } else {
    Add(op, {y, x});
  }
}

void GraphGrower::AddProduct() {
  const ValueId x = NeedFloat(2);
  const Shape shape = ShapeOf(x);
  const std::int64_t k = shape.back(), n = Small(1, 8);
  switch (bytes_.Below(6)) {
    case 0:
      Add("MatMul", {x, Constant(Floats(Shape{k, n}))});
      break;
    case 1:
      Add("MatMul", {Constant(Floats(Shape{n, shape[shape.rank() - 2]})), x});
      break;
    case 2: {
      Ints64 order(shape.rank());
      std::iota(order.begin(), order.end(), std::int64_t{0});
      std::swap(order[shape.rank() - 1], order[shape.rank() - 2]);
      Add("MatMul", {x, Add("Transpose", {x}, {{"perm", order}})});
      break;
    }
    case 3:
      Add("MatMul", {x, NeedFloat(2)});
      break;
    case 4: {
      const ValueId product = Add("MatMul", {x, Constant(Floats(Shape{k, n}))});
      Add("Add", bytes_.Bool() ? std::vector<ValueId>{product, Operand(product)}
                               : std::vector<ValueId>{Operand(product), product});
      break;
    }
    default: {
      if (shape.rank() != 2) Fail(Code::kInvalidGraph, "Gemm takes matrices");
      const bool trans_a = bytes_.Bool(), trans_b = bytes_.Bool();
      const std::int64_t inner = trans_a ? shape[0] : shape[1];
      std::vector<ValueId> inputs = {x, Constant(Floats(trans_b ? Shape{n, inner} : Shape{inner, n}))};
      if (bytes_.Bool()) inputs.push_back(Constant(Floats(bytes_.Bool() ? Shape{n} : Shape{1})));
      Add("Gemm", inputs,
          {{"transA", std::int64_t{trans_a}},
           {"transB", std::int64_t{trans_b}},
           {"alpha", static_cast<float>(Small(0, 4)) / 2},
           {"beta", static_cast<float>(Small(0, 4)) / 2}});
    }
  }
}

void GraphGrower::AddConv() {
  const ValueId x = NeedFloat(3);
  const Shape shape = ShapeOf(x);
  const std::size_t spatial = shape.rank() - 2;
  const std::int64_t channels = shape[1];
  Ints64 kernel, strides, dilations, pads(2 * spatial);
  for (std::size_t i = 0; i < spatial; ++i) {
    kernel.push_back(Small(1, 3));
    strides.push_back(Small(1, 2));
    dilations.push_back(bytes_.Below(4) == 0 ? 2 : 1);
  }
  for (std::int64_t& pad : pads) pad = Small(0, 2);
  const bool transposed = bytes_.Below(4) == 0;
  const std::int64_t group = bytes_.Bool() || channels == 0 ? 1 : channels;
  const std::int64_t filters = group == 1 ? Small(1, 6) : channels * Small(1, 2);
  Shape weights = transposed ? Shape{channels, filters / group} : Shape{filters, channels / group};
  for (const std::int64_t size : kernel) weights.Append(size);
  std::vector<ValueId> inputs = {x, Constant(Floats(weights))};
  if (bytes_.Bool()) inputs.push_back(Constant(Floats(Shape{filters})));
  std::vector<Attribute> attributes = {
      {"kernel_shape", kernel}, {"strides", strides}, {"dilations", dilations}, {"group", group}};
  if (bytes_.Below(4) == 0) {
    attributes.push_back({"auto_pad", std::string(bytes_.Bool() ? "SAME_UPPER" : "SAME_LOWER")});
  } else {
    attributes.push_back({"pads", pads});
  }
  Add(transposed ? "ConvTranspose" : "Conv", inputs, attributes);
}

void GraphGrower::AddPool() {
  const ValueId x = NeedFloat(3);
  const std::size_t spatial = ShapeOf(x).rank() - 2;
  if (bytes_.Below(4) == 0) {
    Add(bytes_.Bool() ? "GlobalAveragePool" : "GlobalMaxPool", {x});
    return;
  }
  Ints64 kernel, strides, pads(2 * spatial);
  for (std::size_t i = 0; i < spatial; ++i) {
    kernel.push_back(Small(1, 3));
    strides.push_back(Small(1, 2));
    pads[i] = Small(0, kernel[i] - 1);
    pads[i + spatial] = Small(0, kernel[i] - 1);
  }
  std::vector<Attribute> attributes = {{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}};
  const bool average = bytes_.Bool();
  attributes.push_back({average ? "count_include_pad" : "ceil_mode", std::int64_t{bytes_.Bool()}});
  Add(average ? "AveragePool" : "MaxPool", {x}, attributes);
}

void GraphGrower::AddNorm() {
  const ValueId x = NeedFloat(2);
  const Shape shape = ShapeOf(x);
  const auto vector = [&](std::int64_t n) { return Constant(Floats(Shape{n})); };
  const auto positive = [&](std::int64_t n) {
    Tensor t = Floats(Shape{n});
    for (float& v : t.span<float>()) v = v * v + 0.5F;
    return Constant(std::move(t));
  };
  switch (bytes_.Below(5)) {
    case 0:
      Add("BatchNormalization", {x, vector(shape[1]), vector(shape[1]), vector(shape[1]), positive(shape[1])},
          {{"epsilon", 1e-3F}});
      break;
    case 1:
      Add("LayerNormalization", {x, vector(shape.back()), vector(shape.back())}, {{"axis", std::int64_t{-1}}});
      break;
    case 2:
      Add("RMSNormalization", {x, vector(shape.back())}, {{"axis", std::int64_t{-1}}});
      break;
    case 3:
      Add("InstanceNormalization", {x, vector(shape[1]), vector(shape[1])});
      break;
    default:
      Add("Softmax", {x}, {{"axis", Small(-2, 1)}});
  }
}

void GraphGrower::AddView() {
  const ValueId x = NeedFloat();
  const Shape shape = ShapeOf(x);
  const auto rank = static_cast<std::int64_t>(shape.rank());
  switch (bytes_.Below(6)) {
    case 0: {  // two dimensions in one
      if (rank < 2) Fail(Code::kInvalidGraph, "nothing to merge");
      const auto at = static_cast<std::size_t>(Small(0, rank - 2));
      Ints64 target;
      for (std::size_t i = 0; i < shape.rank(); ++i) {
        if (i == at + 1) continue;
        target.push_back(i == at ? -1 : bytes_.Bool() && i < at ? 0 : shape[i]);
      }
      Add("Reshape", {x, Ints(target)});
      break;
    }
    case 1: {  // one in two
      Ints64 target(shape.begin(), shape.end());
      for (std::size_t i = 0; i < target.size(); ++i) {
        if (target[i] % 2 != 0 || target[i] == 0) continue;
        target[i] /= 2;
        target.insert(target.begin() + static_cast<std::ptrdiff_t>(i), 2);
        break;
      }
      Add("Reshape", {x, Ints(target)});
      break;
    }
    case 2:
      Add("Unsqueeze", {x, Ints({Small(-rank - 1, rank)})});
      break;
    case 3: {
      Ints64 axes;
      for (std::int64_t i = 0; i < rank; ++i)
        if (shape[static_cast<std::size_t>(i)] == 1 && bytes_.Bool()) axes.push_back(i);
      if (axes.empty()) Fail(Code::kInvalidGraph, "nothing to squeeze");
      Add("Squeeze", {x, Ints(axes)});
      break;
    }
    case 4:
      Add("Flatten", {x}, {{"axis", Small(0, rank)}});
      break;
    default: {
      Ints64 target(shape.begin(), shape.end());
      for (std::int64_t& dim : target)
        if (dim == 1) dim = Small(1, 3);
      if (bytes_.Bool()) target.insert(target.begin(), 2);
      Add("Expand", {x, Ints(target)});
    }
  }
}

void GraphGrower::AddTranspose() {
  const ValueId x = NeedFloat(2);
  Ints64 order(ShapeOf(x).rank());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[bytes_.Below(i + 1)]);
  Add("Transpose", {x}, {{"perm", order}});
}

void GraphGrower::AddJoin() {
  const ValueId x = NeedFloat(1);
  const auto rank = static_cast<std::int64_t>(ShapeOf(x).rank());
  const std::int64_t axis = Small(-rank, rank - 1);
  switch (bytes_.Below(3)) {
    case 0:
      Add("Concat", {x, bytes_.Bool() ? x : NeedFloat(1)}, {{"axis", axis}});
      break;
    case 1: {
      const std::int64_t size = ShapeOf(x)[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
      const std::int64_t first = Small(0, size);
      Add("Split", {x, Ints({first, size - first})}, {{"axis", axis}}, 2);
      break;
    }
    default: {  // cut and put together again
      const std::int64_t size = ShapeOf(x)[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
      const std::int64_t first = Small(0, size);
      const ValueId head = Add("Slice", {x, Ints({0}), Ints({first}), Ints({axis})});
      const ValueId tail = Add("Slice", {x, Ints({first}), Ints({size}), Ints({axis})});
      Add("Concat", bytes_.Bool() ? std::vector<ValueId>{head, tail} : std::vector<ValueId>{tail, head},
          {{"axis", axis}});
    }
  }
}

void GraphGrower::AddSelection() {
  const ValueId x = NeedFloat(1);
  const Shape shape = ShapeOf(x);
  const auto rank = static_cast<std::int64_t>(shape.rank());
  const std::int64_t axis = Small(0, rank - 1), size = shape[static_cast<std::size_t>(axis)];
  switch (bytes_.Below(4)) {
    case 0:
      Add("Slice",
          {x, Ints({Small(-4, 4)}), Ints({Small(-4, 6)}), Ints({axis}), Ints({bytes_.Bool() ? 1 : Small(-2, 2)})});
      break;
    case 1: {
      Ints64 indices;
      for (std::size_t i = bytes_.Below(4) + 1; i > 0; --i) indices.push_back(Small(-size, size - 1));
      const ValueId chosen = indices.size() == 1 ? Constant(Tensor::Scalar<std::int64_t>(indices[0])) : Ints(indices);
      Add("Gather", {x, chosen}, {{"axis", axis}});
      break;
    }
    case 2: {
      Ints64 pads(2 * shape.rank());
      for (std::int64_t& pad : pads) pad = bytes_.Bool() ? 0 : Small(0, 2);
      constexpr const char* kModes[] = {"constant", "edge", "reflect"};
      Add("Pad", {x, Ints(pads)}, {{"mode", std::string(kModes[bytes_.Below(3)])}});
      break;
    }
    default: {
      Ints64 repeats;
      for (std::int64_t i = 0; i < rank; ++i) repeats.push_back(bytes_.Bool() ? 1 : 2);
      Add("Tile", {x, Ints(repeats)});
    }
  }
}

void GraphGrower::AddReduction() {
  constexpr std::string_view kOps[] = {"ReduceMean", "ReduceSum",       "ReduceMax",       "ReduceMin",
                                       "ReduceL2",   "ReduceSumSquare", "ReduceLogSumExp", "ReduceProd"};
  const std::string_view op = kOps[bytes_.Below(std::size(kOps))];
  const ValueId x = NeedFloat(1);
  // A long product overflows in one order and becomes 0 in another.
  if (op == "ReduceProd" && values_.at(x).tensor().count() > 32) Fail(Code::kInvalidGraph, "too many factors");
  const Ints64 axes = Axes(ShapeOf(x).rank());
  const Attribute keep = {"keepdims", std::int64_t{bytes_.Bool()}};
  if (opset_ >= 18 || op == "ReduceSum") {
    Add(op, {x, Ints(axes)}, {keep});
  } else {
    Add(op, {x}, {{"axes", axes}, keep});
  }
}

void GraphGrower::AddComparison() {
  const ValueId x = NeedFloat();
  discontinuous_ = true;
  if (bytes_.Below(3) == 0) {
    Add(bytes_.Bool() ? "ArgMax" : "ArgMin", {x}, {{"axis", Small(-1, 0)}, {"keepdims", std::int64_t{bytes_.Bool()}}});
    return;
  }
  constexpr std::string_view kOps[] = {"Less", "Greater", "Equal", "GreaterOrEqual", "LessOrEqual"};
  const ValueId condition = Add(kOps[bytes_.Below(std::size(kOps))], {x, Operand(x)});
  Add("Where", {condition, Operand(x), x});
}

void GraphGrower::AddCast() {
  const auto to = [&](ValueId x, DType dtype) { return Add("Cast", {x}, {{"to", static_cast<std::int64_t>(dtype)}}); };
  const ValueId x = NeedFloat();
  switch (bytes_.Below(4)) {
    case 0:
      to(to(x, DType::kDouble), DType::kFloat);
      break;
    case 1:
      to(to(x, DType::kFloat), DType::kFloat);
      break;
    case 2:
      discontinuous_ = true;  // the half numbers are far apart
      to(to(x, DType::kFloat16), DType::kFloat);
      break;
    default:
      discontinuous_ = true;
      to(to(x, DType::kInt64), DType::kFloat);
  }
}

// The shape of a value, taken apart and put together for another.
void GraphGrower::AddShapeArithmetic() {
  const ValueId x = NeedFloat(2);
  const ValueId shape = Add("Shape", {x});
  const auto rank = static_cast<std::int64_t>(ShapeOf(x).rank());
  const ValueId first = Add("Gather", {shape, Constant(Tensor::Scalar<std::int64_t>(0))}, {{"axis", std::int64_t{0}}});
  const ValueId one = Add("Unsqueeze", {first, Ints({0})});
  switch (bytes_.Below(3)) {
    case 0:
      Add("Reshape", {x, Add("Concat", {one, Ints({-1})}, {{"axis", std::int64_t{0}}})});
      break;
    case 1: {
      const ValueId rest = Add("Slice", {shape, Ints({1}), Ints({rank}), Ints({0})});
      Add("Reshape", {x, Add("Concat", {Add("Mul", {one, Ints({1})}), rest}, {{"axis", std::int64_t{0}}})});
      break;
    }
    default: {
      const ValueId number = Add("Cast", {one}, {{"to", std::int64_t{1}}});
      Add("Div", {x, Add("Sqrt", {number})});
    }
  }
}

void GraphGrower::AddQuantized() {
  const ValueId x = NeedFloat();
  discontinuous_ = true;
  const bool is_signed = bytes_.Bool();
  const ValueId scale = Scalar(0.0625F * static_cast<float>(Small(1, 4)));
  const ValueId zero = is_signed ? Constant(Tensor::Scalar<std::int8_t>(static_cast<std::int8_t>(Small(-2, 2))))
                                 : Constant(Tensor::Scalar<std::uint8_t>(static_cast<std::uint8_t>(Small(100, 130))));
  const ValueId quantized = Add("QuantizeLinear", {x, scale, zero});
  Add("DequantizeLinear", {quantized, scale, zero});
}

}  // namespace sardonyx::fuzz
