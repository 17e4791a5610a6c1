// ops/image/crop.cpp - com.microsoft.CropAndResize; and Crop and ImageScaler, experiments of the standard domain that
// opset 10 withdrew.
#include <algorithm>
#include <cmath>

#include "kernels/copy/strided_copy.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr DTypeSet kImageTypes = {DType::kFloat, DType::kDouble, DType::kFloat16};

void CheckImages(const InferContext& c) {
  if (c.HasRank(0) && c.Rank(0) != 4)
    c.Fail(Code::kInvalidArgument, c.InputText(0), ": expected images [N, C, H, W], found ", c.InputType(0).ToText());
}

// ---- Crop

struct CropState {
  std::vector<std::int64_t> border;  // left, top, right, bottom
  std::vector<std::int64_t> size;    // height, width; empty: what the borders leave
};

CropState ReadCrop(const AttributeReader& c) {
  CropState state = {c.Ints("border"), c.Ints("scale")};
  if (state.border.size() != 4)
    c.Fail(Code::kInvalidArgument, "attribute 'border': expected 4 values, found ", state.border.size());
  if (!state.size.empty() && state.size.size() != 2)
    c.Fail(Code::kInvalidArgument, "attribute 'scale': expected 2 values, found ", state.size.size());
  constexpr std::int64_t kMost = std::int64_t{1} << 48;
  for (const auto* values : {&state.border, &state.size})
    for (const std::int64_t value : *values) {
      if (value < 0 || value > kMost) {
        c.Fail(Code::kInvalidArgument, "attributes 'border' and 'scale': expected values in [0, 2^48], found ", value);
      }
    }
  return state;
}

// Along the height (0) or the width (1).
std::int64_t CropSize(const CropState& state, std::size_t axis, std::int64_t length) {
  const std::int64_t before = state.border[axis == 0 ? 1 : 0], after = state.border[axis == 0 ? 3 : 2];
  const std::int64_t size = state.size.empty() ? length - before - after : state.size[axis];
  if (size < 0 || before + size > length) {
    Fail(Code::kInvalidArgument, "expected ", axis == 0 ? "a height" : "a width", " of at least ",
         before + (state.size.empty() ? after : size), ", found ", length);
  }
  return size;
}

void InferCrop(InferContext& c) {
  const CropState state = ReadCrop(c);
  CheckImages(c);
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = c.InputDims(0);
  for (std::size_t i = 0; i < 2; ++i) {
    Dim& dim = dims[2 + i];
    if (dim.known())
      dim = Dim(CropSize(state, i, dim.number()));
    else
      dim = state.size.empty() ? Dim() : Dim(state.size[i]);
  }
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

void RunCrop(KernelContext& c) {
  const CropState& state = c.state<CropState>();
  const TensorRef& x = c.Input(0);
  const std::int64_t height = x.dim(2), width = x.dim(3);
  const std::int64_t shape[] = {x.dim(0), x.dim(1), CropSize(state, 0, height), CropSize(state, 1, width)};
  const OutputRef y = c.Output(0, shape);
  if (y.count == 0) return;
  kernels::StridedLoops loops;
  loops.Add(shape[0] * shape[1], height * width, shape[2] * shape[3]);
  loops.Add(shape[2], width, shape[3]);
  loops.Add(shape[3], 1, 1);
  kernels::StridedCopy(x.dtype, loops, x.data, state.border[1] * width + state.border[0], y.data, 0, c.parallel());
}

Prepared PrepareCrop(PrepareContext& c) { return WithState(RunCrop, ReadCrop(c)); }

// ---- ImageScaler: y = scale * x + bias[channel]

struct ScalerState {
  float scale = 1;
  std::vector<float> bias;
};

void InferScaler(InferContext& c) {
  CheckImages(c);
  const std::size_t biases = c.FloatsView("bias").size();
  if (c.HasRank(0) && c.InputDims(0)[1].known() && c.InputDims(0)[1].number() != static_cast<std::int64_t>(biases)) {
    c.Fail(Code::kInvalidArgument, "attribute 'bias': expected ", c.InputDims(0)[1].number(),
           " values, one for each channel, found ", biases);
  }
  c.SetOutputType(0, c.InputType(0));
}

template <typename T>
void RunScaler(KernelContext& c) {
  const ScalerState& state = c.state<ScalerState>();
  const Dims dims = c.Input(0).shape;
  if (dims[1] != static_cast<std::int64_t>(state.bias.size())) {
    Fail(Code::kInvalidArgument, "attribute 'bias': expected ", dims[1], " values, one for each channel, found ",
         state.bias.size());
  }
  const T scale = state.scale;
  const std::int64_t pixels = dims[2] * dims[3];
  Operands io(c, kDTypeOf<T>);
  const Operands::Computing computing(io);
  c.parallel().For(dims[0] * dims[1], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const T bias = state.bias[static_cast<std::size_t>(plane % dims[1])];
      const T* x = io.In<T>(0) + plane * pixels;
      T* y = io.Out<T>(0) + plane * pixels;
      for (std::int64_t i = 0; i < pixels; ++i) y[i] = x[i] * scale + bias;
    }
  });
}

