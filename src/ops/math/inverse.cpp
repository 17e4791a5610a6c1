// ops/math/inverse.cpp - com.microsoft.Inverse: inverses of square matrices by elimination with row exchange, in
// double.
//
// A matrix without an inverse gives infinities and NaN, as in ONNX Runtime.
#include <algorithm>
#include <cmath>

#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

void InferInverse(InferContext& c) {
  c.SetOutputType(0, c.InputType(0));
  if (!c.HasRank(0)) return;
  const std::vector<Dim>& dims = c.InputDims(0);
  const std::size_t rank = dims.size();
  const bool square = rank >= 2 && !(dims[rank - 1].known() && dims[rank - 2].known() &&
                                     dims[rank - 1].number() != dims[rank - 2].number());
  if (!square) c.Fail(Code::kInvalidArgument, "expected square matrices, found ", c.InputType(0).ToText());
}

// y = the inverse of a [n, n], which is destroyed.
void Invert(double* a, double* y, std::int64_t n) {
  std::fill_n(y, n * n, 0.0);
  for (std::int64_t i = 0; i < n; ++i) y[i * n + i] = 1;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t row = k + 1; row < n; ++row)
      if (std::abs(a[row * n + k]) > std::abs(a[pivot * n + k])) pivot = row;
    if (pivot != k) {
      std::swap_ranges(a + k * n, a + (k + 1) * n, a + pivot * n);
      std::swap_ranges(y + k * n, y + (k + 1) * n, y + pivot * n);
    }
    const double scale = 1 / a[k * n + k];
    for (std::int64_t column = k; column < n; ++column) a[k * n + column] *= scale;
    for (std::int64_t column = 0; column < n; ++column) y[k * n + column] *= scale;
    for (std::int64_t row = 0; row < n; ++row) {
      const double factor = a[row * n + k];
      if (row == k || factor == 0) continue;
      for (std::int64_t column = k; column < n; ++column) a[row * n + column] -= factor * a[k * n + column];
      for (std::int64_t column = 0; column < n; ++column) y[row * n + column] -= factor * y[k * n + column];
    }
  }
}

void RunInverse(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const std::int64_t n = x.rank() >= 2 ? x.shape.back() : -1;
  if (x.rank() < 2 || x.dim(x.rank() - 2) != n)
    Fail(Code::kInvalidArgument, "expected square matrices, found ", ToText(x.shape));
  const OutputRef y = c.Output(0, x.shape);
  if (y.count == 0) return;
  ScratchLayout layout;
  const std::size_t copies = layout.Add<double>(static_cast<std::size_t>(x.count));
  const std::size_t results = layout.Add<double>(static_cast<std::size_t>(x.count));
  std::byte* block = c.Scratch(layout.bytes());
  auto* a = static_cast<double*>(static_cast<void*>(block + copies));
  auto* result = static_cast<double*>(static_cast<void*>(block + results));
  Convert(x.dtype, x.data, DType::kDouble, a, x.count, c.parallel());
  c.parallel().For(x.count / (n * n), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) Invert(a + i * n * n, result + i * n * n, n);
  });
  Convert(DType::kDouble, result, y.dtype, y.data, y.count, c.parallel());
}

Prepared PrepareInverse(PrepareContext&) { return {RunInverse, nullptr}; }

constexpr OpDef kInverseOps[] = {
    {.domain = "com.microsoft",
     .name = "Inverse",
     .since = {1},
     .types = {DType::kFloat, DType::kDouble, DType::kFloat16},
     .infer = InferInverse,
     .prepare = PrepareInverse},
};

}  // namespace

std::span<const OpDef> InverseOps() { return kInverseOps; }

}  // namespace sardonyx::ops
