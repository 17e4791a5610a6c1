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
  std::string operators = "all";    // or those that it takes: "Add,Mul"
  bool separate = false;            // each node is a group of its own
  bool drop_constants = false;      // compiled nodes keep copies of the constants that they read
  bool channels_last = false;       // wants images so
  std::string convert = "default";  // operators to be converted: "default", or those of a list
  bool repeats = false;             // results are made twice, one below the other
  ContextSettings context;
  std::string compatibility;  // what it writes into EPContext models; "": nothing
  bool takes_contexts = true;
  std::uint32_t data_support = 3;
  OrtWeightlessSupport weightless = OrtWeightlessSupport_NONE;
  bool packs = false;         // kernels pack their weights
  bool control_flow = false;  // there are kernels for it
  OrtKernelRegistry* kernels = nullptr;
  const OrtMemoryInfo* card = nullptr;
};

const char* ORT_API_CALL GetName(const OrtEp* /*self*/) { return kName; }

bool IsListed(const std::string& list, const char* name) {
  return ("," + list + ",").find("," + std::string(name) + ",") != std::string::npos;
}

OrtStatus* ORT_API_CALL GetPreferredDataLayout(OrtEp* self, OrtEpDataLayout* layout) {
  TEST_PLUGIN_TRY(Fault("GetPreferredDataLayout"));
  *layout = static_cast<const Provider*>(self)->channels_last ? OrtEpDataLayout_NHWC : OrtEpDataLayout_NCHW;
  return nullptr;
}

OrtStatus* ORT_API_CALL ShouldConvertDataLayout(OrtEp* self, const char* domain, const char* op_type,
                                                OrtEpDataLayout layout, int* should_convert) {
  TEST_PLUGIN_TRY(Fault("ShouldConvertDataLayoutForOp"));
  if (layout != OrtEpDataLayout_NHWC || *domain != '\0') return Failure("asked of another layout or domain");
  const std::string& convert = static_cast<const Provider*>(self)->convert;
  *should_convert = convert == "default" ? -1 : IsListed(convert, op_type) ? 1 : 0;
  return nullptr;
}

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
  takes = IsSupported(domain, op_type) && (provider.operators == "all" || IsListed(provider.operators, op_type));
  if (std::strcmp(op_type, "If") == 0) {  // whatever its branches hold
    takes = IsListed(provider.operators, op_type);
    return nullptr;
  }
  // Images are pooled channels last only. They come in ONNX's domain first.
  if (IsPool(op_type)) {
    const bool will_be_converted = provider.convert == "default" || IsListed(provider.convert, op_type);
    takes = takes && provider.channels_last && (*domain != '\0' || will_be_converted);
  }
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
  options.ort_version_supported = Version();
  options.drop_constant_initializers = provider.drop_constants;
  std::vector<const OrtNode*> chain;
  const auto close = [&]() -> OrtStatus* {
    if (chain.empty()) return nullptr;
    OrtStatus* status = ep_api->EpGraphSupportInfo_AddNodesToFuse(info, chain.data(), chain.size(), &options);
    chain.clear();
    return status;
  };
  for (const OrtNode* node : nodes) {
    if (provider.takes_contexts && IsOwnContext(node)) {  // each is compiled by itself
      TEST_PLUGIN_TRY(close());
      chain.push_back(node);
      TEST_PLUGIN_TRY(close());
      continue;
    }
    bool takes = false;
    TEST_PLUGIN_TRY(Takes(provider, node, takes));
    if (takes) chain.push_back(node);
    if (!takes || provider.separate) TEST_PLUGIN_TRY(close());
  }
  return close();
}

