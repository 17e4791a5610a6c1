// ops/quantized/quantize.cpp - QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear, of ai.onnx and
// com.microsoft; the rows of 8-bit elementwise operators (quantized_elementwise.cpp).
#include "kernels/elementwise/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elementwise/quantized_binary.h"
#include "ops/cost_context.h"
#include "ops/elementwise.h"
#include "ops/quantized/quantize_layout.h"
#include "ops/quantized_operators.h"
#include "ops/registry.h"
#include "ops/shapes/layout_axes.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

using kernels::FromFloatsFn;
using kernels::ToFloatsFn;

// Scales and zero points of a run as floats, a block at a time.
class Parameters {
 public:
  Parameters(ToFloatsFn* load_scale, ToFloatsFn* load_zero, KernelContext& c)
      : load_scale_(load_scale),
        load_zero_(load_zero),
        scales_(c.Input(1)),
        zeros_(c.HasInput(2) ? &c.Input(2) : nullptr) {}
  // Of the run's elements from `at` on, n of them.
  void Read(const ScaleRun& r, std::int64_t at, std::size_t n, float* scale, float* zero) const {
    const std::int64_t first = r.repeated ? r.scale : r.scale + at;
    const std::size_t count = r.repeated ? 1 : n;
    load_scale_(scales_.data, first, count, scale);
    if (zeros_ != nullptr) {
      load_zero_(zeros_->data, first, count, zero);
    } else {
      std::fill_n(zero, count, 0.0f);
    }
  }

 private:
  ToFloatsFn *load_scale_, *load_zero_;
  const TensorRef& scales_;
  const TensorRef* zeros_;
};

// The same shape as the scales, or one element like them.
void CheckZeroPoint(KernelContext& c) {
  if (c.HasInput(2) && c.Input(2).count != c.Input(1).count)
    Fail(Code::kInvalidArgument, "zero point: expected the shape of the scale, ", ToText(c.Input(1).shape), ", found ",
         ToText(c.Input(2).shape));
}

std::pair<float, float> IntegerRange(DType dtype) {
  const int bits = Bits(dtype);
  if (!IsSigned(dtype)) return {0.0f, std::ldexp(1.0f, bits) - 1};
  return {-std::ldexp(1.0f, bits - 1), std::ldexp(1.0f, bits - 1) - 1};
}

// ---- QuantizeLinear

struct Quantizer {
  std::int64_t axis = 1, block_size = 0;
  DType x_type = DType::kUndefined;
  ToFloatsFn *load = nullptr, *load_scale = nullptr, *load_zero = nullptr;
  kernels::QuantizeFn *repeated = nullptr, *each = nullptr;  // integers; packed ones as floats
  float low = 0, high = 0;
  FromFloatsFn* store = nullptr;           // packed integers, and float types
  bool adds_zero = false;                  // float types with a zero point other than 0: float4
  std::size_t size = 0;                    // bytes of an element that needs no store
  FromFloatsFn* round_quotient = nullptr;  // the division is to be in this type
  ToFloatsFn* unround_quotient = nullptr;
};

// The quotient in the precision that the node asks for, where that is not float.
void DivideNarrow(const Quantizer& q, float* x, float* scale, bool repeated, std::size_t n) {
  std::uint16_t narrow[kFloatBlock];
  for (std::size_t i = 0; i < n; ++i) x[i] /= scale[repeated ? 0 : i];
  q.round_quotient(x, n, narrow, 0);
  q.unround_quotient(narrow, 0, n, x);
  std::fill_n(scale, repeated ? 1 : n, 1.0f);
}

