// ops/quantized/quantized_matmul.cpp - MatMulInteger and QLinearMatMul: exact 8-bit products, float8 through float; and
// the rows of com.microsoft's forms (quantized_gemm.cpp). ai.sardonyx QLinearMatMul takes a transposed B.
#include <algorithm>
#include <vector>

#include "ops/cost_context.h"
#include "ops/operands.h"
#include "ops/product.h"
#include "ops/quantized/int8_product.h"
#include "ops/quantized/quantized_gemm.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr DTypeSet kQuantized =
    kInt8s | DTypeSet{DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ};

void InferInteger(InferContext& c) {
  if (!c.HasRank(0) || !c.HasRank(1)) return c.SetOutput(0, DType::kInt32);
  c.SetOutput(0, DType::kInt32, MatMulDims(c, c.InputDims(0), c.InputDims(1)));
}

void InferQLinear(InferContext& c) {
  const DType dtype = c.InputDType(7);
  if (!c.HasRank(0) || !c.HasRank(3)) return c.SetOutput(0, dtype);
  c.SetOutput(0, dtype, MatMulDims(c, c.InputDims(0), c.InputDims(3), {.trans_b = c.Flag("transB")}));
}

void RunInteger(KernelContext& c) {
  Int8Product p(c, {0, 2, 1, 3}, c.state<PackedInt8>(), c.Input(0).shape, c.Input(0).dtype == DType::kInt8, true);
  if (c.Output(0).count == 0) return;
  p.args.a = c.Input(0).data;
  p.args.c = c.Output(0).data;
  ScratchLayout layout;
  const std::size_t offsets = layout.Add<std::int64_t>(p.OffsetCount());
  const std::size_t gemm = layout.Add(p.ScratchBytes(c.parallel().ThreadCount()));
  std::byte* block = c.Scratch(layout.bytes());
  p.Run(c, static_cast<std::int64_t*>(static_cast<void*>(block + offsets)), block + gemm);
}

// Scales come as one value or one a row (of A) or column (of B, Y), of every matrix.
struct Scales {
  const float* data;
  std::int64_t count;
  float At(std::int64_t i) const { return data[count == 1 ? 0 : i % count]; }
};

// Y is quantized as a whole.
void CheckResultScale(KernelContext& c) {
  for (const std::size_t of_y : {std::size_t{6}, std::size_t{7}}) {
    const TensorRef& one = c.Input(of_y);
    if (one.count == 0) Fail(Code::kInvalidArgument, "expected a number in input ", of_y, ", found none");
    if (one.count != 1) {
      Fail(Code::kNotImplemented,
           "scales and zero points of the result by row are not implemented: expected one number in input ", of_y,
           ", found shape ", ToText(one.shape));
    }
  }
}

struct QLinearState {
  PackedInt8 packed;
  std::vector<float> scales;  // of the columns, if they are constant and there are several
};

// In float, as ONNX Runtime does: a_scale * b_scale / y_scale.
float ScaleOf(float a, float b, float y) { return a * b / y; }

void RunQLinear(KernelContext& c) {
  const auto& state = c.state<QLinearState>();
  const bool one_scale = c.Input(1).count == 1;
  Int8Product p(c, {0, 2, 3, 5}, state.packed, c.Input(0).shape, c.Input(0).dtype == DType::kInt8, one_scale);
  const OutputRef y = c.Output(0);
  const std::int64_t a_stride = MatrixStride(c, 1, p.args.m, p.a_matrices());
  const std::int64_t b_stride = MatrixStride(c, 4, p.args.n, p.b_matrices());
  if (y.count == 0) return;
  CheckResultScale(c);
  p.args.a = c.Input(0).data;
  p.args.c = y.data;
  p.args.result = kernels::Int8Result::kBytes;
  p.args.scale_per_column = true;
  p.args.c_signed = y.dtype == DType::kInt8;
  p.args.c_zero = p.args.c_signed ? *c.Input(7).As<std::int8_t>() : *c.Input(7).As<std::uint8_t>();
  constexpr std::uint32_t kNoFloats = ~((1u << 1) | (1u << 4) | (1u << 6));  // only the scales are floats
  Operands io(c, DType::kFloat, kNoFloats, 1);
  const std::size_t offsets = io.Add<std::int64_t>(p.OffsetCount());
  const std::size_t scales_at = io.Add<float>(static_cast<std::size_t>(p.args.n));
  const std::size_t gemm = io.Add(p.ScratchBytes(c.parallel().ThreadCount()));
  const Operands::Computing computing(io);
  const float y_scale = *io.In<float>(6);
  float* scales = io.At<float>(scales_at);
  const auto set_scales = [&](std::int64_t b_index) {
    const Scales b{io.In<float>(4) + b_index * b_stride, std::min(c.Input(4).count, p.args.n)};
    const float a_scale = one_scale ? *io.In<float>(1) : 1.0f;
    for (std::int64_t j = 0; j < p.args.n; ++j) scales[j] = ScaleOf(a_scale, b.data[b.count == 1 ? 0 : j], y_scale);
  };
  const bool is_known = static_cast<std::int64_t>(state.scales.size()) == p.args.n && b_stride == 0;
  p.args.scales = is_known ? state.scales.data() : scales;
  if (!is_known) set_scales(0);
  p.Run(c, io.At<std::int64_t>(offsets), io.At(gemm), b_stride == 0,
        [&](kernels::GemmInt8Args& g, std::int64_t a_index, std::int64_t b_index) {
          if (b_stride != 0) set_scales(b_index);
          if (!one_scale) g.row_scales = io.In<float>(1) + a_index * a_stride;
        });
}

