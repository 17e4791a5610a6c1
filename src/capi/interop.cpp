// capi/interop.cpp - OrtInteropApi: memory and semaphores of graphics interfaces, which plug-ins import.
#include <memory>
#include <string>
#include <utility>

#include "capi/env.h"
#include "capi/functions.h"
#include "capi/handles/call_release.h"
#include "capi/handles/ep_device.h"
#include "capi/handles/kind.h"
#include "capi/handles/release.h"
#include "capi/handles/sync_stream.h"
#include "capi/handles/value.h"
#include "providers/plugin/fields.h"

namespace {

using sardonyx::capi::CallOut;
using sardonyx::capi::CallRelease;
using sardonyx::capi::FreeStatus;
using sardonyx::capi::Guard;

struct ImporterReleaser {
  const sardonyx::plugin::Library* library = nullptr;
  void operator()(OrtExternalResourceImporterImpl* impl) const noexcept {
    if (impl->Release == nullptr) return;
    CallRelease(library->logger(), library->path() + ": OrtExternalResourceImporterImpl::Release", impl->Release, impl);
  }
};

}  // namespace

// The library that made it stays loaded, and registered, as long as it lives.
struct OrtExternalResourceImporter {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kExternalResourceImporter> mark;
  std::shared_ptr<sardonyx::plugin::Library> library;
  std::string ep_name;
  std::unique_ptr<OrtExternalResourceImporterImpl, ImporterReleaser> impl;
};

