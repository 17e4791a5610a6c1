// ops/quantized/quantized_gemm.cpp - 8-bit products that return floats, that quantize float inputs, or that have the
// form of Gemm.
#include "ops/quantized/quantized_gemm.h"

#include <algorithm>

#include "kernels/elementwise/quantize.h"
#include "kernels/gemm/tile_int8.h"
#include "ops/operands.h"
#include "ops/quantized/int8_product.h"

namespace sardonyx::ops {
namespace {

void CheckBias(KernelContext& c, std::size_t input, std::int64_t n) {
  if (c.HasInput(input) && c.Input(input).count != n) {
    Fail(Code::kInvalidArgument, "expected a bias of ", n, " values, found ", ToText(c.Input(input).shape));
  }
}

void CheckB(PrepareContext& c, std::size_t b) {
  if (!kInt8s.Has(c.InputDType(b))) c.Unsupported("input 'B'", c.InputDType(b));
}

// scales[j] = a_scale * b_scale[j], one value or one a column.
void MultiplyScales(float a_scale, const float* b_scales, std::int64_t b_count, std::int64_t n, float* scales) {
  for (std::int64_t j = 0; j < n; ++j) scales[j] = a_scale * b_scales[b_count == 1 ? 0 : j];
}

// ---- MatMulIntegerToFloat: A, B, a_scale, b_scale, a_zero, b_zero, bias

void RunToFloat(KernelContext& c) {
  constexpr std::size_t kAScale = 2, kBScale = 3, kBias = 6;
  const bool one_scale = c.Input(kAScale).count == 1;
  Int8Product p(c, {0, 4, 1, 5}, c.state<PackedInt8>(), c.Input(0).shape, c.Input(0).dtype == DType::kInt8, one_scale);
  kernels::GemmInt8Args& args = p.args;
  const std::int64_t a_stride = MatrixStride(c, kAScale, args.m, p.a_matrices());
  const std::int64_t b_stride = MatrixStride(c, kBScale, args.n, p.b_matrices());
  CheckBias(c, kBias, args.n);
  if (c.Output(0).count == 0) return;
  args.result = kernels::Int8Result::kFloats;
  args.scale_per_column = true;
  constexpr std::uint32_t kNoFloats = ~((1u << kAScale) | (1u << kBScale) | (1u << kBias));
  Operands io(c, DType::kFloat, kNoFloats);
  const std::size_t offsets = io.Add<std::int64_t>(p.OffsetCount());
  const std::size_t scales_at = io.Add<float>(static_cast<std::size_t>(args.n));
  const std::size_t gemm = io.Add(p.ScratchBytes(c.parallel().ThreadCount()));
  const Operands::Computing computing(io);
  args.a = c.Input(0).data;
  args.c = io.Out<float>(0);
  args.float_bias = io.In<float>(kBias);
  float* scales = io.At<float>(scales_at);
  args.scales = scales;
  const float *a_scales = io.In<float>(kAScale), *b_scales = io.In<float>(kBScale);
  const auto set_scales = [&](std::int64_t b_index) {
    MultiplyScales(one_scale ? *a_scales : 1.0f, b_scales + b_index * b_stride, c.Input(kBScale).count, args.n, scales);
  };
  set_scales(0);
  p.Run(c, io.At<std::int64_t>(offsets), io.At(gemm), b_stride == 0,
        [&](kernels::GemmInt8Args& g, std::int64_t a_index, std::int64_t b_index) {
          if (b_stride != 0) set_scales(b_index);
          if (!one_scale) g.row_scales = a_scales + a_index * a_stride;
        });
}

// ---- DynamicQuantizeMatMul: A as floats, B, b_scale, b_zero, bias

void RunDynamic(KernelContext& c) {
  constexpr std::size_t kBScale = 2, kBias = 4;
  Int8Product p(c, {0, kNoInt8Input, 1, 3}, c.state<PackedInt8>(), c.Input(0).shape, false, true);
  kernels::GemmInt8Args& args = p.args;
  const std::int64_t b_stride = MatrixStride(c, kBScale, args.n, p.b_matrices());
  CheckBias(c, kBias, args.n);
  if (c.Output(0).count == 0) return;
  std::uint8_t a_zero = 0;
  args.a_zero = &a_zero;
  args.result = kernels::Int8Result::kFloats;
  args.scale_per_column = true;
  const std::int64_t a_count = c.Input(0).count;
  ScratchLayout layout;
  const std::size_t offsets = layout.Add<std::int64_t>(p.OffsetCount());
  const std::size_t scales_at = layout.Add<float>(static_cast<std::size_t>(args.n));
  const std::size_t a_at = layout.Add(static_cast<std::size_t>(a_count));
  const std::size_t ranges_at = layout.Add<float>(kernels::DynamicRangeFloats(a_count));
  const std::size_t gemm = layout.Add(p.ScratchBytes(c.parallel().ThreadCount()));
  std::byte* block = c.Scratch(layout.bytes());
  const auto floats = [&](std::size_t at) { return static_cast<float*>(static_cast<void*>(block + at)); };
  auto* a = static_cast<std::uint8_t*>(static_cast<void*>(block + a_at));
  const kernels::DynamicScale scale =
      kernels::QuantizeDynamically(c.Input(0).As<float>(), a_count, a, floats(ranges_at), c.parallel());
  a_zero = scale.zero;
  args.a = a;
  args.c = c.Output(0).data;
  args.float_bias = c.HasInput(kBias) ? c.Input(kBias).As<float>() : nullptr;
  args.scales = floats(scales_at);
  const auto set_scales = [&](std::int64_t b_index) {
    MultiplyScales(scale.scale, c.Input(kBScale).As<float>() + b_index * b_stride, c.Input(kBScale).count, args.n,
                   floats(scales_at));
  };
  set_scales(0);
  p.Run(c, static_cast<std::int64_t*>(static_cast<void*>(block + offsets)), block + gemm, b_stride == 0,
        [&](kernels::GemmInt8Args&, std::int64_t, std::int64_t b_index) {
          if (b_stride != 0) set_scales(b_index);
        });
}

// ---- QGemm: A, a_scale, a_zero, B, b_scale, b_zero, C (int32), y_scale, y_zero

struct QGemmState {
  bool trans_a = false, trans_b = false;
  float alpha = 1;
  PackedInt8 packed;
};

struct QGemmSizes {
  std::int64_t m, n, k;
};

QGemmSizes MakeSizes(KernelContext& c, const QGemmState& state) {
  const Dims a = c.Input(0).shape;
  const bool packed = state.packed.packed.defined();
  const Dims b = packed ? Dims(state.packed.b) : c.Input(3).shape;
  if (a.size() != 2 || b.size() != 2) {
    Fail(Code::kInvalidArgument, "expected matrices as inputs A and B, found ", ToText(a), " and ", ToText(b));
  }
  const bool trans_b = state.trans_b && !packed;
  const QGemmSizes s = {a[state.trans_a ? 1 : 0], b[trans_b ? 0 : 1], a[state.trans_a ? 0 : 1]};
  if (b[trans_b ? 1 : 0] != s.k) {
    Fail(Code::kInvalidArgument, "inner dimensions differ: [", s.m, ", ", s.k, "] x [", b[trans_b ? 1 : 0], ", ", s.n,
         "]");
  }
  return s;
}

// How C broadcasts to [m, n]: strides of rows and columns.
struct QGemmAddend {
  const std::int32_t* data = nullptr;
  std::int64_t row = 0, column = 0;
  bool per_row() const { return row != 0; }
};

QGemmAddend ViewAddend(KernelContext& c, const QGemmSizes& s) {
  if (!c.HasInput(6)) return {};
  const Dims dims = c.Input(6).shape;
  const std::int64_t rows = dims.size() == 2 ? dims[0] : 1, columns = dims.empty() ? 1 : dims.back();
  if (dims.size() > 2 || (rows != 1 && rows != s.m) || (columns != 1 && columns != s.n)) {
    Fail(Code::kInvalidArgument, "expected an input C that broadcasts to [", s.m, ", ", s.n, "], found ", ToText(dims));
  }
  return {c.Input(6).As<std::int32_t>(), rows == 1 ? 0 : columns, columns == 1 ? 0 : 1};
}

class QGemm {
 public:
  explicit QGemm(KernelContext& c)
      : c_(c), state_(c.state<QGemmState>()), sizes_(MakeSizes(c, state_)), addend_(ViewAddend(c, sizes_)) {}

