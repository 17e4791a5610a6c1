// model/tensor_reader.h - converts TensorProto and SparseTensorProto to tensors: every element type, and every place
// that may hold the data.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "model/external_data.h"
#include "model/wire.h"

namespace sardonyx::model {

// What the readers of one load share.
struct LoadContext {
  const LoadOptions& options;
  ExternalFiles& files;
  Source source;
  std::shared_ptr<const void> owner;   // of the model's own bytes; null: the bytes must be copied
  const MappedFile* mapped = nullptr;  // the model's file, if it is mapped
  std::int64_t ir_version = 0;
  std::vector<OpsetImport> opset_imports;  // of the model or function being read
};

using Metadata = std::vector<std::pair<std::string, std::string>>;

struct NamedInitializer {
  std::string name, doc;
  Metadata metadata;
  Initializer data;
};

// The tensor of `message`, which has a place for errors. Large data that is aligned for its element type stays where it
// is (file or `owner`), other data is copied. Nothing is allocated before the bytes that fill it are known to be there.
// Fails with kInvalidGraph if shape, element type and data do not fit each other, and with kNotImplemented for
// unsupported element types.
NamedInitializer ReadTensor(Message message, LoadContext& context);

struct NamedSparse {
  std::string name;
  SparseTensor tensor;
};
// Checks that indices ascend and lie within the shape.
NamedSparse ReadSparseTensor(Message message, LoadContext& context);
// The dense form. Fails with kInvalidGraph if it is absurdly larger than what is stored.
Tensor Densify(const SparseTensor& sparse);

// The element type that a number stands for. Fails with kNotImplemented or kInvalidGraph if it is not a supported one.
DType ReadDType(std::int64_t number, const Message& message);
// StringStringEntryProto
std::pair<std::string, std::string> ReadEntry(Message entry);

}  // namespace sardonyx::model
