// ops/signal/signal.cpp - DFT, STFT, window functions and the mel weight matrix; all computed in double.
#include <bit>
#include <cmath>
#include <numbers>
#include <optional>
#include <span>

#include "kernels/elementwise/convert.h"
#include "kernels/fft/fft.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

using Complex = kernels::Fft::Complex;
constexpr double kPi = std::numbers::pi;

double NumberAt(const TensorRef& t, std::int64_t i) {
  double value = 0;
  kernels::ToDoubles(t.dtype)(t.data, i, 1, &value);
  return value;
}

void Store(const OutputRef& t, std::int64_t i, double value) { kernels::FromDoubles(t.dtype)(&value, 1, t.data, i); }

std::int64_t Scalar(KernelContext& c, std::size_t i, const char* what) {
  if (c.Input(i).count != 1)
    Fail(Code::kInvalidArgument, "expected one ", what, ", found shape ", ToText(c.Input(i).shape));
  return IntAt(c.Input(i), 0);
}

std::optional<std::int64_t> ConstantInt(const InferContext& c, std::size_t i) {
  const auto values = c.ConstantInts(i);
  return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
}

// ---- Windows

using WindowFn = double(double n, double size);
double Hann(double n, double size) {
  const double s = std::sin(kPi * n / size);
  return s * s;
}
double Hamming(double n, double size) { return 25.0 / 46 - (1 - 25.0 / 46) * std::cos(2 * kPi * n / size); }
// cos(2a) = 2 cos(a)^2 - 1: in this form the middle is exactly 1, also where the output is an integer.
double Blackman(double n, double size) {
  const double c = std::cos(2 * kPi * n / size);
  return 0.34 + 0.16 * c * c - 0.5 * c;
}

struct WindowState {
  bool periodic;
};

void InferWindow(InferContext& c) {
  const auto size = ConstantInt(c, 0);
  c.SetOutput(0, c.DTypeAttribute("output_datatype", DType::kFloat), {size ? Dim(*size) : Dim()});
}

template <WindowFn* kWindow>
void RunWindow(KernelContext& c) {
  const std::int64_t size = Scalar(c, 0, "size");
  if (size < 0) Fail(Code::kInvalidArgument, "expected a size of at least 0, found ", size);
  const std::int64_t shape[] = {size};
  const OutputRef y = c.Output(0, shape);
  const std::int64_t period = c.state<WindowState>().periodic ? size : size - 1;
  c.parallel().For(size, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      Store(y, i, period == 0 ? 1 : kWindow(static_cast<double>(i), static_cast<double>(period)));
  });
}

template <WindowFn* kWindow>
Prepared PrepareWindow(PrepareContext& c) {
  const DType dtype = c.DTypeAttribute("output_datatype", DType::kFloat);
  if (kernels::FromDoubles(dtype) == nullptr) c.Unsupported("an output", dtype);
  return WithState(RunWindow<kWindow>, WindowState{c.Flag("periodic", true)});
}

// ---- MelWeightMatrix

void InferMel(InferContext& c) {
  const auto bins = ConstantInt(c, 0), length = ConstantInt(c, 1);
  c.SetOutput(0, c.DTypeAttribute("output_datatype", DType::kFloat),
              {length ? Dim(*length / 2 + 1) : Dim(), bins ? Dim(*bins) : Dim()});
}