  void Run() {
    for (const std::size_t i : {1, 2, 7, 8}) CheckCount(i, 1);
    for (const std::size_t i : {std::size_t{4}, std::size_t{5}})
      if (c_.HasInput(i) && c_.Input(i).count != 1) CheckCount(i, sizes_.n);
    const OutputRef y = c_.Output(0);
    if (y.count == 0) return;
    SetArgs();
    ScratchLayout layout;
    const auto words = static_cast<std::size_t>(sizes_.n);
    const std::size_t scales = layout.Add<float>(words), bias = layout.Add<std::int32_t>(words);
    const std::size_t a = layout.Add(state_.trans_a ? static_cast<std::size_t>(sizes_.m * sizes_.k) : 0);
    const std::size_t gemm = layout.Add(kernels::GemmInt8ScratchBytes(args_, c_.parallel().ThreadCount()));
    block_ = c_.Scratch(layout.bytes());
    if (state_.trans_a) args_.a = Transposed(c_.Input(0), sizes_.k, sizes_.m, a);
    args_.scales = At<float>(scales);
    SetScales(At<float>(scales));
    if (addend_.data == nullptr) return kernels::GemmInt8(args_, c_.parallel(), block_ + gemm);
    if (!addend_.per_row()) {
      args_.bias = At<std::int32_t>(bias);
      for (std::int64_t j = 0; j < sizes_.n; ++j) At<std::int32_t>(bias)[j] = addend_.data[j * addend_.column];
      return kernels::GemmInt8(args_, c_.parallel(), block_ + gemm);
    }
    RunByRow(At<std::int32_t>(bias), block_ + gemm);
  }

