// model/save.h - saves an ir::Model as a ModelProto, to bytes or to files.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace sardonyx::model {

class ExternalSink;

// Initializers that are written as numbers (float_data, int32_data), not as their bytes: programs read some so.
using NamesAsNumbers = std::set<std::string, std::less<>>;

struct SaveOptions {
  std::string external_data_file;  // file name beside the model; "": everything inline
  std::size_t external_data_min_bytes = 1024;
  const NamesAsNumbers* as_numbers = nullptr;
};

// Writes to a temporary file beside `path`, then renames it. Fails with kFail naming path and the system's reason, and
// with kInvalidArgument if the protobuf would exceed 2 GB (use external data). Weights of an external file begin at
// multiples of 64 bytes, those of a mebibyte or more at multiples of 4,096; where all weights are inline there is no
// external file. A model without an IR version gets 10.
void SaveFile(const Model& model, const std::string& path, const SaveOptions& options = {});
// `weights`: where the large ones go; null: everything inline.
std::string SaveBytes(const Model& model, ExternalSink* weights = nullptr, const NamesAsNumbers* as_numbers = nullptr);
// One TensorProto, as the .pb files of the ONNX tests.
std::string SaveTensor(const Tensor& tensor, std::string_view name);

}  // namespace sardonyx::model
