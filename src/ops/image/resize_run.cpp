// ops/image/resize_run.cpp - nearest copies elements by index tables; linear and cubic resize one axis after the other.
// Complex numbers are resized as pairs of reals, along one more axis.
#include "ops/image/resize_run.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/copy/storage.h"
#include "kernels/elementwise/convert.h"
#include "kernels/resize/resample.h"
#include "ops/integers.h"

namespace sardonyx::ops {
namespace {

// ---- Elements of the types that linear and cubic compute with

template <typename F>
bool VisitNumber(DType dtype, F&& f) {
  return VisitDType<float, double, Half, BFloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                    std::uint16_t, std::uint32_t, std::uint64_t>(dtype, f);
}

// Integers are truncated, as ONNX Runtime does, but rounded after antialiasing; what overshoots is clamped. Weights are
// rounded, so the mean of equal numbers may fall a few units in the last place short of them, depending on the order of
// the axes: a little more keeps it. Not in float, where the results are ONNX Runtime's, nor where numbers are large.
template <typename T, typename C>
T FromCompute(C value, bool round) {
  if constexpr (std::is_integral_v<T>) {
    constexpr C kMore = 1 + 16 * std::numeric_limits<C>::epsilon(), kLarge = C{1} * (std::int64_t{1} << 40);
    if (round) {
      value = std::nearbyint(value);
    } else if (std::is_same_v<C, double> && std::abs(value) < kLarge) {
      value *= kMore;
    }
    if (!(value > static_cast<C>(std::numeric_limits<T>::min()))) return std::numeric_limits<T>::min();
    if (value >= static_cast<C>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(value);
  } else if constexpr (std::is_same_v<T, C>) {
    return value;
  } else {
    return static_cast<T>(static_cast<float>(value));
  }
}

bool IsComplex(DType dtype) { return dtype == DType::kComplex64 || dtype == DType::kComplex128; }
DType PartOf(DType complex) { return complex == DType::kComplex64 ? DType::kFloat : DType::kDouble; }

template <typename T, typename C>
C ToCompute(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<C>(value);
  } else {
    return static_cast<C>(static_cast<float>(value));
  }
}

// ---- Nearest

// By value: what a byte is written through might otherwise be any of what the loop reads.
template <typename Storage>
void GatherRow(Storage to, std::int64_t at, typename Storage::Source from, std::int64_t base,
               const std::int32_t* columns, std::int64_t out) {
  for (std::int64_t j = 0; j < out; ++j) to.Set(at + j, from.Get(base + columns[j]));
}

// index[d] maps each output position to an input position, or -1 for the extrapolation value.
template <typename Storage>
void NearestRows(KernelContext& c, const OutputRef& y, const ResizeAxis* axes, const std::int32_t* const* index,
                 std::size_t last, typename Storage::Element outside) {
  const TensorRef& x = c.Input(0);
  const std::int64_t run = ElementCount(x.shape, last + 1, x.rank());
  const typename Storage::Source from = kernels::StorageAt<Storage>(x.data);
  const Storage to = kernels::StorageAt<Storage>(y.data);
  const std::int64_t out = axes[last].out, row_size = out * run, rows = y.count / row_size;
  const std::int32_t* columns = index[last];
  bool none_outside = true;
  for (std::int64_t j = 0; j < out; ++j) none_outside = none_outside && columns[j] >= 0;
  // Rows that lie apart: where element i of the values themselves lies.
  const std::int64_t channels = x.shape.empty() ? 1 : x.shape[x.rank() - 1], y_channels = y.shape[y.rank() - 1];
  const bool pitched = x.pitch + y.pitch != 0;
  const auto in_x = [&](std::int64_t i) { return x.pitch != 0 ? i / channels * x.pitch + i % channels : i; };
  const auto in_y = [&](std::int64_t i) { return y.pitch != 0 ? i / y_channels * y.pitch + i % y_channels : i; };
  const std::int64_t grain = Storage::kPacked ? rows : std::max<std::int64_t>(1, 16384 / row_size);
  c.parallel().For(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t previous = -2;
    std::int64_t place[kMaxResizeRank];  // of the row, counted on: a division takes as long as a short row
    std::int64_t rest = begin;
    for (std::size_t d = last; d-- > 0; rest /= axes[d].out) place[d] = rest % axes[d].out;
    for (std::int64_t row = begin; row < end; ++row) {
      std::int64_t base = 0, stride = axes[last].in * run;
      bool inside = true;
      for (std::size_t d = last; d-- > 0;) {
        const std::int32_t i = index[d][place[d]];
        inside = inside && i >= 0;
        base += i * stride;
        stride *= axes[d].in;
      }
      for (std::size_t d = last; d-- > 0;) {
        if (++place[d] < axes[d].out) break;
        place[d] = 0;
      }
      const std::int64_t at = row * row_size;
      if (pitched) {
        for (std::int64_t j = 0; j < out; ++j) {
          if (inside && columns[j] >= 0)
            to.CopyRun(in_y(at + j * run), from, in_x(base + columns[j] * run), run);
          else
            to.Fill(in_y(at + j * run), run, outside);
        }
      } else if (!inside) {
        to.Fill(at, row_size, outside);
      } else if (base == previous) {  // rows repeat when an axis before the last grows
        to.CopyRun(at, to, at - row_size, row_size);
      } else if (run == 1 && none_outside) {
        GatherRow(to, at, from, base, columns, out);
      } else {
        for (std::int64_t j = 0; j < out; ++j) {
          if (columns[j] < 0) {
            to.Fill(at + j * run, run, outside);
          } else {
            to.CopyRun(at + j * run, from, base + columns[j] * run, run);
          }
        }
      }
      previous = inside ? base : -2;
    }
  });
}

// The extrapolation value as an element of the type: a truth for bool, a real number for complex types.
template <typename Storage>
typename Storage::Element OutsideElement(DType dtype, float value) {
  using Element = typename Storage::Element;
  Element element{};
  if constexpr (std::is_trivially_copyable_v<Element> && !Storage::kPacked) {
    const auto set = [&]<typename T>(T typed) {
      if constexpr (sizeof(T) == sizeof(Element)) std::memcpy(static_cast<void*>(&element), &typed, sizeof(Element));
    };
    VisitNumber(dtype, [&]<typename T>() { set(FromCompute<T, double>(value, false)); });
    if (dtype == DType::kBool) set(value != 0);
    if (dtype == DType::kComplex64) set(std::complex<float>(value));
    if (dtype == DType::kComplex128) set(std::complex<double>(value));
  }
  return element;
}

// ---- Linear and cubic

// One after the other, the axes that change; `C` is what is computed in.
template <typename C>
class Resampler {
 public:
  // pairs: the last axis is that of the parts of complex numbers.
  Resampler(KernelContext& c, const TensorRef& x, const OutputRef& y, const ResizeAxis* axes,
            const ResizeOptions& options, bool pairs)
      : c_(c), x_(x), y_(y), axes_(axes), options_(options), pairs_(pairs) {}

