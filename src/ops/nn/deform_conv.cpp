// ops/nn/deform_conv.cpp - DeformConv: bilinear samples at shifted places become columns, then one product per image
// and group.
#include <algorithm>
#include <cmath>

#include "ops/cost_context.h"
#include "ops/operands.h"
#include "ops/product.h"
#include "ops/registry.h"
#include "ops/shapes/conv_attributes.h"
#include "ops/shapes/sizes.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kX = 0, kW = 1, kOffset = 2, kB = 3, kMask = 4;

struct DeformState {
  ConvState conv;
  std::int64_t offset_groups = 1;
};

DeformState ReadDeform(const AttributeReader& c, const Type& x, const Type& w) {
  DeformState state{ReadConv(c, x, w), c.Int("offset_group", 1)};
  if (state.offset_groups < 1) {
    c.Fail(Code::kInvalidArgument, "attribute 'offset_group': expected at least 1, found ", state.offset_groups);
  }
  if (x.has_rank && x.rank() != 4) {
    c.Fail(Code::kNotImplemented, "expected an image [N, C, H, W], found ", x.ToText());
  }
  return state;
}

void InferDeform(InferContext& c) {
  const DeformState state = ReadDeform(c, c.InputType(kX), c.InputType(kW));
  if (!c.HasRank(kX)) return c.SetOutput(0, c.InputDType(kX));
  c.SetOutput(0, c.InputDType(kX), ConvOutputDims(c, state.conv, c.InputType(kX), c.InputType(kW)));
}

// x [height, width] at (h, w), 0 outside, between the four neighbours.
template <typename T>
T Sample(const T* x, std::int64_t height, std::int64_t width, T h, T w) {
  if (!(h > -1 && w > -1 && h < static_cast<T>(height) && w < static_cast<T>(width))) return 0;
  const T top = std::floor(h), left = std::floor(w);
  const auto row = static_cast<std::int64_t>(top), column = static_cast<std::int64_t>(left);
  const auto at = [&](std::int64_t r, std::int64_t k) {
    return r < 0 || r >= height || k < 0 || k >= width ? T(0) : x[r * width + k];
  };
  const T down = h - top, right = w - left;
  return (1 - down) * ((1 - right) * at(row, column) + right * at(row, column + 1)) +
         down * ((1 - right) * at(row + 1, column) + right * at(row + 1, column + 1));
}

template <typename T>
class Runner {
 public:
  Runner(KernelContext& c, const DeformState& state) : c_(c), state_(state), io_(c, kDTypeOf<T>) {
    const Dims x = c.Input(kX).shape, w = c.Input(kW).shape;
    CheckConvShapes(state.conv.window, state.conv.group, x, w, false);
    window_ = MakeWindow(state.conv.window, x, c.Output(0).shape, w.subspan(2));
    channels_ = x[1];
    outputs_ = w[0] / state.conv.group;
    if (state.offset_groups > std::max<std::int64_t>(channels_, 1) || channels_ % state.offset_groups != 0) {
      Fail(Code::kInvalidArgument, "expected channels divisible by offset_group ", state.offset_groups, ", found ",
           channels_);
    }
    taps_ = ElementCount(w, 2, 4);
    pixels_ = window_.out[1] * window_.out[2];
    in_pixels_ = ElementCount(x, 2, 4);
    const std::int64_t points = Times(state.offset_groups, taps_);
    Check(kOffset, {x[0], Times(2, points), window_.out[1], window_.out[2]});
    Check(kMask, {x[0], points, window_.out[1], window_.out[2]});
    Check(kB, {w[0]});
    product_.m = outputs_, product_.n = pixels_, product_.k = w[1] * taps_;
    product_.lda = product_.k, product_.ldb = pixels_, product_.ldc = pixels_;
    cols_at_ =
        io_.template Add<T>(CheckedMul(static_cast<std::size_t>(Times(channels_, taps_)),
                                       static_cast<std::size_t>(pixels_), "the size of the convolution's columns"));
    bytes_ = ProductScratch(product_, c.parallel().ThreadCount());
    gemm_at_ = io_.Add(bytes_);
  }

