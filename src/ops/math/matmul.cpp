// ops/math/matmul.cpp - MatMul and its fused forms on the GEMM family; constant B of floats is packed once.
//
// com.microsoft FusedMatMul scales and transposes: Y = alpha * A' * B'. ai.sardonyx FusedMatMul adds, for products of
// any rank, what FusedGemm has for matrices: Y = activation(alpha * A' * B' + bias + residual). bias is [N] or missing,
// residual has Y's shape or is missing; the activation and its parameters are as in FusedGemm. com.microsoft
// GemmFastGelu is that with a bias and the activation GeluTanh.
#include <algorithm>
#include <cstdint>

#include "ops/activation.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/math/packed_matrix.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/product.h"
#include "ops/registry.h"
#include "ops/same_rows.h"
#include "ops/shapes/matmul_shape.h"

namespace sardonyx::ops {
namespace {

constexpr DTypeSet kMatMulTypes = kIeeeFloats | DTypeSet{DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64};

struct MatMulState {
  MatMulFlags flags;
  float alpha = 1;
  kernels::Activation activation;
  PackedMatrix packed;
  Shape b;  // the shape of B, if packed
};

MatMulFlags ReadFlags(const AttributeReader& c) {
  return {c.Flag("transA"), c.Flag("transB"), c.Flag("transBatchA"), c.Flag("transBatchB")};
}

void InferMatMul(InferContext& c) {
  if (!c.HasRank(0) || !c.HasRank(1)) return c.SetOutput(0, c.InputDType(0));
  c.SetOutput(0, c.InputDType(0), MatMulDims(c, c.InputDims(0), c.InputDims(1), ReadFlags(c)));
}

constexpr std::size_t kBias = 2, kResidual = 3;  // inputs of ai.sardonyx FusedMatMul

void InferProduct(InferContext& c) {
  if (!c.HasRank(0) || !c.HasRank(1)) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = MatMulDims(c, c.InputDims(0), c.InputDims(1), ReadFlags(c));
  if (c.HasInput(kBias) && c.HasRank(kBias)) {
    const auto& bias = c.InputDims(kBias);
    if (bias.empty() || dims.empty() ||
        (bias.back().known() && dims.back().known() && bias.back().number() != dims.back().number()))
      c.Fail(Code::kInvalidArgument, "input 'bias': expected the last dimension of ",
             Type::TensorOf(c.InputDType(0), dims).ToText(), ", found ", c.InputType(kBias).ToText());
  }
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

// The inputs beyond A and B; fails unless they have the sizes of the product.
void CheckAddends(KernelContext& c, std::int64_t n) {
  if (c.HasInput(kBias) && c.Input(kBias).count != n) {
    Fail(Code::kInvalidArgument, "expected a bias of ", n, " elements, found ", ToText(c.Input(kBias).shape));
  }
  if (c.HasInput(kResidual) && !std::ranges::equal(c.Input(kResidual).shape, c.Output(0).shape)) {
    Fail(Code::kInvalidArgument, "expected a residual of shape ", ToText(c.Output(0).shape), ", found ",
         ToText(c.Input(kResidual).shape));
  }
}

template <typename T>
void RunMatMul(KernelContext& c) {
  const auto& state = c.state<MatMulState>();
  const MatMulFlags& f = state.flags;
  const MatMulOperand a = ViewOperand(c.Input(0).shape, false, f.trans_a, f.trans_batch_a);
  const bool is_packed = state.packed.defined();
  const MatMulOperand b = ViewOperand(is_packed ? Dims(state.b) : c.Input(1).shape, true, f.trans_b, f.trans_batch_b);
  Shape batch;
  Product<T> p;
  p.batch = MatMulBatch(a, b, &batch);
  if (c.Output(0).count == 0) return;
  p.m = a.outer(false), p.n = b.outer(true), p.k = a.inner(false);
  p.lda = a.ld, p.trans_a = a.trans;
  p.ldb = b.ld, p.trans_b = b.trans;
  p.ldc = p.n, p.c_batch_stride = p.m * p.n;
  p.alpha = static_cast<T>(state.alpha);
  p.activation = state.activation;
  CheckAddends(c, p.n);
  Operands io(c, kDTypeOf<T>, is_packed ? 2 : 0);
  const std::int64_t b_unit = is_packed ? state.packed.count : b.unit;
  const bool regular_a = RegularBatch(a, p.batch, a.unit, &p.a_batch_stride);
  const bool regular = RegularBatch(b, p.batch, b_unit, &p.b_batch_stride) && regular_a;
  const std::size_t offsets = io.Add<std::int64_t>(regular ? 0 : 2 * static_cast<std::size_t>(p.batch));
  state.packed.GiveTo<T>(p);
  static const std::int64_t kGiven = 0;
  static const float kResidualGiven = 0;
  if (!regular) p.a_batch_offsets = p.b_batch_offsets = &kGiven;
  if (c.HasInput(kResidual)) p.residual = &kResidualGiven;
  const std::size_t bytes = ProductScratch(p, c.parallel().ThreadCount());
  const std::size_t scratch = io.Add(bytes);
  const Operands::Computing computing(io);
  if (!regular) {
    std::int64_t* table = io.At<std::int64_t>(offsets);
    BatchOffsets(a, batch, a.unit, table);
    BatchOffsets(b, batch, b_unit, table + p.batch);
    p.a_batch_offsets = table;
    p.b_batch_offsets = table + p.batch;
  }
  p.a = io.In<T>(0);
  p.b = is_packed ? nullptr : io.In<T>(1);
  p.c = io.Out<T>(0);
  p.bias = io.In<float>(kBias);
  p.residual = io.In<float>(kResidual);
  RunProduct(p, c.parallel(), bytes == 0 ? nullptr : io.At(scratch));
}

// ---- com.microsoft MatMulInteger16: products of 16-bit integers as 32-bit sums, which wrap

void InferMatMul16(InferContext& c) {
  const DType dtype =
      c.InputDType(0) == DType::kUInt16 && c.InputDType(1) == DType::kUInt16 ? DType::kUInt32 : DType::kInt32;
  if (!c.HasRank(0) || !c.HasRank(1)) return c.SetOutput(0, dtype);
  c.SetOutput(0, dtype, MatMulDims(c, c.InputDims(0), c.InputDims(1)));
}

void Widen16(const TensorRef& x, std::int32_t* to, Parallel& parallel) {
  parallel.For(x.count, 16384, [&](std::int64_t begin, std::int64_t end) {
    if (x.dtype == DType::kInt16)
      std::copy(x.As<std::int16_t>() + begin, x.As<std::int16_t>() + end, to + begin);
    else
      std::copy(x.As<std::uint16_t>() + begin, x.As<std::uint16_t>() + end, to + begin);
  });
}

void RunMatMul16(KernelContext& c) {
  const MatMulOperand a = ViewOperand(c.Input(0).shape, false), b = ViewOperand(c.Input(1).shape, true);
  Shape batch;
  Product<std::int32_t> p;
  p.batch = MatMulBatch(a, b, &batch);
  const OutputRef y = c.Output(0);
  if (y.count == 0) return;
  p.m = a.rows, p.n = b.cols, p.k = a.cols;
  p.lda = a.ld, p.ldb = b.ld, p.ldc = p.n, p.c_batch_stride = p.m * p.n;
  static const std::int64_t kGiven = 0;
  p.a_batch_offsets = p.b_batch_offsets = &kGiven;
  ScratchLayout layout;
  const std::size_t a_at = layout.Add<std::int32_t>(static_cast<std::size_t>(c.Input(0).count));
  const std::size_t b_at = layout.Add<std::int32_t>(static_cast<std::size_t>(c.Input(1).count));
  const std::size_t offsets = layout.Add<std::int64_t>(2 * static_cast<std::size_t>(p.batch));
  const std::size_t bytes = ProductScratch(p, c.parallel().ThreadCount()), scratch = layout.Add(bytes);
  std::byte* block = c.Scratch(layout.bytes());
  auto* wide_a = static_cast<std::int32_t*>(static_cast<void*>(block + a_at));
  auto* wide_b = static_cast<std::int32_t*>(static_cast<void*>(block + b_at));
  auto* table = static_cast<std::int64_t*>(static_cast<void*>(block + offsets));
  Widen16(c.Input(0), wide_a, c.parallel());
  Widen16(c.Input(1), wide_b, c.parallel());
  BatchOffsets(a, batch, a.unit, table);
  BatchOffsets(b, batch, b.unit, table + p.batch);
  p.a_batch_offsets = table, p.b_batch_offsets = table + p.batch;
  p.a = wide_a, p.b = wide_b, p.c = y.As<std::int32_t>();  // the sums of either type have the same bits
  RunProduct(p, c.parallel(), bytes == 0 ? nullptr : block + scratch);
}

Prepared PrepareMatMul16(PrepareContext& c) {
  const DType b = c.InputDType(1);
  if (b != DType::kInt16 && b != DType::kUInt16) c.Unsupported(c.InputText(1), b);
  return {RunMatMul16, nullptr};
}

// Whether the product is known to have one row: all dimensions of A but the last (transA: the last but one) are 1.
bool HasOneRow(const Type& a, const MatMulFlags& flags) {
  if (!a.has_rank || flags.trans_batch_a || a.rank() < (flags.trans_a ? 2u : 1u)) return false;
  const std::size_t inner = a.rank() - (flags.trans_a ? 2 : 1);
  for (std::size_t i = 0; i < a.rank(); ++i)
    if (i != inner && !(a.dims[i].known() && a.dims[i].number() == 1)) return false;
  return true;
}

void PackB(PrepareContext& c, MatMulState& state) {
  const Tensor* tensor = c.Constant(1);
  if (tensor == nullptr || tensor->count() == 0 || tensor->shape().rank() == 0) return;
  const MatMulOperand b = ViewOperand(tensor->shape(), true, state.flags.trans_b, state.flags.trans_batch_b);
  const bool one_row = b.batch_count == 1 && HasOneRow(c.InputType(0), state.flags);
  if (ReadsInPlace(*tensor, c.InputDType(0), one_row, c.parallel(), c.rounds_to_bf16())) return;
  state.packed =
      PackMatrix(*tensor, c.InputDType(0), {b.inner(true), b.outer(true), b.ld, b.trans, b.batch_count, b.unit},
                 c.parallel(), c.rounds_to_bf16());
  state.packed.same_rows = WantsSameRows();
  state.b = tensor->shape();
  c.MarkPacked(1);
}

Prepared PrepareMatMul(PrepareContext& c) {
  MatMulState state;
  state.flags = ReadFlags(c);
  state.alpha = c.Float("alpha", 1);
  PackB(c, state);
  switch (c.InputDType(0)) {
    case DType::kDouble:
      return WithState(RunMatMul<double>, std::move(state));
    case DType::kInt32:
      return WithState(RunMatMul<std::int32_t>, std::move(state));
    case DType::kInt64:
      return WithState(RunMatMul<std::int64_t>, std::move(state));
    case DType::kUInt32:
      return WithState(RunMatMul<std::uint32_t>, std::move(state));
    case DType::kUInt64:
      return WithState(RunMatMul<std::uint64_t>, std::move(state));
    default:
      break;
  }
  state.activation = ReadProductActivation(c);
  return WithState(RunMatMul<float>, std::move(state));
}

Prepared PrepareGemmFastGelu(PrepareContext& c) {
  MatMulState state;
  PackB(c, state);
  state.activation = {kernels::UnaryKind::kGeluTanh};
  return WithState(RunMatMul<float>, std::move(state));
}

constexpr OpDef kMatMulOps[] = {
    {.name = "MatMul",
     .since = {1, 9, 13},
     .types = kMatMulTypes,
     .infer = InferMatMul,
     .prepare = PrepareMatMul,
     .cost = CountProduct,
     .traits = kPacksWeights},
    {.domain = "com.microsoft",
     .name = "FusedMatMul",
     .since = {1},
     .types = kIeeeFloats,
     .infer = InferMatMul,
     .prepare = PrepareMatMul,
     .cost = CountProduct,
     .traits = kPacksWeights},
    {.domain = "ai.sardonyx",
     .name = "FusedMatMul",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16, DType::kBFloat16},
     .infer = InferProduct,
     .prepare = PrepareMatMul,
     .cost = CountProduct,
     .traits = kPacksWeights},
    {.domain = "com.microsoft",
     .name = "GemmFastGelu",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16, DType::kBFloat16},
     .infer = InferProduct,
     .prepare = PrepareGemmFastGelu,
     .cost = CountProduct,
     .traits = kPacksWeights},
    {.domain = "com.microsoft",
     .name = "MatMulInteger16",
     .since = {1},
     .types = {DType::kInt16, DType::kUInt16},
     .infer = InferMatMul16,
     .prepare = PrepareMatMul16,
     .cost = CountProduct},
    {.domain = "com.microsoft",
     .name = "TransposeMatMul",
     .since = {1},
     .types = kIeeeFloats,
     .infer = InferMatMul,
     .prepare = PrepareMatMul,
     .cost = CountProduct,
     .traits = kPacksWeights},
};

}  // namespace

std::span<const OpDef> MatMulOps() { return kMatMulOps; }

}  // namespace sardonyx::ops
