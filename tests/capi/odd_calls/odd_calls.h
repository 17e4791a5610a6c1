// tests/capi/odd_calls/odd_calls.h - what the programs in this folder share: each makes calls that nobody should make,
// every one in a process of its own, and prints `CASE: RESULT`, where a result is `crash` or what the case said.
//
// usage: PROGRAM LIBRARY FOLDER_OF_MODELS
#pragma once

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "onnxruntime_c_api.h"

inline const OrtApi* ort = nullptr;
inline OrtEnv* env = nullptr;
inline std::string folder;

inline std::string ModelPath(const char* name) { return folder + "/" + name; }

inline void Say(const char* what, long long number) {
  std::printf(" %s %lld", what, number);
  std::fflush(stdout);
}

// Prints and returns the code of a status, 0 if there is none. The words, which are each library's own, go to stderr.
inline int Answer(const char* what, OrtStatusPtr status) {
  const int code = status == nullptr ? 0 : static_cast<int>(ort->GetErrorCode(status));
  Say(what, code);
  if (status != nullptr) std::fprintf(stderr, "  %s: %s\n", what, ort->GetErrorMessage(status));
  ort->ReleaseStatus(status);
  return code;
}

inline void Must(OrtStatusPtr status) {
  if (status == nullptr) return;
  std::fprintf(stderr, "%s\n", ort->GetErrorMessage(status));
  std::printf(" not prepared");
  std::fflush(stdout);
  _exit(2);
}

// The objects that most cases need.
struct Objects {
  OrtSessionOptions* options = nullptr;
  OrtRunOptions* run_options = nullptr;
  OrtSession* session = nullptr;
  OrtMemoryInfo* host = nullptr;
  OrtAllocator* allocator = nullptr;

  Objects() {
    Must(ort->CreateSessionOptions(&options));
    Must(ort->SetIntraOpNumThreads(options, 1));
    Must(ort->CreateRunOptions(&run_options));
    Must(ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &host));
    Must(ort->GetAllocatorWithDefaultOptions(&allocator));
  }
  OrtSession* Open(const char* model = "neg.onnx") {
    Must(ort->CreateSession(env, ModelPath(model).c_str(), options, &session));
    return session;
  }
  OrtValue* Value(std::vector<std::int64_t> shape = {2},
                  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) const {
    OrtValue* value = nullptr;
    Must(ort->CreateTensorAsOrtValue(allocator, shape.data(), shape.size(), type, &value));
    return value;
  }
  OrtStatusPtr Run(OrtSession* with, const OrtRunOptions* options_of_run, const OrtValue* x, OrtValue** y) const {
    const char *in = "x", *out = "y";
    return ort->Run(with, options_of_run, &in, &x, 1, &out, 1, y);
  }
  // A run that has to succeed unless something is broken.
  void Check(const char* what = "run") const {
    OrtValue* y = nullptr;
    Answer(what, Run(session, nullptr, Value(), &y));
  }
};

struct Case {
  std::string name;
  std::function<void()> call;
};

inline int RunCases(int argc, char** argv, const std::vector<Case>& cases) {
  if (argc != 3) return 4;
  folder = argv[2];
  for (const Case& each : cases) {
    std::printf("%s:", each.name.c_str());
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) _exit(4);
      const auto base = reinterpret_cast<const OrtApiBase*(ORT_API_CALL*)()>(dlsym(library, "OrtGetApiBase"));
      ort = base()->GetApi(ORT_API_VERSION);
      Must(ort->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "odd", &env));
      each.call();
      _exit(0);
    }
    int ended = 0;
    waitpid(child, &ended, 0);
    std::puts(WIFEXITED(ended) ? "" : " crash");
    std::fflush(stdout);
  }
  return 0;
}
