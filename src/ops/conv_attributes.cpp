// ops/conv_attributes.cpp - what the convolutions share.
#include "ops/conv_attributes.h"

#include <string>

namespace sardonyx::ops {

ConvState ReadConv(const AttributeReader& c, const Type& x, const Type& w) {
  ConvState state;
  state.layouts = ImageLayouts::Of(c);
  state.window = ReadWindow(c);
  state.group = c.Int("group", 1);
  if (state.group < 1) c.Fail(Code::kInvalidArgument, "expected group of at least 1, found ", state.group);
  if (x.has_rank && (x.rank() < 3 || x.rank() > 5)) {
    c.Fail(x.rank() < 3 ? Code::kInvalidArgument : Code::kNotImplemented,
           "expected an input of 1 to 3 spatial dimensions ([N, C, ...]), found ", x.ToText());
  }
  if (x.has_rank && w.has_rank && x.rank() != w.rank()) {
    c.Fail(Code::kInvalidArgument, "expected weights of rank ", x.rank(), " as the input, found ", w.ToText());
  }
  if (x.has_rank) CheckWindowRank(c, state.window, x.rank() - 2);
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
  if (w.has_rank && x.dims[1].known() && w.dims[1].known() && x.dims[1].number() != w.dims[1].number() * state.group) {
    c.Fail(Code::kInvalidArgument, "expected ", w.dims[1].number() * state.group, " input channels (group ",
           state.group, ", weights ", w.ToText(), "), found ", x.ToText());
  }
  for (std::size_t i = 0; i + 2 < x.rank(); ++i) {
    Dim kernel = w.has_rank ? w.dims[2 + i] : Dim();
    if (!state.window.kernel.empty()) kernel = Dim(state.window.kernel[i]);
    dims[2 + i] = WindowOutput(c, state.window, i, x.dims[2 + i], kernel);
  }
  return dims;
}

void CheckConvShapes(const WindowAttributes& window, std::int64_t group, Dims x, Dims w, bool transposed) {
  const auto fail = [&](const char* expected) {
    Fail(Code::kInvalidArgument, "expected ", expected, " (group ", group, "), found input ", ToText(x),
         " and weights ", ToText(w));
  };
  if (x.size() != w.size() || x.size() < 3) fail("input and weights of the same rank, at least 3");
  const std::int64_t channels = transposed ? w[0] : w[1] * group;
  if (x[1] != channels) fail("as many input channels as the weights have");
  if (w[0] % group != 0) fail("channels that the groups divide");
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    if (w[2 + i] != window.kernel[i]) fail("weights with the sizes of kernel_shape");
  }
}

kernels::ConvShape MakeConvShape(const Window3& w, std::int64_t batch, std::int64_t in_channels,
                                 std::int64_t out_channels, const ConvState& state) {
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
  return shape;
}

kernels::Activation MakeActivation(const AttributeReader& c, const std::string& name, float alpha, float beta) {
  using Kind = kernels::ActivationKind;
  struct Row {
    const char* name;
    Kind kind;
  };
  static constexpr Row kRows[] = {{"", Kind::kNone},
                                  {"Relu", Kind::kRelu},
                                  {"Clip", Kind::kClip},
                                  {"Sigmoid", Kind::kSigmoid},
                                  {"LeakyRelu", Kind::kLeakyRelu},
                                  {"Tanh", Kind::kTanh},
                                  {"Gelu", Kind::kGelu},
                                  {"HardSwish", Kind::kHardSwish},
                                  {"Silu", Kind::kSilu},
                                  {"GeluTanh", Kind::kGeluTanh},
                                  {"QuickGelu", Kind::kQuickGelu},
                                  {"HardSigmoid", Kind::kHardSigmoid}};
  for (const Row& row : kRows) {
    if (name == row.name) return {row.kind, alpha, beta};
  }
  c.Fail(Code::kNotImplemented, "activation '", name, "' fused into this operator");
}

}  // namespace sardonyx::ops
