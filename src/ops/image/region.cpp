// ops/image/region.cpp - RoiAlign and MaxRoiPool: fixed-size samples of regions of images.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/elementwise/convert.h"
#include "kernels/region/roi_align.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

// ---- RoiAlign

struct RoiAlignState {
  bool maximum, half_pixel;
  std::int64_t height, width, sampling;
  float scale;
};

RoiAlignState ReadRoiAlign(const AttributeReader& c) {
  const std::string mode = c.String("mode", "avg"),
                    transform = c.String("coordinate_transformation_mode", "half_pixel");
  if (mode != "avg" && mode != "max")
    c.Fail(Code::kInvalidGraph, "attribute 'mode': expected avg or max, found '", mode, "'");
  if (transform != "half_pixel" && transform != "output_half_pixel") {
    c.Fail(Code::kInvalidGraph,
           "attribute 'coordinate_transformation_mode': expected half_pixel or output_half_pixel, found '", transform,
           "'");
  }
  RoiAlignState state{mode == "max",
                      transform == "half_pixel",
                      c.Int("output_height", 1),
                      c.Int("output_width", 1),
                      c.Int("sampling_ratio", 0),
                      c.Float("spatial_scale", 1)};
  constexpr std::int64_t kMostSamples = 1 << 10;  // an axis of a bin
  if (state.sampling > kMostSamples) {
    c.Fail(Code::kInvalidGraph, "attribute 'sampling_ratio': expected at most ", kMostSamples, ", found ",
           state.sampling);
  }
  if (state.height < 1 || state.width < 1) {
    c.Fail(Code::kInvalidGraph, "attributes 'output_height' and 'output_width': expected at least 1, found ",
           state.height, " and ", state.width);
  }
  return state;
}

void InferRoiAlign(InferContext& c) {
  const RoiAlignState state = ReadRoiAlign(c);
  const Dim channels = c.HasRank(0) && c.Rank(0) == 4 ? c.InputDims(0)[1] : Dim();
  const Dim rois = c.HasRank(1) && c.Rank(1) == 2 ? c.InputDims(1)[0] : Dim();
  c.SetOutput(0, c.InputDType(0), {rois, channels, Dim(state.height), Dim(state.width)});
}

// Four pixels and their weights for a sample at (y, x).
struct Sample {
  std::int64_t at[4] = {};
  double weight[4] = {};
};

// False outside of the image, where samples are 0; NaN is nowhere.
bool FindSample(double y, double x, std::int64_t height, std::int64_t width, Sample& s) {
  if (!(y >= -1 && y <= static_cast<double>(height) && x >= -1 && x <= static_cast<double>(width))) return false;
  const auto corner = [](double& v, std::int64_t size, std::int64_t& low) {
    v = std::max(v, 0.0);
    low = static_cast<std::int64_t>(v);
    if (low >= size - 1) {
      low = size - 1;
      v = static_cast<double>(low);
      return low;
    }
    return low + 1;
  };
  std::int64_t y0, x0;
  const std::int64_t y1 = corner(y, height, y0), x1 = corner(x, width, x0);
  const double ly = y - static_cast<double>(y0), lx = x - static_cast<double>(x0);
  const std::int64_t at[] = {y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1};
  const double weight[] = {(1 - ly) * (1 - lx), (1 - ly) * lx, ly * (1 - lx), ly * lx};
  std::copy(at, at + 4, s.at);
  std::copy(weight, weight + 4, s.weight);
  return true;
}

double Real(double value) { return value; }
double Real(Half value) { return static_cast<double>(static_cast<float>(value)); }
double Real(BFloat16 value) { return static_cast<double>(static_cast<float>(value)); }

// A region in pixels of the input, and how many samples each of its bins has per axis.
struct Region {
  double y, x, bin_h, bin_w;
  std::int64_t rows, columns;
};

