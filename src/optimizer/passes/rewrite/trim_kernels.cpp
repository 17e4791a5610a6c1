// optimizer/passes/rewrite/trim_kernels.cpp - kernels of convolutions lose the taps that read nothing but padding.
//
// Wide dilations have such taps on small images: of DeepLab's 3x3 kernels with dilation 24 only the middle reads
// anything of 16x16 pixels. What is left is a rectangle of taps with the pads that it still needs.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "optimizer/fusion/conv_weights.h"
#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kMostPixels = std::int64_t{1} << 40;  // of an axis, far from overflows

struct Axis {
  std::int64_t in, kernel, stride, dilation, begin, end;  // begin, end: pads

  std::int64_t Out() const { return (in + begin + end - dilation * (kernel - 1) - 1) / stride + 1; }
  // Whether a tap reads a pixel for any of `out` positions.
  bool Reads(std::int64_t tap, std::int64_t out) const {
    const std::int64_t offset = tap * dilation - begin;
    const std::int64_t position = offset < 0 ? (-offset + stride - 1) / stride : 0;
    return position < out && position * stride + offset < in;
  }
  // The first tap that is needed and the one behind the last; pads do not become negative by it.
  std::pair<std::int64_t, std::int64_t> Needed() const {
    const std::int64_t out = Out();
    std::int64_t first = 0, last = kernel;
    while (first < last && !Reads(first, out)) ++first;
    while (last > first && !Reads(last - 1, out)) --last;
    if (first == last) return {0, kernel};  // nothing is read
    return {std::min(first, begin / dilation), std::max(last, kernel - end / dilation)};
  }
};

Ints List(const Match& m, std::string_view name, std::size_t count, std::int64_t otherwise) {
  const AttributeValue* value = m.attribute(name);
  const auto* list = value == nullptr ? nullptr : std::get_if<Ints>(value);
  return list == nullptr || list->empty() ? Ints(count, otherwise) : *list;
}

// The taps [first, last) of each axis of w [M, C, kernel...].
Tensor Part(const Tensor& w, const Ints& first, const Ints& last) {
  const Shape& shape = w.shape();
  const std::size_t spatial = shape.rank() - 2;
  const auto element = static_cast<std::size_t>(Bits(w.dtype()) / 8);
  Shape part = shape;
  for (std::size_t i = 0; i < spatial; ++i) part[i + 2] = last[i] - first[i];
  Tensor result(w.dtype(), part);
  const auto row = static_cast<std::size_t>(part[spatial + 1]) * element;
  auto* to = static_cast<std::byte*>(result.raw());
  const auto* from = static_cast<const std::byte*>(w.raw());
  Ints at(shape.rank(), 0);  // of the part, without the last axis
  for (std::int64_t rows = result.count() / part[spatial + 1]; rows > 0; --rows, to += row) {
    std::int64_t index = 0;
    for (std::size_t i = 0; i < shape.rank(); ++i) index = index * shape[i] + at[i] + (i < 2 ? 0 : first[i - 2]);
    std::memcpy(to, from + static_cast<std::size_t>(index) * element, row);
    for (std::size_t i = shape.rank() - 1; i-- > 0;) {
      if (++at[i] < part[i]) break;
      at[i] = 0;
    }
  }
  return result;
}

bool Trims(Match& m) {
  const Type& x = m.type("x");
  const Tensor* w = m.constant("w");
  if (w == nullptr || w->shape().rank() < 3 || w->count() == 0 || !x.has_rank || x.rank() != w->shape().rank())
    return false;
  const std::size_t spatial = x.rank() - 2;
  const Ints strides = List(m, "strides", spatial, 1), dilations = List(m, "dilations", spatial, 1);
  Ints pads = List(m, "pads", 2 * spatial, 0);
  if (strides.size() != spatial || dilations.size() != spatial || pads.size() != 2 * spatial) return false;
  const AttributeValue* auto_pad = m.attribute("auto_pad");
  const auto* mode = auto_pad != nullptr ? std::get_if<std::string>(auto_pad) : nullptr;
  if (mode != nullptr && *mode != "NOTSET" && !mode->empty()) return false;
  Ints first(spatial), last(spatial), kernel(spatial), left_dilations = dilations;
  bool trims = false;
  for (std::size_t i = 0; i < spatial; ++i) {
    const Dim& in = x.dims[i + 2];
    if (!in.known()) {
      const bool dilated = std::any_of(dilations.begin(), dilations.end(), [](std::int64_t d) { return d > 1; });
      return dilated && m.No("the size of the image is not known");
    }
    const Axis axis{in.number(), w->shape()[i + 2], strides[i], dilations[i], pads[i], pads[i + spatial]};
    if (axis.in > kMostPixels || axis.Out() < 1) return false;
    std::tie(first[i], last[i]) = axis.Needed();
    kernel[i] = last[i] - first[i];
    if (kernel[i] == axis.kernel) continue;
    trims = true;
    pads[i] -= first[i] * axis.dilation;
    pads[i + spatial] -= (axis.kernel - last[i]) * axis.dilation;
    if (kernel[i] == 1) left_dilations[i] = 1;
  }
  if (!trims) return false;
  if (w->dtype() != DType::kInt8 && w->dtype() != DType::kUInt8) {
    const std::vector<double> weights = FloatsOf(*w);
    if (!std::all_of(weights.begin(), weights.end(), [](double v) { return std::isfinite(v); }))
      return m.No("products of padding and weights that are not finite are NaN");
  }
  m.SetConstant("trimmed", Part(*w, first, last), m.graph().value(m.value("w")).name);
  m.SetAttribute("pads", pads);
  m.SetAttribute("dilations", left_dilations);
  m.SetAttribute("kernel", kernel);
  return true;
}

constexpr Rule kRules[] = {
    {.name = "Conv",
     .match = "y:Conv(x, w, ?b; pads=$pads, dilations=$dilations, strides=$strides, auto_pad=$auto_pad)",
     .replace = "$y(x, trimmed, ?b; pads=$pads, dilations=$dilations, kernel_shape=$kernel)",
     .when = Trims},
    {.name = "ConvInteger",
     .match = "y:ConvInteger(x, w, ?xz, ?wz; pads=$pads, dilations=$dilations, strides=$strides, auto_pad=$auto_pad)",
     .replace = "$y(x, trimmed, ?xz, ?wz; pads=$pads, dilations=$dilations, kernel_shape=$kernel)",
     .when = Trims},
    {.name = "QLinearConv",
     .match = "y:QLinearConv(x, xs, xz, w, ws, wz, ys, yz, ?b; pads=$pads, dilations=$dilations, strides=$strides, "
              "auto_pad=$auto_pad)",
     .replace = "$y(x, xs, xz, trimmed, ws, wz, ys, yz, ?b; pads=$pads, dilations=$dilations, kernel_shape=$kernel)",
     .when = Trims},
};

}  // namespace

constinit const Pass kTrimKernels = {.name = "trim_kernels", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
