// benchmarks/boundary_plugin.c - a plug-in whose nodes do next to nothing, so that what remains is the cost of calling
// them: each takes its first input and writes it, negated, to its output.
//
// It claims every Neg node, each for itself. Its device 'compiled' compiles them, its device 'kernels' has a kernel.
#include <stdlib.h>
#include <string.h>

#include "onnxruntime_c_api.h"

static const OrtApi* ort;
static const OrtEpApi* ep_api;

#define TRY(call)                      \
  do {                                 \
    OrtStatus* failed = (call);        \
    if (failed != NULL) return failed; \
  } while (0)

static const char* const kName = "SdxBoundaryProvider";

// ---- the work of a node

static OrtStatus* Negate(OrtKernelContext* context) {
  const OrtValue* input = NULL;
  OrtValue* output = NULL;
  const void* from = NULL;
  void* to = NULL;
  const int64_t shape[1] = {1};
  TRY(ort->KernelContext_GetInput(context, 0, &input));
  TRY(ort->GetTensorData(input, &from));
  TRY(ort->KernelContext_GetOutput(context, 0, shape, 1, &output));
  TRY(ort->GetTensorMutableData(output, &to));
  *(float*)to = -*(const float*)from;
  return NULL;
}

// ---- compiled nodes

static OrtStatus* ORT_API_CALL CreateState(OrtNodeComputeInfo* self, OrtNodeComputeContext* context, void** state) {
  (void)self, (void)context;
  *state = NULL;
  return NULL;
}
static OrtStatus* ORT_API_CALL Compute(OrtNodeComputeInfo* self, void* state, OrtKernelContext* context) {
  (void)self, (void)state;
  return Negate(context);
}
static void ORT_API_CALL ReleaseState(OrtNodeComputeInfo* self, void* state) { (void)self, (void)state; }

static OrtStatus* ORT_API_CALL Compile(OrtEp* self, const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count,
                                       OrtNodeComputeInfo** infos, OrtNode** context_nodes) {
  (void)self, (void)graphs, (void)fused_nodes, (void)context_nodes;
  for (size_t i = 0; i < count; ++i) {
    infos[i] = calloc(1, sizeof *infos[i]);
    infos[i]->ort_version_supported = ORT_API_VERSION;
    infos[i]->CreateState = CreateState;
    infos[i]->Compute = Compute;
    infos[i]->ReleaseState = ReleaseState;
  }
  return NULL;
}
static void ORT_API_CALL ReleaseInfos(OrtEp* self, OrtNodeComputeInfo** infos, size_t count) {
  (void)self;
  for (size_t i = 0; i < count; ++i) free(infos[i]);
}

// ---- kernels

static OrtStatus* ORT_API_CALL ComputeKernel(OrtKernelImpl* self, OrtKernelContext* context) {
  (void)self;
  return Negate(context);
}
static void ORT_API_CALL ReleaseKernel(OrtKernelImpl* self) { free(self); }
static OrtStatus* ORT_API_CALL CreateKernel(void* state, const OrtKernelInfo* info, OrtKernelImpl** out) {
  (void)state, (void)info;
  *out = calloc(1, sizeof **out);
  (*out)->ort_version_supported = ORT_API_VERSION;
  (*out)->Compute = ComputeKernel;
  (*out)->Release = ReleaseKernel;
  return NULL;
}

static OrtStatus* MakeKernels(OrtKernelRegistry** registry) {
  OrtKernelDefBuilder* builder = NULL;
  OrtKernelDef* definition = NULL;
  const OrtDataType* type = NULL;
  TRY(ep_api->CreateKernelRegistry(registry));
  TRY(ep_api->CreateKernelDefBuilder(&builder));
  TRY(ep_api->GetTensorDataType(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &type));
  TRY(ep_api->KernelDefBuilder_SetOperatorType(builder, "Neg"));
  TRY(ep_api->KernelDefBuilder_SetDomain(builder, ""));
  TRY(ep_api->KernelDefBuilder_SetSinceVersion(builder, 6, 1000));
  TRY(ep_api->KernelDefBuilder_SetExecutionProvider(builder, kName));
  TRY(ep_api->KernelDefBuilder_AddTypeConstraint(builder, "T", &type, 1));
  TRY(ep_api->KernelDefBuilder_Build(builder, &definition));
  TRY(ep_api->KernelRegistry_AddKernel(*registry, definition, CreateKernel, NULL));
  ep_api->ReleaseKernelDef(definition);
  ep_api->ReleaseKernelDefBuilder(builder);
  return NULL;
}

// ---- the provider

typedef struct {
  OrtEp base;
  OrtKernelRegistry* kernels;  // NULL: it compiles
} Provider;

static const char* ORT_API_CALL GetName(const OrtEp* self) {
  (void)self;
  return kName;
}

static OrtStatus* ORT_API_CALL GetCapability(OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* info) {
  OrtNodeFusionOptions options;
  const OrtNode* nodes[256];
  size_t count = 0;
  memset(&options, 0, sizeof options);
  options.ort_version_supported = ORT_API_VERSION;
  TRY(ort->Graph_GetNumNodes(graph, &count));
  if (count > 256) return ort->CreateStatus(ORT_EP_FAIL, "more nodes than this benchmark has");
  TRY(ort->Graph_GetNodes(graph, nodes, count));
  for (size_t i = 0; i < count; ++i) {
    const char* op_type = NULL;
    TRY(ort->Node_GetOperatorType(nodes[i], &op_type));
    if (strcmp(op_type, "Neg") != 0) continue;
    const OrtKernelDef* kernel = NULL;
    if (((Provider*)self)->kernels != NULL) {
      TRY(ep_api->EpGraphSupportInfo_LookUpKernel(info, nodes[i], &kernel));
      TRY(ep_api->EpGraphSupportInfo_AddSingleNode(info, nodes[i]));
    } else {
      TRY(ep_api->EpGraphSupportInfo_AddNodesToFuse(info, &nodes[i], 1, &options));
    }
  }
  return NULL;
}

