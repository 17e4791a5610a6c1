// providers/plugin/plugin_provider.h - the provider of a plug-in's OrtEp, as the planner and the runtime see it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "capi/handles/graph_view.h"
#include "capi/handles/kernel_info.h"
#include "capi/handles/kernel_registry.h"
#include "capi/handles/shared_weights.h"
#include "providers/plugin/ep.h"
#include "providers/provider.h"

namespace sardonyx::plugin {

// What a session asks of its providers, besides what they read of its options themselves.
struct SessionNeeds {
  bool contexts = false;                                          // nodes for a model with what they compiled
  bool reads = false, writes = false;                             // through the caller, the data of such nodes
  bool packs = true;                                              // kernels may pack weights
  std::shared_ptr<capi::SharedWeights> shared_weights = nullptr;  // and share them with other sessions; null: not
  bool weightless = false;                                        // such nodes without the model's weights
};

class PluginProvider final : public providers::Provider {
 public:
  // `lend` (may be null) lends the allocator of another owner for a kind of memory; null from it: there is none. Fails
  // with kFail where the plug-in cannot do what the session needs.
  using Lend = std::function<std::shared_ptr<Allocator>(const OrtMemoryInfo&)>;
  PluginProvider(std::shared_ptr<Ep> ep, const SessionNeeds& needs, const Lend& lend = nullptr);

  std::string_view name() const override { return ep_->name(); }
  providers::Claims Claim(const providers::GraphView& view) override;
  std::vector<providers::CompiledGroup> Compile(std::span<const providers::FusedNode> groups,
                                                const Model* model) override;
  std::string CompatibilityInfo(const Graph& graph, const Model* model) override;
  providers::Compatibility Assess(const std::string& compatibility_info) override;
  providers::Layout PreferredLayout() const override { return layout_; }
  std::optional<bool> WantsChannelsLast(std::string_view domain, std::string_view op_type) const override;
  ops::Prepared Prepare(ops::PrepareContext& context) override;
  const std::shared_ptr<Allocator>& allocator() const override { return allocator_; }
  // Host memory that its device reaches, for kernels and callers who ask for it; null: it has none. As in ONNX Runtime,
  // values that its nodes read and write on the host lie in ordinary memory, and all others there only if the provider
  // names it as its default memory.
  const std::shared_ptr<Allocator>& host_accessible_memory() const { return host_accessible_memory_; }
  bool InputOnHost(const Node& node, std::size_t input) const override;
  bool OutputOnHost(const Node& node, std::size_t output) const override;
  bool HasStreams() const override;
  std::shared_ptr<Stream> MakeStream() override;
  void Sync() override;
  void CopyBytes(const void* from, Device from_device, void* to, Device to_device, std::size_t bytes) override;
  bool CanCopy(const Device& from, const Device& to) const override { return ep_->factory().CanCopy(from, to); }

  // Whether it captures runs as graphs of its device, and may be asked for the following.
  bool captures_graphs() const { return captures_graphs_; }
  bool cpu_computes_shapes() const;  // in a captured run; else the provider has to run every node
  bool IsCaptured(int graph) const;
  void Replay(int graph);
  void ReleaseCaptured(int graph);

  const Ep& ep() const { return *ep_; }
  std::shared_ptr<const Ep> share_ep() const { return ep_; }
  bool runs_side_by_side() const { return runs_side_by_side_; }
  std::mutex& run_mutex() { return run_mutex_; }  // held during runs of a provider that takes one at a time

 private:
  providers::Claims ClaimNothing(const providers::GraphView& view, const std::string& why) const;
  void ClaimNode(const providers::GraphView& view, const OrtNode& claimed, providers::Group group,
                 providers::Claims& claims) const;
  const OrtKernelRegistry* FindKernels() const;
  void CheckContextData() const;
  void CheckWeightless() const;
  providers::Layout FindLayout() const;
  ops::Prepared MakeNodeKernel(const providers::FusedNode& group, const std::shared_ptr<const capi::ModelFacts>& facts);

  std::shared_ptr<Ep> ep_;
  SessionNeeds needs_;
  const OrtKernelRegistry* kernels_;  // of the provider, which owns it; NULL: it only compiles
  std::shared_ptr<const capi::KernelSession> session_;
  std::map<std::string, const OrtKernelDef*> definitions_;  // by op_type of the node that a kernel runs
  std::shared_ptr<Allocator> allocator_, host_accessible_memory_;
  providers::Layout layout_ = providers::Layout::kChannelsFirst;
  bool runs_side_by_side_ = true;
  bool captures_graphs_ = false;
  std::mutex run_mutex_;
};

}  // namespace sardonyx::plugin
