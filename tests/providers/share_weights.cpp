// tests/providers/share_weights.cpp - makes sessions with a container of packed weights, whose nodes a plug-in's
// kernels run, and prints where the weights lie.
//
// usage: share_weights LIBRARY PLUGIN MODEL
//   PLUGIN  that of tests/providers/plugin
//   MODEL   two products of float x[N,4] with equal weights, and one with other weights
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "onnxruntime_c_api.h"

namespace {

const OrtApi* ort = nullptr;
OrtEnv* env = nullptr;
long (*count_of)(const char*) = nullptr;

void Must(OrtStatusPtr status) {
  if (status == nullptr) return;
  std::fprintf(stderr, "%s\n", ort->GetErrorMessage(status));
  std::exit(2);
}

const OrtEpDevice* KernelDevice() {
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  Must(ort->GetEpDevices(env, &devices, &count));
  for (size_t i = 0; i < count; ++i) {
    const char* kind = ort->GetKeyValue(ort->EpDevice_EpMetadata(devices[i]), "kind");
    if (kind != nullptr && std::strcmp(kind, "kernels") == 0) return devices[i];
  }
  std::exit(2);
}

OrtSession* Open(const char* model, OrtPrepackedWeightsContainer* container) {
  OrtSessionOptions* options = nullptr;
  Must(ort->CreateSessionOptions(&options));
  const OrtEpDevice* device = KernelDevice();
  const char *key = "packs", *value = "1";
  Must(ort->SessionOptionsAppendExecutionProvider_V2(options, env, &device, 1, &key, &value, 1));
  OrtSession* session = nullptr;
  if (container != nullptr) {
    Must(ort->CreateSessionWithPrepackedWeightsContainer(env, model, options, container, &session));
  } else {
    Must(ort->CreateSession(env, model, options, &session));
  }
  ort->ReleaseSessionOptions(options);
  return session;
}

void Run(OrtSession* session) {
  OrtMemoryInfo* host = nullptr;
  Must(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &host));
  float numbers[] = {1, 2, 3, 4};
  const int64_t shape[] = {1, 4};
  OrtValue *x = nullptr, *y = nullptr;
  Must(ort->CreateTensorWithDataAsOrtValue(host, numbers, sizeof(numbers), shape, 2,
                                           ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &x));
  const char *in = "x", *out = "y";
  Must(ort->Run(session, nullptr, &in, &x, 1, &out, 1, &y));
  void* data = nullptr;
  Must(ort->GetTensorMutableData(y, &data));
  const auto* found = static_cast<const float*>(data);
  std::printf("y = %g %g %g %g\n", static_cast<double>(found[0]), static_cast<double>(found[1]),
              static_cast<double>(found[2]), static_cast<double>(found[3]));
  ort->ReleaseValue(x);
  ort->ReleaseValue(y);
  ort->ReleaseMemoryInfo(host);
}

void Tell(const char* what) {
  std::printf("%s: %ld packed by kernels, %ld places of shared weights\n", what, count_of("packed"),
              count_of("shared places"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 1;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  ort = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(library, "OrtGetApiBase"))()->GetApi(ORT_API_VERSION);
  Must(ort->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "share_weights", &env));
  Must(ort->RegisterExecutionProviderLibrary(env, "test", argv[2]));
  void* plugin = dlopen(argv[2], RTLD_NOW | RTLD_NOLOAD);
  count_of = reinterpret_cast<long (*)(const char*)>(dlsym(plugin, "TestPluginCount"));
  OrtPrepackedWeightsContainer* container = nullptr;
  Must(ort->CreatePrepackedWeightsContainer(&container));
  OrtSession* alone = Open(argv[3], nullptr);
  Tell("a session alone");
  OrtSession* first = Open(argv[3], container);
  Tell("a session with the container");
  OrtSession* second = Open(argv[3], container);
  Tell("another one");
  ort->ReleaseSession(alone);
  Tell("without the first");
  for (OrtSession* session : {first, second}) Run(session);
  ort->ReleaseSession(first);
  Run(second);
  ort->ReleaseSession(second);
  ort->ReleasePrepackedWeightsContainer(container);
  dlclose(plugin);
  Must(ort->UnregisterExecutionProviderLibrary(env, "test"));
  ort->ReleaseEnv(env);
  return 0;
}