Prepared PrepareScaler(PrepareContext& c) {
  if (!c.Has("bias")) c.Fail(Code::kInvalidGraph, "attribute 'bias' is required and missing");
  ScalerState state = {c.Float("scale", 1), c.Floats("bias")};
  return WithState(c.InputDType(0) == DType::kDouble ? RunScaler<double> : RunScaler<float>, std::move(state));
}

// ---- CropAndResize: images, boxes [y1, x1, y2, x2] in parts of the image, the image of each box, crop height and
// width

struct CropResizeState {
  bool nearest = false;
  float outside = 0;
};

void InferCropAndResize(InferContext& c) {
  CheckImages(c);
  if (c.HasRank(1) && (c.Rank(1) != 2 || (c.InputDims(1)[1].known() && c.InputDims(1)[1].number() != 4)))
    c.Fail(Code::kInvalidArgument, c.InputText(1), ": expected boxes [N, 4], found ", c.InputType(1).ToText());
  if (c.HasRank(2) && c.Rank(2) != 1)
    c.Fail(Code::kInvalidArgument, c.InputText(2), ": expected a vector, found ", c.InputType(2).ToText());
  Dim height, width;
  if (const auto size = c.ConstantInts(3)) {
    if (size->size() != 2 || (*size)[0] < 1 || (*size)[1] < 1)
      c.Fail(Code::kInvalidArgument, c.InputText(3), ": expected a height and a width of at least 1, found ",
             ToText(Dims(*size)));
    height = Dim((*size)[0]), width = Dim((*size)[1]);
  }
  const Dim boxes = c.HasRank(1) ? c.InputDims(1)[0] : c.HasRank(2) ? c.InputDims(2)[0] : Dim();
  c.SetOutput(0, c.InputDType(0), {boxes, c.HasRank(0) ? c.InputDims(0)[1] : Dim(), height, width});
}

// Where sample `i` of `count` between the parts `low` and `high` of `size` pixels lies; the last one is exact.
template <typename T>
T SampleAt(T low, T high, std::int64_t i, std::int64_t count, std::int64_t size) {
  const T last = static_cast<T>(size - 1);
  if (count == 1) return static_cast<T>(0.5) * (low + high) * last;
  if (i == count - 1) return high * last;
  return low * last + static_cast<T>(i) * ((high - low) * last / static_cast<T>(count - 1));
}

// One sample along an axis: between two pixels, or nowhere.
template <typename T>
struct AxisSample {
  std::int64_t low = 0, high = 0, nearest = 0;
  T part = 0;
  bool inside = false;
  AxisSample(T at, std::int64_t size) {
    if (!(at >= 0 && at <= static_cast<T>(size - 1))) return;  // NaN is nowhere
    inside = true;
    low = static_cast<std::int64_t>(std::floor(at)), high = static_cast<std::int64_t>(std::ceil(at));
    nearest = static_cast<std::int64_t>(std::round(at));
    part = at - static_cast<T>(low);
  }
};