// float8: dequantized to float, multiplied, quantized (saturating).
void RunQLinearFloat8(KernelContext& c) {
  const MatMulOperand a = ViewOperand(c.Input(0).shape, false), b = ViewOperand(c.Input(3).shape, true);
  Shape batch;
  Product<float> p;
  p.batch = MatMulBatch(a, b, &batch);
  if (c.Output(0).count == 0) return;
  CheckResultScale(c);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{5}}) {
    const std::int64_t count = c.Input(i).count, each = i < 3 ? a.rows : b.cols;
    const std::int64_t all = i < 3 ? each * a.batch_count : each;  // B's matrices have the same ones
    if (count != 1 && count != each && count != all) {
      Fail(Code::kInvalidArgument, "expected 1 or ", each, " elements of input ", i, ", found ",
           ToText(c.Input(i).shape));
    }
  }
  p.m = a.rows, p.n = b.cols, p.k = a.cols, p.lda = a.ld, p.ldb = b.ld, p.ldc = p.n, p.c_batch_stride = p.m * p.n;
  static const std::int64_t kGiven = 0;
  p.a_batch_offsets = p.b_batch_offsets = &kGiven;
  Operands io(c, DType::kFloat);
  const std::size_t offsets = io.Add<std::int64_t>(2 * static_cast<std::size_t>(p.batch));
  const std::size_t a_at = io.Add<float>(static_cast<std::size_t>(c.Input(0).count));
  const std::size_t b_at = io.Add<float>(static_cast<std::size_t>(c.Input(3).count));
  const std::size_t bytes = ProductScratch(p, c.parallel().ThreadCount()), gemm = io.Add(bytes);
  const Operands::Computing computing(io);
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
}

Prepared PrepareInteger(PrepareContext& c) {
  if (!kInt8s.Has(c.InputDType(1))) c.Unsupported(c.InputText(1), c.InputDType(1));
  return WithState(RunInteger, PackInt8B(c, 1));
}

// Dividing takes as long as much of a product of one row.
std::vector<float> ConstantScales(PrepareContext& c) {
  const Tensor *a = c.Constant(1), *b = c.Constant(4), *y = c.Constant(6);
  for (const Tensor* each : {a, b, y})
    if (each == nullptr || each->dtype() != DType::kFloat) return {};
  if (a->count() != 1 || y->count() != 1 || b->count() == 1) return {};
  std::vector<float> scales(b->data<float>(), b->data<float>() + b->count());
  for (float& scale : scales) scale = ScaleOf(*a->data<float>(), scale, *y->data<float>());
  return scales;
}

Prepared PrepareQLinear(PrepareContext& c) {
  const bool a = kInt8s.Has(c.InputDType(0)), b = kInt8s.Has(c.InputDType(3)), y = kInt8s.Has(c.OutputDType(0));
  if (a && b && y) return WithState(RunQLinear, QLinearState{PackInt8B(c, 3, c.Flag("transB")), ConstantScales(c)});
  if (a || b || y) c.Unsupported("float8 together with 8-bit integers");
  return {RunQLinearFloat8, nullptr};
}

constexpr OpDef kQuantizedMatMulOps[] = {
    {.name = "MatMulInteger",
     .since = {10},
     .types = kInt8s,
     .infer = InferInteger,
     .prepare = PrepareInteger,
     .cost = CountProduct},
    {.name = "QLinearMatMul",
     .since = {10, 21},
     .types = kQuantized,
     .infer = InferQLinear,
     .prepare = PrepareQLinear,
     .cost = CountProduct},
    {.domain = "ai.sardonyx",
     .name = "QLinearMatMul",
     .since = {1},
     .types = kInt8s,
     .infer = InferQLinear,
     .prepare = PrepareQLinear,
     .cost = CountProduct},
    {.domain = "com.microsoft",
     .name = "DynamicQuantizeMatMul",
     .since = {1},
     .types = {DType::kFloat},
     .infer = InferDynamicQuantizeMatMul,
     .prepare = PrepareDynamicQuantizeMatMul,
     .cost = CountProduct},
    {.domain = "com.microsoft",
     .name = "MatMulIntegerToFloat",
     .since = {1},
     .types = kInt8s,
     .infer = InferMatMulIntegerToFloat,
     .prepare = PrepareMatMulIntegerToFloat,
     .cost = CountProduct},
    {.domain = "com.microsoft",
     .name = "QGemm",
     .since = {1},
     .types = kInt8s,
     .infer = InferQGemm,
     .prepare = PrepareQGemm,
     .cost = CountProduct},
};

}  // namespace

std::span<const OpDef> QuantizedMatMulOps() { return kQuantizedMatMulOps; }

}  // namespace sardonyx::ops
