// tests/fuzz/random_chains.cpp - chains that exporters write and fusions look for, with operands in random order.
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "fuzz/random_nodes.h"

namespace sardonyx::fuzz {

void GraphGrower::AddGelu() {
  const ValueId x = NeedFloat();
  const auto either = [&](std::string_view op, ValueId a, ValueId b) {
    return bytes_.Bool() ? Add(op, {a, b}) : Add(op, {b, a});
  };
  const bool tanh = bytes_.Below(3) == 0;
  if (tanh) {
    const ValueId cube = Add("Pow", {x, Scalar(3)});
    const ValueId inner = either("Add", x, either("Mul", cube, Scalar(0.044715F)));
    const ValueId t = Add("Tanh", {either("Mul", inner, Scalar(0.7978845608F))});
    either("Mul", either("Mul", x, Scalar(0.5F)), either("Add", t, Scalar(1)));
    return;
  }
  const ValueId scaled = bytes_.Bool() ? Add("Div", {x, Scalar(1.4142135F)}) : either("Mul", x, Scalar(0.70710678F));
  const ValueId sum = either("Add", Add("Erf", {scaled}), Scalar(1));
  switch (bytes_.Below(3)) {
    case 0:
      either("Mul", either("Mul", x, sum), Scalar(0.5F));
      break;
    case 1:
      either("Mul", either("Mul", x, Scalar(0.5F)), sum);
      break;
    default:
      either("Mul", x, either("Mul", sum, Scalar(bytes_.Below(4) == 0 ? 0.25F : 0.5F)));
  }
}

void GraphGrower::AddLayerNorm() {
  const ValueId x = NeedFloat(2);
  const std::int64_t n = ShapeOf(x).back();
  const auto mean = [&](ValueId v) {
    if (opset_ >= 18) return Add("ReduceMean", {v, Ints({-1})});
    return Add("ReduceMean", {v}, {{"axes", Ints64{-1}}});
  };
  const bool rms = bytes_.Bool();
  const ValueId centered = rms ? x : Add("Sub", {x, mean(x)});
  const ValueId square = bytes_.Bool() ? Add("Pow", {centered, Scalar(2)}) : Add("Mul", {centered, centered});
  const ValueId deviation = Add("Sqrt", {Add("Add", {mean(square), Scalar(1e-5F)})});
  const ValueId normal =
      bytes_.Bool() ? Add("Div", {centered, deviation}) : Add("Mul", {centered, Add("Reciprocal", {deviation})});
  const ValueId scaled = Add("Mul", bytes_.Bool() ? std::vector<ValueId>{normal, Constant(Floats(Shape{n}))}
                                                  : std::vector<ValueId>{Constant(Floats(Shape{n})), normal});
  if (!rms) Add("Add", {scaled, Constant(Floats(Shape{n}))});
}

void GraphGrower::AddAttention() {
  const ValueId x = NeedFloat(3);
  const Shape shape = ShapeOf(x);
  if (shape.rank() != 3) Fail(Code::kInvalidGraph, "expected [batch, sequence, hidden]");
  const std::int64_t heads = Small(1, 3), size = Small(1, 4), hidden = heads * size;
  const auto split = [&](bool transpose) {
    ValueId v = Add("MatMul", {x, Constant(Floats(Shape{shape[2], hidden}))});
    if (bytes_.Bool()) v = Add("Add", {v, Constant(Floats(Shape{hidden}))});
    v = Add("Reshape", {v, Ints({0, bytes_.Bool() ? 0 : shape[1], heads, size})});
    return Add("Transpose", {v}, {{"perm", transpose ? Ints64{0, 2, 3, 1} : Ints64{0, 2, 1, 3}}});
  };
  const ValueId q = split(false), k = split(true), v = split(false);
  ValueId scores = Add("MatMul", {q, k});
  const float root = std::sqrt(static_cast<float>(size));
  if (bytes_.Below(4) != 0)
    scores = bytes_.Bool() ? Add("Div", {scores, Scalar(root)}) : Add("Mul", {scores, Scalar(1 / root)});
  if (bytes_.Bool()) {
    const Shape mask = bytes_.Bool() ? Shape{1, 1, shape[1], shape[1]} : Shape{1, 1, 1, shape[1]};
    scores = Add("Add", {scores, Constant(Floats(mask))});
  }
  const ValueId weights = Add("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  ValueId out = Add("MatMul", {weights, v});
  out = Add("Transpose", {out}, {{"perm", Ints64{0, 2, 1, 3}}});
  Add("Reshape", {out, Ints({0, bytes_.Bool() ? 0 : -1, hidden})});
}

void GraphGrower::AddGate() {
  const ValueId x = NeedFloat();
  const ValueId gate =
      Add(bytes_.Bool() ? "Sigmoid" : "HardSigmoid", {bytes_.Below(3) == 0 ? Add("Mul", {x, Scalar(1.702F)}) : x});
  Add("Mul", bytes_.Bool() ? std::vector<ValueId>{x, gate} : std::vector<ValueId>{gate, x});
}

void GraphGrower::AddConvBlock() {
  const ValueId x = NeedFloat(4);
  const Shape shape = ShapeOf(x);
  const std::int64_t filters = Small(1, 6), kernel = bytes_.Bool() ? 3 : 1;
  ValueId input = x;
  if (bytes_.Below(4) == 0) input = Add("Pad", {x, Ints({0, 0, 1, 1, 0, 0, 1, 1})});
  std::vector<ValueId> inputs = {input, Constant(Floats(Shape{filters, shape[1], kernel, kernel}))};
  if (bytes_.Bool()) inputs.push_back(Constant(Floats(Shape{filters})));
  ValueId y = Add("Conv", inputs, {{"pads", Ints64(4, kernel / 2)}});
  const auto channels = [&] { return Constant(Floats(Shape{filters, 1, 1})); };
  switch (bytes_.Below(4)) {
    case 0: {
      Tensor variance = Floats(Shape{filters});
      for (float& v : variance.span<float>()) v = v * v + 0.5F;
      const auto vector = [&] { return Constant(Floats(Shape{filters})); };
      y = Add("BatchNormalization", {y, vector(), vector(), vector(), Constant(std::move(variance))});
      break;
    }
    case 1:
      y = Add("Mul", {y, channels()});
      break;
    case 2:
      y = Add("Add", {channels(), y});
      break;
    default:
      break;
  }
  if (ShapeOf(y) == shape && bytes_.Bool())
    y = Add("Add", bytes_.Bool() ? std::vector<ValueId>{x, y} : std::vector<ValueId>{y, x});
  constexpr std::string_view kActivations[] = {"Relu", "Sigmoid", "HardSwish", "LeakyRelu", "Tanh"};
  y = Add(kActivations[bytes_.Below(std::size(kActivations))], {y});
  if (bytes_.Bool()) Add("Clip", {y, Scalar(0), Scalar(6)});
}

void GraphGrower::AddGroupNorm() {
  const ValueId x = NeedFloat(4);
  const Shape shape = ShapeOf(x);
  const std::int64_t groups = shape[1] % 2 == 0 ? 2 : 1;
  const auto ones = [&] { return Constant(Floats(Shape{groups})); };
  ValueId y = Add("Reshape", {x, Ints({0, groups, -1})});
  y = Add("InstanceNormalization", {y, ones(), ones()});
  y = Add("Reshape", {y, Ints({shape[0], shape[1], shape[2], shape[3]})});
  y = Add("Mul", {y, Constant(Floats(Shape{shape[1], 1, 1}))});
  Add("Add", {y, Constant(Floats(Shape{shape[1], 1, 1}))});
}

}  // namespace sardonyx::fuzz
