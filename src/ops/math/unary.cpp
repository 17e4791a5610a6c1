// ops/math/unary.cpp - ONNX operators of the form y[i] = f(x[i]).
//
// To add one: its function in kernels/elementwise (unary_functions.inc, unary.isa.cpp) and its row here.
#include <algorithm>
#include <array>
#include <iterator>

#include "ops/elementwise.h"
#include "ops/float_function.h"
#include "ops/infer_context.h"
#include "ops/math/unary_ints.h"
#include "ops/registry.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

using kernels::UnaryKind;

float ParameterOf(const PrepareContext& c, const FloatParameter& parameter) {
  if (parameter.attribute.empty()) return parameter.otherwise;
  const float value = c.Float(parameter.attribute, parameter.otherwise);
  if (value == 0 && !parameter.may_be_zero)
    c.Fail(Code::kInvalidArgument, "attribute '", parameter.attribute, "': expected a value other than 0, found 0");
  return value;
}
// The row's function, of floats or integers.
Prepared PrepareFunction(PrepareContext& c) {
  const FloatFunction& f = FindFloatOperator(c.op().domain, c.op().name)->function;
  const float a = ParameterOf(c, f.a), b = ParameterOf(c, f.b);
  if (IsInteger(c.InputDType(0))) return PrepareUnaryInts(c, f.kind, a, b);
  return PrepareFloatMap(c, f.kind, a, b);
}
Prepared PrepareGelu(PrepareContext& c) {
  const std::string approximate = c.String("approximate", "none");
  if (approximate == "none") return PrepareFloatMap(c, UnaryKind::kGelu);
  if (approximate == "tanh") return PrepareFloatMap(c, UnaryKind::kGeluTanh);
  c.Fail(Code::kInvalidArgument, "attribute 'approximate': expected 'none' or 'tanh', found '", approximate, "'");
}

// Version 1 had other decimals.
void UpgradeSelu(UpgradeContext& c) {
  c.Take("consumed_inputs");
  if (c.version() != 1) return;
  if (!c.attributes().Has("alpha")) c.SetAttribute("alpha", 1.6732f);
  if (!c.attributes().Has("gamma")) c.SetAttribute("gamma", 1.0507f);
}
// Version 1 of most operators had the attribute consumed_inputs, which said nothing.
void DropConsumed(UpgradeContext& c) { c.Take("consumed_inputs"); }

constexpr std::uint16_t kTraits = kMayAlias | kElementwise;
constexpr DTypeSet kSignedNumbers = kIeeeFloats | kSignedInts;

struct UnaryRow {
  OpDef op;
  FloatFunction function;  // none if `prepare` knows better
};
constexpr UnaryRow Row(std::string_view name, Few<int> since, FloatFunction function, DTypeSet types = kIeeeFloats) {
  return {{.name = name,
           .since = since,
           .types = types,
           .infer = InferSameType,
           .prepare = PrepareFunction,
           .upgrade = since.Has(1) ? DropConsumed : nullptr,
           .traits = kTraits},
          function};
}
constexpr UnaryRow MicrosoftRow(std::string_view name, FloatFunction function) {
  UnaryRow row = Row(name, {1}, function);
  row.op.domain = "com.microsoft";
  row.op.upgrade = nullptr;
  return row;
}
// With its elements: exporters slice from minus a size.
void InferNeg(InferContext& c) {
  InferSameType(c);
  const DType dtype = c.InputDType(0);
  auto data = dtype == DType::kInt64 || dtype == DType::kInt32 ? c.ShapeData(0) : std::nullopt;
  if (!data) return;
  for (Dim& element : *data) element = Dim(0) - element;
  c.SetShapeData(0, std::move(*data));
}
constexpr UnaryRow NegRow() {
  UnaryRow row = Row("Neg", {1, 6, 13}, {UnaryKind::kNeg}, kSignedNumbers);
  row.op.infer = InferNeg;
  return row;
}
constexpr UnaryRow OtherRow(std::string_view name, Few<int> since, PrepareFn* prepare, DTypeSet types) {
  UnaryRow row = Row(name, since, {}, types);
  row.op.prepare = prepare;
  return row;
}
// The standard domain's experiments, which opset 10 withdrew.
constexpr DTypeSet kExperimentTypes = {DType::kFloat, DType::kDouble, DType::kFloat16};
constexpr UnaryRow ExperimentRow(std::string_view name, FloatFunction function) {
  UnaryRow row = Row(name, {1}, function, kExperimentTypes);
  row.op.upgrade = nullptr;
  return row;
}
constexpr UnaryRow SeluRow() {
  UnaryRow row = Row("Selu", {1, 6, 22},
                     {UnaryKind::kSelu, {"alpha", 1.67326319217681884765625f}, {"gamma", 1.05070102214813232421875f}});
  row.op.upgrade = UpgradeSelu;
  return row;
}

