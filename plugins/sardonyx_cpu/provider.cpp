// plugins/sardonyx_cpu/provider.cpp - chooses nodes, group by group, and compiles the groups.
#include "provider.h"

#include <algorithm>
#include <set>

#include "model_writer.h"
#include "options.h"

namespace sardonyx_cpu {

Provider::Provider(const OwnRuntime& own, const OrtSessionOptions& options)
    : OrtEp{},
      own_(own),
      reader_(own.apis),
      threads_(plugin_host::Options(own.apis, options, kName).Count("intra_op_num_threads", 0)) {
  ort_version_supported = own.apis.host_version;
  GetName = [](const OrtEp*) -> const char* { return kName; };
  GetCapability = [](OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* support) -> OrtStatus* {
    auto& provider = *static_cast<Provider*>(self);
    return Guard(*provider.own_.apis.host, [&] { provider.Claim(*graph, *support); });
  };
  Compile = [](OrtEp* self, const OrtGraph** graphs, const OrtNode** fused, std::size_t count,
               OrtNodeComputeInfo** infos, OrtNode**) -> OrtStatus* {
    auto& provider = *static_cast<Provider*>(self);
    return Guard(*provider.own_.apis.host, [&] {
      std::vector<std::unique_ptr<Group>> groups;
      for (std::size_t i = 0; i < count; ++i)
        groups.push_back(std::make_unique<Group>(provider.own_, *graphs[i], *fused[i], provider.threads_));
      for (std::size_t i = 0; i < count; ++i) infos[i] = groups[i].release();
    });
  };
  ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** infos, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) delete static_cast<Group*>(infos[i]);
  };
}

// Groups the nodes that Sardonyx takes. A node's level rises by one wherever a path enters or leaves what is taken, so
// the taken nodes of one level have no path among them that leads through others.
void Provider::Claim(const OrtGraph& graph, OrtEpGraphSupportInfo& support) {
  const Apis& apis = own_.apis;
  if (TakesWhole(graph)) return;
  const Opsets opsets = reader_.Opsets(graph);
  struct Maker {
    int level = 0;
    bool taken = false;
  };
  std::map<std::string, Maker> makers;  // by value
  std::map<int, std::vector<const OrtNode*>> groups;
  for (const OrtNode* node : reader_.Nodes(graph)) {
    Maker self{.level = 0, .taken = Takes(*node, opsets)};
    for (const auto& list : {reader_.Inputs(*node), reader_.ImplicitInputs(*node)}) {
      for (const OrtValueInfo* value : list) {
        const auto maker = makers.find(reader_.Name(value));
        if (maker == makers.end()) continue;
        self.level = std::max(self.level, maker->second.level + (maker->second.taken == self.taken ? 0 : 1));
      }
    }
    for (const OrtValueInfo* value : reader_.Outputs(*node))
      if (value != nullptr) makers[reader_.Name(value)] = self;
    if (self.taken) groups[self.level].push_back(node);
  }
  OrtNodeFusionOptions fusion{};
  fusion.ort_version_supported = apis.host_version;
  fusion.drop_constant_initializers = true;  // Sardonyx keeps what it needs of them
  for (const auto& [level, nodes] : groups)
    apis.Host(apis.host_ep->EpGraphSupportInfo_AddNodesToFuse(&support, nodes.data(), nodes.size(), &fusion));
}

// True for a body of a node that is taken as it is, bodies included. The host asks for bodies first.
bool Provider::TakesWhole(const OrtGraph& body) {
  const OrtNode* holder = reader_.Holder(body);
  if (holder == nullptr) return false;
  const OrtGraph& outer = reader_.GraphOf(*holder);
  return TakesWhole(outer) || Takes(*holder, reader_.Opsets(outer));
}

bool Provider::Takes(const OrtNode& node, const Opsets& opsets) {
  for (const auto& list : {reader_.Inputs(node), reader_.ImplicitInputs(node), reader_.Outputs(node)})
    for (const OrtValueInfo* value : list)
      if (value != nullptr && !reader_.Facts(*value).is_tensor) return false;
  const std::string signature = Signature(node);
  const auto found = taken_.find(signature);
  return found != taken_.end() ? found->second : taken_.emplace(signature, HasKernel(node, opsets)).first->second;
}

// What decides whether there is a kernel: the operator, the element types, and which inputs are there and constant.
std::string Provider::Signature(const OrtNode& node) const {
  std::string text =
      reader_.Domain(node) + " " + reader_.Operator(node) + " " + std::to_string(reader_.SinceVersion(node));
  for (const auto& list : {reader_.Inputs(node), reader_.Outputs(node)}) {
    text += " |";
    for (const OrtValueInfo* value : list) {
      text += ' ';
      if (value == nullptr) continue;
      const ValueFacts facts = reader_.Facts(*value);
      text += std::to_string(facts.element_type) + (facts.has_shape ? " r" + std::to_string(facts.dims.size()) : "");
      if (reader_.IsConstant(*value)) text += 'c';
    }
  }
  for (const OrtOpAttr* attribute : reader_.Attributes(node)) {
    const OrtOpAttrType kind = reader_.Kind(*attribute);
    text += " " + reader_.Name(*attribute) + "=";
    if (kind != ORT_OP_ATTR_GRAPH && kind != ORT_OP_ATTR_TENSOR) {
      const std::vector<char> bytes = reader_.Bytes(*attribute);
      if (bytes.size() <= 64) text.append(bytes.begin(), bytes.end());
    }
  }
  // A body is as good as unique.
  if (!reader_.Subgraphs(node).empty())
    text += " body of " + reader_.Name(node) + reader_.Name(reader_.Outputs(node)[0]);
  return text;
}

bool Provider::HasKernel(const OrtNode& node, const Opsets& opsets) const {
  const Apis& apis = own_.apis;
  try {
    const WrittenModel model = WriteNode(apis, node, opsets);
    if (!model.weights.empty()) return false;  // of a body: too large to try
    OrtSessionOptions* made = nullptr;
    apis.Own(apis.own->CreateSessionOptions(&made));
    const Handle<OrtSessionOptions> options(made, apis.own->ReleaseSessionOptions);
    apis.Own(apis.own->SetSessionGraphOptimizationLevel(options.get(), ORT_DISABLE_ALL));
    apis.Own(apis.own->SetIntraOpNumThreads(options.get(), 1));
    OrtSession* session = nullptr;
    apis.Own(apis.own->CreateSessionFromArray(own_.env.get(), model.bytes.data(), model.bytes.size(), options.get(),
                                              &session));
    apis.own->ReleaseSession(session);
    return true;
  } catch (const Failure&) {
    return false;  // the host's other providers may know it
  }
}

}  // namespace sardonyx_cpu
