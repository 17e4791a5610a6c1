// model/load.h - ModelProto bytes or files to ir::Model.
//
// What ONNX models may say and a Model does not keep: quantization annotations, device configurations and shardings,
// documentation of attributes, checksums of external data. Training information is
// left out with a warning.
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
  std::int64_t newest_opset = 0;                       // of ai.onnx, to warn of newer ones; 0: no warning
};

// Maps the file; weights are views of the mapping where their offset is aligned for their type, else copies.
// Errors: kNoSuchFile, kInvalidProtobuf (byte offset, message and field), kInvalidGraph (node and value),
// kNotImplemented. Initializers that are also inputs are defaults of these (kInputDefault), up to IR version 3
// constants and no inputs. Nodes may come in any order. The model passes ir/verify.h.
Model LoadFile(const std::string& path, const LoadOptions& options = {});
// `owner` keeps the bytes alive; if null, the bytes are copied where the model needs them.
Model LoadBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const LoadOptions& options = {});

// One TensorProto (a .pb file of the ONNX tests); the bytes are copied. `name` receives the tensor's name.
Tensor LoadTensor(std::span<const std::byte> bytes, std::string* name = nullptr);
// One SequenceProto, MapProto or OptionalProto; an optional without a value is Value().
Value LoadSequence(std::span<const std::byte> bytes, std::string* name = nullptr);
Value LoadMap(std::span<const std::byte> bytes, std::string* name = nullptr);
Value LoadOptional(std::span<const std::byte> bytes, std::string* name = nullptr);

}  // namespace sardonyx::model
