// runtime/session_variants.cpp - further sessions of the same model: with inner values as outputs, or for other shapes
// of scalar inputs.
//
// Values: the model is built again with the requested values as outputs, so that no pass removes them. If the model's
// weights are gone (they were the session's own, and its kernels have packed them), or if only a pass gave the value
// its name, the program that runs is copied with its kernels; the value must then still exist in it.
//
// Shapes: passes rely on a declared rank of 0: they fold a Shape and remove a Squeeze. So the program made for scalars
// is given only scalars. When a scalar input first has another shape, the model is built again without the declared
// shapes, and that session infers and plans from what each run brings.
#include <algorithm>

#include "base/memory/free_memory.h"
#include "planner/scalar_inputs.h"
#include "runtime/program.h"
#include "runtime/session.h"
#include "runtime/session_threads.h"
#include "tensor/dropped_bytes.h"

namespace sardonyx::runtime {
namespace {

bool IsInModel(const Model& model, const std::string& name) { return model.graph.Find(name).has_value(); }

// "in body 'turn' of node 'decode' (Loop)", of the body that has the value; "" where none has it.
std::string BodyOf(const Graph& graph, const std::string& name) {
  for (const NodeId id : graph.order) {
    for (const Graph* body : graph.node(id).Subgraphs()) {
      if (body->Find(name)) return "in body '" + body->name + "' of " + Describe(graph, graph.node(id));
      if (std::string inner = BodyOf(*body, name); !inner.empty()) return inner;
    }
  }
  return "";
}

// The value outside of the call that is the function's `name`; "call/name", as inlining names it, for inner ones.
std::string NameAtCall(const Graph& graph, const Node& call, const Function& function, const std::string& name) {
  const ValueId id = *function.body.Find(name);
  for (const auto& [inner, outer] :
       {std::pair(&function.body.inputs, &call.inputs), std::pair(&function.body.outputs, &call.outputs)}) {
    const auto at = static_cast<std::size_t>(std::find(inner->begin(), inner->end(), id) - inner->begin());
    if (at < inner->size()) return at < outer->size() && (*outer)[at] != kNoValue ? graph.value((*outer)[at]).name : "";
  }
  return (call.name.empty() ? call.op_type : call.name) + "/" + name;
}

// How a value that a function has is asked for: its name for each call in the graph.
std::string CallsOf(const Model& model, const std::string& name) {
  std::vector<std::string> found;
  for (const NodeId id : model.graph.order) {
    const Node& node = model.graph.node(id);
    for (const Function& function : model.functions) {
      if (function.domain != node.domain || function.name != node.op_type || !function.body.Find(name)) continue;
      const std::string at_call = NameAtCall(model.graph, node, function, name);
      if (!at_call.empty() && std::find(found.begin(), found.end(), at_call) == found.end()) found.push_back(at_call);
    }
  }
  std::string calls;
  for (const std::string& at_call : found) calls += (calls.empty() ? "'" : ", '") + at_call + "'";
  return calls;
}

void AddNames(const Graph& graph, std::vector<std::string>& names) {
  for (const ValueInfo& value : graph.values)
    if (value.producer != kNoNode || value.is_input || value.initializer) names.push_back(value.name);
  for (const NodeId id : graph.order)
    for (const Graph* body : graph.node(id).Subgraphs()) AddNames(*body, names);
}

}  // namespace

Session& Session::ForInputs(std::span<const std::size_t> indices, std::span<const Value* const> inputs) {
  if (warned_of_shape_.empty()) return *this;
  bool other = false;
  for (std::size_t j = 0; j < indices.size(); ++j) {
    const Port& port = InputPort(indices[j]);
    if (!planner::IsScalar(port.type) || inputs[j] == nullptr || !inputs[j]->is_tensor()) continue;
    const Tensor& tensor = inputs[j]->tensor();
    if (tensor.shape().rank() == 0 || tensor.dtype() != port.type.dtype) continue;
    other = true;
    // Its passes relied on the declared shape, and the model that they started from is not here.
    if (options_.compiled != nullptr)
      Fail(Code::kInvalidArgument, "input '", port.name, "': expected ", port.type.ToText(), ", found ",
           Name(tensor.dtype()), ToText(tensor.shape()),
           ": the model was compiled for scalars, as it declares; the model itself takes other shapes, too");
    if (warned_of_shape_[indices[j]].exchange(true)) continue;
    logger_.Warn("input '", port.name, "' is declared as a scalar, ", port.type.ToText(), ", and was given as ",
                 Name(tensor.dtype()), ToText(tensor.shape()),
                 ": the model is prepared again, for any shape of its scalar inputs");
  }
  return other ? ForAnyShape() : *this;
}

Session& Session::ForAnyShape() {
  Session* session = any_shape_now_.load(std::memory_order_acquire);
  if (session == nullptr) {
    const std::scoped_lock lock(variants_mutex_);
    if (any_shape_ == nullptr) {
      SessionOptions options = VariantOptions();
      options.any_scalar_shape = true;
      options.kept_values.clear();
      for (const Port& port : outputs_) options.kept_values.push_back(port.name);
      std::unique_ptr<Session> made = FromModel(environment_, model_, std::move(options));
      const auto same_name = [](const Port& a, const Port& b) { return a.name == b.name; };
      if (!std::equal(outputs_.begin(), outputs_.end(), made->outputs_.begin(), made->outputs_.end(), same_name))
        Fail(Code::kFail, "cannot compute values inside the model for these shapes of its scalar inputs");
      made->trace_ = trace_;  // its runs belong to this session's profile
      any_shape_ = std::move(made);
      any_shape_now_.store(any_shape_.get(), std::memory_order_release);
    }
    session = any_shape_.get();
  }
  session->tracing_.store(tracing(), std::memory_order_relaxed);
  return *session;
}

std::shared_ptr<Session> Session::WithValues(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::erase_if(names, [&](const std::string& name) { return FindOutput(name).has_value(); });
  const std::scoped_lock lock(variants_mutex_);
  const auto found =
      std::find_if(variants_.begin(), variants_.end(), [&](const Variant& variant) { return variant.names == names; });
  if (found != variants_.end()) {
    std::rotate(found, found + 1, variants_.end());
  } else {
    Variant made{names, MakeVariant(names)};
    made.session->trace_ = trace_;  // its runs belong to this session's profile
    if (variants_.size() == kMaxVariants) variants_.erase(variants_.begin());
    variants_.push_back(std::move(made));
  }
  variants_.back().session->tracing_ = tracing();
  return variants_.back().session;
}

SessionOptions Session::VariantOptions() const {
  SessionOptions options = options_;
  options.optimized_model_path.clear();
  options.config.erase("ep.context_enable");
  options.profile_prefix.clear();
  options.explanation = nullptr;
  options.load_cancelled = nullptr;                                         // the session has been created
  options.log_severity = std::max(options.log_severity, Severity::kError);  // what there was to say has been said
  return options;
}

std::shared_ptr<Session> Session::MakeVariant(const std::vector<std::string>& names) {
  const bool all_in_model =
      std::all_of(names.begin(), names.end(), [&](const auto& n) { return IsInModel(*model_, n); });
  const bool rebuilds = !weights_dropped_ || !bytes_.empty() || !model_->path.empty();
  if (!all_in_model || !rebuilds)
    if (std::shared_ptr<Session> derived = Derive(names)) return derived;
  if (!rebuilds) {
    for (const std::string& name : names)
      if (!IsInModel(*model_, name)) FailUnknownValue(name);
    Fail(Code::kFail, "value '", names.front(), "' was optimized away, and the model cannot be built again with it: ",
         "the session was made from bytes that it no longer has. Keep them and set the config entry ",
         "'session.use_ort_model_bytes_directly' to 1, or create the session from a file");
  }
  SessionOptions options = VariantOptions();
  options.kept_values = names;
  try {
    if (!weights_dropped_) return FromModel(environment_, model_, std::move(options));
    if (!bytes_.empty()) return FromBytes(environment_, bytes_, bytes_owner_, std::move(options));
    return FromFile(environment_, model_->path, std::move(options));
  } catch (const Error& error) {
    if (error.code() == Code::kInvalidArgument && !all_in_model)
      for (const std::string& name : names)
        if (!IsInModel(*model_, name)) FailUnknownValue(name);
    throw;
  }
}

// Null where a value is not in the graph that runs, lies on a device, or is a weight whose bytes are gone.
std::shared_ptr<Session> Session::Derive(const std::vector<std::string>& names) const {
  Graph graph = program_->graph();
  for (const std::string& name : names) {
    const auto id = graph.Find(name);
    if (!id || !graph.value(*id).device.IsHost()) return nullptr;
    const ValueInfo& value = graph.value(*id);
    if (value.producer == kNoNode && !value.is_input && !value.initializer) return nullptr;  // a name that is left over
    const Tensor* constant = value.constant();
    if (constant != nullptr && !HasData(*constant)) return nullptr;
    if (!value.is_output) graph.AddOutput(*id);
  }
  std::shared_ptr<Session> session(new Session());  // NOLINT: the constructor is private
  session->environment_ = environment_;
  session->model_ = model_;
  session->options_ = options_;
  session->run_limits_ = run_limits_;
  session->sparse_outputs_ = sparse_outputs_;
  session->logger_ = logger_;
  session->providers_ = providers_;
  session->threads_ = threads_;
  session->AddPorts(graph);
  session->program_ = std::make_shared<Program>(std::move(graph), *program_);
  session->ports_ = FindDevicePorts(session->program_->graph());
  session->program_->ReadAheadOn(threads_->pool(), threads_->parallel().ThreadCount());
  if (threads_->branches() > 1) session->program_->RunBranchesOn(threads_->pool(), threads_->branches());
  return session;
}

void Session::Trim() {
  program_->Trim();
  {
    const std::scoped_lock lock(placed_mutex_);
    for (PlacedProgram& placed : placed_) placed.program->Trim();
  }
  if (Session* any = any_shape_now_.load(std::memory_order_acquire)) any->Trim();
  ReturnFreeMemory(0);
}

void Session::FailUnknownValue(const std::string& name) const {
  if (const std::string body = BodyOf(model_->graph, name); !body.empty()) {
    Fail(Code::kInvalidArgument, "value '", name, "' is made ", body,
         " each time that runs, so it has no single value; a check of values (check_values in Python, "
         "run --check-values on the command line) gives statistics of all turns");
  }
  if (const std::string calls = CallsOf(*model_, name); !calls.empty()) {
    Fail(Code::kInvalidArgument, "value '", name,
         "' is made in a function, separately by each call; in this model it is ", calls);
  }
  std::vector<std::string> names;
  AddNames(model_->graph, names);
  std::string outputs;
  for (std::size_t i = 0; i < outputs_.size() && i < 20; ++i) outputs += (i ? ", '" : "'") + outputs_[i].name + "'";
  const std::string closest = ClosestName(name, names);
  Fail(Code::kInvalidArgument, "the model has no output '", name, "', and no value with this name; its outputs are ",
       outputs, closest.empty() ? "" : "; did you mean '" + closest + "'?");
}

}  // namespace sardonyx::runtime
