// capi/custom_op/invoke_op.cpp - OrtOp: an operator of the session that a kernel calls with values of its own.
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capi/custom_op/eager_call.h"
#include "capi/functions.h"
#include "capi/handles/element_type.h"
#include "capi/handles/kernel_context.h"
#include "capi/handles/kind.h"
#include "capi/handles/op_attr.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "capi/handles/value.h"
#include "ir/function_index.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/schema/schema.h"
#include "ops/tensor_ref.h"

// A graph of one node, whose inputs and outputs are all named; a call with missing ones works on a copy of the node.
struct OrtOp {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kOp> mark;
  sardonyx::Graph graph;
  std::shared_ptr<const sardonyx::capi::KernelSession> session;  // shared with the kernel; the operator may outlive it
  std::optional<sardonyx::Error> mistake;  // the operator cannot have such a node; every call of it says so
  sardonyx::capi::EagerCalls calls;
  const sardonyx::Node& node() const { return graph.node(graph.order[0]); }
};

namespace sardonyx::capi {
namespace {

constexpr std::size_t kMostPlain = 16;  // inputs or outputs of a call that allocates nothing for them

std::size_t CountOf(int count, const char* what) {
  if (count < 0) Fail(Code::kInvalidArgument, what, ": expected 0 or more, found ", count);
  return static_cast<std::size_t>(count);
}

void CheckTypes(const char** names, const ONNXTensorElementDataType* values, std::size_t count) {
  NeedArray(names, count, "type_constraint_names");
  NeedArray(values, count, "type_constraint_values");
  for (std::size_t i = 0; i < count; ++i) {
    Need(names[i], "type_constraint_names[i]");
    FromElementType(values[i]);
  }
}

Node NodeFor(const OrtOp& op, std::vector<Value>& inputs, const OrtValue* const* input_values,
             OrtValue* const* output_values) {
  Node node = op.node();
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (input_values[i] == nullptr) node.inputs[i] = kNoValue;
    inputs.push_back(input_values[i] == nullptr ? Value() : *AsValue(input_values[i]));
  }
  while (!node.inputs.empty() && node.inputs.back() == kNoValue) {
    node.inputs.pop_back();
    inputs.pop_back();
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (output_values[i] == nullptr) node.outputs[i] = kNoValue;
  return node;
}

// A tensor that the caller made receives the elements; anything else is replaced.
void Give(const OrtOp& op, std::size_t i, Value result, Value& target) {
  if (!target.is_tensor() || !result.is_tensor()) {
    target = std::move(result);
    return;
  }
  const Tensor& from = result.tensor();
  Tensor& to = target.tensor();
  if (from.dtype() != to.dtype() || !(from.shape() == to.shape())) {
    Fail(Code::kInvalidArgument, op.node().op_type, ": output ", i, ": expected a tensor for the computed ",
         Name(from.dtype()), ToText(from.shape()), ", found one of ", Name(to.dtype()), ToText(to.shape()));
  }
  ops::CopyTensor(ops::RefOf(from), to.raw());
}

// The common case, told from the others without allocating anything: tensors for all inputs, nothing left out.
bool IsPlain(const OrtOp& op, const OrtValue* const* inputs, OrtValue* const* outputs) {
  const Node& node = op.node();
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (inputs[i] == nullptr || !AsValue(inputs[i])->is_tensor()) return false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (outputs[i] == nullptr) return false;
  return node.Subgraphs().empty();
}

void CallPlain(const OrtOp& op, const OrtValue* const* input_values, OrtValue* const* output_values,
               Parallel& parallel) {
  std::array<const Value*, kMostPlain> inputs{};
  std::array<Value*, kMostPlain> outputs{};
  const std::size_t in = op.node().inputs.size(), out = op.node().outputs.size();
  for (std::size_t i = 0; i < in; ++i) inputs[i] = AsValue(input_values[i]);
  for (std::size_t i = 0; i < out; ++i) outputs[i] = AsValue(output_values[i]);
  std::unique_ptr<EagerCall> call = op.calls.Take();
  if (call == nullptr) call = std::make_unique<EagerCall>(op.graph, op.node(), *op.session->operators);
  call->Run({inputs.data(), in}, {outputs.data(), out}, parallel);
  op.calls.Give(std::move(call));
}

// The rest: values that are missing or no tensors.
void CallAny(const OrtOp& op, const OrtValue* const* input_values, OrtValue* const* output_values, Parallel& parallel) {
  std::vector<Value> inputs;
  const Node node = NodeFor(op, inputs, input_values, output_values);
  ops::EvaluateOptions options;
  options.parallel = &parallel;
  std::vector<Value> results = ops::EvaluateNode(op.graph, node, *op.session->operators, inputs, options);
  for (std::size_t i = 0; i < op.node().outputs.size(); ++i)
    if (output_values[i] != nullptr) Give(op, i, std::move(results[i]), *AsValue(output_values[i]));
}

}  // namespace

// The types of the operator's type parameters follow from the values of each call; here they are only checked.
OrtStatusPtr ORT_API_CALL CreateOp(const OrtKernelInfo* info, const char* op_name, const char* domain, int version,
                                   const char** type_constraint_names,
                                   const ONNXTensorElementDataType* type_constraint_values, int type_constraint_count,
                                   const OrtOpAttr* const* attr_values, int attr_count, int input_count,
                                   int output_count, OrtOp** ort_op) noexcept {
  return Guard([&] {
    Need(ort_op, "ort_op");
    const KernelFacts& facts = *Need(info, "info").facts;
    const std::string domain_name = domain != nullptr ? domain : "";
    CheckTypes(type_constraint_names, type_constraint_values, CountOf(type_constraint_count, "type_constraint_count"));
    if (version < 1) Fail(Code::kFail, "version: expected 1 or more, found ", version);
    auto op = std::make_unique<OrtOp>();
    op->session = facts.session;
    Graph& graph = op->graph;
    graph.opset_imports.push_back({domain_name, version});
    Node call;
    call.name = call.op_type = &Need(op_name, "op_name");
    call.domain = domain_name;
    for (std::size_t i = 0; i < CountOf(input_count, "input_count"); ++i)
      call.inputs.push_back(graph.AddValue("input " + std::to_string(i)));
    for (std::size_t i = 0; i < CountOf(output_count, "output_count"); ++i)
      call.outputs.push_back(graph.AddValue("output " + std::to_string(i)));
    NeedArray(attr_values, CountOf(attr_count, "attr_count"), "attr_values");
    for (int i = 0; i < attr_count; ++i)
      call.attributes.push_back(*AsAttribute(&Need(attr_values[i], "attr_values[i]")));
    const NodeId id = graph.AddNode(std::move(call));
    const Model no_functions;
    try {
      ops::ResolveVersions(graph, *facts.session->operators, no_functions);
    } catch (const Error& error) {  // ONNX Runtime looks at the numbers of inputs and outputs in the call
      if (ops::FindSchema(domain_name, op_name, version) == nullptr) Fail(Code::kFail, error.what());
      op->mistake = error;
      *ort_op = op.release();
      return;
    }
    const Node& node = graph.node(id);
    if (facts.session->operators->Find(node.domain, node.op_type, node.since_version) == nullptr)
      Fail(Code::kNotImplemented, "operator ", node.op_type, " version ", node.since_version, " of domain '",
           domain_name, "' is not implemented");
    *ort_op = op.release();
  });
}

OrtStatusPtr ORT_API_CALL InvokeOp(const OrtKernelContext* context, const OrtOp* ort_op,
                                   const OrtValue* const* input_values, int input_count, OrtValue* const* output_values,
                                   int output_count) noexcept {
  return Guard([&] {
    Parallel& parallel = Need(context, "context").parallel();
    const OrtOp& op = Need(ort_op, "ort_op");
    if (op.mistake) throw Error(*op.mistake);
    const std::size_t inputs_given = CountOf(input_count, "input_count");
    const std::size_t outputs_given = CountOf(output_count, "output_count");
    if (inputs_given != op.node().inputs.size() || outputs_given != op.node().outputs.size()) {
      Fail(Code::kInvalidArgument, op.node().op_type, ": expected ", op.node().inputs.size(), " inputs and ",
           op.node().outputs.size(), " outputs, as CreateOp was told, found ", inputs_given, " and ", outputs_given);
    }
    NeedArray(input_values, inputs_given, "input_values");
    NeedArray(output_values, outputs_given, "output_values");
    for (std::size_t i = 0; i < inputs_given; ++i) NeedKind(input_values[i], "input_values[i]");
    for (std::size_t i = 0; i < outputs_given; ++i) NeedKind(output_values[i], "output_values[i]");
    if (inputs_given <= kMostPlain && outputs_given <= kMostPlain && IsPlain(op, input_values, output_values))
      return CallPlain(op, input_values, output_values, parallel);
    CallAny(op, input_values, output_values, parallel);
  });
}

void ORT_API_CALL ReleaseOp(OrtOp* input) noexcept { ReleaseHandle(input); }

}  // namespace sardonyx::capi