namespace sardonyx::capi::interop {
namespace {

std::string Callee(const OrtExternalResourceImporter& importer, const char* function) {
  return importer.ep_name + ": OrtExternalResourceImporterImpl::" + function;
}

// Has the plug-in do it; a function that it does not have is not implemented.
template <typename Function, typename... Args>
void Ask(const OrtExternalResourceImporter& importer, const char* name,
         Function OrtExternalResourceImporterImpl::*function, Args... args) {
  OrtExternalResourceImporterImpl* impl = importer.impl.get();
  const std::string callee = Callee(importer, name);
  if (impl->*function == nullptr) Fail(Code::kNotImplemented, callee, ": the provider has no such function");
  CallOut(callee.c_str(), impl->*function, impl, args...);
}

// What the plug-in has made, for the caller, who releases it by a function of its own.
template <typename Handle>
Handle* CheckImported(const OrtExternalResourceImporter& importer, const char* name, Handle* made,
                      void(ORT_API_CALL* release)(OrtExternalResourceImporterImpl*, Handle*)) {
  if (made != nullptr && made->Release != nullptr) return made;
  if (made != nullptr && release != nullptr)
    FreeStatus(Guard([&] { CallOut(Callee(importer, name).c_str(), release, importer.impl.get(), made); }));
  Fail(Code::kEpFail, Callee(importer, name), ": expected a handle with a function Release, found ",
       made == nullptr ? "none" : "NULL for it");
}

// A plug-in knows its own handles only. One that says nothing of its device is taken as it is.
template <typename Handle>
void CheckHandle(const OrtExternalResourceImporter& importer, const Handle& handle, const char* name) {
  if (handle.ep_device == nullptr) return;
  const auto library = FindRegistered(handle.ep_device).library;
  if (library != nullptr && library != importer.library)
    Fail(Code::kInvalidArgument, "argument '", name, "': expected a handle that '", importer.ep_name,
         "' has imported, found one of '", handle.ep_device->ep_name, "'");
}

template <typename Handle>
void ReleaseImported(Handle* handle, const char* callee) noexcept {
  if (!Given(handle) || handle->Release == nullptr) return;
  FreeStatus(Guard([&] {
    const plugin::Libraries::Place place = FindRegistered(handle->ep_device);
    const Logger logger = place.library != nullptr ? place.library->logger() : Logger();
    const std::string name = place.factory != nullptr ? place.factory->name() + ": " : "";
    CallRelease(logger, name + callee, handle->Release, handle);
  }));
}

// The tensor's memory, and with it the library whose function may free it.
void KeepLoaded(Value& value, std::shared_ptr<const void> library) {
  const Tensor& tensor = value.tensor();
  struct Kept {
    std::shared_ptr<const void> library;
    std::shared_ptr<Buffer> buffer;  // goes first
  };
  auto kept = std::make_shared<Kept>(Kept{std::move(library), tensor.buffer()});
  value = Tensor(tensor.dtype(), tensor.shape(),
                 Buffer::View(const_cast<void*>(tensor.raw()), tensor.byte_size(), std::move(kept), tensor.device()));
}

template <typename Use>
OrtStatusPtr UseSemaphore(const char* name, OrtExternalResourceImporter* importer, OrtExternalSemaphoreHandle* handle,
                          OrtSyncStream* stream, std::uint64_t value, Use function) noexcept {
  return Guard([&] {
    const OrtExternalResourceImporter& there = Need(importer, "importer");
    CheckHandle(there, Need(handle, "semaphore_handle"), "semaphore_handle");
    if (!Need(stream, "stream").IsOf(there.library.get()))
      Fail(Code::kInvalidArgument, "argument 'stream': expected a stream of '", there.ep_name,
           "', found one of another provider library");
    Ask(there, name, function, handle, stream, value);
  });
}

// The factory of a device; NULL for the CPU, whose provider imports nothing.
plugin::Libraries::Place PlaceOf(const OrtEpDevice& device) {
  const plugin::Libraries::Place place = FindRegistered(&device);
  if (place.factory == nullptr && device.factory != nullptr)
    Fail(Code::kInvalidArgument, "argument 'ep_device': expected a device of a registered provider library");
  return place;
}

template <typename Function, typename... Args>
void AskFactory(const OrtEpDevice& device, const char* name, const char* asked_by, Function OrtEpFactory::*function,
                Args... args) {
  const plugin::Libraries::Place place = PlaceOf(device);
  OrtEpFactory* factory = place.factory != nullptr ? place.factory->handle() : nullptr;
  const auto field =
      factory != nullptr ? plugin::FieldOf(static_cast<const OrtEpFactory*>(factory), function) : nullptr;
  if (field == nullptr)
    Fail(Code::kNotImplemented, "OrtInteropApi::", asked_by, ": the device's execution provider '", device.ep_name,
         "' shares nothing with graphics interfaces");
  CallOut((device.ep_name + ": OrtEpFactory::" + name).c_str(), field, factory, &device, args...);
}

}  // namespace

// Success without an importer says that the device's provider has none.
OrtStatusPtr ORT_API_CALL CreateExternalResourceImporterForDevice(const OrtEpDevice* ep_device,
                                                                  OrtExternalResourceImporter** out_importer) noexcept {
  return Guard([&] {
    const OrtEpDevice& device = Need(ep_device, "ep_device");
    auto& result = Need(out_importer, "out_importer") = nullptr;
    const plugin::Libraries::Place place = PlaceOf(device);
    if (place.factory == nullptr) return;
    OrtEpFactory* factory = place.factory->handle();
    const auto create = plugin::FieldOf(static_cast<const OrtEpFactory*>(factory),
                                        &OrtEpFactory::CreateExternalResourceImporterForDevice);
    if (create == nullptr) return;
    const std::string callee = device.ep_name + ": OrtEpFactory::CreateExternalResourceImporterForDevice";
    OrtExternalResourceImporterImpl* impl = nullptr;
    CallOut(callee.c_str(), create, factory, &device, &impl);
    if (impl == nullptr) return;
    auto made = std::make_unique<OrtExternalResourceImporter>();
    made->library = place.library;
    made->ep_name = device.ep_name;
    made->impl = {impl, ImporterReleaser{place.library.get()}};
    if (impl->Release == nullptr)
      Fail(Code::kEpFail, callee, ": expected an importer with a function Release, found NULL for it");
    result = made.release();
  });
}

void ORT_API_CALL ReleaseExternalResourceImporter(OrtExternalResourceImporter* input) noexcept { ReleaseHandle(input); }
void ORT_API_CALL ReleaseExternalMemoryHandle(OrtExternalMemoryHandle* input) noexcept {
  ReleaseImported(input, "OrtExternalMemoryHandle::Release");
}
void ORT_API_CALL ReleaseExternalSemaphoreHandle(OrtExternalSemaphoreHandle* input) noexcept {
  ReleaseImported(input, "OrtExternalSemaphoreHandle::Release");
}

OrtStatusPtr ORT_API_CALL CanImportMemory(const OrtExternalResourceImporter* importer,
                                          OrtExternalMemoryHandleType handle_type, bool* out_supported) noexcept {
  return Guard([&] {
    const OrtExternalResourceImporter& there = Need(importer, "importer");
    auto& supported = Need(out_supported, "out_supported") = false;
    if (const auto can = there.impl->CanImportMemory)
      supported = CallOut(Callee(there, "CanImportMemory").c_str(), can, there.impl.get(), handle_type);
  });
}

OrtStatusPtr ORT_API_CALL ImportMemory(OrtExternalResourceImporter* importer, const OrtExternalMemoryDescriptor* desc,
                                       OrtExternalMemoryHandle** out_handle) noexcept {
  return Guard([&] {
    const OrtExternalResourceImporter& there = Need(importer, "importer");
    Need(desc, "desc");
    auto& result = Need(out_handle, "out_handle") = nullptr;
    OrtExternalMemoryHandle* made = nullptr;
    Ask(there, "ImportMemory", &OrtExternalResourceImporterImpl::ImportMemory, desc, &made);
    result = CheckImported(there, "ImportMemory", made, there.impl->ReleaseMemory);
  });
}

OrtStatusPtr ORT_API_CALL CreateTensorFromMemory(OrtExternalResourceImporter* importer,
                                                 const OrtExternalMemoryHandle* mem_handle,
                                                 const OrtExternalTensorDescriptor* tensor_desc,
                                                 OrtValue** out_tensor) noexcept {
  return Guard([&] {
    const OrtExternalResourceImporter& there = Need(importer, "importer");
    CheckHandle(there, Need(mem_handle, "mem_handle"), "mem_handle");
    Need(tensor_desc, "tensor_desc");
    auto& result = Need(out_tensor, "out_tensor") = nullptr;
    OrtValue* value = nullptr;
    Ask(there, "CreateTensorFromMemory", &OrtExternalResourceImporterImpl::CreateTensorFromMemory, mem_handle,
        tensor_desc, &value);
    std::unique_ptr<Value> made(AsValue(value));
    if (made == nullptr || !made->is_tensor())
      Fail(Code::kEpFail, Callee(there, "CreateTensorFromMemory"), ": expected a tensor, found ",
           made == nullptr ? "none" : made->KindName());
    KeepLoaded(*made, there.library);
    result = AsHandle(made.release());
  });
}

OrtStatusPtr ORT_API_CALL CanImportSemaphore(const OrtExternalResourceImporter* importer, OrtExternalSemaphoreType type,
                                             bool* out_supported) noexcept {
  return Guard([&] {
    const OrtExternalResourceImporter& there = Need(importer, "importer");
    auto& supported = Need(out_supported, "out_supported") = false;
    if (const auto can = there.impl->CanImportSemaphore)
      supported = CallOut(Callee(there, "CanImportSemaphore").c_str(), can, there.impl.get(), type);
  });
}

OrtStatusPtr ORT_API_CALL ImportSemaphore(OrtExternalResourceImporter* importer,
                                          const OrtExternalSemaphoreDescriptor* desc,
                                          OrtExternalSemaphoreHandle** out_handle) noexcept {
  return Guard([&] {
    const OrtExternalResourceImporter& there = Need(importer, "importer");
    Need(desc, "desc");
    auto& result = Need(out_handle, "out_handle") = nullptr;
    OrtExternalSemaphoreHandle* made = nullptr;
    Ask(there, "ImportSemaphore", &OrtExternalResourceImporterImpl::ImportSemaphore, desc, &made);
    result = CheckImported(there, "ImportSemaphore", made, there.impl->ReleaseSemaphore);
  });
}

OrtStatusPtr ORT_API_CALL WaitSemaphore(OrtExternalResourceImporter* importer,
                                        OrtExternalSemaphoreHandle* semaphore_handle, OrtSyncStream* stream,
                                        uint64_t value) noexcept {
  return UseSemaphore("WaitSemaphore", importer, semaphore_handle, stream, value,
                      &OrtExternalResourceImporterImpl::WaitSemaphore);
}

OrtStatusPtr ORT_API_CALL SignalSemaphore(OrtExternalResourceImporter* importer,
                                          OrtExternalSemaphoreHandle* semaphore_handle, OrtSyncStream* stream,
                                          uint64_t value) noexcept {
  return UseSemaphore("SignalSemaphore", importer, semaphore_handle, stream, value,
                      &OrtExternalResourceImporterImpl::SignalSemaphore);
}

OrtStatusPtr ORT_API_CALL InitGraphicsInteropForEpDevice(const OrtEpDevice* ep_device,
                                                         const OrtGraphicsInteropConfig* config) noexcept {
  return Guard([&] {
    const OrtEpDevice& device = Need(ep_device, "ep_device");
    Need(config, "config");
    AskFactory(device, "InitGraphicsInterop", "InitGraphicsInteropForEpDevice", &OrtEpFactory::InitGraphicsInterop,
               config);
  });
}

OrtStatusPtr ORT_API_CALL DeinitGraphicsInteropForEpDevice(const OrtEpDevice* ep_device) noexcept {
  return Guard([&] {
    AskFactory(Need(ep_device, "ep_device"), "DeinitGraphicsInterop", "DeinitGraphicsInteropForEpDevice",
               &OrtEpFactory::DeinitGraphicsInterop);
  });
}

}  // namespace sardonyx::capi::interop
