// ops/image/grid_sample.cpp - GridSample and AffineGrid, for images of one to three spatial dimensions.
#include <algorithm>
#include <cmath>

#include "kernels/copy/storage.h"
#include "kernels/elementwise/convert.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/spell_context.h"

namespace sardonyx::ops {
namespace {

enum class SampleMode { kNearest, kLinear, kCubic };
enum class Padding { kZeros, kBorder, kReflection };

struct GridState {
  SampleMode mode = SampleMode::kLinear;
  Padding padding = Padding::kZeros;
  bool align_corners = false;
};

GridState ReadGrid(const AttributeReader& c) {
  GridState state;
  const std::string mode = c.String("mode", "linear"), padding = c.String("padding_mode", "zeros");
  if (mode == "nearest") {
    state.mode = SampleMode::kNearest;
  } else if (mode == "cubic" || mode == "bicubic") {
    state.mode = SampleMode::kCubic;
  } else if (mode != "linear" && mode != "bilinear") {
    c.Fail(Code::kInvalidGraph, "attribute 'mode': expected nearest, linear or cubic, found '", mode, "'");
  }
  if (padding == "border") {
    state.padding = Padding::kBorder;
  } else if (padding == "reflection") {
    state.padding = Padding::kReflection;
  } else if (padding != "zeros") {
    c.Fail(Code::kInvalidGraph, "attribute 'padding_mode': expected zeros, border or reflection, found '", padding,
           "'");
  }
  state.align_corners = c.Flag("align_corners");
  return state;
}

void InferGridSample(InferContext& c) {
  if (!c.HasRank(1) || c.Rank(1) < 3) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = {Dim(), Dim()};
  if (c.HasRank(0) && c.Rank(0) >= 2) dims = {c.InputDims(0)[0], c.InputDims(0)[1]};
  dims.insert(dims.end(), c.InputDims(1).begin() + 1, c.InputDims(1).end() - 1);
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

// `x` mirrored at both borders until it lies between them.
float Reflect(float x, float low, float high) {
  const float range = high - low;
  if (range <= 0) return low;
  if (x >= low && x <= high) return x;
  const float distance = x < low ? low - x : x - high;
  const float turns = std::floor(distance / range), rest = distance - turns * range;
  const bool from_low = (x < low) == (std::fmod(turns, 2.0f) == 0);
  return from_low ? low + rest : high - rest;
}

// What one axis of `size` pixels contributes to a sample.
struct AxisTaps {
  int count = 0;
  std::int64_t at[4];  // -1: outside, a zero
  float weight[4];
};

std::int64_t PixelAt(std::int64_t i, std::int64_t size, const GridState& state, float low, float high) {
  if (i >= 0 && i < size) return i;
  if (state.padding == Padding::kZeros) return -1;
  if (state.padding == Padding::kBorder) return std::clamp<std::int64_t>(i, 0, size - 1);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(Reflect(static_cast<float>(i), low, high)), 0, size - 1);
}

void CubicWeights(float x, float (&w)[4]) {
  constexpr float a = -0.75f;
  w[0] = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a;
  w[1] = ((a + 2) * x - (a + 3)) * x * x + 1;
  w[2] = ((a + 2) * (1 - x) - (a + 3)) * (1 - x) * (1 - x) + 1;
  w[3] = ((a * (2 - x) - 5 * a) * (2 - x) + 8 * a) * (2 - x) - 4 * a;
}

AxisTaps TapsOf(float normalized, std::int64_t size, const GridState& state) {
  const auto n = static_cast<float>(size);
  const float low = state.align_corners ? 0 : -0.5f, high = state.align_corners ? n - 1 : n - 0.5f;
  float x = state.align_corners ? (normalized + 1) / 2 * (n - 1) : ((normalized + 1) * n - 1) / 2;
  if (!std::isfinite(x)) x = -1e9f;  // far outside
  if (state.mode == SampleMode::kNearest) x = std::nearbyint(x);
  if (x < low || x > high) {
    if (state.padding == Padding::kBorder) x = std::clamp(x, 0.0f, n - 1);
    if (state.padding == Padding::kReflection) x = Reflect(x, low, high);
  }
  x = std::clamp(x, -1e9f, 1e9f);
  AxisTaps taps;
  if (state.mode == SampleMode::kNearest) {
    taps.count = 1;
    taps.at[0] = PixelAt(static_cast<std::int64_t>(x), size, state, low, high);
    taps.weight[0] = 1;
    return taps;
  }
  const auto left = static_cast<std::int64_t>(std::floor(x));
  const float part = x - static_cast<float>(left);
  const int reach = state.mode == SampleMode::kCubic ? 2 : 1;
  taps.count = 2 * reach;
  if (reach == 2) {
    CubicWeights(part, taps.weight);
  } else {
    taps.weight[0] = 1 - part;
    taps.weight[1] = part;
  }
  for (int t = 0; t < taps.count; ++t) taps.at[t] = PixelAt(left + t - reach + 1, size, state, low, high);
  return taps;
}

constexpr std::size_t kMaxAxes = 3;

// All pixels of a sample: offsets in a plane and weights; outside ones are left out.
struct PixelTaps {
  int count = 0;
  std::int64_t at[64];
  float weight[64];
};

PixelTaps Combine(const float* coordinates, Dims spatial, const GridState& state) {
  PixelTaps taps;
  taps.count = 1;
  taps.at[0] = 0;
  taps.weight[0] = 1;
  for (std::size_t d = 0; d < spatial.size(); ++d) {
    const AxisTaps axis = TapsOf(coordinates[spatial.size() - 1 - d], spatial[d], state);  // the grid says x before y
    PixelTaps next;
    for (int i = 0; i < taps.count; ++i) {
      for (int t = 0; t < axis.count; ++t) {
        if (axis.at[t] < 0) continue;
        next.at[next.count] = taps.at[i] * spatial[d] + axis.at[t];
        next.weight[next.count++] = taps.weight[i] * axis.weight[t];
      }
    }
    taps = next;
  }
  return taps;
}

template <typename F>
bool VisitNumber(DType dtype, F&& f) {
  return VisitDType<float, double, Half, BFloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                    std::uint16_t, std::uint32_t, std::uint64_t>(dtype, f);
}

// Output element `i` of each channel from the pixels of its sample.
template <typename T>
void WriteSample(const PixelTaps& taps, const T* x, std::int64_t in_plane, T* y, std::int64_t out_plane,
                 std::int64_t channels) {
  using C = std::conditional_t<sizeof(T) == 8 || (sizeof(T) == 4 && std::is_integral_v<T>), double, float>;
  for (std::int64_t c = 0; c < channels; ++c) {
    C sum = 0;
    for (int t = 0; t < taps.count; ++t) {
      if constexpr (std::is_arithmetic_v<T>) {
        sum += static_cast<C>(taps.weight[t]) * static_cast<C>(x[c * in_plane + taps.at[t]]);
      } else {
        sum += taps.weight[t] * static_cast<float>(x[c * in_plane + taps.at[t]]);
      }
    }
    y[c * out_plane] = static_cast<T>(sum);
  }
}

void SampleAll(KernelContext& c, const OutputRef& y, const GridState& state) {
  const TensorRef& x = c.Input(0);
  const TensorRef& grid = c.Input(1);
  const Dims spatial = x.shape.subspan(2);
  const std::int64_t channels = x.shape[1], in_plane = ElementCount(spatial),
                     out_plane = ElementCount(y.shape, 2, y.rank());
  const auto axes = static_cast<std::int64_t>(spatial.size());
  c.parallel().For(x.shape[0] * out_plane, 512, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float coordinates[kMaxAxes];
      kernels::ToFloats(grid.dtype)(grid.data, i * axes, static_cast<std::size_t>(axes), coordinates);
      const PixelTaps taps = Combine(coordinates, spatial, state);
      const std::int64_t n = i / out_plane, from = n * channels * in_plane,
                         to = n * channels * out_plane + i % out_plane;
      if (state.mode == SampleMode::kNearest) {
        kernels::VisitStorage(x.dtype, [&]<typename S>() {
          const typename S::Source source = kernels::StorageAt<S>(x.data);
          const S target = kernels::StorageAt<S>(y.data);
          for (std::int64_t k = 0; k < channels; ++k) {
            target.Set(to + k * out_plane,
                       taps.count == 0 ? typename S::Element{} : source.Get(from + k * in_plane + taps.at[0]));
          }
        });
      } else {
        VisitNumber(x.dtype, [&]<typename T>() {
          WriteSample(taps, x.As<T>() + from, in_plane, y.As<T>() + to, out_plane, channels);
        });
      }
    }
  });
}

