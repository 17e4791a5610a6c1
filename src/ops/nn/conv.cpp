// ops/nn/conv.cpp - Conv and FusedConv, channels first and last (NhwcConv and NhwcFusedConv are these): f32 on the
// convolution kernels, f16 and bf16 through f32, f64 through im2col.
#include <algorithm>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_any.h"
#include "ops/activation.h"
#include "ops/cost_context.h"
#include "ops/nn/conv_many_axes.h"
#include "ops/nn/im2col.h"
#include "ops/nn/infer_images.h"
#include "ops/operands.h"
#include "ops/registry.h"
#include "ops/shapes/conv_attributes.h"
#include "ops/shapes/layout_images.h"
#include "tensor/packing.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kX = 0, kW = 1, kB = 2, kZ = 3;

// The weights as ONNX spells them. NhwcConv has them as [M, kernel..., C / group]: ONNX Runtime's kernel for GPUs reads
// them so, and its tools write them so, although the schema says [M, C / group, kernel...].
Type WeightType(const InferContext& c) { return ToChannelsFirst(c.InputType(kW), c.op_type() == "NhwcConv"); }

}  // namespace

void InferConv(InferContext& c) {
  const ImageLayouts layouts = ImageLayouts::Of(c);
  const Type x = ToChannelsFirst(c.InputType(kX), layouts.input_last);
  const Type w = WeightType(c);
  const ConvState state = ReadConv(c, x, w, kMostConvAxes);
  if (!c.HasRank(kX)) return c.SetOutput(0, c.InputDType(kX));
  c.SetOutput(0, x.dtype, FromChannelsFirst(ConvOutputDims(c, state, x, w), layouts.output_last));
}

