// ops/resize.cpp - Resize (10 and later) and Upsample.
//
// Nearest copies elements by index tables; linear and cubic resize one axis after the other in float or double.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/copy/storage.h"
#include "kernels/resize/resample.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/resize_axis.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

enum class Aspect { kStretch, kNotLarger, kNotSmaller };

struct ResizeState {
  ResizeOptions options;
  Aspect aspect = Aspect::kStretch;
  std::vector<std::int64_t> axes;  // empty: all
  std::size_t scales_input = 2;    // 1 for Upsample and Resize 10
};

constexpr std::size_t kMaxRank = 16;

// ---- Attributes

template <typename E, std::size_t N>
E OneOf(const AttributeReader& c, std::string_view name, std::string_view otherwise,
        const std::pair<std::string_view, E> (&choices)[N]) {
  const std::string value = c.String(name, otherwise);
  for (const auto& [text, choice] : choices)
    if (text == value) return choice;
  std::string all;
  for (const auto& entry : choices) all += (all.empty() ? "" : ", ") + std::string(entry.first);
  c.Fail(Code::kInvalidGraph, "attribute '", name, "': expected one of ", all, "; found '", value, "'");
}

ResizeMode ReadMode(const AttributeReader& c) {
  static constexpr std::pair<std::string_view, ResizeMode> kModes[] = {{"nearest", ResizeMode::kNearest},
                                                                       {"linear", ResizeMode::kLinear},
                                                                       {"bilinear", ResizeMode::kLinear},  // Upsample 1
                                                                       {"cubic", ResizeMode::kCubic}};
  return OneOf(c, "mode", "nearest", kModes);
}

ResizeState ReadResize(const AttributeReader& c) {
  using RC = ResizeCoordinates;
  static constexpr std::pair<std::string_view, RC> kCoordinates[] = {{"half_pixel", RC::kHalfPixel},
                                                                     {"half_pixel_symmetric", RC::kHalfPixelSymmetric},
                                                                     {"pytorch_half_pixel", RC::kPytorchHalfPixel},
                                                                     {"align_corners", RC::kAlignCorners},
                                                                     {"asymmetric", RC::kAsymmetric},
                                                                     {"tf_half_pixel_for_nn", RC::kTfHalfPixelForNn},
                                                                     {"tf_crop_and_resize", RC::kTfCropAndResize}};
  static constexpr std::pair<std::string_view, ResizeNearest> kNearest[] = {
      {"round_prefer_floor", ResizeNearest::kRoundPreferFloor},
      {"round_prefer_ceil", ResizeNearest::kRoundPreferCeil},
      {"floor", ResizeNearest::kFloor},
      {"ceil", ResizeNearest::kCeil}};
  static constexpr std::pair<std::string_view, Aspect> kAspects[] = {
      {"stretch", Aspect::kStretch}, {"not_larger", Aspect::kNotLarger}, {"not_smaller", Aspect::kNotSmaller}};
  ResizeState state;
  state.options.mode = ReadMode(c);
  state.options.coordinates = OneOf(c, "coordinate_transformation_mode", "half_pixel", kCoordinates);
  state.options.nearest = OneOf(c, "nearest_mode", "round_prefer_floor", kNearest);
  state.options.cubic_a = c.Float("cubic_coeff_a", -0.75f);
  state.options.exclude_outside = c.Flag("exclude_outside");
  state.options.antialias = c.Flag("antialias");
  state.options.extrapolation_value = c.Float("extrapolation_value", 0);
  state.aspect = OneOf(c, "keep_aspect_ratio_policy", "stretch", kAspects);
  state.axes = c.Ints("axes");
  return state;
}

ResizeState ReadUpsample(const AttributeReader& c) {
  ResizeState state;
  state.options.mode = ReadMode(c);
  state.options.coordinates = ResizeCoordinates::kAsymmetric;
  state.options.nearest = ResizeNearest::kSimple;
  state.scales_input = 1;
  return state;
}

// ---- Shapes

