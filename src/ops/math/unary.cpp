// ops/math/unary.cpp - ONNX operators of the form y[i] = f(x[i]).
//
// To add one: its kind in kernels/elementwise/unary.h and its row here, its cases in unary_test.cpp.
#include <cmath>

#include "ops/elementwise.h"
#include "ops/math/unary_ints.h"
#include "ops/registry.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

using kernels::UnaryKind;

// A kind without parameters.
template <UnaryKind kKind, int kA = 0>
Prepared Plain(PrepareContext& c) {
  return PrepareFloatMap(c, kKind, kA);
}
// A kind that integers have, too.
template <UnaryKind kKind>
Prepared Number(PrepareContext& c) {
  if (IsInteger(c.InputDType(0))) return PrepareUnaryInts(c, kKind);
  return PrepareFloatMap(c, kKind);
}

// Attribute defaults are floats: the decimals of the specification rounded once.
Prepared PrepareCelu(PrepareContext& c) {
  const float alpha = c.Float("alpha", 1.0f);
  if (alpha == 0) c.Fail(Code::kInvalidArgument, "attribute 'alpha': expected a value other than 0, found 0");
  return PrepareFloatMap(c, UnaryKind::kCelu, alpha);
}
Prepared PrepareElu(PrepareContext& c) { return PrepareFloatMap(c, UnaryKind::kElu, c.Float("alpha", 1.0f)); }
Prepared PrepareHardSigmoid(PrepareContext& c) {
  return PrepareFloatMap(c, UnaryKind::kHardSigmoid, c.Float("alpha", 0.2f), c.Float("beta", 0.5f));
}
Prepared PrepareLeakyRelu(PrepareContext& c) {
  return PrepareFloatMap(c, UnaryKind::kLeakyRelu, c.Float("alpha", 0.01f));
}
Prepared PrepareQuickGelu(PrepareContext& c) { return PrepareFloatMap(c, UnaryKind::kSwish, c.Float("alpha", 1.702f)); }
Prepared PrepareSelu(PrepareContext& c) {
  return PrepareFloatMap(c, UnaryKind::kSelu, c.Float("alpha", 1.67326319217681884765625f),
                         c.Float("gamma", 1.05070102214813232421875f));
}
Prepared PrepareSwish(PrepareContext& c) { return PrepareFloatMap(c, UnaryKind::kSwish, c.Float("alpha", 1.0f)); }
Prepared PrepareThresholdedRelu(PrepareContext& c) {
  return PrepareFloatMap(c, UnaryKind::kThresholdedRelu, c.Float("alpha", 1.0f));
}
Prepared PrepareShrink(PrepareContext& c) {
  const float bias = c.Float("bias", 0.0f), lambd = c.Float("lambd", 0.5f);
  if (IsInteger(c.InputDType(0))) return PrepareUnaryInts(c, UnaryKind::kShrink, bias, lambd);
  return PrepareFloatMap(c, UnaryKind::kShrink, bias, lambd);
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

constexpr OpDef Row(std::string_view name, Few<int> since, PrepareFn* prepare, DTypeSet types = kIeeeFloats) {
  return {.name = name,
          .since = since,
          .types = types,
          .infer = InferSameType,
          .prepare = prepare,
          .upgrade = since.Has(1) ? DropConsumed : nullptr,
          .traits = kTraits};
}
constexpr OpDef MicrosoftRow(std::string_view name, PrepareFn* prepare) {
  OpDef row = Row(name, {1}, prepare);
  row.domain = "com.microsoft";
  row.upgrade = nullptr;
  return row;
}
constexpr OpDef SeluRow() {
  OpDef row = Row("Selu", {1, 6, 22}, PrepareSelu);
  row.upgrade = UpgradeSelu;
  return row;
}

constexpr OpDef kUnaryOps[] = {
    Row("Abs", {1, 6, 13}, Number<UnaryKind::kAbs>, kNumbers),
    Row("Acos", {7, 22}, Plain<UnaryKind::kAcos>),
    Row("Acosh", {9, 22}, Plain<UnaryKind::kAcosh>),
    Row("Asin", {7, 22}, Plain<UnaryKind::kAsin>),
    Row("Asinh", {9, 22}, Plain<UnaryKind::kAsinh>),
    Row("Atan", {7, 22}, Plain<UnaryKind::kAtan>),
    Row("Atanh", {9, 22}, Plain<UnaryKind::kAtanh>),
    Row("BitwiseNot", {18}, PrepareBitwiseNot, kIntegers),
    Row("Ceil", {1, 6, 13}, Plain<UnaryKind::kCeil>),
    Row("Celu", {12, 28}, PrepareCelu),
    Row("Cos", {7, 22}, Plain<UnaryKind::kCos>),
    Row("Cosh", {9, 22}, Plain<UnaryKind::kCosh>),
    Row("Elu", {1, 6, 22}, PrepareElu),
    Row("Erf", {9, 13}, Plain<UnaryKind::kErf>),
    Row("Exp", {1, 6, 13}, Plain<UnaryKind::kExp>),
    Row("Floor", {1, 6, 13}, Plain<UnaryKind::kFloor>),
    Row("Gelu", {20}, PrepareGelu),
    Row("HardSigmoid", {1, 6, 22}, PrepareHardSigmoid),
    Row("HardSwish", {14, 22}, Plain<UnaryKind::kHardSwish>),
    Row("LeakyRelu", {1, 6, 16}, PrepareLeakyRelu),
    Row("Log", {1, 6, 13}, Plain<UnaryKind::kLog>),
    Row("Mish", {18, 22}, Plain<UnaryKind::kMish>),
    Row("Neg", {1, 6, 13}, Number<UnaryKind::kNeg>, kSignedNumbers),
    Row("Not", {1}, PrepareNot, {DType::kBool}),
    Row("Reciprocal", {1, 6, 13}, Plain<UnaryKind::kReciprocal>),
    Row("Relu", {1, 6, 13, 14}, Number<UnaryKind::kRelu>, kSignedNumbers),
    Row("Round", {11, 22}, Plain<UnaryKind::kRound>),
    SeluRow(),
    Row("Shrink", {9}, PrepareShrink, kNumbers),
    Row("Sigmoid", {1, 6, 13}, Plain<UnaryKind::kSigmoid, 1>),
    Row("Sign", {9, 13}, Number<UnaryKind::kSign>, kNumbers),
    Row("Sin", {7, 22}, Plain<UnaryKind::kSin>),
    Row("Sinh", {9, 22}, Plain<UnaryKind::kSinh>),
    Row("Softplus", {1, 22}, Plain<UnaryKind::kSoftplus>),
    Row("Softsign", {1, 22}, Plain<UnaryKind::kSoftsign>),
    Row("Sqrt", {1, 6, 13}, Plain<UnaryKind::kSqrt>),
    Row("Swish", {24}, PrepareSwish),
    Row("Tan", {7, 22}, Plain<UnaryKind::kTan>),
    Row("Tanh", {1, 6, 13}, Plain<UnaryKind::kTanh>),
    Row("ThresholdedRelu", {10, 22}, PrepareThresholdedRelu),
    MicrosoftRow("Gelu", Plain<UnaryKind::kGelu>),
    MicrosoftRow("QuickGelu", PrepareQuickGelu),
};

}  // namespace

std::span<const OpDef> UnaryOps() { return kUnaryOps; }

}  // namespace sardonyx::ops
