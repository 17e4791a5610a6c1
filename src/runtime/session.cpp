// runtime/session.cpp - creates and runs a session.
#include "runtime/session.h"

#include <algorithm>

#include "base/float_control.h"
#include "base/free_memory.h"
#include "ir/compact.h"
#include "ir/text.h"
#include "model/load.h"
#include "ops/schema/schema.h"
#include "planner/scalar_inputs.h"
#include "runtime/build.h"
#include "runtime/config_keys.h"
#include "runtime/option_keys.h"
#include "runtime/program.h"
#include "runtime/run_state.h"
#include "runtime/session_threads.h"
#include "runtime/sharing/shared_parts.h"
#include "runtime/weight_memory.h"

namespace sardonyx::runtime {
namespace {

// What folding and packing leave in the heap before it is given back: below, asking costs more than it gives.
constexpr std::size_t kWorthReturning = std::size_t{1} << 20;

model::LoadOptions LoadOptionsOf(const SessionOptions& options, const Logger& logger) {
  model::LoadOptions load;
  load.logger = &logger;
  load.newest_opset = ops::NewestOpset("");
  load.newest_opset_is_limit = IsOn(options, "session.allow_released_opsets_only", false);
  load.external_files = options.external_files;
  for (const auto& [name, value] : options.external_initializers)
    if (value.is_tensor()) load.external_tensors.emplace(name, value.tensor());
  load.external_data_folder = options.Config("session.model_external_initializers_file_folder_path", "");
  return load;
}

Logger LoggerOf(const Environment& environment, const SessionOptions& options) {
  return Logger(options.log_sink ? options.log_sink : environment.logger().sink(), options.log_id,
                options.log_severity);
}

Limits LoadLimitsOf(const SessionOptions& options) {
  Limits limits = LoadLimits(options.config);
  limits.cancelled = options.load_cancelled.get();
  return limits;
}

std::shared_ptr<Trace> MakeTrace(const SessionOptions& options) {
  return options.profile_prefix.empty() ? nullptr : std::make_shared<Trace>();
}

std::vector<std::string> NamesOf(const std::vector<Port>& ports) {
  std::vector<std::string> names;
  for (const Port& port : ports) names.push_back(port.name);
  return names;
}

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < 20; ++i) text += (i ? ", '" : "'") + names[i] + "'";
  if (names.size() > 20) text += ", ... (" + std::to_string(names.size()) + " in all)";
  return text;
}

std::string Suggestion(std::string_view name, const std::vector<std::string>& names) {
  const std::string closest = ClosestName(name, names);
  return closest.empty() ? "" : "; did you mean '" + closest + "'?";
}

// Whether kind and element types of `value` are what `type` says; shapes aside.
bool HasType(const Value& value, const Type& type) {
  const auto fits = [](DType found, DType wanted) { return wanted == DType::kUndefined || found == wanted; };
  switch (type.kind) {
    case TypeKind::kTensor:
      return value.is_tensor() && fits(value.tensor().dtype(), type.dtype);
    case TypeKind::kSequence:
      return value.is_sequence() && std::all_of(value.sequence().items.begin(), value.sequence().items.end(),
                                                [&](const Value& item) { return HasType(item, *type.element); });
    case TypeKind::kMap:
      return value.is_map() && fits(value.map().keys.dtype(), type.dtype) &&
             fits(value.map().values.dtype(), type.element->dtype);
    case TypeKind::kSparseTensor:
      return value.is_sparse() && fits(value.sparse().values.dtype(), type.dtype);
    case TypeKind::kOptional:
      return !value.has_value() || HasType(value, *type.element);
    case TypeKind::kNone:
      return true;
  }
  return true;
}

// Whether a type says what its elements are.
bool IsWhole(const Type& type) {
  if (type.is_none()) return false;
  if (type.kind == TypeKind::kTensor || type.kind == TypeKind::kSparseTensor) return type.dtype != DType::kUndefined;
  return type.element != nullptr && IsWhole(*type.element);
}

// Of the tensors that the options hand to the session: the caller may write to them.
std::set<const Buffer*> CallersBuffers(const SessionOptions& options) {
  std::set<const Buffer*> buffers;
  for (const auto* given : {&options.initializers, &options.external_initializers})
    for (const auto& [name, value] : *given)
      if (value.is_tensor()) buffers.insert(value.tensor().buffer().get());
  return buffers;
}