void RunMel(KernelContext& c) {
  const std::int64_t bins = Scalar(c, 0, "num_mel_bins"), length = Scalar(c, 1, "dft_length"),
                     rate = Scalar(c, 2, "sample_rate");
  if (bins < 0 || length < 1 || rate < 1) {
    Fail(Code::kInvalidArgument, "expected num_mel_bins >= 0, dft_length and sample_rate > 0, found ", bins, ", ",
         length, " and ", rate);
  }
  const std::int64_t rows = length / 2 + 1, shape[] = {rows, bins};
  for (const std::size_t i : {3u, 4u}) {
    if (c.Input(i).count != 1) {
      Fail(Code::kInvalidArgument, "expected one ", i == 3 ? "lower" : "upper", "_edge_hertz, found shape ",
           ToText(c.Input(i).shape));
    }
  }
  const OutputRef y = c.Output(0, shape);
  const auto mel = [&](std::size_t i) { return 2595 * std::log10(1 + NumberAt(c.Input(i), 0) / 700); };
  const double low = mel(3), step = (mel(4) - low) / static_cast<double>(bins + 2);
  const auto point = [&](std::int64_t i) {  // the row of the i-th edge
    const double hertz = 700 * (std::pow(10.0, (static_cast<double>(i) * step + low) / 2595) - 1);
    const double row = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(row >= 0 && row <= static_cast<double>(rows))) {
      Fail(Code::kInvalidArgument, "expected the edges of the mel filters within the spectrum of ", rate,
           " samples a second, found edge ", i, " at ", hertz, " Hz");
    }
    return static_cast<std::int64_t>(row);
  };
  for (std::int64_t i = 0; i < y.count; ++i) Store(y, i, 0);
  const auto set = [&](std::int64_t row, std::int64_t i, double value) {
    if (row < rows) Store(y, row * bins + i, value);
  };
  for (std::int64_t i = 0; i < bins; ++i) {
    const std::int64_t left = point(i), center = point(i + 1), right = point(i + 2);
    if (left == center) set(center, i, 1);
    for (std::int64_t j = left; j <= center && left != center; ++j) {
      set(j, i, static_cast<double>(j - left) / static_cast<double>(center - left));
    }
    for (std::int64_t j = center; j < right; ++j)
      set(j, i, static_cast<double>(right - j) / static_cast<double>(right - center));
  }
}

Prepared PrepareMel(PrepareContext& c) {
  const DType dtype = c.DTypeAttribute("output_datatype", DType::kFloat);
  if (kernels::FromDoubles(dtype) == nullptr) c.Unsupported("an output", dtype);
  return {RunMel, nullptr};
}

// ---- DFT

struct DftState {
  bool inverse, one_sided;
};

Dim OneSided(const Dim& n) { return FloorDiv(n, Dim(2)) + Dim(1); }

