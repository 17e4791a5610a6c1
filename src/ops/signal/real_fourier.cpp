// ops/signal/real_fourier.cpp - com.microsoft Rfft and Irfft: the transform of real signals over their last dimensions,
// as the half of the spectrum that the rest mirrors, and back. Computed in double.
#include <span>
#include <vector>

#include "kernels/elementwise/convert.h"
#include "kernels/fft/fft.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

using kernels::Fft;
using Complex = Fft::Complex;

struct State {
  std::size_t signal_rank = 1;
  bool inverse = false;
};

State ReadFourier(const AttributeReader& c) {
  const std::int64_t rank = c.Int("signal_ndim", 1);
  if (rank < 1 || rank > 64)
    c.Fail(Code::kInvalidArgument, "attribute 'signal_ndim': expected 1 or more, found ", rank);
  if (!c.Flag("onesided", true)) c.Fail(Code::kInvalidArgument, "attribute 'onesided': expected 1, found 0");
  if (c.Flag("normalized")) c.Fail(Code::kInvalidArgument, "attribute 'normalized': expected 0, found 1");
  return {static_cast<std::size_t>(rank), c.op_type() == "Irfft"};
}

void InferFourier(InferContext& c) {
  const State state = ReadFourier(c);
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = c.InputDims(0);
  const bool pairs = !state.inverse || (!dims.empty() && (!dims.back().known() || dims.back().number() == 2));
  if (dims.size() < state.signal_rank + (state.inverse ? 1 : 0) || !pairs) {
    c.Fail(Code::kInvalidArgument, c.InputText(0), ": expected ", state.signal_rank, " or more dimensions",
           state.inverse ? " and a last one of 2, real and imaginary parts" : "", ", found ", c.InputType(0).ToText());
  }
  if (state.inverse) dims.pop_back();
  dims.back() = state.inverse ? (dims.back() - Dim(1)) * Dim(2) : FloorDiv(dims.back(), Dim(2)) + Dim(1);
  if (!state.inverse) dims.emplace_back(2);
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

// The signals of a run: `outer` are the signal's dimensions but the last, which has n samples and n / 2 + 1 bins.
struct Signals {
  const TensorRef& x;
  OutputRef y;
  Dims outer;
  std::int64_t rows, n, bins;  // of one signal: rows of n samples
};

class Transform {
 public:
  Transform(const Signals& signals, const Fft& last, std::span<const Fft> others)
      : s_(signals),
        last_(last),
        others_(others),
        spectrum_(static_cast<std::size_t>(s_.rows * s_.bins)),
        samples_(static_cast<std::size_t>(s_.n)) {
    std::int64_t longest = s_.n, work = last.work_count();
    for (const Fft& fft : others) {
      longest = std::max(longest, fft.length());
      work = std::max(work, fft.work_count());
    }
    line_.resize(static_cast<std::size_t>(longest));
    work_.resize(static_cast<std::size_t>(work));
  }

  void Forward(std::int64_t signal) {
    for (std::int64_t row = 0; row < s_.rows; ++row) {
      kernels::ToDoubles(s_.x.dtype)(s_.x.data, (signal * s_.rows + row) * s_.n, samples_.size(), samples_.data());
      std::copy(samples_.begin(), samples_.end(), line_.begin());
      last_.Transform(line_.data(), false, work_.data());
      std::copy_n(line_.begin(), s_.bins, spectrum_.begin() + row * s_.bins);
    }
    OtherAxes(false);
    kernels::FromDoubles(s_.y.dtype)(kernels::Parts(spectrum_.data()), 2 * spectrum_.size(), s_.y.data,
                                     2 * signal * s_.rows * s_.bins);
  }

  void Inverse(std::int64_t signal) {
    kernels::ToDoubles(s_.x.dtype)(s_.x.data, 2 * signal * s_.rows * s_.bins, 2 * spectrum_.size(),
                                   kernels::Parts(spectrum_.data()));
    OtherAxes(true);
    for (std::int64_t row = 0; row < s_.rows; ++row) {
      const Complex* bins = spectrum_.data() + row * s_.bins;
      const std::int64_t middle = s_.bins - 1;
      line_[0] = bins[0].real();
      line_[static_cast<std::size_t>(middle)] = bins[middle].real();
      for (std::int64_t k = 1; k < middle; ++k) {
        line_[static_cast<std::size_t>(k)] = bins[k];
        line_[static_cast<std::size_t>(s_.n - k)] = std::conj(bins[k]);
      }
      last_.Transform(line_.data(), true, work_.data());
      for (std::size_t i = 0; i < samples_.size(); ++i) samples_[i] = line_[i].real();
      kernels::FromDoubles(s_.y.dtype)(samples_.data(), samples_.size(), s_.y.data, (signal * s_.rows + row) * s_.n);
    }
  }

 private:
  void OtherAxes(bool inverse) {
    std::int64_t stride = s_.bins;
    for (std::size_t axis = others_.size(); axis-- > 0; stride *= s_.outer[axis]) {
      const std::int64_t size = s_.outer[axis], block = size * stride;
      for (std::int64_t i = 0; i < s_.rows * s_.bins / size; ++i) {
        Complex* const from = spectrum_.data() + i / stride * block + i % stride;
        for (std::int64_t k = 0; k < size; ++k) line_[static_cast<std::size_t>(k)] = from[k * stride];
        others_[axis].Transform(line_.data(), inverse, work_.data());
        for (std::int64_t k = 0; k < size; ++k) from[k * stride] = line_[static_cast<std::size_t>(k)];
      }
    }
  }

  const Signals& s_;
  const Fft& last_;
  std::span<const Fft> others_;
  std::vector<Complex> spectrum_, line_, work_;
  std::vector<double> samples_;
};

void RunFourier(KernelContext& c) {
  const State& state = c.state<State>();
  const TensorRef& x = c.Input(0);
  const std::size_t parts = state.inverse ? 1 : 0;
  if (x.rank() < state.signal_rank + parts || (state.inverse && x.shape.back() != 2)) {
    Fail(Code::kInvalidArgument, "input 0 ('X'): expected ", state.signal_rank, " or more dimensions",
         state.inverse ? " and a last one of 2" : "", ", found shape ", ToText(x.shape));
  }
  const Dims dims = x.shape.first(x.rank() - parts);
  const std::int64_t least = state.inverse ? 2 : 1, size = dims.back();
  if (size < least) {
    Fail(Code::kInvalidArgument, "input 0 ('X'): expected at least ", least, state.inverse ? " bins" : " sample",
         " of a signal, found shape ", ToText(x.shape));
  }
  const OutputRef y = c.Output(0);
  if (y.count == 0) return;
  const std::size_t first = dims.size() - state.signal_rank;
  const Dims outer = dims.subspan(first, state.signal_rank - 1);
  const Signals signals{x,
                        y,
                        outer,
                        ElementCount(outer, 0, outer.size()),
                        state.inverse ? 2 * (size - 1) : size,
                        state.inverse ? size : size / 2 + 1};
  const Fft last(signals.n);
  std::vector<Fft> others;
  for (const std::int64_t length : outer) others.emplace_back(length);
  const std::int64_t count = ElementCount(dims, 0, first), elements = signals.rows * signals.n;
  c.parallel().For(count, std::max<std::int64_t>(1, 4096 / elements), [&](std::int64_t begin, std::int64_t end) {
    Transform transform(signals, last, others);
    for (std::int64_t i = begin; i < end; ++i) state.inverse ? transform.Inverse(i) : transform.Forward(i);
  });
}

Prepared PrepareFourier(PrepareContext& c) { return WithState(RunFourier, ReadFourier(c)); }

constexpr OpDef Row(std::string_view name) {
  return {.domain = "com.microsoft",
          .name = name,
          .since = {1},
          .types = {DType::kFloat, DType::kDouble, DType::kFloat16},
          .infer = InferFourier,
          .prepare = PrepareFourier};
}

constexpr OpDef kRealFourierOps[] = {Row("Irfft"), Row("Rfft")};

}  // namespace

std::span<const OpDef> RealFourierOps() { return kRealFourierOps; }

}  // namespace sardonyx::ops
