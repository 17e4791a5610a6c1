// runtime/session.h - a model ready to run. Any number of threads may run one session at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/background_runs.h"
#include "runtime/devices/border_copy.h"
#include "runtime/devices/device_ports.h"
#include "runtime/environment.h"
#include "runtime/options.h"
#include "runtime/profile/step_observer.h"
#include "runtime/profile/trace.h"
#include "runtime/session_limits.h"

namespace sardonyx::runtime {

class SessionThreads;

// An input or output of the model as the user sees it.
struct Port {
  std::string name;
  Type type;
  std::vector<std::string> dim_params = {};  // names that the model gives its dimensions (ValueInfo::dim_params)
};

// One row of Session::placement(): a node that runs, bodies of control flow included.
struct Placement {
  std::string node, op_type, provider;
  std::string reason;                   // why providers asked before did not take it; "" if none was asked
  std::int64_t bytes_copied = 0;        // by a copy between devices, each time; -1 if unknown before the run
  std::string domain;                   // of the operator; "" is ai.onnx
  int copy = -1;                        // of a copy between devices: its number
  std::string value;                    // its first output that has a name
  std::vector<Placement> members = {};  // of a group that was compiled into one node: its nodes
};

// What a run is told besides its options.
struct RunExtras {
  StepObserver* observer = nullptr;  // is told of every step; may be null
  // Where output k is to lie if outputs[k] is Value(): on the host, or on OutputPlace; empty: all on the host.
  std::span<const Device> places = {};
  bool synchronize = false;  // even if the options do not ask for it
  // Copies of inputs, before its steps, and of outputs that it makes on a device, after them; with any of them, it has
  // to synchronize. What no stream of the session takes after the steps is left to the caller.
  std::span<BorderCopy> before = {}, after = {};
  // Receives what holds the memory of the run: until it is released, no other run gets that memory. May be null.
  std::shared_ptr<const void>* memory = nullptr;
};

// A run that a provider has captured and can replay: its memory, and the values whose memory it reads and writes.
struct CapturedRun {
  struct Port {
    std::size_t index;
    Value value;
  };
  std::shared_ptr<const void> memory;  // shared with nobody: its type is the session's own
  std::vector<Port> inputs, outputs;
};

class Session {
 public:
  static std::unique_ptr<Session> FromFile(std::shared_ptr<Environment> environment, const std::string& path,
                                           SessionOptions options);
  // `owner` keeps the bytes alive for the session's life; null: they are copied where needed, unless the options say
  // that they stay where they are (session.use_ort_model_bytes_directly).
  static std::unique_ptr<Session> FromBytes(std::shared_ptr<Environment> environment, std::span<const std::byte> bytes,
                                            std::shared_ptr<const void> owner, SessionOptions options);
  // A model that is already in memory as a graph (the model editor, tests).
  static std::unique_ptr<Session> FromModel(std::shared_ptr<Environment> environment,
                                            std::shared_ptr<const Model> model, SessionOptions options);
  ~Session();

  const std::vector<Port>& inputs() const { return inputs_; }  // without initializers
  const std::vector<Port>& outputs() const { return outputs_; }
  const std::vector<Port>& overridable_initializers() const { return overridable_; }
  const Model& model() const { return *model_; }
  const SessionOptions& options() const { return options_; }
  const Logger& logger() const { return logger_; }
  std::vector<Placement> placement() const;
  // The bytes that this copy moved in the last successful run, all iterations of a body together; -1 before the first
  // run.
  std::int64_t LastCopied(int copy) const { return copied_[static_cast<std::size_t>(copy)].load(); }
  const providers::ProviderSet& providers() const { return *providers_; }
  // Where values of runs in host memory come from: the environment's allocator if the options ask for it.
  const std::shared_ptr<Allocator>& host_memory() const { return providers_->host; }
  // The graph that runs, after all passes, in ONNX's text syntax.
  std::string ProgramText(std::int64_t max_elements = 1 << 20) const;