namespace {

struct Sizes {
  Window3 window;
  kernels::ConvShape shape;
};

Sizes MakeSizes(KernelContext& c, const ConvState& state) {
  const Shape x = ToChannelsFirst(c.Input(kX).shape, state.layouts.input_last);
  const Shape y = ToChannelsFirst(c.Output(0).shape, state.layouts.output_last);
  const Dims w = state.packed.defined() ? Dims(state.weights) : c.Input(kW).shape;
  CheckConvShapes(state.window, state.group, x, w, false);
  if (c.HasInput(kB) && c.Input(kB).count != w[0]) {
    Fail(Code::kInvalidArgument, "expected a bias of ", w[0], " values, found ", ToText(c.Input(kB).shape));
  }
  if (c.HasInput(kZ) && !Shape::Equal(c.Input(kZ).shape, c.Output(0).shape)) {
    Fail(Code::kInvalidArgument, "expected an input Z of the shape of the result, ", ToText(c.Output(0).shape),
         ", found ", ToText(c.Input(kZ).shape));
  }
  const Window3 window = MakeWindow(state.window, x, y, w.subspan(2));
  return {window, MakeConvShape(window, x[0], x[1], w[0], state, false)};
}

// An image without pixels that the pads make one of: every sum is 0, and what follows the sums still has to be done.
kernels::GemmF32Args WithoutImage(const KernelContext& c, const ConvState& state) {
  const bool last = state.layouts.output_last;
  const Shape y = ToChannelsFirst(c.Output(0).shape, last);
  const std::int64_t pixels = ElementCount(y, 2, y.rank());
  kernels::GemmF32Args g;
  g.batch = y[0];
  g.m = last ? pixels : y[1];
  g.n = last ? y[1] : pixels;
  g.ldc = g.epilogue.residual_stride = g.n;
  g.c_batch_stride = g.residual_batch_stride = g.m * g.n;
  g.epilogue.activation = state.activation;
  return g;
}

bool HasManyAxes(const KernelContext& c) {
  const auto& state = c.state<ConvState>();
  return !state.packed.defined() && c.Input(kX).rank() > kMostKernelAxes + 2 && !state.layouts.input_last &&
         !state.layouts.output_last;
}

void RunFloat(KernelContext& c) {
  if (HasManyAxes(c)) return RunConvOfManyAxes<float>(c);
  const auto& state = c.state<ConvState>();
  Sizes sizes = MakeSizes(c, state);
  sizes.shape.algorithm = state.algorithm;
  sizes.shape.rounds_to_bf16 = state.rounds_to_bf16;
  sizes.shape.in_pixel = c.Input(kX).pitch;
  sizes.shape.out_pixel = c.Output(0).pitch;
  if (c.HasInput(kZ)) sizes.shape.residual_pixel = c.Input(kZ).pitch;
  Operands io(c, DType::kFloat, state.packed.defined() ? 1u << kW : 0);
  kernels::GemmF32Args without_image = WithoutImage(c, state);
  const std::size_t scratch_bytes = c.Output(0).count == 0 ? 0
                                    : c.Input(kX).count == 0
                                        ? kernels::GemmF32ScratchBytes(without_image, c.parallel().ThreadCount())
                                        : kernels::ConvF32ScratchBytes(sizes.shape, c.parallel().ThreadCount());
  const std::size_t scratch = io.Add(scratch_bytes);
  const std::size_t packed =
      io.Add<float>(state.packed.defined() || c.Output(0).count == 0 ? 0 : kernels::ConvF32PackedCount(sizes.shape));
  const Operands::Computing computing(io);
  if (c.Output(0).count == 0) return;
  if (c.Input(kX).count == 0) {
    without_image.c = io.Out<float>(0);
    (state.layouts.output_last ? without_image.epilogue.bias_n : without_image.epilogue.bias_m) = io.In<float>(kB);
    without_image.epilogue.residual = io.In<float>(kZ);
    kernels::GemmF32(without_image, c.parallel(), scratch_bytes == 0 ? nullptr : io.At(scratch));
    return;
  }
  kernels::ConvF32Args args;
  args.shape = sizes.shape;
  args.x = io.In<float>(kX);
  args.packed_weights = state.packed.defined() ? state.packed.data<float>() : io.At<float>(packed);
  if (!state.packed.defined()) {
    kernels::PackConvF32Weights(sizes.shape, io.In<float>(kW), io.At<float>(packed), c.parallel());
  }
  args.y = io.Out<float>(0);
  args.epilogue.bias_n = io.In<float>(kB);
  args.epilogue.residual = io.In<float>(kZ);
  args.epilogue.activation = state.activation;
  kernels::ConvF32(args, c.parallel(), scratch_bytes == 0 ? nullptr : io.At(scratch));
}

// The channels of one group as planes [channels, pixels], from pixels of `all` channels each.
void ToPlanes(const double* x, std::int64_t pixels, std::int64_t all, std::int64_t channels, double* planes,
              Parallel& parallel) {
  parallel.For(channels, std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(pixels, 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t channel = begin; channel < end; ++channel)
                   for (std::int64_t i = 0; i < pixels; ++i) planes[channel * pixels + i] = x[i * all + channel];
               });
}

// The product of the weights of a group and the columns of an image: Y [channels, pixels], or its transpose.
kernels::GemmAnyArgs<double> ColumnProduct(const kernels::ConvShape& shape, std::int64_t taps, std::int64_t pixels,
                                           bool last, bool bias) {
  const std::int64_t group_out = shape.out_channels / shape.groups, k = shape.in_channels / shape.groups * taps;
  kernels::GemmAnyArgs<double> args;
  args.m = last ? pixels : group_out, args.n = last ? group_out : pixels, args.k = k;
  args.lda = last ? pixels : k, args.ldb = last ? k : pixels, args.ldc = last ? shape.out_channels : pixels;
  args.trans_a = args.trans_b = last;
  args.beta = bias ? 1 : 0;
  (last ? args.c0_column_stride : args.c0_row_stride) = 1;
  static const double kGiven = 0;
  args.c0 = bias ? &kGiven : nullptr;
  return args;
}

