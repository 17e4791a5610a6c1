// tests/capi/every_function/objects.h - the objects that the calls of every_function.c are made with: one of each kind,
// called the_KIND, and NULL where this machine has none.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "onnxruntime_c_api.h"

static const OrtApi* the_table_OrtApi;
static const OrtModelEditorApi* the_table_OrtModelEditorApi;
static const OrtCompileApi* the_table_OrtCompileApi;
static const OrtInteropApi* the_table_OrtInteropApi;
static const OrtEpApi* the_table_OrtEpApi;
static const OrtModelPackageApi* the_table_OrtModelPackageApi;
#define ort the_table_OrtApi

static OrtEnv* the_Env;
static OrtStatus* the_Status;
static OrtSession* the_Session;
static OrtSessionOptions* the_SessionOptions;
static OrtRunOptions* the_RunOptions;
static OrtValue* the_Value;
static OrtValue* the_strings;
static OrtValue* the_sequence;
static OrtValue* the_sparse;
static OrtValue* the_coordinates;
static OrtValue* the_sparse_matrix;
static OrtValue* the_matrix_of_values;
static OrtValue* the_borrowed;
static OrtMemoryInfo* the_MemoryInfo;
static OrtAllocator* the_Allocator;
static OrtTypeInfo* the_TypeInfo;
static OrtTensorTypeAndShapeInfo* the_TensorTypeAndShapeInfo;
static const OrtMapTypeInfo* the_MapTypeInfo;
static const OrtSequenceTypeInfo* the_SequenceTypeInfo;
static const OrtOptionalTypeInfo* the_OptionalTypeInfo;
static OrtModelMetadata* the_ModelMetadata;
static OrtIoBinding* the_IoBinding;
static OrtThreadingOptions* the_ThreadingOptions;
static OrtKeyValuePairs* the_KeyValuePairs;
static OrtArenaCfg* the_ArenaCfg;
static OrtPrepackedWeightsContainer* the_PrepackedWeightsContainer;
static OrtCustomOpDomain* the_CustomOpDomain;
static const OrtEpDevice* the_EpDevice;
static const OrtHardwareDevice* the_HardwareDevice;
static OrtHardwareDevice* the_own_hardware_device;
static OrtExternalInitializerInfo* the_ExternalInitializerInfo;
static OrtDeviceEpIncompatibilityDetails* the_DeviceEpIncompatibilityDetails;
static const OrtEpAssignedSubgraph* the_EpAssignedSubgraph;
static const OrtEpAssignedNode* the_EpAssignedNode;
static OrtLoraAdapter* the_LoraAdapter;
static OrtOpAttr* the_OpAttr;
static OrtOp* the_Op;
static OrtKernelInfo* the_KernelInfo;
static OrtKernelContext* the_KernelContext;
static OrtShapeInferContext* the_ShapeInferContext;
static const OrtLogger* the_Logger;
// Of the model editor.
static OrtValueInfo* the_ValueInfo;
static OrtNode* the_Node;
static OrtGraph* the_Graph;
static OrtModel* the_Model;
static OrtModel* the_whole_model;
static OrtModelCompilationOptions* the_ModelCompilationOptions;
// Of plug-ins.
static const OrtMemoryDevice* the_MemoryDevice;
static OrtKernelRegistry* the_KernelRegistry;
static OrtKernelDefBuilder* the_KernelDefBuilder;
static OrtKernelDef* the_KernelDef;
static const OrtDataType* the_DataType;
static OrtOpSchema* the_OpSchema;
static const OrtOpSchemaTypeConstraint* the_OpSchemaTypeConstraint;
static OrtProfilingEvent* the_ProfilingEvent;
static OrtEpContextConfig* the_EpContextConfig;
// Of packages.
static OrtModelPackageOptions* the_ModelPackageOptions;
static OrtModelPackageContext* the_ModelPackageContext;
static OrtModelPackageComponentContext* the_ModelPackageComponentContext;