static OrtStatus* ORT_API_CALL GetKernels(OrtEp* self, const OrtKernelRegistry** registry) {
  *registry = ((Provider*)self)->kernels;
  return NULL;
}

static OrtStatus* ORT_API_CALL CreateEp(OrtEpFactory* factory, const OrtHardwareDevice* const* devices,
                                        const OrtKeyValuePairs* const* metadata, size_t count,
                                        const OrtSessionOptions* options, const OrtLogger* logger, OrtEp** ep) {
  (void)factory, (void)devices, (void)count, (void)options, (void)logger;
  Provider* provider = calloc(1, sizeof *provider);
  provider->base.ort_version_supported = ORT_API_VERSION;
  provider->base.GetName = GetName;
  provider->base.GetCapability = GetCapability;
  if (strcmp(ort->GetKeyValue(metadata[0], "kind"), "kernels") == 0) {
    provider->base.GetKernelRegistry = GetKernels;
    TRY(MakeKernels(&provider->kernels));
  } else {
    provider->base.Compile = Compile;
    provider->base.ReleaseNodeComputeInfos = ReleaseInfos;
  }
  *ep = &provider->base;
  return NULL;
}
static void ORT_API_CALL ReleaseEp(OrtEpFactory* factory, OrtEp* ep) {
  (void)factory;
  if (((Provider*)ep)->kernels != NULL) ep_api->ReleaseKernelRegistry(((Provider*)ep)->kernels);
  free(ep);
}

// ---- the factory

static const char* ORT_API_CALL FactoryName(const OrtEpFactory* factory) {
  (void)factory;
  return kName;
}
static const char* ORT_API_CALL FactoryVendor(const OrtEpFactory* factory) {
  (void)factory;
  return "Sardonyx benchmarks";
}
static uint32_t ORT_API_CALL FactoryVendorId(const OrtEpFactory* factory) {
  (void)factory;
  return 0x5d4f;
}
static const char* ORT_API_CALL FactoryVersion(const OrtEpFactory* factory) {
  (void)factory;
  return "1.0.0";
}
static OrtStatus* ORT_API_CALL GetDevices(OrtEpFactory* factory, const OrtHardwareDevice* const* hardware, size_t count,
                                          OrtEpDevice** devices, size_t room, size_t* found) {
  static const char* const kKinds[] = {"compiled", "kernels"};
  *found = 0;
  for (size_t i = 0; i < count; ++i) {
    if (ort->HardwareDevice_Type(hardware[i]) != OrtHardwareDeviceType_CPU) continue;
    for (size_t kind = 0; kind < 2 && *found < room; ++kind) {
      OrtKeyValuePairs* metadata = NULL;
      ort->CreateKeyValuePairs(&metadata);
      ort->AddKeyValuePair(metadata, "kind", kKinds[kind]);
      OrtStatus* status = ep_api->CreateEpDevice(factory, hardware[i], metadata, NULL, &devices[*found]);
      ort->ReleaseKeyValuePairs(metadata);
      if (status != NULL) return status;
      ++*found;
    }
    break;
  }
  return NULL;
}

// ONNX Runtime calls these whether or not a provider has memory of its own.
static OrtStatus* ORT_API_CALL NoAllocator(OrtEpFactory* factory, const OrtMemoryInfo* info,
                                           const OrtKeyValuePairs* options, OrtAllocator** allocator) {
  (void)factory, (void)info, (void)options;
  *allocator = NULL;
  return NULL;
}
static void ORT_API_CALL ReleaseNoAllocator(OrtEpFactory* factory, OrtAllocator* allocator) {
  (void)factory, (void)allocator;
}
static OrtStatus* ORT_API_CALL NoTransfer(OrtEpFactory* factory, OrtDataTransferImpl** transfer) {
  (void)factory;
  *transfer = NULL;
  return NULL;
}
static bool ORT_API_CALL NoStreams(const OrtEpFactory* factory) {
  (void)factory;
  return false;
}

__attribute__((visibility("default"))) OrtStatus* CreateEpFactories(const char* name, const OrtApiBase* base,
                                                                    const OrtLogger* logger, OrtEpFactory** factories,
                                                                    size_t room, size_t* count);
__attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory);

OrtStatus* CreateEpFactories(const char* name, const OrtApiBase* base, const OrtLogger* logger,
                             OrtEpFactory** factories, size_t room, size_t* count) {
  (void)name, (void)logger, (void)room;
  ort = base->GetApi(ORT_API_VERSION);
  ep_api = ort->GetEpApi();
  OrtEpFactory* factory = calloc(1, sizeof *factory);
  factory->ort_version_supported = ORT_API_VERSION;
  factory->GetName = FactoryName;
  factory->GetVendor = FactoryVendor;
  factory->GetVendorId = FactoryVendorId;
  factory->GetVersion = FactoryVersion;
  factory->GetSupportedDevices = GetDevices;
  factory->CreateEp = CreateEp;
  factory->ReleaseEp = ReleaseEp;
  factory->CreateAllocator = NoAllocator;
  factory->ReleaseAllocator = ReleaseNoAllocator;
  factory->CreateDataTransfer = NoTransfer;
  factory->IsStreamAware = NoStreams;
  factories[0] = factory;
  *count = 1;
  return NULL;
}
OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  free(factory);
  return NULL;
}
