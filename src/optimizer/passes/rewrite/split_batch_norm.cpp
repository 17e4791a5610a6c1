// optimizer/passes/rewrite/split_batch_norm.cpp - a BatchNormalization that was not folded into a convolution becomes a
// product and a sum, which other passes can fuse with their neighbours.
#include <cmath>

#include "optimizer/fusion/conv_weights.h"
#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

// y = (x - mean) * f + shift with f = scale / sqrt(variance + epsilon), as x * f + (shift - mean * f).
bool Splits(Match& m) {
  const Type& x = m.type("x");
  if (!x.is_tensor() || !x.has_rank || x.rank() < 2) return m.No("expected a rank of 2 or more, found ", x.ToText());
  if (m.graph().node(m.root()).since_version < 9) return m.No("it normalizes each element");
  if (m.IntAttribute("training", 0) != 0) return m.No("it is in training mode");
  const auto norm = ChannelNormOf(m);
  if (!norm) return false;
  for (std::size_t c = 0; c < norm->factor.size(); ++c)
    if (!std::isfinite(norm->factor[c]) || !std::isfinite(norm->summand[c]))
      return m.No("the factor of channel ", c, " would be infinite");
  Shape shape{static_cast<std::int64_t>(norm->factor.size())};
  for (std::size_t i = 2; i < x.rank(); ++i) shape.Append(1);
  const std::string name = m.graph().node(m.root()).name;
  m.SetConstant("factor", TensorOfFloats(x.dtype, shape, norm->factor), name + "_factor");
  m.SetConstant("summand", TensorOfFloats(x.dtype, shape, norm->summand), name + "_summand");
  return true;
}

constexpr Rule kRules[] = {
    {.name = "product and sum",
     .match = "BatchNormalization(x, scale, shift, mean, variance; epsilon=$epsilon, training_mode=$training)",
     .replace = "Add(Mul(x, factor), summand)",
     .when = Splits},
};

}  // namespace

constinit const Pass kSplitBatchNorm = {.name = "split_batch_norm", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
