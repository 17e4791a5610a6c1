// ops/nn/conv_transpose.cpp - ConvTranspose, channels first and last: f32 on the convolution kernels, f16 and bf16
// through f32, f64 through col2im.
#include <algorithm>

#include "kernels/conv/conv_transpose_columns.h"
#include "kernels/gemm/gemm_any.h"
#include "ops/cost_context.h"
#include "ops/nn/conv_many_axes.h"
#include "ops/nn/im2col.h"
#include "ops/operands.h"
#include "ops/registry.h"
#include "ops/shapes/conv_attributes.h"
#include "ops/shapes/layout_images.h"
#include "tensor/packing.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kX = 0, kW = 1;
// com.microsoft ConvTransposeWithDynamicPads has the pads as an input before the bias.
constexpr std::size_t kBias = 2, kPads = 2, kBiasAfterPads = 3;

std::vector<std::int64_t> ReadOutputShape(const AttributeReader& c, std::size_t rank) {
  std::vector<std::int64_t> shape = c.Ints("output_shape");
  if (shape.size() == rank && rank > 2)
    shape.erase(shape.begin(), shape.begin() + 2);  // some exporters give N and C, too
  if (!shape.empty() && shape.size() + 2 != rank) {
    c.Fail(Code::kInvalidArgument, "attribute 'output_shape': expected ", rank - 2, " values, found ",
           ToText(Dims(shape)));
  }
  return shape;
}

ConvState ReadTranspose(const AttributeReader& c, const Type& x, const Type& w) {
  ConvState state = ReadConv(c, x, w, kMostConvAxes);
  state.output_padding = c.Ints("output_padding");
  state.has_output_shape = !c.Ints("output_shape").empty();
  CheckAtLeast(c, "output_padding", state.output_padding, 0);
  if (x.has_rank && !state.output_padding.empty() && state.output_padding.size() + 2 != x.rank()) {
    c.Fail(Code::kInvalidArgument, "attribute 'output_padding': expected ", x.rank() - 2, " values, found ",
           ToText(Dims(state.output_padding)));
  }
  return state;
}

void InferTranspose(InferContext& c) {
  const Type x = ToChannelsFirst(c.InputType(kX), ImageLayouts::Of(c).input_last), &w = c.InputType(kW);
  const ConvState state = ReadTranspose(c, x, w);
  if (!c.HasRank(kX)) return c.SetOutput(0, c.InputDType(kX));
  std::vector<Dim> dims(x.rank());
  dims[0] = x.dims[0];
  if (w.has_rank) {
    dims[1] = w.dims[1] * Dim(state.group);
    if (x.dims[1].known() && w.dims[0].known() && x.dims[1].number() != w.dims[0].number()) {
      c.Fail(Code::kInvalidArgument, "expected ", w.dims[0].number(), " input channels (weights ", w.ToText(),
             "), found ", x.ToText());
    }
  }
  const std::vector<std::int64_t> output_shape = ReadOutputShape(c, x.rank());
  const WindowAttributes& window = state.window;
  for (std::size_t i = 0; i + 2 < x.rank(); ++i) {
    Dim kernel = w.has_rank ? w.dims[2 + i] : Dim();
    if (!window.kernel.empty()) kernel = Dim(window.kernel[i]);
    const Dim stride(window.stride(i)), &in = x.dims[2 + i];
    if (!output_shape.empty()) {
      dims[2 + i] = Dim(output_shape[i]);
    } else if (window.auto_pad == AutoPad::kSameUpper || window.auto_pad == AutoPad::kSameLower) {
      dims[2 + i] = in * stride;
    } else {
      const Dim more(state.output_padding.empty() ? 0 : state.output_padding[i]);
      dims[2 + i] = stride * (in - Dim(1)) + more + (kernel - Dim(1)) * Dim(window.dilation(i)) + Dim(1) -
                    Dim(window.pad_begin(i)) - Dim(window.pad_end(i));
    }
    if (dims[2 + i].known() && dims[2 + i].number() < 0) {
      c.Fail(Code::kInvalidArgument, "expected an output size of at least 0 on spatial axis ", i, ", found ",
             dims[2 + i].number());
    }
  }
  c.SetOutput(0, c.InputDType(kX), FromChannelsFirst(std::move(dims), state.layouts.output_last));
}

// Where output_shape or SAME decides, the pads are what is left over. With SAME, a kernel below the stride leaves less
// than nothing: negative pads, which are zeros around the output, split by the formula of the standard (rounded down).
Window3 MakeTransposedWindow(const ConvState& state, Dims x, Dims y, Dims kernel) {
  WindowAttributes attributes = state.window;
  attributes.auto_pad = AutoPad::kNotSet;
  Window3 w = MakeWindow(attributes, x, y, kernel);
  const std::size_t rank = x.size() - 2;
  for (std::size_t i = 0; i < rank; ++i) w.pad_begin[3 - rank + i] = TransposedPad(state, i, w, 3 - rank + i);
  return w;
}