 private:
  void CheckCount(std::size_t input, std::int64_t want) const {
    if (c_.HasInput(input) && c_.Input(input).count != want) {
      Fail(Code::kInvalidArgument, "expected ", want, " elements of input ", input, ", found ",
           ToText(c_.Input(input).shape));
    }
  }
  template <typename T>
  T* At(std::size_t at) const {
    return static_cast<T*>(static_cast<void*>(block_ + at));
  }

  void SetArgs() {
    args_.m = sizes_.m, args_.n = sizes_.n, args_.k = sizes_.k;
    args_.a = c_.Input(0).data, args_.lda = sizes_.k;
    args_.a_signed = c_.Input(0).dtype == DType::kInt8;
    args_.a_zero = c_.HasInput(2) ? c_.Input(2).data : nullptr;
    if (state_.packed.packed.defined()) {
      args_.packed_b = state_.packed.packed.raw();
      args_.b_signed = state_.packed.is_signed;
    } else {
      args_.b_transposed = state_.trans_b;
      args_.b = c_.Input(3).data, args_.ldb = state_.trans_b ? sizes_.k : sizes_.n;
      args_.b_signed = c_.Input(3).dtype == DType::kInt8;
    }
    if (c_.HasInput(5)) {
      args_.b_zero = c_.Input(5).data;
      args_.b_zero_per_column = c_.Input(5).count > 1;
    }
    args_.c = c_.Output(0).data, args_.ldc = sizes_.n;
    args_.scale_per_column = true;
    args_.result = kernels::Int8Result::kFloats;
    if (!c_.HasInput(8)) return;
    args_.result = kernels::Int8Result::kBytes;
    args_.c_signed = c_.Output(0).dtype == DType::kInt8;
    args_.c_zero = args_.c_signed ? *c_.Input(8).As<std::int8_t>() : *c_.Input(8).As<std::uint8_t>();
  }

  void SetScales(float* scales) const {
    const float a = state_.alpha * *c_.Input(1).As<float>();
    MultiplyScales(a, c_.Input(4).As<float>(), c_.Input(4).count, sizes_.n, scales);
    if (!c_.HasInput(7) || !c_.HasInput(8)) return;
    const float y = *c_.Input(7).As<float>();
    for (std::int64_t j = 0; j < sizes_.n; ++j) scales[j] /= y;
  }