void RunGridSample(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const TensorRef& grid = c.Input(1);
  const std::size_t axes = x.rank() < 2 ? 0 : x.rank() - 2;
  if (axes < 1 || grid.rank() != x.rank() || grid.shape.back() != static_cast<std::int64_t>(axes) ||
      grid.shape[0] != x.shape[0]) {
    Fail(Code::kInvalidArgument,
         "expected X [N, C, spatial...] and a grid [N, spatial..., number of spatial axes], found ", ToText(x.shape),
         " and ", ToText(grid.shape));
  }
  if (axes > kMaxAxes) Fail(Code::kNotImplemented, "expected at most ", kMaxAxes, " spatial axes, found ", axes);
  Shape shape{x.shape[0], x.shape[1]};
  for (std::size_t d = 1; d + 1 < grid.rank(); ++d) shape.Append(grid.shape[d]);
  const OutputRef y = c.Output(0, shape);
  if (y.count == 0) return;
  if (x.count == 0) Fail(Code::kInvalidArgument, "expected an image with elements, found shape ", ToText(x.shape));
  SampleAll(c, y, c.state<GridState>());
}

Prepared PrepareGridSample(PrepareContext& c) {
  const GridState state = ReadGrid(c);
  const DType dtype = c.InputDType(0);
  if (IsSubByte(dtype) || (state.mode != SampleMode::kNearest && !VisitNumber(dtype, []<typename T>() {}))) {
    c.Unsupported("input 'X'", dtype);
  }
  return WithState(RunGridSample, state);
}

