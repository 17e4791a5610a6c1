// ops/nn/conv_many_axes.cpp - convolutions of images with more than three spatial dimensions, through columns.
#include "ops/nn/conv_many_axes.h"

#include <algorithm>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_any.h"
#include "ops/operands.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kX = 0, kW = 1, kB = 2, kZ = 3;
constexpr std::int64_t kColumnElements = std::int64_t{1} << 18;  // that are made at a time

// A grid of pixels, each of which a window lies over in a field: the outputs and the input of a convolution, or the
// inputs and the output of a transposed one.
struct Windows {
  Shape grid, field, kernel, stride, dilation, pad;

  void Append(const Window3& w, bool transposed) {
    constexpr std::size_t kAt = 2;
    grid.Append(transposed ? w.in[kAt] : w.out[kAt]);
    field.Append(transposed ? w.out[kAt] : w.in[kAt]);
    kernel.Append(w.kernel[kAt]);
    stride.Append(w.stride[kAt]);
    dilation.Append(w.dilation[kAt]);
    pad.Append(w.pad_begin[kAt]);
  }

  // Calls f(i, at) for the pixels i of the grid in [begin, end): where element `tap` of the window lies in the field,
  // or -1 outside it.
  template <typename F>
  void ForEach(std::int64_t tap, std::int64_t begin, std::int64_t end, F&& f) const {
    const std::size_t rank = grid.rank();
    Shape pixel = IndexOf(begin, grid), first = IndexOf(tap, kernel);
    for (std::size_t d = 0; d < rank; ++d) first[d] = first[d] * dilation[d] - pad[d];
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t at = 0;
      bool inside = true;
      for (std::size_t d = 0; d < rank; ++d) {
        const std::int64_t place = pixel[d] * stride[d] + first[d];
        inside = inside && place >= 0 && place < field[d];
        at = at * field[d] + (inside ? place : 0);
      }
      f(i, inside ? at : -1);
      for (std::size_t d = rank; d-- > 0 && ++pixel[d] == grid[d];) pixel[d] = 0;
    }
  }

 private:
  static Shape IndexOf(std::int64_t element, const Shape& sizes) {
    Shape index = sizes;
    for (std::size_t d = sizes.rank(); d-- > 0; element /= sizes[d]) index[d] = element % sizes[d];
    return index;
  }
};

// C [m, n] = A B, where A may be stored transposed; with the epilogue, which doubles have only the bias of.
struct Product {
  std::int64_t m = 0, n = 0, k = 0, lda = 0, ldc = 0;
  bool trans_a = false;
  kernels::Epilogue epilogue;  // of floats
};

kernels::GemmF32Args ArgsOf(const Product& p, std::int64_t n, const float* a, const float* b, float* c) {
  kernels::GemmF32Args args;
  args.m = p.m, args.n = n, args.k = p.k;
  args.a = a, args.lda = p.lda, args.trans_a = p.trans_a;
  args.b = b, args.ldb = n;
  args.c = c, args.ldc = p.ldc == 0 ? n : p.ldc;
  args.epilogue = p.epilogue;
  return args;
}

kernels::GemmAnyArgs<double> ArgsOf(const Product& p, std::int64_t n, const double* a, const double* b, double* c) {
  kernels::GemmAnyArgs<double> args;
  args.m = p.m, args.n = n, args.k = p.k;
  args.a = a, args.lda = p.lda, args.trans_a = p.trans_a;
  args.b = b, args.ldb = n;
  args.c = c, args.ldc = p.ldc == 0 ? n : p.ldc;
  return args;
}

std::size_t ScratchBytes(const kernels::GemmF32Args& args, int threads) {
  return kernels::GemmF32ScratchBytes(args, threads);
}
std::size_t ScratchBytes(const kernels::GemmAnyArgs<double>& args, int threads) {
  return kernels::GemmAnyScratchBytes(args, threads);
}
void Multiply(const kernels::GemmF32Args& args, Parallel& parallel, std::byte* scratch) {
  kernels::GemmF32(args, parallel, scratch);
}
void Multiply(const kernels::GemmAnyArgs<double>& args, Parallel& parallel, std::byte* scratch) {
  kernels::GemmAny(args, parallel, scratch);
}

