// optimizer/passes/fuse/fuse_relu_clip.cpp - Relu before or after Relu or Clip becomes one Clip with the larger of the
// lower bounds.
#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

bool ClipFromZero(Match& m) {
  const auto low = m.scalar("low");
  if (m.value("low") != kNoValue && !low) return m.No("the lower bound is not constant");
  return !low || *low <= 0;
}
bool ClipIsPositive(Match& m) {
  const auto low = m.scalar("low");
  return low ? *low >= 0 : m.No("the lower bound is not constant");
}

// A bound above that is below zero would win over Clip's lower bound, but not over Relu's.
bool HighIsNotNegative(Match& m) {
  const auto high = m.scalar("high");
  if (m.value("high") != kNoValue && !high) return m.No("the upper bound is not constant");
  return !high || *high >= 0 || m.No("the upper bound ", *high, " is below 0");
}
bool InnerClipFromZero(Match& m) { return ClipFromZero(m) && HighIsNotNegative(m); }
bool InnerClipIsPositive(Match& m) { return ClipIsPositive(m) && HighIsNotNegative(m); }

constexpr Rule kRules[] = {
    {.name = "relu twice", .match = "Relu(Relu(x))", .replace = "Relu(x)"},
    {.name = "relu before a clip from below zero",
     .match = "Clip(Relu(x), ?low, ?high)",
     .replace = "Clip(x, 0, ?high)",
     .when = ClipFromZero},
    {.name = "relu before a clip from above zero",
     .match = "Clip(Relu(x), low, ?high)",
     .replace = "Clip(x, low, ?high)",
     .when = ClipIsPositive},
    {.name = "relu after a clip from above zero",
     .match = "Relu(Clip(x, low, ?high))",
     .replace = "Clip(x, low, ?high)",
     .when = InnerClipIsPositive},
    {.name = "relu after a clip from below zero",
     .match = "Relu(Clip(x, ?low, ?high))",
     .replace = "Clip(x, 0, ?high)",
     .when = InnerClipFromZero},
};

}  // namespace

constinit const Pass kFuseReluClip = {.name = "fuse_relu_clip", .level = Level::kBasic, .rules = kRules};

}  // namespace sardonyx::optimizer
