// capi/session.h - what the session handles hold.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capi/handles/kind.h"
#include "capi/handles/memory_info.h"
#include "capi/handles/shared_weights.h"
#include "onnxruntime_c_api.h"
#include "runtime/session.h"
#include "runtime/sharing/packed_weights.h"

struct OrtEpAssignedNode {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kEpAssignedNode> mark;
  std::string name, domain, op_type;
};

// Nodes that a provider runs by one claim.
struct OrtEpAssignedSubgraph {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kEpAssignedSubgraph> mark;
  std::string ep_name;
  std::deque<OrtEpAssignedNode> nodes;
  std::vector<const OrtEpAssignedNode*> node_pointers;
};

namespace sardonyx::capi {

// The model of a session that does not run yet: the model editor's, before FinalizeModelEditorSession.
struct EditedModel {
  std::shared_ptr<runtime::Environment> environment;
  runtime::SessionOptions options;
  std::shared_ptr<const Model> model;
  std::vector<runtime::Port> inputs, outputs, overridable;  // as the model declares them
};

}  // namespace sardonyx::capi

struct OrtSession {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kSession> mark;
  explicit OrtSession(std::shared_ptr<sardonyx::runtime::Session> s) : session(std::move(s)) {}
  explicit OrtSession(sardonyx::capi::EditedModel model)
      : edited(std::make_unique<sardonyx::capi::EditedModel>(std::move(model))) {}
  ~OrtSession();  // waits for runs in the background, writes a profile that was not ended
  OrtSession(const OrtSession&) = delete;
  OrtSession& operator=(const OrtSession&) = delete;

  struct Assignment {
    std::deque<OrtEpAssignedSubgraph> subgraphs;
    std::vector<const OrtEpAssignedSubgraph*> subgraph_pointers;
  };
  std::shared_ptr<sardonyx::runtime::Session> session;  // shared with bindings; null: the model is being edited
  std::unique_ptr<sardonyx::capi::EditedModel> edited;  // null: the session runs
  mutable std::once_flag assignment_made;
  mutable Assignment assignment;
};

// Weights packed by one session and used by others, also by those that are created when the first has gone.
struct OrtPrepackedWeightsContainer {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kPrepackedWeightsContainer> mark;
  std::shared_ptr<sardonyx::runtime::PackedWeights> weights = std::make_shared<sardonyx::runtime::PackedWeights>();
  std::shared_ptr<sardonyx::capi::SharedWeights> of_plugins = std::make_shared<sardonyx::capi::SharedWeights>();
};

// Values bound to a session's inputs and outputs. Entries stand in the order they were bound.
struct OrtIoBinding {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kIoBinding> mark;
  std::shared_ptr<sardonyx::runtime::Session> session;
  std::vector<std::size_t> input_indices, output_indices;
  std::vector<sardonyx::Value> inputs, outputs;
  std::vector<const sardonyx::Value*> input_pointers;       // into `inputs`
  std::vector<std::string> unknown_outputs;                 // bound, but the model has none of this name: runs fail
  std::vector<bool> fresh_outputs;                          // bound to a device: a new value every run
  std::vector<std::optional<OrtMemoryInfo>> output_memory;  // of outputs bound to a device that is not the host
  std::vector<const OrtMemoryInfo*> output_places;          // into `output_memory`; NULL: the host
};

namespace sardonyx::capi {

// The session behind a handle; fails with kFail if its model is still being edited.
runtime::Session& BuiltSession(const OrtSession* session);
// What may be asked of a model that is being edited, too.
enum class PortList { kInputs, kOutputs, kOverridable };
const std::vector<runtime::Port>& PortsOf(const OrtSession* session, PortList list);
const Model& ModelOf(const OrtSession* session);
// Options of a session as its own copy: what the caller may free afterwards is copied, what is unset is the
// environment's.
runtime::SessionOptions CopyOptions(const OrtEnv* env, const OrtSessionOptions* options);
// To be called when a session has been made: its plug-ins are told, and their profilers begin. Fails with kFail if one
// of them captures graphs and does not run all that it must.
void TellPlugins(runtime::Session& session);
// The options of a run that gave none.
const runtime::RunOptions& DefaultRunOptions();
// Runs as the options say: with a profile of this run, or as it is. Values may lie on any device. `places`: the device
// for results that are Value(), in the order of `outputs`; empty: all on the host.
void RunWith(runtime::Session& session, const OrtRunOptions* options, std::span<const std::size_t> inputs,
             std::span<const Value* const> values, std::span<const std::size_t> outputs, std::span<Value> results,
             std::span<const OrtMemoryInfo* const> places = {});

}  // namespace sardonyx::capi