// Runs of up to `chunk` pixels, and the memory for the products of all of them.
template <typename T>
class Chunks {
 public:
  Chunks(Operands& io, const Product& product, std::int64_t rows, std::int64_t pixels, int threads)
      : pixels_(pixels),
        chunk_(std::clamp<std::int64_t>(kColumnElements / std::max<std::int64_t>(rows, 1), 64, 65536)) {
    chunk_ = std::min(chunk_, std::max<std::int64_t>(pixels, 1));
    columns_at_ = io.Add<T>(CheckedMul(static_cast<std::size_t>(rows), static_cast<std::size_t>(chunk_),
                                       "the size of the convolution's columns"));
    for (const std::int64_t n : {chunk_, std::max<std::int64_t>(pixels % chunk_, 1)})
      bytes_ =
          std::max(bytes_, ScratchBytes(ArgsOf(product, n, static_cast<const T*>(nullptr), nullptr, nullptr), threads));
    gemm_at_ = io.Add(bytes_);
  }

  T* columns(const Operands& io) const { return io.At<T>(columns_at_); }
  std::byte* scratch(const Operands& io) const { return bytes_ == 0 ? nullptr : io.At(gemm_at_); }

  template <typename F>
  void ForEach(F&& f) const {
    for (std::int64_t begin = 0; begin < pixels_; begin += chunk_) f(begin, std::min(begin + chunk_, pixels_));
  }

 private:
  std::int64_t pixels_, chunk_;
  std::size_t columns_at_ = 0, gemm_at_ = 0, bytes_ = 0;
};

void CheckBias(const TensorRef& bias, std::int64_t channels) {
  if (bias.present() && bias.count != channels)
    Fail(Code::kInvalidArgument, "expected a bias of ", channels, " values, found ", ToText(bias.shape));
}

// y = bias of each channel, or 0.
template <typename T>
void Fill(T* y, const T* bias, std::int64_t batch, std::int64_t channels, std::int64_t pixels) {
  for (std::int64_t i = 0; i < batch * channels; ++i)
    std::fill_n(y + i * pixels, pixels, bias == nullptr ? T(0) : bias[i % channels]);
}

}  // namespace

Window3 WindowOfAxis(const WindowAttributes& w, std::size_t axis, Dims x, Dims y, Dims kernel) {
  WindowAttributes one;
  one.auto_pad = w.auto_pad;
  one.ceil_mode = w.ceil_mode;
  one.strides = {w.stride(axis)};
  one.dilations = {w.dilation(axis)};
  one.pads = {w.pad_begin(axis), w.pad_end(axis)};
  const std::int64_t from[] = {1, 1, x[2 + axis]}, to[] = {1, 1, y[2 + axis]}, size[] = {kernel[axis]};
  return MakeWindow(one, from, to, size);
}

std::int64_t TransposedPad(const ConvState& state, std::size_t axis, const Window3& w, std::size_t at) {
  const bool same = state.window.auto_pad == AutoPad::kSameUpper || state.window.auto_pad == AutoPad::kSameLower;
  if (!same && !state.has_output_shape) return w.pad_begin[at];
  const std::int64_t more = state.output_padding.empty() ? 0 : state.output_padding[axis];
  std::int64_t total = w.stride[at] * (w.in[at] - 1) + more + (w.kernel[at] - 1) * w.dilation[at] + 1 - w.out[at];
  if (!same) total = std::max<std::int64_t>(0, total);
  const std::int64_t half = (total - (total & 1)) / 2;
  return state.window.auto_pad == AutoPad::kSameUpper ? half : total - half;
}

