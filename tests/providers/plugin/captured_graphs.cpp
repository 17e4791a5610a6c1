// tests/providers/plugin/captured_graphs.cpp - records the work of a run, and does it again without the run.
//
// As devices do it, a graph is the work with its addresses: it reads and writes the memory of the run that it was
// captured in. The first run for a graph only warms up.
#include <cstdlib>
#include <memory>
#include <mutex>

#include "plugin.h"

namespace test_plugin {
namespace {

struct Graph {
  int runs = 0;
  bool captured = false;
  std::vector<std::function<void()>> work;
};

struct Captures {
  std::mutex mutex;
  std::map<int, Graph> graphs;  // by gpu_graph_id
  bool cpu_for_shapes = false;
};

struct AllCaptures {
  std::mutex mutex;
  std::map<const OrtEp*, std::unique_ptr<Captures>> by_provider;
};

AllCaptures& All() {
  static AllCaptures all;
  return all;
}

Captures* Find(const OrtEp* ep) {
  AllCaptures& all = All();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_provider.find(ep);
  return found != all.by_provider.end() ? found->second.get() : nullptr;
}

thread_local Graph* capturing = nullptr;

int IdOf(const OrtRunOptions* options) {
  const char* id = options != nullptr ? api->GetRunConfigEntry(options, "gpu_graph_id") : nullptr;
  return id != nullptr ? std::atoi(id) : 0;
}

bool ORT_API_CALL IsGraphCaptureEnabled(const OrtEp* /*self*/) { return true; }

bool ORT_API_CALL IsGraphCaptured(const OrtEp* self, int id) {
  Captures& captures = *Find(self);
  const std::lock_guard lock(captures.mutex);
  const auto found = captures.graphs.find(id);
  return found != captures.graphs.end() && found->second.captured;
}

OrtStatus* ORT_API_CALL ReplayGraph(OrtEp* self, int id) {
  TEST_PLUGIN_TRY(Fault("ReplayGraph"));
  Captures& captures = *Find(self);
  const std::lock_guard lock(captures.mutex);
  ++events.replayed;
  for (const auto& work : captures.graphs[id].work) work();
  return nullptr;
}

OrtStatus* ORT_API_CALL ReleaseCapturedGraph(OrtEp* self, int id) {
  TEST_PLUGIN_TRY(Fault("ReleaseCapturedGraph"));
  Captures& captures = *Find(self);
  const std::lock_guard lock(captures.mutex);
  captures.graphs.erase(id);
  return nullptr;
}

OrtGraphCaptureNodeAssignmentPolicy ORT_API_CALL Policy(const OrtEp* self) {
  return Find(self)->cpu_for_shapes ? OrtGraphCaptureNodeAssignmentPolicy_ALLOW_CPU_FOR_SHAPES
                                    : OrtGraphCaptureNodeAssignmentPolicy_ALL_NODES_ON_EP;
}

OrtStatus* ORT_API_CALL IsConcurrentRunSupported(OrtEp* /*self*/, bool* supported) {
  TEST_PLUGIN_TRY(Fault("IsConcurrentRunSupported"));
  *supported = false;
  return nullptr;
}

}  // namespace

void EnableCapture(OrtEp* ep, bool cpu_for_shapes) {
  AllCaptures& all = All();
  const std::lock_guard lock(all.mutex);
  all.by_provider[ep] = std::make_unique<Captures>();
  all.by_provider[ep]->cpu_for_shapes = cpu_for_shapes;
  ep->IsGraphCaptureEnabled = IsGraphCaptureEnabled;
  ep->IsGraphCaptured = IsGraphCaptured;
  ep->ReplayGraph = ReplayGraph;
  ep->ReleaseCapturedGraph = ReleaseCapturedGraph;
  ep->GetGraphCaptureNodeAssignmentPolicy = Policy;
  ep->IsConcurrentRunSupported = IsConcurrentRunSupported;
}

void ForgetCaptures(const OrtEp* ep) {
  AllCaptures& all = All();
  const std::lock_guard lock(all.mutex);
  if (all.by_provider.erase(ep) != 0) capturing = nullptr;  // its run may not have come to an end
}

void StartCapture(const OrtEp* ep, const OrtRunOptions* options) {
  Captures* captures = Find(ep);
  if (captures == nullptr || IdOf(options) < 0) return;
  ++events.captured_runs;
  const std::lock_guard lock(captures->mutex);
  Graph& graph = captures->graphs[IdOf(options)];
  if (++graph.runs == 2) capturing = &graph;
}

void EndCapture() {
  if (capturing != nullptr) capturing->captured = true;
  capturing = nullptr;
}

void Record(const std::function<void()>& work) {
  if (capturing != nullptr) capturing->work.push_back(work);
}

}  // namespace test_plugin