static OrtEnvCreationOptions the_EnvCreationOptions = {.version = ORT_API_VERSION, .log_id = "every_function"};
static OrtThreadPoolCallbacksConfig the_ThreadPoolCallbacksConfig = {.version = ORT_API_VERSION};
static OrtTensorRTProviderOptions the_TensorRTProviderOptions;
static OrtCUDAProviderOptions the_CUDAProviderOptions;
static OrtROCMProviderOptions the_ROCMProviderOptions;
static OrtMIGraphXProviderOptions the_MIGraphXProviderOptions;
static OrtOpenVINOProviderOptions the_OpenVINOProviderOptions;

// Arguments that are no objects.
static char folder[4096], model_file[4200], package_folder[4200], adapter_file[4200], new_file[4200];
static char model_bytes[65536];
static size_t model_size;
static char adapter_bytes[65536];
static size_t adapter_size;
static const char* kTexts[] = {"text"};
static const char* kInputs[] = {"x"};
static const char* kOutputs[] = {"y"};
static const char* kWeights[] = {"w"};
static const int64_t kOnes[8] = {1, 1, 1, 1, 1, 1, 1, 1};
static const int64_t kZeros[8];
static const int64_t kCsrOuter[2] = {0, 1};
static const int64_t kBlockIndices[2] = {2, 1};
static const int kIntZeros[8];
static const int32_t kInt32Zeros[8];
static float numbers[64] = {1, 1, 1, 1};
static const OrtValue* values[1];
static const OrtValue* borrowed[1];
static OrtValue* no_values[1];
static OrtValueInfo* value_infos[1];
static const OrtEpDevice* devices[1];
static const OrtHardwareDevice* hardware[1];
static const OrtDataType* types[1];
static OrtOpAttr* attributes[1];
static const OrtNode* nodes[1];
static const OrtProfilingEvent* events[1];
static size_t sizes[8] = {4};
static char out[16][4096] __attribute__((aligned(64)));  // where the arguments for results point, by their number
static OrtAllocator other_allocator;

static void ORT_API_CALL Nothing(void) {}
static OrtStatus* ORT_API_CALL Succeed(void) { return NULL; }
static void* ORT_API_CALL Allocate(OrtAllocator* self, size_t size) { return malloc(size); }
static void ORT_API_CALL Free(OrtAllocator* self, void* block) { free(block); }
static const OrtMemoryInfo* ORT_API_CALL Info(const OrtAllocator* self) { return the_MemoryInfo; }

static void Must(OrtStatus* status, const char* what) {
  if (status == NULL) return;
  fprintf(stderr, "%s: %s\n", what, ort->GetErrorMessage(status));
  exit(2);
}
#define MUST(call) Must(call, #call)
// For what one of the libraries may not have: the object stays NULL.
static void May(OrtStatus* status, const char* what) {
  if (status == NULL) return;
  fprintf(stderr, "%s: %s\n", what, ort->GetErrorMessage(status));
  ort->ReleaseStatus(status);
}
#define MAY(call) May(call, #call)

static void RunCalls(int phase);
enum { kAnywhere, kInCompute, kInShapeInference };

