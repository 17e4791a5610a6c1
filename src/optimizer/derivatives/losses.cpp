// optimizer/derivatives/losses.cpp - losses, written with operators that have derivatives.
#include "optimizer/derivatives/derivation.h"

namespace sardonyx::optimizer {
namespace {

// Picks -x[label] * weight[label] of each position, and nothing where the label is to be ignored: a product with a
// tensor that holds the weight at the label and 0 elsewhere.
void DeriveNegativeLogLikelihood(Derivation& d) {
  const ValueId x = d.Input(0), one = d.Scalar(1), zero = d.Scalar(0), axis = d.Ints({1});
  const ValueId labels = d.Add("Cast", {d.Input(1)}, {{"to", std::int64_t{7}}});
  const ValueId classes = d.Sizes(x, 1, 2);
  const ValueId off_and_on =
      d.Add("Concat", {d.Add("Unsqueeze", {zero, d.Ints({0})}), d.Add("Unsqueeze", {one, d.Ints({0})})},
            {{"axis", std::int64_t{0}}});
  ValueId picked = d.Add("OneHot", {labels, classes, off_and_on}, {{"axis", std::int64_t{1}}});
  if (d.attributes().Has("ignore_index")) {
    const ValueId ignored = d.Add("Equal", {labels, d.Add("Squeeze", {d.Ints({d.attributes().Int("ignore_index")})})});
    picked = d.Add("Where", {d.Add("Unsqueeze", {ignored, axis}), zero, picked});
  }
  if (d.HasInput(2)) {
    std::vector<std::int64_t> ones;
    for (std::size_t i = 2; i < d.RankOf(x); ++i) ones.push_back(static_cast<std::int64_t>(i) - 1);
    const ValueId weights = ones.empty() ? d.Input(2) : d.Add("Unsqueeze", {d.Input(2), d.Ints(ones)});
    picked = d.Add("Mul", {picked, weights});
  }
  const ValueId losses = d.Add("Neg", {d.Sum(d.Add("Mul", {x, picked}), {1}, false)});
  const std::string reduction = d.attributes().String("reduction", "mean");
  if (reduction == "none") return d.Becomes(0, losses);
  const ValueId sum = d.Add("ReduceSum", {losses}, {{"keepdims", std::int64_t{0}}});
  if (reduction == "sum") return d.Becomes(0, sum);
  d.Becomes(0, d.Add("Div", {sum, d.Add("ReduceSum", {picked}, {{"keepdims", std::int64_t{0}}})}));
}

void DeriveSoftmaxCrossEntropy(Derivation& d) {
  const ValueId logarithms = d.Add("LogSoftmax", {d.Input(0)}, {{"axis", std::int64_t{1}}});
  std::vector<ValueId> inputs = d.node().inputs;
  inputs[0] = logarithms;
  d.Becomes(0, d.Add("NegativeLogLikelihoodLoss", inputs, d.node().attributes));
  d.Becomes(1, logarithms);
}

constexpr Derivative kLosses[] = {
    {.name = "NegativeLogLikelihoodLoss", .derive = DeriveNegativeLogLikelihood},
    {.name = "SoftmaxCrossEntropyLoss", .derive = DeriveSoftmaxCrossEntropy},
};

}  // namespace

std::span<const Derivative> LossDerivatives() { return kLosses; }

}  // namespace sardonyx::optimizer