Region RegionOf(const RoiAlignState& state, const double (&roi)[4]) {
  const double offset = state.half_pixel ? 0.5 : 0.0;
  const double x = roi[0] * state.scale - offset, y = roi[1] * state.scale - offset;
  double w = roi[2] * state.scale - offset - x, h = roi[3] * state.scale - offset - y;
  if (!state.half_pixel) {  // a region has at least one pixel
    w = std::max(w, 1.0);
    h = std::max(h, 1.0);
  }
  const double bin_h = h / static_cast<double>(state.height), bin_w = w / static_cast<double>(state.width);
  const auto samples = [&](double bin) {
    if (state.sampling > 0) return state.sampling;
    return bin > 0 ? static_cast<std::int64_t>(std::ceil(std::min(bin, 1e6))) : 0;  // none of NaN, too
  };
  return {y, x, bin_h, bin_w, samples(bin_h), samples(bin_w)};
}

// One region of one channel, sample by sample: y [height, width].
template <typename T>
void AlignRegion(const RoiAlignState& state, const T* plane, std::int64_t height, std::int64_t width,
                 const Region& region, T* y) {
  const std::int64_t count = region.rows * region.columns;
  const double step_y = region.bin_h / static_cast<double>(std::max<std::int64_t>(region.rows, 1));
  const double step_x = region.bin_w / static_cast<double>(std::max<std::int64_t>(region.columns, 1));
  for (std::int64_t i = 0; i < state.height * state.width; ++i) {
    const double top = region.y + static_cast<double>(i / state.width) * region.bin_h;
    const double left = region.x + static_cast<double>(i % state.width) * region.bin_w;
    const kernels::SampleRange rows = kernels::SamplesInside(top, step_y, region.rows, height);
    const kernels::SampleRange columns = kernels::SamplesInside(left, step_x, region.columns, width);
    std::int64_t inside = 0;
    double sum = 0, most = -std::numeric_limits<double>::infinity();
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      const double at_y = top + (static_cast<double>(r) + 0.5) * step_y;
      for (std::int64_t k = columns.begin; k < columns.end; ++k) {
        Sample s;
        if (!FindSample(at_y, left + (static_cast<double>(k) + 0.5) * step_x, height, width, s)) continue;
        ++inside;
        for (int t = 0; t < 4; ++t) {
          const double value = s.weight[t] * Real(plane[s.at[t]]);
          sum += value;
          most = std::max(most, value);
        }
      }
    }
    if (inside < count) most = std::max(most, 0.0);
    const double result = count == 0 ? 0 : state.maximum ? most : sum / static_cast<double>(count);
    if constexpr (std::is_same_v<T, double>) {
      y[i] = result;
    } else {
      y[i] = static_cast<T>(static_cast<float>(result));
    }
  }
}

Region ReadRegion(KernelContext& c, std::int64_t r, std::int64_t& batch) {
  batch = CheckedIndex(IntAt(c.Input(2), r), c.Input(0).shape[0]);
  double roi[4];
  kernels::ToDoubles(c.Input(1).dtype)(c.Input(1).data, r * 4, 4, roi);
  return RegionOf(c.state<RoiAlignState>(), roi);
}

