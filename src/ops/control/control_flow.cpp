// ops/control/control_flow.cpp - If and Loop; and the rows of operators that generate text (greedy_search.h).
#include <array>

#include "ops/control/greedy_search.h"
#include "ops/control/scan_output.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

bool BodyCondition(const Value& value) {
  if (!value.is_tensor() || value.tensor().dtype() != DType::kBool || value.tensor().count() != 1) {
    Fail(Code::kInvalidArgument, "expected the body's condition to be one bool, found ", value.KindName());
  }
  return *value.tensor().data<std::uint8_t>() != 0;
}

// ---- If

// Nobody gives a branch inputs, but for those with a weight of the same name.
void CheckNoInputs(const InferContext& c, std::string_view attribute) {
  const Graph* branch = c.GraphAttribute(attribute);
  if (branch == nullptr) return;
  for (const ValueId input : branch->inputs) {
    if (branch->value(input).constant() == nullptr)
      c.Fail(Code::kInvalidGraph, "attribute '", attribute, "': expected a graph without inputs, found input '",
             branch->value(input).name, "'");
  }
}

void InferIf(InferContext& c) {
  for (const char* attribute : {"then_branch", "else_branch"}) CheckNoInputs(c, attribute);
  std::vector<Type> then_types = c.InferSubgraph("then_branch", {}), else_types = c.InferSubgraph("else_branch", {});
  const std::size_t count = c.OutputCount();
  if (then_types.size() != count || else_types.size() != count) {
    c.Fail(Code::kInvalidGraph, "expected branches with ", count, " outputs, found ", then_types.size(), " and ",
           else_types.size());
  }
  const Tensor* condition = c.Constant(0);
  for (std::size_t i = 0; i < count; ++i) {
    if (condition != nullptr && condition->count() == 1) {
      c.SetOutputType(i, *condition->data<bool>() ? then_types[i] : else_types[i]);
    } else if (!then_types[i].is_none() && !else_types[i].is_none()) {
      c.SetOutputType(i, Union(then_types[i], else_types[i]));
    }
  }
}

struct IfState {
  std::size_t then_branch, else_branch;
};

void RunIf(KernelContext& c) {
  const IfState& state = c.state<IfState>();
  const std::size_t count = c.OutputCount();
  std::array<Value, 8> few;  // no heap memory for the common case
  std::vector<Value> many(count > few.size() ? count : 0);
  const std::span<Value> values = many.empty() ? std::span<Value>(few).first(count) : std::span<Value>(many);
  // The tensors of the last run go to the branch, which may use their memory again.
  for (std::size_t i = 0; i < count; ++i)
    if (c.HasOutput(i)) values[i] = std::move(c.outputs()[i]->value);
  c.RunSubgraph(ConditionOf(c.Input(0)) ? state.then_branch : state.else_branch, {}, values);
  for (std::size_t i = 0; i < count; ++i)
    if (c.HasOutput(i)) c.SetOutput(i, std::move(values[i]));
}

Prepared PrepareIf(PrepareContext& c) {
  return WithState(RunIf, IfState{c.SubgraphIndex("then_branch"), c.SubgraphIndex("else_branch")});
}

// ---- Loop

constexpr std::size_t kFirstCarried =
    2;  // input of the node and of the body: after trip count (iteration) and condition

// The shape of the iteration number or of the condition in the body: of rank 1 where the body declares it so, as many
// exporters do, else a scalar. (ONNX Runtime takes the former of the iteration number.)
Shape ShapeOfTurn(const Graph& body, std::size_t input) {
  if (input >= body.inputs.size()) return {};
  const Type& type = body.value(body.inputs[input]).type;
  return type.is_tensor() && type.has_rank && type.dims.size() == 1 ? Shape{1} : Shape{};
}

Type TypeOfTurn(const Graph& body, std::size_t input, DType dtype) {
  const Shape shape = ShapeOfTurn(body, input);
  return Type::TensorOf(dtype, std::vector<Dim>(shape.begin(), shape.end()));
}

// Carried values may change from iteration to iteration: their types are widened until the body agrees.
std::vector<Type> LoopTypes(InferContext& c, std::vector<Type>& carried) {
  constexpr int kRounds = 6;
  const Graph* body = c.GraphAttribute("body");
  if (body == nullptr) c.Fail(Code::kInvalidGraph, "attribute 'body' (a graph) is required and missing");
  for (int round = 0;; ++round) {
    std::vector<Type> inputs = {TypeOfTurn(*body, 0, DType::kInt64), TypeOfTurn(*body, 1, DType::kBool)};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    std::vector<Type> outputs = c.InferSubgraph("body", inputs);
    if (outputs.size() < carried.size() + 1) {
      c.Fail(Code::kInvalidGraph, "expected a body with at least ", carried.size() + 1, " outputs, found ",
             outputs.size());
    }
    bool same = true;
    for (std::size_t i = 0; i < carried.size(); ++i) {
      Type& type = carried[i];
      const Type& result = outputs[i + 1];
      if (type.is_none()) continue;
      Type wide = result.is_none() || round + 1 >= kRounds ? Type::TensorOf(type.dtype) : Union(type, result);
      if (!type.is_tensor() && (result.is_none() || round + 1 >= kRounds)) wide = Type{};
      if (wide == type) continue;
      type = std::move(wide);
      same = false;
    }
    if (same || round >= kRounds) return outputs;
  }
}