template <typename T>
void CropBox(const CropResizeState& state, const T* box, const T* image, Dims x, Dims crop, T* y) {
  const std::int64_t channels = x[1], height = x[2], width = x[3], rows = crop[2], columns = crop[3];
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const AxisSample<T> v(SampleAt(box[0], box[2], i / columns, rows, height), height);
    const AxisSample<T> h(SampleAt(box[1], box[3], i % columns, columns, width), width);
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      const T* plane = image + channel * height * width;
      T& to = y[channel * rows * columns + i];
      if (!v.inside || !h.inside) {
        to = state.outside;
      } else if (state.nearest) {
        to = plane[v.nearest * width + h.nearest];
      } else {
        const T *above = plane + v.low * width, *below = plane + v.high * width;
        const T top = above[h.low] + (above[h.high] - above[h.low]) * h.part;
        const T bottom = below[h.low] + (below[h.high] - below[h.low]) * h.part;
        to = top + (bottom - top) * v.part;
      }
    }
  }
}

template <typename T>
void RunCropAndResize(KernelContext& c) {
  const TensorRef &x = c.Input(0), &boxes = c.Input(1), &images = c.Input(2), &size = c.Input(3);
  if (size.count != 2) {
    Fail(Code::kInvalidArgument, "input 3 ('crop_size'): expected a height and a width, found shape ",
         ToText(size.shape));
  }
  const std::int64_t shape[] = {boxes.dim(0), x.dim(1), IntAt(size, 0), IntAt(size, 1)};
  if (shape[2] < 1 || shape[3] < 1) {
    Fail(Code::kInvalidArgument, "input 3 ('crop_size'): expected a height and a width of at least 1, found ", shape[2],
         " and ", shape[3]);
  }
  if (boxes.dim(1) != 4 || images.count != boxes.dim(0)) {
    Fail(Code::kInvalidArgument, "expected boxes [N, 4] and N indices of images, found ", ToText(boxes.shape), " and ",
         ToText(images.shape));
  }
  for (const std::int32_t image : images.Span<std::int32_t>()) {
    if (image < 0 || image >= x.dim(0)) {
      Fail(Code::kInvalidArgument, "input 2 ('batch_indices'): expected indices in [0, ", x.dim(0) - 1, "], found ",
           image);
    }
  }
  const OutputRef y = c.Output(0, shape);
  if (y.count == 0) return;
  Operands io(c, kDTypeOf<T>, (1u << 2) | (1u << 3));
  const Operands::Computing computing(io);
  const std::int64_t each = y.count / shape[0], image_size = x.dim(1) * x.dim(2) * x.dim(3);
  c.parallel().For(shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      CropBox(c.state<CropResizeState>(), io.In<T>(1) + 4 * i, io.In<T>(0) + images.As<std::int32_t>()[i] * image_size,
              x.shape, shape, io.Out<T>(0) + i * each);
    }
  });
}

Prepared PrepareCropAndResize(PrepareContext& c) {
  const std::string mode = c.String("mode", "bilinear");
  if (mode != "bilinear" && mode != "nearest")
    c.Fail(Code::kInvalidArgument, "attribute 'mode': expected bilinear or nearest, found '", mode, "'");
  const CropResizeState state = {mode == "nearest", c.Float("extrapolation_value", 0)};
  return WithState(c.InputDType(0) == DType::kDouble ? RunCropAndResize<double> : RunCropAndResize<float>, state);
}

constexpr OpDef kCropOps[] = {
    {.name = "Crop", .since = {1}, .types = kImageTypes, .infer = InferCrop, .prepare = PrepareCrop},
    {.domain = "com.microsoft",
     .name = "CropAndResize",
     .since = {1},
     .types = kImageTypes,
     .infer = InferCropAndResize,
     .prepare = PrepareCropAndResize},
    {.name = "ImageScaler", .since = {1}, .types = kImageTypes, .infer = InferScaler, .prepare = PrepareScaler},
};

}  // namespace

std::span<const OpDef> CropOps() { return kCropOps; }

}  // namespace sardonyx::ops
