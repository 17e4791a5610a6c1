// ops/shapes/window.cpp - the sliding window of convolutions and pools.
#include "ops/shapes/window.h"

#include <algorithm>
#include <string>

namespace sardonyx::ops {
namespace {

AutoPad ReadAutoPad(const AttributeReader& c) {
  const std::string name = c.String("auto_pad", "NOTSET");
  if (name == "NOTSET" || name.empty()) return AutoPad::kNotSet;
  if (name == "SAME_UPPER") return AutoPad::kSameUpper;
  if (name == "SAME_LOWER") return AutoPad::kSameLower;
  if (name == "VALID") return AutoPad::kValid;
  c.Fail(Code::kInvalidArgument, "attribute 'auto_pad': expected NOTSET, SAME_UPPER, SAME_LOWER or VALID, found '",
         name, "'");
}

}  // namespace

void CheckAtLeast(const AttributeReader& c, const char* name, const std::vector<std::int64_t>& values,
                  std::int64_t least) {
  for (const std::int64_t value : values) {
    if (value < least || value > (std::int64_t{1} << 31)) {
      c.Fail(Code::kInvalidArgument, "attribute '", name, "': expected at least ", least,
             value < least ? "" : " and at most 2^31", ", found ", ToText(Dims(values)));
    }
  }
}

WindowAttributes ReadWindow(const AttributeReader& c) {
  WindowAttributes w;
  w.kernel = c.Ints("kernel_shape");
  w.strides = c.Ints("strides");
  w.dilations = c.Ints("dilations");
  w.pads = c.Ints("pads");
  w.auto_pad = ReadAutoPad(c);
  w.ceil_mode = c.Flag("ceil_mode");
  CheckAtLeast(c, "kernel_shape", w.kernel, 1);
  CheckAtLeast(c, "strides", w.strides, 1);
  CheckAtLeast(c, "dilations", w.dilations, 1);
  if (w.auto_pad != AutoPad::kNotSet) w.pads.clear();
  CheckAtLeast(c, "pads", w.pads, 0);
  return w;
}

void CheckWindowRank(const AttributeReader& c, const WindowAttributes& w, std::size_t spatial_rank) {
  const auto check = [&](const char* name, std::size_t found, std::size_t expected) {
    if (found != 0 && found != expected) {
      c.Fail(Code::kInvalidArgument, "attribute '", name, "': expected ", expected, " values for ", spatial_rank,
             " spatial dimensions, found ", found);
    }
  };
  check("kernel_shape", w.kernel.size(), spatial_rank);
  check("strides", w.strides.size(), spatial_rank);
  check("dilations", w.dilations.size(), spatial_rank);
  check("pads", w.pads.size(), 2 * spatial_rank);
}

Dim WindowOutput(const AttributeReader& c, const WindowAttributes& w, std::size_t axis, const Dim& in,
                 const Dim& kernel) {
  const std::int64_t stride = w.stride(axis);
  if (w.auto_pad == AutoPad::kSameUpper || w.auto_pad == AutoPad::kSameLower) return CeilDiv(in, stride);
  const Dim reach = Dim(w.dilation(axis)) * (kernel - Dim(1)) + Dim(1);
  const Dim free = in + Dim(w.pad_begin(axis)) + Dim(w.pad_end(axis)) - reach;
  if (free.known() && free.number() < 0 && free.number() + stride < 0) {
    if (in.known() && in.number() == 0) return Dim(0);
    c.Fail(Code::kInvalidArgument, "expected spatial axis ", axis, " of at least ", reach.ToText(), " with its pads ",
           w.pad_begin(axis), " and ", w.pad_end(axis), ", found ", in.ToText());
  }
  if (!w.ceil_mode || stride == 1) return FloorDiv(free, stride) + Dim(1);
  const Dim out = CeilDiv(free, stride) + Dim(1);
  // A window that would begin in the padding at the end is dropped: none does where a window reaches so far.
  if (!free.known()) return reach.known() && stride + w.pad_end(axis) <= reach.number() ? out : Dim();
  const bool drop = (out.number() - 1) * stride >= in.number() + w.pad_begin(axis);
  return Dim(out.number() - (drop ? 1 : 0));
}

Dim PoolOutput(const AttributeReader& c, const WindowAttributes& w, std::size_t axis, const Dim& in,
               const Dim& kernel) {
  const std::int64_t stride = w.stride(axis), pads = w.pad_begin(axis) + w.pad_end(axis);
  const bool same = w.auto_pad == AutoPad::kSameUpper || w.auto_pad == AutoPad::kSameLower;
  const Dim reach = Dim(w.dilation(axis)) * (kernel - Dim(1)) + Dim(1);
  // With these pads a window fits into every input that has elements.
  const bool fits = reach.known() && reach.number() <= 1 + pads;
  if (same || w.ceil_mode || stride == 1 || fits) return WindowOutput(c, w, axis, in, kernel);
  const Dim free = in + Dim(pads) - reach;
  if (free.known()) {
    const bool partial = in.number() > 0 && free.number() < 0 && free.number() > -2 * stride;
    return partial ? Dim(free.number() / stride + 1) : WindowOutput(c, w, axis, in, kernel);
  }
  return Max(FloorDiv(free, stride), Min(CeilDiv(free, stride), Dim(0))) + Dim(1);
}

Window3 MakeWindow(const WindowAttributes& w, Dims x, Dims y, Dims kernel) {
  Window3 window;
  const std::size_t rank = x.size() - 2;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t at = 3 - rank + i;
    window.in[at] = x[2 + i];
    window.out[at] = y[2 + i];
    window.kernel[at] = kernel[i];
    window.stride[at] = w.stride(i);
    window.dilation[at] = w.dilation(i);
    window.pad_begin[at] = w.pad_begin(i);
    window.pad_end[at] = w.pad_end(i);
    if (w.auto_pad == AutoPad::kSameUpper || w.auto_pad == AutoPad::kSameLower) {
      const std::int64_t need =
          std::max<std::int64_t>(0, (y[2 + i] - 1) * w.stride(i) + (kernel[i] - 1) * w.dilation(i) + 1 - x[2 + i]);
      window.pad_begin[at] = w.auto_pad == AutoPad::kSameUpper ? need / 2 : need - need / 2;
      window.pad_end[at] = need - window.pad_begin[at];
    } else if (!w.ceil_mode) {
      const std::int64_t end = (y[2 + i] - 1) * w.stride(i) + (kernel[i] - 1) * w.dilation(i) + 1;
      window.pad_end[at] = std::max(window.pad_end[at], end - x[2 + i] - window.pad_begin[at]);  // see PoolOutput
    }
  }
  return window;
}

}  // namespace sardonyx::ops
