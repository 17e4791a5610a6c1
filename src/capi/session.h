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

#include "capi/handles/memory_info.h"
#include "onnxruntime_c_api.h"
#include "runtime/session.h"

struct OrtEpAssignedNode {
  std::string name, domain, op_type;
};

// The nodes that one provider runs, in their order.
struct OrtEpAssignedSubgraph {
  std::string ep_name;
  std::deque<OrtEpAssignedNode> nodes;
  std::vector<const OrtEpAssignedNode*> node_pointers;
};

struct OrtSession {
  explicit OrtSession(std::shared_ptr<sardonyx::runtime::Session> s) : session(std::move(s)) {}
  ~OrtSession();  // waits for runs in the background, writes a profile that was not ended
  OrtSession(const OrtSession&) = delete;
  OrtSession& operator=(const OrtSession&) = delete;

  struct Assignment {
    std::deque<OrtEpAssignedSubgraph> subgraphs;
    std::vector<const OrtEpAssignedSubgraph*> subgraph_pointers;
  };
  std::shared_ptr<sardonyx::runtime::Session> session;  // shared with bindings
  mutable std::once_flag assignment_made;
  mutable Assignment assignment;
};

// Weights packed by one session and used by others. Packing is not shared yet: it holds nothing.
struct OrtPrepackedWeightsContainer {};

// Values bound to a session's inputs and outputs. Entries stand in the order they were bound.
struct OrtIoBinding {
  std::shared_ptr<sardonyx::runtime::Session> session;
  std::vector<std::size_t> input_indices, output_indices;
  std::vector<sardonyx::Value> inputs, outputs;
  std::vector<const sardonyx::Value*> input_pointers;       // into `inputs`
  std::vector<bool> fresh_outputs;                          // bound to a device: a new value every run
  std::vector<std::optional<OrtMemoryInfo>> output_memory;  // of outputs bound to a device that is not the host
};

namespace sardonyx::capi {

// Options of a session as its own copy: what the caller may free afterwards is copied, what is unset is the
// environment's.
runtime::SessionOptions CopyOptions(const OrtEnv* env, const OrtSessionOptions* options);
// The options of a run that gave none.
const runtime::RunOptions& DefaultRunOptions();
// Runs as the options say: with a profile of this run, or as it is.
void RunWith(runtime::Session& session, const OrtRunOptions* options, std::span<const std::size_t> inputs,
             std::span<const Value* const> values, std::span<const std::size_t> outputs, std::span<Value> results);

}  // namespace sardonyx::capi
