// ops/math/gemm.cpp - Gemm and com.microsoft FusedGemm: Y = activation(alpha * A' * B' + beta * C).
//
// com.microsoft GemmFloat8 reads and writes 8-bit floats, which it scales: the product by scaleA * scaleB, Y by scaleY.
#include <cmath>
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
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

constexpr DTypeSet kGemmTypes = kIeeeFloats | DTypeSet{DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64};

constexpr std::size_t kScaleA = 3, kScaleB = 4, kScaleY = 5;  // inputs of GemmFloat8

struct GemmState {
  bool trans_a = false, trans_b = false;
  float alpha = 1, beta = 1;
  kernels::Activation activation;
  PackedMatrix packed;
  std::int64_t k = 0, n = 0;  // of packed B
};

void InferMatrices(InferContext& c, DType dtype) {
  if (!c.HasRank(0) || !c.HasRank(1)) return c.SetOutput(0, dtype, {Dim(), Dim()});
  for (const std::size_t i : {0u, 1u}) {
    if (c.Rank(i) != 2) {
      c.Fail(Code::kInvalidArgument, "expected a matrix as input ", i == 0 ? "A" : "B", ", found ",
             c.InputType(i).ToText());
    }
  }
  const bool trans_a = c.Flag("transA"), trans_b = c.Flag("transB");
  const Dim &a_k = c.InputDims(0)[trans_a ? 0 : 1], &b_k = c.InputDims(1)[trans_b ? 1 : 0];
  if (a_k.known() && b_k.known() && a_k.number() != b_k.number()) {
    c.Fail(Code::kInvalidArgument, "inner dimensions differ: ", c.InputType(0).ToText(), trans_a ? " (transA)" : "",
           " x ", c.InputType(1).ToText(), trans_b ? " (transB)" : "");
  }
  c.SetOutput(0, dtype, {c.InputDims(0)[trans_a ? 1 : 0], c.InputDims(1)[trans_b ? 0 : 1]});
}

void InferGemm(InferContext& c) { InferMatrices(c, c.InputDType(0)); }

void InferGemmFloat8(InferContext& c) { InferMatrices(c, c.DTypeAttribute("dtype", DType::kFloat)); }

// How C [...] broadcasts to [m, n].
struct Addend {
  bool present = false;
  std::int64_t row_stride = 0, column_stride = 0;
};

Addend ViewAddend(KernelContext& c, std::int64_t m, std::int64_t n) {
  if (!c.HasInput(2)) return {};
  const Dims dims = c.Input(2).shape;
  const std::int64_t rows = dims.size() == 2 ? dims[0] : 1, columns = dims.empty() ? 1 : dims.back();
  if (dims.size() > 2 || (rows != 1 && rows != m) || (columns != 1 && columns != n)) {
    Fail(Code::kInvalidArgument, "expected an input C that broadcasts to [", m, ", ", n, "], found ", ToText(dims));
  }
  return {true, rows == 1 ? 0 : columns, columns == 1 ? 0 : 1};
}

struct Sizes {
  std::int64_t m, n, k, lda, ldb;
};

Sizes MakeSizes(KernelContext& c, const GemmState& state) {
  const Dims a = c.Input(0).shape;
  if (a.size() != 2) Fail(Code::kInvalidArgument, "expected a matrix as input A, found ", ToText(a));
  Sizes s{a[state.trans_a ? 1 : 0], state.n, a[state.trans_a ? 0 : 1], a[1], 0};
  std::int64_t b_k = state.k;
  if (!state.packed.defined()) {
    const Dims b = c.Input(1).shape;
    if (b.size() != 2) Fail(Code::kInvalidArgument, "expected a matrix as input B, found ", ToText(b));
    s.n = b[state.trans_b ? 0 : 1], b_k = b[state.trans_b ? 1 : 0], s.ldb = b[1];
  }
  if (b_k != s.k) {
    Fail(Code::kInvalidArgument, "inner dimensions differ: [", s.m, ", ", s.k, "] x [", b_k, ", ", s.n, "]");
  }
  return s;
}

// What the three scales make of the product and of Y; 1 where there are none.
struct Scales {
  float product = 1, y = 1;
};

Scales ReadScales(KernelContext& c) {
  for (const std::size_t i : {kScaleA, kScaleB, kScaleY}) {
    if (c.HasInput(i) && c.Input(i).count != 1)
      Fail(Code::kInvalidArgument, "input ", i, ": expected one scale, found shape ", ToText(c.Input(i).shape));
  }
  Scales scales;
  if (c.HasInput(kScaleA)) scales.product = *c.Input(kScaleA).As<float>() * *c.Input(kScaleB).As<float>();
  if (c.HasInput(kScaleY)) scales.y = *c.Input(kScaleY).As<float>();
  return scales;
}