  // x [rows, columns] as [columns, rows].
  const std::uint8_t* Transposed(const TensorRef& x, std::int64_t rows, std::int64_t columns, std::size_t at) const {
    kernels::BestTilesInt8().transpose(rows, columns, x.As<const std::uint8_t>(), columns, At<std::uint8_t>(at), rows);
    return At<std::uint8_t>(at);
  }

  // A C of its own for every row, which the product does not know: a row at a time.
  void RunByRow(std::int32_t* bias, std::byte* scratch) {
    const std::int64_t size = args_.result == kernels::Int8Result::kBytes ? 1 : 4;
    args_.bias = bias;
    for (std::int64_t i = 0; i < sizes_.m; ++i) {
      const std::int32_t* row = addend_.data + i * addend_.row;
      for (std::int64_t j = 0; j < sizes_.n; ++j) bias[j] = row[j * addend_.column];
      kernels::GemmInt8Args g = args_;
      g.m = 1;
      g.a = static_cast<const std::uint8_t*>(args_.a) + i * args_.lda;
      g.c = static_cast<std::byte*>(args_.c) + i * args_.ldc * size;
      kernels::GemmInt8(g, c_.parallel(), scratch);
    }
  }

  KernelContext& c_;
  const QGemmState& state_;
  QGemmSizes sizes_;
  QGemmAddend addend_;
  kernels::GemmInt8Args args_;
  std::byte* block_ = nullptr;
};

void RunQGemm(KernelContext& c) { QGemm(c).Run(); }

}  // namespace

void InferMatMulIntegerToFloat(InferContext& c) {
  if (!c.HasRank(0) || !c.HasRank(1)) return c.SetOutput(0, c.InputDType(2));
  c.SetOutput(0, c.InputDType(2), MatMulDims(c, c.InputDims(0), c.InputDims(1)));
}

Prepared PrepareMatMulIntegerToFloat(PrepareContext& c) {
  CheckB(c, 1);
  for (const std::size_t i : {2u, 3u})
    if (c.InputDType(i) != DType::kFloat && c.InputDType(i) != DType::kFloat16)
      c.Unsupported(c.InputText(i), c.InputDType(i));
  return WithState(RunToFloat, PackInt8B(c, 1));
}

void InferDynamicQuantizeMatMul(InferContext& c) {
  if (!c.HasRank(0) || !c.HasRank(1)) return c.SetOutput(0, DType::kFloat);
  c.SetOutput(0, DType::kFloat, MatMulDims(c, c.InputDims(0), c.InputDims(1)));
}

Prepared PrepareDynamicQuantizeMatMul(PrepareContext& c) {
  CheckB(c, 1);
  return WithState(RunDynamic, PackInt8B(c, 1));
}

void InferQGemm(InferContext& c) {
  const DType result = c.HasInput(8) ? c.InputDType(8) : DType::kFloat;
  if (!c.HasRank(0) || !c.HasRank(3)) return c.SetOutput(0, result, {Dim(), Dim()});
  for (const std::size_t i : {0u, 3u}) {
    if (c.Rank(i) != 2) {
      c.Fail(Code::kInvalidArgument, "expected a matrix as input ", i == 0 ? "A" : "B", ", found ",
             c.InputType(i).ToText());
    }
  }
  c.SetOutput(0, result, {c.InputDims(0)[c.Flag("transA") ? 1 : 0], c.InputDims(3)[c.Flag("transB") ? 0 : 1]});
}

Prepared PrepareQGemm(PrepareContext& c) {
  CheckB(c, 3);
  if (c.HasInput(8) && !c.HasInput(7))
    c.Fail(Code::kInvalidGraph, "expected y_scale together with y_zero_point, found only y_zero_point");
  if (c.HasInput(8) && !kInt8s.Has(c.InputDType(8))) c.Unsupported("an output", c.InputDType(8));
  QGemmState state;
  state.trans_a = c.Flag("transA");
  state.trans_b = c.Flag("transB");
  state.alpha = c.Float("alpha", 1);
  state.packed = PackInt8B(c, 3, state.trans_b);
  return WithState(RunQGemm, std::move(state));
}

}  // namespace sardonyx::ops