void QuantizeRun(const Quantizer& q, const Parameters& parameters, const ScaleRun& r, const TensorRef& x,
                 const OutputRef& y) {
  alignas(64) float in[kFloatBlock], scale[kFloatBlock], zero[kFloatBlock];
  for (std::int64_t i = 0; i < r.count; i += kFloatBlock) {
    const std::size_t n = std::min(kFloatBlock, static_cast<std::size_t>(r.count - i));
    const std::int64_t at = r.begin + i;
    parameters.Read(r, i, n, scale, zero);
    const float* from = x.As<const float>() + at;
    if (q.load != nullptr || q.round_quotient != nullptr) {
      kernels::ToFloats(q.x_type)(x.data, at, n, in);
      from = in;
    }
    if (q.round_quotient != nullptr) DivideNarrow(q, in, scale, r.repeated, n);
    if (q.repeated == nullptr) {  // a float type
      for (std::size_t k = 0; k < n; ++k) {
        const std::size_t p = r.repeated ? 0 : k;
        in[k] = from[k] / scale[p] + (q.adds_zero ? zero[p] : 0.0f);
      }
      q.store(in, n, y.data, at);
      continue;
    }
    void* to = q.store != nullptr ? in : static_cast<void*>(y.As<char>() + at * static_cast<std::int64_t>(q.size));
    (r.repeated ? q.repeated : q.each)(from, scale, zero, q.low, q.high, n, to);
    if (q.store != nullptr) q.store(in, n, y.data, at);
  }
}

// int32 over int32: exact in double, as ONNX's reference divides. Float types take the quotient as it is.
void QuantizeIntRun(const Quantizer& q, const Parameters& parameters, const ScaleRun& r, const TensorRef& x,
                    const TensorRef& scales, const OutputRef& y) {
  for (std::int64_t i = 0; i < r.count; ++i) {
    float scale = 0, zero = 0;
    parameters.Read(r, i, 1, &scale, &zero);
    const std::int32_t divisor = scales.As<const std::int32_t>()[r.repeated ? r.scale : r.scale + i];
    const double exact = static_cast<double>(x.As<const std::int32_t>()[r.begin + i]) / divisor;
    const bool rounds = q.repeated != nullptr;
    const double quotient = rounds ? std::nearbyint(exact) + zero : exact + (q.adds_zero ? zero : 0);
    auto value = static_cast<float>(quotient);
    if (rounds) value = quotient >= q.low ? static_cast<float>(std::min<double>(quotient, q.high)) : q.low;
    q.store(&value, 1, y.data, r.begin + i);
  }
}

void RunQuantize(KernelContext& c) {
  const auto& q = c.state<Quantizer>();
  const TensorRef &x = c.Input(0), &scales = c.Input(1);
  const OutputRef y = c.Output(0);
  if (x.count == 0) return;
  CheckZeroPoint(c);
  const QuantizeLayout layout(x.shape, scales.shape, q.axis, q.block_size);
  const Parameters parameters(q.load_scale, q.load_zero, c);
  const bool ints = scales.dtype == DType::kInt32;
  c.parallel().For(x.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    layout.ForRange(begin, end, [&](const ScaleRun& r) {
      ints ? QuantizeIntRun(q, parameters, r, x, scales, y) : QuantizeRun(q, parameters, r, x, y);
    });
  });
}

DType QuantizedType(const AttributeReader& c, DType zero_point) {
  const DType asked = c.DTypeAttribute("output_dtype", DType::kUndefined);
  if (zero_point == DType::kUndefined) return asked == DType::kUndefined ? DType::kUInt8 : asked;
  if (asked != DType::kUndefined && asked != zero_point)
    c.Fail(Code::kInvalidGraph, "attribute 'output_dtype': expected the zero point's type ", Name(zero_point),
           ", found ", Name(asked));
  return zero_point;
}

void CheckBlockSize(const AttributeReader& c, std::int64_t block_size) {
  if (block_size < 0) c.Fail(Code::kInvalidArgument, "attribute 'block_size': expected at least 0, found ", block_size);
}

