// optimizer/passes/fuse/fuse_conv_batch_norm.cpp - BatchNormalization behind Conv or ConvTranspose is folded into its
// weights and bias.
#include "optimizer/fusion/conv_weights.h"
#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

// y = (conv(x, W) + b - mean) * scale / sqrt(variance + epsilon) + shift, so output channel m of W is multiplied by
// f[m] = scale[m] / sqrt(variance[m] + epsilon), and the bias becomes b * f + (shift - mean * f). Computed in double.
bool Folds(Match& m) {
  if (!IsFoldableConv(m)) return false;
  const Node& node = m.graph().node(m.root());
  for (const char* flag : {"training_mode", "is_test", "spatial"}) {
    const AttributeValue* value = node.FindAttribute(flag);
    const std::int64_t wanted = std::string_view(flag) == "training_mode" ? 0 : 1;
    const auto* found = value != nullptr ? std::get_if<std::int64_t>(value) : &wanted;
    if (found == nullptr || *found != wanted) return m.No("it trains, or normalizes each element");
  }
  const auto norm = ChannelNormOf(m);
  return norm && FoldIntoConv(m, norm->factor, norm->summand);
}

constexpr Rule kRules[] = {
    {.name = "weights and bias",
     .match = {"BatchNormalization(conv, scale, shift, mean, variance; epsilon=$epsilon)", kConvDefinition},
     .replace = "$y(x, w, b)",
     .when = Folds,
     .any_spelling = true},
};

}  // namespace

constinit const Pass kFuseConvBatchNorm = {.name = "fuse_conv_batch_norm", .level = Level::kBasic, .rules = kRules};

}  // namespace sardonyx::optimizer
