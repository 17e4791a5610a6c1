// providers/cpu/cpu_provider.cpp - takes every node whose operator has a row for its version.
#include "providers/cpu/cpu_provider.h"

#include <string>

#include "ops/errors/late_errors.h"

namespace sardonyx::providers {
namespace {

// A kernel made for some element types must not meet others; those that move elements of any type look at each run.
void CheckUnknownType(const ops::PrepareContext& context, std::size_t input) {
  const ops::DTypeSet& types = context.op().types;
  const bool any = types.Has(DType::kString) && types.Has(DType::kFloat) && types.Has(DType::kComplex64);
  if (any || !context.HasInput(input)) return;
  const Type& type = context.InputType(input);
  if (!type.is_none() && !type.is_tensor()) return;
  context.Fail(Code::kInvalidGraph, context.InputText(input),
               ": expected an element type that is known when the model is loaded, found none");
}

void CheckElementType(const ops::PrepareContext& context) {
  const ops::OpDef& op = context.op();
  if (op.types.empty()) return;
  const auto at = static_cast<std::size_t>(op.typed_input);
  const bool from_input = context.InputCount() > 0;
  const DType dtype = from_input ? context.InputDType(at) : context.OutputDType(0);
  if (op.types.Has(dtype)) return;
  if (dtype == DType::kUndefined) return CheckUnknownType(context, at);
  context.Unsupported(from_input ? context.InputText(at) : "an output", dtype);
}

class CpuProviderImpl final : public Provider {
 public:
  std::string_view name() const override { return kCpuName; }

  Claims Claim(const GraphView& view) override {
    Claims claims;
    for (const NodeId id : view.nodes) {
      const Node& node = view.graph.node(id);
      if (ops::IsPostponed(node) || view.registry.Find(node.domain, node.op_type, node.since_version) != nullptr) {
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
