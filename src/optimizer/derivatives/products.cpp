// optimizer/derivatives/products.cpp - the derivatives of matrix products and convolutions, which are products again.
#include "optimizer/derivatives/window.h"

namespace sardonyx::optimizer {
namespace {

ValueId Transposed(Derivation& d, ValueId matrix) {
  std::vector<std::int64_t> perm(d.RankOf(matrix));
  for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<std::int64_t>(i);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return d.Add("Transpose", {matrix}, {{"perm", perm}});
}

// dA = dY B^T and dB = A^T dY, summed over the batches that were stretched. Vectors are matrices of one row or column.
void DeriveMatMul(Derivation& d) {
  ValueId a = d.Input(0), b = d.Input(1), dy = d.Gradient();
  const bool row = d.RankOf(a) == 1, column = d.RankOf(b) == 1;
  if (row) a = d.Add("Unsqueeze", {a, d.Ints({0})});
  if (column) {
    b = d.Add("Unsqueeze", {b, d.Ints({1})});
    dy = d.Add("Unsqueeze", {dy, d.Ints({-1})});
  }
  if (row) dy = d.Add("Unsqueeze", {dy, d.Ints({-2})});
  if (d.Wants(0)) {
    const ValueId da = d.SumTo(d.Add("MatMul", {dy, Transposed(d, b)}), a);
    d.Give(0, row ? d.ReshapedLike(da, d.Input(0)) : da);
  }
  if (d.Wants(1)) {
    const ValueId db = d.SumTo(d.Add("MatMul", {Transposed(d, a), dy}), b);
    d.Give(1, column ? d.ReshapedLike(db, d.Input(1)) : db);
  }
}

void DeriveGemm(Derivation& d) {
  const ops::AttributeReader attributes = d.attributes();
  const bool a_transposed = attributes.Flag("transA"), b_transposed = attributes.Flag("transB");
  const float alpha = attributes.Float("alpha", 1), beta = attributes.Float("beta", 1);
  const auto product = [&](ValueId left, bool left_transposed, ValueId right, bool right_transposed) {
    return d.Add(
        "Gemm", {left, right},
        {{"alpha", alpha}, {"transA", std::int64_t{left_transposed}}, {"transB", std::int64_t{right_transposed}}});
  };
  const ValueId a = d.Input(0), b = d.Input(1), dy = d.Gradient();
  if (d.Wants(0)) d.Give(0, a_transposed ? product(b, b_transposed, dy, true) : product(dy, false, b, !b_transposed));
  if (d.Wants(1)) d.Give(1, b_transposed ? product(dy, true, a, a_transposed) : product(a, !a_transposed, dy, false));
  if (d.Wants(2)) d.Give(2, d.SumTo(d.Add("Mul", {dy, d.Scalar(beta)}), d.Input(2)));
}

// The labels of each operand and of the result, as the equation names them.
void DeriveEinsum(Derivation& d) {
  std::string equation = d.attributes().String("equation");
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos)
    d.NotImplemented("for equation '", equation, "': only with '->' and without '...'");
  std::vector<std::string> labels(1);
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',') {
      labels.emplace_back();
    } else {
      labels.back() += c;
    }
  }
  const std::string result = equation.substr(arrow + 2);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!d.Wants(i)) continue;
    std::string all = result;
    std::vector<ValueId> operands = {d.Gradient()};
    for (std::size_t j = 0; j < labels.size(); ++j) {
      if (j == i) continue;
      all += ',' + labels[j];
      operands.push_back(d.Input(j));
    }
    for (std::size_t at = 0; at < labels[i].size(); ++at)
      if (all.find(labels[i][at]) == std::string::npos || labels[i].find(labels[i][at], at + 1) != std::string::npos)
        d.NotImplemented("for equation '", equation, "', whose label '", std::string(1, labels[i][at]),
                         "' stands alone or twice in operand ", i);
    d.Give(i, d.Add("Einsum", operands, {{"equation", all + "->" + labels[i]}}));
  }
}

