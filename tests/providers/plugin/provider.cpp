// tests/providers/plugin/provider.cpp - claims nodes, compiles them or has kernels for them.
#include "provider.h"

#include <climits>
#include <cstring>
#include <memory>

#include "plugin.h"

namespace test_plugin {
namespace {

struct Provider : OrtEp {
  Provider() : OrtEp{} { ++counts.providers; }
  ~Provider() {
    ForgetCaptures(this);
    if (kernels != nullptr) ep_api->ReleaseKernelRegistry(kernels);
    --counts.providers;
  }
  std::string kind;
  std::string operators = "all";  // or those that it takes: "Add,Mul"
  bool separate = false;          // each node is a group of its own
  bool drop_constants = false;    // compiled nodes keep copies of the constants that they read
  OrtKernelRegistry* kernels = nullptr;
};

const char* ORT_API_CALL GetName(const OrtEp* /*self*/) { return kName; }

// ---- claims

bool IsFloat(const OrtValueInfo* info) {
  const OrtTypeInfo* type = nullptr;
  if (OrtStatus* status = api->GetValueInfoTypeInfo(info, &type)) {
    api->ReleaseStatus(status);
    return false;
  }
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  if (type == nullptr || api->CastTypeInfoToTensorInfo(type, &tensor) != nullptr || tensor == nullptr) return false;
  return api->GetTensorElementType(tensor, &element) == nullptr && element == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
}

OrtStatus* Takes(const Provider& provider, const OrtNode* node, bool& takes) {
  const char *domain = nullptr, *op_type = nullptr;
  TEST_PLUGIN_TRY(api->Node_GetDomain(node, &domain));
  TEST_PLUGIN_TRY(api->Node_GetOperatorType(node, &op_type));
  const std::string listed = "," + provider.operators + ",";
  takes = IsSupported(domain, op_type) &&
          (provider.operators == "all" || listed.find("," + std::string(op_type) + ",") != std::string::npos);
  std::size_t inputs = 0;
  TEST_PLUGIN_TRY(api->Node_GetNumInputs(node, &inputs));
  std::vector<const OrtValueInfo*> infos(inputs);
  TEST_PLUGIN_TRY(api->Node_GetInputs(node, infos.data(), inputs));
  for (const OrtValueInfo* info : infos) takes = takes && IsFloat(info);
  return nullptr;
}

// Chains of nodes where each reads the one before; what comes between closes a chain.
OrtStatus* ClaimChains(const Provider& provider, const std::vector<const OrtNode*>& nodes,
                       OrtEpGraphSupportInfo* info) {
  OrtNodeFusionOptions options{};
  options.ort_version_supported = ORT_API_VERSION;
  options.drop_constant_initializers = provider.drop_constants;
  std::vector<const OrtNode*> chain;
  const auto close = [&]() -> OrtStatus* {
    if (chain.empty()) return nullptr;
    OrtStatus* status = ep_api->EpGraphSupportInfo_AddNodesToFuse(info, chain.data(), chain.size(), &options);
    chain.clear();
    return status;
  };
  for (const OrtNode* node : nodes) {
    bool takes = false;
    TEST_PLUGIN_TRY(Takes(provider, node, takes));
    if (takes) chain.push_back(node);
    if (!takes || provider.separate) TEST_PLUGIN_TRY(close());
  }
  return close();
}

OrtStatus* ORT_API_CALL GetCapability(OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* info) {
  TEST_PLUGIN_TRY(Fault("GetCapability"));
  const auto& provider = *static_cast<const Provider*>(self);
  std::size_t count = 0;
  TEST_PLUGIN_TRY(api->Graph_GetNumNodes(graph, &count));
  std::vector<const OrtNode*> nodes(count);
  TEST_PLUGIN_TRY(api->Graph_GetNodes(graph, nodes.data(), count));
  if (provider.kernels == nullptr) return ClaimChains(provider, nodes, info);
  for (const OrtNode* node : nodes) {
    const OrtKernelDef* kernel = nullptr;
    TEST_PLUGIN_TRY(ep_api->EpGraphSupportInfo_LookUpKernel(info, node, &kernel));
    if (kernel != nullptr) TEST_PLUGIN_TRY(ep_api->EpGraphSupportInfo_AddSingleNode(info, node));
  }
  return nullptr;
}

// ---- compiled nodes

OrtStatus* ORT_API_CALL Compile(OrtEp* /*self*/, const OrtGraph** graphs, const OrtNode** /*fused_nodes*/, size_t count,
                                OrtNodeComputeInfo** infos, OrtNode** /*context_nodes*/) {
  for (std::size_t i = 0; i < count; ++i) {
    TEST_PLUGIN_TRY(CompileGraph(graphs[i], &infos[i]));
    TEST_PLUGIN_TRY(Fault("Compile"));  // with one node made
  }
  return nullptr;
}

void ORT_API_CALL ReleaseNodeComputeInfos(OrtEp* /*self*/, OrtNodeComputeInfo** infos, size_t count) {
  for (std::size_t i = 0; i < count; ++i) ReleaseCompiled(infos[i]);
}

// ---- kernels

struct Kernel : OrtKernelImpl {
  Kernel() : OrtKernelImpl{} { ++counts.kernels; }
  ~Kernel() { --counts.kernels; }
  std::string op_type;
};

OrtStatus* ORT_API_CALL ComputeKernel(OrtKernelImpl* self, OrtKernelContext* context) {
  TEST_PLUGIN_TRY(Fault("KernelCompute"));
  std::size_t count = 0;
  TEST_PLUGIN_TRY(api->KernelContext_GetInputCount(context, &count));
  std::vector<Array> arrays(count);
  std::vector<const Array*> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    const OrtValue* value = nullptr;
    TEST_PLUGIN_TRY(api->KernelContext_GetInput(context, i, &value));
    TEST_PLUGIN_TRY(ReadTensor(value, arrays[i]));
    inputs.push_back(&arrays[i]);
  }
  Array result;
  TEST_PLUGIN_TRY(Compute(static_cast<const Kernel*>(self)->op_type, inputs, result));
  OrtValue* value = nullptr;
  TEST_PLUGIN_TRY(api->KernelContext_GetOutput(context, 0, result.shape.data(), result.shape.size(), &value));
  return WriteTensor(value, result);
}

void ORT_API_CALL ReleaseKernel(OrtKernelImpl* self) { delete static_cast<Kernel*>(self); }

OrtStatus* ORT_API_CALL CreateKernel(void* state, const OrtKernelInfo* info, OrtKernelImpl** out) {
  TEST_PLUGIN_TRY(Fault("CreateKernel"));
  std::size_t inputs = 0;
  TEST_PLUGIN_TRY(api->KernelInfo_GetInputCount(info, &inputs));
  const OrtEp* ep = nullptr;
  TEST_PLUGIN_TRY(ep_api->KernelInfo_GetEp(info, &ep));
  if (static_cast<const Provider*>(ep)->kind != "kernels") return Failure("a kernel of another provider");
  auto kernel = std::make_unique<Kernel>();
  kernel->ort_version_supported = ORT_API_VERSION;
  kernel->Compute = ComputeKernel;
  kernel->Release = ReleaseKernel;
  kernel->op_type = static_cast<const char*>(state);
  *out = kernel.release();
  return nullptr;
}

struct Definition {
  const char* op_type;
  int first, last;
};
// Of Relu only the first version: a model of another opset has none.
constexpr Definition kDefinitions[] = {
    {"Add", 7, 12}, {"Add", 13, 13}, {"Mul", 7, 14}, {"Relu", 6, 12}, {"Neg", 6, INT_MAX}};

OrtStatus* AddKernel(OrtKernelRegistry* registry, const Definition& definition) {
  OrtKernelDefBuilder* builder = nullptr;
  TEST_PLUGIN_TRY(ep_api->CreateKernelDefBuilder(&builder));
  const OrtDataType* type = nullptr;
  OrtKernelDef* made = nullptr;
  const auto build = [&]() -> OrtStatus* {
    TEST_PLUGIN_TRY(ep_api->GetTensorDataType(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &type));
    TEST_PLUGIN_TRY(ep_api->KernelDefBuilder_SetOperatorType(builder, definition.op_type));
    TEST_PLUGIN_TRY(ep_api->KernelDefBuilder_SetDomain(builder, ""));
    TEST_PLUGIN_TRY(ep_api->KernelDefBuilder_SetSinceVersion(builder, definition.first, definition.last));
    TEST_PLUGIN_TRY(ep_api->KernelDefBuilder_SetExecutionProvider(builder, kName));
    TEST_PLUGIN_TRY(ep_api->KernelDefBuilder_AddTypeConstraint(builder, "T", &type, 1));
    TEST_PLUGIN_TRY(ep_api->KernelDefBuilder_Build(builder, &made));
    return ep_api->KernelRegistry_AddKernel(registry, made, CreateKernel, const_cast<char*>(definition.op_type));
  };
  OrtStatus* status = build();
  if (made != nullptr) ep_api->ReleaseKernelDef(made);
  ep_api->ReleaseKernelDefBuilder(builder);
  return status;
}

OrtStatus* ORT_API_CALL GetKernelRegistry(OrtEp* self, const OrtKernelRegistry** registry) {
  TEST_PLUGIN_TRY(Fault("GetKernelRegistry"));
  *registry = static_cast<const Provider*>(self)->kernels;
  return nullptr;
}

// ---- runs

OrtStatus* ORT_API_CALL OnRunStart(OrtEp* self, const OrtRunOptions* options) {
  TEST_PLUGIN_TRY(Fault("OnRunStart"));
  StartCapture(self, options);
  return nullptr;
}
OrtStatus* ORT_API_CALL OnRunEnd(OrtEp* /*self*/, const OrtRunOptions* /*options*/, bool /*sync*/) {
  EndCapture();
  return Fault("OnRunEnd");
}

OrtStatus* ORT_API_CALL Sync(OrtEp* /*self*/) {
  TEST_PLUGIN_TRY(Fault("Sync"));
  ++events.synced;
  return nullptr;
}

OrtStatus* ORT_API_CALL SetDynamicOptions(OrtEp* /*self*/, const char* const* keys, const char* const* values,
                                          size_t count) {
  TEST_PLUGIN_TRY(Fault("SetDynamicOptions"));
  for (std::size_t i = 0; i < count; ++i)
    if (std::strcmp(keys[i], "ep.dynamic.workload_type") != 0 || std::strcmp(values[i], "Efficient") != 0)
      return Failure("unknown dynamic option " + std::string(keys[i]) + " = " + values[i]);
  return nullptr;
}

OrtStatus* ORT_API_CALL CreateOwnStream(OrtEp* /*self*/, const OrtMemoryDevice* /*device*/,
                                        OrtSyncStreamImpl** stream) {
  TEST_PLUGIN_TRY(Fault("CreateOwnStream"));
  ++events.own_streams;
  return CreateStream(stream);
}

// An option of the provider, as the runtime stores it in the session's.
OrtStatus* ReadOption(const OrtSessionOptions* options, const char* name, std::string& value) {
  const std::string key = "ep.sdxtestprovider." + std::string(name);
  int has = 0;
  TEST_PLUGIN_TRY(api->HasSessionConfigEntry(options, key.c_str(), &has));
  if (has == 0) return nullptr;
  std::size_t size = 0;
  TEST_PLUGIN_TRY(api->GetSessionConfigEntry(options, key.c_str(), nullptr, &size));
  value.resize(size);
  TEST_PLUGIN_TRY(api->GetSessionConfigEntry(options, key.c_str(), value.data(), &size));
  value.resize(size - 1);  // without the NUL
  return nullptr;
}

}  // namespace

