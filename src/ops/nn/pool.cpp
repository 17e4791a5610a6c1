// ops/nn/pool.cpp - MaxPool, AveragePool and LpPool: float by rows, other types and indices tap by tap.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/elementwise/quantize.h"
#include "kernels/elementwise/quantized_binary.h"
#include "kernels/pool/pool_f32.h"
#include "kernels/pool/pool_last_f32.h"
#include "kernels/pool/pool_last_int8.h"
#include "kernels/pool/pool_taps.h"
#include "ops/channels_last.h"
#include "ops/cost_context.h"
#include "ops/elementwise.h"
#include "ops/infer_context.h"
#include "ops/nn/infer_images.h"
#include "ops/nn/lp_power.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/quantized_operators.h"
#include "ops/registry.h"
#include "ops/shapes/layout_images.h"
#include "ops/shapes/window.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

enum class PoolKind : std::uint8_t { kMax, kAverage, kLp };

struct PoolState {
  PoolKind kind = PoolKind::kMax;
  WindowAttributes window;
  bool count_include_pad = false;
  bool column_major = false;  // storage_order of the indices
  double p = 2;
  bool channels_last = false;
};

// The domain of channels-last operators, QLinearAveragePool's own attribute, or the operator that is nothing else.
bool IsLast(const AttributeReader& c) {
  return IsChannelsLast(c) || c.Flag("channels_last") || c.op_type() == "NhwcMaxPool";
}

PoolState ReadPool(const AttributeReader& c, const Type& x) {
  PoolState state;
  state.kind = c.op_type().ends_with("MaxPool")       ? PoolKind::kMax
               : c.op_type().ends_with("AveragePool") ? PoolKind::kAverage
                                                      : PoolKind::kLp;
  state.channels_last = IsLast(c);
  state.window = ReadWindow(c);
  state.count_include_pad = c.Flag("count_include_pad");
  state.column_major = c.Flag("storage_order");
  state.p = static_cast<double>(c.Int("p", 2));
  if (state.window.kernel.empty()) c.Fail(Code::kInvalidGraph, "attribute 'kernel_shape' is required and missing");
  const std::size_t spatial = state.window.kernel.size();
  if (spatial > 3)
    c.Fail(Code::kNotImplemented, "attribute 'kernel_shape': expected at most 3 values, found ", spatial);
  CheckWindowRank(c, state.window, spatial);
  for (std::size_t i = 0; i < spatial && state.kind == PoolKind::kAverage && !state.count_include_pad; ++i) {
    const std::int64_t extent = (state.window.kernel[i] - 1) * state.window.dilation(i) + 1;
    const std::int64_t most = std::max(state.window.pad_begin(i), state.window.pad_end(i));
    if (state.window.auto_pad == AutoPad::kNotSet && most >= extent)
      c.Fail(Code::kInvalidArgument, "attribute 'pads': expected pads below the window of ", extent, ", found ", most,
             ": a window in the pads has no average");
  }
  if (!x.has_rank) return state;
  if (x.rank() < 3 || x.rank() > 5) {
    c.Fail(x.rank() < 3 ? Code::kInvalidArgument : Code::kNotImplemented,
           "expected an input of 1 to 3 spatial dimensions ([N, C, ...]), found ", x.ToText());
  }
  CheckWindowRank(c, state.window, x.rank() - 2);
  return state;
}

}  // namespace

void InferPool(InferContext& c) {
  const bool last = IsLast(c);
  const Type x = ToChannelsFirst(c.InputType(0), last);
  const PoolState state = ReadPool(c, x);
  if (!c.HasRank(0)) {
    c.SetOutput(0, c.InputDType(0));
    if (c.HasOutput(1)) c.SetOutput(1, DType::kInt64);
    return;
  }
  std::vector<Dim> dims = {x.dims[0], x.dims[1]};
  for (std::size_t i = 0; i + 2 < x.rank(); ++i) {
    dims.push_back(PoolOutput(c, state.window, i, x.dims[2 + i], Dim(state.window.kernel[i])));
  }
  if (c.HasOutput(1)) c.SetOutput(1, DType::kInt64, dims);
  c.SetOutput(0, c.InputDType(0), FromChannelsFirst(std::move(dims), last));
}

