// tests/providers/plugin/plugin.cpp - the functions that the library exports, and its factory.
#include "plugin.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "provider.h"

namespace test_plugin {

const OrtApi* api = nullptr;
const OrtEpApi* ep_api = nullptr;
Counts counts;
Events events;
std::atomic<long> claims = 0;

OrtStatus* Failure(const std::string& message) { return api->CreateStatus(ORT_EP_FAIL, message.c_str()); }

bool IsPlanted(const char* kind, const char* function) {
  const char* faults = std::getenv("SDX_PLUGIN_FAULT");
  const std::string listed = "," + std::string(faults != nullptr ? faults : "") + ",";
  return listed.find("," + std::string(kind) + function + ",") != std::string::npos;
}

OrtStatus* Fault(const char* function) {
  if (IsPlanted("throw:", function)) throw std::runtime_error("planted exception in " + std::string(function));
  if (!IsPlanted("", function)) return nullptr;
  return Failure("planted fault in " + std::string(function));
}

namespace {

struct Factory : OrtEpFactory {
  Factory() : OrtEpFactory{} { ++counts.factories; }
  ~Factory() {
    if (card != nullptr) api->ReleaseMemoryInfo(card);
    if (pinned != nullptr) api->ReleaseMemoryInfo(pinned);
    if (domain != nullptr) api->ReleaseCustomOpDomain(domain);
    --counts.factories;
  }
  OrtMemoryInfo* card = nullptr;  // the memory of the device 'card'
  OrtMemoryInfo* pinned = nullptr;
  OrtCustomOpDomain* domain = nullptr;
};

const char* ORT_API_CALL GetName(const OrtEpFactory* /*self*/) { return kName; }
const char* ORT_API_CALL GetVendor(const OrtEpFactory* /*self*/) { return kVendor; }
uint32_t ORT_API_CALL GetVendorId(const OrtEpFactory* /*self*/) { return kVendorId; }
const char* ORT_API_CALL GetVersion(const OrtEpFactory* /*self*/) { return "1.2.3"; }

OrtStatus* AddDevice(Factory& factory, const OrtHardwareDevice* hardware, const char* kind, OrtEpDevice** devices,
                     std::size_t& count) {
  OrtKeyValuePairs *metadata = nullptr, *options = nullptr;
  api->CreateKeyValuePairs(&metadata);
  api->CreateKeyValuePairs(&options);
  api->AddKeyValuePair(metadata, "kind", kind);
  api->AddKeyValuePair(options, "operators", "all");
  OrtEpDevice* device = nullptr;
  OrtStatus* status = ep_api->CreateEpDevice(&factory, hardware, metadata, options, &device);
  api->ReleaseKeyValuePairs(metadata);
  api->ReleaseKeyValuePairs(options);
  TEST_PLUGIN_TRY(status);
  devices[count++] = device;
  constexpr std::uint32_t kFirstWithMemory = 23;
  if (std::strncmp(kind, "card", 4) != 0 || Version() < kFirstWithMemory) return nullptr;
  TEST_PLUGIN_TRY(ep_api->EpDevice_AddAllocatorInfo(device, factory.card));
  if (kHasPinned) TEST_PLUGIN_TRY(ep_api->EpDevice_AddAllocatorInfo(device, factory.pinned));
  return nullptr;
}

OrtStatus* ORT_API_CALL GetSupportedDevices(OrtEpFactory* self, const OrtHardwareDevice* const* devices,
                                            size_t num_devices, OrtEpDevice** ep_devices, size_t max_ep_devices,
                                            size_t* num_ep_devices) {
  auto& factory = *static_cast<Factory*>(self);
  *num_ep_devices = 0;
  for (std::size_t i = 0; i < num_devices; ++i) {
    if (api->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
    for (const char* kind : {"host", "card", "kernels", "card_kernels"}) {
      if (*num_ep_devices == max_ep_devices) return Failure("no room for devices");
      TEST_PLUGIN_TRY(AddDevice(factory, devices[i], kind, ep_devices, *num_ep_devices));
      TEST_PLUGIN_TRY(Fault("GetSupportedDevices"));  // with one device made
    }
  }
  if (IsPlanted("miscount:", "GetSupportedDevices")) ++*num_ep_devices;
  return nullptr;
}

OrtStatus* ORT_API_CALL CreateEp(OrtEpFactory* self, const OrtHardwareDevice* const* /*devices*/,
                                 const OrtKeyValuePairs* const* metadata, size_t num_devices,
                                 const OrtSessionOptions* options, const OrtLogger* logger, OrtEp** ep) {
  TEST_PLUGIN_TRY(Fault("CreateEp"));
  if (IsPlanted("nothing:", "CreateEp")) return nullptr;
  if (num_devices != 1) return Failure("expected one device");
  return CreateProvider(api->GetKeyValue(metadata[0], "kind"), static_cast<const Factory*>(self)->card, options, logger,
                        ep);
}

void ORT_API_CALL ReleaseEp(OrtEpFactory* /*self*/, OrtEp* ep) { ReleaseProvider(ep); }

OrtStatus* ORT_API_CALL CreateAllocator(OrtEpFactory* /*self*/, const OrtMemoryInfo* info,
                                        const OrtKeyValuePairs* /*options*/, OrtAllocator** allocator) {
  TEST_PLUGIN_TRY(Fault("CreateAllocator"));
  if (IsPlanted("nothing:", "CreateAllocator")) return nullptr;
  return CreateCardAllocator(info, allocator);
}

void ORT_API_CALL ReleaseAllocator(OrtEpFactory* /*self*/, OrtAllocator* allocator) { ReleaseCardAllocator(allocator); }

OrtStatus* ORT_API_CALL CreateDataTransfer(OrtEpFactory* /*self*/, OrtDataTransferImpl** transfer) {
  TEST_PLUGIN_TRY(Fault("CreateDataTransfer"));
  return CreateTransfer(transfer);
}

bool ORT_API_CALL IsStreamAware(const OrtEpFactory* /*self*/) { return true; }

OrtStatus* ORT_API_CALL CreateSyncStreamForDevice(OrtEpFactory* /*self*/, const OrtMemoryDevice* /*device*/,
                                                  const OrtKeyValuePairs* /*options*/, OrtSyncStreamImpl** stream) {
  TEST_PLUGIN_TRY(Fault("CreateSyncStreamForDevice"));
  return CreateStream(stream);
}

OrtStatus* ORT_API_CALL ValidateCompatibility(OrtEpFactory* /*self*/, const OrtHardwareDevice* const* /*devices*/,
                                              size_t /*num_devices*/, const char* info,
                                              OrtCompiledModelCompatibility* result) {
  TEST_PLUGIN_TRY(Fault("ValidateCompiledModelCompatibilityInfo"));
  *result = std::strcmp(info, "version 1") == 0   ? OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL
            : std::strcmp(info, "version 0") == 0 ? OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION
                                                  : OrtCompiledModelCompatibility_EP_UNSUPPORTED;
  return nullptr;
}

OrtStatus* ORT_API_CALL GetNumCustomOpDomains(OrtEpFactory* /*self*/, size_t* count) {
  TEST_PLUGIN_TRY(Fault("GetNumCustomOpDomains"));
  *count = 1;
  return nullptr;
}

OrtStatus* ORT_API_CALL GetCustomOpDomains(OrtEpFactory* self, OrtCustomOpDomain** domains, size_t count) {
  TEST_PLUGIN_TRY(Fault("GetCustomOpDomains"));
  if (count != 1) return Failure("expected room for one domain");
  domains[0] = static_cast<Factory*>(self)->domain;
  return nullptr;
}

OrtStatus* ORT_API_CALL ExplainDevice(OrtEpFactory* /*self*/, const OrtHardwareDevice* /*device*/,
                                      OrtDeviceEpIncompatibilityDetails* details) {
  return ep_api->DeviceEpIncompatibilityDetails_SetDetails(details, OrtDeviceEpIncompatibility_MISSING_DEPENDENCY, 17,
                                                           "the driver is a toy");
}

// Only the card imports anything.
OrtStatus* ORT_API_CALL CreateExternalResourceImporter(OrtEpFactory* self, const OrtEpDevice* device,
                                                       OrtExternalResourceImporterImpl** importer) {
  if (api->EpDevice_MemoryInfo(device, OrtDeviceMemoryType_DEFAULT) == nullptr) return nullptr;
  return CreateImporter(device, static_cast<const Factory*>(self)->card, importer);
}

OrtStatus* ORT_API_CALL InitGraphicsInterop(OrtEpFactory* /*self*/, const OrtEpDevice* /*device*/,
                                            const OrtGraphicsInteropConfig* config) {
  TEST_PLUGIN_TRY(Fault("InitGraphicsInterop"));
  if (config->graphics_api != ORT_GRAPHICS_API_VULKAN) return Failure("expected Vulkan");
  ++events.interop;
  ++events.interops;
  return nullptr;
}

OrtStatus* ORT_API_CALL DeinitGraphicsInterop(OrtEpFactory* /*self*/, const OrtEpDevice* /*device*/) {
  TEST_PLUGIN_TRY(Fault("DeinitGraphicsInterop"));
  --events.interop;
  return nullptr;
}

}  // namespace
}  // namespace test_plugin

#define TEST_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))

TEST_PLUGIN_EXPORT OrtStatus* CreateEpFactories(const char* name, const OrtApiBase* base, const OrtLogger* logger,
                                                OrtEpFactory** factories, size_t max_factories, size_t* count);
TEST_PLUGIN_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory);
TEST_PLUGIN_EXPORT long TestPluginCount(const char* what);

