// capi/api_table.cpp - the tables of the C ABI: each slot is filled here, or returns an error that names the function
// as not implemented.
//
// To add a function: its definition in an area file and its line here. The slots are frozen by tools/abi.
//
// Slots that return no status and are not implemented do nothing and return NULL, "" (text), 0, false or the first
// enumerator: SyncStream_GetHandle, the Release* functions of handles that nothing makes yet, and in OrtEpApi
// MemoryDevice_*, SyncStream_*, NodeComputeContext_NodeName and KernelDef_Get*.
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

#include "capi/not_implemented.inc"

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
  // env_allocators.cpp
  api.CreateArenaCfg = CreateArenaCfg;
  api.CreateArenaCfgV2 = CreateArenaCfgV2;
  api.ReleaseArenaCfg = ReleaseArenaCfg;
  api.CreateAndRegisterAllocator = CreateAndRegisterAllocator;
  api.CreateAndRegisterAllocatorV2 = CreateAndRegisterAllocatorV2;
  api.RegisterAllocator = RegisterAllocator;
  api.UnregisterAllocator = UnregisterAllocator;
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
  api.SetPerSessionThreadPoolCallbacks = SetPerSessionThreadPoolCallbacks;
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
  api.SessionOptionsSetLoadCancellationFlag = SessionOptionsSetLoadCancellationFlag;
  api.SessionOptionsSetWeightlessSourceModelBuffer = SessionOptionsSetWeightlessSourceModelBuffer;
  api.SessionOptionsSetEpContextDataReadFunc = SessionOptionsSetEpContextDataReadFunc;
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
  // opaque_value.cpp
  api.CreateOpaqueValue = CreateOpaqueValue;
  api.GetOpaqueValue = GetOpaqueValue;
  api.GetExperimentalFunction = GetExperimentalFunction;
  api.GetTrainingApi = GetTrainingApi;
  // lora_adapter.cpp
  api.CreateLoraAdapter = CreateLoraAdapter;
  api.CreateLoraAdapterFromArray = CreateLoraAdapterFromArray;
  api.ReleaseLoraAdapter = ReleaseLoraAdapter;
  api.RunOptionsAddActiveLoraAdapter = RunOptionsAddActiveLoraAdapter;
  // provider_options.cpp
  api.GetAvailableProviders = GetAvailableProviders;
  api.ReleaseAvailableProviders = ReleaseAvailableProviders;
  api.SessionOptionsAppendExecutionProvider = SessionOptionsAppendExecutionProvider;
  api.GetBuildInfoString = GetBuildInfoString;
  // vendor_options.cpp
  api.SessionOptionsAppendExecutionProvider_CUDA = SessionOptionsAppendExecutionProvider_CUDA;
  api.SessionOptionsAppendExecutionProvider_ROCM = SessionOptionsAppendExecutionProvider_ROCM;
  api.SessionOptionsAppendExecutionProvider_OpenVINO = SessionOptionsAppendExecutionProvider_OpenVINO;
  api.SessionOptionsAppendExecutionProvider_TensorRT = SessionOptionsAppendExecutionProvider_TensorRT;
  api.SetCurrentGpuDeviceId = SetCurrentGpuDeviceId;
  api.GetCurrentGpuDeviceId = GetCurrentGpuDeviceId;
  api.SessionOptionsAppendExecutionProvider_TensorRT_V2 = SessionOptionsAppendExecutionProvider_TensorRT_V2;
  api.CreateTensorRTProviderOptions = CreateTensorRTProviderOptions;
  api.UpdateTensorRTProviderOptions = UpdateTensorRTProviderOptions;
  api.GetTensorRTProviderOptionsAsString = GetTensorRTProviderOptionsAsString;
  api.ReleaseTensorRTProviderOptions = ReleaseTensorRTProviderOptions;
  api.SessionOptionsAppendExecutionProvider_CUDA_V2 = SessionOptionsAppendExecutionProvider_CUDA_V2;
  api.CreateCUDAProviderOptions = CreateCUDAProviderOptions;
  api.UpdateCUDAProviderOptions = UpdateCUDAProviderOptions;
  api.GetCUDAProviderOptionsAsString = GetCUDAProviderOptionsAsString;
  api.ReleaseCUDAProviderOptions = ReleaseCUDAProviderOptions;
  api.SessionOptionsAppendExecutionProvider_MIGraphX = SessionOptionsAppendExecutionProvider_MIGraphX;
  api.SessionOptionsAppendExecutionProvider_CANN = SessionOptionsAppendExecutionProvider_CANN;
  api.CreateCANNProviderOptions = CreateCANNProviderOptions;
  api.UpdateCANNProviderOptions = UpdateCANNProviderOptions;
  api.GetCANNProviderOptionsAsString = GetCANNProviderOptionsAsString;
  api.ReleaseCANNProviderOptions = ReleaseCANNProviderOptions;
  api.SessionOptionsAppendExecutionProvider_Dnnl = SessionOptionsAppendExecutionProvider_Dnnl;
  api.CreateDnnlProviderOptions = CreateDnnlProviderOptions;
  api.UpdateDnnlProviderOptions = UpdateDnnlProviderOptions;
  api.GetDnnlProviderOptionsAsString = GetDnnlProviderOptionsAsString;
  api.ReleaseDnnlProviderOptions = ReleaseDnnlProviderOptions;
  api.CreateROCMProviderOptions = CreateROCMProviderOptions;
  api.UpdateROCMProviderOptions = UpdateROCMProviderOptions;
  api.GetROCMProviderOptionsAsString = GetROCMProviderOptionsAsString;
  api.ReleaseROCMProviderOptions = ReleaseROCMProviderOptions;
  api.UpdateTensorRTProviderOptionsWithValue = UpdateTensorRTProviderOptionsWithValue;
  api.GetTensorRTProviderOptionsByName = GetTensorRTProviderOptionsByName;
  api.UpdateCUDAProviderOptionsWithValue = UpdateCUDAProviderOptionsWithValue;
  api.GetCUDAProviderOptionsByName = GetCUDAProviderOptionsByName;
  api.SessionOptionsAppendExecutionProvider_OpenVINO_V2 = SessionOptionsAppendExecutionProvider_OpenVINO_V2;
  api.SessionOptionsAppendExecutionProvider_VitisAI = SessionOptionsAppendExecutionProvider_VitisAI;
  api.GetExecutionProviderApi = GetExecutionProviderApi;
  // session.cpp
  api.CreateSession = CreateSession;
  api.CreateSessionFromArray = CreateSessionFromArray;
  api.CreatePrepackedWeightsContainer = CreatePrepackedWeightsContainer;
  api.ReleasePrepackedWeightsContainer = ReleasePrepackedWeightsContainer;
  api.CreateSessionWithPrepackedWeightsContainer = CreateSessionWithPrepackedWeightsContainer;
  api.CreateSessionFromArrayWithPrepackedWeightsContainer = CreateSessionFromArrayWithPrepackedWeightsContainer;
  api.ReleaseSession = ReleaseSession;
  api.SessionReleaseCapturedGraph = SessionReleaseCapturedGraph;
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
  api.FillSparseTensorCsr = FillSparseTensorCsr;
  api.FillSparseTensorBlockSparse = FillSparseTensorBlockSparse;
  api.UseCooIndices = UseCooIndices;
  api.UseCsrIndices = UseCsrIndices;
  api.UseBlockSparseIndices = UseBlockSparseIndices;
  api.GetSparseTensorFormat = GetSparseTensorFormat;
  api.GetSparseTensorValuesTypeAndShape = GetSparseTensorValuesTypeAndShape;
  api.GetSparseTensorValues = GetSparseTensorValues;
  api.GetSparseTensorIndicesTypeShape = GetSparseTensorIndicesTypeShape;
  api.GetSparseTensorIndices = GetSparseTensorIndices;
  // ep/libraries.cpp
  api.RegisterExecutionProviderLibrary = RegisterExecutionProviderLibrary;
  api.UnregisterExecutionProviderLibrary = UnregisterExecutionProviderLibrary;
  api.GetEpDevices = GetEpDevices;
  api.SessionOptionsAppendExecutionProvider_V2 = SessionOptionsAppendExecutionProvider_V2;
  api.SessionOptionsSetEpSelectionPolicy = SessionOptionsSetEpSelectionPolicy;
  api.SessionOptionsSetEpSelectionPolicyDelegate = SessionOptionsSetEpSelectionPolicyDelegate;
  api.SetEpDynamicOptions = SetEpDynamicOptions;
  // ep/shared_allocators.cpp
  api.CreateSharedAllocator = CreateSharedAllocator;
  api.GetSharedAllocator = GetSharedAllocator;
  api.ReleaseSharedAllocator = ReleaseSharedAllocator;
  // ep/streams.cpp
  api.CreateSyncStreamForEpDevice = CreateSyncStreamForEpDevice;
  api.SyncStream_GetHandle = SyncStream_GetHandle;
  api.ReleaseSyncStream = ReleaseSyncStream;
  // ep/compatibility.cpp
  api.GetModelCompatibilityForEpDevices = GetModelCompatibilityForEpDevices;
  api.GetCompatibilityInfoFromModel = GetCompatibilityInfoFromModel;
  api.GetCompatibilityInfoFromModelBytes = GetCompatibilityInfoFromModelBytes;
  api.GetHardwareDeviceEpIncompatibilityDetails = GetHardwareDeviceEpIncompatibilityDetails;
  api.DeviceEpIncompatibilityDetails_GetReasonsBitmask = DeviceEpIncompatibilityDetails_GetReasonsBitmask;
  api.DeviceEpIncompatibilityDetails_GetNotes = DeviceEpIncompatibilityDetails_GetNotes;
  api.DeviceEpIncompatibilityDetails_GetErrorCode = DeviceEpIncompatibilityDetails_GetErrorCode;
  api.ReleaseDeviceEpIncompatibilityDetails = ReleaseDeviceEpIncompatibilityDetails;
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
  api.SessionGetEpDeviceForInputs = SessionGetEpDeviceForInputs;
  api.SessionGetEpDeviceForOutputs = SessionGetEpDeviceForOutputs;
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
  // graph/editor_parts.cpp
  api.ReleaseModel = ReleaseModel;
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

