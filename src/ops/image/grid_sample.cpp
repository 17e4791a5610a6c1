// ops/image/grid_sample.cpp - GridSample and AffineGrid, for images of one to three spatial dimensions.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "kernels/copy/storage.h"
#include "kernels/elementwise/convert.h"
#include "kernels/sample/bilinear.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/operands.h"
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
  auto left = static_cast<std::int64_t>(x);  // the floor, without a call
  left -= static_cast<float>(left) > x ? 1 : 0;
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

void Combine(const float* coordinates, Dims spatial, const GridState& state, PixelTaps& taps) {
  AxisTaps axis = TapsOf(coordinates[spatial.size() - 1], spatial[0], state);  // the grid says x before y
  taps.count = 0;
  for (int t = 0; t < axis.count; ++t) {
    if (axis.at[t] < 0) continue;
    taps.at[taps.count] = axis.at[t];
    taps.weight[taps.count++] = axis.weight[t];
  }
  for (std::size_t d = 1; d < spatial.size(); ++d) {
    axis = TapsOf(coordinates[spatial.size() - 1 - d], spatial[d], state);
    const int before = taps.count;
    std::int64_t at[16];  // all axes but the last one: at most two of four taps
    float weight[16];
    std::copy_n(taps.at, before, at);
    std::copy_n(taps.weight, before, weight);
    taps.count = 0;
    for (int i = 0; i < before; ++i) {
      for (int t = 0; t < axis.count; ++t) {
        if (axis.at[t] < 0) continue;
        taps.at[taps.count] = at[i] * spatial[d] + axis.at[t];
        taps.weight[taps.count++] = weight[i] * axis.weight[t];
      }
    }
  }
}

template <typename F>
bool VisitNumber(DType dtype, F&& f) {
  return VisitDType<float, double, Half, BFloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                    std::uint16_t, std::uint32_t, std::uint64_t, std::complex<float>, std::complex<double>>(dtype, f);
}

template <typename R>
std::complex<R> Weighted(const PixelTaps& taps, const std::complex<R>* x) {
  R real = 0, imaginary = 0;
  for (int t = 0; t < taps.count; ++t) {
    real += static_cast<R>(taps.weight[t]) * x[taps.at[t]].real();
    imaginary += static_cast<R>(taps.weight[t]) * x[taps.at[t]].imag();
  }
  return {real, imaginary};
}

template <typename T>
T Weighted(const PixelTaps& taps, const T* x) {
  using C = std::conditional_t<sizeof(T) == 8 || (sizeof(T) == 4 && std::is_integral_v<T>), double, float>;
  C sum = 0;
  for (int t = 0; t < taps.count; ++t) {
    if constexpr (std::is_arithmetic_v<T>) {
      sum += static_cast<C>(taps.weight[t]) * static_cast<C>(x[taps.at[t]]);
    } else {
      sum += taps.weight[t] * static_cast<float>(x[taps.at[t]]);
    }
  }
  if constexpr (std::is_integral_v<T>) {  // cubic overshoots
    if (!(sum > static_cast<C>(std::numeric_limits<T>::min()))) return std::numeric_limits<T>::min();
    if (sum >= static_cast<C>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  }
  return static_cast<T>(sum);
}

constexpr std::int64_t kSamples = 32;  // whose pixels are found together, then read channel by channel

// Calls write(image, first sample in its plane, samples, their pixels) for all samples.
template <typename Write>
void ForSamples(KernelContext& c, const OutputRef& y, const GridState& state, const Write& write) {
  const TensorRef& grid = c.Input(1);
  const Dims spatial = c.Input(0).shape.subspan(2);
  const std::int64_t plane = ElementCount(y.shape, 2, y.rank()), blocks = (plane + kSamples - 1) / kSamples;
  const auto axes = static_cast<std::int64_t>(spatial.size());
  kernels::ToFloatsFn* load = kernels::ToFloats(grid.dtype);
  c.parallel().For(c.Input(0).shape[0] * blocks, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t image = block / blocks, first = block % blocks * kSamples;
      const std::int64_t count = std::min(kSamples, plane - first);
      float coordinates[kSamples * kMaxAxes];
      load(grid.data, (image * plane + first) * axes, static_cast<std::size_t>(count * axes), coordinates);
      PixelTaps taps[kSamples];
      for (std::int64_t i = 0; i < count; ++i) Combine(coordinates + i * axes, spatial, state, taps[i]);
      write(image, first, count, taps);
    }
  });
}

void SampleAll(KernelContext& c, const OutputRef& y, const GridState& state) {
  const TensorRef& x = c.Input(0);
  const std::int64_t channels = x.shape[1], in_plane = ElementCount(x.shape, 2, x.rank()),
                     out_plane = ElementCount(y.shape, 2, y.rank());
  if (state.mode == SampleMode::kNearest) {
    kernels::VisitStorage(x.dtype, [&]<typename S>() {
      const typename S::Source source = kernels::StorageAt<S>(x.data);
      const S target = kernels::StorageAt<S>(y.data);
      ForSamples(c, y, state, [&](std::int64_t image, std::int64_t first, std::int64_t count, const PixelTaps* taps) {
        for (std::int64_t k = image * channels; k < (image + 1) * channels; ++k) {
          for (std::int64_t i = 0; i < count; ++i) {
            target.Set(k * out_plane + first + i,
                       taps[i].count == 0 ? typename S::Element{} : source.Get(k * in_plane + taps[i].at[0]));
          }
        }
      });
    });
    return;
  }
  VisitNumber(x.dtype, [&]<typename T>() {
    ForSamples(c, y, state, [&](std::int64_t image, std::int64_t first, std::int64_t count, const PixelTaps* taps) {
      for (std::int64_t k = image * channels; k < (image + 1) * channels; ++k)
        for (std::int64_t i = 0; i < count; ++i)
          y.As<T>()[k * out_plane + first + i] = Weighted(taps[i], x.As<const T>() + k * in_plane);
    });
  });
}

