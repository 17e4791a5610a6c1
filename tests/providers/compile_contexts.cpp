// tests/providers/compile_contexts.cpp - compiles a model with a plug-in's provider through the compile API of the
// library given on the command line, runs what came of it, and prints the results.
//
// usage: compile_contexts LIBRARY PLUGIN FOLDER
//   PLUGIN  that of tests/providers/plugin
//   FOLDER  may be written to; has model.onnx, which makes y[3,4] of float x[3,4] and which the plug-in compiles in two
//           parts with a node between them
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "onnxruntime_c_api.h"

namespace {

namespace fs = std::filesystem;

constexpr const char* kProvider = "SdxTestProvider";

const OrtApi* ort = nullptr;
const OrtCompileApi* compiler = nullptr;
OrtEnv* env = nullptr;
OrtAllocator* allocator = nullptr;
fs::path folder;

void Must(OrtStatusPtr status) {
  if (status == nullptr) return;
  std::fprintf(stderr, "%s\n", ort->GetErrorMessage(status));
  std::exit(2);
}

void Answer(const char* what, OrtStatusPtr status) {
  std::printf("%s: %s", what, status == nullptr ? "accepted\n" : "refused");
  if (status == nullptr) return;
  std::printf(" with %d\n", ort->GetErrorCode(status));
  std::fprintf(stderr, "%s: %s\n", what, ort->GetErrorMessage(status));
  ort->ReleaseStatus(status);
}

std::string In(const char* name) { return (folder / name).string(); }
void Exists(const char* name) { std::printf("%s is %s\n", name, fs::exists(folder / name) ? "there" : "not there"); }

// How many files of the folder begin with `prefix`; they are removed.
int Take(const char* prefix) {
  int count = 0;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  for (const fs::path& path : found) count += fs::remove(path) ? 1 : 0;
  return count;
}

const OrtEpDevice* HostDevice() {
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  Must(ort->GetEpDevices(env, &devices, &count));
  for (size_t i = 0; i < count; ++i) {
    const char* kind = ort->GetKeyValue(ort->EpDevice_EpMetadata(devices[i]), "kind");
    if (std::strcmp(ort->EpDevice_EpName(devices[i]), kProvider) == 0 && kind != nullptr &&
        std::strcmp(kind, "host") == 0)
      return devices[i];
  }
  std::fprintf(stderr, "the plug-in has no device 'host'\n");
  std::exit(2);
}

using Settings = std::map<std::string, std::string>;

// Options of a session with the plug-in's provider, which gets `settings`.
class Options {
 public:
  explicit Options(const Settings& settings = {}) {
    Must(ort->CreateSessionOptions(&handle_));
    std::vector<const char*> keys, values;
    for (const auto& [key, value] : settings) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
    const OrtEpDevice* device = HostDevice();
    Must(ort->SessionOptionsAppendExecutionProvider_V2(handle_, env, &device, 1, keys.data(), values.data(),
                                                       keys.size()));
  }
  ~Options() { ort->ReleaseSessionOptions(handle_); }
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;
  operator OrtSessionOptions*() const { return handle_; }

 private:
  OrtSessionOptions* handle_ = nullptr;
};

using Change = std::function<void(OrtModelCompilationOptions*)>;

OrtStatusPtr Compile(const Options& session, const Change& change) {
  OrtModelCompilationOptions* options = nullptr;
  Must(compiler->CreateModelCompilationOptionsFromSessionOptions(env, session, &options));
  Must(compiler->ModelCompilationOptions_SetInputModelPath(options, In("model.onnx").c_str()));
  change(options);
  const OrtStatusPtr status = compiler->CompileModel(env, options);
  compiler->ReleaseModelCompilationOptions(options);
  return status;
}

OrtStatusPtr CompileTo(const char* name, const Settings& settings, const Change& change = {}) {
  return Compile(Options(settings), [&](OrtModelCompilationOptions* options) {
    Must(compiler->ModelCompilationOptions_SetOutputModelPath(options, In(name).c_str()));
    if (change) change(options);
  });
}

void PrintRun(OrtSession* session) {
  OrtMemoryInfo* host = nullptr;
  Must(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &host));
  float numbers[12];
  for (int i = 0; i < 12; ++i) numbers[i] = static_cast<float>(i - 5) / 4;
  const std::int64_t shape[] = {3, 4};
  OrtValue *x = nullptr, *y = nullptr;
  Must(ort->CreateTensorWithDataAsOrtValue(host, numbers, sizeof(numbers), shape, 2,
                                           ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &x));
  const char *in = "x", *out = "y";
  Must(ort->Run(session, nullptr, &in, &x, 1, &out, 1, &y));
  void* data = nullptr;
  Must(ort->GetTensorMutableData(y, &data));
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += (i + 1) * static_cast<double>(static_cast<const float*>(data)[i]);
  std::printf("y = %.3f\n", sum);
  ort->ReleaseValue(x);
  ort->ReleaseValue(y);
  ort->ReleaseMemoryInfo(host);
  ort->ReleaseSession(session);
}

