// ops/nn/conv_reduce_max.cpp - ai.sardonyx ConvReduceMax: a 1x1 Conv of an image channels last, and the ReduceMax over
// its positions.
#include "ops/nn/conv_reduce_max.h"

#include <algorithm>
#include <vector>

#include "kernels/conv/pointwise_max.h"
#include "ops/activation.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "tensor/packing.h"

namespace sardonyx::ops {
namespace {

// X is [..., positions, C], with one axis of positions or more; W is [M, C], with axes of size 1 behind it as a Conv's
// has.
constexpr std::size_t kX = 0, kW = 1, kB = 2;

struct State {
  std::size_t position_axes = 1;
  bool keepdims = true;
  kernels::Activation activation;
  Tensor packed;  // undefined unless W is constant
  Shape weights;  // its shape, if packed
};

State ReadState(const AttributeReader& c) {
  const std::int64_t axes = c.Int("position_axes", 1);
  if (axes < 1) c.Fail(Code::kInvalidArgument, "attribute 'position_axes': expected at least 1, found ", axes);
  return {.position_axes = static_cast<std::size_t>(axes),
          .keepdims = c.Flag("keepdims", true),
          .activation = {},
          .packed = {},
          .weights = {}};
}

std::vector<Dim> OutputDims(const State& state, const std::vector<Dim>& x, Dim channels) {
  const auto kept = static_cast<std::ptrdiff_t>(x.size() - 1 - state.position_axes);
  std::vector<Dim> y(x.begin(), x.begin() + kept);
  if (state.keepdims) y.insert(y.end(), state.position_axes, Dim(1));
  y.push_back(std::move(channels));
  return y;
}

}  // namespace

void InferConvReduceMax(InferContext& c) {
  const State state = ReadState(c);
  const Type &x = c.InputType(kX), &w = c.InputType(kW);
  const auto is = [](const Dim& dim, std::int64_t number) { return !dim.known() || dim.number() == number; };
  if (x.has_rank && x.rank() <= state.position_axes)
    c.Fail(Code::kInvalidArgument, "expected an input of more than ", state.position_axes,
           " axes ([..., positions, C]), found ", x.ToText());
  if (w.has_rank &&
      (w.rank() < 2 || !std::all_of(w.dims.begin() + 2, w.dims.end(), [&](const Dim& d) { return is(d, 1); })))
    c.Fail(Code::kInvalidArgument, "expected weights [M, C, 1, ...], found ", w.ToText());
  if (x.has_rank && w.has_rank && x.dims.back().known() && !is(w.dims[1], x.dims.back().number()))
    c.Fail(Code::kInvalidArgument, "expected weights for ", x.dims.back().number(), " channels, found ", w.ToText());
  if (!x.has_rank) return c.SetOutput(0, x.dtype);
  c.SetOutput(0, x.dtype, OutputDims(state, x.dims, w.has_rank ? w.dims[0] : Dim()));
}

namespace {

kernels::PointwiseMaxArgs MakeArgs(const KernelContext& c, const State& state, Dims w) {
  const TensorRef& x = c.Input(kX);
  if (x.rank() <= state.position_axes || w.size() < 2 || ElementCount(w, 2, w.size()) != 1 || w[1] != x.shape.back() ||
      w[1] == 0)
    Fail(Code::kInvalidArgument, "expected an input [..., positions, C] with C > 0 and weights [M, C, 1, ...], found ",
         ToText(x.shape), " and ", ToText(w));
  if (c.HasInput(kB) && c.Input(kB).count != w[0])
    Fail(Code::kInvalidArgument, "expected a bias of ", w[0], " values, found ", ToText(c.Input(kB).shape));
  const std::size_t last = x.rank() - 1, kept = last - state.position_axes;
  kernels::PointwiseMaxArgs args;
  args.groups = ElementCount(x.shape, 0, kept);
  args.positions = ElementCount(x.shape, kept, last);
  args.in_channels = w[1], args.out_channels = w[0];
  args.x_pixel = x.RowPitch();
  args.activation = state.activation;
  if (c.Output(0).count != 0)
    CheckedMul(CheckedMul(static_cast<std::size_t>(args.groups), static_cast<std::size_t>(args.positions),
                          "the number of positions"),
               static_cast<std::size_t>(w[0]) * sizeof(float), "the size of a convolution's result");
  return args;
}

void Run(KernelContext& c) {
  const auto& state = c.state<State>();
  const bool is_packed = state.packed.defined();
  const Dims w = is_packed ? Dims(state.weights) : c.Input(kW).shape;
  kernels::PointwiseMaxArgs args = MakeArgs(c, state, w);
  const bool is_empty = c.Output(0).count == 0;
  Operands io(c, DType::kFloat, is_packed ? 1u << kW : 0);
  const std::size_t bytes = is_empty ? 0 : kernels::PointwiseMaxScratchBytes(args, c.parallel().ThreadCount());
  const std::size_t scratch = io.Add(bytes);
  const std::size_t packed = io.Add<float>(is_packed || is_empty ? 0 : kernels::PointwiseMaxPackedCount(w[1], w[0]));
  const Operands::Computing computing(io);
  if (is_empty) return;
  args.x = io.In<float>(kX);
  args.packed = is_packed ? state.packed.data<float>() : io.At<float>(packed);
  if (!is_packed) kernels::PackPointwiseMax(w[1], w[0], io.In<float>(kW), io.At<float>(packed), c.parallel());
  args.y = io.Out<float>(0);
  args.bias = io.In<float>(kB);
  kernels::PointwiseMax(args, c.parallel(), bytes == 0 ? nullptr : io.At(scratch));
}

}  // namespace

Prepared PrepareConvReduceMax(PrepareContext& c) {
  State state = ReadState(c);
  state.activation = ReadConvActivation(c);
  const Tensor* w = c.Constant(kW);
  if (w != nullptr && w->count() != 0 && w->shape().rank() >= 2 && w->dtype() == DType::kFloat) {
    const std::int64_t m = w->shape()[0], channels = w->shape()[1];
    const auto count = static_cast<std::int64_t>(kernels::PointwiseMaxPackedCount(channels, m));
    state.packed = Packed(DType::kFloat, Shape{count}, [&](Tensor& packed) {
      kernels::PackPointwiseMax(channels, m, w->data<float>(), packed.data<float>(), c.parallel());
    });
    state.weights = w->shape();
    c.MarkPacked(kW);
  }
  return WithState(Run, std::move(state));
}

void CountConvReduceMax(CostContext& c) { c.SetOperations(2 * c.CountIn(kX) * CostContext::DimOf(c.In(kW), 0)); }

}  // namespace sardonyx::ops
