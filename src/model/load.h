// model/load.h - loads an ir::Model from the bytes or the file of a ModelProto.
//
// A Model does not keep everything that an ONNX model may say. Quantization annotations, device configurations and
// shardings, documentation of attributes and checksums of external data are dropped. Training information is dropped
// with a warning.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "ir/graph.h"
#include "model/load_options.h"

namespace sardonyx::model {

// Maps the file; weights are views of the mapping where their offset is aligned for their type, else copies. Errors:
// kNoSuchFile, kInvalidProtobuf (byte offset, message and field), kInvalidGraph (node and value), kNotImplemented.
// Initializers that are also inputs are the defaults of these (kInputDefault); up to IR version 3 they are constants
// and not inputs. Nodes may come in any order. The model passes ir/verify.h.
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