namespace {

kernels::PoolShape MakePoolShape(KernelContext& c, const PoolState& state) {
  const Shape x = ToChannelsFirst(c.Input(0).shape, state.channels_last);
  const Shape y = ToChannelsFirst(c.Output(0).shape, state.channels_last);
  if (x.size() != state.window.kernel.size() + 2) {
    Fail(Code::kInvalidArgument, "expected an input of rank ", state.window.kernel.size() + 2, ", found ", ToText(x));
  }
  const Window3 w = MakeWindow(state.window, x, y, Dims(state.window.kernel));
  kernels::PoolShape p;
  p.in = w.in, p.out = w.out, p.kernel = w.kernel, p.stride = w.stride, p.dilation = w.dilation;
  p.pad_begin = w.pad_begin, p.pad_end = w.pad_end;
  p.average = state.kind == PoolKind::kAverage;
  p.count_include_pad = state.count_include_pad;
  p.in_pixel = c.Input(0).pitch;
  p.out_pixel = c.Output(0).pitch;
  return p;
}

void RunFloat(KernelContext& c) {
  const kernels::PoolShape shape = MakePoolShape(c, c.state<PoolState>());
  if (c.Output(0).count == 0) return;
  const std::int64_t planes = c.Input(0).dim(0) * c.Input(0).dim(1);
  Operands io(c, DType::kFloat);
  const std::size_t scratch = io.Add(kernels::PoolF32ScratchBytes(shape, planes));
  const Operands::Computing computing(io);
  kernels::PoolF32(shape, planes, io.In<float>(0), io.Out<float>(0), c.parallel(), io.At(scratch));
}

void RunLast(KernelContext& c) {
  const kernels::PoolShape shape = MakePoolShape(c, c.state<PoolState>());
  if (c.Output(0).count == 0) return;
  const Dims x = c.Input(0).shape;
  Operands io(c, DType::kFloat);
  const Operands::Computing computing(io);
  kernels::PoolLastF32(shape, x[0], x[x.size() - 1], io.In<float>(0), io.Out<float>(0), c.parallel());
}

void RunLastBytes(KernelContext& c) {
  const kernels::PoolShape shape = MakePoolShape(c, c.state<PoolState>());
  if (c.Output(0).count == 0) return;
  const TensorRef& x = c.Input(0);
  kernels::MaxPoolLastInt8(shape, x.dim(0), x.dim(x.rank() - 1), x.dtype == DType::kInt8, x.data, c.Output(0).data,
                           c.parallel());
}

// QLinearAveragePool: X, its scale and zero point, those of the result. y = round(mean(x - x_zero) / (y_scale /
// x_scale)
// + y_zero), halves to even. Sums of a window of up to 2^16 elements are whole numbers that float holds, so that a mean
// of a half is exactly that, in any order of the window. ONNX Runtime adds up dequantized elements: where the mean is a
// half, its sum may lie beside it.
void RunQuantized(KernelContext& c) {
  const auto& state = c.state<PoolState>();
  const kernels::PoolShape shape = MakePoolShape(c, state);
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  if (y.count == 0) return;
  const QuantizedScale from = ReadScale(c, 1, 2), to = ReadScale(c, 3, 4);
  // The quotient is 0 for scales that are 2^149 apart or more; 0 / 0 is no mean.
  const float quotient = to.scale / from.scale;
  const float scale = quotient == 0 ? std::numeric_limits<float>::min() : quotient;
  const std::int64_t planes = state.channels_last ? 0 : x.dim(0) * x.dim(1);
  ScratchLayout layout;
  const std::size_t in_at = layout.Add<float>(static_cast<std::size_t>(x.count));
  const std::size_t out_at = layout.Add<float>(static_cast<std::size_t>(y.count));
  const std::size_t pool_at = layout.Add(planes == 0 ? 0 : kernels::PoolF32ScratchBytes(shape, planes));
  std::byte* block = c.Scratch(layout.bytes());
  auto* in = static_cast<float*>(static_cast<void*>(block + in_at));
  auto* out = static_cast<float*>(static_cast<void*>(block + out_at));
  const bool is_signed = x.dtype == DType::kInt8;
  const kernels::QuantizedTable& bytes = kernels::Quantized8();
  constexpr std::int64_t kElements = 16384;  // that are worth a thread
  c.parallel().For(x.count, kElements, [&](std::int64_t begin, std::int64_t end) {
    (is_signed ? bytes.dequantize_signed : bytes.dequantize_unsigned)(
        x.As<const std::uint8_t>() + begin, 1, from.zero, static_cast<std::size_t>(end - begin), in + begin);
  });
  if (state.channels_last) {
    kernels::PoolLastF32(shape, x.dim(0), x.dim(x.rank() - 1), in, out, c.parallel());
  } else {
    kernels::PoolF32(shape, planes, in, out, c.parallel(), block + pool_at);
  }
  const float low = is_signed ? -128.0f : 0.0f;
  kernels::QuantizeFn* const quantize = kernels::Quantization().quantize_sum(is_signed);
  c.parallel().For(y.count, kElements, [&](std::int64_t begin, std::int64_t end) {
    quantize(out + begin, &scale, &to.zero, low, low + 255, static_cast<std::size_t>(end - begin),
             y.As<std::uint8_t>() + begin);
  });
}

// The position of a maximum in the whole tensor; column-major: within its plane the first spatial axis runs fastest.
std::int64_t IndexOf(const kernels::PoolShape& p, std::int64_t plane, std::int64_t at, bool column_major) {
  const std::int64_t size = p.in[0] * p.in[1] * p.in[2];
  if (at < 0) return -1;
  if (!column_major) return plane * size + at;
  const std::int64_t w = at % p.in[2], h = at / p.in[2] % p.in[1], d = at / (p.in[1] * p.in[2]);
  return plane * size + d + p.in[0] * (h + p.in[1] * w);
}

// Types other than float, positions, and powers.
template <typename T>
void RunWindows(KernelContext& c) {
  const auto& state = c.state<PoolState>();
  const kernels::PoolShape p = MakePoolShape(c, state);
  if (c.Output(0).count == 0) return;
  Operands io(c, kDTypeOf<T>, 0, 2);
  const Operands::Computing computing(io);
  const std::int64_t outputs = p.out[0] * p.out[1] * p.out[2];
  const std::int64_t planes = c.Output(0).count / outputs;
  if (state.kind != PoolKind::kMax) {
    if constexpr (std::is_floating_point_v<T>)
      kernels::SumPoolTaps(p, planes, io.In<T>(0), state.p, io.Out<T>(0), c.parallel());
    return;
  }
  std::int64_t* indices = c.HasOutput(1) ? c.Output(1).As<std::int64_t>() : nullptr;
  kernels::MaxPoolTaps(p, planes, io.In<T>(0), io.Out<T>(0), indices, c.parallel());
  if (indices == nullptr) return;
  c.parallel().For(planes * outputs, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) indices[i] = IndexOf(p, i / outputs, indices[i], state.column_major);
  });
}