// ONNX Runtime's list of the devices whose arenas shrink when the run is over; we have the host's.
bool ShrinksArenas(const RunOptions& options) {
  constexpr const char* kKey = "memory.enable_memory_arena_shrinkage";
  const auto found = options.config.find(kKey);
  if (found == options.config.end() || found->second.empty()) return false;
  if (found->second != "cpu:0")
    Fail(Code::kInvalidArgument, "run config entry '", kKey, "': expected 'cpu:0', found '", found->second, "'");
  return true;
}

// Held while the pool's workers should look out for work.
class ActiveRun {
 public:
  explicit ActiveRun(ThreadPool& pool) : pool_(pool) { pool_.BeginRun(); }
  ~ActiveRun() { pool_.EndRun(); }
  ActiveRun(const ActiveRun&) = delete;
  ActiveRun& operator=(const ActiveRun&) = delete;

 private:
  ThreadPool& pool_;
};

// Gives the state back however the run ends.
class LeasedState {
 public:
  explicit LeasedState(Program& program) : program_(program), state_(program.Lease()) {}
  ~LeasedState() {
    if (state_ != nullptr) program_.GiveBack(std::move(state_));
  }
  LeasedState(const LeasedState&) = delete;
  LeasedState& operator=(const LeasedState&) = delete;
  RunState& operator*() { return *state_; }
  RunState* operator->() { return state_.get(); }
  // Gives it back only when what is returned is released.
  std::shared_ptr<const void> Keep() {
    return {state_.release(),
            [&program = program_](RunState* state) { program.GiveBack(std::unique_ptr<RunState>(state)); }};
  }

 private:
  Program& program_;
  std::unique_ptr<RunState> state_;
};

}  // namespace

Session::~Session() = default;

std::unique_ptr<Session> Session::FromFile(std::shared_ptr<Environment> environment, const std::string& path,
                                           SessionOptions options) {
  const Logger logger = LoggerOf(*environment, options);
  const LimitScope scope(LoadLimitsOf(options));
  auto trace = MakeTrace(options);
  auto model = std::make_shared<Model>(model::LoadFile(path, LoadOptionsOf(options, logger)));
  try {
    Model* own = model.get();
    return Make(std::move(environment), std::move(model), own, std::move(options), std::move(trace));
  } catch (const Error& error) {
    throw Error(error.code(), path + ": " + error.what());
  }
}

std::unique_ptr<Session> Session::FromBytes(std::shared_ptr<Environment> environment, std::span<const std::byte> bytes,
                                            std::shared_ptr<const void> owner, SessionOptions options) {
  const Logger logger = LoggerOf(*environment, options);
  const LimitScope scope(LoadLimitsOf(options));
  auto trace = MakeTrace(options);
  if (owner == nullptr && options.Config("session.use_ort_model_bytes_directly", "0") == "1")
    owner = std::shared_ptr<const void>(bytes.data(), [](const void*) {});  // the caller's, who promised
  auto model = std::make_shared<Model>(model::LoadBytes(bytes, owner, LoadOptionsOf(options, logger)));
  Model* own = model.get();
  auto session = Make(std::move(environment), std::move(model), own, std::move(options), std::move(trace));
  if (owner != nullptr) {
    session->bytes_ = bytes;
    session->bytes_owner_ = std::move(owner);
  }
  return session;
}

std::unique_ptr<Session> Session::FromModel(std::shared_ptr<Environment> environment,
                                            std::shared_ptr<const Model> model, SessionOptions options) {
  const LimitScope scope(LoadLimitsOf(options));
  auto trace = MakeTrace(options);
  return Make(std::move(environment), std::move(model), nullptr, std::move(options), std::move(trace));
}

std::unique_ptr<Session> Session::Make(std::shared_ptr<Environment> environment, std::shared_ptr<const Model> model,
                                       Model* own, SessionOptions options, std::shared_ptr<Trace> trace) {
  std::unique_ptr<Session> session(new Session());  // NOLINT: the constructor is private
  session->trace_ = std::move(trace);
  if (session->trace_) session->trace_->loaded_ns = NowNanoseconds();
  session->environment_ = std::move(environment);
  session->model_ = std::move(model);
  session->options_ = std::move(options);
  session->Build(own);
  return session;
}

