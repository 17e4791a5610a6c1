// ops/quantized_matmul.cpp - MatMulInteger and QLinearMatMul: exact 8-bit products, float8 through float.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/gemm/gemm_int8.h"
#include "ops/matmul_shape.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/product.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr DTypeSet kInt8s = {DType::kInt8, DType::kUInt8};
constexpr DTypeSet kQuantized =
    kInt8s | DTypeSet{DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ};

void InferInteger(InferContext& c) {
  if (!c.HasRank(0) || !c.HasRank(1)) return c.SetOutput(0, DType::kInt32);
  c.SetOutput(0, DType::kInt32, MatMulDims(c, c.InputDims(0), c.InputDims(1)));
}

void InferQLinear(InferContext& c) {
  const DType dtype = c.InputDType(7);
  if (!c.HasRank(0) || !c.HasRank(3)) return c.SetOutput(0, dtype);
  c.SetOutput(0, dtype, MatMulDims(c, c.InputDims(0), c.InputDims(3)));
}

// Constant B of rank 2, packed once (its zero points stay inputs); undefined if B is none.
struct QuantizedState {
  Tensor packed;
  Shape b;
  bool b_signed = false;
};

QuantizedState PackB(PrepareContext& c, std::size_t input) {
  QuantizedState state;
  const Tensor* b = c.Constant(input);
  if (b == nullptr || b->shape().rank() != 2 || b->count() == 0 || !kInt8s.Has(b->dtype())) return state;
  Serial serial;
  const std::int64_t k = b->shape()[0], n = b->shape()[1];
  state.b = b->shape();
  state.b_signed = b->dtype() == DType::kInt8;
  state.packed = Tensor(DType::kUInt8, Shape{static_cast<std::int64_t>(kernels::GemmInt8PackedBytes(k, n))});
  kernels::PackGemmInt8B(k, n, b->raw(), n, state.b_signed, state.packed.raw(), serial);
  c.MarkPacked(input);
  return state;
}

// The product of 8-bit inputs `a` and `b` with zero points (inputs too) of one value, one a row or column, or one a row
// or column of every matrix.
struct Int8Product {
  kernels::GemmInt8Args args;
  MatMulOperand a, b;
  Shape batch;
  std::int64_t batch_count = 1;
  std::int64_t a_zero_stride = 0, b_zero_stride = 0;  // between matrices
};

bool HasMany(const KernelContext& c, std::size_t zero) { return c.HasInput(zero) && c.Input(zero).count > 1; }

Int8Product MakeInt8Product(KernelContext& c, std::size_t a, std::size_t a_zero, std::size_t b, std::size_t b_zero) {
  const auto& state = c.state<QuantizedState>();
  const bool packed = state.packed.defined();
  Int8Product p;
  p.a = ViewOperand(c.Input(a).shape, false);
  p.b = ViewOperand(packed ? Dims(state.b) : c.Input(b).shape, true);
  p.batch_count = MatMulBatch(p.a, p.b, &p.batch);
  kernels::GemmInt8Args& g = p.args;
  g.m = p.a.rows, g.n = p.b.cols, g.k = p.a.cols;
  g.lda = p.a.ld, g.ldb = p.b.ld, g.ldc = g.n;
  g.a_signed = c.Input(a).dtype == DType::kInt8;
  g.b_signed = packed ? state.b_signed : c.Input(b).dtype == DType::kInt8;
  if (packed) g.packed_b = state.packed.raw();
  g.a_zero = c.HasInput(a_zero) ? c.Input(a_zero).data : nullptr;
  g.b_zero = c.HasInput(b_zero) ? c.Input(b_zero).data : nullptr;
  g.a_zero_per_row = HasMany(c, a_zero);
  g.b_zero_per_column = HasMany(c, b_zero);
  const auto check = [&](std::size_t zero, std::int64_t each, std::int64_t matrices, std::int64_t* stride) {
    if (!HasMany(c, zero)) return;
    const std::int64_t count = c.Input(zero).count;
    if (count == each) return;
    if (count != each * matrices) {
      Fail(Code::kInvalidArgument, "expected 1, ", each, " or ", each * matrices, " zero points as input ", zero,
           ", found ", ToText(c.Input(zero).shape));
    }
    *stride = each;
  };
  check(a_zero, g.m, p.a.batch_count, &p.a_zero_stride);
  check(b_zero, g.n, p.b.batch_count, &p.b_zero_stride);
  return p;
}

