// ops/shapes/conv_attributes.cpp - what the convolutions share.
#include "ops/shapes/conv_attributes.h"

#include <algorithm>

namespace sardonyx::ops {
namespace {

// Pixels of an axis that a kernel may lay out, pads included; a double because it may be beyond all integers.
double Extent(const kernels::ConvShape& s, std::size_t i, bool transposed) {
  const auto in = static_cast<double>(s.in[i]), out = static_cast<double>(s.out[i]),
             stride = static_cast<double>(s.stride[i]), pad = static_cast<double>(s.pad_begin[i]),
             reach = static_cast<double>(s.kernel[i] - 1) * static_cast<double>(s.dilation[i]);
  return transposed ? in + (reach + out + pad) / stride + 2 : std::max(in + pad, (out - 1) * stride + reach + 1);
}

void CheckExtents(const kernels::ConvShape& s, bool transposed) {
  // Channels are rounded up to 64 at most, of 4 bytes each; a stride may add itself to a row.
  double bytes = (static_cast<double>(s.in_channels) + 64) * 4;
  for (std::size_t i = 0; i < 3; ++i) bytes *= Extent(s, i, transposed) + (transposed ? 0.0 : double(s.stride[i])) + 64;
  if (bytes < 0x1p60) return;
  Fail(Code::kInvalidArgument, "expected an image with its pads below 2^60 bytes, found images of ", ToText(Dims(s.in)),
       " for outputs of ", ToText(Dims(s.out)), ", kernel ", ToText(Dims(s.kernel)), ", strides ",
       ToText(Dims(s.stride)), ", dilations ", ToText(Dims(s.dilation)), ", pads from ", ToText(Dims(s.pad_begin)));
}

}  // namespace

ConvState ReadConv(const AttributeReader& c, const Type& x, const Type& w, std::size_t most_axes) {
  ConvState state;
  state.layouts = ImageLayouts::Of(c);
  if (state.layouts.input_last || state.layouts.output_last) most_axes = kMostKernelAxes;
  state.window = ReadWindow(c);
  state.group = c.Int("group", 1);
  if (state.group < 1 || state.group > (std::int64_t{1} << 31))
    c.Fail(Code::kInvalidArgument, "attribute 'group': expected at least 1", state.group < 1 ? "" : " and at most 2^31",
           ", found ", state.group);
  if (x.has_rank && (x.rank() < 3 || x.rank() - 2 > most_axes)) {
    c.Fail(x.rank() < 3 ? Code::kInvalidArgument : Code::kNotImplemented, "expected an input of 1 to ", most_axes,
           " spatial dimensions ([N, C, ...]), found ", x.ToText());
  }
  if (x.has_rank && w.has_rank && x.rank() != w.rank()) {
    c.Fail(Code::kInvalidArgument, "expected weights of rank ", x.rank(), ", as the input has, found ", w.ToText());
  }
  if (w.has_rank && (w.rank() < 3 || w.rank() - 2 > most_axes))
    c.Fail(w.rank() < 3 ? Code::kInvalidArgument : Code::kNotImplemented, "expected weights of 1 to ", most_axes,
           " spatial dimensions ([M, C, ...]), found ", w.ToText());
  for (std::size_t i = 2; w.has_rank && i < w.rank(); ++i) {
    if (w.dims[i].known() && w.dims[i].number() < 1)
      c.Fail(Code::kInvalidArgument, "expected a kernel of at least one element, found weights ", w.ToText());
  }
  if (x.has_rank || w.has_rank) CheckWindowRank(c, state.window, (x.has_rank ? x.rank() : w.rank()) - 2);
  if (w.has_rank && !state.window.kernel.empty() && w.rank() == state.window.kernel.size() + 2) {
    for (std::size_t i = 0; i < state.window.kernel.size(); ++i) {
      const Dim& dim = w.dims[2 + i];
      if (dim.known() && dim.number() != state.window.kernel[i]) {
        c.Fail(Code::kInvalidArgument, "expected weights with the kernel_shape ", ToText(Dims(state.window.kernel)),
               ", found ", w.ToText());
      }
    }
  }
  return state;
}

std::vector<Dim> ConvOutputDims(const AttributeReader& c, const ConvState& state, const Type& x, const Type& w) {
  if (!x.has_rank) return {};
  std::vector<Dim> dims(x.rank());
  dims[0] = x.dims[0];
  if (w.has_rank) dims[1] = w.dims[0];
  if (w.has_rank && x.dims[1].known() && w.dims[1].known()) {
    const Dim channels = w.dims[1] * Dim(state.group);  // not known if beyond all numbers
    if (!channels.known() || x.dims[1].number() != channels.number())
      c.Fail(Code::kInvalidArgument, "expected ", channels.known() ? channels.ToText() : "at least 2^63",
             " input channels (group ", state.group, ", weights ", w.ToText(), "), found ", x.ToText());
  }
  for (std::size_t i = 0; i + 2 < x.rank(); ++i) {
    Dim kernel = w.has_rank ? w.dims[2 + i] : Dim();
    if (!state.window.kernel.empty()) kernel = Dim(state.window.kernel[i]);
    dims[2 + i] = WindowOutput(c, state.window, i, x.dims[2 + i], kernel);
  }
  return dims;
}

void CheckConvShapes(const WindowAttributes& window, std::int64_t group, Dims x, Dims w, bool transposed,
                     std::size_t most_axes) {
  const auto fail = [&](const char* expected) {
    Fail(Code::kInvalidArgument, "expected ", expected, " (group ", group, "), found input ", ToText(x),
         " and weights ", ToText(w));
  };
  if (x.size() != w.size() || x.size() < 3) fail("input and weights of the same rank, at least 3");
  const std::size_t spatial = x.size() - 2;
  const auto fits = [](std::size_t found, std::size_t expected) { return found == 0 || found == expected; };
  if (spatial > most_axes || !fits(window.kernel.size(), spatial) || !fits(window.strides.size(), spatial) ||
      !fits(window.dilations.size(), spatial) || !fits(window.pads.size(), 2 * spatial))
    fail("as many spatial dimensions as kernel_shape, strides, dilations and pads have, and a kernel for them");
  std::int64_t product = 0;  // what the weights have in all groups
  if (__builtin_mul_overflow(w[1], group, &product)) fail("fewer than 2^63 channels");
  if (x[1] != (transposed ? w[0] : product)) fail("as many input channels as the weights have");
  if (w[0] % group != 0) fail("channels divisible by the group");
  if (ElementCount(w, 2, w.size()) == 0) fail("a kernel of at least one element");
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    if (w[2 + i] != window.kernel[i]) fail("weights with the sizes of kernel_shape");
  }
}

