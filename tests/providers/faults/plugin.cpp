// tests/providers/faults/plugin.cpp - the library of tests/providers/plugin, with a fault in whichever function is
// named.
//
// It loads that library, which lies beside it, and gives the runtime its factories with other functions (wrap.h,
// answers.h). Structs that only the runtime's functions take are caught on their way: the library gets tables of its
// own.
#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>

#include "answers.h"
#include "wrap.h"

namespace faults {

const OrtApi* api = nullptr;

Planted& ThePlanted() {
  static Planted planted;
  return planted;
}

std::string Reach(std::string_view function) {
  Planted& planted = ThePlanted();
  const std::lock_guard lock(planted.mutex);
  if (planted.function != function || planted.kind == "null") return "";
  if (++planted.calls != planted.nth && planted.nth != 0) return "";
  ++planted.hits;
  return planted.kind == "watch" ? "" : planted.kind;
}

bool IsToBeNull(std::string_view function) {
  Planted& planted = ThePlanted();
  const std::lock_guard lock(planted.mutex);
  if (planted.function != function || planted.kind != "null") return false;
  ++planted.hits;
  return true;
}

namespace {

// ---- the functions of each struct; test_plugin_faults.py compares them with the headers

#define SDX_WRAP(struct, function) Function<&struct ::function>::Wrap(#struct "::" #function, made)

void WrapEach(OrtEpFactory* made) {
  SDX_WRAP(OrtEpFactory, GetName);
  SDX_WRAP(OrtEpFactory, GetVendor);
  SDX_WRAP(OrtEpFactory, GetSupportedDevices);
  SDX_WRAP(OrtEpFactory, CreateEp);
  SDX_WRAP(OrtEpFactory, ReleaseEp);
  SDX_WRAP(OrtEpFactory, GetVendorId);
  SDX_WRAP(OrtEpFactory, GetVersion);
  SDX_WRAP(OrtEpFactory, ValidateCompiledModelCompatibilityInfo);
  SDX_WRAP(OrtEpFactory, CreateAllocator);
  SDX_WRAP(OrtEpFactory, ReleaseAllocator);
  SDX_WRAP(OrtEpFactory, CreateDataTransfer);
  SDX_WRAP(OrtEpFactory, IsStreamAware);
  SDX_WRAP(OrtEpFactory, CreateSyncStreamForDevice);
  SDX_WRAP(OrtEpFactory, GetHardwareDeviceIncompatibilityDetails);
  SDX_WRAP(OrtEpFactory, CreateExternalResourceImporterForDevice);
  SDX_WRAP(OrtEpFactory, GetNumCustomOpDomains);
  SDX_WRAP(OrtEpFactory, GetCustomOpDomains);
  SDX_WRAP(OrtEpFactory, InitGraphicsInterop);
  SDX_WRAP(OrtEpFactory, DeinitGraphicsInterop);
}

void WrapEach(OrtEp* made) {
  SDX_WRAP(OrtEp, GetName);
  SDX_WRAP(OrtEp, GetCapability);
  SDX_WRAP(OrtEp, Compile);
  SDX_WRAP(OrtEp, ReleaseNodeComputeInfos);
  SDX_WRAP(OrtEp, GetPreferredDataLayout);
  SDX_WRAP(OrtEp, ShouldConvertDataLayoutForOp);
  SDX_WRAP(OrtEp, SetDynamicOptions);
  SDX_WRAP(OrtEp, OnRunStart);
  SDX_WRAP(OrtEp, OnRunEnd);
  SDX_WRAP(OrtEp, CreateAllocator);
  SDX_WRAP(OrtEp, CreateSyncStreamForDevice);
  SDX_WRAP(OrtEp, GetCompiledModelCompatibilityInfo);
  SDX_WRAP(OrtEp, GetKernelRegistry);
  SDX_WRAP(OrtEp, IsConcurrentRunSupported);
  SDX_WRAP(OrtEp, Sync);
  SDX_WRAP(OrtEp, CreateProfiler);
  SDX_WRAP(OrtEp, IsGraphCaptureEnabled);
  SDX_WRAP(OrtEp, IsGraphCaptured);
  SDX_WRAP(OrtEp, ReplayGraph);
  SDX_WRAP(OrtEp, GetGraphCaptureNodeAssignmentPolicy);
  SDX_WRAP(OrtEp, OnSessionInitializationEnd);
  SDX_WRAP(OrtEp, GetDefaultMemoryDevice);
  SDX_WRAP(OrtEp, ReleaseCapturedGraph);
  SDX_WRAP(OrtEp, GetWeightlessSupport);
  SDX_WRAP(OrtEp, GetEpContextDataSupport);
}

void WrapEach(OrtNodeComputeInfo* made) {
  SDX_WRAP(OrtNodeComputeInfo, CreateState);
  SDX_WRAP(OrtNodeComputeInfo, Compute);
  SDX_WRAP(OrtNodeComputeInfo, ReleaseState);
}

void WrapEach(OrtDataTransferImpl* made) {
  SDX_WRAP(OrtDataTransferImpl, Release);
  SDX_WRAP(OrtDataTransferImpl, CanCopy);
  SDX_WRAP(OrtDataTransferImpl, CopyTensors);
}

void WrapEach(OrtAllocator* made) {
  if (made->AllocOnStream == nullptr) made->AllocOnStream = added::AllocOnStream;
  if (made->Reserve == nullptr) made->Reserve = added::Reserve;
  if (made->GetStats == nullptr) made->GetStats = added::GetStats;
  if (made->Shrink == nullptr) made->Shrink = added::Shrink;
  SDX_WRAP(OrtAllocator, Alloc);
  SDX_WRAP(OrtAllocator, Free);
  SDX_WRAP(OrtAllocator, Info);
  SDX_WRAP(OrtAllocator, Reserve);
  SDX_WRAP(OrtAllocator, GetStats);
  SDX_WRAP(OrtAllocator, AllocOnStream);
  SDX_WRAP(OrtAllocator, Shrink);
}

void WrapEach(OrtSyncStreamImpl* made) {
  SDX_WRAP(OrtSyncStreamImpl, Release);
  SDX_WRAP(OrtSyncStreamImpl, GetHandle);
  SDX_WRAP(OrtSyncStreamImpl, CreateNotification);
  SDX_WRAP(OrtSyncStreamImpl, Flush);
  SDX_WRAP(OrtSyncStreamImpl, OnSessionRunEnd);
}

void WrapEach(OrtSyncNotificationImpl* made) {
  SDX_WRAP(OrtSyncNotificationImpl, Release);
  SDX_WRAP(OrtSyncNotificationImpl, Activate);
  SDX_WRAP(OrtSyncNotificationImpl, WaitOnDevice);
  SDX_WRAP(OrtSyncNotificationImpl, WaitOnHost);
}

void WrapEach(OrtKernelImpl* made) {
  SDX_WRAP(OrtKernelImpl, Compute);
  SDX_WRAP(OrtKernelImpl, Release);
  SDX_WRAP(OrtKernelImpl, PrePackWeight);
  SDX_WRAP(OrtKernelImpl, SetSharedPrePackedWeight);
}

void WrapEach(OrtLoopKernelHelper* made) {
  SDX_WRAP(OrtLoopKernelHelper, Release);
  SDX_WRAP(OrtLoopKernelHelper, ConcatOutput);
}

void WrapEach(OrtScanKernelHelper* made) {
  SDX_WRAP(OrtScanKernelHelper, Release);
  SDX_WRAP(OrtScanKernelHelper, Transpose);
}

void WrapEach(OrtEpProfilerImpl* made) {
  SDX_WRAP(OrtEpProfilerImpl, Release);
  SDX_WRAP(OrtEpProfilerImpl, StartProfiling);
  SDX_WRAP(OrtEpProfilerImpl, StartEvent);
  SDX_WRAP(OrtEpProfilerImpl, StopEvent);
  SDX_WRAP(OrtEpProfilerImpl, EndProfiling);
}

void WrapEach(OrtExternalResourceImporterImpl* made) {
  SDX_WRAP(OrtExternalResourceImporterImpl, CanImportMemory);
  SDX_WRAP(OrtExternalResourceImporterImpl, ImportMemory);
  SDX_WRAP(OrtExternalResourceImporterImpl, ReleaseMemory);
  SDX_WRAP(OrtExternalResourceImporterImpl, CreateTensorFromMemory);
  SDX_WRAP(OrtExternalResourceImporterImpl, CanImportSemaphore);
  SDX_WRAP(OrtExternalResourceImporterImpl, ImportSemaphore);
  SDX_WRAP(OrtExternalResourceImporterImpl, ReleaseSemaphore);
  SDX_WRAP(OrtExternalResourceImporterImpl, WaitSemaphore);
  SDX_WRAP(OrtExternalResourceImporterImpl, SignalSemaphore);
  SDX_WRAP(OrtExternalResourceImporterImpl, Release);
}

void WrapEach(OrtExternalMemoryHandle* made) { SDX_WRAP(OrtExternalMemoryHandle, Release); }
void WrapEach(OrtExternalSemaphoreHandle* made) { SDX_WRAP(OrtExternalSemaphoreHandle, Release); }

void WrapEach(OrtCustomOp* made) {
  SDX_WRAP(OrtCustomOp, CreateKernel);
  SDX_WRAP(OrtCustomOp, GetName);
  SDX_WRAP(OrtCustomOp, GetExecutionProviderType);
  SDX_WRAP(OrtCustomOp, GetInputType);
  SDX_WRAP(OrtCustomOp, GetInputTypeCount);
  SDX_WRAP(OrtCustomOp, GetOutputType);
  SDX_WRAP(OrtCustomOp, GetOutputTypeCount);
  SDX_WRAP(OrtCustomOp, KernelCompute);
  SDX_WRAP(OrtCustomOp, KernelDestroy);
  SDX_WRAP(OrtCustomOp, GetInputCharacteristic);
  SDX_WRAP(OrtCustomOp, GetOutputCharacteristic);
  SDX_WRAP(OrtCustomOp, GetInputMemoryType);
  SDX_WRAP(OrtCustomOp, GetVariadicInputMinArity);
  SDX_WRAP(OrtCustomOp, GetVariadicInputHomogeneity);
  SDX_WRAP(OrtCustomOp, GetVariadicOutputMinArity);
  SDX_WRAP(OrtCustomOp, GetVariadicOutputHomogeneity);
  SDX_WRAP(OrtCustomOp, CreateKernelV2);
  SDX_WRAP(OrtCustomOp, KernelComputeV2);
  SDX_WRAP(OrtCustomOp, InferOutputShapeFn);
  SDX_WRAP(OrtCustomOp, GetStartVersion);
  SDX_WRAP(OrtCustomOp, GetEndVersion);
  SDX_WRAP(OrtCustomOp, GetMayInplace);
  SDX_WRAP(OrtCustomOp, ReleaseMayInplace);
  SDX_WRAP(OrtCustomOp, GetAliasMap);
  SDX_WRAP(OrtCustomOp, ReleaseAliasMap);
}

#undef SDX_WRAP

}  // namespace

template <typename Struct>
void WrapAll(Struct* made) {
  if (made != nullptr) WrapEach(made);
}

namespace {

// ---- the tables that the inner library gets

struct Tables {
  const OrtApiBase* base = nullptr;
  OrtApi api;
  OrtEpApi ep_api;
  OrtApiBase own_base;
  std::mutex mutex;
  std::set<const void*> of_runtime;  // kernels that the runtime made
};

Tables& TheTables() {
  static Tables& tables = *std::make_unique<Tables>().release();
  return tables;
}

struct Creation {
  OrtKernelCreateFunc create;
  void* state;
};

OrtStatus* ORT_API_CALL CreateKernel(void* state, const OrtKernelInfo* info, OrtKernelImpl** kernel) {
  const std::string kind = Reach("OrtKernelCreateFunc");
  if (kind == "throw") throw std::runtime_error("planted exception in OrtKernelCreateFunc");
  if (kind == "throw_int") throw 7;
  if (kind == "nothing") return nullptr;
  if (kind == "fail") return api->CreateStatus(ORT_EP_FAIL, "planted fault in OrtKernelCreateFunc");
  const auto& creation = *static_cast<const Creation*>(state);
  OrtStatus* status = creation.create(creation.state, info, kernel);
  if (status != nullptr) return status;
  const std::lock_guard lock(TheTables().mutex);
  if (TheTables().of_runtime.erase(*kernel) == 0) WrapAll(*kernel);
  return nullptr;
}

OrtStatus* ORT_API_CALL AddKernel(OrtKernelRegistry* registry, const OrtKernelDef* definition,
                                  OrtKernelCreateFunc create, void* state) noexcept {
  auto* creation = std::make_unique<Creation>(Creation{create, state}).release();  // as long as the process
  return api->GetEpApi()->KernelRegistry_AddKernel(
      registry, definition, IsToBeNull("OrtKernelCreateFunc") ? nullptr : CreateKernel, creation);
}

OrtStatus* Note(OrtStatus* status, OrtKernelImpl** kernel) {
  const std::lock_guard lock(TheTables().mutex);
  if (status == nullptr) TheTables().of_runtime.insert(*kernel);
  return status;
}

OrtStatus* ORT_API_CALL CreateIf(const OrtKernelInfo* info, OrtKernelImpl** kernel) noexcept {
  return Note(api->GetEpApi()->CreateIfKernel(info, kernel), kernel);
}

OrtStatus* ORT_API_CALL CreateLoop(const OrtKernelInfo* info, OrtLoopKernelHelper* helper,
                                   OrtKernelImpl** kernel) noexcept {
  WrapAll(helper);
  return Note(api->GetEpApi()->CreateLoopKernel(info, helper, kernel), kernel);
}

OrtStatus* ORT_API_CALL CreateScan(const OrtKernelInfo* info, OrtScanKernelHelper* helper,
                                   OrtKernelImpl** kernel) noexcept {
  WrapAll(helper);
  return Note(api->GetEpApi()->CreateScanKernel(info, helper, kernel), kernel);
}

// The library's operators are constant: the runtime gets copies, which live as long as the process.
OrtStatus* ORT_API_CALL AddOperator(OrtCustomOpDomain* domain, const OrtCustomOp* op) noexcept {
  OrtCustomOp* copy = std::make_unique<OrtCustomOp>(*op).release();
  WrapAll(copy);
  return api->CustomOpDomain_Add(domain, copy);
}

const OrtEpApi* ORT_API_CALL GetEpApi() noexcept { return &TheTables().ep_api; }
const OrtApi* ORT_API_CALL GetApi(uint32_t /*version*/) noexcept { return &TheTables().api; }

void FillTables(const OrtApiBase* base) {
  Tables& tables = TheTables();
  tables.base = base;
  api = base->GetApi(ORT_API_VERSION);
  std::memcpy(static_cast<void*>(&tables.api), api, sizeof(OrtApi));
  std::memcpy(static_cast<void*>(&tables.ep_api), api->GetEpApi(), sizeof(OrtEpApi));
  tables.api.GetEpApi = GetEpApi;
  tables.api.CustomOpDomain_Add = AddOperator;
  tables.ep_api.KernelRegistry_AddKernel = AddKernel;
  tables.ep_api.CreateIfKernel = CreateIf;
  tables.ep_api.CreateLoopKernel = CreateLoop;
  tables.ep_api.CreateScanKernel = CreateScan;
  tables.own_base = *base;
  tables.own_base.GetApi = GetApi;
}

void* Inner(const char* function) {
  static void* const library = [] {
    Dl_info own{};
    if (dladdr(reinterpret_cast<void*>(&Inner), &own) == 0) return static_cast<void*>(nullptr);
    std::string path = own.dli_fname;
    path = path.substr(0, path.rfind('/') + 1) + "libtest_provider_plugin.so";
    return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }();
  return library != nullptr ? dlsym(library, function) : nullptr;
}

}  // namespace
}  // namespace faults

