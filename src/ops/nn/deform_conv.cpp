// ops/nn/deform_conv.cpp - DeformConv: bilinear samples at shifted places become columns, then one product per image
// and group.
#include <algorithm>

#include "ops/cost_context.h"
#include "ops/operands.h"
#include "ops/product.h"
#include "ops/registry.h"
#include "ops/shapes/conv_attributes.h"
#include "ops/shapes/sizes.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kX = 0, kW = 1, kOffset = 2, kB = 3, kMask = 4;

constexpr std::int64_t kPoints = 128;  // samples that are placed before the channels read them

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

// The largest integer that is not above x, of at most 2^62.
template <typename T>
std::int64_t Floor(T x) {
  const auto whole = static_cast<std::int64_t>(x);
  return static_cast<T>(whole) > x ? whole - 1 : whole;
}

// Where one sample lies in a plane, the same for all channels of an offset group: four neighbours, of which those
// outside of the image count as 0.
template <typename T>
struct SamplePoint {
  std::int64_t at = 0;  // the upper left one; the others at its right, below it and below that one
  T weight[4] = {};
  unsigned inside = 0;  // a bit for each
};
constexpr unsigned kAllInside = 15;

template <typename T>
SamplePoint<T> PointAt(std::int64_t height, std::int64_t width, T h, T w, T factor) {
  SamplePoint<T> point;
  if (!(h > -1 && w > -1 && h < static_cast<T>(height) && w < static_cast<T>(width))) return point;
  const std::int64_t row = Floor(h), column = Floor(w);
  const T down = h - static_cast<T>(row), right = w - static_cast<T>(column);
  point.at = row * width + column;
  point.weight[0] = (1 - down) * (1 - right) * factor;
  point.weight[1] = (1 - down) * right * factor;
  point.weight[2] = down * (1 - right) * factor;
  point.weight[3] = down * right * factor;
  const unsigned left_in = column >= 0, right_in = column + 1 < width;
  const unsigned columns = left_in | right_in << 1;
  point.inside = (row >= 0 ? columns : 0) | (row + 1 < height ? columns << 2 : 0);
  return point;
}

template <typename T>
T SampleAt(const SamplePoint<T>& point, const T* x, std::int64_t width) {
  const std::int64_t at[] = {point.at, point.at + 1, point.at + width, point.at + width + 1};
  if (point.inside == kAllInside) [[likely]]
    return (point.weight[0] * x[at[0]] + point.weight[1] * x[at[1]]) +
           (point.weight[2] * x[at[2]] + point.weight[3] * x[at[3]]);
  T sum = 0;
  for (int i = 0; i < 4; ++i)
    if ((point.inside >> i & 1) != 0) sum += point.weight[i] * x[at[i]];
  return sum;
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
        if (const T* bias = io_.template In<T>(kB); bias != nullptr) AddBias(bias + g * outputs_);
      }
    }
  }

 private:
  void Check(std::size_t i, const Shape& want) const {
    if (c_.HasInput(i) && !Shape::Equal(c_.Input(i).shape, want)) {
      Fail(Code::kInvalidArgument, "expected ", ToText(want), " as input ", i, ", found ", ToText(c_.Input(i).shape));
    }
  }

  void AddBias(const T* bias) const {
    for (std::int64_t row = 0; row < outputs_; ++row)
      for (std::int64_t i = 0; i < pixels_; ++i) product_.c[row * pixels_ + i] += bias[row];
  }

  // A task is the samples of one tap of an offset group. They are placed once for all channels of the group.
  void FillColumns(std::int64_t image) {
    c_.parallel().For(state_.offset_groups * taps_, 1, [&](std::int64_t begin, std::int64_t end) {
      SamplePoint<T> points[kPoints];
      for (std::int64_t task = begin; task < end; ++task) {
        for (std::int64_t first = 0; first < pixels_; first += kPoints) {
          const std::int64_t count = std::min(kPoints, pixels_ - first);
          PlacePoints(image, task, first, count, points);
          SampleChannels(image, task, first, count, points);
        }
      }
    });
  }

  void PlacePoints(std::int64_t image, std::int64_t task, std::int64_t first, std::int64_t count,
                   SamplePoint<T>* points) const {
    const Window3& s = window_;
    const std::int64_t shift = image * state_.offset_groups * taps_ + task, tap = task % taps_, width = s.out[2];
    const T* offset = io_.template In<T>(kOffset) + shift * 2 * pixels_ + first;
    const T* mask = c_.HasInput(kMask) ? io_.template In<T>(kMask) + shift * pixels_ + first : nullptr;
    const std::int64_t top = tap / s.kernel[2] * s.dilation[1] - s.pad_begin[1];
    const std::int64_t left = tap % s.kernel[2] * s.dilation[2] - s.pad_begin[2];
    std::int64_t oh = first / width, ow = first % width;
    for (std::int64_t i = 0; i < count; ++i) {
      const T h = static_cast<T>(oh * s.stride[1] + top) + offset[i];
      const T w = static_cast<T>(ow * s.stride[2] + left) + offset[pixels_ + i];
      points[i] = PointAt(s.in[1], s.in[2], h, w, mask != nullptr ? mask[i] : T(1));
      if (++ow == width) {
        ow = 0;
        ++oh;
      }
    }
  }

  void SampleChannels(std::int64_t image, std::int64_t task, std::int64_t first, std::int64_t count,
                      const SamplePoint<T>* points) const {
    const std::int64_t each = channels_ / state_.offset_groups, width = window_.in[2];
    const std::int64_t begin = task / taps_ * each;
    for (std::int64_t channel = begin; channel < begin + each; ++channel) {
      const T* x = io_.template In<T>(kX) + (image * channels_ + channel) * in_pixels_;
      T* to = io_.template At<T>(cols_at_) + (channel * taps_ + task % taps_) * pixels_ + first;
      for (std::int64_t i = 0; i < count; ++i) to[i] = SampleAt(points[i], x, width);
    }
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