// A custom operator, whose functions run the calls that need a context.
static const char* ORT_API_CALL OpName(const OrtCustomOp* op) { return "Probe"; }
static const char* ORT_API_CALL OpProvider(const OrtCustomOp* op) { return NULL; }
static ONNXTensorElementDataType ORT_API_CALL OpType(const OrtCustomOp* op, size_t index) {
  return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
}
static size_t ORT_API_CALL OpCount(const OrtCustomOp* op) { return 1; }
static OrtCustomOpInputOutputCharacteristic ORT_API_CALL OpRequired(const OrtCustomOp* op, size_t index) {
  return INPUT_OUTPUT_REQUIRED;
}
static OrtMemType ORT_API_CALL OpMemory(const OrtCustomOp* op, size_t index) { return OrtMemTypeDefault; }
static int ORT_API_CALL OpOne(const OrtCustomOp* op) { return 1; }
static int ORT_API_CALL OpLast(const OrtCustomOp* op) { return 1000; }
static OrtStatus* ORT_API_CALL OpCreate(const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info, void** out_kernel) {
  if (the_KernelInfo == NULL) MUST(ort->CopyKernelInfo(info, &the_KernelInfo));
  *out_kernel = NULL;
  return NULL;
}
static OrtStatus* ORT_API_CALL OpCompute(void* kernel, OrtKernelContext* context) {
  const int64_t shape[1] = {1};
  OrtValue* result = NULL;
  the_KernelContext = context;
  RunCalls(kInCompute);
  the_KernelContext = NULL;
  return ort->KernelContext_GetOutput(context, 0, shape, 1, &result);
}
static OrtStatus* ORT_API_CALL OpInfer(const OrtCustomOp* op, OrtShapeInferContext* context) {
  static int done;
  the_ShapeInferContext = context;
  if (!done++) RunCalls(kInShapeInference);
  the_ShapeInferContext = NULL;
  return NULL;
}
static void ORT_API_CALL OpDestroy(void* kernel) {}
static OrtCustomOp probe_op = {
    .version = ORT_API_VERSION,
    .GetName = OpName,
    .GetExecutionProviderType = OpProvider,
    .GetInputType = OpType,
    .GetInputTypeCount = OpCount,
    .GetOutputType = OpType,
    .GetOutputTypeCount = OpCount,
    .KernelDestroy = OpDestroy,
    .GetInputCharacteristic = OpRequired,
    .GetOutputCharacteristic = OpRequired,
    .GetInputMemoryType = OpMemory,
    .GetVariadicInputMinArity = OpOne,
    .GetVariadicInputHomogeneity = OpOne,
    .GetVariadicOutputMinArity = OpOne,
    .GetVariadicOutputHomogeneity = OpOne,
    .CreateKernelV2 = OpCreate,
    .KernelComputeV2 = OpCompute,
    .InferOutputShapeFn = OpInfer,
    .GetStartVersion = OpOne,
    .GetEndVersion = OpLast,
};

static size_t ReadFile(const char* path, char* bytes, size_t room) {
  FILE* file = fopen(path, "rb");
  const size_t size = file != NULL ? fread(bytes, 1, room, file) : 0;
  if (file != NULL) fclose(file);
  return size;
}

// A model with one node, whose graph it owns if `whole` is set.
static void MakeModel(OrtGraph** graph, OrtModel** model, int whole) {
  const OrtModelEditorApi* editor = the_table_OrtModelEditorApi;
  OrtTensorTypeAndShapeInfo* tensor = NULL;
  OrtTypeInfo* type = NULL;
  OrtValueInfo *in = NULL, *result = NULL;
  OrtNode* node = NULL;
  const int64_t shape[] = {1};
  const char* domains[] = {""};
  const int versions[] = {18};
  MUST(ort->CreateTensorTypeAndShapeInfo(&tensor));
  MUST(ort->SetTensorElementType(tensor, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT));
  MUST(ort->SetDimensions(tensor, shape, 1));
  MUST(editor->CreateTensorTypeInfo(tensor, &type));
  MUST(editor->CreateValueInfo("x", type, &in));
  MUST(editor->CreateValueInfo("y", type, &result));
  MUST(editor->CreateValueInfo("v", type, &the_ValueInfo));
  MUST(editor->CreateGraph(graph));
  MUST(editor->SetGraphInputs(*graph, &in, 1));
  MUST(editor->SetGraphOutputs(*graph, &result, 1));
  MUST(editor->CreateNode("Neg", "", "n", kInputs, 1, kOutputs, 1, NULL, 0, &node));
  MUST(editor->AddNodeToGraph(*graph, node));
  MUST(editor->CreateNode("Neg", "", "n2", kInputs, 1, kWeights, 1, NULL, 0, &the_Node));
  MUST(editor->CreateModel(domains, versions, 1, model));
  if (whole) MUST(editor->AddGraphToModel(*model, *graph));
  ort->ReleaseTypeInfo(type);
  ort->ReleaseTensorTypeAndShapeInfo(tensor);
  if (!whole) return;
  ort->ReleaseValueInfo(the_ValueInfo);  // those of the other model take their place
  ort->ReleaseNode(the_Node);
}

