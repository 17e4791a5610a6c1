// tests/capi/odd_calls/versions.cpp - structs of versions that do not exist, or that lack what the function needs.
#include "odd_calls.h"

namespace {

constexpr std::uint32_t kNone = 0, kFirst = 1, kNext = ORT_API_VERSION + 1, kFar = 9999, kLast = 0xFFFF'FFFF;

void Environment(std::uint32_t version) {
  ort->ReleaseEnv(env);
  OrtEnvCreationOptions options{};
  options.version = version;
  options.logging_severity_level = ORT_LOGGING_LEVEL_FATAL;
  options.log_id = "versions";
  Answer("make", ort->CreateEnvWithOptions(&options, &env));
}

void ThreadPoolCallbacks(std::uint32_t version) {
  OrtThreadPoolCallbacksConfig config{};
  config.version = version;
  Answer("set", ort->SetPerSessionThreadPoolCallbacks(env, &config));
}

// Functions that an allocator of this version does not have must not be read: they point nowhere.
template <typename F>
void Nowhere(F& function) {
  function = reinterpret_cast<F>(std::uintptr_t{0x10});
}
OrtMemoryInfo* host = nullptr;
void UseAllocator(std::uint32_t version) {
  Must(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &host));
  OrtAllocator allocator{};
  allocator.version = version;
  allocator.Alloc = [](OrtAllocator*, size_t size) { return std::malloc(size); };
  allocator.Free = [](OrtAllocator*, void* block) { std::free(block); };
  allocator.Info = [](const OrtAllocator*) -> const OrtMemoryInfo* { return host; };
  if (version < 18) Nowhere(allocator.Reserve);
  if (version < 23) Nowhere(allocator.GetStats);
  if (version < 23) Nowhere(allocator.AllocOnStream);
  if (version < 25) Nowhere(allocator.Shrink);
  const std::int64_t shape[] = {3};
  OrtValue* value = nullptr;
  Answer("tensor", ort->CreateTensorAsOrtValue(&allocator, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  ort->ReleaseValue(value);
  OrtKeyValuePairs* stats = nullptr;
  Answer("stats", ort->AllocatorGetStats(&allocator, &stats));
  Answer("register", ort->RegisterAllocator(env, &allocator));
}

void CustomOperator(std::uint32_t version) {
  OrtCustomOp op{};
  op.version = version;
  op.GetName = [](const OrtCustomOp*) { return "Odd"; };
  op.GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
  op.GetInputType = [](const OrtCustomOp*, size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
  op.GetOutputType = op.GetInputType;
  op.GetInputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
  op.GetOutputTypeCount = op.GetInputTypeCount;
  op.CreateKernel = [](const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*) -> void* { return nullptr; };
  op.KernelCompute = [](void*, OrtKernelContext* context) {
    const std::int64_t shape[] = {2};
    OrtValue* y = nullptr;
    ort->ReleaseStatus(ort->KernelContext_GetOutput(context, 0, shape, 1, &y));
  };
  op.KernelDestroy = [](void*) {};
  op.GetInputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
  op.GetOutputCharacteristic = op.GetInputCharacteristic;
  if (version >= 14) op.GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
  const auto one = [](const OrtCustomOp*) { return 1; };
  const auto set = [&](auto& function, std::uint32_t since) {
    if (version < since) return Nowhere(function);
    function = nullptr;
  };
  for (auto* function : {&op.GetVariadicInputMinArity, &op.GetVariadicInputHomogeneity, &op.GetVariadicOutputMinArity,
                         &op.GetVariadicOutputHomogeneity}) {
    if (version >= 14) *function = one;
  }
  set(op.CreateKernelV2, 16);
  set(op.KernelComputeV2, 16);
  set(op.InferOutputShapeFn, 17);
  set(op.GetStartVersion, 17);
  set(op.GetEndVersion, 17);
  set(op.GetMayInplace, 18);
  set(op.GetAliasMap, 18);
  Objects o;
  OrtCustomOpDomain* domain = nullptr;
  Must(ort->CreateCustomOpDomain("odd", &domain));
  if (Answer("add", ort->CustomOpDomain_Add(domain, &op)) != 0) return;
  if (Answer("domain", ort->AddCustomOpDomain(o.options, domain)) != 0) return;
  if (Answer("session", ort->CreateSession(env, ModelPath("custom.onnx").c_str(), o.options, &o.session)) != 0) return;
  o.Check();
}

void Interop(std::uint32_t version) {
  const OrtInteropApi& interop = *ort->GetInteropApi();
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  Must(ort->GetEpDevices(env, &devices, &count));
  OrtGraphicsInteropConfig config{};
  config.version = version;
  Answer("graphics", interop.InitGraphicsInteropForEpDevice(devices[0], &config));
  OrtExternalResourceImporter* importer = nullptr;
  Answer("importer", interop.CreateExternalResourceImporterForDevice(devices[0], &importer));
  OrtExternalMemoryDescriptor memory{};
  memory.version = version;
  OrtExternalMemoryHandle* handle = nullptr;
  Answer("memory", interop.ImportMemory(importer, &memory, &handle));
  OrtExternalSemaphoreDescriptor semaphore{};
  semaphore.version = version;
  OrtExternalSemaphoreHandle* signal = nullptr;
  Answer("semaphore", interop.ImportSemaphore(importer, &semaphore, &signal));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Case> cases;
  const auto add = [&](const char* what, void (*call)(std::uint32_t), std::vector<std::uint32_t> versions) {
    for (const std::uint32_t version : versions)
      cases.push_back({std::string(what) + " of version " + std::to_string(version), [=] { call(version); }});
  };
  add("environment options", Environment, {kNone, kFirst, 23, 24, ORT_API_VERSION, kNext, kFar, kLast});
  add("thread pool callbacks", ThreadPoolCallbacks, {kNone, kFirst, ORT_API_VERSION, kNext, kFar, kLast});
  add("an allocator", UseAllocator, {kNone, kFirst, 17, 18, 22, 23, 25, ORT_API_VERSION, kNext, kFar, kLast});
  add("an operator", CustomOperator, {kNone, kFirst, 8, 13, 14, 16, 17, 18, ORT_API_VERSION, kNext, kFar, kLast});
  add("external resources", Interop, {kNone, kFirst, ORT_API_VERSION, kNext, kFar});
  return RunCases(argc, argv, cases);
}
