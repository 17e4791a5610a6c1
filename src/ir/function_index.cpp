// ir/function_index.cpp - finds a model's functions by name.
#include "ir/function_index.h"

#include "ir/domain.h"

namespace sardonyx {

FunctionIndex::FunctionIndex(const Model& model) {
  for (const Function& function : model.functions) {
    if (function.domain == "ai.sardonyx") continue;
    functions_.try_emplace({StandardDomain(function.domain), function.name, function.overload}, &function);
  }
}

const Function* FunctionIndex::Find(std::string_view domain, std::string_view name, std::string_view overload) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find({StandardDomain(domain), name, overload});
  return found == functions_.end() ? nullptr : found->second;
}

}  // namespace sardonyx
