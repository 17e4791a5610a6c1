// tools/cli/ort.h - the two C tables as the command line uses them: owned handles, and statuses turned into Failure.
#ifndef SARDONYX_TOOLS_CLI_ORT_H
#define SARDONYX_TOOLS_CLI_ORT_H

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "host_tensor.h"
#include "onnxruntime_c_api.h"
#include "sardonyx_c_api.h"

namespace sardonyx::cli {

// What went wrong, in the library or in what the user gave: the C ABI's code and a message for a person.
class Failure : public std::runtime_error {
 public:
  Failure(OrtErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  OrtErrorCode code() const { return code_; }

 private:
  OrtErrorCode code_;
};

const char* CodeName(OrtErrorCode code);  // "INVALID_ARGUMENT"

const OrtApi& Ort();
const SardonyxApi& Sardonyx();
OrtAllocator* DefaultAllocator();

// Throws Failure for a status that is not NULL, and releases it.
void Check(OrtStatus* status);

template <typename T>
using Handle = std::unique_ptr<T, void(ORT_API_CALL*)(T*)>;

// The text that `call` writes, as a std::string.
std::string Text(const std::function<OrtStatus*(OrtAllocator*, char**)>& call);

// A model's path, or the bytes that its text (`.txt`, `.onnxtxt`) was parsed into.
struct ModelSource {
  std::filesystem::path path;
  std::vector<std::byte> bytes;  // empty: read `path`

  const ORTCHAR_T* path_or_null() const { return bytes.empty() ? path.c_str() : nullptr; }
  const void* data_or_null() const { return bytes.empty() ? nullptr : bytes.data(); }
};
ModelSource OpenModel(const std::filesystem::path& path);
std::string ReadFile(const std::filesystem::path& path);
void WriteFile(const std::filesystem::path& path, std::string_view bytes);

struct SessionSettings {
  GraphOptimizationLevel level = ORT_ENABLE_ALL;
  int threads = 0;  // 0: as many as there are cores
  bool verbose = false;
  std::vector<std::string> providers;                      // in this order; the CPU comes last unless it is among them
  std::vector<std::string> provider_options;               // NAME:KEY=VALUE
  std::vector<std::string> config;                         // KEY=VALUE
  std::string profile_prefix;                              // "": no profile
  std::vector<std::pair<std::string, std::int64_t>> dims;  // values of named dimensions
};

Handle<OrtEnv> MakeEnv(bool verbose);
Handle<OrtSessionOptions> MakeOptions(const SessionSettings& settings);

// An input or output of a session.
struct ValueDescription {
  std::string name;
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  bool has_shape = true;
  std::vector<std::int64_t> shape;   // -1: not fixed
  std::vector<std::string> symbols;  // beside shape: the name of a dimension that is not fixed, or ""
};

// "float [batch, 3, 224, 224]"
std::string TypeText(const ValueDescription& value);

class Session {
 public:
  Session(const ModelSource& model, const SessionSettings& settings);

  const std::vector<ValueDescription>& inputs() const { return inputs_; }
  const std::vector<ValueDescription>& outputs() const { return outputs_; }
  OrtSession* get() const { return session_.get(); }

  // Runs once; `inputs` must outlive the call. Results belong to the caller.
  std::vector<Handle<OrtValue>> Run(const std::vector<Handle<OrtValue>>& inputs,
                                    const std::vector<std::string>& output_names) const;
  std::string EndProfiling();  // the file's name

 private:
  Handle<OrtEnv> env_;
  Handle<OrtSession> session_;
  std::vector<ValueDescription> inputs_;
  std::vector<ValueDescription> outputs_;
};

// A value that views `tensor.data` (copies strings).
Handle<OrtValue> ToValue(const HostTensor& tensor);
// The tensors that `value` consists of: itself, or the parts of a sequence or map, named name[0], name.keys and so on.
void AppendTensors(const std::string& name, const OrtValue& value, std::vector<HostTensor>& tensors);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_ORT_H
