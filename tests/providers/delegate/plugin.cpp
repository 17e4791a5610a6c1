// tests/providers/delegate/plugin.cpp - chooses nodes, and compiles groups of them.
#include "plugin.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace delegate {

const OrtModelEditorApi* editor = nullptr;
OrtEnv* env = nullptr;

std::vector<const OrtValueInfo*> InputsOf(const OrtNode* node) {
  std::size_t count = 0;
  Check(api->Node_GetNumInputs(node, &count));
  std::vector<const OrtValueInfo*> infos(count);
  if (count != 0) Check(api->Node_GetInputs(node, infos.data(), count));
  return infos;
}

std::vector<const OrtValueInfo*> OutputsOf(const OrtNode* node) {
  std::size_t count = 0;
  Check(api->Node_GetNumOutputs(node, &count));
  std::vector<const OrtValueInfo*> infos(count);
  if (count != 0) Check(api->Node_GetOutputs(node, infos.data(), count));
  return infos;
}

std::string NameOf(const OrtValueInfo* info) {
  const char* name = "";
  if (info != nullptr) Check(api->GetValueInfoName(info, &name));
  return name;
}

namespace {

// Tensors of numbers are what is copied between the sessions.
bool IsTensorOfNumbers(const OrtValueInfo* info) {
  const OrtTypeInfo* type = nullptr;
  Check(api->GetValueInfoTypeInfo(info, &type));
  if (type == nullptr) return false;
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  Check(api->GetOnnxTypeFromTypeInfo(type, &kind));
  if (kind != ONNX_TYPE_TENSOR) return false;
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  Check(api->CastTypeInfoToTensorInfo(type, &tensor));
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  Check(api->GetTensorElementType(tensor, &element));
  return element >= ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT && element <= ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16 &&
         element != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING && element != ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64 &&
         element != ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128;
}

// The model editor of ONNX Runtime 1.31.1 makes no attributes that are tensors.
bool HasTensorAttribute(const OrtNode* node) {
  std::size_t count = 0;
  Check(api->Node_GetNumAttributes(node, &count));
  std::vector<const OrtOpAttr*> attributes(count);
  if (count != 0) Check(api->Node_GetAttributes(node, attributes.data(), count));
  return std::any_of(attributes.begin(), attributes.end(), [](const OrtOpAttr* attribute) {
    OrtOpAttrType type = ORT_OP_ATTR_UNDEFINED;
    if (attribute != nullptr) Check(api->OpAttr_GetType(attribute, &type));
    return type == ORT_OP_ATTR_TENSOR;
  });
}

struct Settings {
  std::size_t percent = 100, seed = 0, most = 1000;
  bool drop_constants = false;
};

bool Takes(const Settings& settings, const OrtNode* node) {
  std::size_t bodies = 0;
  Check(api->Node_GetNumSubgraphs(node, &bodies));
  const char* domain = nullptr;
  Check(api->Node_GetDomain(node, &domain));
  const bool known = *domain == '\0' || std::strcmp(domain, "com.microsoft") == 0;  // not the model's own functions
  if (bodies != 0 || !known || HasTensorAttribute(node)) return false;
  std::string all;
  for (const std::vector<const OrtValueInfo*>& infos : {InputsOf(node), OutputsOf(node)}) {
    for (const OrtValueInfo* info : infos) {
      if (info == nullptr || NameOf(info).empty()) continue;
      if (!IsTensorOfNumbers(info)) return false;
      all += NameOf(info) + "/";
    }
  }
  // The same choice in every runtime.
  std::size_t hash = 1469598103934665603ull + settings.seed * 7919;
  for (const char c : all) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return hash / 64 % 100 < settings.percent;
}

struct Computation : OrtNodeComputeInfo {
  explicit Computation(const OrtGraph* graph) : OrtNodeComputeInfo{}, session(graph) {
    ort_version_supported = kVersion;
    CreateState = [](OrtNodeComputeInfo* self, OrtNodeComputeContext*, void** state) -> OrtStatus* {
      *state = self;
      return nullptr;
    };
    Compute = [](OrtNodeComputeInfo*, void* state, OrtKernelContext* context) -> OrtStatus* {
      return Guard([&] { static_cast<Computation*>(state)->session.Run(context); });
    };
    ReleaseState = [](OrtNodeComputeInfo*, void*) {};
  }
  InnerSession session;
};

struct Provider : OrtEp {
  explicit Provider(const OrtSessionOptions* options) : OrtEp{} {
    ort_version_supported = kVersion;
    settings.percent = Number(options, "percent", settings.percent);
    settings.seed = Number(options, "seed", settings.seed);
    settings.most = Number(options, "most", settings.most);
    settings.drop_constants = Number(options, "drop_constants", 0) != 0;
    GetName = [](const OrtEp*) -> const char* { return kName; };
    GetCapability = [](OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* support) -> OrtStatus* {
      return Guard([&] { static_cast<Provider*>(self)->Claim(graph, support); });
    };
    Compile = [](OrtEp*, const OrtGraph** graphs, const OrtNode**, size_t count, OrtNodeComputeInfo** infos,
                 OrtNode**) -> OrtStatus* {
      return Guard([&] {
        for (size_t i = 0; i < count; ++i) infos[i] = std::make_unique<Computation>(graphs[i]).release();
      });
    };
    ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** infos, size_t count) {
      for (size_t i = 0; i < count; ++i) delete static_cast<Computation*>(infos[i]);
    };
  }