// The axis that entry `i` of scales, sizes or roi is for.
std::size_t AxisAt(const ResizeState& state, std::size_t i, std::size_t rank) {
  return state.axes.empty() ? i : NormalizeAxis(state.axes[i], rank);
}

std::size_t AxisCount(const ResizeState& state, std::size_t rank) {
  return state.axes.empty() ? rank : state.axes.size();
}

void CheckEntries(std::size_t found, std::size_t expected, const char* what) {
  if (found != expected) Fail(Code::kInvalidArgument, "expected ", expected, " ", what, ", found ", found);
}

void CheckScale(float scale) {
  if (!(scale > 0) || scale > 1e9f) Fail(Code::kInvalidArgument, "expected scales above 0, found ", scale);
}

std::int64_t ScaledSize(std::int64_t size, float scale) {
  return static_cast<std::int64_t>(std::floor(static_cast<float>(size) * scale));
}

// Sizes that keep the aspect ratio: one scale for all axes; returns it.
float KeepAspect(const ResizeState& state, Dims in, std::span<std::int64_t> sizes) {
  const bool smaller = state.aspect == Aspect::kNotLarger;
  float scale = smaller ? std::numeric_limits<float>::max() : 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t size = in[AxisAt(state, i, in.size())];
    if (size == 0) continue;
    const float s = static_cast<float>(sizes[i]) / static_cast<float>(size);
    scale = smaller ? std::min(scale, s) : std::max(scale, s);
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto size = static_cast<float>(in[AxisAt(state, i, in.size())]);
    sizes[i] = static_cast<std::int64_t>(std::floor(scale * size + 0.5f));
  }
  return scale;
}

Dim ScaledDim(const Dim& d, float scale) {
  if (d.known()) return ScaledSize(d.number(), scale);
  if (scale == std::floor(scale)) return d * Dim(static_cast<std::int64_t>(scale));
  const float inverse = 1 / scale;
  return inverse == std::floor(inverse) ? FloorDiv(d, Dim(static_cast<std::int64_t>(inverse))) : Dim();
}

// Output dimensions from the sizes input; unknown where it is.
void InferSizes(InferContext& c, const ResizeState& state, std::vector<Dim>& dims) {
  const std::size_t rank = dims.size(), count = AxisCount(state, rank);
  const auto sizes = c.ShapeData(3);
  if (sizes) CheckEntries(sizes->size(), count, "sizes");
  bool known = sizes.has_value();
  Shape in, wanted;
  for (std::size_t i = 0; i < count; ++i) known = known && (*sizes)[i].known() && dims[AxisAt(state, i, rank)].known();
  if (known && state.aspect != Aspect::kStretch) {
    for (const Dim& d : dims) in.Append(d.known() ? d.number() : 0);
    for (const Dim& d : *sizes) wanted.Append(d.number());
    KeepAspect(state, in, {wanted.data(), wanted.size()});
  }
  for (std::size_t i = 0; i < count; ++i) {
    Dim& d = dims[AxisAt(state, i, rank)];
    if (state.aspect == Aspect::kStretch) {
      d = sizes ? (*sizes)[i] : Dim();
    } else {
      d = known ? Dim(wanted[i]) : Dim();
    }
  }
}

