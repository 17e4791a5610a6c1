// tests/capi/compile_model.cpp - compiles a model with the compile API of the library given on the command line in
// every way that it offers, runs what came of it, and prints the results.
//
// usage: capi_compile_model LIBRARY FOLDER [own]
//   FOLDER  may be written to; has inline.onnx and external.onnx, y = Relu(x * w) + v with float x[N,4], w[4,3] and
//           v[3], the second with its weights in a file
//   own     only compiles into Sardonyx's own format, which no other library has
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "onnxruntime_c_api.h"

namespace {

namespace fs = std::filesystem;

const OrtApi* ort = nullptr;
const OrtCompileApi* compiler = nullptr;
const OrtEnv* env = nullptr;
OrtAllocator* allocator = nullptr;
OrtSessionOptions* plain = nullptr;
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

// Options with `change` made, compiled, released.
OrtStatusPtr Compile(const std::function<void(OrtModelCompilationOptions*)>& change) {
  OrtModelCompilationOptions* options = nullptr;
  Must(compiler->CreateModelCompilationOptionsFromSessionOptions(env, plain, &options));
  change(options);
  const OrtStatusPtr status = compiler->CompileModel(env, options);
  compiler->ReleaseModelCompilationOptions(options);
  return status;
}

std::string In(const char* name) { return (folder / name).string(); }
void Exists(const char* name) { std::printf("%s is %s\n", name, fs::exists(folder / name) ? "there" : "not there"); }

void PrintRun(OrtSession* session) {
  OrtMemoryInfo* host = nullptr;
  Must(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &host));
  float numbers[] = {1, 2, 3, 4};
  const std::int64_t shape[] = {1, 4};
  OrtValue *x = nullptr, *y = nullptr;
  Must(ort->CreateTensorWithDataAsOrtValue(host, numbers, sizeof(numbers), shape, 2,
                                           ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &x));
  const char *in = "x", *out = "y";
  Must(ort->Run(session, nullptr, &in, &x, 1, &out, 1, &y));
  void* data = nullptr;
  Must(ort->GetTensorMutableData(y, &data));
  const auto* found = static_cast<const float*>(data);
  std::printf("y = %.3f %.3f %.3f\n", static_cast<double>(found[0]), static_cast<double>(found[1]),
              static_cast<double>(found[2]));
  ort->ReleaseValue(x);
  ort->ReleaseValue(y);
  ort->ReleaseMemoryInfo(host);
  ort->ReleaseSession(session);
}

void RunFile(const char* name) {
  OrtSession* session = nullptr;
  Must(ort->CreateSession(env, In(name).c_str(), plain, &session));
  PrintRun(session);
}

void RunBytes(const void* bytes, size_t size, const OrtSessionOptions* options = plain) {
  OrtSession* session = nullptr;
  Must(ort->CreateSessionFromArray(env, bytes, size, options, &session));
  PrintRun(session);
}

