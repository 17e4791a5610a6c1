// ops/quantized/ordered_int8.cpp - com.microsoft QuantizeWithOrder, DequantizeWithOrder, QOrderedLayerNormalization and
// QOrderedMatMul: 8-bit operators whose matrices lie in an order of cuBLASLt. ONNX Runtime runs them on a GPU only and
// with fewer orders.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/quantize.h"
#include "kernels/gemm/gemm_int8.h"
#include "kernels/norm/affine_f32.h"
#include "kernels/reduce/reduce_f32.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/quantized_operators.h"
#include "ops/registry.h"
#include "ops/shapes/memory_order.h"
#include "tensor/packing.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kNone = 99;  // no such input

float ScaleOf(KernelContext& c, std::size_t input) {
  const float scale = ReadScale(c, input, kNone).scale;
  if (!(scale > 0)) Fail(Code::kInvalidArgument, "input ", input, ": expected a scale above 0, found ", scale);
  return scale;
}

// ---- QuantizeWithOrder, DequantizeWithOrder

struct OrderState {
  Order from = Order::kRow, to = Order::kRow;
};

OrderState ReadOrders(const AttributeReader& c) { return {ReadOrder(c, "order_input"), ReadOrder(c, "order_output")}; }

Matrices CheckedMatrices(KernelContext& c, const OrderState& state) {
  const Matrices matrices = Matrices::Of(c.Input(0).shape);
  CheckTiles(state.from, matrices, "input 0 ('input')");
  CheckTiles(state.to, matrices, "the output");
  return matrices;
}

void InferQuantize(InferContext& c) {
  Type type = c.InputType(0);
  type.dtype = DType::kInt8;
  c.SetOutputType(0, type);
}

void RunQuantize(KernelContext& c) {
  const OrderState& state = c.state<OrderState>();
  const Matrices matrices = CheckedMatrices(c, state);
  const float scale = ScaleOf(c, 1);
  if (c.Output(0).count == 0) return;
  Operands io(c, DType::kFloat, 1u << 1, 1u << 0);
  const std::size_t bytes = io.Add(state.from == state.to ? 0 : static_cast<std::size_t>(matrices.count()));
  const Operands::Computing computing(io);
  auto* y = c.Output(0).As<std::int8_t>();
  std::int8_t* quantized = state.from == state.to ? y : io.At<std::int8_t>(bytes);
  QuantizeBytes(io.In<float>(0), matrices.count(), scale, quantized, c.parallel());
  if (quantized != y) Reorder(matrices, state.from, state.to, quantized, y, c.parallel());
}

Prepared PrepareQuantize(PrepareContext& c) { return WithState(RunQuantize, ReadOrders(c)); }

void InferDequantize(InferContext& c) {
  Type type = c.InputType(0);
  type.dtype = c.DTypeAttribute("to", DType::kFloat);
  if (type.dtype != DType::kFloat && type.dtype != DType::kFloat16)
    c.Fail(Code::kInvalidArgument, "attribute 'to': expected float or float16, found ", Name(type.dtype));
  c.SetOutputType(0, type);
}

void RunDequantize(KernelContext& c) {
  const OrderState& state = c.state<OrderState>();
  const Matrices matrices = CheckedMatrices(c, state);
  const float scale = ScaleOf(c, 1);
  if (c.Output(0).count == 0) return;
  Operands io(c, DType::kFloat, 3);
  const std::size_t bytes = io.Add(state.from == state.to ? 0 : static_cast<std::size_t>(matrices.count()));
  const Operands::Computing computing(io);
  const auto* x = c.Input(0).As<std::int8_t>();
  if (state.from != state.to) {
    Reorder(matrices, state.from, state.to, x, io.At<std::int8_t>(bytes), c.parallel());
    x = io.At<std::int8_t>(bytes);
  }
  DequantizeBytes(x, matrices.count(), scale, io.Out<float>(0), c.parallel());
}

Prepared PrepareDequantize(PrepareContext& c) { return WithState(RunDequantize, ReadOrders(c)); }

// ---- QOrderedLayerNormalization: X, scale_X, scale, B, scale_Y

struct NormState {
  double epsilon = 0;
  std::int64_t axis = -1;
};

void InferNorm(InferContext& c) {
  if (c.HasRank(0)) AxisOf(c, c.Int("axis", -1), c.Rank(0));
  c.SetOutputType(0, c.InputType(0));
}

