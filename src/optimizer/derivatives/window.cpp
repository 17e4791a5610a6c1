// optimizer/derivatives/window.cpp - reads windows, and takes gradients back through them.
#include "optimizer/derivatives/window.h"

#include <algorithm>
#include <numeric>

namespace sardonyx::optimizer {
namespace {

// As the standard defines SAME: as many windows as strides begin in the map, the odd element at the end (or begin).
void ResolveSame(const Derivation& d, bool upper, Sliding& s) {
  const std::size_t rank = s.kernel.size();
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t size = d.SizeOf(d.Input(0), i + 2), windows = (size + s.strides[i] - 1) / s.strides[i];
    const std::int64_t reach = (windows - 1) * s.strides[i] + (s.kernel[i] - 1) * s.dilations[i] + 1;
    const std::int64_t total = std::max<std::int64_t>(reach - size, 0);
    s.pads[i] = upper ? total / 2 : total - total / 2;
    s.pads[rank + i] = total - s.pads[i];
  }
}

}  // namespace

std::vector<std::int64_t> Sliding::axes() const {
  std::vector<std::int64_t> axes(kernel.size());
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

Sliding ReadSliding(const Derivation& d, ValueId weights) {
  const ops::AttributeReader attributes = d.attributes();
  Sliding s;
  if (weights == kNoValue) {
    s.kernel = attributes.Ints("kernel_shape");
  } else {
    for (std::size_t i = 2; i < d.RankOf(weights); ++i) s.kernel.push_back(d.SizeOf(weights, i));
  }
  const std::size_t rank = s.kernel.size();
  s.strides = attributes.Ints("strides");
  s.dilations = attributes.Ints("dilations");
  s.pads = attributes.Ints("pads");
  s.strides.resize(rank, 1);
  s.dilations.resize(rank, 1);
  const std::string auto_pad = attributes.String("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET") s.pads.clear();
  s.pads.resize(2 * rank, 0);
  if (auto_pad.starts_with("SAME")) ResolveSame(d, auto_pad == "SAME_UPPER", s);
  return s;
}

// The transposed convolution, unpadded, covers the padded map but for its last elements, which no window may have
// reached. What belongs to the map is cut out.
ValueId SpreadOver(Derivation& d, const Sliding& s, ValueId dy, ValueId weights, std::int64_t groups, ValueId x) {
  const std::size_t rank = s.kernel.size();
  ValueId all =
      d.Add("ConvTranspose", {dy, weights}, {{"strides", s.strides}, {"dilations", s.dilations}, {"group", groups}});
  std::vector<std::int64_t> missing(2 * rank, 0);
  for (std::size_t i = 0; i < rank; ++i) missing[rank + i] = s.strides[i] - 1;
  if (std::any_of(missing.begin(), missing.end(), [](std::int64_t each) { return each > 0; }))
    all = d.Add("Pad", {all, d.Ints(missing), kNoValue, d.Ints(s.axes())});
  const ValueId begins = d.Ints(s.begins());
  const ValueId ends = d.Add("Add", {d.Sizes(x, 2, static_cast<std::int64_t>(rank + 2)), begins});
  return d.Add("Slice", {all, begins, ends, d.Ints(s.axes())});
}

}  // namespace sardonyx::optimizer