// Runs the matrices one after the other (the GEMM itself uses the threads).
void RunInt8Product(KernelContext& c, Int8Product& p, const void* a, const void* b, std::int32_t* y,
                    std::int64_t* offsets, std::byte* scratch) {
  std::int64_t *a_at = offsets, *b_at = offsets + p.batch_count;
  BatchOffsets(p.a, p.batch, 1, a_at);
  BatchOffsets(p.b, p.batch, 1, b_at);
  const auto* a_bytes = static_cast<const std::uint8_t*>(a);
  const auto* b_bytes = static_cast<const std::uint8_t*>(b);
  const auto* a_zero = static_cast<const std::uint8_t*>(p.args.a_zero);
  const auto* b_zero = static_cast<const std::uint8_t*>(p.args.b_zero);
  for (std::int64_t i = 0; i < p.batch_count; ++i) {
    kernels::GemmInt8Args g = p.args;
    g.a = a_bytes + a_at[i] * p.a.unit;
    if (g.packed_b == nullptr) g.b = b_bytes + b_at[i] * p.b.unit;
    g.c = y + i * g.m * g.n;
    if (a_zero != nullptr) g.a_zero = a_zero + a_at[i] * p.a_zero_stride;
    if (b_zero != nullptr) g.b_zero = b_zero + b_at[i] * p.b_zero_stride;
    kernels::GemmInt8(g, c.parallel(), scratch);
  }
}

void RunInteger(KernelContext& c) {
  Int8Product p = MakeInt8Product(c, 0, 2, 1, 3);
  if (c.Output(0).count == 0) return;
  ScratchLayout layout;
  const std::size_t offsets = layout.Add<std::int64_t>(2 * static_cast<std::size_t>(p.batch_count));
  const std::size_t gemm = layout.Add(kernels::GemmInt8ScratchBytes(p.args, c.parallel().ThreadCount()));
  std::byte* block = c.Scratch(layout.bytes());
  RunInt8Product(c, p, c.Input(0).data, c.Input(1).data, c.Output(0).As<std::int32_t>(),
                 static_cast<std::int64_t*>(static_cast<void*>(block + offsets)), block + gemm);
}

// Scales come as one value or one a row (of A) or column (of B, Y).
struct Scales {
  const float* data;
  std::int64_t count;
  float At(std::int64_t i) const { return data[count == 1 ? 0 : i % count]; }
};

template <typename Y>
Y Quantize(double value, double zero) {
  const double rounded = std::nearbyint(value) + zero;
  const double low = static_cast<double>(std::numeric_limits<Y>::min());
  const double high = static_cast<double>(std::numeric_limits<Y>::max());
  return static_cast<Y>(rounded >= low ? std::min(rounded, high) : low);
}

void RunQLinear(KernelContext& c) {
  Int8Product p = MakeInt8Product(c, 0, 2, 3, 5);
  const TensorRef& y = c.Output(0);
  if (y.count == 0) return;
  constexpr std::uint32_t kNoFloats = ~((1u << 1) | (1u << 4) | (1u << 6));  // only the scales are floats
  Operands io(c, DType::kFloat, kNoFloats, 1);
  const std::size_t offsets = io.Add<std::int64_t>(2 * static_cast<std::size_t>(p.batch_count));
  const std::size_t sums_at = io.Add<std::int32_t>(static_cast<std::size_t>(y.count));
  const std::size_t gemm = io.Add(kernels::GemmInt8ScratchBytes(p.args, c.parallel().ThreadCount()));
  io.Begin();
  std::int32_t* sums = io.At<std::int32_t>(sums_at);
  RunInt8Product(c, p, c.Input(0).data, c.Input(3).data, sums, io.At<std::int64_t>(offsets), io.At(gemm));
  const Scales a{io.In<float>(1), c.Input(1).count}, b{io.In<float>(4), c.Input(4).count};
  const float y_scale = *io.In<float>(6);
  const auto quantize = [&]<typename Y>() {
    const double zero = static_cast<double>(*c.Input(7).As<Y>());
    c.parallel().For(y.count, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const double scale =
            static_cast<double>(a.At(i / p.args.n % p.args.m)) * static_cast<double>(b.At(i % p.args.n));
        y.As<Y>()[i] = Quantize<Y>(static_cast<double>(sums[i]) * scale / static_cast<double>(y_scale), zero);
      }
    });
  };
  VisitDType<std::int8_t, std::uint8_t>(y.dtype, quantize);
}

