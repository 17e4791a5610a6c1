// ops/quantized/quantized_elementwise.cpp - 8-bit elementwise operators of com.microsoft (QLinearAdd, QLinearMul,
// QLinearSigmoid, QLinearLeakyRelu, QOrderedGelu) and ai.sardonyx.Lookup8, a table of 256 results. Their rows are in
// quantize.cpp.
//
// A function of one 8-bit tensor is computed for all 256 elements first, so its speed does not depend on the function.
#include <algorithm>
#include <array>

#include "kernels/elementwise/quantize.h"
#include "kernels/elementwise/quantized_binary.h"
#include "ops/elementwise.h"
#include "ops/quantized_operators.h"
#include "ops/shapes/broadcast.h"

namespace sardonyx::ops {
namespace {

using kernels::QuantizedKind;

// ---- QLinearAdd, QLinearMul: A, its scale and zero point, B, its two, scale and zero point of the result

struct BinaryState {
  QuantizedKind kind = QuantizedKind::kAdd;
  bool is_signed = false;
};

kernels::QuantizedBinaryArgs ReadArgs(KernelContext& c, QuantizedKind kind) {
  const QuantizedScale a = ReadScale(c, 1, 2), b = ReadScale(c, 4, 5), y = ReadScale(c, 6, 7);
  kernels::QuantizedBinaryArgs args;
  args.a_zero = a.zero, args.b_zero = b.zero, args.y_zero = y.zero;
  args.a_scale = kind == QuantizedKind::kAdd ? a.scale / y.scale : a.scale * b.scale / y.scale;
  args.b_scale = b.scale / y.scale;
  return args;
}

void RunBinary(KernelContext& c) {
  const auto& state = c.state<BinaryState>();
  const TensorRef &a = c.Input(0), &b = c.Input(3);
  const OutputRef y = c.Output(0);
  if (y.count == 0) return;
  const kernels::QuantizedBinaryArgs args = ReadArgs(c, state.kind);
  const Dims shapes[] = {a.shape, b.shape};
  const BroadcastPlan plan(y.shape, shapes);
  const bool swap = plan.repeats(0) && !plan.repeats(1);  // both operators are commutative
  kernels::QuantizedBinaryArgs swapped = args;
  if (swap) {
    std::swap(swapped.a_zero, swapped.b_zero);
    if (state.kind == QuantizedKind::kAdd) std::swap(swapped.a_scale, swapped.b_scale);
  }
  swapped.constant = SumConstant({swapped.a_scale, swapped.a_zero}, {swapped.b_scale, swapped.b_zero}, swapped.y_zero);
  const bool repeats = plan.repeats(0) || plan.repeats(1);
  kernels::QuantizedBinaryFn* const run = kernels::Quantized8().binary(state.kind, state.is_signed, repeats);
  c.parallel().For(y.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    plan.ForRange(begin, end, [&](const BroadcastRun& r) {
      const std::uint8_t *from_a = a.As<const std::uint8_t>() + r.in[0], *from_b = b.As<const std::uint8_t>() + r.in[1];
      if (swap) std::swap(from_a, from_b);
      run(from_a, from_b, swapped, static_cast<std::size_t>(r.count), y.As<std::uint8_t>() + r.out);
    });
  });
}

}  // namespace

void InferQLinearBinary(InferContext& c) {
  if (!c.HasRank(0) || !c.HasRank(3)) return c.SetOutput(0, c.InputDType(0));
  c.SetOutput(0, c.InputDType(0), BroadcastDims(c, c.InputDims(0), c.InputDims(3)));
}

static Prepared PrepareBinary(PrepareContext& c, QuantizedKind kind) {
  const DType dtype = c.InputDType(0);
  if (c.InputDType(3) != DType::kUndefined && c.InputDType(3) != dtype)
    c.Fail(Code::kInvalidGraph, "expected A and B of one type, found ", Name(dtype), " and ", Name(c.InputDType(3)));
  return WithState(RunBinary, BinaryState{kind, dtype == DType::kInt8});
}
Prepared PrepareQLinearAdd(PrepareContext& c) { return PrepareBinary(c, QuantizedKind::kAdd); }
Prepared PrepareQLinearMul(PrepareContext& c) { return PrepareBinary(c, QuantizedKind::kMul); }

// ---- Functions of one tensor

namespace {

void RunLookup(KernelContext& c, const std::uint8_t* table) {
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  kernels::Lookup8Fn* const lookup = kernels::Quantized8().lookup;
  c.parallel().For(y.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    lookup(x.As<const std::uint8_t>() + begin, table, static_cast<std::size_t>(end - begin),
           y.As<std::uint8_t>() + begin);
  });
}

struct FunctionState {
  kernels::UnaryF32Fn* function = nullptr;
  float a = 0;
  std::size_t x_zero = 2, y_scale = 3, y_zero = 4;  // inputs
};
constexpr std::size_t kNoInput = 99;

// X, its scale and zero point, those of Y.
void RunFunction(KernelContext& c) {
  const auto& state = c.state<FunctionState>();
  const DType dtype = c.Input(0).dtype;
  const QuantizedScale x = ReadScale(c, 1, state.x_zero), y = ReadScale(c, state.y_scale, state.y_zero);
  std::array<float, 256> values = {};
  std::array<std::uint8_t, 256> table = {};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(i);
    values[i] =
        (static_cast<float>(dtype == DType::kInt8 ? static_cast<std::int8_t>(byte) : int{byte}) - x.zero) * x.scale;
  }
  state.function(values.data(), values.data(), values.size(), state.a, 0);
  const float low = dtype == DType::kInt8 ? -128.0f : 0.0f;
  kernels::Quantization().quantize(dtype, true)(values.data(), &y.scale, &y.zero, low, low + 255, values.size(),
                                                table.data());
  RunLookup(c, table.data());
}

}  // namespace

Prepared PrepareQLinearSigmoid(PrepareContext&) {
  return WithState(RunFunction, FunctionState{kernels::UnaryF32(kernels::UnaryKind::kSigmoid), 1});
}
Prepared PrepareQLinearLeakyRelu(PrepareContext& c) {
  return WithState(RunFunction,
                   FunctionState{kernels::UnaryF32(kernels::UnaryKind::kLeakyRelu), c.Float("alpha", 0.01f)});
}

// X, its scale and that of Y, in any memory order.
Prepared PrepareQOrderedGelu(PrepareContext& c) {
  if (c.Int("order_X", 1) != c.Int("order_Y", c.Int("order_X", 1))) {
    c.Fail(Code::kInvalidArgument, "attribute 'order_Y': expected that of X, ", c.Int("order_X", 1), ", found ",
           c.Int("order_Y"));
  }
  return WithState(RunFunction, FunctionState{kernels::UnaryF32(kernels::UnaryKind::kGelu), 0, kNoInput, 2, kNoInput});
}

// Lookup8: X and a table of 256 results, one for each byte that X may hold.
static void RunTable(KernelContext& c) {
  const TensorRef& table = c.Input(1);
  if (table.count != 256) Fail(Code::kInvalidArgument, "table: expected 256 elements, found ", table.count);
  RunLookup(c, table.As<const std::uint8_t>());
}

void InferLookup8(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(1));
  c.SetOutput(0, c.InputDType(1), c.InputDims(0));
}

Prepared PrepareLookup8(PrepareContext& c) {
  if (Bits(c.InputDType(1)) != 8) c.Unsupported("input 'table'", c.InputDType(1));
  return {.run = RunTable, .state = nullptr};
}

}  // namespace sardonyx::ops