OrtStatus* CreateProvider(const char* kind, const OrtSessionOptions* options, const OrtLogger* logger, OrtEp** ep) {
  auto provider = std::make_unique<Provider>();
  provider->ort_version_supported = ORT_API_VERSION;
  provider->kind = kind;
  TEST_PLUGIN_TRY(ReadOption(options, "operators", provider->operators));
  std::string drop;
  TEST_PLUGIN_TRY(ReadOption(options, "drop_constants", drop));
  provider->drop_constants = drop == "1";
  std::string separate;
  TEST_PLUGIN_TRY(ReadOption(options, "separate", separate));
  provider->separate = separate == "1";
  provider->Sync = Sync;
  provider->CreateProfiler = CreateProfiler;
  std::string capture;
  TEST_PLUGIN_TRY(ReadOption(options, "graph_capture", capture));
  if (!capture.empty()) EnableCapture(provider.get(), capture == "shapes");
  std::string own_streams;
  TEST_PLUGIN_TRY(ReadOption(options, "own_streams", own_streams));
  if (own_streams == "1") provider->CreateSyncStreamForDevice = CreateOwnStream;  // else the factory's serve
  provider->GetName = GetName;
  provider->GetCapability = GetCapability;
  provider->OnRunStart = OnRunStart;
  provider->OnRunEnd = OnRunEnd;
  provider->SetDynamicOptions = SetDynamicOptions;
  if (provider->kind == "kernels") {
    provider->GetKernelRegistry = GetKernelRegistry;
    TEST_PLUGIN_TRY(ep_api->CreateKernelRegistry(&provider->kernels));
    for (const Definition& definition : kDefinitions) TEST_PLUGIN_TRY(AddKernel(provider->kernels, definition));
  } else {
    provider->Compile = Compile;
    provider->ReleaseNodeComputeInfos = ReleaseNodeComputeInfos;
  }
  TEST_PLUGIN_TRY(api->Logger_LogMessage(logger, ORT_LOGGING_LEVEL_INFO, "a test provider is there", __FILE__, __LINE__,
                                         "CreateProvider"));
  *ep = provider.release();
  return nullptr;
}

void ReleaseProvider(OrtEp* ep) { delete static_cast<Provider*>(ep); }

}  // namespace test_plugin