struct Sizes {
  Window3 window;
  kernels::ConvShape shape;
};

Sizes MakeSizes(KernelContext& c, const ConvState& state, std::size_t bias) {
  const Shape x = ToChannelsFirst(c.Input(kX).shape, state.layouts.input_last);
  const Shape y = ToChannelsFirst(c.Output(0).shape, state.layouts.output_last);
  const Dims w = state.packed.defined() ? Dims(state.weights) : c.Input(kW).shape;
  CheckConvShapes(state.window, state.group, x, w, true);
  if (c.HasInput(bias) && c.Input(bias).count != w[1] * state.group) {
    Fail(Code::kInvalidArgument, "expected a bias of ", w[1] * state.group, " values, found ",
         ToText(c.Input(bias).shape));
  }
  const Window3 window = MakeTransposedWindow(state, x, y, w.subspan(2));
  return {window, MakeConvShape(window, x[0], x[1], w[1] * state.group, state, true)};
}

bool HasManyAxes(const KernelContext& c) {
  const auto& state = c.state<ConvState>();
  return !state.packed.defined() && c.Input(kX).rank() > kMostKernelAxes + 2 && !state.layouts.input_last;
}

template <std::size_t kB>
constexpr std::uint32_t kNoOperands = kB == kBiasAfterPads ? 1u << kPads : 0;

template <std::size_t kB>
void RunFloat(KernelContext& c) {
  if (HasManyAxes(c)) return RunTransposeOfManyAxes<float>(c, kB, kNoOperands<kB>);
  const auto& state = c.state<ConvState>();
  const Sizes sizes = MakeSizes(c, state, kB);
  const bool empty = c.Input(kX).count == 0 || c.Output(0).count == 0;
  const bool columns = kernels::ColumnsSuitConvTranspose(sizes.shape);
  Operands io(c, DType::kFloat, (state.packed.defined() ? 1u << kW : 0) | kNoOperands<kB>);
  const int threads = c.parallel().ThreadCount();
  const std::size_t scratch_bytes = empty     ? 0
                                    : columns ? kernels::ConvTransposeColumnsScratchBytes(sizes.shape, threads)
                                              : kernels::ConvTransposeF32ScratchBytes(sizes.shape, threads);
  const std::size_t scratch = io.Add(scratch_bytes);
  const std::size_t packed =
      io.Add<float>(state.packed.defined() || columns || empty ? 0 : kernels::ConvTransposeF32PackedCount(sizes.shape));
  const Operands::Computing computing(io);
  if (c.Output(0).count == 0) return;
  if (empty) {
    const bool last = state.layouts.output_last;
    FillWithBias(io.In<float>(kB), ToChannelsFirst(c.Output(0).shape, last), last, io.Out<float>(0));
    return;
  }
  std::byte* const memory = scratch_bytes == 0 ? nullptr : io.At(scratch);
  if (columns) {
    const float* weights = state.packed.defined() ? state.packed.data<float>() : io.In<float>(kW);
    return kernels::ConvTransposeColumnsF32(sizes.shape, io.In<float>(kX), weights, io.In<float>(kB), io.Out<float>(0),
                                            c.parallel(), memory);
  }
  kernels::ConvF32Args args;
  args.shape = sizes.shape;
  args.x = io.In<float>(kX);
  args.packed_weights = state.packed.defined() ? state.packed.data<float>() : io.At<float>(packed);
  if (!state.packed.defined()) {
    kernels::PackConvTransposeF32Weights(sizes.shape, io.In<float>(kW), io.At<float>(packed), c.parallel());
  }
  args.y = io.Out<float>(0);
  args.epilogue.bias_n = io.In<float>(kB);
  kernels::ConvTransposeF32(args, c.parallel(), memory);
}

