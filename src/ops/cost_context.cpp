// ops/cost_context.cpp - the cost formulas that families share.
#include "ops/cost_context.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ops/channels_last.h"

namespace sardonyx::ops {
namespace {

// One spatial axis of a convolution: how many of its taps, over all outputs, lie in the image.
double TapsInside(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                  std::int64_t pad) {
  const auto inside = [&](std::int64_t at) {
    std::int64_t taps = 0;
    for (std::int64_t t = 0; t < kernel; ++t) {
      const std::int64_t x = at * stride - pad + t * dilation;
      taps += x >= 0 && x < in ? 1 : 0;
    }
    return taps;
  };
  double taps = 0;
  std::int64_t first = 0, last = out;  // what lies between has all taps inside
  for (; first < out && inside(first) < kernel; ++first) taps += static_cast<double>(inside(first));
  for (; last > first && inside(last - 1) < kernel; --last) taps += static_cast<double>(inside(last - 1));
  return taps + static_cast<double>((last - first) * kernel);
}

// The share of a convolution's multiplications that are not by padding, which a kernel may leave out.
double InsideShare(const CostContext& c, const TensorRef& w) {
  const TensorRef &x = c.In(0), &y = c.Out(0);
  if (!x.present() || !y.present() || w.rank() < 3 || x.rank() != w.rank() || y.count == 0 || w.count == 0) return 1;
  const bool last = c.node().domain == kChannelsLastDomain || c.Flag("channels_last");
  const std::size_t in_at = last && !c.Flag("channels_first_input") ? 1 : 2;
  const std::size_t out_at = last && !c.Flag("channels_first_output") ? 1 : 2, rank = w.rank() - 2;
  const auto ints = [&](std::string_view name, std::size_t i, std::int64_t otherwise) {
    const auto* list = AttributeAs<std::vector<std::int64_t>>(c.node(), name);
    return list != nullptr && i < list->size() ? (*list)[i] : otherwise;
  };
  const std::string_view automatic = TextAttribute(c.node(), "auto_pad", "NOTSET");
  double share = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t in = x.dim(in_at + d), out = y.dim(out_at + d), kernel = w.dim(2 + d);
    const std::int64_t stride = ints("strides", d, 1), dilation = ints("dilations", d, 1);
    const std::int64_t both = std::max<std::int64_t>(0, (out - 1) * stride + (kernel - 1) * dilation + 1 - in);
    const std::int64_t pad = automatic == "SAME_UPPER"   ? both / 2
                             : automatic == "SAME_LOWER" ? (both + 1) / 2
                             : automatic == "VALID"      ? 0
                                                         : ints("pads", d, 0);
    share *= TapsInside(in, out, kernel, stride, dilation, pad) / static_cast<double>(out * kernel);
  }
  return share;
}

void CountFilters(CostContext& c, const TensorRef& weights) {
  const bool known = weights.present() && weights.rank() > 0 && weights.dim(0) > 0;
  const double filter = known ? static_cast<double>(weights.count) / static_cast<double>(weights.dim(0)) : 0;
  c.SetOperations(2 * c.CountOut(0) * filter);
  c.SetArithmetic(InsideShare(c, weights));
}

}  // namespace

CostFn* CostFnOf(const OpDef& op) {
  if (op.cost != nullptr) return op.cost;
  if ((op.traits & kView) != 0) return CountNothing;
  return (op.traits & kElementwise) != 0 ? CountOncePerOutput : nullptr;
}

void CountNothing(CostContext& c) { c.SetOperations(0); }
void CountPicked(CostContext& c) {
  c.SetOperations(0);
  c.PickFrom(0);
}
void CountOncePerInput(CostContext& c) { c.SetOperations(c.CountIn(0)); }
void CountOncePerOutput(CostContext& c) { c.SetOperations(c.CountOut(0)); }
void CountTwicePerOutput(CostContext& c) { c.SetOperations(2 * c.CountOut(0)); }
void CountProduct(CostContext& c) {
  c.SetOperations(2 * c.CountOut(0) * CostContext::DimOf(c.In(0), c.Flag("transA") ? -2 : -1));
}
void CountNormalization(CostContext& c) { c.SetOperations(8 * c.CountIn(0)); }
void CountConvolution(CostContext& c) { CountFilters(c, c.In(1)); }
void CountQuantizedConvolution(CostContext& c) { CountFilters(c, c.In(3)); }

}  // namespace sardonyx::ops