Prepared PrepareQuantize(PrepareContext& c) {
  const DType to = QuantizedType(c, c.InputDType(2)), scale = c.InputDType(1);
  Quantizer q = {.axis = c.Int("axis", 1), .block_size = c.Int("block_size", 0), .x_type = c.InputDType(0)};
  CheckBlockSize(c, q.block_size);
  if (q.x_type != DType::kFloat) q.load = kernels::ToFloats(q.x_type);
  q.load_scale = kernels::ToFloats(scale);
  q.load_zero = kernels::ToFloats(to);
  if (q.load_scale == nullptr) c.Unsupported("input 'y_scale'", scale);
  const DType precision = c.DTypeAttribute("precision", c.node().domain.empty() ? scale : DType::kFloat);
  if (precision == DType::kFloat16 || precision == DType::kBFloat16) {
    q.round_quotient = kernels::FromFloats(precision);
    q.unround_quotient = kernels::ToFloats(precision);
  }
  const bool ints = scale == DType::kInt32;
  if (ints && q.x_type != DType::kInt32) c.Unsupported("an int32 scale and input 'x'", q.x_type);
  if (IsFloating(to)) {
    q.store = kernels::FromFloats(to, {.saturate = c.Flag("saturate", true)});
    q.adds_zero = to == DType::kFloat4E2M1 && c.HasInput(2);
    return WithState(RunQuantize, q);
  }
  if (!IsInteger(to) || Bits(to) > 16) c.Unsupported("an output", to);
  std::tie(q.low, q.high) = IntegerRange(to);
  const bool packed = Bits(to) < 8;
  q.size = packed ? 0 : static_cast<std::size_t>(Bits(to) / 8);
  q.repeated = kernels::Quantization().quantize(packed ? DType::kFloat : to, true);
  q.each = kernels::Quantization().quantize(packed ? DType::kFloat : to, false);
  if (packed || ints) q.store = kernels::FromFloats(to);
  return WithState(RunQuantize, q);
}

// Before version 23, which brought `precision`, no text says in which type to divide: ONNX Runtime takes float.
void UpgradeQuantize(UpgradeContext& c) {
  if (c.version() < 23) c.SetAttribute("precision", static_cast<std::int64_t>(DType::kFloat));
}

void InferQuantize(InferContext& c) {
  const DType to = QuantizedType(c, c.InputDType(2));
  if (c.HasRank(0)) return c.SetOutput(0, to, c.InputDims(0));
  c.SetOutput(0, to);
}

// ---- DequantizeLinear

struct Dequantizer {
  std::int64_t axis = 1, block_size = 0;
  ToFloatsFn *load = nullptr, *load_scale = nullptr;
  FromFloatsFn* store = nullptr;            // outputs other than float
  kernels::Dequantize8Fn* bytes = nullptr;  // from 8-bit integers to float
};

void DequantizeRun(const Dequantizer& q, const Parameters& parameters, const ScaleRun& r, const TensorRef& x,
                   const OutputRef& y) {
  alignas(64) float block[kFloatBlock], scale[kFloatBlock], zero[kFloatBlock];
  if (r.repeated && q.bytes != nullptr) {
    parameters.Read(r, 0, 1, scale, zero);
    return q.bytes(x.As<const std::uint8_t>() + r.begin, *scale, *zero, static_cast<std::size_t>(r.count),
                   y.As<float>() + r.begin);
  }
  const kernels::QuantizeTable& table = kernels::Quantization();
  kernels::DequantizeFn* const dequantize = r.repeated ? table.repeated_dequantize : table.dequantize;
  for (std::int64_t i = 0; i < r.count; i += kFloatBlock) {
    const std::size_t n = std::min(kFloatBlock, static_cast<std::size_t>(r.count - i));
    const std::int64_t at = r.begin + i;
    if (i == 0 || !r.repeated) parameters.Read(r, i, n, scale, zero);
    q.load(x.data, at, n, block);
    dequantize(block, scale, zero, n, q.store == nullptr ? y.As<float>() + at : block);
    if (q.store != nullptr) q.store(block, n, y.data, at);
  }
}