void InferResizeWith(InferContext& c, const ResizeState& state) {
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = c.InputDims(0);
  const std::size_t rank = dims.size(), count = AxisCount(state, rank);
  const Tensor* scales = c.Constant(state.scales_input);
  const bool no_scales = !c.HasInput(state.scales_input) || (scales != nullptr && scales->count() == 0);
  if (scales != nullptr && !no_scales) {
    CheckEntries(static_cast<std::size_t>(scales->count()), count, "scales");
    for (std::size_t i = 0; i < count; ++i) {
      Dim& d = dims[AxisAt(state, i, rank)];
      CheckScale(scales->data<float>()[i]);
      d = ScaledDim(d, scales->data<float>()[i]);
    }
  } else if (no_scales && c.HasInput(3) && state.scales_input == 2) {
    InferSizes(c, state, dims);
  } else {
    for (std::size_t i = 0; i < count; ++i) dims[AxisAt(state, i, rank)] = Dim();
  }
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

void InferResize(InferContext& c) { InferResizeWith(c, ReadResize(c)); }
void InferUpsample(InferContext& c) { InferResizeWith(c, ReadUpsample(c)); }

// All axes from the inputs of a run.
void ReadAxes(KernelContext& c, const ResizeState& state, ResizeAxis (&axes)[kMaxRank]) {
  const Dims in = c.Input(0).shape;
  const std::size_t rank = in.size(), count = AxisCount(state, rank);
  if (rank > kMaxRank) Fail(Code::kNotImplemented, "rank ", rank, " is beyond ", kMaxRank);
  for (std::size_t i = 0; i < rank; ++i) axes[i].in = axes[i].out = in[i];
  const bool by_scale = c.HasInput(state.scales_input) && c.Input(state.scales_input).count > 0;
  if (by_scale) {
    const TensorRef& scales = c.Input(state.scales_input);
    CheckEntries(static_cast<std::size_t>(scales.count), count, "scales");
    for (std::size_t i = 0; i < count; ++i) {
      ResizeAxis& axis = axes[AxisAt(state, i, rank)];
      axis.scale = scales.As<float>()[i];
      CheckScale(axis.scale);
      axis.out = ScaledSize(axis.in, axis.scale);
    }
  } else {
    if (!c.HasInput(3)) Fail(Code::kInvalidArgument, "expected scales or sizes, found neither");
    Shape sizes = IntsOf(c.Input(3));
    CheckEntries(sizes.size(), count, "sizes");
    float common = 0;
    if (state.aspect != Aspect::kStretch) common = KeepAspect(state, in, {sizes.data(), sizes.size()});
    for (std::size_t i = 0; i < count; ++i) {
      ResizeAxis& axis = axes[AxisAt(state, i, rank)];
      if (sizes[i] < 0) Fail(Code::kInvalidArgument, "expected sizes of at least 0, found ", ToText(sizes));
      axis.out = sizes[i];
      axis.scale = common != 0 ? common : static_cast<float>(sizes[i]) / static_cast<float>(axis.in);
    }
  }
  if (state.options.coordinates != ResizeCoordinates::kTfCropAndResize) return;
  const std::size_t roi_count = c.HasInput(1) ? static_cast<std::size_t>(c.Input(1).count) : 0;
  CheckEntries(roi_count, 2 * count, "values of roi");
  const TensorRef& roi = c.Input(1);
  const auto at = [&](std::size_t i) {
    float value = 0;
    VisitDType<float, double, Half, BFloat16>(roi.dtype,
                                              [&]<typename T>() { value = static_cast<float>(roi.As<T>()[i]); });
    return value;
  };
  for (std::size_t i = 0; i < count; ++i) {
    ResizeAxis& axis = axes[AxisAt(state, i, rank)];
    axis.roi_start = at(i);
    axis.roi_end = at(count + i);
  }
}

// ---- Elements of the types that linear and cubic compute with

template <typename F>
bool VisitNumber(DType dtype, F&& f) {
  return VisitDType<float, double, Half, BFloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                    std::uint16_t, std::uint32_t, std::uint64_t>(dtype, f);
}

// Integers are truncated, as ONNX Runtime does, but rounded after antialiasing; what overshoots is clamped.
template <typename T, typename C>
T FromCompute(C value, bool round) {
  if constexpr (std::is_integral_v<T>) {
    if (round) value = std::nearbyint(value);
    if (!(value > static_cast<C>(std::numeric_limits<T>::min()))) return std::numeric_limits<T>::min();
    if (value >= static_cast<C>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(value);
  } else if constexpr (std::is_same_v<T, C>) {
    return value;
  } else {
    return static_cast<T>(static_cast<float>(value));
  }
}

template <typename T, typename C>
C ToCompute(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<C>(value);
  } else {
    return static_cast<C>(static_cast<float>(value));
  }
}

// ---- Nearest

// index[d] maps each output position to an input position, or -1 for the extrapolation value.
template <typename Storage>
void NearestRows(KernelContext& c, const TensorRef& y, const ResizeAxis* axes, const std::int32_t* const* index,
                 std::size_t last, std::int64_t run, typename Storage::Element outside) {
  const TensorRef& x = c.Input(0);
  const Storage from = kernels::StorageAt<Storage>(x.data), to = kernels::StorageAt<Storage>(y.data);
  const std::int64_t out = axes[last].out, row_size = out * run, rows = y.count / row_size;
  const std::int32_t* columns = index[last];
  bool none_outside = true;
  for (std::int64_t j = 0; j < out; ++j) none_outside = none_outside && columns[j] >= 0;
  const std::int64_t grain = Storage::kPacked ? rows : std::max<std::int64_t>(1, 16384 / row_size);
  c.parallel().For(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t previous = -2;
    for (std::int64_t row = begin; row < end; ++row) {
      std::int64_t rest = row, base = 0, stride = axes[last].in * run;
      bool inside = true;
      for (std::size_t d = last; d-- > 0;) {
        const std::int32_t i = index[d][rest % axes[d].out];
        rest /= axes[d].out;
        inside = inside && i >= 0;
        base += i * stride;
        stride *= axes[d].in;
      }
      const std::int64_t at = row * row_size;
      if (!inside) {
        to.Fill(at, row_size, outside);
      } else if (base == previous) {  // rows repeat when an axis before the last grows
        to.CopyRun(at, to, at - row_size, row_size);
      } else if (run == 1 && none_outside) {
        for (std::int64_t j = 0; j < out; ++j) to.Set(at + j, from.Get(base + columns[j]));
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

// The extrapolation value as an element of the type.
template <typename Storage>
typename Storage::Element OutsideElement(DType dtype, float value) {
  using Element = typename Storage::Element;
  Element element{};
  if constexpr (std::is_trivially_copyable_v<Element> && !Storage::kPacked) {
    VisitNumber(dtype, [&]<typename T>() {
      const T typed = FromCompute<T, double>(value, false);
      if constexpr (sizeof(T) == sizeof(Element)) std::memcpy(static_cast<void*>(&element), &typed, sizeof(Element));
    });
  }
  return element;
}

void RunNearest(KernelContext& c, const TensorRef& y, const ResizeAxis* axes, const ResizeOptions& options) {
  const TensorRef& x = c.Input(0);
  const std::size_t rank = x.rank();
  std::size_t last = rank - 1;
  while (last > 0 && axes[last].Identity(options)) --last;
  std::int64_t total = 0;
  for (std::size_t d = 0; d <= last; ++d) total += axes[d].out;
  auto* table = c.Scratch<std::int32_t>(static_cast<std::size_t>(total));
  const std::int32_t* index[kMaxRank];
  for (std::size_t d = 0; d <= last; ++d) {
    index[d] = table;
    const bool same = axes[d].Identity(options);
    for (std::int64_t j = 0; j < axes[d].out; ++j) {
      const bool outside = axes[d].Outside(j, options.coordinates);
      *table++ = outside ? -1 : static_cast<std::int32_t>(same ? j : axes[d].NearestIndex(j, options));
    }
  }
  const std::int64_t run = ElementCount(x.shape, last + 1, rank);
  kernels::VisitStorage(x.dtype, [&]<typename Storage>() {
    NearestRows<Storage>(c, y, axes, index, last, run, OutsideElement<Storage>(x.dtype, options.extrapolation_value));
  });
}

// ---- Linear and cubic

// One after the other, the axes that change; `C` is what is computed in.
template <typename C>
class Resampler {
 public:
  Resampler(KernelContext& c, const TensorRef& y, const ResizeAxis* axes, const ResizeOptions& options)
      : c_(c), x_(c.Input(0)), y_(y), axes_(axes), options_(options) {}

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
    for (std::size_t i = 0; i < x_.rank(); ++i)
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
    auto* block = c_.Scratch<C>(CheckedAdd(CheckedMul(2, padded, "scratch memory"), 2 * tap_count, "scratch memory"));
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
          for (std::int64_t o = 0; o < outer; ++o)
            std::fill_n(y_.template As<T>() + (o * axes_[d].out + j) * inner, inner, value);
        }
      }
    });
  }

  KernelContext& c_;
  const TensorRef& x_;
  const TensorRef& y_;
  const ResizeAxis* axes_;
  const ResizeOptions& options_;
  std::size_t order_[kMaxRank], count_ = 0;
  C* buffers_[2];
  C* weights_;
  std::int32_t* indices_;
};

