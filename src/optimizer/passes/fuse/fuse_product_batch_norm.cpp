// optimizer/passes/fuse/fuse_product_batch_norm.cpp - BatchNormalization behind a product with constant weights, and a
// constant row added between them, are folded into weights and bias: what is left is a Gemm.
//
// y = (x W + b - mean) * scale / sqrt(variance + epsilon) + shift of matrices [M, N]. So column n of W is multiplied by
// f[n] = scale[n] / sqrt(variance[n] + epsilon), and the bias becomes (b - mean) * f + shift, computed in double.
#include <cmath>

#include "optimizer/fusion/conv_weights.h"
#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

bool IsFloatOrDouble(const Tensor& t) { return t.dtype() == DType::kFloat || t.dtype() == DType::kDouble; }

// Adds a constant row of N elements or one to `sums`; nothing if none was captured.
bool AddRow(Match& m, std::string_view name, std::vector<double>* sums) {
  if (!m.Has(name)) return true;
  const Tensor* row = m.constant(name);
  const std::vector<double> given = row != nullptr && IsFloatOrDouble(*row) ? FloatsOf(*row) : std::vector<double>();
  const bool fits = (given.size() == sums->size() || given.size() == 1) && row->shape().rank() <= 2 &&
                    (row->shape().rank() < 2 || row->shape()[0] == 1);
  if (!fits) return m.No("what is added to the product is not a constant row of ", sums->size(), " elements");
  for (std::size_t j = 0; j < sums->size(); ++j) (*sums)[j] += given[given.size() == 1 ? 0 : j];
  return true;
}

bool Folds(Match& m) {
  const Tensor* w = m.constant("w");
  const Type& y = m.type("y");
  if (w == nullptr || !IsFloatOrDouble(*w) || w->shape().rank() != 2 || w->count() == 0 || !y.has_rank || y.rank() != 2)
    return m.No("expected a product of a matrix with constant weights, found ", m.type("w").ToText());
  const bool trans = m.IntAttribute("transB", 0) != 0;
  const auto n = static_cast<std::size_t>(w->shape()[trans ? 0 : 1]), k = static_cast<std::size_t>(w->count()) / n;
  const auto norm = ChannelNormOf(m);
  if (!norm) return false;
  if (norm->factor.size() != n) return m.No("expected ", n, " parameters, found ", norm->factor.size());
  std::vector<double> weights = FloatsOf(*w), bias(n, 0.0);
  if (!AddRow(m, "c", &bias) || !AddRow(m, "row", &bias)) return false;
  for (std::size_t j = 0; j < n; ++j) {
    if (!std::isfinite(norm->factor[j])) return m.No("the factor of column ", j, " would be infinite");
    for (std::size_t i = 0; i < k; ++i) weights[trans ? j * k + i : i * n + j] *= norm->factor[j];
    bias[j] = (bias[j] - norm->mean[j]) * norm->factor[j] + norm->shift[j];
  }
  const std::string name = m.graph().value(m.value("w")).name;
  const Shape row{static_cast<std::int64_t>(n)};
  m.SetConstant("b", TensorOfFloats(w->dtype(), row, bias), name + "_bias");
  m.SetConstant("w", TensorOfFloats(w->dtype(), w->shape(), weights), name);
  return true;
}

constexpr Rule kRules[] = {
    {.name = "weights and bias",
     .match = "BatchNormalization(Add?(product, row), scale, shift, mean, variance; epsilon=$epsilon, training_mode=0) "
              "where product = y:(MatMul(x, w) | Gemm(x, w, ?c; alpha=1, beta=1, transB=$transB))",
     .replace = "Gemm(x, w, b; $y)",
     .when = Folds},
};

}  // namespace

constinit const Pass kFuseProductBatchNorm = {
    .name = "fuse_product_batch_norm", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
