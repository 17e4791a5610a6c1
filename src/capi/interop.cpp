// capi/interop.cpp - OrtInteropApi: memory and semaphores shared with graphics interfaces.
//
// They belong to a device's provider. The CPU's imports nothing, so no importer exists, and every function that takes
// one is refused.
#include "capi/ep_device.h"
#include "capi/functions.h"
#include "capi/handles/status.h"

namespace sardonyx::capi::interop {
namespace {

[[noreturn]] void FailImporter(const char* function) {
  Fail(Code::kNotImplemented, "OrtInteropApi::", function,
       ": expected an importer of this library, found another pointer: no execution provider here imports memory or ",
       "semaphores");
}

}  // namespace

// Success without an importer says that the device's provider has none.
OrtStatusPtr ORT_API_CALL CreateExternalResourceImporterForDevice(const OrtEpDevice* ep_device,
                                                                  OrtExternalResourceImporter** out_importer) noexcept {
  return Guard([&] {
    Need(ep_device, "ep_device");
    Need(out_importer, "out_importer") = nullptr;
  });
}

// Nobody has one of these.
void ORT_API_CALL ReleaseExternalResourceImporter(OrtExternalResourceImporter* /*input*/) noexcept {}
void ORT_API_CALL ReleaseExternalMemoryHandle(OrtExternalMemoryHandle* /*input*/) noexcept {}
void ORT_API_CALL ReleaseExternalSemaphoreHandle(OrtExternalSemaphoreHandle* /*input*/) noexcept {}

OrtStatusPtr ORT_API_CALL CanImportMemory(const OrtExternalResourceImporter* importer,
                                          OrtExternalMemoryHandleType /*handle_type*/, bool* out_supported) noexcept {
  return Guard([&] {
    Need(importer, "importer");
    Need(out_supported, "out_supported");
    FailImporter("CanImportMemory");
  });
}

OrtStatusPtr ORT_API_CALL ImportMemory(OrtExternalResourceImporter* importer, const OrtExternalMemoryDescriptor* desc,
                                       OrtExternalMemoryHandle** out_handle) noexcept {
  return Guard([&] {
    Need(importer, "importer");
    Need(desc, "desc");
    Need(out_handle, "out_handle");
    FailImporter("ImportMemory");
  });
}

OrtStatusPtr ORT_API_CALL CreateTensorFromMemory(OrtExternalResourceImporter* importer,
                                                 const OrtExternalMemoryHandle* mem_handle,
                                                 const OrtExternalTensorDescriptor* tensor_desc,
                                                 OrtValue** out_tensor) noexcept {
  return Guard([&] {
    Need(importer, "importer");
    Need(mem_handle, "mem_handle");
    Need(tensor_desc, "tensor_desc");
    Need(out_tensor, "out_tensor");
    FailImporter("CreateTensorFromMemory");
  });
}

OrtStatusPtr ORT_API_CALL CanImportSemaphore(const OrtExternalResourceImporter* importer,
                                             OrtExternalSemaphoreType /*type*/, bool* out_supported) noexcept {
  return Guard([&] {
    Need(importer, "importer");
    Need(out_supported, "out_supported");
    FailImporter("CanImportSemaphore");
  });
}

OrtStatusPtr ORT_API_CALL ImportSemaphore(OrtExternalResourceImporter* importer,
                                          const OrtExternalSemaphoreDescriptor* desc,
                                          OrtExternalSemaphoreHandle** out_handle) noexcept {
  return Guard([&] {
    Need(importer, "importer");
    Need(desc, "desc");
    Need(out_handle, "out_handle");
    FailImporter("ImportSemaphore");
  });
}

OrtStatusPtr ORT_API_CALL WaitSemaphore(OrtExternalResourceImporter* importer,
                                        OrtExternalSemaphoreHandle* semaphore_handle, OrtSyncStream* stream,
                                        uint64_t /*value*/) noexcept {
  return Guard([&] {
    Need(importer, "importer");
    Need(semaphore_handle, "semaphore_handle");
    Need(stream, "stream");
    FailImporter("WaitSemaphore");
  });
}

OrtStatusPtr ORT_API_CALL SignalSemaphore(OrtExternalResourceImporter* importer,
                                          OrtExternalSemaphoreHandle* semaphore_handle, OrtSyncStream* stream,
                                          uint64_t /*value*/) noexcept {
  return Guard([&] {
    Need(importer, "importer");
    Need(semaphore_handle, "semaphore_handle");
    Need(stream, "stream");
    FailImporter("SignalSemaphore");
  });
}

OrtStatusPtr ORT_API_CALL InitGraphicsInteropForEpDevice(const OrtEpDevice* ep_device,
                                                         const OrtGraphicsInteropConfig* config) noexcept {
  return Guard([&] {
    Need(ep_device, "ep_device");
    Need(config, "config");
    Fail(Code::kNotImplemented, "OrtInteropApi::InitGraphicsInteropForEpDevice: the device's execution provider '",
         ep_device->ep_name, "' shares nothing with graphics interfaces");
  });
}

OrtStatusPtr ORT_API_CALL DeinitGraphicsInteropForEpDevice(const OrtEpDevice* ep_device) noexcept {
  return Guard([&] {
    Need(ep_device, "ep_device");
    Fail(Code::kNotImplemented, "OrtInteropApi::DeinitGraphicsInteropForEpDevice: the device's execution provider '",
         ep_device->ep_name, "' shares nothing with graphics interfaces");
  });
}

}  // namespace sardonyx::capi::interop
