// tests/providers/seen/plugin.cpp - the library: a provider that appends what it is shown in GetCapability and Compile
// to the file that its option 'file' names, a line for each call.
//
// Options: 'claim' lists operators ("Conv,Relu"), of which each node becomes a group of its own; 'layout' is NHWC for
// images channels last; 'convert' lists the operators that change their layout (default: what the runtime decides);
// 'bodies' is 0 if the bodies of nodes are not to be written down with these: ONNX Runtime ends the process when it
// shows the parts of a node that it has compiled there. Nothing that it has claimed can be run.
#include <cstring>
#include <fstream>
#include <memory>

#include "seen.h"

namespace seen {

namespace {

constexpr const char* kName = "SdxSeeingProvider";

std::string OptionOf(const OrtSessionOptions* options, const std::string& name) {
  return EntryOf(options, "ep.sdxseeingprovider." + name);
}

bool IsListed(const std::string& list, const char* name) {
  return ("," + list + ",").find("," + std::string(name) + ",") != std::string::npos;
}

struct Computation : OrtNodeComputeInfo {
  Computation() : OrtNodeComputeInfo{} {
    ort_version_supported = ORT_API_VERSION;
    CreateState = [](OrtNodeComputeInfo* self, OrtNodeComputeContext*, void** state) -> OrtStatus* {
      *state = self;
      return nullptr;
    };
    Compute = [](OrtNodeComputeInfo*, void*, OrtKernelContext*) {
      return api->CreateStatus(ORT_NOT_IMPLEMENTED, "this provider only looks");
    };
    ReleaseState = [](OrtNodeComputeInfo*, void*) {};
  }
};

struct Provider : OrtEp {
  explicit Provider(const OrtSessionOptions* options) : OrtEp{} {
    file = OptionOf(options, "file");
    claim = OptionOf(options, "claim");
    convert = OptionOf(options, "convert");
    bodies = OptionOf(options, "bodies") != "0";
    wants_last = OptionOf(options, "layout") == "NHWC";
    ort_version_supported = ORT_API_VERSION;
    GetName = [](const OrtEp*) -> const char* { return kName; };
    GetCapability = [](OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* support) -> OrtStatus* {
      return Guard([&] { static_cast<Provider*>(self)->Look(graph, support); });
    };
    Compile = [](OrtEp* self, const OrtGraph** graphs, const OrtNode** nodes, size_t count, OrtNodeComputeInfo** infos,
                 OrtNode**) -> OrtStatus* {
      return Guard([&] {
        for (size_t i = 0; i < count; ++i) {
          const auto& provider = *static_cast<const Provider*>(self);
          const std::string graph = GraphJson(graphs[i], provider.bodies), node = NodeJson(nodes[i], provider.bodies);
          provider.Write(Object().Add("compiled", graph).Add("node", node).Json());
          infos[i] = std::make_unique<Computation>().release();
        }
      });
    };
    ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** infos, size_t count) {
      for (size_t i = 0; i < count; ++i) delete static_cast<Computation*>(infos[i]);
    };
    GetPreferredDataLayout = [](OrtEp* self, OrtEpDataLayout* layout) -> OrtStatus* {
      *layout = static_cast<const Provider*>(self)->wants_last ? OrtEpDataLayout_NHWC : OrtEpDataLayout_NCHW;
      return nullptr;
    };
    ShouldConvertDataLayoutForOp = [](OrtEp* self, const char*, const char* op_type, OrtEpDataLayout,
                                      int* should_convert) -> OrtStatus* {
      const std::string& list = static_cast<const Provider*>(self)->convert;
      *should_convert = list.empty() ? -1 : IsListed(list, op_type) ? 1 : 0;
      return nullptr;
    };
  }

  void Look(const OrtGraph* graph, OrtEpGraphSupportInfo* support) const {
    Object line;
    line.Add("seen", GraphJson(graph, bodies));
    std::vector<const OrtNode*> nodes = NodesOf(graph);
    const OrtNode* parent = nullptr;
    Check(api->Graph_GetParentNode(graph, &parent));
    if (parent != nullptr) {
      const OrtGraph* outer = nullptr;
      Check(api->Node_GetGraph(parent, &outer));
      line.Add("parent", NodeJson(parent, false)).Add("outer", outer != nullptr ? GraphJson(outer, bodies) : "null");
    }
    if (nodes.size() > 2) {  // all but the first and the last
      OrtGraph* made = nullptr;
      Check(api->Graph_GetGraphView(graph, nodes.data() + 1, nodes.size() - 2, &made));
      const std::unique_ptr<OrtGraph, void (*)(OrtGraph*)> view(made, api->ReleaseGraph);
      line.Add("part", GraphJson(made, bodies));
    }
    Write(line.Json());
    OrtNodeFusionOptions options{};
    options.ort_version_supported = ORT_API_VERSION;
    for (const OrtNode*& node : nodes) {
      const char* op_type = nullptr;
      Check(api->Node_GetOperatorType(node, &op_type));
      if (IsListed(claim, op_type)) Check(ep_api->EpGraphSupportInfo_AddNodesToFuse(support, &node, 1, &options));
    }
  }

  void Write(const std::string& line) const { std::ofstream(file, std::ios::app) << line << "\n"; }

  std::string file, claim, convert;
  bool wants_last = false, bodies = true;
};

struct Factory : PlainFactory {
  Factory() : PlainFactory(ORT_API_VERSION) {
    GetName = [](const OrtEpFactory*) -> const char* { return kName; };
    CreateEp = [](OrtEpFactory*, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                  const OrtSessionOptions* options, const OrtLogger*, OrtEp** provider) -> OrtStatus* {
      return Guard([&] { *provider = std::make_unique<Provider>(options).release(); });
    };
    ReleaseEp = [](OrtEpFactory*, OrtEp* provider) { delete static_cast<Provider*>(provider); };
  }
};

}  // namespace
}  // namespace seen

OrtStatus* CreateEpFactories(const char* /*name*/, const OrtApiBase* base, const OrtLogger* /*logger*/,
                             OrtEpFactory** factories, size_t room, size_t* count) {
  using namespace seen;
  TakeTables(base, ORT_API_VERSION);
  if (room == 0) return api->CreateStatus(ORT_INVALID_ARGUMENT, "expected room for a factory, found none");
  return Guard([&] {
    factories[0] = std::make_unique<Factory>().release();
    *count = 1;
  });
}

OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<seen::Factory*>(factory);
  return nullptr;
}