// float8: dequantized to float, multiplied, quantized (saturating).
void RunQLinearFloat8(KernelContext& c) {
  const MatMulOperand a = ViewOperand(c.Input(0).shape, false), b = ViewOperand(c.Input(3).shape, true);
  Shape batch;
  Product<float> p;
  p.batch = MatMulBatch(a, b, &batch);
  if (c.Output(0).count == 0) return;
  p.m = a.rows, p.n = b.cols, p.k = a.cols, p.lda = a.ld, p.ldb = b.ld, p.ldc = p.n, p.c_batch_stride = p.m * p.n;
  static const std::int64_t kGiven = 0;
  p.a_batch_offsets = p.b_batch_offsets = &kGiven;
  Operands io(c, DType::kFloat);
  const std::size_t offsets = io.Add<std::int64_t>(2 * static_cast<std::size_t>(p.batch));
  const std::size_t a_at = io.Add<float>(static_cast<std::size_t>(c.Input(0).count));
  const std::size_t b_at = io.Add<float>(static_cast<std::size_t>(c.Input(3).count));
  const std::size_t bytes = ProductScratch(p, c.parallel().ThreadCount()), gemm = io.Add(bytes);
  io.Begin();
  const auto dequantize = [&](std::size_t input, std::int64_t row, bool by_row, float* to) {
    const Scales scale{io.In<float>(input + 1), c.Input(input + 1).count};
    const Scales zero{io.In<float>(input + 2), c.Input(input + 2).count};
    for (std::int64_t i = 0; i < c.Input(input).count; ++i) {
      const std::int64_t at = by_row ? i / row : i % row;
      to[i] = (io.In<float>(input)[i] - zero.At(at)) * scale.At(at);
    }
  };
  dequantize(0, p.k, true, io.At<float>(a_at));
  dequantize(3, p.n, false, io.At<float>(b_at));
  std::int64_t* table = io.At<std::int64_t>(offsets);
  BatchOffsets(a, batch, a.unit, table);
  BatchOffsets(b, batch, b.unit, table + p.batch);
  p.a_batch_offsets = table, p.b_batch_offsets = table + p.batch;
  p.a = io.At<float>(a_at), p.b = io.At<float>(b_at), p.c = io.Out<float>(0);
  RunProduct(p, c.parallel(), bytes == 0 ? nullptr : io.At(gemm));
  const float scale = *io.In<float>(6), zero = *io.In<float>(7);
  for (std::int64_t i = 0; i < c.Output(0).count; ++i) p.c[i] = p.c[i] / scale + zero;
  io.End();
}

Prepared PrepareInteger(PrepareContext& c) {
  if (!kInt8s.Has(c.InputDType(1))) c.Unsupported("input B of", c.InputDType(1));
  return WithState(RunInteger, PackB(c, 1));
}

Prepared PrepareQLinear(PrepareContext& c) {
  const bool a = kInt8s.Has(c.InputDType(0)), b = kInt8s.Has(c.InputDType(3)), y = kInt8s.Has(c.OutputDType(0));
  if (a && b && y) return WithState(RunQLinear, PackB(c, 3));
  if (a || b || y) c.Unsupported("float8 together with 8-bit integers");
  return {RunQLinearFloat8, nullptr};
}

constexpr OpDef kQuantizedMatMulOps[] = {
    {.name = "MatMulInteger", .since = {10}, .types = kInt8s, .infer = InferInteger, .prepare = PrepareInteger},
    {.name = "QLinearMatMul", .since = {10, 21}, .types = kQuantized, .infer = InferQLinear, .prepare = PrepareQLinear},
};

}  // namespace

std::span<const OpDef> QuantizedMatMulOps() { return kQuantizedMatMulOps; }

}  // namespace sardonyx::ops
