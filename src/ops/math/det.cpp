// ops/math/det.cpp - Det: determinants of square matrices by elimination with row exchange, in double.
#include <cmath>
#include <utility>

#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

void InferDet(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = c.InputDims(0);
  const std::size_t rank = dims.size();
  const bool square = rank >= 2 && !(dims[rank - 1].known() && dims[rank - 2].known() &&
                                     dims[rank - 1].number() != dims[rank - 2].number());
  if (!square) c.Fail(Code::kInvalidArgument, "expected square matrices, found ", c.InputType(0).ToText());
  dims.resize(rank - 2);
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

// Destroys a [n, n].
double Determinant(double* a, std::int64_t n) {
  double product = 1;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t row = k + 1; row < n; ++row) {
      if (std::abs(a[row * n + k]) > std::abs(a[pivot * n + k])) pivot = row;
    }
    if (pivot != k) {
      product = -product;
      for (std::int64_t column = k; column < n; ++column) std::swap(a[k * n + column], a[pivot * n + column]);
    }
    const double diagonal = a[k * n + k];
    product *= diagonal;
    if (diagonal == 0) return product;
    for (std::int64_t row = k + 1; row < n; ++row) {
      const double factor = a[row * n + k] / diagonal;
      for (std::int64_t column = k + 1; column < n; ++column) a[row * n + column] -= factor * a[k * n + column];
    }
  }
  return product;
}

void RunDet(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  if (y.count == 0) return;
  const std::int64_t n = x.shape.back();
  if (x.dim(x.rank() - 2) != n) Fail(Code::kInvalidArgument, "expected square matrices, found ", ToText(x.shape));
  ScratchLayout layout;
  const std::size_t copies = layout.Add<double>(static_cast<std::size_t>(x.count));
  const std::size_t results = layout.Add<double>(static_cast<std::size_t>(y.count));
  std::byte* block = c.Scratch(layout.bytes());
  auto* a = static_cast<double*>(static_cast<void*>(block + copies));
  auto* result = static_cast<double*>(static_cast<void*>(block + results));
  Convert(x.dtype, x.data, DType::kDouble, a, x.count, c.parallel());
  c.parallel().For(y.count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) result[i] = Determinant(a + i * n * n, n);
  });
  Convert(DType::kDouble, result, y.dtype, y.data, y.count, c.parallel());
}

Prepared PrepareDet(PrepareContext&) { return {RunDet, nullptr}; }

constexpr OpDef kDetOps[] = {
    {.name = "Det", .since = {11, 22}, .types = kIeeeFloats, .infer = InferDet, .prepare = PrepareDet},
};

}  // namespace

std::span<const OpDef> DetOps() { return kDetOps; }

}  // namespace sardonyx::ops
