// optimizer/passes/fuse/fuse_conv_scale.cpp - Mul, Div, Add and Sub by constants per channel, behind Conv or
// ConvTranspose, are folded into its weights and bias.
#include "optimizer/fusion/conv_weights.h"
#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

struct Affine {
  double factor, shift;
};

// What the node does to a channel is factor * y + shift, given by `affine` of the constant's value for the channel.
bool Folds(Match& m, Affine (*affine)(double)) {
  if (m.graph().node(m.root()).FindAttribute("axis") != nullptr) return false;  // before opset 7: broadcasts otherwise
  const Tensor* constant = m.constant("c");
  if (constant == nullptr) return m.No("the other operand is not constant");
  if (!IsFoldableConv(m)) return false;
  const Tensor& weight = *m.constant("w");
  if (weight.dtype() != constant->dtype()) return m.No("the constant has another type than the weights");
  const std::vector<double> values = PerChannel(*constant, weight.shape().rank(), ConvOutputChannels(m));
  if (values.empty()) return m.No("the constant does not have one value for each channel");
  std::vector<double> factor, shift;
  for (const double value : values) {
    factor.push_back(affine(value).factor);
    shift.push_back(affine(value).shift);
  }
  return FoldIntoConv(m, factor, shift);
}
bool FoldsFactor(Match& m) {
  return Folds(m, [](double c) { return Affine{c, 0}; });
}
bool FoldsDivisor(Match& m) {
  return Folds(m, [](double c) { return Affine{1 / c, 0}; });
}
bool FoldsSummand(Match& m) {
  return Folds(m, [](double c) { return Affine{1, c}; });
}
bool FoldsSubtrahend(Match& m) {
  return Folds(m, [](double c) { return Affine{1, -c}; });
}
bool FoldsMinuend(Match& m) {
  return Folds(m, [](double c) { return Affine{-1, c}; });
}

// clang-format off
constexpr Rule kRules[] = {
    {.name = "product", .match = {"Mul(conv, c)", kConvDefinition}, .replace = "$y(x, w, b)", .when = FoldsFactor, .any_spelling = true},
    {.name = "quotient", .match = {"Div(conv, c)", kConvDefinition}, .replace = "$y(x, w, b)", .when = FoldsDivisor, .any_spelling = true},
    {.name = "sum", .match = {"Add(conv, c)", kConvDefinition}, .replace = "$y(x, w, b)", .when = FoldsSummand, .any_spelling = true},
    {.name = "difference", .match = {"Sub(conv, c)", kConvDefinition}, .replace = "$y(x, w, b)", .when = FoldsSubtrahend, .any_spelling = true},
    {.name = "difference from", .match = {"Sub(c, conv)", kConvDefinition}, .replace = "$y(x, w, b)", .when = FoldsMinuend, .any_spelling = true},
};
// clang-format on

}  // namespace

constinit const Pass kFuseConvScale = {.name = "fuse_conv_scale", .level = Level::kBasic, .rules = kRules};

}  // namespace sardonyx::optimizer
