// ops/blocks.cpp - Col2Im and CenterCropPad: images from overlapping blocks, and images cut or padded around their
// centre.
#include <algorithm>
#include <complex>

#include "kernels/copy/strided_copy.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kMaxRank = 16;

// ---- Col2Im

struct Col2ImState {
  std::vector<std::int64_t> strides, pads, dilations;
};

void InferCol2Im(InferContext& c) {
  const auto image = c.ShapeData(1), block = c.ShapeData(2);
  if (!image) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = {Dim(), Dim()};
  if (c.HasRank(0) && c.Rank(0) == 3) {
    dims[0] = c.InputDims(0)[0];
    Dim size(1);
    for (std::size_t i = 0; block && i < block->size(); ++i) size = size * (*block)[i];
    dims[1] = block ? FloorDiv(c.InputDims(0)[1], size) : Dim();
  }
  dims.insert(dims.end(), image->begin(), image->end());
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

struct ImageAxis {
  std::int64_t image, block, columns, stride, pad, dilation;
};

// Adds the columns of one channel of one image: column [blocks, positions] to image [spatial...].
template <typename T>
void AddColumns(const T* column, const ImageAxis* axes, std::size_t rank, T* image) {
  std::int64_t blocks = 1, positions = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    blocks *= axes[d].block;
    positions *= axes[d].columns;
  }
  for (std::int64_t b = 0; b < blocks; ++b) {
    for (std::int64_t p = 0; p < positions; ++p) {
      std::int64_t at = 0, step = 1, in_block = b, position = p;
      bool inside = true;
      for (std::size_t d = rank; d-- > 0;) {
        const ImageAxis& a = axes[d];
        const std::int64_t i = position % a.columns * a.stride - a.pad + in_block % a.block * a.dilation;
        in_block /= a.block;
        position /= a.columns;
        inside = inside && i >= 0 && i < a.image;
        at += i * step;
        step *= a.image;
      }
      if (!inside) continue;
      const T value = column[b * positions + p];
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        image[at] = static_cast<T>(static_cast<float>(image[at]) + static_cast<float>(value));
      } else {
        image[at] = static_cast<T>(image[at] + value);
      }
    }
  }
}

template <typename F>
bool VisitSummed(DType dtype, F&& f) {
  return VisitDType<float, double, Half, BFloat16, bool, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t,
                    std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::complex<float>, std::complex<double>>(
      dtype, f);
}

constexpr std::int64_t kMostAlongAxis = std::int64_t{1} << 31;  // products of two stay in range

void RunCol2Im(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const Shape image = IntsOf(c.Input(1)), block = IntsOf(c.Input(2));
  const Col2ImState& state = c.state<Col2ImState>();
  const std::size_t rank = image.size();
  const auto fits = [&](const std::vector<std::int64_t>& values, std::size_t n) {
    return values.empty() || values.size() == n;
  };
  if (x.rank() != 3 || rank < 1 || rank > kMaxRank || block.size() != rank || !fits(state.strides, rank) ||
      !fits(state.pads, 2 * rank) || !fits(state.dilations, rank)) {
    Fail(Code::kInvalidArgument, "expected input [N, C * block, positions] and one number per axis of the image ",
         ToText(image), ", found input ", ToText(x.shape), " and block ", ToText(block));
  }
  ImageAxis axes[kMaxRank];
  Shape shape{x.shape[0], 0};
  Shape columns;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t stride = state.strides.empty() ? 1 : state.strides[d],
                       dilation = state.dilations.empty() ? 1 : state.dilations[d];
    const std::int64_t begin = state.pads.empty() ? 0 : state.pads[d],
                       end = state.pads.empty() ? 0 : state.pads[rank + d];
    if (stride < 1 || dilation < 1 || block[d] < 1)
      Fail(Code::kInvalidArgument, "expected positive strides, dilations and blocks");
    for (const std::int64_t number : {image[d], block[d], stride, dilation, begin, end}) {
      if (number > kMostAlongAxis || number < -kMostAlongAxis) {
        Fail(Code::kInvalidArgument, "expected image, block, stride, dilation and pads of axis ", d, " up to ",
             kMostAlongAxis, ", found ", number);
      }
    }
    const std::int64_t room = image[d] + begin + end - dilation * (block[d] - 1) - 1;
    axes[d] = {image[d], block[d], room < 0 ? 0 : room / stride + 1, stride, begin, dilation};
    columns.Append(axes[d].columns);
    shape.Append(image[d]);
  }
  const std::int64_t blocks = ElementCount(block), positions = ElementCount(columns);
  if (x.shape[1] % blocks != 0 || x.shape[2] != positions) {
    Fail(Code::kInvalidArgument, "expected an input [N, multiple of ", blocks, ", ", positions, "], found ",
         ToText(x.shape));
  }
  shape[1] = x.shape[1] / blocks;
  const TensorRef& y = c.Output(0, shape);
  const std::int64_t plane = ElementCount(image);
  VisitSummed(x.dtype, [&]<typename T>() {
    c.parallel().For(shape[0] * shape[1], 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::fill_n(y.As<T>() + i * plane, plane, T());
        AddColumns(x.As<T>() + i * blocks * positions, axes, rank, y.As<T>() + i * plane);
      }
    });
  });
}