  void Run() {
    Order();
    Allocate();
    const bool direct = x_.dtype == kDTypeOf<C>;
    const C* from = direct ? x_.template As<C>() : Load();
    Shape shape(x_.shape);
    for (std::size_t i = 0; i < count_; ++i) {
      const std::size_t axis = order_[i];
      const bool to_output = direct && i + 1 == count_;
      C* to = to_output ? y_.template As<C>() : from == buffers_[0] ? buffers_[1] : buffers_[0];
      const kernels::Taps<C> taps = FillTaps(axis);
      kernels::ResampleAxis<C>(taps, from, ElementCount(shape, 0, axis), ElementCount(shape, axis + 1, shape.size()),
                               to, c_.parallel());
      shape[axis] = axes_[axis].out;
      from = to;
    }
    if (count_ == 0 || !direct) Store(from);
    if (options_.coordinates == ResizeCoordinates::kTfCropAndResize) Extrapolate();
  }

 private:
  // Axes that shrink come first, so that there is less to do for the others. But an element of the last axis is
  // gathered, which costs several times what one of a row does: it comes first unless the others make fewer of them.
  void Order() {
    const std::size_t rank = x_.rank() - (pairs_ ? 1 : 0);
    for (std::size_t i = 0; i < rank; ++i)
      if (!axes_[i].Identity(options_)) order_[count_++] = i;
    std::stable_sort(order_, order_ + count_, [&](std::size_t a, std::size_t b) {
      return axes_[a].out * axes_[b].in < axes_[b].out * axes_[a].in;
    });
    std::size_t* last = std::find(order_, order_ + count_, x_.rank() - 1);
    if (last == order_ + count_) return;
    double others = 1;  // how many elements there will be for one that there is
    for (std::size_t i = 0; i < count_; ++i) {
      const ResizeAxis& axis = axes_[order_[i]];
      if (order_ + i != last) others *= static_cast<double>(axis.out) / static_cast<double>(axis.in);
    }
    if (others >= 1) std::rotate(order_, last, last + 1);
  }

