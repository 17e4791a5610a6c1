// optimizer/derivatives/pools.cpp - the derivatives of pools.
#include "optimizer/derivatives/window.h"

namespace sardonyx::optimizer {
namespace {

// How many elements each window averages: all of them, or those that lie on the map.
ValueId CountsOfWindows(Derivation& d, const Sliding& s) {
  ValueId ones = d.Filled(d.ShapeOf(d.Input(0)), 1);
  std::vector<std::int64_t> pads = s.pads;
  if (d.attributes().Flag("count_include_pad")) {
    ones = d.Add("Pad", {ones, d.Ints(pads), d.Scalar(1), d.Ints(s.axes())});
    pads.assign(pads.size(), 0);
  }
  return d.Add("LpPool", {ones},
               {{"p", std::int64_t{1}},
                {"kernel_shape", s.kernel},
                {"strides", s.strides},
                {"dilations", s.dilations},
                {"pads", pads},
                {"ceil_mode", d.attributes().Int("ceil_mode", 0)}});
}

// Every element of a window gets its share, in each map by itself: maps become images of one channel.
void DeriveAveragePool(Derivation& d) {
  const Sliding s = ReadSliding(d, kNoValue);
  const ValueId x = d.Input(0);
  const auto end = static_cast<std::int64_t>(s.kernel.size() + 2);
  const ValueId share = d.Add("Div", {d.Gradient(), CountsOfWindows(d, s)});
  const ValueId maps = d.Add("Mul", {d.Sizes(x, 0, 1), d.Sizes(x, 1, 2)});
  const ValueId apart = d.Reshaped(share, d.Joined({maps, d.Ints({1}), d.Sizes(share, 2, end)}));
  std::vector<std::int64_t> sizes = {1, 1};
  sizes.insert(sizes.end(), s.kernel.begin(), s.kernel.end());
  d.Give(0, d.ReshapedLike(SpreadOver(d, s, apart, d.Filled(d.Ints(sizes), 1), 1, x), x));
}

// The gradient goes to the element that each window has chosen; ONNX counts these through the whole tensor.
void DeriveMaxPool(Derivation& d) {
  std::vector<Attribute> attributes = d.node().attributes;
  std::erase_if(attributes, [](const Attribute& each) { return each.name == "storage_order"; });
  const ValueId chosen = d.AddMany("MaxPool", {d.Input(0)}, std::move(attributes), 2)[1];
  const ValueId all = d.Ints({-1}), x = d.Input(0);
  const ValueId zeros = d.Filled(d.Add("Unsqueeze", {d.Add("Size", {x}), d.Ints({0})}), 0);
  const ValueId sum =
      d.Add("ScatterElements", {zeros, d.Add("Reshape", {chosen, all}), d.Add("Reshape", {d.Gradient(), all})},
            {{"reduction", std::string("add")}});
  d.Give(0, d.ReshapedLike(sum, x));
}

std::vector<std::int64_t> SpatialAxes(Derivation& d) {
  std::vector<std::int64_t> axes;
  for (std::size_t i = 2; i < d.RankOf(d.Input(0)); ++i) axes.push_back(static_cast<std::int64_t>(i));
  return axes;
}

void DeriveGlobalAveragePool(Derivation& d) { d.Becomes(0, d.Add("ReduceMean", {d.Input(0), d.Ints(SpatialAxes(d))})); }

void DeriveGlobalMaxPool(Derivation& d) { d.Becomes(0, d.Add("ReduceMax", {d.Input(0), d.Ints(SpatialAxes(d))})); }

constexpr Derivative kPools[] = {
    {.name = "AveragePool", .derive = DeriveAveragePool},
    {.name = "GlobalAveragePool", .derive = DeriveGlobalAveragePool},
    {.name = "GlobalMaxPool", .derive = DeriveGlobalMaxPool},
    {.name = "MaxPool", .derive = DeriveMaxPool},
};

}  // namespace

std::span<const Derivative> PoolDerivatives() { return kPools; }

}  // namespace sardonyx::optimizer
