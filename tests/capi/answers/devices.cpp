// tests/capi/answers/devices.cpp - what a client asks of a plug-in's devices: shared allocators, streams, copies, and
// runs in the background. The plug-in is that of tests/providers/plugin, whose "card" has memory of its own.
#include <atomic>
#include <cstring>
#include <filesystem>
#include <thread>

#include "answers.h"

namespace {

constexpr const char* kName = "answers";

std::string Plugin() {
  const auto build = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  return (build / "lib/libtest_provider_plugin.so").string();
}

const OrtEpDevice* Device(const char* kind) {
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  Must(ort->GetEpDevices(env, &devices, &count));
  for (size_t i = 0; i < count; ++i) {
    const char* found = ort->GetKeyValue(ort->EpDevice_EpMetadata(devices[i]), "kind");
    if (found != nullptr && std::strcmp(found, kind) == 0) return devices[i];
  }
  return nullptr;
}

void Describe(const OrtEpDevice* device) {
  Say("name %s, vendor %s", ort->EpDevice_EpName(device), ort->EpDevice_EpVendor(device));
  for (const auto kind : {OrtDeviceMemoryType_DEFAULT, OrtDeviceMemoryType_HOST_ACCESSIBLE}) {
    const OrtMemoryInfo* info = ort->EpDevice_MemoryInfo(device, kind);
    Say("memory %d: %s", kind, info != nullptr ? "there" : "none");
    if (info == nullptr) continue;
    const char* name = nullptr;
    Answer("  MemoryInfoGetName", ort->MemoryInfoGetName(info, &name));
    Say("  %s, vendor %u, memory %d", name, ort->MemoryInfoGetVendorId(info), ort->MemoryInfoGetDeviceMemType(info));
  }
}

OrtValue* Tensor(OrtAllocator* allocator, std::int64_t count) {
  OrtValue* value = nullptr;
  Answer("CreateTensorAsOrtValue",
         ort->CreateTensorAsOrtValue(allocator, &count, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  return value;
}

void SharedMemory(const OrtEpDevice* device) {
  OrtAllocator *host = nullptr, *card = nullptr, *again = nullptr;
  Must(ort->GetAllocatorWithDefaultOptions(&host));
  const auto make = [&](OrtAllocator** out) {
    return ort->CreateSharedAllocator(env, device, OrtDeviceMemoryType_DEFAULT, OrtDeviceAllocator, nullptr, out);
  };
  Answer("CreateSharedAllocator", make(&card));
  const OrtMemoryInfo* info = ort->EpDevice_MemoryInfo(device, OrtDeviceMemoryType_DEFAULT);
  Answer("GetSharedAllocator", ort->GetSharedAllocator(env, info, &again));
  Say("the same: %d", card == again);
  OrtValue *from = Tensor(host, 4), *there = Tensor(again, 4), *back = Tensor(host, 4);
  float* numbers = nullptr;
  Must(ort->GetTensorMutableData(from, reinterpret_cast<void**>(&numbers)));
  for (int i = 0; i < 4; ++i) numbers[i] = static_cast<float>(i + 1);
  const OrtValue *source = from, *copied = there;
  Answer("CopyTensors, there", ort->CopyTensors(env, &source, &there, nullptr, 1));
  Answer("CopyTensors, back", ort->CopyTensors(env, &copied, &back, nullptr, 1));
  Must(ort->GetTensorMutableData(back, reinterpret_cast<void**>(&numbers)));
  Say("%g %g", static_cast<double>(numbers[0]), static_cast<double>(numbers[3]));
  OrtSyncStream* stream = nullptr;
  Answer("CreateSyncStreamForEpDevice", ort->CreateSyncStreamForEpDevice(device, nullptr, &stream));
  Say("handle %s", ort->SyncStream_GetHandle(stream) != nullptr ? "set" : "NULL");
  const OrtEpApi* ep = ort->GetEpApi();
  Say("impl %s", ep->SyncStream_GetImpl(stream) != nullptr ? "set" : "NULL");
  Say("no wait %llu", static_cast<unsigned long long>(ep->GetSyncIdForLastWaitOnSyncStream(stream, stream)));
  Say("id %llu", static_cast<unsigned long long>(ep->SyncStream_GetSyncId(stream)));
  Answer("CopyTensors, with a stream", ort->CopyTensors(env, &copied, &back, stream, 1));
  ort->ReleaseSyncStream(stream);
  for (OrtValue* value : {from, there, back}) ort->ReleaseValue(value);
  Answer("ReleaseSharedAllocator", ort->ReleaseSharedAllocator(env, device, OrtDeviceMemoryType_DEFAULT));
}

struct Finished {
  std::atomic<int> count = 0, code = -1;
};
void Finish(void* user, OrtValue** outputs, size_t count, OrtStatusPtr status) {
  auto& finished = *static_cast<Finished*>(user);
  finished.code = status != nullptr ? static_cast<int>(ort->GetErrorCode(status)) : 0;
  ort->ReleaseStatus(status);
  for (size_t i = 0; i < count && finished.code == 0; ++i) ort->ReleaseValue(outputs[i]);
  ++finished.count;
}

void Background() {
  OrtSessionOptions* options = nullptr;
  OrtSession* session = nullptr;
  OrtAllocator* host = nullptr;
  Must(ort->CreateSessionOptions(&options));
  Must(ort->SetIntraOpNumThreads(options, 2));
  Must(ort->CreateSession(env, ModelPath("chain.onnx").c_str(), options, &session));
  Must(ort->GetAllocatorWithDefaultOptions(&host));
  const std::int64_t shape[] = {2, 1024};
  OrtValue* x = nullptr;
  Must(ort->CreateTensorAsOrtValue(host, shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &x));
  float* numbers = nullptr;
  Must(ort->GetTensorMutableData(x, reinterpret_cast<void**>(&numbers)));
  for (int i = 0; i < 2 * 1024; ++i) numbers[i] = 1;
  const char *in = "x", *out = "y", *wrong = "nothing";
  for (const char* name : {out, wrong}) {
    Finished finished;
    OrtValue* y = nullptr;
    Answer("RunAsync", ort->RunAsync(session, nullptr, &in, &x, 1, &name, 1, &y, Finish, &finished));
    while (finished.count == 0) std::this_thread::yield();
    Say("ended with %d", finished.code.load());
  }
  ort->ReleaseValue(x);
  ort->ReleaseSession(session);
  ort->ReleaseSessionOptions(options);
}

}  // namespace

int main(int argc, char** argv) {
  Open(argc, argv);
  Answer("RegisterExecutionProviderLibrary", ort->RegisterExecutionProviderLibrary(env, kName, Plugin().c_str()));
  Say("registered again: %d",
      Answer("again", ort->RegisterExecutionProviderLibrary(env, kName, Plugin().c_str())) != 0);
  const OrtEpDevice* card = Device("card");
  Say("card %s", card != nullptr ? "there" : "missing");
  Describe(card);
  SharedMemory(card);
  Background();
  Answer("UnregisterExecutionProviderLibrary", ort->UnregisterExecutionProviderLibrary(env, kName));
  Say("gone: %d", Device("card") == nullptr);
  ort->ReleaseEnv(env);
}