void RunNorm(KernelContext& c) {
  const NormState& state = c.state<NormState>();
  const Dims shape = c.Input(0).shape;
  const float x_scale = ScaleOf(c, 1), y_scale = ScaleOf(c, 4);
  const std::int64_t n = ElementCount(shape, NormalizeAxis(state.axis, shape.size()), shape.size());
  for (const std::size_t i : {2u, 3u}) {
    if (c.HasInput(i) && c.Input(i).count != n)
      Fail(Code::kInvalidArgument, "input ", i, ": expected ", n, " values, found shape ", ToText(c.Input(i).shape));
  }
  if (c.Output(0).count == 0) return;
  constexpr std::uint32_t kBytes = 1u << 0 | 1u << 1 | 1u << 4;
  Operands io(c, DType::kFloat, kBytes, 1u << 0);
  const Operands::Computing computing(io);
  const float *gamma = io.In<float>(2), *beta = io.In<float>(3), zero = 0;
  const auto* x = c.Input(0).As<std::int8_t>();
  auto* y = c.Output(0).As<std::int8_t>();
  const auto& reduce = kernels::ReduceF32();
  const auto quantize = kernels::Quantization().quantize(DType::kInt8, true);
  c.parallel().For(
      c.Input(0).count / n, std::max<std::int64_t>(1, 8192 / n), [&](std::int64_t begin, std::int64_t end) {
        std::vector<float> row(static_cast<std::size_t>(n));
        for (std::int64_t i = begin; i < end; ++i) {
          kernels::ToFloats(DType::kInt8)(x, i * n, row.size(), row.data());
          kernels::Quantization().repeated_dequantize(row.data(), &x_scale, &zero, row.size(), row.data());
          const auto mean =
              static_cast<float>(reduce.row(kernels::ReduceKind::kSum, row.data(), n) / static_cast<double>(n));
          const double variance = reduce.sum_squared_deviations(row.data(), n, mean) / static_cast<double>(n);
          const auto factor = static_cast<float>(1 / std::sqrt(variance + state.epsilon));
          kernels::AffineF32().row(row.data(), n, mean, factor, gamma, beta, row.data());
          quantize(row.data(), &y_scale, &zero, -128, 127, row.size(), y + i * n);
        }
      });
}

Prepared PrepareNorm(PrepareContext& c) {
  ExpectRows(c, "order_X");
  ExpectRows(c, "order_Y");
  return WithState(RunNorm, NormState{static_cast<double>(c.Float("epsilon", 1e-5f)), c.Int("axis", -1)});
}

// ---- QOrderedMatMul: A, scale_A, B, scale_B, scale_Y, bias, C, scale_C

constexpr std::size_t kA = 0, kScaleA = 1, kB = 2, kScaleB = 3, kScaleY = 4, kBias = 5, kC = 6, kScaleC = 7;

struct ProductState {
  Order a = Order::kRow, b = Order::kColumn, y = Order::kRow;
  Tensor packed;  // B, if it is a constant matrix
  Shape b_shape;
};

void InferProduct(InferContext& c) {
  if (!c.HasRank(kA)) return c.SetOutput(0, DType::kInt8);
  std::vector<Dim> dims = c.InputDims(kA);
  for (const std::size_t i : {kA, kB, kC}) {
    if (!c.HasInput(i) || !c.HasRank(i) || c.Rank(i) == 2 || c.Rank(i) == 3) continue;
    c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected 2 or 3 dimensions, found ", c.InputType(i).ToText());
  }
  dims.back() = c.HasRank(kB) ? c.InputDims(kB).back() : Dim();
  c.SetOutput(0, DType::kInt8, std::move(dims));
}

struct ProductSizes {
  Matrices a, b, y;
};

