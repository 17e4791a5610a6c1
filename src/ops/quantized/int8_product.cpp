// ops/quantized/int8_product.cpp - packs B, and finds the bytes and zero points of each matrix of a batch.
#include "ops/quantized/int8_product.h"

#include "kernels/gemm/tile_int8.h"
#include "tensor/packing.h"

namespace sardonyx::ops {

PackedInt8 PackInt8B(PrepareContext& c, std::size_t input, bool transposed) {
  PackedInt8 state{.transposed = transposed};
  const Tensor* b = c.Constant(input);
  if (b == nullptr || b->shape().rank() != 2 || b->count() == 0 || !kInt8s.Has(b->dtype())) return state;
  const std::int64_t k = b->shape()[transposed ? 1 : 0], n = b->shape()[transposed ? 0 : 1];
  state.b = Shape{k, n};
  state.is_signed = b->dtype() == DType::kInt8;
  const auto bytes = static_cast<std::int64_t>(kernels::GemmInt8PackedBytes(k, n));
  state.packed = Packed(DType::kUInt8, Shape{bytes}, [&](Tensor& packed) {
    Tensor rows = *b;
    if (transposed) {
      rows = Tensor(b->dtype(), Shape{k, n});
      kernels::BestTilesInt8().transpose(n, k, static_cast<const std::uint8_t*>(b->raw()), k,
                                         static_cast<std::uint8_t*>(rows.raw()), n);
    }
    kernels::PackGemmInt8B(k, n, rows.raw(), n, state.is_signed, packed.raw(), c.parallel());
  });
  c.MarkPacked(input);
  return state;
}

std::int64_t MatrixStride(const KernelContext& c, std::size_t input, std::int64_t each, std::int64_t matrices) {
  const std::int64_t count = c.Input(input).count;
  if (count == 1 || count == each) return 0;
  if (count != each * matrices) {
    Fail(Code::kInvalidArgument, "expected 1, ", each, " or ", each * matrices, " elements of input ", input,
         ", found ", ToText(c.Input(input).shape));
  }
  return each;
}

Int8Product::Int8Product(KernelContext& c, const Int8Inputs& in, const PackedInt8& packed, Dims a, bool a_signed,
                         bool one_row_rule) {
  const bool is_packed = packed.packed.defined();
  a_ = ViewOperand(a, false);
  b_ = ViewOperand(is_packed ? Dims(packed.b) : c.Input(in.b).shape, true, packed.transposed && !is_packed);
  batch_count_ = MatMulBatch(a_, b_, &batch_);
  args.m = a_.rows, args.n = b_.outer(true), args.k = a_.cols;
  args.lda = a_.ld, args.ldb = b_.ld, args.ldc = args.n;
  args.b_transposed = b_.trans;
  args.a_signed = a_signed;
  args.b_signed = is_packed ? packed.is_signed : c.Input(in.b).dtype == DType::kInt8;
  if (is_packed) {
    args.packed_b = packed.packed.raw();
  } else {
    args.b = c.Input(in.b).data;
  }
  if (c.HasInput(in.a_zero)) {
    a_zero_stride_ = MatrixStride(c, in.a_zero, args.m, a_.batch_count);
    args.a_zero = c.Input(in.a_zero).data;
    args.a_zero_per_row = c.Input(in.a_zero).count > 1;
  }
  if (c.HasInput(in.b_zero)) {
    b_zero_stride_ = MatrixStride(c, in.b_zero, args.n, b_.batch_count);
    args.b_zero = c.Input(in.b_zero).data;
    args.b_zero_per_column = c.Input(in.b_zero).count > 1;
  }
  if (batch_count_ > 1 && b_.batch_count == 1 && one_row_rule && !args.a_zero_per_row) {
    args.m *= batch_count_;
    batch_count_ = 1;
    batch_ = Shape{};
    a_.batch = {}, b_.batch = {};
    a_.batch_count = 1;
  }
}

void Int8Product::FindMatrices(std::int64_t* offsets) const {
  BatchOffsets(a_, batch_, 1, offsets);
  BatchOffsets(b_, batch_, 1, offsets + batch_count_);
}

kernels::GemmInt8Args Int8Product::Matrix(std::int64_t i, const std::int64_t* offsets) const {
  kernels::GemmInt8Args g = args;
  const std::int64_t a = offsets[i], b = offsets[batch_count_ + i];
  g.a = static_cast<const std::uint8_t*>(args.a) + a * a_.unit;
  if (g.packed_b == nullptr) g.b = static_cast<const std::uint8_t*>(args.b) + b * b_.unit;
  g.c = static_cast<std::byte*>(args.c) + i * g.m * g.n * (g.result == kernels::Int8Result::kBytes ? 1 : 4);
  if (g.a_zero != nullptr) g.a_zero = static_cast<const std::uint8_t*>(args.a_zero) + a * a_zero_stride_;
  if (g.b_zero != nullptr) g.b_zero = static_cast<const std::uint8_t*>(args.b_zero) + b * b_zero_stride_;
  return g;
}

}  // namespace sardonyx::ops
