// optimizer/passes/exchange/spell_images.cpp - ONNX Runtime's operators of diffusion models, most of which it has for
// GPUs only: GroupNorm, BiasSplitGelu, BiasAdd. They run only where a model is made for them.
#include "optimizer/passes/exchange/exchange_passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

bool IsImage(Match& m) {
  const Type& x = m.type("x");
  return (x.has_rank && x.rank() == 4) || m.No("expected images [N, C, H, W], found ", x.ToText());
}

// Images, and a scale and a bias of floats for each channel.
bool HasFloatParameters(Match& m) {
  for (const char* name : {"scale", "bias"})
    if (m.type(name).dtype != DType::kFloat) return m.No("expected its ", name, " as floats");
  return IsImage(m);
}

// The skipped summand has the shape of x, not one that is repeated.
bool SkipsAlike(Match& m) {
  const Type &x = m.type("x"), &skip = m.type("skip");
  return SameDims(x, skip) || m.No("expected two summands of one shape, found ", x.ToText(), " and ", skip.ToText());
}

bool IsVector(const Match& m, std::string_view name, const Type& along) {
  const Type& type = m.type(name);
  return type.has_rank && type.rank() == 1 && along.has_rank && along.rank() == 3 &&
         SameDim(type.dims[0], along.dims.back()) && m.constant(name) != nullptr;
}

bool AddsBias(Match& m) {
  return (IsVector(m, "bias", m.type("x")) && SkipsAlike(m)) || m.No("expected a constant vector and a summand");
}

// Two halves of equal size; the second one goes through GELU.
bool SplitsInHalves(Match& m) {
  const Type &x = m.type("x"), &y = m.result();
  if (!IsVector(m, "bias", x)) return m.No("expected a constant vector before it");
  const std::int64_t axis = m.IntAttribute("axis", 0), last = static_cast<std::int64_t>(x.rank()) - 1;
  if (axis != -1 && axis != last) return m.No("expected halves of the last axis");
  const Dim &whole = x.dims.back(), &half = y.dims.back();
  if (!whole.known() || !half.known() || whole.number() != 2 * half.number()) return m.No("expected two halves");
  return true;
}

constexpr Rule kGroupNorm[] = {
    {.name = "with Swish",
     .match = "Mul(g, Sigmoid(g)) where g = n:GroupNormalization(x, scale, bias; epsilon=$epsilon, num_groups=$groups)",
     .replace = "Transpose(com.microsoft.GroupNorm(Transpose(x; perm=[0, 2, 3, 1]), scale, bias; activation=1, "
                "channels_last=1, epsilon=$epsilon, groups=$groups); perm=[0, 3, 1, 2])",
     .when = HasFloatParameters},
    {.name = "alone",
     .match = "GroupNormalization(x, scale, bias; epsilon=$epsilon, num_groups=$groups)",
     .replace = "Transpose(com.microsoft.GroupNorm(Transpose(x; perm=[0, 2, 3, 1]), scale, bias; activation=0, "
                "channels_last=1, epsilon=$epsilon, groups=$groups); perm=[0, 3, 1, 2])",
     .when = HasFloatParameters},
};

constexpr Rule kGroupNormFirst[] = {
    {.name = "with Swish",
     .match = "Mul(g, Sigmoid(g)) where g = n:GroupNormalization(x, scale, bias; epsilon=$epsilon, num_groups=$groups)",
     .replace = "com.microsoft.GroupNorm(x, scale, bias; activation=1, channels_last=0, epsilon=$epsilon, "
                "groups=$groups)",
     .when = HasFloatParameters},
    {.name = "alone",
     .match = "GroupNormalization(x, scale, bias; epsilon=$epsilon, num_groups=$groups)",
     .replace = "com.microsoft.GroupNorm(x, scale, bias; activation=0, channels_last=0, epsilon=$epsilon, "
                "groups=$groups)",
     .when = HasFloatParameters},
};

constexpr Rule kBiasAdd[] = {
    {.name = "sum",
     .match = "Add(Add(x, bias), skip)",
     .replace = "com.microsoft.BiasAdd(x, bias, skip)",
     .when = AddsBias},
};

constexpr Rule kBiasSplitGelu[] = {
    {.name = "Split",
     .match = "Mul(s, Gelu(s[1]; approximate=\"none\")) where s = s:Split(Add(x, bias), ?sizes; axis=$axis)",
     .replace = "com.microsoft.BiasSplitGelu(x, bias)",
     .when = SplitsInHalves},
};

}  // namespace

// With the activation behind it first, and alone in a second pass: a pass goes from the first node to the last.
constexpr std::span<const Rule> kLast(kGroupNorm), kFirst(kGroupNormFirst);
constinit const Pass kSpellGroupNormSwish = {
    .name = "spell_group_norm", .level = Level::kExtended, .rules = kLast.first(1)};
constinit const Pass kSpellGroupNorm = {.name = "spell_group_norm", .level = Level::kExtended, .rules = kLast.last(1)};
constinit const Pass kSpellGroupNormSwishFirst = {
    .name = "spell_group_norm_channels_first", .level = Level::kExtended, .rules = kFirst.first(1)};
constinit const Pass kSpellGroupNormFirst = {
    .name = "spell_group_norm_channels_first", .level = Level::kExtended, .rules = kFirst.last(1)};
constinit const Pass kFuseBiasAdd = {.name = "fuse_bias_add", .level = Level::kExtended, .rules = kBiasAdd};
constinit const Pass kFuseBiasSplitGelu = {
    .name = "fuse_bias_split_gelu", .level = Level::kExtended, .rules = kBiasSplitGelu};

}  // namespace sardonyx::optimizer
