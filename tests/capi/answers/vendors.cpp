// tests/capi/answers/vendors.cpp - the functions for the options of other vendors' built-in providers, and the interop
// table, in a library that has only the CPU's.
#include "answers.h"

namespace {

// Creates, updates, reads and releases options; a library without the provider refuses all but the last.
#define SDX_TRY_OPTIONS(vendor, Type)                                                                        \
  {                                                                                                          \
    Type* made = nullptr;                                                                                    \
    Answer("Create" #vendor "ProviderOptions", ort->Create##vendor##ProviderOptions(&made));                 \
    Say("  made: %s", made == nullptr ? "NULL" : "options");                                                 \
    Answer("Update" #vendor "ProviderOptions", ort->Update##vendor##ProviderOptions(made, keys, values, 1)); \
    char* text = nullptr;                                                                                    \
    Answer("Get" #vendor "ProviderOptionsAsString",                                                          \
           ort->Get##vendor##ProviderOptionsAsString(made, allocator, &text));                               \
    Say("  text: %s", text == nullptr ? "NULL" : "given");                                                   \
    ort->Release##vendor##ProviderOptions(made);                                                             \
    ort->Release##vendor##ProviderOptions(nullptr);                                                          \
  }

void Options() {
  OrtAllocator* allocator = nullptr;
  Must(ort->GetAllocatorWithDefaultOptions(&allocator));
  const char* keys[] = {"device_id"};
  const char* values[] = {"0"};
  SDX_TRY_OPTIONS(CUDA, OrtCUDAProviderOptionsV2)
  SDX_TRY_OPTIONS(TensorRT, OrtTensorRTProviderOptionsV2)
  SDX_TRY_OPTIONS(CANN, OrtCANNProviderOptions)
  SDX_TRY_OPTIONS(Dnnl, OrtDnnlProviderOptions)
  SDX_TRY_OPTIONS(ROCM, OrtROCMProviderOptions)
  void* pointer = nullptr;
  Answer("UpdateCUDAProviderOptionsWithValue", ort->UpdateCUDAProviderOptionsWithValue(nullptr, "k", &pointer));
  Answer("GetCUDAProviderOptionsByName", ort->GetCUDAProviderOptionsByName(nullptr, "k", &pointer));
  Answer("UpdateTensorRTProviderOptionsWithValue", ort->UpdateTensorRTProviderOptionsWithValue(nullptr, "k", &pointer));
  Answer("GetTensorRTProviderOptionsByName", ort->GetTensorRTProviderOptionsByName(nullptr, "k", &pointer));
}
#undef SDX_TRY_OPTIONS

void Append() {
  OrtSessionOptions* options = nullptr;
  Must(ort->CreateSessionOptions(&options));
  OrtCUDAProviderOptions cuda{};
  Answer("SessionOptionsAppendExecutionProvider_CUDA", ort->SessionOptionsAppendExecutionProvider_CUDA(options, &cuda));
  OrtTensorRTProviderOptions tensorrt{};
  Answer("SessionOptionsAppendExecutionProvider_TensorRT",
         ort->SessionOptionsAppendExecutionProvider_TensorRT(options, &tensorrt));
  OrtROCMProviderOptions rocm{};
  Answer("SessionOptionsAppendExecutionProvider_ROCM", ort->SessionOptionsAppendExecutionProvider_ROCM(options, &rocm));
  OrtMIGraphXProviderOptions migraphx{};
  Answer("SessionOptionsAppendExecutionProvider_MIGraphX",
         ort->SessionOptionsAppendExecutionProvider_MIGraphX(options, &migraphx));
  OrtOpenVINOProviderOptions openvino{};
  Answer("SessionOptionsAppendExecutionProvider_OpenVINO",
         ort->SessionOptionsAppendExecutionProvider_OpenVINO(options, &openvino));
  Answer("SessionOptionsAppendExecutionProvider_OpenVINO_V2",
         ort->SessionOptionsAppendExecutionProvider_OpenVINO_V2(options, nullptr, nullptr, 0));
  Answer("SessionOptionsAppendExecutionProvider_VitisAI",
         ort->SessionOptionsAppendExecutionProvider_VitisAI(options, nullptr, nullptr, 0));
  for (const char* name : {"CUDA", "QNN", "CoreML", "NoSuchProvider", "CPUExecutionProvider"})
    Answer(name, ort->SessionOptionsAppendExecutionProvider(options, name, nullptr, nullptr, 0));
  const void* table = nullptr;
  Answer("GetExecutionProviderApi", ort->GetExecutionProviderApi("DML", ORT_API_VERSION, &table));
  Answer("SetCurrentGpuDeviceId", ort->SetCurrentGpuDeviceId(0));
  int device = 7;
  Answer("GetCurrentGpuDeviceId", ort->GetCurrentGpuDeviceId(&device));
  ort->ReleaseSessionOptions(options);
}

void Interop() {
  const OrtInteropApi* interop = ort->GetInteropApi();
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  Must(ort->GetEpDevices(env, &devices, &count));
  OrtExternalResourceImporter* importer = nullptr;
  Answer("CreateExternalResourceImporterForDevice",
         interop->CreateExternalResourceImporterForDevice(devices[0], &importer));
  Say("  importer: %s", importer == nullptr ? "NULL" : "given");
  Answer("CreateExternalResourceImporterForDevice, NULL",
         interop->CreateExternalResourceImporterForDevice(nullptr, &importer));
  Answer("CreateExternalResourceImporterForDevice, no place for it",
         interop->CreateExternalResourceImporterForDevice(devices[0], nullptr));
  interop->ReleaseExternalResourceImporter(nullptr);
  interop->ReleaseExternalMemoryHandle(nullptr);
  interop->ReleaseExternalSemaphoreHandle(nullptr);
  bool can = true;
  Answer("CanImportMemory, NULL",
         interop->CanImportMemory(nullptr, ORT_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_RESOURCE, &can));
  OrtExternalMemoryHandle* memory = nullptr;
  Answer("ImportMemory, NULL", interop->ImportMemory(nullptr, nullptr, &memory));
  OrtValue* value = nullptr;
  Answer("CreateTensorFromMemory, NULL", interop->CreateTensorFromMemory(nullptr, nullptr, nullptr, &value));
  Answer("CanImportSemaphore, NULL", interop->CanImportSemaphore(nullptr, ORT_EXTERNAL_SEMAPHORE_D3D12_FENCE, &can));
  OrtExternalSemaphoreHandle* semaphore = nullptr;
  Answer("ImportSemaphore, NULL", interop->ImportSemaphore(nullptr, nullptr, &semaphore));
  Answer("WaitSemaphore, NULL", interop->WaitSemaphore(nullptr, nullptr, nullptr, 0));
  Answer("SignalSemaphore, NULL", interop->SignalSemaphore(nullptr, nullptr, nullptr, 0));
  OrtGraphicsInteropConfig config{};
  config.version = ORT_API_VERSION;
  Answer("InitGraphicsInteropForEpDevice", interop->InitGraphicsInteropForEpDevice(devices[0], &config));
  Answer("InitGraphicsInteropForEpDevice, NULL", interop->InitGraphicsInteropForEpDevice(nullptr, &config));
  Answer("InitGraphicsInteropForEpDevice, no configuration",
         interop->InitGraphicsInteropForEpDevice(devices[0], nullptr));
  Answer("DeinitGraphicsInteropForEpDevice", interop->DeinitGraphicsInteropForEpDevice(devices[0]));
  Answer("DeinitGraphicsInteropForEpDevice, NULL", interop->DeinitGraphicsInteropForEpDevice(nullptr));
}

}  // namespace

int main(int argc, char** argv) {
  Open(argc, argv);
  Options();
  Append();
  Interop();
  ort->ReleaseEnv(env);
}