constexpr OrtInteropApi FilledInteropApi() {
  OrtInteropApi api = kNoInteropApi;
  // interop.cpp
  api.CreateExternalResourceImporterForDevice = interop::CreateExternalResourceImporterForDevice;
  api.ReleaseExternalResourceImporter = interop::ReleaseExternalResourceImporter;
  api.CanImportMemory = interop::CanImportMemory;
  api.ImportMemory = interop::ImportMemory;
  api.ReleaseExternalMemoryHandle = interop::ReleaseExternalMemoryHandle;
  api.CreateTensorFromMemory = interop::CreateTensorFromMemory;
  api.CanImportSemaphore = interop::CanImportSemaphore;
  api.ImportSemaphore = interop::ImportSemaphore;
  api.ReleaseExternalSemaphoreHandle = interop::ReleaseExternalSemaphoreHandle;
  api.WaitSemaphore = interop::WaitSemaphore;
  api.SignalSemaphore = interop::SignalSemaphore;
  api.InitGraphicsInteropForEpDevice = interop::InitGraphicsInteropForEpDevice;
  api.DeinitGraphicsInteropForEpDevice = interop::DeinitGraphicsInteropForEpDevice;
  return api;
}

constexpr OrtModelEditorApi FilledModelEditorApi() {
  OrtModelEditorApi model_editor_api = kNoModelEditorApi;
  // graph/editor_parts.cpp
  model_editor_api.CreateTensorTypeInfo = model_editor::CreateTensorTypeInfo;
  model_editor_api.CreateSparseTensorTypeInfo = model_editor::CreateSparseTensorTypeInfo;
  model_editor_api.CreateMapTypeInfo = model_editor::CreateMapTypeInfo;
  model_editor_api.CreateSequenceTypeInfo = model_editor::CreateSequenceTypeInfo;
  model_editor_api.CreateOptionalTypeInfo = model_editor::CreateOptionalTypeInfo;
  model_editor_api.CreateValueInfo = model_editor::CreateValueInfo;
  model_editor_api.CreateNode = model_editor::CreateNode;
  model_editor_api.CreateGraph = model_editor::CreateGraph;
  model_editor_api.SetGraphInputs = model_editor::SetGraphInputs;
  model_editor_api.SetGraphOutputs = model_editor::SetGraphOutputs;
  model_editor_api.AddInitializerToGraph = model_editor::AddInitializerToGraph;
  model_editor_api.AddNodeToGraph = model_editor::AddNodeToGraph;
  model_editor_api.CreateModel = model_editor::CreateModel;
  model_editor_api.AddGraphToModel = model_editor::AddGraphToModel;
  // graph/edit_session.cpp
  model_editor_api.CreateSessionFromModel = model_editor::CreateSessionFromModel;
  model_editor_api.CreateModelEditorSession = model_editor::CreateModelEditorSession;
  model_editor_api.CreateModelEditorSessionFromArray = model_editor::CreateModelEditorSessionFromArray;
  model_editor_api.SessionGetOpsetForDomain = model_editor::SessionGetOpsetForDomain;
  model_editor_api.ApplyModelToModelEditorSession = model_editor::ApplyModelToModelEditorSession;
  model_editor_api.FinalizeModelEditorSession = model_editor::FinalizeModelEditorSession;
  return model_editor_api;
}