static void MakeForPlugins(void) {
  const OrtEpApi* ep = the_table_OrtEpApi;
  the_MemoryDevice = ep->MemoryInfo_GetMemoryDevice(the_MemoryInfo);
  MUST(ep->CreateHardwareDevice(OrtHardwareDeviceType_GPU, 7, 8, "vendor", NULL, &the_own_hardware_device));
  MUST(ep->CreateKernelRegistry(&the_KernelRegistry));
  MUST(ep->GetTensorDataType(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &the_DataType));
  types[0] = the_DataType;
  for (int i = 0; i < 2; ++i) {  // one to build with, and one that has not built yet
    OrtKernelDefBuilder* builder = NULL;
    MUST(ep->CreateKernelDefBuilder(&builder));
    MUST(ep->KernelDefBuilder_SetOperatorType(builder, "Neg"));
    MUST(ep->KernelDefBuilder_SetDomain(builder, ""));
    MUST(ep->KernelDefBuilder_SetSinceVersion(builder, 6, 12));
    MUST(ep->KernelDefBuilder_SetExecutionProvider(builder, "SomeProvider"));
    MUST(ep->KernelDefBuilder_AddTypeConstraint(builder, "T", types, 1));
    if (i == 0) {
      MUST(ep->KernelDefBuilder_Build(builder, &the_KernelDef));
      ep->ReleaseKernelDefBuilder(builder);
    } else {
      the_KernelDefBuilder = builder;
    }
  }
  MUST(ep->GetOpSchema("Add", 13, "", &the_OpSchema));
  MUST(ep->OpSchema_GetTypeConstraint(the_OpSchema, 0, &the_OpSchemaTypeConstraint));
  MUST(ep->CreateProfilingEvent(OrtProfilingEventCategory_KERNEL, 1, 2, "event", 3, 4, kTexts, kTexts, 1,
                                &the_ProfilingEvent));
  MUST(ep->SessionOptionsGetEpContextConfig(the_SessionOptions, &the_EpContextConfig));
}

static void MakeForPackages(void) {
  const OrtModelPackageApi* packages = the_table_OrtModelPackageApi;
  OrtSessionOptions* on_cpu = NULL;
  MUST(ort->CreateSessionOptions(&on_cpu));
  MUST(ort->SetIntraOpNumThreads(on_cpu, 1));
  MUST(ort->SessionOptionsAppendExecutionProvider_V2(on_cpu, the_Env, devices, 1, NULL, NULL, 0));
  MAY(packages->CreateModelPackageOptionsFromSessionOptions(the_Env, on_cpu, &the_ModelPackageOptions));
  ort->ReleaseSessionOptions(on_cpu);
  MAY(packages->CreateModelPackageContext(package_folder, &the_ModelPackageContext));
  if (the_ModelPackageContext != NULL)
    MAY(packages->SelectComponent(the_ModelPackageContext, "part", the_ModelPackageOptions,
                                  &the_ModelPackageComponentContext));
}

static void MakeTypes(void) {
  const OrtModelEditorApi* editor = the_table_OrtModelEditorApi;
  static OrtTypeInfo *map, *sequence, *optional;
  MUST(editor->CreateMapTypeInfo(ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, the_TypeInfo, &map));
  MUST(editor->CreateSequenceTypeInfo(the_TypeInfo, &sequence));
  MUST(editor->CreateOptionalTypeInfo(the_TypeInfo, &optional));
  MUST(ort->CastTypeInfoToMapTypeInfo(map, &the_MapTypeInfo));
  MUST(ort->CastTypeInfoToSequenceTypeInfo(sequence, &the_SequenceTypeInfo));
  MUST(ort->CastTypeInfoToOptionalTypeInfo(optional, &the_OptionalTypeInfo));
}

