// model/ort_format.h - models in ONNX Runtime's own format (.ort files).
#pragma once

#include <string>
#include <string_view>

namespace sardonyx::model {

bool IsOrtFormat(std::string_view bytes);

// The same model as a ModelProto, which the usual reader then checks and reads. What ONNX Runtime keeps beside the
// model (how it chose its kernels, optimizations for later) is left out. `name` is what errors call the model. Fails
// with kInvalidProtobuf where the bytes are not such a model, and with kNotImplemented for nodes that a provider has
// compiled and for weights beside the file.
std::string OnnxFromOrtFormat(std::string_view bytes, const std::string& name);

}  // namespace sardonyx::model
