// tools/cli/ort.h - the C interfaces as the command line tool uses them: owned handles, and Failure instead of
// statuses.
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

// An error of the library or of the user: a code of the C interface and a message for people.
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

// Throws a Failure for a status that is not NULL, and releases the status.
void Check(OrtStatus* status);

template <typename T>
using Handle = std::unique_ptr<T, void(ORT_API_CALL*)(T*)>;

// The text that `call` allocates, as a std::string.
std::string Text(const std::function<OrtStatus*(OrtAllocator*, char**)>& call);

// A model: its path, or, if it is a text (`.txt`, `.onnxtxt`), the bytes of the parsed model.
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
  std::vector<std::string> providers;         // in order of priority; the CPU is added last if it is missing
  std::vector<std::string> provider_options;  // NAME:KEY=VALUE
  std::vector<std::string> provider_libraries;
  std::vector<std::string> devices;  // NAME:WHICH
  std::optional<OrtExecutionProviderDevicePolicy> policy;
  std::vector<std::string> config;                         // KEY=VALUE
  std::string profile_prefix;                              // "": no profile
  std::vector<std::pair<std::string, std::int64_t>> dims;  // sizes of named dimensions
};

Handle<OrtEnv> MakeEnv(bool verbose);
Handle<OrtSessionOptions> MakeOptions(OrtEnv& env, const SessionSettings& settings);

// An input or output of a session.
struct ValueDescription {
  std::string name;
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  bool has_shape = true;
  std::vector<std::int64_t> shape;   // -1: left open
  std::vector<std::string> symbols;  // for each dimension: its name if it is left open and has one, else ""
};

// "float [batch, 3, 224, 224]"
std::string TypeText(const ValueDescription& value);

class Session {
 public:
  Session(const ModelSource& model, const SessionSettings& settings);

  const std::vector<ValueDescription>& inputs() const { return inputs_; }
  const std::vector<ValueDescription>& outputs() const { return outputs_; }
  OrtSession* get() const { return session_.get(); }

  // Runs once. `inputs` are in the order of inputs(). The results belong to the caller.
  std::vector<Handle<OrtValue>> Run(const std::vector<Handle<OrtValue>>& inputs,
                                    const std::vector<std::string>& output_names) const;
  std::string EndProfiling();  // returns the name of the file

 private:
  Handle<OrtEnv> env_;
  Handle<OrtSession> session_;
  std::vector<ValueDescription> inputs_;
  std::vector<ValueDescription> outputs_;
};

// A value that uses `tensor.data` without copying it; strings are copied.
Handle<OrtValue> ToValue(const HostTensor& tensor);
// Appends the tensors of `value`: itself, or the parts of a sequence or map, named name[0], name.keys and so on.
void AppendTensors(const std::string& name, const OrtValue& value, std::vector<HostTensor>& tensors);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_ORT_H
