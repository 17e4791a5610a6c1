// plugins/sardonyx_cpu/group.h - a fused group of the host's nodes: a session of Sardonyx that runs in the host's
// memory.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "apis.h"

namespace sardonyx_cpu {

// What all groups of a plug-in share.
struct OwnRuntime {
  explicit OwnRuntime(const Apis& from);

  const Apis& apis;
  Handle<OrtEnv> env;
  Handle<OrtMemoryInfo> host_memory;
};

class Group : public OrtNodeComputeInfo {
 public:
  // Compiles `graph`; `fused` is the node that stands for it in the host's graph. `threads`: of the session, 0 for as
  // many as the machine grants.
  Group(const OwnRuntime& own, const OrtGraph& graph, const OrtNode& fused, int threads);

 private:
  using Dims = std::vector<std::int64_t>;
  struct Port {
    std::string name;
    std::size_t host_index = 0;  // among the fused node's inputs or outputs
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  };
  // Sizes of results for sizes of inputs.
  struct KnownShapes {
    std::vector<Dims> inputs, outputs;
  };

  void MakeSession(const OrtGraph& graph, int threads);
  void FindPorts(const OrtNode& fused);
  bool ShapesFollow() const;
  void Run(OrtKernelContext& context);
  Handle<OrtValue> InputOf(OrtKernelContext& context, const Port& port, Dims& dims) const;
  Handle<OrtValue> OutputAt(OrtKernelContext& context, const Port& port, const Dims& dims) const;
  void CopyOut(OrtKernelContext& context, const Port& port, const OrtValue& value, Dims& dims) const;
  Handle<OrtValue> TakeStrings(const OrtValue& value, const Dims& dims) const;
  std::vector<Dims> Remembered(const std::vector<Dims>& inputs);
  void Remember(const std::vector<Dims>& inputs, std::vector<Dims> outputs);

  const OwnRuntime& own_;
  Handle<OrtSession> session_;
  std::vector<Port> inputs_, outputs_;
  std::vector<const char*> input_names_, output_names_;
  bool shapes_follow_ = false;  // those of the results from those of the inputs
  std::mutex mutex_;
  std::vector<KnownShapes> known_;
};

}  // namespace sardonyx_cpu