ProductSizes CheckedSizes(KernelContext& c, const ProductState& state) {
  ProductSizes s{Matrices::Of(c.Input(kA).shape),
                 Matrices::Of(state.packed.defined() ? Dims(state.b_shape) : c.Input(kB).shape),
                 {}};
  s.y = {s.a.batch, s.a.rows, s.b.columns};
  CheckTiles(state.a, s.a, "input 0 ('A')");
  CheckTiles(state.b, s.b, "input 2 ('B')");
  CheckTiles(state.y, s.y, "the output");
  if (s.a.columns != s.b.rows || (s.b.batch != 1 && s.b.batch != s.a.batch)) {
    Fail(Code::kInvalidArgument, "input 2 ('B'): expected matrices of ", s.a.columns, " rows, 1 or ", s.a.batch,
         " of them, found ", s.b.batch, " of ", s.b.rows, " rows");
  }
  for (const std::size_t i : {kScaleB, kBias}) {
    if (c.HasInput(i) && c.Input(i).count != s.y.columns && (i == kBias || c.Input(i).count != 1)) {
      Fail(Code::kInvalidArgument, "input ", i, ": expected ", i == kBias ? "" : "1 or ", s.y.columns,
           " values, found shape ", ToText(c.Input(i).shape));
    }
  }
  if (!c.HasInput(kC)) return s;
  const Matrices given = Matrices::Of(c.Input(kC).shape);
  if (given.rows != s.y.rows || given.columns != s.y.columns || (given.batch != 1 && given.batch != s.y.batch)) {
    Fail(Code::kInvalidArgument, "input 6 ('C'): expected 1 or ", s.y.batch, " matrices of ", s.y.rows, " x ",
         s.y.columns, ", found shape ", ToText(c.Input(kC).shape));
  }
  if (!c.HasInput(kScaleC)) Fail(Code::kInvalidArgument, "expected the input 'scale_C' because C is there, found none");
  return s;
}

// A product's arrays in scratch memory. Matrices that lie row by row are used where they are.
class OrderedProduct {
 public:
  explicit OrderedProduct(KernelContext& c)
      : c_(c), state_(c.state<ProductState>()), s_(CheckedSizes(c, state_)), count_(s_.y.count()) {}

  void Run() {
    const float y_scale = ScaleOf(c_, kScaleY), a_scale = ScaleOf(c_, kScaleA);
    if (count_ == 0) return;
    SetArgs();
    const auto columns = static_cast<std::size_t>(s_.y.columns);
    const std::size_t a_at = AddCopy(state_.a, s_.a),
                      b_at = AddCopy(state_.packed.defined() ? Order::kRow : state_.b, s_.b);
    const std::size_t z_at = AddCopy(state_.y, s_.y), sums_at = layout_.Add<float>(static_cast<std::size_t>(count_));
    const std::size_t factors_at = layout_.Add<float>(columns), bias_at = layout_.Add<float>(columns);
    const std::size_t gemm_at = layout_.Add(kernels::GemmInt8ScratchBytes(args_, c_.parallel().ThreadCount()));
    block_ = c_.Scratch(layout_.bytes());
    args_.a = Rows(kA, state_.a, s_.a, a_at);
    if (!state_.packed.defined()) args_.b = Rows(kB, state_.b, s_.b, b_at);
    auto *factors = At<float>(factors_at), *bias = At<float>(bias_at), *sums = At<float>(sums_at);
    const TensorRef& b_scales = c_.Input(kScaleB);
    for (std::int64_t j = 0; j < s_.y.columns; ++j) {
      factors[j] = a_scale * b_scales.As<float>()[b_scales.count == 1 ? 0 : j] / y_scale;
      bias[j] = c_.HasInput(kBias) ? c_.Input(kBias).As<float>()[j] / y_scale : 0;
    }
    args_.scales = factors, args_.float_bias = bias, args_.c = sums;
    kernels::GemmInt8(args_, c_.parallel(), block_ + gemm_at);
    if (c_.HasInput(kC)) AddC(sums, ScaleOf(c_, kScaleC) / y_scale, z_at);
    auto* y = c_.Output(0).As<std::int8_t>();
    std::int8_t* rows = state_.y == Order::kRow ? y : At<std::int8_t>(z_at);
    QuantizeBytes(sums, count_, 1, rows, c_.parallel());
    if (rows != y) Reorder(s_.y, Order::kRow, state_.y, rows, y, c_.parallel());
  }

 private:
  template <typename T>
  T* At(std::size_t at) const {
    return static_cast<T*>(static_cast<void*>(block_ + at));
  }
  std::size_t AddCopy(Order order, const Matrices& matrices) {
    return layout_.Add(order == Order::kRow ? 0 : static_cast<std::size_t>(matrices.count()));
  }
  const std::int8_t* Rows(std::size_t input, Order order, const Matrices& matrices, std::size_t at) {
    const auto* x = c_.Input(input).As<std::int8_t>();
    if (order == Order::kRow) return x;
    Reorder(matrices, order, Order::kRow, x, At<std::int8_t>(at), c_.parallel());
    return At<std::int8_t>(at);
  }