Prepared PrepareQuantizedPool(PrepareContext& c) {
  return WithState(RunQuantized, ReadPool(c, ToChannelsFirst(c.InputType(0), IsLast(c))));
}

Prepared PreparePool(PrepareContext& c) {
  PoolState state = ReadPool(c, ToChannelsFirst(c.InputType(0), IsLast(c)));
  if (state.channels_last) {
    if (c.HasOutput(1)) c.Unsupported("indices of channels-last images");
    return WithState(IsFloating(c.InputDType(0)) ? RunLast : RunLastBytes, std::move(state));
  }
  switch (c.InputDType(0)) {
    case DType::kDouble:
      return WithState(RunWindows<double>, std::move(state));
    case DType::kInt8:
      return WithState(RunWindows<std::int8_t>, std::move(state));
    case DType::kUInt8:
      return WithState(RunWindows<std::uint8_t>, std::move(state));
    default:
      break;
  }
  const bool windows = c.HasOutput(1) || state.kind == PoolKind::kLp;
  return WithState(windows ? RunWindows<float> : RunFloat, std::move(state));
}

constexpr DTypeSet kKernelFloats = {DType::kFloat, DType::kFloat16, DType::kBFloat16};

void CountWindows(CostContext& c) {
  double window = 1;
  if (const auto* shape = AttributeAs<std::vector<std::int64_t>>(c.node(), "kernel_shape"))
    for (const std::int64_t size : *shape) window *= static_cast<double>(size);
  c.SetOperations(window * c.CountOut(0));
}