template <typename T>
void RunConvOfManyAxes(KernelContext& c) {
  const auto& state = c.state<ConvState>();
  const Dims x = c.Input(kX).shape, w = c.Input(kW).shape, y = c.Output(0).shape;
  CheckConvShapes(state.window, state.group, x, w, false, kMostConvAxes);
  if (c.HasInput(kB)) CheckBias(c.Input(kB), w[0]);
  if (c.HasInput(kZ) && !Shape::Equal(c.Input(kZ).shape, y))
    Fail(Code::kInvalidArgument, "expected an input Z of the shape of the result, ", ToText(y), ", found ",
         ToText(c.Input(kZ).shape));
  Windows windows;
  for (std::size_t i = 0; i + 2 < x.size(); ++i)
    windows.Append(WindowOfAxis(state.window, i, x, y, w.subspan(2)), false);
  const std::int64_t taps = ElementCount(w, 2, w.size()), in_pixels = ElementCount(x, 2, x.size()),
                     pixels = ElementCount(y, 2, y.size());
  Product product{.m = w[0] / state.group, .n = pixels, .k = w[1] * taps, .lda = w[1] * taps, .ldc = pixels};
  product.epilogue.activation = state.activation;
  product.epilogue.residual_stride = pixels;
  Operands io(c, kDTypeOf<T>);
  // Whether there is a residual counts for the size of the scratch memory.
  static const float kGiven = 0;
  if (c.HasInput(kZ)) product.epilogue.residual = &kGiven;
  if (c.HasInput(kB)) product.epilogue.bias_m = &kGiven;
  const Chunks<T> chunks(io, product, product.k, pixels, c.parallel().ThreadCount());
  const Operands::Computing computing(io);
  T* columns = chunks.columns(io);
  const T* bias = io.In<T>(kB);
  if constexpr (std::is_same_v<T, double>) Fill(io.Out<T>(0), bias, y[0], y[1], pixels);
  for (std::int64_t i = 0; i < x[0] * state.group; ++i) {
    const std::int64_t group = i % state.group;
    const T* planes = io.In<T>(kX) + i * w[1] * in_pixels;
    const T* weights = io.In<T>(kW) + group * product.m * product.k;
    chunks.ForEach([&](std::int64_t begin, std::int64_t end) {
      const std::int64_t n = end - begin;
      c.parallel().For(product.k, 1, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
          const T* plane = planes + row / taps * in_pixels;
          T* to = columns + row * n - begin;
          windows.ForEach(row % taps, begin, end,
                          [&](std::int64_t at, std::int64_t from) { to[at] = from < 0 ? T(0) : plane[from]; });
        }
      });
      const std::int64_t offset = i * product.m * pixels + begin;
      auto args = ArgsOf(product, n, weights, columns, io.Out<T>(0) + offset);
      if constexpr (std::is_same_v<T, double>) {
        args.c0 = args.c, args.c0_row_stride = pixels, args.c0_column_stride = 1, args.beta = 1;
      } else {
        args.epilogue.bias_m = bias == nullptr ? nullptr : bias + group * product.m;
        args.epilogue.residual = c.HasInput(kZ) ? io.In<T>(kZ) + offset : nullptr;
      }
      Multiply(args, c.parallel(), chunks.scratch(io));
    });
  }
}

template <typename T>
void RunTransposeOfManyAxes(KernelContext& c, std::size_t bias, std::uint32_t skipped) {
  const auto& state = c.state<ConvState>();
  const Dims x = c.Input(kX).shape, w = c.Input(kW).shape, y = c.Output(0).shape;
  CheckConvShapes(state.window, state.group, x, w, true, kMostConvAxes);
  if (c.HasInput(bias)) CheckBias(c.Input(bias), w[1] * state.group);
  WindowAttributes attributes = state.window;
  attributes.auto_pad = AutoPad::kNotSet;
  Windows windows;
  for (std::size_t i = 0; i + 2 < x.size(); ++i) {
    Window3 axis = WindowOfAxis(attributes, i, x, y, w.subspan(2));
    axis.pad_begin[2] = TransposedPad(state, i, axis, 2);
    windows.Append(axis, true);
  }
  const std::int64_t taps = ElementCount(w, 2, w.size()), pixels = ElementCount(x, 2, x.size()),
                     out_pixels = ElementCount(y, 2, y.size());
  const Product product{.m = w[1] * taps, .n = pixels, .k = w[0] / state.group, .lda = w[1] * taps, .trans_a = true};
  Operands io(c, kDTypeOf<T>, skipped);
  const Chunks<T> chunks(io, product, product.m, pixels, c.parallel().ThreadCount());
  const Operands::Computing computing(io);
  T* columns = chunks.columns(io);
  Fill(io.Out<T>(0), io.In<T>(bias), y[0], y[1], out_pixels);
  // The image of a group lies in rows of `pixels`, of which a chunk takes a part: B has rows of that length.
  for (std::int64_t i = 0; i < x[0] * state.group; ++i) {
    const T* planes = io.In<T>(kX) + i * product.k * pixels;
    const T* weights = io.In<T>(kW) + i % state.group * product.k * product.m;
    T* out = io.Out<T>(0) + i * w[1] * out_pixels;
    chunks.ForEach([&](std::int64_t begin, std::int64_t end) {
      const std::int64_t n = end - begin;
      auto args = ArgsOf(product, n, weights, planes + begin, columns);
      args.ldb = pixels;
      Multiply(args, c.parallel(), chunks.scratch(io));
      c.parallel().For(w[1], 1, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first * taps; row < last * taps; ++row) {
          T* plane = out + row / taps * out_pixels;
          const T* from = columns + row * n - begin;
          windows.ForEach(row % taps, begin, end, [&](std::int64_t at, std::int64_t to) {
            if (to >= 0) plane[to] += from[at];
          });
        }
      });
    });
  }
}

template void RunConvOfManyAxes<float>(KernelContext&);
template void RunConvOfManyAxes<double>(KernelContext&);
template void RunTransposeOfManyAxes<float>(KernelContext&, std::size_t, std::uint32_t);
template void RunTransposeOfManyAxes<double>(KernelContext&, std::size_t, std::uint32_t);

}  // namespace sardonyx::ops
