// model/load.h - ModelProto bytes or files to ir::Model.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/logging.h"
#include "ir/graph.h"

namespace sardonyx::model {

struct LoadOptions {
  const Logger* logger = nullptr;  // warnings (newer IR or opset); null: dropped
  // External data handed over in memory, by the location string of the model; looked at before the disk.
  std::map<std::string, std::shared_ptr<Buffer>> external_files;
  std::string external_data_folder;  // overrides the model's own folder; required for bytes with external data
  std::size_t max_model_bytes = std::size_t{1} << 31;  // of the protobuf itself (ONNX's limit)
};

// Maps the file; weights are views of the mapping where their offset is aligned for their type, else copies.
// Errors: kNoSuchFile, kInvalidProtobuf (byte offset, message and field), kInvalidGraph (node and value), kNotImplemented.
Model LoadFile(const std::string& path, const LoadOptions& options = {});
// `owner` keeps the bytes alive; if null, the bytes are copied where the model needs them.
Model LoadBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const LoadOptions& options = {});
// One TensorProto (a .pb file of the ONNX tests).
Tensor LoadTensor(std::span<const std::byte> bytes);

}  // namespace sardonyx::model