OrtStatus* ORT_API_CALL GetCapability(OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* info) {
  TEST_PLUGIN_TRY(Fault("GetCapability"));
  ++claims;
  const auto& provider = *static_cast<const Provider*>(self);
  if (IsListed(provider.operators, "If")) {  // it is compiled with its branches, of which it is asked first
    const OrtNode* parent = nullptr;
    const char* op_type = "";
    TEST_PLUGIN_TRY(api->Graph_GetParentNode(graph, &parent));
    if (parent != nullptr) TEST_PLUGIN_TRY(api->Node_GetOperatorType(parent, &op_type));
    if (std::strcmp(op_type, "If") == 0) return nullptr;
  }
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

OrtStatus* ORT_API_CALL Compile(OrtEp* self, const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count,
                                OrtNodeComputeInfo** infos, OrtNode** context_nodes) {
  const auto& provider = *static_cast<const Provider*>(self);
  const ContextSettings& context = provider.context;
  for (std::size_t i = 0; i < count; ++i) {
    bool is_context = false;
    TEST_PLUGIN_TRY(context.Open(graphs[i], is_context, &infos[i]));
    if (!is_context) TEST_PLUGIN_TRY(CompileGraph(graphs[i], provider.repeats, &infos[i]));
    if (context.wants_nodes()) TEST_PLUGIN_TRY(context.MakeNode(fused_nodes[i], infos[i], &context_nodes[i]));
    TEST_PLUGIN_TRY(Fault("Compile"));  // with one node made
  }
  if (IsPlanted("nothing:", "Compile")) {
    ReleaseCompiled(infos[0]);
    infos[0] = nullptr;
  }
  if (IsPlanted("incomplete:", "Compile")) infos[0]->Compute = nullptr;
  return nullptr;
}

void ORT_API_CALL ReleaseNodeComputeInfos(OrtEp* /*self*/, OrtNodeComputeInfo** infos, size_t count) {
  for (std::size_t i = 0; i < count; ++i) ReleaseCompiled(infos[i]);
}

// It has no status to return.
const char* ORT_API_CALL GetCompatibility(OrtEp* self, const OrtGraph* /*graph*/) {
  if (IsPlanted("nothing:", "GetCompiledModelCompatibilityInfo")) return nullptr;
  if (IsPlanted("throw:", "GetCompiledModelCompatibilityInfo"))
    api->ReleaseStatus(Fault("GetCompiledModelCompatibilityInfo"));
  return static_cast<const Provider*>(self)->compatibility.c_str();
}

OrtStatus* ORT_API_CALL GetDataSupport(const OrtEp* self, uint32_t* flags) {
  TEST_PLUGIN_TRY(Fault("GetEpContextDataSupport"));
  *flags = static_cast<const Provider*>(self)->data_support;
  return nullptr;
}

OrtStatus* ORT_API_CALL GetWeightlessSupport(const OrtEp* self, OrtWeightlessSupport* support) {
  TEST_PLUGIN_TRY(Fault("GetWeightlessSupport"));
  *support = static_cast<const Provider*>(self)->weightless;
  return nullptr;
}

// ---- kernels

struct Kernel : OrtKernelImpl {
  Kernel() : OrtKernelImpl{} { ++counts.kernels; }
  ~Kernel() { --counts.kernels; }
  std::string op_type;
  bool repeats = false;
  std::map<std::size_t, PackedWeight> packed;  // by input
};

OrtStatus* ORT_API_CALL ComputeKernel(OrtKernelImpl* self, OrtKernelContext* context) {
  TEST_PLUGIN_TRY(Fault("KernelCompute"));
  std::size_t count = 0;
  TEST_PLUGIN_TRY(api->KernelContext_GetInputCount(context, &count));
  std::vector<Array> arrays(count);
  std::vector<const Array*> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& packed = static_cast<const Kernel*>(self)->packed;
    inputs.push_back(&arrays[i]);
    if (const auto found = packed.find(i); found != packed.end()) {
      TEST_PLUGIN_TRY(found->second.Unpack(arrays[i]));
      continue;
    }
    const OrtValue* value = nullptr;
    TEST_PLUGIN_TRY(api->KernelContext_GetInput(context, i, &value));
    TEST_PLUGIN_TRY(ReadTensor(value, arrays[i]));
  }
  Array result;
  TEST_PLUGIN_TRY(Compute(static_cast<const Kernel*>(self)->op_type, inputs, result));
  if (static_cast<const Kernel*>(self)->repeats) Repeat(result);
  OrtValue* value = nullptr;
  TEST_PLUGIN_TRY(api->KernelContext_GetOutput(context, 0, result.shape.data(), result.shape.size(), &value));
  return WriteTensor(value, result);
}

void ORT_API_CALL ReleaseKernel(OrtKernelImpl* self) { delete static_cast<Kernel*>(self); }

OrtStatus* ORT_API_CALL PrePackWeight(OrtKernelImpl* self, const OrtValue* weight, int input, OrtAllocator* allocator,
                                      OrtSharedPrePackedWeightCache* cache, bool* is_packed) {
  TEST_PLUGIN_TRY(static_cast<Kernel*>(self)->packed[static_cast<std::size_t>(input)].Pack(weight, allocator, cache));
  *is_packed = true;
  return nullptr;
}

OrtStatus* ORT_API_CALL SetSharedWeight(OrtKernelImpl* self, const void* const* data, const size_t* sizes, size_t count,
                                        int input) {
  return static_cast<Kernel*>(self)->packed[static_cast<std::size_t>(input)].SetShared(data, sizes, count);
}