void InferDft(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = c.InputDims(0);
  const bool inverse = c.Flag("inverse"), one_sided = c.Flag("onesided");
  const auto given = c.HasInput(2) ? ConstantInt(c, 2) : std::optional<std::int64_t>(-2);
  if (!given || dims.size() < 2) return c.SetOutput(0, c.InputDType(0), std::vector<Dim>(dims.size()));
  Dim& d = dims[AxisOf(c, *given, dims.size())];
  Dim n = inverse && one_sided ? (d - Dim(1)) * Dim(2) : d;
  if (c.HasInput(1)) {
    const auto length = ConstantInt(c, 1);
    n = length ? Dim(*length) : Dim();
  }
  d = one_sided && !inverse ? OneSided(n) : n;
  dims.back() = Dim(inverse && one_sided ? 1 : 2);
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

// One line: `in` elements with stride, of one or two components, to `out` elements of one or two.
struct Line {
  std::int64_t begin, stride, count, components;
};

// The elements of a line as complex numbers, and zeros behind them.
void LoadLine(const TensorRef& x, const Line& line, std::span<Complex> data) {
  const auto n = static_cast<std::int64_t>(data.size()), given = std::min(line.count, n);
  double* parts = kernels::Parts(data.data());
  kernels::ToDoublesFn* const read = kernels::ToDoubles(x.dtype);
  std::fill(data.begin() + given, data.end(), Complex());
  if (line.stride == line.components) {
    // Real numbers are first read into the upper half, where spreading them overwrites none that is still needed.
    double* to = line.components == 2 ? parts : parts + given;
    read(x.data, line.begin, static_cast<std::size_t>(given * line.components), to);
    for (std::int64_t i = 0; i < given && line.components == 1; ++i) {
      const double re = to[i];
      parts[2 * i] = re;
      parts[2 * i + 1] = 0;
    }
    return;
  }
  for (std::int64_t i = 0; i < given; ++i) {
    parts[2 * i + 1] = 0;
    read(x.data, line.begin + i * line.stride, static_cast<std::size_t>(line.components), parts + 2 * i);
  }
}

// The half that a spectrum of real numbers leaves out.
void Mirror(std::span<Complex> data) {
  const std::size_t n = data.size();
  data[0] = data[0].real();
  for (std::size_t k = n / 2 + 1; k < n; ++k) data[k] = std::conj(data[n - k]);
  if (n % 2 == 0) data[n / 2] = data[n / 2].real();
}

void RunDft(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const bool inverse = c.state<DftState>().inverse, one_sided = c.state<DftState>().one_sided;
  const std::int64_t parts = x.rank() == 0 ? 0 : x.shape.back();
  const std::size_t axis = NormalizeAxis(c.HasInput(2) ? Scalar(c, 2, "axis") : -2, x.rank());
  if (x.rank() < 2 || (parts != 1 && parts != 2) || axis + 1 == x.rank()) {
    Fail(Code::kInvalidArgument, "expected a signal [..., 1] or [..., 2] and an axis before the last, found shape ",
         ToText(x.shape), " and axis ", axis);
  }
  const bool to_real = inverse && one_sided;
  const std::int64_t size = x.shape[axis];
  constexpr std::int64_t kLongest = std::int64_t{1} << 40;
  const std::int64_t n = c.HasInput(1)                ? Scalar(c, 1, "dft_length")
                         : to_real && size < kLongest ? 2 * (size - 1)
                                                      : size;
  if (n < 1) Fail(Code::kInvalidArgument, "expected a dft_length of at least 1, found ", n);
  const std::int64_t kept = one_sided && !inverse ? n / 2 + 1 : n, out_parts = to_real ? 1 : 2;
  Shape shape(x.shape);
  shape[axis] = kept;
  shape[shape.size() - 1] = out_parts;
  const OutputRef y = c.Output(0, shape);
  if (y.count == 0) return;  // of a length that nobody has memory for
  const std::int64_t outer = ElementCount(x.shape, 0, axis), inner = ElementCount(x.shape, axis + 1, x.rank() - 1);
  const kernels::Fft fft(n);
  kernels::FromDoublesFn* const write = kernels::FromDoubles(y.dtype);
  c.parallel().For(outer * inner, std::max<std::int64_t>(1, 4096 / n), [&](std::int64_t begin, std::int64_t end) {
    std::vector<Complex> data(static_cast<std::size_t>(n)), work(static_cast<std::size_t>(fft.work_count()));
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t o = i / inner, in = i % inner, to = (o * kept * inner + in) * out_parts;
      LoadLine(x, {(o * size * inner + in) * parts, inner * parts, size, parts}, data);
      if (to_real) Mirror(data);
      fft.Transform(data.data(), inverse, work.data());
      const double* found = kernels::Parts(data.data());
      if (inner == 1 && out_parts == 2) {
        write(found, static_cast<std::size_t>(2 * kept), y.data, to);
        continue;
      }
      for (std::int64_t k = 0; k < kept; ++k)
        write(found + 2 * k, static_cast<std::size_t>(out_parts), y.data, to + k * inner * out_parts);
    }
  });
}

Prepared PrepareDft(PrepareContext& c) { return WithState(RunDft, DftState{c.Flag("inverse"), c.Flag("onesided")}); }

void UpgradeDft(UpgradeContext& c) {
  if (c.attributes().Has("axis")) {
    c.AttributeToInput("axis", 2);
  } else {
    c.SetConstantInput(2, Tensor::Scalar<std::int64_t>(1));  // the default of version 17
  }
}

// ---- STFT

struct StftState {
  bool one_sided;
};