void ToFiles() {
  std::printf("-- files\n");
  for (const char* model : {"inline.onnx", "external.onnx"}) {
    Answer(model, Compile([&](OrtModelCompilationOptions* o) {
             Must(compiler->ModelCompilationOptions_SetInputModelPath(o, In(model).c_str()));
           }));
  }
  Exists("inline_ctx.onnx");
  RunFile("inline_ctx.onnx");
  fs::rename(folder / "weights.bin", folder / "elsewhere.bin");
  RunFile("external_ctx.onnx");  // holds its weights
  fs::rename(folder / "elsewhere.bin", folder / "weights.bin");
  Answer("a file that exists", Compile([&](OrtModelCompilationOptions* o) {
           Must(compiler->ModelCompilationOptions_SetInputModelPath(o, In("inline.onnx").c_str()));
           Must(compiler->ModelCompilationOptions_SetFlags(o, OrtCompileApiFlags_ERROR_IF_OUTPUT_FILE_EXISTS));
         }));
  Answer("no compiled nodes", Compile([&](OrtModelCompilationOptions* o) {
           Must(compiler->ModelCompilationOptions_SetInputModelPath(o, In("inline.onnx").c_str()));
           Must(compiler->ModelCompilationOptions_SetOutputModelPath(o, In("none.onnx").c_str()));
           Must(compiler->ModelCompilationOptions_SetFlags(o, OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED));
         }));
  Exists("none.onnx");
  Answer("with passes", Compile([&](OrtModelCompilationOptions* o) {
           Must(compiler->ModelCompilationOptions_SetInputModelPath(o, In("external.onnx").c_str()));
           Must(compiler->ModelCompilationOptions_SetOutputModelPath(o, In("optimized.onnx").c_str()));
           Must(compiler->ModelCompilationOptions_SetGraphOptimizationLevel(o, ORT_ENABLE_ALL));
           Must(compiler->ModelCompilationOptions_SetEpContextEmbedMode(o, true));
           Must(compiler->ModelCompilationOptions_SetWeightlessEnabled(o, false));
         }));
  RunFile("optimized.onnx");
  Answer("weights in a file", Compile([&](OrtModelCompilationOptions* o) {
           Must(compiler->ModelCompilationOptions_SetInputModelPath(o, In("inline.onnx").c_str()));
           Must(compiler->ModelCompilationOptions_SetOutputModelPath(o, In("split.onnx").c_str()));
           Must(compiler->ModelCompilationOptions_SetOutputModelExternalInitializersFile(o, "split.bin", 48));
           Must(compiler->ModelCompilationOptions_SetOutputModelExternalInitializersAlignment(o, 4096, 10));
         }));
  std::printf("split.bin has %zu bytes\n", static_cast<size_t>(fs::file_size(folder / "split.bin")));
  RunFile("split.onnx");
}

OrtStatus* Collect(void* state, const void* bytes, size_t size) noexcept {
  auto& all = *static_cast<std::vector<char>*>(state);
  all.insert(all.end(), static_cast<const char*>(bytes), static_cast<const char*>(bytes) + size);
  return nullptr;
}
OrtStatus* Refuse(void* /*state*/, const void* /*bytes*/, size_t /*size*/) noexcept {
  return ort->CreateStatus(ORT_RUNTIME_EXCEPTION, "the disk is full");
}

void ToMemory() {
  std::printf("-- memory\n");
  void *bytes = nullptr, *weights = nullptr;
  size_t size = 0, weight_size = 0;
  Answer("a buffer", Compile([&](OrtModelCompilationOptions* o) {
           Must(compiler->ModelCompilationOptions_SetInputModelPath(o, In("inline.onnx").c_str()));
           Must(compiler->ModelCompilationOptions_SetOutputModelBuffer(o, allocator, &bytes, &size));
         }));
  RunBytes(bytes, size);
  std::vector<char> collected;
  Answer("a function", Compile([&](OrtModelCompilationOptions* o) {
           Must(compiler->ModelCompilationOptions_SetInputModelFromBuffer(o, bytes, size));  // compiled once more
           Must(compiler->ModelCompilationOptions_SetOutputModelWriteFunc(o, Collect, &collected));
         }));
  RunBytes(collected.data(), collected.size());
  Answer("a function that fails", Compile([&](OrtModelCompilationOptions* o) {
           Must(compiler->ModelCompilationOptions_SetInputModelFromBuffer(o, bytes, size));
           Must(compiler->ModelCompilationOptions_SetOutputModelWriteFunc(o, Refuse, nullptr));
         }));
  Must(ort->AllocatorFree(allocator, bytes));
  Answer("model and weights", Compile([&](OrtModelCompilationOptions* o) {
           Must(compiler->ModelCompilationOptions_SetInputModelPath(o, In("external.onnx").c_str()));
           Must(compiler->ModelCompilationOptions_SetOutputModelBuffer(o, allocator, &bytes, &size));
           Must(compiler->ModelCompilationOptions_SetOutputModelExternalInitializersBuffer(
               o, "named.bin", 48, allocator, &weights, &weight_size));
         }));
  std::printf("weights of %zu bytes\n", weight_size);
  OrtSessionOptions* with_weights = nullptr;
  Must(ort->CreateSessionOptions(&with_weights));
  const char* name = "named.bin";
  auto* file = static_cast<char*>(weights);
  Must(ort->AddExternalInitializersFromFilesInMemory(with_weights, &name, &file, &weight_size, 1));
  RunBytes(bytes, size, with_weights);
  ort->ReleaseSessionOptions(with_weights);
  Must(ort->AllocatorFree(allocator, bytes));
  Must(ort->AllocatorFree(allocator, weights));
}