// ---- AffineGrid

struct AffineState {
  bool align_corners;
};

void InferAffineGrid(InferContext& c) {
  const auto size = c.ShapeData(1);
  if (!size || size->size() < 4) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = {size->front()};
  dims.insert(dims.end(), size->begin() + 2, size->end());
  dims.push_back(Dim(static_cast<std::int64_t>(size->size()) - 2));
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

void RunAffineGrid(KernelContext& c) {
  const TensorRef& theta = c.Input(0);
  const Shape size = IntsOf(c.Input(1));
  const std::int64_t axes = static_cast<std::int64_t>(size.size()) - 2;
  if ((axes != 2 && axes != 3) || theta.rank() != 3 || theta.shape[0] != size[0] || theta.shape[1] != axes ||
      theta.shape[2] != axes + 1) {
    Fail(Code::kInvalidArgument,
         "expected theta [N, 2, 3] and size [N, C, H, W], or [N, 3, 4] and [N, C, D, H, W], found ",
         ToText(theta.shape), " and ", ToText(size));
  }
  Shape shape{size[0]};
  for (std::size_t d = 2; d < size.size(); ++d) shape.Append(size[d]);
  shape.Append(axes);
  const OutputRef y = c.Output(0, shape);
  const bool align = c.state<AffineState>().align_corners;
  const std::int64_t points = size[0] == 0 ? 0 : y.count / axes / size[0];
  for (std::int64_t i = 0; i < points * size[0]; ++i) {
    double at[4] = {1, 1, 1, 1}, matrix[12], row[3];
    std::int64_t rest = i % points;
    for (std::int64_t d = 0; d < axes; ++d) {  // x, y, z: the last axis first
      const std::int64_t n = size[static_cast<std::size_t>(axes + 1 - d)], k = rest % n;
      rest /= n;
      const auto count = static_cast<double>(n);
      at[d] = align ? (n == 1 ? -1 : 2 * static_cast<double>(k) / (count - 1) - 1)
                    : (2 * static_cast<double>(k) + 1) / count - 1;
    }
    at[axes] = 1;
    const std::int64_t elements = axes * (axes + 1);
    kernels::ToDoubles(theta.dtype)(theta.data, i / points * elements, static_cast<std::size_t>(elements), matrix);
    for (std::int64_t r = 0; r < axes; ++r) {
      row[r] = 0;
      for (std::int64_t k = 0; k <= axes; ++k) row[r] += matrix[r * (axes + 1) + k] * at[k];
    }
    kernels::FromDoubles(y.dtype)(row, static_cast<std::size_t>(axes), y.data, i * axes);
  }
}

Prepared PrepareAffineGrid(PrepareContext& c) { return WithState(RunAffineGrid, AffineState{c.Flag("align_corners")}); }

void SpellGridSample(SpellContext& c) {
  const std::string_view mode = TextAttribute(c.node(), "mode", "");
  const char* const renamed = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : nullptr;
  if (renamed != nullptr) c.node().SetAttribute("mode", std::string(renamed));
}

constexpr OpDef kGridSampleOps[] = {
    {.name = "AffineGrid", .since = {20}, .types = kIeeeFloats, .infer = InferAffineGrid, .prepare = PrepareAffineGrid},
    {.domain = "com.microsoft",
     .name = "GridSample",
     .since = {1},
     .infer = InferGridSample,
     .prepare = PrepareGridSample},
    {.name = "GridSample",
     .since = {16, 20, 22},
     .infer = InferGridSample,
     .prepare = PrepareGridSample,
     .spell = {20, SpellGridSample}},
};

}  // namespace

std::span<const OpDef> GridSampleOps() { return kGridSampleOps; }

}  // namespace sardonyx::ops
