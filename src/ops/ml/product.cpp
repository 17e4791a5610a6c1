// ops/ml/product.cpp - multiplies rows by coefficients that are packed once.
#include "ops/ml/product.h"

#include "kernels/gemm/gemm.h"
#include "tensor/packing.h"

namespace sardonyx::ops {
namespace {

kernels::GemmF32Args Arguments(std::int64_t m, std::int64_t n, std::int64_t k, const float* packed) {
  kernels::GemmF32Args args;
  args.m = m, args.n = n, args.k = k;
  args.lda = k, args.ldb = k, args.ldc = n;
  args.packed_b = packed;
  return args;
}

}  // namespace

ConstantProduct::ConstantProduct(std::span<const float> coefficients, std::int64_t n, std::int64_t k) : n_(n), k_(k) {
  const auto count = static_cast<std::int64_t>(kernels::GemmF32PackedCount(k, n));
  packed_ = Packed(DType::kFloat, Shape{count}, [&](Tensor& packed) {
    Serial serial;
    kernels::PackGemmF32B(k, n, coefficients.data(), k, true, packed.data<float>(), serial);
  });
}

std::size_t ConstantProduct::ScratchBytes(std::int64_t m, Parallel& parallel) const {
  return kernels::GemmF32ScratchBytes(Arguments(m, n_, k_, packed_.data<float>()), parallel.ThreadCount());
}

void ConstantProduct::Run(const float* x, std::int64_t m, const kernels::Epilogue& epilogue, float* y,
                          Parallel& parallel, std::byte* scratch) const {
  if (m == 0 || n_ == 0) return;
  kernels::GemmF32Args args = Arguments(m, n_, k_, packed_.data<float>());
  args.a = x, args.c = y;
  args.epilogue = epilogue;
  kernels::GemmF32(args, parallel, scratch);
}

void CountVectors(CostContext& c, std::string_view attribute) {
  const auto* numbers = AttributeAs<std::vector<float>>(c.node(), attribute);
  const double rows = c.In(0).rank() > 1 ? CostContext::DimOf(c.In(0), 0) : 1;
  c.SetOperations(numbers != nullptr ? 2 * rows * static_cast<double>(numbers->size()) : 0);
}

}  // namespace sardonyx::ops
