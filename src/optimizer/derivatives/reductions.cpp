// optimizer/derivatives/reductions.cpp - the derivatives of reductions, Softmax and cumulative sums.
#include "optimizer/derivatives/derivation.h"

namespace sardonyx::optimizer {
namespace {

// A result of the node with the reduced axes kept as dimensions of size 1, so that it broadcasts against the input.
ValueId Kept(Derivation& d, ValueId reduced) {
  if (!d.HasInput(1)) {
    if (d.attributes().Flag("noop_with_empty_axes")) d.NotImplemented("without axes and with 'noop_with_empty_axes'");
    return reduced;  // one element, or already kept
  }
  return d.attributes().Flag("keepdims", true) ? reduced : d.Add("Unsqueeze", {reduced, d.Input(1)});
}

ValueId SpreadGradient(Derivation& d) { return d.Add("Expand", {Kept(d, d.Gradient()), d.ShapeOf(d.Input(0))}); }

void DeriveReduceSum(Derivation& d) { d.Give(0, SpreadGradient(d)); }

ValueId CountOf(Derivation& d, ValueId value) { return d.Add("CastLike", {d.Add("Size", {value}), d.Input(0)}); }

void DeriveReduceMean(Derivation& d) {
  const ValueId count = d.Add("Div", {CountOf(d, d.Input(0)), CountOf(d, d.Output())});
  d.Give(0, d.Add("Div", {SpreadGradient(d), count}));
}

// Elements that are equally large share the gradient.
void DeriveExtremum(Derivation& d) {
  const ValueId y = Kept(d, d.Output());
  const ValueId taken = d.Add("CastLike", {d.Add("Equal", {d.Input(0), y}), d.Input(0)});
  std::vector<ValueId> counted = {taken};
  if (d.HasInput(1)) counted.push_back(d.Input(1));
  const ValueId count = d.Add("ReduceSum", counted);
  d.Give(0, d.Add("Div", {d.Add("Mul", {taken, Kept(d, d.Gradient())}), count}));
}

// The product of the others: the whole product by the element. Where one element is 0, only that one counts; where
// several are, none does.
void DeriveReduceProd(Derivation& d) {
  const ValueId x = d.Input(0), zero = d.Scalar(0), one = d.Scalar(1);
  const ValueId is_zero = d.Add("Equal", {x, zero}), others = d.Add("Where", {is_zero, one, x});
  std::vector<ValueId> product = {others}, zeros = {d.Add("CastLike", {is_zero, x})};
  if (d.HasInput(1)) {
    product.push_back(d.Input(1));
    zeros.push_back(d.Input(1));
  }
  const ValueId without_zeros = d.Add("ReduceProd", product), count = d.Add("ReduceSum", zeros);
  const ValueId alone = d.Add("And", {is_zero, d.Add("Equal", {count, one})});
  const ValueId where_zeros = d.Add("Where", {alone, without_zeros, zero});
  const ValueId slope =
      d.Add("Where", {d.Add("Equal", {count, zero}), d.Add("Div", {without_zeros, others}), where_zeros});
  d.Give(0, d.Add("Mul", {Kept(d, d.Gradient()), slope}));
}

void DeriveReduceL1(Derivation& d) { d.Give(0, d.Add("Mul", {Kept(d, d.Gradient()), d.Add("Sign", {d.Input(0)})})); }

// Of zeros only, the norm has a corner: the gradient there is 0.
void DeriveReduceL2(Derivation& d) {
  const ValueId y = Kept(d, d.Output());
  const ValueId direction = d.Add("Div", {d.Input(0), y});
  const ValueId slope = d.Add("Where", {d.Add("Equal", {y, d.Scalar(0)}), d.Scalar(0), direction});
  d.Give(0, d.Add("Mul", {Kept(d, d.Gradient()), slope}));
}

void DeriveReduceSumSquare(Derivation& d) {
  d.Give(0, d.Add("Mul", {Kept(d, d.Gradient()), d.Add("Add", {d.Input(0), d.Input(0)})}));
}

void DeriveReduceLogSum(Derivation& d) {
  d.Give(0,
         d.Add("Expand", {Kept(d, d.Add("Div", {d.Gradient(), d.Add("Exp", {d.Output()})})), d.ShapeOf(d.Input(0))}));
}

void DeriveReduceLogSumExp(Derivation& d) {
  const ValueId share = d.Add("Exp", {d.Add("Sub", {d.Input(0), Kept(d, d.Output())})});
  d.Give(0, d.Add("Mul", {Kept(d, d.Gradient()), share}));
}

void DeriveSoftmax(Derivation& d) {
  const std::int64_t axis = d.attributes().Int("axis", -1);
  const ValueId product = d.Add("Mul", {d.Gradient(), d.Output()});
  const ValueId share = d.Add("Mul", {d.Output(), d.Sum(product, {axis}, true)});
  d.Give(0, d.Add("Sub", {product, share}));
}

void DeriveLogSoftmax(Derivation& d) {
  const std::int64_t axis = d.attributes().Int("axis", -1);
  const ValueId share = d.Add("Mul", {d.Add("Exp", {d.Output()}), d.Sum(d.Gradient(), {axis}, true)});
  d.Give(0, d.Add("Sub", {d.Gradient(), share}));
}

// Each element counts in all sums from its own on, so the gradient is summed from the other end.
void DeriveCumSum(Derivation& d) {
  const ops::AttributeReader attributes = d.attributes();
  d.Give(0, d.Add("CumSum", {d.Gradient(), d.Input(1)},
                  {{"exclusive", std::int64_t{attributes.Flag("exclusive")}},
                   {"reverse", std::int64_t{!attributes.Flag("reverse")}}}));
}

constexpr Derivative kReductions[] = {
    {.name = "CumSum", .derive = DeriveCumSum},
    {.name = "Hardmax", .gradients = {"Mul(dy, 0)"}},
    {.name = "LogSoftmax", .derive = DeriveLogSoftmax},
    {.name = "ReduceL1", .derive = DeriveReduceL1},
    {.name = "ReduceL2", .derive = DeriveReduceL2},
    {.name = "ReduceLogSum", .derive = DeriveReduceLogSum},
    {.name = "ReduceLogSumExp", .derive = DeriveReduceLogSumExp},
    {.name = "ReduceMax", .derive = DeriveExtremum},
    {.name = "ReduceMean", .derive = DeriveReduceMean},
    {.name = "ReduceMin", .derive = DeriveExtremum},
    {.name = "ReduceProd", .derive = DeriveReduceProd},
    {.name = "ReduceSum", .derive = DeriveReduceSum},
    {.name = "ReduceSumSquare", .derive = DeriveReduceSumSquare},
    {.name = "Softmax", .derive = DeriveSoftmax},
};

}  // namespace

std::span<const Derivative> ReductionDerivatives() { return kReductions; }

}  // namespace sardonyx::optimizer
