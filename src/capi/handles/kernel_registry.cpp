// capi/handles/kernel_registry.cpp - finds the kernel for a node.
#include "capi/handles/kernel_registry.h"

#include <algorithm>
#include <climits>

#include "ir/domain.h"
#include "ops/schema/schema.h"

namespace sardonyx::capi {
namespace {

// A kernel without a last version is for the operator as its first version defined it: what a newer version means was
// not known when the kernel was written.
bool FitsVersion(const OrtKernelDef& kernel, int version) {
  if (kernel.first_version == version) return true;
  return kernel.first_version < version && kernel.last_version != INT_MAX && version <= kernel.last_version;
}

bool Allows(const std::vector<const OrtDataType*>& types, const OrtValueInfo* value) {
  if (value == nullptr) return true;  // left out
  if (value->type == nullptr || value->type->tensor == nullptr) return false;
  return std::any_of(types.begin(), types.end(),
                     [&](const OrtDataType* type) { return type->element_type == value->type->tensor->element_type; });
}

// Whether the constraint `name` is one of this parameter: by the name of its type parameter, or by its own.
bool IsOf(const ops::FormalParam* parameter, std::string_view name) {
  return parameter != nullptr && (parameter->type() == name || parameter->name() == name);
}

bool FitsTypes(const OrtKernelDef& kernel, const OrtNode& node) {
  const ops::OpSchema* schema = ops::FindSchema(node.domain, node.op_type, node.since_version);
  if (schema == nullptr) return true;
  for (const auto& [name, types] : kernel.types) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (IsOf(schema->Input(i), name) && !Allows(types, node.inputs[i])) return false;
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (IsOf(schema->Output(i), name) && !Allows(types, node.outputs[i])) return false;
  }
  return true;
}

}  // namespace

const OrtKernelRegistry::Entry* FindKernel(const OrtKernelRegistry& kernels, const OrtNode& node,
                                           std::string_view provider) {
  for (const OrtKernelRegistry::Entry& entry : kernels.entries) {
    const OrtKernelDef& kernel = entry.definition;
    if (kernel.op_type == node.op_type && kernel.domain == StandardDomain(node.domain) && kernel.provider == provider &&
        FitsVersion(kernel, node.since_version) && FitsTypes(kernel, node))
      return &entry;
  }
  return nullptr;
}

}  // namespace sardonyx::capi
