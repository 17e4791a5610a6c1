// capi/profile_events.h - turns a recorded run into events of a trace.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <utility>

#include "capi/handles/profiling_event.h"
#include "runtime/profile/cost.h"
#include "runtime/profile/machine_ceiling.h"
#include "runtime/profile/trace.h"
#include "runtime/session.h"

namespace sardonyx::capi {

// Turns runs of one session into events, in the order of time within a run. Tools made for ONNX Runtime's profiles look
// at the first entries: what its profiles do not have (AddActivity, AddMachine) belongs behind all others.
class ProfileEvents {
 public:
  using Json = nlohmann::ordered_json;
  using Sink = std::function<void(const Json&)>;

  // Times are told from `zero_ns` on, in microseconds.
  ProfileEvents(runtime::MachineCeiling ceiling, std::int64_t zero_ns, Sink sink)
      : ceiling_(std::move(ceiling)), zero_ns_(zero_ns), sink_(std::move(sink)) {}

  void AddSession(const char* name, std::int64_t start_ns, std::int64_t end_ns, std::int32_t thread, Json arguments);
  void AddRun(const runtime::TraceRun& run);        // the nodes, and the run as a whole
  void AddActivity(const runtime::TraceRun& run);   // what the other threads did, and memory over time
  void AddForeign(const OrtProfilingEvent& event);  // that a plug-in measured
  void AddMachine();

 private:
  struct Tensors {
    std::vector<ops::TensorRef> inputs, outputs;
  };
  Json Event(const char* category, const std::string& name, std::int32_t thread, std::int64_t start_ns,
             std::int64_t end_ns) const;
  static Tensors TensorsOf(const runtime::TraceRun& run, const runtime::TraceEvent& event);
  void AddNode(const runtime::TraceRun& run, std::size_t index);
  void AddThreads(const runtime::TraceRun& run, const runtime::TraceEvent& event, const std::string& name);
  void AddMemory(const runtime::TraceRun& run, const runtime::TraceEvent& event, const Tensors& tensors);
  void AddCost(const runtime::TraceEvent& event, const Tensors& tensors, std::int64_t self_ns, double parameters,
               Json& arguments) const;
  const std::string& PathOf(const runtime::Program& program);
  void FindPaths(const runtime::Program& program, const std::string& path);

  runtime::MachineCeiling ceiling_;
  std::int64_t zero_ns_;
  Sink sink_;
  const runtime::Program* main_ = nullptr;
  double weights_ = 0;                                              // bytes, of the model and its bodies
  std::size_t late_bytes_ = 0;                                      // of the run so far
  std::unordered_map<const runtime::Program*, std::string> paths_;  // of bodies: "loop.body", "" for the model's graph
};

}  // namespace sardonyx::capi