  static std::size_t Number(const OrtSessionOptions* options, const char* name, std::size_t otherwise) {
    const std::string text = EntryOf(options, std::string("ep.delegatingprovider.") + name);
    return text.empty() ? otherwise : std::stoul(text);
  }

  // Neighbours in the order of the graph: no path leaves such a group and comes back.
  void Claim(const OrtGraph* graph, OrtEpGraphSupportInfo* support) const {
    OrtNodeFusionOptions options{};
    options.ort_version_supported = kVersion;
    options.drop_constant_initializers = settings.drop_constants;
    std::vector<const OrtNode*> group;
    const auto close = [&] {
      if (!group.empty())
        Check(ep_api->EpGraphSupportInfo_AddNodesToFuse(support, group.data(), group.size(), &options));
      group.clear();
    };
    for (const OrtNode* node : NodesOf(graph)) {
      const bool takes = Takes(settings, node);
      if (!takes || group.size() >= settings.most) close();
      if (takes) group.push_back(node);
    }
    close();
  }

  Settings settings;
};

struct Factory : PlainFactory {
  Factory() : PlainFactory(kVersion) {
    GetName = [](const OrtEpFactory*) -> const char* { return kName; };
    CreateEp = [](OrtEpFactory*, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                  const OrtSessionOptions* options, const OrtLogger*, OrtEp** provider) -> OrtStatus* {
      return Guard([&] { *provider = std::make_unique<Provider>(options).release(); });
    };
    ReleaseEp = [](OrtEpFactory*, OrtEp* provider) { delete static_cast<Provider*>(provider); };
  }
};

}  // namespace
}  // namespace delegate

OrtStatus* CreateEpFactories(const char* /*name*/, const OrtApiBase* base, const OrtLogger* /*logger*/,
                             OrtEpFactory** factories, size_t /*room*/, size_t* count) {
  using namespace delegate;
  TakeTables(base, kVersion);
  editor = api->GetModelEditorApi();
  return Guard([&] {
    Check(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "delegate", &env));  // the one that there is
    factories[0] = std::make_unique<Factory>().release();
    *count = 1;
  });
}

OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<delegate::Factory*>(factory);
  delegate::api->ReleaseEnv(delegate::env);
  delegate::env = nullptr;
  return nullptr;
}