void InferLoop(InferContext& c) {
  std::vector<Type> carried;
  for (std::size_t i = kFirstCarried; i < c.InputCount(); ++i) carried.push_back(c.InputType(i));
  const std::vector<Type> outputs = LoopTypes(c, carried);
  if (outputs.size() != c.OutputCount() + 1) {
    c.Fail(Code::kInvalidGraph, "expected a body with ", c.OutputCount() + 1, " outputs, found ", outputs.size());
  }
  for (std::size_t i = 0; i < c.OutputCount(); ++i) {
    if (i < carried.size()) {
      c.SetOutputType(i, carried[i]);
      continue;
    }
    Type type = outputs[i + 1];
    if (!type.is_tensor()) continue;
    if (type.has_rank) type.dims.insert(type.dims.begin(), Dim());
    c.SetOutputType(i, std::move(type));
  }
}

// The types that a body declares for its outputs.
std::vector<Type> BodyOutputTypes(const Graph& body) {
  std::vector<Type> types;
  for (const ValueId id : body.outputs) types.push_back(body.value(id).type);
  return types;
}

struct LoopState {
  std::size_t body;
  std::vector<Type> output_types;
  Shape turn, condition;  // of the body's first two inputs
};

void RunLoop(KernelContext& c) {
  const LoopState& state = c.state<LoopState>();
  const std::size_t carried = c.InputCount() - std::min(c.InputCount(), kFirstCarried);
  const std::size_t results = state.output_types.size() - 1;
  std::int64_t trips = std::numeric_limits<std::int64_t>::max();
  if (c.HasInput(0)) {
    if (c.Input(0).count != 1)
      Fail(Code::kInvalidArgument, "expected one trip count, found shape ", ToText(c.Input(0).shape));
    trips = IntAt(c.Input(0), 0);
  }
  bool go_on = !c.HasInput(1) || ConditionOf(c.Input(1));
  std::vector<Value> inputs(carried + kFirstCarried), outputs(results + 1);
  std::vector<ScanOutput> scans(results - carried);
  inputs[1] = Tensor::Of<bool>({go_on}, state.condition);
  for (std::size_t i = 0; i < carried; ++i) inputs[kFirstCarried + i] = c.InputValue(kFirstCarried + i);
  for (std::int64_t i = 0; i < trips && go_on; ++i) {
    c.CheckCancelled();
    inputs[0] = Tensor::Of<std::int64_t>({i}, state.turn);
    c.RunSubgraph(state.body, inputs, outputs);
    go_on = BodyCondition(outputs[0]);
    // What was read in this iteration is given to the next one as memory for its results.
    for (std::size_t k = 0; k <= carried; ++k) std::swap(inputs[k + 1], outputs[k]);
    if (inputs[1].tensor().shape() != state.condition) inputs[1] = inputs[1].tensor().Reshaped(state.condition);
    for (std::size_t k = 0; k < scans.size(); ++k) scans[k].Append(outputs[1 + carried + k], k);
  }
  for (std::size_t i = 0; i < carried; ++i)
    if (c.HasOutput(i)) c.SetOutput(i, std::move(inputs[kFirstCarried + i]));
  for (std::size_t k = 0; k < scans.size(); ++k)
    scans[k].Write(c, carried + k, 0, false, state.output_types[1 + carried + k]);
}

Prepared PrepareLoop(PrepareContext& c) {
  const Graph* body = c.GraphAttribute("body");
  if (body == nullptr) c.Fail(Code::kInvalidGraph, "attribute 'body' (a graph) is required and missing");
  const std::size_t carried = c.InputCount() - std::min(c.InputCount(), kFirstCarried);
  if (body->inputs.size() != carried + kFirstCarried || body->outputs.size() < carried + 1) {
    c.Fail(Code::kInvalidGraph, "expected a body with ", carried + kFirstCarried, " inputs and at least ", carried + 1,
           " outputs, found ", body->inputs.size(), " and ", body->outputs.size());
  }
  return WithState(RunLoop, LoopState{c.SubgraphIndex("body"), BodyOutputTypes(*body), ShapeOfTurn(*body, 0),
                                      ShapeOfTurn(*body, 1)});
}

constexpr OpDef kControlFlowOps[] = {
    {.domain = "com.microsoft",
     .name = "BeamSearch",
     .since = {1},
     .types = {DType::kInt32, DType::kFloat, DType::kFloat16},
     .infer = InferBeamSearch,
     .prepare = PrepareBeamSearch,
     .traits = kSizedByElements},
    {.domain = "com.microsoft",
     .name = "GreedySearch",
     .since = {1},
     .types = {DType::kInt32},
     .infer = InferGreedySearch,
     .prepare = PrepareGreedySearch,
     .traits = kSizedByElements},
    {.domain = "com.microsoft",
     .name = "Sampling",
     .since = {1},
     .types = {DType::kInt32},
     .infer = InferGreedySearch,
     .prepare = PrepareSampling,
     .traits = kSizedByElements | kRandom},
    {.domain = "com.microsoft",
     .name = "WhisperBeamSearch",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16},
     .infer = InferBeamSearch,
     .prepare = PrepareBeamSearch,
     .traits = kSizedByElements},
    {.name = "If", .since = {1, 11, 13, 16, 19, 21, 23, 24, 25}, .infer = InferIf, .prepare = PrepareIf},
    {.name = "Loop", .since = {1, 11, 13, 16, 19, 21, 23, 24, 25}, .infer = InferLoop, .prepare = PrepareLoop},
};

}  // namespace

std::span<const OpDef> ControlFlowOps() { return kControlFlowOps; }

}  // namespace sardonyx::ops
