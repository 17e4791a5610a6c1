// capi/compile/options.h - what is compiled, how, and where it goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "capi/handles/kind.h"
#include "onnxruntime_c_api.h"
#include "runtime/options.h"

namespace sardonyx::capi {

// Memory from the caller's allocator that CompileModel hands out.
struct OutputBuffer {
  OrtAllocator* allocator = nullptr;
  void** data = nullptr;
  size_t* size = nullptr;
};

struct OutputFunction {
  OrtWriteBufferFunc write = nullptr;
  void* state = nullptr;
};

struct WeightFile {
  std::string name;  // beside the model
  std::size_t min_bytes = 0;
};

struct WeightBuffer {
  std::string name;  // what the model says
  std::size_t min_bytes = 0;
  OutputBuffer buffer;
};

struct WeightFunction {
  OrtGetInitializerLocationFunc locate = nullptr;
  void* state = nullptr;
};

}  // namespace sardonyx::capi

struct OrtModelCompilationOptions {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kModelCompilationOptions> mark;
  sardonyx::runtime::SessionOptions session;

  std::string input_path;  // one of three, or none yet
  const void* input_data = nullptr;
  std::size_t input_size = 0;
  const OrtModel* input_model = nullptr;

  std::variant<std::monostate, std::string, sardonyx::capi::OutputBuffer, sardonyx::capi::OutputFunction> output;
  std::variant<std::monostate, sardonyx::capi::WeightFile, sardonyx::capi::WeightBuffer, sardonyx::capi::WeightFunction>
      weights;  // none: in the model
  std::size_t alignment = 0, aligned_bytes = 0;
  std::uint32_t flags = 0;
  bool level_is_given = false;                      // else models of ONNX are not optimized, and compiled ones fully
  OrtWriteNamedBufferFunc write_context = nullptr;  // for providers that keep what they compile outside of the model
  void* write_context_state = nullptr;
};
