// plugins/onednn/compiled_group.h - a group of the host's nodes, compiled: plans for the shapes that it has met.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "builder.h"
#include "provider.h"

namespace sardonyx_onednn {

class CompiledGroup : public OrtNodeComputeInfo {
 public:
  // `fused` is the node that stands for `graph` in the host's graph.
  CompiledGroup(const Library& library, const Settings& settings, const OrtGraph& graph, const OrtNode& fused);

 private:
  // The plans of one set of shapes; a run takes one out, so several runs at once need as many.
  struct Shapes {
    std::vector<Dims> inputs;
    bool keeps_nan;
    std::vector<std::unique_ptr<Plan>> idle;
  };

  void FindPorts(const OrtNode& fused);
  void CompileKnownShapes();
  void Run(OrtKernelContext& context);
  bool KeepsNan(const std::vector<Dims>& shapes, const std::vector<const void*>& inputs) const;
  std::unique_ptr<Plan> Take(const std::vector<Dims>& inputs, bool keeps_nan);
  void GiveBack(const std::vector<Dims>& inputs, bool keeps_nan, std::unique_ptr<Plan> plan);

  const Library& library_;
  const Settings settings_, careful_settings_;  // the latter of plans that keep NaN
  Graph graph_;
  bool loses_nan_ = false, makes_nan_ = false;
  std::vector<std::size_t> inputs_, outputs_;  // of the graph: their places among those of the fused node
  PackedConstants packed_;
  std::mutex mutex_;
  std::list<Shapes> known_;  // the latest first
};

}  // namespace sardonyx_onednn
