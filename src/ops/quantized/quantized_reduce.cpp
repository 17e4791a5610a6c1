// ops/quantized/quantized_reduce.cpp - 8-bit means and Softmax of com.microsoft: QLinearGlobalAveragePool,
// QLinearReduceMean, QLinearSoftmax.
//
// Their rows are in global_pool.cpp, reduce.cpp and softmax.cpp. The inputs are X, its scale and zero point, and those
// of the result. Sums are exact.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/elementwise/quantize.h"
#include "kernels/reduce/sum8.h"
#include "kernels/softmax/softmax_u8.h"
#include "ops/elementwise.h"
#include "ops/quantized_operators.h"
#include "ops/shapes/reduce_plan.h"

namespace sardonyx::ops {
namespace {

// ---- Means

constexpr std::int64_t kColumns = 512;  // of one task

struct MeanState {
  std::vector<std::int64_t> axes;
  bool keeps = true;
  bool pools = false;  // QLinearGlobalAveragePool: the axes are all but two
  bool channels_last = false;
};

// [N, C, spatial...], or with channels_last [N, spatial..., C].
std::vector<std::int64_t> SpatialAxes(std::size_t size, bool channels_last) {
  const auto rank = static_cast<std::int64_t>(size);
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = 1; axis < rank; ++axis)
    if (axis != (channels_last ? rank - 1 : 1)) axes.push_back(axis);
  return axes;
}

class MeanRunner {
 public:
  MeanRunner(KernelContext& c, const ReducePlan& plan, bool pools)
      : plan_(plan),
        x_(c.Input(0)),
        y_(c.Output(0)),
        from_(ReadScale(c, 1, 2)),
        to_(ReadScale(c, 3, 4)),
        pools_(pools) {
    ratio_ = static_cast<double>(from_.scale) / static_cast<double>(to_.scale);
    // Rounded to float twice, if float can hold the product. A factor that is too large limits all but sums of 0.
    const double whole = static_cast<double>(to_.scale) * static_cast<double>(static_cast<float>(plan_.reduced_total));
    const auto rounded = static_cast<float>(whole);
    const double divisor = std::isfinite(rounded) ? static_cast<double>(rounded) : whole;
    const double factor = static_cast<double>(from_.scale) / divisor;
    factor_ = static_cast<float>(std::min(factor, static_cast<double>(std::numeric_limits<float>::max())));
  }

  // Outputs [first, first + columns) of outer index `outer`, at most kColumns.
  void Run(std::int64_t outer, std::int64_t first, std::int64_t columns) const {
    const bool is_signed = x_.dtype == DType::kInt8;
    kernels::Sum8Fn* const sum8 = kernels::Sum8Function();
    double sums[kColumns];
    std::fill_n(sums, columns, 0.0);
    for (std::int64_t r = 0; r < plan_.repeats; ++r) {
      const std::uint8_t* x = x_.As<const std::uint8_t>() + plan_.KeptOffset(outer) + plan_.ReducedOffset(r) + first;
      for (std::int64_t row = 0; row < plan_.n; row += kernels::kSum8MaxRows) {
        std::int32_t part[kColumns];
        std::fill_n(part, columns, 0);
        sum8(x + row * plan_.inner, is_signed, std::min(kernels::kSum8MaxRows, plan_.n - row), plan_.inner, columns,
             part);
        for (std::int64_t k = 0; k < columns; ++k) sums[k] += part[k];
      }
    }
    float quotients[kColumns];
    const auto zeros = static_cast<double>(plan_.reduced_total) * static_cast<double>(from_.zero);
    for (std::int64_t k = 0; k < columns; ++k) quotients[k] = Quotient(sums[k] - zeros);
    const float low = is_signed ? -128.0f : 0.0f, one = 1;
    kernels::Quantization().quantize(x_.dtype, true)(quotients, &one, &to_.zero, low, low + 255,
                                                     static_cast<std::size_t>(columns),
                                                     y_.As<std::uint8_t>() + outer * plan_.inner + first);
  }

 private:
  // The mean over the result's scale. Halves are exact where the scales allow it; a pool has ONNX Runtime's factor.
  float Quotient(double sum) const {
    if (plan_.reduced_total == 0) return std::numeric_limits<float>::quiet_NaN();  // as the mean of floats
    if (pools_) return static_cast<float>(sum) * factor_;
    return static_cast<float>(sum / static_cast<double>(plan_.reduced_total) * ratio_);
  }

