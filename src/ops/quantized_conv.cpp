// ops/quantized_conv.cpp - ConvInteger and QLinearConv: columns of 8-bit pixels times 8-bit weights, exact sums.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/gemm/gemm_int8.h"
#include "ops/conv_attributes.h"
#include "ops/im2col.h"
#include "ops/operands.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr DTypeSet kInt8s = {DType::kInt8, DType::kUInt8};

// Where an operator of the family has its inputs.
struct Inputs {
  std::size_t x, w, x_zero, w_zero;
};
constexpr Inputs kInteger = {0, 1, 2, 3};
constexpr Inputs kQLinear = {0, 3, 2, 5};

void InferInteger(InferContext& c) {
  const ConvState state = ReadConv(c, c.InputType(0), c.InputType(1));
  if (!c.HasRank(0)) return c.SetOutput(0, DType::kInt32);
  c.SetOutput(0, DType::kInt32, ConvOutputDims(c, state, c.InputType(0), c.InputType(1)));
}

void InferQLinear(InferContext& c) {
  const ConvState state = ReadConv(c, c.InputType(0), c.InputType(3));
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(7));
  c.SetOutput(0, c.InputDType(7), ConvOutputDims(c, state, c.InputType(0), c.InputType(3)));
}

// One convolution: for every image and group columns [C / group * taps, pixels], then sums [M / group, pixels].
class IntegerConv {
 public:
  IntegerConv(KernelContext& c, const ConvState& state, const Inputs& in) : c_(c), in_(in), group_(state.group) {
    const Dims x = c.Input(in.x).shape, w = c.Input(in.w).shape;
    CheckConvShapes(state.window, state.group, x, w, false);
    window_ = MakeWindow(state.window, x, c.Output(0).shape, w.subspan(2));
    batch_ = x[0];
    channels_ = w[1];
    outputs_ = w[0] / state.group;
    taps_ = ElementCount(w, 2, w.size());
    pixels_ = ElementCount(c.Output(0).shape, 2, c.Output(0).rank());
    in_pixels_ = ElementCount(x, 2, x.size());
    const std::int64_t zeros = c.HasInput(in.w_zero) ? c.Input(in.w_zero).count : 1;
    if (zeros != 1 && zeros != w[0]) {
      Fail(Code::kInvalidArgument, "expected 1 or ", w[0], " zero points of the weights, found ", zeros);
    }
    if (c.HasInput(in.x_zero) && c.Input(in.x_zero).count != 1) {
      Fail(Code::kInvalidArgument, "expected one zero point of the input, found ", ToText(c.Input(in.x_zero).shape));
    }
    args_.m = outputs_, args_.n = pixels_, args_.k = channels_ * taps_;
    args_.lda = args_.k, args_.ldb = pixels_, args_.ldc = pixels_;
    args_.a_signed = c.Input(in.w).dtype == DType::kInt8;
    args_.b_signed = c.Input(in.x).dtype == DType::kInt8;
    args_.a_zero_per_row = zeros > 1;
    args_.a_zero = c.HasInput(in.w_zero) ? c.Input(in.w_zero).data : nullptr;
    args_.b_zero = c.HasInput(in.x_zero) ? c.Input(in.x_zero).data : nullptr;
  }

  std::size_t ColumnBytes() const {
    return CheckedMul(static_cast<std::size_t>(args_.k), static_cast<std::size_t>(pixels_), "convolution columns");
  }
  std::size_t GemmBytes() const { return kernels::GemmInt8ScratchBytes(args_, c_.parallel().ThreadCount()); }
  std::int64_t pixels() const { return pixels_; }

  void Run(std::byte* columns, std::byte* gemm, std::int32_t* y) {
    const auto* x = c_.Input(in_.x).As<std::uint8_t>();
    const auto* w = c_.Input(in_.w).As<std::uint8_t>();
    const auto* w_zero = static_cast<const std::uint8_t*>(args_.a_zero);
    auto* cols = static_cast<std::uint8_t*>(static_cast<void*>(columns));
    const std::uint8_t outside = args_.b_zero != nullptr ? *static_cast<const std::uint8_t*>(args_.b_zero) : 0;
    for (std::int64_t i = 0; i < batch_ * group_; ++i) {
      Im2Col(window_, x + i * channels_ * in_pixels_, channels_, outside, cols, c_.parallel());
      args_.a = w + i % group_ * outputs_ * args_.k;
      args_.b = cols;
      args_.c = y + i * outputs_ * pixels_;
      if (args_.a_zero_per_row) args_.a_zero = w_zero + i % group_ * outputs_;
      kernels::GemmInt8(args_, c_.parallel(), gemm);
    }
  }