OrtStatus* ORT_API_CALL CreateKernel(void* state, const OrtKernelInfo* info, OrtKernelImpl** out) {
  TEST_PLUGIN_TRY(Fault("CreateKernel"));
  if (IsPlanted("nothing:", "CreateKernel")) return nullptr;
  std::size_t inputs = 0;
  TEST_PLUGIN_TRY(api->KernelInfo_GetInputCount(info, &inputs));
  const OrtEp* ep = nullptr;
  TEST_PLUGIN_TRY(ep_api->KernelInfo_GetEp(info, &ep));
  const std::string& kind = static_cast<const Provider*>(ep)->kind;
  if (kind == "card_kernels") {
    *out = NewCardKernel(static_cast<const char*>(state));
    return nullptr;
  }
  if (kind != "kernels") return Failure("a kernel of another provider");
  auto kernel = std::make_unique<Kernel>();
  kernel->ort_version_supported = Version();
  if (!IsPlanted("incomplete:", "CreateKernel")) kernel->Compute = ComputeKernel;
  kernel->Release = ReleaseKernel;
  kernel->op_type = static_cast<const char*>(state);
  if (static_cast<const Provider*>(ep)->packs) {
    kernel->PrePackWeight = PrePackWeight;
    kernel->SetSharedPrePackedWeight = SetSharedWeight;
  }
  kernel->repeats = static_cast<const Provider*>(ep)->repeats;
  *out = kernel.release();
  return nullptr;
}

struct Definition {
  const char* op_type;
  int first, last;
};
constexpr Definition kControlFlow[] = {{"If", 11, 20}, {"Loop", 11, 20}, {"Scan", 11, 20}};
// Of Relu only the first version: a model of another opset has none.
constexpr Definition kDefinitions[] = {
    {"Add", 7, 12}, {"Add", 13, 13}, {"Mul", 7, 14}, {"Relu", 6, 12}, {"Neg", 6, INT_MAX}};

// The condition of If, the turns and the condition of Loop are read on the host.
OrtStatus* KeepOnHost(OrtKernelDefBuilder* builder, const std::string& op_type) {
  const std::size_t inputs = op_type == "If" ? 1 : op_type == "Loop" ? 2 : 0;
  for (std::size_t i = 0; i < inputs; ++i)
    TEST_PLUGIN_TRY(ep_api->KernelDefBuilder_SetInputMemType(builder, i, OrtMemTypeCPUInput));
  return nullptr;
}

OrtStatus* AddKernel(OrtKernelRegistry* registry, const Definition& definition, OrtKernelCreateFunc create) {
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
    if (create == CreateKernel) TEST_PLUGIN_TRY(ep_api->KernelDefBuilder_AddTypeConstraint(builder, "T", &type, 1));
    if (create == CreateControlFlow) TEST_PLUGIN_TRY(KeepOnHost(builder, definition.op_type));
    TEST_PLUGIN_TRY(ep_api->KernelDefBuilder_Build(builder, &made));
    return ep_api->KernelRegistry_AddKernel(registry, made, create, const_cast<char*>(definition.op_type));
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

OrtStatus* ORT_API_CALL OnSessionInitializationEnd(OrtEp* /*self*/) { return Fault("OnSessionInitializationEnd"); }

// ---- memory: what the factory would say and make, too

OrtStatus* ORT_API_CALL GetDefaultMemoryDevice(const OrtEp* self, const OrtMemoryDevice** device) {
  TEST_PLUGIN_TRY(Fault("GetDefaultMemoryDevice"));
  *device = ep_api->MemoryInfo_GetMemoryDevice(static_cast<const Provider*>(self)->card);
  return nullptr;
}

OrtStatus* ORT_API_CALL CreateOwnAllocator(OrtEp* /*self*/, const OrtMemoryInfo* info, OrtAllocator** allocator) {
  TEST_PLUGIN_TRY(Fault("CreateOwnAllocator"));
  if (IsPlanted("nothing:", "CreateOwnAllocator")) return nullptr;
  ++events.own_allocators;
  return CreateCardAllocator(info, allocator);
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
  return ReadEntry(options, kOptions + std::string(name), value);
}

}  // namespace