template <std::size_t kB>
void RunDouble(KernelContext& c) {
  if (HasManyAxes(c)) return RunTransposeOfManyAxes<double>(c, kB, kNoOperands<kB>);
  const auto& state = c.state<ConvState>();
  const auto [window, shape] = MakeSizes(c, state, kB);
  const std::int64_t taps = window.kernel[0] * window.kernel[1] * window.kernel[2];
  const std::int64_t pixels = window.in[0] * window.in[1] * window.in[2];
  const std::int64_t out_pixels = window.out[0] * window.out[1] * window.out[2];
  const std::int64_t group_in = shape.in_channels / shape.groups, group_out = shape.out_channels / shape.groups;
  if (c.Output(0).count == 0) return;
  double* y = c.Output(0).As<double>();
  FillWithBias<double>(c.HasInput(kB) ? c.Input(kB).As<double>() : nullptr, c.Output(0).shape, false, y);
  if (c.Input(kX).count == 0) return;
  kernels::GemmAnyArgs<double> args;
  args.m = group_out * taps, args.n = pixels, args.k = group_in;
  args.lda = args.m, args.trans_a = true, args.ldb = pixels, args.ldc = pixels;
  ScratchLayout layout;
  const std::size_t cols_at = layout.Add<double>(CheckedMul(
      static_cast<std::size_t>(args.m), static_cast<std::size_t>(pixels), "the size of the convolution's columns"));
  const std::size_t gemm_bytes = kernels::GemmAnyScratchBytes(args, c.parallel().ThreadCount());
  const std::size_t gemm_at = layout.Add(gemm_bytes);
  std::byte* block = c.Scratch(layout.bytes());
  double* cols = static_cast<double*>(static_cast<void*>(block + cols_at));
  for (std::int64_t i = 0; i < shape.batch * shape.groups; ++i) {
    args.a = c.Input(kW).As<double>() + i % shape.groups * group_in * args.m;
    args.b = c.Input(kX).As<double>() + i * group_in * pixels;
    args.c = cols;
    kernels::GemmAny(args, c.parallel(), gemm_bytes == 0 ? nullptr : block + gemm_at);
    Col2Im(window, cols, group_out, y + i * group_out * out_pixels, c.parallel());
  }
}

void PackWeights(PrepareContext& c, ConvState& state) {
  const Tensor* w = c.Constant(kW);
  if (w == nullptr || w->count() == 0 || w->shape().rank() < 3 || w->shape().rank() > 5) return;
  const auto& dims = w->shape();
  if (dims[0] % state.group != 0) {
    c.Fail(Code::kInvalidArgument, "expected input channels divisible by group ", state.group, ", found weights ",
           ToText(dims));
  }
  Shape unknown = dims;
  for (std::int64_t& dim : unknown) dim = 1;
  WindowAttributes attributes = state.window;
  attributes.auto_pad = AutoPad::kNotSet;
  const Window3 window = MakeWindow(attributes, unknown, unknown, Dims(dims).subspan(2));
  const kernels::ConvShape shape = MakeConvShape(window, 1, dims[0], dims[1] * state.group, state, true);
  const bool columns = kernels::ColumnsSuitConvTranspose(shape);
  if (columns && w->dtype() == DType::kFloat) return;  // used as they are
  const auto count = columns ? w->count() : static_cast<std::int64_t>(kernels::ConvTransposeF32PackedCount(shape));
  state.packed = Packed(DType::kFloat, Shape{count}, [&](Tensor& packed) {
    if (columns) return Convert(w->dtype(), w->raw(), DType::kFloat, packed.raw(), w->count(), c.parallel());
    Tensor floats = *w;
    if (w->dtype() != DType::kFloat) {
      floats = Tensor(DType::kFloat, w->shape());
      Convert(w->dtype(), w->raw(), DType::kFloat, floats.raw(), w->count(), c.parallel());
    }
    kernels::PackConvTransposeF32Weights(shape, floats.data<float>(), packed.data<float>(), c.parallel());
  });
  state.weights = w->shape();
  c.MarkPacked(kW);
}

Prepared PrepareTranspose(PrepareContext& c) {
  const Type x = ToChannelsFirst(c.InputType(kX), ImageLayouts::Of(c).input_last);
  ConvState state = ReadTranspose(c, x, c.InputType(kW));
  if (c.InputDType(kX) == DType::kDouble) return WithState(RunDouble<kBias>, std::move(state));
  PackWeights(c, state);
  return WithState(RunFloat<kBias>, std::move(state));
}

// ---- com.microsoft ConvTransposeWithDynamicPads: pads of the run, which decide the size of the output

void CheckPads(const AttributeReader& c, const std::vector<std::int64_t>& pads, std::size_t rank) {
  CheckAtLeast(c, "Pads", pads, 0);
  if (pads.size() != 2 * (rank - 2))
    c.Fail(Code::kInvalidArgument, "input 2 ('Pads'): expected ", 2 * (rank - 2), " values, found ", pads.size());
}