 private:
  KernelContext& c_;
  Inputs in_;
  std::int64_t group_, batch_, channels_, outputs_, taps_, pixels_, in_pixels_;
  Window3 window_;
  kernels::GemmInt8Args args_;
};

void RunInteger(KernelContext& c) {
  IntegerConv conv(c, c.state<ConvState>(), kInteger);
  if (c.Output(0).count == 0) return;
  ScratchLayout layout;
  const std::size_t columns = layout.Add(conv.ColumnBytes()), gemm = layout.Add(conv.GemmBytes());
  std::byte* block = c.Scratch(layout.bytes());
  conv.Run(block + columns, block + gemm, c.Output(0).As<std::int32_t>());
}

template <typename Y>
void Requantize(KernelContext& c, const std::int32_t* sums, std::int64_t pixels) {
  const TensorRef &y = c.Output(0), &w_scale = c.Input(4);
  const double x_scale = static_cast<double>(*c.Input(1).As<float>());
  const double y_scale = static_cast<double>(*c.Input(6).As<float>());
  const double zero = static_cast<double>(*c.Input(7).As<Y>());
  const std::int32_t* bias = c.HasInput(8) ? c.Input(8).As<std::int32_t>() : nullptr;
  const std::int64_t channels = y.dim(1);
  c.parallel().For(y.dim(0) * channels, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const std::int64_t channel = plane % channels;
      const double w = static_cast<double>(w_scale.As<float>()[w_scale.count == 1 ? 0 : channel]);
      const double scale = x_scale * w / y_scale;
      for (std::int64_t i = plane * pixels; i < (plane + 1) * pixels; ++i) {
        const double sum = static_cast<double>(sums[i]) + (bias != nullptr ? static_cast<double>(bias[channel]) : 0);
        const double value = std::nearbyint(sum * scale) + zero;
        y.As<Y>()[i] = static_cast<Y>(std::max(static_cast<double>(std::numeric_limits<Y>::min()),
                                               std::min(static_cast<double>(std::numeric_limits<Y>::max()), value)));
      }
    }
  });
}

void RunQLinear(KernelContext& c) {
  IntegerConv conv(c, c.state<ConvState>(), kQLinear);
  const TensorRef& y = c.Output(0);
  if (y.count == 0) return;
  if (c.Input(4).count != 1 && c.Input(4).count != y.dim(1)) {
    Fail(Code::kInvalidArgument, "expected 1 or ", y.dim(1), " scales of the weights, found ",
         ToText(c.Input(4).shape));
  }
  ScratchLayout layout;
  const std::size_t columns = layout.Add(conv.ColumnBytes()), gemm = layout.Add(conv.GemmBytes());
  const std::size_t sums_at = layout.Add<std::int32_t>(static_cast<std::size_t>(y.count));
  std::byte* block = c.Scratch(layout.bytes());
  auto* sums = static_cast<std::int32_t*>(static_cast<void*>(block + sums_at));
  conv.Run(block + columns, block + gemm, sums);
  if (y.dtype == DType::kInt8)
    Requantize<std::int8_t>(c, sums, conv.pixels());
  else
    Requantize<std::uint8_t>(c, sums, conv.pixels());
}

Prepared PrepareInteger(PrepareContext& c) {
  return WithState(RunInteger, ReadConv(c, c.InputType(0), c.InputType(1)));
}
Prepared PrepareQLinear(PrepareContext& c) {
  return WithState(RunQLinear, ReadConv(c, c.InputType(0), c.InputType(3)));
}

constexpr OpDef kQuantizedConvOps[] = {
    {.name = "ConvInteger", .since = {10}, .types = kInt8s, .infer = InferInteger, .prepare = PrepareInteger},
    {.name = "QLinearConv", .since = {10}, .types = kInt8s, .infer = InferQLinear, .prepare = PrepareQLinear},
};

}  // namespace

std::span<const OpDef> QuantizedConvOps() { return kQuantizedConvOps; }

}  // namespace sardonyx::ops
