// runtime/foreign_steps.cpp - inference and kernels of steps that other providers own.
#include "runtime/foreign_steps.h"

#include "ops/infer.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "planner/place_copies.h"
#include "runtime/run_state.h"

namespace sardonyx::runtime {
namespace {

void InferFused(ops::InferContext& c) {
  std::vector<Type> inputs;
  for (std::size_t i = 0; i < c.InputCount(); ++i) inputs.push_back(c.InputType(i));
  std::vector<Type> outputs = c.InferSubgraph("body", inputs);
  for (std::size_t i = 0; i < outputs.size() && i < c.OutputCount(); ++i) c.SetOutputType(i, std::move(outputs[i]));
}

void InferNothing(ops::InferContext& /*c*/) {}

struct CopyState {
  providers::Provider* provider;  // lives in the program's set
  Device from, to;
};

void RunCopy(ops::KernelContext& c) {
  const auto& state = c.state<CopyState>();
  const ops::TensorRef& from = c.Input(0);
  const ops::TensorRef& to = c.Output(0, from.shape, from.dtype);
  if (from.count == 0) return;
  state.provider->CopyBytes(from.data, state.from, to.data, state.to, from.byte_size());
  static_cast<RunState*>(c.executor())->CountCopy(c.step(), from.byte_size());
}

constexpr ops::OpDef kFusedGroup = {.name = "fused group", .infer = InferFused};
constexpr ops::OpDef kForeignOperator = {.name = "foreign operator", .infer = InferNothing};
constexpr ops::OpDef kDeviceCopy = {.name = "device copy", .infer = ops::InferSameAsInput};

}  // namespace

const ops::OpDef& FusedGroup() { return kFusedGroup; }
const ops::OpDef& ForeignOperator() { return kForeignOperator; }
const ops::OpDef& DeviceCopy() { return kDeviceCopy; }

bool IsCopy(const Node& node) {
  return node.domain == planner::kCopyDomain &&
         (node.op_type == planner::kCopyFromHost || node.op_type == planner::kCopyToHost);
}

ops::Prepared PrepareCopy(providers::Provider& provider, const Graph& graph, const Node& node) {
  const CopyState state{&provider, graph.value(node.inputs[0]).device, graph.value(node.outputs[0]).device};
  return {RunCopy, std::make_shared<const CopyState>(state)};
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

}  // namespace sardonyx::runtime