ValueId SumOverChannels(Derivation& d) {
  std::vector<std::int64_t> axes = {0};
  for (std::size_t i = 2; i < d.RankOf(d.Gradient()); ++i) axes.push_back(static_cast<std::int64_t>(i));
  return d.Sum(d.Gradient(), axes, false);
}

// Moves dimension 1 to the front.
ValueId ChannelsFirst(Derivation& d, ValueId value) {
  std::vector<std::int64_t> perm(d.RankOf(value));
  for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<std::int64_t>(i);
  std::swap(perm[0], perm[1]);
  return d.Add("Transpose", {value}, {{"perm", perm}});
}

// The gradient of the weights `w` [O, C / groups, kernel...] of a convolution of x [N, C, ...] whose result has the
// gradient dy [N, O, ...]: a convolution, over the batch, of x with dy as its weights, in which strides and dilations
// change places. Where the stride does not divide the map, the result has more positions than the kernel.
ValueId WeightGradient(Derivation& d, const Sliding& s, ValueId x, ValueId dy, ValueId w, std::int64_t groups) {
  const auto end = static_cast<std::int64_t>(s.kernel.size() + 2);
  ValueId maps = ChannelsFirst(d, x);
  if (groups > 1) {
    const ValueId n = d.Sizes(x, 0, 1), channels = d.Sizes(w, 1, 2), spatial = d.Sizes(x, 2, end);
    const ValueId apart = d.Reshaped(x, d.Joined({n, d.Ints({groups}), channels, spatial}));
    std::vector<std::int64_t> perm = {2, 1, 0};
    for (std::int64_t i = 3; i <= end; ++i) perm.push_back(i);
    const ValueId turned = d.Add("Transpose", {apart}, {{"perm", perm}});
    maps = d.Reshaped(turned, d.Joined({channels, d.Add("Mul", {n, d.Ints({groups})}), spatial}));
  }
  const ValueId product =
      d.Add("Conv", {maps, ChannelsFirst(d, dy)},
            {{"strides", s.dilations}, {"dilations", s.strides}, {"pads", s.pads}, {"group", groups}});
  const std::vector<std::int64_t> zeros(s.kernel.size(), 0);
  return ChannelsFirst(d, d.Add("Slice", {product, d.Ints(zeros), d.Ints(s.kernel), d.Ints(s.axes())}));
}

void DeriveConv(Derivation& d) {
  const Sliding s = ReadSliding(d, d.Input(1));
  const std::int64_t groups = d.attributes().Int("group", 1);
  if (d.Wants(0)) d.Give(0, SpreadOver(d, s, d.Gradient(), d.Input(1), groups, d.Input(0)));
  if (d.Wants(1)) d.Give(1, WeightGradient(d, s, d.Input(0), d.Gradient(), d.Input(1), groups));
  if (d.Wants(2)) d.Give(2, SumOverChannels(d));
}

void DeriveConvTranspose(Derivation& d) {
  const ops::AttributeReader attributes = d.attributes();
  if (attributes.Has("output_shape")) d.NotImplemented("with 'output_shape'");
  if (attributes.String("auto_pad", "NOTSET") != "NOTSET") d.NotImplemented("with 'auto_pad'");
  const Sliding s = ReadSliding(d, d.Input(1));
  const std::int64_t groups = attributes.Int("group", 1);
  if (d.Wants(0))
    d.Give(0, d.Add("Conv", {d.Gradient(), d.Input(1)},
                    {{"strides", s.strides}, {"dilations", s.dilations}, {"pads", s.pads}, {"group", groups}}));
  if (d.Wants(1)) d.Give(1, WeightGradient(d, s, d.Gradient(), d.Input(0), d.Input(1), groups));
  if (d.Wants(2)) d.Give(2, SumOverChannels(d));
}

constexpr Derivative kProducts[] = {
    {.name = "Conv", .derive = DeriveConv},     {.name = "ConvTranspose", .derive = DeriveConvTranspose},
    {.name = "Einsum", .derive = DeriveEinsum}, {.name = "Gemm", .derive = DeriveGemm},
    {.name = "MatMul", .derive = DeriveMatMul},
};

}  // namespace

std::span<const Derivative> ProductDerivatives() { return kProducts; }

}  // namespace sardonyx::optimizer
