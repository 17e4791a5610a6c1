// ops/math/legacy_broadcast.cpp - aligns the second input with an axis of the first.
#include "ops/math/legacy_broadcast.h"

namespace sardonyx::ops {
namespace {

// How many ones follow b's dimensions.
std::size_t Trailing(std::int64_t axis, std::size_t a_rank, std::size_t b_rank) {
  const auto a = static_cast<std::int64_t>(a_rank), b = static_cast<std::int64_t>(b_rank);
  const std::int64_t first = axis < 0 ? axis + a : axis;
  if (first < 0 || first + b > a)
    Fail(Code::kInvalidArgument, "attribute 'axis': expected a second input that fits in rank ", a, " from axis ", axis,
         " on, found one of rank ", b);
  return static_cast<std::size_t>(a - first - b);
}

std::vector<Dim> AlignedDims(const InferContext& c) {
  std::vector<Dim> b = c.InputDims(1);
  const LegacyAxis legacy = LegacyAxis::Of(c);
  const bool scalar = b.empty() || (b.size() == 1 && b[0].known() && b[0].number() == 1);
  if (legacy.present && !scalar) b.resize(b.size() + Trailing(legacy.axis, c.Rank(0), b.size()), Dim(1));
  return b;
}

}  // namespace

LegacyAxis LegacyAxis::Of(const AttributeReader& c) {
  if (!c.Has("axis")) return {};
  return {true, c.Int("axis")};
}

Shape LegacyAxis::Align(std::size_t rank, Dims b) const {
  Shape aligned(b);
  if (!present || b.empty() || (b.size() == 1 && b[0] == 1)) return aligned;
  for (std::size_t i = Trailing(axis, rank, b.size()); i > 0; --i) aligned.Append(1);
  return aligned;
}

void InferLegacyBroadcast(InferContext& c, DType dtype) {
  if (!c.HasRank(0) || !c.HasRank(1)) return c.SetOutput(0, dtype);
  c.SetOutput(0, dtype, BroadcastDims(c, c.InputDims(0), AlignedDims(c)));
}

void UpgradeLegacyBroadcast(UpgradeContext& c) {
  c.Take("broadcast");
  c.Take("consumed_inputs");
}

void InferPRelu(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  const std::vector<Dim>& x = c.InputDims(0);
  c.SetOutput(0, c.InputDType(0), x);
  if (!c.HasRank(1)) return;
  const std::vector<Dim> both = BroadcastDims(c, x, AlignedDims(c));
  bool same = both.size() == x.size();
  for (std::size_t i = 0; same && i < x.size(); ++i)
    same = !both[i].known() || !x[i].known() || both[i].number() == x[i].number();
  if (!same)
    c.Fail(Code::kInvalidArgument, "input 'slope': expected a shape that broadcasts to ", c.InputType(0).ToText(),
           ", found ", c.InputType(1).ToText());
}

void UpgradePRelu(UpgradeContext& c) {
  c.Take("consumed_inputs");
  const Type* slope = c.InputType(1);
  // A rank that is not declared may be 1, and a slope of more dimensions begins at the channels, too.
  if (c.version() < 7 && (slope == nullptr || !slope->has_rank || slope->rank() == 1))
    c.SetAttribute("axis", std::int64_t{1});
}

}  // namespace sardonyx::ops