// Averages in f32: the weights of a region once, for all its channels.
void AlignAverages(KernelContext& c, const OutputRef& y) {
  const TensorRef& x = c.Input(0);
  const RoiAlignState& state = c.state<RoiAlignState>();
  const std::int64_t channels = x.shape[1], height = x.shape[2], width = x.shape[3], regions = y.shape[0];
  const std::int64_t row_bytes = kernels::AlignAxisBytes(state.height, height);
  const std::int64_t column_bytes = kernels::AlignAxisBytes(state.width, width);
  const std::int64_t bytes = row_bytes + column_bytes + (width * 4 + 63) / 64 * 64;
  const std::int64_t jobs = std::min<std::int64_t>(regions, 16);
  std::byte* scratch =
      c.Scratch(CheckedMul(static_cast<std::size_t>(bytes), static_cast<std::size_t>(jobs), "scratch"));
  kernels::AlignPlaneFn* const align = kernels::AlignPlaneFunction();
  c.parallel().For(jobs, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t job = begin; job < end; ++job) {
      std::byte* memory = scratch + job * bytes;
      const kernels::AlignAxis rows = kernels::MakeAlignAxis(state.height, height, memory);
      const kernels::AlignAxis columns = kernels::MakeAlignAxis(state.width, width, memory + row_bytes);
      float* line = reinterpret_cast<float*>(memory + row_bytes + column_bytes);
      for (std::int64_t r = regions * job / jobs; r < regions * (job + 1) / jobs; ++r) {
        std::int64_t batch;
        const Region region = ReadRegion(c, r, batch);
        kernels::FillAlignAxis(region.y, region.bin_h, region.rows, rows);
        kernels::FillAlignAxis(region.x, region.bin_w, region.columns, columns);
        for (std::int64_t k = 0; k < channels; ++k) {
          align(rows, columns, x.As<float>() + (batch * channels + k) * height * width, line,
                y.As<float>() + (r * channels + k) * state.height * state.width);
        }
      }
    }
  });
}

void RunRoiAlign(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const TensorRef& rois = c.Input(1);
  const RoiAlignState& state = c.state<RoiAlignState>();
  if (x.rank() != 4 || rois.rank() != 2 || rois.shape[1] != 4 || c.Input(2).count != rois.shape[0]) {
    Fail(Code::kInvalidArgument, "expected X [N, C, H, W], rois [R, 4] and batch_indices [R], found ", ToText(x.shape),
         ", ", ToText(rois.shape), " and ", ToText(c.Input(2).shape));
  }
  const std::int64_t channels = x.shape[1], height = x.shape[2], width = x.shape[3], regions = rois.shape[0];
  const std::int64_t shape[] = {regions, channels, state.height, state.width};
  const OutputRef y = c.Output(0, shape);
  if (y.count == 0) return;
  if (x.count == 0) {  // an image without pixels is 0 everywhere
    std::memset(y.data, 0, y.byte_size());
    return;
  }
  if (x.dtype == DType::kFloat && !state.maximum) return AlignAverages(c, y);
  c.parallel().For(regions, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      std::int64_t batch;
      const Region region = ReadRegion(c, r, batch);
      VisitDType<float, double, Half, BFloat16>(x.dtype, [&]<typename T>() {
        for (std::int64_t k = 0; k < channels; ++k) {
          AlignRegion(state, x.As<T>() + (batch * channels + k) * height * width, height, width, region,
                      y.As<T>() + (r * channels + k) * state.height * state.width);
        }
      });
    }
  });
}

Prepared PrepareRoiAlign(PrepareContext& c) { return WithState(RunRoiAlign, ReadRoiAlign(c)); }

void UpgradeRoiAlign(UpgradeContext& c) {
  if (c.version() < 16) c.SetAttribute("coordinate_transformation_mode", std::string("output_half_pixel"));
}

// ---- MaxRoiPool

struct RoiPoolState {
  std::int64_t height, width;
  float scale;
};

RoiPoolState ReadRoiPool(const AttributeReader& c) {
  const std::vector<std::int64_t> shape = c.Ints("pooled_shape");
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1) {
    c.Fail(Code::kInvalidGraph, "attribute 'pooled_shape': expected two positive numbers, found ", ToText(Dims(shape)));
  }
  return {shape[0], shape[1], c.Float("spatial_scale", 1)};
}

void InferRoiPool(InferContext& c) {
  const RoiPoolState state = ReadRoiPool(c);
  const Dim channels = c.HasRank(0) && c.Rank(0) == 4 ? c.InputDims(0)[1] : Dim();
  const Dim rois = c.HasRank(1) && c.Rank(1) == 2 ? c.InputDims(1)[0] : Dim();
  c.SetOutput(0, c.InputDType(0), {rois, channels, Dim(state.height), Dim(state.width)});
}

