// optimizer/derivatives/movement.cpp - the derivatives of operators that move elements: each element's gradient goes
// back to where the element came from.
#include "optimizer/derivatives/derivation.h"

namespace sardonyx::optimizer {
namespace {

void DeriveReshape(Derivation& d) { d.Give(0, d.ReshapedLike(d.Gradient(), d.Input(0))); }

void DeriveExpand(Derivation& d) { d.Give(0, d.SumTo(d.Gradient(), d.Input(0))); }

void DeriveTranspose(Derivation& d) {
  const std::vector<std::int64_t> perm = d.attributes().Ints("perm");
  if (perm.empty()) return d.Give(0, d.Add("Transpose", {d.Gradient()}));
  std::vector<std::int64_t> back(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) back[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  d.Give(0, d.Add("Transpose", {d.Gradient()}, {{"perm", back}}));
}

void DeriveConcat(Derivation& d) {
  const auto rank = static_cast<std::int64_t>(d.RankOf(d.Output()));
  const std::int64_t given = d.attributes().Int("axis"), axis = given < 0 ? given + rank : given;
  std::vector<ValueId> sizes;
  for (std::size_t i = 0; i < d.InputCount(); ++i) sizes.push_back(d.Sizes(d.Input(i), axis, axis + 1));
  const std::vector<ValueId> parts =
      d.AddMany("Split", {d.Gradient(), d.Joined(sizes)}, {{"axis", axis}}, d.InputCount());
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (d.Wants(i)) d.Give(i, parts[i]);
}

void DeriveSplit(Derivation& d) {
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < d.node().outputs.size(); ++i) {
    if (d.Output(i) == kNoValue) d.NotImplemented("without output ", i);
    parts.push_back(d.HasGradient(i) ? d.Gradient(i) : d.ZerosLike(d.Output(i)));
  }
  d.Give(0, d.Add("Concat", parts, {{"axis", d.attributes().Int("axis", 0)}}));
}

// The number of each element of input 0 in memory.
ValueId Numbers(Derivation& d) {
  const ValueId x = d.Input(0), shape = d.ShapeOf(x);
  const ValueId zero = d.Add("Squeeze", {d.Ints({0})}), one = d.Add("Squeeze", {d.Ints({1})});
  return d.Reshaped(d.Add("Range", {zero, d.Add("Size", {x}), one}), shape);
}

// The node itself, run over the numbers of the elements, says which element each result is.
void DeriveSelection(Derivation& d) {
  for (std::size_t i = 1; i < d.InputCount(); ++i)
    if (d.Wants(i)) d.NotImplemented("with respect to input ", i);
  std::vector<ValueId> inputs = d.node().inputs;
  inputs[0] = Numbers(d);
  const ValueId chosen = d.Add(d.node().op_type, inputs, d.node().attributes), all = d.Ints({-1});
  const ValueId zeros = d.Filled(d.Add("Unsqueeze", {d.Add("Size", {d.Input(0)}), d.Ints({0})}), 0);
  const ValueId sum =
      d.Add("ScatterElements", {zeros, d.Add("Reshape", {chosen, all}), d.Add("Reshape", {d.Gradient(), all})},
            {{"reduction", std::string("add")}});
  d.Give(0, d.ReshapedLike(sum, d.Input(0)));
}

// Rows of a table, the usual case, are added where they were read.
void DeriveGather(Derivation& d) {
  if (d.attributes().Int("axis", 0) != 0) return DeriveSelection(d);
  const ValueId rows = d.Add("Unsqueeze", {d.Add("Cast", {d.Input(1)}, {{"to", std::int64_t{7}}}), d.Ints({-1})});
  d.Give(0, d.Add("ScatterND", {d.ZerosLike(d.Input(0)), rows, d.Gradient()}, {{"reduction", std::string("add")}}));
}

void DerivePad(Derivation& d) {
  if (d.attributes().String("mode", "constant") != "constant") return DeriveSelection(d);
  if (d.Wants(2)) d.NotImplemented("with respect to the constant");
  std::vector<ValueId> inputs = {d.Gradient(), d.Add("Neg", {d.Input(1)}), kNoValue};
  if (d.HasInput(3)) inputs.push_back(d.Input(3));
  d.Give(0, d.Add("Pad", inputs));
}

void DeriveTrilu(Derivation& d) {
  std::vector<ValueId> inputs = d.node().inputs;
  inputs[0] = d.Gradient();
  d.Give(0, d.Add("Trilu", inputs, d.node().attributes));
}

void DeriveTopK(Derivation& d) {
  if (!d.HasGradient(0)) return;
  d.Give(0, d.Add("ScatterElements", {d.ZerosLike(d.Input(0)), d.Output(1), d.Gradient()},
                  {{"axis", d.attributes().Int("axis", -1)}}));
}

// What is written over has no gradient, unless the elements are added.
void DeriveScatter(Derivation& d) {
  const bool elements = d.node().op_type == "ScatterElements";
  const std::string reduction = d.attributes().String("reduction", "none");
  if (reduction != "none" && reduction != "add") d.NotImplemented("with reduction '", reduction, "'");
  std::vector<Attribute> axis;
  if (elements) axis.push_back({"axis", d.attributes().Int("axis", 0)});
  if (d.Wants(0)) {
    const ValueId zeros = d.ZerosLike(d.Input(2));
    const ValueId kept =
        reduction == "add" ? d.Gradient() : d.Add(d.node().op_type, {d.Gradient(), d.Input(1), zeros}, axis);
    d.Give(0, kept);
  }
  if (d.Wants(2)) d.Give(2, d.Add(elements ? "GatherElements" : "GatherND", {d.Gradient(), d.Input(1)}, axis));
}

constexpr Derivative kMovement[] = {
    {.name = "Compress", .derive = DeriveSelection},
    {.name = "Concat", .derive = DeriveConcat},
    {.name = "DepthToSpace", .derive = DeriveSelection},
    {.name = "Expand", .derive = DeriveExpand},
    {.name = "Flatten", .derive = DeriveReshape},
    {.name = "Gather", .derive = DeriveGather},
    {.name = "GatherElements", .derive = DeriveSelection},
    {.name = "GatherND", .derive = DeriveSelection},
    {.name = "Pad", .derive = DerivePad},
    {.name = "Reshape", .derive = DeriveReshape},
    {.name = "ReverseSequence", .derive = DeriveSelection},
    {.name = "ScatterElements", .derive = DeriveScatter},
    {.name = "ScatterND", .derive = DeriveScatter},
    {.name = "Slice", .derive = DeriveSelection},
    {.name = "SpaceToDepth", .derive = DeriveSelection},
    {.name = "Split", .derive = DeriveSplit},
    {.name = "Squeeze", .derive = DeriveReshape},
    {.name = "Tile", .derive = DeriveSelection},
    {.name = "TopK", .derive = DeriveTopK},
    {.name = "Transpose", .derive = DeriveTranspose},
    {.name = "Trilu", .derive = DeriveTrilu},
    {.name = "Unsqueeze", .derive = DeriveReshape},
};

}  // namespace

std::span<const Derivative> MovementDerivatives() { return kMovement; }

}  // namespace sardonyx::optimizer