// Puts the large weight into a file of its own, at an offset.
OrtStatus* Locate(void* state, const char* name, const OrtValue* value, const OrtExternalInitializerInfo* external,
                  OrtExternalInitializerInfo** place) noexcept {
  auto& lines = *static_cast<std::vector<std::string>*>(state);
  OrtTensorTypeAndShapeInfo* info = nullptr;
  size_t count = 0;
  const void* data = nullptr;
  Must(ort->GetTensorTypeAndShape(value, &info));
  Must(ort->GetTensorShapeElementCount(info, &count));
  ort->ReleaseTensorTypeAndShapeInfo(info);
  Must(ort->GetTensorData(value, &data));
  lines.push_back(std::string(name) + ": " + std::to_string(count) + " elements, " +
                  (external != nullptr ? ort->ExternalInitializerInfo_GetFilePath(external) : "inline"));
  *place = nullptr;
  if (count < 12) return nullptr;
  std::ofstream out(folder / "mine.bin", std::ios::binary);
  out << std::string(128, '\0');
  out.write(static_cast<const char*>(data), static_cast<std::streamsize>(count * sizeof(float)));
  return ort->CreateExternalInitializerInfo("mine.bin", 128, count * sizeof(float), place);
}
OrtStatus* LocateNothing(void* /*state*/, const char* /*name*/, const OrtValue* /*value*/,
                         const OrtExternalInitializerInfo* /*external*/,
                         OrtExternalInitializerInfo** /*place*/) noexcept {
  return ort->CreateStatus(ORT_FAIL, "nowhere");
}

void WithFunction() {
  std::printf("-- locations\n");
  for (const char* model : {"inline.onnx", "external.onnx"}) {
    std::vector<std::string> lines;
    Answer(model, Compile([&](OrtModelCompilationOptions* o) {
             Must(compiler->ModelCompilationOptions_SetInputModelPath(o, In(model).c_str()));
             Must(compiler->ModelCompilationOptions_SetOutputModelPath(o, In("located.onnx").c_str()));
             Must(compiler->ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc(o, Locate, &lines));
           }));
    std::sort(lines.begin(), lines.end());
    for (const std::string& line : lines) std::printf("%s\n", line.c_str());
    RunFile("located.onnx");
  }
  Answer("a function that fails", Compile([&](OrtModelCompilationOptions* o) {
           Must(compiler->ModelCompilationOptions_SetInputModelPath(o, In("inline.onnx").c_str()));
           Must(compiler->ModelCompilationOptions_SetOutputModelPath(o, In("unlocated.onnx").c_str()));
           Must(compiler->ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc(o, LocateNothing, nullptr));
         }));
  Exists("unlocated.onnx");
}