void RunFloat(KernelContext& c) {
  const auto& state = c.state<GemmState>();
  const Sizes s = MakeSizes(c, state);
  Addend addend = ViewAddend(c, s.m, s.n);
  if (state.beta == 0) addend = {};  // not even NaN counts, as in BLAS and ONNX Runtime
  const Scales scales = ReadScales(c);
  if (c.Output(0).count == 0) return;
  Operands io(c, DType::kFloat, state.packed.defined() ? 2 : 0);
  kernels::GemmF32Args args;
  args.m = s.m, args.n = s.n, args.k = s.k;
  args.lda = s.lda, args.trans_a = state.trans_a;
  args.ldb = s.ldb, args.trans_b = state.trans_b;
  args.ldc = s.n;
  args.epilogue.alpha = state.alpha * scales.product;
  args.epilogue.activation = state.activation;
  state.packed.GiveTo<float>(args);
  static const float kGiven = 0;
  const bool full = addend.present && addend.row_stride != 0 && addend.column_stride != 0;
  if (full) args.epilogue.residual = &kGiven;
  const std::size_t bytes = kernels::GemmF32ScratchBytes(args, c.parallel().ThreadCount());
  const std::size_t scratch = io.Add(bytes);
  const Operands::Computing computing(io);
  args.a = io.In<float>(0);
  if (!state.packed.defined()) args.b = io.In<float>(1);
  args.c = io.Out<float>(0);
  const float* addend_data = io.In<float>(2);
  args.epilogue.bias_scale = state.beta;
  if (full) {
    args.epilogue.residual = addend_data;
    args.epilogue.residual_stride = addend.row_stride;
    args.epilogue.beta = state.beta;
  } else if (addend.column_stride != 0) {
    args.epilogue.bias_n = addend_data;
  } else if (addend.row_stride != 0) {
    args.epilogue.bias_m = addend_data;
  } else if (addend.present) {
    args.epilogue.bias = addend_data[0];
  }
  kernels::GemmF32(args, c.parallel(), bytes == 0 ? nullptr : io.At(scratch));
  if (scales.y == 1) return;
  c.parallel().For(s.m * s.n, 16384, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) args.c[i] *= scales.y;
  });
}

template <typename T>
void RunAny(KernelContext& c) {
  const auto& state = c.state<GemmState>();
  const Sizes s = MakeSizes(c, state);
  Addend addend = ViewAddend(c, s.m, s.n);
  if (state.beta == 0) addend = {};  // not even NaN counts, as in BLAS and ONNX Runtime
  if (c.Output(0).count == 0) return;
  kernels::GemmAnyArgs<T> args;
  args.m = s.m, args.n = s.n, args.k = s.k;
  args.a = c.Input(0).As<T>(), args.lda = s.lda, args.trans_a = state.trans_a;
  state.packed.GiveTo<T>(args);
  if (!state.packed.defined()) args.b = c.Input(1).As<T>();
  args.ldb = s.ldb, args.trans_b = state.trans_b;
  args.c = c.Output(0).As<T>(), args.ldc = s.n;
  args.alpha = static_cast<T>(state.alpha);
  if (addend.present) {
    args.beta = static_cast<T>(state.beta);
    args.c0 = c.Input(2).As<T>();
    args.c0_row_stride = addend.row_stride;
    args.c0_column_stride = addend.column_stride;
  }
  const std::size_t bytes = kernels::GemmAnyScratchBytes(args, c.parallel().ThreadCount());
  kernels::GemmAny(args, c.parallel(), bytes == 0 ? nullptr : c.Scratch(bytes));
}

bool HasOneRow(const Type& a, bool trans_a) {
  return a.has_rank && a.rank() == 2 && a.dims[trans_a ? 1 : 0].known() && a.dims[trans_a ? 1 : 0].number() == 1;
}

void PackB(PrepareContext& c, GemmState& state) {
  const Tensor* b = c.Constant(1);
  if (b == nullptr || b->count() == 0 || b->shape().rank() != 2) return;
  if (ReadsInPlace(*b, c.InputDType(0), HasOneRow(c.InputType(0), state.trans_a), c.parallel(), c.rounds_to_bf16()))
    return;
  state.k = b->shape()[state.trans_b ? 1 : 0];
  state.n = b->shape()[state.trans_b ? 0 : 1];
  state.packed = PackMatrix(*b, c.InputDType(0), {state.k, state.n, b->shape()[1], state.trans_b}, c.parallel(),
                            c.rounds_to_bf16());
  state.packed.same_rows = WantsSameRows();
  c.MarkPacked(1);
}

