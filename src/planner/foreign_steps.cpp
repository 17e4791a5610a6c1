// planner/foreign_steps.cpp - finds the steps that other providers own, and infers their types.
#include "planner/foreign_steps.h"

#include "ops/cost_context.h"
#include "ops/errors/late_errors.h"
#include "ops/infer.h"
#include "ops/infer_context.h"
#include "planner/copy_nodes.h"

namespace sardonyx::planner {
namespace {

void InferFused(ops::InferContext& c) {
  std::vector<Type> inputs;  // the body has those that are not missing
  for (std::size_t i = 0; i < c.InputCount(); ++i)
    if (c.HasInput(i)) inputs.push_back(c.InputType(i));
  std::vector<Type> outputs = c.InferSubgraph("body", inputs);
  std::size_t next = 0;
  for (std::size_t i = 0; i < c.OutputCount() && next < outputs.size(); ++i)
    if (c.HasOutput(i)) c.SetOutputType(i, std::move(outputs[next++]));
}

void InferNothing(ops::InferContext& /*c*/) {}

constexpr ops::OpDef kFusedGroup = {.name = "fused group", .infer = InferFused};
constexpr ops::OpDef kForeignOperator = {.name = "foreign operator", .infer = InferNothing};
constexpr ops::OpDef kDeviceCopy = {.name = "device copy", .infer = ops::InferSameAsInput, .cost = ops::CountNothing};

}  // namespace

const ops::OpDef& FusedGroup() { return kFusedGroup; }
const ops::OpDef& ForeignOperator() { return kForeignOperator; }
const ops::OpDef& DeviceCopy() { return kDeviceCopy; }

bool IsCopy(const Node& node) {
  return node.domain == kCopyDomain &&
         (node.op_type == kCopyFromHost || node.op_type == kCopyToHost || node.op_type == kCopyAcross);
}

bool IsControlFlow(const Node& node) { return !node.Subgraphs().empty() && node.domain != node.provider; }

const ops::OpDef& OperatorOf(const Node& node, const ops::Registry& registry, const providers::ProviderSet& providers) {
  const providers::Provider* provider = providers.Find(node.provider);
  if (provider != nullptr && node.domain == provider->name() && providers.compiled.contains(node.op_type))
    return kFusedGroup;
  if (IsCopy(node)) return kDeviceCopy;
  if (ops::IsPostponed(node)) return ops::PostponedOperator();
  const ops::OpDef* op = registry.Find(node.domain, node.op_type, node.since_version);
  return op != nullptr ? *op : kForeignOperator;
}

std::vector<Type> InferGroup(const Graph& body, const ops::Registry& registry, std::span<const Type> inputs) {
  Graph copy = body;
  for (ValueInfo& value : copy.values)
    if (value.producer != kNoNode) value.type = Type();  // as inferred for the inputs at hand
  for (std::size_t i = 0; i < inputs.size() && i < copy.inputs.size(); ++i)
    if (!inputs[i].is_none()) copy.value(copy.inputs[i]).type = inputs[i];
  ops::Infer(copy, registry);
  std::vector<Type> types;
  for (const ValueId output : copy.outputs) types.push_back(copy.value(output).type);
  return types;
}

}  // namespace sardonyx::planner