void MakeMistakes() {
  std::printf("-- mistakes\n");
  OrtModelCompilationOptions* options = nullptr;
  Answer("no session options", compiler->CreateModelCompilationOptionsFromSessionOptions(env, nullptr, &options));
  Must(compiler->CreateModelCompilationOptionsFromSessionOptions(env, plain, &options));
  Answer("no input", compiler->CompileModel(env, options));
  Answer("an empty input path", compiler->ModelCompilationOptions_SetInputModelPath(options, ""));
  Answer("an empty output path", compiler->ModelCompilationOptions_SetOutputModelPath(options, ""));
  Answer("no bytes", compiler->ModelCompilationOptions_SetInputModelFromBuffer(options, nullptr, 4));
  Answer("zero bytes", compiler->ModelCompilationOptions_SetInputModelFromBuffer(options, "x", 0));
  Answer("no model", compiler->ModelCompilationOptions_SetInputModel(options, nullptr));
  Must(compiler->ModelCompilationOptions_SetInputModelFromBuffer(options, "abc", 3));
  Answer("nowhere to write to", compiler->CompileModel(env, options));
  Must(compiler->ModelCompilationOptions_SetInputModelPath(options, In("nobody.onnx").c_str()));
  Answer("an input that is not there", compiler->CompileModel(env, options));
  Must(compiler->ModelCompilationOptions_SetInputModelPath(options, In("inline.onnx").c_str()));
  Must(compiler->ModelCompilationOptions_SetOutputModelPath(options, In("nobody/x.onnx").c_str()));
  Answer("a folder that is not there", compiler->CompileModel(env, options));
  Must(compiler->ModelCompilationOptions_SetOutputModelPath(options, folder.c_str()));
  Answer("a folder as output", compiler->CompileModel(env, options));
  void* bytes = nullptr;
  size_t size = 0;
  Answer("no allocator", compiler->ModelCompilationOptions_SetOutputModelBuffer(options, nullptr, &bytes, &size));
  Answer("no pointer", compiler->ModelCompilationOptions_SetOutputModelBuffer(options, allocator, nullptr, &size));
  Answer("no size", compiler->ModelCompilationOptions_SetOutputModelBuffer(options, allocator, &bytes, nullptr));
  Answer("no function", compiler->ModelCompilationOptions_SetOutputModelWriteFunc(options, nullptr, nullptr));
  Answer("no locating function",
         compiler->ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc(options, nullptr, nullptr));
  Answer("an empty weight file",
         compiler->ModelCompilationOptions_SetOutputModelExternalInitializersFile(options, "", 0));
  Answer("an absolute name", compiler->ModelCompilationOptions_SetOutputModelExternalInitializersBuffer(
                                 options, "/x.bin", 0, allocator, &bytes, &size));
  Answer("an odd alignment",
         compiler->ModelCompilationOptions_SetOutputModelExternalInitializersAlignment(options, 3, 0));
  Answer("an unknown level",
         compiler->ModelCompilationOptions_SetGraphOptimizationLevel(options, static_cast<GraphOptimizationLevel>(5)));
  Answer("no folder of contexts",
         compiler->ModelCompilationOptions_SetEpContextBinaryInformation(options, "", "x.onnx"));
  Answer("no name of contexts", compiler->ModelCompilationOptions_SetEpContextBinaryInformation(options, "a/", ""));
  Answer("a folder without an end",
         compiler->ModelCompilationOptions_SetEpContextBinaryInformation(options, "folder", "x.onnx"));
  Answer("a folder of contexts",
         compiler->ModelCompilationOptions_SetEpContextBinaryInformation(options, "folder/", "x.onnx"));
  Answer("no writer of contexts",
         compiler->ModelCompilationOptions_SetEpContextDataWriteFunc(options, nullptr, nullptr));
  compiler->ReleaseModelCompilationOptions(options);
  compiler->ReleaseModelCompilationOptions(nullptr);
}

// A model of the editor, with and without an output.
void FromEditor() {
  std::printf("-- editor\n");
  const OrtModelEditorApi* editor = ort->GetModelEditorApi();
  const char *domain = "", *in = "x", *out = "y";
  const int opset = 17;
  for (const bool with_output : {false, true}) {
    OrtModel* model = nullptr;
    OrtGraph* graph = nullptr;
    OrtNode* node = nullptr;
    Must(editor->CreateModel(&domain, &opset, 1, &model));
    Must(editor->CreateGraph(&graph));
    Must(editor->CreateNode("Neg", "", "", &in, 1, &out, 1, nullptr, 0, &node));
    Must(editor->AddNodeToGraph(graph, node));
    for (const bool output : {false, true}) {
      OrtTensorTypeAndShapeInfo* tensor = nullptr;
      OrtTypeInfo* type = nullptr;
      OrtValueInfo* value = nullptr;
      const std::int64_t shape[] = {1, 4};
      Must(ort->CreateTensorTypeAndShapeInfo(&tensor));
      Must(ort->SetTensorElementType(tensor, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT));
      Must(ort->SetDimensions(tensor, shape, 2));
      Must(editor->CreateTensorTypeInfo(tensor, &type));
      Must(editor->CreateValueInfo(output ? "y" : "x", type, &value));
      if (!output) Must(editor->SetGraphInputs(graph, &value, 1));
      if (output && with_output) Must(editor->SetGraphOutputs(graph, &value, 1));
      ort->ReleaseValueInfo(value);
      ort->ReleaseTypeInfo(type);
      ort->ReleaseTensorTypeAndShapeInfo(tensor);
    }
    Must(editor->AddGraphToModel(model, graph));
    Answer(with_output ? "a model" : "a model without an output", Compile([&](OrtModelCompilationOptions* o) {
             Must(compiler->ModelCompilationOptions_SetInputModel(o, model));
             Must(compiler->ModelCompilationOptions_SetOutputModelPath(o, In("edited.onnx").c_str()));
           }));
    ort->ReleaseModel(model);
  }
  RunFile("edited.onnx");
}

