// ops/prepare_context.cpp - access to a node's types while it is prepared.
#include "ops/prepare_context.h"

namespace sardonyx::ops {

static const Type& NoType() {
  static const Type none;
  return none;
}

const Type& PrepareContext::InputType(std::size_t i) const { return HasInput(i) ? inputs_[i].type : NoType(); }
const Type& PrepareContext::OutputType(std::size_t i) const { return i < outputs_.size() ? outputs_[i] : NoType(); }

std::size_t PrepareContext::SubgraphIndex(std::string_view attribute) const {
  std::size_t index = 0;
  for (const Attribute& a : node().attributes) {
    if (const auto* list = std::get_if<std::vector<GraphBox>>(&a.value)) index += list->size();
    if (!std::holds_alternative<GraphBox>(a.value)) continue;
    if (a.name == attribute) return index;
    ++index;
  }
  Fail(Code::kInvalidGraph, "attribute '", attribute, "' (a graph) is required and missing");
}

// No version: the upgrade to the newest spelling has replaced that of the model's opset.
void PrepareContext::Unsupported(std::string_view what, DType dtype) const {
  Fail(Code::kNotImplemented, op_type(), " is not implemented for ", what, " of type ", Name(dtype));
}
void PrepareContext::Unsupported(std::string_view what) const {
  Fail(Code::kNotImplemented, op_type(), " is not implemented for ", what);
}

}  // namespace sardonyx::ops