OrtStatus* CreateProvider(const char* kind, const OrtMemoryInfo* card, const OrtSessionOptions* options,
                          const OrtLogger* logger, OrtEp** ep) {
  auto provider = std::make_unique<Provider>();
  provider->card = card;
  provider->ort_version_supported = Version();
  provider->kind = kind;
  TEST_PLUGIN_TRY(ReadOption(options, "operators", provider->operators));
  std::string drop;
  TEST_PLUGIN_TRY(ReadOption(options, "drop_constants", drop));
  provider->drop_constants = drop == "1";
  std::string repeats;
  TEST_PLUGIN_TRY(ReadOption(options, "repeats", repeats));
  provider->repeats = repeats == "1";
  std::string packs, control_flow, layout;
  TEST_PLUGIN_TRY(ReadOption(options, "packs", packs));
  TEST_PLUGIN_TRY(ReadOption(options, "control_flow", control_flow));
  provider->packs = packs == "1";
  provider->control_flow = control_flow == "1";
  TEST_PLUGIN_TRY(ReadOption(options, "layout", layout));
  TEST_PLUGIN_TRY(ReadOption(options, "convert", provider->convert));
  provider->channels_last = layout == "NHWC";
  provider->GetPreferredDataLayout = GetPreferredDataLayout;
  provider->ShouldConvertDataLayoutForOp = ShouldConvertDataLayout;
  TEST_PLUGIN_TRY(provider->context.Read(options));
  TEST_PLUGIN_TRY(ReadOption(options, "compatibility", provider->compatibility));
  std::string contexts, support, weightless, source_size;
  TEST_PLUGIN_TRY(ReadOption(options, "contexts", contexts));
  provider->takes_contexts = contexts != "0";
  TEST_PLUGIN_TRY(ReadOption(options, "data_support", support));
  if (!support.empty()) provider->data_support = static_cast<std::uint32_t>(std::stoul(support));
  TEST_PLUGIN_TRY(ReadOption(options, "weightless", weightless));
  if (weightless == "external") provider->weightless = OrtWeightlessSupport_EXTERNAL_ONLY;
  if (weightless == "all") provider->weightless = OrtWeightlessSupport_ALL;
  TEST_PLUGIN_TRY(ReadOption(options, "source_size", source_size));
  if (!source_size.empty()) {
    const void* source = nullptr;
    std::size_t size = 0;
    TEST_PLUGIN_TRY(ep_api->SessionOptionsGetWeightlessSourceModelBuffer(options, &source, &size));
    if (source == nullptr || size != std::stoul(source_size)) return Failure("there is no such source model");
  }
  provider->GetWeightlessSupport = GetWeightlessSupport;
  provider->GetCompiledModelCompatibilityInfo = GetCompatibility;
  provider->GetEpContextDataSupport = GetDataSupport;
  std::string separate;
  TEST_PLUGIN_TRY(ReadOption(options, "separate", separate));
  provider->separate = separate == "1";
  provider->Sync = Sync;
  provider->CreateProfiler = CreateProfiler;
  std::string capture;
  TEST_PLUGIN_TRY(ReadOption(options, "graph_capture", capture));
  if (!capture.empty()) EnableCapture(provider.get(), capture == "shapes");
  std::string expects;  // an entry of the session, "key=value"
  TEST_PLUGIN_TRY(ReadOption(options, "expects", expects));
  if (const std::size_t equals = expects.find('='); equals != std::string::npos) {
    std::string found;
    TEST_PLUGIN_TRY(ReadEntry(options, expects.substr(0, equals), found));
    if (found != expects.substr(equals + 1)) return Failure("expected " + expects + ", found '" + found + "'");
  }
  std::string own_streams;
  TEST_PLUGIN_TRY(ReadOption(options, "own_streams", own_streams));
  std::string own_memory;
  TEST_PLUGIN_TRY(ReadOption(options, "own_memory", own_memory));
  if (own_memory == "1") {
    provider->GetDefaultMemoryDevice = GetDefaultMemoryDevice;
    provider->CreateAllocator = CreateOwnAllocator;
  }
  provider->OnSessionInitializationEnd = OnSessionInitializationEnd;
  if (own_streams == "1") provider->CreateSyncStreamForDevice = CreateOwnStream;  // else the factory's serve
  if (!IsPlanted("incomplete:", "CreateEp")) provider->GetName = GetName;
  provider->GetCapability = GetCapability;
  provider->OnRunStart = OnRunStart;
  provider->OnRunEnd = OnRunEnd;
  provider->SetDynamicOptions = SetDynamicOptions;
  if (provider->kind == "kernels" || provider->kind == "card_kernels") {
    provider->GetKernelRegistry = GetKernelRegistry;
    TEST_PLUGIN_TRY(ep_api->CreateKernelRegistry(&provider->kernels));
    for (const Definition& definition : kDefinitions)
      TEST_PLUGIN_TRY(AddKernel(provider->kernels, definition, CreateKernel));
    for (const Definition& definition : kControlFlow)
      if (provider->control_flow) TEST_PLUGIN_TRY(AddKernel(provider->kernels, definition, CreateControlFlow));
  } else {
    provider->Compile = Compile;
    provider->ReleaseNodeComputeInfos = ReleaseNodeComputeInfos;
  }
  TEST_PLUGIN_TRY(api->Logger_LogMessage(logger, ORT_LOGGING_LEVEL_INFO, "a test provider is there", __FILE__, __LINE__,
                                         "CreateProvider"));
  CutToVersion(provider.get());
  *ep = provider.release();
  return nullptr;
}

void ReleaseProvider(OrtEp* ep) { delete static_cast<Provider*>(ep); }

}  // namespace test_plugin
