// providers/provider.cpp - defaults for providers that have no fusion or no memory of their own.
#include "providers/provider.h"

#include "base/error.h"

namespace sardonyx::providers {

std::vector<CompiledGroup> Provider::Compile(std::span<const FusedNode> /*groups*/, const Model* /*model*/) {
  Fail(Code::kNotImplemented, "provider '", name(), "' does not compile groups of nodes");
}

void Provider::CopyBytes(const void* /*from*/, Device /*from_device*/, void* /*to*/, Device /*to_device*/,
                         std::size_t /*bytes*/) {
  Fail(Code::kNotImplemented, "provider '", name(), "' has no memory of its own to copy from or to");
}

Provider* ProviderSet::Find(std::string_view name) const {
  if (name.empty()) name = kCpuName;
  for (const auto& provider : providers)
    if (provider->name() == name) return provider.get();
  return nullptr;
}

}  // namespace sardonyx::providers
