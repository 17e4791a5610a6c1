// providers/plugin/compiled_nodes.cpp - compiles fused nodes with an OrtEp, and runs them.
#include "providers/plugin/compiled_nodes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "capi/handles/call_release.h"
#include "capi/handles/graph_support_info.h"
#include "capi/handles/kernel_context.h"
#include "ops/kernel_context.h"
#include "providers/plugin/kernel_nodes.h"

namespace sardonyx::plugin {
namespace {

using capi::CallOut;

// What one call of OrtEp::Compile made; given back to it when the last of its nodes is gone.
struct Compilation {
  std::shared_ptr<Ep> ep;
  std::vector<OrtNodeComputeInfo*> infos;

  ~Compilation() {
    std::erase(infos, nullptr);
    std::sort(infos.begin(), infos.end());  // each once, also where it serves several nodes
    infos.erase(std::unique(infos.begin(), infos.end()), infos.end());
    const auto release = ep->Find(&OrtEp::ReleaseNodeComputeInfos);
    if (release == nullptr || infos.empty()) return;
    capi::CallRelease(ep->logger(), ep->Callee("ReleaseNodeComputeInfos"), release, ep->handle(), infos.data(),
                      infos.size());
  }
};

// The kernel of a compiled node.
struct CompiledNode {
  std::shared_ptr<const Compilation> compilation;
  OrtNodeComputeInfo* info = nullptr;
  void* state = nullptr;
  std::shared_ptr<const capi::KernelFacts> facts;
  std::string callee;
  mutable capi::SpareValues spare;

  CompiledNode() = default;
  CompiledNode(const CompiledNode&) = delete;
  CompiledNode& operator=(const CompiledNode&) = delete;
  ~CompiledNode() {
    if (info == nullptr) return;
    const Ep& ep = *compilation->ep;
    capi::CallRelease(ep.logger(), ep.name() + ": OrtNodeComputeInfo::ReleaseState", info->ReleaseState, info, state);
  }
};

void RunCompiled(ops::KernelContext& context) {
  const auto& node = context.state<CompiledNode>();
  OrtKernelContext handle(context, *node.facts, {}, &node.spare);
  CallOut(node.callee.c_str(), node.info->Compute, node.info, node.state, &handle);
  handle.CheckMade(node.callee);
  handle.Finish();
}

ops::Prepared MakeCompiled(const std::shared_ptr<const Compilation>& compilation, std::size_t index,
                           std::shared_ptr<const capi::KernelFacts> facts) {
  const Ep& ep = *compilation->ep;
  OrtNodeComputeInfo* info = compilation->infos[index];
  if (info == nullptr || info->CreateState == nullptr || info->Compute == nullptr || info->ReleaseState == nullptr) {
    Fail(Code::kEpFail, ep.Callee("Compile"), ": ", Describe(*facts),
         ": expected an OrtNodeComputeInfo with CreateState, Compute and ReleaseState, found ",
         info == nullptr ? "none" : "NULL for one of them");
  }
  auto node = std::make_shared<CompiledNode>();
  node->compilation = compilation;
  node->facts = std::move(facts);
  node->callee = ep.name() + ": OrtNodeComputeInfo::Compute";
  OrtNodeComputeContext context{{}, node->facts->node_name.c_str()};
  const std::string create = ep.name() + ": OrtNodeComputeInfo::CreateState: " + Describe(*node->facts);
  CallOut(create.c_str(), info->CreateState, info, &context, &node->state);
  node->info = info;  // from now on its state is to be released
  return {RunCompiled, std::move(node)};
}

// Nodes that a plug-in makes to stand for what it compiled.
class ContextNodes {
 public:
  explicit ContextNodes(std::size_t count) : nodes_(count) {}
  ~ContextNodes() {
    for (OrtNode* node : nodes_) std::unique_ptr<OrtNode> owned(node);
  }
  ContextNodes(const ContextNodes&) = delete;
  ContextNodes& operator=(const ContextNodes&) = delete;

  OrtNode** data() { return nodes_.data(); }
  const OrtNode* operator[](std::size_t i) const { return nodes_[i]; }

 private:
  std::vector<OrtNode*> nodes_;
};

std::vector<std::string> NamesOf(const std::vector<OrtValueInfo*>& values) {
  std::vector<std::string> names;
  for (const OrtValueInfo* value : values) names.push_back(value != nullptr ? value->name : "");
  return names;
}

providers::ContextNode CopyContext(const OrtNode& made) {
  providers::ContextNode context;
  context.node.name = made.name;
  context.node.op_type = made.op_type;
  context.node.domain = made.domain;
  for (const Attribute* attribute : made.attributes) context.node.attributes.push_back(*attribute);
  context.inputs = NamesOf(made.inputs);
  context.outputs = NamesOf(made.outputs);
  return context;
}

}  // namespace

std::vector<providers::CompiledGroup> CompileNodes(const std::shared_ptr<Ep>& ep,
                                                   std::span<const providers::FusedNode> groups,
                                                   const std::shared_ptr<const capi::ModelFacts>& facts,
                                                   const std::shared_ptr<const capi::KernelSession>& session,
                                                   bool wants_contexts) {
  const auto compile = ep->Find(&OrtEp::Compile);
  if (compile == nullptr || ep->Find(&OrtEp::ReleaseNodeComputeInfos) == nullptr) {
    Fail(Code::kEpFail, ep->Callee("Compile"), ": expected functions Compile and ReleaseNodeComputeInfos, which a ",
         "provider that claims groups of nodes has to have, found NULL");
  }
  const std::unique_ptr<OrtGraph> whole = capi::ViewGraph(groups.front().graph, facts);
  std::vector<std::unique_ptr<OrtGraph>> bodies;
  std::vector<const OrtGraph*> graphs;
  std::vector<const OrtNode*> nodes;
  for (const providers::FusedNode& group : groups) {
    bodies.push_back(capi::ViewGraph(group.body, facts));
    graphs.push_back(bodies.back().get());
    nodes.push_back(*std::find_if(whole->nodes.begin(), whole->nodes.end(),
                                  [&](const OrtNode* node) { return node->id == group.node; }));
  }
  auto compilation = std::make_shared<Compilation>();
  compilation->ep = ep;
  compilation->infos.resize(groups.size());
  ContextNodes contexts(groups.size());
  CallOut(ep->Callee("Compile").c_str(), compile, ep->handle(), graphs.data(), nodes.data(), graphs.size(),
          compilation->infos.data(), contexts.data());
  std::vector<providers::CompiledGroup> made;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Node& node = groups[i].graph.node(groups[i].node);
    if (wants_contexts && contexts[i] == nullptr) {
      Fail(Code::kEpFail, ep->Callee("Compile"), ": ", sardonyx::Describe(groups[i].graph, node),
           ": expected an EPContext node for the model that ep.context_enable asks for, found NULL");
    }
    providers::CompiledGroup group{MakeCompiled(compilation, i, FactsOf(groups[i].graph, node, node, session))};
    if (wants_contexts) group.context = CopyContext(*contexts[i]);
    made.push_back(std::move(group));
  }
  return made;
}

}  // namespace sardonyx::plugin
