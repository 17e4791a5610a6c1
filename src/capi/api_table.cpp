// capi/api_table.cpp - the tables of the C ABI: each slot is filled here, or returns an error that names the function
// as not implemented.
//
// To add a function: its definition in an area file and its line here. The slots are frozen by tools/abi.
//
// Slots that return no status and are not implemented do nothing and return NULL, "" (text), 0, false or the first
// enumerator: GetExperimentalFunction (no experimental function is known), GetTrainingApi (NULL says: no training) and
// the Release* functions of handles that nothing makes yet.
#include "capi/api_table.h"

#include <cstddef>
#include <cstdio>
#include <type_traits>

#include "capi/functions.h"
#include "capi/handles/status.h"

namespace sardonyx::capi {
namespace {

// A string literal as a template argument.
template <std::size_t kSize>
struct SlotName {
  char text[kSize];
  consteval SlotName(const char (&literal)[kSize]) {  // NOLINT(google-explicit-constructor): a literal is a name
    for (std::size_t i = 0; i < kSize; ++i) text[i] = literal[i];
  }
};

template <typename R, typename... Args>
using Slot = R(ORT_API_CALL*)(Args...) noexcept;

// Converts to a function of any signature that says it is not implemented.
template <SlotName kName>
struct NotImplemented {
  template <typename R, typename... Args>
  static R ORT_API_CALL Answer(Args... /*args*/) noexcept {
    if constexpr (std::is_same_v<R, OrtStatusPtr>) {
      char message[160];
      std::snprintf(message, sizeof(message), "%s is not implemented in Sardonyx %s", kName.text, SDX_VERSION);
      return MakeStatus(ORT_NOT_IMPLEMENTED, message);
    } else if constexpr (std::is_same_v<R, const char*>) {
      return "";
    } else if constexpr (!std::is_void_v<R>) {
      return R{};
    }
  }
  template <typename R, typename... Args>
  constexpr operator Slot<R, Args...>() const {  // NOLINT(google-explicit-constructor): stands for any slot
    return &Answer<R, Args...>;
  }
};

// clang-format off: the second needs the first
#include "capi/not_implemented.inc"
#include "capi/ep_table.inc"
// clang-format on

constexpr OrtApi FilledApi() {  // NOLINT(readability-function-size): a list
  OrtApi api = kNoApi;
  // status.cpp
  api.CreateStatus = CreateStatus;
  api.GetErrorCode = GetErrorCode;
  api.GetErrorMessage = GetErrorMessage;
  api.ReleaseStatus = ReleaseStatus;
  // key_value_pairs.cpp
  api.CreateKeyValuePairs = CreateKeyValuePairs;
  api.AddKeyValuePair = AddKeyValuePair;
  api.GetKeyValue = GetKeyValue;
  api.GetKeyValuePairs = GetKeyValuePairs;
  api.RemoveKeyValuePair = RemoveKeyValuePair;
  api.ReleaseKeyValuePairs = ReleaseKeyValuePairs;
  // memory_info.cpp
  api.CreateMemoryInfo = CreateMemoryInfo;
  api.CreateMemoryInfo_V2 = CreateMemoryInfo_V2;
  api.CreateCpuMemoryInfo = CreateCpuMemoryInfo;
  api.CompareMemoryInfo = CompareMemoryInfo;
  api.MemoryInfoGetName = MemoryInfoGetName;
  api.MemoryInfoGetId = MemoryInfoGetId;
  api.MemoryInfoGetMemType = MemoryInfoGetMemType;
  api.MemoryInfoGetType = MemoryInfoGetType;
  api.MemoryInfoGetDeviceType = MemoryInfoGetDeviceType;
  api.MemoryInfoGetDeviceMemType = MemoryInfoGetDeviceMemType;
  api.MemoryInfoGetVendorId = MemoryInfoGetVendorId;
  api.ReleaseMemoryInfo = ReleaseMemoryInfo;
  // allocator.cpp
  api.AllocatorAlloc = AllocatorAlloc;
  api.AllocatorFree = AllocatorFree;
  api.AllocatorGetInfo = AllocatorGetInfo;
  api.AllocatorGetStats = AllocatorGetStats;
  api.GetAllocatorWithDefaultOptions = GetAllocatorWithDefaultOptions;
  api.CreateAllocator = CreateAllocator;
  api.ReleaseAllocator = ReleaseAllocator;
  // tensor.cpp
  api.CreateTensorAsOrtValue = CreateTensorAsOrtValue;
  api.CreateTensorWithDataAsOrtValue = CreateTensorWithDataAsOrtValue;
  api.CreateTensorWithDataAndDeleterAsOrtValue = CreateTensorWithDataAndDeleterAsOrtValue;
  api.IsTensor = IsTensor;
  api.GetTensorMutableData = GetTensorMutableData;
  api.GetTensorData = GetTensorData;
  api.GetTensorSizeInBytes = GetTensorSizeInBytes;
  api.TensorAt = TensorAt;
  api.GetTensorTypeAndShape = GetTensorTypeAndShape;
  api.GetTensorElementTypeAndShapeDataReference = GetTensorElementTypeAndShapeDataReference;
  api.GetTypeInfo = GetTypeInfo;
  api.GetValueType = GetValueType;
  api.HasValue = HasValue;
  api.GetTensorMemoryInfo = GetTensorMemoryInfo;
  api.CopyTensors = CopyTensors;
  api.ReleaseValue = ReleaseValue;
  // string_tensor.cpp
  api.FillStringTensor = FillStringTensor;
  api.FillStringTensorElement = FillStringTensorElement;
  api.GetResizedStringTensorElementBuffer = GetResizedStringTensorElementBuffer;
  api.GetStringTensorDataLength = GetStringTensorDataLength;
  api.GetStringTensorContent = GetStringTensorContent;
  api.GetStringTensorElementLength = GetStringTensorElementLength;
  api.GetStringTensorElement = GetStringTensorElement;
  // container_value.cpp
  api.CreateValue = CreateValue;
  api.GetValue = GetValue;
  api.GetValueCount = GetValueCount;
  // custom_op/domain.cpp
  api.CreateCustomOpDomain = CreateCustomOpDomain;
  api.CustomOpDomain_Add = CustomOpDomain_Add;
  api.AddCustomOpDomain = AddCustomOpDomain;
  api.ReleaseCustomOpDomain = ReleaseCustomOpDomain;
  // custom_op/library.cpp
  api.RegisterCustomOpsLibrary = RegisterCustomOpsLibrary;
  api.RegisterCustomOpsLibrary_V2 = RegisterCustomOpsLibrary_V2;
  api.RegisterCustomOpsUsingFunction = RegisterCustomOpsUsingFunction;
  api.EnableOrtCustomOps = EnableOrtCustomOps;
  // custom_op/kernel_info.cpp
  api.KernelInfoGetAttribute_float = KernelInfoGetAttribute_float;
  api.KernelInfoGetAttribute_int64 = KernelInfoGetAttribute_int64;
  api.KernelInfoGetAttribute_string = KernelInfoGetAttribute_string;
  api.KernelInfoGetAttribute_tensor = KernelInfoGetAttribute_tensor;
  api.KernelInfoGetAttributeArray_float = KernelInfoGetAttributeArray_float;
  api.KernelInfoGetAttributeArray_int64 = KernelInfoGetAttributeArray_int64;
  api.KernelInfoGetAttributeArray_string = KernelInfoGetAttributeArray_string;
  api.KernelInfo_GetInputCount = KernelInfo_GetInputCount;
  api.KernelInfo_GetOutputCount = KernelInfo_GetOutputCount;
  api.KernelInfo_GetInputName = KernelInfo_GetInputName;
  api.KernelInfo_GetOutputName = KernelInfo_GetOutputName;
  api.KernelInfo_GetInputTypeInfo = KernelInfo_GetInputTypeInfo;
  api.KernelInfo_GetOutputTypeInfo = KernelInfo_GetOutputTypeInfo;
  api.KernelInfo_GetNodeName = KernelInfo_GetNodeName;
  api.KernelInfo_GetLogger = KernelInfo_GetLogger;
  api.KernelInfo_GetConfigEntries = KernelInfo_GetConfigEntries;
  api.KernelInfo_GetOperatorDomain = KernelInfo_GetOperatorDomain;
  api.KernelInfo_GetOperatorType = KernelInfo_GetOperatorType;
  api.KernelInfo_GetOperatorSinceVersion = KernelInfo_GetOperatorSinceVersion;
  api.KernelInfoGetConstantInput_tensor = KernelInfoGetConstantInput_tensor;
  api.KernelInfoGetAllocator = KernelInfoGetAllocator;
  api.CopyKernelInfo = CopyKernelInfo;
  api.ReleaseKernelInfo = ReleaseKernelInfo;
  // custom_op/kernel_context.cpp
  api.KernelContext_GetInputCount = KernelContext_GetInputCount;
  api.KernelContext_GetOutputCount = KernelContext_GetOutputCount;
  api.KernelContext_GetInput = KernelContext_GetInput;
  api.KernelContext_GetOutput = KernelContext_GetOutput;
  api.KernelContext_GetPreallocatedOutput = KernelContext_GetPreallocatedOutput;
  api.KernelContext_GetLogger = KernelContext_GetLogger;
  api.KernelContext_GetAllocator = KernelContext_GetAllocator;
  api.KernelContext_GetScratchBuffer = KernelContext_GetScratchBuffer;
  api.KernelContext_GetGPUComputeStream = KernelContext_GetGPUComputeStream;
  api.KernelContext_GetSyncStream = KernelContext_GetSyncStream;
  api.KernelContext_GetResource = KernelContext_GetResource;
  api.KernelContext_ParallelFor = KernelContext_ParallelFor;
  // custom_op/shape_infer_context.cpp
  api.ShapeInferContext_GetInputCount = ShapeInferContext_GetInputCount;
  api.ShapeInferContext_GetInputTypeShape = ShapeInferContext_GetInputTypeShape;
  api.ShapeInferContext_GetAttribute = ShapeInferContext_GetAttribute;
  api.ShapeInferContext_SetOutputTypeShape = ShapeInferContext_SetOutputTypeShape;
  // custom_op/op_attr.cpp
  api.CreateOpAttr = CreateOpAttr;
  api.ReadOpAttr = ReadOpAttr;
  api.ReleaseOpAttr = ReleaseOpAttr;
  // custom_op/invoke_op.cpp
  api.CreateOp = CreateOp;
  api.InvokeOp = InvokeOp;
  api.ReleaseOp = ReleaseOp;
  // logging.cpp
  api.Logger_LogMessage = Logger_LogMessage;
  api.Logger_GetLoggingSeverityLevel = Logger_GetLoggingSeverityLevel;
  // type_info.cpp
  api.GetOnnxTypeFromTypeInfo = GetOnnxTypeFromTypeInfo;
  api.GetDenotationFromTypeInfo = GetDenotationFromTypeInfo;
  api.CastTypeInfoToTensorInfo = CastTypeInfoToTensorInfo;
  api.CastTypeInfoToMapTypeInfo = CastTypeInfoToMapTypeInfo;
  api.CastTypeInfoToSequenceTypeInfo = CastTypeInfoToSequenceTypeInfo;
  api.CastTypeInfoToOptionalTypeInfo = CastTypeInfoToOptionalTypeInfo;
  api.GetMapKeyType = GetMapKeyType;
  api.GetMapValueType = GetMapValueType;
  api.GetSequenceElementType = GetSequenceElementType;
  api.GetOptionalContainedTypeInfo = GetOptionalContainedTypeInfo;
  api.CreateTensorTypeAndShapeInfo = CreateTensorTypeAndShapeInfo;
  api.SetTensorElementType = SetTensorElementType;
  api.SetDimensions = SetDimensions;
  api.SetSymbolicDimensions = SetSymbolicDimensions;
  api.GetTensorElementType = GetTensorElementType;
  api.GetDimensionsCount = GetDimensionsCount;
  api.GetDimensions = GetDimensions;
  api.GetSymbolicDimensions = GetSymbolicDimensions;
  api.GetTensorShapeElementCount = GetTensorShapeElementCount;
  api.TensorTypeAndShape_HasShape = TensorTypeAndShape_HasShape;
  api.ReleaseTypeInfo = ReleaseTypeInfo;
  api.ReleaseTensorTypeAndShapeInfo = ReleaseTensorTypeAndShapeInfo;
  api.ReleaseMapTypeInfo = ReleaseMapTypeInfo;
  api.ReleaseSequenceTypeInfo = ReleaseSequenceTypeInfo;
  // env.cpp
  api.CreateEnv = CreateEnv;
  api.CreateEnvWithCustomLogger = CreateEnvWithCustomLogger;
  api.CreateEnvWithGlobalThreadPools = CreateEnvWithGlobalThreadPools;
  api.CreateEnvWithCustomLoggerAndGlobalThreadPools = CreateEnvWithCustomLoggerAndGlobalThreadPools;
  api.CreateEnvWithOptions = CreateEnvWithOptions;
  api.ReleaseEnv = ReleaseEnv;
  api.UpdateEnvWithCustomLogLevel = UpdateEnvWithCustomLogLevel;
  api.EnableTelemetryEvents = EnableTelemetryEvents;
  api.DisableTelemetryEvents = DisableTelemetryEvents;
  api.SetLanguageProjection = SetLanguageProjection;
  api.CreateThreadingOptions = CreateThreadingOptions;
  api.ReleaseThreadingOptions = ReleaseThreadingOptions;
  api.SetGlobalIntraOpNumThreads = SetGlobalIntraOpNumThreads;
  api.SetGlobalInterOpNumThreads = SetGlobalInterOpNumThreads;
  api.SetGlobalSpinControl = SetGlobalSpinControl;
  api.SetGlobalDenormalAsZero = SetGlobalDenormalAsZero;
  api.SessionOptionsSetCustomCreateThreadFn = SessionOptionsSetCustomCreateThreadFn;
  api.SessionOptionsSetCustomThreadCreationOptions = SessionOptionsSetCustomThreadCreationOptions;
  api.SessionOptionsSetCustomJoinThreadFn = SessionOptionsSetCustomJoinThreadFn;
  api.SetGlobalCustomCreateThreadFn = SetGlobalCustomCreateThreadFn;
  api.SetGlobalCustomThreadCreationOptions = SetGlobalCustomThreadCreationOptions;
  api.SetGlobalCustomJoinThreadFn = SetGlobalCustomJoinThreadFn;
  api.SetGlobalIntraOpThreadAffinity = SetGlobalIntraOpThreadAffinity;
  // session_options.cpp
  api.CreateSessionOptions = CreateSessionOptions;
  api.CloneSessionOptions = CloneSessionOptions;
  api.ReleaseSessionOptions = ReleaseSessionOptions;
  api.SetOptimizedModelFilePath = SetOptimizedModelFilePath;
  api.SetSessionExecutionMode = SetSessionExecutionMode;
  api.GetSessionExecutionMode = GetSessionExecutionMode;
  api.EnableMemPattern = EnableMemPattern;
  api.DisableMemPattern = DisableMemPattern;
  api.GetMemPatternEnabled = GetMemPatternEnabled;
  api.EnableCpuMemArena = EnableCpuMemArena;
  api.DisableCpuMemArena = DisableCpuMemArena;
  api.SetSessionLogId = SetSessionLogId;
  api.SetSessionLogVerbosityLevel = SetSessionLogVerbosityLevel;
  api.SetSessionLogSeverityLevel = SetSessionLogSeverityLevel;
  api.SetUserLoggingFunction = SetUserLoggingFunction;
  api.SetSessionGraphOptimizationLevel = SetSessionGraphOptimizationLevel;
  api.SetIntraOpNumThreads = SetIntraOpNumThreads;
  api.SetInterOpNumThreads = SetInterOpNumThreads;
  api.DisablePerSessionThreads = DisablePerSessionThreads;
  api.SetDeterministicCompute = SetDeterministicCompute;
  api.AddFreeDimensionOverride = AddFreeDimensionOverride;
  api.AddFreeDimensionOverrideByName = AddFreeDimensionOverrideByName;
  api.AddSessionConfigEntry = AddSessionConfigEntry;
  api.HasSessionConfigEntry = HasSessionConfigEntry;
  api.GetSessionConfigEntry = GetSessionConfigEntry;
  api.GetSessionOptionsConfigEntries = GetSessionOptionsConfigEntries;
  api.AddInitializer = AddInitializer;
  api.AddExternalInitializers = AddExternalInitializers;
  api.AddExternalInitializersFromFilesInMemory = AddExternalInitializersFromFilesInMemory;
  // profile.cpp
  api.EnableProfiling = EnableProfiling;
  api.DisableProfiling = DisableProfiling;
  api.SessionEndProfiling = SessionEndProfiling;
  api.SessionGetProfilingStartTimeNs = SessionGetProfilingStartTimeNs;
  api.RunOptionsEnableProfiling = RunOptionsEnableProfiling;
  api.RunOptionsDisableProfiling = RunOptionsDisableProfiling;
  // run_options.cpp
  api.CreateRunOptions = CreateRunOptions;
  api.ReleaseRunOptions = ReleaseRunOptions;
  api.RunOptionsSetRunLogVerbosityLevel = RunOptionsSetRunLogVerbosityLevel;
  api.RunOptionsSetRunLogSeverityLevel = RunOptionsSetRunLogSeverityLevel;
  api.RunOptionsSetRunTag = RunOptionsSetRunTag;
  api.RunOptionsGetRunLogVerbosityLevel = RunOptionsGetRunLogVerbosityLevel;
  api.RunOptionsGetRunLogSeverityLevel = RunOptionsGetRunLogSeverityLevel;
  api.RunOptionsGetRunTag = RunOptionsGetRunTag;
  api.RunOptionsSetTerminate = RunOptionsSetTerminate;
  api.RunOptionsUnsetTerminate = RunOptionsUnsetTerminate;
  api.AddRunConfigEntry = AddRunConfigEntry;
  api.GetRunConfigEntry = GetRunConfigEntry;
  // provider_options.cpp
  api.GetAvailableProviders = GetAvailableProviders;
  api.ReleaseAvailableProviders = ReleaseAvailableProviders;
  api.SessionOptionsAppendExecutionProvider = SessionOptionsAppendExecutionProvider;
  api.SessionOptionsAppendExecutionProvider_CUDA = SessionOptionsAppendExecutionProvider_CUDA;
  api.SessionOptionsAppendExecutionProvider_CUDA_V2 = SessionOptionsAppendExecutionProvider_CUDA_V2;
  api.CreateCUDAProviderOptions = CreateCUDAProviderOptions;
  api.SessionOptionsAppendExecutionProvider_TensorRT = SessionOptionsAppendExecutionProvider_TensorRT;
  api.SessionOptionsAppendExecutionProvider_TensorRT_V2 = SessionOptionsAppendExecutionProvider_TensorRT_V2;
  api.CreateTensorRTProviderOptions = CreateTensorRTProviderOptions;
  api.SessionOptionsAppendExecutionProvider_ROCM = SessionOptionsAppendExecutionProvider_ROCM;
  api.CreateROCMProviderOptions = CreateROCMProviderOptions;
  api.SessionOptionsAppendExecutionProvider_MIGraphX = SessionOptionsAppendExecutionProvider_MIGraphX;
  api.SessionOptionsAppendExecutionProvider_OpenVINO = SessionOptionsAppendExecutionProvider_OpenVINO;
  api.SessionOptionsAppendExecutionProvider_OpenVINO_V2 = SessionOptionsAppendExecutionProvider_OpenVINO_V2;
  api.SessionOptionsAppendExecutionProvider_CANN = SessionOptionsAppendExecutionProvider_CANN;
  api.CreateCANNProviderOptions = CreateCANNProviderOptions;
  api.SessionOptionsAppendExecutionProvider_Dnnl = SessionOptionsAppendExecutionProvider_Dnnl;
  api.CreateDnnlProviderOptions = CreateDnnlProviderOptions;
  api.SessionOptionsAppendExecutionProvider_VitisAI = SessionOptionsAppendExecutionProvider_VitisAI;
  api.GetExecutionProviderApi = GetExecutionProviderApi;
  api.SetCurrentGpuDeviceId = SetCurrentGpuDeviceId;
  api.GetCurrentGpuDeviceId = GetCurrentGpuDeviceId;
  api.GetBuildInfoString = GetBuildInfoString;
  // session.cpp
  api.CreateSession = CreateSession;
  api.CreateSessionFromArray = CreateSessionFromArray;
  api.CreatePrepackedWeightsContainer = CreatePrepackedWeightsContainer;
  api.ReleasePrepackedWeightsContainer = ReleasePrepackedWeightsContainer;
  api.CreateSessionWithPrepackedWeightsContainer = CreateSessionWithPrepackedWeightsContainer;
  api.CreateSessionFromArrayWithPrepackedWeightsContainer = CreateSessionFromArrayWithPrepackedWeightsContainer;
  api.ReleaseSession = ReleaseSession;
  api.SessionGetInputCount = SessionGetInputCount;
  api.SessionGetOutputCount = SessionGetOutputCount;
  api.SessionGetOverridableInitializerCount = SessionGetOverridableInitializerCount;
  api.SessionGetInputName = SessionGetInputName;
  api.SessionGetOutputName = SessionGetOutputName;
  api.SessionGetOverridableInitializerName = SessionGetOverridableInitializerName;
  api.SessionGetInputTypeInfo = SessionGetInputTypeInfo;
  api.SessionGetOutputTypeInfo = SessionGetOutputTypeInfo;
  api.SessionGetOverridableInitializerTypeInfo = SessionGetOverridableInitializerTypeInfo;
  api.SessionGetMemoryInfoForInputs = SessionGetMemoryInfoForInputs;
  api.SessionGetMemoryInfoForOutputs = SessionGetMemoryInfoForOutputs;
  // model_metadata.cpp
  api.SessionGetModelMetadata = SessionGetModelMetadata;
  api.ReleaseModelMetadata = ReleaseModelMetadata;
  api.ModelMetadataGetProducerName = ModelMetadataGetProducerName;
  api.ModelMetadataGetGraphName = ModelMetadataGetGraphName;
  api.ModelMetadataGetDomain = ModelMetadataGetDomain;
  api.ModelMetadataGetDescription = ModelMetadataGetDescription;
  api.ModelMetadataGetGraphDescription = ModelMetadataGetGraphDescription;
  api.ModelMetadataGetVersion = ModelMetadataGetVersion;
  api.ModelMetadataLookupCustomMetadataMap = ModelMetadataLookupCustomMetadataMap;
  api.ModelMetadataGetCustomMetadataMapKeys = ModelMetadataGetCustomMetadataMapKeys;
  // run.cpp
  api.Run = Run;
  api.RunAsync = RunAsync;
  // io_binding.cpp
  api.CreateIoBinding = CreateIoBinding;
  api.ReleaseIoBinding = ReleaseIoBinding;
  api.BindInput = BindInput;
  api.BindOutput = BindOutput;
  api.BindOutputToDevice = BindOutputToDevice;
  api.RunWithBinding = RunWithBinding;
  api.GetBoundOutputNames = GetBoundOutputNames;
  api.GetBoundOutputValues = GetBoundOutputValues;
  api.ClearBoundInputs = ClearBoundInputs;
  api.ClearBoundOutputs = ClearBoundOutputs;
  api.SynchronizeBoundInputs = SynchronizeBoundInputs;
  api.SynchronizeBoundOutputs = SynchronizeBoundOutputs;
  // sparse_tensor.cpp
  api.IsSparseTensor = IsSparseTensor;
  api.CreateSparseTensorAsOrtValue = CreateSparseTensorAsOrtValue;
  api.CreateSparseTensorWithValuesAsOrtValue = CreateSparseTensorWithValuesAsOrtValue;
  api.FillSparseTensorCoo = FillSparseTensorCoo;
  api.UseCooIndices = UseCooIndices;
  api.GetSparseTensorFormat = GetSparseTensorFormat;
  api.GetSparseTensorValuesTypeAndShape = GetSparseTensorValuesTypeAndShape;
  api.GetSparseTensorValues = GetSparseTensorValues;
  api.GetSparseTensorIndicesTypeShape = GetSparseTensorIndicesTypeShape;
  api.GetSparseTensorIndices = GetSparseTensorIndices;
  AddPlugInFunctions(api);  // ep_table.inc
  // ep_device.cpp
  api.GetNumHardwareDevices = GetNumHardwareDevices;
  api.GetHardwareDevices = GetHardwareDevices;
  api.HardwareDevice_Type = HardwareDevice_Type;
  api.HardwareDevice_VendorId = HardwareDevice_VendorId;
  api.HardwareDevice_Vendor = HardwareDevice_Vendor;
  api.HardwareDevice_DeviceId = HardwareDevice_DeviceId;
  api.HardwareDevice_Metadata = HardwareDevice_Metadata;
  api.EpDevice_EpName = EpDevice_EpName;
  api.EpDevice_EpVendor = EpDevice_EpVendor;
  api.EpDevice_EpMetadata = EpDevice_EpMetadata;
  api.EpDevice_EpOptions = EpDevice_EpOptions;
  api.EpDevice_Device = EpDevice_Device;
  api.EpDevice_MemoryInfo = EpDevice_MemoryInfo;
  // assignment.cpp
  api.Session_GetEpGraphAssignmentInfo = Session_GetEpGraphAssignmentInfo;
  api.EpAssignedSubgraph_GetEpName = EpAssignedSubgraph_GetEpName;
  api.EpAssignedSubgraph_GetNodes = EpAssignedSubgraph_GetNodes;
  api.EpAssignedNode_GetName = EpAssignedNode_GetName;
  api.EpAssignedNode_GetDomain = EpAssignedNode_GetDomain;
  api.EpAssignedNode_GetOperatorType = EpAssignedNode_GetOperatorType;
  // graph/value_info.cpp
  api.ReleaseValueInfo = ReleaseValueInfo;
  api.GetValueInfoName = GetValueInfoName;
  api.GetValueInfoTypeInfo = GetValueInfoTypeInfo;
  api.ValueInfo_GetValueProducer = ValueInfo_GetValueProducer;
  api.ValueInfo_GetValueNumConsumers = ValueInfo_GetValueNumConsumers;
  api.ValueInfo_GetValueConsumers = ValueInfo_GetValueConsumers;
  api.ValueInfo_GetInitializerValue = ValueInfo_GetInitializerValue;
  api.ValueInfo_GetExternalInitializerInfo = ValueInfo_GetExternalInitializerInfo;
  api.ValueInfo_IsRequiredGraphInput = ValueInfo_IsRequiredGraphInput;
  api.ValueInfo_IsOptionalGraphInput = ValueInfo_IsOptionalGraphInput;
  api.ValueInfo_IsGraphOutput = ValueInfo_IsGraphOutput;
  api.ValueInfo_IsConstantInitializer = ValueInfo_IsConstantInitializer;
  api.ValueInfo_IsFromOuterScope = ValueInfo_IsFromOuterScope;
  api.CreateExternalInitializerInfo = CreateExternalInitializerInfo;
  api.ReleaseExternalInitializerInfo = ReleaseExternalInitializerInfo;
  api.ExternalInitializerInfo_GetFilePath = ExternalInitializerInfo_GetFilePath;
  api.ExternalInitializerInfo_GetFileOffset = ExternalInitializerInfo_GetFileOffset;
  api.ExternalInitializerInfo_GetByteSize = ExternalInitializerInfo_GetByteSize;
  // graph/graph.cpp
  api.ReleaseGraph = ReleaseGraph;
  api.Graph_GetName = Graph_GetName;
  api.Graph_GetModelPath = Graph_GetModelPath;
  api.Graph_GetOnnxIRVersion = Graph_GetOnnxIRVersion;
  api.Graph_GetModelMetadata = Graph_GetModelMetadata;
  api.Graph_GetNumOperatorSets = Graph_GetNumOperatorSets;
  api.Graph_GetOperatorSets = Graph_GetOperatorSets;
  api.Graph_GetNumInputs = Graph_GetNumInputs;
  api.Graph_GetInputs = Graph_GetInputs;
  api.Graph_GetNumOutputs = Graph_GetNumOutputs;
  api.Graph_GetOutputs = Graph_GetOutputs;
  api.Graph_GetNumInitializers = Graph_GetNumInitializers;
  api.Graph_GetInitializers = Graph_GetInitializers;
  api.Graph_GetNumNodes = Graph_GetNumNodes;
  api.Graph_GetNodes = Graph_GetNodes;
  api.Graph_GetParentNode = Graph_GetParentNode;
  api.Graph_GetGraphView = Graph_GetGraphView;
  // graph/node.cpp
  api.ReleaseNode = ReleaseNode;
  api.Node_GetId = Node_GetId;
  api.Node_GetName = Node_GetName;
  api.Node_GetOperatorType = Node_GetOperatorType;
  api.Node_GetDomain = Node_GetDomain;
  api.Node_GetEpName = Node_GetEpName;
  api.Node_GetSinceVersion = Node_GetSinceVersion;
  api.Node_GetNumInputs = Node_GetNumInputs;
  api.Node_GetInputs = Node_GetInputs;
  api.Node_GetNumOutputs = Node_GetNumOutputs;
  api.Node_GetOutputs = Node_GetOutputs;
  api.Node_GetNumImplicitInputs = Node_GetNumImplicitInputs;
  api.Node_GetImplicitInputs = Node_GetImplicitInputs;
  api.Node_GetNumAttributes = Node_GetNumAttributes;
  api.Node_GetAttributes = Node_GetAttributes;
  api.Node_GetAttributeByName = Node_GetAttributeByName;
  api.Node_GetNumSubgraphs = Node_GetNumSubgraphs;
  api.Node_GetSubgraphs = Node_GetSubgraphs;
  api.Node_GetGraph = Node_GetGraph;
  api.OpAttr_GetName = OpAttr_GetName;
  api.OpAttr_GetType = OpAttr_GetType;
  api.OpAttr_GetTensorAttributeAsOrtValue = OpAttr_GetTensorAttributeAsOrtValue;
  // the other tables, below
  api.GetModelEditorApi = GetModelEditorApi;
  api.GetCompileApi = GetCompileApi;
  api.GetInteropApi = GetInteropApi;
  api.GetEpApi = GetEpApi;
  api.GetModelPackageApi = GetModelPackageApi;
  return api;
}

constexpr OrtApi kApi = FilledApi();
constexpr OrtModelEditorApi kModelEditorApi = kNoModelEditorApi;
constexpr OrtCompileApi kCompileApi = kNoCompileApi;
constexpr OrtInteropApi kInteropApi = kNoInteropApi;
constexpr OrtEpApi kEpApi = FilledEpApi();
constexpr OrtModelPackageApi kModelPackageApi = kNoModelPackageApi;

// One table serves every version: slots are only ever added at the end.
const OrtApi* ORT_API_CALL GetApi(std::uint32_t version) noexcept {
  if (version >= 1 && version <= ORT_API_VERSION) return &kApi;
  std::fprintf(stderr, "sardonyx: API version %u was requested; this library has versions 1 to %d\n",
               static_cast<unsigned>(version), ORT_API_VERSION);
  return nullptr;
}

const char* ORT_API_CALL GetVersionString() noexcept { return SDX_ORT_VERSION; }

constexpr OrtApiBase kApiBase = {.GetApi = GetApi, .GetVersionString = GetVersionString};

}  // namespace

const OrtModelEditorApi* ORT_API_CALL GetModelEditorApi() noexcept { return &kModelEditorApi; }
const OrtCompileApi* ORT_API_CALL GetCompileApi() noexcept { return &kCompileApi; }
const OrtInteropApi* ORT_API_CALL GetInteropApi() noexcept { return &kInteropApi; }
const OrtEpApi* ORT_API_CALL GetEpApi() noexcept { return &kEpApi; }
const OrtModelPackageApi* ORT_API_CALL GetModelPackageApi() noexcept { return &kModelPackageApi; }

const OrtApiBase& ApiBase() { return kApiBase; }

}  // namespace sardonyx::capi