OrtStatus* CreateEpFactories(const char* /*name*/, const OrtApiBase* base, const OrtLogger* /*logger*/,
                             OrtEpFactory** factories, size_t max_factories, size_t* count) {
  using namespace test_plugin;
  ReadVersion();
  api = base->GetApi(Version());
  ep_api = api->GetEpApi();
  TEST_PLUGIN_TRY(Fault("CreateEpFactories"));
  if (IsPlanted("nothing:", "CreateEpFactories")) return nullptr;
  if (max_factories == 0) return Failure("no room for a factory");
  auto factory = std::make_unique<Factory>();
  factory->ort_version_supported = Version();
  factory->GetName = GetName;
  factory->GetVendor = GetVendor;
  factory->GetVendorId = GetVendorId;
  factory->GetVersion = GetVersion;
  factory->GetSupportedDevices = GetSupportedDevices;
  factory->CreateEp = CreateEp;
  factory->ReleaseEp = ReleaseEp;
  factory->ValidateCompiledModelCompatibilityInfo = ValidateCompatibility;
  factory->CreateAllocator = CreateAllocator;
  factory->ReleaseAllocator = ReleaseAllocator;
  factory->CreateDataTransfer = CreateDataTransfer;
  factory->IsStreamAware = IsStreamAware;
  factory->CreateSyncStreamForDevice = CreateSyncStreamForDevice;
  factory->GetHardwareDeviceIncompatibilityDetails = ExplainDevice;
  factory->GetNumCustomOpDomains = GetNumCustomOpDomains;
  factory->GetCustomOpDomains = GetCustomOpDomains;
  factory->CreateExternalResourceImporterForDevice = CreateExternalResourceImporter;
  factory->InitGraphicsInterop = InitGraphicsInterop;
  factory->DeinitGraphicsInterop = DeinitGraphicsInterop;
  TEST_PLUGIN_TRY(MakeDomain(&factory->domain));
  TEST_PLUGIN_TRY(api->CreateMemoryInfo_V2(kCardName, OrtMemoryInfoDeviceType_GPU, kVendorId, 0,
                                           OrtDeviceMemoryType_DEFAULT, 0, OrtDeviceAllocator, &factory->card));
  TEST_PLUGIN_TRY(api->CreateMemoryInfo_V2(kPinnedName, OrtMemoryInfoDeviceType_GPU, kVendorId, 0,
                                           OrtDeviceMemoryType_HOST_ACCESSIBLE, 0, OrtDeviceAllocator,
                                           &factory->pinned));
  if (IsPlanted("incomplete:", "CreateEpFactories")) factory->GetVendor = nullptr;
  CutToVersion(factory.get());
  factories[0] = factory.release();
  *count = IsPlanted("miscount:", "CreateEpFactories") ? 2 : 1;
  return nullptr;
}

OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<test_plugin::Factory*>(factory);
  return nullptr;
}

// How many of a kind there are now, or how often an event has happened; -1 for an unknown name.
long TestPluginCount(const char* what) {
  const auto& counts = test_plugin::counts;
  const auto& events = test_plugin::events;
  const struct {
    const char* name;
    const std::atomic<long>& count;
  } kinds[] = {{"factories", counts.factories},
               {"providers", counts.providers},
               {"compiled_nodes", counts.compiled_nodes},
               {"states", counts.states},
               {"allocators", counts.allocators},
               {"blocks", counts.blocks},
               {"transfers", counts.transfers},
               {"streams", counts.streams},
               {"notifications", counts.notifications},
               {"kernels", counts.kernels},
               {"helpers", counts.helpers},
               {"packed", counts.packed},
               {"profilers", counts.profilers},
               {"importers", counts.importers},
               {"imported", counts.imported},
               {"event released_handles", events.released_handles},
               {"event too_early", events.too_early},
               {"event interop", events.interop},
               {"event interops", events.interops},
               {"event profiled", events.profiled},
               {"event copies", events.copies},
               {"event within", events.within},
               {"event across", events.across},
               {"event on_stream", events.on_stream},
               {"event pinned", events.pinned},
               {"event streamed", events.streamed},
               {"event activated", events.activated},
               {"event host_waits", events.host_waits},
               {"event device_waits", events.device_waits},
               {"event flushes", events.flushes},
               {"event run_ends", events.run_ends},
               {"event own_streams", events.own_streams},
               {"event own_allocators", events.own_allocators},
               {"event captured_runs", events.captured_runs},
               {"event replayed", events.replayed},
               {"event synced", events.synced},
               {"event lost", events.lost}};
  if (std::strcmp(what, "claims") == 0) return test_plugin::claims;
  if (std::strcmp(what, "shared places") == 0) return test_plugin::CountSharedPlaces();
  for (const auto& kind : kinds)
    if (std::strcmp(kind.name, what) == 0) return kind.count;
  return -1;
}
