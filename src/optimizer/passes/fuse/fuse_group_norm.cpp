// optimizer/passes/fuse/fuse_group_norm.cpp - GroupNormalization as PyTorch writes it becomes one node.
//
// x [N, C, spatial...] is reshaped to [N, G, -1], an InstanceNormalization normalizes each group, the result gets x's
// shape again, and a factor and a summand for each channel follow, or only one of them, or none.
#include "optimizer/fusion/conv_weights.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

// The constant captured as `name`, one value for each channel; empty if it is not one.
std::vector<double> ChannelsOf(const Match& m, std::string_view name, std::int64_t channels) {
  const Tensor* constant = m.constant(name);
  return constant != nullptr ? PerChannel(*constant, m.type("x").rank(), channels) : std::vector<double>();
}

bool NormalizesGroups(Match& m) {
  const Type &x = m.type("x"), &grouped = m.type("grouped"), &back = m.type("back");
  if (!x.has_rank || x.rank() < 3 || !x.dims[1].known() || !grouped.has_rank || grouped.rank() < 3)
    return m.No("expected channels of a known number, found ", x.ToText(), " as ", grouped.ToText());
  if (!SameDim(x.dims[0], grouped.dims[0]) || !grouped.dims[1].known())
    return m.No("expected groups of a known number, found ", grouped.ToText());
  if (!SameDims(x, back)) return m.No("behind it the shape is ", back.ToText(), ", expected ", x.ToText());
  const std::int64_t channels = x.dims[1].number(), groups = grouped.dims[1].number();
  if (groups < 1 || channels % groups != 0)
    return m.No(channels, " channels cannot be split into ", groups, " groups of equal size");
  if (m.constant("scale") == nullptr || m.constant("shift") == nullptr)
    return m.No("its scale or bias is not constant");
  const std::vector<double> scales = FloatsOf(*m.constant("scale")), shifts = FloatsOf(*m.constant("shift"));
  if (scales.size() != static_cast<std::size_t>(groups) || shifts.size() != scales.size())
    return m.No("expected ", groups, " scales and biases");
  const std::vector<double> factors = ChannelsOf(m, "factor", channels), summands = ChannelsOf(m, "summand", channels);
  if ((m.Has("factor") && factors.empty()) || (m.Has("summand") && summands.empty())) return false;
  std::vector<double> scale, bias;  // by channel
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    const std::size_t group = c / static_cast<std::size_t>(channels / groups);
    scale.push_back(scales[group] * (factors.empty() ? 1 : factors[c]));
    bias.push_back(shifts[group] * (factors.empty() ? 1 : factors[c]) + (summands.empty() ? 0 : summands[c]));
  }
  const std::string name = m.node("norm").name;
  m.SetAttribute("groups", groups);
  m.SetConstant("scale", TensorOfFloats(x.dtype, Shape{channels}, scale), name + "_scale");
  m.SetConstant("bias", TensorOfFloats(x.dtype, Shape{channels}, bias), name + "_bias");
  return true;
}

constexpr Rule kRules[] = {
    {.name = "groups",
     .match = "Add?(Mul?(back:Reshape(norm, _), factor), summand) "
              "where norm = norm:InstanceNormalization(grouped:Reshape(x, _), scale, shift)",
     .replace = "GroupNormalization(x, scale, bias; $norm, num_groups=$groups)",
     .when = NormalizesGroups},
};

}  // namespace

constinit const Pass kFuseGroupNorm = {.name = "fuse_group_norm", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