#define TEST_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))

TEST_PLUGIN_EXPORT OrtStatus* CreateEpFactories(const char* name, const OrtApiBase* base, const OrtLogger* logger,
                                                OrtEpFactory** factories, size_t max_factories, size_t* count);
TEST_PLUGIN_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory);
TEST_PLUGIN_EXPORT long TestPluginCount(const char* what);
TEST_PLUGIN_EXPORT void PlantFault(const char* kind, const char* function, long nth);
TEST_PLUGIN_EXPORT long RemoveFault();

OrtStatus* CreateEpFactories(const char* name, const OrtApiBase* base, const OrtLogger* logger,
                             OrtEpFactory** factories, size_t max_factories, size_t* count) {
  using namespace faults;
  FillTables(base);
  const std::string kind = Reach("CreateEpFactories");
  if (kind == "throw") throw std::runtime_error("planted exception in CreateEpFactories");
  if (kind == "throw_int") throw 7;
  if (kind == "fail") return api->CreateStatus(ORT_EP_FAIL, "planted fault in CreateEpFactories");
  if (kind == "nothing") return nullptr;
  const auto create = reinterpret_cast<decltype(&CreateEpFactories)>(Inner("CreateEpFactories"));
  if (create == nullptr) return api->CreateStatus(ORT_FAIL, "the inner library is not there");
  if (OrtStatus* status = create(name, &TheTables().own_base, logger, factories, max_factories, count)) return status;
  for (std::size_t i = 0; i < *count; ++i) WrapAll(factories[i]);
  if (kind == "many") *count = 1000;
  if (kind == "gap") factories[(*count)++] = nullptr;
  if (kind == "twice") factories[(*count)++] = factories[0];
  if (kind == "old") factories[0]->ort_version_supported = 3;
  return nullptr;
}

OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  const std::string kind = faults::Reach("ReleaseEpFactory");
  const auto release = reinterpret_cast<decltype(&ReleaseEpFactory)>(faults::Inner("ReleaseEpFactory"));
  OrtStatus* status = release(factory);
  if (kind == "throw") throw std::runtime_error("planted exception in ReleaseEpFactory");
  if (kind == "throw_int") throw 7;
  if (kind == "fail") return faults::api->CreateStatus(ORT_EP_FAIL, "planted fault in ReleaseEpFactory");
  return status;
}

long TestPluginCount(const char* what) {
  return reinterpret_cast<decltype(&TestPluginCount)>(faults::Inner("TestPluginCount"))(what);
}

void PlantFault(const char* kind, const char* function, long nth) {
  faults::Planted& planted = faults::ThePlanted();
  const std::lock_guard lock(planted.mutex);
  planted.kind = kind;
  planted.function = function;
  planted.nth = nth;
  planted.calls = planted.hits = 0;
}

// How often the fault was reached.
long RemoveFault() {
  faults::Planted& planted = faults::ThePlanted();
  const std::lock_guard lock(planted.mutex);
  planted.function.clear();
  return planted.hits;
}
