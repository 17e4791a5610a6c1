// capi/api_table.cpp - the tables of the C ABI: each slot is filled here, or returns an error that names the function
// as not implemented.
//
// To add a function: its definition in an area file and its line here. The slots are frozen by tools/abi.
//
// Slots that return no status and are not implemented do nothing and return NULL, "" (text), 0, false or the first
// enumerator: SyncStream_GetHandle, ExternalInitializerInfo_*, the Release* functions of handles that nothing makes
// yet, and in OrtEpApi MemoryDevice_*, SyncStream_*, NodeComputeContext_NodeName and KernelDef_Get*.
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
  // ep_device.cpp
  api.GetEpDevices = GetEpDevices;
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
  api.SessionOptionsAppendExecutionProvider_V2 = SessionOptionsAppendExecutionProvider_V2;
  api.SessionOptionsSetEpSelectionPolicy = SessionOptionsSetEpSelectionPolicy;
  api.GetSharedAllocator = GetSharedAllocator;
  // assignment.cpp
  api.Session_GetEpGraphAssignmentInfo = Session_GetEpGraphAssignmentInfo;
  api.EpAssignedSubgraph_GetEpName = EpAssignedSubgraph_GetEpName;
  api.EpAssignedSubgraph_GetNodes = EpAssignedSubgraph_GetNodes;
  api.EpAssignedNode_GetName = EpAssignedNode_GetName;
  api.EpAssignedNode_GetDomain = EpAssignedNode_GetDomain;
  api.EpAssignedNode_GetOperatorType = EpAssignedNode_GetOperatorType;
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

constexpr OrtApi kApi = FilledApi();
constexpr OrtModelEditorApi kModelEditorApi = kNoModelEditorApi;
constexpr OrtCompileApi kCompileApi = kNoCompileApi;
constexpr OrtInteropApi kInteropApi = FilledInteropApi();
constexpr OrtEpApi kEpApi = kNoEpApi;
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