Prepared PrepareCol2Im(PrepareContext& c) {
  if (!VisitSummed(c.InputDType(0), []<typename T>() {})) c.Unsupported("input of", c.InputDType(0));
  return WithState(RunCol2Im, Col2ImState{c.Ints("strides"), c.Ints("pads"), c.Ints("dilations")});
}

// ---- CenterCropPad

struct CenterState {
  std::vector<std::int64_t> axes;  // empty: all
};

void InferCenter(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = c.InputDims(0);
  const std::vector<std::int64_t> axes = c.Ints("axes");
  const auto target = c.ShapeData(1);
  const std::size_t count = axes.empty() ? dims.size() : axes.size();
  if (target && target->size() != count) {
    c.Fail(Code::kInvalidArgument, "expected ", count, " sizes, found ", target->size());
  }
  for (std::size_t i = 0; i < count; ++i)
    dims[axes.empty() ? i : AxisOf(c, axes[i], dims.size())] = target ? (*target)[i] : Dim();
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

void RunCenter(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const std::vector<std::int64_t>& axes = c.state<CenterState>().axes;
  const Shape target = IntsOf(c.Input(1));
  if (target.size() != (axes.empty() ? x.rank() : axes.size())) {
    Fail(Code::kInvalidArgument, "expected ", axes.empty() ? x.rank() : axes.size(), " sizes, found ", ToText(target));
  }
  Shape shape(x.shape);
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] < 0) Fail(Code::kInvalidArgument, "expected sizes of at least 0, found ", ToText(target));
    shape[axes.empty() ? i : NormalizeAxis(axes[i], x.rank())] = target[i];
  }
  const TensorRef& y = c.Output(0, shape);
  if (y.count == 0) return;
  const std::uint64_t zero[2] = {};
  const std::string empty;
  kernels::FillElements(x.dtype, IsString(x.dtype) ? static_cast<const void*>(&empty) : zero, 0, y.data, 0, y.count);
  kernels::StridedLoops loops;
  std::int64_t from = 1, to = 1, from_offset = 0, to_offset = 0;
  if (x.rank() > kMaxRank) Fail(Code::kNotImplemented, "rank ", x.rank(), " is beyond ", kMaxRank);
  std::int64_t from_stride[kMaxRank], to_stride[kMaxRank];
  for (std::size_t d = x.rank(); d-- > 0;) {
    from_stride[d] = from;
    to_stride[d] = to;
    const std::int64_t extra = x.shape[d] - shape[d];
    if (extra > 0) from_offset += extra / 2 * from;
    if (extra < 0) to_offset += -extra / 2 * to;
    from *= x.shape[d];
    to *= shape[d];
  }
  for (std::size_t d = 0; d < x.rank(); ++d) loops.Add(std::min(x.shape[d], shape[d]), from_stride[d], to_stride[d]);
  kernels::StridedCopy(x.dtype, loops, x.data, from_offset, y.data, to_offset, c.parallel());
}

Prepared PrepareCenter(PrepareContext& c) { return WithState(RunCenter, CenterState{c.Ints("axes")}); }

constexpr OpDef kBlocksOps[] = {
    {.name = "CenterCropPad", .since = {18}, .types = kAllTypes, .infer = InferCenter, .prepare = PrepareCenter},
    {.name = "Col2Im", .since = {18}, .infer = InferCol2Im, .prepare = PrepareCol2Im},
};

}  // namespace

std::span<const OpDef> BlocksOps() { return kBlocksOps; }

}  // namespace sardonyx::ops
