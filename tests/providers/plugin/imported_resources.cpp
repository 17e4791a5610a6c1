// tests/providers/plugin/imported_resources.cpp - memory and semaphores of others that the card reaches.
//
// Memory is the card's own, that somebody else has allocated; a semaphore is a number of the host's that grows.
#include <memory>

#include "plugin.h"

namespace test_plugin {
namespace {

struct Importer : OrtExternalResourceImporterImpl {
  Importer() : OrtExternalResourceImporterImpl{} { ++counts.importers; }
  ~Importer() { --counts.importers; }
  const OrtEpDevice* device = nullptr;
  const OrtMemoryInfo* card = nullptr;
};

template <typename Handle>
struct Imported : Handle {
  Imported() : Handle{} { ++counts.imported; }
  ~Imported() { --counts.imported; }
};
using Memory = Imported<OrtExternalMemoryHandle>;
using Semaphore = Imported<OrtExternalSemaphoreHandle>;

template <typename Handle>
void ORT_API_CALL ReleaseHandle(Handle* handle) {
  ++events.released_handles;
  delete static_cast<Imported<Handle>*>(handle);
}
template <typename Handle>
void ORT_API_CALL ReleaseByImporter(OrtExternalResourceImporterImpl* /*self*/, Handle* handle) {
  delete static_cast<Imported<Handle>*>(handle);
}

// A handle, or what is planted for `function` instead.
template <typename Handle, typename Descriptor>
OrtStatus* NewImported(const char* function, const OrtExternalResourceImporterImpl* self, const Descriptor& descriptor,
                       Handle** handle) {
  TEST_PLUGIN_TRY(Fault(function));
  if (IsPlanted("nothing:", function)) return nullptr;
  auto made = std::make_unique<Imported<Handle>>();
  made->version = Version();
  made->ep_device = static_cast<const Importer*>(self)->device;
  made->descriptor = descriptor;
  if (!IsPlanted("incomplete:", function)) made->Release = ReleaseHandle<Handle>;
  *handle = made.release();
  return nullptr;
}

bool ORT_API_CALL CanImportMemory(const OrtExternalResourceImporterImpl* /*self*/, OrtExternalMemoryHandleType type) {
  api->ReleaseStatus(Fault("CanImportMemory"));
  return type == ORT_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION;
}

OrtStatus* ORT_API_CALL ImportMemory(OrtExternalResourceImporterImpl* self, const OrtExternalMemoryDescriptor* desc,
                                     OrtExternalMemoryHandle** handle) {
  if (!IsOnCard(desc->native_handle)) return Failure("expected memory of the card");
  return NewImported("ImportMemory", self, *desc, handle);
}

OrtStatus* ORT_API_CALL CreateTensor(OrtExternalResourceImporterImpl* self, const OrtExternalMemoryHandle* handle,
                                     const OrtExternalTensorDescriptor* tensor, OrtValue** value) {
  TEST_PLUGIN_TRY(Fault("CreateTensorFromMemory"));
  if (IsPlanted("nothing:", "CreateTensorFromMemory")) return nullptr;
  const OrtExternalMemoryDescriptor& memory = handle->descriptor;
  const std::size_t begin = memory.offset_bytes + tensor->offset_bytes;
  std::size_t bytes = sizeof(float);
  for (std::size_t i = 0; i < tensor->rank; ++i) bytes *= static_cast<std::size_t>(tensor->shape[i]);
  if (begin + bytes > memory.size_bytes) return Failure("the tensor does not fit into the memory");
  return api->CreateTensorWithDataAsOrtValue(static_cast<Importer*>(self)->card,
                                             static_cast<char*>(memory.native_handle) + begin, bytes, tensor->shape,
                                             tensor->rank, tensor->element_type, value);
}

bool ORT_API_CALL CanImportSemaphore(const OrtExternalResourceImporterImpl* /*self*/, OrtExternalSemaphoreType type) {
  api->ReleaseStatus(Fault("CanImportSemaphore"));
  return type == ORT_EXTERNAL_SEMAPHORE_VK_TIMELINE_SEMAPHORE_OPAQUE_FD;
}

OrtStatus* ORT_API_CALL ImportSemaphore(OrtExternalResourceImporterImpl* self,
                                        const OrtExternalSemaphoreDescriptor* desc,
                                        OrtExternalSemaphoreHandle** handle) {
  return NewImported("ImportSemaphore", self, *desc, handle);
}

std::uint64_t& NumberOf(OrtExternalSemaphoreHandle* handle) {
  return *static_cast<std::uint64_t*>(handle->descriptor.native_handle);
}

OrtStatus* ORT_API_CALL WaitSemaphore(OrtExternalResourceImporterImpl* /*self*/, OrtExternalSemaphoreHandle* handle,
                                      OrtSyncStream* stream, uint64_t value) {
  TEST_PLUGIN_TRY(Fault("WaitSemaphore"));
  Do(stream, [&number = NumberOf(handle), value] { events.too_early += static_cast<long>(number < value); });
  return nullptr;
}

OrtStatus* ORT_API_CALL SignalSemaphore(OrtExternalResourceImporterImpl* /*self*/, OrtExternalSemaphoreHandle* handle,
                                        OrtSyncStream* stream, uint64_t value) {
  TEST_PLUGIN_TRY(Fault("SignalSemaphore"));
  Do(stream, [&number = NumberOf(handle), value] { number = value; });
  return nullptr;
}

void ORT_API_CALL ReleaseImporter(OrtExternalResourceImporterImpl* self) { delete static_cast<Importer*>(self); }

}  // namespace

OrtStatus* CreateImporter(const OrtEpDevice* device, const OrtMemoryInfo* card,
                          OrtExternalResourceImporterImpl** importer) {
  TEST_PLUGIN_TRY(Fault("CreateExternalResourceImporterForDevice"));
  if (IsPlanted("nothing:", "CreateExternalResourceImporterForDevice")) return nullptr;
  auto made = std::make_unique<Importer>();
  made->ort_version_supported = Version();
  made->device = device;
  made->card = card;
  made->CanImportMemory = CanImportMemory;
  made->ImportMemory = ImportMemory;
  made->ReleaseMemory = ReleaseByImporter<OrtExternalMemoryHandle>;
  made->CreateTensorFromMemory = CreateTensor;
  made->CanImportSemaphore = CanImportSemaphore;
  made->ReleaseSemaphore = ReleaseByImporter<OrtExternalSemaphoreHandle>;
  made->WaitSemaphore = WaitSemaphore;
  made->SignalSemaphore = SignalSemaphore;
  made->Release = ReleaseImporter;
  if (!IsPlanted("incomplete:", "CreateExternalResourceImporterForDevice")) made->ImportSemaphore = ImportSemaphore;
  *importer = made.release();
  return nullptr;
}

}  // namespace test_plugin