  // Index of a name among inputs() followed by overridable_initializers(), or among outputs(); nullopt if there is
  // none.
  std::optional<std::size_t> FindInput(std::string_view name) const;
  std::optional<std::size_t> FindOutput(std::string_view name) const;
  // Fails with kInvalidArgument for an unknown name, naming it, the names that there are, and the closest one.
  [[noreturn]] void FailUnknownInput(std::string_view name) const;
  [[noreturn]] void FailUnknownOutput(std::string_view name) const;

  // Computes outputs[k] = model output output_indices[k] from inputs[j] for model input input_indices[j]. A tensor
  // already in outputs[k] receives the result in place (its type and shape must fit), Value() is filled with a new one.
  // Fails with kInvalidArgument for a missing, unknown or duplicate input and for a wrong element type, rank or
  // dimension, naming input, expected and found (an input declared as a scalar takes any shape); kFail if the run was
  // terminated or exceeds its limits. No allocation, lock or look-up by name once shapes repeat and all outputs are
  // bound. Inputs and outputs may lie on the host, or where InputPlace and OutputPlace say, without a copy.
  void Run(const RunOptions& run_options, std::span<const std::size_t> input_indices,
           std::span<const Value* const> inputs, std::span<const std::size_t> output_indices, std::span<Value> outputs,
           const RunExtras& extras = {});
  // The device that an input (by its index in FindInput) is copied to by all who read it, or an output is copied from;
  // Device{}: the host.
  Device InputPlace(std::size_t index) const;
  Device OutputPlace(std::size_t index) const;
  // Whether nodes on the host read it, too: it is best left there, as in ONNX Runtime.
  bool InputIsShared(std::size_t index) const;
  bool OutputIsShared(std::size_t index) const;
  // The provider that reads an input, or computes an output.
  std::string_view InputProvider(std::size_t index) const;
  std::string_view OutputProvider(std::size_t index) const;
  // Returns when the providers have done all that earlier runs gave them.
  void Synchronize();
  // The same by name, for callers without indices.
  std::vector<Value> Run(const RunOptions& run_options, const std::vector<std::pair<std::string, Value>>& inputs,
                         const std::vector<std::string>& output_names, StepObserver* observer = nullptr);

  // The session that can run these inputs: this one or, if an input that is declared as a scalar has another shape, one
  // whose passes did not rely on the declared shape. The first such call makes that session and warns; it lives as long
  // as this one. Run calls this function itself; whoever observes a run must call it first. Thread-safe.
  Session& ForInputs(std::span<const std::size_t> indices, std::span<const Value* const> inputs);

  // Calls `run` later on a worker of this session's pool. It must not throw. FinishBackground waits for all such runs,
  // and must be called before the session is closed.
  void RunInBackground(std::function<void()> run);
  void FinishBackground() const { background_.Wait(); }

  // A session of the same model that has these values of its graph as additional outputs: outputs() ends with those of
  // `names` that are not outputs here. A few such sessions are kept for later calls with the same names. If passes
  // removed a value, a second session is built, whose other results may differ in the last bits because it is optimized
  // less. Thread-safe. Fails with kInvalidArgument for a name that is not a value of the model's graph, naming the
  // closest.
  std::shared_ptr<Session> WithValues(std::vector<std::string> names);

  // By number of the graph.
  struct CapturedRuns {
    std::mutex mutex;  // held while runs are captured and replayed
    std::map<int, CapturedRun> runs;
  };
  CapturedRuns& captured() { return captured_; }

  // The profile of this session's runs since it was created; null unless SessionOptions::profile_prefix asks for it.
  // EndTrace stops it and returns it once: runs that begin afterwards are not in it.
  const std::shared_ptr<Trace>& trace() const { return trace_; }
  std::shared_ptr<Trace> EndTrace() { return tracing_.exchange(false) ? trace_ : nullptr; }
  bool tracing() const { return tracing_.load(std::memory_order_relaxed); }
  Program& program() const { return *program_; }
  Parallel& parallel() const;  // the threads of its runs