  void Allocate() {
    std::int64_t size = x_.count, most = x_.count, taps = 1;
    for (std::size_t i = 0; i < count_; ++i) {
      const ResizeAxis& axis = axes_[order_[i]];
      size = size / axis.in * axis.out;
      most = std::max(most, size);
      taps = std::max(taps, axis.out * axis.TapCount(options_));
    }
    const auto padded = static_cast<std::size_t>((most + 15) / 16 * 16);
    const auto tap_count = static_cast<std::size_t>((taps + 15) / 16 * 16);
    auto* block = c_.Scratch<C>(
        CheckedAdd(CheckedMul(2, padded, "the size of scratch memory"), 2 * tap_count, "the size of scratch memory"));
    buffers_[0] = block;
    buffers_[1] = block + padded;
    weights_ = block + 2 * padded;
    indices_ = IndexMemory(weights_ + tap_count);
  }
  static std::int32_t* IndexMemory(C* memory) { return static_cast<std::int32_t*>(static_cast<void*>(memory)); }

  kernels::Taps<C> FillTaps(std::size_t axis) {
    const ResizeAxis& a = axes_[axis];
    const std::int64_t taps = a.TapCount(options_);
    constexpr std::int64_t kFew = 64;
    double few[kFew];
    std::vector<double> many(taps > kFew ? static_cast<std::size_t>(taps) : 0);
    double* weights = taps > kFew ? many.data() : few;
    for (std::int64_t j = 0; j < a.out; ++j) {
      a.Taps(j, options_, indices_ + j * taps, weights);
      for (std::int64_t t = 0; t < taps; ++t) weights_[j * taps + t] = static_cast<C>(weights[t]);
    }
    return {taps, a.in, a.out, indices_, weights_};
  }