void RunDouble(KernelContext& c) {
  if (HasManyAxes(c)) return RunConvOfManyAxes<double>(c);
  const auto& state = c.state<ConvState>();
  const auto [window, shape] = MakeSizes(c, state);
  const bool last = state.layouts.output_last;
  const std::int64_t taps = window.kernel[0] * window.kernel[1] * window.kernel[2];
  const std::int64_t in_pixels = window.in[0] * window.in[1] * window.in[2];
  const std::int64_t pixels = window.out[0] * window.out[1] * window.out[2];
  const std::int64_t group_in = shape.in_channels / shape.groups, group_out = shape.out_channels / shape.groups;
  if (c.Output(0).count == 0) return;
  const double* bias = c.HasInput(kB) ? c.Input(kB).As<double>() : nullptr;
  kernels::GemmAnyArgs<double> args = ColumnProduct(shape, taps, pixels, last, bias != nullptr);
  ScratchLayout layout;
  const std::size_t cols_at = layout.Add<double>(CheckedMul(
      static_cast<std::size_t>(args.k), static_cast<std::size_t>(pixels), "the size of the convolution's columns"));
  const std::size_t planes_at = layout.Add<double>(last ? static_cast<std::size_t>(group_in * in_pixels) : 0);
  const std::size_t gemm_bytes = kernels::GemmAnyScratchBytes(args, c.parallel().ThreadCount());
  const std::size_t gemm_at = layout.Add(gemm_bytes);
  std::byte* block = c.Scratch(layout.bytes());
  double* cols = static_cast<double*>(static_cast<void*>(block + cols_at));
  double* planes = static_cast<double*>(static_cast<void*>(block + planes_at));
  for (std::int64_t i = 0; i < shape.batch * shape.groups; ++i) {
    const std::int64_t image = i / shape.groups, group = i % shape.groups;
    const double* x = c.Input(kX).As<double>() + image * shape.in_channels * in_pixels;
    double* y = c.Output(0).As<double>() + image * shape.out_channels * pixels;
    if (last) ToPlanes(x + group * group_in, in_pixels, shape.in_channels, group_in, planes, c.parallel());
    Im2Col(window, last ? planes : x + group * group_in * in_pixels, group_in, 0.0, cols, c.parallel());
    const double* weights = c.Input(kW).As<double>() + group * group_out * args.k;
    args.a = last ? cols : weights;
    args.b = last ? weights : cols;
    args.c = y + group * group_out * (last ? 1 : pixels);
    args.c0 = bias != nullptr ? bias + group * group_out : nullptr;
    kernels::GemmAny(args, c.parallel(), gemm_bytes == 0 ? nullptr : block + gemm_at);
  }
}

// The best algorithm for the images of `y` [N, M, ...] as far as they are known.
kernels::ConvAlgorithm ChooseAlgorithm(kernels::ConvShape shape, const std::vector<Dim>& y) {
  SetKnownOutput(y, &shape);
  return kernels::ChooseConvF32Algorithm(shape);
}

// Whether the sums are rows of X [pixels, C] times W [C, M], of floats.
bool IsProduct(const PrepareContext& c, const ConvState& state, const Shape& w) {
  const auto all = [](const std::vector<std::int64_t>& values, std::int64_t value) {
    return std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == value; });
  };
  const WindowAttributes& a = state.window;
  return c.InputDType(kX) == DType::kFloat && state.group == 1 && state.layouts.input_last &&
         state.layouts.output_last && all({w.begin() + 2, w.end()}, 1) && all(a.pads, 0);
}

void PackWeights(PrepareContext& c, ConvState& state) {
  const Tensor* w = c.Constant(kW);
  if (w == nullptr || w->count() == 0 || w->shape().rank() < 3 || w->shape().rank() > 5) return;
  Shape unknown = w->shape();  // in the place of x and y: only kernel, channels and groups matter
  for (std::int64_t& dim : unknown) dim = 1;
  const Window3 window = MakeWindow(state.window, unknown, unknown, Dims(w->shape()).subspan(2));
  const auto& dims = w->shape();
  if (dims[0] % state.group != 0) {
    c.Fail(Code::kInvalidArgument, "expected output channels divisible by group ", state.group, ", found weights ",
           ToText(dims));
  }
  kernels::ConvShape shape = MakeConvShape(window, 1, dims[1] * state.group, dims[0], state, false);
  const Type x = ToChannelsFirst(c.InputType(kX), state.layouts.input_last);
  state.algorithm = ChooseAlgorithm(shape, ConvOutputDims(c, state, x, c.InputType(kW)));
  shape.algorithm = state.algorithm;
  state.rounds_to_bf16 = shape.rounds_to_bf16 = c.rounds_to_bf16() && IsProduct(c, state, w->shape());
  const auto count = static_cast<std::int64_t>(kernels::ConvF32PackedCount(shape));
  state.packed = Packed(DType::kFloat, Shape{count}, [&](Tensor& packed) {
    Tensor floats = *w;
    if (w->dtype() != DType::kFloat) {
      floats = Tensor(DType::kFloat, w->shape());
      Convert(w->dtype(), w->raw(), DType::kFloat, floats.raw(), w->count(), c.parallel());
    }
    kernels::PackConvF32Weights(shape, floats.data<float>(), packed.data<float>(), c.parallel());
  });
  state.weights = w->shape();
  c.MarkPacked(kW);
}