static void MakeValues(void) {
  const int64_t shape[] = {1};
  float* data = NULL;
  MUST(ort->CreateTensorAsOrtValue(the_Allocator, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &the_Value));
  MUST(ort->GetTensorMutableData(the_Value, (void**)&data));
  data[0] = 2;
  values[0] = the_Value;
  MUST(ort->CreateTensorWithDataAsOrtValue(the_MemoryInfo, numbers, 4, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                           &the_borrowed));
  borrowed[0] = the_borrowed;
  MUST(ort->CreateTensorAsOrtValue(the_Allocator, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &the_strings));
  MUST(ort->FillStringTensor(the_strings, kTexts, 1));
  MUST(ort->CreateValue(values, 1, ONNX_TYPE_SEQUENCE, &the_sequence));
  MUST(ort->CreateSparseTensorAsOrtValue(the_Allocator, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &the_sparse));
  MUST(ort->CreateSparseTensorAsOrtValue(the_Allocator, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                         &the_coordinates));
  const int64_t matrix[] = {1, 1};
  MUST(ort->CreateSparseTensorAsOrtValue(the_Allocator, matrix, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                         &the_sparse_matrix));
  MUST(ort->CreateSparseTensorWithValuesAsOrtValue(the_MemoryInfo, numbers, matrix, 2, shape, 1,
                                                   ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &the_matrix_of_values));
  MUST(ort->FillSparseTensorCoo(the_coordinates, the_MemoryInfo, shape, 1, numbers, kZeros, 1));
}

static void MakeSessions(void) {
  const OrtEpAssignedSubgraph* const* subgraphs = NULL;
  const OrtEpAssignedNode* const* assigned = NULL;
  size_t count = 0;
  MUST(ort->CreateSessionOptions(&the_SessionOptions));
  MUST(ort->SetIntraOpNumThreads(the_SessionOptions, 1));  // a process after a fork has no other threads
  MUST(ort->AddSessionConfigEntry(the_SessionOptions, "session.record_ep_graph_assignment_info", "1"));
  MUST(ort->CreateSession(the_Env, model_file, the_SessionOptions, &the_Session));
  MUST(ort->Session_GetEpGraphAssignmentInfo(the_Session, &subgraphs, &count));
  if (count > 0) the_EpAssignedSubgraph = subgraphs[0];
  if (count > 0) MUST(ort->EpAssignedSubgraph_GetNodes(the_EpAssignedSubgraph, &assigned, &count));
  if (count > 0) the_EpAssignedNode = assigned[0];
  MUST(ort->CreateRunOptions(&the_RunOptions));
  MUST(ort->SessionGetInputTypeInfo(the_Session, 0, &the_TypeInfo));
  MUST(ort->SessionGetModelMetadata(the_Session, &the_ModelMetadata));
  MUST(ort->CreateIoBinding(the_Session, &the_IoBinding));
  MUST(ort->BindInput(the_IoBinding, "x", the_Value));
  MUST(ort->BindOutputToDevice(the_IoBinding, "y", the_MemoryInfo));
}

