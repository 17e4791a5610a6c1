// ops/spell_context.cpp - what spell functions share: new nodes, and errors.
#include "ops/spell_context.h"

#include "ops/schema/schema.h"

namespace sardonyx::ops {

int VersionAt(std::string_view op_type, std::int64_t opset) {
  const OpSchema* schema = FindSchema("", op_type, static_cast<int>(opset));
  return schema != nullptr ? schema->since_version : 0;
}

ValueId SpellContext::Add(std::string_view op_type, std::vector<ValueId> inputs, std::vector<Attribute> attributes,
                          const Type& type) const {
  const ValueId made = graph_->AddNode("", op_type, std::move(inputs), std::move(attributes), type);
  graph_->node(graph_->value(made).producer).since_version = VersionAt(op_type, opset_);
  return made;
}

ValueId SpellContext::Longs(const std::vector<std::int64_t>& numbers) const {
  return graph_->AddConstant("sizes", Tensor::Vector<std::int64_t>(numbers));
}

void SpellContext::Fail(std::string_view why) const {
  sardonyx::Fail(Code::kNotImplemented, Describe(*graph_, node()), ": ", why, " in opset ", opset_,
                 ", which other nodes of the optimized model need; save the model at the basic level");
}

}  // namespace sardonyx::ops