// Every input and every place for the result.
void ToOwnFormat() {
  Answer("inline.sdx", Compile([&](OrtModelCompilationOptions* o) {
           Must(compiler->ModelCompilationOptions_SetInputModelPath(o, In("inline.onnx").c_str()));
           Must(compiler->ModelCompilationOptions_SetOutputModelPath(o, In("inline.sdx").c_str()));
           Must(compiler->ModelCompilationOptions_SetFlags(o, OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED));
         }));
  RunFile("inline.sdx");
  Must(ort->AddSessionConfigEntry(plain, "session.save_model_format", "SDX"));
  Answer("beside the model", Compile([&](OrtModelCompilationOptions* o) {
           Must(compiler->ModelCompilationOptions_SetInputModelPath(o, In("external.onnx").c_str()));
         }));
  RunFile("external.sdx");
  void* bytes = nullptr;
  size_t size = 0;
  Answer("a buffer", Compile([&](OrtModelCompilationOptions* o) {
           Must(compiler->ModelCompilationOptions_SetInputModelPath(o, In("external.onnx").c_str()));
           Must(compiler->ModelCompilationOptions_SetOutputModelBuffer(o, allocator, &bytes, &size));
         }));
  RunBytes(bytes, size);
  std::vector<char> collected;
  Answer("a function", Compile([&](OrtModelCompilationOptions* o) {
           Must(compiler->ModelCompilationOptions_SetInputModelFromBuffer(o, bytes, size));  // compiled once more
           Must(compiler->ModelCompilationOptions_SetOutputModelWriteFunc(o, Collect, &collected));
         }));
  RunBytes(collected.data(), collected.size());
  std::printf("both have %s bytes\n",
              std::string(collected.begin(), collected.end()) == std::string(static_cast<const char*>(bytes), size)
                  ? "the same"
                  : "other");
  Must(ort->AllocatorFree(allocator, bytes));
  Answer("a function that fails", Compile([&](OrtModelCompilationOptions* o) {
           Must(compiler->ModelCompilationOptions_SetInputModelPath(o, In("inline.onnx").c_str()));
           Must(compiler->ModelCompilationOptions_SetOutputModelWriteFunc(o, Refuse, nullptr));
         }));
  Answer("weights elsewhere", Compile([&](OrtModelCompilationOptions* o) {
           Must(compiler->ModelCompilationOptions_SetInputModelPath(o, In("inline.onnx").c_str()));
           Must(compiler->ModelCompilationOptions_SetOutputModelPath(o, In("split.sdx").c_str()));
           Must(compiler->ModelCompilationOptions_SetOutputModelExternalInitializersFile(o, "split.bin", 48));
         }));
  Exists("split.sdx");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 1;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  const OrtApiBase* (*get_base)() = nullptr;
  if (library != nullptr) *reinterpret_cast<void**>(&get_base) = dlsym(library, "OrtGetApiBase");
  if (get_base == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  folder = argv[2];
  ort = get_base()->GetApi(ORT_API_VERSION);
  compiler = ort->GetCompileApi();
  OrtEnv* own = nullptr;
  Must(ort->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "compile_model", &own));
  env = own;
  Must(ort->GetAllocatorWithDefaultOptions(&allocator));
  Must(ort->CreateSessionOptions(&plain));
  if (argc == 4) {
    ToOwnFormat();
  } else {
    ToFiles();
    ToMemory();
    WithFunction();
    FromEditor();
    MakeMistakes();
  }
  ort->ReleaseSessionOptions(plain);
  ort->ReleaseEnv(own);
}
