// optimizer/derivatives/normalizations.cpp - normalizations, written with operators that have derivatives.
#include "optimizer/derivatives/derivation.h"

namespace sardonyx::optimizer {
namespace {

std::vector<std::int64_t> AxesFrom(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = begin; axis < end; ++axis) axes.push_back(axis);
  return axes;
}

struct Moments {
  ValueId mean, centered, inverse_deviation;
};

// The mean over `axes`, the distance from it, and 1 / sqrt(variance + epsilon).
Moments MomentsOf(Derivation& d, ValueId x, const std::vector<std::int64_t>& axes, double epsilon) {
  Moments m;
  m.mean = d.Add("ReduceMean", {x, d.Ints(axes)});
  m.centered = d.Add("Sub", {x, m.mean});
  const ValueId variance = d.Add("ReduceMean", {d.Add("Mul", {m.centered, m.centered}), d.Ints(axes)});
  m.inverse_deviation = d.Add("Reciprocal", {d.Add("Sqrt", {d.Add("Add", {variance, d.Scalar(epsilon)})})});
  return m;
}

// A vector of one element a channel, in the form [C, 1, 1 ...] that broadcasts against x [N, C, ...].
ValueId OfChannels(Derivation& d, ValueId vector) {
  const auto rank = static_cast<std::int64_t>(d.RankOf(d.Input(0)));
  return rank <= 2 ? vector : d.Add("Unsqueeze", {vector, d.Ints(AxesFrom(1, rank - 1))});
}

ValueId Scaled(Derivation& d, ValueId normalized, ValueId scale, ValueId bias) {
  const ValueId product = d.Add("Mul", {normalized, scale});
  return bias == kNoValue ? product : d.Add("Add", {product, bias});
}

std::vector<std::int64_t> NormalizedAxes(Derivation& d) {
  const std::int64_t axis = d.attributes().Int("axis", -1);
  return axis < 0 ? AxesFrom(axis, 0) : AxesFrom(axis, static_cast<std::int64_t>(d.RankOf(d.Input(0))));
}

void DeriveLayerNormalization(Derivation& d) {
  const Moments m = MomentsOf(d, d.Input(0), NormalizedAxes(d), d.attributes().Float("epsilon", 1e-5F));
  const ValueId normalized = d.Add("Mul", {m.centered, m.inverse_deviation});
  d.Becomes(0, Scaled(d, normalized, d.Input(1), d.HasInput(2) ? d.Input(2) : kNoValue));
  d.Becomes(1, m.mean);
  d.Becomes(2, m.inverse_deviation);
}

void DeriveRmsNormalization(Derivation& d) {
  const ValueId x = d.Input(0);
  const ValueId square = d.Add("ReduceMean", {d.Add("Mul", {x, x}), d.Ints(NormalizedAxes(d))});
  const ValueId shifted = d.Add("Add", {square, d.Scalar(d.attributes().Float("epsilon", 1e-5F))});
  d.Becomes(0, d.Add("Mul", {d.Add("Div", {x, d.Add("Sqrt", {shifted})}), d.Input(1)}));
}

void DeriveInstanceNormalization(Derivation& d) {
  const auto rank = static_cast<std::int64_t>(d.RankOf(d.Input(0)));
  const Moments m = MomentsOf(d, d.Input(0), AxesFrom(2, rank), d.attributes().Float("epsilon", 1e-5F));
  const ValueId normalized = d.Add("Mul", {m.centered, m.inverse_deviation});
  d.Becomes(0, Scaled(d, normalized, OfChannels(d, d.Input(1)), OfChannels(d, d.Input(2))));
}

void DeriveGroupNormalization(Derivation& d) {
  const ValueId x = d.Input(0), groups = d.Ints({d.attributes().Int("num_groups")});
  const ValueId in_groups = d.Add("Reshape", {x, d.Joined({d.Sizes(x, 0, 1), groups, d.Ints({-1})})});
  const Moments m = MomentsOf(d, in_groups, {2}, d.attributes().Float("epsilon", 1e-5F));
  const ValueId normalized = d.ReshapedLike(d.Add("Mul", {m.centered, m.inverse_deviation}), x);
  d.Becomes(0, Scaled(d, normalized, OfChannels(d, d.Input(1)), OfChannels(d, d.Input(2))));
}

void DeriveBatchNormalization(Derivation& d) {
  const double epsilon = d.attributes().Float("epsilon", 1e-5F);
  const ValueId x = d.Input(0), scale = OfChannels(d, d.Input(1)), bias = OfChannels(d, d.Input(2));
  if (d.attributes().Flag("training_mode")) {
    if (d.HasGradient(1) || d.HasGradient(2)) d.NotImplemented("with respect to the running mean and variance");
    std::vector<std::int64_t> axes = AxesFrom(2, static_cast<std::int64_t>(d.RankOf(x)));
    axes.insert(axes.begin(), 0);
    const Moments m = MomentsOf(d, x, axes, epsilon);
    return d.Becomes(0, Scaled(d, d.Add("Mul", {m.centered, m.inverse_deviation}), scale, bias));
  }
  const ValueId deviation = d.Add("Sqrt", {d.Add("Add", {OfChannels(d, d.Input(4)), d.Scalar(epsilon)})});
  const ValueId centered = d.Add("Sub", {x, OfChannels(d, d.Input(3))});
  d.Becomes(0, Scaled(d, d.Add("Div", {centered, deviation}), scale, bias));
}

void DeriveLpNormalization(Derivation& d) {
  const ValueId axis = d.Ints({d.attributes().Int("axis", -1)});
  const char* norm = d.attributes().Int("p", 2) == 1 ? "ReduceL1" : "ReduceL2";
  d.Becomes(0, d.Add("Div", {d.Input(0), d.Add(norm, {d.Input(0), axis})}));
}

void DeriveMeanVarianceNormalization(Derivation& d) {
  std::vector<std::int64_t> axes = d.attributes().Ints("axes");
  if (axes.empty()) axes = {0, 2, 3};
  const ValueId x = d.Input(0), centered = d.Add("Sub", {x, d.Add("ReduceMean", {x, d.Ints(axes)})});
  const ValueId variance = d.Add("ReduceMean", {d.Add("Mul", {centered, centered}), d.Ints(axes)});
  d.Becomes(0, d.Add("Div", {centered, d.Add("Add", {d.Add("Sqrt", {variance}), d.Scalar(1e-9)})}));
}

// The squares of neighbouring channels are summed as slices of the padded map of squares.
void DeriveLrn(Derivation& d) {
  const ops::AttributeReader attributes = d.attributes();
  const std::int64_t size = attributes.Int("size");
  if (size < 1 || size > 4096) d.NotImplemented("for a size of ", size);
  const ValueId x = d.Input(0), channels = d.Sizes(x, 1, 2), axis = d.Ints({1});
  const ValueId padded = d.Add("Pad", {d.Add("Mul", {x, x}), d.Ints({(size - 1) / 2, size / 2}), kNoValue, axis});
  std::vector<ValueId> neighbours;
  for (std::int64_t i = 0; i < size; ++i)
    neighbours.push_back(d.Add("Slice", {padded, d.Ints({i}), d.Add("Add", {channels, d.Ints({i})}), axis}));
  const double alpha = attributes.Float("alpha", 1e-4F) / static_cast<double>(size);
  const ValueId sum = d.Add("Mul", {d.Add("Sum", neighbours), d.Scalar(alpha)});
  const ValueId base = d.Add("Add", {sum, d.Scalar(attributes.Float("bias", 1))});
  d.Becomes(0, d.Add("Div", {x, d.Add("Pow", {base, d.Scalar(attributes.Float("beta", 0.75F))})}));
}

constexpr Derivative kNormalizations[] = {
    {.name = "BatchNormalization", .derive = DeriveBatchNormalization},
    {.name = "GroupNormalization", .derive = DeriveGroupNormalization},
    {.name = "InstanceNormalization", .derive = DeriveInstanceNormalization},
    {.name = "LRN", .derive = DeriveLrn},
    {.name = "LayerNormalization", .derive = DeriveLayerNormalization},
    {.name = "LpNormalization", .derive = DeriveLpNormalization},
    {.name = "MeanVarianceNormalization", .derive = DeriveMeanVarianceNormalization},
    {.name = "RMSNormalization", .derive = DeriveRmsNormalization},
};

}  // namespace

std::span<const Derivative> NormalizationDerivatives() { return kNormalizations; }

}  // namespace sardonyx::optimizer