void RunDequantize(KernelContext& c) {
  const auto& q = c.state<Dequantizer>();
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  if (x.count == 0) return;
  CheckZeroPoint(c);
  const QuantizeLayout layout(x.shape, c.Input(1).shape, q.axis, q.block_size);
  const Parameters parameters(q.load_scale, q.load, c);
  c.parallel().For(x.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    layout.ForRange(begin, end, [&](const ScaleRun& r) { DequantizeRun(q, parameters, r, x, y); });
  });
}

Prepared PrepareDequantize(PrepareContext& c) {
  const DType from = c.InputDType(0), to = c.OutputDType(0);
  Dequantizer q = {.axis = c.Int("axis", 1), .block_size = c.Int("block_size", 0)};
  CheckBlockSize(c, q.block_size);
  if (c.HasInput(2) && c.InputDType(2) != DType::kUndefined && c.InputDType(2) != from)
    c.Fail(Code::kInvalidGraph, "zero point: expected type ", Name(from), " as x has, found ", Name(c.InputDType(2)));
  q.load = kernels::ToFloats(from);
  q.load_scale = kernels::ToFloats(c.InputDType(1));
  if (q.load == nullptr) c.Unsupported("input 'x'", from);
  if (!IsFloating(c.InputDType(1))) c.Unsupported("input 'x_scale'", c.InputDType(1));
  if (!kIeeeFloats.Has(to)) c.Unsupported("an output", to);
  if (to != DType::kFloat) q.store = kernels::FromFloats(to);
  if (to == DType::kFloat && from == DType::kInt8) q.bytes = kernels::Quantized8().dequantize_signed;
  if (to == DType::kFloat && from == DType::kUInt8) q.bytes = kernels::Quantized8().dequantize_unsigned;
  return WithState(RunDequantize, q);
}

void InferDequantize(InferContext& c) {
  const DType to = c.DTypeAttribute("output_dtype", c.InputDType(1));
  if (c.HasRank(0)) return c.SetOutput(0, to, c.InputDims(0));
  c.SetOutput(0, to);
}

// ---- DynamicQuantizeLinear

void RunDynamicQuantize(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  float* ranges = c.Scratch<float>(std::max<std::size_t>(2, kernels::DynamicRangeFloats(x.count)));
  const kernels::DynamicScale scale =
      kernels::QuantizeDynamically(x.As<const float>(), x.count, c.Output(0).As<std::uint8_t>(), ranges, c.parallel());
  if (c.HasOutput(1)) *c.Output(1).As<float>() = scale.scale;
  if (c.HasOutput(2)) *c.Output(2).As<std::uint8_t>() = scale.zero;
}
Prepared PrepareDynamicQuantize(PrepareContext&) { return {.run = RunDynamicQuantize, .state = nullptr}; }

void InferDynamicQuantize(InferContext& c) {
  if (c.HasRank(0)) {
    c.SetOutput(0, DType::kUInt8, c.InputDims(0));
  } else {
    c.SetOutput(0, DType::kUInt8);
  }
  c.SetOutput(1, DType::kFloat, {});
  c.SetOutput(2, DType::kUInt8, {});
}

constexpr DTypeSet kQuantizable = {DType::kFloat, DType::kFloat16, DType::kBFloat16, DType::kInt32};
constexpr DTypeSet kQuantized =
    kSubBytes | kFloat8s | DTypeSet{DType::kInt8, DType::kUInt8, DType::kInt16, DType::kUInt16, DType::kInt32};

// One scale, or a scale for each index of an axis; blocks lie along an axis of the scales, too.
bool DescribeQuantization(const Graph& graph, const Node& node, NodeLayout& layout) {
  if (IntAttribute(node, "block_size", 0) != 0 || !DescribeMain(graph, node, layout)) return false;
  const Type& scale = InputType(graph, node, 1);
  if (!scale.HasStaticShape() || scale.rank() > 1) return false;
  std::vector<std::int64_t> axis = {IntAttribute(node, "axis", 1)};
  return scale.rank() == 0 || scale.dims[0] == Dim(1) || NormalizeAxes(axis, InputType(graph, node, 0).rank());
}

