// bindings/python/src/api.h - the tables of C functions, statuses as exceptions, and handles that free themselves.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "onnxruntime_c_api.h"
#include "sardonyx_c_api.h"

namespace sardonyx::python {

inline const OrtApi& Ort() {
  static const OrtApi& api = *OrtGetApiBase()->GetApi(ORT_API_VERSION);
  return api;
}
inline const SardonyxApi& Own() {
  static const SardonyxApi& api = *SardonyxGetApi(SARDONYX_API_VERSION);
  return api;
}

// An error status; it becomes the Python exception for its code (exceptions.cpp).
class StatusError : public std::runtime_error {
 public:
  StatusError(OrtErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  OrtErrorCode code() const { return code_; }

 private:
  OrtErrorCode code_;
};

inline void Check(OrtStatusPtr status) {
  if (status == nullptr) return;
  const StatusError error(Ort().GetErrorCode(status), Ort().GetErrorMessage(status));
  Ort().ReleaseStatus(status);
  throw error;
}

// The same where ONNX Runtime's package raises RuntimeError, not the class of the code: what its C++ throws.
inline void CheckPlainly(OrtStatusPtr status) {
  try {
    Check(status);
  } catch (const StatusError& error) {
    throw std::runtime_error(error.what());
  }
}

#define SDX_HANDLE(Name)                                                               \
  struct Name##Deleter {                                                               \
    void operator()(Ort##Name* handle) const noexcept { Ort().Release##Name(handle); } \
  };                                                                                   \
  using Name##Ptr = std::unique_ptr<Ort##Name, Name##Deleter>
SDX_HANDLE(Env);
SDX_HANDLE(Session);
SDX_HANDLE(SessionOptions);
SDX_HANDLE(RunOptions);
SDX_HANDLE(Value);
SDX_HANDLE(TypeInfo);
SDX_HANDLE(TensorTypeAndShapeInfo);
SDX_HANDLE(ModelMetadata);
SDX_HANDLE(MemoryInfo);
SDX_HANDLE(IoBinding);
SDX_HANDLE(LoraAdapter);
SDX_HANDLE(ArenaCfg);
SDX_HANDLE(ThreadingOptions);
#undef SDX_HANDLE

// The environment of the process, created at the first use and kept until the process ends.
OrtEnv* Environment();
// Sets the thread counts of the pools that sessions share; 0 is one thread for each core. Throws if the environment
// exists already.
void SetGlobalThreads(int intra_op, int inter_op);

// The level of the environment. It does not create one, so that its threads can still be set.
void SetLogLevel(int level);
// The memory info of host tensors.
const OrtMemoryInfo* HostMemory();
OrtAllocator* DefaultAllocator();
// Copies a text that the default allocator has allocated, and frees the original.
std::string TakeText(char* text);

}  // namespace sardonyx::python