  void Run() {
    if (c_.Output(0).count == 0) return;
    const Operands::Computing computing(io_);
    const std::int64_t group = state_.conv.group;
    for (std::int64_t image = 0; image < c_.Input(kX).dim(0); ++image) {
      FillColumns(image);
      for (std::int64_t g = 0; g < group; ++g) {
        product_.a = io_.template In<T>(kW) + g * outputs_ * product_.k;
        product_.b = io_.template At<T>(cols_at_) + g * product_.k * pixels_;
        product_.c = io_.template Out<T>(0) + (image * group + g) * outputs_ * pixels_;
        RunProduct(product_, c_.parallel(), bytes_ == 0 ? nullptr : io_.At(gemm_at_));
        const T* bias = io_.template In<T>(kB);
        for (std::int64_t i = 0; bias != nullptr && i < outputs_ * pixels_; ++i) {
          product_.c[i] += bias[g * outputs_ + i / pixels_];
        }
      }
    }
  }

 private:
  void Check(std::size_t i, const Shape& want) const {
    if (c_.HasInput(i) && !Shape::Equal(c_.Input(i).shape, want)) {
      Fail(Code::kInvalidArgument, "expected ", ToText(want), " as input ", i, ", found ", ToText(c_.Input(i).shape));
    }
  }

  void FillColumns(std::int64_t image) {
    const auto& [in, out, kernel, stride, dilation, pad, pad_end] = window_;
    const std::int64_t each = channels_ / state_.offset_groups, width = out[2];
    const std::int64_t in_height = in[1], in_width = in[2], kernel_width = kernel[2];
    const auto place = [&, s = stride, p = pad, d = dilation](int axis, std::int64_t at, std::int64_t tap) {
      return static_cast<T>(at * s[axis] - p[axis] + tap * d[axis]);
    };
    c_.parallel().For(channels_ * taps_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t channel = row / taps_, tap = row % taps_;
        const std::int64_t shift = (image * state_.offset_groups + channel / each) * taps_ + tap;
        const T* x = io_.template In<T>(kX) + (image * channels_ + channel) * in_pixels_;
        const T* offset = io_.template In<T>(kOffset) + shift * 2 * pixels_;
        const T* mask = c_.HasInput(kMask) ? io_.template In<T>(kMask) + shift * pixels_ : nullptr;
        T* to = io_.template At<T>(cols_at_) + row * pixels_;
        for (std::int64_t i = 0; i < pixels_; ++i) {
          const T h = place(1, i / width, tap / kernel_width) + offset[i];
          const T w = place(2, i % width, tap % kernel_width) + offset[pixels_ + i];
          to[i] = Sample(x, in_height, in_width, h, w) * (mask != nullptr ? mask[i] : T(1));
        }
      }
    });
  }

  KernelContext& c_;
  const DeformState& state_;
  Operands io_;
  Window3 window_;
  Product<T> product_;
  std::int64_t channels_ = 0, outputs_ = 0, taps_ = 0, pixels_ = 0, in_pixels_ = 0;
  std::size_t cols_at_ = 0, gemm_at_ = 0, bytes_ = 0;
};

template <typename T>
void RunDeform(KernelContext& c) {
  Runner<T>(c, c.state<DeformState>()).Run();
}

Prepared PrepareDeform(PrepareContext& c) {
  DeformState state = ReadDeform(c, c.InputType(kX), c.InputType(kW));
  return WithState(c.InputDType(kX) == DType::kDouble ? RunDeform<double> : RunDeform<float>, std::move(state));
}

constexpr OpDef kDeformConvOps[] = {
    {.name = "DeformConv",
     .since = {19, 22},
     .types = kIeeeFloats,
     .infer = InferDeform,
     .prepare = PrepareDeform,
     .cost = CountConvolution},
};

}  // namespace

std::span<const OpDef> DeformConvOps() { return kDeformConvOps; }

}  // namespace sardonyx::ops