kernels::ConvShape MakeConvShape(const Window3& w, std::int64_t batch, std::int64_t in_channels,
                                 std::int64_t out_channels, const ConvState& state, bool transposed) {
  kernels::ConvShape shape;
  shape.batch = batch;
  shape.in_channels = in_channels;
  shape.out_channels = out_channels;
  shape.groups = state.group;
  shape.in = w.in;
  shape.out = w.out;
  shape.kernel = w.kernel;
  shape.stride = w.stride;
  shape.dilation = w.dilation;
  shape.pad_begin = w.pad_begin;
  shape.in_layout = ImageLayouts::Kernel(state.layouts.input_last);
  shape.out_layout = ImageLayouts::Kernel(state.layouts.output_last);
  if (!transposed) {  // the stride of a single output is any
    for (std::size_t i = 0; i < 3; ++i) {
      const auto most = static_cast<std::int64_t>(std::min(Extent(shape, i, false), 0x1p62));
      if (shape.out[i] <= 1) shape.stride[i] = std::min(shape.stride[i], std::max<std::int64_t>(most, 1));
    }
  }
  CheckExtents(shape, transposed);
  return shape;
}

void SetKnownOutput(const std::vector<Dim>& y, kernels::ConvShape* shape) {
  const auto size = [&](std::size_t i) { return y[i].known() ? y[i].number() : 0; };
  shape->batch = y.empty() ? 0 : size(0);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t axis = y.size() + i - 3;
    shape->out[i] = y.empty() ? 0 : axis >= 2 ? size(axis) : 1;
  }
}

}  // namespace sardonyx::ops