bool DescribePool(const Graph& graph, const Node& node, NodeLayout& layout) {
  const bool bytes = node.op_type == "MaxPool" && IsQuantizedImage(InputType(graph, node, 0));
  if ((!bytes && !IsFloatImage(InputType(graph, node, 0))) || !DescribeMain(graph, node, layout)) return false;
  if (node.outputs.size() > 1 && node.outputs[1] != kNoValue) return false;  // indices count channels first
  layout.variables[0].first_cost = 0.5 * MovingCost(InputType(graph, node, 0));
  return true;
}

constexpr LayoutDef kPoolLayout = {"moves to com.ms.internal.nhwc", DescribePool, MoveToChannelsLast};
constexpr LayoutDef kQLinearPoolLayout = {"attribute channels_last", DescribeMain, SetChannelsLast};

// Images of floats, channels last.
bool TakesPitch(const Node& node, Port) {
  return node.domain == kChannelsLastDomain && node.outputs.size() == 1 &&
         (node.op_type == "MaxPool" || node.op_type == "AveragePool");
}

constexpr OpDef LastRow(std::string_view name, DTypeSet types) {
  return {.domain = kChannelsLastDomain,
          .name = name,
          .since = {1},
          .types = types,
          .infer = InferPool,
          .prepare = PreparePool,
          .cost = CountWindows,
          .pitch = TakesPitch};
}

constexpr OpDef kPoolOps[] = {
    LastRow("AveragePool", kKernelFloats),
    LastRow("MaxPool", kKernelFloats | DTypeSet{DType::kInt8, DType::kUInt8}),
    {.domain = "com.microsoft",
     .name = "NhwcMaxPool",
     .since = {1},
     .types = kQuantized8,
     .infer = InferPool,
     .prepare = PreparePool,
     .cost = CountWindows},
    {.name = "AveragePool",
     .since = {1, 7, 10, 11, 19, 22},
     .types = kIeeeFloats,
     .infer = InferPool,
     .prepare = PreparePool,
     .cost = CountWindows,
     .layout = &kPoolLayout},
    {.name = "LpPool",
     .since = {1, 2, 11, 18, 22},
     .types = kIeeeFloats,
     .infer = InferPool,
     .prepare = PreparePool,
     .upgrade = UpgradeLpPower,
     .cost = CountWindows},
    {.name = "MaxPool",
     .since = {1, 8, 10, 11, 12, 22},
     .types = kIeeeFloats | DTypeSet{DType::kInt8, DType::kUInt8},
     .infer = InferPool,
     .prepare = PreparePool,
     .cost = CountWindows,
     .layout = &kPoolLayout},
    {.domain = "com.microsoft",
     .name = "QLinearAveragePool",
     .since = {1},
     .types = kQuantized8,
     .infer = InferPool,
     .prepare = PrepareQuantizedPool,
     .cost = CountWindows,
     .layout = &kQLinearPoolLayout},
};

}  // namespace

void UpgradeLpPower(UpgradeContext& c) {
  if (c.version() != 1) return;
  const auto p = c.Take("p");
  if (!p || !std::holds_alternative<float>(*p)) return;
  const float value = std::get<float>(*p);
  if (!(value == std::floor(value) && std::abs(value) < 2147483648.0f)) {
    c.attributes().Fail(Code::kNotImplemented, "attribute 'p': expected a 32-bit integer, found ", value);
  }
  c.SetAttribute("p", static_cast<std::int64_t>(value));
}

std::span<const OpDef> PoolOps() { return kPoolOps; }

}  // namespace sardonyx::ops
