// runtime/session.cpp - creates and runs a session.
#include "runtime/session.h"

#include <algorithm>

#include "base/float_control.h"
#include "base/memory/free_memory.h"
#include "ir/compact.h"
#include "ir/text.h"
#include "model/load.h"
#include "ops/same_rows.h"
#include "ops/schema/schema.h"
#include "planner/sparse_outputs.h"
#include "runtime/build.h"
#include "runtime/config_keys.h"
#include "runtime/option_keys.h"
#include "runtime/program.h"
#include "runtime/run_state.h"
#include "runtime/save_graph.h"
#include "runtime/session_threads.h"
#include "runtime/sharing/compiled_weights.h"
#include "runtime/sharing/shared_parts.h"
#include "runtime/weight_memory.h"

namespace sardonyx::runtime {
namespace {

// What folding and packing leave in the heap before it is given back: below, asking costs more than it gives.
constexpr std::size_t kWorthReturning = std::size_t{1} << 20;

// What is found out about a model beside its graph.
struct LoadFindings {
  std::optional<model::CompiledParts> compiled;
  bool is_ort_format = false;
};

model::LoadOptions LoadOptionsOf(const SessionOptions& options, const Logger& logger, LoadFindings& findings) {
  model::LoadOptions load;
  load.compiled = &findings.compiled;
  load.is_ort_format = &findings.is_ort_format;
  load.logger = &logger;
  load.newest_opset = ops::NewestOpset("");
  load.newest_opset_is_limit = IsOn(options, "session.allow_released_opsets_only", false);
  load.format = options.Config("session.load_model_format", "");
  load.external_files = options.external_files;
  for (const auto& [name, value] : options.external_initializers)
    if (value.is_tensor()) load.external_tensors.emplace(name, value.tensor());
  load.external_data_folder = options.Config("session.model_external_initializers_file_folder_path", "");
  return load;
}

void TakeFindings(LoadFindings findings, const Logger& logger, SessionOptions& options) {
  if (findings.compiled) options.compiled = WeightsOfCompiled(std::move(*findings.compiled), options, logger);
  const auto minimal = options.config.find("optimization.minimal_build_optimizations");
  if (findings.is_ort_format && minimal != options.config.end() && minimal->second == "save")
    minimal->second = "apply";  // such a model has been saved already, and nothing is asked of where it goes
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

// The memory of the provider for GPU `number`; null: there is none.
Allocator* GpuMemory(const providers::ProviderSet& providers, std::string_view number) {
  for (const auto& provider : providers.providers) {
    const Device device = provider->device();
    if (device.type == DeviceType::kGpu && std::to_string(device.id) == (number.empty() ? "0" : number))
      return provider->allocator().get();
  }
  return nullptr;
}

// ONNX Runtime's list of the devices whose memory shrinks when the run is over: the host's and that of providers.
std::vector<Allocator*> ShrinkingMemory(const RunOptions& options, const providers::ProviderSet& providers) {
  constexpr const char* kKey = "memory.enable_memory_arena_shrinkage";
  const auto found = options.config.find(kKey);
  if (found == options.config.end() || found->second.empty()) return {};
  std::vector<Allocator*> memory;
  // The host has only the number 0; what follows the first device may be there for machines with more of them.
  std::string_view rest = found->second;
  for (bool first = true; first || !rest.empty(); first = false) {
    const std::string_view part = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const std::string_view device = part.substr(0, part.find(':'));
    std::string_view number = part.substr(std::min(part.size(), device.size() + 1));
    number = number.substr(0, number.find(':'));
    const bool is_number = std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
    const bool is_host = device == "cpu" && (number.empty() || number == "0");
    Allocator* const gpu = device == "gpu" && is_number ? GpuMemory(providers, number) : nullptr;
    if (is_host || gpu != nullptr) memory.push_back(is_host ? providers.host.get() : gpu);
    if (!is_host && gpu == nullptr && (first || !is_number || (device != "gpu" && device != "cpu")))
      Fail(Code::kInvalidArgument, "run config entry '", kKey, "': expected 'cpu:0', found '", found->second, "'");
  }
  return memory;
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
  LoadFindings findings;
  auto model = std::make_shared<Model>(model::LoadFile(path, LoadOptionsOf(options, logger, findings)));
  try {
    TakeFindings(std::move(findings), logger, options);
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
  LoadFindings findings;
  auto model = std::make_shared<Model>(model::LoadBytes(bytes, owner, LoadOptionsOf(options, logger, findings)));
  TakeFindings(std::move(findings), logger, options);
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
  sparse_outputs_ = planner::FindSparseOutputs(model_->graph);
  threads_ = std::make_unique<SessionThreads>(*environment_, options_);
  if (options_.providers.empty() && options_.choose_providers) options_.providers = options_.choose_providers(*model_);
  options_.choose_providers = nullptr;  // a session built from this one's model has these providers, too
  auto providers = std::make_shared<providers::ProviderSet>(MakeProviders(*environment_, options_, logger_));
  if (options_.Config("session.use_env_allocators", "0") == "1")
    if (std::shared_ptr<Allocator> registered = environment_->host_allocator()) providers->host = std::move(registered);
  Graph graph = BuildGraph(*environment_, *model_, options_, *providers, logger_);
  std::optional<Model> compiling;
  CompiledWeights new_weights;
  const bool rounds_to_bf16 = RoundsToBf16(options_, logger_);
  PackedSources packed{options_.packed_weights.get(), options_.compiled.get(), rounds_to_bf16};
  if (Compiles(options_)) {
    compiling = CompiledModel(graph, *model_, RegistryOf(*environment_, options_), *providers);
    graph = BuildGraph(*environment_, *compiling, OptionsOfCompiled(options_), *providers, logger_);
    packed = {nullptr, &new_weights, rounds_to_bf16};
  }
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
    const ops::SameRowsScope same_rows(
        IsOn(options_, "session.use_deterministic_compute", options_.deterministic_compute));
    program_ = std::make_shared<Program>(std::move(graph), RegistryOf(*environment_, options_), providers_,
                                         threads_->parallel(), packed);
  }
  ports_ = FindDevicePorts(program_->graph());
  if (compiling) SaveCompiled(*compiling, new_weights.Parts(), options_);
  copied_ = std::vector<std::atomic<std::int64_t>>(static_cast<std::size_t>(program_->NumberCopies(0)));
  for (std::atomic<std::int64_t>& bytes : copied_) bytes = -1;
  program_->ReadAheadOn(threads_->pool(), threads_->parallel().ThreadCount());
  if (threads_->branches() > 1) program_->RunBranchesOn(threads_->pool(), threads_->branches());
  ReturnFreeMemory(free_before + kWorthReturning);
  if (trace_) trace_->ready_ns = NowNanoseconds();
  tracing_ = trace_ != nullptr;
}

void Session::WarnOfRunKeys(const RunOptions& run_options) {
  CheckRunValues(run_options.config);
  for (const auto& entry : run_options.config) {
    if (!ChangesNothing(entry.first, entry.second, RunKeys())) continue;
    const std::scoped_lock lock(warned_mutex_);
    if (warned_run_keys_.insert(entry.first).second) WarnOfKey(logger_, "run", entry.first, entry.second, RunKeys());
  }
}

std::string Session::ProgramText(std::int64_t max_elements) const {
  return ToText(program_->graph(), {.max_elements = max_elements});
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
  std::vector<Allocator*> shrinking;
  if (!run_options.config.empty()) shrinking = ShrinkingMemory(run_options, *providers_);
  if (!options_.cpu_arena) shrinking.push_back(providers_->host.get());
  state->set_synchronize(run_options.synchronize || extras.synchronize);
  for (BorderCopy& copy : extras.before) copy.port = static_cast<std::size_t>(program_input_[copy.port]);
  state->set_borders(extras.before, extras.after);
  StepObserver* const observer = extras.observer;
  if (tracing()) {
    ExecuteTraced(*state, run_options, observer);
  } else {
    Parallel* threads = observer == nullptr ? &parallel() : observer->Threads(&parallel());
    state->Execute(threads, &run_options, observer, targets);
  }
  for (std::size_t i = 0; i < copied_.size(); ++i) copied_[i] = state->copied()[i];
  if (!sparse_outputs_.empty()) GiveSparse(output_indices, outputs, targets);
  if (extras.memory != nullptr) {
    *extras.memory = state.Keep();
  } else if (!shrinking.empty()) {
    state->ReleaseMemory();
    for (Allocator* memory : shrinking) memory->Shrink();
    ReturnFreeMemory(0);
  }
}

// Tensors of the caller, and those on devices, stay dense.
void Session::GiveSparse(std::span<const std::size_t> indices, std::span<Value> outputs,
                         const std::vector<OutputTarget>& targets) const {
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const std::size_t i = indices[k];
    if (i < sparse_outputs_.size() && sparse_outputs_[i] && targets[i].value != nullptr && outputs[k].is_tensor() &&
        outputs[k].tensor().device().IsHost())
      outputs[k] = planner::ToSparse(outputs[k].tensor());
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