// The pixels [first, last) of bin `i` along an axis of `size` pixels.
std::pair<std::int64_t, std::int64_t> Bin(std::int64_t start, std::int64_t length, std::int64_t bins, std::int64_t i,
                                          std::int64_t size) {
  const double bin = static_cast<double>(length) / static_cast<double>(bins);
  const auto first = static_cast<std::int64_t>(std::floor(static_cast<double>(i) * bin)) + start;
  const auto last = static_cast<std::int64_t>(std::ceil(static_cast<double>(i + 1) * bin)) + start;
  return {std::clamp<std::int64_t>(first, 0, size), std::clamp<std::int64_t>(last, 0, size)};
}

void RunRoiPool(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const TensorRef& rois = c.Input(1);
  const RoiPoolState& state = c.state<RoiPoolState>();
  if (x.rank() != 4 || rois.rank() != 2 || rois.shape[1] != 5) {
    Fail(Code::kInvalidArgument, "expected X [N, C, H, W] and rois [R, 5], found ", ToText(x.shape), " and ",
         ToText(rois.shape));
  }
  const std::int64_t channels = x.shape[1], height = x.shape[2], width = x.shape[3];
  const std::int64_t shape[] = {rois.shape[0], channels, state.height, state.width};
  const OutputRef y = c.Output(0, shape);
  for (std::int64_t r = 0; r < rois.shape[0]; ++r) {
    double roi[5];
    kernels::ToDoubles(rois.dtype)(rois.data, r * 5, 5, roi);
    std::int64_t edge[4];
    for (int i = 0; i < 4; ++i) {
      const double at = roi[i + 1] * static_cast<double>(state.scale);
      edge[i] = std::isnan(at) ? 0 : static_cast<std::int64_t>(std::round(std::clamp(at, -1e9, 1e9)));
    }
    if (std::isnan(roi[0])) Fail(Code::kInvalidArgument, "expected a batch index for region ", r, ", found NaN");
    const std::int64_t batch = CheckedIndex(static_cast<std::int64_t>(std::clamp(roi[0], -1e9, 1e9)), x.shape[0]);
    const std::int64_t w = std::max<std::int64_t>(1, edge[2] - edge[0] + 1),
                       h = std::max<std::int64_t>(1, edge[3] - edge[1] + 1);
    for (std::int64_t i = 0; i < channels * state.height * state.width; ++i) {
      const std::int64_t channel = i / (state.height * state.width), row = i / state.width % state.height,
                         column = i % state.width;
      const auto [y0, y1] = Bin(edge[1], h, state.height, row, height);
      const auto [x0, x1] = Bin(edge[0], w, state.width, column, width);
      double most = y0 < y1 && x0 < x1 ? -std::numeric_limits<double>::infinity() : 0;
      for (std::int64_t py = y0; py < y1; ++py) {
        for (std::int64_t px = x0; px < x1; ++px) {
          double value;
          kernels::ToDoubles(x.dtype)(x.data, ((batch * channels + channel) * height + py) * width + px, 1, &value);
          most = std::max(most, value);
        }
      }
      kernels::FromDoubles(y.dtype)(&most, 1, y.data, r * channels * state.height * state.width + i);
    }
  }
}

Prepared PrepareRoiPool(PrepareContext& c) { return WithState(RunRoiPool, ReadRoiPool(c)); }

constexpr OpDef kRegionOps[] = {
    {.name = "MaxRoiPool", .since = {1, 22}, .types = kIeeeFloats, .infer = InferRoiPool, .prepare = PrepareRoiPool},
    {.name = "RoiAlign",
     .since = {10, 16, 22},
     .types = kIeeeFloats,
     .infer = InferRoiAlign,
     .prepare = PrepareRoiAlign,
     .upgrade = UpgradeRoiAlign},
};

}  // namespace

std::span<const OpDef> RegionOps() { return kRegionOps; }

}  // namespace sardonyx::ops
