// tests/capi/answers/answers.h - what the programs in this folder share: they open a library that has ONNX Runtime's C
// interface, call it, and print what it answers, so that two libraries can be compared line by line.
#pragma once

#include <dlfcn.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "onnxruntime_c_api.h"

inline const OrtApi* ort = nullptr;
inline OrtEnv* env = nullptr;
inline const char* model_folder = nullptr;

inline void Say(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  std::puts("");
  std::fflush(stdout);
}

// Prints the code of a status, 0 if there is none; its message, which is each library's own, goes to stderr.
inline int Answer(const char* call, OrtStatusPtr status) {
  const int code = status == nullptr ? 0 : static_cast<int>(ort->GetErrorCode(status));
  Say("%s: %d", call, code);
  if (status != nullptr) std::fprintf(stderr, "  %s: %s\n", call, ort->GetErrorMessage(status));
  ort->ReleaseStatus(status);
  return code;
}

inline void Must(OrtStatusPtr status) {
  if (status == nullptr) return;
  std::fprintf(stderr, "%s\n", ort->GetErrorMessage(status));
  std::exit(2);
}

// usage: PROGRAM LIBRARY FOLDER_OF_MODELS
inline void Open(int argc, char** argv) {
  if (argc != 3) std::exit(4);
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(4);
  }
  const auto base = reinterpret_cast<const OrtApiBase*(ORT_API_CALL*)()>(dlsym(library, "OrtGetApiBase"));
  ort = base()->GetApi(ORT_API_VERSION);
  model_folder = argv[2];
  Must(ort->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "answers", &env));
}

inline std::string ModelPath(const char* name) { return std::string(model_folder) + "/" + name; }