  const C* Load() {
    if constexpr (std::is_same_v<C, float>) {
      kernels::ToFloatsFn* const to_floats = kernels::ToFloats(x_.dtype);
      c_.parallel().For(x_.count, 16384, [&](std::int64_t begin, std::int64_t end) {
        to_floats(x_.data, begin, static_cast<std::size_t>(end - begin), buffers_[0] + begin);
      });
      return buffers_[0];
    }
    VisitNumber(x_.dtype, [&]<typename T>() {
      const T* x = x_.template As<T>();
      c_.parallel().For(x_.count, 16384, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) buffers_[0][i] = ToCompute<T, C>(x[i]);
      });
    });
    return buffers_[0];
  }

  void Store(const C* from) {
    VisitNumber(y_.dtype, [&]<typename T>() {
      T* y = y_.template As<T>();
      c_.parallel().For(y_.count, 16384, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) y[i] = FromCompute<T, C>(from[i], options_.antialias);
      });
    });
  }

  void Extrapolate() {
    VisitNumber(y_.dtype, [&]<typename T>() {
      const T value = FromCompute<T, C>(static_cast<C>(options_.extrapolation_value), false);
      for (std::size_t d = 0; d < y_.rank(); ++d) {
        const std::int64_t inner = ElementCount(y_.shape, d + 1, y_.rank()), outer = ElementCount(y_.shape, 0, d);
        for (std::int64_t j = 0; j < axes_[d].out; ++j) {
          if (!axes_[d].Outside(j, options_.coordinates)) continue;
          for (std::int64_t o = 0; o < outer; ++o) {
            T* y = y_.template As<T>() + (o * axes_[d].out + j) * inner;
            std::fill_n(y, inner, value);
            for (std::int64_t i = 1; pairs_ && i < inner; i += 2) y[i] = T{0};  // a real number
          }
        }
      }
    });
  }

  KernelContext& c_;
  const TensorRef& x_;
  const OutputRef y_;
  const ResizeAxis* axes_;
  const ResizeOptions& options_;
  const bool pairs_;
  std::size_t order_[kMaxResizeRank], count_ = 0;
  C* buffers_[2];
  C* weights_;
  std::int32_t* indices_;
};

// 32 and 64 bits wide integers and doubles need more than float's 24 bits.
bool NeedsDouble(DType dtype) {
  return dtype == DType::kDouble || dtype == DType::kInt32 || dtype == DType::kUInt32 || dtype == DType::kInt64 ||
         dtype == DType::kUInt64;
}

}  // namespace

bool CanInterpolate(DType dtype) {
  return IsComplex(dtype) || VisitNumber(dtype, []<typename T>() {});
}

void RunNearest(KernelContext& c, const OutputRef& y, const ResizeAxis* axes, const ResizeOptions& options) {
  const TensorRef& x = c.Input(0);
  const std::size_t rank = x.rank();
  std::size_t last = rank - 1;
  // Rows that lie apart are copied one by one.
  const std::size_t first = x.pitch + y.pitch != 0 ? rank - 2 : 0;
  while (last > first && axes[last].Identity(options)) --last;
  std::int64_t total = 0;
  for (std::size_t d = 0; d <= last; ++d) total += axes[d].out;
  auto* table = c.Scratch<std::int32_t>(static_cast<std::size_t>(total));
  const std::int32_t* index[kMaxResizeRank];
  for (std::size_t d = 0; d <= last; ++d) {
    index[d] = table;
    const bool same = axes[d].Identity(options);
    for (std::int64_t j = 0; j < axes[d].out; ++j) {
      const bool outside = axes[d].Outside(j, options.coordinates);
      *table++ = outside ? -1 : static_cast<std::int32_t>(same ? j : axes[d].NearestIndex(j, options));
    }
  }
  kernels::VisitStorage(x.dtype, [&]<typename Storage>() {
    NearestRows<Storage>(c, y, axes, index, last, OutsideElement<Storage>(x.dtype, options.extrapolation_value));
  });
}

void RunInterpolated(KernelContext& c, const OutputRef& y, const ResizeAxis* axes, const ResizeOptions& options) {
  TensorRef x = c.Input(0);
  OutputRef to = y;
  Shape from_shape(x.shape), to_shape(y.shape);
  ResizeAxis all[kMaxResizeRank + 1];
  const bool pairs = IsComplex(y.dtype);
  if (pairs) {
    std::copy_n(axes, x.rank(), all);
    all[x.rank()].in = all[x.rank()].out = 2;
    from_shape.Append(2);
    to_shape.Append(2);
    x.shape = from_shape, to.shape = to_shape;
    x.dtype = to.dtype = PartOf(y.dtype);
    x.count *= 2, to.count *= 2;
    axes = all;
  }
  if (NeedsDouble(to.dtype)) {
    Resampler<double>(c, x, to, axes, options, pairs).Run();
  } else {
    Resampler<float>(c, x, to, axes, options, pairs).Run();
  }
}

}  // namespace sardonyx::ops