// Whether an integer type (of 32 or 64 bits) holds the factor.
bool IsNumberOf(DType dtype, float factor) {
  const int bits = static_cast<int>(8 * ByteSize(dtype, 1)) - (IsSigned(dtype) ? 1 : 0);
  const float end = std::ldexp(1.0f, bits), least = IsSigned(dtype) ? -end : 0;
  return factor == std::floor(factor) && factor >= least && factor < end;
}

Prepared PrepareGemm(PrepareContext& c) {
  GemmState state;
  state.trans_a = c.Flag("transA");
  state.trans_b = c.Flag("transB");
  state.alpha = c.Float("alpha", 1);
  state.beta = c.Float("beta", 1);
  state.activation = ReadProductActivation(c);
  const DType dtype = c.InputDType(0);
  if (dtype != DType::kFloat && dtype != DType::kFloat16 && dtype != DType::kBFloat16) {
    if (state.activation.kind != kernels::UnaryKind::kNone) c.Unsupported("a fused activation and inputs", dtype);
    if (IsInteger(dtype) && !(IsNumberOf(dtype, state.alpha) && IsNumberOf(dtype, state.beta)))
      c.Unsupported("values of 'alpha' and 'beta' that cannot be represented in inputs", dtype);
  }
  PackB(c, state);
  switch (dtype) {
    case DType::kDouble:
      return WithState(RunAny<double>, std::move(state));
    case DType::kInt32:
      return WithState(RunAny<std::int32_t>, std::move(state));
    case DType::kInt64:
      return WithState(RunAny<std::int64_t>, std::move(state));
    case DType::kUInt32:
      return WithState(RunAny<std::uint32_t>, std::move(state));
    case DType::kUInt64:
      return WithState(RunAny<std::uint64_t>, std::move(state));
    default:
      break;
  }
  return WithState(RunFloat, std::move(state));
}

// cuBLAS, on which the operator was defined, computes GELU by tanh.
Prepared PrepareGemmFloat8(PrepareContext& c) {
  GemmState state;
  state.trans_a = c.Flag("transA");
  state.trans_b = c.Flag("transB");
  state.alpha = c.Float("alpha", 1);
  state.beta = c.Float("beta", 0);
  const std::string activation = c.String("activation", "NONE");
  if (activation == "RELU") {
    state.activation = {kernels::UnaryKind::kRelu};
  } else if (activation == "GELU") {
    state.activation = {kernels::UnaryKind::kGeluTanh};
  } else if (activation != "NONE") {
    c.Fail(Code::kInvalidArgument, "attribute 'activation': expected NONE, RELU or GELU, found '", activation, "'");
  }
  if (c.HasInput(kScaleA) != c.HasInput(kScaleB)) {
    c.Fail(Code::kInvalidArgument, "expected both scaleA and scaleB or none, found only ",
           c.InputText(c.HasInput(kScaleA) ? kScaleA : kScaleB));
  }
  return WithState(RunFloat, std::move(state));
}

// Versions 1 and 6 ask for broadcasting with a flag; since 7 it is always there.
void UpgradeGemm(UpgradeContext& c) { c.Take("broadcast"); }

constexpr OpDef kGemmOps[] = {
    {.name = "Gemm",
     .since = {1, 6, 7, 9, 11, 13},
     .types = kGemmTypes,
     .infer = InferGemm,
     .prepare = PrepareGemm,
     .upgrade = UpgradeGemm,
     .cost = CountProduct,
     .traits = kPacksWeights},
    {.domain = "com.microsoft",
     .name = "FusedGemm",
     .since = {1},
     .types = kGemmTypes,
     .infer = InferGemm,
     .prepare = PrepareGemm,
     .cost = CountProduct,
     .traits = kPacksWeights},
    {.domain = "com.microsoft",
     .name = "GemmFloat8",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16, DType::kBFloat16, DType::kFloat8E4M3FN, DType::kFloat8E5M2},
     .infer = InferGemmFloat8,
     .prepare = PrepareGemmFloat8,
     .cost = CountProduct},
};

}  // namespace

std::span<const OpDef> GemmOps() { return kGemmOps; }

}  // namespace sardonyx::ops