constexpr OrtCompileApi FilledCompileApi() {
  OrtCompileApi compile_api = kNoCompileApi;
  // compile/options.cpp
  compile_api.ReleaseModelCompilationOptions = compile::ReleaseModelCompilationOptions;
  compile_api.CreateModelCompilationOptionsFromSessionOptions =
      compile::CreateModelCompilationOptionsFromSessionOptions;
  compile_api.ModelCompilationOptions_SetInputModelPath = compile::ModelCompilationOptions_SetInputModelPath;
  compile_api.ModelCompilationOptions_SetInputModelFromBuffer =
      compile::ModelCompilationOptions_SetInputModelFromBuffer;
  compile_api.ModelCompilationOptions_SetOutputModelPath = compile::ModelCompilationOptions_SetOutputModelPath;
  compile_api.ModelCompilationOptions_SetOutputModelExternalInitializersFile =
      compile::ModelCompilationOptions_SetOutputModelExternalInitializersFile;
  compile_api.ModelCompilationOptions_SetOutputModelBuffer = compile::ModelCompilationOptions_SetOutputModelBuffer;
  compile_api.ModelCompilationOptions_SetEpContextEmbedMode = compile::ModelCompilationOptions_SetEpContextEmbedMode;
  compile_api.ModelCompilationOptions_SetFlags = compile::ModelCompilationOptions_SetFlags;
  compile_api.ModelCompilationOptions_SetEpContextBinaryInformation =
      compile::ModelCompilationOptions_SetEpContextBinaryInformation;
  compile_api.ModelCompilationOptions_SetGraphOptimizationLevel =
      compile::ModelCompilationOptions_SetGraphOptimizationLevel;
  compile_api.ModelCompilationOptions_SetOutputModelWriteFunc =
      compile::ModelCompilationOptions_SetOutputModelWriteFunc;
  compile_api.ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc =
      compile::ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc;
  compile_api.ModelCompilationOptions_SetInputModel = compile::ModelCompilationOptions_SetInputModel;
  compile_api.ModelCompilationOptions_SetWeightlessEnabled = compile::ModelCompilationOptions_SetWeightlessEnabled;
  compile_api.ModelCompilationOptions_SetEpContextDataWriteFunc =
      compile::ModelCompilationOptions_SetEpContextDataWriteFunc;
  compile_api.ModelCompilationOptions_SetOutputModelExternalInitializersBuffer =
      compile::ModelCompilationOptions_SetOutputModelExternalInitializersBuffer;
  compile_api.ModelCompilationOptions_SetOutputModelExternalInitializersAlignment =
      compile::ModelCompilationOptions_SetOutputModelExternalInitializersAlignment;
  // compile/compile.cpp
  compile_api.CompileModel = compile::CompileModel;
  return compile_api;
}