Prepared PrepareConv(PrepareContext& c) {
  const Type x = ToChannelsFirst(c.InputType(kX), ImageLayouts::Of(c).input_last);
  ConvState state = ReadConv(c, x, c.InputType(kW), kMostConvAxes);
  state.activation = ReadConvActivation(c);
  if (c.InputDType(kX) == DType::kDouble) {
    if (state.layouts.input_last != state.layouts.output_last) c.Unsupported("a change of layout of", DType::kDouble);
    if (state.activation.kind != kernels::UnaryKind::kNone || c.HasInput(kZ)) {
      c.Unsupported("a fused activation or sum and inputs", DType::kDouble);
    }
    return WithState(RunDouble, std::move(state));
  }
  PackWeights(c, state);
  return WithState(RunFloat, std::move(state));
}

Prepared PrepareNhwcConv(PrepareContext& c) {
  c.Fail(Code::kNotImplemented,
         "expected the pass expand_joined_operators to have replaced this node; is it disabled, or does the model not "
         "say its weights' rank?");
}

// Winograd's algorithms need fewer multiplications than the definition has.
void CountFloatConv(CostContext& c) {
  CountConvolution(c);
  const Prepared* prepared = c.prepared();
  if (prepared == nullptr || prepared->run != RunFloat) return;
  switch (static_cast<const ConvState*>(prepared->state.get())->algorithm) {
    case kernels::ConvAlgorithm::kDirect:
      return;
    case kernels::ConvAlgorithm::kWinograd2:
      return c.SetArithmetic(16.0 / 36);
    case kernels::ConvAlgorithm::kWinograd4:
      return c.SetArithmetic(36.0 / 144);
  }
}

// X, Z and Y of images channels last.
bool TakesPitch(const Node& node, Port port) {
  const auto first = [&](std::string_view name) { return IntAttribute(node, name, 0) != 0; };
  if (node.domain != kChannelsLastDomain || first("channels_first_input") || first("channels_first_output"))
    return false;
  return port.output || port.index == kX || port.index == kZ;
}

constexpr OpDef Row(std::string_view domain, std::string_view name, Few<int> since, DTypeSet types,
                    const LayoutDef* layout = nullptr) {
  return {.domain = domain,
          .name = name,
          .since = since,
          .types = types,
          .infer = InferConv,
          .prepare = PrepareConv,
          .cost = CountFloatConv,
          .layout = layout,
          .pitch = TakesPitch,
          .traits = kPacksWeights};
}

constexpr OpDef NhwcRow() {
  OpDef row = Row("com.microsoft", "NhwcConv", {1}, {DType::kFloat, DType::kFloat16, DType::kDouble});
  row.prepare = PrepareNhwcConv;
  return row;
}

constexpr DTypeSet kKernelFloats = {DType::kFloat, DType::kFloat16, DType::kBFloat16};

constexpr OpDef kConvOps[] = {
    Row("", "Conv", {1, 11, 22}, kIeeeFloats, &kFloatConvLayout),
    Row("com.microsoft", "FusedConv", {1}, kIeeeFloats, &kFloatConvLayout),
    NhwcRow(),
    Row("com.microsoft", "NhwcFusedConv", {1}, {DType::kFloat, DType::kFloat16}),
    Row(kChannelsLastDomain, "Conv", {1}, kIeeeFloats),
    Row(kChannelsLastDomain, "FusedConv", {1}, kKernelFloats),
};

}  // namespace

std::span<const OpDef> ConvOps() { return kConvOps; }

}  // namespace sardonyx::ops