  void SetArgs() {
    args_.m = s_.y.rows, args_.n = s_.y.columns, args_.k = s_.a.columns;
    args_.lda = args_.k, args_.ldb = args_.ldc = args_.n;
    args_.a_signed = args_.b_signed = true;
    args_.result = kernels::Int8Result::kFloats;
    args_.scale_per_column = true;
    if (state_.packed.defined()) args_.packed_b = state_.packed.raw();
    if (s_.b.batch == 1) {
      args_.m *= s_.y.batch;
      return;
    }
    args_.batch = s_.y.batch;
    args_.a_batch_stride = s_.y.rows * args_.k;
    args_.b_batch_stride = args_.k * args_.n;
    args_.c_batch_stride = s_.y.rows * args_.n;
  }

  void AddC(float* sums, float factor, std::size_t at) {
    const Matrices given = Matrices::Of(c_.Input(kC).shape);
    const std::int8_t* z = Rows(kC, state_.y, given, at);
    const std::int64_t period = given.count();
    c_.parallel().For(count_, 16384, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) sums[i] += factor * static_cast<float>(z[i % period]);
    });
  }

  KernelContext& c_;
  const ProductState& state_;
  ProductSizes s_;
  std::int64_t count_;
  kernels::GemmInt8Args args_;
  ScratchLayout layout_;
  std::byte* block_ = nullptr;
};

void RunOrderedProduct(KernelContext& c) { OrderedProduct(c).Run(); }

void PackB(PrepareContext& c, ProductState& state) {
  const Tensor* b = c.Constant(kB);
  if (b == nullptr || b->count() == 0 || b->shape().rank() > 3) return;
  const Matrices matrices = Matrices::Of(b->shape());
  if (matrices.batch != 1) return;
  CheckTiles(state.b, matrices, "input 2 ('B')");
  const std::int64_t k = matrices.rows, n = matrices.columns;
  const auto bytes = static_cast<std::int64_t>(kernels::GemmInt8PackedBytes(k, n));
  state.b_shape = b->shape();
  state.packed = Packed(DType::kUInt8, Shape{bytes}, [&](Tensor& packed) {
    Tensor rows(DType::kInt8, Shape{k, n});
    Reorder(matrices, state.b, Order::kRow, b->data<std::int8_t>(), rows.data<std::int8_t>(), c.parallel());
    kernels::PackGemmInt8B(k, n, rows.raw(), n, true, packed.raw(), c.parallel());
  });
  c.MarkPacked(kB);
}

Prepared PrepareProduct(PrepareContext& c) {
  ProductState state{ReadOrder(c, "order_A"), ReadOrder(c, "order_B"), ReadOrder(c, "order_Y"), {}, {}};
  if (state.a != state.y) {
    c.Fail(Code::kInvalidArgument, "attribute 'order_Y': expected that of A, ", Name(state.a), ", found ",
           Name(state.y));
  }
  PackB(c, state);
  return WithState(RunOrderedProduct, std::move(state));
}

constexpr OpDef Row(std::string_view name, DTypeSet types, InferFn* infer, PrepareFn* prepare, CostFn* cost = nullptr) {
  return {.domain = "com.microsoft",
          .name = name,
          .since = {1},
          .types = types,
          .infer = infer,
          .prepare = prepare,
          .cost = cost};
}

constexpr OpDef kOrderedInt8Ops[] = {
    Row("DequantizeWithOrder", {DType::kInt8}, InferDequantize, PrepareDequantize),
    Row("QOrderedLayerNormalization", {DType::kInt8}, InferNorm, PrepareNorm, CountNormalization),
    Row("QOrderedMatMul", {DType::kInt8}, InferProduct, PrepareProduct, CountProduct),
    Row("QuantizeWithOrder", {DType::kFloat, DType::kFloat16}, InferQuantize, PrepareQuantize),
};

}  // namespace

std::span<const OpDef> OrderedInt8Ops() { return kOrderedInt8Ops; }

}  // namespace sardonyx::ops