void RunFile(const char* what, const char* name, const Options& options) {
  OrtSession* session = nullptr;
  OrtStatusPtr status = ort->CreateSession(env, In(name).c_str(), options, &session);
  const bool made = status == nullptr;
  Answer(what, status);
  if (made) PrintRun(session);
}

void ToFiles() {
  std::printf("-- files\n");
  RunFile("the model", "model.onnx", Options());
  Answer("embedded", CompileTo("embedded.onnx", {}, [](OrtModelCompilationOptions* options) {
           Must(compiler->ModelCompilationOptions_SetEpContextEmbedMode(options, true));
         }));
  std::printf("%d other files\n", Take(kProvider));
  RunFile("the compiled model", "embedded.onnx", Options());
  RunFile("on the CPU", "embedded.onnx", Options(Settings{{"operators", "none"}, {"contexts", "0"}}));
  Answer("beside the model", CompileTo("beside.onnx", {}));
  RunFile("the compiled model", "beside.onnx", Options());
  std::printf("%d other files\n", Take(kProvider));
  RunFile("without them", "beside.onnx", Options());
  Answer("once more", Compile(Options(), [](OrtModelCompilationOptions* options) {
           Must(compiler->ModelCompilationOptions_SetInputModelPath(options, In("embedded.onnx").c_str()));
           Must(compiler->ModelCompilationOptions_SetOutputModelPath(options, In("again.onnx").c_str()));
           Must(compiler->ModelCompilationOptions_SetEpContextEmbedMode(options, true));
         }));
  RunFile("the model compiled twice", "again.onnx", Options());
  const auto need_nodes = [](OrtModelCompilationOptions* options) {
    Must(compiler->ModelCompilationOptions_SetEpContextEmbedMode(options, true));
    Must(compiler->ModelCompilationOptions_SetFlags(options, OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED));
  };
  Answer("no compiled nodes", CompileTo("none.onnx", {{"operators", "none"}}, need_nodes));
  Exists("none.onnx");
  Answer("no compiled nodes needed", CompileTo("none.onnx", {{"operators", "none"}}));
  RunFile("the model as it was", "none.onnx", Options(Settings{{"operators", "none"}}));
  Answer("some compiled nodes", CompileTo("some.onnx", {{"operators", "Neg"}}, need_nodes));
  RunFile("the compiled model", "some.onnx", Options());
}

OrtStatus* WriteData(void* state, const char* name, const void* data, size_t size) noexcept {
  auto& kept = *static_cast<std::map<std::string, std::string>*>(state);
  kept[name].assign(static_cast<const char*>(data), size);
  return nullptr;
}

OrtStatus* ReadData(void* state, const char* name, OrtAllocator* memory, void** data, size_t* size) noexcept {
  const auto& kept = *static_cast<const std::map<std::string, std::string>*>(state);
  const auto found = kept.find(name);
  if (found == kept.end()) return ort->CreateStatus(ORT_NO_SUCHFILE, "the caller has no such data");
  *size = found->second.size();
  if (OrtStatus* status = ort->AllocatorAlloc(memory, *size, data)) return status;
  std::memcpy(*data, found->second.data(), *size);
  return nullptr;
}