constexpr OrtApi kApi = FilledApi();
constexpr OrtModelEditorApi kModelEditorApi = FilledModelEditorApi();
constexpr OrtCompileApi kCompileApi = FilledCompileApi();
constexpr OrtInteropApi kInteropApi = FilledInteropApi();

constexpr OrtEpApi FilledEpApi() {
  OrtEpApi api = kNoEpApi;
  // ep/devices.cpp
  api.CreateEpDevice = ep::CreateEpDevice;
  api.ReleaseEpDevice = ep::ReleaseEpDevice;
  api.EpDevice_AddAllocatorInfo = ep::EpDevice_AddAllocatorInfo;
  api.CreateHardwareDevice = ep::CreateHardwareDevice;
  api.ReleaseHardwareDevice = ep::ReleaseHardwareDevice;
  // ep/memory_devices.cpp
  api.MemoryInfo_GetMemoryDevice = ep::MemoryInfo_GetMemoryDevice;
  api.Value_GetMemoryDevice = ep::Value_GetMemoryDevice;
  api.MemoryDevice_AreEqual = ep::MemoryDevice_AreEqual;
  api.MemoryDevice_GetDeviceType = ep::MemoryDevice_GetDeviceType;
  api.MemoryDevice_GetMemoryType = ep::MemoryDevice_GetMemoryType;
  api.MemoryDevice_GetVendorId = ep::MemoryDevice_GetVendorId;
  api.MemoryDevice_GetDeviceId = ep::MemoryDevice_GetDeviceId;
  // ep/graph_support.cpp
  api.EpGraphSupportInfo_AddNodesToFuse = ep::EpGraphSupportInfo_AddNodesToFuse;
  api.EpGraphSupportInfo_AddSingleNode = ep::EpGraphSupportInfo_AddSingleNode;
  api.NodeComputeContext_NodeName = ep::NodeComputeContext_NodeName;
  api.KernelInfo_GetEp = ep::KernelInfo_GetEp;
  // ep/kernel_registry.cpp
  api.CreateKernelRegistry = ep::CreateKernelRegistry;
  api.ReleaseKernelRegistry = ep::ReleaseKernelRegistry;
  api.KernelRegistry_AddKernel = ep::KernelRegistry_AddKernel;
  api.CreateKernelDefBuilder = ep::CreateKernelDefBuilder;
  api.ReleaseKernelDefBuilder = ep::ReleaseKernelDefBuilder;
  api.KernelDefBuilder_SetOperatorType = ep::KernelDefBuilder_SetOperatorType;
  api.KernelDefBuilder_SetDomain = ep::KernelDefBuilder_SetDomain;
  api.KernelDefBuilder_SetSinceVersion = ep::KernelDefBuilder_SetSinceVersion;
  api.KernelDefBuilder_SetExecutionProvider = ep::KernelDefBuilder_SetExecutionProvider;
  api.KernelDefBuilder_SetInputMemType = ep::KernelDefBuilder_SetInputMemType;
  api.KernelDefBuilder_SetOutputMemType = ep::KernelDefBuilder_SetOutputMemType;
  api.KernelDefBuilder_AddTypeConstraint = ep::KernelDefBuilder_AddTypeConstraint;
  api.KernelDefBuilder_AddInputOutputAliases = ep::KernelDefBuilder_AddInputOutputAliases;
  api.KernelDefBuilder_AddInputOutputMutableAliases = ep::KernelDefBuilder_AddInputOutputMutableAliases;
  api.KernelDefBuilder_Build = ep::KernelDefBuilder_Build;
  api.ReleaseKernelDef = ep::ReleaseKernelDef;
  api.KernelDef_GetOperatorType = ep::KernelDef_GetOperatorType;
  api.KernelDef_GetDomain = ep::KernelDef_GetDomain;
  api.KernelDef_GetSinceVersion = ep::KernelDef_GetSinceVersion;
  api.KernelDef_GetExecutionProvider = ep::KernelDef_GetExecutionProvider;
  api.KernelDef_GetInputMemType = ep::KernelDef_GetInputMemType;
  api.KernelDef_GetOutputMemType = ep::KernelDef_GetOutputMemType;
  api.GetTensorDataType = ep::GetTensorDataType;
  api.EpGraphSupportInfo_LookUpKernel = ep::EpGraphSupportInfo_LookUpKernel;
  // ep/op_schema.cpp
  api.GetOpSchema = ep::GetOpSchema;
  api.ReleaseOpSchema = ep::ReleaseOpSchema;
  api.OpSchema_GetSinceVersion = ep::OpSchema_GetSinceVersion;
  api.OpSchema_GetNumInputs = ep::OpSchema_GetNumInputs;
  api.OpSchema_GetInputName = ep::OpSchema_GetInputName;
  api.OpSchema_GetInputTypeConstraint = ep::OpSchema_GetInputTypeConstraint;
  api.OpSchema_GetNumOutputs = ep::OpSchema_GetNumOutputs;
  api.OpSchema_GetOutputName = ep::OpSchema_GetOutputName;
  api.OpSchema_GetOutputTypeConstraint = ep::OpSchema_GetOutputTypeConstraint;
  api.OpSchema_GetTypeConstraintCount = ep::OpSchema_GetTypeConstraintCount;
  api.OpSchema_GetTypeConstraint = ep::OpSchema_GetTypeConstraint;
  api.OpSchemaTypeConstraint_GetTypeParamName = ep::OpSchemaTypeConstraint_GetTypeParamName;
  api.OpSchemaTypeConstraint_GetAllowedTypes = ep::OpSchemaTypeConstraint_GetAllowedTypes;
  api.OpSchemaTypeConstraint_GetInputIndices = ep::OpSchemaTypeConstraint_GetInputIndices;
  api.OpSchemaTypeConstraint_GetOutputIndices = ep::OpSchemaTypeConstraint_GetOutputIndices;
  // ep/streams.cpp
  api.SyncStream_GetImpl = ep::SyncStream_GetImpl;
  api.SyncStream_GetSyncId = ep::SyncStream_GetSyncId;
  api.GetSyncIdForLastWaitOnSyncStream = ep::GetSyncIdForLastWaitOnSyncStream;
  // ep/compatibility.cpp
  api.DeviceEpIncompatibilityDetails_SetDetails = ep::DeviceEpIncompatibilityDetails_SetDetails;
  // ep/profiling_events.cpp
  api.CreateProfilingEvent = ep::CreateProfilingEvent;
  api.ReleaseProfilingEvent = ep::ReleaseProfilingEvent;
  api.ProfilingEvent_GetCategory = ep::ProfilingEvent_GetCategory;
  api.ProfilingEvent_GetName = ep::ProfilingEvent_GetName;
  api.ProfilingEvent_GetTimestampUs = ep::ProfilingEvent_GetTimestampUs;
  api.ProfilingEvent_GetDurationUs = ep::ProfilingEvent_GetDurationUs;
  api.ProfilingEvent_GetArgValue = ep::ProfilingEvent_GetArgValue;
  // ep/context_config.cpp
  api.SessionOptionsGetWeightlessSourceModelBuffer = ep::SessionOptionsGetWeightlessSourceModelBuffer;
  api.SessionOptionsGetEpContextConfig = ep::SessionOptionsGetEpContextConfig;
  api.ReleaseEpContextConfig = ep::ReleaseEpContextConfig;
  api.EpContextConfigGetEpContextDataReadFunc = ep::EpContextConfigGetEpContextDataReadFunc;
  api.EpContextConfigGetEpContextDataWriteFunc = ep::EpContextConfigGetEpContextDataWriteFunc;
  // env.cpp
  api.GetEnvConfigEntries = ep::GetEnvConfigEntries;
  return api;
}
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