// `own`: the model, if nobody else holds it.
void Session::Build(Model* own) {
  const std::size_t free_before = FreeMemory();
  logger_ = LoggerOf(*environment_, options_);
  run_limits_ = RunLimits(options_.config);
  threads_ = std::make_unique<SessionThreads>(*environment_, options_);
  if (options_.providers.empty() && options_.choose_providers) options_.providers = options_.choose_providers(*model_);
  options_.choose_providers = nullptr;  // a session built from this one's model has these providers, too
  auto providers = std::make_shared<providers::ProviderSet>(MakeProviders(*environment_, options_, logger_));
  if (options_.Config("session.use_env_allocators", "0") == "1")
    if (std::shared_ptr<Allocator> registered = environment_->host_allocator()) providers->host = std::move(registered);
  Graph graph = BuildGraph(*environment_, *model_, options_, *providers, logger_);
  AddPorts(graph);
  // The program has the weights now; what its kernels pack is then gone. Where other shapes may come they stay, for the
  // model to be built again.
  if (own != nullptr && warned_of_shape_.empty()) {
    weights_dropped_ = DropWeights(own->graph);
    for (Function& function : own->functions) weights_dropped_ = DropWeights(function.body) || weights_dropped_;
  }
  if (own != nullptr) model_ = SharedModel(model_);
  graph = Compacted(std::move(graph));
  ShareConstants(graph, CallersBuffers(options_));
  providers_ = std::move(providers);
  {
    const ActiveRun active(threads_->pool());  // packing is a run, too
    program_ = std::make_shared<Program>(std::move(graph), RegistryOf(*environment_, options_), providers_,
                                         threads_->parallel(), options_.packed_weights.get());
  }
  ports_ = FindDevicePorts(program_->graph());
  copied_ = std::vector<std::atomic<std::int64_t>>(static_cast<std::size_t>(program_->NumberCopies(0)));
  for (std::atomic<std::int64_t>& bytes : copied_) bytes = -1;
  if (threads_->branches() > 1) program_->RunBranchesOn(threads_->pool(), threads_->branches());
  ReturnFreeMemory(free_before + kWorthReturning);
  if (trace_) trace_->ready_ns = NowNanoseconds();
  tracing_ = trace_ != nullptr;
}

void Session::AddPorts(const Graph& graph) {
  std::vector<int> overridable_at;
  int at = 0;
  for (const ValueId id : graph.inputs) {
    const ValueInfo& value = graph.value(id);
    if (value.constant() != nullptr) continue;  // a constant that old models list among the inputs
    if (value.initializer) {
      overridable_.push_back({value.name, value.type, value.dim_params});
      defaults_.emplace_back(value.initializer->tensor);
      overridable_at.push_back(at);
    } else {
      // Kernels are chosen by element types, so what the caller will give has to be known.
      if (!IsWhole(value.type))
        Fail(Code::kInvalidGraph, "input '", value.name, "': expected a type that names its element type, found ",
             value.type.is_none() ? "none" : value.type.ToText());
      inputs_.push_back({value.name, value.type, value.dim_params});
      program_input_.push_back(at);
    }
    ++at;
  }
  program_input_.insert(program_input_.end(), overridable_at.begin(), overridable_at.end());
  const auto is_scalar = [](const Port& port) { return planner::IsScalar(port.type); };
  if (std::any_of(inputs_.begin(), inputs_.end(), is_scalar) ||
      std::any_of(overridable_.begin(), overridable_.end(), is_scalar))
    warned_of_shape_ = std::vector<std::atomic<bool>>(program_input_.size());
  for (const ValueId id : graph.outputs) {
    const ValueInfo& value = graph.value(id);
    outputs_.push_back({value.name, value.type, value.dim_params});
  }
}

void Session::WarnOfRunKeys(const RunOptions& run_options) {
  for (const auto& entry : run_options.config) {
    if (!ChangesNothing(entry.first, entry.second, RunKeys())) continue;
    const std::scoped_lock lock(warned_mutex_);
    if (warned_run_keys_.insert(entry.first).second) WarnOfKey(logger_, "run", entry.first, entry.second, RunKeys());
  }
}

std::string Session::ProgramText(std::int64_t max_elements) const {
  return ToText(program_->graph(), {.max_elements = max_elements});
}

std::optional<std::size_t> Session::FindInput(std::string_view name) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].name == name) return i;
  for (std::size_t i = 0; i < overridable_.size(); ++i)
    if (overridable_[i].name == name) return inputs_.size() + i;
  return std::nullopt;
}