void InferStft(InferContext& c) {
  const auto step = ConstantInt(c, 1);
  Dim length, frames, batch;
  if (c.HasInput(3)) {
    const auto given = ConstantInt(c, 3);
    length = given ? Dim(*given) : Dim();
  } else if (c.HasInput(2) && c.HasRank(2) && c.Rank(2) == 1) {
    length = c.InputDims(2)[0];
  }
  if (c.HasRank(0) && c.Rank(0) >= 2) {
    batch = c.InputDims(0)[0];
    if (step && *step > 0 && !length.unknown()) frames = FloorDiv(c.InputDims(0)[1] - length, Dim(*step)) + Dim(1);
  }
  if (frames.known() && frames.number() < 1) frames = Dim();  // the kernel says what is wrong
  c.SetOutput(0, c.InputDType(0), {batch, frames, c.Flag("onesided", true) ? OneSided(length) : length, Dim(2)});
}

// The mean of a real frame has no imaginary part. ONNX Runtime's transform of lengths that are no powers of two leaves
// one of the other sign, between 2^-22 and 2^-20 of the real part, and models are exported, tried and published with
// it: where a vocoder (Kokoro) wants the angle of a negative mean, its graph asks whether the imaginary part is above
// 0, and takes -pi instead of pi where it is not.
constexpr double kImaginaryShare = 0x1p-21;

// Frames of a signal and where their spectra go.
struct Frames {
  const TensorRef& x;
  const OutputRef& y;
  std::int64_t count, of_batch;  // frames
  std::int64_t kept;             // numbers of a spectrum
  std::int64_t size, step, n, parts;

  Line LineOf(std::int64_t frame) const {
    return {(frame / of_batch * size + frame % of_batch * step) * parts, parts, n, parts};
  }
};

class FrameTransform {
 public:
  FrameTransform(const Frames& frames, const kernels::Fft& fft, std::span<const double> window)
      : f_(frames),
        fft_(fft),
        window_(window),
        leans_(f_.parts == 1 && f_.x.dtype == DType::kFloat && !std::has_single_bit(static_cast<std::uint64_t>(f_.n))),
        data_(static_cast<std::size_t>(f_.n)),
        out_(data_),
        work_(static_cast<std::size_t>(fft.work_count())) {}

  void One(std::int64_t frame) {
    LoadLine(f_.x, f_.LineOf(frame), data_);
    for (std::size_t t = 0; t < window_.size(); ++t) data_[t] *= window_[t];
    fft_.Transform(data_.data(), false, work_.data());
    Write(frame, data_);
  }

  // Two real frames are the parts of one complex one: the spectrum of a real frame is its own mirror image.
  void Two(std::int64_t frame) {
    double* parts = kernels::Parts(data_.data());
    const bool both = frame + 1 < f_.count;
    LoadLine(f_.x, f_.LineOf(frame), data_);
    if (both) {
      double* second = kernels::Parts(out_.data());
      kernels::ToDoubles(f_.x.dtype)(f_.x.data, f_.LineOf(frame + 1).begin, data_.size(), second);
      for (std::size_t t = 0; t < data_.size(); ++t) parts[2 * t + 1] = second[t];
      if (!OfOneSize()) {
        One(frame);
        return One(frame + 1);
      }
    }
    for (std::size_t t = 0; t < window_.size(); ++t) data_[t] *= window_[t];
    fft_.Transform(data_.data(), false, work_.data());
    const std::size_t n = data_.size();
    for (std::size_t k = 0; k < n; ++k) out_[k] = 0.5 * (data_[k] + std::conj(data_[k == 0 ? 0 : n - k]));
    Write(frame, out_);
    if (!both) return;
    for (std::size_t k = 0; k < n; ++k) {
      const Complex odd = 0.5 * (data_[k] - std::conj(data_[k == 0 ? 0 : n - k]));
      out_[k] = {odd.imag(), -odd.real()};
    }
    Write(frame + 1, out_);
  }

 private:
  // Rounding a loud frame, an infinity or a NaN must not be seen in a quiet neighbour.
  bool OfOneSize() const {
    double first = 0, second = 0, probe = 0;
    for (const Complex& x : data_) {
      first = std::max(first, std::abs(x.real()));
      second = std::max(second, std::abs(x.imag()));
      probe += 0 * x.real() + 0 * x.imag();
    }
    constexpr double kMost = 1 << 20;
    return probe == 0 && first <= kMost * second && second <= kMost * first && first > 0;
  }