  const ReducePlan& plan_;
  const TensorRef& x_;
  const OutputRef y_;
  QuantizedScale from_, to_;
  bool pools_;
  double ratio_ = 1;  // of x's scale to the result's
  float factor_ = 1;  // of a pool, of a sum
};

void RunMean(KernelContext& c) {
  const auto& state = c.state<MeanState>();
  const TensorRef& x = c.Input(0);
  if (c.Output(0).count == 0) return;
  const std::vector<std::int64_t> spatial =
      state.pools ? SpatialAxes(x.rank(), state.channels_last) : std::vector<std::int64_t>();
  const std::vector<std::int64_t>& axes = state.pools ? spatial : state.axes;
  const ReducePlan plan = MakeReducePlan(x.shape, MarkAxes(axes, x.rank(), axes.empty()));
  const MeanRunner runner(c, plan, state.pools);
  const std::int64_t blocks = (plan.inner + kColumns - 1) / kColumns;
  const std::int64_t work = plan.reduced_total * std::min(plan.inner, kColumns);
  c.parallel().For(plan.outer * blocks, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(work, 1)),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                       const std::int64_t first = i % blocks * kColumns;
                       runner.Run(i / blocks, first, std::min(kColumns, plan.inner - first));
                     }
                   });
}

}  // namespace

void InferQLinearMean(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  const std::vector<std::int64_t> axes = c.Ints("axes");
  const ReducedAxes reduced = MarkAxes(axes, c.Rank(0), axes.empty());
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < c.Rank(0); ++i) {
    if (!reduced[i]) dims.push_back(c.InputDims(0)[i]);
    if (reduced[i] && c.Flag("keepdims", true)) dims.emplace_back(1);
  }
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

Prepared PrepareQLinearMean(PrepareContext& c) {
  return WithState(RunMean, MeanState{c.Ints("axes"), c.Flag("keepdims", true)});
}

void InferQLinearGlobalMean(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  if (c.Rank(0) < 3) c.Fail(Code::kInvalidArgument, "expected an input [N, C, ...], found ", c.InputType(0).ToText());
  std::vector<Dim> dims(c.Rank(0), Dim(1));
  const std::size_t channels = c.Flag("channels_last") ? c.Rank(0) - 1 : 1;
  dims[0] = c.InputDims(0)[0];
  dims[channels] = c.InputDims(0)[channels];
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

Prepared PrepareQLinearGlobalMean(PrepareContext& c) {
  return WithState(RunMean, MeanState{.pools = true, .channels_last = c.Flag("channels_last")});
}

// ---- Softmax

namespace {

constexpr std::int64_t kSoftmaxColumns = 256;  // of one task

struct SoftmaxState {
  std::int64_t axis = -1;
  bool flatten = false;  // opset below 13: everything from `axis` on is one row
};

struct SoftmaxShape {
  std::int64_t outer = 1, n = 1, inner = 1;
};

SoftmaxShape SplitAt(const SoftmaxState& state, Dims shape) {
  SoftmaxShape s;
  if (shape.empty()) return s;
  const std::size_t axis = NormalizeAxis(state.axis, shape.size());
  s.outer = ElementCount(shape, 0, axis);
  s.n = state.flatten ? ElementCount(shape, axis, shape.size()) : shape[axis];
  s.inner = state.flatten ? 1 : ElementCount(shape, axis + 1, shape.size());
  return s;
}

void RunSoftmax(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  if (y.count == 0) return;
  const SoftmaxShape s = SplitAt(c.state<SoftmaxState>(), x.shape);
  const QuantizedScale from = ReadScale(c, 1, 2), to = ReadScale(c, 3, 4);
  const kernels::SoftmaxBytesArgs args{x.dtype == DType::kInt8, from.scale, to.scale, static_cast<int>(to.zero)};
  const auto* source = x.As<const std::uint8_t>();
  auto* target = y.As<std::uint8_t>();
  if (s.inner == 1) {
    kernels::SoftmaxBytesFn* const softmax = kernels::SoftmaxBytesFunction();
    c.parallel().For(s.outer, std::max<std::int64_t>(1, kGrain / s.n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) softmax(source + i * s.n, s.n, args, target + i * s.n);
    });
    return;
  }
  kernels::SoftmaxBytesColumnsFn* const softmax = kernels::SoftmaxBytesColumnsFunction();
  const std::int64_t blocks = (s.inner + kSoftmaxColumns - 1) / kSoftmaxColumns;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (s.n * std::min(s.inner, kSoftmaxColumns)));
  c.parallel().For(s.outer * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % blocks * kSoftmaxColumns, at = i / blocks * s.n * s.inner + first;
      softmax(source + at, s.n, s.inner, std::min(kSoftmaxColumns, s.inner - first), args, target + at);
    }
  });
}

}  // namespace

Prepared PrepareQLinearSoftmax(PrepareContext& c) {
  return WithState(RunSoftmax, SoftmaxState{c.Int("axis", -1), c.Int("opset") < 13});
}

}  // namespace sardonyx::ops