std::optional<std::size_t> Session::FindOutput(std::string_view name) const {
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (outputs_[i].name == name) return i;
  return std::nullopt;
}

void Session::FailUnknownInput(std::string_view name) const {
  const std::vector<std::string> names = NamesOf(inputs_);
  std::vector<std::string> all = names;
  for (const Port& port : overridable_) all.push_back(port.name);
  Fail(Code::kInvalidArgument, "the model has no input '", name, "'; its inputs are ", Listed(names),
       Suggestion(name, all));
}

void Session::FailUnknownOutput(std::string_view name) const {
  const std::vector<std::string> names = NamesOf(outputs_);
  Fail(Code::kInvalidArgument, "the model has no output '", name, "'; its outputs are ", Listed(names),
       Suggestion(name, names));
}

void Session::CheckInput(const Port& port, const Value& value) const {
  const Type& type = port.type;
  const auto fail = [&](const auto&... parts) {
    Fail(Code::kInvalidArgument, "input '", port.name, "': expected ", type.ToText(), ", found ", parts...);
  };
  if (!value.has_value() && type.kind != TypeKind::kOptional) return fail("nothing (NULL)");
  switch (type.kind) {
    case TypeKind::kTensor: {
      if (!value.is_tensor()) return fail("a ", value.KindName());
      const Tensor& tensor = value.tensor();
      if (tensor.dtype() != type.dtype && type.dtype != DType::kUndefined) fail("element type ", Name(tensor.dtype()));
      if (!type.has_rank) return;
      if (tensor.shape().rank() != type.rank())
        fail("rank ", tensor.shape().rank(), ", shape ", ToText(tensor.shape()));
      for (std::size_t i = 0; i < type.rank(); ++i) {
        if (type.dims[i].known() && type.dims[i].number() != tensor.shape()[i])
          fail(tensor.shape()[i], " instead of ", type.dims[i].number(), " in dimension ", i, ", shape ",
               ToText(tensor.shape()));
      }
      return;
    }
    case TypeKind::kSequence:
      if (!value.is_sequence()) return fail("a ", value.KindName());
      for (const Value& item : value.sequence().items)
        if (!HasType(item, *type.element)) fail("an element of type ", item.KindName());
      return;
    case TypeKind::kMap:
      if (!HasType(value, type)) fail("a ", value.KindName());
      return;
    case TypeKind::kSparseTensor:
      if (!value.is_sparse()) return fail("a ", value.KindName());
      if (!HasType(value, type)) fail("elements of type ", Name(value.sparse().values.dtype()));
      return;
    case TypeKind::kOptional:
      if (value.has_value() && !HasType(value, *type.element)) fail("a ", value.KindName());
      return;
    case TypeKind::kNone:
      return;
  }
}

void Session::SetInputs(RunState& state, std::span<const std::size_t> indices,
                        std::span<const Value* const> inputs) const {
  std::vector<char>& given = state.given_inputs();
  given.assign(program_input_.size(), 0);
  for (std::size_t j = 0; j < indices.size(); ++j) {
    const Port& port = InputPort(indices[j]);
    if (given[indices[j]]) Fail(Code::kInvalidArgument, "input '", port.name, "' is given twice");
    given[indices[j]] = 1;
    static const Value nothing;
    const Value& value = inputs[j] != nullptr ? *inputs[j] : nothing;
    CheckInput(port, value);
    state.SetInput(static_cast<std::size_t>(program_input_[indices[j]]), value);
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i]) continue;
    if (i >= inputs_.size()) {
      state.SetInput(static_cast<std::size_t>(program_input_[i]), defaults_[i - inputs_.size()]);
    } else {
      std::vector<std::string> found;
      for (const std::size_t index : indices) found.push_back(InputPort(index).name);
      Fail(Code::kInvalidArgument, "input '", inputs_[i].name, "' (", inputs_[i].type.ToText(),
           ") is missing; inputs given: ", found.empty() ? "none" : Listed(found));
    }
  }
}