// 32 and 64 bits wide integers and doubles need more than float's 24 bits.
bool NeedsDouble(DType dtype) {
  return dtype == DType::kDouble || dtype == DType::kInt32 || dtype == DType::kUInt32 || dtype == DType::kInt64 ||
         dtype == DType::kUInt64;
}

void RunResize(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const ResizeState& state = c.state<ResizeState>();
  ResizeAxis axes[kMaxRank];
  ReadAxes(c, state, axes);
  Shape shape(x.shape);
  for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = axes[i].out;
  const TensorRef& y = c.Output(0, shape);
  if (y.count == 0) return;
  if (x.count == 0) Fail(Code::kInvalidArgument, "cannot make ", ToText(shape), " of an empty input ", ToText(x.shape));
  if (x.rank() == 0) {
    kernels::VisitStorage(
        x.dtype, [&]<typename S>() { kernels::StorageAt<S>(y.data).Set(0, kernels::StorageAt<S>(x.data).Get(0)); });
  } else if (state.options.mode == ResizeMode::kNearest) {
    RunNearest(c, y, axes, state.options);
  } else if (NeedsDouble(x.dtype)) {
    Resampler<double>(c, y, axes, state.options).Run();
  } else {
    Resampler<float>(c, y, axes, state.options).Run();
  }
}