static void MakeObjects(const char* given_folder) {
  size_t count = 0;
  const OrtEpDevice* const* all = NULL;
  snprintf(folder, sizeof folder, "%s", given_folder);
  snprintf(model_file, sizeof model_file, "%s/model.onnx", folder);
  snprintf(package_folder, sizeof package_folder, "%s/package", folder);
  snprintf(adapter_file, sizeof adapter_file, "%s/adapter.onnx_adapter", folder);
  snprintf(new_file, sizeof new_file, "%s/written", folder);
  model_size = ReadFile(model_file, model_bytes, sizeof model_bytes);
  adapter_size = ReadFile(adapter_file, adapter_bytes, sizeof adapter_bytes);
  MUST(ort->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "every_function", &the_Env));
  MUST(ort->GetAllocatorWithDefaultOptions(&the_Allocator));
  MUST(ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &the_MemoryInfo));
  other_allocator = (OrtAllocator){.version = 17, .Alloc = Allocate, .Free = Free, .Info = Info};
  MakeValues();
  MakeSessions();
  MakeTypes();
  MUST(ort->CreateTensorTypeAndShapeInfo(&the_TensorTypeAndShapeInfo));
  MUST(ort->SetTensorElementType(the_TensorTypeAndShapeInfo, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT));
  MUST(ort->SetDimensions(the_TensorTypeAndShapeInfo, kOnes, 1));
  MUST(ort->CreateThreadingOptions(&the_ThreadingOptions));
  ort->CreateKeyValuePairs(&the_KeyValuePairs);
  ort->AddKeyValuePair(the_KeyValuePairs, "text", "value");
  MUST(ort->CreateArenaCfg(0, -1, -1, -1, &the_ArenaCfg));
  MUST(ort->CreatePrepackedWeightsContainer(&the_PrepackedWeightsContainer));
  MUST(ort->CreateCustomOpDomain("probe", &the_CustomOpDomain));
  the_Status = ort->CreateStatus(ORT_FAIL, "a status");
  MUST(ort->GetEpDevices(the_Env, &all, &count));
  devices[0] = the_EpDevice = all[0];
  hardware[0] = the_HardwareDevice = ort->EpDevice_Device(the_EpDevice);
  MUST(ort->CreateExternalInitializerInfo("weights.bin", 16, 32, &the_ExternalInitializerInfo));
  MAY(ort->GetHardwareDeviceEpIncompatibilityDetails(the_Env, "CPUExecutionProvider", the_HardwareDevice,
                                                     &the_DeviceEpIncompatibilityDetails));
  MAY(ort->CreateLoraAdapter(adapter_file, the_Allocator, &the_LoraAdapter));
  MUST(ort->CreateOpAttr("alpha", numbers, 1, ORT_OP_ATTR_FLOAT, &the_OpAttr));
  attributes[0] = the_OpAttr;
  OrtGraph* other = NULL;
  MakeModel(&other, &the_whole_model, 1);
  MakeModel(&the_Graph, &the_Model, 0);
  value_infos[0] = the_ValueInfo;
  nodes[0] = the_Node;
  MUST(the_table_OrtCompileApi->CreateModelCompilationOptionsFromSessionOptions(the_Env, the_SessionOptions,
                                                                               &the_ModelCompilationOptions));
  MakeForPlugins();
  events[0] = the_ProfilingEvent;
  MakeForPackages();
}

// Runs a model with the custom operator, whose functions make the calls that need one of its contexts.
static void RunProbe(void) {
  char path[4200];
  OrtCustomOpDomain* domain = NULL;
  OrtSessionOptions* options = NULL;
  OrtSession* session = NULL;
  OrtValue* result = NULL;
  snprintf(path, sizeof path, "%s/probe.onnx", folder);
  MUST(ort->CreateCustomOpDomain("probe", &domain));
  MUST(ort->CustomOpDomain_Add(domain, &probe_op));
  MUST(ort->CreateSessionOptions(&options));
  MUST(ort->SetIntraOpNumThreads(options, 1));
  MUST(ort->AddCustomOpDomain(options, domain));
  MUST(ort->CreateSession(the_Env, path, options, &session));
  MUST(ort->KernelInfo_GetLogger(the_KernelInfo, &the_Logger));
  MAY(ort->CreateOp(the_KernelInfo, "Neg", "", 13, NULL, NULL, 0, NULL, 0, 1, 1, &the_Op));
  MUST(ort->Run(session, NULL, kInputs, values, 1, kOutputs, 1, &result));
  ort->ReleaseValue(result);
  ort->ReleaseSessionOptions(options);
  ort->ReleaseOp(the_Op);
  ort->ReleaseKernelInfo(the_KernelInfo);
  ort->ReleaseSession(session);
  ort->ReleaseCustomOpDomain(domain);
}