// The run's own recorder joins the session's profile however the run ends.
void Session::ExecuteTraced(RunState& state, const RunOptions& run_options, StepObserver* observer) {
  const std::shared_ptr<Trace> trace = trace_;
  auto run = std::make_unique<TraceRun>(trace->Room(), trace->listener);
  run->Begin(state.program());
  run->keeps = state.program().shared_from_this();
  struct Ending {
    Trace& trace;
    std::unique_ptr<TraceRun>& run;
    ~Ending() {
      run->End();
      trace.Add(std::move(run));
    }
  } ending{*trace, run};
  if (observer == nullptr) {
    state.Execute(run->Threads(&parallel()), &run_options, run.get(), state.targets());
  } else {
    BothObservers both(*observer, *run);
    state.Execute(both.Threads(&parallel()), &run_options, &both, state.targets());
  }
}

void Session::Run(const RunOptions& run_options, std::span<const std::size_t> input_indices,
                  std::span<const Value* const> inputs, std::span<const std::size_t> output_indices,
                  std::span<Value> outputs, const RunExtras& extras) {
  if (!run_options.config.empty()) WarnOfRunKeys(run_options);
  if (Session& session = ForInputs(input_indices, inputs); &session != this)
    return session.Run(run_options, input_indices, inputs, output_indices, outputs, extras);
  if (run_options.stream != nullptr) RunStreams::CheckGiven(*providers_, *run_options.stream);
  const Limits limits = run_options.config.empty() ? run_limits_ : RunLimits(run_limits_, run_options.config);
  std::optional<LimitScope> scope;
  if (limits.any()) scope.emplace(limits);
  LeasedState state(ports_.any() ? ProgramFor(input_indices, inputs, output_indices, outputs, extras.places)
                                 : *program_);
  if (scope) scope->Charge(state->HeldBytes());  // the leased state's memory is the run's
  SetInputs(*state, input_indices, inputs);
  std::vector<OutputTarget>& targets = state->targets();
  targets.assign(outputs_.size(), OutputTarget());
  for (std::size_t k = 0; k < output_indices.size(); ++k) {
    OutputTarget& target = targets[output_indices[k]];
    if (target.data != nullptr || target.value != nullptr)
      Fail(Code::kInvalidArgument, "output '", outputs_[output_indices[k]].name, "' is requested twice");
    if (outputs[k].is_tensor()) {
      Tensor& tensor = outputs[k].tensor();
      // An empty tensor has no bytes; any address marks it as given.
      target = {tensor.raw() != nullptr ? tensor.raw() : &outputs[k], tensor.dtype(), tensor.shape(), nullptr, nullptr};
    } else {
      target.value = &outputs[k];
    }
  }
  if (!copied_.empty()) state->BeginCopies(copied_.size());
  const ActiveRun active(threads_->pool());
  const std::uint64_t control = FloatControl();
  const FloatControlScope float_scope(threads_->flushes_denormals() ? WithoutDenormals(control) : control);
  const bool shrink = (!run_options.config.empty() && ShrinksArenas(run_options)) || !options_.cpu_arena;
  state->set_synchronize(run_options.synchronize || extras.synchronize);
  StepObserver* const observer = extras.observer;
  if (tracing()) {
    ExecuteTraced(*state, run_options, observer);
  } else {
    Parallel* threads = observer == nullptr ? &parallel() : observer->Threads(&parallel());
    state->Execute(threads, &run_options, observer, targets);
  }
  for (std::size_t i = 0; i < copied_.size(); ++i) copied_[i] = state->copied()[i];
  if (extras.memory != nullptr) {
    *extras.memory = state.Keep();
  } else if (shrink) {
    state->ReleaseMemory();
    providers_->host->Shrink();
    ReturnFreeMemory(0);
  }
}

Parallel& Session::parallel() const { return threads_->parallel(); }

void Session::RunInBackground(std::function<void()> run) { background_.Start(threads_->pool(), std::move(run)); }

std::vector<Value> Session::Run(const RunOptions& run_options, const std::vector<std::pair<std::string, Value>>& inputs,
                                const std::vector<std::string>& output_names, StepObserver* observer) {
  std::vector<std::size_t> input_indices, output_indices;
  std::vector<const Value*> values;
  for (const auto& [name, value] : inputs) {
    const auto index = FindInput(name);
    if (!index) FailUnknownInput(name);
    input_indices.push_back(*index);
    values.push_back(&value);
  }
  for (const std::string& name : output_names) {
    const auto index = FindOutput(name);
    if (!index) FailUnknownOutput(name);
    output_indices.push_back(*index);
  }
  std::vector<Value> outputs(output_indices.size());
  Run(run_options, input_indices, values, output_indices, outputs, {.observer = observer});
  return outputs;
}

}  // namespace sardonyx::runtime