Prepared PrepareWith(PrepareContext& c, ResizeState state) {
  const DType dtype = c.InputDType(0);
  if (state.options.mode != ResizeMode::kNearest && !VisitNumber(dtype, []<typename T>() {})) {
    c.Unsupported("mode linear or cubic for", dtype);
  }
  const DType scales = c.InputDType(state.scales_input);
  if (c.HasInput(state.scales_input) && scales != DType::kFloat && scales != DType::kUndefined) {
    c.Unsupported("scales of", scales);
  }
  return WithState(RunResize, std::move(state));
}

Prepared PrepareResize(PrepareContext& c) { return PrepareWith(c, ReadResize(c)); }
Prepared PrepareUpsample(PrepareContext& c) { return PrepareWith(c, ReadUpsample(c)); }

void UpgradeUpsample(UpgradeContext& c) {
  if (c.version() == 1) {
    const AttributeReader attributes = c.attributes();
    const float scales[] = {1, 1, attributes.Float("height_scale"), attributes.Float("width_scale")};
    c.Take("height_scale");
    c.Take("width_scale");
    c.SetConstantInput(1, Tensor::Vector<float>(scales));
  } else if (c.version() == 7) {
    if (const auto scales = c.Take("scales"))
      c.SetConstantInput(1, Tensor::Vector<float>(std::get<std::vector<float>>(*scales)));
  }
}

constexpr OpDef kResizeOps[] = {
    {.name = "Resize", .since = {10}, .types = kAllTypes, .infer = InferUpsample, .prepare = PrepareUpsample},
    {.name = "Resize", .since = {11, 13, 18, 19}, .types = kAllTypes, .infer = InferResize, .prepare = PrepareResize},
    {.name = "Upsample",
     .since = {1, 7, 9, 10},
     .types = kAllTypes,
     .infer = InferUpsample,
     .prepare = PrepareUpsample,
     .upgrade = UpgradeUpsample},
};

}  // namespace

std::span<const OpDef> ResizeOps() { return kResizeOps; }

}  // namespace sardonyx::ops