// Output dims with pads, or unknown ones where there are none.
void InferDynamicPads(InferContext& c) {
  const Type &x = c.InputType(kX), &w = c.InputType(kW);
  ConvState state = ReadTranspose(c, x, w);
  if (!c.HasRank(kX)) return c.SetOutput(0, c.InputDType(kX));
  const auto pads = c.HasInput(kPads) ? c.ConstantInts(kPads) : std::nullopt;
  if (pads) CheckPads(c, *pads, x.rank());
  if (pads) state.window.pads = *pads;
  std::vector<Dim> dims(x.rank());
  dims[0] = x.dims[0];
  if (w.has_rank) dims[1] = w.dims[1] * Dim(state.group);
  const bool known = (pads || !c.HasInput(kPads)) && state.window.auto_pad == AutoPad::kNotSet;
  for (std::size_t i = 0; known && i + 2 < x.rank(); ++i) {
    Dim kernel = w.has_rank ? w.dims[2 + i] : Dim();
    if (!state.window.kernel.empty()) kernel = Dim(state.window.kernel[i]);
    const Dim more(state.output_padding.empty() ? 0 : state.output_padding[i]);
    dims[2 + i] = Dim(state.window.stride(i)) * (x.dims[2 + i] - Dim(1)) + more +
                  (kernel - Dim(1)) * Dim(state.window.dilation(i)) + Dim(1) - Dim(state.window.pad_begin(i)) -
                  Dim(state.window.pad_end(i));
    if (dims[2 + i].known() && dims[2 + i].number() < 0) {
      c.Fail(Code::kInvalidArgument, "expected an output size of at least 0 on spatial axis ", i, ", found ",
             dims[2 + i].number());
    }
  }
  c.SetOutput(0, c.InputDType(kX), std::move(dims));
}

template <RunFn* Run>
void RunDynamicPads(KernelContext& c) {
  const auto& constant = c.state<ConvState>();
  ConvState state = constant;
  const Dims x = c.Input(kX).shape, w = state.packed.defined() ? Dims(state.weights) : c.Input(kW).shape;
  const std::size_t spatial = x.size() - 2;
  CheckConvShapes(state.window, state.group, x, w, true, kMostConvAxes);
  if (c.HasInput(kPads)) {
    const std::span<const std::int64_t> pads = c.Input(kPads).Span<std::int64_t>();
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    const bool fits = pads.size() == 2 * spatial &&
                      std::ranges::all_of(pads, [](std::int64_t pad) { return pad >= 0 && pad <= kMost; });
    if (!fits) {
      Fail(Code::kInvalidArgument, "input 2 ('Pads'): expected ", 2 * spatial, " values in [0, ", kMost, "], found ",
           ToText(pads));
    }
    state.window.pads.assign(pads.begin(), pads.end());
  }
  Shape shape{x[0], w[1] * state.group};
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t more = state.output_padding.empty() ? 0 : state.output_padding[i];
    const std::int64_t size = state.window.stride(i) * (x[2 + i] - 1) + more +
                              (w[2 + i] - 1) * state.window.dilation(i) + 1 - state.window.pad_begin(i) -
                              state.window.pad_end(i);
    if (size < 0)
      Fail(Code::kInvalidArgument, "expected an output size of at least 0 on spatial axis ", i, ", found ", size);
    shape.Append(size);
  }
  c.Output(0, shape);
  c.set_state(&state);
  Run(c);
  c.set_state(&constant);
}

Prepared PrepareDynamicPads(PrepareContext& c) {
  ConvState state = ReadTranspose(c, c.InputType(kX), c.InputType(kW));
  if (state.window.auto_pad != AutoPad::kNotSet) c.Unsupported("attribute 'auto_pad' of");
  if (c.HasInput(kPads) && c.InputDType(kPads) != DType::kInt64) c.Unsupported(c.InputText(kPads), c.InputDType(kPads));
  if (c.InputDType(kX) == DType::kDouble) return WithState(RunDynamicPads<RunDouble<kBiasAfterPads>>, std::move(state));
  PackWeights(c, state);
  return WithState(RunDynamicPads<RunFloat<kBiasAfterPads>>, std::move(state));
}

void CountTransposed(CostContext& c) {
  const TensorRef& w = c.In(1);
  const bool known = w.present() && w.rank() > 0 && w.dim(0) > 0;
  c.SetOperations(2 * c.CountIn(0) * (known ? static_cast<double>(w.count) / static_cast<double>(w.dim(0)) : 0));
}

constexpr OpDef kConvTransposeOps[] = {
    {.name = "ConvTranspose",
     .since = {1, 11, 22},
     .types = kIeeeFloats,
     .infer = InferTranspose,
     .prepare = PrepareTranspose,
     .cost = CountTransposed,
     .layout = &kFloatConvLayout,
     .traits = kPacksWeights},
    {.domain = "com.microsoft",
     .name = "ConvTransposeWithDynamicPads",
     .since = {1},
     .types = {DType::kFloat, DType::kDouble, DType::kFloat16},
     .infer = InferDynamicPads,
     .prepare = PrepareDynamicPads,
     .cost = CountTransposed,
     .traits = kPacksWeights | kSizedByElements},
    {.domain = kChannelsLastDomain,
     .name = "ConvTranspose",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16, DType::kBFloat16},
     .infer = InferTranspose,
     .prepare = PrepareTranspose,
     .cost = CountTransposed,
     .traits = kPacksWeights},
};

}  // namespace

std::span<const OpDef> ConvTransposeOps() { return kConvTransposeOps; }

}  // namespace sardonyx::ops