  void Write(std::int64_t frame, std::vector<Complex>& spectrum) {
    if (leans_) spectrum[0].imag(-kImaginaryShare * spectrum[0].real());
    kernels::FromDoubles(f_.y.dtype)(kernels::Parts(spectrum.data()), static_cast<std::size_t>(2 * f_.kept), f_.y.data,
                                     frame * f_.kept * 2);
  }

  const Frames& f_;
  const kernels::Fft& fft_;
  std::span<const double> window_;
  const bool leans_;
  std::vector<Complex> data_, out_, work_;
};

void RunStft(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const std::int64_t step = Scalar(c, 1, "frame_step");
  const bool windowed = c.HasInput(2);
  const std::int64_t n = c.HasInput(3) ? Scalar(c, 3, "frame_length") : windowed ? c.Input(2).count : 0;
  const std::int64_t parts = x.rank() == 3 ? x.shape[2] : 1;
  if (x.rank() < 2 || x.rank() > 3 || (parts != 1 && parts != 2)) {
    Fail(Code::kInvalidArgument, "expected a signal [batch, length, 1 or 2], found shape ", ToText(x.shape));
  }
  const std::int64_t batches = x.shape[0], size = x.shape[1];
  if (step < 1 || n < 1 || n > size) {
    Fail(Code::kInvalidArgument, "expected a frame_step above 0 and a frame of 1 to ", size, " samples, found ", step,
         " and ", n);
  }
  if (windowed && c.Input(2).count != n) {
    Fail(Code::kInvalidArgument, "expected a window of ", n, " weights, found ", c.Input(2).count);
  }
  const std::int64_t frames = (size - n) / step + 1, kept = c.state<StftState>().one_sided ? n / 2 + 1 : n;
  const std::int64_t shape[] = {batches, frames, kept, 2};
  const OutputRef y = c.Output(0, shape);
  if (y.count == 0) return;
  const Frames all{x, y, batches * frames, frames, kept, size, step, n, parts};
  std::vector<double> window(static_cast<std::size_t>(windowed ? n : 0));
  if (windowed) kernels::ToDoubles(c.Input(2).dtype)(c.Input(2).data, 0, window.size(), window.data());
  const kernels::Fft fft(n);
  const std::int64_t at_once = parts == 1 && x.dtype != DType::kDouble ? 2 : 1,
                     units = (all.count + at_once - 1) / at_once;
  c.parallel().For(units, std::max<std::int64_t>(1, 4096 / n), [&](std::int64_t begin, std::int64_t end) {
    FrameTransform transform(all, fft, window);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      if (at_once == 1)
        transform.One(unit);
      else
        transform.Two(unit * 2);
    }
  });
}

Prepared PrepareStft(PrepareContext& c) { return WithState(RunStft, StftState{c.Flag("onesided", true)}); }

constexpr OpDef kSignalOps[] = {
    {.name = "BlackmanWindow", .since = {17}, .infer = InferWindow, .prepare = PrepareWindow<Blackman>},
    {.name = "DFT",
     .since = {17, 20},
     .types = kIeeeFloats,
     .infer = InferDft,
     .prepare = PrepareDft,
     .upgrade = UpgradeDft},
    {.name = "HammingWindow", .since = {17}, .infer = InferWindow, .prepare = PrepareWindow<Hamming>},
    {.name = "HannWindow", .since = {17}, .infer = InferWindow, .prepare = PrepareWindow<Hann>},
    {.name = "MelWeightMatrix", .since = {17}, .infer = InferMel, .prepare = PrepareMel},
    {.name = "STFT", .since = {17}, .types = kIeeeFloats, .infer = InferStft, .prepare = PrepareStft},
};

}  // namespace

std::span<const OpDef> SignalOps() { return kSignalOps; }

}  // namespace sardonyx::ops
