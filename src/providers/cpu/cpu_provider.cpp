// providers/cpu/cpu_provider.cpp - takes every node whose operator has a row for its version.
#include "providers/cpu/cpu_provider.h"

#include <string>

namespace sardonyx::providers {
namespace {

void CheckElementType(const ops::PrepareContext& context) {
  const ops::OpDef& op = context.op();
  if (op.types.empty()) return;
  const auto at = static_cast<std::size_t>(op.typed_input);
  const bool from_input = context.InputCount() > 0;
  const DType dtype = from_input ? context.InputDType(at) : context.OutputDType(0);
  if (dtype == DType::kUndefined || op.types.Has(dtype)) return;
  context.Unsupported(from_input ? "input " + std::to_string(at) : "output 0", dtype);
}

class CpuProviderImpl final : public Provider {
 public:
  std::string_view name() const override { return kCpuName; }

  Claims Claim(const GraphView& view) override {
    Claims claims;
    for (const NodeId id : view.nodes) {
      const Node& node = view.graph.node(id);
      if (view.registry.Find(node.domain, node.op_type, node.since_version) != nullptr) {
        claims.groups.push_back({{id}, false});
      } else {
        claims.refusals.push_back({id, (node.domain.empty() ? "" : node.domain + ".") + node.op_type + " version " +
                                           std::to_string(node.since_version) + " is not implemented"});
      }
    }
    return claims;
  }

  ops::Prepared Prepare(ops::PrepareContext& context) override {
    CheckElementType(context);
    return context.op().prepare(context);
  }
};

}  // namespace

ProviderFactory CpuProvider() {
  return {std::string(kCpuName), [](const ProviderOptions& options, const Logger& logger) {
            for (const auto& [key, value] : options)
              logger.Warn("provider 'CPUExecutionProvider': option '", key, "' = '", value, "' has no effect");
            return std::make_shared<CpuProviderImpl>();
          }};
}

}  // namespace sardonyx::providers
