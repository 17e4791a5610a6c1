// ops/nn/expanded_conv.cpp - ai.sardonyx ExpandedConv: a 1x1 Conv and the depthwise Conv that alone reads it, on images
// channels last. The row of ConvReduceMax, which also takes over a 1x1 Conv, stands beside it.
#include "kernels/conv/expanded_depthwise.h"
#include "ops/activation.h"
#include "ops/cost_context.h"
#include "ops/nn/conv_reduce_max.h"
#include "ops/operands.h"
#include "ops/own_domain.h"
#include "ops/registry.h"
#include "ops/shapes/conv_attributes.h"
#include "tensor/packing.h"

namespace sardonyx::ops {
namespace {

// The wide weights are [C, I, 1, 1], the others [C, 1, kH, kW].
constexpr std::size_t kX = 0, kWide = 1, kWideBias = 2, kW = 3, kB = 4;

struct State {
  ConvState conv;  // the depthwise one
  kernels::Activation wide_activation;
  Tensor packed;                // undefined unless all weights are constant
  Shape wide_weights, weights;  // their shapes, if packed
};

// The image that the 1x1 kernel makes, channels first; checks the types as far as they are known.
Type WideType(const AttributeReader& c, const Type& x_last, const Type& wide, const Type& w) {
  Type x = ToChannelsFirst(x_last, true);
  const auto is = [](const Dim& dim, std::int64_t number) { return !dim.known() || dim.number() == number; };
  if (x.has_rank && x.rank() != 4)
    c.Fail(Code::kInvalidArgument, "expected images [N, H, W, C], found ", x_last.ToText());
  if (wide.has_rank && (wide.rank() != 4 || !is(wide.dims[2], 1) || !is(wide.dims[3], 1)))
    c.Fail(Code::kInvalidArgument, "expected weights [M, C, 1, 1], found ", wide.ToText());
  if (w.has_rank && (w.rank() != 4 || !is(w.dims[1], 1)))
    c.Fail(Code::kInvalidArgument, "expected depthwise weights [M, 1, kH, kW], found ", w.ToText());
  if (x.has_rank && wide.has_rank && x.dims[1].known() && !is(wide.dims[1], x.dims[1].number()))
    c.Fail(Code::kInvalidArgument, "expected weights for ", x.dims[1].number(), " channels, found ", wide.ToText());
  if (x.has_rank) x.dims[1] = wide.has_rank ? wide.dims[0] : Dim();
  return x;
}

void Infer(InferContext& c) {
  const Type x = WideType(c, c.InputType(kX), c.InputType(kWide), c.InputType(kW));
  const ConvState state = ReadConv(c, x, c.InputType(kW));
  if (!c.HasRank(kX)) return c.SetOutput(0, c.InputDType(kX));
  c.SetOutput(0, x.dtype, FromChannelsFirst(ConvOutputDims(c, state, x, c.InputType(kW)), true));
}

kernels::ConvShape MakeShape(const KernelContext& c, const ConvState& state, Dims wide, Dims w) {
  const TensorRef& x = c.Input(kX);
  Shape in = ToChannelsFirst(x.shape, true);
  const Shape out = ToChannelsFirst(c.Output(0).shape, true);
  if (in.size() != 4 || wide.size() != 4 || w.size() != 4 || wide[1] != in[1] || w[1] != 1 || wide[2] != 1 ||
      wide[3] != 1)
    Fail(Code::kInvalidArgument, "expected an image [N, H, W, C] and weights [M, C, 1, 1] and [M, 1, kH, kW], found ",
         ToText(x.shape), ", ", ToText(wide), " and ", ToText(w));
  in[1] = wide[0];
  CheckConvShapes(state.window, state.group, in, w, false);
  const std::int64_t channels = w[0];
  if (channels != state.group || channels != wide[0])
    Fail(Code::kInvalidArgument, "expected as many groups and channels as the first weights make, ", wide[0],
         ", found ", state.group, " groups and weights ", ToText(w));
  for (const std::size_t bias : {kWideBias, kB})
    if (c.HasInput(bias) && c.Input(bias).count != channels)
      Fail(Code::kInvalidArgument, "expected a bias of ", channels, " values, found ", ToText(c.Input(bias).shape));
  const Window3 window = MakeWindow(state.window, in, out, w.subspan(2));
  kernels::ConvShape shape = MakeConvShape(window, in[0], in[1], channels, state, false);
  shape.in_pixel = x.pitch, shape.out_pixel = c.Output(0).pitch;
  return shape;
}

void Run(KernelContext& c) {
  const auto& state = c.state<State>();
  const bool is_packed = state.packed.defined();
  const Dims wide = is_packed ? Dims(state.wide_weights) : c.Input(kWide).shape;
  kernels::ExpandedDepthwiseArgs args;
  args.shape = MakeShape(c, state.conv, wide, is_packed ? Dims(state.weights) : c.Input(kW).shape);
  args.x_channels = wide[1];
  const bool is_empty = c.Output(0).count == 0;
  if (!is_empty && (c.Input(kX).count == 0 || args.shape.dilation[1] != 1))
    Fail(Code::kNotImplemented, "expected an image with pixels and no dilations, found ", ToText(c.Input(kX).shape));
  Operands io(c, DType::kFloat, is_packed ? 1u << kWide | 1u << kW : 0);
  const std::size_t scratch =
      io.Add(is_empty ? 0 : kernels::ExpandedDepthwiseScratchBytes(args, c.parallel().ThreadCount()));
  const std::size_t packed =
      io.Add<float>(is_packed || is_empty ? 0 : kernels::ExpandedDepthwisePackedCount(args.shape, args.x_channels));
  const Operands::Computing computing(io);
  if (is_empty) return;
  args.x = io.In<float>(kX);
  args.packed = is_packed ? state.packed.data<float>() : io.At<float>(packed);
  if (!is_packed)
    kernels::PackExpandedDepthwise(args.shape, args.x_channels, io.In<float>(kWide), io.In<float>(kW),
                                   io.At<float>(packed), c.parallel());
  args.y = io.Out<float>(0);
  args.wide.bias_n = io.In<float>(kWideBias);
  args.wide.activation = state.wide_activation;
  args.epilogue.bias_n = io.In<float>(kB);
  args.epilogue.activation = state.conv.activation;
  kernels::ExpandedDepthwise(args, c.parallel(), io.At(scratch));
}

void PackWeights(PrepareContext& c, State& state) {
  const Tensor *wide = c.Constant(kWide), *w = c.Constant(kW);
  if (wide == nullptr || w == nullptr || w->count() == 0 || wide->count() == 0 || w->shape().rank() != 4) return;
  Shape unknown = w->shape();  // in the place of x and y: only kernel and channels matter
  for (std::int64_t& dim : unknown) dim = 1;
  const Window3 window = MakeWindow(state.conv.window, unknown, unknown, Dims(w->shape()).subspan(2));
  const std::int64_t channels = w->shape()[0], x_channels = wide->shape()[1];
  const kernels::ConvShape shape = MakeConvShape(window, 1, channels, channels, state.conv, false);
  const auto count = static_cast<std::int64_t>(kernels::ExpandedDepthwisePackedCount(shape, x_channels));
  state.packed = Packed(DType::kFloat, Shape{count}, [&](Tensor& packed) {
    kernels::PackExpandedDepthwise(shape, x_channels, wide->data<float>(), w->data<float>(), packed.data<float>(),
                                   c.parallel());
  });
  state.wide_weights = wide->shape();
  state.weights = w->shape();
  c.MarkPacked(kWide);
  c.MarkPacked(kW);
}

Prepared Prepare(PrepareContext& c) {
  const Type x = WideType(c, c.InputType(kX), c.InputType(kWide), c.InputType(kW));
  State state{.conv = ReadConv(c, x, c.InputType(kW)), .wide_activation = ReadConvActivation(c, "wide_"), .packed = {}};
  state.conv.activation = ReadConvActivation(c);
  state.conv.layouts = {true, true};
  PackWeights(c, state);
  return WithState(Run, std::move(state));
}

// Both convolutions, the first one at each pixel of the image.
void CountBoth(CostContext& c) {
  const double taps = CostContext::DimOf(c.In(kW), 2) * CostContext::DimOf(c.In(kW), 3);
  c.SetOperations(2 * (c.CountIn(kX) * CostContext::DimOf(c.In(kWide), 0) + c.CountOut(0) * taps));
}

bool TakesPitch(const Node& /*node*/, Port port) { return port.output || port.index == kX; }

bool TakesPitchOfX(const Node& /*node*/, Port port) { return !port.output && port.index == kX; }

constexpr OpDef kExpandedConvOps[] = {
    {.domain = kOwnDomain,
     .name = "ConvReduceMax",
     .since = {1},
     .types = {DType::kFloat},
     .infer = InferConvReduceMax,
     .prepare = PrepareConvReduceMax,
     .cost = CountConvReduceMax,
     .pitch = TakesPitchOfX,
     .traits = kPacksWeights},
    {.domain = kOwnDomain,
     .name = "ExpandedConv",
     .since = {1},
     .types = {DType::kFloat},
     .infer = Infer,
     .prepare = Prepare,
     .cost = CountBoth,
     .pitch = TakesPitch},
};

}  // namespace

std::span<const OpDef> ExpandedConvOps() { return kExpandedConvOps; }

}  // namespace sardonyx::ops