  // Frees what the session keeps for later runs: plans, and memory of runs that are over. The next run of each shape is
  // slower. Thread-safe; runs under way continue.
  void Trim();

 private:
  Session() = default;
  static std::unique_ptr<Session> Make(std::shared_ptr<Environment> environment, std::shared_ptr<const Model> model,
                                       Model* own, SessionOptions options, std::shared_ptr<Trace> trace);
  void Build(Model* own);
  void AddPorts(const Graph& graph);
  void WarnOfRunKeys(const RunOptions& run_options);
  void SetInputs(class RunState& state, std::span<const std::size_t> indices,
                 std::span<const Value* const> inputs) const;
  void CheckInput(const Port& port, const Value& value) const;
  Program& ProgramFor(std::span<const std::size_t> input_indices, std::span<const Value* const> inputs,
                      std::span<const std::size_t> output_indices, std::span<const Value> outputs,
                      std::span<const Device> places);
  SessionOptions VariantOptions() const;
  Session& ForAnyShape();
  std::shared_ptr<Session> MakeVariant(const std::vector<std::string>& names);
  std::shared_ptr<Session> Derive(const std::vector<std::string>& names) const;
  [[noreturn]] void FailUnknownValue(const std::string& name) const;
  void GiveSparse(std::span<const std::size_t> indices, std::span<Value> outputs,
                  const std::vector<struct OutputTarget>& targets) const;
  void ExecuteTraced(class RunState& state, const RunOptions& run_options, StepObserver* observer);
  const Port& InputPort(std::size_t index) const {
    return index < inputs_.size() ? inputs_[index] : overridable_[index - inputs_.size()];
  }

  std::shared_ptr<Environment> environment_;
  std::shared_ptr<const Model> model_;  // shared: sessions may be built again from one model
  SessionOptions options_;
  Limits run_limits_;
  Logger logger_;
  std::shared_ptr<SessionThreads> threads_;  // shared with variants
  std::shared_ptr<Program> program_;         // shared with the recorded runs of a variant that is gone
  DevicePorts ports_;                        // of the program; by its inputs and outputs
  std::vector<Port> inputs_, outputs_, overridable_;
  std::vector<bool> sparse_outputs_;                         // see planner::FindSparseOutputs; by output
  std::vector<int> program_input_;                           // by input index: its place among the program's inputs
  std::vector<Value> defaults_;                              // of overridable initializers
  std::vector<std::atomic<std::int64_t>> copied_;            // by number of the copy, in the last run
  std::shared_ptr<const providers::ProviderSet> providers_;  // shared with the program
  std::shared_ptr<Trace> trace_;  // shared with runs that end after the session's profile did
  std::atomic<bool> tracing_ = false;

  std::unique_ptr<Session> any_shape_;  // see ForInputs; made under variants_mutex_
  std::atomic<Session*> any_shape_now_ = nullptr;
  std::vector<std::atomic<bool>> warned_of_shape_;  // by input; empty without inputs declared as scalars
  BackgroundRuns background_;

  // Programs with the same kernels for runs with inputs or outputs on devices; those that are marked.
  struct PlacedProgram {
    std::vector<bool> inputs, outputs;
    std::shared_ptr<Program> program;  // shared with recorded runs
  };
  std::mutex placed_mutex_;
  std::list<PlacedProgram> placed_;

  std::mutex warned_mutex_;
  std::set<std::string> warned_run_keys_;

  static constexpr std::size_t kMaxVariants = 4;
  struct Variant {
    std::vector<std::string> names;
    std::shared_ptr<Session> session;  // shared with the runs that are under way
  };
  std::mutex variants_mutex_;
  std::vector<Variant> variants_;     // most recently used last
  bool weights_dropped_ = false;      // the model cannot be built again as it is
  std::span<const std::byte> bytes_;  // that the caller keeps
  std::shared_ptr<const void> bytes_owner_;
  CapturedRuns captured_;  // goes first: its memory is that of the programs
};

}  // namespace sardonyx::runtime
