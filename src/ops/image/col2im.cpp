// ops/image/col2im.cpp - Col2Im: images from overlapping blocks.
#include <algorithm>
#include <complex>

#include "kernels/elementwise/binary.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kMaxRank = 16;

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

template <typename T>
void AddTo(T& sum, const T& value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    sum = static_cast<T>(static_cast<float>(sum) + static_cast<float>(value));
  } else {
    sum = static_cast<T>(sum + value);
  }
}

// Columns [begin, end) of a row go to elements column * stride + shift of a row of the image.
struct RowPart {
  RowPart(const ImageAxis& axis, std::int64_t in_block) : shift(in_block * axis.dilation - axis.pad) {
    begin = shift < 0 ? (-shift + axis.stride - 1) / axis.stride : 0;
    const std::int64_t room = axis.image - 1 - shift;
    end = room < 0 ? 0 : std::min(axis.columns, room / axis.stride + 1);
  }
  std::int64_t shift, begin, end;
};

// add: the vector form for the type, or null.
template <typename T>
void AddRow(const T* column, const RowPart& part, std::int64_t stride, kernels::BinaryFn* add, T* row) {
  constexpr std::int64_t kFew = 16;  // a call takes longer
  if (stride == 1 && add != nullptr && part.end - part.begin >= kFew) {
    T* to = row + (part.begin + part.shift);
    add(to, column + part.begin, to, static_cast<std::size_t>(part.end - part.begin));
  } else {
    for (std::int64_t i = part.begin; i < part.end; ++i) AddTo(row[i * stride + part.shift], column[i]);
  }
}

// Adds the columns of one channel of one image: column [blocks, positions] to image [spatial...].
template <typename T>
void AddColumns(const T* column, const ImageAxis* axes, std::size_t rank, kernels::BinaryFn* add, T* image) {
  const ImageAxis only{1, 1, 1, 1, 0, 1};
  const ImageAxis& last = axes[rank - 1];
  const ImageAxis& rows = rank > 1 ? axes[rank - 2] : only;
  const std::size_t outer = rank > 1 ? rank - 2 : 0;
  std::int64_t blocks = last.block * rows.block, planes = 1;
  for (std::size_t d = 0; d < outer; ++d) blocks *= axes[d].block, planes *= axes[d].columns;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const RowPart part(last, b % last.block), of_rows(rows, b / last.block % rows.block);
    for (std::int64_t plane = 0; plane < planes; ++plane, column += rows.columns * last.columns) {
      std::int64_t at = 0, step = rows.image * last.image, in_block = b / last.block / rows.block, place = plane;
      bool inside = true;
      for (std::size_t d = outer; d-- > 0; step *= axes[d].image) {
        const std::int64_t i =
            place % axes[d].columns * axes[d].stride + in_block % axes[d].block * axes[d].dilation - axes[d].pad;
        inside = inside && i >= 0 && i < axes[d].image;
        at += i * step;
        place /= axes[d].columns, in_block /= axes[d].block;
      }
      if (!inside) continue;
      for (std::int64_t r = of_rows.begin; r < of_rows.end; ++r) {
        T* row = image + at + (r * rows.stride + of_rows.shift) * last.image;
        AddRow(column + r * last.columns, part, last.stride, add, row);
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
      Fail(Code::kInvalidArgument, "expected a stride, dilation and block of at least 1 on axis ", d, ", found ",
           stride, ", ", dilation, " and ", block[d]);
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
  const OutputRef y = c.Output(0, shape);
  const std::int64_t plane = ElementCount(image);
  // Bools are summed as true and false, not as bytes.
  kernels::BinaryFn* add = x.dtype == DType::kBool ? nullptr : kernels::Binary(kernels::BinaryKind::kAdd, x.dtype).both;
  VisitSummed(x.dtype, [&]<typename T>() {
    c.parallel().For(shape[0] * shape[1], 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::fill_n(y.As<T>() + i * plane, plane, T());
        AddColumns(x.As<T>() + i * blocks * positions, axes, rank, add, y.As<T>() + i * plane);
      }
    });
  });
}

Prepared PrepareCol2Im(PrepareContext& c) {
  if (!VisitSummed(c.InputDType(0), []<typename T>() {})) c.Unsupported(c.InputText(0), c.InputDType(0));
  return WithState(RunCol2Im, Col2ImState{c.Ints("strides"), c.Ints("pads"), c.Ints("dilations")});
}

constexpr OpDef kCol2ImOps[] = {
    {.name = "Col2Im", .since = {18}, .infer = InferCol2Im, .prepare = PrepareCol2Im},
};

}  // namespace

std::span<const OpDef> Col2ImOps() { return kCol2ImOps; }

}  // namespace sardonyx::ops
