// optimizer/derivatives/derivation.cpp - the nodes that many derivatives add.
#include "optimizer/derivatives/derivation.h"

#include "ops/infer.h"
#include "ops/schema/schema.h"
#include "optimizer/rules/term.h"

namespace sardonyx::optimizer {
namespace {

// The elements of a term's names while an expression is built.
class Evaluation {
 public:
  explicit Evaluation(Derivation& derivation) : d_(derivation) {}

  ValueId Build(const Term& term) {
    if (term.kind == Term::Kind::kNumber) return d_.Scalar(term.number);
    if (term.kind == Term::Kind::kCapture) return Named(term.name);
    std::vector<ValueId> inputs;
    for (const Term& argument : term.arguments) inputs.push_back(Build(argument));
    std::vector<Attribute> attributes;
    for (const Term::Attribute& each : term.attributes) attributes.push_back({std::string(each.name), ValueOf(each)});
    return d_.Add(term.op_type, std::move(inputs), std::move(attributes));
  }

 private:
  ValueId Named(std::string_view name) {
    if (name == "a") return d_.Input(0);
    if (name == "b") return d_.Input(1);
    if (name == "c") return d_.Input(2);
    if (name == "y") return d_.Output();
    if (name == "dy") return d_.Gradient();
    const ops::OpSchema* schema = SchemaFor(d_.graph(), "", d_.node().op_type);
    for (const ops::AttributeSpec& spec : schema->attributes()) {
      if (spec.name() != name) continue;
      const AttributeValue* given = d_.node().FindAttribute(name);
      return d_.Scalar(std::get<float>(given != nullptr ? *given : spec.DefaultValue()));
    }
    Fail(Code::kFail, "the derivative of ", d_.node().op_type, " names '", name, "', which is nothing that it has");
  }

  Derivation& d_;
};

}  // namespace

std::size_t Derivation::RankOf(ValueId value) const {
  const Type& type = TypeOf(value);
  if (!type.is_tensor() || !type.has_rank)
    NotImplemented("where the rank of '", graph().value(value).name, "' is not known");
  return type.dims.size();
}

std::int64_t Derivation::SizeOf(ValueId value, std::size_t axis) const {
  if (axis >= RankOf(value) || !TypeOf(value).dims[axis].known())
    NotImplemented("where dimension ", axis, " of '", graph().value(value).name, "' is not known");
  return TypeOf(value).dims[axis].number();
}

std::vector<ValueId> Derivation::AddMany(std::string_view op_type, std::vector<ValueId> inputs,
                                         std::vector<Attribute> attributes, std::size_t outputs) {
  Graph& graph = rewrite_->graph();
  const ops::OpSchema* schema = SchemaFor(graph, "", op_type);
  Node added;
  added.op_type = op_type;
  added.since_version = schema->since_version;
  added.name = node().name;
  added.inputs = std::move(inputs);
  added.attributes = std::move(attributes);
  for (std::size_t i = 0; i < outputs; ++i) added.outputs.push_back(graph.AddValue(graph.FreshName(op_type)));
  std::vector<ValueId> made = added.outputs;
  ops::InferAt(graph, graph.AddNode(std::move(added)), rewrite_->registry());
  return made;
}

ValueId Derivation::Scalar(double number) { return rewrite_->Scalar(TypeOf(Input(0)).dtype, number); }

ValueId Derivation::Sizes(ValueId value, std::int64_t begin, std::int64_t end) {
  return Add("Shape", {value}, {{"start", begin}, {"end", end}});
}

ValueId Derivation::Joined(std::vector<ValueId> sizes) {
  return Add("Concat", std::move(sizes), {{"axis", std::int64_t{0}}});
}

ValueId Derivation::Reshaped(ValueId value, ValueId sizes) {
  return Add("Reshape", {value, sizes}, {{"allowzero", std::int64_t{1}}});
}

ValueId Derivation::Filled(ValueId sizes, double number) { return Add("Expand", {Scalar(number), sizes}); }

ValueId Derivation::Sum(ValueId value, const std::vector<std::int64_t>& axes, bool keep) {
  return Add("ReduceSum", {value, Ints(axes)}, {{"keepdims", std::int64_t{keep}}});
}

ValueId Derivation::SumTo(ValueId gradient, ValueId like) {
  const std::size_t rank = RankOf(gradient), lead = rank - RankOf(like);
  std::vector<std::int64_t> stretched;
  bool known = true;
  for (std::size_t i = 0; i < rank; ++i) {
    if (i < lead) {
      stretched.push_back(static_cast<std::int64_t>(i));
      continue;
    }
    const Dim &from = TypeOf(like).dims[i - lead], &to = TypeOf(gradient).dims[i];
    if (from.known() && from.number() == 1) {
      if (!to.known() || to.number() != 1) stretched.push_back(static_cast<std::int64_t>(i));
    } else if (!from.known()) {
      known = known && SameDim(from, to);
    }
  }
  if (known) {
    if (stretched.empty()) return gradient;
    const ValueId sum = Sum(gradient, stretched, true);
    return lead == 0 ? sum : ReshapedLike(sum, like);
  }
  std::vector<ValueId> padded = {ShapeOf(like)};
  if (lead > 0) padded.insert(padded.begin(), Ints(std::vector<std::int64_t>(lead, 1)));
  const ValueId differs = Add("Not", {Add("Equal", {Joined(std::move(padded)), ShapeOf(gradient)})});
  const ValueId axes = Add("Squeeze", {Add("NonZero", {differs}), Ints({0})});
  const ValueId sum = Add("ReduceSum", {gradient, axes}, {{"noop_with_empty_axes", std::int64_t{1}}});
  return ReshapedLike(sum, like);
}

ValueId Derivation::Evaluate(std::string_view expression) { return Evaluation(*this).Build(ParseTerm(expression)); }

const Derivative* FindDerivative(std::string_view domain, std::string_view name) {
  if (!domain.empty()) return nullptr;
  for (const auto& rows : {ArithmeticDerivatives(), LossDerivatives(), MovementDerivatives(),
                           NormalizationDerivatives(), PoolDerivatives(), ProductDerivatives(), ReductionDerivatives()})
    for (const Derivative& row : rows)
      if (row.name == name) return &row;
  return nullptr;
}

}  // namespace sardonyx::optimizer