constexpr UnaryRow kRows[] = {
    Row("Abs", {1, 6, 13}, {UnaryKind::kAbs}, kNumbers),
    Row("Acos", {7, 22}, {UnaryKind::kAcos}),
    Row("Acosh", {9, 22}, {UnaryKind::kAcosh}),
    ExperimentRow("Affine", {UnaryKind::kLinear, {"alpha", 1}, {"beta", 0}}),
    Row("Asin", {7, 22}, {UnaryKind::kAsin}),
    Row("Asinh", {9, 22}, {UnaryKind::kAsinh}),
    Row("Atan", {7, 22}, {UnaryKind::kAtan}),
    Row("Atanh", {9, 22}, {UnaryKind::kAtanh}),
    OtherRow("BitwiseNot", {18}, PrepareBitwiseNot, kIntegers),
    Row("Ceil", {1, 6, 13}, {UnaryKind::kCeil}),
    Row("Celu", {12, 28}, {UnaryKind::kCelu, {"alpha", 1, false}}),
    Row("Cos", {7, 22}, {UnaryKind::kCos}),
    Row("Cosh", {9, 22}, {UnaryKind::kCosh}),
    Row("Elu", {1, 6, 22}, {UnaryKind::kElu, {"alpha", 1}}),
    Row("Erf", {9, 13}, {UnaryKind::kErf}, kNumbers),
    Row("Exp", {1, 6, 13}, {UnaryKind::kExp}),
    Row("Floor", {1, 6, 13}, {UnaryKind::kFloor}),
    OtherRow("Gelu", {20}, PrepareGelu, kIeeeFloats),
    Row("HardSigmoid", {1, 6, 22}, {UnaryKind::kHardSigmoid, {"alpha", 0.2f}, {"beta", 0.5f}}),
    Row("HardSwish", {14, 22}, {UnaryKind::kHardSwish}),
    Row("LeakyRelu", {1, 6, 16}, {UnaryKind::kLeakyRelu, {"alpha", 0.01f}}),
    Row("Log", {1, 6, 13}, {UnaryKind::kLog}),
    Row("Mish", {18, 22}, {UnaryKind::kMish}),
    NegRow(),
    OtherRow("Not", {1}, PrepareNot, {DType::kBool}),
    Row("Reciprocal", {1, 6, 13}, {UnaryKind::kReciprocal}),
    Row("Relu", {1, 6, 13, 14}, {UnaryKind::kRelu}, kSignedNumbers),
    Row("Round", {11, 22}, {UnaryKind::kRound}),
    ExperimentRow("Scale", {UnaryKind::kLinear, {"scale", 1}, {"", 0}}),
    SeluRow(),
    Row("Shrink", {9}, {UnaryKind::kShrink, {"bias", 0}, {"lambd", 0.5f}}, kNumbers),
    Row("Sigmoid", {1, 6, 13}, {UnaryKind::kSigmoid, {"", 1}}),
    Row("Sign", {9, 13}, {UnaryKind::kSign}, kNumbers),
    Row("Sin", {7, 22}, {UnaryKind::kSin}),
    Row("Sinh", {9, 22}, {UnaryKind::kSinh}),
    Row("Softplus", {1, 22}, {UnaryKind::kSoftplus}),
    Row("Softsign", {1, 22}, {UnaryKind::kSoftsign}),
    Row("Sqrt", {1, 6, 13}, {UnaryKind::kSqrt}),
    Row("Swish", {24}, {UnaryKind::kSwish, {"alpha", 1}}),
    Row("Tan", {7, 22}, {UnaryKind::kTan}),
    Row("Tanh", {1, 6, 13}, {UnaryKind::kTanh}),
    Row("ThresholdedRelu", {1, 10, 22}, {UnaryKind::kThresholdedRelu, {"alpha", 1}}),
    MicrosoftRow("Gelu", {UnaryKind::kGelu}),
    MicrosoftRow("QuickGelu", {UnaryKind::kSwish, {"alpha", 1.702f}}),
};

constexpr auto kUnaryOps = [] {
  std::array<OpDef, std::size(kRows)> ops;
  std::transform(std::begin(kRows), std::end(kRows), ops.begin(), [](const UnaryRow& row) { return row.op; });
  return ops;
}();
constexpr auto kFloatOperators = [] {
  std::array<FloatOperator, std::size(kRows)> operators;
  std::transform(std::begin(kRows), std::end(kRows), operators.begin(), [](const UnaryRow& row) {
    return FloatOperator{row.op.domain, row.op.name, row.function};
  });
  return operators;
}();

}  // namespace

std::span<const OpDef> UnaryOps() { return kUnaryOps; }

std::span<const FloatOperator> FloatOperators() { return kFloatOperators; }

const FloatOperator* FindFloatOperator(std::string_view domain, std::string_view name) {
  for (const FloatOperator& op : kFloatOperators)
    if (op.name == name && op.domain == domain && op.function.kind != UnaryKind::kNone) return &op;
  return nullptr;
}

}  // namespace sardonyx::ops
