// model/compiled_file.h - compiled models (.sdx): an optimized model, and beside its weights the forms into which
// kernels have packed them, in one file that is mapped.
//
// The file is a header of 128 bytes, then weights and packed tensors, which begin at multiples of 64 bytes (large ones
// of 4,096), then a ModelProto whose large weights are external data of the file itself, then the table of the packed
// tensors (a protobuf message). A digest covers header, ModelProto and table. Weights are not covered: that would read
// all of them whenever a model is loaded.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/function_ref.h"
#include "ir/graph.h"

namespace sardonyx::model {

// What a kernel packed for one node, in its order. Who writes the file decides what the key says.
struct PackedNode {
  Digest key = {};
  std::vector<Tensor> tensors;
};

// What a compiled model has beside the model.
struct CompiledParts {
  std::string packed_for;  // kernels::PackedForm() where the weights were packed
  std::vector<PackedNode> nodes;
};

// The location of external data that stands for the file itself.
inline constexpr std::string_view kInThisFile = "sardonyx:compiled";

bool IsCompiledModel(std::string_view bytes);

// Writes the file in pieces, in order. `model`: without functions, as its kernels run it.
void WriteCompiled(const Model& model, const CompiledParts& parts, FunctionRef<void(std::string_view)> write);

struct CompiledFile {
  CompiledParts parts;     // tensors are views of the file
  std::string_view model;  // the ModelProto
};
// `owner` keeps the bytes alive, which begin at a multiple of 64 bytes. `name` is what errors call the file. Fails with
// kInvalidProtobuf where the file is damaged, and with kNotImplemented for a newer format.
CompiledFile ReadCompiled(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner,
                          const std::string& name);

}  // namespace sardonyx::model