void ThroughFunctions() {
  std::printf("-- functions\n");
  std::map<std::string, std::string> kept;
  void* bytes = nullptr;
  size_t size = 0;
  Answer("data through a function", Compile(Options(), [&](OrtModelCompilationOptions* options) {
           Must(compiler->ModelCompilationOptions_SetOutputModelBuffer(options, allocator, &bytes, &size));
           Must(compiler->ModelCompilationOptions_SetEpContextDataWriteFunc(options, WriteData, &kept));
         }));
  std::printf("%zu pieces of data, %d other files\n", kept.size(), Take(kProvider));
  for (const bool empty : {false, true}) {
    std::map<std::string, std::string> none;
    Options options;
    Must(ort->SessionOptionsSetEpContextDataReadFunc(options, ReadData, empty ? &none : &kept));
    OrtSession* session = nullptr;
    Answer(empty ? "without the data" : "with the data",
           ort->CreateSessionFromArray(env, bytes, size, options, &session));
    if (session != nullptr) PrintRun(session);
  }
  for (const char* support : {"0", "1", "2", "3", "4"}) {
    std::printf("support %s\n", support);
    const Settings settings = {{"data_support", support}};
    void* unused = nullptr;
    size_t unused_size = 0;
    Answer("writing", Compile(Options(settings), [&](OrtModelCompilationOptions* options) {
             Must(compiler->ModelCompilationOptions_SetOutputModelBuffer(options, allocator, &unused, &unused_size));
             Must(compiler->ModelCompilationOptions_SetEpContextDataWriteFunc(options, WriteData, &kept));
           }));
    Must(ort->AllocatorFree(allocator, unused));
    const Options options(settings);
    Must(ort->SessionOptionsSetEpContextDataReadFunc(options, ReadData, &kept));
    OrtSession* session = nullptr;
    Answer("reading", ort->CreateSessionFromArray(env, bytes, size, options, &session));
    ort->ReleaseSession(session);
  }
  Must(ort->AllocatorFree(allocator, bytes));
}

void WithCompatibility() {
  std::printf("-- compatibility\n");
  const OrtEpDevice* device = HostDevice();
  for (const char* info : {"version 0", "version 1", "version 2"}) {
    fs::remove(folder / "compatible.onnx");
    Answer(info, CompileTo("compatible.onnx", {{"compatibility", info}}));
    char* found = nullptr;
    Must(ort->GetCompatibilityInfoFromModel(In("compatible.onnx").c_str(), kProvider, allocator, &found));
    OrtCompiledModelCompatibility answer = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
    Must(ort->GetModelCompatibilityForEpDevices(&device, 1, found, &answer));
    std::printf("'%s' is %d\n", found, static_cast<int>(answer));
    Must(ort->AllocatorFree(allocator, found));
    RunFile("as it is", "compatible.onnx", Options());
    const Options strict;
    Must(ort->AddSessionConfigEntry(strict, "session.fail_on_suboptimal_compiled_model", "1"));
    RunFile("optimal or not at all", "compatible.onnx", strict);
  }
}

void Forbidden() {
  std::printf("-- no compiling\n");
  const Options options;
  Must(ort->AddSessionConfigEntry(options, "session.disable_model_compile", "1"));
  RunFile("the model", "model.onnx", options);
  RunFile("the compiled model", "embedded.onnx", options);
}

void Weightless() {
  std::printf("-- weightless\n");
  for (const char* support : {"none", "external", "all"}) {
    fs::remove(folder / "weightless.onnx");
    Answer(support, CompileTo("weightless.onnx", {{"weightless", support}}, [](OrtModelCompilationOptions* options) {
             Must(compiler->ModelCompilationOptions_SetWeightlessEnabled(options, true));
           }));
  }
  const std::string source(100, 'x');
  const Options options(Settings{{"source_size", "100"}});
  RunFile("without the source", "embedded.onnx", options);
  Must(ort->SessionOptionsSetWeightlessSourceModelBuffer(options, source.data(), source.size()));
  RunFile("with the source", "embedded.onnx", options);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 1;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const auto get_base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
  ort = get_base()->GetApi(ORT_API_VERSION);
  compiler = ort->GetCompileApi();
  folder = argv[3];
  Must(ort->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "compile_contexts", &env));
  Must(ort->GetAllocatorWithDefaultOptions(&allocator));
  Must(ort->RegisterExecutionProviderLibrary(env, "test", argv[2]));
  ToFiles();
  ThroughFunctions();
  WithCompatibility();
  Forbidden();
  Weightless();
  Must(ort->UnregisterExecutionProviderLibrary(env, "test"));
  ort->ReleaseEnv(env);
  return 0;
}
