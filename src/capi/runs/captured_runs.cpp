// capi/runs/captured_runs.cpp - has plug-ins capture and replay runs.
#include "capi/runs/captured_runs.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "planner/foreign_steps.h"
#include "providers/plugin/plugin_provider.h"
#include "runtime/program.h"

namespace sardonyx::capi {
namespace {

using plugin::PluginProvider;
using runtime::CapturedRun;
using runtime::Session;

constexpr const char* kGraphKey = "gpu_graph_id";
constexpr int kNoCapture = -1;
constexpr int kMaxAttempts = 8;  // runs to warm up and to capture

// The first that captures graphs; NULL: none does.
PluginProvider* CapturingProvider(const Session& session) {
  for (const auto& provider : session.providers().providers)
    if (auto* plugin = dynamic_cast<PluginProvider*>(provider.get()); plugin != nullptr && plugin->captures_graphs())
      return plugin;
  return nullptr;
}

int GraphId(const runtime::RunOptions& options) {
  const auto found = options.config.find(kGraphKey);
  if (found == options.config.end() || found->second.empty()) return 0;
  const std::string& text = found->second;
  int id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size())
    Fail(Code::kInvalidArgument, "run config entry '", kGraphKey, "': expected a number, found '", text, "'");
  return id;
}

bool SamePlace(const Value& captured, const Value& given) {
  return captured.is_tensor() && given.is_tensor() && captured.tensor().raw() == given.tensor().raw() &&
         captured.tensor().dtype() == given.tensor().dtype() && captured.tensor().shape() == given.tensor().shape();
}

// A captured graph reads and writes the memory that it was captured with, and no other.
void CheckPlaces(const Session& session, const CapturedRun& run, int id, const RunValues& values) {
  const auto check = [&](const char* kind, const std::string& name, const std::vector<CapturedRun::Port>& ports,
                         std::size_t index, const Value& given) {
    const auto port = std::find_if(ports.begin(), ports.end(), [&](const auto& p) { return p.index == index; });
    if (port == ports.end() || !SamePlace(port->value, given))
      Fail(Code::kInvalidArgument, "graph ", id, " (", kGraphKey, "): ", kind, " '", name,
           "': expected the tensor that was bound when the graph was captured, found another");
  };
  for (std::size_t i = 0; i < values.inputs.size(); ++i) {
    const std::size_t index = values.inputs[i];
    const bool overridable = index >= session.inputs().size();
    const runtime::Port& port =
        overridable ? session.overridable_initializers()[index - session.inputs().size()] : session.inputs()[index];
    check("input", port.name, run.inputs, index, values.values[i] != nullptr ? *values.values[i] : Value());
  }
  for (std::size_t k = 0; k < values.outputs.size(); ++k)
    check("output", session.outputs()[values.outputs[k]].name, run.outputs, values.outputs[k], values.results[k]);
}

}  // namespace

void CheckCapture(const Session& session) {
  const PluginProvider* provider = CapturingProvider(session);
  if (provider == nullptr) return;
  const bool cpu_for_shapes = provider->cpu_computes_shapes();
  const Graph& graph = session.program().graph();
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (planner::IsCopy(node)) {
      const ValueInfo &from = graph.value(node.inputs[0]), &to = graph.value(node.outputs[0]);
      if (from.is_input || to.is_output) continue;  // the caller may bind them on the device
      Fail(Code::kFail, "'", provider->name(),
           "' captures graphs: expected no copy inside of the model, found one of '", from.name, "'");
    }
    if (node.provider == provider->name() || (cpu_for_shapes && node.provider == providers::kCpuName)) continue;
    Fail(Code::kFail, "'", provider->name(), "' captures graphs: expected it to run every node, found ",
         Describe(graph, node), " of '", node.provider, "'");
  }
}

void RunCaptured(Session& session, const runtime::RunOptions& options, const RunValues& values,
                 const runtime::RunExtras& extras, const std::function<void(const runtime::RunExtras&)>& run) {
  PluginProvider* provider = CapturingProvider(session);
  if (provider == nullptr) return run(extras);
  const int id = GraphId(options);
  if (id == kNoCapture) return run(extras);
  Session::CapturedRuns& captured = session.captured();
  const std::lock_guard lock(captured.mutex);
  if (provider->IsCaptured(id)) {
    const auto found = captured.runs.find(id);
    if (found == captured.runs.end())
      Fail(Code::kEpFail, provider->name(), ": OrtEp::IsGraphCaptured: it has a graph ", id,
           " that no run of this session could have made");
    CheckPlaces(session, found->second, id, values);
    provider->Replay(id);
    if (options.synchronize || extras.synchronize) provider->Sync();
    return;
  }
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    CapturedRun made;
    runtime::RunExtras keeping = extras;
    keeping.memory = &made.memory;
    run(keeping);
    if (!provider->IsCaptured(id)) continue;
    for (std::size_t i = 0; i < values.inputs.size(); ++i)
      made.inputs.push_back({values.inputs[i], values.values[i] != nullptr ? *values.values[i] : Value()});
    for (std::size_t k = 0; k < values.outputs.size(); ++k)
      made.outputs.push_back({values.outputs[k], values.results[k]});
    captured.runs[id] = std::move(made);
    return;
  }
  Fail(Code::kEpFail, provider->name(), ": OrtEp::IsGraphCaptured: expected it to have captured graph ", id, " in ",
       kMaxAttempts, " runs, found that it has not");
}

void ReleaseCaptured(Session& session, int id) {
  PluginProvider* provider = CapturingProvider(session);
  if (provider == nullptr) return;
  Session::CapturedRuns& captured = session.captured();
  const std::lock_guard lock(captured.mutex);
  if (!provider->IsCaptured(id)) return;
  provider->ReleaseCaptured(id);
  captured.runs.erase(id);
}

}  // namespace sardonyx::capi