// Images of floats, whose points lie between four pixels.
bool IsBilinear(const TensorRef& x, const TensorRef& grid, const GridState& state) {
  return x.dtype == DType::kFloat && grid.dtype == DType::kFloat && x.rank() == 4 &&
         state.mode == SampleMode::kLinear && state.padding != Padding::kReflection &&
         x.shape[2] * x.shape[3] <= (std::int64_t{1} << 30);
}

void SampleBilinear(KernelContext& c, const OutputRef& y, const GridState& state) {
  const TensorRef &x = c.Input(0), &grid = c.Input(1);
  const std::int64_t channels = x.shape[1], in_plane = x.shape[2] * x.shape[3], out_plane = y.shape[2] * y.shape[3];
  const kernels::PointsOfImage image{x.shape[2], x.shape[3], state.align_corners, state.padding == Padding::kBorder};
  constexpr std::int64_t kPoints = kernels::BilinearBlock::kPoints;
  const std::int64_t blocks = (out_plane + kPoints - 1) / kPoints;
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / (kPoints * (channels + 1)));
  c.parallel().For(x.shape[0] * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
    kernels::BilinearBlock block;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t n = i / blocks, first = i % blocks * kPoints;
      block.count = std::min(kPoints, out_plane - first);
      kernels::FindBilinear(image, grid.As<const float>() + (n * out_plane + first) * 2, block);
      for (std::int64_t k = n * channels; k < (n + 1) * channels; ++k)
        kernels::ReadBilinear(block, x.As<const float>() + k * in_plane, y.As<float>() + k * out_plane + first);
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
  const auto& state = c.state<GridState>();
  if (IsBilinear(x, grid, state)) return SampleBilinear(c, y, state);
  SampleAll(c, y, state);
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

// The coordinates of the pixels of an axis: -1 and 1 are its ends, or the centres of its first and last pixel.
void FillAxis(bool align_corners, std::int64_t n, double* at) {
  const auto count = static_cast<double>(n);
  for (std::int64_t k = 0; k < n; ++k) {
    const auto twice = 2 * static_cast<double>(k);
    at[k] = align_corners ? (n == 1 ? -1 : twice / (count - 1) - 1) : (twice + 1) / count - 1;
  }
}

// Axes x, y, z: sizes and coordinates.
struct GridAxes {
  std::int64_t axes = 0;
  std::int64_t size[3] = {};
  double* at[3] = {};
};

// The points of one row along x: the product of the matrix [axes, axes + 1] and (x, y, z, 1).
void WriteRow(const GridAxes& grid, const double* matrix, std::int64_t row, double* y) {
  const std::int64_t columns = grid.axes + 1;
  double rest[3];
  for (std::int64_t r = 0; r < grid.axes; ++r) rest[r] = matrix[r * columns + grid.axes];
  for (std::int64_t d = 1; d < grid.axes; ++d) {
    for (std::int64_t r = 0; r < grid.axes; ++r) rest[r] += matrix[r * columns + d] * grid.at[d][row % grid.size[d]];
    row /= grid.size[d];
  }
  for (std::int64_t k = 0; k < grid.size[0]; ++k)
    for (std::int64_t r = 0; r < grid.axes; ++r) y[k * grid.axes + r] = matrix[r * columns] * grid.at[0][k] + rest[r];
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
  if (y.count == 0) return;
  Operands io(c, DType::kDouble, 2);
  std::size_t places[3];
  for (std::int64_t d = 0; d < axes; ++d)
    places[d] = io.Add<double>(static_cast<std::size_t>(size[static_cast<std::size_t>(axes + 1 - d)]));
  const Operands::Computing computing(io);
  const bool align = c.state<AffineState>().align_corners;
  GridAxes grid = {.axes = axes};
  for (std::int64_t d = 0; d < axes; ++d) {  // x, y, z: the last axis first
    grid.size[d] = size[static_cast<std::size_t>(axes + 1 - d)];
    grid.at[d] = io.At<double>(places[d]);
    FillAxis(align, grid.size[d], grid.at[d]);
  }
  const std::int64_t rows = y.count / axes / grid.size[0], rows_of_image = rows / size[0];
  c.parallel().For(rows, std::max<std::int64_t>(1, 8192 / (axes * grid.size[0])),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i)
                       WriteRow(grid, io.In<double>(0) + i / rows_of_image * axes * (axes + 1), i % rows_of_image,
                                io.Out<double>(0) + i * grid.size[0] * axes);
                   });
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