void ChangeQuantization(const LayoutChange& c) {
  const Type& scale = c.input_types[1];
  if (scale.rank() == 1 && scale.dims[0] != Dim(1)) ChangeAxis<1>(c);
}

constexpr LayoutDef kQuantizationLayout = {"its axis is mapped", DescribeQuantization, ChangeQuantization};
constexpr LayoutDef kLookupLayout = {"either", DescribeMain};

constexpr OpDef kQuantizeOps[] = {
    {.name = "DequantizeLinear",
     .since = {10, 13, 19, 21, 23, 24, 25, 28},
     .types = kQuantized,
     .infer = InferDequantize,
     .prepare = PrepareDequantize,
     .cost = CountTwicePerOutput,
     .layout = &kQuantizationLayout},
    {.domain = "com.microsoft",
     .name = "DequantizeLinear",
     .since = {1},
     .types = kQuantized,
     .infer = InferDequantize,
     .prepare = PrepareDequantize,
     .cost = CountTwicePerOutput},
    {.name = "DynamicQuantizeLinear",
     .since = {11},
     .types = {DType::kFloat},
     .infer = InferDynamicQuantize,
     .prepare = PrepareDynamicQuantize,
     .cost = CountTwicePerOutput},
    {.name = "QuantizeLinear",
     .since = {10, 13, 19, 21, 23, 24, 25, 28},
     .types = kQuantizable,
     .infer = InferQuantize,
     .prepare = PrepareQuantize,
     .upgrade = UpgradeQuantize,
     .cost = CountTwicePerOutput,
     .layout = &kQuantizationLayout},
    {.domain = "com.microsoft",
     .name = "QuantizeLinear",
     .since = {1},
     .types = kQuantizable,
     .infer = InferQuantize,
     .prepare = PrepareQuantize,
     .cost = CountTwicePerOutput},
    {.domain = "ai.sardonyx",
     .name = "Lookup8",
     .since = {1},
     .types = kQuantized8,
     .infer = InferLookup8,
     .prepare = PrepareLookup8,
     .cost = CountNothing,
     .layout = &kLookupLayout,
     .traits = kMayAlias},
    {.domain = "com.microsoft",
     .name = "QLinearAdd",
     .since = {1},
     .types = kQuantized8,
     .infer = InferQLinearBinary,
     .prepare = PrepareQLinearAdd,
     .traits = kMayAlias | kElementwise},
    {.domain = "com.microsoft",
     .name = "QLinearLeakyRelu",
     .since = {1},
     .types = kQuantized8,
     .infer = InferSameType,
     .prepare = PrepareQLinearLeakyRelu,
     .traits = kMayAlias | kElementwise},
    {.domain = "com.microsoft",
     .name = "QLinearMul",
     .since = {1},
     .types = kQuantized8,
     .infer = InferQLinearBinary,
     .prepare = PrepareQLinearMul,
     .traits = kMayAlias | kElementwise},
    {.domain = "com.microsoft",
     .name = "QLinearSigmoid",
     .since = {1},
     .types = kQuantized8,
     .infer = InferSameType,
     .prepare = PrepareQLinearSigmoid,
     .traits = kMayAlias | kElementwise},
    {.domain = "com.microsoft",
     .name = "QOrderedGelu",
     .since = {1},
     .types = {DType::kInt8},
     .infer = InferSameType,
     .prepare = PrepareQOrderedGelu,
     .traits = kMayAlias | kElementwise},
};

}  // namespace

std::span<const OpDef> QuantizeOps() { return kQuantizeOps; }

}  // namespace sardonyx::ops
